"""Take the key from a password manager, for each call."""


def setup(marvin):
    @marvin.on("auth.get", on_error="closed")
    async def from_the_vault(event, ctx):
        if event.input.provider == "anthropic":
            done = await ctx.exec("echo", ["key-of-the-vault"])  # pass, op, security, ...
            event.output.api_key = done.stdout.strip()


# Its test:

PAYLOAD = {"input": {"provider": "anthropic", "model_id": "claude"}}


def effect(hook, emitted):
    assert emitted.event.output.api_key == "key-of-the-vault"
