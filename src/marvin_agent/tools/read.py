"""The tool `read`: a text file's lines, or an image."""

import asyncio
import base64
import io
import os
from typing import Annotated, BinaryIO, TypeAlias

import msgspec
from msgspec import Meta

from marvin_agent.images import MAX_BYTES as MAX_BYTES_OF_IMAGE
from marvin_agent.images import image_type, too_much
from marvin_agent.messages import Image, Text, clean
from marvin_agent.tools import encoding
from marvin_agent.tools.files import regular_file, resolve
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import Tool, ToolContext, ToolFailure, ToolResult
from marvin_agent.tools.truncate import MAX_BYTES, MAX_LINES, human_size

IN_LOOP = 4 * 1024 * 1024
"""A file up to this size is read at once; a longer one in a thread."""
MAX_WIDE = 64 * 1024 * 1024
"""UTF-16 and UTF-32 files are decoded whole, up to this size."""
_KEPT = 1024 * 1024
"""Content up to this size is remembered, to tell a touched file from a changed one."""

Positive: TypeAlias = Annotated[int, Meta(ge=1)]


async def read(
    ctx: ToolContext, path: str, offset: Positive | None = None, limit: Positive | None = None
) -> ToolResult:
    """Read a file. Text comes as it is, up to 1500 lines or 100 KB at a time; PNG, JPEG, GIF and WebP come as images.

    Args:
        path: The file, relative to the working directory or absolute.
        offset: The line to start at, counted from 1.
        limit: How many lines to read.
    """
    full = resolve(path, ctx.cwd)
    state = regular_file(full, path)
    if state.st_size <= IN_LOOP:
        found = _read(full, path, offset or 1, limit)
    else:
        found = await asyncio.to_thread(_read, full, path, offset or 1, limit)
    ctx.files.saw(full, found.data)
    return found.result


def read_tool() -> Tool:
    # In the message that writes a file, too, it is read as it is then.
    return tool_from_function(read, acts=False, path_of=lambda arguments: arguments.get("path"))


class _Found(msgspec.Struct, frozen=True):
    result: ToolResult
    data: bytes | None
    """The whole content, when it is small."""


def _read(full: str, path: str, offset: int, limit: int | None) -> _Found:
    try:
        with open(full, "rb") as file:
            length = os.fstat(file.fileno()).st_size
            beginning = file.peek(encoding.SNIFF)
            mime_type = image_type(beginning)
            if mime_type is not None:
                return _Found(_image(file, path, mime_type, length), None)
            if encoding.is_binary(beginning):
                raise ToolFailure(
                    f"{path} is a binary file ({human_size(length)}). Look at it by bash: file, strings, xxd."
                )
            data = file.read() if length <= _KEPT else None
            return _Found(_page(file if data is None else io.BytesIO(data), path, beginning, offset, limit), data)
    except OSError as error:
        raise ToolFailure(f"Cannot read {path}: {error.strerror}.") from error


def _image(file: BinaryIO, path: str, mime_type: str, length: int) -> ToolResult:
    content = file.read(MAX_BYTES_OF_IMAGE + 1)
    if problem := too_much(content):
        raise ToolFailure(f"{path} {problem}. Make a smaller copy first and read that.", path=path)
    data = base64.b64encode(content).decode()
    text = f"{path} is an image ({mime_type}, {human_size(length)}):"
    return ToolResult(
        content=(Text(text=clean(text)), Image(data=data, mime_type=mime_type)),
        details={"path": path, "mimeType": mime_type, "bytes": length},
    )


def _page(file: BinaryIO, path: str, beginning: bytes, offset: int, limit: int | None) -> ToolResult:
    encoded = encoding.encoding_of(beginning[:4])
    if encoded.name.startswith(("utf-16", "utf-32")):
        data = file.read(MAX_WIDE + 1)
        if len(data) > MAX_WIDE:
            raise ToolFailure(
                f"{path} is a large file in {encoded.name}. Convert it to UTF-8 with iconv and read that."
            )
        file = io.BytesIO(encoding.decode(data)[0].encode("utf-8", "replace"))
    elif encoded.mark:
        file.seek(len(encoded.mark))
    window = _Window(file, offset, min(limit or MAX_LINES, MAX_LINES))
    if offset > max(window.total, 1):
        raise ToolFailure(f"{path} has {window.total} lines; offset {offset} is beyond its end.", path=path)
    text = clean(encoding.decode(window.text)[0].replace("\r\n", "\n"))
    last = offset + window.count - 1
    return ToolResult(
        content=(Text(text=text + _notice(window, path, offset, text)),),
        details={"path": path, "firstLine": offset, "lastLine": last, "totalLines": window.total},
    )


def _notice(window: "_Window", path: str, offset: int, text: str) -> str:
    if not window.total:
        return "[The file is empty.]"
    last = offset + window.count - 1
    if last >= window.total:
        return ""
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    if window.too_long:
        line = last + 1
        quoted = "'" + path.replace("'", "'\\''") + "'"
        return (
            f"{gap}[Line {line} of {window.total} is longer than {human_size(MAX_BYTES)}. See a part of it by bash: "
            f"sed -n {line}p {quoted} | cut -c1-2000. Use offset={line + 1} to go on after it.]"
        )
    return f"{gap}[Lines {offset}-{last} of {window.total}. Use offset={last + 1} to go on.]"


class _Window:
    """Some whole lines of a file, as many as a model may get, and how many lines there are."""

    __slots__ = ("count", "text", "too_long", "total")

    def __init__(self, file: BinaryIO, offset: int, limit: int) -> None:
        self.count = 0
        self.total = 0
        self.too_long = False
        self.text = b""
        lines: list[bytes] = []
        room = MAX_BYTES
        while self.count < limit and (line := file.readline(MAX_BYTES + 1)):
            whole = line.endswith(b"\n") or len(line) <= MAX_BYTES
            self.total += 1
            if self.total >= offset:
                if len(line) > room or not whole:
                    self.too_long = not lines
                    self._skip_line(file, line)
                    break
                room -= len(line)
                lines.append(line)
                self.count += 1
            else:
                self._skip_line(file, line)
        self.text = b"".join(lines)
        self._count_rest(file)

    def _skip_line(self, file: BinaryIO, line: bytes) -> None:
        while line and not line.endswith(b"\n"):
            line = file.readline(MAX_BYTES + 1)

    def _count_rest(self, file: BinaryIO) -> None:
        last = b"\n"
        while chunk := file.read(_KEPT):
            self.total += chunk.count(b"\n")
            last = chunk
        self.total += not last.endswith(b"\n")
