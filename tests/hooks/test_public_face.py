"""What hook authors import needs the standard library alone."""

import subprocess
import sys
from pathlib import Path

import marvin_agent.hooks as public
from marvin_agent.hooks import events, results
from marvin_agent.hooks.hosts.child import values
from marvin_agent.hooks.payload import Payload

SOURCE = Path(public.__file__).parent.parent.parent


def test_every_event_and_result_is_public() -> None:
    classes = {
        name
        for module in (events, results)
        for name, cls in vars(module).items()
        if isinstance(cls, type) and issubclass(cls, Payload) and cls.__module__ == module.__name__
    }
    assert set(public.__all__) == classes | {"Context", "Event", "HookAPI", "Result"} | set(values.PUBLIC)
    assert public.__all__ == sorted(public.__all__)
    assert all(getattr(public, name).__name__ == name for name in public.__all__)


def test_it_works_where_nothing_is_installed() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n"
        "import marvin_agent.hooks as h\n"
        "for name in h.__all__: getattr(h, name)\n"
        "assert 'msgspec' not in sys.modules\n"
        "print(h.HookAPI, h.ToolExecuteBefore.type)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "tool.execute.before" in done.stdout
