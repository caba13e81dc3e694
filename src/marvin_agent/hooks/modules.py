"""Running a hook's source as a module: compiled from the bytes at hand, never from a cached `.pyc`.

A package's own modules are imported from the same bytes. Each hook has a name of its own among the modules, so that
two files of one name do not meet, and all of it is taken out again when the hook is unloaded.
"""

import importlib
import importlib.machinery
import importlib.util
import inspect
import itertools
import os
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from marvin_agent.errors import HookError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.sources import Source

_numbers = itertools.count(1)


# The base classes of importlib.abc would load tempfile, shutil and pathlib, and each start waits for this module.
class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, data: bytes) -> None:
        super().__init__(fullname, path)
        self._data = data

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__file__ = self.path
        code = compile(self._data, self.path, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102  # running hooks is what this is for


class HookFinder:
    """Finds the modules of the hooks that are loaded, by their sources."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}

    def add(self, name: str, source: Source) -> None:
        self._sources[name] = source
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self, name: str) -> None:
        name = name.partition(".")[0]
        self._sources.pop(name, None)
        for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
            del sys.modules[module]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        source = self._sources.get(root)
        if source is None:
            return None
        if not rest:
            return self._spec(fullname, source, source.path, source.directory)
        if source.directory is None:
            return None
        base = os.path.join(source.directory, *rest.split("."))
        package = os.path.join(base, "__init__.py")
        found = self._spec(fullname, source, package, base) or self._spec(fullname, source, f"{base}.py", None)
        if found is None and (source.files is not None or os.path.exists(f"{base}.pyc")):
            # Python's own finders would take a planted `helper.pyc` that nobody can look at, or an untrusted `.so`.
            raise ModuleNotFoundError(f"No module named {fullname!r} among the files that were trusted", name=fullname)
        return found

    def _spec(
        self, fullname: str, source: Source, path: str, directory: str | None
    ) -> importlib.machinery.ModuleSpec | None:
        data = source.read(path)
        if data is None:
            return None
        return importlib.util.spec_from_file_location(
            fullname,
            path,
            loader=_Loader(fullname, path, data),
            submodule_search_locations=[directory] if directory else None,
        )


finder = HookFinder()


def run_source(source: Source) -> types.ModuleType:
    """Run a hook's module. Raises what its code raises, SyntaxError included, and HookError when it cannot be read."""
    name = f"marvin_hook_{next(_numbers)}_" + "".join(c if c.isalnum() else "_" for c in source.stem)
    top, names = source.inside
    finder.add(name, source._replace(path=top))
    try:
        return importlib.import_module(".".join((name, *names)))
    except ModuleNotFoundError as error:
        forget(name)
        if error.name == name:
            raise HookError(f"{source.path}: cannot be read") from error
        raise
    except BaseException:
        forget(name)
        raise


def setup_of(module: types.ModuleType, path: str) -> Callable[[HookAPI], Any]:
    """The `setup` of a hook's module; HookError when it has none."""
    function = getattr(module, "setup", None)
    if not callable(function):
        raise HookError(f"{path}: a hook needs a function `setup(marvin)`; this file has none")
    return function  # type: ignore[no-any-return]


async def run_setup(setup: Callable[[HookAPI], Any], api: HookAPI) -> None:
    """Call `setup`, plain or async."""
    answer = setup(api)
    if inspect.isawaitable(answer):
        await answer


def forget(name: str) -> None:
    """Take a hook's modules out again."""
    finder.remove(name)
