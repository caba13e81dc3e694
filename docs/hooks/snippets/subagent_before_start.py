"""Keep subagents short."""


def setup(marvin):
    @marvin.on("subagent.before_start")
    async def short(event, ctx):
        return {"prompt": f"{event.prompt}\n\nAnswer in ten lines at most."}


# Its test:

PAYLOAD = {"name": "explore", "prompt": "Where is the parser?"}


def effect(hook, emitted):
    assert emitted.event.prompt.endswith("ten lines at most.")
