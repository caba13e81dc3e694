"""The interface when no person is there: questions get their safe answer, messages go to the event channel."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Nobody:
    """Implements `hooks.engine.Interface` for headless runs and the library."""

    has_person = False
    theme: Any = None

    def __init__(self, tell: Callable[[str, str, str], None]) -> None:
        self._tell = tell

    async def select(self, title: str, options: Sequence[str], timeout: float | None) -> str | None:
        return None

    async def confirm(self, title: str, message: str, timeout: float | None) -> bool:
        return False

    async def input(self, title: str, placeholder: str) -> str | None:
        return None

    async def editor(self, title: str, text: str) -> str | None:
        return None

    async def permission(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return {"decision": "deny", "reason": "nobody is here to ask", "remember": None}

    async def custom(self, factory: Any) -> Any:
        return None

    async def suspended(self, command: str, arguments: Sequence[str]) -> int:
        raise RuntimeError("there is no terminal to give to a program in this mode")

    def notify(self, message: str, level: str, source: str) -> None:
        self._tell(message, level, source)

    def set_status(self, key: str, text: str | None) -> None: ...

    def set_widget(self, key: str, content: Any) -> None: ...

    def set_title(self, title: str) -> None: ...

    def set_editor_text(self, text: str) -> None: ...

    def get_editor_text(self) -> str:
        return ""

    def forget(self, hook: str) -> None: ...
