"""Refuse what names the production server, without asking."""


def setup(marvin):
    @marvin.on("permission.ask")
    async def decide(event, ctx):
        if "prod.example.com" in str(event.input):
            return {"decision": "deny", "reason": "production is for people"}


# Its test:

PAYLOAD = {"tool_name": "bash", "input": {"command": "ssh prod.example.com"}}


def effect(hook, emitted):
    assert emitted.decided == {"decision": "deny", "reason": "production is for people"}
