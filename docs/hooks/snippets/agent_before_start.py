"""Put today's date beside the prompt, stored and shown."""

import time


def setup(marvin):
    @marvin.on("agent.before_start")
    async def date(event, ctx):
        return {"message": {"custom_type": "date", "content": f"Today is {time.strftime('%A, %d %B %Y')}."}}


# Its test:

PAYLOAD = {"prompt": "what day is it?"}


def effect(hook, emitted):
    assert emitted.added["message"][0].content[0].text.startswith("Today is ")
