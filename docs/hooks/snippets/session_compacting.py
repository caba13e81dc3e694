"""Keep data with the summary, and read it again the next time."""


def setup(marvin):
    @marvin.on("session.compacting")
    async def count(event, ctx):
        before = (event.previous_preserve_data or {}).get("compactions", 0)
        event.output.preserve_data = {"compactions": before + 1}


# Its test:

PAYLOAD = {"previous_preserve_data": {"compactions": 1}}


def effect(hook, emitted):
    assert emitted.event.output.preserve_data == {"compactions": 2}
