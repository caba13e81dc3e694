"""Show what a turn has cost."""


def setup(marvin):
    @marvin.on("turn.end")
    async def cost(event, ctx):
        if event.tokens:
            ctx.ui.set_status("cost", f"${event.tokens.cost:.2f}")


# Its test:

PAYLOAD = {"tokens": {"input": 10, "output": 5, "total": 15, "cost": 0.25}}


def effect(hook, emitted):
    assert list(hook.person.statuses.values()) == ["$0.25"]
