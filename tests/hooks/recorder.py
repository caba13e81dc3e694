"""A hook that writes every event it hears to a file, and one that drives the program through every scenario."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

SOURCE = '''
"""Records every event, as JSON lines beside this file."""
import json
import os

from marvin_agent.hooks import forms
from marvin_agent.hooks.spec import ROWS

LOG = os.path.join(os.path.dirname(__file__), "events.jsonl")

def setup(marvin):
    def record(event):
        line = {"event": event.type, "fields": sorted(vars(event)), "payload": forms.to_plain(event)}
        with open(LOG, "a") as file:
            file.write(json.dumps(line) + "\\n")

    for row in ROWS:
        options = {"purposes": ("turn", "compaction", "complete")} if row.name == "chat.messages.transform" else {}

        @marvin.on(row.name, priority=1000, **options)
        async def hear(event, ctx):
            record(event)
'''

DRIVER = '''
"""Does what the scenarios need a hook for."""
import asyncio

def setup(marvin):
    once = set()

    def first(name):
        fresh = name not in once
        once.add(name)
        return fresh

    @marvin.on("tool.execute.before")
    async def gate(event, ctx):
        if "forbidden" in str(event.input):
            return {"block": True, "reason": "forbidden here"}

    @marvin.on("turn.start")
    async def steer(event, ctx):
        prompt = str(ctx.sessions.entries()[-1:])
        if "steer me" in prompt and first("steer"):
            ctx.steer("steered")
            ctx.follow_up("followed")

    @marvin.on("agent.before_end")
    async def fail(event, ctx):
        if "fail a hook" in str(event.messages) and first("fail"):
            raise ValueError("as asked")
        if "continue me" in str(event.messages) and first("continue"):
            return {"continue_with": "go on"}

    def command(name):
        def decorate(function):
            marvin.register_command(name, handler=function, description=name)
        return decorate

    @command("start-anew")
    async def anew(args, ctx):
        return str(await ctx.session.new_session())

    @command("go-to")
    async def switch(args, ctx):
        return str(await ctx.session.switch(args))

    @command("take")
    async def take(args, ctx):
        marvin.set_model(args)
        marvin.thinking_level = "high"
        while ctx.model.ref != args or marvin.thinking_level != "high":
            await asyncio.sleep(0.001)
        return "taken"

    @command("complete")
    async def complete(args, ctx):
        return (await ctx.session.complete("short", args)).text
'''


class Recorder:
    """The hooks' files and what was written."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.paths = [str(directory / "recorder.py"), str(directory / "driver.py")]
        for path, source in zip(self.paths, (SOURCE, DRIVER), strict=True):
            Path(path).write_text(source)
        self._log = directory / "events.jsonl"

    def events(self) -> list[dict[str, Any]]:
        """What was heard, in order, and forgets it."""
        if not self._log.exists():
            return []
        lines = [json.loads(line) for line in self._log.read_text().splitlines()]
        self._log.unlink()
        return lines

    def count(self, but: Collection[str]) -> int:
        """How many events were heard so far, without those of these names."""
        if not self._log.exists():
            return 0
        lines = self._log.read_text().split("\n")[:-1]
        return len([line for line in lines if json.loads(line)["event"] not in but])
