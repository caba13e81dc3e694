"""Which hooks a run loads: six scopes in order, and the project's only when its content is trusted."""

import os
from collections.abc import Callable, Sequence

import msgspec

from marvin_agent.config import Config, load
from marvin_agent.errors import HookError, UsageError
from marvin_agent.hooks.packages import Packaged, digest_of, packaged_hooks
from marvin_agent.hooks.sources import Source, hooks_at, hooks_in
from marvin_agent.hooks.trust import CONFIG, Snapshot, Trust, take_snapshot
from marvin_agent.places import PROJECT_DIRECTORY, Places
from marvin_agent.text import one_line

Notify = Callable[[str], None]
NAME = 100


class Project:
    """What the project brings that can act, and whether it may."""

    def __init__(self, places: Places, *, trust_now: bool, notify: Notify) -> None:
        self.trust = Trust(places.trust_file)
        self.places = places
        self._trust_now = trust_now
        self.problem: str | None = None
        self.snapshot = Snapshot(places.project_root, {})
        if os.path.isdir(places.project_dir):
            try:
                self.snapshot = take_snapshot(places.project_root)
            except HookError as error:
                self.problem = error.message
        self.trusted = self.problem is None and (trust_now or self.trust.allows(self.snapshot))
        if self.problem:
            notify(f"the project's .marvin is not trusted: {self.problem}")
        elif not self.trusted and (why := _why(self.trust, self.snapshot)):
            notify(why)

    @property
    def vouched(self) -> bool:
        """Whether somebody trusts the configuration: what cannot act needs no trust, and gets none by that."""
        return self.trusted and (self._trust_now or bool(self.snapshot.files))

    @property
    def judged(self) -> bytes:
        """What of the project's configuration can act, as it was judged."""
        return self.snapshot.files.get(CONFIG, b"")

    def hooks(self) -> list[Source]:
        """The project's hooks, made of the bytes that were judged."""
        if not self.trusted or not self.snapshot.files:
            return []
        files = self.snapshot.by_real_path()
        return [Source(path, "project", files) for path in hooks_in(self.places.project_hooks_dir)]


def configuration(places: Places) -> Config:
    """The configuration as a run here has it, for commands that take no options of a run."""
    project = Project(places, trust_now=False, notify=lambda line: None)
    return load(places, trusted=project.vouched, judged=project.judged)


def gather(config: Config, places: Places, project: Project, flags: Sequence[str], notify: Notify) -> list[Source]:
    """Every hook to load, in order. What is configured and not there is reported; a `--hook` that is not, an error."""
    found: list[Source] = []
    for name, (sources, trusted) in packages(places, project.trust).items():
        if trusted:
            found += sources
        else:
            notify(
                f"hooks of the installed package {name} are not trusted and not loaded:"
                f" `marvin trust --package {name}` trusts this build"
            )
    found += [Source(path, "global") for path in hooks_in(places.hooks_dir)]
    found += project.hooks()
    for path in config.hooks.paths:
        try:
            found += [Source(each, "config") for each in hooks_at(path)]
        except HookError as error:
            notify(f"hooks.paths: {error.message}")
    for path in flags:
        try:
            found += [Source(each, "flag") for each in hooks_at(os.path.join(places.cwd, os.path.expanduser(path)))]
        except HookError as error:
            raise UsageError(f"--hook {error.message}") from None
    return found


def packages(places: Places, trust: Trust) -> dict[str, tuple[list[Source], bool]]:
    """The hooks of installed distributions by name, and whether this very build of each is trusted."""
    found: dict[str, list[Packaged]] = {}
    for packaged in packaged_hooks(places.cache_dir):
        found.setdefault(packaged.distribution, []).append(packaged)
    return {
        name: ([Source(each.path, "package") for each in hooks], trust.allows_package(name, digest_of(hooks)))
        for name, hooks in found.items()
    }


def only_required(sources: list[Source], required: Sequence[str]) -> list[Source]:
    """With --no-hooks: what the configuration says must be there."""
    return [source for source in sources if f"{source.scope}:{source.stem}" in required]


def untrusted_root(path: str, places: Places) -> str | None:
    """The project whose `.marvin` a file is in, when nobody has trusted it as it is now."""
    for given in (os.path.abspath(path), os.path.realpath(path)):
        directory = os.path.dirname(given)
        while (above := os.path.dirname(directory)) != directory:
            if os.path.basename(directory) == PROJECT_DIRECTORY:
                there = msgspec.structs.replace(places, project_root=above)
                if not Project(there, trust_now=False, notify=lambda text: None).trusted:
                    return above
            directory = above
    return None


def _why(trust: Trust, snapshot: Snapshot) -> str:
    if trust.knows(snapshot.root):
        changes = ", ".join(
            f"{one_line(path, NAME)} ({what})" for path, what in sorted(trust.changes(snapshot).items())[:5]
        )
        return f"the project's .marvin has changed since it was trusted and is not loaded: {changes}. `marvin trust`"
    # What of config.json counts all the same, the configuration itself tells.
    files = sorted(snapshot.files.keys() - {CONFIG})
    names = ", ".join(one_line(path, NAME) for path in files[:5]) + ("" if len(files) <= 5 else ", ...")
    if not names:
        return ""
    return f"the project's .marvin is not trusted and not loaded: {names}. Look at it, then run `marvin trust`"
