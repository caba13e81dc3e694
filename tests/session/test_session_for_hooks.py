"""`ctx.sessions`, as a hook has it."""

from pathlib import Path
from typing import Any

import pytest

from marvin_agent.hooks.api import HookAPI
from marvin_agent.messages import text_of
from marvin_agent.testing.engine import ScriptedEngine


async def test_a_hook_reads_the_session_and_cannot_write_into_it(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    def setup(marvin: HookAPI) -> None:
        def look(event: Any, ctx: Any) -> None:
            sessions = ctx.sessions
            seen["id"] = sessions.session_id
            seen["path"] = sessions.session_path
            seen["texts"] = [text_of(entry.message.content) for entry in sessions.branch() if entry.type == "message"]
            seen["leaf"] = sessions.get(sessions.leaf_id).type
            seen["list"] = [info.first_text for info in sessions.list()]
            seen["latest"] = sessions.load_latest().id
            seen["compaction"] = sessions.compaction_state()
            seen["writable"] = [name for name in dir(sessions) if name.startswith(("append", "move", "close"))]

        marvin.on("agent.end", look)

    async with ScriptedEngine(tmp_path, [{"text": "Hello."}], hooks={"look": setup}) as e:
        await e.prompt("hi")
        session = e.engine.session
    assert seen == {
        "id": session.id,
        "path": session.path,
        "texts": ["hi", "Hello."],
        "leaf": "message",
        "list": ["hi"],
        "latest": session.id,
        "compaction": None,
        "writable": [],
    }


@pytest.mark.parametrize("kept", [{"memory": ["a"]}, None])
async def test_what_a_hook_keeps_with_a_compaction_is_read_again(tmp_path: Path, kept: Any) -> None:
    states = []

    def setup(marvin: HookAPI) -> None:
        marvin.on("session.compacting", lambda event, ctx: {"preserve_data": kept} if kept else None)
        marvin.on("session.compact", lambda event, ctx: states.append(ctx.sessions.compaction_state()))

    replies = [{"text": "Hello."}, {"text": "They greeted."}]
    async with ScriptedEngine(tmp_path, replies, hooks={"keeper": setup}) as e:
        await e.prompt("hi")
        await e.engine.compact()
    (state,) = states
    assert state.summary == "They greeted."
    assert (state.preserve_data or None) == kept
