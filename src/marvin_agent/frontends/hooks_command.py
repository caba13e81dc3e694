"""Hooks: list, check and write them, send one event through one, switch them on and off, and see what they did."""

import argparse
import asyncio
import json
import os
import sys
from typing import Any

from marvin_agent.config import Config, load
from marvin_agent.errors import MarvinError, UsageError
from marvin_agent.frontends.hook_check import Checked, check
from marvin_agent.frontends.hook_scaffold import write_hook
from marvin_agent.frontends.hook_sources import Project, configuration, gather
from marvin_agent.frontends.hook_story import read_trace, story, waterfall
from marvin_agent.frontends.session_choice import latest_here, sessions_dir
from marvin_agent.hooks.forms import to_plain
from marvin_agent.hooks.sources import Source, each_once, hooks_at, hooks_in
from marvin_agent.hooks.trace import DECISIONS_FILE, diff
from marvin_agent.jsonfile import read_json, write_json
from marvin_agent.places import Places
from marvin_agent.session.index import find_session
from marvin_agent.session.layout import files_directory
from marvin_agent.testing.harness import Emitted, Harness
from marvin_agent.text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="list|check|new|run|enable|disable|why|trace")
    listing = commands.add_parser("list", help="every hook: id, where it is, its events, and why it is not loaded")
    listing.add_argument("--json", action="store_true", help="as JSON")
    checking = commands.add_parser("check", help="load hooks by themselves and report every problem")
    checking.add_argument("path", nargs="?", metavar="PATH", help="a file or directory; all hooks otherwise")
    new = commands.add_parser("new", help="write a hook and its test")
    new.add_argument("name", help="the name of the hook, also of its file")
    new.add_argument("--event", required=True, help="the event that it listens to")
    new.add_argument("--project", action="store_true", help="into this project's .marvin/hooks")
    new.add_argument("--dir", metavar="DIR", help="into this directory")
    running = commands.add_parser("run", help="send one event through one hook: outcome, changes, time")
    running.add_argument("file", metavar="FILE", help="the hook; naming it is consent")
    running.add_argument("--event", required=True, help="the event")
    running.add_argument("--input", default="{}", metavar="JSON", help="its payload; what is left out is neutral")
    running.add_argument("--json", action="store_true", help="as JSON")
    for name, text in (("enable", "load it again"), ("disable", "do not load it")):
        switch = commands.add_parser(name, help=f"{text}, by id")
        switch.add_argument("id", help="the hook's id, as `marvin hooks list` shows it")
    why = commands.add_parser("why", help="what hooks changed, refused and failed at in a session")
    why.add_argument("--session", metavar="ID", help="the session; the latest here otherwise")
    trace = commands.add_parser("trace", help="a trace file as a waterfall, with totals per hook")
    trace.add_argument("file", metavar="FILE", help="what --trace-hooks wrote")


def run(options: argparse.Namespace, places: Places) -> int:
    """Do it; the exit code."""
    match options.what:
        case "list":
            return _list(options, places)
        case "check":
            return check_all(_named(options.path) if options.path else _all(places)[0])
        case "new":
            directory = options.dir or (places.project_hooks_dir if options.project else places.hooks_dir)
            for path in write_hook(directory, options.name, options.event):
                print(path)
            return 0
        case "run":
            return _run(options)
        case "enable" | "disable":
            return _switch(options.id, options.what == "disable", places)
        case "why":
            return _why(options, places)
        case _:
            print("\n".join(waterfall(read_trace(options.file))))
            return 0


def _all(places: Places) -> tuple[list[Source], list[tuple[str, str, str]], Config]:
    """Every hook that would be loaded, and (id, path, why) of those that would not."""
    notes: list[str] = []
    project = Project(places, trust_now=False, notify=notes.append)
    config = load(places, trusted=project.trusted)
    sources = each_once(gather(config, places, project, (), notes.append))
    off = [
        (f"project:{Source(path, 'project').stem}", path, "the project is not trusted: `marvin trust`")
        for path in (hooks_in(places.project_hooks_dir) if not project.trusted else ())
    ]
    for note in notes:
        print(f"marvin: {note}", file=sys.stderr)
    return sources, off, config


def _named(path: str) -> list[Source]:
    return [Source(os.path.abspath(each), "flag") for each in hooks_at(path)]


def check_all(sources: list[Source]) -> int:
    """Check hooks and say what is wrong; 1 when something is."""
    results = [check(source) for source in sources]
    for result in results:
        for problem in result.problems:
            print(printable(problem), file=sys.stderr)
        if not result.problems:
            print(f"ok  {result.source.path}: {_about(result)}")
    bad = sum(bool(result.problems) for result in results)
    print(f"{len(results)} {'hook' if len(results) == 1 else 'hooks'} checked, {bad} with problems.")
    return 1 if bad else 0


def _about(result: Checked) -> str:
    parts = [", ".join(result.events)]
    parts += [
        f"{word} {', '.join(names)}"
        for word, names in (("tools", result.tools), ("commands", result.commands))
        if names
    ]
    return "; ".join(part for part in parts if part) or "nothing registered"


def _list(options: argparse.Namespace, places: Places) -> int:
    sources, off, config = _all(places)
    rows: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for source in sources:
        name = f"{source.scope}:{source.stem}"
        seen[name] = seen.get(name, 0) + 1
        hook_id = name if seen[name] == 1 else f"{name}-{seen[name]}"
        rows.append(_row(hook_id, source, config))
    rows += [{"id": i, "path": path, "events": [], "state": "not loaded", "why": why} for i, path, why in off]
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    if not rows:
        print(f"No hooks. They live in {places.hooks_dir} and {places.project_hooks_dir};")
        print("`marvin hooks new NAME --event EVENT` writes one.")
    for row in rows:
        print(printable(f"{row['id']:<28} {row['state']:<11} {', '.join(row['events'])}"))
        print(printable(f"    {row['path']}"))
        if row["why"]:
            print(printable(f"    {row['why']}"))
    return 0


def _row(hook_id: str, source: Source, config: Config) -> dict[str, Any]:
    row: dict[str, Any] = {"id": hook_id, "path": source.path, "events": [], "state": "loaded", "why": ""}
    if hook_id in config.hooks.disabled:
        return row | {"state": "disabled", "why": "hooks.disabled names it"}
    result = check(source)
    if result.problems:
        return row | {"state": "broken", "why": result.problems[0]}
    return row | {"events": result.events, "required": hook_id in config.hooks.required}


def _run(options: argparse.Namespace) -> int:
    try:
        payload = json.loads(options.input)
    except ValueError as error:
        raise UsageError(f"--input is not JSON: {error}") from None
    if not isinstance(payload, dict):
        raise UsageError("--input is a JSON object: the event's payload")
    emitted, told = asyncio.run(_emit(options.file, options.event, payload))
    if options.json:
        print(json.dumps(_emitted(emitted, told), indent=2, ensure_ascii=False))
    else:
        for line in _lines(emitted, told):
            print(printable(line))
    return 1 if emitted.errors else 0


async def _emit(file: str, event: str, payload: dict[str, Any]) -> tuple[Emitted, list[str]]:
    if not os.path.exists(file):
        raise UsageError(f"{file}: there is no such file")
    async with _loaded(file) as harness:
        emitted = await harness.emit(event, **payload)
        return emitted, harness.told


def _loaded(file: str) -> Harness:
    result = check(Source(os.path.abspath(file), "flag"))
    if result.problems:
        raise MarvinError(result.problems[0])
    return Harness(os.path.abspath(file))


def _emitted(emitted: Emitted, told: list[str]) -> dict[str, Any]:
    return {
        "blocked": emitted.blocked,
        "reason": emitted.reason,
        "changes": [diff(change) for change in emitted.changes],
        "decided": to_plain(emitted.decided),
        "added": to_plain(emitted.added),
        "errors": [str(error) for error in emitted.errors],
        "told": told,
        "ms": round(emitted.seconds * 1000, 3),
    }


def _lines(emitted: Emitted, told: list[str]) -> list[str]:
    if emitted.errors:
        lines = [str(error) for error in emitted.errors]
    elif emitted.blocked:
        lines = [f"blocked: {emitted.reason or 'no reason given'}"]
    else:
        lines = ["changed" if emitted.changes or emitted.decided or emitted.added else "nothing changed"]
    for change in emitted.changes:
        each = diff(change)
        lines.append(f"  {each['field']}")
        lines.append(f"  - {json.dumps(each['before'], ensure_ascii=False)}")
        lines.append(f"  + {json.dumps(each['after'], ensure_ascii=False)}")
    for name, value in {**to_plain(emitted.decided), **to_plain(emitted.added)}.items():
        lines.append(f"  {name}: {json.dumps(value, ensure_ascii=False)}")
    lines += [f"told the user: {text}" for text in told]
    return [*lines, f"{emitted.seconds * 1000:.2f} ms"]


def _switch(hook_id: str, off: bool, places: Places) -> int:
    sources, untrusted, config = _all(places)
    known = {f"{source.scope}:{source.stem}" for source in sources} | {each[0] for each in untrusted}
    if hook_id not in known and hook_id not in config.hooks.disabled and not hook_id.startswith("builtin:"):
        raise UsageError(f"no hook has the id {hook_id!r}", hint="`marvin hooks list` shows the ids.")
    try:
        value = read_json(places.config_file).value
    except FileNotFoundError:
        value = {}
    disabled = [name for name in value.get("hooks", {}).get("disabled", []) if name != hook_id]
    value.setdefault("hooks", {})["disabled"] = [*disabled, hook_id] if off else disabled
    write_json(places.config_file, value)
    print(f"{hook_id} is {'off' if off else 'on'} from the next start, or /reload, on.")
    return 0


def _why(options: argparse.Namespace, places: Places) -> int:
    root = sessions_dir(configuration(places), places)
    info = find_session(root, options.session) if options.session else latest_here(root, places)
    if info is None:
        raise UsageError("there is no session here yet", hint="Name one with --session; `marvin sessions list --all`.")
    path = os.path.join(files_directory(info.path), DECISIONS_FILE)
    lines = story(read_trace(path)) if os.path.exists(path) else []
    print(f"session {info.id}: {printable(info.first_text)[:60]}")
    print("\n".join(lines) if lines else "No hook changed, refused or failed at anything.")
    return 0
