"""The rules that docs/permissions.md gives to begin with: what they let run, and what not."""

import json
import os
import re
from pathlib import Path

import pytest

from marvin_agent.permission_rules import parse_rule
from marvin_agent.policies.permissions.subjects import CommandSubject, Where

PAGE = Path(__file__).parent.parent.parent / "docs" / "permissions.md"
WHERE = Where("/project", "/project", "/home/me", lambda path: os.path.join("/project", path))


def allowed(command: str) -> bool:
    block = re.search(r"## A start.*?```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert block
    rules = [parse_rule(rule) for rule in json.loads(block[1])["permissions"]["allow"]]
    return CommandSubject(command, WHERE).covered_by(rules)


@pytest.mark.parametrize(
    "command",
    [
        "git status && git diff | head",
        "cd src && ls -la",
        "cd /project && git log --oneline -5",
        "git --no-pager diff HEAD~1 -- src",
        "find . -name '*.py' -not -path './.venv/*' | xargs wc -l | sort -n | tail -5",
        "find . -name '*.py' -exec grep -l 'import os' {} +",
        "grep -rn 'def main' src 2>/dev/null | head -20 || true",
        "sed -n '10,40p' src/a.py",
        'for f in src/*.py; do echo "== $f"; head -5 "$f"; done',
        "cat a.py; echo ---; cut -d: -f1 b | sort | uniq -c",
        "ls | xargs -I{} head -1 {}",
    ],
)
def test_what_only_looks_runs(command: str) -> None:
    assert allowed(command)


@pytest.mark.parametrize(
    "command",
    [
        "git diff --output=x",
        "git log --ext-diff",
        "git push",
        "git -c core.pager=x log",
        "find . -delete",
        "find . -exec rm {} +",
        "find . -exec sh -c 'rm x' \\;",
        "ls | xargs rm",
        "ls | xargs sh",
        "sed -n 'w x' a",
        "sed -i s/a/b/ a",
        "sort -o x a",
        "uniq a b",
        "rg --pre rm x",
        "echo x > a",
        "cat a | sh",
        "ls $(rm x)",
        "cd vendor; ./run",
        "cd /elsewhere && git status",
    ],
)
def test_what_changes_something_or_runs_something_is_asked_about(command: str) -> None:
    assert not allowed(command)
