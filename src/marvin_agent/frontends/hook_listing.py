"""Every hook that there is, whether it would be loaded, and switching single ones on and off."""

import argparse
import json
import os
import sys
from typing import Any, NamedTuple

from marvin_agent.config import Config, load
from marvin_agent.errors import UsageError
from marvin_agent.frontends.hook_check import Checked, check_each
from marvin_agent.frontends.hook_sources import Project, gather, packages
from marvin_agent.hooks.sources import Source, each_once, hooks_in, ids_of
from marvin_agent.jsonfile import read_json, write_json
from marvin_agent.nearest import nearest_names
from marvin_agent.places import Places
from marvin_agent.policies import instructions, model_notice, permissions
from marvin_agent.text import printable

ELSEWHERE = ("project", "package", "flag")
"""Scopes whose hooks may be there in another project, after trust, or with an option."""


class Found(NamedTuple):
    """The hooks of this place and its configuration."""

    config: Config
    sources: dict[str, Source]
    """What would be loaded, by id."""
    untrusted: dict[str, tuple[str, str]]
    """Hooks of a project, or a package, that is not trusted: their paths and what would trust them, by id."""
    notes: list[str]
    """What is worth a word: paths that are not there, packages that nobody trusts."""


def find_hooks(places: Places) -> Found:
    """Look for every hook; runs none."""
    notes: list[str] = []
    project = Project(places, trust_now=False, notify=notes.append)
    config = load(places, trusted=project.vouched, judged=project.judged)
    sources = each_once(gather(config, places, project, (), notes.append))
    hidden = [
        (source, f"the package is not trusted: `marvin trust --package {name}`")
        for name, (hooks, trusted) in packages(places, project.trust).items()
        for source in hooks
        if not trusted
    ]
    if not project.trusted:
        why = "the project is not trusted: `marvin trust`"
        hidden += [(Source(path, "project"), why) for path in hooks_in(places.project_hooks_dir)]
    ids = ids_of([*sources, *(source for source, _ in hidden)])
    return Found(
        config,
        dict(zip(ids, sources, strict=False)),
        {each: (source.path, why) for each, (source, why) in zip(ids[len(sources) :], hidden, strict=True)},
        notes,
    )


def list_hooks(options: argparse.Namespace, places: Places) -> int:
    """Print a row for each; 0."""
    found = find_hooks(places)
    for note in found.notes:
        print(f"marvin: {printable(note)}", file=sys.stderr)
    rows = _rows(found, places)
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        brings = [f"{kind} {', '.join(row[kind])}" for kind in ("tools", "commands") if row[kind]]
        about = "; ".join([*filter(None, [", ".join(row["events"])]), *brings])
        print(printable(f"{row['id']:<28} {row['state']:<11} {about}".rstrip()))
        if row["path"]:
            print(printable(f"    {row['path']}"))
        for line in row["why"].splitlines():
            print(printable(f"    {line}"))
    if all(row["scope"] == "builtin" for row in rows):
        print(printable(f"No hooks of your own. They live in {places.hooks_dir} and {places.project_hooks_dir};"))
        print("`marvin hooks new NAME --event EVENT` writes one.")
    return 0


def _rows(found: Found, places: Places) -> list[dict[str, Any]]:
    off, required = found.config.hooks.disabled, found.config.hooks.required
    hooks = {**_builtin(), **found.sources}
    on = {hook_id: source for hook_id, source in hooks.items() if hook_id not in off}
    checked = dict(zip(on, check_each(list(on.values()), places.cache_dir), strict=True))
    rows = []
    for hook_id, source in hooks.items():
        if hook_id not in on:
            rows.append(_row(hook_id, source.path, "disabled", "hooks.disabled names it"))
        elif problems := checked[hook_id].problems:
            rows.append(_row(hook_id, source.path, "broken", "\n".join(problems)))
        else:
            rows.append(_row(hook_id, source.path, "loaded", checked=checked[hook_id]))
    rows += [_row(hook_id, path, "not loaded", why) for hook_id, (path, why) in found.untrusted.items()]
    known = {row["id"] for row in rows}
    rows += [_row(each, "", "missing", "hooks.required names it") for each in required if each not in known]
    return [row | {"required": row["id"] in required} for row in rows]


def _row(hook_id: str, path: str, state: str, why: str = "", checked: Checked | None = None) -> dict[str, Any]:
    scope = hook_id.partition(":")[0]
    events, tools, commands = (checked.events, checked.tools, checked.commands) if checked else ([], (), ())
    brings = {"events": events, "tools": list(tools), "commands": list(commands)}
    return {"id": hook_id, "scope": scope, "path": path, **brings, "state": state, "why": why}


def misnamed(found: Found) -> list[str]:
    """What the configuration says to hooks that are not there, where it could only be meant for this place."""
    hooks = found.config.hooks
    known = {*_builtin(), *found.sources}
    given = {"disabled": hooks.disabled, "settings": hooks.settings, "isolate": hooks.isolate, "env": hooks.env}
    told = []
    for key, ids in given.items():
        for each in ids:
            if each in known or each.partition(":")[0] in ELSEWHERE:
                continue
            near = nearest_names(each, known, count=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            told.append(f"hooks.{key} names {each}, and there is no such hook{meant}")
    return told


def _builtin() -> dict[str, Source]:
    files = [str(policy.__file__) for policy in (permissions, instructions, model_notice)]
    sources = [Source(os.path.realpath(file), "builtin") for file in files]
    return dict(zip(ids_of(sources), sources, strict=True))


def switch(hook_id: str, off: bool, places: Places) -> int:
    """Put an id into `hooks.disabled`, or take it out; the exit code, 1 when the project keeps it off."""
    found = find_hooks(places)
    known = {*_builtin(), *found.sources, *found.untrusted, *found.config.hooks.disabled}
    if hook_id not in known:
        near = [each for each in known if each.partition(":")[2] == hook_id] or nearest_names(hook_id, known)
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f"no hook has the id {hook_id!r}", hint=f"{meant}`marvin hooks list` shows the ids.")
    try:
        value = read_json(places.config_file).value
    except FileNotFoundError:
        value = {}
    hooks = value.setdefault("hooks", {})
    disabled = [name for name in hooks.get("disabled", []) if name != hook_id]
    hooks["disabled"] = [*disabled, hook_id] if off else disabled
    write_json(places.config_file, value)
    if not off and hook_id in find_hooks(places).config.hooks.disabled:
        file = os.path.join(places.project_dir, "config.json")
        print(printable(f"marvin: {hook_id} stays off here: hooks.disabled of {file} names it too"), file=sys.stderr)
        return 1
    print(f"{hook_id} is {'off' if off else 'on'} from the next start, or /reload, on.")
    return 0
