"""Show who speaks."""


def setup(marvin):
    @marvin.on("message.start")
    async def speaker(event, ctx):
        ctx.ui.set_status("speaker", type(event.message).__name__)


# Its test:

PAYLOAD = {}


def effect(hook, emitted):
    assert "UserMessage" in hook.person.statuses.values()
