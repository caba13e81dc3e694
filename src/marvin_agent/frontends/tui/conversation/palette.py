"""The styles of the conversation by name, made of the theme's variables."""

from rich.style import Style as RichStyle
from textual.style import Style
from textual.widget import Widget

STYLES = {
    "muted": "$foreground-muted",
    "strong": "bold",
    "em": "italic",
    "strike": "strike",
    "code": "$text-accent",
    "link": "$text-primary underline",
    "address": "$foreground-muted",
    "heading": "bold $text-primary",
    "heading1": "underline",
    "heading2": "",
    "heading3": "",
    "heading4": "$text-secondary",
    "heading5": "$text-secondary",
    "heading6": "$text-secondary",
    "quote": "$foreground-muted italic",
    "bar": "$text-primary",
    "marker": "$text-accent",
    "rule": "$foreground-muted",
    "codeblock": "on $surface",
    "user": "on $surface",
    "prompt": "bold $text-accent on $surface",
    "thinking": "$foreground-muted italic",
    "tool": "bold",
    "hook": "$text-accent",
    "output": "$foreground-muted",
    "ok": "$text-success",
    "info": "$text-primary",
    "warning": "$text-warning",
    "error": "$text-error",
    "added": "$text-success",
    "removed": "$text-error",
    "hunk": "$text-primary",
    "tok-comment": "$foreground-muted italic",
    "tok-keyword": "$text-primary",
    "tok-name": "$text-warning",
    "tok-builtin": "$text-secondary",
    "tok-string": "$text-success",
    "tok-number": "$text-accent",
    "selected": "$screen-selection-foreground on $screen-selection-background",
    "match": "underline bold",
    "match-now": "reverse bold",
    "current": "reverse",
}


class Palette:
    """Looks styles up for a widget; forgets them when the theme changes."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._known: dict[str, RichStyle] = {}

    def forget(self) -> None:
        self._known.clear()

    def style(self, names: str | RichStyle) -> RichStyle:
        """The style of one or more names; the later ones win."""
        if isinstance(names, RichStyle):
            return names
        known = self._known.get(names)
        if known is None:
            known = self._known[names] = self._made(names)
        return known

    def _made(self, names: str) -> RichStyle:
        style = self._widget.visual_style
        variables = self._widget.app.theme_variables
        for name in names.split():
            style += Style.parse(STYLES[name], variables)
        return style.rich_style
