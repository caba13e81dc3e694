"""How each generation of Gemini thinks, told by a model's id."""

import re

# What came after the second generation, and the names under which the newest is to be had.
_LEVELLED = r"gemini-(?:[3-9]|\d\d)(?:\.\d+)?\b|gemini-(?:pro|flash|flash-lite)-latest"


def has_levels(model_id: str) -> bool:
    """Whether it is told a level; the generations before were told a budget. Those that are also sign their calls, and
    take images inside of a result."""
    return re.search(_LEVELLED, model_id) is not None


def level_names(model_id: str) -> dict[str, str | None]:
    """None for the levels that it does not have, and the names of those that are called otherwise."""
    if "gemma-4" in model_id:
        return {"off": None, "minimal": "MINIMAL", "low": None, "medium": None, "high": "HIGH"}
    if "2.5-pro" in model_id or ("flash" in model_id and has_levels(model_id)):
        return {"off": None}
    if not has_levels(model_id):
        return {}
    first = re.search(r"gemini-3(?:\.0)?-", model_id) is not None
    return {"off": None, "minimal": None, "medium": None} if first else {"off": None, "minimal": None}
