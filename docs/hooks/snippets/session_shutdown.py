"""Leave nothing behind."""


def setup(marvin):
    @marvin.on("session.shutdown")
    async def clean_up(event, ctx):
        if event.reason != "reload":
            await ctx.exec("rm", ["-f", "scratch.txt"])


# Its test:

PAYLOAD = {"reason": "quit"}


def effect(hook, emitted):
    assert not (hook.work / "scratch.txt").exists()
    assert emitted.errors == []
