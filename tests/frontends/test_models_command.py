"""`marvin models`: the list, the servers of this machine, and the refreshed catalogue."""

import argparse
import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from marvin_agent.agent.default_model import LOCAL
from marvin_agent.errors import ConfigError, NetworkError, UsageError
from marvin_agent.frontends import models_command
from marvin_agent.frontends.local_servers import LocalServer, find_local
from marvin_agent.frontends.model_sources import open_sources, refreshed_file
from marvin_agent.frontends.models_command import refresh_catalog, tokens
from marvin_agent.frontends.web import get
from marvin_agent.llm.auth.store import AuthFile
from marvin_agent.llm.catalog import DATA_FILE, Catalog, read_catalog
from marvin_agent.places import Places, find_places
from web_server import Reply, serving


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return find_places(cwd=str(tmp_path), config_dir=str(tmp_path / "config"), environ={"HOME": str(tmp_path)})


def run(
    places: Places, *words: str, environ: dict[str, str] | None = None, servers: tuple[LocalServer, ...] = ()
) -> int:
    parser = argparse.ArgumentParser()
    models_command.add_arguments(parser)
    return models_command.run(parser.parse_args(words), places, environ or {}, servers)


def as_json(value: Any) -> Reply:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def dev_model(**facts: Any) -> dict[str, Any]:
    """A model as models.dev tells of it."""
    return {
        "id": "x",
        "name": "New",
        "reasoning": True,
        "tool_call": True,
        "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},
        "limit": {"context": 300_000, "output": 30_000},
        "cost": {"input": 7, "output": 8, "cache_read": 0.5},
        **facts,
    }


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_the_list_shows_id_context_price_thinking_images_and_key(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(places, "claude-opus-4-5", environ={"ANTHROPIC_API_KEY": "sk-secret"}) == 0
    out = capsys.readouterr().out
    head, *rows = out.splitlines()
    assert head.split() == ["model", "context", "$", "in", "$", "out", "thinking", "images", "key"]
    row = next(line for line in rows if line.startswith("anthropic/claude-opus-4-5 "))
    assert row.split() == ["anthropic/claude-opus-4-5", "200k", "5", "25", "yes", "yes", "yes", "(ANTHROPIC_API_KEY)"]
    assert "sk-secret" not in out
    assert next(line for line in rows if line.startswith("openrouter/")).endswith(" no")
    assert row.index("200k") + 4 == head.index("context") + 7


def test_a_query_of_several_words_needs_them_all(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(places, "groq", "scout") == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if "/" in line]
    assert [row.split()[0] for row in rows] == ["groq/meta-llama/llama-4-scout-17b-16e-instruct"]


def test_the_embedded_model_is_listed_and_needs_no_key(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(places, "local/") == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-2:] == ["not", "needed"]


def test_a_query_that_names_nothing_is_told(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(places, "no-such-\x1b[31mmodel") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no-such-" in printed.err
    assert "\x1b" not in printed.err


def test_json_has_every_model_and_no_key(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    AuthFile(places.auth_file).store("groq", "gsk-secret")
    assert run(places, "--json") == 0
    out = capsys.readouterr().out
    values = json.loads(out)
    assert len(values) == len(Catalog.load().models()) + 1
    assert all(value["key"] == (value["provider"] in ("groq", "local")) for value in values)
    assert {"id", "provider", "ref", "contextWindow", "cost", "reasoning", "images"} <= values[0].keys()
    assert "gsk-secret" not in out


def test_own_models_are_listed_without_running_their_commands(
    places: Places, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider = {"api": "openai-completions", "baseUrl": "http://127.0.0.1:1/v1", "models": [{"id": "tiny"}]}
    keyed = {**provider, "apiKey": f"!touch {tmp_path}/ran", "models": [{"id": "vaulted"}]}
    os.mkdir(places.config_dir)
    Path(places.models_file).write_text(json.dumps({"providers": {"home": provider, "vault": keyed}}))
    assert run(places, "tiny") == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-2:] == ["not", "needed"]
    assert run(places, "vaulted") == 0
    assert "yes (a command of models.json)" in capsys.readouterr().out
    assert not (tmp_path / "ran").exists()


def test_a_wrong_models_json_is_an_error(places: Places) -> None:
    os.mkdir(places.config_dir)
    Path(places.models_file).write_text('{"providers": {"x": {"urls": 1}}}')
    with pytest.raises(ConfigError, match="unknown key `urls`"):
        run(places)


@pytest.mark.parametrize(
    ("count", "text"),
    [(512, "512"), (8_192, "8.19k"), (128_000, "128k"), (1_000_000, "1M"), (1_050_000, "1.05M"), (999_999, "999k")],
)
def test_numbers_of_tokens_are_short(count: int, text: str) -> None:
    assert tokens(count) == text


# The servers of this machine.


def test_servers_on_this_machine_are_found_with_their_models(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    one = as_json({"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "gpt-oss:20b"}]})
    two = as_json({"data": [{"id": "served", "max_model_len": 32768}]})
    three = as_json({"data": [{"id": "gguf", "meta": {"n_ctx": 4096, "n_ctx_train": 131072}}]})
    with serving({"/v1/models": one}) as a, serving({"/v1/models": two}) as b, serving({"/v1/models": three}) as c:
        servers = (
            LocalServer(provider="ollama", name="Ollama", port=a.port),
            LocalServer(provider="vllm", name="vLLM", port=b.port),
            LocalServer(provider="llamacpp", name="llama.cpp", port=c.port),
            LocalServer(provider="lmstudio", name="LM Studio", port=free_port()),
        )
        assert run(places, "--local", servers=servers) == 0
        out = capsys.readouterr().out
        assert f"Ollama at http://127.0.0.1:{a.port}/v1\n  qwen3:8b\n  gpt-oss:20b\n" in out
        assert "served  (32.8k tokens of context)" in out
        assert "gguf  (4.1k tokens of context)" in out
        assert "LM Studio" not in out
        assert "marvin --model ollama/qwen3:8b" in out

        # What it says to put into models.json is what makes them usable.
        snippet = out[out.index("{") : out.rindex("}") + 1]
        os.mkdir(places.config_dir)
        Path(places.models_file).write_text(snippet)
        catalog = open_sources(places, print).catalog
        assert catalog.find("ollama/qwen3:8b").base_url == f"{a.url}/v1"
        assert catalog.find("served").context_window == 32768
        assert run(places, "--local", servers=servers) == 0
        out = capsys.readouterr().out
        assert "Ollama is in models.json: marvin --model ollama/qwen3:8b" in out
        assert "{" not in out


def test_no_server_on_this_machine_is_told(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    nobody = LocalServer(provider="ollama", name="Ollama", port=free_port())
    assert run(places, "--local", servers=(nobody,)) == 1
    assert f"Ollama {nobody.port}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ((500, {}, b"no"), "HTTP 500"),
        ((200, {}, b"<html>"), "something else"),
        ((200, {}, b'"text"'), "no model"),
        ((200, {}, b'{"data": {}}'), "no model"),
        ((200, {}, b'{"data": [1, {"id": 2}, {"id": "a\\u001b[2Jb"}, {"id": ""}]}'), "no model"),
        ((200, {}, b" " * (5 << 20)), "larger than"),
    ],
)
def test_a_server_that_answers_oddly_is_named_with_its_problem(reply: Reply, problem: str) -> None:
    with serving({"/v1/models": reply}) as server:
        (found,) = find_local((LocalServer(provider="x", name="X", port=server.port),))
    assert found.models == ()
    assert problem in found.problem


def test_a_silent_server_is_given_up_and_the_others_are_found(places: Places) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        serving({"/v1/models": as_json({"data": [{"id": "m"}]})}) as b,
    ):
        servers = (
            LocalServer(provider="a", name="A", port=silent.getsockname()[1]),
            LocalServer(provider="b", name="B", port=b.port),
        )
        one, two = find_local(servers, 0.2)
    assert "did not answer" in one.problem
    assert two.models[0].id == "m"


# The refreshed catalogue.


def test_a_refresh_brings_new_models_prices_and_limits(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    data = {
        "anthropic": {
            "api": "https://evil.example",
            "models": {
                "claude-next-9": dev_model(),
                "claude-opus-4-5": dev_model(limit={"context": 500_000, "output": 99}, name="Renamed"),
                "claude-embed": dev_model(tool_call=False),
                "claude-gone": dev_model(status="deprecated"),
                "claude paint": dev_model(),
                "claude-broken": {"limit": "much"},
                "claude-free": dev_model(cost={"input": -1, "output": 0}),
            },
        },
        "moonshotai": {"models": {"kimi-k9": dev_model(limit={"context": 10_000, "input": 9_000, "output": 1_000})}},
        "somebody-else": {"models": {"other-1": dev_model()}},
        "openai": "nonsense",
    }
    with serving({"/api.json": as_json(data)}) as server:
        assert refresh_catalog(places, f"{server.url}/api.json", "2027-01-02") == 0
    assert "2027-01-02: 2 new models, 1 changed, 3 not understood." in capsys.readouterr().out
    before, after = Catalog.load(), open_sources(places, print).catalog
    assert after.date == "2027-01-02"
    new = after.find("anthropic/claude-next-9")
    assert (new.api, new.base_url) == ("anthropic-messages", "https://api.anthropic.com")
    assert (new.context_window, new.max_tokens, new.images, new.reasoning) == (300_000, 30_000, True, True)
    assert (new.cost.input, new.cost.output, new.cost.cache_read, new.cost.cache_write) == (7.0, 8.0, 0.5, 0.0)
    old = after.find("anthropic/claude-opus-4-5")
    assert (old.name, old.cost.input, old.max_tokens) == ("Claude Opus 4.5 (latest)", 7.0, 99)
    assert old.context_window == before.find("anthropic/claude-opus-4-5").context_window
    # What all models of a provider have in common, a new one has too.
    kimi = after.find("moonshot/kimi-k9")
    assert kimi.compat == before.find("moonshot/kimi-k2.6").compat
    assert kimi.context_window == 9_000
    added = {model.ref for model in after.models()} - {model.ref for model in before.models()}
    assert added == {new.ref, kimi.ref, LOCAL.ref}
    assert after.find("openai/gpt-5") == before.find("openai/gpt-5")
    assert after.find("deepseek/deepseek-v4-pro") == before.find("deepseek/deepseek-v4-pro")
    assert stat.S_IMODE(os.stat(refreshed_file(places)).st_mode) == 0o600


def test_a_refresh_goes_on_from_the_one_before(places: Places) -> None:
    with serving({"/1": as_json({"xai": {"models": {"grok-8": dev_model()}}})}) as server:
        server.replies["/2"] = as_json({"xai": {"models": {"grok-9": dev_model()}}})
        assert refresh_catalog(places, f"{server.url}/1", "2027-01-01") == 0
        assert refresh_catalog(places, f"{server.url}/2", "2027-01-02") == 0
    catalog = open_sources(places, print).catalog
    assert catalog.find("xai/grok-8").context_window == catalog.find("xai/grok-9").context_window == 300_000


@pytest.mark.parametrize(
    "reply",
    [
        (503, {}, b"{}"),
        (200, {}, b"not json"),
        (200, {}, b"[]"),
        (200, {}, b"{}"),
        (200, {}, b'{"anthropic": {"models": {"x": {"tool_call": false}}}}'),
        (302, {"Location": "http://localhost:1/api.json"}, b""),
        (302, {"Location": "/api.json"}, b""),
    ],
)
def test_a_refresh_that_fails_keeps_the_old_data(
    places: Places, reply: Reply, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving({"/good": as_json({"xai": {"models": {"grok-8": dev_model()}}}), "/api.json": reply}) as server:
        assert refresh_catalog(places, f"{server.url}/good", "2027-01-01") == 0
        kept = Path(refreshed_file(places)).read_bytes()
        assert refresh_catalog(places, f"{server.url}/api.json", "2027-01-02") == 1
    assert Path(refreshed_file(places)).read_bytes() == kept
    assert "The models of 2027-01-01 stay in use." in capsys.readouterr().err
    assert os.listdir(places.data_dir) == ["models.json"]


def test_a_refresh_without_a_network_keeps_the_old_data(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(places, "refresh", "--url", f"http://127.0.0.1:{free_port()}/api.json") == 1
    assert f"The models of {read_catalog(DATA_FILE).date} stay in use." in capsys.readouterr().err
    assert not os.path.exists(refreshed_file(places))


def test_a_refresh_needs_https(places: Places) -> None:
    for url in ("http://models.example/api.json", "file:///etc/passwd", "nonsense"):
        with pytest.raises(UsageError, match="https"):
            refresh_catalog(places, url)


def test_a_refreshed_file_that_is_torn_is_told_and_not_used(places: Places) -> None:
    with serving({"/1": as_json({"xai": {"models": {"grok-8": dev_model()}}})}) as server:
        assert refresh_catalog(places, f"{server.url}/1", "2027-01-01") == 0
    path = Path(refreshed_file(places))
    path.write_bytes(path.read_bytes()[:1000])
    notices: list[str] = []
    assert open_sources(places, notices.append).catalog.date == read_catalog(DATA_FILE).date
    assert "marvin models refresh" in notices[0]


def test_the_packaged_catalogue_survives_a_refresh_unchanged(places: Places) -> None:
    """What models.dev does not speak of stays exactly as it was."""
    with serving({"/1": as_json({"xai": {"models": {"grok-8": dev_model()}}})}) as server:
        assert refresh_catalog(places, f"{server.url}/1", "2027-01-01") == 0
    after = [model for model in Catalog.load(refreshed_file=refreshed_file(places)).models() if model.id != "grok-8"]
    assert msgspec.json.encode(after) == msgspec.json.encode(Catalog.load().models())


# The network.


def test_a_redirect_is_followed_on_the_same_host_only() -> None:
    with serving({"/end": (200, {}, b"there"), "/start": (307, {"Location": "/end"}, b"")}) as server:
        assert get(f"{server.url}/start", 5).body == b"there"
        with serving({"/": (200, {}, b"elsewhere")}) as other:
            server.replies["/away"] = (302, {"Location": f"{other.url}/"}, b"")
            with pytest.raises(NetworkError, match="another host"):
                get(f"{server.url}/away", 5)
            assert other.paths == []


def test_a_server_that_says_nothing_is_given_up() -> None:
    with serving({}) as server, pytest.raises(NetworkError, match=r"within 0\.2 seconds"):
        get(f"{server.url}/silent", 0.2)


def test_an_address_that_is_none_is_an_error() -> None:
    for url in ("", "nonsense", "http://", "ftp://127.0.0.1/x"):
        with pytest.raises(NetworkError):
            get(url, 1)
