from examples.conftest import Example
from marvin_agent.testing import BlockingHarness

SETUP = "git init -q && echo one > a && git add a && git -c user.name=T -c user.email=t@localhost commit -qm first"


def call(name: str, **arguments: str) -> dict[str, object]:
    return {"toolCalls": [{"name": name, "arguments": arguments}]}


def shell(hook: BlockingHarness, command: str) -> str:
    return hook.call("bash", command=command).text


def prepared(example: Example, *replies: dict[str, object]) -> BlockingHarness:
    hook = example("git_checkpoint", replies=[*replies, {"text": "ok"}])
    shell(hook, SETUP)  # the first call of the turn came before there was a repository
    return hook


def test_what_the_agent_did_can_be_taken_back_and_that_too(example: Example) -> None:
    hook = prepared(example, call("bash", command="echo two > a; mkdir d; echo new > d/b; rm -f c"))
    (hook.work / "c").write_text("mine, not committed")
    hook.prompt("go")
    assert (hook.work / "a").read_text() == "two\n"
    hook.command("restore")
    assert (hook.work / "a").read_text() == "one\n"
    assert (hook.work / "c").read_text() == "mine, not committed"
    assert not (hook.work / "d" / "b").exists()
    assert "`/restore 2` takes that back" in hook.told[-1]
    hook.command("restore", "2")
    assert (hook.work / "a").read_text() == "two\n"
    assert (hook.work / "d" / "b").read_text() == "new\n"
    assert not (hook.work / "c").exists()


def test_the_index_the_branch_and_the_stash_stay_as_they_are(example: Example) -> None:
    hook = prepared(example, call("write", path="a", content="two\n"))
    (hook.work / "staged").write_text("x")
    before = shell(hook, "git add staged; git status --short --branch; git log --oneline; git stash list")
    hook.prompt("go")
    after = shell(hook, "git checkout -q a; git status --short --branch; git log --oneline; git stash list")
    assert after == before


def test_one_checkpoint_per_turn_and_none_for_reading(example: Example) -> None:
    two = {"toolCalls": [{"name": "write", "arguments": {"path": name, "content": name}} for name in "xy"]}
    hook = prepared(example, call("read", path="a"), two, call("bash", command="echo 3 > z"))
    hook.prompt("go")
    hook.command("checkpoints")
    assert [line.split()[0] for line in hook.told[-1].splitlines()] == ["1", "2"]
    assert "before write" in hook.told[-1]


def test_an_unknown_checkpoint_is_said_to_be_unknown(example: Example) -> None:
    hook = prepared(example)
    hook.command("restore", "7; rm -rf .")
    assert "no such checkpoint" in hook.told[-1]


def test_without_a_repository_tools_just_run(example: Example) -> None:
    hook = example("git_checkpoint")
    assert hook.call("write", path="a", content="x").status == "ok"


def test_a_call_that_cannot_be_secured_is_refused(example: Example) -> None:
    hook = prepared(example)
    shell(hook, "echo junk > .git/index")
    hook.emit("turn.start", turn_index=1)
    called = hook.call("write", path="a", content="x")
    assert called.status == "blocked"
    assert (hook.work / "a").read_text() == "one\n"


def test_old_checkpoints_go_as_new_ones_come(example: Example) -> None:
    hook = prepared(example, call("bash", command="echo two > a"))
    shell(hook, "for n in $(seq 100); do git update-ref refs/marvin/checkpoints/$n HEAD; done; echo x > new")
    hook.prompt("go")
    hook.command("checkpoints")
    numbers = [line.split()[0] for line in hook.told[-1].splitlines()]
    assert sorted(map(int, numbers)) == list(range(2, 102))
