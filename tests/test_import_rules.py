"""The rooms of the house as a test: who may import whom, imports at the top, and files of one concept."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "marvin_agent"
FILES = sorted(SOURCE.rglob("*.py"))
ROOMS = ("hooks", "llm", "tools", "session", "agent", "policies", "frontends", "testing")
ROOT = ("messages", "errors")
CLOSED = {
    # room: the rooms that it must not look into. A room is also everything below it.
    "hooks": {"llm", "tools", "session", "agent", "policies", "frontends", "testing"},
    "llm": {"hooks", "tools", "session", "agent", "policies", "frontends", "testing"},
    "tools": {"hooks", "llm", "session", "agent", "policies", "frontends", "testing"},
    "session": {"hooks", "llm", "tools", "agent", "policies", "frontends", "testing"},
    "agent": {"policies", "frontends", "testing"},
    "policies": {"llm", "tools", "session", "agent", "frontends", "testing"},
    "testing": {"frontends"},
}
"""frontends, some of whose commands try hooks as their authors' tests do, are outermost."""
OURS = re.compile(r"marvin_agent(\.\w+)+\.?")
SEAMS = {"marvin_agent.llm.values.Model"}
"""Pure values that hooks are given."""
HOME_OF_SEAM = ("hooks/__init__.py", "marvin_agent.llm.values")
"""Where that value is loaded when a hook first asks for it."""
LONG: dict[str, str] = {
    "hooks/__init__.py": "one list: the public names, for readers and for type checkers",
    "hooks/events.py": "one table: every event of the contract, with its fields",
}
"""Files of more than 400 lines, and why."""


def imports(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node, f"{node.module}.{name.name}") for name in node.names)


def named(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The modules of ours that are named in texts: what is imported when it is first needed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and OURS.fullmatch(node.value):
            yield node, node.value.rstrip(".")


def room_of(module: str) -> str:
    """`hooks` for marvin_agent.hooks.load, `messages` for marvin_agent.messages, nothing for others' modules."""
    parts = module.split(".")
    return parts[1] if parts[0] == "marvin_agent" and len(parts) > 1 else ""


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_imports_what_its_room_may_import(path: Path) -> None:
    tree = ast.parse(path.read_text())
    inside = path.relative_to(SOURCE).parts
    room = inside[0] if len(inside) > 1 else inside[0].removesuffix(".py")
    for node, module in (*imports(tree), *named(tree)):
        used = room_of(module)
        where = f"{name_of(path)}:{node.lineno}: {module}"
        assert module in SEAMS or (name_of(path), module) == HOME_OF_SEAM or used not in CLOSED.get(room, set()), where
        if room in ROOT:
            assert not used or used == room, where
        elif room not in ROOMS and room != "__main__":
            assert used not in ROOMS, where


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_stand_at_the_top(path: Path) -> None:
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found = [f"{name_of(path)}:{node.lineno}: {module}" for node, module in imports(function)]
            assert found == []


def test_policies_use_of_the_hooks_only_what_everybody_may_use() -> None:
    for path in FILES:
        if path.relative_to(SOURCE).parts[0] == "policies":
            tree = ast.parse(path.read_text())
            for node, module in (*imports(tree), *named(tree)):
                if room_of(module) == "hooks":
                    public = module.startswith(("marvin_agent.hooks.api.", "marvin_agent.hooks.events."))
                    assert public, f"{name_of(path)}:{node.lineno}: {module}"


def test_files_hold_one_concept() -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in FILES}
    assert {name for name, length in lengths.items() if length > 400} == set(LONG)


@pytest.mark.parametrize("path", [path for path in FILES if path.read_text().strip()], ids=name_of)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), f"{name_of(path)} has no docstring"
