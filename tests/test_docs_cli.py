"""docs/cli.md says what the command line takes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_page_is_in_step_with_the_parsers() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "docs.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_page_names_every_exit_code() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    for code in (0, 1, 2, 78, 130):
        assert f"| {code} |" in page
