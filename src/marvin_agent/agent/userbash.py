"""Commands that the user runs himself with `!`: past the hooks' gate, through the invoker, into the context or not."""

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

from marvin_agent.agent.events import CALL_OF_USER, CALL_UNSEEN
from marvin_agent.agent.invoke import Result
from marvin_agent.errors import Refused
from marvin_agent.hooks import events as h
from marvin_agent.messages import Text, ToolCall, clean, raw, text_of, user

if TYPE_CHECKING:
    from marvin_agent.agent.engine import Engine

ORIGIN = "user"


async def run_user_bash(engine: "Engine", command: str, *, exclude_from_context: bool) -> Result:
    """Run a command for the user and show it; what it printed goes into the conversation unless it is excluded.

    It may run while the agent works; the conversation gets it when the agent is done. `abort` ends it. Raises Refused.
    """
    outcome = await engine.points.fire(
        h.UserBash, origin=ORIGIN, command=command, exclude_from_context=exclude_from_context, cwd=engine.cwd
    )
    given: Any = None
    by: tuple[str, ...] = ()
    if outcome:
        if outcome.refused:
            raise Refused(f"Not run: {outcome.refused}")
        command, by = str(outcome.event.command), outcome.changed_by
        given = outcome.decided.get("result")
        if given is not None and outcome.decided_by:
            by = tuple(dict.fromkeys((*by, outcome.decided_by)))
    kind = CALL_UNSEEN if exclude_from_context else CALL_OF_USER
    call = ToolCall(id=f"{kind}{uuid.uuid4().hex[:12]}", name="bash", arguments=raw({"command": command}))
    result = Result(call, ORIGIN)
    result.changed_by = by
    if given is None:
        await engine.unless_aborted(_run(engine, result))
    else:
        _take(engine, result, command, given)
    if result.status is None:
        result.fail("aborted", "Interrupted before it ran.")
    elif not exclude_from_context:
        # Between a call and its result there is no room for a message.
        await engine.wait_until_idle()
        message = user(said(command, result))
        engine.conversation.store(message, result.changed_by)
        # Frontends know it by its tool events.
        engine.points.tell(h.MessageStart, origin=ORIGIN, message=message)
        engine.points.tell(h.MessageEnd, origin=ORIGIN, message=message)
    return result


def said(command: str, result: Result) -> str:
    """What the model reads of it."""
    return f"I ran this command myself:\n$ {command}\n\n{text_of(result.content)}"


async def _run(engine: "Engine", result: Result) -> None:
    invoker, by = engine.invoker, result.changed_by
    await invoker.prepare(result)
    result.changed_by = tuple(dict.fromkeys((*by, *result.changed_by)))
    invoker.started(result)
    try:
        await invoker.run(result)
    finally:
        try:
            await invoker.after(result)
        except asyncio.CancelledError:
            if result.private:
                result.fail("aborted", "Interrupted before a hook had seen the result, so it is withheld.")
            raise
        finally:
            invoker.ended(result)


def _take(engine: "Engine", result: Result, command: str, given: dict[str, Any]) -> None:
    """What a hook says that the command printed; nothing runs."""
    code = given.get("exit_code", given.get("exitCode", 0))
    result.input = {"command": command}
    result.content = (Text(text=clean(str(given.get("output", "")))),)
    result.details = {"exitCode": code}
    result.status = "error" if code else "ok"
    engine.invoker.started(result)
    engine.invoker.ended(result)
