"""The app's parts that need no screen."""

import asyncio
import os
from pathlib import Path

import pytest

from marvin_agent.frontends.tui.draft import Draft
from marvin_agent.frontends.tui.externaleditor import editor_command
from marvin_agent.frontends.tui.filelist import SLICE, FileList
from marvin_agent.frontends.tui.footer import money, short
from marvin_agent.frontends.tui.fuzzy import best
from marvin_agent.frontends.tui.header import git_branch, short_path
from marvin_agent.frontends.tui.history import History
from marvin_agent.frontends.tui.keys import configured
from marvin_agent.frontends.tui.notifier import Notifier
from marvin_agent.frontends.tui.pastes import Pastes, dropped_image, harmless
from marvin_agent.frontends.tui.state import State
from marvin_agent.frontends.tui.templates import Template, templates_in
from marvin_agent.llm.values import Model
from marvin_agent.messages import Image
from marvin_agent.settings import EditorCommand

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


def test_a_long_paste_is_a_mark_until_it_is_sent() -> None:
    pastes = Pastes()
    long = "\n".join(f"line {n}" for n in range(5000))
    first, second = pastes.fold(long), pastes.fold("x" * 3000)
    assert (first, second) == ("[pasted 5000 lines #1]", "[pasted 3000 characters #2]")
    assert pastes.fold("short\ntext") == "short\ntext"
    sent = pastes.expand(f"a {first} b {second} c [pasted 7 lines #9]")
    assert sent.text == f"a {long} b {'x' * 3000} c [pasted 7 lines #9]"


def test_images_go_along_only_while_their_mark_stands() -> None:
    pastes = Pastes()
    one, two = Image(data="MQ==", mime_type="image/png"), Image(data="Mg==", mime_type="image/png")
    first, second = pastes.add_image(one), pastes.add_image(two)
    assert pastes.expand(f"see {second}").images == (two,)
    assert pastes.expand(f"see {first} {second}").images == (one, two)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07x\x08", "red x"),
        ("tab\tand ünïcode 漢", "tab\tand ünïcode 漢"),
        ("\x1b", ""),
    ],
)
def test_what_is_pasted_holds_nothing_that_a_terminal_obeys(text: str, left: str) -> None:
    assert harmless(text) == left


def test_a_dropped_file_is_an_image_however_the_terminal_writes_its_path(tmp_path: Path) -> None:
    picture = tmp_path / "my picture.png"
    picture.write_bytes(PNG)
    for text in (f"'{picture}'", str(picture).replace(" ", "\\ "), f"file://{str(picture).replace(' ', '%20')}"):
        assert dropped_image(text + "\n", str(tmp_path)) == str(picture)
    assert dropped_image("'my picture.png'", str(tmp_path)) == str(picture)
    for text in ("no such.png", "see 'my picture.png'", str(tmp_path), "it's.png", "two\nlines.png"):
        assert dropped_image(text, str(tmp_path)) is None


def test_history_goes_back_and_forth_and_is_there_at_the_next_start(tmp_path: Path) -> None:
    history = History(str(tmp_path))
    for text in ("one", "two", "two", "two\nlines"):
        history.add(text)
    history = History(str(tmp_path))
    assert [history.older("draft"), history.older(""), history.older(""), history.older("")] == [
        "two\nlines",
        "two",
        "one",
        None,
    ]
    assert [history.newer(), history.newer(), history.newer(), history.newer()] == ["two", "two\nlines", "draft", None]
    assert (tmp_path / "history.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_damaged_history_costs_only_what_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(b'{"text": "kept"}\nnonsense\n[]\n{"text": 3}\n\xff\xfe\n')
    assert History(str(tmp_path)).older("") == "kept"


def test_a_draft_is_found_once_its_program_is_gone(tmp_path: Path) -> None:
    config, project = str(tmp_path / "config"), "/project"
    pid = os.fork()
    if pid == 0:
        Draft(config, project).write("half [pasted 20 lines #3]", {3: "the paste"})
        os._exit(0)
    os.waitpid(pid, 0)
    assert Draft(config, "/another").left_behind() is None
    mine = Draft(config, project)
    kept = mine.left_behind()
    assert kept and (kept.text, kept.pastes) == ("half [pasted 20 lines #3]", {3: "the paste"})
    (file,) = (tmp_path / "config" / "drafts").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    others = file.rename(file.with_name(file.name.replace(str(os.getpid()), str(os.getppid()))))
    assert Draft(config, project).left_behind() is None  # it is of a program that runs
    others.rename(file)
    mine.forget()
    assert not file.exists()


def test_fuzzy_search_prefers_names_and_beginnings_of_words() -> None:
    paths = ["src/engine/loop.py", "src/agent/engine.py", "docs/engineering.md", "tests/test_engine.py", "e/n/g.txt"]
    assert best("engine", paths, 2) == ["src/agent/engine.py", "docs/engineering.md"]
    assert best("aeng", paths, 1) == ["src/agent/engine.py"]
    assert best("xyz", paths, 5) == []
    assert best("f499", ["mod400/file_400_99.py", "mod499/file_499_00.py"], 1) == ["mod499/file_499_00.py"]


async def test_files_are_those_that_git_does_not_ignore(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").touch()
    (tmp_path / "with space.txt").touch()
    (tmp_path / "debug.log").touch()
    (tmp_path / ".gitignore").write_text("*.log\n")
    files = FileList(str(tmp_path))
    assert sorted(await files.find("", 50)) == [".gitignore", "src/", "src/main.py", "with space.txt"]
    assert await files.find("mai", 5) == ["src/main.py"]


async def test_a_hundred_thousand_files_are_searched_without_holding_the_keys_up(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"dir{number}").mkdir()
    files = FileList(str(tmp_path))
    paths = [f"dir{n % 100}/module_{n}_of_many.py" for n in range(100_000)]
    files.take(paths)
    turns = 0

    async def watch() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    watching = asyncio.ensure_future(watch())
    found = await files.find("mod99999", 20)
    watching.cancel()
    assert found == ["dir99/module_99999_of_many.py"]
    assert turns >= len(paths) // SLICE


def test_markdown_commands_take_their_arguments(tmp_path: Path) -> None:
    (tmp_path / "review.md").write_text("---\ndescription: 'looks at it'\n---\nReview $1 for $ARGUMENTS.\n")
    (tmp_path / "plain.md").write_text("Do it.")
    (tmp_path / "not a name.md").write_text("x")
    (tmp_path / "other.txt").write_text("x")
    found = templates_in(str(tmp_path))
    assert found == {
        "review": Template("looks at it", "Review $1 for $ARGUMENTS."),
        "plain": Template("from plain.md", "Do it."),
    }
    assert found["review"].fill("a b") == "Review a for a b."
    assert found["review"].fill("") == "Review  for ."
    assert found["plain"].fill("now") == "Do it.\n\nnow"
    assert found["review"].fill('"two words" it\'s') == 'Review two words for "two words" it\'s.'
    assert found["review"].fill('an "open quote') == 'Review an for an "open quote.'
    assert templates_in(str(tmp_path / "none")) == {}


def test_a_markdown_command_that_was_written_on_windows_has_its_description(tmp_path: Path) -> None:
    (tmp_path / "review.md").write_bytes("\ufeff---\r\ndescription: looks\r\n---\r\nReview $1.\r\n".encode())
    assert templates_in(str(tmp_path)) == {"review": Template("looks", "Review $1.")}


def test_notifications_are_told_only_when_wanted_and_away() -> None:
    written: list[str] = []
    away = False
    notifier = Notifier(written.append, lambda: away)
    notifier.done("x")
    notifier.on = True
    notifier.done("x")
    assert written == []
    away = True
    notifier.done("done; \x1b[2Jreally")
    assert written == ["\x1b]9;done, \\u001b[2Jreally\x07\x1b]777;notify;marvin;done, \\u001b[2Jreally\x07\x07"]


def test_the_editor_is_the_configured_one_else_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "code --wait")
    assert editor_command(None) == ["code", "--wait"]
    assert editor_command("vim -f") == ["vim", "-f"]
    assert editor_command(["nano", "-x"]) == ["nano", "-x"]
    assert editor_command(EditorCommand(command="emacs", args=("-nw",))) == ["emacs", "-nw"]


def test_keybindings_are_checked() -> None:
    keymap, problems = configured({"help": ["f2", "ctrl+h"], "search": "f2", "what": "x"})
    assert keymap == {"help": "f2,ctrl+h", "search": "f2"}
    assert [problem.split(";")[0] for problem in problems] == [
        "keybindings: there is no action 'what'",
        "keybindings: f2 is the key of search and of help",
    ]


def test_keys_are_understood_as_people_write_them() -> None:
    assert configured({"help": "Ctrl-N, F3", "search": [], "editor": ""}) == (
        {"help": "ctrl+n,f3", "search": "", "editor": ""},
        [],
    )


def test_no_configuration_takes_a_letter_away_and_what_the_editor_loses_is_told() -> None:
    keymap, problems = configured({"help": ["h", "f2"], "search": "ctrl+k", "top": "space"})
    assert keymap == {"help": "f2", "search": "ctrl+k", "top": ""}
    assert problems == [
        "keybindings: h is for writing, and cannot be the key of help",
        "keybindings: space is for writing, and cannot be the key of top",
        "keybindings: ctrl+k is the key of the editor and of search",
    ]


def test_numbers_and_paths_fit_into_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert [short(n) for n in (999, 1_234, 56_789, 1_200_000)] == ["999", "1.2k", "56k", "1.2M"]
    assert [money(n) for n in (0.0012, 1.5)] == ["$0.0012", "$1.50"]
    assert short_path("/home/me/src/project", 40) == "~/src/project"
    assert short_path("/home/me/src/project", 8) == "…project"


def test_the_branch_is_read_from_a_repository_and_from_a_worktree(tmp_path: Path) -> None:
    git = tmp_path / "main" / ".git"
    (git / "worktrees" / "w").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/feature/x\n")
    (git / "worktrees" / "w" / "HEAD").write_text("0123456789abcdef\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {git / 'worktrees' / 'w'}\n")
    assert git_branch(str(tmp_path / "main")) == "feature/x"
    assert git_branch(str(tmp_path / "w")) == "01234567"
    assert git_branch(str(tmp_path)) == ""


def test_the_level_that_is_shown_is_the_one_that_the_model_thinks_at() -> None:
    state = State()
    always = Model(provider="p", id="claude-opus-5-5", api="anthropic-messages", base_url="http://x", reasoning=True)
    state.show_model(always, "off")
    assert state.thinking == "minimal"
    state.show_model(Model(provider="p", id="m", api="anthropic-messages", base_url="http://x"), "high")
    assert state.thinking == "off"
