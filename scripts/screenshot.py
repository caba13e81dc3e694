"""Makes the pictures of the documentation from the app itself: `make screenshot`.

The app runs with a scripted model; its tools, the files, the processes and the hook are real. The window is 100 columns
wide. The font is the reader's own: a picture loads nothing from elsewhere.
"""

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from marvin_agent.frontends.cli import parse
from marvin_agent.frontends.stdin import Asked
from marvin_agent.frontends.tui.app import MarvinApp
from marvin_agent.places import find_places

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
SIZE = (96, 37)
LIMIT = 60.0

CODE = '''"""A shopping cart."""


class Cart:
    def __init__(self) -> None:
        self.items: list[tuple[str, float]] = []

    def total(self) -> float:
        return sum(price for _, price in self.items[1:])
'''
TEST = """import sys

from cart import Cart

cart = Cart()
cart.items += [("tea", 3.5), ("milk", 1.5)]
if cart.total() != 5.0:
    sys.exit(f"FAILED test_total: {cart.total()} is not 5.0")
print("1 passed")
"""
PROMPT = "the total is wrong, fix it; and put the API key into .env"
WRONG = "        return sum(price for _, price in self.items[1:])"
REPLIES: list[dict[str, Any]] = [
    {
        "thinking": "First I look at what fails. Then I mend it.",
        "text": "I run the test and read the code.",
        "toolCalls": [
            {"name": "bash", "arguments": {"command": "python3 test_cart.py"}},
            {"name": "read", "arguments": {"path": "cart.py"}},
        ],
    },
    {
        "text": "`total()` leaves the first item out.",
        "toolCalls": [
            {
                "name": "edit",
                "arguments": {"path": "cart.py", "oldText": WRONG, "newText": WRONG.replace("[1:]", "")},
            },
            {"name": "write", "arguments": {"path": ".env", "content": "API_KEY=...\n"}},
        ],
    },
    {"text": "Now the test again.", "toolCalls": [{"name": "bash", "arguments": {"command": "python3 test_cart.py"}}]},
    {
        "text": (
            "Done, but for one thing:\n\n"
            "- `Cart.total()` counts **every** item now, and the test passes\n"
            "- `.env` is *protected* by a hook of yours: I left it alone"
        ),
        "usage": {"input": 5200, "output": 410},
    },
]
FACTS = {"contextWindow": 64_000, "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}}


async def main(to: Path) -> None:
    """Write every picture into a directory."""
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as base:
        shop, config = Path(base) / "shop", Path(base) / ".config" / "marvin"
        os.environ["HOME"] = base  # so that paths are shown as a user sees his own
        options = ["--hook", str(ROOT / "examples/hooks/protected_paths.py")]
        make_shop(shop, config)
        await take(shop, config, [*options, "--auto"], "I left it alone", to / "app.svg")
        make_shop(shop, config)
        await take(shop, config, options, "May bash run", to / "permission.svg")


def make_shop(shop: Path, config: Path) -> None:
    for directory in (shop, config):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
    (shop / ".git").mkdir()
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (shop / "cart.py").write_text(CODE)
    (shop / "test_cart.py").write_text(TEST)
    (config / "script.json").write_text(json.dumps({"version": 1, "replies": REPLIES}))
    provider = {"api": "scripted", "baseUrl": "script.json", "models": [{"id": "scripted", "reasoning": True, **FACTS}]}
    (config / "models.json").write_text(json.dumps({"providers": {"demo": provider}}))


async def take(shop: Path, config: Path, words: list[str], until: str, to: Path) -> None:
    """Run the app with a prompt until the screen shows a text; TimeoutError when it never does."""
    options = parse(words)
    app = MarvinApp(options, find_places(cwd=str(shop), config_dir=str(config), environ=os.environ), Asked(PROMPT, ()))
    async with app.run_test(size=SIZE) as pilot, asyncio.timeout(LIMIT):
        app.prompt.cursor_blink = False
        while until not in on_screen(app):
            await pilot.pause(0.05)
        await pilot.pause(0.2)
        to.write_text(plain(app.export_screenshot(title="marvin")), encoding="utf-8")
        print(to.name)
        await app.leave("quit")


def on_screen(app: MarvinApp) -> str:
    return app.export_screenshot(simplify=True).replace("&#160;", " ")


def plain(svg: str) -> str:
    """Without the addresses of fonts, and without an id that is another in each run."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    (name,) = set(re.findall(r"terminal-(\d+)-", svg)) or {""}
    svg = svg.replace(f"terminal-{name}-", "marvin-")
    return re.sub(r"Fira Code(?=[,;])", "ui-monospace, DejaVu Sans Mono, Menlo, Consolas", svg)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES))
