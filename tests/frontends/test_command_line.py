"""The command line: what is an option, a command or a prompt, and how wrong words are answered."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from marvin_agent.errors import UsageError
from marvin_agent.frontends.cli import COMMANDS, parse, split_command, wanted_output, whole_parser
from program import PROGRAM, Marvin

LIMITED = """
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs a program that cannot write any file."""


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    return Marvin(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "--model", "m", "fix", "the test"],
        ["fix", "the test", "-p", "--model", "m"],
        ["fix", "-p", "the test", "--model=m"],
        ["--model", "m", "-p", "--", "fix", "the test"],
    ],
)
def test_options_stand_before_or_after_the_prompt(words: list[str]) -> None:
    options = parse(words)
    assert options.prompt == ["fix", "the test"]
    assert options.model == "m"
    assert options.print


def test_behind_two_dashes_everything_is_prompt() -> None:
    assert parse(["-p", "--", "--model", "-x", "sessions"]).prompt == ["--model", "-x", "sessions"]


def test_a_first_word_that_is_a_command_is_one() -> None:
    assert split_command(["sessions", "list"]) == ("sessions", ["list"])
    assert split_command(["--cwd", "/x", "--config=c", "sessions", "list"]) == (
        "sessions",
        ["--cwd", "/x", "--config=c", "list"],
    )
    assert split_command(["sessions", "list", "--cwd", "/x", "--", "--cwd", "y"]) == (
        "sessions",
        ["--cwd", "/x", "list", "--", "--cwd", "y"],
    )
    for words in (["--", "sessions"], ["-p", "sessions"], ["list", "sessions"], ["--cwd", "sessions"], []):
        assert split_command(words) == (None, words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--modle", "x"], "there is no option --modle"),
        (["hi", "--outptu=json"], "Did you mean --output?"),
        (["-x"], "there is no option -x\n`marvin --help`"),
        (["-m", "x"], "Did you mean --model?"),
        (["-modle", "x"], "Did you mean --model?"),
        (["--c"], "there is no option --c\n`marvin --help`"),
        (["--mod", "m"], "there is no option --mod"),
        (["--model"], "expected one argument"),
        (["--model", "-p", "hi"], "expected one argument"),
        (["--thinking", "hard"], "off, minimal, low, medium, high, xhigh"),
        (["--thinking", "low,", "hi"], "no level"),
        (["--thinking", ""], "no level"),
        (["--output", "xml"], "stream-json"),
        (["--max-turns", "0"], "from 1 on"),
        (["--max-turns", "many"], "from 1 on"),
        (["--max-cost", "-1"], "above 0"),
        (["--max-cost", "nan"], "above 0"),
        (["-c", "--session", "x"], "not allowed with"),
        (["-r", "--no-session"], "not allowed with"),
        (["--headless", "--output", "text"], "not allowed with"),
        (["--auto", "--permission-mode", "plan"], "not allowed with"),
        (["--record", "a", "--replay", "b"], "not allowed with"),
        (["--replay-loose", "hi"], "goes with --replay"),
    ],
)
def test_wrong_options_are_errors_that_help(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert message in caught.value.show()
    assert caught.value.exit_code == 2


def test_the_installed_program_says_what_is_wrong_and_exits_2(marvin: Marvin) -> None:
    done = marvin.run("-p", "--modle", "x", "hi")
    assert done.code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("marvin: there is no option --modle\nDid you mean --model?")
    wrong = marvin.run("hooks", "why", "--sesion", "x")
    assert (wrong.code, "Did you mean --session?" in wrong.stderr) == (2, True)
    assert marvin.run("--cwd", "/nowhere/at/all", "-p", "hi").code == 2
    for empty in (["--model", ""], ["--model", ","], ["--config", ""], ["--config-dir", ""]):
        assert marvin.run("-p", *empty, "hi").code == 2
    for missing in ("--replay", "--hook", "--attach"):
        done = marvin.run("-p", missing, "no-such-file", "hi")
        assert (done.code, "no-such-file" in done.stderr) == (2, True)


def test_the_places_may_stand_anywhere_around_a_command(marvin: Marvin) -> None:
    place = f"--config-dir={marvin.home / 'other'}"
    for words in ([place, "sessions", "list"], ["sessions", place, "list"], ["sessions", "list", place]):
        done = marvin.run(*words)
        assert (done.code, done.stdout) == (0, "")
        assert "No sessions" in done.stderr


def test_files_that_cannot_be_opened_are_errors_without_a_traceback(marvin: Marvin) -> None:
    marvin.script({"text": "Hi."})
    for option in ("--trace-hooks", "--record"):
        done = marvin.run("-p", option, "/nowhere/at/all", "hi")
        assert done.code == 2
        assert done.stderr.startswith("marvin: ")
        assert "Traceback" not in done.stderr
    done = marvin.run("--headless", "--config-dir", __file__, "--provider", "openai", "hi")
    assert done.code == 1
    assert "Not a directory" in done.json["error"]


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["login", "openai"], "auth.json"),
        (["hooks", "new", "mine", "--event", "app.start"], "hooks/mine.py"),
        (["trust", "--yes"], "trust.json"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(marvin: Marvin, words: list[str], file: str) -> None:
    (marvin.work / ".marvin" / "hooks").mkdir(parents=True)
    (marvin.work / ".marvin" / "hooks" / "a.py").write_text("def setup(marvin): ...")
    limited = [sys.executable, "-c", LIMITED, *PROGRAM, *words]
    done = subprocess.run(limited, input=b"key", env=marvin.env, cwd=marvin.work, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.decode() == f"marvin: {marvin.config_dir / file}: File too large\n"
    assert not (marvin.config_dir / file).exists()


def test_a_configuration_directory_that_cannot_be_written_to_will_do(marvin: Marvin) -> None:
    done = marvin.run("--headless", "--config-dir", "/proc/none", "--no-session", "--provider", "openai", "hi")
    assert "OPENAI_API_KEY" in done.json["error"]


def test_the_exit_code_holds_where_nothing_can_be_said(marvin: Marvin) -> None:
    with open("/dev/full", "wb") as full, marvin.start("--nonsense", stderr=full) as process:
        assert process.wait(timeout=20) == 2


def test_an_unprintable_word_does_no_harm(marvin: Marvin) -> None:
    done = marvin.run("-p", "--\x1b[2J", "hi")
    assert done.code == 2
    assert "\x1b" not in done.stderr


def test_wrong_words_are_told_as_json_to_those_who_want_json(marvin: Marvin) -> None:
    done = marvin.run("--headless", "--nonsense", "hi")
    assert done.code == 2
    assert done.json["ok"] is False
    assert "--nonsense" in done.json["error"]
    done = marvin.run("--output", "stream-json", "--nonsense", "hi")
    assert done.code == 2
    assert [line["type"] for line in done.lines] == ["header", "agent.end"]
    assert done.lines[1]["exitCode"] == 2


def test_the_wanted_output_is_seen_in_wrong_words() -> None:
    assert wanted_output(["--headless", "--x"]) == "json"
    assert wanted_output(["--output=stream-json", "--x"]) == "stream-json"
    assert wanted_output(["--output", "json", "--x"]) == "json"
    assert wanted_output(["--output", "xml"]) == "text"
    assert wanted_output(["--", "--headless"]) == "text"


def test_every_command_has_help_that_names_it(marvin: Marvin) -> None:
    listed = marvin.run("--help").stdout
    for name in COMMANDS:
        assert f"  {name} " in listed
        done = marvin.run(name, "--help")
        assert done.code == 0
        assert f"usage: marvin {name}" in done.stdout


def test_the_whole_command_line_can_be_described() -> None:
    text = whole_parser().format_help()
    assert "--append-system-prompt" in text
    assert "sessions" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_options_and_commands(marvin: Marvin, shell: str) -> None:
    done = marvin.run("completion", shell)
    assert done.code == 0, done.stderr
    for word in ("permission-mode", "sessions", "doctor", "all"):
        assert word in done.stdout


def test_version_and_help_load_next_to_nothing() -> None:
    code = """
import sys
before = set(sys.modules)
from marvin_agent.frontends.cli import main
try:
    main([sys.argv[1]])
except SystemExit:
    pass
import json
print(json.dumps(sorted(name for name in set(sys.modules) - before if name.startswith("marvin") or "." not in name)))
"""
    for flag in ("--version", "--help"):
        done = subprocess.run([sys.executable, "-c", code, flag], capture_output=True, text=True, check=True)
        loaded = json.loads(done.stdout.splitlines()[-1])
        assert [name for name in loaded if name.startswith("marvin")] == [
            "marvin_agent",
            "marvin_agent.errors",
            "marvin_agent.frontends",
            "marvin_agent.frontends.cli",
        ]
        forbidden = {"asyncio", "msgspec", "inspect", "dataclasses", "pathlib", "tempfile", "json", "subprocess"}
        assert not forbidden & {*loaded} - {"json"}


def test_help_tells_of_hooks_where_they_live_and_every_command_for_them(marvin: Marvin) -> None:
    text = marvin.run("--help").stdout
    section = text[text.index("\nhooks: ") : text.index("exit codes")]
    for words in ("~/.config/marvin/hooks", ".marvin/hooks", "PEP 723", "hooks.paths", "timeoutMs", "marvin trust"):
        assert words in section, words
    usage = marvin.run("hooks", "--help").stdout
    commands = re.findall(r"^    (\w+) ", usage, re.MULTILINE)
    assert len(commands) >= 8
    for command in commands:
        assert re.search(rf"\b{command}\b", section), command
