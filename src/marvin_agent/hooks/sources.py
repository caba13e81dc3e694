"""The source of a hook: its files as bytes, read once, so that what was looked at is what runs."""

import os
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from marvin_agent.errors import HookError
from marvin_agent.files import read_regular_file
from marvin_agent.hooks.registry import Scope

LIMIT = 4 * 1024 * 1024


class Source(NamedTuple):
    """A hook before it is loaded: a file, or a package directory by its `__init__.py`."""

    path: str
    scope: Scope
    files: Mapping[str, bytes] | None = None
    """Real paths with their bytes, when they were read and judged before; None: read when loaded."""

    @property
    def stem(self) -> str:
        """The hook's name: its file's, or its directory's for a package; with its package's where it is installed."""
        name = os.path.basename(self.path)
        if self.scope == "package" and self.inside[1]:
            return ".".join((os.path.basename(os.path.dirname(self.inside[0])), *self.inside[1]))
        if name == "__init__.py":
            name = os.path.basename(os.path.dirname(self.path))
        return name.removesuffix(".py")

    @property
    def directory(self) -> str | None:
        """The directory of a package; None for a single file."""
        return os.path.dirname(self.path) if os.path.basename(self.path) == "__init__.py" else None

    @property
    def inside(self) -> tuple[str, tuple[str, ...]]:
        """The `__init__.py` of the outermost package that it is a module of, and the names from there to it.

        For all else its own path, and none: what lies in a directory of hooks is no module of anything.
        """
        if self.files is not None or self.directory or self.scope in ("global", "project"):
            return self.path, ()
        top, names = os.path.dirname(self.path), [os.path.basename(self.path).removesuffix(".py")]
        if not os.path.isfile(os.path.join(top, "__init__.py")):
            return self.path, ()
        while os.path.isfile(os.path.join(os.path.dirname(top), "__init__.py")):
            names.insert(0, os.path.basename(top))
            top = os.path.dirname(top)
        return os.path.join(top, "__init__.py"), tuple(names)

    def read(self, path: str) -> bytes | None:
        """The bytes of one of its files; None when there is no such file. Raises HookError when it cannot be read."""
        if self.files is not None:
            return self.files.get(os.path.realpath(path))
        try:
            return read_regular_file(path, LIMIT)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise HookError(f"{path}: cannot be read: {error.strerror}") from error


def hooks_in(directory: str) -> list[str]:
    """The hooks of a directory, `*.py` and `*/__init__.py`, sorted by name; no directory is no hooks."""
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise HookError(f"{directory}: cannot be listed: {error.strerror}") from error
    found = []
    for name in names:
        path = os.path.join(directory, name)
        if name.startswith(("_", ".")):
            continue
        if name.endswith(".py") and not os.path.isdir(path):
            found.append(path)
        elif os.path.isfile(os.path.join(path, "__init__.py")):
            found.append(os.path.join(path, "__init__.py"))
    return found


def hooks_at(path: str) -> list[str]:
    """What a configured path or `--hook` names: a file, a package directory, or a directory of hooks."""
    if os.path.isdir(path):
        package = os.path.join(path, "__init__.py")
        return [package] if os.path.isfile(package) else hooks_in(path)
    if not os.path.exists(path):
        raise HookError(f"{path}: there is no such file or directory")
    return [path]


def ids_of(sources: Iterable[Source]) -> list[str]:
    """The id of each, `scope:stem`, numbered where two would have the same."""
    found: dict[str, None] = {}
    for source in sources:
        found[free_id(source.scope, source.stem, found)] = None
    return list(found)


def free_id(scope: str, name: str, taken: Container[str]) -> str:
    """`scope:name`, or the first of `scope:name-2` and so on that nothing is called."""
    made, number = f"{scope}:{name}", 2
    while made in taken:
        made, number = f"{scope}:{name}-{number}", number + 1
    return made


def each_once(sources: Iterable[Source]) -> list[Source]:
    """Each file once, however it is reached: where it is named more explicitly, that is later, counts."""
    found: dict[str, Source] = {}
    for source in sources:
        found.pop(os.path.realpath(source.path), None)
        found[os.path.realpath(source.path)] = source
    return list(found.values())
