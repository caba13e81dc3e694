"""Keep the answers."""

import os


def setup(marvin):
    @marvin.on("message.end")
    def keep(event, ctx):
        if event.message.role == "assistant" and event.message.text:
            with open(os.path.join(ctx.cwd, "answers.md"), "a", encoding="utf-8") as file:
                file.write(f"{event.message.text}\n\n")


# Its test:

ANSWER = {
    "role": "assistant",
    "content": [{"type": "text", "text": "Hello"}],
    "api": "x",
    "provider": "x",
    "model": "x",
    "stopReason": "stop",
}
PAYLOAD = {"message": ANSWER}


def effect(hook, emitted):
    assert (hook.work / "answers.md").read_text() == "Hello\n\n"
