"""Suggest another model when one stays down."""


def setup(marvin):
    @marvin.on("retry.end")
    async def suggest(event, ctx):
        if not event.success:
            ctx.ui.notify("It stays down; `/model` takes another one.", "warning")


# Its test:

PAYLOAD = {"attempt": 4, "success": False, "error": "overloaded"}


def effect(hook, emitted):
    assert hook.told == ["It stays down; `/model` takes another one."]
