"""Commands that are Markdown files: their text becomes the prompt, with the arguments put in."""

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from marvin_agent.files import read_regular_file

LIMIT = 256 * 1024
_PLACE = re.compile(r"\$(ARGUMENTS|\d)")
_NAME = re.compile(r"[A-Za-z0-9][\w-]*")


class Template(NamedTuple):
    """A prompt with places for arguments."""

    description: str
    text: str

    @property
    def wants_arguments(self) -> bool:
        return bool(_PLACE.search(self.text))

    def fill(self, arguments: str) -> str:
        """`$ARGUMENTS` is all of them, `$1` the first; where neither stands, they come at the end."""
        if not self.wants_arguments:
            return f"{self.text}\n\n{arguments}".strip() if arguments else self.text
        words = words_of(arguments)

        def value(found: re.Match[str]) -> str:
            if found[1] == "ARGUMENTS":
                return arguments
            at = int(found[1])
            return words[at - 1] if 0 < at <= len(words) else ""

        return _PLACE.sub(value, self.text).strip()


def templates_in(directory: str) -> dict[str, Template]:
    """The commands of a directory by name. What cannot be read is left out."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return {}
    files = []
    for name in names:
        try:
            files.append((name, read_regular_file(os.path.join(directory, name), LIMIT)))
        except OSError:
            continue
    return templates_of(files)


def templates_of_project(files: Mapping[str, bytes]) -> dict[str, Template]:
    """The commands of a trusted project, from the very bytes that were looked at."""
    prefix = f"commands{os.sep}"
    return templates_of((path[len(prefix) :], data) for path, data in files.items() if path.startswith(prefix))


def templates_of(files: Iterable[tuple[str, bytes]]) -> dict[str, Template]:
    """Templates from file names and contents."""
    found = {}
    for name, data in files:
        stem, ending = os.path.splitext(name)
        if ending == ".md" and _NAME.fullmatch(stem):
            found[stem] = _parse(data.decode("utf-8-sig", "replace").replace("\r\n", "\n"), stem)
    return found


def words_of(arguments: str) -> list[str]:
    """Words, those in double quotes being one; an apostrophe is no quote."""
    words = shlex.shlex(arguments, posix=True)
    words.whitespace_split, words.quotes, words.escape, words.commenters = True, '"', "", ""
    try:
        return list(words)
    except ValueError:
        return arguments.split()


def _parse(text: str, name: str) -> Template:
    description = f"from {name}.md"
    head, mark, body = text.removeprefix("---\n").partition("\n---")
    if text.startswith("---\n") and mark:
        for line in head.splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "description":
                description = value.strip().strip("'\"")
        text = body.partition("\n")[2]
    return Template(description, text.strip())
