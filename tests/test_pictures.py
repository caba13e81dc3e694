"""The pictures in the documentation show the app as it is: `make screenshot` makes them again."""

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"


def shown(picture: Path) -> list[str]:
    """The words of a picture from top to bottom; how long something took is another time another."""
    words = [html.unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", picture.read_text("utf-8"))]
    return [re.sub(r"[\d.]+ m?s", "N ms", word.replace("\xa0", " ").strip()) for word in words]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("pictures")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "screenshot.py"), str(directory)], check=True, timeout=50)
    return directory


@pytest.mark.parametrize("name", ["app.svg", "permission.svg"])
def test_a_picture_is_what_the_app_shows(made: Path, name: str) -> None:
    assert shown(made / name) == shown(PICTURES / name)


def test_no_picture_loads_anything() -> None:
    for picture in PICTURES.iterdir():
        found = re.findall(r"(?:href|src|url)\W*https?://[^\"')]+", picture.read_text("utf-8"))
        assert not found, picture.name
