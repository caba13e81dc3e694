"""Cost limiter: a session stops when it has cost as much as you allow. `/budget` shows it, `/budget 10` changes it.

What was spent is read from the session itself, so it also counts when a session is gone on with tomorrow. A model
whose price marvin does not know costs nothing here.

Settings: `usd`, the budget of a session in dollars (5).
"""

from marvin_agent.hooks import (
    ChatMessage,
    ChatMessageResult,
    Context,
    HookAPI,
    ToolBeforeResult,
    ToolExecuteBefore,
    TurnEnd,
)


def spent(ctx: Context) -> float:
    """What the answers in this session have cost, in dollars."""
    usages = (getattr(getattr(entry, "message", None), "usage", None) for entry in ctx.sessions.entries())
    return float(sum(usage.cost.total for usage in usages if usage))


def setup(marvin: HookAPI) -> None:
    """Stop tools, turns and new prompts."""
    budget = float(marvin.settings.get("usd", 5.0))

    def over(ctx: Context) -> str | None:
        cost = spent(ctx)
        return f"this session has cost ${cost:.2f} of ${budget:.2f}" if cost >= budget else None

    @marvin.on("tool.execute.before", priority=100)
    async def stop_tools(event: ToolExecuteBefore, ctx: Context) -> ToolBeforeResult | None:
        why = over(ctx)
        return ToolBeforeResult(block=True, reason=f"out of budget: {why}") if why else None

    @marvin.on("turn.end")
    async def stop_turns(event: TurnEnd, ctx: Context) -> None:
        if event.tool_results and (why := over(ctx)):
            # Without this the model would be called once more, to hear that its tools were refused.
            ctx.ui.notify(f"Stopped: {why}. `/budget N` raises it.", "warning")
            ctx.abort()

    @marvin.on("chat.message", priority=100)
    async def stop_prompts(event: ChatMessage, ctx: Context) -> ChatMessageResult | None:
        if why := over(ctx):
            ctx.ui.notify(f"Not sent: {why}. `/budget N` raises it.", "warning")
            return ChatMessageResult(handled=True)
        return None

    @marvin.command("budget", "show or change what this session may cost")
    async def change(args: str, ctx: Context) -> None:
        nonlocal budget
        if args.strip():
            try:
                budget = float(args.strip().lstrip("$"))
            except ValueError:
                ctx.ui.notify(f"{args.strip()!r} is not a number of dollars", "warning")
                return
        ctx.ui.notify(f"This session has cost ${spent(ctx):.2f} of ${budget:.2f}.")
