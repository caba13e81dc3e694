from typing import Any

import pytest

from examples.conftest import Example
from marvin_agent.messages import changed
from marvin_agent.testing.engine import MODEL

MODELS = (MODEL, changed(MODEL, id="small"))
SETTINGS = {"cheap": "test/small", "characters": 40}


def used(hook: Any) -> list[str]:
    return [body["model"] for body in hook.requests]


@pytest.mark.parametrize(
    ("prompt", "model"),
    [
        ("what is 2 + 2?", "small"),
        ("what is 2 + 2, and " + "why is that so, " * 5, "one"),
        ("refactor this", "one"),
        ("read @notes", "one"),
    ],
)
def test_short_and_easy_prompts_go_to_the_cheap_model(example: Example, prompt: str, model: str) -> None:
    hook = example("model_router", models=MODELS, settings=SETTINGS, replies=[{"text": "ok"}])
    hook.prompt(prompt)
    assert used(hook) == [model]


def test_a_run_stays_with_its_model_and_a_conversation_that_got_hard_with_yours(example: Example) -> None:
    call = {"toolCalls": [{"name": "bash", "arguments": {"command": "true"}}]}
    replies = [call, *[{"text": "a"}] * 4]
    hook = example("model_router", models=MODELS, settings=SETTINGS, replies=replies)
    for prompt in ("run it", "again", "design the next version of it", "yes, go on"):
        hook.prompt(prompt)
    assert used(hook) == ["small", "small", "small", "one", "one"]


def test_other_calls_than_turns_are_left_alone(example: Example) -> None:
    hook = example("model_router", models=MODELS, settings=SETTINGS)
    hook.emit("chat.message", input={"text": "hi"}, output={"parts": [{"type": "text", "text": "hi"}]})
    assert "model" in hook.emit("model.resolve", purpose="turn").changed
    assert hook.emit("model.resolve", purpose="compaction").changed == set()


def test_without_a_cheap_model_it_does_nothing(example: Example) -> None:
    assert example("model_router").events == []
