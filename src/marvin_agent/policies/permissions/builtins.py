"""Builtins of bash that evaluate their arguments a second time: `read 'a[$(rm x)]'` runs what is in the brackets."""

import re
from collections.abc import Sequence

from marvin_agent.policies.permissions.commands import Word

_DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly"})
_NAMING = frozenset({"read", "mapfile", "readarray", "unset", "getopts"})
_ALWAYS = frozenset({"let", "compgen", "complete", "bind", "enable", "fc"})
_OBEYED = re.compile(
    r"(PATH|CDPATH|HOME|IFS|ENV|BASH_ENV|PS4|SHELL|SHELLOPTS|EDITOR|VISUAL|(LD|DYLD|GIT|NODE)_.*|(PYTHON|PERL|RUBY|LESS).*"
    r"|.*(PAGER|_COMMAND|_EDITOR))"
)
"""Variables that bash and other programs go by."""
_NAME = re.compile(r"[A-Za-z_]\w*(\+?=|$)")


def evaluates(program: str, arguments: Sequence[Word]) -> bool:
    """Whether a builtin may run what stands in its arguments, or make a name another program."""
    texts = [word.text for word in arguments]
    match program:
        case _ if program in _ALWAYS:
            return True
        case _ if program in _DECLARING:
            return any(_is_odd_declaration(word) for word in arguments)
        case "mapfile" | "readarray" if any(text.startswith("-") and "C" in text for text in texts):
            return True
        case _ if program in _NAMING:
            return _names_oddly(arguments)
        case "printf":
            return any(text.startswith("-v") for text in texts) and _names_oddly(arguments)
        case "test" | "[":
            return bool({"-v", "-R"} & set(texts)) and _names_oddly(arguments)
        case "hash" | "wait":
            return any(text.startswith("-") and "p" in text for text in texts)
        case "source" | ".":
            return any(word.text.startswith("/dev/") or not _is_file(word) for word in arguments[:1])
    return False


def _is_file(word: Word) -> bool:
    return word.known or re.fullmatch(r"""~/[\w./-]+|("?)\$HOME/[\w./-]+\1""", word.text) is not None


def _names_oddly(arguments: Sequence[Word]) -> bool:
    return any("[" in word.text or not word.known or _OBEYED.fullmatch(word.text) for word in arguments)


def _is_odd_declaration(word: Word) -> bool:
    if word.text[:1] in ("-", "+"):
        # An integer's value is evaluated, and a reference may be one to PATH.
        return not word.known or bool(set(word.text) & set("in"))
    return _NAME.match(word.text) is None
