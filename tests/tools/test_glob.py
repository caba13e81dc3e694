import pytest

from marvin_agent.tools.glob import matcher
from marvin_agent.tools.tool import ToolFailure


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("*.py", ["a.py", "x/y/a.py", ".py"], ["a.pyc", "a.py/b", "apy"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "x/src/a.py"]),
        ("/a.py", ["a.py"], ["b.py"]),
        ("./src/*", ["src/a"], ["x/src/a"]),
        ("src/**/t_*.py", ["src/t_a.py", "src/x/y/t_a.py"], ["t_a.py", "src/a.py"]),
        ("**/x", ["x", "a/x", "a/b/x"], ["ax", "x/a"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a/c"]),
        ("**", ["a", "a/b"], []),
        ("a**b", ["axxb"], ["ax/xb"]),
        ("?.[ch]", ["a.c", "x/b.h"], ["ab.c", "a.x"]),
        ("[!a-c]x", ["dx"], ["ax", "bx", "/x"]),
        ("[^a]", ["b"], ["a"]),
        ("[]x]", ["]", "x"], ["a"]),
        ("[a&&b]", ["&", "a", "b"], ["c"]),
        ("a[", ["a["], ["a"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.js", "a.tsxx"]),
        ("{a,b/c}", ["a", "b/c"], ["c"]),
        ("a{b", ["a{b"], ["ab"]),
        ("a}b,c", ["a}b,c"], ["ab"]),
        (r"\*.py", ["*.py"], ["a.py"]),
        ("deep/", ["deep/", "x/deep/"], ["deep"]),
        ("deep", ["deep/", "deep"], ["deeper/"]),
        ("!*.py", ["a.js"], ["a.py", "x/b.py"]),
        ("a.b+(c)$", ["a.b+(c)$"], ["aXb+(c)$"]),
        ("new*", ["new\nline"], []),
    ],
)
def test_patterns_are_those_of_gitignore(pattern: str, fits: list[str], does_not: list[str]) -> None:
    match = matcher(pattern)
    assert [path for path in fits if not match(path)] == []
    assert [path for path in does_not if match(path)] == []


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("**/" * 30 + "*.py", "a/" * 60 + "x.js"),
        ("*a" * 30 + "b", "a" * 200),
        ("a**" * 30 + "b/c", "a" * 200),
        ("{a,a}" * 9 + "/b", "a" * 9 + "/c"),
    ],
)
def test_no_pattern_takes_for_ever(pattern: str, path: str) -> None:
    assert not matcher(pattern)(path)


def test_a_pattern_that_stands_for_too_many_is_refused() -> None:
    with pytest.raises(ToolFailure, match="Make it simpler"):
        matcher("{a,b}" * 40)
