"""The gate: lets a call run, asks the person about it, or refuses it. Loaded with the first call that it judges."""

import os
from typing import Any

from marvin_agent.messages import encode
from marvin_agent.permission_rules import Rule, parse_rule, problem_of
from marvin_agent.policies.permissions.judge import Call, Mode, Rules, Verdict, judge
from marvin_agent.policies.permissions.remembered import Remembered
from marvin_agent.policies.permissions.subjects import CHANGING, FILE_TOOLS, Where


class Gate:
    """The gate of one program."""

    def __init__(self, mode: Mode, settings: dict[str, Any]) -> None:
        self._mode = mode
        self._rules = Rules.of(settings)
        self._home = os.path.expanduser("~")

    async def look_at(self, event: Any, ctx: Any) -> dict[str, Any] | None:
        facts = ctx.tool(event.tool_name)
        call = Call(
            tool=event.tool_name,
            input=event.input,
            acts=facts is None or facts.acts,
            by_user=event.origin == "user",
        )
        where = Where(ctx.cwd, ctx.project_root, self._home, ctx.resolve, ctx.config_dir)
        remembered = Remembered(ctx.config_dir)
        known = remembered.rules(ctx.project_root) if call.acts and self._mode in ("ask", "edits") else ()
        verdict = judge(call, self._mode, self._rules, known, where)
        match verdict.decision:
            case "allow":
                return None
            case "deny":
                return _block(verdict.reason + (_what_is_possible(ctx) if self._mode == "plan" else "") + ".")
            case "ask":
                return await self._ask(call, verdict, remembered, ctx)

    async def _ask(self, call: Call, verdict: Verdict, remembered: Remembered, ctx: Any) -> dict[str, Any] | None:
        answer = await ctx.ui.permission(
            {
                "tool_name": call.tool,
                "input": call.input,
                "preview": _preview(call),
                "rule": str(verdict.rule) if verdict.rule else None,
                "why": verdict.reason if verdict.rule else f"{verdict.reason}, and no rule allows it yet",
                "patterns": list(verdict.patterns),
            }
        )
        reason = str(answer.get("reason") or "")
        if answer.get("decision") == "allow":
            remember = answer.get("remember")
            for text in remember if isinstance(remember, list) else ():
                if not rules_of([text], call.tool, ()):
                    ctx.ui.notify(f"not remembered, since it is no pattern for {call.tool}: {text}", "warning")
            remembered_rules = rules_of(remember, call.tool, verdict.patterns)
            if remembered_rules:
                remembered.add(ctx.project_root, remembered_rules)
            return None
        if by := answer.get("by"):
            return _block(f"{by}: {reason}" if reason else f"refused by {by}")
        if not ctx.has_ui:
            return _block(f"{verdict.reason}, and nobody is here to ask. {_how_to_allow(call, verdict)}")
        return _block(f"refused by the user: {reason}" if reason else "refused by the user")


def rules_of(remember: Any, tool: str, suggested: tuple[str, ...]) -> list[Rule]:
    """The rules of an answer that is to be remembered: patterns or whole rules, or True for what was suggested.

    What is no rule is left out: the answer itself still counts.
    """
    if remember is True:
        remember = suggested
    texts = [remember] if isinstance(remember, str) else remember if isinstance(remember, list | tuple) else []
    found = []
    for text in texts:
        whole = str(text).strip()
        named = whole.partition("(")[0] in {tool, *FILE_TOOLS} and whole.endswith(")")
        rule = whole if named else tool if whole == "*" else f"{tool}({whole})"
        if whole and not problem_of(rule):
            found.append(parse_rule(rule))
    return found


def _block(reason: str) -> dict[str, Any]:
    return {"block": True, "reason": reason}


def _preview(call: Call) -> str:
    text = (
        call.input.get("command") if call.tool == "bash" else call.input.get("path") if call.tool in CHANGING else None
    )
    return str(text if text is not None else encode(call.input).decode())


def _what_is_possible(ctx: Any) -> str:
    looking = [name for name in ctx.active_tools if (facts := ctx.tool(name)) and not facts.acts]
    if not looking:
        return ". Say what you would do"
    return f". What only looks is possible: {', '.join(looking)}. Say what you would do, and leave it to the user"


def _how_to_allow(call: Call, verdict: Verdict) -> str:
    if verdict.rule:
        return f"The user can change that rule ({verdict.rule}) in config.json."
    texts = [str(rule) for rule in rules_of(True, call.tool, verdict.patterns)]
    rule = f", or add to permissions.allow in config.json: {', '.join(texts)}" if texts else ""
    return f"The user can run marvin with --auto{rule}."
