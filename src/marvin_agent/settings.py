"""What config.json may say: every key with its type, its limits, its default and what it means.

The text under a key is its description in the JSON Schema (`config_schema`).
"""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, dataclass_transform

import msgspec

ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "xhigh")
PermissionMode: TypeAlias = Literal["ask", "edits", "auto", "plan"]

NonEmpty: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
Names: TypeAlias = tuple[NonEmpty, ...]
Words: TypeAlias = Annotated[Names, msgspec.Meta(min_length=1)]
Milliseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=86_400_000)]
Tokens: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Attempts: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=100)]

if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
    # A type checker does not see that `frozen` and `kw_only` are inherited; this says it once.
    class Section:
        """A group of keys; a key that is not in it is an error."""

        __struct_fields__: ClassVar[tuple[str, ...]]
        __struct_encode_fields__: ClassVar[tuple[str, ...]]

else:

    class Section(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
        """A group of keys; a key that is not in it is an error."""


class HookSettings(Section):
    paths: Names = ()
    """Hook files or directories, relative to this file's directory. Only the global configuration may have it."""
    timeout_ms: Milliseconds = 30_000
    """How long a handler may take."""
    gate_timeout_ms: Milliseconds = 600_000
    """How long a gate may take when no person is there, and how long a dialog of a client stays open."""
    required: Names = ()
    """Ids of hooks without which marvin does not start."""
    disabled: Names = ()
    """Ids of hooks that are not loaded."""
    settings: dict[str, dict[str, Any]] = {}
    """For each hook, by id, what it finds in `marvin.settings`."""
    isolate: Names = ()
    """Ids of Python hooks that run in a process of their own."""
    env: dict[str, Names] = {}
    """For each hook, by id, the names of the environment variables that its process may see."""


class PermissionSettings(Section):
    mode: PermissionMode = "ask"
    """ask: a tool that acts asks first; edits: file edits run, the rest asks; auto: all runs that no rule or hook
    refuses; plan: nothing runs that changes anything."""
    allow: Names = ()
    """Rules, `tool` or `tool(pattern)`, for what runs without asking."""
    ask: Names = ()
    """Rules for what always asks."""
    deny: Names = ()
    """Rules for what never runs."""


class SessionSettings(Section):
    enabled: bool = True
    """Whether conversations are stored."""
    dir: NonEmpty | None = None
    """Where, instead of `sessions` in the configuration directory; relative to this file's directory."""


class RetrySettings(Section):
    max_attempts: Attempts = 5
    """Attempts in all at a model call whose failure may pass; 1 is no retry."""
    base_delay_ms: Milliseconds = 1_000
    """The pause before the second attempt; it doubles each time."""
    max_delay_ms: Milliseconds = 60_000
    """No pause that marvin chooses is longer than this; one that a provider asks for may take up to five minutes."""


class HttpSettings(Section):
    connect_timeout_ms: Milliseconds = 15_000
    """How long connecting to a provider may take."""
    idle_timeout_ms: Milliseconds = 300_000
    """How long a provider may be silent in the middle of an answer."""


class CompactionSettings(Section):
    keep_recent_tokens: Tokens = 20_000
    """How much of the end of a conversation `/compact` keeps word for word."""


class BashSettings(Section):
    scrub_env: bool = False
    """Whether the variables that hold providers' keys are hidden from what the bash tool runs."""


class EditorCommand(Section):
    command: NonEmpty
    """The program."""
    args: tuple[str, ...] = ()
    """What stands before the file's name."""


class LspSettings(Section):
    enabled: bool = True
    """Whether language servers are asked for diagnostics."""
    auto_install: bool = True
    """Whether missing language servers are installed."""


class Settings(Section):
    """The configuration of marvin."""

    schema_url: str | None = msgspec.field(name="$schema", default=None)
    """Where an editor finds this schema."""
    provider: NonEmpty | None = None
    """The provider of models that are named without one."""
    model: NonEmpty | None = None
    """The model: an id, `provider/id`, or a part of one; several, separated by commas, to cycle through."""
    thinking: str = "medium"
    """How hard a model thinks: off, minimal, low, medium, high or xhigh; or one for each model, separated by commas."""
    tools: Names | None = None
    """The tools that the model may use; [] is none, null all. A project may only narrow it before it is trusted."""
    theme: NonEmpty = "auto"
    """The colours of the app."""
    notifications: bool = False
    """Whether the terminal is told that marvin waits or is done while it is in the background."""
    editor: NonEmpty | Words | EditorCommand | None = None
    """The external editor: a command line, a list of its words, or command and args."""
    system_prompt: str | None = None
    """Replaces marvin's own system prompt."""
    lsp: bool | LspSettings = False
    """Read, and answered with a line that diagnostics are not there yet."""
    hooks: HookSettings = HookSettings()
    """Which hooks are loaded, and how long they may take."""
    hook_timeout: Milliseconds | None = None
    """The same as hooks.timeoutMs, which wins when both are there."""
    permissions: PermissionSettings = PermissionSettings()
    """What tools may do."""
    sessions: SessionSettings = SessionSettings()
    """How conversations are stored."""
    retry: RetrySettings = RetrySettings()
    """What happens when a model call fails."""
    http: HttpSettings = HttpSettings()
    """Connections to providers."""
    compaction: CompactionSettings = CompactionSettings()
    """How long conversations are shortened."""
    keybindings: dict[str, NonEmpty | Names] = {}
    """For each action of the app its key, or several."""
    bash: BashSettings = BashSettings()
    """The bash tool."""


def comma_list(text: str) -> tuple[str, ...]:
    """The parts of a list such as that of `model`, without what is empty."""
    return tuple(part for part in map(str.strip, text.split(",")) if part)


def unknown_levels(thinking: str) -> tuple[str, ...]:
    """What in a value of `thinking` is no level."""
    return tuple(level for level in comma_list(thinking) or (thinking,) if level not in THINKING_LEVELS)
