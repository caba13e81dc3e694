"""`marvin hooks` and `marvin validate`, in the installed program."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from marvin_agent.hooks.spec import ROWS
from program import Marvin

GATE = """
def setup(marvin):
    @marvin.on("tool.execute.before", tools=("bash",))
    async def gate(event, ctx):
        if "rm -rf" in event.input.get("command", ""):
            return {"block": True, "reason": "refused by the user"}
        event.input["command"] = event.input["command"] + " --safe"

    @marvin.command("hello")
    async def hello(args, ctx):
        pass

    @marvin.tool
    async def shout(text: str) -> str:
        "Shout."
        return text.upper()
"""


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    made = Marvin(tmp_path)
    made.script({"text": "hello", "repeat": True})
    hooks = made.config_dir / "hooks"
    hooks.mkdir()
    (hooks / "gate.py").write_text(GATE)
    return made


def test_list_shows_id_path_events_and_why_not(marvin: Marvin) -> None:
    (marvin.config_dir / "hooks" / "broken.py").write_text("def setup(marvin):\n    marvin.on('turn.strat', print)\n")
    project = marvin.work / ".marvin" / "hooks"
    project.mkdir(parents=True)
    (project / "mine.py").write_text("open('ran', 'w')\ndef setup(marvin): pass\n")
    done = marvin.run("hooks", "list", "--json")
    rows = {row["id"]: row for row in done.json}
    assert rows["global:gate"]["events"] == ["tool.execute.before"]
    assert rows["global:gate"]["state"] == "loaded"
    assert rows["global:broken"]["state"] == "broken"
    assert "did you mean 'turn.start'" in rows["global:broken"]["why"]
    assert "not trusted" in rows["project:mine"]["why"]
    assert not (marvin.work / "ran").exists()
    text = marvin.run("hooks", "list").stdout
    assert "global:gate" in text
    assert str(marvin.config_dir / "hooks" / "gate.py") in text


def test_check_reports_every_problem_with_file_and_line(marvin: Marvin) -> None:
    bad = marvin.config_dir / "hooks" / "bad.py"
    bad.write_text("import os\n\ndef setup(marvin):\n    x = 1\n    marvin.on('nope', print)\n")
    gone = marvin.config_dir / "hooks" / "gone.py"
    gone.write_text("import os\nos._exit(3)\n")
    done = marvin.run("hooks", "check")
    assert done.code == 1
    assert f"{bad}:5: unknown event 'nope'" in done.stderr
    assert f"{gone}: ended the process" in done.stderr
    assert "gate.py: tool.execute.before; tools shout; commands hello" in done.stdout
    assert marvin.run("validate").code == 1


@pytest.mark.parametrize("name", ["config.json", "models.json"])
def test_validate_checks_the_files_of_the_configuration_too(marvin: Marvin, name: str) -> None:
    (marvin.config_dir / name).write_text('{"nonsense": 1}')
    done = marvin.run("validate")
    assert done.code == 78
    assert f"{name}:1: unknown key" in done.stderr


def test_a_project_that_only_configures_is_told_once(marvin: Marvin) -> None:
    marvin.script({"text": "Hi."})
    (marvin.work / ".marvin").mkdir()
    (marvin.work / ".marvin" / "config.json").write_text('{"model": "demo/one", "permissions": {"mode": "auto"}}')
    done = marvin.run("-p", "hi")
    assert done.stdout == "Hi.\n"
    assert [line for line in done.stderr.splitlines() if "trust" in line] == [
        f"marvin: {marvin.work}/.marvin/config.json: ignored until you trust this project (marvin trust): permissions"
    ]
    assert marvin.run("hooks", "check", str(marvin.config_dir / "hooks" / "gate.py")).code == 0


def test_check_runs_in_a_clean_environment_and_an_empty_directory(marvin: Marvin, tmp_path: Path) -> None:
    nosy = tmp_path / "nosy.py"
    nosy.write_text(
        "import os\ndef setup(marvin):\n    assert not os.listdir('.'), os.listdir('.')\n"
        "    assert 'OPENAI_API_KEY' not in os.environ\n"
    )
    done = marvin.run("hooks", "check", str(nosy), env={"OPENAI_API_KEY": "sk-x"})
    assert done.code == 0, done.stderr


@pytest.mark.parametrize("event", [row.name for row in ROWS])
def test_new_writes_a_hook_that_works_and_its_test(tmp_path: Path, event: str) -> None:
    from marvin_agent.frontends.hook_scaffold import write_hook

    hook, test = write_hook(str(tmp_path), "mine", event)
    compile(Path(hook).read_text(), hook, "exec")
    assert f'@marvin.on("{event}")' in Path(hook).read_text()
    assert f'emit("{event}")' in Path(test).read_text()


def test_the_written_hook_checks_and_its_test_passes(marvin: Marvin, tmp_path: Path) -> None:
    done = marvin.run("hooks", "new", "mine", "--event", "tool_call", "--dir", str(tmp_path / "new"))
    assert done.code == 0
    hook, test = done.stdout.split()
    assert marvin.run("hooks", "check", hook).code == 0
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    again = marvin.run("hooks", "new", "mine", "--event", "tool_call", "--dir", str(tmp_path / "new"))
    assert again.code == 2
    assert "is there already" in again.stderr


def test_run_sends_one_event_through_one_hook(marvin: Marvin) -> None:
    file = str(marvin.config_dir / "hooks" / "gate.py")
    payload = json.dumps({"toolName": "bash", "input": {"command": "rm -rf /"}})
    done = marvin.run("hooks", "run", file, "--event", "tool.execute.before", "--input", payload)
    assert done.stdout.startswith("blocked: refused by the user\n")
    payload = json.dumps({"tool_name": "bash", "input": {"command": "ls"}})
    done = marvin.run("hooks", "run", file, "--event", "tool_call", "--input", payload, "--json")
    assert done.json["changes"] == [{"field": "input", "before": {"command": "ls"}, "after": {"command": "ls --safe"}}]
    wrong = marvin.run("hooks", "run", file, "--event", "tool_call", "--input", '{"tool": "bash"}')
    assert wrong.code == 2
    assert "unknown key 'tool'" in wrong.stderr


def test_disable_and_enable_by_id(marvin: Marvin) -> None:
    assert marvin.run("hooks", "disable", "global:gate").code == 0
    (row,) = marvin.run("hooks", "list", "--json").json
    assert row["state"] == "disabled"
    assert marvin.run("hooks", "enable", "global:gate").code == 0
    (row,) = marvin.run("hooks", "list", "--json").json
    assert row["state"] == "loaded"
    assert marvin.run("hooks", "disable", "global:nope").code == 2


def test_why_tells_the_last_session_as_a_story_and_trace_draws_a_waterfall(marvin: Marvin) -> None:
    calls = [{"name": "bash", "arguments": {"command": text}} for text in ("rm -rf build", "true")]
    marvin.script({"toolCalls": calls}, {"text": "done"})
    done = marvin.run("-p", "--auto", "--trace-hooks", "trace.jsonl", "go")
    assert done.code == 0
    story = marvin.run("hooks", "why").stdout
    assert 'bash "rm -rf build" was blocked by global:gate line 3: refused by the user' in story
    assert 'bash "true --safe" was changed by global:gate line 3: input {"command": "true"} ->' in story
    entries = [json.loads(line) for line in (marvin.work / "trace.jsonl").read_text().splitlines()]
    assert {"time", "event", "hook", "handler", "ms", "outcome", "diff", "error"} <= entries[0].keys()
    assert [entry["outcome"] for entry in entries if entry["hook"] == "global:gate"] == ["blocked", "changed"]
    waterfall = marvin.run("hooks", "trace", "trace.jsonl").stdout
    assert "global:gate" in waterfall.splitlines()[-1]
    assert (marvin.work / "trace.jsonl").stat().st_mode & 0o777 == 0o600


def test_secrets_are_masked_in_the_trace(marvin: Marvin) -> None:
    (marvin.config_dir / "hooks" / "auth.py").write_text(
        "def setup(marvin):\n    @marvin.on('auth.get')\n    async def key(event, ctx):\n"
        "        event.output.api_key = 'very-secret-value'\n"
    )
    marvin.run("-p", "--trace-hooks", "trace.jsonl", "go")
    text = (marvin.work / "trace.jsonl").read_text()
    assert "auth.get" in text
    assert "very-secret-value" not in text
    for path in marvin.config_dir.rglob("*.jsonl"):
        assert "very-secret-value" not in path.read_text()
