"""Runs llama.cpp's own server with a small model; prints its address, and ends when its standard input does.

Run by the third-party environment's Python: llama_server.py WEIGHTS TEMPLATE KEY
"""

import sys
from pathlib import Path

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.chat_template = Path(sys.argv[2]).read_text()
params.use_jinja = True
params.api_keys = [sys.argv[3]]
params.n_ctx = 4096
params.n_parallel = 1
params.port = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
