"""What a tool call is about, in a line."""

from collections.abc import Mapping

from marvin_agent.text import one_line


def subject(arguments: Mapping[str, object], width: int) -> str:
    """Its command, what it looks for and where, its file; empty when nothing says."""
    where = arguments.get("path")
    if pattern := arguments.get("pattern"):
        place = f" in {where}" if where and where != "." else ""
        return one_line(f"{pattern}{place}", width)
    found = (arguments.get(key) for key in ("command", "path", "url", "name"))
    return one_line(str(next((value for value in found if value), "")), width)
