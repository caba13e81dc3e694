"""What each way to start loads: start-up is paid by every run, so nothing comes in unnoticed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from program import Marvin

LIST = "import sys, json; sys.stderr.write('\\nMODULES ' + json.dumps(sorted(sys.modules)))"
START = f"""
import sys
from marvin_agent.frontends.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
{LIST}
"""
HEAVY = {
    *("textual", "mcp", "acp", "xllamacpp", "jsonschema_rs", "tree_sitter", "tree_sitter_bash", "pydantic", "rich"),
    *("difflib", "dataclasses", "importlib.metadata", "http.client", "urllib.request", "zipfile", "tomllib", "xml"),
    *("csv", "email", "multiprocessing", "pydoc", "unittest", "sqlite3", "curses", "getpass"),
}
"""What no run needs before it does something special. asyncio brings inspect, logging, subprocess, ssl and socket."""

WIRES = tuple(f"marvin_agent.llm.wire.{name}" for name in ("anthropic", "gemini", "responses"))
"""The wires that a scripted model does not speak."""


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    return Marvin(tmp_path)


def loaded(marvin: Marvin, code: str, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=marvin.env,
        cwd=marvin.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return set(json.loads(done.stderr.rpartition("MODULES ")[2])) - set(sys.builtin_module_names)


def ours(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.partition(".")[0] == "marvin_agent")


def test_importing_the_package_loads_nothing_else(marvin: Marvin) -> None:
    bare = loaded(marvin, LIST)
    assert loaded(marvin, f"import marvin_agent\n{LIST}") - bare == {"marvin_agent"}


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_version_and_help_load_the_parser_and_the_errors(marvin: Marvin, flag: str) -> None:
    modules = loaded(marvin, START, flag)
    assert ours(modules) == [
        "marvin_agent",
        "marvin_agent.errors",
        "marvin_agent.frontends",
        "marvin_agent.frontends.cli",
    ]
    assert not modules & {*HEAVY, "asyncio", "msgspec", "inspect", "logging", "subprocess", "tempfile", "pathlib"}


def test_a_scripted_run_loads_no_heavy_library_and_no_other_wire_or_command(marvin: Marvin) -> None:
    marvin.script({"text": "Hello"}, {"text": "Hello"})
    loaded(marvin, START, "-p", "hi")  # the first run fills the caches
    modules = loaded(marvin, START, "-p", "hi")
    assert sorted(modules & HEAVY) == []
    assert not [name for name in modules if name.startswith("pyreqwest")]
    wanted_elsewhere = [
        name
        for name in ours(modules)
        if name.startswith(("marvin_agent.testing", "marvin_agent.frontends.completion", *WIRES))
        or name.endswith(("_command", "modelsdev", "config_problems", "config_schema", "offline.local"))
    ]
    assert [name for name in wanted_elsewhere if name != "marvin_agent.frontends.run_command"] == []
    assert "marvin_agent.llm.http" not in modules


def test_the_app_shows_its_editor_before_it_loads_the_engine(marvin: Marvin) -> None:
    modules = loaded(marvin, f"import marvin_agent.frontends.tui.app\n{LIST}")
    engine = ("agent.engine", "agent.loop", "hooks", "session", "tools.bash", "policies", "llm.wire", "llm.catalog")
    early = tuple(f"marvin_agent.{name}" for name in engine)
    assert [name for name in ours(modules) if name.startswith(early)] == []
    assert not {name for name in modules if name.startswith(("markdown_it", "pygments.lexer"))}
    conversation = {"history", "toolentry", "said", "markdown", "diffs", "drawing"}
    assert not modules & {f"marvin_agent.frontends.tui.conversation.{name}" for name in conversation}
    assert not modules & {"hashlib", "marvin_agent.processes"}
