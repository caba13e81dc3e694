"""Work of which only the latest counts: what was begun before is called off."""

from collections.abc import Callable, Coroutine
from typing import Any

from textual.dom import DOMNode


def run_latest(node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], group: str) -> None:
    """Run it beside the app, in place of what runs in this group. What is called off before it begins is never made:
    a coroutine that nobody awaits is told of by Python, in the middle of the screen."""
    node.run_worker(work, group=group, exclusive=True)  # type: ignore[arg-type]
