"""Write the summary of what is left behind without a model call."""


def setup(marvin):
    @marvin.on("session.before_tree")
    async def own_summary(event, ctx):
        if event.user_wants_summary:
            return {"summary": {"summary": f"{len(event.entries_to_summarize)} entries were left behind."}}


# Its test:

PAYLOAD = {"user_wants_summary": True, "entries_to_summarize": [{}, {}]}


def effect(hook, emitted):
    assert emitted.decided["summary"]["summary"] == "2 entries were left behind."
