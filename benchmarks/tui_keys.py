"""How long a typed key takes to the screen while twenty thousand tokens stream into the app.

    python -m benchmarks.tui_keys [--tokens N]

The installed program runs in a terminal and talks to a scripted server. Every key is another letter, so the clock stops
when the program writes that letter to the terminal.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

import pexpect
from benchmarks.agents import MARVIN
from benchmarks.tui_stream import prose

from marvin_agent.llm.offline.script import Script
from marvin_agent.testing.server import ScriptedServer

TOKENS = 20_000
DELAY_MS = 0.25
"""Between two tokens, at least: about a thousand a second, faster than most models."""
EVERY = 0.1
LETTERS = [chr(code) for code in range(0x4E00, 0x9F00)]
"""None of them is in the answer."""
LIMIT = 120.0
END = "THE-END"


def delays(tokens: int, delay_ms: float) -> tuple[list[float], float]:
    """Seconds for each key until it shows, and for the whole answer."""
    pieces = [*(token for token, _ in zip(prose(tokens), range(tokens), strict=False)), f"\n\n{END}\n"]
    reply = {"text": "".join(pieces), "chunk": pieces, "chunkDelayMs": delay_ms}
    with tempfile.TemporaryDirectory() as home, ScriptedServer(Script.of(reply)) as server:
        config = Path(home) / ".config" / "marvin"
        config.mkdir(parents=True)
        models = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "none", "models": [{"id": "m"}]}
        (config / "models.json").write_text(json.dumps({"providers": {"bench": models}}))
        env = {"HOME": home, "PATH": os.defpath, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        child: pexpect.spawn[bytes] = pexpect.spawn(
            str(MARVIN), ["--model", "bench/m", "go"], env=env, cwd=home, dimensions=(40, 120)
        )
        child.delaybeforesend = None
        try:
            return _typed(child)
        finally:
            child.close(force=True)


def _typed(child: "pexpect.spawn[bytes]") -> tuple[list[float], float]:
    waits: list[float] = []
    seen = b""
    began, sent, letter = 0.0, 0.0, iter(LETTERS)
    waiting = b""
    until = time.perf_counter() + LIMIT
    while time.perf_counter() < until:
        now = time.perf_counter()
        if began and not waiting and now - sent >= EVERY:
            key = next(letter)
            waiting, sent = key.encode(), now
            child.send(key)
        try:
            seen = seen[-64:] + child.read_nonblocking(1 << 20, timeout=0.005)
        except pexpect.TIMEOUT:
            continue
        except pexpect.EOF:
            break
        began = began or (time.perf_counter() if b"answering" in seen else 0.0)
        if waiting and waiting in seen:
            waits.append(time.perf_counter() - sent)
            waiting = b""
        if END.encode() in seen:
            return waits, time.perf_counter() - began
    raise AssertionError(f"the answer did not come to its end in {LIMIT} s")


def main() -> None:
    parser = argparse.ArgumentParser(description="how long a typed key takes while an answer streams")
    parser.add_argument("--tokens", type=int, default=TOKENS)
    tokens = parser.parse_args().tokens
    waits, took = delays(tokens, DELAY_MS)
    late = sum(wait > 0.05 for wait in waits)
    print(
        f"{tokens} tokens streamed into the app in {took:.1f} s; {len(waits)} keys typed meanwhile: "
        f"median {median(waits) * 1000:.0f} ms, 95 % within {quantiles(waits, n=20)[-1] * 1000:.0f} ms, "
        f"longest {max(waits) * 1000:.0f} ms, {late} later than the goal of 50 ms"
    )


if __name__ == "__main__":
    main()
