"""Files as rules see them: patterns of paths, compared with where a path leads as written and in truth."""

import os
import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

from marvin_agent.errors import ConfigError
from marvin_agent.permission_rules import Rule, literal

_FLAGS = re.DOTALL | (re.IGNORECASE if sys.platform == "darwin" else 0)
_GLOB = re.compile(r"[*?\[]")


class Target(NamedTuple):
    """A path that a call touches, in each way that it can be understood."""

    written: tuple[str, ...]
    """As it is written, made absolute: `..` taken away with and without looking at links."""
    real: str
    """Where it leads, links followed."""

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.written, self.real)


def target(path: str, cwd: str) -> Target:
    """Where a path leads from a directory."""
    full = os.path.join(cwd, path)
    normal = os.path.normpath(full)
    reals = tuple(dict.fromkeys((os.path.realpath(normal), os.path.realpath(full))))
    return Target((normal, *reals[1:]), reals[0])


class PathPattern:
    """The pattern of a rule about a file tool."""

    __slots__ = ("_anywhere", "_as_written", "_below", "_named", "_static", "rule")

    def __init__(self, rule: Rule, root: str, home: str) -> None:
        self.rule = rule
        pattern = rule.pattern or "**"
        pattern += "**" if pattern.endswith("/") else ""
        bases = (root, os.path.realpath(root)), (home, os.path.realpath(home))
        if pattern == "~" or pattern.startswith("~/"):
            wholes = [_escaped(base) + pattern[1:] for base in bases[1]]
        elif pattern.startswith("/"):
            wholes = [pattern, *_elsewhere(pattern, root)]
        else:
            wholes = [os.path.normpath(f"{_escaped(base)}/{pattern}") for base in bases[0]]
        self._as_written = [_compiled(whole) for whole in dict.fromkeys(wholes)]
        # Where the links in it lead: a deny means that place too.
        followed = [*wholes, *(_followed(whole) for whole in wholes)]
        self._anywhere = [_compiled(whole) for whole in dict.fromkeys(followed)]
        self._below = [re.compile(f"(?:{one.pattern})/.*", _FLAGS) for one in self._anywhere]
        self._static = [_static(whole) for whole in followed]
        self._named = [
            static for static, whole in zip(self._static, followed, strict=True) if _escaped(static) == whole
        ]

    def surely(self, target: Target) -> bool:
        """Whether it covers a file however its path is read: for allow rules."""
        return all(any(one.fullmatch(path) for one in self._as_written) for path in target.all)

    def perhaps(self, target: Target) -> bool:
        """Whether it covers a file, or a directory around it, in any reading: for deny and ask rules."""
        patterns = [*self._anywhere, *self._below]
        if any(one.fullmatch(path) for path in target.all for one in patterns):
            return True
        # By another name: a hard link, or other letters where the file system takes them for the same.
        return any(_is_same(named, target.real) for named in self._named)

    def within(self, target: Target) -> bool:
        """Whether what it covers may lie in a directory: a search there would come across it."""
        return any(
            _is_inside(static, path) or _is_inside(path, static) for path in target.all for static in self._static
        )


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def is_inside(path: str, directories: Iterable[str]) -> bool:
    return any(_is_inside(path, directory) for directory in directories)


def _is_inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _escaped(path: str) -> str:
    return literal(path)


def _elsewhere(pattern: str, root: str) -> list[str]:
    """An absolute pattern with the links in its fixed part followed (/tmp on a Mac), unless they are in the project."""
    static = _static(pattern)
    return [] if _is_inside(static, root) or _is_inside(static, os.path.realpath(root)) else [_followed(pattern)]


def _static(pattern: str) -> str:
    """The directory that everything covered is in, or the one file."""
    names = []
    for name in pattern.replace("[*]", "\0s").replace("[?]", "\0q").replace("[[]", "\0b").split("/"):
        if _GLOB.search(name):
            break
        names.append(name.replace("\0s", "*").replace("\0q", "?").replace("\0b", "["))
    return "/".join(names) or "/"


def _followed(pattern: str) -> str:
    static = _static(pattern)
    rest = pattern[len(_escaped(static)) :]
    return _escaped(os.path.realpath(static)).rstrip("/") + rest


def _compiled(pattern: str) -> re.Pattern[str]:
    found = ""
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if pattern.startswith("/**/", at):
            found += "/(?:.*/)?"
            at += 4
        elif pattern[at:] == "/**":
            found += "(?:/.*)?"
            at += 3
        elif pattern.startswith("**", at):
            found += ".*"
            at += 2
        elif letter == "*":
            found += "[^/]*"
            at += 1
        elif letter == "?":
            found += "[^/]"
            at += 1
        elif letter == "[" and (end := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            inside = "^/" + inside[1:] if inside[0] in "!^" else inside
            found += f"[{inside}]"
            at = end + 1
        else:
            found += re.escape(letter)
            at += 1
    try:
        return re.compile(found, _FLAGS)
    except re.error as error:
        raise ConfigError(f"{pattern!r} is no pattern of a path: {error}") from None
