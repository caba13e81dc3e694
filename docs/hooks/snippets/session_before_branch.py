"""Keep the files as they are when the conversation goes back."""


def setup(marvin):
    @marvin.on("session.before_branch")
    async def leave_files(event, ctx):
        if not event.fork:
            return {"skip_conversation_restore": True}


# Its test:

PAYLOAD = {"entry_id": "e1", "fork": False}


def effect(hook, emitted):
    assert emitted.event.skip_conversation_restore is True
