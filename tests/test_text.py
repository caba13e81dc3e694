"""Foreign text in a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from marvin_agent.text import one_line, printable


def test_control_characters_are_written_out_and_text_stays():
    assert printable("größer \U0001f600\n\tx") == "größer \U0001f600\n\tx"
    assert printable("\x1b[31mred\x07\x7f\x9b") == "\\u001b[31mred\\u0007\\u007f\\u009b"
    assert printable("a\r\nb\rc") == "a\nb\\u000dc"
    assert printable("\u202egnp.exe\ud800") == "\\u202egnp.exe\\ud800"


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text):
    shown = printable(text)
    assert all(char in "\n\t" or not (ord(char) < 32 or 127 <= ord(char) < 160) for char in shown)
    shown.encode()


@given(st.text(), st.integers(1, 40))
def test_one_line_is_one_line_that_fits(text, width):
    line = one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line


def test_a_long_line_says_that_it_is_cut():
    assert one_line("a  b\nc", 10) == "a b c"
    assert one_line("x" * 100, 10) == "x" * 9 + "…"
