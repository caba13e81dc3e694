"""Do not let the agent stop before the tests pass."""


def setup(marvin):
    @marvin.on("agent.before_end")
    async def until_green(event, ctx):
        done = await ctx.exec("sh", ["-c", "test ! -e Makefile || make test"], timeout=600)
        if done.code and event.continuations < 3:
            return {"continue_with": f"The tests fail:\n{done.stdout[-2000:]}"}


# Its test:

PAYLOAD = {"continuations": 0}


def effect(hook, emitted):
    assert "continue_with" not in emitted.decided
    assert emitted.errors == []
