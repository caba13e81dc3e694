"""Show that the agent works."""


def setup(marvin):
    @marvin.on("agent.start")
    async def working(event, ctx):
        ctx.ui.set_status("state", "working")


# Its test:

PAYLOAD = {}


def effect(hook, emitted):
    assert "working" in hook.person.statuses.values()
