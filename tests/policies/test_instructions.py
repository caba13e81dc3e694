"""What people wrote for agents is found, in order, and nothing else is."""

import asyncio
import os
from pathlib import Path

import pytest

from marvin_agent.hooks.api import HookAPI
from marvin_agent.policies import instructions, model_notice
from marvin_agent.policies.instructions import MAX_BYTES, Instructions, read_instructions
from marvin_agent.testing.engine import MODEL, ScriptedEngine
from program import Marvin


class Project:
    def __init__(self, directory: Path) -> None:
        self.config = directory / "config"
        self.root = directory / "project"
        self.config.mkdir()
        self.root.mkdir()

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def read(self, below: str = "") -> Instructions:
        return read_instructions(str(self.config), str(self.root), str(self.root / below) if below else str(self.root))

    def texts(self, below: str = "") -> list[str]:
        found = self.read(below)
        assert found.notices == ()
        return [file.text for file in found.files]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_without_any_file_there_is_nothing(project: Project) -> None:
    assert project.read() == Instructions((), ())


def test_the_users_come_first_then_the_projects_from_the_root_down(project: Project) -> None:
    (project.config / "agents.md").write_text("mine")
    root = project.write("AGENTS.md", "root")
    project.write("a/AGENTS.md", "a")
    project.write("a/b/AGENTS.md", "b")
    project.write("other/AGENTS.md", "other")
    assert project.texts("a/b") == ["mine", "root", "a", "b"]
    assert project.texts("a") == ["mine", "root", "a"]
    assert project.texts() == ["mine", "root"]
    assert project.read().files[1].path == str(root)


def test_nothing_above_the_root_is_read(project: Project) -> None:
    (project.root.parent / "AGENTS.md").write_text("outside")
    assert project.texts() == []


def test_a_directory_gives_agents_md_and_only_without_it_claude_md(project: Project) -> None:
    project.write("AGENTS.md", "agents")
    project.write("CLAUDE.md", "claude")
    project.write("a/CLAUDE.md", "claude of a")
    assert project.texts("a") == ["agents", "claude of a"]


def test_the_users_file_may_be_named_in_capitals(project: Project) -> None:
    (project.config / "AGENTS.md").write_text("capitals")
    assert project.texts() == ["capitals"]
    (project.config / "agents.md").write_text("usual")
    assert project.texts() == ["usual"]


def test_a_file_that_is_reached_twice_is_read_once(project: Project) -> None:
    project.write("AGENTS.md", "same")
    project.write("a/x", "")
    (project.root / "a" / "CLAUDE.md").symlink_to("../AGENTS.md")
    assert project.texts("a") == ["same"]
    (project.config / "agents.md").symlink_to(project.root / "AGENTS.md")
    assert project.texts("a") == ["same"]


def test_a_file_of_the_project_that_links_out_of_it_is_not_sent_to_a_model(project: Project, tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text("secret")
    (project.root / "AGENTS.md").symlink_to(tmp_path / "id_rsa")
    assert project.read() == Instructions(
        (), (f"{project.root}/AGENTS.md: not read, because it links out of the project",)
    )


def test_the_user_may_keep_his_own_file_elsewhere(project: Project, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.md").write_text("kept")
    (project.config / "agents.md").symlink_to(tmp_path / "dotfiles.md")
    assert project.texts() == ["kept"]


def test_a_project_that_is_itself_reached_by_a_link_is_read(project: Project, tmp_path: Path) -> None:
    project.write("AGENTS.md", "text")
    link = tmp_path / "link"
    link.symlink_to(project.root)
    found = read_instructions(str(project.config), str(link), str(link))
    assert [file.text for file in found.files] == ["text"]


def test_paths_may_be_written_in_any_way(project: Project) -> None:
    project.write("a/AGENTS.md", "a")
    found = read_instructions(str(project.config), f"{project.root}/", f"{project.root}/a/../a/")
    assert [file.text for file in found.files] == ["a"]


def test_a_working_directory_outside_of_the_root_speaks_for_itself(project: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "project-2"
    elsewhere.mkdir()
    (elsewhere / "AGENTS.md").write_text("elsewhere")
    project.write("AGENTS.md", "root")
    found = read_instructions(str(project.config), str(project.root), str(elsewhere))
    assert [file.text for file in found.files] == ["elsewhere"]
    assert found.notices == ()


def test_a_long_file_is_cut_after_a_whole_line_with_a_notice(project: Project) -> None:
    line = "é" * 499 + "\n"
    path = project.write("AGENTS.md", line * 100)
    found = project.read()
    text = found.files[0].text
    assert text == line * (MAX_BYTES // len(line.encode()))
    assert found.notices == (f"{path}: only the first {len(text.encode())} bytes are used: it is longer than 64 KiB",)


def test_a_file_of_just_the_limit_is_whole(project: Project) -> None:
    project.write("AGENTS.md", "x" * MAX_BYTES)
    assert project.texts() == ["x" * MAX_BYTES]


@pytest.mark.parametrize("shift", range(4))
@pytest.mark.parametrize("character", ["é", "€", "🙂"])
def test_a_long_line_is_cut_between_characters(project: Project, character: str, shift: int) -> None:
    text = "x" * shift + character * MAX_BYTES
    project.write("AGENTS.md", text)
    found = project.read().files[0].text
    assert text.startswith(found)
    assert MAX_BYTES - 4 <= len(found.encode()) <= MAX_BYTES


@pytest.mark.parametrize("data", ["é".encode("latin-1"), "text".encode("utf-16"), b"a\0b"])
def test_what_is_no_utf8_text_is_reported_and_the_rest_is_read(project: Project, data: bytes) -> None:
    project.write("AGENTS.md", data)
    project.write("a/AGENTS.md", "good")
    found = project.read("a")
    assert [file.text for file in found.files] == ["good"]
    assert len(found.notices) == 1
    assert "not read, because it is not" in found.notices[0]


def test_what_cannot_be_read_is_reported_and_nothing_hangs(project: Project) -> None:
    os.mkfifo(project.root / "AGENTS.md")
    (project.root / "a" / "AGENTS.md").mkdir(parents=True)
    (project.root / "a" / "b").mkdir()
    (project.root / "a" / "b" / "AGENTS.md").symlink_to("gone.md")
    found = project.read("a/b")
    assert found.files == ()
    assert [notice.split(": ", 1)[1] for notice in found.notices] == [
        "cannot be read: It is not a regular file",
        "cannot be read: It is not a regular file",
        "cannot be read: No such file or directory",
    ]


def test_a_byte_order_mark_and_windows_line_ends_are_taken_off(project: Project) -> None:
    project.write("AGENTS.md", b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert project.texts() == ["one\ntwo\n"]


def test_an_empty_file_says_nothing(project: Project) -> None:
    project.write("AGENTS.md", " \n\n")
    assert project.texts() == []


# As a hook.


def systems(e: ScriptedEngine) -> list[str]:
    """The system prompt of each model call."""
    return [body["messages"][0]["content"] for body in e.bodies]


async def test_they_stand_once_in_the_system_prompt_of_every_turn_of_every_run(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_text("Use tabs.\n")
    look = {"toolCalls": [{"name": "ls", "arguments": {}}]}
    replies = [look, {"text": "a"}, {"text": "b"}, {"text": "c"}]
    woken: list[HookAPI] = []

    async with ScriptedEngine(
        tmp_path, replies, hooks={"instructions": instructions.setup, "waker": woken.append}
    ) as e:
        await e.prompt("one")
        (tmp_path / "work" / "AGENTS.md").write_text("Use spaces.\n")
        await e.prompt("two")
        woken[0].send_message({"custom_type": "news", "content": "news"}, trigger_turn=True)
        while len(e.bodies) < 4:
            await asyncio.sleep(0.005)
        await e.engine.wait_until_idle()
    assert [text.count("Use tabs.") for text in systems(e)] == [1, 1, 0, 0]
    assert [text.count("Use spaces.") for text in systems(e)] == [0, 0, 1, 1]
    assert f"Instructions from AGENTS.md ({tmp_path / 'work' / 'AGENTS.md'}):\n\nUse tabs." in systems(e)[0]


async def test_a_file_that_is_not_read_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "AGENTS.md").write_bytes(b"\xff\xff")
    async with ScriptedEngine(
        tmp_path, [{"text": "a"}, {"text": "b"}], hooks={"instructions": instructions.setup}
    ) as e:
        await e.prompt("one")
        await e.prompt("two")
    assert [(text.rpartition(": ")[2], level) for text, level, _ in e.notes] == [
        ("not read, because it is not UTF-8 text", "warning")
    ]


async def test_a_hook_that_changes_the_model_is_told_of(tmp_path: Path) -> None:
    other = MODEL.__class__(**{name: getattr(MODEL, name) for name in MODEL.__struct_fields__} | {"id": "two"})
    woken: list[HookAPI] = []
    async with ScriptedEngine(
        tmp_path, [], models=(MODEL, other), hooks={"notice": model_notice.setup, "router": woken.append}
    ) as e:
        await e.engine.set_model(other, source="command")
        assert e.notes == []
        woken[0].set_model("test/one")
        while not e.notes:
            await asyncio.sleep(0.005)
    assert e.notes[0][0] == "A hook changed the model from test/two to test/one (thinking off)"


def test_the_program_reads_them(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "fine"})
    (marvin.work / "AGENTS.md").write_text("Use tabs.\n")
    (marvin.config_dir / "agents.md").write_text("Be brief.\n")
    recording = tmp_path / "record"
    done = marvin.run("-p", "--record", str(recording), "go")
    assert (done.stdout, done.stderr) == ("fine\n", "")
    text = recording.read_text()
    assert text.index("Be brief.") < text.index("Use tabs.")
