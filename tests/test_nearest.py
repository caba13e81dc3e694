import pytest

from marvin_agent.nearest import nearest, nearest_names

NAMES = ("read", "write", "edit", "bash", "somePath", "timeout")


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("raed", "read"),
        ("Bash", "bash"),
        ("some_path", "somePath"),
        ("path", "somePath"),
        ("time-out", "timeout"),
        ("timeoutSeconds", "timeout"),
        ("weather", None),
        ("", None),
        ("--", None),
    ],
)
def test_the_name_that_was_meant_is_found(word: str, name: str | None) -> None:
    assert nearest(word, NAMES) == name


def test_the_best_comes_first() -> None:
    assert nearest_names("path", ["patch", "some_path", "Path"]) == ["Path", "some_path", "patch"]
    assert nearest_names("x", []) == []
