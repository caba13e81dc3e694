"""Greet, but not after a reload."""


def setup(marvin):
    @marvin.on("session.start")
    async def greet(event, ctx):
        if event.reason != "reload":
            ctx.ui.notify("A new session: nothing is remembered from the last one.")


# Its test:

PAYLOAD = {"reason": "new"}


def effect(hook, emitted):
    assert hook.told[-1].startswith("A new session")
