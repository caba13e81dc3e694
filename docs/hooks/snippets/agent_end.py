"""Tell why a run ended badly."""


def setup(marvin):
    @marvin.on("agent.end")
    async def tell(event, ctx):
        if event.error:
            ctx.ui.notify(f"It ended with: {event.error}", "error")


# Its test:

PAYLOAD = {"stop_reason": "error", "error": "the provider is down"}


def effect(hook, emitted):
    assert hook.told == ["It ended with: the provider is down"]
