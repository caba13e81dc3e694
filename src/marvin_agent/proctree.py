"""Which processes belong to one that we started: its session and its descendants, as far as /proc tells."""

import os
from typing import TypeAlias

Identity: TypeAlias = tuple[int, int]
"""A process id and when it started: together they are never used again."""

_ZOMBIES = frozenset((b"Z", b"X"))


def family(leader: int) -> frozenset[Identity]:
    """The living processes of the leader's session and all of its descendants, those that left the session too.

    Empty where there is no /proc; there the process group is all that can be reached.
    """
    processes = _processes()
    found = {pid for pid, facts in processes.items() if facts.session == leader}
    children: dict[int, list[int]] = {}
    for pid, facts in processes.items():
        children.setdefault(facts.parent, []).append(pid)
    waiting = list(found)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return frozenset((pid, processes[pid].started) for pid in found if pid in processes and not processes[pid].dead)


def alive(leader: int, started: frozenset[Identity]) -> bool:
    """True when one of `started` still runs; without /proc, one of the leader's group."""
    if started or os.path.exists("/proc/self/stat"):
        return any(_is(identity) for identity in started)
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def send(identity: Identity, number: int) -> None:
    """Signal a process unless its id belongs to another one by now."""
    if _is(identity):
        try:
            os.kill(identity[0], number)
        except (ProcessLookupError, PermissionError):
            pass


class _Facts:
    __slots__ = ("dead", "parent", "session", "started")

    def __init__(self, stat: bytes) -> None:
        # The name in parentheses may hold anything, so count from its end.
        fields = stat[stat.rindex(b")") + 2 :].split()
        self.dead = fields[0] in _ZOMBIES
        self.parent = int(fields[1])
        self.session = int(fields[3])
        self.started = int(fields[19])


def _processes() -> dict[int, _Facts]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    found = {}
    for name in names:
        if name.isdigit() and (facts := _facts(int(name))) is not None:
            found[int(name)] = facts
    return found


def _facts(pid: int) -> _Facts | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return _Facts(file.read())
    except (OSError, ValueError, IndexError):
        return None


def _is(identity: Identity) -> bool:
    facts = _facts(identity[0])
    return facts is not None and facts.started == identity[1] and not facts.dead
