"""Send old tool results without their text. The session keeps them."""

from marvin_agent.hooks import changed


def setup(marvin):
    @marvin.on("chat.messages.transform")
    async def forget_old_results(event, ctx):
        for number, message in enumerate(event.messages[:-10]):
            if message.role == "toolResult":
                short = {"type": "text", "text": "(an old result, left out)"}
                event.messages[number] = changed(message, content=[short])


# Its test:

USER = {"role": "user", "content": [{"type": "text", "text": "go on"}]}
RESULT = {"role": "toolResult", "toolCallId": "1", "toolName": "read", "content": [], "isError": False}
PAYLOAD = {"messages": [RESULT, *[USER] * 10]}


def effect(hook, emitted):
    assert emitted.event.messages[0].content[0].text == "(an old result, left out)"
    assert len(emitted.event.messages) == 11
