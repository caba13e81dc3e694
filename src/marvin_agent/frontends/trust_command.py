"""Trust what a project's `.marvin` can do, or a package's hooks: as they are now, no longer once changed."""

import argparse
import difflib
import sys

from marvin_agent.errors import UsageError
from marvin_agent.hooks.packages import digest_of, packaged_hooks
from marvin_agent.hooks.trust import Trust, take_snapshot
from marvin_agent.places import Places, find_places
from marvin_agent.text import one_line, revealed

SHOWN_LINES = 5_000
NAME = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", nargs="?", metavar="DIR", help="the project (the one around the working directory)")
    parser.add_argument("--yes", action="store_true", help="without showing and asking")
    parser.add_argument("--list", action="store_true", help="show what is trusted")
    parser.add_argument("--package", metavar="NAME", help="trust the hooks of an installed package instead")


def run(options: argparse.Namespace, places: Places) -> int:
    """Show, ask, remember; the exit code, which is 1 when the answer was no."""
    trust = Trust(places.trust_file)
    if options.list:
        for kind, names in trust.list().items():
            for name in names:
                print(f"{kind[:-1]:<8} {one_line(name, NAME)}")
        return 0
    if options.package:
        return _package(options, places, trust)
    if options.project:
        places = find_places(cwd=options.project, config_dir=places.config_dir)
    snapshot = take_snapshot(places.project_root)
    root = one_line(snapshot.root, NAME)
    if not snapshot.files:
        print(f"{root}: there is nothing in .marvin that can act; no trust is needed.")
        return 0
    changes = trust.changes(snapshot)
    if not changes:
        print(f"{root}: trusted already, and unchanged.")
        return 0
    if not options.yes:
        for path, data in snapshot.files.items():
            if path in changes:
                _show(path, changes[path], data)
        for path, what in changes.items():
            if what == "gone":
                print(f"--- {one_line(path, NAME)} (gone)")
        if not _agreed(f"Trust {root}/.marvin as it is now?"):
            return 1
    trust.grant(snapshot)
    print(f"{root}: trusted, {len(snapshot.files)} files. Any change asks again.")
    return 0


def _package(options: argparse.Namespace, places: Places, trust: Trust) -> int:
    found = [hook for hook in packaged_hooks(places.cache_dir) if hook.distribution == options.package]
    if not found:
        names = sorted({hook.distribution for hook in packaged_hooks(places.cache_dir)})
        near = difflib.get_close_matches(options.package, names, 1)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(names) or 'none'}."
        raise UsageError(f"no installed package {options.package!r} brings hooks", hint=hint)
    for hook in found:
        print(one_line(f"{hook.name}: {hook.path}", NAME))
    if not options.yes and not _agreed(f"Trust the hooks of {options.package} as they are now?"):
        return 1
    trust.grant_package(options.package, digest_of(found))
    print(f"{options.package}: trusted. Another build asks again.")
    return 0


def _show(path: str, what: str, data: bytes) -> None:
    print(f"--- {one_line(path, NAME)} ({what})")
    lines = revealed(data.decode("utf-8", "replace")).splitlines()
    for line in lines[:SHOWN_LINES]:
        print(f"    {line}")
    if len(lines) > SHOWN_LINES:
        print(f"    ... {len(lines) - SHOWN_LINES} more lines")


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody is here to ask", hint="Look at the files, then use --yes.")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
