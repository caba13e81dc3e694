"""Follow the session."""


def setup(marvin):
    @marvin.on("session.switch")
    async def follow(event, ctx):
        ctx.ui.set_status("session", f"session {ctx.session_id[:8]}")


# Its test:

PAYLOAD = {"reason": "resume", "previous_session": "/home/me/s.jsonl"}


def effect(hook, emitted):
    (status,) = hook.person.statuses.values()
    assert status.startswith("session ")
