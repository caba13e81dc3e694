"""Keys: the order in which they are looked for, the file they are stored in, and what is said without one."""

import asyncio
import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.errors import AuthenticationError, ConfigError
from marvin_agent.llm.auth import secret as secret_module
from marvin_agent.llm.auth.keys import (
    find_credentials,
    find_key,
    key_source,
    missing_key_error,
    needs_key,
    provider_key_names,
)
from marvin_agent.llm.auth.secret import Secret
from marvin_agent.llm.auth.store import AuthFile
from marvin_agent.llm.custom import CustomProviders, load_custom
from marvin_agent.llm.providers import VARIABLES
from marvin_agent.llm.values import Api, Credentials, Model

SHELL = {"PATH": os.environ["PATH"]}


def custom(tmp_path: Path, providers: dict[str, Any]) -> CustomProviders:
    path = tmp_path / "models.json"
    path.write_text(json.dumps({"providers": providers}, indent=2))
    return load_custom(str(path))


def model(provider: str, api: Api = "openai-completions", identifier: str = "m") -> Model:
    return Model(provider=provider, id=identifier, api=api, base_url="http://127.0.0.1:1/v1")


def auth(tmp_path: Path, **keys: str) -> AuthFile:
    file = AuthFile(str(tmp_path / "config" / "auth.json"))
    for provider, key in keys.items():
        file.store(provider, key)
    return file


async def test_models_json_comes_before_auth_json_before_the_environment(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": "from-env"}
    stored = auth(tmp_path, openai="from-file")
    own = custom(tmp_path, {"openai": {"apiKey": "from-models"}})
    assert await find_key("openai", env, auth(tmp_path / "empty")) == "from-env"
    assert await find_key("openai", env, stored) == "from-file"
    assert await find_key("openai", env, stored, own) == "from-models"
    assert await find_key("groq", env, stored, own) is None
    assert key_source("openai", env, auth(tmp_path / "empty")) == "OPENAI_API_KEY"
    assert key_source("openai", env, stored) == "auth.json"
    assert key_source("openai", env, stored, own) == "models.json"
    assert key_source("groq", env, stored, own) is None


async def test_google_has_two_variables_and_an_empty_one_does_not_count(tmp_path: Path) -> None:
    file = auth(tmp_path)
    assert await find_key("google", {"GOOGLE_API_KEY": "second"}, file) == "second"
    assert await find_key("google", {"GEMINI_API_KEY": "first", "GOOGLE_API_KEY": "second"}, file) == "first"
    assert await find_key("google", {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "second"}, file) == "second"


async def test_a_line_end_behind_a_key_is_not_sent(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": "sk-one\n", "MY_OWN_KEY": " sk-two\r\n", "GROQ_API_KEY": "\n"}
    stored = auth(tmp_path)
    assert await find_key("openai", env, stored) == "sk-one"
    assert await find_key("mine", env, stored, custom(tmp_path, {"mine": {"apiKey": "MY_OWN_KEY"}})) == "sk-two"
    assert key_source("groq", env, stored) is None


def test_the_names_to_scrub_are_all_variables_and_the_tokens() -> None:
    names = provider_key_names()
    assert {name for variables in VARIABLES.values() for name in variables} < names
    assert "ANTHROPIC_OAUTH_TOKEN" in names


def test_no_key_says_which_variable_which_command_and_what_works_without() -> None:
    text = missing_key_error("google").show()
    assert "GEMINI_API_KEY or GOOGLE_API_KEY" in text
    assert "marvin login google" in text
    assert "--model local" in text
    assert "marvin login mine" in missing_key_error("mine").show()


async def test_a_value_may_be_a_command_a_variable_or_literal(tmp_path: Path) -> None:
    env = {**SHELL, "MY_KEY": "of-variable"}
    assert await Secret("!printf 'of-command\\n'").value(env) == "of-command"
    assert await Secret("MY_KEY").value(env) == "of-variable"
    assert await Secret("sk-literal").value(env) == "sk-literal"
    assert await Secret("EMPTY").value(env) == "EMPTY"


async def test_the_name_of_a_variable_that_is_not_set_is_never_sent_as_a_key(tmp_path: Path) -> None:
    own = custom(tmp_path, {"openai": {"apiKey": "MY_OPENAI_KEY"}})
    with pytest.raises(AuthenticationError, match=r"models\.json:4: .*MY_OPENAI_KEY"):
        await find_key("openai", {"OPENAI_API_KEY": "other"}, auth(tmp_path), own)
    assert key_source("openai", {}, auth(tmp_path), own) is None


async def test_a_command_runs_only_when_needed_and_once_for_all_who_ask(tmp_path: Path) -> None:
    log = tmp_path / "log"
    own = custom(tmp_path, {"mine": {"apiKey": f"!echo run >> {log}; sleep 0.1; echo key"}})
    assert key_source("mine", SHELL, auth(tmp_path), own) == "a command of models.json"
    assert not log.exists()
    keys = await asyncio.gather(*(find_key("mine", SHELL, auth(tmp_path), own) for _ in range(3)))
    assert keys == ["key"] * 3
    assert await find_key("mine", SHELL, auth(tmp_path), own) == "key"
    assert log.read_text() == "run\n"


async def test_a_failing_command_is_told_with_file_line_and_key_and_no_output(tmp_path: Path) -> None:
    own = custom(tmp_path, {"mine": {"apiKey": "!echo half-a-secret; echo vault is locked >&2; exit 3"}})
    with pytest.raises(ConfigError) as caught:
        await find_key("mine", SHELL, auth(tmp_path), own)
    text = caught.value.show()
    assert f"{tmp_path / 'models.json'}:4:" in text
    assert "providers.mine.apiKey" in text
    assert "exit code 3: vault is locked" in text
    assert "half-a-secret" not in text
    with pytest.raises(ConfigError, match="printed nothing"):
        await Secret("!true").value(SHELL)


async def test_a_command_that_hangs_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_module, "COMMAND_SECONDS", 0.2)
    pid_file = tmp_path / "pid"
    with pytest.raises(ConfigError, match="within"):
        await Secret(f"!sleep 300 & echo $! > {pid_file}; wait").value(SHELL)
    await gone(int(pid_file.read_text()))


async def test_a_cancelled_wait_kills_the_command(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    task = asyncio.create_task(Secret(f"!echo $$ > {pid_file}; exec sleep 300").value(SHELL))
    deadline = time.monotonic() + 10
    while not (pid_file.exists() and pid_file.read_text().strip()):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(int(pid_file.read_text()))


async def gone(pid: int) -> None:
    """Wait until a process has ended; a zombie that nobody reaps has."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return
        if state == "Z":
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"process {pid} still runs")


def test_a_secret_does_not_show_itself() -> None:
    assert "sk-literal" not in repr(Secret("sk-literal", key="providers.mine.apiKey"))


async def test_headers_of_provider_and_model_are_found_when_a_request_is_sent(tmp_path: Path) -> None:
    own = custom(
        tmp_path,
        {
            "mine": {
                "headers": {"X-Team": "TEAM_NAME", "X-Kind": "plain"},
                "models": [{"id": "m", "headers": {"X-Kind": "!echo special"}}],
            }
        },
    )
    found = await find_credentials(model("mine"), {**SHELL, "TEAM_NAME": "blue"}, auth(tmp_path), own)
    assert found.headers == {"X-Team": "blue", "X-Kind": "special"}
    assert found.api_key is None


async def test_auth_header_sends_the_key_as_a_bearer_token(tmp_path: Path) -> None:
    own = custom(tmp_path, {"mine": {"apiKey": "k", "authHeader": True}})
    found = await find_credentials(model("mine", "anthropic-messages"), {}, auth(tmp_path), own)
    assert found.headers == {"Authorization": "Bearer k"}
    assert found.api_key == "k"
    # This protocol does so anyway.
    assert (await find_credentials(model("mine"), {}, auth(tmp_path), own)).headers == {}


async def test_what_a_hook_gave_wins_and_nothing_is_looked_for(tmp_path: Path) -> None:
    own = custom(tmp_path, {"mine": {"apiKey": "!exit 1", "headers": {"X-A": "file", "X-B": "file"}}})
    given = Credentials(api_key="given", headers={"X-A": "hook"}, base_url="http://elsewhere")
    found = await find_credentials(model("mine"), SHELL, auth(tmp_path), own, given)
    assert found == Credentials(api_key="given", headers={"X-A": "hook", "X-B": "file"}, base_url="http://elsewhere")
    bearer = Credentials(headers={"authorization": "Bearer t"})
    assert (await find_credentials(model("openai"), {}, auth(tmp_path), given=bearer)) == bearer


async def test_a_known_provider_needs_a_key_and_an_own_server_does_not(tmp_path: Path) -> None:
    own = custom(
        tmp_path,
        {
            "ollama": {"api": "openai-completions", "baseUrl": "http://127.0.0.1:11434/v1"},
            "keyed": {"apiKey": "k"},
            "openai": {"baseUrl": "https://proxy.example/v1", "headers": {"X-Proxy": "yes"}},
            "groq": {"baseUrl": "https://proxy.example/v1"},
        },
    )
    with pytest.raises(AuthenticationError, match="no API key"):
        await find_credentials(model("anthropic"), {}, auth(tmp_path))
    with pytest.raises(AuthenticationError):
        await find_credentials(model("groq"), {}, auth(tmp_path), own)
    assert (await find_credentials(model("ollama"), {}, auth(tmp_path), own)).api_key is None
    assert not needs_key("openai", own)
    assert needs_key("keyed", own)
    assert not needs_key("local")


def test_the_file_of_keys_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = auth(tmp_path, openai="one", groq="two")
    assert stat.S_IMODE(os.stat(file.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(file.path)).st_mode) == 0o700
    assert os.listdir(os.path.dirname(file.path)) == ["auth.json"]
    assert json.loads(Path(file.path).read_text())["openai"] == {"type": "api_key", "key": "one"}
    assert file.providers() == ("groq", "openai")


def test_a_file_that_others_can_read_is_closed_with_a_warning(tmp_path: Path) -> None:
    path = auth(tmp_path, openai="one").path
    os.chmod(path, 0o644)
    warnings: list[str] = []
    assert AuthFile(path, warnings.append).get("openai") == "one"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert "644" in warnings[0]
    assert AuthFile(path, warnings.append).get("openai") == "one"
    assert len(warnings) == 1


def test_removing_a_key_leaves_the_others_and_entries_of_other_types(tmp_path: Path) -> None:
    file = auth(tmp_path, openai="one")
    entries = json.loads(Path(file.path).read_text())
    Path(file.path).write_text(json.dumps({**entries, "claude": {"type": "oauth", "refresh": "r"}}))
    assert file.get("claude") is None
    assert file.remove("openai")
    assert not file.remove("openai")
    assert json.loads(Path(file.path).read_text()) == {"claude": {"type": "oauth", "refresh": "r"}}


def test_a_key_that_another_process_stored_is_seen(tmp_path: Path) -> None:
    file = auth(tmp_path, openai="one")
    assert file.get("openai") == "one"
    AuthFile(file.path).store("openai", "two")
    assert file.get("openai") == "two"
    os.remove(file.path)
    assert file.get("openai") is None


def test_the_file_is_read_once_for_many_questions(tmp_path: Path) -> None:
    file = auth(tmp_path, openai="one")
    assert file.get("openai") == "one"
    assert file._read() is file._read()


@pytest.mark.parametrize("content", ['{"openai": {"type": "api_key", "key": sk-secret}}', "[1]", '{"openai": {"key"'])
def test_a_broken_file_is_an_error_that_quotes_nothing_of_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "auth.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError) as caught:
        AuthFile(str(path)).get("openai")
    assert str(path) in caught.value.show()
    assert "secret" not in caught.value.show()
    assert caught.value.__cause__ is None
    with pytest.raises(ConfigError):
        AuthFile(str(path)).store("groq", "k")
    assert path.read_text() == content
