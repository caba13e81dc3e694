"""The floor: the least that an agent in Python costs, with no hooks, sessions or checks. usage: floor.py URL PROMPT"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from pyreqwest.client import Client, ClientBuilder


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class ToolCall(msgspec.Struct):
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[ToolCall] | None = None


class Choice(msgspec.Struct):
    delta: Delta


class Chunk(msgspec.Struct):
    choices: list[Choice] = []


_decode = msgspec.json.Decoder(Chunk).decode
_TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {}}}]


async def chunks(client: Client, url: str, messages: list[dict[str, Any]]) -> AsyncIterator[Chunk]:
    body = msgspec.json.encode({"model": "bench", "stream": True, "messages": messages, "tools": _TOOLS})
    request = client.post(f"{url}/chat/completions").body_bytes(body).header("content-type", "application/json")
    async with request.build_streamed() as response:
        rest = b""
        while (data := await response.body_reader.read_chunk()) is not None:
            *events, rest = (rest + bytes(data)).split(b"\n\n")
            for event in events:
                if event[6:] != b"[DONE]":
                    yield _decode(event[6:])


async def answer(client: Client, url: str, messages: list[dict[str, Any]]) -> tuple[str, ToolCall]:
    """The text of one answer and its tool call; a call without an id is none."""
    text: list[str] = []
    arguments: list[str] = []
    call = ToolCall()
    async for chunk in chunks(client, url, messages):
        for choice in chunk.choices:
            if choice.delta.content:
                text.append(choice.delta.content)
            for piece in choice.delta.tool_calls or ():
                if piece.id:
                    call = piece
                if piece.function and piece.function.arguments:
                    arguments.append(piece.function.arguments)
    if call.function:
        call.function.arguments = "".join(arguments)
    return "".join(text), call


async def main(url: str, prompt: str) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    async with ClientBuilder().build() as client:
        while True:
            text, call = await answer(client, url, messages)
            if not call.id or not call.function:
                print(text)
                return
            command = msgspec.json.decode(call.function.arguments or "{}")["command"]
            running = await asyncio.create_subprocess_exec(
                "bash",
                "-c",
                command,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
            output, _ = await running.communicate()
            function = msgspec.to_builtins(call.function)
            messages += [
                {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": function}]},
                {"role": "tool", "tool_call_id": call.id, "content": output.decode()},
            ]


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
    sys.stdout.flush()
    # As marvin does: pyreqwest's threads can crash an interpreter that is being taken down.
    os._exit(0)
