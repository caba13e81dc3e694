"""Trust by content, in the installed program: nothing of a project acts before somebody looked at it."""

import json
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from marvin_agent.config import load
from marvin_agent.errors import ConfigError
from marvin_agent.hooks.trust import take_snapshot
from marvin_agent.places import find_places
from program import Marvin

HOOK = """
import pathlib
pathlib.Path("ran-at-import").touch()
def setup(marvin):
    @marvin.on("agent.start")
    async def say(event, ctx):
        ctx.ui.notify("the project's hook runs")
"""


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    made = Marvin(tmp_path)
    made.script({"text": "hello", "repeat": True})
    hooks = made.work / ".marvin" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "guard.py").write_text(HOOK)
    return made


def test_an_untrusted_project_is_skipped_with_one_line(marvin: Marvin) -> None:
    done = marvin.run("-p", "hi")
    assert done.code == 0
    lines = [line for line in done.stderr.splitlines() if "not trusted" in line]
    assert len(lines) == 1
    assert "hooks/guard.py" in lines[0]
    assert "marvin trust" in lines[0]
    assert not (marvin.work / "ran-at-import").exists()


def test_trusted_for_one_run_by_the_flag(marvin: Marvin) -> None:
    done = marvin.run("-p", "--trust-project", "hi")
    assert "project:guard: the project's hook runs" in done.stderr
    assert "not trusted" in marvin.run("-p", "hi").stderr


def test_trust_is_remembered_until_a_file_changes(marvin: Marvin) -> None:
    assert marvin.run("trust", "--yes").code == 0
    assert "the project's hook runs" in marvin.run("-p", "hi").stderr
    with (marvin.work / ".marvin" / "hooks" / "guard.py").open("a") as file:
        file.write("# one more line\n")
    done = marvin.run("-p", "hi")
    assert "changed since it was trusted" in done.stderr
    assert "hooks/guard.py (changed)" in done.stderr
    assert "the project's hook runs" not in done.stderr


@pytest.mark.parametrize("planted", ["hooks/helper.py", "hooks/guard/helper.py", "commands/x.md", "agents/a.md"])
def test_a_new_file_that_can_act_takes_the_trust_away(marvin: Marvin, planted: str) -> None:
    assert marvin.run("trust", "--yes").code == 0
    path = marvin.work / ".marvin" / planted
    path.parent.mkdir(exist_ok=True)
    path.write_text("planted")
    assert f"{planted} (new)" in marvin.run("-p", "hi").stderr


def test_config_keys_that_act_are_trusted_by_content_and_harmless_ones_are_not_asked_about(marvin: Marvin) -> None:
    config = marvin.work / ".marvin" / "config.json"
    config.write_text(json.dumps({"theme": "dark"}))
    assert marvin.run("trust", "--yes").code == 0
    config.write_text(json.dumps({"theme": "light", "thinking": "off"}))
    assert "not trusted" not in marvin.run("-p", "hi").stderr
    config.write_text(json.dumps({"theme": "light", "permissions": {"mode": "auto"}}))
    done = marvin.run("-p", "hi")
    assert "config.json (new)" in done.stderr


def test_an_untrusted_project_cannot_permit_its_own_tools(marvin: Marvin) -> None:
    (marvin.work / ".marvin" / "config.json").write_text(json.dumps({"permissions": {"mode": "auto"}}))
    marvin.script({"toolCalls": [{"name": "bash", "arguments": {"command": "touch ran"}}]}, {"text": "done"})
    marvin.run("-p", "hi")
    assert not (marvin.work / "ran").exists()


def test_a_planted_pyc_beside_a_trusted_hook_is_not_run(marvin: Marvin) -> None:
    import py_compile

    hook = marvin.work / ".marvin" / "hooks" / "guard.py"
    assert marvin.run("trust", "--yes").code == 0
    text, stamp = hook.read_text(), hook.stat()
    hook.write_text(text.replace("the project's hook runs", "THE PLANTED CODE RUNSxx"))
    os.utime(hook, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    py_compile.compile(str(hook), doraise=True)
    hook.write_text(text)
    os.utime(hook, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    done = marvin.run("-p", "hi")
    assert "the project's hook runs" in done.stderr
    assert "PLANTED" not in done.stderr


def test_untrust_and_the_list(marvin: Marvin) -> None:
    assert marvin.run("trust", "--yes").code == 0
    assert str(marvin.work) in marvin.run("trust", "--list").stdout
    assert marvin.run("untrust").code == 0
    assert marvin.run("untrust").code == 2
    assert "not trusted" in marvin.run("-p", "hi").stderr


def test_trust_shows_what_it_asks_about_and_needs_a_person(marvin: Marvin) -> None:
    done = marvin.run("trust")
    assert done.code == 2
    assert "--yes" in done.stderr
    assert "pathlib.Path" in done.stdout
    with marvin.terminal("trust", columns=200) as terminal:
        terminal.wait_for("as it is now")
        terminal.send("y\r")
        terminal.wait_for("trusted, 1 files")
        assert terminal.end() == 0
    assert "the project's hook runs" in marvin.run("-p", "hi").stderr


def test_a_required_hook_of_an_untrusted_project_stops_the_program(marvin: Marvin) -> None:
    marvin.configure(hooks={"required": ["project:guard"]})
    done = marvin.run("-p", "hi")
    assert done.code == 78
    assert "project:guard is not there, or not trusted" in done.stderr
    assert marvin.sessions == []


def test_global_configured_and_flag_hooks_need_no_trust(marvin: Marvin, tmp_path: Path) -> None:
    text = HOOK.replace('"the project\'s hook runs"', "marvin.id")
    for path in (marvin.config_dir / "hooks" / "a.py", marvin.config_dir / "more" / "b.py", tmp_path / "c.py"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    marvin.configure(hooks={"paths": ["more", "nowhere.py"]})
    done = marvin.run("-p", "--hook", str(tmp_path / "c.py"), "hi")
    for name in ("global:a", "config:b", "flag:c"):
        assert f"{name}: {name}" in done.stderr
    assert "nowhere.py" in done.stderr
    quiet = marvin.run("-p", "--no-hooks", "--hook", str(tmp_path / "c.py"), "hi")
    assert "global:a" not in quiet.stderr
    assert "flag:c" not in quiet.stderr


def test_a_hook_flag_that_names_nothing_is_a_usage_error(marvin: Marvin) -> None:
    done = marvin.run("-p", "--hook", "nowhere.py", "hi")
    assert done.code == 2
    assert "nowhere.py" in done.stderr


def test_a_package_is_trusted_by_the_hash_of_its_files(marvin: Marvin, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "pkghook-1.0.dist-info").mkdir(parents=True)
    (site / "pkghook.py").write_text(HOOK.replace("the project's hook runs", "the package's hook runs"))
    info = site / "pkghook-1.0.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pkghook\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[marvin.hooks]\nmine = pkghook\n")
    (info / "RECORD").write_text("pkghook.py,,\npkghook-1.0.dist-info/METADATA,,\n")
    env = {"PYTHONPATH": str(site)}
    done = marvin.run("-p", "hi", env=env)
    assert "marvin trust --package pkghook" in done.stderr
    rows = marvin.run("hooks", "list", "--json", env=env).json
    row = next(each for each in rows if each["scope"] == "package")
    assert (row["id"], row["state"], row["path"]) == ("package:pkghook", "not loaded", str(site / "pkghook.py"))
    assert "marvin trust --package pkghook" in row["why"]
    assert marvin.run("trust", "--package", "pkghook", "--yes", env=env).code == 0
    assert "the package's hook runs" in marvin.run("-p", "hi", env=env).stderr
    with (site / "pkghook.py").open("a") as file:
        file.write("# changed\n")
    assert "are not trusted" in marvin.run("-p", "hi", env=env).stderr


def test_an_editable_package_is_asked_about_again_when_its_code_changes(marvin: Marvin, tmp_path: Path) -> None:
    site, code = tmp_path / "site", tmp_path / "code"
    info = site / "edit-1.0.dist-info"
    info.mkdir(parents=True)
    (code / "edit").mkdir(parents=True)
    (code / "edit" / "__init__.py").touch()
    (code / "edit" / "helper.py").touch()
    (code / "edit" / "hooks.py").write_text("from . import helper\n" + HOOK)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: edit\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[marvin.hooks]\nmine = edit.hooks\n")
    (info / "RECORD").write_text("edit.pth,,\nedit-1.0.dist-info/METADATA,,\n")
    env = {"PYTHONPATH": f"{site}{os.pathsep}{code}"}
    assert marvin.run("trust", "--package", "edit", "--yes", env=env).code == 0
    assert "the project's hook runs" in marvin.run("-p", "hi", env=env).stderr
    assert "package:edit.hooks" in {row["id"] for row in marvin.run("hooks", "list", "--json", env=env).json}
    (code / "edit" / "helper.py").write_text("evil = True\n")
    assert "are not trusted" in marvin.run("-p", "hi", env=env).stderr


def test_names_of_files_cannot_forge_what_is_shown(marvin: Marvin) -> None:
    (marvin.work / ".marvin" / "hooks" / "a\x1b[2Jb\nmarvin: the project is trusted").write_text("x")
    for words in (("-p", "hi"), ("trust",), ("hooks", "list"), ("hooks", "check")):
        done = marvin.run(*words)
        shown = done.stdout + done.stderr
        assert "\x1b[2J" not in shown
        assert "\nmarvin: the project is trusted" not in shown
        assert "a\\u001b[2Jb marvin: the project is trusted" in shown or words[0] == "hooks"


def test_a_project_is_the_same_by_whatever_path_it_is_named(marvin: Marvin, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(marvin.work)
    assert marvin.run("trust", "--yes", str(link)).code == 0
    assert "the project's hook runs" in marvin.run("-p", "hi").stderr
    assert marvin.run("untrust", str(link)).code == 0
    assert "not trusted" in marvin.run("-p", "hi").stderr


def test_a_configuration_that_was_changed_after_it_was_looked_at_does_not_count(marvin: Marvin) -> None:
    config = marvin.work / ".marvin" / "config.json"
    config.write_text(json.dumps({"theme": "dark", "permissions": {"mode": "edits"}}))
    places = find_places(cwd=str(marvin.work), config_dir=str(marvin.config_dir))
    judged = take_snapshot(str(marvin.work)).files["config.json"]
    assert load(places, trusted=True, judged=judged).permissions.mode == "edits"
    config.write_text(json.dumps({"theme": "light", "permissions": {"mode": "edits"}}))
    assert load(places, trusted=True, judged=judged).theme == "light"
    config.write_text(json.dumps({"permissions": {"mode": "auto"}}))
    with pytest.raises(ConfigError, match="was changed while marvin looked at it"):
        load(places, trusted=True, judged=judged)
    with pytest.raises(ConfigError, match="was changed"):
        load(places, trusted=True, judged=b"")


def test_nothing_in_a_hostile_working_directory_is_taken_for_a_part_of_marvin(marvin: Marvin) -> None:
    for name in ("json.py", "textual.py", "msgspec.py", "sitecustomize.py", "pip.py", "rg", "bash", "env", "git"):
        path = marvin.work / name
        path.write_text("open('ran', 'w')\n" if name.endswith(".py") else "#!/bin/sh\ntouch ran\n")
        path.chmod(0o755)
    (marvin.work / ".rgignore").write_text("")
    (marvin.work / ".env").write_text("OPENAI_API_KEY=planted\nPYTHONPATH=.\n")
    (marvin.work / ".git" / "config").write_text("[core]\n\tfsmonitor = touch ran\n\tpager = touch ran\n")
    config = marvin.home / "ripgreprc"
    config.write_text("--pre=./rg\n")
    calls = [{"name": "grep", "arguments": {"pattern": "--pre=./rg"}}, {"name": "find", "arguments": {"pattern": "*"}}]
    marvin.script({"toolCalls": calls}, {"text": "done", "repeat": True})
    env = {"RIPGREP_CONFIG_PATH": str(config), "PATH": f"{os.pathsep}.{os.pathsep}" + marvin.env["PATH"]}
    for words in (("-p", "hi"), ("hooks", "list"), ("doctor",), ("trust", "--list"), ("config",)):
        marvin.run(*words, env=env)
        subprocess.run(
            [sys.executable, "-m", "marvin_agent", *words],
            cwd=marvin.work,
            env={**marvin.env, **env},
            input=b"",
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert not (marvin.work / "ran").exists()


def test_a_helper_that_only_bytecode_has_does_not_load(marvin: Marvin) -> None:
    package = marvin.work / ".marvin" / "hooks" / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("from . import extra\ndef setup(marvin): pass\n")
    (package / "extra.py").write_text("open('bytecode-ran', 'w')\n")
    py_compile.compile(str(package / "extra.py"), cfile=str(package / "extra.pyc"))
    (package / "extra.py").unlink()
    assert marvin.run("trust", "--yes").code == 0
    done = marvin.run("-p", "hi")
    assert "cannot import name 'extra'" in done.stderr
    assert not (marvin.work / "bytecode-ran").exists()


def test_a_few_links_do_not_make_the_start_read_gigabytes(marvin: Marvin) -> None:
    hooks = marvin.work / ".marvin" / "hooks"
    (marvin.work / "big").write_bytes(b"#" * (3 * 1024 * 1024))
    for number in range(12):
        (hooks / f"{number}.txt").symlink_to("../../big")
    done = marvin.run("-p", "--trust-project", "hi")
    assert "over 32 MiB; too much to look at" in done.stderr
    assert "the project's hook runs" not in done.stderr
    assert marvin.run("trust", "--yes").code != 0


def test_links_to_directories_without_files_do_not_keep_the_start_busy(marvin: Marvin) -> None:
    inner = marvin.work / "d0"
    inner.mkdir()
    for level in range(1, 9):
        outer = marvin.work / f"d{level}"
        outer.mkdir()
        for number in range(8):
            (outer / str(number)).symlink_to(f"../d{level - 1}")
    (marvin.work / ".marvin" / "hooks" / "deep").symlink_to("../../d8")
    done = marvin.run("-p", "--trust-project", "hi", timeout=10)
    assert "too much to look at" in done.stderr
