"""What becomes of what the user sends: a prompt for the engine, a command of marvin's, or one of his shell."""

from typing import TYPE_CHECKING

from marvin_agent.agent import events as out
from marvin_agent.agent.attachments import parts_of
from marvin_agent.agent.queue import Delivery, Prompt
from marvin_agent.errors import MarvinError, of_file
from marvin_agent.frontends.stdin import Asked
from marvin_agent.later import Later

if TYPE_CHECKING:
    from marvin_agent.agent import userbash
    from marvin_agent.agent.engine import Engine
    from marvin_agent.frontends.tui.app import MarvinApp
else:
    userbash = Later("marvin_agent.agent.userbash")


class Sender:
    """Keeps what is sent before there is an engine."""

    def __init__(self, app: "MarvinApp", asked: Asked) -> None:
        self._app = app
        self._asked: Asked | None = asked
        self._early: list[tuple[Prompt, Delivery]] = []
        self.stuck = False
        """Whether something is missing that only the user can give: then nothing is kept."""

    def take(self, prompt: Prompt, delivery: Delivery) -> None:
        """Do what was typed."""
        if prompt.text.startswith(("/", "!")):
            self._app.run_worker(self._command(prompt, delivery), name="command")
        else:
            self.submit(prompt, delivery)

    def submit(self, prompt: Prompt, delivery: Delivery) -> None:
        """A prompt, whatever it begins with."""
        app = self._app
        if app.engine and not app.leaving:
            app.engine.submit(prompt, delivery)
        elif self.stuck:
            app.prompt.put_back((prompt,))
            app.tell("There is no model yet: /login stores a key.", "warning", "marvin")
        else:
            self._early.append((prompt, delivery))

    def begin(self, engine: "Engine") -> None:
        """There is an engine: the prompt of the command line first, then what was typed meanwhile."""
        self.stuck = False
        asked, self._asked = self._asked, None
        if asked and (asked.text or asked.attachments):
            try:
                self.take(Prompt(*parts_of(asked.text, asked.attachments, engine.cwd)), "follow_up")
            except MarvinError as error:
                self._app.tell(error.show(), "error", "marvin")
        early, self._early = self._early, []
        for prompt, delivery in early:
            engine.submit(prompt, delivery)

    async def _command(self, prompt: Prompt, delivery: Delivery) -> None:
        app, text = self._app, prompt.text
        try:
            made = await (self._shell(text) if text.startswith("!") else app.commands.run(text))
        except (MarvinError, OSError) as error:
            app.tell(of_file(error).show(), "error", "marvin")
            if app.prompt.is_empty and (text.startswith("!") or app.commands.is_to_be_mended(text)):
                app.prompt.write(text)
            return
        match made:
            case Prompt():
                self.submit(made, delivery)
            case None:
                self.submit(prompt, delivery)
            case str() if made:
                notice = out.Notice(level="success", text=made)
                if app.engine:
                    app.engine.outlet.emit(notice)  # behind what the command did, which is told there
                else:
                    app.say(notice)

    async def _shell(self, text: str) -> Prompt | str | None:
        """Run a command of the user's own; `!!` keeps it from the model."""
        if command := text.lstrip("!").strip():
            engine = self._app.running_engine()
            await userbash.run_user_bash(engine, command, exclude_from_context=text.startswith("!!"))
        return ""
