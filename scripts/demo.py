"""The demonstration behind `make demo`: the agent mends a failing test, with no key and no network.

First a scripted model drives the real agent: real tools, real files, real processes, a real hook. Then one question
goes to the embedded model, live. What is scripted and what is not is said on the screen.
"""

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MARVIN = Path(sys.executable).with_name("marvin")

CODE = '''"""Prices of a small shop."""


def total(prices: list[float], discount: float = 0.0) -> float:
    """The sum of the prices, less a discount between 0 and 1."""
    return sum(prices) * discount
'''
TEST = """import unittest

from shop import total


class TotalTest(unittest.TestCase):
    def test_without_a_discount(self) -> None:
        self.assertEqual(total([1.0, 2.0]), 3.0)

    def test_with_a_discount(self) -> None:
        self.assertAlmostEqual(total([10.0, 10.0], 0.1), 18.0)


if __name__ == "__main__":
    unittest.main()
"""
HOOK = '''"""Nothing is deleted without a person."""


def setup(marvin):
    @marvin.on("tool.execute.before", tools=("bash",))
    async def gate(event, ctx):
        if "rm -rf" in event.input["command"]:
            return {"block": True, "reason": "nothing is deleted in the demo"}
'''
TESTS = f"{shlex.quote(sys.executable)} -m unittest 2>&1"
# What a reply has to `match` is what the tools really said: the script cannot claim what did not happen.
REPLIES = [
    {
        "text": "I will run the tests first.",
        "toolCalls": [{"name": "bash", "arguments": {"command": TESTS}}],
    },
    {
        "match": "FAILED",
        "text": "Both tests fail in `total`. I will look at it.",
        "toolCalls": [
            {"name": "read", "arguments": {"path": "shop.py"}},
            {"name": "grep", "arguments": {"pattern": "discount", "path": "."}},
        ],
    },
    {
        "match": "return sum",
        "text": "The sum is multiplied by the discount instead of being reduced by it.",
        "toolCalls": [
            {
                "name": "edit",
                "arguments": {
                    "path": "shop.py",
                    "oldText": "return sum(prices) * discount",
                    "newText": "return sum(prices) * (1.0 - discount)",
                },
            },
        ],
    },
    {
        "match": "shop.py",
        "text": "Away with the caches, and the tests again.",
        "toolCalls": [
            {"name": "bash", "arguments": {"command": "rm -rf __pycache__"}},
            {"name": "bash", "arguments": {"command": TESTS}},
        ],
    },
    {
        "match": "OK",
        "text": "Mended: `total` now takes the discount off the sum, and both tests pass. The caches stayed.",
    },
]
QUESTION = "In one short sentence: what is a unit test?"


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="marvin-demo-") as base:
        shop, config = Path(base) / "shop", Path(base) / "config"
        shop.mkdir()
        config.mkdir()
        return mend(shop, config) or ask()


def mend(shop: Path, config: Path) -> int:
    """The scripted part: a failing test is found and mended."""
    (shop / "shop.py").write_text(CODE)
    (shop / "test_shop.py").write_text(TEST)
    (config / "gate.py").write_text(HOOK)
    (config / "script.json").write_text(json.dumps({"version": 1, "replies": REPLIES}))
    models = {"demo": {"api": "scripted", "baseUrl": "script.json", "models": [{"id": "scripted"}]}}
    (config / "models.json").write_text(json.dumps({"providers": models}))
    if shutil.which("git"):
        subprocess.run(["git", "init", "--quiet"], cwd=shop, check=False)
    say("1. A scripted model mends a failing test.")
    say("   Scripted: what the model says. Real: the agent, its tools, the files, the processes and the hook.")
    env = {**os.environ, "MARVIN_CONFIG_DIR": str(config), "PYTHONDONTWRITEBYTECODE": "1"}
    run = [str(MARVIN), "-p", "--auto", "--model", "demo/scripted", "--hook", str(config / "gate.py")]
    command = [*run, "Fix the failing test."]
    print("$ marvin -p --auto --model demo/scripted --hook gate.py 'Fix the failing test.'", flush=True)
    if subprocess.run(command, cwd=shop, env=env, stdin=subprocess.DEVNULL, check=False).returncode:
        return fail("the run failed")
    print("\n$ marvin hooks why", flush=True)
    subprocess.run([str(MARVIN), "hooks", "why"], cwd=shop, env=env, check=False)
    print("\n$ python -m unittest", flush=True)
    if subprocess.run([sys.executable, "-m", "unittest"], cwd=shop, env=env, check=False).returncode:
        return fail("the tests do not pass")
    return 0


def ask() -> int:
    """The live part: the embedded model answers one question."""
    say("2. The embedded model answers a question. Nothing is scripted: 135 million parameters, on this machine.")
    say("   It is tiny: it shows that marvin works without a key, not what a model can do.")
    if importlib.util.find_spec("xllamacpp") is None:
        say("   Skipped: the package xllamacpp does not run on this platform.")
        return 0
    print("$ marvin local install", flush=True)
    if subprocess.run([str(MARVIN), "local", "install"], stdin=subprocess.DEVNULL, check=False).returncode:
        return fail("the weights of the embedded model could not be fetched")
    print(f"\n$ marvin -p --model local --no-session {QUESTION!r}", flush=True)
    command = [str(MARVIN), "-p", "--model", "local", "--no-tools", "--no-session", QUESTION]
    if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:
        return fail("the embedded model did not answer")
    return 0


def say(text: str) -> None:
    print(f"\n{text}" if not text.startswith(" ") else text, flush=True)


def fail(text: str) -> int:
    print(f"demo: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
