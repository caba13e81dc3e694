"""The prompt of the embedded model: short, by example, and cut to what it can read in reasonable time."""

import re
from typing import Any, NamedTuple

import msgspec

from marvin_agent.llm.history import prepare
from marvin_agent.llm.values import Request, ToolSpec
from marvin_agent.messages import AssistantMessage, Message, ToolResultMessage, UserMessage, text_of

_CHARACTERS = 10_000
"""About 4,000 tokens: half of the context, and a quarter of a minute of reading."""
_LONGEST_MESSAGE = 4_000
_LONGEST_RESULT = 1_500

_WITH_TOOLS = (
    "You are Marvin, a coding assistant in a terminal. Reply with one JSON object: "
    '{"tool": name, "arguments": {...}} to use a tool, or {"answer": text} to answer. Tools: '
)
_WITHOUT_TOOLS = "You are Marvin, a helpful assistant in a terminal. Answer in a few short sentences."


_FILE = re.compile(r"\w[./]\w")
_LETTERS = re.compile(r"[a-z]+")


class _Example(NamedTuple):
    tool: str
    words: str
    """What is said when this tool is wanted."""
    question: str
    arguments: dict[str, Any]


_EXAMPLES = (
    _Example("read", "read show open cat print display file does contents", "Show me setup.py", {"path": "setup.py"}),
    _Example("bash", "run execute test tests status install build command git", "Run ls -l", {"command": "ls -l"}),
    _Example("ls", "list folder directory files ls", "List the files in docs", {"path": "docs"}),
    _Example("grep", "search grep where used uses occurrences", "Search for parse in src", {"pattern": "parse"}),
    _Example("find", "find named called", "Find all Python files", {"pattern": "*.py"}),
    _Example("write", "create write new save", "Create a.txt with hello", {"path": "a.txt", "content": "hello"}),
    _Example(
        "edit",
        "replace change edit fix rename instead with",
        "In app.py replace x = 1 with x = 2",
        {"path": "app.py", "oldText": "x = 1", "newText": "x = 2"},
    ),
)
_ANSWERS = (("Who are you?", "I am Marvin, a coding assistant."), ("What is 2 + 3?", "2 + 3 = 5."))


def chat(request: Request) -> list[dict[str, str]]:
    """The messages for the model: its own system prompt, examples, and the end of the conversation."""
    history = prepare(request.messages, request.model)
    tools = tools_left(request)
    if not tools:
        return [_said("system", _WITHOUT_TOOLS), *_joined(_end(history, plain=True))]
    names = ", ".join(tool.name for tool in tools)
    question = next((text_of(message.content) for message in reversed(history) if isinstance(message, UserMessage)), "")
    return [
        _said("system", _WITH_TOOLS + names + "."),
        *_examples(tools, question),
        *_joined(_end(history, plain=False)),
    ]


def tools_left(request: Request) -> tuple[ToolSpec, ...]:
    """The tools that it may call now: all, or none after a result. It would make the same call again until a limit
    stopped it, and what it can do with a result is to say what is in it."""
    return () if request.messages and isinstance(request.messages[-1], ToolResultMessage) else request.tools


def _examples(tools: tuple[ToolSpec, ...], question: str) -> list[dict[str, str]]:
    """A few examples, the one that is most like the question last: a model of this size does what it has seen last."""
    offered = {tool.name: tool for tool in tools}
    fitting = [
        # An example that the grammar would forbid teaches nothing.
        example
        for example in _EXAMPLES
        if example.tool in offered
        and set(example.arguments) <= set(offered[example.tool].parameters.get("properties", ()))
    ]
    fitting.sort(key=lambda example: _likeness(example, question))
    answers = [_turn(asked, {"answer": answer}) for asked, answer in _ANSWERS]
    shown = [
        _turn(example.question, {"tool": example.tool, "arguments": example.arguments}) for example in fitting[-2:]
    ]
    asks_for_tool = bool(fitting) and _likeness(fitting[-1], question) > 0
    turns = [*answers, *shown] if asks_for_tool else [*shown, *answers]
    return [message for turn in turns for message in turn]


def _likeness(example: _Example, question: str) -> int:
    named = [word for word in question.lower().split() if _FILE.search(word)]
    words = {word for part in question.lower().split() if part not in named for word in _LETTERS.findall(part)}
    # Who names a file without saying what to do with it wants to see it.
    return len(words.intersection(example.words.split())) + (example.tool == "read" and bool(named))


def _turn(question: str, reply: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    return _said("user", question), _said("assistant", _json(reply))


def _end(history: tuple[Message, ...], *, plain: bool) -> list[dict[str, str]]:
    """As many of the last messages as there is room for; the last one always."""
    room = _CHARACTERS
    kept: list[dict[str, str]] = []
    for message in reversed(history):
        texts = _message(message, plain=plain)
        length = sum(len(text["content"]) for text in texts)
        if kept and length > room:
            break
        room -= length
        kept[:0] = texts
    return kept


def _message(message: Message, *, plain: bool) -> list[dict[str, str]]:
    match message:
        case AssistantMessage():
            return _assistant(message, plain=plain)
        case ToolResultMessage():
            text = shortened(text_of(message.content), _LONGEST_RESULT) or "(nothing)"
            return [_said("user", f"Result of {message.tool_name}:\n{text}")]
        case _:
            return [_said("user", shortened(text_of(message.content), _LONGEST_MESSAGE))]


def _assistant(message: AssistantMessage, *, plain: bool) -> list[dict[str, str]]:
    said = shortened(message.text, _LONGEST_MESSAGE)
    if plain:
        # The calls go: question and result then stand together, which is what it understands.
        return [_said("assistant", said)] if said else []
    if not message.tool_calls:
        return [_said("assistant", _json({"answer": said}))]
    # A line for each call is enough: what was said beside it would teach a form that the grammar forbids.
    return [
        _said("assistant", shortened(_json({"tool": call.name, "arguments": call.input}), _LONGEST_RESULT))
        for call in message.tool_calls
    ]


def _joined(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The messages with neighbours of one role as one: the model knows only turns."""
    joined: list[dict[str, str]] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1] = _said(message["role"], joined[-1]["content"] + "\n" + message["content"])
        else:
            joined.append(message)
    return joined


def shortened(text: str, most: int) -> str:
    """The beginning and the end of a text that is too long."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def _said(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
