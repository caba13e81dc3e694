"""What holds for every example."""

import ast
from pathlib import Path

import pytest

from program import Marvin

HOOKS = Path(__file__).parents[2] / "examples" / "hooks"
NAMES = sorted(path.stem for path in HOOKS.glob("*.py"))


def test_every_example_loads_clean(tmp_path: Path) -> None:
    done = Marvin(tmp_path).run("hooks", "check", str(HOOKS), timeout=55)
    assert done.code == 0, done.stderr
    assert done.stderr == ""
    assert f"{len(NAMES)} hooks checked, 0 with problems." in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_short_has_a_test_and_says_what_it_is_for(name: str) -> None:
    source = (HOOKS / f"{name}.py").read_text()
    assert 20 <= len(source.splitlines()) <= (160 if name == "supermemory" else 120)
    assert ast.get_docstring(ast.parse(source))
    assert Path(__file__).with_name(f"test_{name}.py").exists()
