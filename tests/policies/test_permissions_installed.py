"""Permissions in the installed program: flags, configuration, trust, `marvin permissions`."""

import json
from pathlib import Path

import pytest

from marvin_agent.permission_rules import parse_rule
from marvin_agent.policies.permissions.remembered import Remembered
from program import Marvin

TOUCH = {"toolCalls": [{"name": "bash", "arguments": {"command": "touch made"}}]}


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    made = Marvin(tmp_path)
    made.script(TOUCH, {"text": "done"})
    return made


def result(marvin: Marvin) -> str:
    # Beside it is the file of the hooks' decisions.
    session = next(path for path in marvin.sessions if path.name != "hooks.jsonl")
    (found,) = [m for m in marvin.messages(session) if m["role"] == "toolResult"]
    text: str = found["content"][0]["text"]
    return text


def test_headless_what_would_ask_is_refused_and_the_model_is_told_how_to_allow_it(marvin: Marvin) -> None:
    assert marvin.run("-p", "go").stdout == "done\n"
    assert "nobody is here to ask" in result(marvin)
    assert "--auto, or add to permissions.allow in config.json: bash(touch *)" in result(marvin)
    assert not (marvin.work / "made").exists()


@pytest.mark.parametrize(
    ("options", "runs"),
    [
        (["--auto"], True),
        (["--permission-mode", "auto"], True),
        (["--permission-mode", "edits"], False),
        (["--permission-mode", "plan"], False),
        (["--permission-mode", "ask"], False),
    ],
)
def test_the_mode_can_be_given(marvin: Marvin, options: list[str], runs: bool) -> None:
    assert marvin.run("-p", *options, "go").code == 0
    assert (marvin.work / "made").exists() == runs


def test_rules_of_the_configuration_count(marvin: Marvin) -> None:
    marvin.configure(permissions={"allow": ["bash(touch *)"]})
    assert marvin.run("-p", "go").code == 0
    assert (marvin.work / "made").exists()


def test_a_deny_holds_with_auto(marvin: Marvin) -> None:
    marvin.configure(permissions={"deny": ["bash(touch *)"]})
    assert marvin.run("-p", "--auto", "go").code == 0
    assert "forbids it" in result(marvin)
    assert not (marvin.work / "made").exists()


def test_a_rule_that_is_none_stops_the_start_with_its_line(marvin: Marvin) -> None:
    (marvin.config_dir / "config.json").write_text('{"permissions": {\n"deny": [\n"bash(rm"\n]}}')
    done = marvin.run("-p", "go")
    assert done.code == 78
    assert f"{marvin.config_dir / 'config.json'}:3: permissions.deny[0]: 'bash(rm' is no rule" in done.stderr
    assert not marvin.sessions


def test_a_pattern_that_cannot_be_compiled_stops_the_start(marvin: Marvin) -> None:
    marvin.configure(permissions={"deny": ["read([z-a])"]})
    done = marvin.run("-p", "go")
    assert done.code == 78
    assert "[z-a]" in done.stderr


def test_a_project_sets_permissions_only_when_it_is_trusted(marvin: Marvin) -> None:
    (marvin.work / ".marvin").mkdir()
    (marvin.work / ".marvin" / "config.json").write_text('{"permissions": {"mode": "auto"}}')
    assert marvin.run("-p", "go").code == 0
    assert not (marvin.work / "made").exists()
    assert marvin.run("-p", "--trust-project", "go").code == 0
    assert (marvin.work / "made").exists()


def test_no_hooks_does_not_take_the_policy_away(marvin: Marvin) -> None:
    assert marvin.run("-p", "--no-hooks", "go").code == 0
    assert not (marvin.work / "made").exists()


def test_what_is_remembered_counts_is_listed_and_can_be_forgotten(marvin: Marvin) -> None:
    remembered = Remembered(str(marvin.config_dir))
    remembered.add(str(marvin.work), [parse_rule("bash(touch *)"), parse_rule("write")])
    remembered.add("/elsewhere", [parse_rule("edit")])
    assert marvin.run("permissions").stdout == "bash(touch *)\nwrite\n"
    assert json.loads(marvin.run("permissions", "list", "--all", "--json").stdout) == {
        str(marvin.work): ["bash(touch *)", "write"],
        "/elsewhere": ["edit"],
    }
    assert marvin.run("-p", "go").code == 0
    assert (marvin.work / "made").exists()
    assert marvin.run("permissions", "forget", "bash(rm)").code == 2
    assert marvin.run("permissions", "forget").code == 2
    assert marvin.run("permissions", "forget", "bash(touch *)").stdout == "1 forgotten.\n"
    assert marvin.run("permissions", "list").stdout == "write\n"
    assert marvin.run("permissions", "forget", "--all").stdout == "1 forgotten.\n"
    nothing = marvin.run("permissions")
    assert (nothing.stdout, nothing.stderr) == ("", "Nothing is remembered for this project.\n")
