"""`marvin hooks new`: a commented hook that works, and its test, made from the event table."""

import os

from marvin_agent.errors import UsageError
from marvin_agent.hooks.payload import fields_of
from marvin_agent.hooks.spec import SPECS, Field, Spec
from marvin_agent.testing.payloads import one_event

RULES = {
    "refuse": "the first handler that gives it stops the event",
    "first": "the first handler that gives it decides",
    "chain": "the next handler sees it; the last state is used",
    "append": "the values of all handlers are kept",
    "strictest": "deny beats ask beats allow",
}


def rule_of(field: Field) -> str:
    """What becomes of a result's field when several handlers give it, in words."""
    return "goes with the one above" if field.name == "reason" else RULES[field.rule]


def write_hook(directory: str, name: str, event: str) -> tuple[str, str]:
    """Write the hook and its test; the paths. Nothing is overwritten."""
    if not name.isidentifier():
        raise UsageError(f"{name!r} cannot be a file of Python: use letters, digits and _")
    if name.startswith("_"):
        raise UsageError(f"{name!r} would not be loaded: a file whose name begins with _ is no hook")
    spec = SPECS[one_event(event)]
    os.makedirs(directory, exist_ok=True)
    hook, test = os.path.join(directory, f"{name}.py"), os.path.join(directory, f"_test_{name}.py")
    for path, text in ((hook, hook_text(name, spec)), (test, test_text(name, spec))):
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise UsageError(f"{path} is there already", hint="Choose another name, or remove it.") from None
        except OSError as error:
            if os.path.exists(path):
                os.unlink(path)  # a part of it is no hook
            raise OSError(error.errno, error.strerror, path) from error
    return hook, test


def hook_text(name: str, spec: Spec) -> str:
    """The source of a hook for an event: its payload and results as comments, a handler that does nothing yet."""
    payload = "\n".join(f"        # event.{field}: {kind}" for field, kind in fields_of(spec.event).items())
    handler = f"on_{spec.name.replace('.', '_')}"
    if spec.fields:
        results = "\n".join(
            f'        #   "{field.name}": {field.kind}  ({rule_of(field)})' for field in spec.fields.values()
        )
        returns = f"        # Return any of these, in the result's class or a dict, or change the event:\n{results}\n"
    else:
        returns = "        # This event is for looking: what is returned is ignored.\n"
    names = {"Context", "HookAPI", spec.event.__name__, *([spec.result.__name__] if spec.result else ())}
    result = f"{spec.result.__name__} | None" if spec.result else "None"
    last = "\n        return None" if spec.result else ""
    policy = "refuses the action" if spec.closed else "is reported, and the run goes on as if it had not run"
    return f'''"""{name}: what this hook is for, in a sentence."""

from marvin_agent.hooks import {", ".join(sorted(names))}


def setup(marvin: HookAPI) -> None:
    """Called once when the hook is loaded. `marvin.settings` is hooks.settings["<id>"] of config.json."""

    @marvin.on("{spec.name}")
    async def {handler}(event: {spec.event.__name__}, ctx: Context) -> {result}:
        # What happened. A handler that fails {policy}.
{payload}
{returns}        marvin.log.debug("{spec.name} in %s", ctx.cwd){last}
'''


def test_text(name: str, spec: Spec) -> str:
    """The test of such a hook. Its name begins with `_`, so that it is no hook."""
    return f'''"""Run with: python -m pytest _test_{name}.py

`marvin_hook` is a fixture that marvin's pytest plugin brings; it loads the hook and closes it after the test.
"""

from collections.abc import Callable
from typing import Any


def test_{name}_lets_a_neutral_event_pass(marvin_hook: Callable[..., Any]) -> None:
    hook = marvin_hook("{name}.py")
    emitted = hook.emit("{spec.name}")
    assert not emitted.blocked
    assert emitted.errors == []
'''
