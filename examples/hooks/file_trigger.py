"""File trigger: what another program writes into a file becomes a prompt: a build that failed, a note from an editor.

    make 2> errors || { echo "The build fails:"; cat errors; } > .marvin-prompt

The file is taken away as it is read. Whoever can write it can talk to your agent: keep it where only you can.

Settings: `file`, where to look (`.marvin-prompt` in the working directory); `seconds`, how often (1).
"""

import os

from marvin_agent.hooks import AppStart, Context, HookAPI

LARGEST = 100_000


def take(path: str) -> str:
    """The text of the file, which is then gone; empty when there is none."""
    taken = f"{path}.taken"
    try:
        os.replace(path, taken)  # at once: nothing that is written from here on is lost
        with open(taken, encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST)
        os.remove(taken)
    except FileNotFoundError:
        return ""
    return text.strip()


def setup(marvin: HookAPI) -> None:
    """Begin to watch when everything is wired."""

    @marvin.on("app.start")
    async def watch(event: AppStart, ctx: Context) -> None:
        path = os.path.join(event.cwd, os.path.expanduser(marvin.settings.get("file", ".marvin-prompt")))

        def look() -> None:
            if text := take(path):
                marvin.send(text)

        marvin.every(float(marvin.settings.get("seconds", 1)), look)
