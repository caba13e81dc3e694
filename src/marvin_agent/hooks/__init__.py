"""What hook authors import: `HookAPI`, `Context`, messages and models, and a class for every event and result.

Needs the standard library alone, so that any Python process can have it on its path.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marvin_agent.hooks.api import HookAPI as HookAPI
    from marvin_agent.hooks.context import Context as Context
    from marvin_agent.hooks.events import (
        AgentBeforeEnd as AgentBeforeEnd,
    )
    from marvin_agent.hooks.events import (
        AgentBeforeStart as AgentBeforeStart,
    )
    from marvin_agent.hooks.events import (
        AgentEnd as AgentEnd,
    )
    from marvin_agent.hooks.events import (
        AgentSettled as AgentSettled,
    )
    from marvin_agent.hooks.events import (
        AgentStart as AgentStart,
    )
    from marvin_agent.hooks.events import (
        AppStart as AppStart,
    )
    from marvin_agent.hooks.events import (
        AuthGet as AuthGet,
    )
    from marvin_agent.hooks.events import (
        AuthGetInput as AuthGetInput,
    )
    from marvin_agent.hooks.events import (
        AuthGetOutput as AuthGetOutput,
    )
    from marvin_agent.hooks.events import (
        BeforeCompactOutput as BeforeCompactOutput,
    )
    from marvin_agent.hooks.events import (
        ChatMessage as ChatMessage,
    )
    from marvin_agent.hooks.events import (
        ChatMessageInput as ChatMessageInput,
    )
    from marvin_agent.hooks.events import (
        ChatMessageOutput as ChatMessageOutput,
    )
    from marvin_agent.hooks.events import (
        ChatMessagesTransform as ChatMessagesTransform,
    )
    from marvin_agent.hooks.events import (
        ChatParams as ChatParams,
    )
    from marvin_agent.hooks.events import (
        ChatParamsOutput as ChatParamsOutput,
    )
    from marvin_agent.hooks.events import (
        ChatRequest as ChatRequest,
    )
    from marvin_agent.hooks.events import (
        ChatResponse as ChatResponse,
    )
    from marvin_agent.hooks.events import (
        ChatSystemTransform as ChatSystemTransform,
    )
    from marvin_agent.hooks.events import (
        CompactingOutput as CompactingOutput,
    )
    from marvin_agent.hooks.events import (
        CompactionAutoEnd as CompactionAutoEnd,
    )
    from marvin_agent.hooks.events import (
        CompactionAutoStart as CompactionAutoStart,
    )
    from marvin_agent.hooks.events import (
        HookErrorEvent as HookErrorEvent,
    )
    from marvin_agent.hooks.events import (
        MessageEnd as MessageEnd,
    )
    from marvin_agent.hooks.events import (
        MessageStart as MessageStart,
    )
    from marvin_agent.hooks.events import (
        MessageUpdate as MessageUpdate,
    )
    from marvin_agent.hooks.events import (
        ModelChange as ModelChange,
    )
    from marvin_agent.hooks.events import (
        ModelInput as ModelInput,
    )
    from marvin_agent.hooks.events import (
        ModelOutput as ModelOutput,
    )
    from marvin_agent.hooks.events import (
        ModelRef as ModelRef,
    )
    from marvin_agent.hooks.events import (
        ModelResolve as ModelResolve,
    )
    from marvin_agent.hooks.events import (
        PermissionAsk as PermissionAsk,
    )
    from marvin_agent.hooks.events import (
        RetryEnd as RetryEnd,
    )
    from marvin_agent.hooks.events import (
        RetryStart as RetryStart,
    )
    from marvin_agent.hooks.events import (
        SessionBeforeBranch as SessionBeforeBranch,
    )
    from marvin_agent.hooks.events import (
        SessionBeforeClear as SessionBeforeClear,
    )
    from marvin_agent.hooks.events import (
        SessionBeforeCompact as SessionBeforeCompact,
    )
    from marvin_agent.hooks.events import (
        SessionBeforeSwitch as SessionBeforeSwitch,
    )
    from marvin_agent.hooks.events import (
        SessionBeforeTree as SessionBeforeTree,
    )
    from marvin_agent.hooks.events import (
        SessionBranch as SessionBranch,
    )
    from marvin_agent.hooks.events import (
        SessionClear as SessionClear,
    )
    from marvin_agent.hooks.events import (
        SessionCompact as SessionCompact,
    )
    from marvin_agent.hooks.events import (
        SessionCompacting as SessionCompacting,
    )
    from marvin_agent.hooks.events import (
        SessionOnly as SessionOnly,
    )
    from marvin_agent.hooks.events import (
        SessionResume as SessionResume,
    )
    from marvin_agent.hooks.events import (
        SessionShutdown as SessionShutdown,
    )
    from marvin_agent.hooks.events import (
        SessionStart as SessionStart,
    )
    from marvin_agent.hooks.events import (
        SessionSwitch as SessionSwitch,
    )
    from marvin_agent.hooks.events import (
        SessionTree as SessionTree,
    )
    from marvin_agent.hooks.events import (
        StreamParams as StreamParams,
    )
    from marvin_agent.hooks.events import (
        SubagentBeforeStart as SubagentBeforeStart,
    )
    from marvin_agent.hooks.events import (
        SubagentEnd as SubagentEnd,
    )
    from marvin_agent.hooks.events import (
        SystemPrompt as SystemPrompt,
    )
    from marvin_agent.hooks.events import (
        SystemPromptInput as SystemPromptInput,
    )
    from marvin_agent.hooks.events import (
        ThinkingChange as ThinkingChange,
    )
    from marvin_agent.hooks.events import (
        TodoReminder as TodoReminder,
    )
    from marvin_agent.hooks.events import (
        Tokens as Tokens,
    )
    from marvin_agent.hooks.events import (
        ToolExecuteAfter as ToolExecuteAfter,
    )
    from marvin_agent.hooks.events import (
        ToolExecuteBefore as ToolExecuteBefore,
    )
    from marvin_agent.hooks.events import (
        ToolExecuteUpdate as ToolExecuteUpdate,
    )
    from marvin_agent.hooks.events import (
        TtsrTriggered as TtsrTriggered,
    )
    from marvin_agent.hooks.events import (
        TurnEnd as TurnEnd,
    )
    from marvin_agent.hooks.events import (
        TurnStart as TurnStart,
    )
    from marvin_agent.hooks.events import (
        UserBash as UserBash,
    )
    from marvin_agent.hooks.payload import Event as Event
    from marvin_agent.hooks.payload import Result as Result
    from marvin_agent.hooks.results import (
        AuthResult as AuthResult,
    )
    from marvin_agent.hooks.results import (
        BeforeBranchResult as BeforeBranchResult,
    )
    from marvin_agent.hooks.results import (
        BeforeCompactResult as BeforeCompactResult,
    )
    from marvin_agent.hooks.results import (
        BeforeEndResult as BeforeEndResult,
    )
    from marvin_agent.hooks.results import (
        BeforeStartResult as BeforeStartResult,
    )
    from marvin_agent.hooks.results import (
        BeforeTreeResult as BeforeTreeResult,
    )
    from marvin_agent.hooks.results import (
        CancelResult as CancelResult,
    )
    from marvin_agent.hooks.results import (
        ChatMessageResult as ChatMessageResult,
    )
    from marvin_agent.hooks.results import (
        CompactingResult as CompactingResult,
    )
    from marvin_agent.hooks.results import (
        CustomMessage as CustomMessage,
    )
    from marvin_agent.hooks.results import (
        MessagesResult as MessagesResult,
    )
    from marvin_agent.hooks.results import (
        ModelResult as ModelResult,
    )
    from marvin_agent.hooks.results import (
        OwnCompaction as OwnCompaction,
    )
    from marvin_agent.hooks.results import (
        ParamsResult as ParamsResult,
    )
    from marvin_agent.hooks.results import (
        PermissionResult as PermissionResult,
    )
    from marvin_agent.hooks.results import (
        RequestResult as RequestResult,
    )
    from marvin_agent.hooks.results import (
        SubagentBeforeResult as SubagentBeforeResult,
    )
    from marvin_agent.hooks.results import (
        SystemTransformResult as SystemTransformResult,
    )
    from marvin_agent.hooks.results import (
        ToolAfterResult as ToolAfterResult,
    )
    from marvin_agent.hooks.results import (
        ToolBeforeResult as ToolBeforeResult,
    )
    from marvin_agent.hooks.results import (
        UserBashResult as UserBashResult,
    )
    from marvin_agent.llm.values import Model as Model
    from marvin_agent.messages import AssistantMessage as AssistantMessage
    from marvin_agent.messages import Cost as Cost
    from marvin_agent.messages import HookMessage as HookMessage
    from marvin_agent.messages import Image as Image
    from marvin_agent.messages import Text as Text
    from marvin_agent.messages import Thinking as Thinking
    from marvin_agent.messages import ToolCall as ToolCall
    from marvin_agent.messages import ToolResultMessage as ToolResultMessage
    from marvin_agent.messages import Usage as Usage
    from marvin_agent.messages import UserMessage as UserMessage
    from marvin_agent.messages import changed as changed

__all__ = [
    "AgentBeforeEnd",
    "AgentBeforeStart",
    "AgentEnd",
    "AgentSettled",
    "AgentStart",
    "AppStart",
    "AssistantMessage",
    "AuthGet",
    "AuthGetInput",
    "AuthGetOutput",
    "AuthResult",
    "BeforeBranchResult",
    "BeforeCompactOutput",
    "BeforeCompactResult",
    "BeforeEndResult",
    "BeforeStartResult",
    "BeforeTreeResult",
    "CancelResult",
    "ChatMessage",
    "ChatMessageInput",
    "ChatMessageOutput",
    "ChatMessageResult",
    "ChatMessagesTransform",
    "ChatParams",
    "ChatParamsOutput",
    "ChatRequest",
    "ChatResponse",
    "ChatSystemTransform",
    "CompactingOutput",
    "CompactingResult",
    "CompactionAutoEnd",
    "CompactionAutoStart",
    "Context",
    "Cost",
    "CustomMessage",
    "Event",
    "HookAPI",
    "HookErrorEvent",
    "HookMessage",
    "Image",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "MessagesResult",
    "Model",
    "ModelChange",
    "ModelInput",
    "ModelOutput",
    "ModelRef",
    "ModelResolve",
    "ModelResult",
    "OwnCompaction",
    "ParamsResult",
    "PermissionAsk",
    "PermissionResult",
    "RequestResult",
    "Result",
    "RetryEnd",
    "RetryStart",
    "SessionBeforeBranch",
    "SessionBeforeClear",
    "SessionBeforeCompact",
    "SessionBeforeSwitch",
    "SessionBeforeTree",
    "SessionBranch",
    "SessionClear",
    "SessionCompact",
    "SessionCompacting",
    "SessionOnly",
    "SessionResume",
    "SessionShutdown",
    "SessionStart",
    "SessionSwitch",
    "SessionTree",
    "StreamParams",
    "SubagentBeforeResult",
    "SubagentBeforeStart",
    "SubagentEnd",
    "SystemPrompt",
    "SystemPromptInput",
    "SystemTransformResult",
    "Text",
    "Thinking",
    "ThinkingChange",
    "TodoReminder",
    "Tokens",
    "ToolAfterResult",
    "ToolBeforeResult",
    "ToolCall",
    "ToolExecuteAfter",
    "ToolExecuteBefore",
    "ToolExecuteUpdate",
    "ToolResultMessage",
    "TtsrTriggered",
    "TurnEnd",
    "TurnStart",
    "Usage",
    "UserBash",
    "UserBashResult",
    "UserMessage",
    "changed",
]

_HOMES = ("api", "context", "events", "results", "payload")
_VALUES = {
    **dict.fromkeys(("Cost", "Image", "Text", "Thinking", "ToolCall", "Usage", "changed"), "marvin_agent.messages"),
    **dict.fromkeys(("AssistantMessage", "HookMessage", "ToolResultMessage", "UserMessage"), "marvin_agent.messages"),
    "Model": "marvin_agent.llm.values",
}
_STAND_INS = "marvin_agent.hooks.hosts.child.values"


def __getattr__(name: str) -> Any:
    # Lazily: a hook that only listens needs neither the results nor the context.
    if name in _VALUES:
        return getattr(_home_of_values(name), name)
    if name in __all__:
        for home in _HOMES:
            module = importlib.import_module(f"{__name__}.{home}")
            if name in vars(module):
                return vars(module)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _home_of_values(name: str) -> ModuleType:
    """Where messages and models come from: the engine, or stand-ins where its libraries are not installed."""
    try:
        return importlib.import_module(_VALUES[name])
    except ModuleNotFoundError as error:
        if error.name != "msgspec":
            raise
        return importlib.import_module(_STAND_INS)
