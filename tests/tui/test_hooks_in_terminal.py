"""Hooks and a real terminal: it is given to programs, and taken back."""

from pathlib import Path

import pytest

from program import Marvin
from tui.test_app_in_terminal import CTRL_C, READY, hook

pytestmark = pytest.mark.terminal
GIVES = """
def setup(marvin):
    def names(text):
        return [name for name in ("asks", "sleeps", "missing") if name.startswith(text)]

    @marvin.command("give", "gives the terminal", complete=names)
    async def give(args, ctx):
        words = {"asks": ["bash", "-c", "read -p 'Who? ' name; echo $name $OPENAI_API_KEY > said; exit 3"],
                 "sleeps": ["bash", "-c", "echo asleep; sleep 60"], "missing": ["no-such-program"]}[args]
        return f"it ended with {await ctx.exec_interactive(words[0], words[1:])}"
"""


def test_a_program_gets_the_terminal_as_a_shell_gives_it_and_no_keys_of_providers(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Hello."})
    with marvin.terminal("--hook", hook(marvin, GIVES), env={"OPENAI_API_KEY": "sk-1"}) as terminal:
        terminal.wait_for(READY)
        # In one go: what the menu would complete must not be mixed into what was typed meanwhile.
        terminal.send("/give asks\r")
        terminal.wait_for("Who\\?")
        terminal.send("Ada\r")
        terminal.wait_for("it ended with 3")
    assert (marvin.work / "said").read_text() == "Ada\n"


def test_ctrl_c_ends_the_program_and_not_marvin(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Still here."})
    with marvin.terminal("--hook", hook(marvin, GIVES)) as terminal:
        terminal.wait_for(READY)
        terminal.send("/give sleeps\r")
        terminal.wait_for("asleep")
        terminal.send(CTRL_C)
        terminal.wait_for("it ended with -2")
        terminal.send("hello\r")
        terminal.wait_for("Still here")


def test_a_program_that_is_not_there_is_told_and_the_terminal_taken_back(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Still here."})
    with marvin.terminal("--hook", hook(marvin, GIVES), env={"EDITOR": "no-such-editor"}) as terminal:
        terminal.wait_for(READY)
        terminal.send("/give missing\r")
        terminal.wait_for("no-such-program cannot be started")
        terminal.wait_for("│ /give missing")
        terminal.send("\x15")  # Ctrl+U
        terminal.wait_for("What shall be done")
        terminal.send("/editor\r")
        terminal.wait_for("no-such-editor cannot be started")
        terminal.send("hello\r")
        terminal.wait_for("Still here")


def test_ctrl_q_leaves_properly_and_keeps_what_was_typed(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Hello."})
    source = f"""
from pathlib import Path

def setup(marvin):
    @marvin.on("session.shutdown")
    def down(event, ctx):
        Path({str(tmp_path / "why")!r}).write_text(event.reason)
"""
    with marvin.terminal("--hook", hook(marvin, source)) as terminal:
        terminal.wait_for(READY)
        terminal.send("half a thought")
        terminal.wait_for("│ half a thought")
        terminal.send("\x11")
        assert terminal.end() == 0
    assert (tmp_path / "why").read_text() == "quit"
    with marvin.terminal() as terminal:
        terminal.wait_for("│ half a thought")


def test_a_crash_is_told_without_the_values_of_variables_and_so_is_the_way_back(tmp_path: Path) -> None:
    source = """
from textual.widgets import Static

class Bad(Static):
    def on_mount(self):
        self.app.call_later(int, "no number")

def setup(marvin):
    @marvin.command("bad", "ends the app")
    async def bad(args, ctx):
        await ctx.ui.custom(lambda done: Bad())
"""
    marvin = Marvin(tmp_path)
    marvin.script({"text": "The answer."})
    path = tmp_path / "bad.py"
    path.write_text(source)
    with marvin.terminal("--hook", str(path), "a question", columns=140, rows=60) as terminal:
        terminal.wait_for("The answer")
        terminal.send("/bad\r")
        assert terminal.end() == 1
        assert "ValueError: no signature found for builtin type <class 'int'>" in terminal.text
        assert "marvin --session" in terminal.text and "locals" not in terminal.text


def test_the_terminal_has_its_own_title_again_when_marvin_is_left(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Hi."})
    path = tmp_path / "title.py"
    path.write_text("""
def setup(marvin):
    @marvin.on("session.start")
    async def show(event, ctx):
        ctx.ui.set_title("one \\x1b]52;c;two")
        ctx.ui.set_title("two")
        ctx.ui.set_status("a", "the title is set")
""")
    with marvin.terminal("--hook", str(path)) as terminal:
        terminal.wait_for("the title is set")
        terminal.send("/quit\r")
        assert terminal.end() == 0
        raw = terminal.raw
    assert raw.count(b"\x1b[22;2t") == raw.count(b"\x1b[23;2t") == 1
    assert raw.index(b"\x1b[22;2t") < raw.index(b"\x1b]2;one \\u001b]52;c;two\x07") < raw.index(b"\x1b[23;2t")
