"""Show the level."""


def setup(marvin):
    @marvin.on("thinking.change")
    async def show(event, ctx):
        ctx.ui.set_status("thinking", event.level)


# Its test:

PAYLOAD = {"level": "high", "previous_level": "off"}


def effect(hook, emitted):
    assert list(hook.person.statuses.values()) == ["high"]
