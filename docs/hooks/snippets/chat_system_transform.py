"""Add a rule to every model call, but not to the one that makes summaries."""


def setup(marvin):
    @marvin.on("chat.system.transform", purposes=("turn",))
    async def language(event, ctx):
        event.output.system_prompt += "\nAnswer in British English."


# Its test:

PAYLOAD = {"output": {"system_prompt": "Be good."}, "purpose": "turn"}


def effect(hook, emitted):
    assert emitted.event.output.system_prompt == "Be good.\nAnswer in British English."
