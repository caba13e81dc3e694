"""Reads the file of a script and says, with the line, what is wrong with it."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from marvin_agent.errors import ConfigError
from marvin_agent.jsonfile import JsonPath, parse_json
from marvin_agent.llm.offline.reply import Fault, Reply

VERSION = 1

_PLACE = re.compile(r"^(.*?)(?: - at `\$(.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_HINT = "docs/scripted.md tells what a script may hold."

LineOf = Callable[[JsonPath], int]
"""The line of a place in one reply."""


def read_replies(path: str) -> tuple[Reply, ...]:
    """The replies in a file. ConfigError, with the line, when it is not a script."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ConfigError(f"The script cannot be read: {error.strerror}", file=path) from None
    return _from_lines(path, data) if path.endswith(".jsonl") else _from_document(path, data)


def check_replies(values: list[Any], name: str = "script") -> tuple[Reply, ...]:
    """Replies from their JSON form. A ConfigError names the reply by its place."""
    return tuple(_reply(value, f"{name}, reply {place}", None) for place, value in enumerate(values, 1))


def _from_document(path: str, data: bytes) -> tuple[Reply, ...]:
    document = parse_json(path, data)
    match document.value:
        case {"version": version} if version != VERSION:
            raise _unknown_version(path, document.line_of(("version",)), version)
        case {"version": _, "replies": list(values), **rest} if not rest:
            pass
        case _:
            raise ConfigError(
                'A script is an object with "version" and "replies", a list, and nothing else',
                file=path,
                line=1,
                hint=_HINT,
            )

    def line_of(place: int) -> LineOf:
        return lambda inner: document.line_of(("replies", place, *inner))

    return tuple(_reply(value, path, line_of(place)) for place, value in enumerate(values))


def _from_lines(path: str, data: bytes) -> tuple[Reply, ...]:
    replies: list[Reply] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = parse_json(path, line).value
        except ConfigError as error:
            # The text was parsed as a file of one line; its place in the real one is what counts.
            message = error.message.partition(f"{path}:1: ")[2] or error.message
            raise ConfigError(message, file=path, line=number, hint=error.hint) from None
        match value:
            case {"version": version, **rest} if not rest:
                if version != VERSION:
                    raise _unknown_version(path, number, version)
            case _:
                replies.append(_reply(value, path, _always(number)))
    return tuple(replies)


def _always(line: int) -> LineOf:
    return lambda _: line


def _unknown_version(path: str, line: int, version: object) -> ConfigError:
    return ConfigError(f"This marvin reads scripts of version {VERSION}, not {version}", file=path, line=line)


def _reply(value: Any, file: str, line_of: LineOf | None) -> Reply:
    try:
        reply = msgspec.convert(value, Reply)
        _check(reply)
    except msgspec.ValidationError as error:
        found = _PLACE.match(str(error))
        message, place = (found[1], found[2]) if found else (str(error), "")
        steps = tuple(int(index) if index else key for key, index in _STEP.findall(place or ""))
        where = f" (in {'.'.join(map(str, steps))})" if steps else ""
        raise ConfigError(
            f"{message}{where}", file=file, line=line_of(steps) if line_of else None, hint=_HINT
        ) from None
    return reply


def _check(reply: Reply) -> None:
    """What the types cannot say. Raises as msgspec does, with the place in the message."""
    if isinstance(reply.chunk, int) and reply.chunk < 1:
        raise msgspec.ValidationError("Expected at least one character - at `$.chunk`")
    if isinstance(reply.chunk, tuple) and reply.text and "".join(reply.chunk) != reply.text:
        raise msgspec.ValidationError("The pieces do not make the text when they are joined - at `$.chunk`")
    if reply.match is not None:
        try:
            re.compile(reply.match)
        except re.error as error:
            raise msgspec.ValidationError(f"Not a regular expression: {error} - at `$.match`") from None
    for index, call in enumerate(reply.tool_calls):
        if call.raw_arguments is not None and call.arguments:
            raise msgspec.ValidationError(f"Either arguments or rawArguments - at `$.toolCalls[{index}]`")
    if isinstance(reply.fault, Fault):
        _check_fault(reply.fault)
    elif reply.fault == "status":
        raise msgspec.ValidationError('A status is an object, {"status": 429} - at `$.fault`')


def _check_fault(fault: Fault) -> None:
    if fault.kind == "status":
        if fault.status is None or not 400 <= fault.status <= 599:
            raise msgspec.ValidationError("Expected a status from 400 to 599 - at `$.fault.status`")
        if fault.after_chunks is not None:
            raise msgspec.ValidationError("A status comes before every chunk - at `$.fault.afterChunks`")
    elif fault.status is not None or fault.retry_after is not None or fault.body is not msgspec.UNSET:
        raise msgspec.ValidationError(f"status, retryAfter and body do not go with {fault.kind} - at `$.fault`")
    if fault.message and fault.kind not in ("status", "errorEvent"):
        raise msgspec.ValidationError(f"A message does not go with {fault.kind} - at `$.fault.message`")
