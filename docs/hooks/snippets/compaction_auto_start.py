"""Say why it takes a moment."""


def setup(marvin):
    @marvin.on("compaction.auto_start")
    async def patience(event, ctx):
        ctx.ui.notify(f"Summing up ({event.reason}) ...")


# Its test:

PAYLOAD = {"reason": "threshold"}


def effect(hook, emitted):
    assert hook.told == ["Summing up (threshold) ..."]
