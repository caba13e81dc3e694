"""What a line of Markdown may be: the patterns of block starts, indentation, the cells of a table."""

import re

RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)$")
SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
ITEM = re.compile(r"( {0,3})([-+*]|\d{1,9}[.)])( +|$)")
QUOTE = re.compile(r" {0,3}> ?")
TABLE_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
DEFINITION = re.compile(r" {0,3}\[([^\]\[]+)\]:[ \t]*<?([^\s>]+)>?[ \t]*(?:\"[^\"]*\"|'[^']*'|\([^)]*\))?[ \t]*$")
UNDECIDED = re.compile(r"[-=*_+#>`~|:\s]*$|\s*\d{1,9}[.)]?\s*$")
"""A line so far that may yet become several things; it is not shown before it is decided."""
_CELL = re.compile(r"(?:\\.|`[^`]*`|[^|\\])+|\\")


def table_cells(line: str) -> list[str]:
    """The cells of a table's row."""
    text = line.strip().removeprefix("|")
    if text.endswith("|") and not text.endswith("\\|"):
        text = text[:-1]
    cells, at = [], 0
    while at <= len(text):
        found = _CELL.match(text, at)
        end = found.end() if found else at
        cells.append(text[at:end].strip().replace("\\|", "|"))
        at = end + 1
    return cells


def begins_block(rest: str) -> bool:
    return bool(HEADING.match(rest) or RULE.match(rest) or FENCE.match(rest))


def indent_of(line: str) -> int:
    width = 0
    for character in line:
        if character == " ":
            width += 1
        elif character == "\t":
            width += 4 - width % 4
        else:
            break
    return width


def dedent(line: str, width: int) -> str:
    """The line without up to `width` columns of white space before it."""
    column = 0
    for index, character in enumerate(line):
        if column >= width:
            return " " * (column - width) + line[index:]
        if character == " ":
            column += 1
        elif character == "\t":
            column += 4 - column % 4
        else:
            return line[index:]
    return " " * max(column - width, 0)
