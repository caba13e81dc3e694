"""What was raised in another process, with its own type, text, line and traceback."""

import traceback
from typing import Any


class Raised(Exception):
    """An error of a hook in a process of its own."""

    def __init__(self, form: dict[str, Any]) -> None:
        self.kind = str(form.get("type", "Error"))
        self.text = str(form.get("text", ""))
        self.told: str | None = form.get("told")
        """The error in words, where it is one that explains itself."""
        self.place = str(form.get("place", ""))
        self.traceback = str(form.get("traceback", ""))
        super().__init__(self.text)

    @property
    def described(self) -> str:
        """In a line: its message, with its type where the message alone says too little."""
        if self.kind in ("TimeoutError", "FormError", "Exited") and self.text:
            return self.text
        return f"{self.kind}: {self.text}" if self.text else self.kind


class RaisedTimeout(Raised, TimeoutError):
    """A timeout of the hook's own."""


def raised(data: Any, message: str) -> Raised:
    """The error that a process answered with."""
    form = data if isinstance(data, dict) else {"type": "RuntimeError", "text": message}
    return RaisedTimeout(form) if form.get("type") == "TimeoutError" else Raised(form)


def traceback_of(error: BaseException) -> str:
    """The traceback as text: of the process where it was raised."""
    return error.traceback if isinstance(error, Raised) else "".join(traceback.format_exception(error))
