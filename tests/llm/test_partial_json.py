"""Arguments that are still being written."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marvin_agent.llm.partial_json import parse_partial

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=3)


def grows_into(part: object, whole: object) -> bool:
    """Whether the part is a beginning of the whole."""
    match part, whole:
        case dict(), dict():
            return list(part) == list(whole)[: len(part)] and all(grows_into(part[key], whole[key]) for key in part)
        case list(), list():
            return len(part) <= len(whole) and all(map(grows_into, part, whole))
        case str(), str():
            return whole.startswith(part.removesuffix("\ufffd"))
        case _:
            return part == whole or (
                isinstance(part, int | float) and isinstance(whole, int | float) and not isinstance(part, bool)
            )


@settings(deadline=None, max_examples=60)
@given(OBJECTS, st.booleans(), st.sampled_from([None, 2]))
def test_the_whole_is_what_json_says(value: dict, ascii_only: bool, indent: int | None):
    assert parse_partial(json.dumps(value, ensure_ascii=ascii_only, indent=indent)) == value


@settings(deadline=None, max_examples=60)
@given(OBJECTS, st.booleans(), st.sampled_from([None, 2]))
def test_every_beginning_is_a_beginning_of_the_whole(value: dict, ascii_only: bool, indent: int | None):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    for end in range(len(text)):
        part = parse_partial(text[:end])
        assert grows_into(part, value), text[:end]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("{", {}),
        ('{"pa', {}),
        ('{"path"', {}),
        ('{"path":', {}),
        ('{"path":"', {"path": ""}),
        ('{"path":"a/b', {"path": "a/b"}),
        ('{"path":"a\\', {"path": "a"}),
        ('{"path":"a\\\\', {"path": "a\\"}),
        ('{"path":"a\\"', {"path": 'a"'}),
        ('{"path":"a\\u00', {"path": "a"}),
        ('{"path":"\\ud83d', {"path": "\ufffd"}),
        ('{"limit":1', {"limit": 1}),
        ('{"limit":-', {}),
        ('{"limit":1.', {"limit": 1}),
        ('{"limit":1e', {"limit": 1}),
        ('{"all":tr', {"all": True}),
        ('{"edits":[{"old":"x","new":"y"},{"old":"z', {"edits": [{"old": "x", "new": "y"}, {"old": "z"}]}),
        ('{"a":1,', {"a": 1}),
        ('{"a":1,"b', {"a": 1}),
        ('{"a":[1,', {"a": [1]}),
        ("[1,2", {}),
        ("nonsense", {}),
        ("]]}", {}),
        ("[" * 100_000, {}),
    ],
)
def test_beginnings(text: str, value: dict):
    assert parse_partial(text) == value
