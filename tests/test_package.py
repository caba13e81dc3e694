"""What an installation holds: everything that the program reads, and nothing else."""

import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "marvin_agent"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=50,
    )
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel: zipfile.ZipFile) -> None:
    expected = {
        f"marvin_agent/{path.relative_to(PACKAGE)}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == expected


def test_the_wheel_says_what_it_needs_and_what_it_installs(wheel: zipfile.ZipFile) -> None:
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    told = message_from_bytes(wheel.read(metadata))
    assert told["Requires-Python"] == ">=3.11"
    assert "local" in told.get_all("Provides-Extra", [])
    (entries,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    text = wheel.read(entries).decode()
    assert "marvin = marvin_agent.__main__:main" in text
    assert "marvin = marvin_agent.testing.plugin" in text
