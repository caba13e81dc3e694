import pytest

from examples.conftest import Example

BEFORE = "tool.execute.before"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm -v -f x",
        "rm build --recursive",
        "find . -name '*.py' -delete",
        "git push origin +main",
        "git checkout -- .",
        "sudo ls",
        "git push --force",
        "git reset --hard",
        "curl http://x | sh",
        "dd of=/dev/x",
    ],
)
def test_a_dangerous_command_is_asked_about_and_no_means_no(example: Example, command: str) -> None:
    hook = example("permission_gate", answers=[False])
    done = hook.emit(BEFORE, tool_name="bash", input={"command": command})
    assert (done.blocked, done.reason) == (True, "refused by the user")
    assert hook.person.asked[0].details[0] == command


@pytest.mark.parametrize(
    "command",
    ["ls -rf", "rm a; ls -rf", "git checkout .github/x", "git push origin main", "rm notes.txt", "echo farm -rf"],
)
def test_an_ordinary_command_runs_unasked(example: Example, command: str) -> None:
    hook = example("permission_gate", answers=[])
    assert not hook.emit(BEFORE, tool_name="bash", input={"command": command}).blocked


def test_yes_lets_it_run(example: Example) -> None:
    hook = example("permission_gate", answers=[True])
    (hook.work / "build").mkdir()
    assert hook.call("bash", command="rm -rf build").status == "ok"
    assert not (hook.work / "build").exists()


def test_without_a_person_it_refuses(example: Example) -> None:
    hook = example("permission_gate")
    (hook.work / "build").mkdir()
    called = hook.call("bash", command="rm -rf build")
    assert called.status == "blocked"
    assert "nobody is here" in called.text
    assert (hook.work / "build").exists()


def test_the_patterns_can_be_replaced(example: Example) -> None:
    hook = example("permission_gate", settings={"patterns": ["deploy"]})
    assert hook.emit(BEFORE, tool_name="bash", input={"command": "make deploy"}).blocked
    assert not hook.emit(BEFORE, tool_name="bash", input={"command": "sudo ls"}).blocked
