"""From the empty app to a running engine: trust, the session to go on with, a model, then the engine itself."""

import argparse
import os

from marvin_agent.agent.engine import Engine
from marvin_agent.config import Config, load
from marvin_agent.errors import Aborted, UsageError
from marvin_agent.frontends.hook_sources import Project
from marvin_agent.frontends.session_choice import line, sessions_dir, to_choose_from
from marvin_agent.frontends.start import Notify, overrides, start_engine
from marvin_agent.frontends.tui.dialogs.select import SelectDialog
from marvin_agent.frontends.tui.dialogs.trust import Choice, TrustDialog
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
        self.judged_anew = False
        """Whether the latest `judge` changed what may act."""
        self._answer: Choice | None = None
        self._about: dict[str, str] = {}
        """The content that the answer was about, for this run."""
        self.config: Config | None = None

    async def look(self) -> Config:
        """The configuration, once it is known whether the project's counts. Raises MarvinError."""
        project = await self.look_at_project()
        self.config = load(
            self._places, trusted=project.vouched, judged=project.judged, overrides=overrides(self._options)
        )
        return self.config

    async def look_at_project(self) -> Project:
        """The project, and whether it may act; the user decides when nobody has."""
        held: list[str] = []
        self.project = project = self._project(held.append)
        if not project.trusted and project.problem is None and not self._is_answered(project):
            await self._ask_for_trust(project)
        if not project.trusted:
            for text in held:
                self._notify(text)
        return project

    async def judge(self) -> str:
        """Show the project as it is now, and take the user's answer over; a line about it, empty when he gave none."""
        before, project = self.project, self._project(lambda text: None)
        self.judged_anew = False
        if project.problem:
            raise UsageError(f"the project's .marvin cannot be trusted: {project.problem}")
        root = project.snapshot.root
        if not project.snapshot.files:
            return f"There is nothing in {root}/.marvin that can act; no trust is needed."
        choice = await self._ask_for_trust(project)
        if choice is None:
            return ""
        if choice == "no":
            project.trust.revoke(root)
        same = before and before.trusted == project.trusted and before.snapshot.hashes == project.snapshot.hashes
        self.judged_anew = not same
        told = {"once": "is trusted for this run", "always": "is trusted until it changes", "no": "is not trusted"}
        return f"{root}/.marvin {told[choice]}. Its configuration counts from the next start on."

    def _project(self, notify: Notify) -> Project:
        project = Project(self._places, trust_now=self._options.trust_project, notify=notify)
        if self._is_answered(project):
            project.trusted = self._answer == "once"
        return project

    def _is_answered(self, project: Project) -> bool:
        """Whether the user has said what this very content may do in this run, and in no other."""
        return self._answer in ("once", "no") and self._about == project.snapshot.hashes

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

    async def _ask_for_trust(self, project: Project) -> Choice | None:
        trust, snapshot = project.trust, project.snapshot
        changes = trust.changes(snapshot) if trust.knows(snapshot.root) else {}
        choice = await self._person.ask(TrustDialog(snapshot.root, snapshot.files, changes, trusted=project.trusted))
        if choice == "always":
            trust.grant(snapshot)
        if choice:
            self._answer, self._about = choice, snapshot.hashes
            project.trusted = choice != "no"
        return choice

    async def _choose_session(self, config: Config) -> None:
        sessions = to_choose_from(sessions_dir(config, self._places), self._places)
        chosen = await self._person.ask(SelectDialog("Go on with which session?", [line(s, LINE) for s in sessions]))
        if chosen is None:
            raise Aborted("No session was chosen")
        self._options.resume = False
        self._options.session = os.path.abspath(sessions[chosen].path)
