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
    assert "global:gate                  loaded      tool.execute.before; tools shout; commands hello\n" in text
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


MISTAKES = """
import subprocess
subprocess.run(["echo", "printed by a child"])
print("printed")

def setup(marvin):
    marvin.on("turn.strat", print)
    marvin.on("turn.end", lambda event, ctx: None, on_error="closed")

    @marvin.on("turn.end")
    async def one(event): ...

    @marvin.command("quit")
    async def leave(args, ctx): ...

    @marvin.tool
    def read_it(path): ...

    marvin.background(fails())

async def fails():
    raise ValueError("in the background")
"""


def test_check_goes_on_after_a_mistake_and_tells_each_with_its_line(marvin: Marvin, tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(MISTAKES)
    done = marvin.run("hooks", "check", str(bad))
    assert done.code == 1
    found = [line for line in done.stderr.splitlines() if line.startswith(f"{bad}:")]
    assert [line.removeprefix(f"{bad}:")[:40] for line in found] == [
        "7: unknown event 'turn.strat'; did you m",
        "8: turn.end only observes: there is noth",
        "10: a handler is a function of (event, c",
        "13: /quit is marvin's own command; give ",
        "16: setup.<locals>.read_it: the paramete",
        "22: ValueError: in the background",
    ]
    assert done.stdout == "1 hook checked, 1 with problems.\n"


def test_a_hook_that_tries_whether_there_is_an_event_is_not_wrong(marvin: Marvin, tmp_path: Path) -> None:
    (tmp_path / "tries.py").write_text(
        "def setup(marvin):\n    try:\n        marvin.on('of.tomorrow', print)\n"
        "    except Exception:\n        marvin.on('turn.end', print)\n"
    )
    done = marvin.run("hooks", "check", str(tmp_path / "tries.py"))
    assert (done.code, done.stdout.splitlines()[0]) == (0, f"ok  {tmp_path / 'tries.py'}: turn.end")


def test_check_names_the_file_of_a_package_that_is_wrong(marvin: Marvin, tmp_path: Path) -> None:
    (tmp_path / "pack" / "sub").mkdir(parents=True)
    (tmp_path / "pack" / "__init__.py").write_text("from .sub import deep\ndef setup(marvin): ...\n")
    (tmp_path / "pack" / "sub" / "deep.py").write_text("x = 1\ny = (\n")
    done = marvin.run("hooks", "check", str(tmp_path / "pack"))
    assert done.code == 1
    assert done.stderr.startswith(f"{tmp_path / 'pack' / 'sub' / 'deep.py'}:2: SyntaxError")


def test_check_sends_the_hook_nothing(marvin: Marvin, tmp_path: Path) -> None:
    (tmp_path / "acts.py").write_text(
        "def setup(marvin):\n"
        "    for name in ('app.start', 'session.start', 'session.shutdown'):\n"
        f"        marvin.on(name, lambda event, ctx: open({str(tmp_path / 'ran')!r}, 'w'))\n"
    )
    assert marvin.run("hooks", "check", str(tmp_path / "acts.py")).code == 0
    assert not (tmp_path / "ran").exists()


def test_check_runs_nothing_of_an_untrusted_project_even_by_its_path(marvin: Marvin, tmp_path: Path) -> None:
    hooks = marvin.work / ".marvin" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\ndef setup(marvin): ...\n")
    (tmp_path / "link.py").symlink_to(hooks / "evil.py")
    for named in (hooks / "evil.py", hooks, tmp_path / "link.py"):
        done = marvin.run("hooks", "check", str(named), cwd=tmp_path)
        assert done.code == 1
        assert "is not trusted" in done.stderr
        assert not (tmp_path / "ran").exists()
    assert marvin.run("trust", "--yes").code == 0
    assert marvin.run("hooks", "check", str(hooks / "evil.py"), cwd=tmp_path).code == 0


def test_check_tells_what_the_configuration_names_and_is_not_there(marvin: Marvin) -> None:
    marvin.configure(hooks={"paths": ["nowhere.py"], "required": ["global:gone"]})
    done = marvin.run("validate")
    assert done.code == 1
    assert "nowhere.py" in done.stderr
    assert "hooks.required names global:gone" in done.stderr


def test_check_tells_of_settings_for_a_hook_that_is_not_there(marvin: Marvin) -> None:
    settings = {"global:gaet": {"a": 1}, "global:gate": {"a": 1}, "project:elsewhere": {"a": 1}}
    marvin.configure(hooks={"settings": settings, "disabled": ["gate"]})
    done = marvin.run("hooks", "check")
    assert done.code == 0
    assert [line.removeprefix("marvin: ") for line in done.stderr.splitlines()] == [
        "hooks.disabled names gate, and there is no such hook; did you mean global:gate?",
        "hooks.settings names global:gaet, and there is no such hook; did you mean global:gate?",
    ]


def test_a_hook_in_a_process_of_its_own_is_checked_listed_and_run_like_any_other(
    marvin: Marvin, tmp_path: Path
) -> None:
    own = marvin.config_dir / "hooks" / "own.py"
    block = "# /// script\n# dependencies = []\n# [tool.marvin]\n# isolate = true\n# ///\n"
    own.write_text(f"{block}{GATE}")
    assert "own.py: tool.execute.before; tools shout; commands hello" in marvin.run("hooks", "check", str(own)).stdout
    payload = json.dumps({"toolName": "bash", "input": {"command": "rm -rf /"}})
    done = marvin.run("hooks", "run", str(own), "--event", "tool.execute.before", "--input", payload)
    assert done.stdout.startswith("blocked: refused by the user\n")
    own.write_text(f"{block}def setup(marvin):\n    marvin.on('turn.strat', print)\n")
    done = marvin.run("hooks", "check", str(own))
    assert (done.code, done.stderr[: len(str(own)) + 3]) == (1, f"{own}:7:")


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
    hidden = marvin.run("hooks", "new", "_mine", "--event", "tool_call", "--dir", str(tmp_path / "new"))
    assert hidden.code == 2
    assert "is no hook" in hidden.stderr
    assert "`marvin trust`" in marvin.run("hooks", "new", "mine", "--event", "tool_call", "--project").stderr


def test_disable_and_enable_by_id(marvin: Marvin) -> None:
    def state() -> str:
        rows: list[dict[str, str]] = marvin.run("hooks", "list", "--json").json
        return next(row["state"] for row in rows if row["id"] == "global:gate")

    assert marvin.run("hooks", "disable", "global:gate").code == 0
    assert state() == "disabled"
    assert marvin.run("hooks", "enable", "global:gate").code == 0
    assert state() == "loaded"
    wrong = marvin.run("hooks", "disable", "gate")
    assert wrong.code == 2
    assert "Did you mean global:gate?" in wrong.stderr


def test_enable_says_when_the_project_keeps_a_hook_off(marvin: Marvin) -> None:
    (marvin.work / ".marvin").mkdir()
    file = marvin.work / ".marvin" / "config.json"
    file.write_text('{"hooks": {"disabled": ["global:gate"]}}')
    assert marvin.run("trust", "--yes").code == 0
    done = marvin.run("hooks", "enable", "global:gate")
    assert (done.code, done.stdout) == (1, "")
    assert f"global:gate stays off here: hooks.disabled of {file} names it too" in done.stderr


def test_two_hooks_of_one_name_have_the_ids_that_a_run_gives_them(marvin: Marvin, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.py").write_text("def setup(marvin):\n    marvin.log.warning(marvin.id)\n")
    marvin.configure(hooks={"paths": [str(tmp_path / "one"), str(tmp_path / "two")]})
    listed = {row["id"]: row["path"] for row in marvin.run("hooks", "list", "--json").json}
    assert listed["config:same"] == str(tmp_path / "one" / "same.py")
    assert listed["config:same-2"] == str(tmp_path / "two" / "same.py")
    assert marvin.run("hooks", "disable", "config:same-2").code == 0
    why = {row["id"]: row["why"] for row in marvin.run("hooks", "list", "--json").json}
    assert (why["config:same"], why["config:same-2"]) == ("", "hooks.disabled names it")


def test_list_has_the_policies_and_what_is_required_and_missing(marvin: Marvin) -> None:
    marvin.configure(hooks={"required": ["global:gone", "global:gate"]})
    rows = {row["id"]: row for row in marvin.run("hooks", "list", "--json").json}
    assert rows["builtin:permissions"]["events"] == ["tool.execute.before"]
    assert rows["builtin:permissions"]["scope"] == "builtin"
    assert (rows["global:gone"]["state"], rows["global:gone"]["why"]) == ("missing", "hooks.required names it")
    assert rows["global:gate"]["required"]
