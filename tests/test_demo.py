"""The scripted half of `make demo`, wherever the repository is."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"
MEND = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import demo
if len(sys.argv) > 4:
    demo.REPLIES[2]["toolCalls"][0]["arguments"]["newText"] = sys.argv[4]
sys.exit(demo.mend(Path(sys.argv[2]), Path(sys.argv[3])))
"""


def mend(tmp_path: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    environment = tmp_path / "an environment"
    environment.symlink_to(Path(sys.executable).parent.parent)
    directories = tmp_path / "shop", tmp_path / "config"
    for directory in directories:
        directory.mkdir()
    command = [environment / "bin" / "python", "-c", MEND, SCRIPTS, *directories, *more]
    env = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    return subprocess.run(command, env=env, cwd=tmp_path, text=True, capture_output=True, timeout=60, check=False)


def test_a_failing_test_is_mended_by_real_tools_and_a_real_hook_refuses(tmp_path: Path) -> None:
    done = mend(tmp_path)
    assert done.returncode == 0, done.stderr
    acts = [line[:6] for line in done.stderr.splitlines() if line.startswith(("✗", "✓", "⊘"))]
    assert acts == ["✗ bash", "✓ read", "✓ grep", "✓ edit", "⊘ bash", "✓ bash"]
    assert "Mended" in done.stdout
    assert "was blocked by flag:gate" in done.stdout


@pytest.mark.parametrize("wrong", ["return sum(prices) * 2", "return sum(prices"])
def test_it_does_not_say_that_tests_pass_which_fail(tmp_path: Path, wrong: str) -> None:
    done = mend(tmp_path, wrong)
    assert done.returncode == 1
    assert "Mended" not in done.stdout
    assert "demo: the run failed" in done.stderr
