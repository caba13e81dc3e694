"""Auto-compact: sums the conversation up when the model's context is nearly full, at the end of the run.

Settings: `threshold`, the part of the context that may be used (0.8); `instructions`, what the summary should keep.
"""

from marvin_agent.hooks import Context, HookAPI, TurnEnd


def setup(marvin: HookAPI) -> None:
    """Watch the tokens of each turn."""
    threshold = float(marvin.settings.get("threshold", 0.8))

    @marvin.on("turn.end")
    async def compact_when_full(event: TurnEnd, ctx: Context) -> None:
        if not event.tokens or not event.context_limit:
            return  # the provider reports nothing, or the model is unknown
        used = event.tokens.total / event.context_limit
        if used >= threshold:
            ctx.session.toast("Compaction", f"The context is {used:.0%} full.", "warning")
            # Inside a run this is scheduled for the run's end, and only once.
            await ctx.session.summarize(marvin.settings.get("instructions"))
