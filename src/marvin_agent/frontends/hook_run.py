"""`marvin hooks run`: one event through one hook, outside of any session."""

import argparse
import asyncio
import difflib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from marvin_agent.errors import MarvinError, UsageError
from marvin_agent.frontends.hook_check import check
from marvin_agent.frontends.hook_listing import find_hooks
from marvin_agent.hooks.forms import to_plain
from marvin_agent.hooks.sources import Source, hooks_at
from marvin_agent.hooks.trace import diff
from marvin_agent.places import Places
from marvin_agent.testing.harness import Emitted, Harness
from marvin_agent.text import printable


class Ran(NamedTuple):
    """What came of it."""

    emitted: Emitted
    told: list[str]
    deaf: str | None
    """Why no handler was called; None when one was."""


def run_hook(options: argparse.Namespace, places: Places) -> int:
    """Send the event and print the outcome, the changes and the time; 1 when the hook fails."""
    try:
        payload = json.loads(options.input)
    except ValueError as error:
        raise UsageError(f"--input is not JSON: {error}") from None
    if not isinstance(payload, dict):
        raise UsageError("--input is a JSON object: the event's payload")
    file = _file(options.file, places)
    if problems := check(Source(file, "flag"), places.cache_dir).problems:
        raise MarvinError("\n".join(problems))
    ran = asyncio.run(_send(file, options.event, payload, places))
    if options.json:
        print(json.dumps(_as_json(ran), indent=2, ensure_ascii=False))
    else:
        for line in _lines(ran):
            print(printable(line))
    return 1 if ran.emitted.errors else 0


def _file(named: str, places: Places) -> str:
    """The hook's file, by its path or its id. Raises UsageError when it is none, or several."""
    if not os.path.exists(named):
        sources = find_hooks(places).sources
        if named in sources:
            return sources[named].path
        near = [hook_id for hook_id in sources if hook_id.partition(":")[2] == named]
        hint = f"Did you mean {' or '.join(near)}?" if near else "Name its file, or its id as in `marvin hooks list`."
        raise UsageError(f"{named}: there is no such file, nor a hook of this id", hint=hint)
    match hooks_at(os.path.abspath(named)):
        case [path] if not os.path.isdir(named) or os.path.basename(path) == "__init__.py":
            return path
        case _:
            raise UsageError(f"{named} is a directory: name one hook, a file or a directory with an __init__.py")


async def _send(file: str, event: str, payload: dict[str, Any], places: Places) -> Ran:
    async with Harness(
        file, settings=_settings(file, places), work=Path(places.cwd), cache_dir=places.cache_dir
    ) as harness:
        called = await harness.emit(event, **payload)
        return Ran(called, harness.told, _why_deaf(harness, called))


def _settings(file: str, places: Places) -> dict[str, Any]:
    """What the configuration says to this hook, if it is one of those that are loaded."""
    found = find_hooks(places)
    real = os.path.realpath(file)
    ids = [hook_id for hook_id, source in found.sources.items() if os.path.realpath(source.path) == real]
    settings: dict[str, Any] = found.config.hooks.settings.get(ids[0], {}) if ids else {}
    return settings


def _why_deaf(harness: Harness, emitted: Emitted) -> str | None:
    if emitted.heard:
        return None
    name = emitted.event.type
    if name in harness.events:
        return f"no handler wanted this {name}: look at their tools and purposes"
    others = ", ".join(dict.fromkeys(harness.events)) or "nothing"
    return f"the hook does not listen to {name}, but to {others}"


def _as_json(ran: Ran) -> dict[str, Any]:
    emitted = ran.emitted
    return {
        "heard": emitted.heard,
        "blocked": emitted.blocked,
        "reason": emitted.reason,
        "changes": [diff(change) for change in emitted.changes],
        "decided": to_plain(emitted.decided),
        "added": to_plain(emitted.added),
        "errors": [str(error) for error in emitted.errors],
        "told": ran.told,
        "ms": round(emitted.seconds * 1000, 3),
    }


def _lines(ran: Ran) -> list[str]:
    emitted = ran.emitted
    if ran.deaf:
        return [ran.deaf]
    lines = [str(error) for error in emitted.errors]
    if emitted.blocked:
        lines.append(f"blocked: {emitted.reason or 'no reason given'}")
    elif not emitted.errors:
        lines.append("changed" if emitted.changes or emitted.decided or emitted.added else "nothing changed")
    for change in emitted.changes:
        each = diff(change)
        lines.append(f"  {each['field']}")
        lines += [f"  {line}" for line in _compared(each["before"], each["after"])]
    for name, value in {**to_plain(emitted.decided), **to_plain(emitted.added)}.items():
        lines.append(f"  {name}: {json.dumps(value, ensure_ascii=False)}")
    lines += [f"told the user: {text}" for text in ran.told]
    return [*lines, f"{emitted.seconds * 1000:.2f} ms"]


def _compared(before: Any, after: Any) -> list[str]:
    """The lines that went and came, with one around them."""
    old, new = _in_lines(before), _in_lines(after)
    if len(old) == len(new) == 1:
        return [f"- {old[0]}", f"+ {new[0]}"]
    found = difflib.unified_diff(old, new, lineterm="", n=1)
    return [f"{line[:1]} {line[1:]}" for line in found if not line.startswith(("---", "+++", "@@"))]


def _in_lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.splitlines() if "\n" in value else [json.dumps(value, ensure_ascii=False)]
    short = json.dumps(value, ensure_ascii=False)
    return [short] if len(short) <= 80 else json.dumps(value, ensure_ascii=False, indent=2).splitlines()
