"""Spell a short hand out."""


def setup(marvin):
    @marvin.on("chat.message")
    async def expand(event, ctx):
        for number, part in enumerate(event.output.parts):
            if hasattr(part, "text"):
                text = part.text.replace("@@", "Answer in one sentence: ")
                event.output.parts[number] = {"type": "text", "text": text}


# Its test:

PAYLOAD = {"input": {"text": "@@why?"}, "output": {"parts": [{"type": "text", "text": "@@why?"}]}}


def effect(hook, emitted):
    assert emitted.event.output.parts[0].text == "Answer in one sentence: why?"
