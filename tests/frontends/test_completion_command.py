"""Completion scripts, tried in the real shells."""

import argparse
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from marvin_agent.frontends.completion_command import add_arguments, run, script
from program import Marvin

SHELLS = ("bash", "zsh", "fish")
PRINT = 'printf "%s\\n" "${COMPREPLY[@]}"'


def a_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="marvin")
    parser.add_argument("-m", "--model", metavar="MODEL", help="the model: [an] id")
    parser.add_argument("--thinking", choices=("off", "minimal", "high"), help="how hard it 'thinks'")
    parser.add_argument("--attach", metavar="FILE", action="append", help="a file to send along")
    parser.add_argument("--cwd", metavar="DIR", help="the working directory")
    parser.add_argument("--headless", action="store_true", help="no terminal (default: %(default)s)")
    parser.add_argument("--secret-switch", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="what to do")
    commands = parser.add_subparsers()
    config = commands.add_parser("config", help="show the configuration")
    config.add_argument("what", nargs="?", choices=("show", "schema", "path"))
    config.add_argument("--json", action="store_true", help="as JSON")
    sessions = commands.add_parser("sessions", help="what was said: before")
    below = sessions.add_subparsers()
    below.add_parser("list")
    below.add_parser("remains", help=argparse.SUPPRESS)
    remove = below.add_parser("remove", aliases=["removal"])
    remove.add_argument("--force", choices=("yes", "no"))
    replay = commands.add_parser("replay", help="play back")
    replay.add_argument("speed", choices=("slow", "fast"))
    replay.add_argument("files", nargs="*", metavar="FILE")
    return parser


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the line is typed: a few files and directories to choose from."""
    work = tmp_path / "work"
    work.mkdir()
    for shell in SHELLS:
        (tmp_path / f"marvin.{shell}").write_text(script(shell, a_parser()))  # type: ignore[arg-type]
    (work / "notes.txt").write_text("")
    (work / "a picture.png").write_text("")
    (work / "sources").mkdir()
    (work / "setup.cfg").write_text("")
    return work


# A line as it is typed, and what it is after the tabulator key.
TYPED = [
    ("marvin --th", "marvin --thinking "),
    ("marvin --thinking mi", "marvin --thinking minimal "),
    ("marvin --headless --thinking=hi", "marvin --headless --thinking=high "),
    ("marvin conf", "marvin config "),
    ("marvin --model config sess", "marvin --model config sessions "),
    ("marvin --headless conf", "marvin --headless config "),
    ("marvin fix it --head", "marvin fix it --headless "),
    ("marvin config --j", "marvin config --json "),
    ("marvin config --json sch", "marvin config --json schema "),
    ("marvin sessions rem", "marvin sessions remove "),
    ("marvin sessions remove --force y", "marvin sessions remove --force yes "),
    ("marvin --attach no", "marvin --attach notes.txt "),
    ("marvin --attach a", "marvin --attach a\\ picture.png "),
    ("marvin --cwd s", "marvin --cwd sources/"),
    ("marvin replay sl", "marvin replay slow "),
    ("marvin replay slow no", "marvin replay slow notes.txt "),
    ("marvin replay slow notes.txt setup", "marvin replay slow notes.txt setup.cfg "),
    # Nothing of ours fits: the line stays as it was.
    ("marvin --secret", "marvin --secret"),
    ("marvin no", "marvin no"),
    ("marvin fix conf", "marvin fix conf"),
    ("marvin -- conf", "marvin -- conf"),
    ("marvin config --th", "marvin config --th"),
    ("marvin --model se", "marvin --model se"),
]


def the_line_after_tab(shell: pexpect.spawn, typed: str) -> str:
    """Types the line and the tabulator, then has the shell print the line instead of running it."""
    shell.send(typed + "\t\x18p")
    shell.expect(r"<<(.*?)>>")
    line = shell.match.group(1)
    shell.send("\x15\x18r")
    shell.expect("READY")
    assert isinstance(line, str)
    return line


def start(command: str, arguments: list[str], directory: Path) -> pexpect.spawn:
    home = str(directory.parent)
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    return pexpect.spawn(
        command,
        arguments,
        cwd=str(directory),
        env=environ,
        encoding="utf-8",
        timeout=10,
        echo=False,
        dimensions=(40, 400),
    )


def bash(directory: Path) -> Callable[[str], str]:
    shell = start("bash", ["--norc", "--noprofile", "-i"], directory)
    # Binding a key to a shell function gives it the line as typed.
    shell.sendline(r"""bind -x '"\C-xp": printf "<<%s>>\n" "$READLINE_LINE"'; bind -x '"\C-xr": printf "REA""DY\n"'""")
    shell.sendline("bind 'set bell-style none'; source ../marvin.bash; echo LOAD''ED")
    shell.expect("LOADED")
    return lambda typed: the_line_after_tab(shell, typed)


def zsh(directory: Path) -> Callable[[str], str]:
    shell = start("zsh", ["-f", "-i"], directory)
    shell.sendline("unsetopt zle_bracketed_paste; unset zle_bracketed_paste; setopt no_beep; PROMPT=; bindkey -e")
    shell.sendline("autoload -U compinit && compinit -u -D && source ../marvin.zsh")
    shell.sendline("p() { print -r -- \"<<$BUFFER>>\" }; zle -N p; bindkey '^Xp' p")
    shell.sendline("r() { print 'REA''DY' }; zle -N r; bindkey '^Xr' r; echo LOAD''ED")
    shell.expect("LOADED")
    return lambda typed: the_line_after_tab(shell, typed)


def fish(directory: Path) -> Callable[[str], str]:
    def complete(typed: str) -> str:
        """What fish offers; it types it when it is the only one."""
        done = subprocess.run(
            ["fish", "--no-config", "-c", "source ../marvin.fish; complete -C $argv[1]", "--", typed],
            cwd=directory,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(directory.parent), "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        offered = [line.partition("\t")[0] for line in done.stdout.splitlines()]
        last = typed.rpartition(" ")[2].rpartition("=")[2]
        if len(offered) != 1 or not offered[0].rpartition("=")[2].startswith(last):
            return typed
        word = re.sub(r"(?=[ ])", r"\\", offered[0].rpartition("=")[2])
        return typed.removesuffix(last) + word + ("" if word.endswith("/") else " ")

    return complete


@pytest.mark.parametrize("shell", [bash, zsh, fish])
def test_what_is_typed_is_completed(directory: Path, shell: Callable[[Path], Callable[[str], str]]) -> None:
    if not shutil.which(shell.__name__):
        pytest.skip(f"{shell.__name__} is not installed: its completion is not tested here")
    complete = shell(directory)
    expected = dict(TYPED)
    if shell is zsh:
        expected["marvin --th"] = "marvin --thinking="  # its way of saying that a value follows
    assert {typed: complete(typed) for typed in expected} == expected


def test_bash_offers_all_commands_and_options_that_fit(directory: Path) -> None:
    def offered(*words: str) -> list[str]:
        code = 'source ../marvin.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _marvin; ' + PRINT
        command = ["bash", "--norc", "--noprofile", "-c", code, "bash", *words]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    assert offered("marvin", "") == ["config", "sessions", "replay"]
    assert offered("marvin", "-") == ["-h", "--help", "-m", "--model", "--thinking", "--attach", "--cwd", "--headless"]
    assert offered("marvin", "--thinking", "") == ["off", "minimal", "high"]
    assert offered("marvin", "--thinking", "=") == ["off", "minimal", "high"]
    assert offered("marvin", "config", "") == ["show", "schema", "path"]
    assert offered("marvin", "--cwd", "") == ["sources"]


def test_fish_shows_what_each_command_is_for(directory: Path) -> None:
    if not shutil.which("fish"):
        pytest.skip("fish is not installed: its completion is not tested here")
    command = ["fish", "--no-config", "-c", "source ../marvin.fish; complete -C 'marvin '; complete -C 'marvin --thi'"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    assert "config\tshow the configuration\n" in done.stdout
    assert "--thinking\thow hard it 'thinks'\n" in done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_a_word_is_never_run_as_a_command(tmp_path: Path, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed: its completion is not tested here")
    parser = argparse.ArgumentParser(prog="marvin")
    evil = "$(touch run)`touch run`"
    parser.add_argument("--word", choices=(evil, "it's"), help=f'{evil} it\'s [all] \\ "right"')
    (tmp_path / "script").write_text(script(shell, parser))  # type: ignore[arg-type]
    code = {
        "bash": "source ./script; COMP_WORDS=(marvin --word ''); COMP_CWORD=2; _marvin; " + PRINT,
        "zsh": "compdef() { }; source ./script; _arguments() { print -r -- $@ }; _marvin",
        "fish": "source ./script; complete -C 'marvin --word '",
    }[shell]
    done = subprocess.run([shell, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "it's" in done.stdout
    assert evil in done.stdout
    assert done.stderr == ""
    assert not (tmp_path / "run").exists()


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert run(parser.parse_args(["zsh"]), a_parser()) == 0
    out = capsys.readouterr().out
    assert out.startswith(script("zsh", a_parser()).partition("--thinking")[0])
    with pytest.raises(SystemExit):
        parser.parse_args(["tcsh"])


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["--thinking", "x"], ["xhigh"]),
        (["--provider", "an"], ["anthropic"]),
        (["login", "gro"], ["groq"]),
        (["--tools", "gr"], ["grep"]),
        (["hooks", "new", "mine", "--event", "model.re"], ["model.resolve"]),
    ],
)
def test_names_that_marvin_knows_are_offered(tmp_path: Path, typed: list[str], offered: list[str]) -> None:
    (tmp_path / "script").write_text(Marvin(tmp_path).run("completion", "bash").stdout)
    code = 'source ./script; COMP_WORDS=(marvin "$@"); COMP_CWORD=$#; _marvin; ' + PRINT
    command = ["bash", "--norc", "--noprofile", "-c", code, "bash", *typed]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered
