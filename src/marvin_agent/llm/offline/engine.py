"""The embedded model itself: llama.cpp, by xllamacpp, inside this process; the one file that knows it."""

import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import xllamacpp

from marvin_agent.llm.offline.weights import CONTEXT

_BATCH = 256
"""Tokens of the prompt that are read at a time: between two batches a call can be stopped."""


class Engine:
    """Loads the weights when it is first used. Its methods block; each call is for a thread of its own.

    llama.cpp's server cannot be had without something to listen on. It is a socket in a private directory, with a
    random key, and its name is removed at once: nothing that a web page or another program could reach.
    """

    def __init__(self, weights: str) -> None:
        self._weights = weights
        self._lock = threading.Lock()
        self._server: Any = None

    def chat(self, body: dict[str, Any], take: Callable[[dict[str, Any]], bool]) -> None:
        """Answer a chat request. `take` gets each chunk of the stream, or one error, and returns True to stop."""
        # One at a time: a second prompt beside the first would make both slower.
        with self._lock:
            if self._server is None:
                self._server = self._load()
            self._server.handle_chat_completions({**body, "return_progress": True}, take)

    def close(self) -> None:
        """Free the memory. Waits for a call that is under way, so that one must be stopped first."""
        with self._lock:
            self._server = None

    def _load(self) -> Any:
        directory = tempfile.mkdtemp(prefix="marvin-")  # for this user alone
        try:
            return xllamacpp.Server(self._params(os.path.join(directory, "engine.sock")))
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _params(self, socket: str) -> Any:
        params = xllamacpp.CommonParams()
        params.model.path = self._weights
        params.n_ctx = CONTEXT
        params.n_batch = params.n_ubatch = _BATCH
        params.n_parallel = 1
        params.n_gpu_layers = 0
        params.warmup = False
        params.verbosity = -1
        params.hostnames = [socket]
        params.api_keys = [secrets.token_urlsafe(32)]
        params.endpoint_slots = params.endpoint_props = params.endpoint_metrics = False
        params.ui = False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = physical_cores()
        return params


def physical_cores() -> int:
    """How many cores this process may use. Two threads of one core count once: the second gains nothing here."""
    try:
        allowed = os.sched_getaffinity(0)
    except AttributeError:  # not on macOS, whose cores do not share
        return os.cpu_count() or 1
    cores = set()
    for cpu in allowed:
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="ascii") as file:
                cores.add(file.read())
        except OSError:
            cores.add(str(cpu))
    return len(cores)
