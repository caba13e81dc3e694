"""Which thinking levels the hosts of chat completions have, told by their address and a model's id.

What one of them wants to hear is an error at the next, or is passed over without a word.
"""

import re

_ONLY: dict[str, str | None] = {"off": None, "minimal": None, "low": None, "medium": "", "high": None}
"""It thinks as it thinks. The empty name: there is nothing to say about it."""
_SWITCHED: dict[str, str | None] = {"minimal": None, "low": None, "high": None}
"""It thinks or not."""
_MAX: dict[str, str | None] = {"minimal": None, "medium": None, "xhigh": "max"}

# The first that fits counts.
_ROWS: tuple[tuple[str, str, dict[str, str | None]], ...] = (
    ("api.x.ai", r"grok-3-mini", {"off": None, "minimal": None, "medium": None}),
    ("api.x.ai", r"grok-4\.3(?!\d)", {"off": "none", "minimal": None}),
    ("api.x.ai", r"grok-4\.5(?!\d)", {"off": None, "minimal": None}),
    ("api.x.ai", r"grok-(?:4\.[6-9]|[5-9])(?!\d)", {"off": None, "minimal": None, "xhigh": "xhigh"}),
    ("api.x.ai", r"", _ONLY),
    ("mistral.ai", r"mistral-(?:small|medium)", {"off": "none", "minimal": None, "low": None, "medium": None}),
    ("mistral.ai", r"", _ONLY),
    ("api.groq.com", r"gpt-oss", {}),
    ("api.groq.com", r"qwen/", {"off": "none", "minimal": None, "low": None, "medium": None, "high": "default"}),
    ("api.groq.com", r"", _ONLY),
    ("api.cerebras.ai", r"qwen", {"off": "none", "minimal": None}),
    ("api.moonshot", r"kimi-k[3-9]", {"off": None, **_MAX}),
    ("api.moonshot", r"kimi-k(?:2\.7|2-thinking)", _ONLY),
    ("api.moonshot", r"", _SWITCHED),
    ("api.z.ai", r"glm-5\.2(?!\d)", {"low": None, **_MAX}),
    ("api.z.ai", r"glm-(?:5\.[3-9]|[6-9])", {"off": None, **_MAX}),
    ("api.z.ai", r"", _SWITCHED),
    # It calls it an error when a model is told not to think that cannot leave it.
    (
        "openrouter.ai",
        r"gemini-(?:2\.5-pro|[3-9]|pro-latest|flash-latest)|deepseek-r1|kimi-(?:k(?:2\.7|2-thinking|[3-9])|latest)"
        r"|glm-5\.[3-9]|grok-4(?:\.[5-9]|$)",
        {"off": None},
    ),
)


def level_names(base_url: str, model_id: str) -> dict[str, str | None]:
    """The host's name for each level for which ours is not right: None where there is no such level, empty where
    nothing is said of it."""
    return next(
        (names for host, pattern, names in _ROWS if host in base_url and re.search(pattern, model_id) is not None), {}
    )
