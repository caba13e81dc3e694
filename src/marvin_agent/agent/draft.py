"""A new session as the `setup` of `ctx.session.new_session` gets it: collected on the hook's side, then written."""

from typing import Any

from marvin_agent.hooks import forms


class Draft:
    """What a hook writes into a session that does not exist yet."""

    def __init__(self) -> None:
        self._written: list[tuple[str, tuple[Any, ...]]] = []

    def append_message(self, message: Any) -> None:
        """A message, or its JSON form. Raises FormError."""
        self._written.append(("append_message", (forms.accept("Message")(message),)))

    def append_entry(self, custom_type: str, data: Any = None) -> None:
        """Data that is stored and not for the model. Raises FormError."""
        self.append_custom(custom_type, data)

    def append_custom(self, custom_type: str, data: Any = None) -> None:
        """The same, as sessions call it."""
        self._written.append(("append_custom", (forms.accept("str")(custom_type), forms.accept("Any")(data))))

    def write(self, session: Any) -> None:
        """Put it into the session that was made."""
        for method, arguments in self._written:
            getattr(session, method)(*arguments)
