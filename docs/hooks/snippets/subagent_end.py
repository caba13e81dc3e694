"""Show what it has cost."""


def setup(marvin):
    @marvin.on("subagent.end")
    async def cost(event, ctx):
        if event.tokens:
            ctx.ui.notify(f"{event.name}: {event.tokens.total} tokens")


# Its test:

PAYLOAD = {"name": "explore", "result": "in parse.py", "tokens": {"total": 1200}}


def effect(hook, emitted):
    assert hook.told == ["explore: 1200 tokens"]
