"""Sample without chance."""


def setup(marvin):
    @marvin.on("chat.params")
    async def sober(event, ctx):
        event.output.stream_options.temperature = 0.0


# Its test:

PAYLOAD = {}


def effect(hook, emitted):
    assert emitted.event.output.stream_options.temperature == 0.0
