"""Count the retries."""


def setup(marvin):
    retries = 0

    @marvin.on("retry.start")
    async def count(event, ctx):
        nonlocal retries
        retries += 1
        ctx.ui.set_status("retries", f"{retries} retries")


# Its test:

PAYLOAD = {"attempt": 1, "max_attempts": 4, "delay_ms": 100, "error": "overloaded"}


def effect(hook, emitted):
    assert list(hook.person.statuses.values()) == ["1 retries"]
