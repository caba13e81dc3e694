"""Whatever a server puts in place of what it should send, a wire reads it or raises an error of the tree."""

import copy
import json
import random
from contextlib import suppress
from typing import Any

import pytest

from marvin_agent.errors import ProviderError
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.values import Model, Request, ServerSentEvent
from marvin_agent.llm.wire import wire_for
from marvin_agent.messages import user

ANSWERS: dict[str, list[Any]] = {
    "anthropic-messages": [
        {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "n"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ],
    "openai-completions": [
        {
            "choices": [
                {
                    "delta": {
                        "content": "x",
                        "reasoning": "r",
                        "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}],
                        "tool_calls": [{"index": 0, "id": "a", "function": {"name": "n", "arguments": "{}"}}],
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 2}},
        },
    ],
    "openai-responses": [
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "id": "fc_1"}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": "{}"},
        {"type": "response.output_item.done", "item": {"type": "reasoning", "id": "rs", "summary": [{"text": "a"}]}},
        {"type": "response.output_item.done", "item": {"type": "message", "id": "msg_1", "content": [{"text": "a"}]}},
        {"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 1}}},
    ],
    "google-generative-ai": [
        {
            "candidates": [
                {
                    "content": {
                        "parts": [
                            {"text": "a", "thought": True, "thoughtSignature": "s"},
                            {"functionCall": {"name": "n", "args": {"a": 1}, "id": "x"}},
                        ]
                    },
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
            "promptFeedback": {"blockReason": ""},
        },
    ],
}
NONSENSE = (
    None,
    0,
    -1,
    1.5,
    1e400,
    2**70,
    True,
    "",
    "x",
    "{",
    "\ud800",
    [],
    {},
    [None],
    [{}],
    {"a": None},
    {"type": 5},
)


def spoiled(value: Any, chance: random.Random) -> Any:
    """The value with one thing in it missing or replaced."""
    holders: list[tuple[Any, Any]] = []
    value = copy.deepcopy(value)
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        holders += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys]
    holder, key = chance.choice(holders)
    if isinstance(holder, dict) and chance.random() < 0.3:
        del holder[key]
    else:
        holder[key] = chance.choice(NONSENSE)
    return value


@pytest.mark.parametrize("api", ANSWERS)
def test_nonsense_is_read_or_is_an_error_of_the_tree(api: str) -> None:
    wire = wire_for(api)
    model = Model(provider="p", id="m", api=api, base_url="http://x", reasoning=True)  # type: ignore[arg-type]
    for seed in range(3000):
        chance = random.Random(seed)
        builder = Builder(Request(model=model, system="", messages=()))
        parser = wire.parser(builder)
        with suppress(ProviderError):
            for event in ANSWERS[api]:
                sent = spoiled(event, chance) if chance.random() < 0.7 else event
                parser.feed(ServerSentEvent(event="message", data=json.dumps(sent)))
                builder.drain()
            parser.finish()
        # What there is can be kept and told to the model again.
        said = builder.message("aborted")
        assert wire.payload(Request(model=model, system="s", messages=(user("a"), said, user("b"))))
