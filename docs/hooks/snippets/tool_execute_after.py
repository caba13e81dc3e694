"""Tell the model what to do about an error that it does not understand."""


def setup(marvin):
    @marvin.on("tool.execute.after", tools=("bash",))
    async def hint(event, ctx):
        if event.is_error and any("ModuleNotFoundError" in getattr(part, "text", "") for part in event.content):
            hint = "Run it with `uv run`: the packages are in the project's environment."
            return {"content": [*event.content, {"type": "text", "text": hint}]}


# Its test:

PAYLOAD = {
    "tool_name": "bash",
    "is_error": True,
    "status": "error",
    "content": [{"type": "text", "text": "ModuleNotFoundError: No module named 'x'"}],
}


def effect(hook, emitted):
    assert emitted.event.content[-1].text.startswith("Run it with `uv run`")
    assert emitted.changed == {"content"}
