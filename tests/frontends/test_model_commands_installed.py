"""The commands about models and keys as a user starts them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest


def marvin(tmp_path: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "marvin_agent", *words],
        env=environment(tmp_path),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "MARVIN_CONFIG_DIR": str(tmp_path / "config"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }


def test_a_key_is_stored_found_and_forgotten(tmp_path: Path) -> None:
    assert "no provider has a key" in marvin(tmp_path, "doctor").stdout
    stored = marvin(tmp_path, "login", "groq", stdin="gsk-secret\n")
    assert (stored.returncode, stored.stderr) == (0, "")
    listed = marvin(tmp_path, "models", "groq", "scout")
    assert "yes (auth.json)" in listed.stdout
    examined = marvin(tmp_path, "doctor")
    assert (examined.returncode, examined.stderr) == (0, "")
    assert "groq (auth.json)" in examined.stdout
    assert marvin(tmp_path, "logout", "groq").returncode == 0
    assert json.loads((tmp_path / "config" / "auth.json").read_text()) == {}
    assert "secret" not in stored.stdout + listed.stdout + examined.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("login", "opnai"), 2),
        (("login",), 2),
        (("login", "openai"), 2),  # nothing comes from the pipe
        (("models", "--unknown"), 2),
        (("models", "no-such-model"), 1),
        (("models", "refresh", "--url", "http://127.0.0.1:1/x"), 1),
        (("models", "refresh", "--url", "ftp://x"), 2),
        (("doctor", "--unknown"), 2),
        (("logout", "groq"), 1),
    ],
)
def test_what_is_wrong_has_its_exit_code_and_no_traceback(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    done = marvin(tmp_path, *words)
    assert done.returncode == code, done.stderr
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_models_json_ends_with_78(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "models.json").write_text('{"providers": {"x": {"nonsense": 1}}}')
    done = marvin(tmp_path, "models")
    assert done.returncode == 78
    assert "models.json:1:" in done.stderr
    assert marvin(tmp_path, "doctor").returncode == 1


def test_whoever_reads_the_list_may_leave_early(tmp_path: Path) -> None:
    command = f"{sys.executable} -m marvin_agent models | head -1"
    done = subprocess.run(
        ["sh", "-c", command], env=environment(tmp_path), capture_output=True, text=True, check=False, timeout=50
    )
    assert done.stdout.startswith("model ")
    assert done.stderr == ""


@pytest.mark.terminal
def test_a_key_typed_in_a_terminal_is_not_echoed(tmp_path: Path) -> None:
    child = pexpect.spawn(
        sys.executable, ["-m", "marvin_agent", "login", "groq"], env=environment(tmp_path), timeout=30, encoding="utf-8"
    )
    child.expect(r"API key of groq \(not shown\): ")
    child.sendline("gsk-secret")
    child.expect(pexpect.EOF)
    shown = child.before
    child.close()
    assert child.exitstatus == 0
    assert "gsk-secret" not in shown
    assert "stored in" in shown
    assert json.loads((tmp_path / "config" / "auth.json").read_text())["groq"]["key"] == "gsk-secret"
