"""The app as a user has it: the installed program in a real terminal."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from program import PROGRAM, Marvin, Terminal

pytestmark = pytest.mark.terminal
PASTE, END = "\x1b[200~", "\x1b[201~"
ENTER, ESCAPE, CTRL_C, ALT_ENTER = "\r", "\x1b", "\x03", "\x1b\r"
READY = "Enter sends"
GATE = """
def setup(marvin):
    @marvin.on("tool.execute.before", tools=("bash",))
    async def gate(event, ctx):
        question = {"tool_name": "bash", "input": event.input, "rule": None, "patterns": ["echo *"]}
        answer = await ctx.ui.permission(question)
        if answer["decision"] != "allow":
            return {"block": True, "reason": answer["reason"] or "no"}
"""
CONFIRMS = """
def setup(marvin):
    @marvin.on("tool.execute.before", tools=("bash",))
    async def gate(event, ctx):
        if not await ctx.ui.confirm("May it?", event.input["command"]):
            return {"block": True, "reason": "the answer was no"}
"""


def bash(command: str) -> dict[str, Any]:
    return {"name": "bash", "arguments": {"command": command}}


def hook(marvin: Marvin, source: str) -> str:
    path = marvin.home / "gate.py"
    path.write_text(source)
    return str(path)


def leave(terminal: Terminal) -> str:
    """Ctrl+C twice; what stays on the normal screen."""
    terminal.send(CTRL_C)
    terminal.wait_for("again leaves")
    terminal.send(CTRL_C)
    assert terminal.end() == 0
    return terminal.text


def said(marvin: Marvin, role: str) -> list[str]:
    """The texts of a role in the only session."""
    messages = [message["content"] for message in marvin.messages() if message["role"] == role]
    return ["".join(part.get("text", "") for part in content) for content in messages]


def test_a_prompt_is_answered_and_leaving_prints_the_answer_and_the_way_back(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Good morning to you.", "match": "hello"})
    with marvin.terminal() as terminal:
        terminal.wait_for(READY)
        terminal.send("hello\r")
        terminal.wait_for("Good morning to you")
        left = leave(terminal)
    (session,) = marvin.sessions
    assert "Good morning to you." in left
    assert f"marvin --session {session.stem.rpartition('_')[2]}" in left


def test_the_first_start_without_any_configuration_says_what_to_do_and_login_goes_on(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    with marvin.terminal() as terminal:
        terminal.wait_for("no model is named")
        assert "/login" in terminal.text
        terminal.send("hello\r")
        terminal.wait_for("no model yet")
        terminal.wait_for("│ hello")
        terminal.send(f"{CTRL_C}/login openai\r")
        terminal.wait_for("API key of openai")
        terminal.send("")
        wait_until_it_listens(terminal)
        terminal.send("sk-test-1234\r")
        terminal.wait_for("openai/")
        assert "sk-test" not in terminal.text
    assert "sk-test-1234" in (marvin.config_dir / "auth.json").read_text()


def wait_until_it_listens(terminal: Terminal) -> None:
    """A dialog does not listen at once: a key too early goes to the editor, so that none answers by accident."""
    terminal.quiet(0.5)


def test_keys_typed_before_the_app_is_there_are_not_lost(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "I heard you.", "match": "^early bird$"})
    with marvin.terminal() as terminal:
        terminal.wait_for("marvin")
        terminal.send("early bird\r")
        terminal.wait_for("I heard you")


def test_the_prompt_of_the_command_line_is_sent_at_the_start(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "It is mended.", "match": "^fix the test$"})
    with marvin.terminal("fix the test") as terminal:
        terminal.wait_for("It is mended")
        assert "fix the test" in terminal.text


def test_a_tool_is_refused_with_a_reason_that_the_model_reads_and_then_allowed(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script(
        {"toolCalls": [bash("echo pudding > made")]},
        {"toolCalls": [bash("echo cake > made")], "match": "rather cake"},
        {"text": "Now there is cake."},
    )
    with marvin.terminal("--auto", "--hook", hook(marvin, GATE), "make it") as terminal:
        terminal.wait_for(r"May bash run\?")
        assert "echo pudding > made" in terminal.text
        wait_until_it_listens(terminal)
        terminal.send("r")
        terminal.wait_for("what should be done")
        terminal.send("rather cake\r")
        terminal.wait_for("echo cake > made")
        wait_until_it_listens(terminal)
        terminal.send("y")
        terminal.wait_for("Now there is cake")
    assert (marvin.work / "made").read_text() == "cake\n"


def test_typing_on_does_not_answer_a_question_and_is_not_lost(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"toolCalls": [bash("touch made")], "delayMs": 300}, {"text": "It was refused."})
    with marvin.terminal("--auto", "--hook", hook(marvin, GATE)) as terminal:
        terminal.wait_for(READY)
        terminal.send("go\r")
        while "May bash run" not in terminal.text:
            terminal.send("y")
            terminal.quiet(0.02)
        terminal.send("yyy")
        wait_until_it_listens(terminal)
        assert "May bash run" in terminal.text
        terminal.send("n")
        terminal.wait_for("It was refused")
        terminal.wait_for("yyyy")
    assert not (marvin.work / "made").exists()


def test_enter_steers_alt_enter_queues_and_the_queue_can_be_taken_back(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script(
        {"toolCalls": [bash("until [ -e go ]; do sleep 0.02; done")]},
        {"text": "Steered.", "match": "rather left"},
        {"text": "Followed.", "match": "and then right"},
    )
    with marvin.terminal("--auto", "drive") as terminal:
        terminal.wait_for("running bash")
        terminal.send("rather left\r")
        terminal.wait_for("steer: rather left")
        terminal.send(f"and then up{ALT_ENTER}")
        terminal.wait_for("follow-up: and then up")
        terminal.send("\x1b[1;3A")
        terminal.wait_for_not("follow-up:")
        terminal.wait_for("rather left")
        terminal.send(CTRL_C)
        terminal.send("rather left\r")
        terminal.wait_for("steer: rather left")
        terminal.send(f"and then right{ALT_ENTER}")
        terminal.wait_for("follow-up: and then right")
        (marvin.work / "go").touch()
        terminal.wait_for("Steered")
        terminal.wait_for("Followed")
    assert said(marvin, "user") == ["drive", "rather left", "and then right"]


def test_escape_stops_keeps_what_there_is_and_gives_the_queue_back(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "one two three " * 200, "chunkDelayMs": 20}, {"text": "Going on."})
    with marvin.terminal("count") as terminal:
        terminal.wait_for("one two three")
        terminal.send("what I wanted to say\r")
        terminal.wait_for("steer: what I wanted")
        terminal.send(ESCAPE)
        terminal.wait_for("Stopped")
        terminal.wait_for_not("steer:")
        terminal.wait_for("│ what I wanted to say")
        terminal.send(ENTER)
        terminal.wait_for("Going on")
    first, second = said(marvin, "assistant")
    assert first.startswith("one two three") and second == "Going on."
    assert said(marvin, "user") == ["count", "what I wanted to say"]


def test_two_hook_dialogs_of_parallel_tools_come_one_after_the_other(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"toolCalls": [bash("touch first"), bash("touch second")]}, {"text": "Half done."})
    with marvin.terminal("--auto", "--hook", hook(marvin, CONFIRMS), "do both") as terminal:
        terminal.wait_for(r"(?s)May it\?.*touch first")
        assert terminal.text.count("May it?") == 1
        wait_until_it_listens(terminal)
        terminal.send("y")
        terminal.wait_for(r"(?s)May it\?.*touch second")
        wait_until_it_listens(terminal)
        terminal.send(ENTER)  # No is what Enter says
        terminal.wait_for("Half done")
    assert (marvin.work / "first").exists() and not (marvin.work / "second").exists()


def test_an_aborted_run_drops_its_open_dialog(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"toolCalls": [bash("touch made")]}, {"text": "Something else."})
    source = CONFIRMS + "\n    marvin.command('stop', 'stops', ) (lambda args, ctx: ctx.abort())\n"
    with marvin.terminal("--auto", "--hook", hook(marvin, source), "go") as terminal:
        terminal.wait_for("May it")
        os.kill(terminal.child.pid, signal.SIGTERM)
        assert terminal.end() == 128 + signal.SIGTERM
    assert not (marvin.work / "made").exists()


def test_the_app_is_seen_where_standard_error_goes_into_a_file(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "The answer."})
    command = ["bash", "-c", '"$@" 2>log', "bash", *PROGRAM, "hi"]
    with Terminal(command, marvin.env, str(marvin.work), 100, 30) as terminal:
        terminal.wait_for("The answer")
        terminal.wait_for(READY)
        terminal.send(CTRL_C)
        terminal.wait_for("again leaves")
        terminal.send(CTRL_C)
        assert terminal.end() == 0
    assert (marvin.work / "log").read_bytes() == b""


def test_an_editor_that_leaves_no_file_leaves_the_prompt_as_it_was(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Hi."})
    marvin.configure(editor=["rm"])
    with marvin.terminal() as terminal:
        terminal.wait_for(READY)
        terminal.send("half a thought")
        terminal.wait_for("half a thought")
        terminal.send("\x07")
        terminal.wait_for("rm left no text")
        terminal.wait_for("half a thought")


def test_a_session_is_chosen_and_gone_on_with(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "The answer of before."}, {"text": "And more.", "match": "go on"})
    assert marvin.run("-p", "the question of before").code == 0
    with marvin.terminal("-r") as terminal:
        terminal.wait_for("Go on with which session")
        assert "the question of before" in terminal.text
        wait_until_it_listens(terminal)
        terminal.send(ENTER)
        terminal.wait_for("The answer of before")
        terminal.send("go on\r")
        terminal.wait_for("And more")
    assert len(marvin.sessions) == 1
    (marvin.work / "below").mkdir()
    with marvin.terminal("-r", "--cwd", "below") as terminal:
        terminal.wait_for("the question of before")


def test_sixty_columns_are_enough(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Small is fine, and this sentence is long enough to be wrapped at sixty columns."})
    with marvin.terminal(columns=120) as terminal:
        terminal.wait_for(READY)
        terminal.resize(60, 20)
        terminal.send("a question\r")
        terminal.wait_for("Small is fine")
        terminal.wait_for("F1 keys")
        lines = terminal.text.splitlines()
        assert max(map(len, lines)) <= 60
        assert lines[0].lstrip().startswith("marvin") and lines[0].rstrip().endswith("demo/one")


def test_a_paste_of_5000_lines_is_folded_and_sent_whole(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Much to read."})
    lines = [f"line {number} of the paste" for number in range(5000)]
    with marvin.terminal() as terminal:
        terminal.wait_for(READY)
        terminal.send("look: ")
        terminal.send(PASTE + "\n".join(lines) + END)
        terminal.wait_for(r"look: \[pasted 5000 lines #1\]")
        terminal.send(ENTER)
        terminal.wait_for("Much to read")
    (text,) = said(marvin, "user")
    assert text == "look: " + "\n".join(lines)


def test_foreign_text_is_neither_markup_nor_obeyed_by_the_terminal(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    foreign = "[bold]not markup[/bold] [/] [@click=app.quit]x \x1b[2J\x1b]0;owned\x07 end of it"
    marvin.script(
        {"toolCalls": [bash("printf '[red]out[/red] \\033[31mred\\033[0m [/x]'")]},
        {"text": foreign},
    )
    with marvin.terminal("--auto", "show [b]me[/b] [/]") as terminal:
        text = terminal.wait_for("end of it")
        assert "[bold]not markup[/bold] [/]" in text
        assert "show [b]me[/b] [/]" in text
        assert b"\x1b]0;owned" not in terminal.raw


def test_a_draft_survives_a_crash_and_is_back_at_the_next_start(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Sent after all.", "match": "half a thought\nand more"})
    with marvin.terminal() as terminal:
        terminal.wait_for(READY)
        terminal.send("half a thought\nand more")
        terminal.wait_for("and more")
        while not any((marvin.config_dir / "drafts").glob("*.json")) or "more" not in draft(marvin):
            terminal.quiet(0.02)
        os.kill(terminal.child.pid, signal.SIGKILL)
        terminal.end()
    with marvin.terminal() as terminal:
        terminal.wait_for("half a thought")
        terminal.wait_for(READY)
        terminal.send(ENTER)
        terminal.wait_for("Sent after all")
        leave(terminal)
    assert not list((marvin.config_dir / "drafts").iterdir())


def draft(marvin: Marvin) -> str:
    (path,) = (marvin.config_dir / "drafts").glob("*.json")
    text: str = json.loads(path.read_text())["text"]
    return text


def test_a_command_of_the_user_runs_unasked_and_only_one_mark_is_for_the_model(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "It printed 42.", "match": "what was it"})
    with marvin.terminal() as terminal:
        terminal.wait_for(READY)
        terminal.send("!echo $((6*7))\r")
        terminal.wait_for("42")
        terminal.send("!!echo $((70+7))\r")
        terminal.wait_for("77")
        terminal.send("what was it\r")
        terminal.wait_for("It printed 42")
    ran, asked = said(marvin, "user")
    assert "echo $((6*7))" in ran and "42" in ran
    assert asked == "what was it"


def test_an_untrusted_project_is_shown_before_anything_of_it_runs(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Hi."})
    hooks = marvin.work / ".marvin" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "mark.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\ndef setup(marvin): pass\n" + "#\n" * 90
    )
    with marvin.terminal() as terminal:
        terminal.wait_for("Trust this project")
        assert "mark.py" in terminal.wait_for(r"def setup\(marvin\)")
        assert not (tmp_path / "ran").exists()
        # However much there is to read, the answers are in sight.
        terminal.wait_for("n  No, go on without them")
        wait_until_it_listens(terminal)
        terminal.send("n")
        terminal.wait_for("not trusted")
        assert not (tmp_path / "ran").exists()
    with marvin.terminal() as terminal:
        terminal.wait_for("Trust this project")
        wait_until_it_listens(terminal)
        terminal.send("a")
        terminal.wait_for(READY)
        assert (tmp_path / "ran").exists()
        leave(terminal)
    with marvin.terminal() as terminal:
        terminal.wait_for(READY)
        assert "Trust" not in terminal.text


NEWS = """
import asyncio

def setup(marvin):
    @marvin.on("session.start")
    async def show(event, ctx):
        async def count():
            for number in range(10_000):
                ctx.ui.set_status("news", f"news {number}")
                await asyncio.sleep(0.01)
        marvin.background(count())

    @marvin.on("session.shutdown")
    async def stay(event, ctx):
        await asyncio.sleep(60)
"""


def test_the_app_ends_when_its_terminal_is_closed_however_much_it_has_to_show(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "word " * 2000, "chunkDelayMs": 5})
    command = ["bash", "-c", 'exec "$@" 2>log', "bash", *PROGRAM, "--hook", hook(marvin, NEWS), "go"]
    with Terminal(command, marvin.env, str(marvin.work), 100, 30) as terminal:
        terminal.wait_for("word word")
        assert terminal.hang_up() == 128 + signal.SIGTERM
    assert (marvin.work / "log").read_text() == ""
    (session,) = (path for path in marvin.sessions if path.parent.suffix != ".files")  # what hooks decided lies there
    assert [message["role"] for message in marvin.messages(session)] == ["user", "assistant"]
