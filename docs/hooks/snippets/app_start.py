"""Say which project this is."""


def setup(marvin):
    @marvin.on("app.start")
    async def hello(event, ctx):
        marvin.log.info("started in %s", event.cwd)
        ctx.ui.set_title(f"marvin: {event.cwd}")


# Its test:

PAYLOAD = {"cwd": "/home/me/project", "config_dir": "/home/me/.config/marvin"}


def effect(hook, emitted):
    assert hook.person.statuses["title"] == "marvin: /home/me/project"
