"""What the design documents of the hooks (seeds 000 to 002) promise of the terminal app, a test for each."""

import json
from pathlib import Path
from typing import Any

from tui.pilot import Driven, a_marvin, driven
from tui.test_app import listening

BEGIN = "What shall be done?"


def hook(tmp_path: Path, body: str) -> str:
    path = tmp_path / "seed.py"
    path.write_text(f"def setup(marvin):\n{body}")
    return str(path)


async def prompt(one: Driven, text: str) -> None:
    await one.until_shown(BEGIN)
    await one.type(text)
    await one.press("enter")


def sent(one: Driven) -> str:
    """The conversation as it is stored."""
    assert one.app.engine
    return json.dumps([repr(message) for message in one.app.engine.session.messages()])


async def test_seed_000_a_prompt_is_injected_into_before_the_agent_starts(tmp_path: Path) -> None:
    body = """
    @marvin.on("chat.message")
    async def inject(event, ctx):
        event.output.parts.insert(0, {"type": "text", "text": "MEMORY"})
"""
    marvin = a_marvin(tmp_path, {"text": "wrong"}, {"text": "It saw that.", "match": "MEMORY"})
    async with driven(marvin, "--hook", hook(tmp_path, body)) as one:
        await prompt(one, "hello")
        await one.until_shown("It saw that.")
        assert "MEMORY" in one.text, "what is sent is what is shown"


async def test_a_message_that_a_hook_takes_over_says_so(tmp_path: Path) -> None:
    body = """
    marvin.on("chat.message", lambda event, ctx: {"handled": True})
"""
    marvin = a_marvin(tmp_path, {"text": "wrong"})
    async with driven(marvin, "--hook", hook(tmp_path, body)) as one:
        await prompt(one, "hello")
        await one.until_shown("flag:seed took the message over: nothing goes to the model")


async def test_seed_000_a_renderer_overrides_the_default_view_and_a_hidden_message_is_not_shown(tmp_path: Path) -> None:
    body = """
    from rich.text import Text
    marvin.register_message_renderer("note", lambda message, expanded, theme: Text(f"** {message.text} **"))

    @marvin.command("note", "two messages")
    async def note(args, ctx):
        marvin.send_message({"custom_type": "note", "content": "drawn"})
        marvin.send_message({"custom_type": "note", "content": "NOT SHOWN", "display": False})
"""
    marvin = a_marvin(tmp_path, {"text": "wrong"}, {"text": "It got both.", "match": "hello"})
    async with driven(marvin, "--hook", hook(tmp_path, body)) as one:
        await prompt(one, "/note ")
        await one.until_shown("** drawn **")
        await prompt(one, "hello")
        await one.until_shown("It got both.")
        assert "NOT SHOWN" in sent(one)
        assert "NOT SHOWN" not in one.text


async def test_seed_000_a_cancelled_question_is_none_and_a_toast_is_shown(tmp_path: Path) -> None:
    body = """
    @marvin.command("ask", "asks three things")
    async def ask(args, ctx):
        chosen = await ctx.ui.select("Which?", ["a", "b"])
        typed = await ctx.ui.input("What?")
        sure = await ctx.ui.confirm("Sure?")
        ctx.session.toast("Answers", f"{chosen} {typed} {sure}", "warning")
"""
    async with driven(a_marvin(tmp_path), "--hook", hook(tmp_path, body)) as one:
        await prompt(one, "/ask ")
        for title in ("Which?", "What?", "Sure?"):
            await listening(one, title)
            await one.press("escape")
        await one.until_shown("Answers: None None False")


async def test_seed_000_a_hooks_tool_is_in_the_list_of_tools(tmp_path: Path) -> None:
    body = """
    @marvin.tool
    def supermemory(text: str) -> str:
        "Remember a text."
        return text
"""
    async with driven(a_marvin(tmp_path), "--hook", hook(tmp_path, body)) as one:
        await prompt(one, "/tools ")
        await one.until_shown("supermemory")


async def test_seed_001_ctrl_p_tells_of_the_model_before_and_the_new_one(tmp_path: Path) -> None:
    body = """
    @marvin.on("model.change")
    async def tell(event, ctx):
        before, after = event.previous_model_id, event.new_model_id
        ctx.ui.notify(f"{event.previous_provider}/{before} -> {event.new_provider}/{after} by {event.source}")
"""
    marvin = a_marvin(tmp_path, models=("one", "two"))
    marvin.configure(model="demo/one,demo/two")
    async with driven(marvin, "--hook", hook(tmp_path, body)) as one:
        await one.until_shown(BEGIN)
        await one.press("ctrl+p")
        await one.until_shown("demo/one -> demo/two by cycle")


async def test_seed_001_a_cancelled_clear_is_told_and_the_conversation_stays(tmp_path: Path) -> None:
    body = """
    @marvin.on("session.before_clear")
    async def stay(event, ctx):
        return {"cancel": True, "reason": "not yet"}
"""
    async with driven(a_marvin(tmp_path, {"text": "Hi there."}), "--hook", hook(tmp_path, body)) as one:
        await prompt(one, "hello")
        await one.until_shown("Hi there.")
        await prompt(one, "/clear ")
        await one.until_shown("Clear cancelled by flag:seed: not yet")
        assert "Hi there." in one.text


async def test_seed_002_a_gate_asks_while_the_screen_goes_on_and_no_means_no(tmp_path: Path) -> None:
    body = """
    @marvin.on("tool_call", tools=("bash",))
    def gate(event, ctx):  # a plain function: it waits in a thread of its own
        if not ctx.ui.confirm("Dangerous command", event.input["command"]):
            return {"block": True, "reason": "user denied command"}
"""
    calls: dict[str, Any] = {"toolCalls": [{"name": "bash", "arguments": {"command": "rm -rf build"}}]}
    marvin = a_marvin(tmp_path, calls, {"text": "You said no.", "match": "user denied command"})
    (marvin.work / "build").mkdir()
    async with driven(marvin, "--auto", "--hook", hook(tmp_path, body)) as one:
        await prompt(one, "clean")
        await listening(one, "Dangerous command")
        await one.press("escape")
        await one.until_shown("You said no.")
    assert (marvin.work / "build").exists()
