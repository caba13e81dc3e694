"""Give the summary something to hold on to."""


def setup(marvin):
    @marvin.on("session.before_compact")
    async def keep_the_ticket(event, ctx):
        return {"context": ["The ticket is MARVIN-42; keep its number."]}


# Its test:

PAYLOAD = {"reason": "manual"}


def effect(hook, emitted):
    assert emitted.event.output.context == ["The ticket is MARVIN-42; keep its number."]
