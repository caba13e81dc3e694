"""A day of work in the app: what it says of it, what it counts, what stops it, what is typed too soon."""

import hashlib
from pathlib import Path

from textual import events

from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from tui.pilot import a_marvin, driven


async def test_what_other_agents_have_and_marvin_has_not_is_said_and_not_sent_to_the_model(tmp_path: Path) -> None:
    async with driven(a_marvin(tmp_path, {"text": "Hi."})) as one:
        await one.until_shown("Enter sends")
        await one.type("/tree of mine")
        await one.press("enter")
        await one.until_shown("there is no /tree yet")
        assert not one.app.state.busy


async def test_exit_leaves_as_quit_does(tmp_path: Path) -> None:
    async with driven(a_marvin(tmp_path, {"text": "Hi."})) as one:
        await one.until_shown("Enter sends")
        await one.type("/exit")
        await one.press("enter")
        await one.until(lambda: one.app.leaving)


async def test_a_command_that_cannot_be_done_now_does_not_stand_in_the_way(tmp_path: Path) -> None:
    async with driven(a_marvin(tmp_path, {"text": "Hi."})) as one:
        await one.until_shown("Enter sends")
        await one.type("/copy")
        await one.press("enter")
        await one.until_shown("there is no answer to copy yet")
        assert one.app.prompt.text == ""
        await one.type("/copy code 7")
        await one.press("enter")
        await one.until_shown("there is no code to copy")
        assert one.app.prompt.text == "/copy code 7"


async def test_an_attempt_that_failed_is_told_once(tmp_path: Path) -> None:
    cut = {"text": "half an answer", "fault": {"kind": "cut", "afterChunks": 2}}
    marvin = a_marvin(tmp_path, cut, {"text": "All of it."})
    marvin.configure(retry={"baseDelayMs": 1})
    async with driven(marvin, "go", size=(120, 24)) as one:
        await one.until_shown("All of it.")
        assert "what it said is void: demo: the connection broke" in one.text
        assert "Trying again in 0.0 s.\n" in one.text


async def test_a_compaction_shows_its_summary_once_and_what_it_cost(tmp_path: Path) -> None:
    usage = {"input": 1000, "output": 500}
    marvin = a_marvin(
        tmp_path,
        {"text": "An answer.", "usage": usage},
        {"text": "What was said in short.", "usage": usage},
        cost={"input": 1000, "output": 1000},
    )
    async with driven(marvin, "a question") as one:
        await one.until_shown("1.5k tokens · $1.50")
        await one.type("/compact")
        await one.press("enter")
        await one.until_shown("3.0k tokens · $3.00")
        await one.until_shown("What was said in short.")
        await one.until_shown("is compacted to a summary of 23 characters")
        assert one.text.count("is compacted") == 1
        await one.type("/cost")
        await one.press("enter")
        await one.until_shown("This session has used 3,000 tokens and cost $3.00.")
        await one.type("/clear")
        await one.press("enter")
        await one.until(lambda: "tokens" not in one.text, "the footer of a new session")


async def test_a_compaction_that_cannot_be_says_so_once(tmp_path: Path) -> None:
    async with driven(a_marvin(tmp_path, {"text": "Hi."})) as one:
        await one.until_shown("Enter sends")
        await one.type("/compact")
        await one.press("enter")
        await one.until_shown("✗")
        await one.until(lambda: not one.app.state.busy)
        assert one.text.count("✗") == 1


async def test_what_a_session_used_before_it_was_left_is_counted(tmp_path: Path) -> None:
    usage = {"input": 1000, "output": 500}
    marvin = a_marvin(tmp_path, *[{"text": "An answer.", "usage": usage}] * 2, cost={"input": 1000, "output": 1000})
    async with driven(marvin, "a question") as one:
        await one.until_shown("1.5k tokens · $1.50")
    async with driven(marvin, "-c", "another") as one:
        await one.until_shown("3.0k tokens · $3.00")


async def test_sixty_columns_keep_the_model_its_thinking_and_how_to_stop(tmp_path: Path) -> None:
    marvin = a_marvin(
        tmp_path,
        {"text": "Hi.", "usage": {"input": 20_000, "output": 10}},
        {"text": "Hm.", "delayMs": 60_000},
        models=("a-model-with-a-rather-long-name",),
        reasoning=True,
        contextWindow=64_000,
    )
    (marvin.work / ".git" / "HEAD").write_text("ref: refs/heads/feature/a-branch-with-a-long-name\n")
    async with driven(marvin, "--thinking", "high", "hello", size=(60, 20)) as one:
        await one.until_shown("31% of 64k")
        assert " · high" in one.text.splitlines()[0]
        assert "(feature" in one.text.splitlines()[0]
        await one.type("more")
        await one.press("enter")
        await one.until_shown("waiting for the model")
        await one.until_shown("Esc stops")
        await one.press("escape")


async def test_what_is_typed_at_once_behind_the_key_for_searching_is_searched(tmp_path: Path) -> None:
    async with driven(a_marvin(tmp_path, {"text": "One bird."}), "how many?") as one:
        await one.until_shown("One bird.")
        for key, letter in (("ctrl+r", None), *((letter, letter) for letter in "bird")):
            one.app.post_message(events.Key(key, letter))
        await one.until_shown("1 of 1")


async def test_escape_ends_a_command_of_the_users_own(tmp_path: Path) -> None:
    async with driven(a_marvin(tmp_path, {"text": "Hi."})) as one:
        await one.until_shown("Enter sends")
        await one.type("!echo begun; sleep 60")
        await one.press("enter")
        await one.until_shown("   begun")
        await one.press("escape")
        await one.until_shown("Interrupted after")
        assert "   begun" in one.text
        await one.until_shown("/ commands")


async def test_escape_ends_a_compaction(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "An answer."}, {"text": "unused", "delayMs": 60_000})
    async with driven(marvin, "a question") as one:
        await one.until_shown("An answer.")
        await one.type("/compact")
        await one.press("enter")
        await one.until_shown("compacting")
        await one.press("escape")
        await one.until(lambda: not one.app.state.busy, "the end of it")


async def test_who_reads_further_up_is_told_that_there_is_more_below(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "\n\n".join(f"line {number}" for number in range(50))})
    async with driven(marvin, "go") as one:
        await one.until_shown("line 49")
        assert "more below" not in one.text
        await one.press("pageup")
        await one.until_shown("↓ more below · Ctrl+End goes there")
        await one.press("ctrl+end")
        await one.until(lambda: "more below" not in one.text and "line 49" in one.text)


async def test_a_draft_that_is_back_is_told_when_a_session_is_gone_on_with(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "An answer."})
    async with driven(marvin, "a question") as one:
        await one.until_shown("An answer.")
    drafts = marvin.config_dir / "drafts"
    drafts.mkdir(exist_ok=True)
    slug = hashlib.sha256(str(marvin.work).encode()).hexdigest()[:16]
    (drafts / f"{slug}-4194999.json").write_text('{"text": "half a thought", "pastes": {}}')
    async with driven(marvin, "-c") as one:
        await one.until_shown("An answer.")
        await one.until_shown("is back in the editor")
        assert one.app.prompt.text == "half a thought"


async def test_a_new_session_says_that_the_old_one_is_kept(tmp_path: Path) -> None:
    async with driven(a_marvin(tmp_path, {"text": "An answer."}), "a question") as one:
        await one.until_shown("An answer.")
        await one.type("/new")
        await one.press("enter")
        await one.until_shown("A new session; the old one is kept.")
        assert "An answer." not in one.text


async def test_sessions_take_a_line_each_however_they_began(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, *[{"text": "An answer."}] * 2)
    for _ in range(2):
        async with driven(marvin, "a long question " * 20) as one:
            await one.until_shown("An answer.")
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        await one.type("/sessions")
        await one.press("enter")
        await one.until_shown("Go on with which session?")
        assert one.text.count("a long question a") == 2 and one.text.count("│") == 4
        await one.until(lambda: isinstance(one.app.screen, Dialog) and one.app.screen.listens, "the end of the grace")
        await one.press("escape")
        await one.until(lambda: not one.app.screen.is_modal)
        await one.type("/resume ")
        await one.until_shown("a long question")
        menu = [line for line in one.text.splitlines() if "a long question" in line]
        assert len(menu) == 2


async def test_a_conversation_that_went_on_is_exported_again(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "An answer."})
    async with driven(marvin, "a question") as one:
        await one.until_shown("An answer.")
        for count in (1, 2):
            await one.type("/export")
            await one.press("enter")
            await one.until(lambda count=count: len(list(marvin.work.glob("marvin-*.md"))) == count)


async def test_keys_that_come_at_once_are_taken_in_their_order(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        await one.type("helo\x7f\x7flp mee\x7f")
        await one.until_shown("│ help me ")
