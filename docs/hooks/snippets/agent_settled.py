"""Show that the agent waits for you."""


def setup(marvin):
    @marvin.on("agent.settled")
    async def waiting(event, ctx):
        ctx.ui.set_status("state", "waiting for you")


# Its test:

PAYLOAD = {}


def effect(hook, emitted):
    assert list(hook.person.statuses.values()) == ["waiting for you"]
