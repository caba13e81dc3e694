"""Warn when a run gets long."""


def setup(marvin):
    @marvin.on("turn.start")
    async def long_run(event, ctx):
        if event.turn_index == 20:
            ctx.ui.notify("Twenty turns; is it going in circles?", "warning")


# Its test:

PAYLOAD = {"turn_index": 20}


def effect(hook, emitted):
    assert hook.told == ["Twenty turns; is it going in circles?"]
