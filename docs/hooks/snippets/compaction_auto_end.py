"""Say when it did not work."""


def setup(marvin):
    @marvin.on("compaction.auto_end")
    async def failed(event, ctx):
        if event.error:
            ctx.ui.notify(f"Not summed up: {event.error}", "warning")


# Its test:

PAYLOAD = {"reason": "overflow", "error": "the model gave no summary"}


def effect(hook, emitted):
    assert hook.told == ["Not summed up: the model gave no summary"]
