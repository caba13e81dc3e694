"""What hooks changed, as texts before and after, with secrets masked: for whoever opens a block to the difference."""

import json
from collections.abc import Sequence
from typing import Any

from marvin_agent.frontends.tui.conversation.diffs import Changed
from marvin_agent.hooks.forms import to_plain
from marvin_agent.hooks.outcome import Change
from marvin_agent.masking import masked_text, masked_value


def changed(changes: Sequence[Change]) -> Changed | None:
    """What became of all fields, from the first change to the last; None when nothing changed."""
    if not changes:
        return None
    fields: dict[str, tuple[Any, Any]] = {}
    for change in changes:
        before = fields[change.field][0] if change.field in fields else change.before
        fields[change.field] = before, change.after
    texts = [(name, _text(before, name), _text(after, name)) for name, (before, after) in fields.items()]
    hooks = tuple(dict.fromkeys(change.hook for change in changes))
    if len(texts) == 1:
        return Changed(hooks, *texts[0][1:])
    before, after = ("\n".join(f"{text[0]}:\n{text[at]}" for text in texts) for at in (1, 2))
    return Changed(hooks, before, after)


def _text(value: Any, name: str) -> str:
    """A value for people: a text as it is, parts of a message as their texts, anything else as JSON."""
    try:
        plain = to_plain(value)
    except (TypeError, ValueError):
        return masked_text(repr(value))
    if isinstance(plain, list) and plain and all(isinstance(part, dict) and "text" in part for part in plain):
        return masked_text("\n".join(str(part["text"]) for part in plain))
    shown = masked_value(plain, name)
    return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, indent=2)
