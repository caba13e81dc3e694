"""The pytest plugin as a hook author has it: installed, in a project that knows nothing of ours."""

import subprocess
import sys
from pathlib import Path

import pytest

from marvin_agent.testing import BlockingHarness

HOOK = """
def setup(marvin):
    @marvin.on("tool.execute.before", tools=("bash",))
    async def gate(event, ctx):
        if not await ctx.ui.confirm("Run it?", event.input["command"]):
            return {"block": True, "reason": "no"}
"""
PLAIN_TESTS = """
import os, subprocess, sys

def test_a_plain_function(marvin_hook):
    hook = marvin_hook("gate.py", answers=[True, False], replies=[{"text": "Hello"}])
    assert not hook.emit("tool.execute.before", tool_name="bash", input={"command": "ls"}).blocked
    assert hook.emit("tool.execute.before", tool_name="bash", input={"command": "ls"}).reason == "no"
    assert hook.prompt("hi") == "Hello"
    assert [question.kind for question in hook.person.asked] == ["confirm", "confirm"]

def test_two_hooks_do_not_meet(marvin_hook):
    one, two = marvin_hook("gate.py"), marvin_hook("gate.py", answers=[True])
    assert one.call("bash", command="true").status == "blocked"
    assert two.call("bash", command="true").status == "ok"

def test_a_server(model_server):
    server = model_server({"text": "Hello"})
    assert server.url.startswith("http://127.0.0.1:")

def test_the_program(scripted_model):
    directory = scripted_model({"text": "Hello"})
    done = subprocess.run([sys.executable, "-m", "marvin_agent", "--config-dir", directory, "-p", "hi"],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.stdout == "Hello\\n", done.stderr
"""
ASYNC_TEST = """
async def test_an_async_function(marvin_hook):
    hook = marvin_hook("gate.py")
    assert hook.emit("tool.execute.before", tool_name="bash", input={"command": "ls"}).blocked
"""
WITH_ASYNC = ("-p", "pytest_asyncio.plugin", "--asyncio-mode=auto")


def run_pytest(directory: Path, tests: str, *options: str) -> str:
    (directory / "gate.py").write_text(HOOK)
    (directory / "test_gate.py").write_text(tests)
    (directory / "pytest.ini").write_text("[pytest]\n")
    # Only our plugin, as in an environment that has no other.
    command = [sys.executable, "-m", "pytest", "-q", "--disable-plugin-autoload", "-p", "marvin_agent.testing.plugin"]
    done = subprocess.run([*command, *options], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_fixtures_work_in_plain_tests_without_any_other_plugin(tmp_path: Path) -> None:
    assert "4 passed" in run_pytest(tmp_path, PLAIN_TESTS)


def test_the_fixtures_work_beside_pytest_asyncio(tmp_path: Path) -> None:
    assert "5 passed" in run_pytest(tmp_path, PLAIN_TESTS + ASYNC_TEST, *WITH_ASYNC)


def test_a_hook_that_does_not_load_fails_its_test_with_the_line(tmp_path: Path, marvin_hook) -> None:  # type: ignore[no-untyped-def]
    bad = tmp_path / "bad.py"
    bad.write_text("def setup(marvin):\n    marvin.on('tool.execute.befor', print)\n")
    with pytest.raises(AssertionError, match=r"tool\.execute\.before.*bad\.py:2"):
        marvin_hook(bad)


def test_a_question_without_an_answer_fails_the_test_even_when_a_refusal_was_expected() -> None:
    def setup(marvin):  # type: ignore[no-untyped-def]
        @marvin.on("tool.execute.before")
        async def ask(event, ctx):  # type: ignore[no-untyped-def]
            return None if await ctx.ui.confirm("Really?") else {"block": True, "reason": "no"}

    hook = BlockingHarness(setup, answers=[False])
    assert hook.emit("tool.execute.before").reason == "no"
    assert hook.emit("tool.execute.before").blocked
    with pytest.raises(AssertionError, match=r"asked confirm 'Really\?'.*no answer left"):
        hook.close()


def test_a_package_is_loaded_by_its_directory(tmp_path: Path, marvin_hook) -> None:  # type: ignore[no-untyped-def]
    package = tmp_path / "mine"
    package.mkdir()
    (package / "words.py").write_text("WORD = 'no'\n")
    (package / "__init__.py").write_text(
        "from .words import WORD\n\ndef setup(marvin):\n"
        "    marvin.on('tool.execute.before', lambda event, ctx: {'block': True, 'reason': WORD})\n"
    )
    hook = marvin_hook(package)
    assert hook.hook_id == "flag:mine"
    assert hook.emit("tool.execute.before").reason == "no"


def test_pytest_finds_the_plugin_by_itself_and_loads_no_engine_for_it() -> None:
    code = (
        "import sys, importlib.metadata as m\n"
        "(plugin,) = [e for e in m.entry_points(group='pytest11') if e.name == 'marvin']\n"
        "plugin.load()\n"
        "print(sorted(n for n in sys.modules if n.startswith('marvin_agent.') and 'testing' not in n))\n"
        "print('msgspec' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nFalse\n"
