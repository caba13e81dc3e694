"""Runs the tasks for marvin, the floor and the peers that are there, one after the other in turns, and prints medians.

    python -m benchmarks.compare [--peers DIR] [--report FILE]

Programs get an environment of their own: a fresh home, and none of our variables. So Python's compiled files are
written and used, as they are for a user, whatever PYTHONDONTWRITEBYTECODE says here.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.agents import HERE, Agent, own_agents, peers_in
from benchmarks.report import report
from benchmarks.tasks import CALLS, TOKENS, Task, tasks

LIMIT = 120
"""Seconds that a run may take."""
ATTEMPTS = 5
CRASHED = str(-signal.SIGABRT)
"""How the floor ends now and then: a thread of pyreqwest comes back while the interpreter is taken apart."""


class Cost(NamedTuple):
    """What one run took, or the medians of several."""

    wall: float
    cpu: float
    memory: float
    """Peak, in MiB."""


class Failed(Exception):
    """A program did not do the task."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.compare", description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", metavar="DIR", help="where npm installed other agents")
    parser.add_argument("--report", metavar="FILE", help="write the results there too, as Markdown")
    parser.add_argument("--task", metavar="NAME", action="append", help="only this one")
    parser.add_argument("--rounds", type=int, help="how often each is run")
    parser.add_argument("--calls", type=int, default=CALLS, help="tool calls")
    parser.add_argument("--tokens", type=int, default=TOKENS, help="streamed tokens")
    given = parser.parse_args(arguments)
    agents = own_agents() + (peers_in(Path(given.peers)) if given.peers else [])
    chosen = [task for task in tasks(given.calls, given.tokens) if not given.task or task.name in given.task]
    results: dict[str, dict[str, Cost]] = {}
    with tempfile.TemporaryDirectory() as base:
        for task in chosen:
            with served(task, Path(base)) as origin:
                results[task.name] = compare(task, agents, Path(base), origin, given.rounds or task.rounds)
    text = report(chosen, agents, results)
    print(text)
    if given.report:
        Path(given.report).write_text(text)
    return 0


def compare(task: Task, agents: list[Agent], base: Path, origin: str, rounds: int) -> dict[str, Cost]:
    """Medians of each agent. The first run of each, which fills caches, does not count."""
    homes = {agent.name: _home(agent, base, origin) for agent in agents}
    costs: dict[str, list[Cost]] = {agent.name: [] for agent in agents}
    for number in range(-1, rounds):
        for agent in agents:
            cost = run(agent, task, homes[agent.name], origin)
            if number >= 0:
                costs[agent.name].append(cost)
        print(f"{task.name}: {number + 1} of {rounds} rounds", file=sys.stderr)
    return {name: Cost(*(median(column) for column in zip(*all_of, strict=True))) for name, all_of in costs.items()}


def run(agent: Agent, task: Task, home: Path, origin: str) -> Cost:
    """One run, its output on a pipe. Raises Failed when the answer is not the right one."""
    prompt = task.prompt.format(hand=agent.hand)
    measured = [*agent.command, *agent.arguments(origin, prompt)]
    for _ in range(ATTEMPTS):
        cost, done = _measure(measured, home, {**_clean_environment(home), **agent.env(home, origin)})
        if cost[3:] != [CRASHED]:
            break
    if cost[3:] != ["0"] or not done.stdout.rstrip().endswith(task.expected):
        raise Failed(f"{agent.name} failed at {task.name}: {cost}\n{done.stdout[-1000:]}\n{done.stderr[-1000:]}")
    return Cost(*map(float, cost[:3]))


def _measure(
    command: list[str], home: Path, env: dict[str, str]
) -> tuple[list[str], "subprocess.CompletedProcess[str]"]:
    result = home / "cost"
    result.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(HERE / "measure.py"), str(result), str(LIMIT), *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=home / "work",
        env=env,
        check=False,
    )
    return result.read_text().split() if result.exists() else [], done


def _home(agent: Agent, base: Path, origin: str) -> Path:
    home = base / agent.name.replace(" ", "-").lower()
    (home / "work" / ".git").mkdir(parents=True, exist_ok=True)
    agent.prepare(home, origin)
    return home


def _clean_environment(home: Path) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/bash"}


@contextmanager
def served(task: Task, base: Path) -> Iterator[str]:
    """The scripted model server with the task's script, a process for all agents; gives its origin."""
    script = base / f"{task.name}.json"
    script.write_text(json.dumps({"version": 1, "replies": task.replies}))
    command = [sys.executable, "-m", "marvin_agent.testing.server", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


if __name__ == "__main__":
    sys.exit(main())
