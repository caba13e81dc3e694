"""Standard input: the prompt, or attached to it, or nothing to wait for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from marvin_agent.errors import UsageError
from marvin_agent.frontends.stdin import Asked, read_asked
from program import PROGRAM, Marvin

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    return Marvin(tmp_path)


def asked(monkeypatch: pytest.MonkeyPatch, data: bytes, *words: str) -> Asked:
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    with os.fdopen(reading) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        return read_asked(words, (), pytest.fail)


def test_it_is_the_prompt_or_attached_to_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, b"fix it\n").text == "fix it"
    assert asked(monkeypatch, b"", "fix", "it").text == "fix it"
    assert asked(monkeypatch, b"  indented\n", "fix it").text == "fix it\n\n<stdin>\n  indented\n</stdin>"
    assert asked(monkeypatch, b" \n", "fix it").text == "fix it"
    assert asked(monkeypatch, b"caf\xe9", "x").text.endswith("caf\ufffd\n</stdin>")


def test_an_image_is_attached(monkeypatch: pytest.MonkeyPatch) -> None:
    given = asked(monkeypatch, PNG, "what is this?")
    assert given.text == "what is this?"
    assert given.attachments[0]["mime_type"] == "image/png"
    assert asked(monkeypatch, PNG).text == ""


def test_other_binary_data_and_nothing_at_all_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="neither a text nor an image"):
        asked(monkeypatch, b"\x7fELF\0\0", "what is this?")
    with pytest.raises(UsageError, match="no prompt"):
        asked(monkeypatch, b"")


def test_a_pipe_that_stays_silent_is_not_waited_for_when_there_are_words(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    told: list[str] = []
    with os.fdopen(reading) as stream, os.fdopen(writing, "wb"):
        monkeypatch.setattr(sys, "stdin", stream)
        assert read_asked(["hi"], (), told.append, (0.01, 0.01)).text == "hi"
    assert "</dev/null" in told[0]
    assert "going on without it" in told[1]


def test_a_terminal_is_not_read(marvin: Marvin) -> None:
    marvin.script({"text": "Hello"})
    with marvin.terminal("-p", "hi") as terminal:
        terminal.wait_for("Hello")
        assert terminal.end() == 0


def test_the_program_reads_what_is_piped_in(marvin: Marvin) -> None:
    marvin.script({"text": "Yes.", "match": "^look at this"})
    assert marvin.run("-p", stdin="look at this").stdout == "Yes.\n"
    marvin.script({"text": "Yes.", "match": "(?s)^look.*<stdin>\nlog line\n</stdin>$"})
    assert marvin.run("-p", "look", stdin="log line\n").stdout == "Yes.\n"
    done = marvin.run("-p", "look", stdin=b"\0\0\0")
    assert done.code == 2


def test_files_are_attached(marvin: Marvin) -> None:
    (marvin.work / "note.md").write_text("# Note\n")
    (marvin.work / "dot.png").write_bytes(PNG)
    (marvin.work / "junk").write_bytes(b"\0\1")
    marvin.script({"text": "Read."}, input=["text", "image"])
    assert marvin.run("-p", "--attach", "note.md", "--attach", "dot.png", "look").stdout == "Read.\n"
    content = marvin.messages()[0]["content"]
    assert content[0]["text"] == "look\n\n[Document: note.md]\n# Note\n"
    assert content[1]["mimeType"] == "image/png"
    for name in ("junk", "missing", "."):
        done = marvin.run("-p", "--attach", name, "look")
        assert done.code == 2
        assert f"{name}" in done.stderr


def test_nohup_does_not_count_as_an_input(marvin: Marvin) -> None:
    marvin.script({"text": "Hello", "repeat": True})
    with open(os.devnull, "wb") as unreadable:  # what nohup puts in the place of a terminal
        for words, code in (("-p hi", 0), ("-p", 2)):
            with marvin.start(*words.split(), stdin=unreadable) as process:
                said, problem = process.communicate(timeout=30)
            assert process.returncode == code, problem
    assert said == b""
    assert b"there is no prompt" in problem


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_the_encoding_of_an_attached_text_is_seen(marvin: Marvin, encoding: str) -> None:
    (marvin.work / "note").write_bytes("größe\n".encode(encoding))
    marvin.script({"text": "Read."})
    assert marvin.run("-p", "--attach", "note", "look").stdout == "Read.\n"
    assert marvin.messages()[0]["content"][0]["text"] == "look\n\n[Document: note]\ngröße\n"


def test_a_file_without_end_is_too_large_to_attach(marvin: Marvin) -> None:
    marvin.script({"text": "never"})
    done = marvin.run("-p", "--attach", "/dev/zero", "look")
    assert (done.code, done.stderr) == (2, "marvin: /dev/zero is over 20 MiB: too large to attach\n")


def test_what_a_program_prints_can_be_attached(marvin: Marvin) -> None:
    marvin.script({"text": "Read.", "match": "it was printed"})
    command = ["bash", "-c", '"$@" --attach <(echo it was printed)', "bash", *PROGRAM, "-p", "look"]
    done = subprocess.run(command, env=marvin.env, cwd=marvin.work, capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, b"Read.\n"), done.stderr
