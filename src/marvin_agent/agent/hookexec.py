"""Programs that hooks run with `exec`: without the keys of providers, unless the user names them for the hook."""

import os
from collections.abc import Mapping, Sequence

from marvin_agent.agent.answers import Executed
from marvin_agent.agent.setup import Setup
from marvin_agent.processes import execute


async def run_for_hook(
    setup: Setup, hook: str, words: Sequence[str], timeout: float | None, cwd: str, env: Mapping[str, str]
) -> Executed:
    """Run a program for a hook to its end."""
    secret = setup.secret_names.difference(setup.hook_env.get(hook, ()))
    child_env = {name: value for name, value in os.environ.items() if name not in secret} | dict(env)
    done = await execute(words, cwd=cwd, env=child_env, timeout=timeout)
    return Executed(
        done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), done.code, done.killed
    )
