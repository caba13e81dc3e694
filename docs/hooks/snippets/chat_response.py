"""Watch the provider's limits."""


def setup(marvin):
    @marvin.on("chat.response")
    async def limits(event, ctx):
        left = event.headers.get("x-ratelimit-remaining-tokens")
        if left and int(left) < 10_000:
            ctx.ui.notify(f"Only {left} tokens are left in this minute.", "warning")


# Its test:

PAYLOAD = {"status": 200, "headers": {"x-ratelimit-remaining-tokens": "512"}}


def effect(hook, emitted):
    assert hook.told == ["Only 512 tokens are left in this minute."]
