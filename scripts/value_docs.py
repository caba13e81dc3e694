"""docs/hooks/values.md: the values that events carry and that `ctx` gives, read from the source of their classes."""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from marvin_agent import messages
from marvin_agent.agent import answers
from marvin_agent.hooks import engine, events, payload, results
from marvin_agent.llm import values
from marvin_agent.messages import AssistantMessage, HookMessage, Image, Text, ToolCall, ToolResultMessage, UserMessage
from marvin_agent.session import entries, index, read, tree

INTRO = """\
# Values

{note}

What events carry, and what `ctx` gives. All of it is frozen: to change a message, give another one in its place, made
with `changed(message, content=[...])`, or its JSON form as a dict. The names below are those of Python; in JSON they
are in camelCase (`tool_call_id` is `toolCallId`). `from marvin_agent.hooks import Text, UserMessage, changed` gives the
classes of messages and parts, also in a process of its own. What may be missing is false when it is.

| written | means |
|---|---|
| `Message` | `UserMessage`, `AssistantMessage`, `ToolResultMessage` or `HookMessage`: `message.role` says which |
| `UserPart` | `Text` or `Image`: `part.type` says which |
| `AssistantPart` | `Text`, `Thinking` or `ToolCall` |
| `Entry` | one of the entries below: `entry.type` says which |
| `Mode` | {Mode} |
| `Purpose` | {Purpose}: what a model call is for |
| `CompactReason` | {CompactReason} |
| `StopReason` | {StopReason} |
| `ToolStatus` | {ToolStatus} |
"""


class Section(NamedTuple):
    """Some classes of a module under a heading."""

    heading: str
    module: object
    names: tuple[str, ...]


SECTIONS = (
    Section("Messages", messages, ("UserMessage", "AssistantMessage", "ToolResultMessage", "HookMessage")),
    Section("Parts of messages", messages, ("Text", "Image", "Thinking", "ToolCall")),
    Section("Tokens", events, ("Tokens",)),
    Section("Tokens in messages", messages, ("Usage", "Cost")),
    Section("Models", values, ("Model", "Price")),
    Section("Names of models, and sampling", events, ("ModelRef", "StreamParams")),
    Section("What hooks give", results, ("CustomMessage", "OwnCompaction")),
    Section("What `ctx` gives", answers, ("Executed", "ToolAnswer", "Completion")),
    Section("Tools", engine, ("ToolFacts",)),
    Section("Sessions", index, ("SessionInfo",)),
    Section("Compactions", read, ("CompactionState",)),
    Section("Trees", tree, ("TreeNode",)),
    Section(
        "Entries of a session",
        entries,
        (
            "BaseEntry",
            "MessageEntry",
            "CustomEntry",
            "CompactionEntry",
            "BranchSummaryEntry",
            "ModelChangeEntry",
            "ThinkingChangeEntry",
        ),
    ),
)
HI = Text(text="Hello")
JSON_FORMS = {
    "UserMessage": UserMessage(content=(HI,)),
    "AssistantMessage": AssistantMessage(
        content=(HI, ToolCall(id="call_1", name="bash", arguments=msgspec.Raw(b'{"command": "ls"}'))),
        api="anthropic-messages",
        provider="anthropic",
        model="claude-haiku-4-5",
        stop_reason="toolUse",
    ),
    "ToolResultMessage": ToolResultMessage(
        tool_call_id="call_1", tool_name="bash", content=(Text(text="a.py"),), is_error=False, status="ok"
    ),
    "HookMessage": HookMessage(custom_type="note", content=(HI,)),
    "Image": Image(data="iVBORw0KGgo=", mime_type="image/png"),
}
KNOWN = tuple(name for section in SECTIONS for name in section.names)
WRITTEN = (
    "Message",
    "UserPart",
    "AssistantPart",
    "Entry",
    "Mode",
    "Purpose",
    "CompactReason",
    "StopReason",
    "ToolStatus",
)


def values_page(note: str) -> Iterator[str]:
    homes = {
        "Mode": payload,
        "Purpose": events,
        "CompactReason": events,
        "StopReason": messages,
        "ToolStatus": messages,
    }
    yield INTRO.format(note=note, **{name: _choices(module, name) for name, module in homes.items()})
    for section in SECTIONS:
        yield f"\n## {section.heading}"
        for name in section.names:
            # The module may have it from another one.
            yield from _class(sys.modules[getattr(section.module, name).__module__], name)


def anchor(kind: str) -> str | None:
    """Where a type is described: an anchor of the page, empty for its table; None when it is not."""
    words = "".join(letter if letter.isalnum() else " " for letter in kind).split()
    return next(("" if word in WRITTEN else word.lower() for word in words if word in KNOWN or word in WRITTEN), None)


def _choices(module: object, name: str) -> str:
    *first, last = [f"`{choice}`" for choice in vars(module)[name].__args__]
    return f"{', '.join(first)} or {last}"


def _class(module: object, name: str) -> Iterator[str]:
    tree_ = ast.parse(Path(str(vars(module)["__file__"])).read_text())
    (node,) = [each for each in tree_.body if isinstance(each, ast.ClassDef) and each.name == name]
    yield f"\n### {name}\n"
    if doc := ast.get_docstring(node):
        yield " ".join(doc.split()) + "\n"
    yield "| | | |"
    yield "|---|---|---|"
    for keyword in node.keywords if module is entries else ():
        yield f'| `type` | `"{ast.literal_eval(keyword.value)}"` |  |'
    yield from _fields(node)
    if sample := JSON_FORMS.get(name):
        plain = json.dumps(json.loads(msgspec.json.encode(sample)), ensure_ascii=False)
        yield f"\n```json\n{plain}\n```"


def _fields(node: ast.ClassDef) -> Iterator[str]:
    following = [*node.body[1:], ast.Pass()]
    for member, after in zip(node.body, following, strict=True):
        match member:
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                doc = _text(after)
                written = ast.unparse(member.annotation)
                if "Raw" in written:
                    continue  # JSON in bytes; a property gives what is in it
                if isinstance(member.value, ast.Constant) and written.startswith("ClassVar"):
                    written = f'"{member.value.value}"'
                kind = written.replace("msgspec.UnsetType", "UnsetType")
                missing = "May be missing." if "UnsetType" in kind else ""
                kind = kind.replace(" | UnsetType", "").replace("|", "\\|")
                yield f"| `{name}` | `{kind}` | {f'{doc} {missing}'.strip()} |"
            case ast.FunctionDef(name=name) if [ast.unparse(mark) for mark in member.decorator_list] == ["property"]:
                doc = " ".join((ast.get_docstring(member) or "").split())
                yield f"| `{name}` | `{_kind(member.returns)}` | {doc} |"
            case ast.FunctionDef(name="__init__"):
                yield from _set_in(member)


def _set_in(init: ast.FunctionDef) -> Iterator[str]:
    for line in init.body:
        match line:
            case ast.AnnAssign(target=ast.Attribute(attr=name)):
                yield f"| `{name}` | `{_kind(line.annotation)}` |  |"
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Name(id=given)):
                (argument,) = [each for each in init.args.args if each.arg == given]
                yield f"| `{name}` | `{_kind(argument.annotation)}` |  |"


def _kind(annotation: ast.expr | None) -> str:
    return ast.unparse(annotation).replace("|", "\\|") if annotation else "Any"


def _text(node: ast.AST) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split())
    return ""
