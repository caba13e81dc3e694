from examples.conftest import Example

GIT = "git -c user.name=T -c user.email=t@localhost"


def test_the_model_is_told_the_branch_the_changes_and_the_last_commits(example: Example) -> None:
    hook = example("git_context", replies=[{"text": "ok"}], settings={"commits": 1})
    commits = f"{GIT} commit -qm first && {GIT} commit -qm second --allow-empty"
    setup = f"git init -q -b work && echo a > a && git add a && {commits} && echo b > b && echo c >> a"
    assert hook.call("bash", command=setup).status == "ok"
    hook.prompt("go")
    system = hook.requests[0]["messages"][0]["content"]
    assert "Git: on work." in system
    assert " M a\n?? b" in system
    assert "second" in system
    assert "first" not in system


def test_a_clean_tree_is_called_clean(example: Example) -> None:
    hook = example("git_context", replies=[{"text": "ok"}])
    hook.call("bash", command=f"git init -q && {GIT} commit -qm first --allow-empty")
    hook.prompt("go")
    assert "The working tree is clean." in hook.requests[0]["messages"][0]["content"]


def test_outside_of_a_repository_nothing_is_added(example: Example) -> None:
    hook = example("git_context")
    done = hook.emit("agent.before_start", prompt="go", system_prompt="be good")
    assert done.event.system_prompt == "be good"
    assert done.errors == []


def test_a_repository_that_came_in_an_archive_runs_nothing(example: Example) -> None:
    hook = example("git_context")
    evil = "printf '#!/bin/sh\\ntouch ran\\n' > evil && chmod +x evil"
    named = "git config core.fsmonitor ./evil && git config log.showSignature true && git config gpg.program ./evil"
    assert (
        hook.call("bash", command=f"git init -q && {evil} && {GIT} commit -qm x --allow-empty && {named}").status
        == "ok"
    )
    done = hook.emit("agent.before_start", prompt="go", system_prompt="")
    assert "Last commits:" in done.event.system_prompt
    assert not (hook.work / "ran").exists()


def test_many_changes_are_cut(example: Example) -> None:
    hook = example("git_context")
    hook.call("bash", command="git init -q && touch $(seq 100)")
    done = hook.emit("agent.before_start", prompt="go", system_prompt="")
    assert "... and 70 more" in done.event.system_prompt
