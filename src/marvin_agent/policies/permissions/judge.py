"""Decides about a call: by the rules (deny beats ask beats allow), then by the mode."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple, TypeAlias

from marvin_agent.permission_rules import Rule, parse_rule
from marvin_agent.policies.permissions.files import PathPattern
from marvin_agent.policies.permissions.subjects import FILE_TOOLS, FileSubject, Subject, Where, subject_of

Mode: TypeAlias = Literal["ask", "edits", "auto", "plan"]


class Call(NamedTuple):
    """A tool call about to run."""

    tool: str
    input: dict[str, Any]
    acts: bool
    """False for a tool that only looks."""
    by_user: bool
    """The user typed it himself: he is not asked about it."""


class Verdict(NamedTuple):
    """What becomes of a call."""

    decision: Literal["allow", "ask", "deny"]
    rule: Rule | None = None
    """The rule that decided, if one did."""
    reason: str = ""
    patterns: tuple[str, ...] = ()
    """What could be remembered, so that it would run the next time."""


class Rules(NamedTuple):
    """The rules of the configuration."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, settings: dict[str, Any]) -> "Rules":
        """From the lists in the settings. Raises ConfigError."""
        rules = cls(*(tuple(map(parse_rule, settings.get(name, ()))) for name in cls._fields))
        for rule in (*rules.allow, *rules.ask, *rules.deny):
            if rule.pattern is not None and any(fnmatchcase(tool, rule.tool) for tool in FILE_TOOLS):
                PathPattern(rule, "/", "/")  # raises when the pattern is none
        return rules


def judge(call: Call, mode: Mode, rules: Rules, remembered: Sequence[Rule], where: Where) -> Verdict:
    """What becomes of a call; `remembered` are allow rules from answers."""
    subject = subject_of(call.tool, call.input, where)
    doubted: Rule | None = None
    for rule in rules.deny:
        touched = subject.touched_by(rule)
        if touched == "yes":
            return Verdict("deny", rule, f"the rule {rule} in permissions.deny forbids it")
        if touched == "maybe":
            doubted = doubted or rule
    if call.by_user:
        return Verdict("allow")
    if mode == "plan" and call.acts:
        return Verdict("deny", None, "permission mode is plan, in which nothing runs that changes anything")
    if doubted:
        return Verdict("ask", doubted, f"it cannot be told whether the rule {doubted} in permissions.deny forbids it")
    if mode == "auto":
        return Verdict("allow")
    for rule in rules.ask:
        touched = subject.touched_by(rule)
        if touched == "yes":
            return Verdict("ask", rule, f"the rule {rule} in permissions.ask wants it asked about")
        if touched == "maybe":
            return Verdict("ask", rule, f"the rule {rule} in permissions.ask may be about it")
    if not call.acts or (mode == "edits" and _edits(subject)):
        return Verdict("allow")
    allow = (*rules.allow, *remembered)
    if subject.covered_by(allow):
        return Verdict("allow")
    return Verdict("ask", None, f"permission mode is {mode}", subject.suggestions(allow))


def _edits(subject: Subject) -> bool:
    return isinstance(subject, FileSubject) and subject.edits_only()
