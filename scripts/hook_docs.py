"""The pages of docs/hooks that are made from the event table, the API's signatures and the examples."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from value_docs import anchor, values_page

from marvin_agent.frontends.hook_scaffold import rule_of
from marvin_agent.hooks import api, context, events, results
from marvin_agent.hooks.payload import Payload, fields_of
from marvin_agent.hooks.spec import NAMES, ROWS, Spec
from marvin_agent.session import read

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "hooks"
NOTE = "<!-- Made by scripts/docs.py from the source: change that, then run it. -->"
NOT_FOR_HOOKS = {"clear"}
"""What the hook system itself calls."""
TEST_BEGINS = "\n\n# Its test:"


def pages() -> dict[Path, str]:
    """Every generated page with what should be in it."""
    return {
        DOCS / "reference.md": "\n".join(reference()) + "\n",
        DOCS / "api.md": "\n".join(api_page()) + "\n",
        DOCS / "values.md": "\n".join(values_page(NOTE)) + "\n",
        DOCS / "examples.md": "\n".join(examples()) + "\n",
    }


# The reference of events.

REFERENCE = f"""\
# Events

{NOTE}

Every event that a hook can listen to. `marvin.on("turn.end")` takes the name, an alias or the class (`TurnEnd`, from
`marvin_agent.hooks`). `"session"` stands for {", ".join(f"`{name}`" for name in NAMES["session"])} at once.

Every event has `session_id`; `origin`, who caused it: `main`, `subagent:<name>`, `user` or `hook:<id>`; and `mode`:
`tui`, `print`, `json`, `rpc`, `acp` or `library`.

A handler gets `(event, ctx)`. It may change what the tables below mark as *in place*, or return the field in a dict or
in the result's class: that is the same. Wherever a message, part or model is expected, its JSON form will do:
`{{"type": "text", "text": "Hello"}}`, `{{"provider": "anthropic", "id": "claude-haiku-4-5"}}`. [Values](values.md)
describes them all.

`marvin hooks new NAME --event EVENT` writes a hook for any of these events, with its test. `marvin hooks run FILE
--event turn.end --input '{{"turnIndex": 3}}'` sends it one: the payload has the names of the tables, in camelCase or as
they are, and what is left out is neutral.

How several handlers combine:

| rule | meaning |
|---|---|
| refuse | the first `block` or `cancel` stops the event; later handlers are not asked |
| first | the first handler that gives it decides and ends the event |
| chain | each handler sees the value as the one before left it |
| append | the values of all handlers are kept, in order |
| strictest | all handlers are asked; deny beats ask beats allow |

An *open* event goes on as if a failing handler had not run; the failure is reported. A *closed* one takes a failure for
a refusal. `on_error="closed"` makes a handler closed. A handler has `hooks.timeoutMs` (30 s) unless the event says
more.
"""


class Classes:
    """The docstrings of fields, read from the source: Python does not keep them."""

    def __init__(self, *modules: object) -> None:
        self._docs: dict[str, dict[str, str]] = {}
        for module in modules:
            tree = ast.parse(Path(str(vars(module)["__file__"])).read_text())
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self._docs[node.name] = dict(_field_docs(node))

    def of(self, cls: type[Payload], field: str) -> str:
        found = (self._docs.get(base.__name__, {}).get(field) for base in cls.__mro__)
        return next((doc for doc in found if doc), "")


def _field_docs(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for pair in zip(node.body, node.body[1:], strict=False):
        match pair:
            case (ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text)))):
                yield name, " ".join(text.split())


CLASSES = Classes(events, results)


def reference() -> Iterator[str]:
    yield REFERENCE
    for row in ROWS:
        yield f"- [`{row.name}`](#{row.name.replace('.', '')}): {_doc(row.event)}"
    for row in ROWS:
        yield from _event(row)


def _event(row: Spec) -> Iterator[str]:
    yield f"\n## {row.name}\n"
    yield _doc(row.event)
    yield ""
    if row.waits_for:
        yield f"*Not fired yet: it comes with {row.waits_for}.*\n"
    aliases = f" Also called {', '.join(f'`{alias}`' for alias in row.aliases)}." if row.aliases else ""
    yield f"Class `{row.event.__name__}`.{aliases} {_policy(row)}\n"
    if payload := list(_payload(row.event, "event")):
        yield "| payload | type | |"
        yield "|---|---|---|"
        yield from payload
    if row.fields:
        yield f"\n| result (`{row.result.__name__ if row.result else ''}`) | type | rule | in place |"
        yield "|---|---|---|---|"
        for field in row.fields.values():
            place = f"`event.{field.at}`" if field.at else ""
            note = CLASSES.of(row.result, field.name) if row.result else ""
            name = f"`{field.name}`" + (f": {note}" if note else "")
            yield f"| {name} | {_kind(field.kind)} | {field.rule}: {rule_of(field)} | {place} |"
    yield f"\n```python\n{snippet(row.name)}\n```"


def snippet(event: str) -> str:
    """The part of a snippet that is for readers, its docstring as a comment."""
    text = (DOCS / "snippets" / f"{event.replace('.', '_')}.py").read_text().partition(TEST_BEGINS)[0]
    doc, _, code = text.removeprefix('"""').partition('"""\n')
    return f"# {doc}\n{code.strip()}"


def _policy(row: Spec) -> str:
    parts = []
    if row.gate:
        parts.append("A gate: it has no deadline while a person is there, else `hooks.gateTimeoutMs` (10 min).")
    if row.result is None:
        parts.append("For looking: what is returned is ignored.")
    else:
        parts.append("Closed." if row.closed else "Open.")
    if row.drained:
        parts.append("Does not hold the run up; finished before the run settles.")
    if row.limit:
        parts.append(f"All handlers at once, within {row.limit:g} s.")
    return " ".join(parts)


def _payload(cls: type[Payload], path: str) -> Iterator[str]:
    own = [name for name in fields_of(cls) if name not in fields_of(events.Event) or path != "event"]
    for name in own:
        kind = fields_of(cls)[name]
        nested = getattr(events, kind, None)
        if isinstance(nested, type) and issubclass(nested, Payload) and nested is not events.ModelRef:
            yield from _payload(nested, f"{path}.{name}")
        else:
            yield f"| `{path}.{name}` | {_kind(kind)} | {CLASSES.of(cls, name)} |"


def _kind(kind: str) -> str:
    text = "`" + kind.replace("|", "\\|") + "`"
    place = anchor(kind)
    return text if place is None else f"[{text}](values.md{'#' if place else ''}{place})"


def _doc(thing: object) -> str:
    text = thing.__doc__
    if not text:
        raise SystemExit(f"{thing} has no docstring")
    return " ".join(text.split())


# The API.

API = f"""\
# What a hook can do

{NOTE}

`setup(marvin)` receives a `HookAPI`; every handler, command and tool receives a `Context`. All of both is safe from any
thread. What is marked **await** is awaited in an `async def`; in a plain `def`, which runs in a thread of its own, the
same call waits and returns the value. An answer that was not awaited raises when it is tested or compared, so
`if not ctx.ui.confirm(...)` never allows by mistake. A `marvin` whose hook was unloaded, and a `ctx` whose handler has
ended, raise.
"""


class Part(NamedTuple):
    """A section of the API: how it is reached, and the class behind it."""

    path: str
    cls: type
    text: str


PARTS = (
    Part(
        "marvin",
        api.HookAPI,
        "What `setup` receives. `marvin.log` is a logger of the hook's own: warnings and errors are shown, and with"
        " `MARVIN_HOOK_LOG=FILE` in the environment all lines are kept in a file.",
    ),
    Part("marvin.events", api.Bus, "A bus between hooks."),
    Part("ctx", context.Context, "What handlers, commands and tools receive."),
    Part("ctx.signal", context.Signal, "Whether the run that a handler belongs to is being aborted."),
    Part("ctx", context.ToolCallContext, "What a tool of a hook has in addition."),
    Part(
        "ctx.ui",
        context.Ui,
        "The person. Without one (`ctx.has_ui` is false) nothing waits: `confirm` is `False`, `permission` denies, and"
        " the other questions are `None`; `notify` is a line on stderr.",
    ),
    Part(
        "ctx.session",
        context.SessionControl,
        "What can be done to the session. From a command, what changes the session is done when it returns, with"
        " `{cancelled, session_id}`. From a handler inside a run it is scheduled for the run's end, and returns"
        " `{scheduled: true}` at once.",
    ),
    Part("ctx.sessions", read.SessionReader, "The session and its siblings, to look at."),
)


def api_page() -> Iterator[str]:
    yield API
    for part in PARTS:
        extra = " in a tool" if part.cls is context.ToolCallContext else ""
        yield f"## `{part.path}`{extra}\n\n{part.text}\n\n| | |\n|---|---|"
        yield from _members(part)
        yield ""


def _members(part: Part) -> Iterator[str]:
    source = ast.parse(Path(str(vars(sys.modules[part.cls.__module__])["__file__"])).read_text())
    (node,) = [n for n in ast.walk(source) if isinstance(n, ast.ClassDef) and n.name == part.cls.__name__]
    for member in node.body:
        if not isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) or member.name.startswith("_"):
            continue
        if member.name in NOT_FOR_HOOKS:
            continue
        marks = {ast.unparse(mark) for mark in member.decorator_list}
        if "overload" in marks or any(mark.endswith(".setter") for mark in marks):
            continue
        doc = ast.get_docstring(member)
        if not doc:
            raise SystemExit(f"{part.cls.__name__}.{member.name} has no docstring")
        wait = "**await** " if "awaited" in marks or isinstance(member, ast.AsyncFunctionDef) else ""
        yield f"| {wait}`{part.path}.{_signature(member, marks)}` | {' '.join(doc.split())} |".replace("\n", " ")


def _signature(member: ast.FunctionDef | ast.AsyncFunctionDef, marks: set[str]) -> str:
    kind = ast.unparse(member.returns).strip("'\"") if member.returns else "Any"
    if "property" in marks:
        text = f"{member.name}: {kind}"
    else:
        member.args.args = member.args.args[1:]
        text = f"{member.name}({ast.unparse(member.args)})" + ("" if kind == "None" else f" -> {kind}")
    return text.replace("|", "\\|")


# The examples.

EXAMPLES = f"""\
# Examples

{NOTE}

Hooks to use as they are, or to begin with. Each is in `examples/hooks` and has a test in `tests/examples`. Copy one
into `~/.config/marvin/hooks/`, or into `.marvin/hooks/` of a project; settings go into config.json under the hook's id:

```json
{{"hooks": {{"settings": {{"global:cost_limiter": {{"usd": 2.5}}}}}}}}
```
"""


def examples() -> Iterator[str]:
    yield EXAMPLES
    files = sorted((ROOT / "examples" / "hooks").glob("*.py"))
    for path in files:
        yield f"- [{path.stem}](#{path.stem}): {_summary(path)}"
    for path in files:
        doc, code = _parts(path)
        yield f"\n## {path.stem}\n\n{doc}\n\n```python\n{code}\n```"


def _summary(path: Path) -> str:
    first = " ".join(_parts(path)[0].split("\n\n")[0].split())
    return first.partition(": ")[2]


def _parts(path: Path) -> tuple[str, str]:
    text = path.read_text()
    doc = ast.get_docstring(ast.parse(text)) or ""
    return doc, text[text.index('"""', 3) + 3 :].strip()
