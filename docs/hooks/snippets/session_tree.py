"""Tell where the user went."""


def setup(marvin):
    @marvin.on("session.tree")
    async def moved(event, ctx):
        ctx.ui.notify(f"From {event.old_leaf_id} to {event.new_leaf_id}.")


# Its test:

PAYLOAD = {"old_leaf_id": "a", "new_leaf_id": "b"}


def effect(hook, emitted):
    assert hook.told == ["From a to b."]
