"""What the README claims: its make targets are there, its commands parse, its hook works, its links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest

from marvin_agent.frontends.cli import COMMANDS, parse, split_command
from marvin_agent.llm.providers import VARIABLES
from marvin_agent.testing.harness import Harness

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "README.md").read_text()
COMMAND_LINES = [line.partition("  #")[0] for line in re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)]
(HOOK,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_targets_of_make_are_there() -> None:
    targets = [line.split()[1] for line in COMMAND_LINES if line.startswith("make")]
    assert targets == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text()
    for target in targets:
        assert re.search(rf"^{target}: \S", makefile, re.MULTILINE), target


@pytest.mark.parametrize("line", [line for line in COMMAND_LINES if "marvin" in line])
def test_the_commands_parse(line: str) -> None:
    words = shlex.split(line.rpartition("| ")[2])
    assert words[0] == "marvin"
    assert split_command(words[1:])[0] is None
    options = parse(words[1:])
    assert options.print == bool(options.prompt), "the app without words, all else headless"


def test_what_it_names_is_there() -> None:
    for name in re.findall(r"`marvin ([a-z]+)[^`]*`", PAGE):
        assert name in COMMANDS
    assert f"any of {len(VARIABLES)} providers" in PAGE
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize(
    ("command", "answers", "status"),
    [("rm -rf made", [False], "blocked"), ("rm -rf made", [True], "ok"), ("rm -r made", [], "ok")],
)
async def test_the_hook_asks_before_it_lets_through(
    tmp_path: Path, command: str, answers: list[bool], status: str
) -> None:
    path = tmp_path / "gate.py"
    path.write_text(HOOK)
    async with Harness(path, answers=answers) as harness:
        (harness.work / "made").mkdir()
        called = await harness.call("bash", command=command)
        assert called.status == status
        assert (harness.work / "made").exists() == (status == "blocked")
        if status == "blocked":
            assert "refused by the user" in called.text
