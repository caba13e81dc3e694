"""Forget what was counted for the session before."""


def setup(marvin):
    calls = {}

    @marvin.on("tool.execute.before")
    async def count(event, ctx):
        calls[event.session_id] = calls.get(event.session_id, 0) + 1

    @marvin.on("session.clear")
    async def forget(event, ctx):
        ctx.ui.notify(f"That session called {calls.pop(event.previous_session_id, 0)} tools.")


# Its test:

PAYLOAD = {"previous_session_id": "one"}


def effect(hook, emitted):
    assert hook.told == ["That session called 0 tools."]
