"""`marvin doctor`: each finding, its advice, and the exit code."""

import argparse
import io
import json
import os
import pty
import socket
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import msgspec
import pytest

from marvin_agent.agent.default_model import LOCAL
from marvin_agent.frontends import doctor_command
from marvin_agent.frontends.doctor_command import (
    Finding,
    check_embedded,
    check_program,
    check_python,
    check_reachable,
    check_sessions,
    check_terminal,
    examine,
)
from marvin_agent.llm.auth.store import AuthFile
from marvin_agent.llm.offline.weights import INSTALL_ENGINE, SIZE, weights_file
from marvin_agent.places import Places, find_places
from web_server import serving

PATH = {"PATH": os.environ["PATH"]}
UTF8 = {"TERM": "xterm-256color"}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return find_places(cwd=str(tmp_path), config_dir=str(tmp_path / "config"), environ={"HOME": str(tmp_path)})


def configure(places: Places, config: Any = None, providers: Any = None) -> None:
    os.makedirs(places.config_dir, exist_ok=True)
    if config is not None:
        Path(places.config_file).write_text(config if isinstance(config, str) else json.dumps(config))
    if providers is not None:
        Path(places.models_file).write_text(json.dumps({"providers": providers}))


def findings(places: Places, environ: dict[str, str] | None = None) -> dict[str, Finding]:
    return {one.subject: one for one in examine(places, {**PATH, **(environ or {})})}


def server_model(url: str, **facts: Any) -> dict[str, Any]:
    return {"mine": {"api": "openai-completions", "baseUrl": f"{url}/v1", "models": [{"id": "m"}], **facts}}


def test_a_fresh_installation_is_not_broken_and_says_what_to_do(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor_command.run(argparse.Namespace(), places, environ=PATH) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [
        "python",
        "config",
        "keys",
        "model",
        "rg",
        "git",
        "terminal",
        "sessions",
    ]
    assert not any(line.startswith("broken") for line in lines)
    assert "marvin login PROVIDER" in lines[2]
    assert not os.path.exists(places.config_dir)


def test_a_server_that_answers_is_reachable_and_is_sent_no_key(places: Places) -> None:
    with serving({}) as server:
        configure(places, {"model": "mine/m"}, server_model(server.url, apiKey="sk-secret", headers={"X-Key": "sk-x"}))
        found = findings(places)
    assert found["model"] == Finding(level="ok", subject="model", text="mine/m")
    assert found["network"].level == "ok"
    assert server.paths == ["/v1"]
    assert "sk-" not in json.dumps(server.headers)


def test_a_server_in_trouble_is_a_warning(places: Places) -> None:
    with serving({"/v1": (503, {}, b"")}) as server:
        configure(places, {"model": "mine/m"}, server_model(server.url))
        assert findings(places)["network"].level == "warning"


def test_being_offline_is_a_warning_and_the_exit_code_0(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    configure(places, {"model": "mine/m"}, server_model(f"http://127.0.0.1:{port}"))
    assert doctor_command.run(argparse.Namespace(), places, environ=PATH) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if " network " in line)
    assert line.startswith("warning")
    assert f"127.0.0.1:{port}" in line
    assert "Start the server" in line
    far = check_reachable(msgspec.structs.replace(LOCAL, base_url="http://nowhere.invalid"))
    assert "--model local" in far.advice


def test_a_wrong_configuration_is_broken_with_its_line_and_the_rest_is_still_examined(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(places, '{\n"modle": "x",\n"themes": 1}')
    assert doctor_command.run(argparse.Namespace(), places, environ=PATH) == 1
    out = capsys.readouterr().out
    assert f"broken   config     {places.config_file}:2:" in out
    assert f"{places.config_file}:3:" in out
    assert " sessions " in out


def test_a_wrong_models_json_is_broken(places: Places) -> None:
    configure(places, providers={"mine": {"nonsense": 1}})
    found = findings(places)
    assert found["keys"].level == "broken"
    assert "nonsense" in found["keys"].text


def test_a_broken_file_of_keys_is_broken(places: Places) -> None:
    configure(places)
    Path(places.auth_file).write_text("{")
    assert findings(places)["keys"].level == "broken"


def test_keys_are_named_by_their_place_and_never_shown(places: Places) -> None:
    AuthFile(places.auth_file).store("groq", "gsk-secret")
    found = findings(places, {"OPENAI_API_KEY": "sk-secret"})
    assert found["keys"].text == "openai (OPENAI_API_KEY), groq (auth.json)"
    assert "secret" not in "".join(one.line() for one in found.values())


def test_keys_that_others_can_read_are_told(places: Places) -> None:
    AuthFile(places.auth_file).store("groq", "k")
    os.chmod(places.auth_file, 0o640)
    assert "640" in findings(places)["models"].text


def test_a_configured_model_without_its_key_is_broken(places: Places) -> None:
    configure(places, {"model": "claude-opus-4-5"}, {"anthropic": {"baseUrl": "http://127.0.0.1:9"}})
    model = findings(places)["model"]
    assert model.level == "broken"
    assert "ANTHROPIC_API_KEY" in model.advice
    assert "marvin login anthropic" in model.advice


@pytest.mark.parametrize(
    "facts",
    [
        {"apiKey": "MY_KEY"},
        {"apiKey": "literal", "headers": {"X-Team": "MY_KEY"}},
        {"models": [{"id": "m", "headers": {"X": "MY_KEY"}}]},
    ],
)
def test_a_variable_that_models_json_names_and_nobody_sets_is_broken(places: Places, facts: dict[str, Any]) -> None:
    with serving({}) as server:
        configure(places, {"model": "mine/m"}, server_model(server.url, **facts))
        model = findings(places)["model"]
        assert model.level == "broken"
        assert "MY_KEY, which is not set" in model.text
        assert f"{places.models_file}:1" in model.text
        assert "marvin login" not in model.advice
        assert findings(places, {"MY_KEY": "k"})["model"].level == "ok"


def test_a_configured_model_that_does_not_exist_is_broken(places: Places) -> None:
    configure(places, {"model": "cluade-opus-4-5"})
    model = findings(places)["model"]
    assert model.level == "broken"
    assert "claude-opus-4-5" in model.advice


def test_a_model_that_is_not_in_the_catalogue_is_a_warning(places: Places) -> None:
    with serving({}) as server:
        configure(places, {"model": "mine/unheard-of"}, server_model(server.url))
        found = findings(places)
    assert found["model"].level == "ok"
    assert "mine/unheard-of" in found["models"].text


def test_a_scripted_model_needs_its_script_and_no_network(places: Places, tmp_path: Path) -> None:
    configure(
        places, {"model": "play/m"}, {"play": {"api": "scripted", "baseUrl": "play.json", "models": [{"id": "m"}]}}
    )
    found = findings(places)
    assert found["model"].level == "broken"
    assert "network" not in found
    Path(places.config_dir, "play.json").write_text("{}")
    assert findings(places)["model"].level == "ok"


def test_the_embedded_model_needs_its_engine_and_no_network(places: Places) -> None:
    configure(places, {"model": "local"})
    found = findings(places)
    assert "network" not in found
    assert found["model"].level == "broken"
    assert "marvin local install" in found["model"].advice
    assert ("marvin-agent[local]" in found["model"].advice) == (find_spec("xllamacpp") is None)
    os.makedirs(os.path.dirname(weights_file(places.data_dir)))
    with open(weights_file(places.data_dir), "wb") as file:
        file.truncate(SIZE)
    found = findings(places)
    assert found["model"] == check_embedded(() if find_spec("xllamacpp") else (INSTALL_ENGINE,))
    assert check_embedded(()).level == "ok"


def test_the_model_that_would_be_taken_is_named_when_none_is_configured(places: Places) -> None:
    with serving({}) as server:
        configure(places, providers=server_model(server.url))
        found = findings(places)
    assert (found["model"].level, found["model"].text) == ("ok", "mine/m, as none is named")
    assert found["network"].level == "ok"


def test_what_the_configuration_has_to_say_is_told(places: Places) -> None:
    configure(places, {"lsp": True})
    told = [one for one in examine(places, PATH) if one.subject == "config"]
    assert [one.level for one in told] == ["ok", "warning"]
    assert "lsp has no effect" in told[1].text


def test_an_old_python_is_broken() -> None:
    assert check_python((3, 10, 9)).level == "broken"
    assert check_python((3, 11, 0)).level == "ok"


def test_a_program_is_there_missing_or_does_not_start(tmp_path: Path) -> None:
    assert check_program("rg", PATH, "x", needed=True).text.startswith("ripgrep ")
    assert check_program("no-such-program", PATH, "x", needed=True).level == "broken"
    assert check_program("no-such-program", PATH, "x", needed=False).level == "warning"
    bad = tmp_path / "falls"
    bad.write_text("#!/bin/sh\nexit 1\n")
    bad.chmod(0o755)
    assert "does not start" in check_program("falls", {"PATH": str(tmp_path)}, "x", needed=True).text


@contextmanager
def terminal(columns: int, lines: int, encoding: str = "utf-8") -> Iterator[TextIO]:
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (lines, columns))
    with open(follower, "w", encoding=encoding) as stream:
        yield stream
    os.close(leader)


def test_a_terminal_is_described() -> None:
    with terminal(120, 40) as stream:
        found = check_terminal(stream, UTF8)
        assert found == Finding(level="ok", subject="terminal", text="120 x 40, 256 colours, utf-8")
        assert "16 million" in check_terminal(stream, {**UTF8, "COLORTERM": "truecolor"}).text
        assert "no colours" in check_terminal(stream, {**UTF8, "NO_COLOR": "1"}).text


def test_a_terminal_that_is_too_small_dumb_or_not_utf8_is_a_warning() -> None:
    with terminal(40, 10) as stream:
        assert "60 x 15" in check_terminal(stream, UTF8).advice
    with terminal(120, 40) as stream:
        assert check_terminal(stream, {"TERM": "dumb"}).level == "warning"
    with terminal(120, 40, "latin-1") as stream:
        assert "UTF-8" in check_terminal(stream, UTF8).advice
    assert check_terminal(io.StringIO(), UTF8).level == "ok"


def test_sessions_that_cannot_be_stored_are_broken(places: Places, tmp_path: Path) -> None:
    assert check_sessions(str(tmp_path / "a" / "b")).text.endswith("(will be made)")
    made = tmp_path / "made"
    made.mkdir()
    assert check_sessions(str(made)).level == "ok"
    assert list(made.iterdir()) == []
    file = tmp_path / "file"
    file.write_text("x")
    assert check_sessions(str(file / "sessions")).level == "broken"
    configure(places, {"sessions": {"dir": str(file)}})
    assert findings(places)["sessions"].level == "broken"
