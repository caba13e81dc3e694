"""Keep the tracebacks of other hooks."""

import os


def setup(marvin):
    @marvin.on("hook.error")
    def keep(event, ctx):
        with open(os.path.join(ctx.cwd, "hook-errors.txt"), "a", encoding="utf-8") as file:
            file.write(f"{event.hook} in {event.event}\n{event.traceback}\n")


# Its test:

PAYLOAD = {"hook": "global:other", "event": "turn.end", "error": "ValueError", "traceback": "Traceback ..."}


def effect(hook, emitted):
    assert "global:other in turn.end" in (hook.work / "hook-errors.txt").read_text()
