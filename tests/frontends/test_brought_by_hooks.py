"""What the command line and the configuration name may be brought by a hook: models, providers, tools."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from marvin_agent.llm.offline.script import Script
from marvin_agent.testing.server import ScriptedServer
from program import Marvin

REPLY = {"text": "From the hook's provider.", "repeat": True}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Script.of(REPLY)) as made:
        yield made


@pytest.fixture
def marvin(tmp_path: Path, server: ScriptedServer) -> Marvin:
    made = Marvin(tmp_path)
    hooks = made.config_dir / "hooks"
    hooks.mkdir()
    (hooks / "mine.py").write_text(
        f"""
def setup(marvin):
    marvin.register_provider("corp", base_url="{server.url}/v1", api_key="k", models=["big", "corp-small"])

    @marvin.tool
    async def shout(text: str) -> str:
        "Shout."
        return text.upper()
"""
    )
    return made


@pytest.mark.parametrize(
    ("words", "model"),
    [
        (["--model", "corp/corp-small"], "corp-small"),
        (["--model", "corp-small"], "corp-small"),
        (["--provider", "corp", "--model", "corp-small"], "corp-small"),
        (["--provider", "corp"], "big"),
        ([], "big"),
    ],
)
def test_a_model_of_a_hook_can_be_named(marvin: Marvin, words: list[str], model: str) -> None:
    done = marvin.run("--headless", *words, "hi")
    assert done.code == 0, done.stdout
    assert (done.json["provider"], done.json["model"]) == ("corp", model)
    assert done.json["assistant"] == REPLY["text"]


def test_a_session_goes_on_with_the_model_of_a_hook(marvin: Marvin) -> None:
    marvin.script({"text": "Without it."})
    assert marvin.run("-p", "--model", "corp/corp-small", "hi").code == 0
    assert marvin.run("--headless", "-c", "more").json["model"] == "corp-small"
    done = marvin.run("--headless", "-c", "--no-hooks", "more")
    assert done.json["model"] == "one"
    assert "corp/corp-small is not there any more" in done.json["validationIssues"][0]["message"]


def test_a_model_that_nobody_brings_is_told_by_where_it_was_named(marvin: Marvin) -> None:
    done = marvin.run("-p", "--model", "corp/huge", "hi")
    assert done.code == 2
    assert done.stderr.startswith("marvin: --model: No model is called")
    done = marvin.run("-p", "--provider", "crop", "hi")
    assert done.code == 2
    assert done.stderr.startswith("marvin: --provider: no provider is called")
    for key, value in (("model", "corp/huge"), ("provider", "crop")):
        marvin.configure(**{key: value})
        done = marvin.run("-p", "hi")
        assert done.code == 78
        assert f"{marvin.config_dir}/config.json:1: no {key} is called" in done.stderr.replace("No ", "no ")


def test_the_failure_of_the_hook_that_was_to_bring_it_is_told_too(marvin: Marvin) -> None:
    (marvin.config_dir / "hooks" / "mine.py").write_text("def setup(marvin):\n    raise ValueError('no licence')\n")
    done = marvin.run("-p", "--model", "corp/big", "hi")
    assert done.code == 2
    assert done.stderr.index("no licence") < done.stderr.index("No model is called")


@pytest.mark.parametrize(
    ("words", "tools"),
    [
        (["--no-tools"], []),
        (["--tools", "read"], ["read"]),
        (["--tools", "read,shout"], ["read", "shout"]),
        ([], ["read", "write", "edit", "bash", "grep", "find", "ls", "shout"]),
    ],
)
def test_only_the_tools_that_are_named_are_there_whoever_brings_them(
    marvin: Marvin, server: ScriptedServer, words: list[str], tools: list[str]
) -> None:
    assert marvin.run("-p", *words, "hi").code == 0
    body = server.requests[0].body
    assert [tool["function"]["name"] for tool in body.get("tools", [])] == tools


def test_a_tool_that_nobody_brings_is_told_by_where_it_was_named(marvin: Marvin) -> None:
    done = marvin.run("-p", "--tools", "read,shuot", "hi")
    assert done.code == 2
    assert done.stderr == "marvin: --tools: there is no tool 'shuot'\nDid you mean shout?\n"
    marvin.configure(tools=["raed"])
    done = marvin.run("-p", "hi")
    assert done.code == 78
    assert "config.json:1: there is no tool 'raed'\nDid you mean read?" in done.stderr


def test_a_project_that_brings_nothing_to_trust_may_only_take_tools_away(marvin: Marvin) -> None:
    marvin.configure(tools=["read"], permissions={"mode": "auto"})
    (marvin.work / ".marvin").mkdir()
    (marvin.work / ".marvin" / "config.json").write_text('{"tools": ["read", "bash"]}')
    act = {"toolCalls": [{"name": "bash", "arguments": {"command": "touch acted"}}]}
    marvin.script(act, {"text": "done"})
    done = marvin.run("-p", "--model", "demo/one", "hi")
    assert "tools that you left out stay out without --trust-project: bash" in done.stderr
    assert not (marvin.work / "acted").exists()
    marvin.script(act, {"text": "done"})
    assert marvin.run("-p", "--model", "demo/one", "--trust-project", "hi").code == 0
    assert (marvin.work / "acted").exists()


def test_a_rule_about_no_tool_is_told_when_it_sounds_like_one(marvin: Marvin) -> None:
    rules = ["bsh(rm *)", "bash(rm *)", "shout", "mcp__*", "mcp__files__read", "of_another_project"]
    marvin.configure(permissions={"mode": "auto", "deny": rules})
    done = marvin.run("-p", "hi")
    assert done.code == 0
    assert done.stderr.count("about no tool") == 1
    assert "config.json:1: bsh(rm *) is about no tool that there is; did you mean bash?" in done.stderr


def test_a_project_may_name_a_tool_of_its_own_hooks_before_it_is_trusted(marvin: Marvin) -> None:
    (marvin.work / ".marvin").mkdir()
    (marvin.work / ".marvin" / "config.json").write_text('{"tools": ["read", "deploy"]}')
    done = marvin.run("-p", "hi")
    assert done.code == 0
    assert "there is no tool 'deploy'" in done.stderr
