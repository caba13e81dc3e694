"""`marvin permissions`: what was answered with "always", and how to forget it."""

import argparse
import sys

from marvin_agent.errors import UsageError
from marvin_agent.messages import encode
from marvin_agent.places import Places
from marvin_agent.policies.permissions.remembered import Remembered
from marvin_agent.text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options that stand after `marvin permissions`."""
    commands = parser.add_subparsers(dest="command", metavar="list|forget")
    listing = commands.add_parser("list", help="the remembered rules of this project")
    listing.add_argument("--all", action="store_true", help="of all projects")
    listing.add_argument("--json", action="store_true", help="as JSON")
    forgetting = commands.add_parser("forget", help="forget rules of this project")
    forgetting.add_argument("rules", nargs="*", metavar="RULE", help="a rule as `list` shows it: 'bash(git log *)'")
    forgetting.add_argument("--all", action="store_true", help="all rules of this project")
    # Without a word it is `list`.
    parser.set_defaults(all=False, json=False)


def run(arguments: argparse.Namespace, places: Places) -> int:
    """Do what `marvin permissions ...` says; the exit code."""
    remembered = Remembered(places.config_dir)
    if arguments.command == "forget":
        return _forget(remembered, places.project_root, arguments.rules, arguments.all)
    rules = remembered.all() if arguments.all else _here(remembered, places)
    if arguments.json:
        print(encode(rules).decode())
        return 0
    if not rules:
        print("Nothing is remembered" + ("." if arguments.all else " for this project."), file=sys.stderr)
    for root, texts in sorted(rules.items()):
        if arguments.all:
            print(printable(root))
        for text in texts:
            print(f"{'  ' if arguments.all else ''}{printable(text)}")
    return 0


def _here(remembered: Remembered, places: Places) -> dict[str, list[str]]:
    rules = [str(rule) for rule in remembered.rules(places.project_root)]
    return {places.project_root: rules} if rules else {}


def _forget(remembered: Remembered, root: str, rules: list[str], everything: bool) -> int:
    if bool(rules) == everything:
        raise UsageError("name the rules to forget, or --all", hint="`marvin permissions list` shows them.")
    if everything:
        print(f"{remembered.forget(root)} forgotten.")
        return 0
    known = {str(rule) for rule in remembered.rules(root)}
    if missing := [rule for rule in rules if rule not in known]:
        raise UsageError(f"{missing[0]!r} is not remembered here", hint="`marvin permissions list` shows what is.")
    print(f"{sum(remembered.forget(root, rule) for rule in rules)} forgotten.")
    return 0
