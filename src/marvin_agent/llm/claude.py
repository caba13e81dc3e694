"""How each generation of Claude thinks, told by a model's id: what one of them needs, the next one refuses."""

import re

# These are compiled when they are first needed: most runs need few of them. No version is followed by four digits: that
# would be a date. `claude-opus-latest` of a router is of the newest generation, `claude-3-5-haiku-latest` is not.
_ADAPTIVE = r"claude-(?:(?:opus|sonnet|haiku)-(?:4[-.](?:[6-9]|\d\d)|[5-9]|latest)|fable|mythos)(?!\d{4})"
_ON_REQUEST = r"claude-(?:opus|sonnet|haiku)-4[-.]"
_ALWAYS = r"claude-(?:fable|mythos|(?:opus|sonnet)-(?:5[-.][5-9]|[6-9]|latest)(?!\d{4}))"
_BOUND = r"claude-(?:fable|mythos|opus|sonnet|haiku)-(?:5[-.][1-9]|[6-9]|latest)(?!\d{4})"
_XHIGH = r"claude-(?:(?:opus|sonnet|haiku)-(?:4[-.](?:[7-9]|\d\d)|[5-9]|latest)|fable|mythos)(?!\d{4})"
_MAX = r"claude-opus-4[-.]6(?!\d)"
_SAMPLED = r"claude-(?:opus|sonnet|haiku)-4[-.]6(?!\d)"


def is_adaptive(model_id: str) -> bool:
    """Whether it takes an effort in place of a budget."""
    return re.search(_ADAPTIVE, model_id) is not None


def level_names(model_id: str) -> dict[str, str | None]:
    """Without `off` where it cannot be told not to think, with `xhigh` where there is more than `high`."""
    names: dict[str, str | None] = {"off": None} if re.search(_ALWAYS, model_id) else {}
    if re.search(_XHIGH, model_id):
        names["xhigh"] = "xhigh"
    elif re.search(_MAX, model_id):
        names["xhigh"] = "max"
    return names


def thinks_unasked(model_id: str) -> bool:
    """Whether it may think when nothing is said of thinking. Some that do not refuse to be told to leave it."""
    return not (is_adaptive(model_id) and re.search(_ON_REQUEST, model_id))


def binds_thinking(model_id: str) -> bool:
    """Whether its thinking is refused when anything before it in the conversation has changed."""
    return re.search(_BOUND, model_id) is not None


def takes_temperature(model_id: str) -> bool:
    """Whether it can be told how to sample."""
    return not is_adaptive(model_id) or re.search(_SAMPLED, model_id) is not None
