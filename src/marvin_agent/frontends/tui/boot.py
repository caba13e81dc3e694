"""From the empty app to a running engine: trust, the session to go on with, a model, then the engine itself."""

import argparse
import os

from marvin_agent.agent.engine import Engine
from marvin_agent.config import Config, load
from marvin_agent.errors import Aborted
from marvin_agent.frontends.hook_sources import Project
from marvin_agent.frontends.session_choice import line, sessions_dir, to_choose_from
from marvin_agent.frontends.start import Notify, overrides, start_engine
from marvin_agent.frontends.tui.dialogs.select import SelectDialog
from marvin_agent.frontends.tui.dialogs.trust import TrustDialog
from marvin_agent.frontends.tui.interface import Person
from marvin_agent.places import Places

LINE = 200


class Boot:
    """Asks what has to be asked before there is an engine."""

    def __init__(self, options: argparse.Namespace, places: Places, person: Person, notify: Notify) -> None:
        self._options = options
        self._places = places
        self._person = person
        self._notify = notify
        self.project: Project | None = None
        self.config: Config | None = None

    async def look(self) -> Config:
        """The configuration, once it is known whether the project's counts. Raises MarvinError."""
        project = await self.look_at_project()
        self.config = load(self._places, trusted=project.trusted, overrides=overrides(self._options))
        return self.config

    async def look_at_project(self) -> Project:
        """The project, and whether it may act; the user decides when nobody has."""
        held: list[str] = []
        self.project = project = Project(self._places, trust_now=self._options.trust_project, notify=held.append)
        if not project.trusted and project.problem is None:
            await self._ask_for_trust(project)
        if not project.trusted:
            for text in held:
                self._notify(text)
        return project

    async def start(self) -> Engine:
        """The engine, not yet started. Raises MarvinError."""
        assert self.config
        if self._options.resume:
            await self._choose_session(self.config)
        return await start_engine(
            self._options,
            self._places,
            mode="tui",
            interface=self._person,
            notify=self._notify,
            project=self.project,
            look_again=self.look_at_project,
        )

    async def _ask_for_trust(self, project: Project) -> None:
        trust, snapshot = project.trust, project.snapshot
        changes = trust.changes(snapshot) if trust.knows(snapshot.root) else {}
        choice = await self._person.ask(TrustDialog(snapshot.root, snapshot.files, changes))
        if choice == "always":
            trust.grant(snapshot)
        project.trusted = choice in ("once", "always")

    async def _choose_session(self, config: Config) -> None:
        sessions = to_choose_from(sessions_dir(config, self._places), self._places)
        chosen = await self._person.ask(SelectDialog("Go on with which session?", [line(s, LINE) for s in sessions]))
        if chosen is None:
            raise Aborted("No session was chosen")
        self._options.resume = False
        self._options.session = os.path.abspath(sessions[chosen].path)
