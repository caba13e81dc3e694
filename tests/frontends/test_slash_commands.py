"""`/compact`, `/clear`, `/new` and the commands of hooks, headless."""

import json
from pathlib import Path

import pytest

from program import Marvin

HOOK = """
def setup(marvin):
    @marvin.command("shout", "says it loudly")
    def shout(args, ctx):
        ctx.ui.notify(args.upper())
        return f"mode {ctx.mode}"

    @marvin.command("ask", "asks the model")
    async def ask(args, ctx):
        marvin.send(f"Please: {args}")

    @marvin.command("broken", "breaks")
    async def broken(args, ctx):
        raise ValueError("no good")

    @marvin.command("slow", "waits")
    async def slow(args, ctx):
        import asyncio
        ctx.ui.notify("waiting")
        await asyncio.sleep(60)
"""


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    made = Marvin(tmp_path)
    (made.work / "hook.py").write_text(HOOK)
    return made


def test_compact_puts_a_summary_in_place(marvin: Marvin) -> None:
    marvin.script({"text": "one"})
    marvin.run("-p", "what is a zebra?")
    marvin.script({"text": "The summary.", "match": "the tests only"})
    done = marvin.run("-p", "-c", "/compact the tests only")
    assert done.code == 0, done.stderr
    assert "compacted" in done.stdout
    marvin.script({"text": "two"})
    marvin.run("-p", "-c", "--record", "sent", "second")
    sent = (marvin.work / "sent").read_text()
    assert "The summary." in sent
    assert "zebra" not in sent
    assert len(marvin.sessions) == 1


def test_compact_leaves_no_short_message_out_of_the_summary(marvin: Marvin) -> None:
    marvin.script({"text": "one"}, {"text": "two"})
    marvin.run("-p", "hi")
    marvin.run("-p", "-c", "yes")
    marvin.script({"text": "The summary.", "match": "(?s)User: hi.*Agent: one.*User: yes.*Agent: (one|two)"})
    marvin.run("-p", "-c", "/compact")
    marvin.script({"text": "more"})
    marvin.run("-p", "-c", "--record", "sent", "no")
    request = json.loads((marvin.work / "sent").read_text().splitlines()[1])
    assert [message["role"] for message in request["body"]["messages"]] == ["system", "user", "user"]


def test_what_a_compaction_costs_is_told(marvin: Marvin) -> None:
    price = {"input": 1_000_000, "output": 0}
    marvin.script({"text": "one"}, cost=price)
    marvin.run("-p", "hi")
    marvin.script({"text": "The summary.", "usage": {"input": 7, "output": 2}}, cost=price)
    done = marvin.run("--headless", "-c", "/compact").json
    assert (done["cost"], done["usage"]["totalTokens"]) == (7.0, 9)
    marvin.script({"text": "two"}, cost=price)
    marvin.run("-p", "-c", "go on")
    marvin.script({"text": "Sum.", "usage": {"input": 3, "output": 2}}, cost=price)
    lines = marvin.run("--output", "stream-json", "-c", "/compact").lines
    (end,) = [line for line in lines if line["type"] == "compaction.end"]
    assert (end["summary"], end["usage"]["cost"]["total"]) == ("Sum.", 3.0)


def test_compact_with_nothing_to_compact_fails_in_every_output(marvin: Marvin) -> None:
    marvin.script({"text": "never"})
    done = marvin.run("-p", "/compact")
    assert (done.code, done.stdout) == (1, "")
    assert "nothing to compact" in done.stderr
    done = marvin.run("--headless", "/compact")
    assert (done.code, done.json["ok"], done.json["stopReason"]) == (1, False, "error")
    done = marvin.run("-p", "--output", "stream-json", "/compact")
    assert done.lines[-1]["type"] == "agent.end"
    assert "nothing to compact" in done.lines[-1]["error"]
    assert marvin.sessions == []


@pytest.mark.parametrize("command", ["/clear", "/new"])
def test_a_new_session_leaves_the_old_one_as_it_is(marvin: Marvin, command: str) -> None:
    marvin.script({"text": "one"})
    marvin.run("-p", "first")
    before = marvin.sessions[0].read_bytes()
    done = marvin.run("-p", "-c", command)
    assert done.code == 0
    assert "new" in done.stdout
    assert [path.read_bytes() for path in marvin.sessions] == [before]
    assert marvin.run("-p", "-c", command, "now").code == 2


def test_a_slash_that_is_no_command_is_a_prompt(marvin: Marvin) -> None:
    for prompt in ("/etc/hosts is what?", "/", "/ compact", "/xyz"):
        marvin.script({"text": "a prompt"})
        assert marvin.run("-p", prompt).stdout == "a prompt\n"


def test_commands_of_hooks_run(marvin: Marvin) -> None:
    marvin.script({"text": "never"})
    done = marvin.run("-p", "--hook", "hook.py", "/shout hello there")
    assert (done.code, done.stdout) == (0, "mode print\n")
    assert "HELLO THERE" in done.stderr
    assert marvin.sessions == []


def test_a_command_may_make_the_model_work(marvin: Marvin) -> None:
    marvin.script({"text": "Here it is.", "match": "^Please: tea$"})
    done = marvin.run("--headless", "--hook", "hook.py", "/ask tea")
    assert done.code == 0, done.json
    assert (done.json["assistant"], done.json["turns"]) == ("Here it is.", 1)


def test_a_command_that_breaks_is_named_with_its_line(marvin: Marvin) -> None:
    marvin.script({"text": "never"})
    done = marvin.run("-p", "--hook", "hook.py", "/broken")
    assert done.code == 1
    assert "/broken of flag:hook failed at hook.py:14: ValueError: no good" in done.stderr


def test_a_command_that_hangs_can_be_interrupted(marvin: Marvin) -> None:
    marvin.script({"text": "never"})
    with marvin.terminal("-p", "--hook", "hook.py", "/slow") as terminal:
        terminal.wait_for("waiting")
        terminal.send("\x03")
        assert terminal.end() == 130


def test_a_hook_may_not_take_the_name_of_a_built_in_command(marvin: Marvin) -> None:
    (marvin.work / "thief.py").write_text(
        "def setup(marvin):\n    marvin.command('compact', 'x')(lambda a, c: 'mine')\n"
    )
    marvin.script({"text": "never"})
    done = marvin.run("-p", "--hook", "thief.py", "/compact")
    assert "marvin's own" in done.stderr
    assert "mine" not in done.stdout


def test_attachments_do_not_go_with_a_command(marvin: Marvin) -> None:
    marvin.script({"text": "never"})
    assert marvin.run("-p", "--attach", "hook.py", "/new").code == 2
