"""From the command to the first typed key on the screen: marvin, a bare Textual app, and peers that npm installed.

    python -m benchmarks.tui_start [--peers DIR] [--runs N]

Each program runs in a terminal of its own that does not echo, so that only what the program paints is seen. A key is
typed every few milliseconds from the very start; the clock stops when the screen shows it. Runs are interleaved.
Memory is the peak of the largest process, a moment after the key is there.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pexpect
import pyte
from benchmarks.agents import MARVIN, Agent, own_agents, peers_in

HERE = Path(__file__).parent
BARE = "bare Textual"
KEY = "Z"
EVERY = 0.02
LIMIT = 60.0
SIZE = (40, 120)
NOBODY = "http://127.0.0.1:9"
"""No model is asked for anything."""


class Program(NamedTuple):
    """A terminal app. `prepare` writes into its home what spares it the questions of a first start."""

    name: str
    command: tuple[str, ...]
    env: dict[str, str]
    prepare: Callable[[Path, Path], None]


class Start(NamedTuple):
    """How one start went."""

    seconds: float
    mebibytes: float


def programs(peers: Path | None) -> Iterator[Program]:
    (marvin, *_) = own_agents()
    yield _of(marvin, "--model", "bench/bench")
    yield Program(BARE, (sys.executable, str(HERE / "bare_textual.py")), {}, lambda home, work: None)
    for agent in peers_in(peers) if peers else ():
        match agent.name:
            case "pi":
                yield _of(agent, "--provider", "bench", "--model", "bench")
            case "Claude Code":
                yield _of(agent, "--model", "bench")._replace(prepare=_claude_knows_the_user)
            case _:
                yield _of(agent)


def _of(agent: Agent, *arguments: str) -> Program:
    return Program(
        name=f"{agent.name} {agent.version}".strip(),
        command=(*agent.command, *arguments),
        env=agent.env(Path(), NOBODY),
        prepare=lambda home, work: agent.prepare(home, NOBODY),
    )


def _claude_knows_the_user(home: Path, work: Path) -> None:
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["none"], "rejected": []},
        "projects": {str(work): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    (home / ".claude.json").write_text(json.dumps(known))


def start(program: Program, home: Path, work: Path) -> Start:
    """Start it, type, and wait for the key. AssertionError with the screen when it never comes."""
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    screen = pyte.Screen(SIZE[1], SIZE[0])
    stream = pyte.ByteStream(screen)
    began = time.perf_counter()
    child: pexpect.spawn[bytes] = pexpect.spawn(
        program.command[0],
        list(program.command[1:]),
        env={**environment, **program.env, "HOME": str(home)},
        cwd=str(work),
        dimensions=SIZE,
        echo=False,
    )
    child.delaybeforesend = None
    try:
        typed = 0.0
        while (now := time.perf_counter() - began) < LIMIT:
            if now >= typed:
                child.send(KEY)
                typed = now + EVERY
            try:
                stream.feed(child.read_nonblocking(65536, timeout=EVERY / 2))
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                break
            if any(KEY in line for line in screen.display):
                return Start(time.perf_counter() - began, _peak(child.pid))
        shown = "\n".join(line.rstrip() for line in screen.display).strip()
        raise AssertionError(f"{program.name} did not show the key. The screen:\n{shown}")
    finally:
        child.close(force=True)


def _peak(pid: int) -> float:
    """The peak memory of the largest of a process and its children."""
    sizes = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            facts = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if str(pid) in (status.parent.name, facts["PPid"].strip()) and "VmHWM" in facts:
            sizes.append(int(facts["VmHWM"].split()[0]) / 1024)
    return max(sizes, default=0.0)


def measured(found: list[Program], runs: int) -> dict[str, list[Start]]:
    """Every program's starts; the first of each, with cold files, does not count."""
    results: dict[str, list[Start]] = {program.name: [] for program in found}
    with tempfile.TemporaryDirectory() as base:
        for program in found:
            home, work = _places(base, program)
            program.prepare(home, work)
        for number in range(runs + 1):
            for program in found:
                one = start(program, *_places(base, program))
                if number:
                    results[program.name].append(one)
    return results


def _places(base: str, program: Program) -> tuple[Path, Path]:
    home = Path(base) / program.name.replace(" ", "-")
    work = home / "work"
    work.mkdir(parents=True, exist_ok=True)
    return home, work


def table(results: dict[str, list[Start]]) -> Iterator[str]:
    seconds = {name: median(one.seconds for one in starts) for name, starts in results.items()}
    memory = {name: median(one.mebibytes for one in starts) for name, starts in results.items()}
    peers = [name for name in results if name != BARE and not name.startswith("marvin")]
    yield "| | first key, s | of bare Textual | of fastest peer | MiB | of smallest peer |"
    yield "|---|---|---|---|---|---|"
    for name in results:
        of_bare = seconds[name] / seconds[BARE]
        fastest = f"{seconds[name] / min(seconds[peer] for peer in peers):.2f}" if peers else ""
        smallest = f"{memory[name] / min(memory[peer] for peer in peers):.2f}" if peers else ""
        yield f"| {name} | {seconds[name]:.3f} | {of_bare:.2f} | {fastest} | {memory[name]:.0f} | {smallest} |"
    yield "| **goal: at most** |  | 1.15 | 1.0 |  | 0.5 |"


def main() -> None:
    parser = argparse.ArgumentParser(description="from the command to the first typed key on the screen")
    parser.add_argument("--peers", type=Path, help="where npm installed other agents")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    assert MARVIN.exists(), "marvin is not installed beside this Python"
    print("\n".join(table(measured(list(programs(options.peers)), options.runs))))


if __name__ == "__main__":
    main()
