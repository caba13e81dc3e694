"""A person pushes, not the agent."""


def setup(marvin):
    @marvin.on("tool.execute.before", tools=("bash",))
    async def no_push(event, ctx):
        if "git push" in event.input["command"]:
            return {"block": True, "reason": "a person pushes"}


# Its test:

PAYLOAD = {"tool_name": "bash", "input": {"command": "git push"}}


def effect(hook, emitted):
    assert (emitted.blocked, emitted.reason) == (True, "a person pushes")
