"""The block at the top of a hook file that says what it needs (PEP 723, inline script metadata)."""

import re
import tomllib
from typing import Any, NamedTuple

from marvin_agent.errors import HookError

_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


class Block(NamedTuple):
    """What the block says; empty without one."""

    dependencies: tuple[str, ...] = ()
    requires_python: str = ""
    isolate: bool = False
    tool: dict[str, Any] = {}
    """The tables of other tools; `uv` has where packages come from."""


def read_block(source: bytes, path: str) -> Block | None:
    """The block of a hook's source; None without one. Raises HookError, with the line, when it cannot be read."""
    text = source.decode("utf-8", "replace").replace("\r\n", "\n")
    found = [match for match in _BLOCK.finditer(text + "\n") if match["type"] == "script"]
    if not found:
        return None
    line = text.count("\n", 0, found[0].start()) + 1
    if len(found) > 1:
        second = text.count("\n", 0, found[1].start()) + 1
        raise HookError(f"{path}:{second}: a file has one `# /// script` block, and there is one in line {line}")
    lines = (row[2:] if row.startswith("# ") else row[1:] for row in found[0]["content"].splitlines())
    try:
        table = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise HookError(f"{path}:{line}: the `# /// script` block is not valid TOML: {error}") from None
    return _block(table, f"{path}:{line}")


def _block(table: dict[str, Any], where: str) -> Block:
    dependencies = table.get("dependencies", [])
    if not isinstance(dependencies, list) or not all(isinstance(item, str) for item in dependencies):
        raise HookError(f"{where}: `dependencies` is a list of texts")
    requires = table.get("requires-python", "")
    if not isinstance(requires, str):
        raise HookError(f'{where}: `requires-python` is a text such as ">=3.11"')
    tool = table.get("tool", {})
    own = tool.get("marvin", {}) if isinstance(tool, dict) else {}
    if not isinstance(own, dict) or not isinstance(own.get("isolate", False), bool):
        raise HookError(f"{where}: `isolate` in [tool.marvin] is true or false")
    if unknown := sorted(set(own) - {"isolate"}):
        raise HookError(f"{where}: [tool.marvin] has no {unknown[0]!r}; it has `isolate`")
    return Block(tuple(item.strip() for item in dependencies), requires.strip(), own.get("isolate", False), tool)
