import json
from pathlib import Path
from typing import Any

from examples.conftest import Example


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_call_is_a_line_with_its_status(example: Example, tmp_path: Path) -> None:
    path = tmp_path / "logs" / "audit.jsonl"
    hook = example("audit_log", settings={"path": str(path)})
    hook.call("bash", command="echo hi")
    hook.call("bash", command="exit 3")
    hook.call("read", path="nope")
    hook.call("no_such_tool")
    assert [(line["tool"], line["status"]) for line in lines(path)] == [
        ("bash", "ok"),
        ("bash", "error"),
        ("read", "error"),
        ("no_such_tool", "invalid"),
    ]
    first = lines(path)[0]
    assert first["input"]["command"] == "echo hi"
    assert first["session"] == hook.scripted.engine.session_id
    assert first["time"].endswith("Z")
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_is_in_marvins_directory_unless_said_otherwise(example: Example) -> None:
    hook = example("audit_log")
    hook.call("bash", command="true")
    assert len(lines(hook.scripted.directory / "config" / "audit.jsonl")) == 1


def test_what_cannot_be_logged_is_withheld_when_strict(example: Example) -> None:
    loose, strict = (example("audit_log", settings={"path": "/dev/null/x", "strict": on}) for on in (False, True))
    assert loose.call("bash", command="echo hi").text == "hi\n"
    assert "hi\n" not in strict.call("bash", command="echo hi").text
