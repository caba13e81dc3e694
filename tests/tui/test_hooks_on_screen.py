"""What hooks put on the screen, and what becomes of it when it fails."""

from pathlib import Path

import pytest

from tui.pilot import a_marvin, driven
from tui.test_app import hook, listening

WIDGETS = """
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Static

class Renders(Widget):
    DEFAULT_CSS = "Renders { height: 1; }"
    def render(self): raise ValueError("a [bad] one")

class Measures(Static):
    def get_content_height(self, *measures): raise ValueError("a [bad] one")

class Composes(Widget):
    def compose(self): raise ValueError("a [bad] one")

class Holds(Widget):
    DEFAULT_CSS = "Holds { height: 3; }"
    def compose(self): yield Renders()

class Mounts(Static):
    def on_mount(self): raise ValueError("a [bad] one")

class Ticks(Static):
    def on_mount(self): self.set_timer(0.01, self.tick)
    def tick(self): raise ValueError("a [bad] one")

class Calls(Static):
    def on_mount(self): self.app.call_later(self.tick)
    def tick(self): raise ValueError("a [bad] one")

class Works(Static):
    def on_mount(self): self.run_worker(self.work())
    async def work(self): raise ValueError("a [bad] one")

class Presses(Static):
    can_focus = True
    BINDINGS = [Binding("x", "fail", "fail")]
    def action_fail(self): raise ValueError("a [bad] one")
    def on_key(self, event):
        if event.key == "z": raise ValueError("a [bad] one")

def setup(marvin):
    @marvin.command("show", "shows a widget")
    async def show(args, ctx):
        ctx.ui.set_widget("w", globals()[args]())

    @marvin.command("own", "a widget of its own")
    async def own(args, ctx):
        return f"it gave {await ctx.ui.custom(lambda done: globals()[args]())!r}"

    @marvin.command("wrong", "gives what is no text")
    async def wrong(args, ctx):
        ui, told = ctx.ui, []
        for call in (lambda: ui.set_title(5), lambda: ui.set_status("k", 5), lambda: ui.set_editor_text(None),
                     lambda: ui.set_widget("k", 5), lambda: ui.set_widget("k", [5])):
            try:
                call()
            except Exception as error:
                told.append(str(error))
        for ask in (lambda: ui.confirm(5), lambda: ui.select("t", [5]), lambda: ui.input("t", 5), lambda: ui.editor(5)):
            try:
                await ask()
            except Exception as error:
                told.append(str(error))
        return f"{len(told)} of 9 told: {told[0]}"
"""


@pytest.mark.parametrize("kind", ["Renders", "Measures", "Composes", "Holds", "Mounts", "Ticks", "Calls", "Works"])
async def test_a_widget_of_a_hook_that_fails_is_replaced_by_the_error(tmp_path: Path, kind: str) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi there."})
    async with driven(marvin, "--hook", hook(tmp_path, WIDGETS)) as one:
        await one.until_shown("Enter sends")
        await one.type(f"/show {kind}")
        await one.press("enter")
        await one.until_shown("✗ flag:asking: failed in widget at asking.py:")
        assert "a [bad] one" in one.text
        if kind not in ("Calls", "Works"):
            await one.until_shown("flag:asking:w failed: ValueError: a [bad] one")
        await one.type("hello")
        await one.press("enter")
        await one.until_shown("Hi there.")


@pytest.mark.parametrize("kind", ["Composes", "Mounts", "Ticks"])
async def test_a_dialog_of_a_hook_that_fails_closes_and_the_hook_is_told(tmp_path: Path, kind: str) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi there."})
    async with driven(marvin, "--hook", hook(tmp_path, WIDGETS)) as one:
        await one.until_shown("Enter sends")
        await one.type(f"/own {kind}")
        await one.press("enter")
        await one.until_shown("the widget failed: ValueError")
        await one.until(lambda: not one.app.screen.is_modal, "the end of the dialog")


async def test_the_first_field_of_a_hooks_dialog_has_the_keys(tmp_path: Path) -> None:
    source = """
from textual.containers import Vertical
from textual.widgets import Input

class Form(Vertical):
    def __init__(self, done):
        super().__init__()
        self.done = done
    def compose(self):
        yield Input(id="name")
        yield Input(id="place")
    def on_input_submitted(self):
        self.done(", ".join(field.value for field in self.query(Input)))

def setup(marvin):
    @marvin.command("form", "asks")
    async def form(args, ctx):
        return f"it was {await ctx.ui.custom(Form)}"
"""
    marvin = a_marvin(tmp_path, {"text": "Hi there."})
    async with driven(marvin, "--hook", hook(tmp_path, source)) as one:
        await one.until_shown("Enter sends")
        await one.type("/form ")
        await one.press("enter")
        await listening(one, "Esc closes")
        await one.press("a", "tab", "b", "enter")
        await one.until_shown("it was a, b")


@pytest.mark.parametrize("key", ["x", "z"])
async def test_a_key_that_a_hooks_dialog_fails_at_closes_it(tmp_path: Path, key: str) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi there."})
    async with driven(marvin, "--hook", hook(tmp_path, WIDGETS)) as one:
        await one.until_shown("Enter sends")
        await one.type("/own Presses")
        await one.press("enter")
        await listening(one, "Esc closes")
        await one.press(key)
        await one.until_shown("the widget failed: ValueError")


async def test_what_is_no_text_is_told_to_the_hook_and_never_reaches_the_screen(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi there."})
    async with driven(marvin, "--hook", hook(tmp_path, WIDGETS)) as one:
        await one.until_shown("Enter sends")
        await one.type("/wrong")
        await one.press("enter", "enter")
        await one.until_shown("9 of 9 told: title is a text, not int")


BUSY = """
import asyncio, time

def setup(marvin):
    def slowly(text):
        time.sleep(60)

    @marvin.command("slow", "completes slowly", complete=slowly)
    async def slow(args, ctx):
        return f"slow got {args}"

    @marvin.command("flood", "tells much")
    async def flood(args, ctx):
        for number in range(300):
            ctx.ui.notify(f"note {number}.")
        ctx.ui.notify("\\n".join(f"line {number}" for number in range(50)))

    @marvin.command("ask", "asks")
    async def ask(args, ctx):
        await ctx.ui.confirm("May it?", "")

    @marvin.on("agent.end")
    async def never(event, ctx):
        await asyncio.sleep(60)

    @marvin.on("user.bash")
    def other(event, ctx):
        if "secret" in event.command:
            return {"block": True, "reason": "not [this]"}
        return {"command": event.command.replace("one", "two")}

    @marvin.on("session.shutdown")
    async def last(event, ctx):
        await ctx.ui.confirm("Really?", "")

    marvin.register_shortcut("ctrl+b", lambda ctx: 1 / 0)
"""


async def test_a_completion_that_takes_its_time_holds_neither_the_keys_nor_other_hooks_up(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi there."})
    async with driven(marvin, "--hook", hook(tmp_path, BUSY)) as one:
        await one.until_shown("Enter sends")
        await one.type("/slow down")
        await one.press("enter")
        await one.until_shown("slow got down")


async def test_a_flood_of_toasts_leaves_the_screen_readable_and_nothing_is_lost(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi there."})
    async with driven(marvin, "--hook", hook(tmp_path, BUSY), size=(80, 40)) as one:
        await one.until_shown("Enter sends")
        await one.type("/flood ")
        await one.press("enter")
        await one.until_shown("line 49")
        notices = [entry.source for entry in one.app.conversation.transcript.entries]
        shown = [f"note {number}." for number in range(300) if f"note {number}." in one.text]
        assert len(one.app._notifications) <= 4
        assert set(shown) | {text.removeprefix("flag:asking: ") for text in notices} >= {
            f"note {number}." for number in range(4, 300)
        }


async def test_a_command_of_the_user_that_a_hook_changed_opens_to_what_was_typed(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi there."})
    async with driven(marvin, "--hook", hook(tmp_path, BUSY)) as one:
        await one.until_shown("Enter sends")
        await one.type("!!echo one")
        await one.press("enter")
        await one.until_shown("[changed by flag:asking]")
        assert "- echo one" in one.text and "+ echo two" in one.text
        await one.type("!echo secret")
        await one.press("enter")
        await one.until_shown("✗ Not run: flag:asking: not [this]")
        assert "user.bash" not in one.text


async def test_a_shortcut_that_fails_is_told_with_its_key_and_place(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi there."})
    async with driven(marvin, "--hook", hook(tmp_path, BUSY)) as one:
        await one.until_shown("Enter sends")
        await one.press("ctrl+b")
        await one.until_shown("flag:asking: Ctrl+B of flag:asking failed at asking.py:36:")


STAYS = """
import asyncio

def setup(marvin):
    @marvin.on("session.shutdown")
    async def stay(event, ctx):
        await asyncio.sleep(60)
"""


async def test_leaving_asks_nothing_more_and_is_possible_at_once(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi there."})
    marvin.configure(keybindings={"skipHook": "f6"})
    stays = tmp_path / "stays.py"
    stays.write_text(STAYS)
    async with driven(marvin, "--hook", hook(tmp_path, BUSY), "--hook", str(stays)) as one:
        await one.until_shown("Enter sends")
        await one.type("hello")
        await one.press("enter")
        await one.until_shown("waiting for flag:asking (agent.end)")
        assert "F6 skips it" in one.text
        await one.type("/ask ")
        await one.press("enter")
        await listening(one, "May it?")
        await one.press("ctrl+c", "ctrl+c")
        await one.until_shown("leaving, Ctrl+C at once")
        assert "May it?" not in one.text and "Really?" not in one.text
        await one.press("ctrl+c")
        await one.until(lambda: one.app._exit, "the end")


async def test_a_question_says_which_hook_asks_and_marvins_own_does_not(tmp_path: Path) -> None:
    call = {"toolCalls": [{"name": "bash", "arguments": {"command": "true"}}]}
    marvin = a_marvin(tmp_path, call, {"text": "Done."})
    source = """
def setup(marvin):
    @marvin.on("chat.message")
    async def gate(event, ctx):
        await ctx.ui.confirm("other: Go on?", "")
    @marvin.command("own", "a widget")
    async def own(args, ctx):
        from textual.widgets import Static
        await ctx.ui.custom(lambda done: Static("a widget"))
"""
    path = tmp_path / "asks.py"
    path.write_text(source)
    isolated = tmp_path / "apart.py"
    isolated.write_text(source.replace("other: ", "").replace('"own"', '"apart"'))
    marvin.configure(hooks={"isolate": ["flag:apart"]})
    async with driven(marvin, "--hook", str(path), "--hook", str(isolated)) as one:
        await one.until_shown("Enter sends")
        await one.type("/own ")
        await one.press("enter")
        await listening(one, "─ flag:asks ─")
        await one.press("escape")
        await one.type("go")
        await one.press("enter")
        await listening(one, "─ flag:asks: other: Go on? ─")
        await one.press("y")
        await listening(one, "─ flag:apart: Go on? ─")
        await one.press("y")
        await one.until_shown("─ May bash run? ─")
