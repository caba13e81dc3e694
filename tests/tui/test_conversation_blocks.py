"""Markdown is split into blocks while it grows: any way of feeding it gives the same, and what is finished stays."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from marvin_agent.frontends.tui.conversation.blocks import LONGEST, Item, Quote, Splitter
from marvin_agent.frontends.tui.conversation.lines import table_cells
from marvin_agent.frontends.tui.conversation.markdown import Document, whole

PIECES = st.sampled_from(
    [
        "# ", "## Heading", "- ", "* ", "1. ", "2) ", "> ", "```", "~~~", "```python", "    ", "  ", "\t", "\n", "\n\n",
        "---", "===", "| a | b |", "|---|--:|", "| 1 |", "word", "**bold**", "`code`", "[x](http://y)", "[x]: http://z",
        "漢字", "👩‍👩‍👧", "\r\n", "[b]", "\x1b[31m", "|", "-", "a b c", "*",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def split(*pieces: str) -> Splitter:
    splitter = Splitter()
    for piece in pieces:
        splitter.feed(piece)
    splitter.finish()
    return splitter


def shown(document: Document, width: int = 40) -> list[str]:
    document.update()
    rows = document.stack.rows(width, 0, document.stack.height(width))
    return ["".join(piece.text for piece in placed.row.pieces).rstrip() for placed in rows]


def kinds(text: str) -> list[str]:
    return [block.kind for block in split(text).blocks]


@given(TEXTS, st.lists(st.integers(0, 300), max_size=20))
@example("- a\n```", [0, 5])
@settings(max_examples=300, deadline=None)
def test_any_way_of_feeding_a_text_gives_the_blocks_of_the_whole(text: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts})
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    splitter = Splitter()
    for piece in pieces:
        splitter.feed(piece)
        splitter.preview()
    splitter.finish()
    assert splitter.blocks == split(text).blocks
    assert splitter.references == split(text).references


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_finished_blocks_never_change(text: str) -> None:
    splitter = Splitter()
    finished: list[object] = []
    for character in text:
        splitter.feed(character)
        assert [block.copy() for block in splitter.blocks[: len(finished)]] == finished
        finished = [block.copy() for block in splitter.blocks[: splitter.open]]


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_a_growing_answer_is_laid_out_as_the_whole_one(text: str) -> None:
    growing = Document()
    for character in text:
        growing.feed(character)
        growing.update()
        growing.stack.height(40)
    growing.finish()
    assert shown(growing) == shown(whole(text))
    assert growing.stack.plain == whole(text).stack.plain


@given(TEXTS, st.integers(1, 60))
@settings(max_examples=100, deadline=None)
def test_rows_hold_the_plain_text_at_the_places_that_they_say(text: str, width: int) -> None:
    stack = whole(text).stack
    plain = stack.plain
    height = stack.height(width)
    rows = stack.rows(width, 0, height)
    assert len(rows) == height
    for placed in rows:
        for piece in placed.row.pieces:
            if piece.offset >= 0:
                start = placed.base + piece.offset
                assert plain[start : start + len(piece.text)] == piece.text
    middle = height // 2
    assert stack.rows(width, middle, height) == rows[middle:]


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_no_control_character_of_an_answer_reaches_the_screen(text: str) -> None:
    assert not any(character < " " for line in shown(whole(text)) for character in line.replace("\t", ""))


def test_blocks_are_told_apart_as_commonmark_does() -> None:
    text = (
        "Title\n===\n\ntext\nmore\n- a\n- b\n\n  still b\n1. one\n\n> quote\nlazy\n\n***\n\n```py\ncode\n\n- no list\n"
        "```\n    no code: the paragraph\n\n    code\n\n# End #\n| a | b |\n|---|---|\n| 1 | 2 |\nafter\n"
    )
    names = {
        "paragraph": "paragraph_open",
        "heading": "heading_open",
        "code": "code",
        "table": "table_open",
        "rule": "hr",
    }
    theirs = []
    in_table = 0
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        in_table += {"table_open": 1, "table_close": -1}.get(token.type, 0)
        kind = "code" if token.type in ("fence", "code_block") else token.type
        if kind in names.values() and (not in_table or kind == "table_open"):
            theirs.append(kind)
    assert [names[kind] for kind in kinds(text)] == theirs


def test_a_line_of_a_fence_is_never_markup() -> None:
    blocks = split("````md\n```\n# no\n- no\n````\nafter").blocks
    assert [(block.kind, block.lines) for block in blocks] == [
        ("code", ["```", "# no", "- no"]),
        ("paragraph", ["after"]),
    ]


def test_an_open_fence_shows_its_unfinished_line_but_not_half_of_its_end() -> None:
    document = Document()
    document.feed("```\none\ntw")
    assert shown(document) == ["  one", "  tw"]
    document.feed("o\n``")
    assert shown(document) == ["  one", "  two"]
    document.feed("`\nafter")
    assert shown(document) == ["  one", "  two", "", "after"]


def test_items_know_their_containers_and_go_on_counting() -> None:
    blocks = split("1. a\n1. b\n\n   > c\n").blocks
    assert [block.containers for block in blocks] == [
        (Item(".", 1, 3),),
        (Item(".", 2, 3),),
        (Item(".", 2, 3), Quote()),
    ]
    assert [block.gap for block in blocks] == [False, False, True]


def test_a_paragraph_without_end_is_laid_out_in_portions() -> None:
    splitter = split(*["word " for _ in range(LONGEST)])
    assert len(splitter.blocks) > 3
    assert all(sum(map(len, block.lines)) <= LONGEST for block in splitter.blocks)
    document = Document()
    document.feed("word " * LONGEST)
    document.finish()
    document.update()
    assert document.stack.plain.split() == ["word"] * LONGEST


def test_cells_may_hold_bars_in_code_and_escaped() -> None:
    assert table_cells(r"| a \| b | `c|d` | |") == ["a | b", "`c|d`", ""]


def test_nested_lists_tables_and_links_are_readable_at_forty_columns() -> None:
    text = (
        "1. first **bold** item that is long enough to be wrapped\n   - inner\n\n     para\n2. `code`\n\n"
        "> quoted [link](https://example.org/a) and <https://example.org>\n\n"
        "| name | what it is for |\n|---|---|\n| alpha | the first letter of the Greek alphabet |\n"
    )
    assert shown(whole(text)) == [
        "1. first bold item that is long enough",
        "   to be wrapped",
        "   • inner",
        "",
        "     para",
        "2. code",
        "",
        "▌ quoted link (https://example.org/a)",
        "▌ and https://example.org",
        "",
        "name  │ what it is for",
        "──────┼─────────────────────────────────",
        "alpha │ the first letter of the Greek",
        "      │ alphabet",
    ]
