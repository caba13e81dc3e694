"""Show the last line of what runs."""


def setup(marvin):
    @marvin.on("tool.execute.update", tools=("bash",))
    async def last_line(event, ctx):
        lines = event.partial.strip().splitlines()
        ctx.ui.set_status("bash", lines[-1][:60] if lines else None)


# Its test:

PAYLOAD = {"tool_name": "bash", "partial": "one\ntwo\n"}


def effect(hook, emitted):
    assert list(hook.person.statuses.values()) == ["two"]
