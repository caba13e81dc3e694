"""The pattern that is offered to be remembered for a command: it covers the like of it, and little more."""

import re
from collections.abc import Sequence

from marvin_agent.permission_rules import literal
from marvin_agent.policies.permissions.commands import Part, Word, running, without_pager
from marvin_agent.policies.permissions.known_programs import (
    BROAD,
    DEEP,
    INTERPRETERS,
    LAUNCHERS,
    READERS,
    RUNNERS,
    SUBCOMMANDS,
    TESTERS,
)

_VERSION = re.compile(r"[\d.]+$")


def suggestion(part: Part) -> str | None:
    """The pattern to remember for a command like this; None when nothing sensible can be said."""
    words = without_pager(part)
    if part.kind != "command" or not all(word.known for word in words[: part.name_at + 1]):
        return None
    if _takes_code(part):
        return None
    fixed = _fixed(words[part.name_at :])
    if not fixed or part.inner or any(running(part, words[part.name_at + 1 :])):
        return " ".join(_quoted(word.text) for word in words) if all(word.known for word in words) else None
    return " ".join(_quoted(word.text) for word in words[: part.name_at + fixed]) + " *"


def _fixed(words: Sequence[Word]) -> int:
    """How many words, from the program on, stand in front of the wildcard; 0 when there can be none."""
    # A program by its path, or of another version, does the same.
    name = words[0].text.rpartition("/")[2] if words else ""
    texts = [name, *(word.text if word.known else "" for word in words[1:])]
    plain = _VERSION.sub("", name)
    for runner in RUNNERS:
        behind = len(runner)
        if (plain, *texts[1:behind]) == runner and len(texts) > behind and texts[behind] in TESTERS:
            return behind + 1
    if {name, plain} & (INTERPRETERS | LAUNCHERS) or "=" in name:
        return 0
    if plain not in SUBCOMMANDS or len(texts) == 1:
        return 1
    if texts[1].startswith("-") or plain in BROAD.get(texts[1], frozenset()):
        return 0
    if plain in DEEP:
        return 3 if len(texts) > 2 and texts[2] and not texts[2].startswith("-") else 0
    return 2 if texts[1] else 1


def _takes_code(part: Part) -> bool:
    """Whether it may run what comes in (`python - <<EOF`): the same words would run any code the next time."""
    if not all(word.known for word in part.words[: part.name_at + 1]):
        return False
    name = _VERSION.sub("", part.name.text.rpartition("/")[2])
    texts = [word.text for word in part.words[part.name_at + 1 :]]
    plain = [text for text in texts if not text.startswith("-")]
    if any(_takes_code(inner) for inner in part.inner if inner.kind == "command"):
        return True
    if {"--version", "--help", "-V"} & set(texts):
        return False
    match name:
        case "sqlite" | "ssh":
            return len(plain) < 2
        case "psql" | "mysql":
            return not any(text.startswith(("-c", "-e", "-f", "--command", "--execute", "--file")) for text in texts)
        case "docker" | "podman" | "kubectl":
            return "--interactive" in texts or any(re.fullmatch(r"-[a-z]*i[a-z]*", text) for text in texts)
    return name in READERS and (not plain or bool({"-", "-s", "/dev/stdin"} & set(texts)))


def _quoted(text: str) -> str:
    if text and not set(text) & set("*?[]'\"\\|&;()<>$`#~{}\n\t "):
        return text
    if "'" not in text:
        return f"'{text}'"
    return "".join(f"\\{c}" if c in "'\"\\ |&;()<>$`\n\t" else literal(c) for c in text)
