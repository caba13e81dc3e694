"""Providers that hooks bring, chosen as any other: by name, by configuration, by the session, or for want of others."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from marvin_agent.hooks.api import HookAPI
from marvin_agent.llm.offline.script import Script
from marvin_agent.testing.engine import ScriptedEngine
from marvin_agent.testing.server import ScriptedServer
from program import Marvin

SOURCE = """
def setup(marvin):
    marvin.register_provider(
        "corp", base_url="{url}", api_key="CORP_KEY", headers={{"x-team": "a"}}, models=["small", {{"id": "big"}}]
    )
"""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Script.of({"text": "from corp", "repeat": True})) as made:
        yield made


@pytest.fixture
def marvin(tmp_path: Path, server: ScriptedServer) -> Marvin:
    made = Marvin(tmp_path)
    (made.config_dir / "hooks").mkdir()
    (made.config_dir / "hooks" / "corp.py").write_text(SOURCE.format(url=server.url))
    made.env["CORP_KEY"] = "its key"
    return made


def models(server: ScriptedServer) -> list[str]:
    return [request.body["model"] for request in server.requests]


def test_its_models_are_named_on_the_command_line_and_gone_on_with(marvin: Marvin, server: ScriptedServer) -> None:
    assert marvin.run("-p", "--model", "corp/big", "hi").stdout == "from corp\n"
    assert marvin.run("-p", "-c", "again").stdout == "from corp\n"
    assert models(server) == ["big", "big"]
    assert server.requests[0].headers["authorization"] == "Bearer its key"
    assert server.requests[0].headers["x-team"] == "a"


def test_its_models_are_named_in_the_configuration(marvin: Marvin, server: ScriptedServer) -> None:
    marvin.configure(model="corp/big")
    assert marvin.run("-p", "hi").stdout == "from corp\n"
    assert models(server) == ["big"]


@pytest.mark.parametrize("arguments", [(), ("--provider", "corp")])
def test_its_first_model_is_taken_for_want_of_others(
    marvin: Marvin, server: ScriptedServer, arguments: tuple[str, ...]
) -> None:
    assert marvin.run("-p", *arguments, "hi").stdout == "from corp\n"
    assert models(server) == ["small"]


def test_a_model_that_no_hook_brings_is_an_error(marvin: Marvin, server: ScriptedServer) -> None:
    done = marvin.run("-p", "--model", "corp/none", "hi")
    assert done.code == 2
    assert "No model is called “corp/none”" in done.stderr
    assert "not there any more" not in done.stderr
    assert server.requests == []


async def test_a_name_that_another_hook_has_taken_is_an_error(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.register_provider("corp", base_url="http://corp.invalid/v1", models=["small"])

    async with ScriptedEngine(tmp_path, hooks={"a": setup, "b": setup}) as e:
        (problem,) = e.engine.hooks.problems
        assert "the provider 'corp' is brought by library:a already" in problem.error


async def test_it_goes_with_its_hook(tmp_path: Path) -> None:
    path = tmp_path / "corp.py"
    path.write_text(SOURCE.format(url="http://corp.invalid/v1"))
    async with ScriptedEngine(tmp_path, hook_files=[str(path)]) as e:
        assert [model.ref for model in e.engine.setup.models.brought.models] == ["corp/small", "corp/big"]
        await e.engine.hooks.reload([])
        assert e.engine.setup.models.brought.models == ()
