"""The permission gate in an engine: modes, rules, hooks around it, the person, nobody."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent.nobody import Nobody
from marvin_agent.messages import ToolResultMessage, text_of
from marvin_agent.permission_rules import parse_rule
from marvin_agent.policies.permissions.gate import rules_of
from marvin_agent.policies.permissions.judge import Call, Rules, judge
from marvin_agent.policies.permissions.remembered import Remembered
from marvin_agent.policies.permissions.subjects import Where
from marvin_agent.testing.engine import ScriptedEngine

WRITE = {"name": "write", "arguments": {"path": "src/a.txt", "content": "new"}}
READ = {"name": "read", "arguments": {"path": "there.txt"}}


def bash(command: str) -> dict[str, Any]:
    return {"name": "bash", "arguments": {"command": command}}


class Person(Nobody):
    """Somebody who gives these answers, in order, and keeps the questions."""

    has_person = True

    def __init__(self, *answers: dict[str, Any] | None) -> None:
        self.told: list[str] = []
        super().__init__(lambda text, level, source: self.told.append(text))
        self.answers = list(answers)
        self.questions: list[dict[str, Any]] = []

    async def permission(self, question: Mapping[str, Any]) -> Any:
        self.questions.append(dict(question))
        return self.answers.pop(0)


YES = {"decision": "allow"}
NO = {"decision": "deny"}


async def results(
    tmp_path: Path, *calls: dict[str, Any], engine: dict[str, Any] | None = None, **permissions: Any
) -> list[str]:
    """What became of each call: `ok`, or the reason why not."""
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / "there.txt").write_text("there")
    settings = {"builtin:permissions": permissions}
    replies = [{"toolCalls": list(calls)}, {"text": "done"}]
    async with ScriptedEngine(tmp_path, replies, settings=settings, **(engine or {})) as e:
        await e.prompt("go")
        found = [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]
    return [m.status if m.status == "ok" else f"{m.status}: {text_of(m.content)}" for m in found]


# Modes.


async def test_mode_ask_lets_look_and_refuses_what_acts_when_nobody_is_there(tmp_path: Path) -> None:
    read, write, run = await results(tmp_path, READ, WRITE, bash("touch x"), mode="ask")
    assert read == "ok"
    assert "Not run: builtin:permissions refused the call: permission mode is ask, and nobody is here to ask." in write
    assert "--auto, or add to permissions.allow in config.json: write(src/**)" in write
    assert "bash(touch *)" in run
    assert not (tmp_path / "work" / "x").exists()
    assert not (tmp_path / "work" / "src").exists()


async def test_mode_edits_lets_files_be_edited_and_the_rest_ask(tmp_path: Path) -> None:
    edit = {"name": "edit", "arguments": {"path": "there.txt", "oldText": "there", "newText": "here"}}
    read, write, edited, run = await results(tmp_path, READ, WRITE, edit, bash("touch x"), mode="edits")
    assert (read, write) == ("ok", "ok")
    assert "refused" not in edited
    assert "permission mode is edits, and nobody is here" in run


async def test_mode_edits_asks_outside_of_the_project_and_where_files_are_code(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "out").symlink_to(tmp_path)
    paths = [
        "../x",
        str(tmp_path / "x"),
        "~/x",
        ".git/hooks/pre-commit",
        ".marvin/hooks/x.py",
        "a/.GIT/config",
        ".vscode/tasks.json",
        "a/.envrc",
        ".husky/pre-commit",
        ".opencode/plugin/x.ts",
        ".npmrc",
        ".ssh/authorized_keys",
        ".config/marvin/hooks/x.py",
        "out/x",
    ]
    calls = [{"name": "write", "arguments": {"path": path, "content": ""}} for path in paths]
    for path, result in zip(paths, await results(tmp_path, *calls, mode="edits"), strict=True):
        assert "nobody is here to ask" in result, path
    assert not (tmp_path / "x").exists()


def test_mode_edits_asks_in_marvins_own_directory_wherever_it_is(tmp_path: Path) -> None:
    where = Where(str(tmp_path), str(tmp_path), str(tmp_path), lambda path: path, str(tmp_path / "mine"))

    def decision(path: Path) -> str:
        return judge(Call("write", {"path": str(path)}, True, False), "edits", Rules(), (), where).decision

    assert decision(tmp_path / "mine" / "hooks" / "x.py") == "ask"
    assert decision(tmp_path / "mine.txt") == "allow"


async def test_mode_auto_lets_all_run_but_what_a_rule_denies(tmp_path: Path) -> None:
    assert await results(tmp_path, READ, WRITE, bash("touch x"), mode="auto") == ["ok", "ok", "ok"]
    write, run = await results(tmp_path, WRITE, bash("true; touch y"), mode="auto", deny=["bash(touch *)"])
    assert write == "ok"
    assert "the rule bash(touch *) in permissions.deny forbids it" in run
    assert not (tmp_path / "work" / "y").exists()


async def test_mode_auto_without_rules_has_no_gate(tmp_path: Path) -> None:
    for rules, gates in (({}, 0), ({"allow": ["bash"]}, 0), ({"deny": ["bash"]}, 1), ({"ask": ["bash"]}, 0)):
        settings = {"builtin:permissions": {"mode": "auto", **rules}}
        async with ScriptedEngine(tmp_path, [], settings=settings) as e:
            listening = e.engine.hooks.registry.listening.get("tool.execute.before", ())
            assert len(listening) == gates


async def test_mode_auto_asks_about_nothing_but_what_a_deny_rule_may_forbid(tmp_path: Path) -> None:
    assert await results(tmp_path, bash("touch x"), mode="auto", ask=["bash"]) == ["ok"]
    rules = {"ask": ["bash"], "deny": ["bash(rm *)"]}
    passed, refused, doubted = await results(
        tmp_path, bash("touch y"), bash("rm y"), bash("$TOOL y"), mode="auto", **rules
    )
    assert passed == "ok"
    assert "forbids it" in refused
    assert "cannot be told" in doubted


async def test_mode_plan_refuses_what_acts_even_when_a_rule_allows_it(tmp_path: Path) -> None:
    person = Person()
    rules = {"allow": ["bash", "write"]}
    outcome = await results(tmp_path, READ, WRITE, bash("ls"), mode="plan", engine={"interface": person}, **rules)
    assert outcome[0] == "ok"
    for result in outcome[1:]:
        assert "permission mode is plan, in which nothing runs that changes anything" in result
        assert "What only looks is possible: read, grep, find, ls" in result
    assert not person.questions


# Tools that others bring.


async def test_a_hooks_tool_acts_unless_it_says_otherwise(tmp_path: Path) -> None:
    def setup(marvin: Any) -> None:
        @marvin.tool
        def acting(text: str) -> str:
            """Do something."""
            return text

        @marvin.tool(acts=False)
        def looking(text: str) -> str:
            """Look at something."""
            return text

    calls = [{"name": name, "arguments": {"text": "fine"}} for name in ("acting", "looking")]
    hooks = {"hooks": {"tools": setup}}
    for mode in ("ask", "edits", "plan"):
        acting, looking = await results(tmp_path, *calls, mode=mode, engine=hooks)
        assert acting.startswith("blocked") and looking == "ok"
    assert await results(tmp_path, *calls, mode="ask", engine=hooks, allow=["act*"], deny=["looking(x*)"]) == [
        "ok",
        "ok",
    ]
    assert (await results(tmp_path, calls[0], mode="ask", engine=hooks, allow=["acting(fine)"])) == ["ok"]
    denied = await results(tmp_path, calls[0], mode="ask", engine=hooks, allow=["acting"], deny=["acting(fi*)"])
    assert "acting(fi*)" in denied[0]


async def test_the_person_sees_all_of_a_long_call_of_a_hooks_tool(tmp_path: Path) -> None:
    def setup(marvin: Any) -> None:
        @marvin.tool
        def acting(text: str, command: str) -> str:
            """Do something."""
            return text

    person = Person(NO)
    call = {"name": "acting", "arguments": {"text": "x" * 10_000, "command": "rm -rf ~"}}
    await results(tmp_path, call, mode="ask", engine={"interface": person, "hooks": {"tools": setup}})
    assert "rm -rf ~" in person.questions[0]["preview"]


async def test_a_looking_tool_that_a_hook_replaces_acts(tmp_path: Path) -> None:
    def setup(marvin: Any) -> None:
        @marvin.tool(replaces="read")
        def read(path: str) -> str:
            """Read it elsewhere."""
            return path

    (result,) = await results(tmp_path, READ, mode="ask", engine={"hooks": {"mine": setup}})
    assert "nobody is here to ask" in result


# Rules.


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        ({"allow": ["write"]}, "ok"),
        ({"allow": ["wr*"]}, "ok"),
        ({"allow": ["write(src/**)"]}, "ok"),
        ({"allow": ["write(src/*.txt)"]}, "ok"),
        ({"allow": ["write(**/a.txt)"]}, "ok"),
        ({"allow": ["write(*.txt)"]}, "blocked"),
        ({"allow": ["write(other/**)"]}, "blocked"),
        ({"allow": ["edit(src/**)"]}, "blocked"),
        ({"allow": ["write"], "ask": ["write(src/**)"]}, "blocked"),
        ({"allow": ["write"], "deny": ["write(src)"]}, "blocked"),
        ({"allow": ["write"], "deny": ["edit(src/a.txt)"]}, "blocked"),
        ({"allow": ["write"], "deny": ["edit"]}, "ok"),
        ({"allow": ["*"], "deny": ["w*"]}, "blocked"),
    ],
)
async def test_rules_about_a_file(tmp_path: Path, rules: dict[str, list[str]], status: str) -> None:
    (result,) = await results(tmp_path, WRITE, mode="ask", **rules)
    assert result.split(":")[0] == status


async def test_a_wildcard_for_files_leaves_out_what_programs_obey_and_a_rule_that_names_it_does_not(
    tmp_path: Path,
) -> None:
    paths = [".git/config", "a/.GIT/hooks/post-checkout", ".vscode/tasks.json", ".envrc", ".github/x.yml"]
    calls = [{"name": "write", "arguments": {"path": path, "content": ""}} for path in paths]
    calls.append(bash("echo x > .git/config"))

    async def allowed(*rules: str) -> list[bool]:
        return [
            result == "ok" for result in await results(tmp_path, *calls, mode="ask", allow=[*rules, "bash(echo *)"])
        ]

    assert await allowed("write(**)") == [False, False, False, False, True, False]
    assert await allowed("write(**)", "write(.git/*)", "write(.envrc)") == [True, False, False, True, True, True]
    assert await allowed("write") == [True] * 6


async def test_links_and_dots_neither_widen_an_allow_nor_dodge_a_deny(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "secret").mkdir()
    (work / "src" / "link").symlink_to(work / "secret")
    (work / "linked").symlink_to(work / "secret" / "key")
    (work / "secret" / "key").write_text("k")

    def write(path: str) -> dict[str, Any]:
        return {"name": "write", "arguments": {"path": path, "content": "x"}}

    paths = ["src/../secret/key", "src/link/key", str(work / "secret/key"), "linked", "src/link/../key2"]
    for result in await results(tmp_path, *map(write, paths[:4]), mode="ask", allow=["write(src/**)"]):
        assert "nobody is here to ask" in result
    reads = [{"name": "read", "arguments": {"path": path}} for path in paths[:4]]
    grep = {"name": "grep", "arguments": {"path": "secret/key", "pattern": "k"}}
    for result in await results(tmp_path, *reads, grep, mode="auto", deny=["read(secret/**)"]):
        assert "read(secret/**) in permissions.deny forbids it" in result
    (denied,) = await results(tmp_path, write("secret/key"), mode="auto", deny=["write(src/link/**)"])
    assert "forbids it" in denied
    assert (work / "secret" / "key").read_text() == "k"


async def test_a_hard_link_does_not_dodge_a_deny_for_a_file(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / ".env").write_text("k")
    os.link(work / ".env", work / "innocent")
    read = [{"name": "read", "arguments": {"path": path}} for path in ("innocent", "there.txt")]
    denied, fine = await results(tmp_path, *read, mode="auto", deny=["read(.env)"])
    assert "forbids it" in denied
    assert fine == "ok"


async def test_always_for_a_file_that_others_obey_is_for_that_file_alone(tmp_path: Path) -> None:
    call = {"name": "write", "arguments": {"path": ".vscode/tasks.json", "content": ""}}
    (refused,) = await results(tmp_path, call, mode="edits")
    assert "write(.vscode/tasks.json)" in refused


async def test_absolute_and_home_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("x")
    monkeypatch.setenv("HOME", str(home))
    read = [
        {"name": "read", "arguments": {"path": path}} for path in ("~/.netrc", str(home / ".netrc"), "../home/.netrc")
    ]
    for deny in ("read(~/.netrc)", f"read({home}/**)", f"read({home}/.net*)"):
        for result in await results(tmp_path, *read, mode="auto", deny=[deny]):
            assert "forbids it" in result


async def test_a_name_that_only_looks_like_the_denied_one_is_denied(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "my key").write_text("k")
    read = {"name": "read", "arguments": {"path": "my\u00a0key"}}
    (result,) = await results(tmp_path, read, mode="auto", deny=["read(my key)"])
    assert "forbids it" in result


async def test_a_search_that_would_come_across_what_is_denied_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "work" / "secret").mkdir(parents=True)
    (tmp_path / "work" / "open").mkdir()
    grep = [
        {"name": "grep", "arguments": {"pattern": "x", **where}} for where in ({}, {"path": "open"}, {"path": "secret"})
    ]
    all_of_it, beside, inside = await results(tmp_path, *grep, mode="auto", deny=["grep(secret/**)"])
    assert "it cannot be told" in all_of_it
    assert beside == "ok"
    assert "forbids it" in inside


async def test_a_deny_holds_inside_a_compound_and_a_doubt_asks(tmp_path: Path) -> None:
    compound, doubt, fine = await results(
        tmp_path,
        bash("true && (true; echo $(touch x))"),
        bash("t=touch; $t x"),
        bash("true"),
        mode="auto",
        deny=["bash(touch *)"],
    )
    assert "forbids it" in compound
    assert "it cannot be told whether the rule bash(touch *) in permissions.deny forbids it" in doubt
    assert fine == "ok"
    assert not (tmp_path / "work" / "x").exists()


async def test_a_rule_that_is_none_keeps_the_policy_from_loading(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, [], settings={"builtin:permissions": {"deny": ["bash(rm"]}}) as e:
        (problem,) = e.engine.hooks.problems
    assert "'bash(rm' is no rule" in problem.error


# Other hooks.


async def test_the_gate_sees_what_will_run_whatever_other_hooks_changed(tmp_path: Path) -> None:
    def setup(marvin: Any) -> None:
        @marvin.on("tool.execute.before", priority=-1_000_000)
        def late(event: Any, ctx: Any) -> dict[str, Any]:
            return {"input": {"command": event.input["command"].replace("true", "touch x")}}

    hooks = {"hooks": {"changer": setup}}
    (denied,) = await results(tmp_path, bash("true"), mode="auto", deny=["bash(touch *)"], engine=hooks)
    assert "forbids it" in denied
    (asked,) = await results(tmp_path, bash("true"), mode="ask", allow=["bash(true)"], engine=hooks)
    assert "bash(touch *)" in asked
    assert not (tmp_path / "work" / "x").exists()


def asking(name: str, answer: Any) -> dict[str, Any]:
    """An engine with a hook that answers `permission.ask`."""

    def setup(marvin: Any) -> None:
        @marvin.on("permission.ask")
        def decide(event: Any, ctx: Any) -> Any:
            assert event.tool_name == "bash"
            assert event.input == {"command": "touch x"}
            if isinstance(answer, Exception):
                raise answer
            return answer

    return {name: setup}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([{"decision": "allow"}], "ok"),
        ([{"decision": "deny", "reason": "not today"}], "library:h0: not today"),
        ([{"decision": "allow"}, {"decision": "deny", "reason": "no"}], "library:h1: no"),
        ([{"decision": "deny"}, {"decision": "allow"}], "refused by library:h0"),
        ([{"decision": "allow"}, {"decision": "ask"}], "nobody is here to ask"),
        ([{"decision": "ask"}, {"decision": "allow"}], "nobody is here to ask"),
        ([None], "nobody is here to ask"),
        (
            [ValueError("broken"), {"decision": "allow"}],
            "library:h0: failed, so the call was refused: ValueError: broken",
        ),
        ([{"decision": "allow"}, {"decision": "perhaps"}], "library:h1: failed"),
    ],
)
async def test_hooks_decide_before_a_person_is_asked(tmp_path: Path, answers: list[Any], expected: str) -> None:
    hooks: dict[str, Any] = {}
    for number, answer in enumerate(answers):
        hooks |= asking(f"h{number}", answer)
    (result,) = await results(tmp_path, bash("touch x"), mode="ask", engine={"hooks": hooks})
    assert expected in result
    assert (tmp_path / "work" / "x").exists() == (expected == "ok")


async def test_a_person_is_asked_only_when_no_hook_decides(tmp_path: Path) -> None:
    person = Person(YES)
    hooks = asking("h", {"decision": "deny"})
    (denied,) = await results(tmp_path, bash("touch x"), mode="ask", engine={"hooks": hooks, "interface": person})
    assert "refused by library:h" in denied
    assert not person.questions
    hooks = asking("h", {"decision": "ask"})
    assert await results(tmp_path, bash("touch x"), mode="ask", engine={"hooks": hooks, "interface": person}) == ["ok"]
    assert len(person.questions) == 1


async def test_a_hook_cannot_allow_what_a_rule_denies(tmp_path: Path) -> None:
    hooks = asking("h", {"decision": "allow"})
    (denied,) = await results(tmp_path, bash("touch x"), deny=["bash(touch *)"], engine={"hooks": hooks})
    assert "forbids it" in denied


# The person.


async def test_the_person_is_told_what_would_run_and_decides(tmp_path: Path) -> None:
    person = Person(YES, NO, {"decision": "deny", "reason": "use make"}, None, {})
    calls = [bash(f"touch {name}") for name in "abcde"]
    outcome = await results(tmp_path, *calls, mode="ask", engine={"interface": person})
    assert person.questions[0] == {
        "tool_name": "bash",
        "input": {"command": "touch a"},
        "preview": "touch a",
        "rule": None,
        "why": "permission mode is ask, and no rule allows it yet",
        "patterns": ["touch *"],
    }
    assert outcome[0] == "ok"
    assert outcome[1].endswith("refused by the user")
    assert outcome[2].endswith("refused by the user: use make")
    assert all(result.endswith("refused by the user") for result in outcome[3:])
    assert sorted(name for name in os.listdir(tmp_path / "work") if len(name) == 1) == ["a"]


async def test_always_is_remembered_by_pattern_in_marvins_own_directory(tmp_path: Path) -> None:
    person = Person({"decision": "allow", "remember": ["touch *"]}, NO)
    calls = [bash("touch a"), bash("touch b"), bash("touch c; date")]
    outcome = await results(tmp_path, *calls, mode="ask", engine={"interface": person})
    assert [result.split(":")[0] for result in outcome] == ["ok", "ok", "blocked"]
    assert person.questions[1]["patterns"] == ["date *"]
    path = tmp_path / "config" / "permissions.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert Remembered(str(tmp_path / "config")).all() == {str(tmp_path / "work"): ["bash(touch *)"]}
    assert not (tmp_path / "work" / ".marvin").exists()
    assert await results(tmp_path, bash("touch d"), mode="ask") == ["ok"]
    (ruled,) = await results(tmp_path, bash("touch d"), mode="ask", deny=["bash(touch d)"])
    assert "forbids it" in ruled
    (asked,) = await results(tmp_path, bash("touch d"), mode="ask", ask=["bash(touch d)"])
    assert "wants it asked about" in asked


async def test_an_edited_pattern_that_is_none_is_told_and_the_answer_counts(tmp_path: Path) -> None:
    person = Person({"decision": "allow", "remember": ["touch *; date", "touch b"]})
    assert await results(tmp_path, bash("touch a"), mode="ask", engine={"interface": person}) == ["ok"]
    assert person.told == ["not remembered, since it is no pattern for bash: touch *; date"]
    assert Remembered(str(tmp_path / "config")).all() == {str(tmp_path / "work"): ["bash(touch b)"]}


async def test_what_is_remembered_for_one_project_does_not_count_in_another(tmp_path: Path) -> None:
    Remembered(str(tmp_path / "config")).add(str(tmp_path / "other"), [parse_rule("bash")])
    (result,) = await results(tmp_path, bash("touch a"), mode="ask")
    assert "nobody is here to ask" in result


async def test_a_file_of_remembered_answers_that_is_damaged_refuses(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "permissions.json").write_text('{"version": 9}')
    (result,) = await results(tmp_path, bash("touch a"), mode="ask")
    assert result.startswith("blocked")
    assert "permissions.json" in result


@pytest.mark.parametrize(
    ("remember", "expected"),
    [
        (True, ["bash(git log *)"]),
        ("git *", ["bash(git *)"]),
        (["git *", "bash(ls *)", "write(a/**)"], ["bash(git *)", "bash(ls *)", "write(a/**)"]),
        ("*", ["bash"]),
        (["", "a; b", 7], ["bash(7)"]),
        (None, []),
        (False, []),
    ],
)
def test_what_an_answer_remembers(remember: Any, expected: list[str]) -> None:
    assert [str(rule) for rule in rules_of(remember, "bash", ("git log *",))] == expected


async def test_a_hooks_own_calls_are_asked_about_too(tmp_path: Path) -> None:
    seen: list[Any] = []

    def setup(marvin: Any) -> None:
        @marvin.on("turn.start")
        async def act(event: Any, ctx: Any) -> None:
            seen.append(await ctx.call_tool("bash", {"command": "touch x"}))

    assert await results(tmp_path, READ, mode="ask", engine={"hooks": {"h": setup}}) == ["ok"]
    assert seen[0].status == "blocked"
    assert not (tmp_path / "work" / "x").exists()


async def test_what_the_user_types_is_not_asked_about_but_a_deny_holds(tmp_path: Path) -> None:
    settings = {"builtin:permissions": {"mode": "plan", "ask": ["bash"], "deny": ["bash(touch *)"]}}
    async with ScriptedEngine(tmp_path, [], settings=settings) as e:
        fine = await e.engine.invoker.single("bash", {"command": "echo $x"}, "1", "user")
        denied = await e.engine.invoker.single("bash", {"command": "touch x"}, "2", "user")
    assert (fine.status, denied.status) == ("ok", "blocked")
