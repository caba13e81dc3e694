"""The one error tree. Each error knows what to show, whether a retry is worth it and the exit code.

MarvinError
├── UsageError              2    the command line was wrong
├── ConfigError            78    a configuration file was wrong: file, line, key, nearest valid name
│   └── NoModelError       78    no model is named, and no key was found to choose one by
├── HookError               1    a hook is wrong or refuses to load
│   └── RequiredHookError  78    one that must load did not
├── SessionError            1    a session cannot be read, written or found
├── ToolError               1    what a tool tells the model when it failed
├── Refused                 1    a hook, a cap or the user said no to an action
├── Aborted               130    the user interrupted
├── InternalError           1    marvin itself is at fault
└── ProviderError           1    a model call failed
    ├── AuthenticationError      no key, or one that the provider does not take
    ├── AccessError              the key may not do this
    ├── RateLimitError           retry, after `retry_after`
    ├── OverloadedError          retry
    ├── ContextOverflowError     the conversation is too long for the model
    ├── BadRequestError          the provider does not understand us
    ├── ContentRefusedError      the provider refuses the content
    ├── ModelNotFoundError       no such model or address
    ├── NetworkError             retry: no connection, or it broke
    ├── SilenceError             retry: nothing arrived for too long
    └── ProtocolError            retry: what arrived makes no sense, or ended without an end
"""

import os
from collections.abc import Sequence


class MarvinError(Exception):
    """Anything that marvin reports instead of a traceback."""

    exit_code = 1
    kind = "error"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def show(self) -> str:
        """What the user reads: the message, then what to do."""
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(MarvinError):
    exit_code = 2
    kind = "usage"


class ConfigError(MarvinError):
    """A configuration file is wrong. `places` are (file, line) of each problem, for those who mend it by machine."""

    exit_code = 78
    kind = "config"

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(where + message, hint=hint)
        self.file = file
        self.line = line

    @classmethod
    def several(cls, errors: Sequence["ConfigError"]) -> "ConfigError":
        """One error that shows them all."""
        if len(errors) == 1:
            return errors[0]
        return cls("\n".join(error.show() for error in errors))


class NoModelError(ConfigError):
    """Nothing is wrong yet: a key or a model is missing."""


class HookError(MarvinError):
    kind = "hook"


class RequiredHookError(HookError):
    exit_code = 78


class SessionError(MarvinError):
    kind = "session"


class InternalError(MarvinError):
    """Marvin itself is at fault."""

    kind = "internal"

    def __init__(self, error: BaseException) -> None:
        super().__init__(
            f"Marvin failed: {type(error).__name__}: {error}",
            hint="That is a fault of marvin itself: please report it with what you did before it.",
        )
        self.__cause__ = error


class ToolError(MarvinError):
    """A tool failed; the text goes to the model as the result."""

    kind = "tool"


class Refused(MarvinError):
    """An action did not happen because something or somebody said no; the message says who and why."""

    kind = "refused"


class Aborted(MarvinError):
    exit_code = 130
    kind = "aborted"

    def __init__(self, message: str = "Interrupted") -> None:
        super().__init__(message)


class ProviderError(MarvinError):
    """A model call failed. The provider's own words and its request id are kept, keys never."""

    kind = "provider"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.provider = provider
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after
        """Seconds that the provider asked us to wait."""

    def show(self) -> str:
        wait = f"asks to wait {_duration(self.retry_after)}" if self.retry_after and self.retry_after >= 60 else None
        facts = [fact for fact in (self.status and f"HTTP {self.status}", self.request_id, wait) if fact]
        head = f"{self.provider}: {self.message}" if self.provider else self.message
        text = f"{head} ({', '.join(facts)})" if facts else head
        return f"{text}\n{self.hint}" if self.hint else text


class AuthenticationError(ProviderError):
    kind = "authentication"


class AccessError(ProviderError):
    kind = "permission"


class RateLimitError(ProviderError):
    kind = "rate_limit"
    retryable = True


class OverloadedError(ProviderError):
    kind = "overloaded"
    retryable = True


class ContextOverflowError(ProviderError):
    kind = "context_overflow"


class BadRequestError(ProviderError):
    kind = "bad_request"


class ContentRefusedError(ProviderError):
    kind = "content_refused"


class ModelNotFoundError(ProviderError):
    kind = "not_found"


class NetworkError(ProviderError):
    kind = "network"
    retryable = True


class SilenceError(ProviderError):
    kind = "timeout"
    retryable = True


class ProtocolError(ProviderError):
    kind = "protocol"
    retryable = True


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"


def of_file(error: OSError | MarvinError) -> MarvinError:
    """What the system says of a file, as an error to show; one that can be shown stays as it is."""
    if isinstance(error, MarvinError):
        return error
    name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    return MarvinError(f"{name}{error.strerror or error}")
