"""What a rule is about: a command line, a file, or the arguments of another tool."""

import functools
import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Protocol

from marvin_agent.permission_rules import Rule, literal
from marvin_agent.policies.permissions.commands import Match, Part, Pattern
from marvin_agent.policies.permissions.files import PathPattern, Target, is_inside, target
from marvin_agent.policies.permissions.known_programs import HARMLESS
from marvin_agent.policies.permissions.suggestions import suggestion
from marvin_agent.toolnames import BUILTIN_TOOLS

FILE_TOOLS = BUILTIN_TOOLS - {"bash"}
CHANGING = frozenset({"write", "edit"})
SEARCHING = frozenset({"find", "grep"})
GUARDED = frozenset(
    [
        *(".git", ".marvin", ".claude", ".cursor", ".vscode", ".idea", ".zed", ".devcontainer", ".husky", ".githooks"),
        *(".opencode", ".pi", ".omp", ".codex", ".gemini", ".windsurf", ".mcp.json"),
        *(".envrc", ".gitmodules", ".gitattributes", ".gitconfig", ".npmrc", ".yarnrc", ".yarnrc.yml", ".cargo"),
        *(
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".exrc",
            ".nvim.lua",
        ),
        *(".ssh", ".gnupg", ".config", ".local"),
    ]
)
"""Names that git, shells, editors and agents obey without being asked: no mode and no wildcard covers a change there.

The last ones are for whoever works in his home.
"""


class Where(NamedTuple):
    """Where a call happens."""

    cwd: str
    root: str
    home: str
    resolve: Callable[[str], str]
    """The absolute path that a file tool takes a path for."""
    own: str = ""
    """Marvin's own directory: what is written there is obeyed at the next start."""


class Subject(Protocol):
    """A call, as rules look at it."""

    def touched_by(self, rule: Rule) -> Match:
        """Whether a deny or ask rule is about it, doubts counted."""
        ...

    def covered_by(self, rules: Sequence[Rule]) -> bool:
        """Whether allow rules cover all of it, without a doubt."""
        ...

    def edits_only(self) -> bool:
        """Whether it does nothing but change files of the project, as the mode `edits` lets it."""
        ...

    def suggestions(self, rules: Sequence[Rule]) -> tuple[str, ...]:
        """Patterns to remember, with which the rules would cover it."""
        ...


def subject_of(tool: str, arguments: Mapping[str, Any], where: Where) -> Subject:
    command, path = arguments.get("command"), arguments.get("path", ".")
    if tool == "bash" and isinstance(command, str):
        return CommandSubject(command, where)
    if tool in FILE_TOOLS and isinstance(path, str):
        return FileSubject(tool, target(where.resolve(path), where.cwd), where)
    return OtherSubject(tool, arguments)


class FileSubject:
    """A file that a tool reads or changes, or a directory that it looks through."""

    def __init__(self, tool: str, target: Target, where: Where) -> None:
        self._tool = tool
        self._target = target
        self._where = where

    def touched_by(self, rule: Rule) -> Match:
        own = fnmatchcase(self._tool, rule.tool)
        if rule.pattern is None:
            return "yes" if own else "no"
        # Writing is editing, and what may not be read is not to be shown by a search either.
        alike = {"write": "edit", "edit": "write", "grep": "read"}.get(self._tool)
        if not own and alike != rule.tool:
            return "no"
        pattern = PathPattern(rule, self._where.root, self._where.home)
        if pattern.perhaps(self._target):
            return "yes"
        return "maybe" if own and self._tool in SEARCHING and pattern.within(self._target) else "no"

    def covered_by(self, rules: Sequence[Rule]) -> bool:
        return any(self._covered_by(rule) for rule in rules if fnmatchcase(self._tool, rule.tool))

    def _covered_by(self, rule: Rule) -> bool:
        if rule.pattern is None:
            return True
        if self._tool in CHANGING and not self._guarded <= set(rule.pattern.casefold().split("/")):
            return False
        return PathPattern(rule, self._where.root, self._where.home).surely(self._target)

    @property
    def _guarded(self) -> set[str]:
        roots = (self._where.root, os.path.realpath(self._where.root))
        return {name for path in self._target.all for name in _names(path, roots) if name in GUARDED}

    def edits_only(self) -> bool:
        if self._tool not in CHANGING:
            return False
        roots = (self._where.root, os.path.realpath(self._where.root))
        inside = all(is_inside(path, roots) for path in self._target.all)
        if self._where.own and is_inside(self._target.real, (os.path.realpath(self._where.own),)):
            return False
        return inside and not self._guarded

    def suggestions(self, rules: Sequence[Rule]) -> tuple[str, ...]:
        path, root = self._target.written[0], self._where.root
        if not is_inside(path, (root,)):
            return (literal(path),)
        relative = os.path.relpath(path, root)
        parent = "" if GUARDED.intersection(_names(path, (root,))) else os.path.dirname(relative)
        return (f"{literal(parent)}/**" if parent else literal(relative),)


def _names(path: str, roots: Iterable[str]) -> list[str]:
    root = next((root for root in roots if is_inside(path, (root,))), "")
    return path[len(root) :].casefold().split("/")


class OtherSubject:
    """A call of any other tool: a pattern is compared with its texts."""

    def __init__(self, tool: str, arguments: Mapping[str, Any]) -> None:
        self._tool = tool
        self._arguments = arguments

    def touched_by(self, rule: Rule) -> Match:
        if not fnmatchcase(self._tool, rule.tool):
            return "no"
        pattern = rule.pattern
        return "yes" if pattern is None or any(fnmatchcase(text, pattern) for text in _texts(self._arguments)) else "no"

    def covered_by(self, rules: Sequence[Rule]) -> bool:
        return any(self._covered_by(rule) for rule in rules if fnmatchcase(self._tool, rule.tool))

    def _covered_by(self, rule: Rule) -> bool:
        if rule.pattern in (None, "*"):
            return True
        texts = list(self._arguments.values())
        return len(texts) == 1 and isinstance(texts[0], str) and fnmatchcase(texts[0], rule.pattern or "")

    def edits_only(self) -> bool:
        return False

    def suggestions(self, rules: Sequence[Rule]) -> tuple[str, ...]:
        return ("*",)


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for item in value.values():
                yield from _texts(item)
        case list() | tuple():
            for item in value:
                yield from _texts(item)
        case None:
            return
        case _:
            yield str(value)


class CommandSubject:
    """A command line. It is taken apart when a rule with a pattern asks."""

    def __init__(self, command: str, where: Where) -> None:
        self._command = command
        self._where = where
        self._parts: tuple[Part, ...] | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        if self._parts is None:
            # The parser is loaded with the first command that needs it: most runs go without.
            shell = importlib.import_module("marvin_agent.policies.permissions.shell")
            self._parts = shell.take_apart(self._command)
        return self._parts

    def touched_by(self, rule: Rule) -> Match:
        found: list[Match] = ["no"]
        if fnmatchcase("bash", rule.tool):
            if rule.pattern is None:
                return "yes"
            pattern = Pattern(rule)
            found += ["maybe" if part.kind == "unknown" else pattern.perhaps(part) for part in self._all_parts()]
        if rule.tool in CHANGING or rule.tool == "read":
            found += [self._redirected(part, rule) for part in self._all_parts()]
        return "yes" if "yes" in found else "maybe" if "maybe" in found else "no"

    def _redirected(self, part: Part, rule: Rule) -> Match:
        """Whether a rule about files is about a redirection."""
        if part.kind != ("read" if rule.tool == "read" else "write"):
            return "no"
        file = self._file(part)
        if file is None:
            return "maybe" if rule.pattern else "yes"
        return file.touched_by(rule)

    def covered_by(self, rules: Sequence[Rule]) -> bool:
        mine = [rule for rule in rules if fnmatchcase("bash", rule.tool)]
        if any(rule.pattern is None for rule in mine):
            return True
        patterns = [Pattern(rule) for rule in mine]
        return bool(patterns) and bool(self.parts) and all(self._is_covered(p, patterns, rules) for p in self.parts)

    def _is_covered(self, part: Part, patterns: Sequence[Pattern], rules: Sequence[Rule]) -> bool:
        match part.kind:
            case "unknown":
                return False
            case "read":
                return True
            case "write":
                file = self._file(part)
                return file is not None and file.covered_by(rules)
            case "command":
                if part.name_at == 0 and part.name.text in HARMLESS:
                    return True
                if part.name.text.rpartition("/")[2] == "git" and self._enters_another_repository:
                    return False
                covering = [pattern for pattern in patterns if pattern.surely(part)]
                if not part.inner:
                    return bool(covering)
                if any(pattern.names_inner(part) for pattern in covering):
                    return True
                return (part.transparent or bool(covering)) and all(
                    self._is_covered(inner, patterns, rules) for inner in part.inner
                )

    def edits_only(self) -> bool:
        return False

    def suggestions(self, rules: Sequence[Rule]) -> tuple[str, ...]:
        found: list[str | None] = []
        self._suggest(self.parts, [Pattern(rule) for rule in rules if fnmatchcase("bash", rule.tool)], rules, found)
        if None in found:
            return ()
        return tuple(dict.fromkeys(text for text in found if text))

    def _suggest(
        self, parts: Sequence[Part], patterns: Sequence[Pattern], rules: Sequence[Rule], found: list[str | None]
    ) -> None:
        for part in parts:
            if self._is_covered(part, patterns, rules):
                continue
            if part.kind == "write" and (file := self._file(part)):
                found += [f"write({pattern})" for pattern in file.suggestions(rules)]
            elif part.name.text == "git" and self._enters_another_repository:
                found.append(None)
            elif part.transparent:
                self._suggest(part.inner, patterns, rules, found)
            else:
                found.append(suggestion(part))

    def _file(self, part: Part) -> FileSubject | None:
        """The file of a redirection; None when it cannot be known."""
        (word,) = part.words
        if not word.known or (not word.text.startswith("/") and self._moves):
            return None
        return FileSubject("read" if part.kind == "read" else "write", target(word.text, self._where.cwd), self._where)

    @functools.cached_property
    def _enters_another_repository(self) -> bool:
        """Whether the line goes to where git may obey the configuration of a repository that came with this one."""
        entered = [part for part in self._all_parts() if part.name.text in ("cd", "pushd", "popd")]
        if not entered:
            return False
        arguments = entered[0].words[entered[0].name_at + 1 :]
        if len(entered) > 1 or len(arguments) != 1 or not arguments[0].known:
            return True
        place = target(arguments[0].text, self._where.cwd).real
        root = os.path.realpath(self._where.root)
        while place != root:
            bare = os.path.exists(os.path.join(place, "HEAD")) and os.path.exists(os.path.join(place, "objects"))
            if bare or os.path.lexists(os.path.join(place, ".git")) or not is_inside(place, (root,)):
                return True
            place = os.path.dirname(place)
        return False

    @functools.cached_property
    def _moves(self) -> bool:
        """Whether the working directory may be another one by then."""
        return any(part.kind == "unknown" or part.name.text in ("cd", "pushd", "popd") for part in self._all_parts())

    def _all_parts(self) -> Iterator[Part]:
        waiting = list(self.parts)
        while waiting:
            part = waiting.pop()
            yield part
            waiting += part.inner
