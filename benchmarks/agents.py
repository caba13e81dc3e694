"""The agents that are measured: how each is started, pointed at the scripted server and kept from the network."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
MARVIN = Path(sys.executable).with_name("marvin")
ELSEWHERE = "marvin, as to a server elsewhere"


class Agent(NamedTuple):
    """A program that can do the tasks. `prepare` writes its configuration into its home."""

    name: str
    command: tuple[str, ...]
    hand: str
    env: Callable[[Path, str], dict[str, str]]
    """From its home and the server's origin."""
    prepare: Callable[[Path, str], None]
    arguments: Callable[[str, str], tuple[str, ...]]
    """From the server's origin and the prompt."""
    version: str
    is_peer: bool = True


def own_agents() -> list[Agent]:
    """marvin as it is installed beside this Python, as it speaks to this machine and to others, and the floor."""
    return [
        _marvin("marvin", lambda origin: origin),
        # Another name for this machine, which marvin does not take for one: the library for servers elsewhere is used.
        _marvin(ELSEWHERE, lambda origin: origin.replace("127.0.0.1", "0.0.0.0")),
        Agent(
            name="the floor",
            command=(sys.executable, str(HERE / "floor.py")),
            hand="bash",
            env=lambda home, origin: {},
            prepare=lambda home, origin: None,
            arguments=lambda origin, prompt: (f"{origin}/v1", prompt),
            version="",
            is_peer=False,
        ),
    ]


def _marvin(name: str, address: Callable[[str], str]) -> Agent:
    return Agent(
        name=name,
        command=(str(MARVIN),),
        hand="bash",
        env=lambda home, origin: {},
        prepare=lambda home, origin: _write(home / ".config/marvin/models.json", _provider(address(origin))),
        arguments=lambda origin, prompt: ("-p", "--auto", "--model", "bench/bench", prompt),
        version=_version(str(MARVIN)) if name == "marvin" else "",
        is_peer=False,
    )


def peers_in(directory: Path) -> list[Agent]:
    """Those of the peers that npm installed there."""
    programs = directory.resolve() / "node_modules" / ".bin"
    found = [make(program) for name, make in _PEERS if (program := str(programs / name)) and os.path.exists(program)]
    return [agent for agent in found if agent.version]


def _pi(program: str) -> Agent:
    return Agent(
        name="pi",
        command=(program,),
        hand="bash",
        env=lambda home, origin: {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"},
        prepare=lambda home, origin: _write(home / ".pi/agent/models.json", _provider(origin)),
        arguments=lambda origin, prompt: ("-p", "--provider", "bench", "--model", "bench", prompt),
        version=_version(program),
    )


def _claude(program: str) -> Agent:
    return Agent(
        name="Claude Code",
        command=(program,),
        hand="Bash",
        env=lambda home, origin: {
            "ANTHROPIC_BASE_URL": origin,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        },
        prepare=lambda home, origin: None,
        arguments=lambda origin, prompt: ("-p", "--allowedTools", "Bash", "--model", "bench", prompt),
        version=_version(program),
    )


def _opencode(program: str) -> Agent:
    def prepare(home: Path, origin: str) -> None:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{origin}/v1", "apiKey": "none"},
            "models": {"bench": {"name": "bench"}},
        }
        config = {
            "autoupdate": False,
            "share": "disabled",
            "model": "bench/bench",
            "small_model": "bench/bench",
            "agent": {"title": {"disable": True}},
            "permission": {"bash": "allow"},
            "provider": {"bench": provider},
        }
        _write(home / ".config/opencode/opencode.json", config)

    return Agent(
        name="OpenCode",
        command=(program,),
        hand="described bash",
        env=lambda home, origin: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        prepare=prepare,
        arguments=lambda origin, prompt: ("run", prompt),
        version=_version(program),
    )


_PEERS: tuple[tuple[str, Callable[[str], Agent]], ...] = (("pi", _pi), ("claude", _claude), ("opencode", _opencode))


def _provider(origin: str) -> dict[str, Any]:
    # pi's and marvin's models.json have one form.
    model = {"id": "bench"}
    provider = {"baseUrl": f"{origin}/v1", "api": "openai-completions", "apiKey": "none", "models": [model]}
    return {"providers": {"bench": provider}}


def _write(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def _version(program: str) -> str:
    """What `--version` says, without the program's name; empty when the program does not run."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return next((word for word in (done.stdout + done.stderr).split() if word[:1].isdigit()), "")
