"""The pages for authors of hooks: every block does what the page says.

A python block whose first line names a file is written there; if it has a `setup`, the hook is loaded and hears each of
its events. A console block is run, line by line in one directory per page, and its output compared: `...` stands for
anything, `~` for the home directory. A json block is a configuration that marvin takes.
"""

import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from marvin_agent.settings import Settings
from marvin_agent.testing import BlockingHarness
from program import Marvin

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("tutorial", "how-to", "trust", "coming-from")
NAMED = re.compile(r"# (\S+\.py)\n")
PUSH = {"toolCalls": [{"name": "bash", "arguments": {"command": "git push"}}]}
DEPLOY = {"toolCalls": [{"name": "bash", "arguments": {"command": "make deploy"}}]}
REPLIES: dict[str, list[dict[str, Any]]] = {
    "tutorial": [PUSH, {"text": "I may not push here: a person does that."}],
    "how-to": [DEPLOY, {"text": "I may not."}],
    "trust": [{"text": "Hello."}],
    "coming-from": [],
}
PAYLOAD = {"input": {"command": "ls", "path": "a"}, "tool_name": "bash"}


class Block(NamedTuple):
    language: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    text = (DOCS / "hooks" / f"{page}.md").read_text()
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(each[1], each[2], text.count("\n", 0, each.start()) + 1) for each in found]


def place(block: Block, marvin: Marvin) -> Path | None:
    """Where a block says that it is; None when it does not say."""
    named = NAMED.match(block.text)
    if not named:
        return None
    home = named[1].startswith("~/")
    return (marvin.home if home else marvin.work) / named[1].removeprefix("~/")


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    return Marvin(tmp_path)


def matches(expected: str, output: str) -> bool:
    pattern = re.escape(expected.strip()).replace(r"\.\.\.", ".*")
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


def run_console(block: Block, marvin: Marvin) -> None:
    for command in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, expected = command.partition("\n")
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=marvin.work,
            env={**marvin.env, "PYTHONWARNINGS": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        output = done.stdout.replace(str(marvin.home), "~")
        assert matches(expected, output), f"line {block.line}: $ {line}\nexpected:\n{expected}\ncame:\n{output}"


@pytest.mark.parametrize("page", PAGES)
def test_what_is_run_on_a_page_gives_what_it_shows(page: str, marvin: Marvin) -> None:
    marvin.script(*REPLIES[page])
    rule = marvin.work / ".marvin" / "hooks" / "project_rule.py"
    rule.parent.mkdir(parents=True)
    rule.write_text("def setup(marvin):\n    marvin.on('turn.end', lambda event, ctx: None)\n")
    if page != "trust":
        rule.unlink()
    for block in blocks(page):
        if block.language == "console":
            run_console(block, marvin)
        elif block.language == "python" and (path := place(block, marvin)):
            path.write_text(block.text)


@pytest.mark.parametrize("page", PAGES)
def test_every_hook_on_a_page_loads_and_hears_its_events(
    page: str, marvin: Marvin, marvin_hook: Callable[..., BlockingHarness]
) -> None:
    for number, block in enumerate(blocks(page)):
        if block.language != "python" or "def setup(" not in block.text:
            continue
        path = marvin.work / f"block_{number}.py"
        path.write_text(block.text)
        hook = marvin_hook(path)
        assert hook.events or hook.scripted.engine.side.commands, f"line {block.line}"
        for event in hook.events:
            payload = PAYLOAD if event.startswith("tool.") else {}
            assert hook.emit(event, **payload).errors == [], f"line {block.line}: {event}"


def test_the_tests_on_the_pages_pass(marvin: Marvin) -> None:
    for block in blocks("how-to"):
        if block.language == "python" and (path := place(block, marvin)):
            path.write_text(block.text)
    done = subprocess.run(
        ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_ask_before_deploy.py"],
        cwd=marvin.work,
        env={**marvin.env, "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout


def test_the_package_of_the_how_to_is_trusted_and_named_as_the_page_says(marvin: Marvin, tmp_path: Path) -> None:
    (project,) = [tomllib.loads(block.text)["project"] for block in blocks("how-to") if block.language == "toml"]
    ((name, module),) = project["entry-points"]["marvin.hooks"].items()
    info = tmp_path / "site" / f"{module}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text(f"[marvin.hooks]\n{name} = {module}\n")
    (info / "RECORD").write_text(f"{module}.py,,\n{info.name}/METADATA,,\n")
    tutorial = next(block for block in blocks("tutorial") if block.language == "python")
    (tmp_path / "site" / f"{module}.py").write_text(tutorial.text)
    env = {"PYTHONPATH": str(tmp_path / "site")}
    assert marvin.run("trust", "--yes", "--package", project["name"], env=env).code == 0
    marvin.script(*REPLIES["tutorial"])
    assert marvin.run("-p", "--auto", "push", env=env).stdout == "I may not push here: a person does that.\n"
    text = (DOCS / "hooks" / "how-to.md").read_text()
    assert f"marvin trust --package {project['name']}" in text
    (hook_id,) = re.findall(r"Its id is `(.*?)`", text)
    assert hook_id in marvin.run("hooks", "why").stdout


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_tested(page: str) -> None:
    for block in blocks(page):
        match block.language:
            case "python":
                compile(block.text, f"{page}.md:{block.line}", "exec")
                assert "def setup(" in block.text or "def test_" in block.text, f"line {block.line}"
            case "json":
                msgspec.convert(json.loads(block.text), Settings)
            case "toml":
                tomllib.loads(block.text)
            case kind:
                assert kind == "console", f"line {block.line}"


def test_the_index_and_every_page_link_to_what_exists_and_no_page_is_forgotten() -> None:
    linked: set[Path] = set()
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in target:
                continue
            file = (page.parent / target.partition("#")[0]).resolve() if not target.startswith("#") else page.resolve()
            assert file.exists(), f"{page.name} links to {target}"
            if page == DOCS / "README.md":
                linked.add(file)
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {(DOCS / "README.md").resolve()}
    assert pages - linked == set()


def test_the_anchors_of_the_pages_exist() -> None:
    for page in (DOCS / "hooks").glob("*.md"):
        for target in re.findall(r"\]\(([^)\s]*#[^)\s]+)\)", page.read_text()):
            name, _, anchor = target.partition("#")
            text = (page.parent / name).read_text() if name else page.read_text()
            headings = {slug(line) for line in text.splitlines() if line.startswith("#")}
            assert anchor in headings, f"{page.name}: {target}"


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower()).replace(" ", "-")
