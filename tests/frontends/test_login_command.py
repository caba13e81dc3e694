"""`marvin login` and `marvin logout`."""

import argparse
import io
import json
import os
import stat
from pathlib import Path

import pytest

from marvin_agent.errors import UsageError
from marvin_agent.frontends import login_command, logout_command
from marvin_agent.llm.auth.store import AuthFile
from marvin_agent.places import Places, find_places


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def refuse(prompt: str) -> str:
    raise AssertionError("a pipe is not asked")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return find_places(cwd=str(tmp_path), config_dir=str(tmp_path / "config"), environ={"HOME": str(tmp_path)})


def login(places: Places, provider: str, piped: str, environ: dict[str, str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    login_command.add_arguments(parser)
    return login_command.run(parser.parse_args([provider]), places, environ or {}, io.StringIO(piped), refuse)


def logout(places: Places, provider: str, environ: dict[str, str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    logout_command.add_arguments(parser)
    return logout_command.run(parser.parse_args([provider]), places, environ or {})


def test_a_key_from_a_pipe_is_stored_for_its_owner_alone_and_not_shown(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    assert login(places, "openai", "  sk-one\nsk-two\n") == 0
    assert AuthFile(places.auth_file).get("openai") == "sk-one"
    assert stat.S_IMODE(os.stat(places.auth_file).st_mode) == 0o600
    printed = capsys.readouterr()
    assert places.auth_file in printed.out
    assert "sk-" not in printed.out + printed.err


def test_a_key_is_asked_for_in_a_terminal(places: Places) -> None:
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return "sk-typed"

    arguments = argparse.Namespace(provider="groq")
    assert login_command.run(arguments, places, {}, Terminal(), ask) == 0
    assert AuthFile(places.auth_file).get("groq") == "sk-typed"
    assert prompts == ["API key of groq (not shown): "]


def test_what_is_typed_and_is_no_text_is_said_to_be_no_key(places: Places) -> None:
    def ask(prompt: str) -> str:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    with pytest.raises(UsageError, match="nothing is stored"):
        login_command.run(argparse.Namespace(provider="groq"), places, {}, Terminal(), ask)
    assert AuthFile(places.auth_file).providers() == ()


def test_a_new_key_replaces_the_old_one_and_leaves_the_others(places: Places) -> None:
    for provider, key in (("openai", "a"), ("groq", "b"), ("openai", "c")):
        assert login(places, provider, key) == 0
    file = AuthFile(places.auth_file)
    assert (file.get("openai"), file.get("groq")) == ("c", "b")


def test_the_name_that_another_catalogue_uses_is_ours(places: Places) -> None:
    assert login(places, "moonshotai", "k") == 0
    assert AuthFile(places.auth_file).providers() == ("moonshot",)
    assert logout(places, "moonshotai") == 0
    assert AuthFile(places.auth_file).providers() == ()


def test_an_unknown_provider_is_refused_with_the_nearest(places: Places) -> None:
    with pytest.raises(UsageError) as caught:
        login(places, "opnai", "k")
    assert "openai" in caught.value.show()
    assert not os.path.exists(places.auth_file)


def test_an_own_provider_can_have_a_stored_key(places: Places) -> None:
    os.mkdir(places.config_dir)
    Path(places.models_file).write_text(json.dumps({"providers": {"mine": {"baseUrl": "http://127.0.0.1/v1"}}}))
    assert login(places, "mine", "k") == 0
    assert AuthFile(places.auth_file).get("mine") == "k"


@pytest.mark.parametrize("typed", ["", "  \n", "two words", "sk-\x1b[0m", "schlüssel-geheim", "x" * 9000])
def test_what_cannot_be_a_key_is_refused_unquoted_and_nothing_is_stored(places: Places, typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        login(places, "openai", typed)
    assert not os.path.exists(places.auth_file)
    assert not typed.strip() or typed not in caught.value.show()


def test_what_makes_a_stored_key_useless_or_useful_is_told(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkdir(places.config_dir)
    Path(places.models_file).write_text(json.dumps({"providers": {"openai": {"apiKey": "other"}}}))
    assert login(places, "openai", "k", {"OPENAI_API_KEY": "sk-env"}) == 0
    told = capsys.readouterr().err
    assert places.models_file in told
    assert "OPENAI_API_KEY" in told
    assert "sk-env" not in told


def test_logging_out_forgets_the_key_and_tells_what_is_left(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    login(places, "openai", "k")
    assert logout(places, "openai", {"OPENAI_API_KEY": "sk-env"}) == 0
    assert AuthFile(places.auth_file).get("openai") is None
    assert "OPENAI_API_KEY" in capsys.readouterr().err


def test_logging_out_without_a_key_is_told_with_those_that_are_stored(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    login(places, "groq", "k")
    assert logout(places, "openai") == 1
    assert "Stored are: groq." in capsys.readouterr().err
