"""What the model sees of a session: the messages of one branch, with the last compaction applied."""

from collections.abc import Sequence

from marvin_agent.messages import HookMessage, Message, Text
from marvin_agent.session.entries import BranchSummaryEntry, CompactionEntry, Entry, MessageEntry, timestamp_ms

COMPACTION_TYPE = "compaction"
BRANCH_SUMMARY_TYPE = "branch_summary"

_COMPACTION_PREFACE = "The conversation up to here was summarized to save space. The summary:\n\n"
_BRANCH_PREFACE = "Another attempt was made from here and left. A summary of it:\n\n"


def message_of(entry: Entry) -> Message | None:
    """What an entry says to the model; None when it says nothing."""
    match entry:
        case MessageEntry():
            return entry.message
        case BranchSummaryEntry():
            return _summary(BRANCH_SUMMARY_TYPE, _BRANCH_PREFACE, entry)
        case CompactionEntry():
            return _summary(COMPACTION_TYPE, _COMPACTION_PREFACE, entry)
        case _:
            return None


def context_entries(branch: Sequence[Entry]) -> list[Entry]:
    """The entries of a branch that the model sees, in the order in which it sees them."""
    last = next((i for i in range(len(branch) - 1, -1, -1) if isinstance(branch[i], CompactionEntry)), None)
    if last is None:
        return [entry for entry in branch if isinstance(entry, MessageEntry | BranchSummaryEntry)]
    compaction = branch[last]
    assert isinstance(compaction, CompactionEntry)
    kept_id = compaction.first_kept_entry_id
    first = next((i for i in range(last) if branch[i].id == kept_id), last)
    # Older compactions among what is kept are part of the new summary.
    seen = [*branch[first:last], *branch[last + 1 :]]
    return [compaction, *(entry for entry in seen if isinstance(entry, MessageEntry | BranchSummaryEntry))]


def _summary(custom_type: str, preface: str, entry: CompactionEntry | BranchSummaryEntry) -> HookMessage:
    return HookMessage(
        custom_type=custom_type,
        content=(Text(text=preface + entry.summary),),
        display=True,
        details=entry.details,
        timestamp=timestamp_ms(entry.timestamp),
    )
