"""The syntax of permission rules, `tool` or `tool(pattern)`: what config.json is checked for and policies go by."""

import re
from typing import NamedTuple

from marvin_agent.errors import ConfigError
from marvin_agent.toolnames import is_misspelt

_RULE = re.compile(r"([\w.*?\[\]:/-]+)(?:\((.*)\))?", re.DOTALL)
_OPERATORS = re.compile(r"[;\n`]|&&|\|\|?|\$\(|[<>]\(")
FOR_ANYTHING = ("", "*", ":*")
"""Patterns of a command that leave nothing out."""


class Rule(NamedTuple):
    """A rule. `tool` may be a glob (`mcp__*`); without a pattern it is about every call."""

    tool: str
    pattern: str | None

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"


def parse_rule(text: str) -> Rule:
    """The rule in a text. Raises ConfigError that says what is wrong with it."""
    if problem := problem_of(text):
        raise ConfigError(problem)
    found = _RULE.fullmatch(text.strip())
    assert found
    tool, pattern = found[1], found[2]
    if pattern is not None and tool == "bash" and pattern.strip() in FOR_ANYTHING:
        pattern = None
    return Rule(tool, pattern.strip() if pattern is not None else None)


def problem_of(text: str) -> str | None:
    """What is wrong with the text of a rule; None when it is one."""
    found = _RULE.fullmatch(text.strip())
    if not found:
        return f"{text!r} is no rule: a rule is `tool` or `tool(pattern)`, such as bash(git *) or write(src/**)"
    tool, pattern = found[1], found[2]
    if is_misspelt(tool):
        return f"{text!r} is about no tool: marvin's are written small, {tool.lower()}"
    if pattern is None:
        return None
    if not pattern.strip():
        return f"{text!r} has an empty pattern: leave the brackets out when every call of {tool} is meant"
    if tool != "bash":
        return None
    if _OPERATORS.search(_unquoted(pattern)):
        return (
            f"{text!r} can match nothing: a pattern is compared with one simple command. "
            "Write a rule for each command of a pipe or list."
        )
    try:
        command_words(pattern)
    except ConfigError as error:
        return f"{text!r}: {error.message}"
    return None


def command_words(pattern: str) -> tuple[tuple[str, ...], bool]:
    """The words of a command's pattern as globs, quotes taken off, and whether any arguments may follow them."""
    text = pattern.strip()
    tail = False
    if text.endswith(":*"):
        text, tail = text[:-2], True
    elif re.search(r"\s\*$", text):
        text, tail = text[:-1], True
    return tuple(_words(text)), tail


def _unquoted(pattern: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"|\\.", "", pattern)


def _words(text: str) -> list[str]:
    """Words as a shell would see them; what is quoted stands for itself."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    position = 0
    while position < len(text):
        letter = text[position]
        position += 1
        if quote:
            if letter == quote:
                quote = ""
            else:
                word = (word or "") + literal(letter)
        elif letter in "'\"":
            quote, word = letter, word or ""
        elif letter == "\\" and position < len(text):
            word = (word or "") + literal(text[position])
            position += 1
        elif letter.isspace():
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + letter
    if quote:
        raise ConfigError(f"a quote {quote} is not closed")
    if word is not None:
        words.append(word)
    return words


def literal(text: str) -> str:
    """A glob that matches this text only."""
    return re.sub(r"([*?\[])", r"[\1]", text)
