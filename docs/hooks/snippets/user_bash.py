"""Run the user's commands in a container."""

import shlex


def setup(marvin):
    @marvin.on("user.bash")
    async def contained(event, ctx):
        return {"command": f"docker compose exec -T app sh -c {shlex.quote(event.command)}"}


# Its test:

PAYLOAD = {"command": "ls -l"}


def effect(hook, emitted):
    assert emitted.event.command == "docker compose exec -T app sh -c 'ls -l'"
