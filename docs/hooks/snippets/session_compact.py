"""Keep every summary in a file."""

import os


def setup(marvin):
    @marvin.on("session.compact")
    def keep(event, ctx):
        with open(os.path.join(ctx.cwd, "summaries.md"), "a", encoding="utf-8") as file:
            file.write(f"{event.summary}\n\n")


# Its test:

PAYLOAD = {"summary": "We moved to uv."}


def effect(hook, emitted):
    assert (hook.work / "summaries.md").read_text() == "We moved to uv.\n\n"
