"""What the agents are asked to do, as scripts for the model server that do not run out."""

from typing import Any, NamedTuple

CALLS = 100
TOKENS = 20_000
HANDS: dict[str, tuple[str, dict[str, str]]] = {
    "bash": ("bash", {}),
    "Bash": ("Bash", {}),
    "described bash": ("bash", {"description": "Count"}),
}
"""The tools by which agents run commands, and what the tool wants beside the command."""


class Goal(NamedTuple):
    """The most that marvin may take, as ratios to the best peer and to the floor."""

    peer_seconds: float
    peer_memory: float
    floor_seconds: float
    floor_memory: float


class Task(NamedTuple):
    """One task. `{hand}` in the prompt is the agent's tool; `expected` is the end of the right answer."""

    name: str
    prompt: str
    replies: list[dict[str, Any]]
    expected: str
    goal: Goal
    rounds: int


def tasks(calls: int = CALLS, tokens: int = TOKENS) -> tuple[Task, ...]:
    """All of them; smaller ones for a test."""
    return (_say_10(), _tools(calls), _say_many(tokens))


def _say_10() -> Task:
    text = "one two three four five six seven eight nine ten"
    return Task(
        "say-10", "Say ten words", _replies(_says("Say ten words", text)), text, Goal(0.67, 0.65, 1.63, 1.44), 11
    )


def _tools(calls: int) -> Task:
    chains = []
    for hand in HANDS:
        chains.append(_calls(hand, f"Count with {hand}\\b", 1))
        chains += [_calls(hand, f"^{hand} step {number}$", number + 1) for number in range(1, calls)]
        chains.append(_says(f"^{hand} step {calls}$", "all steps done"))
    goal = Goal(0.75, 0.5, 1.77, 1.45)
    return Task(f"tools-{calls}", "Count with {hand}", _replies(*chains), "all steps done", goal, 5)


def _say_many(tokens: int) -> Task:
    text = " ".join(f"w{number % 1000}" for number in range(tokens))
    replies = _replies(_says("Say many words", text))
    return Task(f"say-{tokens}", "Say many words", replies, text[-200:], Goal(0.85, 0.4, 1.89, 1.53), 7)


def _replies(*replies: dict[str, Any]) -> list[dict[str, Any]]:
    # What agents ask beside the task, such as a title for the conversation, gets an answer too.
    return [*replies, {"text": "A title", "repeat": True}]


def _says(match: str, text: str) -> dict[str, Any]:
    return {"match": f"(?m){match}", "text": text, "repeat": True}


def _calls(hand: str, match: str, number: int) -> dict[str, Any]:
    tool, more = HANDS[hand]
    call = {"name": tool, "arguments": {"command": f"echo '{hand} step {number}'", **more}}
    return {"match": f"(?m){match}", "toolCalls": [call], "repeat": True}
