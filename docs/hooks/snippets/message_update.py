"""Count what arrives."""


def setup(marvin):
    arrived = 0

    @marvin.on("message.update")
    async def count(event, ctx):
        nonlocal arrived
        arrived += len(event.delta.get("text", ""))
        ctx.ui.set_status("arrived", f"{arrived} characters")


# Its test:

PAYLOAD = {"delta": {"type": "text", "index": 0, "text": "Hello"}}


def effect(hook, emitted):
    assert "5 characters" in hook.person.statuses.values()
