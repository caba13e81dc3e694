"""What waits to be said: shown above the editor, to be taken back by a key."""

from textual.content import Content
from textual.widgets import Static

from marvin_agent.text import one_line

SHOWN = 4


class QueueView(Static):
    DEFAULT_CSS = """
    QueueView { display: none; height: auto; padding: 0 1; color: $text-muted; text-wrap: nowrap;
        text-overflow: ellipsis; &.-some { display: block; } }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False, id="queue")

    def show(self, queue: tuple[tuple[str, str], ...]) -> None:
        """Show what waits, the next first."""
        lines = [f"{'→' if kind == 'steer' else '+'} {kind}: {one_line(text, 200)}" for kind, text in queue[:SHOWN]]
        if len(queue) > SHOWN:
            lines.append(f"  and {len(queue) - SHOWN} more")
        if lines:
            lines[0] += "   (Alt+Up takes back)"
        self.update(Content("\n".join(lines)))
        self.set_class(bool(queue), "-some")
