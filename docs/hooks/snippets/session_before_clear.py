"""Ask before a conversation is left."""


def setup(marvin):
    @marvin.on("session.before_clear")
    async def are_you_sure(event, ctx):
        if ctx.has_ui and not await ctx.ui.confirm("Leave this conversation?"):
            return {"cancel": True, "reason": "you wanted to stay"}


# Its test:

PAYLOAD = {}
OPTIONS = {"answers": [False]}


def effect(hook, emitted):
    assert emitted.reason == "you wanted to stay"
