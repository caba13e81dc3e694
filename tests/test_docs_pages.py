"""The pages on sessions, permissions and scripts say what the code does: tables, names and examples are checked."""

import json
import re
import urllib.request
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec import UNSET

from marvin_agent.llm.offline.reply import Fault, FaultKind, Reply, ReplyStop
from marvin_agent.llm.offline.scriptfile import check_replies
from marvin_agent.permission_rules import parse_rule
from marvin_agent.policies.permissions import MODES
from marvin_agent.policies.permissions.judge import Call, Rules, judge
from marvin_agent.policies.permissions.subjects import FILE_TOOLS, GUARDED, CommandSubject, Where
from marvin_agent.session.entries import BaseEntry, StoredEntry, decode_header
from marvin_agent.settings import Settings

DOCS = Path(__file__).parent.parent / "docs"
WHERE = Where("/project", "/project", "/home/me", lambda path: f"/project/{path}")


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


def rows(text: str) -> dict[str, str]:
    """The rows of the tables in a text, without their heads: what the first cell names, and the rest."""
    return dict(re.findall(r"^\| `([^`|]+)` +\| (.*) \|$(?!\n\|---)", text, re.MULTILINE))


def json_blocks(name: str) -> list[Any]:
    return [json.loads(found) for found in re.findall(r"^```json\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)]


def code(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_the_table_of_entries_has_every_type_with_its_fields() -> None:
    table = rows(page("sessions").partition("## The file")[2].partition("## What can go wrong")[0])
    common = set(BaseEntry.__struct_fields__)
    fields = {
        str(kind.__struct_config__.tag): {
            field.encode_name for field in msgspec.structs.fields(kind) if field.name not in common
        }
        for kind in get_args(StoredEntry)
    }
    assert set(table) == set(fields)
    for kind, cells in table.items():
        told = set(code(cells.rpartition(" | ")[0])) - {
            "role",
            "user",
            "assistant",
            "toolResult",
            "hookMessage",
            "null",
        }
        assert told == fields[kind], kind


def test_the_header_on_the_page_is_one() -> None:
    (example,) = json_blocks("sessions")
    header = decode_header(json.dumps(example))
    assert json.loads(msgspec.json.encode(header)) == example


def test_the_modes_and_settings_on_the_page_of_permissions_are_those_that_there_are() -> None:
    assert tuple(rows(page("permissions"))) == MODES
    examples = json_blocks("permissions")
    assert examples
    for example in examples:
        settings = msgspec.convert(example, Settings)
        Rules.of(msgspec.to_builtins(settings.permissions))


def test_the_files_that_no_mode_edits_are_guarded_as_the_page_says() -> None:
    assert set(code(rows(page("permissions"))["edits"])) - {"write", "edit"} <= GUARDED


def test_the_file_tools_that_the_page_names_are_all_of_them() -> None:
    (named,) = re.findall(r"\*\*Files\*\* \((.*?)\)", page("permissions"), re.DOTALL)
    assert set(code(named)) == FILE_TOOLS


UNCOVERED = code(
    page("permissions")
    .partition("however\n  they are shortened or joined: ")[2]
    .partition("; a rule has to name")[0]
    # What stands in brackets explains.
    .replace("(another repository's configuration runs programs)", "")
)
WHOLE = {
    "git -c": "git -c core.pager=x log",
    "git -C": "git -C /elsewhere log",
    "find -execdir": "find . -execdir x {} ;",
    "uniq a b": "uniq a b",
    "git mv x .git/hooks/y": "git mv x .git/hooks/y",
    "git clone": "git clone url /elsewhere",
    "tar -xI": "tar -xI x a.tar",
    "sed -i": "sed -i s/a/b/ file",
    "sed 's/a/b/e'": "sed s/a/b/e file",
    "curl -so": "curl -so file http://x",
    "make CC=x": "make CC=x",
}


def test_every_example_of_what_a_wildcard_leaves_out_is_tried() -> None:
    assert set(UNCOVERED) == set(WHOLE)


@pytest.mark.parametrize("example", UNCOVERED)
def test_a_wildcard_leaves_out_what_the_page_says(example: str) -> None:
    subject = CommandSubject(WHOLE[example], WHERE)
    assert not subject.covered_by([parse_rule(f"bash({example.partition(' ')[0]} *)")])


@pytest.mark.parametrize(
    ("command", "rules", "covered"),
    [
        ("A=1 make all", ["make *"], False),
        ("A=1 make all", ["A=1 make *"], True),
        ("sudo git log", ["git *"], False),
        ("sudo git log", ["sudo *", "git *"], True),
        ("sudo git log", ["sudo git *"], True),
        ("cd sub && git log", ["cd *", "git *"], True),
        ("cd /elsewhere && git log", ["cd *", "git *"], False),
        ("git log > out", ["git *"], False),
    ],
)
def test_allow_rules_cover_commands_as_the_page_says(command: str, rules: list[str], covered: bool) -> None:
    assert CommandSubject(command, WHERE).covered_by([parse_rule(f"bash({rule})") for rule in rules]) is covered


@pytest.mark.parametrize(
    ("rule", "command"),
    [("bash(git push * --force)", "git push origin x --force"), ("bash(*secret*)", "cat my-secret")],
)
def test_deny_rules_read_more_into_a_pattern_as_the_page_says(rule: str, command: str) -> None:
    assert rule.partition("(")[2].rstrip(")") in page("permissions").replace("bash(", "")
    call = Call("bash", {"command": command}, acts=True, by_user=False)
    assert judge(call, "auto", Rules(deny=(parse_rule(rule),)), (), WHERE).decision == "deny"


def test_the_keys_of_a_reply_on_the_page_are_those_that_a_script_takes() -> None:
    table = rows(page("scripted").partition("A fault is")[0])
    assert set(table) == {field.encode_name for field in msgspec.structs.fields(Reply)}
    for reason in get_args(ReplyStop):
        assert f"`{reason}`" in table["stopReason"]


def test_the_faults_on_the_page_are_those_that_there_are() -> None:
    section = page("scripted").partition("A fault is")[2].partition("The last five")[0]
    shown = [json.loads(text) for text in rows(section)]
    assert {shape if isinstance(shape, str) else "status" for shape in shown} == set(get_args(FaultKind))
    check_replies([{"fault": shape} for shape in shown])
    (after,) = re.findall(r"`(\{\"kind\".*?\})`", page("scripted"))
    assert msgspec.convert(json.loads(after), Fault).after_chunks == 3


def test_the_test_on_the_page_passes() -> None:
    def ask(url: str) -> None:
        body = {"model": "any", "messages": [{"role": "user", "content": "Hi"}]}
        request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            assert "Hello" in answer.read().decode()

    (example,) = re.findall(r"^```python\n(.*?)^```$", page("scripted"), re.MULTILINE | re.DOTALL)
    exec(example, {"run_program_against": ask})


def test_the_script_on_the_page_is_one() -> None:
    (example,) = json_blocks("scripted")
    replies = check_replies(example["replies"])
    assert replies[0].tool_calls[0].name == "read"
    assert replies[1].usage is UNSET
