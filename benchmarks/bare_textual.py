"""The least that a Textual app with an editor costs: the measure for the start of marvin's."""

from textual.app import App, ComposeResult
from textual.widgets import TextArea


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield TextArea()


if __name__ == "__main__":
    Bare().run()
