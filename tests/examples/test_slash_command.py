import pytest

from examples.conftest import Example
from marvin_agent.testing import BlockingHarness

GIT = "git -c user.name=T -c user.email=t@localhost"


@pytest.fixture
def hook(example: Example) -> BlockingHarness:
    loaded = example("slash_command", replies=[{"text": "looks good"}])
    loaded.call("bash", command=f"git init -q -b main && echo one > a && git add a && {GIT} commit -qm first")
    return loaded


def test_the_uncommitted_changes_are_sent_for_review(hook: BlockingHarness) -> None:
    (hook.work / "a").write_text("two\n")
    hook.command("review")
    hook.wait_until(lambda: hook.requests)
    assert "Review this diff." in hook.sent[0]
    assert "-one\n+two" in hook.sent[0]


def test_new_files_are_named_though_no_diff_shows_them(hook: BlockingHarness) -> None:
    (hook.work / "new.py").write_text("print()\n")
    (hook.work / ".gitignore").write_text("*.log\n")
    (hook.work / "x.log").write_text("")
    hook.command("review")
    hook.wait_until(lambda: hook.requests)
    assert "These files are new; read them:\n.gitignore\nnew.py\n" in hook.sent[0]
    assert "x.log" not in hook.sent[0]


def test_the_changes_since_a_branch(hook: BlockingHarness) -> None:
    hook.call("bash", command=f"git checkout -qb new && echo three > a && {GIT} commit -qam second")
    hook.command("review")
    assert hook.told == ["Nothing has changed since HEAD."]
    hook.command("review", "main")
    hook.wait_until(lambda: hook.requests)
    assert "+three" in hook.sent[0]


@pytest.mark.parametrize("argument", ["nope", "--output=stolen"])
def test_what_is_no_branch_is_refused(hook: BlockingHarness, argument: str) -> None:
    hook.command("review", argument)
    assert argument in hook.told[0]
    assert hook.sent == []
    assert not (hook.work / "stolen").exists()


def test_branches_are_completed(hook: BlockingHarness) -> None:
    hook.call("bash", command="git branch more && git branch other")
    assert hook.complete("review", "m") == ["main", "more"]
