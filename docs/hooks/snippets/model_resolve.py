"""Let a small model write the summaries."""


def setup(marvin):
    @marvin.on("model.resolve", purposes=("compaction",))
    async def cheap_summaries(event, ctx):
        return {"model": {"provider": "anthropic", "id": "claude-haiku-4-5"}}


# Its test:

PAYLOAD = {"purpose": "compaction"}


def effect(hook, emitted):
    assert emitted.event.output.model["id"] == "claude-haiku-4-5"
