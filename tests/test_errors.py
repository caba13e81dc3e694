"""The error tree: drawn as it is, and what a user reads of an error."""

import re

import pytest

from marvin_agent import errors
from marvin_agent.errors import MarvinError, of_file


def test_the_tree_at_the_top_of_the_file_is_the_tree() -> None:
    drawn = dict(re.findall(r"[├└]── (\w+) +(\d*)", errors.__doc__ or ""))
    classes = {
        name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, MarvinError)
    }
    assert set(drawn) == set(classes) - {"MarvinError"}
    for name, code in drawn.items():
        assert classes[name].exit_code == int(code or 1), name


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (FileNotFoundError(2, "No such file", "/a/b"), "/a/b: No such file"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("odd"), "odd"),
    ],
)
def test_what_the_system_says_of_a_file_is_shown_with_its_name(error: OSError, shown: str) -> None:
    assert of_file(error).show() == shown
