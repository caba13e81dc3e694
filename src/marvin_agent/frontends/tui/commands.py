"""The slash commands of the app: its own, those shared with headless runs, the hooks', and Markdown files."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from marvin_agent.agent.queue import Prompt
from marvin_agent.errors import UsageError
from marvin_agent.frontends.tui.completion import Item
from marvin_agent.frontends.tui.fuzzy import best
from marvin_agent.frontends.tui.templates import Template
from marvin_agent.later import Later
from marvin_agent.nearest import nearest

if TYPE_CHECKING:
    from marvin_agent.agent import commands as engine_commands
    from marvin_agent.frontends.tui.app import MarvinApp
else:
    engine_commands = Later("marvin_agent.agent.commands")

Action = Callable[["MarvinApp", str], Awaitable[str]]
Choices = Callable[["MarvinApp"], Sequence[Item]]


OTHER_NAMES = {"exit": "quit"}
"""What is typed out of habit; no menu shows it."""
UNBUILT = ("tree", "branch", "fork")
COMPLETION_SECONDS = 2.0
"""How long a hook may think about what can be completed."""


class AppCommand(NamedTuple):
    """A command that only the app has. `action` gives a line to show, empty for none."""

    about: str
    action: Action
    arguments: str = ""
    choices: Choices | None = None
    """What can be completed behind its name."""


class CommandTable:
    """Everything that a slash can mean, in one place; also what the menu completes."""

    def __init__(self, app: "MarvinApp", own: Callable[[], dict[str, AppCommand]]) -> None:
        self._app = app
        self._own = own
        self.templates: dict[str, Template] = {}

    # For the menu.

    def listing(self) -> list[Item]:
        """Every command with what it does; those that need no words behind them are whole."""
        found = {
            name: Item(f"/{name}", one.about, not one.arguments.startswith("<")) for name, one in self._own().items()
        }
        for name, builtin in engine_commands.BUILTIN.items():
            found.setdefault(name, Item(f"/{name}", builtin.description, True))
        for name, template in self.templates.items():
            found.setdefault(name, Item(f"/{name}", template.description, not template.wants_arguments))
        if engine := self._app.engine:
            for name, command in engine.side.commands.items():
                found.setdefault(name, Item(f"/{name}", f"{command.description} ({command.hook})", False))
        return [found[name] for name in sorted(found)]

    def matching(self, beginning: str) -> Sequence[Item]:
        items = {item.text[1:]: item for item in self.listing()}
        if not beginning:
            return list(items.values())
        return [items[name] for name in best(beginning, items, 50)]

    async def arguments(self, name: str, written: str) -> Sequence[Item]:
        own = self._own().get(name)
        if own and own.choices:
            items = {item.text: item for item in own.choices(self._app)}
            return [items[text] for text in best(written, items, 50)] if written else list(items.values())
        engine = self._app.engine
        if engine is None:
            return ()
        try:
            offered = engine.side.tools.complete(name, written)
            return [Item(text) for text in await asyncio.wait_for(offered, COMPLETION_SECONDS)]
        except Exception:
            return ()  # a hook that cannot complete is no reason to disturb the typing

    # For what was sent.

    def is_to_be_mended(self, text: str) -> bool:
        """Whether there is something in a command that could be written otherwise: its name, or what follows it."""
        name, *rest = text[1:].split(None, 1) or [""]
        return bool(rest) or all(item.text != f"/{name}" for item in self.listing())

    async def run(self, text: str) -> Prompt | str | None:
        """Do what a text with a slash says: the line that it gives, or the prompt that it becomes.

        None: it is no command but a prompt. Raises MarvinError.
        """
        word, _, rest = text.partition(" ")
        name, arguments = word[1:], rest.strip()
        if "\n" in word:
            name, _, more = word[1:].partition("\n")
            arguments = f"{more} {rest}".strip()
        if own := self._own().get(name):
            if arguments and not own.arguments:
                raise UsageError(f"/{name} takes no words behind it, not {arguments!r}")
            return await own.action(self._app, arguments)
        if template := self.templates.get(name):
            return Prompt(template.fill(arguments))
        engine = self._app.engine
        if engine and (call := engine_commands.command_in(text, engine)):
            return await engine_commands.run_command(engine, call)
        if other := OTHER_NAMES.get(name):
            return await self.run(f"/{other}")
        if name in UNBUILT:
            raise UsageError(
                f"there is no /{name} yet: a conversation goes on from its end",
                hint="/new begins another, /resume goes on with one of before.",
            )
        if name.replace("-", "").replace("_", "").isalnum() and not arguments:
            meant = nearest(name, [item.text[1:] for item in self.listing()])
            hint = f"Did you mean /{meant}? " if meant else ""
            raise UsageError(f"there is no command /{name}", hint=f"{hint}A space before it sends it as text.")
        return None
