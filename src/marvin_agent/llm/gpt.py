"""Which efforts each generation of OpenAI's models takes, told by a model's id: any other one is an error."""

import re

# o1 to o4, and the open weights, know low, medium and high.
_THREE = r"(?:.*/)?(?:o\d(?:-|$)|gpt-oss)"
_VERSION = r"(?:.*/)?gpt-(\d+)(?:\.(\d+))?(-.*)?$"


def level_names(model_id: str) -> dict[str, str | None]:
    """The names of the levels for whom our own is not right, None where there is no such level; empty for others."""
    if re.match(_THREE, model_id):
        only_medium = model_id.endswith("deep-research")
        return _none("off", "minimal", "low", "high") if only_medium else _none("off", "minimal")
    found = re.match(_VERSION, model_id)
    if found is None or int(found[1]) < 5:
        return {}
    version, kind = (int(found[1]), int(found[2] or 0)), found[3] or ""
    if "-chat" in kind:
        return _none("off", "minimal", "low", "high")
    if version == (5, 0):
        if "-pro" in kind:
            return _none("off", "minimal", "low", "medium")
        return _none("off", "minimal") if "-codex" in kind else _none("off")
    names = _none("minimal", "low") if "-pro" in kind else _none("minimal")
    # Without thinking at all, those that were made for it do not work.
    names["off"] = None if "-pro" in kind or "-codex" in kind else "none"
    if version >= (5, 2) or "-codex-max" in kind:
        names["xhigh"] = "xhigh"
    return names


def _none(*levels: str) -> dict[str, str | None]:
    return dict.fromkeys(levels)
