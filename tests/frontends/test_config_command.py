"""`marvin config`."""

import argparse
import json
from pathlib import Path

import pytest

from marvin_agent.config_schema import config_schema
from marvin_agent.errors import ConfigError
from marvin_agent.frontends.config_command import add_arguments, run
from marvin_agent.hooks.trust import Trust, take_snapshot
from marvin_agent.places import Places, find_places
from marvin_agent.settings import Settings


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / ".config" / "marvin").mkdir(parents=True)
    return find_places(cwd=str(tmp_path), environ={"HOME": str(tmp_path)})


def write(places: Places, value: object) -> None:
    Path(places.config_file).write_text(json.dumps(value, indent=1))


def config(places: Places, *words: str) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args(words), places)


def test_every_effective_value_is_shown_with_its_origin(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    write(places, {"model": "a/b", "hookTimeout": 5, "keybindings": {"quit": "f10"}, "tools": []})
    assert config(places) == 0
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in capsys.readouterr().out.splitlines()}
    assert rows["model"] == f'"a/b" {places.config_file}:2'
    assert rows["thinking"] == '"medium" default'
    assert rows["hooks.timeoutMs"] == f"5 {places.config_file}:3"
    assert rows["keybindings.quit"] == f'"f10" {places.config_file}:5'
    assert rows["tools"] == f"[] {places.config_file}:7"
    assert rows["permissions.mode"] == '"ask" default'
    assert rows["provider"] == "(not set) default"
    assert {name.split(".")[0] for name in rows} == {*Settings.__struct_encode_fields__} - {"$schema"}


def test_what_a_project_says_is_shown_as_it_counts(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    project = Path(places.project_config_file)
    project.parent.mkdir()
    project.write_text('{"model": "p/q", "permissions": {"mode": "auto"}}')
    config(places)
    captured = capsys.readouterr()
    assert f"{project}:1" in next(line for line in captured.out.splitlines() if line.startswith("model"))
    assert any(line.split() == ["permissions.mode", '"ask"', "default"] for line in captured.out.splitlines())
    assert "until you trust" in captured.err
    Trust(places.trust_file).grant(take_snapshot(places.project_root))
    config(places)
    captured = capsys.readouterr()
    (mode,) = (line.split() for line in captured.out.splitlines() if line.startswith("permissions.mode"))
    assert mode == ["permissions.mode", '"auto"', f"{project}:1"]
    assert captured.err == ""


def test_the_columns_stand_under_each_other(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    write(places, {"systemPrompt": "x" * 300})
    config(places)
    lines = capsys.readouterr().out.splitlines()
    assert {line.index("default") for line in lines if line.endswith("default")} == {
        line.index("default") for line in lines[:1]
    }


def test_json_has_the_same_for_programs(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    write(places, {"lsp": True, "permissions": {"deny": ["bash"]}})
    config(places, "--json")
    captured = capsys.readouterr()
    shown = json.loads(captured.out)
    assert shown["values"]["permissions.deny"] == {"value": ["bash"], "origin": f"{places.config_file}:4"}
    assert shown["values"]["model"] == {"value": None, "origin": "default"}
    assert shown["notices"] == [f"{places.config_file}:2: lsp has no effect: diagnostics are not there yet"]
    assert captured.err == ""


def test_notices_go_to_stderr(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    write(places, {"lsp": True})
    config(places)
    captured = capsys.readouterr()
    assert "diagnostics are not there yet" in captured.err
    assert "diagnostics" not in captured.out


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_secrets_are_masked(places: Places, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    settings: dict[str, dict[str, object]] = {
        "project:key": {"apiKey": "hunter2", "auth": {"token": {"value": "hunter2"}}, "url": "http://a:hunter2@h"}
    }
    settings["x"] = {"colour": "red", "command": "curl -H 'Authorization: Bearer hunter2'"}
    write(places, {"hooks": {"settings": settings}})
    config(places, *words)
    out = capsys.readouterr().out
    assert "hunter2" not in out
    assert out.count("(masked)") == 4
    assert "red" in out


def test_names_that_only_look_like_secrets_are_shown(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    write(places, {"keybindings": {"pasteToken": "f3"}, "hooks": {"settings": {"a:token": {"colour": "red"}}}})
    config(places)
    out = capsys.readouterr().out
    assert "f3" in out
    assert "red" in out


def test_what_a_terminal_would_obey_is_shown_escaped(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    write(places, {"theme": "a\x1b[31m\x9b2J", "keybindings": {"q\x1b]0;x\x07": "f1"}})
    config(places)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "\\u009b2J" in out


def test_schema_prints_the_schema(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    write(places, {"nonsense": 1})  # whoever mends it wants to see the schema
    assert config(places, "schema") == 0
    assert json.loads(capsys.readouterr().out) == config_schema()


def test_path_prints_the_path_alone(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    assert config(places, "path") == 0
    assert capsys.readouterr().out == f"{places.config_file}\n"


def test_a_configuration_that_is_wrong_is_an_error(places: Places) -> None:
    write(places, {"nonsense": 1})
    with pytest.raises(ConfigError, match="unknown key nonsense"):
        config(places)
