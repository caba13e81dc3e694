"""The results of a comparison as a Markdown table, with ratios and goals."""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from benchmarks.agents import Agent
from benchmarks.tasks import Task


class Costs(Protocol):
    """What a run took."""

    @property
    def wall(self) -> float: ...

    @property
    def cpu(self) -> float: ...

    @property
    def memory(self) -> float: ...


def report(chosen: Sequence[Task], agents: Sequence[Agent], results: Mapping[str, Mapping[str, Costs]]) -> str:
    """The whole report."""
    versions = ", ".join(f"{agent.name} {agent.version}" for agent in agents if agent.version)
    lines = [
        "# Benchmarks",
        "",
        "Made by `make bench PEERS=DIR`, where DIR holds other agents as npm installs them. All do the same tasks, in",
        "turns, with one scripted model server on the same machine: `say-10` is one model call of ten tokens,",
        "`tools-100` a hundred `bash` calls, one a turn, then an answer, `say-20000` one call of twenty thousand",
        "streamed tokens.",
        "Medians of wall seconds, CPU seconds (with children) and the peak memory of the largest process. The floor is",
        "`benchmarks/floor.py`: the least that an agent in Python costs.",
        "",
        "marvin speaks to a server on its own machine directly, to others through an HTTP library that takes longer",
        "to load and hands each piece over as it comes; the second line is what that costs. Ratios and CPU seconds say",
        "more than wall seconds when the machine has other work.",
        "",
        f"{_machine()}. {time.strftime('%Y-%m-%d')}. {versions}.",
        "",
    ]
    for task in chosen:
        lines += [*_table(task, agents, results[task.name]), ""]
    return "\n".join(lines)


def _table(task: Task, agents: Sequence[Agent], costs: Mapping[str, Costs]) -> list[str]:
    peers = [costs[agent.name] for agent in agents if agent.is_peer]
    floor = costs["the floor"]
    lines = [
        f"## {task.name}",
        "",
        "| | wall s | of floor | of fastest peer | CPU s | of floor | MiB | of floor | of smallest peer |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for agent in agents:
        cost = costs[agent.name]
        cells = [
            f"{cost.wall:.3f}",
            f"{cost.wall / floor.wall:.2f}",
            f"{cost.wall / min(peer.wall for peer in peers):.2f}" if peers else "",
            f"{cost.cpu:.3f}",
            f"{cost.cpu / floor.cpu:.2f}",
            f"{cost.memory:.0f}",
            f"{cost.memory / floor.memory:.2f}",
            f"{cost.memory / min(peer.memory for peer in peers):.2f}" if peers else "",
        ]
        lines.append(f"| {agent.name} | {' | '.join(cells)} |")
    goal = task.goal
    wanted = [
        "",
        f"{goal.floor_seconds}",
        f"{goal.peer_seconds}",
        "",
        "",
        "",
        f"{goal.floor_memory}",
        f"{goal.peer_memory}",
    ]
    lines.append(f"| **goal: at most** | {' | '.join(wanted)} |")
    return lines


def _machine() -> str:
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} on {platform.machine()}"
    return f"{system}, {cores} cores, {memory:.0f} GiB of memory, Python {platform.python_version()}"
