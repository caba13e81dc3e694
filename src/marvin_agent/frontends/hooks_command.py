"""Hooks: list, check and write them, send one event through one, switch them on and off, and see what they did."""

import argparse
import os
import sys
from collections.abc import Sequence

from marvin_agent.errors import UsageError
from marvin_agent.frontends.hook_check import Checked, check_each
from marvin_agent.frontends.hook_listing import find_hooks, list_hooks, misnamed, switch
from marvin_agent.frontends.hook_run import run_hook
from marvin_agent.frontends.hook_scaffold import write_hook
from marvin_agent.frontends.hook_sources import configuration, untrusted_root
from marvin_agent.frontends.hook_story import read_trace, story, waterfall
from marvin_agent.frontends.session_choice import latest_here, sessions_dir
from marvin_agent.hooks.sources import Source, hooks_at
from marvin_agent.hooks.trace import DECISIONS_FILE
from marvin_agent.places import Places
from marvin_agent.session.index import find_session
from marvin_agent.session.layout import files_directory
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
    running.add_argument("file", metavar="FILE", help="the hook: its file, or its id; naming it is consent")
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
            return list_hooks(options, places)
        case "check":
            return _check_named(options.path, places) if options.path else check_all(places)
        case "new":
            directory = options.dir or (places.project_hooks_dir if options.project else places.hooks_dir)
            for path in write_hook(directory, options.name, options.event):
                print(printable(path))
            if options.project and not options.dir:
                print("Once it is written, `marvin trust` lets it run in this project.", file=sys.stderr)
            return 0
        case "run":
            return run_hook(options, places)
        case "enable" | "disable":
            return switch(options.id, options.what == "disable", places)
        case "why":
            return _why(options, places)
        case _:
            print("\n".join(waterfall(read_trace(options.file))))
            return 0


def check_all(places: Places) -> int:
    """Check every hook that would be loaded, and what the configuration says of hooks; 1 when something is wrong."""
    found = find_hooks(places)
    problems = [note for note in found.notes if note.startswith("hooks.paths")]
    for note in (*found.notes, *misnamed(found)):
        print(f"marvin: {printable(note)}", file=sys.stderr)
    for name in found.config.hooks.required:
        if name not in found.sources and name not in found.untrusted and not name.startswith("builtin:"):
            problems.append(name)
            print(printable(f"marvin: hooks.required names {name}, and there is no such hook"), file=sys.stderr)
    return _check(list(found.sources.values()), places) or int(bool(problems))


def _check_named(path: str, places: Places) -> int:
    sources = [Source(os.path.abspath(each), "flag") for each in hooks_at(path)]
    closed = {source.path: root for source in sources if (root := untrusted_root(source.path, places))}
    for each, root in closed.items():
        why = f"{root} is not trusted, and nothing of its .marvin runs: `marvin trust --cwd {root}`"
        print(printable(f"{each}: {why}"), file=sys.stderr)
    return _check([source for source in sources if source.path not in closed], places, len(closed))


def _check(sources: Sequence[Source], places: Places, closed: int = 0) -> int:
    results = check_each(sources, places.cache_dir)
    for result in results:
        for problem in result.problems:
            print(printable(problem), file=sys.stderr)
        if not result.problems:
            print(printable(f"ok  {result.source.path}: {_about(result)}"))
    bad, count = closed + sum(bool(result.problems) for result in results), closed + len(results)
    print(f"{count} {'hook' if count == 1 else 'hooks'} checked, {bad} with problems.")
    return 1 if bad else 0


def _about(result: Checked) -> str:
    parts = [", ".join(result.events)]
    parts += [
        f"{word} {', '.join(names)}"
        for word, names in (("tools", result.tools), ("commands", result.commands))
        if names
    ]
    return "; ".join(part for part in parts if part) or "nothing registered"


def _why(options: argparse.Namespace, places: Places) -> int:
    root = sessions_dir(configuration(places), places)
    info = find_session(root, options.session) if options.session else latest_here(root, places)
    if info is None:
        raise UsageError("there is no session here yet", hint="Name one with --session; `marvin sessions list --all`.")
    path = os.path.join(files_directory(info.path), DECISIONS_FILE)
    lines = story(read_trace(path)) if os.path.exists(path) else []
    print(f"session {info.id}: {printable(' '.join(info.first_text.split()))[:60]}")
    print("\n".join(lines) if lines else "No hook changed, refused or failed at anything.")
    return 0
