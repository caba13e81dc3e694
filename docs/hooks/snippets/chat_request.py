"""Set what marvin has no name for."""


def setup(marvin):
    @marvin.on("chat.request")
    async def tier(event, ctx):
        if event.provider == "openai":
            event.payload["service_tier"] = "flex"


# Its test:

PAYLOAD = {"provider": "openai", "payload": {"model": "gpt"}}


def effect(hook, emitted):
    assert emitted.event.payload == {"model": "gpt", "service_tier": "flex"}
