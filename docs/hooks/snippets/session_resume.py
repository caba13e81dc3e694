"""Say how old the session is that goes on."""


def setup(marvin):
    @marvin.on("session.resume")
    async def welcome_back(event, ctx):
        entries = len(ctx.sessions.entries())
        ctx.ui.notify(f"Going on with {event.session_path}: {entries} entries.")


# Its test:

PAYLOAD = {"session_path": "/home/me/s.jsonl"}


def effect(hook, emitted):
    assert hook.told == ["Going on with /home/me/s.jsonl: 0 entries."]
