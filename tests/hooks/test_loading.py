"""Discovery in six scopes, order, dedupe, packages, load failures, required hooks, reload, a lost loop."""

import asyncio
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from marvin_agent.agent import events as out
from marvin_agent.agent.commands import Call, run_command
from marvin_agent.errors import HookError, RequiredHookError
from marvin_agent.hooks.sources import Source, each_once, hooks_at, hooks_in
from marvin_agent.testing.engine import ScriptedEngine

NOTE = """
def setup(marvin):
    @marvin.on("agent.start")
    async def say(event, ctx):
        ctx.ui.notify({text})
"""


def hook(path: Path, text: str = "marvin.id") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(NOTE.format(text=text))
    return str(path)


def test_a_directory_gives_files_and_packages_sorted_and_no_deeper(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "_skip.py", ".hidden.py", "note.txt", "pkg/__init__.py", "pkg/deep.py", "empty/x.py"):
        hook(tmp_path / name)
    assert [os.path.relpath(path, tmp_path) for path in hooks_in(str(tmp_path))] == ["a.py", "b.py", "pkg/__init__.py"]
    assert hooks_in(str(tmp_path / "nowhere")) == []
    with pytest.raises(HookError, match="there is no such file"):
        hooks_at(str(tmp_path / "nowhere"))


async def test_hooks_load_in_the_order_of_their_scopes_with_unique_ids(tmp_path: Path) -> None:
    sources = [
        Source(hook(tmp_path / "flag/guard.py"), "flag"),
        Source(hook(tmp_path / "one/guard.py"), "global"),
        Source(hook(tmp_path / "two/guard.py"), "global"),
        Source(hook(tmp_path / "project/pkg/__init__.py"), "project"),
    ]
    async with ScriptedEngine(tmp_path, [{"text": "x"}]) as e:
        await e.engine.hooks.load_sources(sources)
        await e.prompt("go")
        assert [text for text, _, _ in e.notes] == ["global:guard", "global:guard-2", "project:pkg", "flag:guard"]


async def test_a_file_is_loaded_once_under_its_most_explicit_scope(tmp_path: Path) -> None:
    real = hook(tmp_path / "real.py")
    (tmp_path / "link.py").symlink_to(real)
    async with ScriptedEngine(tmp_path, [{"text": "x"}]) as e:
        await e.engine.hooks.load_sources([Source(real, "global"), Source(str(tmp_path / "link.py"), "flag")])
        await e.prompt("go")
        assert [text for text, _, _ in e.notes] == ["flag:link"]


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("def setup(marvin:\n", "SyntaxError in line 1"),
        ("import nothing_like_this\ndef setup(m): pass\n", "ModuleNotFoundError"),
        ("x = 1\n", "needs a function `setup(marvin)`"),
        ("def setup(marvin):\n    marvin.on('turn.strat', print)\n", "did you mean 'turn.start'"),
        ("def setup(marvin):\n    raise SystemExit(3)\n", "SystemExit"),
        ("import sys\nsys.exit(3)\n", "SystemExit"),
        ("async def setup(marvin):\n    1 / 0\n", "ZeroDivisionError"),
    ],
)
async def test_a_hook_that_does_not_load_is_reported_and_the_others_go_on(
    tmp_path: Path, code: str, complaint: str
) -> None:
    (tmp_path / "bad.py").write_text(code)
    good = hook(tmp_path / "good.py")
    async with ScriptedEngine(tmp_path, [{"text": "x"}], hook_files=[str(tmp_path / "bad.py"), good]) as e:
        await e.prompt("go")
        assert [text for text, _, _ in e.notes] == ["flag:good"]
        (problem,) = e.engine.hooks.problems
        assert problem.hook == "flag:bad"
        assert complaint in problem.error
        assert [event.hook for event in e.of(out.HookFailed)] == ["flag:bad"]


async def test_a_setup_that_hangs_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import asyncio\nasync def setup(marvin):\n    await asyncio.sleep(60)\n")
    async with ScriptedEngine(tmp_path, [{"text": "x"}], hook_files=[str(tmp_path / "slow.py")], hook_timeout=0.1) as e:
        assert "setup did not end within" in e.engine.hooks.problems[0].error
        await e.prompt("go")


@pytest.mark.parametrize(
    "code", ["def setup(marvin):\n    time.sleep(60)\n", "time.sleep(60)\ndef setup(marvin): ...\n"]
)
async def test_a_setup_that_blocks_the_loop_is_given_up_and_the_others_are_loaded_on_a_new_one(
    tmp_path: Path, code: str
) -> None:
    (tmp_path / "blocks.py").write_text(f"import time\n{code}")
    files = [hook(tmp_path / "good.py"), str(tmp_path / "blocks.py")]
    async with ScriptedEngine(tmp_path, [{"text": "x"}], hook_files=files, hook_timeout=0.1) as e:
        (problem,) = e.engine.hooks.problems
        assert (problem.hook, problem.event) == ("flag:blocks", "setup")
        assert "blocks the hook loop at blocks.py:" in problem.error
        await e.prompt("go")
        assert [text for text, _, _ in e.notes] == ["flag:good"]


async def test_a_package_imports_its_own_modules_from_the_bytes_that_were_judged(tmp_path: Path) -> None:
    pkg = tmp_path / "pkg"
    hook(pkg / "__init__.py", "helper.WORD")
    init = "from . import helper\nfrom .sub.deep import DEEP\n" + (pkg / "__init__.py").read_text()
    files = {
        str(pkg / "__init__.py"): init.encode(),
        str(pkg / "helper.py"): b"WORD = 'judged'\n",
        str(pkg / "sub/__init__.py"): b"",
        str(pkg / "sub/deep.py"): b"from ..helper import WORD as DEEP\n",
    }
    (pkg / "helper.py").write_text("WORD = 'planted'\n")
    async with ScriptedEngine(tmp_path, [{"text": "x"}]) as e:
        await e.engine.hooks.load_sources([Source(str(pkg / "__init__.py"), "project", files)])
        assert e.engine.hooks.problems == []
        await e.prompt("go")
        assert [text for text, _, _ in e.notes] == ["judged"]


async def test_a_planted_pyc_is_never_run(tmp_path: Path) -> None:
    import py_compile

    path = tmp_path / "hooks" / "guard.py"
    hook(path, "'planted'")
    cached = py_compile.compile(str(path), doraise=True)
    assert cached
    stamp = path.stat()
    path.write_text(NOTE.format(text="'true'  "))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    async with ScriptedEngine(tmp_path, [{"text": "x"}], hook_files=[str(path)]) as e:
        await e.prompt("go")
        assert [text for text, _, _ in e.notes] == ["true"]


async def test_a_single_file_cannot_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("X = 1\n")
    (tmp_path / "guard.py").write_text("from . import beside\ndef setup(m): pass\n")
    async with ScriptedEngine(tmp_path, hook_files=[str(tmp_path / "guard.py")]) as e:
        assert "ImportError" in e.engine.hooks.problems[0].error


@pytest.mark.parametrize("isolate", [False, True])
async def test_a_module_of_a_package_imports_its_neighbours_and_leaves_nothing(tmp_path: Path, isolate: bool) -> None:
    package = tmp_path / "mine" / "inner"
    package.mkdir(parents=True)
    (tmp_path / "mine" / "__init__.py").write_text("X = 1\n")
    (tmp_path / "mine" / "words.py").write_text("from . import X\n")
    (package / "__init__.py").touch()
    (package / "guard.py").write_text(
        "from ..words import X\nfrom marvin_agent.hooks import HookAPI\n\n"
        "def setup(marvin: HookAPI) -> None:\n    marvin.command(f'x{X}')(lambda args, ctx: None)\n"
    )
    before = set(sys.modules)
    files, isolated = [str(package / "guard.py")], ("flag:guard",) if isolate else ()
    async with ScriptedEngine(tmp_path, hook_files=files, isolate=isolated) as e:
        assert e.engine.hooks.problems == []
        assert "x1" in e.engine.side.commands
        await e.engine.hooks.reload([])
        assert not [name for name in set(sys.modules) - before if name.startswith("marvin_hook_")]


async def test_a_required_hook_that_is_missing_stops_the_start(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, required=("global:audit",)) as e:
        with pytest.raises(RequiredHookError, match="global:audit is not there") as raised:
            e.engine.hooks.require()
        assert raised.value.exit_code == 78


async def test_a_disabled_hook_is_not_loaded(tmp_path: Path) -> None:
    path = hook(tmp_path / "guard.py")
    async with ScriptedEngine(tmp_path, [{"text": "x"}], hook_files=[path], disabled=("flag:guard",)) as e:
        await e.prompt("go")
        assert e.notes == []


async def test_reload_leaves_nothing_of_the_old_hooks(tmp_path: Path) -> None:
    path = tmp_path / "guard.py"
    path.write_text(
        """
import asyncio
def setup(marvin):
    async def tick():
        while True:
            await asyncio.sleep(0.01)
            marvin.log.debug("tick")
    marvin.background(tick())
    marvin.command("old", "old")(lambda args, ctx: None)
    @marvin.tool
    async def old_tool(text: str) -> str:
        "An old tool."
        return text
    @marvin.on("agent.start")
    async def say(event, ctx):
        ctx.ui.notify("old")
"""
    )
    async with ScriptedEngine(tmp_path, [{"text": "x"}, {"text": "y"}], hook_files=[str(path)]) as e:
        hooks = e.engine.hooks
        assert hooks.problems == []
        old = next(hook for hook in hooks.registry.hooks if hook.id == "flag:guard")
        assert "old_tool" in e.engine.setup.tools
        assert "old" in e.engine.side.commands
        path.write_text(NOTE.format(text="'new'"))
        await hooks.reload([Source(str(path), "flag")])
        assert old.off == "it was reloaded"
        assert "old_tool" not in e.engine.setup.tools
        assert "old" not in e.engine.side.commands
        assert await hooks.loop.call(_task_names) == 0
        assert len([name for name in sys.modules if name.startswith("marvin_hook_") and "guard" in name]) == 1
        await e.prompt("go")
        assert [text for text, _, _ in e.notes] == ["new"]
        assert [hook.id for hook in hooks.registry.hooks] == ["flag:guard"]


async def _task_names() -> int:
    return len([task for task in asyncio.all_tasks() if "tick" in repr(task.get_coro())])


async def _work() -> None: ...


STALE: dict[str, Callable[[Any], Any]] = {
    "send": lambda marvin: marvin.send("hello"),
    "on": lambda marvin: marvin.on("turn.start", lambda event, ctx: None),
    "background": lambda marvin: marvin.background(_work()),
    "every": lambda marvin: marvin.every(1, lambda: None),
    "events": lambda marvin: marvin.events.emit("channel", 1),
    "tools": lambda marvin: marvin.active_tools,
}


@pytest.mark.parametrize("member", STALE)
async def test_a_stale_marvin_raises(tmp_path: Path, member: str) -> None:
    kept: list[Any] = []

    def setup(marvin: Any) -> None:
        kept.append(marvin)

    module = tmp_path / "guard.py"
    module.write_text("import builtins\ndef setup(marvin):\n    builtins.kept_marvin.append(marvin)\n")
    importlib.import_module("builtins").kept_marvin = kept
    async with ScriptedEngine(tmp_path, hook_files=[str(module)]) as e:
        await e.engine.hooks.reload([])
        with pytest.raises(HookError, match="stale"):
            STALE[member](kept[0])


async def test_a_stale_ctx_of_a_command_raises_once_the_command_is_over(tmp_path: Path) -> None:
    kept: list[Any] = []
    module = tmp_path / "guard.py"
    module.write_text("""
import builtins
def setup(marvin):
    @marvin.command("again")
    async def again(args, ctx):
        await ctx.session.reload()
        ctx.ui.notify("loaded again")
        builtins.kept_ctx.extend([ctx, ctx.ui])
""")
    importlib.import_module("builtins").kept_ctx = kept
    async with ScriptedEngine(tmp_path, hook_files=[str(module)]) as e:

        async def sources() -> list[Source]:
            return [Source(str(module), "flag")]

        e.engine.setup = msgspec.structs.replace(e.engine.setup, sources=sources)
        await run_command(e.engine, Call("again", ""))
        assert "again" in e.engine.side.commands
        with pytest.raises(HookError, match="stale"):
            kept[0].steer("late")
        with pytest.raises(HookError, match="stale"):
            kept[1].notify("late")


async def test_after_a_lost_loop_the_others_are_loaded_again_and_the_culprit_is_off(tmp_path: Path) -> None:
    blocker = tmp_path / "blocker.py"
    blocker.write_text(
        """
import time
def setup(marvin):
    @marvin.on("turn.start")
    async def block(event, ctx):
        time.sleep(30)
    @marvin.on("tool.execute.before", tools=("bash",))
    async def gate(event, ctx):
        pass
"""
    )
    good = hook(tmp_path / "good.py", "'good'")
    replies = [{"toolCalls": [{"name": "bash", "arguments": {"command": "touch ran"}}]}, {"text": "x"}, {"text": "y"}]
    async with ScriptedEngine(tmp_path, replies, hook_files=[str(blocker), good], hook_timeout=0.2) as e:
        first = await e.prompt("go")
        assert first.error is None
        failures = [event for event in e.of(out.HookFailed) if event.hook == "flag:blocker"]
        assert failures[0].place == "blocker.py:6"
        assert "off for this session" in failures[0].error
        # What the blocker could have refused is refused from now on: nobody can ask it any more.
        assert not (e.work / "ran").exists()
        await e.prompt("again")
        assert [text for text, _, _ in e.notes].count("good") == 2


async def test_prompts_go_nowhere_while_the_hook_that_routed_them_does_not_load(tmp_path: Path) -> None:
    router = tmp_path / "router.py"
    router.write_text(
        "def setup(marvin):\n    marvin.on('auth.get', lambda e, c: {'base_url': 'http://own.invalid/v1'})\n"
    )
    async with ScriptedEngine(tmp_path, [{"text": "x"}, {"text": "y"}], hook_files=[str(router)]) as e:
        assert (await e.prompt("go")).error is None
        router.write_text("def setup(marvin:\n")
        await e.engine.hooks.reload([Source(str(router), "flag")])
        error = (await e.prompt("again")).error
        assert error and "flag:router" in error.message and "did not load" in error.message
        assert [request.url.partition("/v1")[0] for request in e.models.recorded.requests] == ["http://own.invalid"]


def test_a_file_that_is_named_twice_is_loaded_where_it_is_named_more_explicitly(tmp_path: Path) -> None:
    a, b, link = (str(tmp_path / name) for name in ("a.py", "b.py", "link.py"))
    hook(Path(a))
    hook(Path(b))
    os.symlink(a, link)
    found = each_once([Source(a, "global"), Source(b, "global"), Source(link, "flag")])
    assert [(source.path, source.scope) for source in found] == [(b, "global"), (link, "flag")]


async def test_flags_are_registered_by_hooks_and_set_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "flags.py"
    path.write_text(
        "def setup(marvin):\n"
        "    marvin.register_flag('plan')\n"
        "    marvin.register_flag('budget', float, 1.5)\n"
        "    @marvin.on('agent.start')\n"
        "    async def say(event, ctx):\n"
        "        ctx.ui.notify(f\"{marvin.flag('plan')} {marvin.flag('budget')}\")\n"
    )
    async with ScriptedEngine(tmp_path, [{"text": "x", "repeat": True}], hook_files=[str(path)]) as e:
        await e.prompt("go")
        assert e.engine.side.set_flags({"plan": True, "budget": "0.25"}) == []
        assert e.engine.side.set_flags({"nope": True, "budget": "much"}) == ["nope", "budget"]
        await e.prompt("go")
        assert [text for text, _, _ in e.notes] == ["False 1.5", "True 0.25"]
