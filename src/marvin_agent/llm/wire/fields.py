"""Fields of a server's JSON, read as what they should be: what is missing or of another type is empty."""

from typing import Any

from marvin_agent.errors import ProtocolError
from marvin_agent.llm.lenient import load_json
from marvin_agent.llm.values import decode_json


def event_objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of an event: one, or those of a list. Raises ProtocolError when it is neither."""
    try:
        data = decode_json(text)
    except ValueError:
        # What msgspec does not read may still be JSON: half characters, NaN.
        data = _leniently(text)
    objects = mappings(data) if isinstance(data, list) else [data]
    if not all(isinstance(item, dict) for item in objects):
        raise ProtocolError(f"the server sent something that is not an event: {text[:200]}")
    return objects


def _leniently(text: str) -> Any:
    try:
        return load_json(text)
    except ValueError:
        return None


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) else None
