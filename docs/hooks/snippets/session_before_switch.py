"""Stay while something is going on."""


def setup(marvin):
    @marvin.on("session.before_switch")
    async def not_now(event, ctx):
        done = await ctx.exec("pgrep", ["-f", "my-deploy-script"])
        if done.code == 0:
            return {"cancel": True, "reason": "a deployment is running"}


# Its test:

PAYLOAD = {"reason": "new"}


def effect(hook, emitted):
    assert not emitted.blocked
    assert emitted.errors == []
