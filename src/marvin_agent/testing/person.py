"""A person for tests: answers the questions of hooks as told, and remembers what was asked and shown."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Question(NamedTuple):
    """A dialog that a hook opened: its kind (`confirm`, `select`, ...), its title and the rest."""

    kind: str
    title: str
    details: tuple[Any, ...]


class Shown(NamedTuple):
    """Something that a hook told the person."""

    text: str
    level: str
    hook: str


class Person:
    """Implements `hooks.engine.Interface`. `answers` are taken in order; without any, nobody is there.

    An answer that is callable gets the Question and gives the answer.
    """

    theme: Any = None

    def __init__(self, answers: Sequence[Any] | None = None) -> None:
        self._answers = list(answers or ())
        self.has_person = answers is not None
        self.asked: list[Question] = []
        self.unanswered: list[Question] = []
        """Questions that came when no answer was left."""
        self.shown: list[Shown] = []
        self.statuses: dict[str, str | None] = {}
        self.widgets: dict[str, Any] = {}
        self.editor_text = ""

    def _answer(self, kind: str, title: str, *details: Any, default: Any = None) -> Any:
        question = Question(kind, title, details)
        self.asked.append(question)
        if not self.has_person:
            return default
        if not self._answers:
            self.unanswered.append(question)
            raise AssertionError(f"a hook asked {kind} {title!r}, and the test has no answer left")
        answer = self._answers.pop(0)
        return answer(question) if callable(answer) else answer

    async def select(self, title: str, options: Sequence[str], timeout: float | None) -> str | None:
        chosen: str | None = self._answer("select", title, tuple(options), timeout)
        return chosen

    async def confirm(self, title: str, message: str, timeout: float | None) -> bool:
        return bool(self._answer("confirm", title, message, timeout, default=False))

    async def input(self, title: str, placeholder: str) -> str | None:
        text: str | None = self._answer("input", title, placeholder)
        return text

    async def editor(self, title: str, text: str) -> str | None:
        written: str | None = self._answer("editor", title, text)
        return written

    async def permission(self, question: Mapping[str, Any]) -> dict[str, Any]:
        refused = {"decision": "deny", "reason": "nobody is here to ask", "remember": None}
        answer = self._answer("permission", str(question.get("tool_name", "")), dict(question), default=refused)
        return answer if isinstance(answer, dict) else {"decision": answer, "reason": "", "remember": None}

    async def custom(self, factory: Any) -> Any:
        return self._answer("custom", getattr(factory, "__name__", "custom"))

    async def suspended(self, command: str, arguments: Sequence[str]) -> int:
        return int(self._answer("interactive", command, tuple(arguments), default=0))

    def notify(self, message: str, level: str, source: str) -> None:
        self.shown.append(Shown(message, level, source))

    def set_status(self, key: str, text: str | None) -> None:
        self.statuses[key] = text

    def set_widget(self, key: str, content: Any) -> None:
        self.widgets[key] = content

    def set_title(self, title: str) -> None:
        self.statuses["title"] = title

    def set_editor_text(self, text: str) -> None:
        self.editor_text = text

    def get_editor_text(self) -> str:
        return self.editor_text

    def forget(self, hook: str) -> None:
        """What it showed is kept, for the test to look at."""
