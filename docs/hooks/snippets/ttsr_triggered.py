"""Show which rule it was."""


def setup(marvin):
    @marvin.on("ttsr.triggered")
    async def show(event, ctx):
        ctx.ui.notify(f"{', '.join(event.rules)}: {event.matched}")


# Its test:

PAYLOAD = {"rules": ["no-any"], "matched": ": any"}


def effect(hook, emitted):
    assert hook.told == ["no-any: : any"]
