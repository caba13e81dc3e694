"""Ctrl+V: images and texts from the desktop, by the tool that is there."""

import base64
from pathlib import Path

import pytest

from marvin_agent.frontends.tui.clipboard import read_clipboard
from tui.pilot import a_marvin, driven

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def tool(directory: Path, name: str, image: bytes | None, text: str | None) -> dict[str, str]:
    """A desktop whose clipboard holds an image, a text, or nothing."""
    directory.mkdir()
    (directory / "image").write_bytes(image or b"")
    (directory / "text").write_text(text or "")
    script = f"""#!/bin/sh
case "$*" in
    *image/png*) file={directory}/image ;;
    *) file={directory}/text ;;
esac
[ -s "$file" ] || exit 1
exec cat "$file"
"""
    path = directory / name
    path.write_text(script)
    path.chmod(0o755)
    display = "WAYLAND_DISPLAY" if name == "wl-paste" else "DISPLAY"
    return {"PATH": f"{directory}:/usr/bin:/bin", display: ":0"}


@pytest.mark.parametrize("name", ["wl-paste", "xclip"])
async def test_an_image_comes_before_a_text(tmp_path: Path, name: str) -> None:
    assert await read_clipboard(tool(tmp_path / "both", name, PNG, "words")) == PNG
    assert await read_clipboard(tool(tmp_path / "text", name, None, "words")) == "words"
    assert await read_clipboard(tool(tmp_path / "none", name, None, None)) is None


async def test_what_is_no_image_is_not_taken_for_one(tmp_path: Path) -> None:
    assert await read_clipboard(tool(tmp_path / "a", "xclip", b"no image", "words")) == "words"


async def test_without_a_tool_there_is_nothing(tmp_path: Path) -> None:
    assert await read_clipboard({"PATH": str(tmp_path), "DISPLAY": ":0"}) is None


async def test_an_image_is_sent_to_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in tool(tmp_path / "desktop", "xclip", PNG, None).items():
        monkeypatch.setenv(key, value)
    marvin = a_marvin(tmp_path, {"text": "A pixel."}, input=["text", "image"])
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        await one.type("see ")
        await one.press("ctrl+v")
        await one.until_shown("see [image #1]")
        await one.press("enter")
        await one.until_shown("A pixel.")
    content = marvin.messages()[0]["content"]
    assert [part["type"] for part in content] == ["text", "image"]
    assert base64.b64decode(content[1]["data"]) == PNG


async def test_an_image_that_models_refuse_is_told_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = PNG[:16] + (100_000).to_bytes(4, "big") * 2 + PNG[24:]
    for key, value in tool(tmp_path / "desktop", "xclip", huge, None).items():
        monkeypatch.setenv(key, value)
    async with driven(a_marvin(tmp_path, {"text": "unused"})) as one:
        await one.until_shown("Enter sends")
        await one.press("ctrl+v")
        await one.until_shown("100000 x 100000 pixels")
        assert one.app.prompt.is_empty


async def test_images_that_come_back_from_the_queue_are_sent_once(tmp_path: Path) -> None:
    slow, last = {"text": "Hm.", "delayMs": 60_000}, {"text": "Two pixels."}
    marvin = a_marvin(tmp_path, slow, last, input=["text", "image"])
    for name in ("named.png", "dropped.png"):
        (marvin.work / name).write_bytes(PNG)
    async with driven(marvin, "wait") as one:
        await one.until_shown("waiting for the model")
        await one.type("see @named.png ")
        one.app.prompt.take_paste(str(marvin.work / "dropped.png"))
        await one.press("alt+enter")
        await one.until_shown("follow-up: see")
        await one.press("escape")
        await one.until_shown("Stopped.")
        await one.press("enter")
        await one.until_shown("Two pixels.")
    content = marvin.messages()[-2]["content"]
    assert [part["type"] for part in content] == ["text", "image", "image"]
