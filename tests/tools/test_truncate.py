from hypothesis import given
from hypothesis import strategies as st

from marvin_agent.tools.truncate import Cut, head, human_size, split, tail

texts = st.text(alphabet=st.sampled_from("ab\n\rü€😀\x0b\u2028"), max_size=60)


def check(text: str, cut: Cut, max_lines: int, max_bytes: int) -> None:
    lines = split(text)
    assert "".join(lines) == text
    assert cut.total == len(lines)
    assert cut.text == "".join(lines[cut.first - 1 : cut.last])
    assert cut.last - cut.first + 1 <= max_lines
    assert len(cut.text.encode()) <= max_bytes
    assert cut.whole == (cut.text == text)
    assert cut.long_line == (bool(text) and not cut.text)


@given(texts, st.integers(1, 8), st.integers(1, 30))
def test_the_head_is_as_many_whole_lines_as_fit(text: str, max_lines: int, max_bytes: int) -> None:
    cut = head(text, max_lines, max_bytes)
    check(text, cut, max_lines, max_bytes)
    assert cut.first == 1
    if not cut.whole:
        one_more = "".join(split(text)[: cut.last + 1])
        assert cut.last == max_lines or len(one_more.encode()) > max_bytes


@given(texts, st.integers(1, 8), st.integers(1, 30))
def test_the_tail_is_as_many_whole_lines_as_fit(text: str, max_lines: int, max_bytes: int) -> None:
    cut = tail(text, max_lines, max_bytes)
    check(text, cut, max_lines, max_bytes)
    assert cut.last == cut.total
    if not cut.whole:
        one_more = "".join(split(text)[cut.first - 2 :])
        assert cut.last - cut.first + 1 == max_lines or len(one_more.encode()) > max_bytes


def test_the_limits_are_1500_lines_and_100_kib() -> None:
    assert head("x\n" * 2000).last == 1500
    assert tail("x\n" * 2000).first == 501
    assert head(("x" * 1023 + "\n") * 200).last == 100


def test_sizes_are_for_people() -> None:
    assert [human_size(n) for n in (5, 2048, 3 * 1024**2, 5 * 1024**3)] == ["5 bytes", "2.0 KB", "3.0 MB", "5.0 GB"]
