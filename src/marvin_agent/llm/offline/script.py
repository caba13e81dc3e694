"""A script: the replies of a model that is not there, in a file, and which of them answers next.

The file is JSON, `{"version": 1, "replies": [...]}`, or JSON lines (`.jsonl`), a reply a line. All of a
reply is optional:

    text, thinking         what the model says and thinks
    toolCalls              [{"name": ..., "arguments": {...}, "id": ...}]; a text "rawArguments" for what is not JSON
    usage                  {"input", "output", "cacheRead", "cacheWrite"}; null to report none; estimated when absent
    stopReason             stop, length, toolUse or refusal
    chunk                  how it is cut: characters of a piece, or the pieces of the text; by words when absent
    delayMs, chunkDelayMs  how long to wait before the answer, and before each piece
    match                  a regular expression to find in the last text of the user or of a tool
    repeat                 true: the reply is not used up
    fault                  what goes wrong: "connect", "cut", "noEnd", "silence", "errorEvent", "garbage", or
                           {"kind": ..., "afterChunks": 3}, or
                           {"status": 429, "retryAfter": 1, "message": ..., "body": ...}

The first unused reply that has a `match` and matches is taken; if there is none, the first unused one without `match`.
`docs/scripted.md` tells more.
"""

import re

import msgspec

from marvin_agent.llm.offline.answer import Answer, Pieces
from marvin_agent.llm.offline.reply import Fault, Reply
from marvin_agent.llm.offline.scriptfile import check_replies, read_replies


class Taken(msgspec.Struct, frozen=True):
    """A reply that was taken: what to render and what to do to it."""

    reply: Reply
    answer: Answer
    fault: Fault | None


class Exhausted(Exception):
    """No reply is left for a request; the message is for the one who wrote the script."""


class Script:
    """The replies and which of them were used. One script serves one conversation, or one server."""

    __slots__ = ("_cut", "_name", "_replies", "_taken", "_used")

    def __init__(self, replies: tuple[Reply, ...], name: str = "script") -> None:
        self._replies = replies
        self._name = name
        self._used = [False] * len(replies)
        self._taken = 0
        # Cut up once: a reply that repeats, or is served while time is measured, is not cut again.
        self._cut = [Pieces(reply) for reply in replies]

    @classmethod
    def load(cls, path: str) -> "Script":
        """The script in a file. ConfigError, with the line, when it is not one."""
        return cls(read_replies(path), path)

    @classmethod
    def of(cls, *replies: dict[str, object]) -> "Script":
        """A script of replies in their JSON form."""
        return cls(check_replies(list(replies)))

    @property
    def taken(self) -> int:
        """How many requests were answered."""
        return self._taken

    @property
    def left(self) -> int:
        """How many replies were not used yet; those that repeat do not count."""
        return sum(not used and not reply.repeat for reply, used in zip(self._replies, self._used, strict=True))

    def take(self, last_text: str, asked: int = 0) -> Taken:
        """The reply for a request of `asked` bytes. Raises Exhausted."""
        index = self._choose(last_text)
        if index is None:
            raise Exhausted(self._why(last_text))
        self._used[index] = True
        self._taken += 1
        reply = self._replies[index]
        fault = Fault(kind=reply.fault) if isinstance(reply.fault, str) else reply.fault
        return Taken(reply, Answer(reply, self._cut[index], self._taken, asked), fault)

    def _choose(self, last_text: str) -> int | None:
        in_order: int | None = None
        for index, reply in enumerate(self._replies):
            if self._used[index] and not reply.repeat:
                continue
            if reply.match is None:
                in_order = index if in_order is None else in_order
            elif re.search(reply.match, last_text):
                return index
        return in_order

    def _why(self, last_text: str) -> str:
        count = f"{len(self._replies)} {'reply' if len(self._replies) == 1 else 'replies'}"
        if not self.left:
            return f"The script {self._name} is used up: it has {count} and this is request {self._taken + 1}."
        shown = last_text if len(last_text) <= 200 else last_text[:200] + "…"
        return (
            f"No reply of the script {self._name} is for this request: {self.left} of its {count} are unused, "
            f'all with a "match" that is not found in: {shown}'
        )
