"""Mark the place in the session."""


def setup(marvin):
    @marvin.on("session.branch")
    async def mark(event, ctx):
        marvin.append_entry("branched", {"from": event.entry_id})


# Its test:

PAYLOAD = {"entry_id": "e1"}


def effect(hook, emitted):
    hook.wait_until(
        lambda: any(getattr(e, "custom_type", "") == "branched" for e in hook.scripted.engine.session.entries)
    )
