"""The tool `grep`: lines of files by a regular expression."""

import re
from typing import Annotated

from msgspec import Meta

from marvin_agent.messages import clean
from marvin_agent.tools.find import BATCH, matching_paths
from marvin_agent.tools.ripgrep import Place, on_a_line, place, ripgrep, too_long
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import Tool, ToolContext, ToolFailure, ToolResult, text_result
from marvin_agent.tools.truncate import MAX_BYTES, MAX_LINES, size

DEFAULT_LIMIT = 100
MAX_COLUMNS = 500
_REMARK = re.compile(r"(\./.*): (binary file matches|WARNING: stopped searching binary file after match) .*", re.DOTALL)
"""What ripgrep says of a file that is no text: one that was named to it, and one where it found that out too late."""


async def grep(
    ctx: ToolContext,
    pattern: str,
    path: str = ".",
    glob: str | None = None,
    ignore_case: bool = False,
    literal: bool = False,
    context: Annotated[int, Meta(ge=0)] = 0,
    limit: Annotated[int, Meta(ge=1)] = DEFAULT_LIMIT,
) -> ToolResult:
    """Search the content of files for a regular expression (Rust syntax). Gives path:line:text.

    What .gitignore names is left out, hidden files are not; long lines are cut.

    Args:
        pattern: The regular expression.
        path: The file or directory to search, the working directory if left out.
        glob: Search only files that match, such as *.py or src/**/*.ts.
        ignore_case: Upper and lower case are the same.
        literal: The pattern is plain text, not a regular expression.
        context: How many lines to show before and after each match.
        limit: How many matches at most.
    """
    where = place(path, ctx.cwd)
    matches = _Matches(where.prefix, limit, named=where.file is not None)
    options = _options(pattern, ignore_case=ignore_case, literal=literal, context=context)
    for targets in await _targets(where, path, glob):
        ended = await ripgrep([*options, "--", *targets], where.directory, b"\n", matches.take)
        if ended.timed_out:
            if matches.count:
                return text_result(f"{matches.text()}\n[{too_long(path)}]", path=path, matches=matches.count)
            raise ToolFailure(too_long(path))
        if ended.code > 1 and ended.errors and not ended.enough:
            hint = "" if literal else "\nTo search for plain text, use literal."
            raise ToolFailure(f"The search failed: {ended.errors}{hint}")
        if ended.enough:
            break
    text = matches.text() or f"No matches for {pattern}."
    return text_result(text, path=path, matches=matches.count)


def grep_tool() -> Tool:
    return tool_from_function(grep, acts=False)


def _options(pattern: str, *, ignore_case: bool, literal: bool, context: int) -> list[str]:
    options = [
        "--line-number",
        "--with-filename",
        "--no-heading",
        "--null",
        "--color=never",
        "--crlf",
        "--no-messages",
        "--sort=path",
        f"--max-columns={MAX_COLUMNS}",
        "--max-columns-preview",
        f"--context={context}",
    ]
    if ignore_case:
        options.append("--ignore-case")
    if literal:
        options.append("--fixed-strings")
    if "\n" in pattern or (not literal and "\\n" in pattern):
        options.append("--multiline")
    return [*options, f"--regexp={pattern}"]


async def _targets(where: Place, path: str, glob: str | None) -> list[list[str]]:
    if where.file is not None:
        return [[f"./{where.file}"]]
    if glob is None:
        return [["."]]
    # Not by ripgrep's own --glob: that would bring in what .gitignore leaves out.
    files = [f"./{name}" for name in await matching_paths(where, path, glob, directories=False)]
    return [files[at : at + BATCH] for at in range(0, len(files), BATCH)]


class _Matches:
    """Lines as they are shown, up to the limits."""

    __slots__ = ("_begun", "_cut", "_limit", "_lines", "_named", "_prefix", "_room", "count")

    def __init__(self, prefix: str, limit: int, *, named: bool) -> None:
        self._prefix = prefix
        self._named = named
        """Whether one file was asked for: then it is told that it is no text."""
        self._limit = limit
        self._lines: list[str] = []
        self._room = MAX_BYTES
        self._cut = False
        self._begun = ""
        """The first lines of a path that has line breaks in it."""
        self.count = 0

    def take(self, line: str) -> bool:
        path, null, rest = line.partition("\0")
        if not null:
            return self._take_other(line)
        number, mark, text = _number(rest)
        if mark == ":" and self.count == self._limit:
            self._cut = True
            return True
        name, self._begun = self._begun + path, ""
        if self._show(f"{self._name(name)}{mark}{number}{mark}{text.rstrip(chr(13))}"):
            return True
        self.count += mark == ":"
        return False

    def _take_other(self, line: str) -> bool:
        if line == "--":
            if self._lines and self._lines[-1] != "--":
                self._lines.append(line)  # a bar between groups of context
            return False
        self._begun += line
        remark = _REMARK.fullmatch(self._begun)
        if remark is None:
            self._begun += "\n"
            return False
        self._begun = ""
        if not self._named:
            return False
        name = self._name(remark[1])
        return self._show(f"{name}: a binary file, which matches. Look at it by bash: grep -a, strings, xxd.")

    def _name(self, path: str) -> str:
        return self._prefix + on_a_line(path.removeprefix("./"))

    def _show(self, line: str) -> bool:
        shown = clean(line)
        self._room -= size(shown) + 1
        if self._room < 0 or len(self._lines) == MAX_LINES:
            self._cut = True
            return True
        self._lines.append(shown)
        return False

    def text(self) -> str:
        """What was found; empty when that is nothing."""
        while self._lines and self._lines[-1] == "--":
            self._lines.pop()
        if not self._lines:
            return ""
        text = "\n".join(self._lines) + "\n"
        if self._cut:
            return (
                f"{text}\n[The first {self.count} matches. Narrow the pattern, path or glob, or raise limit, for more.]"
            )
        return text


def _number(rest: str) -> tuple[str, str, str]:
    digits = len(rest) - len(rest.lstrip("0123456789"))
    return rest[:digits], rest[digits : digits + 1], rest[digits + 1 :]
