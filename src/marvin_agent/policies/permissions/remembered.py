"""What the user answered with "always": allow rules, by project, in marvin's own directory and never in the project."""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from marvin_agent.errors import ConfigError
from marvin_agent.jsonfile import read_json, write_json
from marvin_agent.permission_rules import Rule, parse_rule
from marvin_agent.places import make_private_directory

VERSION = 1


class Remembered:
    """`permissions.json`."""

    def __init__(self, config_dir: str) -> None:
        self.path = os.path.join(config_dir, "permissions.json")

    def rules(self, root: str) -> tuple[Rule, ...]:
        """The allow rules of a project. Raises ConfigError when the file is wrong."""
        return tuple(parse_rule(text) for text in self.all().get(os.path.realpath(root), ()))

    def all(self) -> dict[str, list[str]]:
        """The rules of every project, by its root."""
        return {root: rules["allow"] for root, rules in self._read()["projects"].items()}

    def add(self, root: str, rules: Iterable[Rule]) -> None:
        with self._locked():
            data = self._read()
            known = data["projects"].setdefault(os.path.realpath(root), {"allow": []})["allow"]
            known += [text for text in map(str, rules) if text not in known]
            write_json(self.path, data)

    def forget(self, root: str, rule: str | None = None) -> int:
        """Forget one rule of a project, or all of them; how many there were."""
        with self._locked():
            data = self._read()
            known = data["projects"].get(os.path.realpath(root), {"allow": []})["allow"]
            kept = [text for text in known if rule is not None and text != rule]
            if len(kept) == len(known):
                return 0
            if kept:
                data["projects"][os.path.realpath(root)]["allow"] = kept
            else:
                del data["projects"][os.path.realpath(root)]
            write_json(self.path, data)
            return len(known) - len(kept)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # Two sessions that are answered at once must not lose one of the answers.
        make_private_directory(os.path.dirname(self.path))
        descriptor = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _read(self) -> dict[str, Any]:
        try:
            value = read_json(self.path).value
        except FileNotFoundError:
            return {"version": VERSION, "projects": {}}
        if not _is_valid(value):
            raise ConfigError(
                "is not a list of remembered permissions that this marvin reads",
                file=self.path,
                hint="Remove it; marvin writes a new one with the next answer.",
            )
        data: dict[str, Any] = value
        return data


def _is_valid(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("version") != VERSION or not isinstance(value.get("projects"), dict):
        return False
    return all(
        isinstance(rules, dict)
        and isinstance(rules.get("allow"), list)
        and all(isinstance(text, str) for text in rules["allow"])
        for rules in value["projects"].values()
    )
