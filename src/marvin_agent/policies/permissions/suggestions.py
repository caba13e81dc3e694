"""The pattern that is offered to be remembered for a command: it covers the like of it, and little more."""

from marvin_agent.permission_rules import literal
from marvin_agent.policies.permissions.commands import Part, running
from marvin_agent.policies.permissions.known_programs import INTERPRETERS, LAUNCHERS, SUBCOMMANDS


def suggestion(part: Part) -> str | None:
    """The pattern to remember for a command like this; None when nothing sensible can be said."""
    words = part.words
    if part.kind != "command" or not all(word.known for word in words[: part.name_at + 1]):
        return None
    at = part.name_at
    name = part.name.text
    at_option = len(words) > at + 1 and name in SUBCOMMANDS and words[at + 1].text.startswith("-")
    if name in INTERPRETERS or name in LAUNCHERS or part.inner or at_option or "=" in name:
        return " ".join(_quoted(word.text) for word in words) if all(word.known for word in words) else None
    upto = at + 1
    if name in SUBCOMMANDS and len(words) > upto and words[upto].known and not words[upto].text.startswith("-"):
        upto += 1
    if any(running(part, words[upto:])):
        return " ".join(_quoted(word.text) for word in words) if all(word.known for word in words) else None
    fixed = " ".join(_quoted(word.text) for word in words[:upto])
    return f"{fixed} *"


def _quoted(text: str) -> str:
    if text and not set(text) & set("*?[]'\"\\|&;()<>$`#~{}\n\t "):
        return text
    if "'" not in text:
        return f"'{text}'"
    return "".join(f"\\{c}" if c in "'\"\\ |&;()<>$`\n\t" else literal(c) for c in text)
