"""Tell the person too."""


def setup(marvin):
    @marvin.on("todo.reminder")
    async def tell(event, ctx):
        ctx.ui.notify(f"{len(event.todos)} things are left ({event.attempt} of {event.max_attempts}).")


# Its test:

PAYLOAD = {"todos": [{}, {}], "attempt": 1, "max_attempts": 3}


def effect(hook, emitted):
    assert hook.told == ["2 things are left (1 of 3)."]
