"""Looks at the processes of this machine, for tests that start and end some."""

import asyncio
import itertools
import os
from collections.abc import Callable
from pathlib import Path

_naps = itertools.count(1)


def nap() -> str:
    """A command that sleeps for long and that no other test on this machine runs."""
    return f"sleep {1_000_000 + os.getpid()}.{next(_naps)}0"


def living(command: str, state: str = "") -> list[str]:
    """The command lines of our descendants' processes that hold `command`; of our children in `state` when given."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        except OSError:
            continue
        if state:
            if fields[0] == state and int(fields[1]) == os.getpid():
                found.append(f"{entry.name} {line}")
        elif line.startswith(command) and fields[0] != "Z":
            found.append(line)
    return found


async def wait_for(condition: Callable[[], object], seconds: float = 10) -> None:
    """Until the condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def until_gone(command: str) -> None:
    await wait_for(lambda: not living(command))
