"""The configuration of a run: defaults, config.json, the project's config.json and the command line, in this order.

Every value knows where it came from. A project's file is code that acts, but for a few harmless keys: before the
project is trusted only those are taken, and the rest is named in a notice.
"""

import importlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from marvin_agent.errors import ConfigError, UsageError
from marvin_agent.jsonfile import Document, JsonPath, read_json
from marvin_agent.permission_rules import problem_of
from marvin_agent.places import Places, expand_path
from marvin_agent.settings import LspSettings, Settings, ThinkingLevel, comma_list, unknown_levels

HARMLESS_KEYS = frozenset({"$schema", "model", "provider", "theme", "thinking", "tools"})
"""What a project may say before it is trusted."""

# Sections are merged key by key: a project that sets one limit keeps the others.
_MERGED = {
    *("hooks", "hooks.settings", "hooks.env", "permissions", "sessions", "retry", "http"),
    *("compaction", "keybindings", "bash", "lsp"),
}
# Lists that several places add to: none can take away a rule that another one set.
_JOINED = {
    *("hooks.paths", "hooks.required", "hooks.disabled", "hooks.isolate"),
    *("permissions.allow", "permissions.ask", "permissions.deny"),
}
_ORIGIN_OF_ALIAS: dict[JsonPath, JsonPath] = {("hooks", "timeoutMs"): ("hookTimeout",)}


class Layer:
    """The part of the configuration that one place gives: a file, or an option of the command line."""

    __slots__ = ("_document", "name", "values")

    def __init__(self, name: str, values: dict[str, Any], document: Document | None = None) -> None:
        self.name = name
        self.values = values
        self._document = document

    def where(self, path: JsonPath) -> str:
        return f"{self.name}:{self._document.line_of(path)}" if self._document else self.name


class Config(Settings):
    """The configuration in effect, with what is worth telling the user about how it came to be."""

    layers: tuple[Layer, ...] = ()
    """The lowest first."""
    notices: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """The names in `model`."""
        return comma_list(self.model or "")

    @property
    def thinking_levels(self) -> tuple[ThinkingLevel, ...]:
        return cast("tuple[ThinkingLevel, ...]", comma_list(self.thinking))

    def origin(self, key: str | JsonPath) -> str:
        """Where a value came from: `default`, `<file>:<line>`, or the option. Lists of several places name them all."""
        path: JsonPath = tuple(key.split(".")) if isinstance(key, str) else key
        found = [layer.where(path) for layer in reversed(self.layers) if _decides(layer.values, path)]
        if found:
            return ", ".join(reversed(found)) if _is_joined(path) else found[0]
        return self.origin(_ORIGIN_OF_ALIAS[path]) if path in _ORIGIN_OF_ALIAS else "default"


def load(
    places: Places,
    *,
    trusted: bool = False,
    judged: bytes | None = None,
    overrides: Mapping[str, Mapping[str, Any]] = {},
) -> Config:
    """The configuration of a run.

    `judged` is what was looked at before the project was trusted: its keys that act as `canonical` writes them. When
    the file says something else by now, it is a ConfigError.
    `overrides` are the options of the command line, each with what it sets: `{"--thinking": {"thinking": "high"}}`.
    Raises ConfigError with every problem of the files, UsageError with those of the options.
    """
    notices: list[str] = []
    layers = list(_read_files(places, trusted, judged, notices))
    for option, values in overrides.items():
        if problems := _problems(option, values, None):
            raise UsageError("\n".join(problem.show() for problem in problems))
        layers.append(Layer(option, _with_absolute_paths(dict(values), places.cwd)))
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = _merge(merged, layer.values)
    if (timeout := merged.get("hookTimeout")) is not None:
        merged["hooks"] = {"timeoutMs": timeout, **merged.get("hooks", {})}
    config = _config(merged, layers, notices)
    if config.lsp is True or (isinstance(config.lsp, LspSettings) and config.lsp.enabled):
        notices.append(f"{config.origin('lsp')}: lsp has no effect: diagnostics are not there yet")
        return _config(merged, layers, notices)
    return config


def _config(merged: dict[str, Any], layers: list[Layer], notices: list[str]) -> Config:
    settings = msgspec.convert(merged, Settings)
    keys = {name: getattr(settings, name) for name in Settings.__struct_fields__}
    return Config(**keys, layers=tuple(layers), notices=tuple(notices))


def _read_files(places: Places, trusted: bool, judged: bytes | None, notices: list[str]) -> Iterator[Layer]:
    errors: list[ConfigError] = []
    above: dict[str, Any] = {}
    if document := _read(places.config_file, errors, must_exist=places.config_file_named):
        errors += _problems(document.path, document.value, document)
        if not errors:
            above = document.value
            yield Layer(document.path, _with_absolute_paths(document.value, os.path.dirname(document.path)), document)
    # Who keeps his configuration in ~/.marvin and works in his home has one file, not two.
    one_file = os.path.realpath(places.project_config_file) == os.path.realpath(places.config_file)
    if not one_file and (project := _read(places.project_config_file, errors)):
        values = project.value
        if isinstance(values, dict):
            if trusted and judged is not None and acting_keys(values) != judged:
                hint = "Look at it, and start marvin again."
                raise ConfigError("was changed while marvin looked at it", file=project.path, hint=hint)
            values = _of_project(project, trusted, above, notices)
        errors += _problems(project.path, values, project)
        if not errors:
            yield Layer(project.path, _with_absolute_paths(values, places.project_dir), project)
    if errors:
        raise ConfigError.several(errors)


def _read(path: str, errors: list[ConfigError], *, must_exist: bool = False) -> Document | None:
    try:
        return read_json(path)
    except FileNotFoundError:
        if must_exist:
            errors.append(ConfigError("does not exist", file=path, hint="Check what --config says."))
        elif os.path.islink(path):
            errors.append(ConfigError("is a link to a file that does not exist", file=path, hint="Mend or remove it."))
    except ConfigError as error:
        errors.append(error)
    return None


def acting_keys(values: Mapping[str, Any]) -> bytes:
    """What of a project's file can act, as it is shown and hashed; empty when nothing."""
    acting = {key: item for key, item in values.items() if key not in HARMLESS_KEYS}
    return msgspec.json.encode(acting, order="deterministic") if acting else b""


def _of_project(project: Document, trusted: bool, above: dict[str, Any], notices: list[str]) -> dict[str, Any]:
    """What of a project's file counts."""
    values: dict[str, Any] = dict(project.value)
    if not trusted:
        ignored = [key for key in values if key not in HARMLESS_KEYS]
        if ignored:
            names = ", ".join(ignored)
            notices.append(f"{project.path}: ignored until you trust this project (marvin trust): {names}")
        values = {key: value for key, value in values.items() if key in HARMLESS_KEYS}
        return _narrowed(project, values, above, notices)
    hooks = values.get("hooks")
    if isinstance(hooks, dict) and "paths" in hooks:
        # Trust covers what is in .marvin; a path could lead anywhere else.
        where = f"{project.path}:{project.line_of(('hooks', 'paths'))}"
        notices.append(f"{where}: hooks.paths is ignored in a project; put the hooks into .marvin/hooks")
        values["hooks"] = {key: value for key, value in hooks.items() if key != "paths"}
    return values


def _narrowed(project: Document, values: dict[str, Any], above: dict[str, Any], notices: list[str]) -> dict[str, Any]:
    """Without tools that the user's own configuration leaves out: nobody has trusted this file yet."""
    allowed, wanted = above.get("tools"), values.get("tools", [])
    if not isinstance(allowed, list) or (wanted is not None and not isinstance(wanted, list)):
        return values
    if "tools" not in values:
        return values
    kept = allowed if wanted is None else [name for name in wanted if name in allowed]
    if dropped := [name for name in wanted or () if name not in allowed]:
        where = f"{project.path}:{project.line_of(('tools',))}"
        notices.append(
            f"{where}: tools that you left out stay out without --trust-project: {', '.join(map(str, dropped))}"
        )
    return {**values, "tools": kept}


def _problems(name: str, values: Any, document: Document | None) -> list[ConfigError]:
    try:
        settings = msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        reason = str(error)
    else:
        rules = settings.permissions
        bad_rule = next(filter(None, map(problem_of, (*rules.allow, *rules.ask, *rules.deny))), None)
        names_none = settings.model is not None and not comma_list(settings.model)
        if bad_rule is None and not unknown_levels(settings.thinking) and not names_none:
            return []
        reason = bad_rule or ("model names none" if names_none else "thinking is not a level")
    # Explaining needs modules that cost more than a whole start; nearly no run has anything to explain.
    explain = importlib.import_module("marvin_agent.config_problems").explain
    problems: list[ConfigError] = explain(name, values, document, reason)
    return problems


def _merge(lower: dict[str, Any], upper: dict[str, Any], path: JsonPath = ()) -> dict[str, Any]:
    merged = dict(lower)
    for key, value in upper.items():
        here = (*path, key)
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict) and _is_merged(here):
            merged[key] = _merge(below, value, here)
        elif isinstance(below, list | tuple) and isinstance(value, list | tuple) and _is_joined(here):
            merged[key] = [*below, *(item for item in value if item not in below)]
        else:
            merged[key] = value
    return merged


def _is_merged(path: JsonPath) -> bool:
    return ".".join(map(str, path)) in _MERGED or path[:2] == ("hooks", "settings")


def _is_joined(path: JsonPath) -> bool:
    return ".".join(map(str, path)) in _JOINED


def _decides(values: Any, path: JsonPath) -> bool:
    """Whether these values decide what is at this path: they have it, or something around it that counts as a whole."""
    for depth, key in enumerate(path):
        if not isinstance(values, dict):
            return True
        if key not in values:
            return depth > 0 and not _is_merged(path[:depth])
        values = values[key]
    return True


def _with_absolute_paths(values: dict[str, Any], base: str) -> dict[str, Any]:
    hooks, sessions = values.get("hooks"), values.get("sessions")
    if hooks and "paths" in hooks:
        values = {**values, "hooks": {**hooks, "paths": [expand_path(path, base) for path in hooks["paths"]]}}
    if sessions and sessions.get("dir"):
        values = {**values, "sessions": {**sessions, "dir": expand_path(sessions["dir"], base)}}
    return values
