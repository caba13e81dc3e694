"""Programs that run the program named in their arguments: where it begins, or the code that they are given.

What is not understood here (an option that is not listed) makes the whole unknown, and so asked about.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from marvin_agent.policies.permissions.builtins import evaluates
from marvin_agent.policies.permissions.commands import Part, Word, unknown

SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "ash"})
KEYWORDS = frozenset(
    [
        "coproc",
        "select",
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "function",
        "in",
        "{",
        "}",
        "!",
        "[[",
    ]
)
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
DEPTH = 8
"""How deep commands may be wrapped before nobody looks any more."""


class Wrapper(NamedTuple):
    """How a program takes the command that it runs."""

    flags: str = ""
    """Options without a value, separated by spaces."""
    valued: str = ""
    """Options whose value is the next word, or follows at once (`-n5`, `--adjustment=5`)."""
    skipped: int = 0
    """Words in front of the command (the seconds of `timeout`)."""
    transparent: bool = True
    """Gives the command no more than it had."""


WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper(
        "-n -E -H -S -b -k -i -s -A -P", "-u -g -p -C -h -r -t -T -U -D -R --user --group", transparent=False
    ),
    "doas": Wrapper("-n -s", "-u -C", transparent=False),
    "nohup": Wrapper(),
    "setsid": Wrapper("-f -w -c --fork --wait --ctty"),
    "time": Wrapper("-p"),
    "nice": Wrapper("", "-n --adjustment"),
    "ionice": Wrapper("-t", "-c -n --class --classdata"),
    "stdbuf": Wrapper("", "-i -o -e --input --output --error"),
    "timeout": Wrapper("--preserve-status --foreground -v --verbose", "-k -s --kill-after --signal", skipped=1),
    "command": Wrapper("-p"),
    "builtin": Wrapper(),
    "exec": Wrapper("-c -l", "-a"),
    "caffeinate": Wrapper("-d -i -m -s -u", "-t -w"),
    "chroot": Wrapper("", "--userspec --groups", skipped=1, transparent=False),
    "unshare": Wrapper("-m -u -i -n -p -U -r -f --fork", "-R -w", transparent=False),
    "busybox": Wrapper(),
    "strace": Wrapper("-f -c -q -v -t -tt -T", "-e -o -s -p", transparent=False),
    "xargs": Wrapper(
        "-0 -r -t -p -x --null --no-run-if-empty --verbose --exit",
        "-n -L -P -s -d -I -E -a --max-args --max-lines --max-procs --delimiter --replace --arg-file",
    ),
}

Parse = Callable[[str, int], tuple[Part, ...]]
"""Takes a command line apart; the number is how deep it stands in others."""


def unwrap(part: Part, parse: Parse, depth: int) -> Part:
    """The part with what it runs inside of it."""
    name = part.name
    if name.text in KEYWORDS:
        # The parser took a keyword for a program; what follows is looked at for what is denied.
        rest = " ".join(word.text for word in part.words[part.name_at + 1 :])
        return unknown(f"a command that is none: {part.text[:80]}")._replace(inner=parse(rest, depth + 1))
    if not name.known:
        return unknown(f"the program is not known before it runs: {name.text}")
    if depth > DEPTH:
        return unknown("commands in commands, too deep to look through")
    program = name.text.rpartition("/")[2]
    arguments = part.words[part.name_at + 1 :]
    # By another path than the usual one it may be any program of that name.
    plain = program == name.text and part.name_at == 0
    match program:
        case _ if program in SHELLS:
            return _shell(part, arguments, parse, depth, plain)
        case "eval":
            code = " ".join(word.text for word in arguments)
            inner = parse(code, depth + 1) if all(w.known for w in arguments) else (unknown("what eval runs"),)
            return part._replace(inner=inner, transparent=plain)
        case "watch":
            return _watch(part, arguments, parse, depth)
        case "trap" if len(arguments) > 1 and not arguments[0].text.startswith("-"):
            code = arguments[0].text
            inner = parse(code, depth + 1) if arguments[0].known else (unknown("what trap runs"),)
            return part._replace(inner=inner, transparent=plain)
        case "alias":
            return part._replace(inner=tuple(each for word in arguments for each in _aliased(word, parse, depth)))
        case _ if evaluates(program, arguments):
            return part._replace(inner=(unknown(f"what {program} evaluates"),))
        case "env":
            return _env(part, arguments, parse, depth, plain)
        case "find":
            return _find(part, arguments, parse, depth)
        case _ if program in WRAPPERS:
            return _wrapper(part, WRAPPERS[program], arguments, parse, depth, plain)
    return part


def _watch(part: Part, arguments: Sequence[Word], parse: Parse, depth: int) -> Part:
    at = _behind_options(Wrapper("-d -t -b -e -g -c -x", "-n --interval"), arguments)
    if at is None or not all(word.known for word in arguments[at:]):
        return part._replace(inner=(unknown("what watch runs"),))
    # It hands the words over to a shell, as one line.
    return part._replace(inner=parse(" ".join(word.text for word in arguments[at:]), depth + 1))


def _aliased(word: Word, parse: Parse, depth: int) -> tuple[Part, ...]:
    _, defined, code = word.text.partition("=")
    if not defined:
        return ()
    return parse(code, depth + 1) if word.known else (unknown("what an alias stands for"),)


def _command(words: Sequence[Word], parse: Parse, depth: int, name_at: int = 0) -> Part:
    return unwrap(Part("command", tuple(words), name_at), parse, depth + 1)


def _wrapper(part: Part, wrapper: Wrapper, arguments: Sequence[Word], parse: Parse, depth: int, plain: bool) -> Part:
    program = part.name.text.rpartition("/")[2]
    if program == "command" and arguments and arguments[0].text in ("-v", "-V"):
        return part
    at = _behind_options(wrapper, arguments)
    if at is None:
        return part._replace(inner=(unknown(f"an option of {program}"),))
    at += wrapper.skipped
    words = list(arguments[at:])
    if not words:
        # xargs alone runs echo; sudo and the like open a shell or only show something.
        return part
    if program == "xargs":
        mark = _replaced(arguments[:at])
        if mark and mark in words[0].text:
            words[0] = Word(f"${words[0].text}", known=False)
        words = [Word(f"${w.text}", known=False) if mark and mark in w.text else w for w in words]
        words.append(Word("$...", known=False))
    variables = 0
    while variables + 1 < len(words) and ASSIGNMENT.match(words[variables].text):
        variables += 1
    inner = _command(words, parse, depth, variables)
    at += variables
    return part._replace(inner=(inner,), inner_at=part.name_at + 1 + at, transparent=wrapper.transparent and plain)


def _behind_options(wrapper: Wrapper, arguments: Sequence[Word]) -> int | None:
    """Where the options end; None when one is not understood."""
    flags, valued = wrapper.flags.split(), wrapper.valued.split()
    at = 0
    while at < len(arguments) and arguments[at].text.startswith("-") and (arguments[at].text != "-" or "-" in flags):
        text = arguments[at].text
        if not arguments[at].known:
            return None
        at += 1
        if text == "--":
            break
        if text in flags or (text.startswith("--") and text.partition("=")[0] in valued and "=" in text):
            continue
        if text in valued:
            at += 1
        elif not (text[:2] in valued and not text.startswith("--")) and not _all_flags(text, flags):
            return None
    # A variable here may become the program, or an option.
    return at


def _all_flags(text: str, flags: Sequence[str]) -> bool:
    return not text.startswith("--") and len(text) > 2 and all(f"-{letter}" in flags for letter in text[1:])


def _replaced(options: Sequence[Word]) -> str:
    """What xargs puts its input in place of."""
    texts = [word.text for word in options]
    for at, text in enumerate(texts):
        if text == "-I" and at + 1 < len(texts):
            return texts[at + 1]
        if text.startswith("-I"):
            return text[2:]
        if text.startswith("--replace"):
            return text.partition("=")[2] or "{}"
    return ""


def _env(part: Part, arguments: Sequence[Word], parse: Parse, depth: int, plain: bool) -> Part:
    options = Wrapper("-i - -0 --ignore-environment --null", "-u --unset")
    at = _behind_options(options, arguments)
    if at is None:
        return part._replace(inner=(unknown("an option of env"),))
    begin = at
    while at < len(arguments) and ASSIGNMENT.match(arguments[at].text):
        at += 1
    if at == len(arguments):
        return part
    # Variables count as if they stood in front of the command; an allow rule has to name them.
    inner = _command(arguments[begin:], parse, depth, at - begin)
    return part._replace(inner=(inner,), inner_at=part.name_at + 1 + at, transparent=plain and begin == 0)


def _find(part: Part, arguments: Sequence[Word], parse: Parse, depth: int) -> Part:
    inner: list[Part] = []
    words: list[Word] | None = None
    for word in arguments:
        if words is None:
            words = [] if word.text in ("-exec", "-execdir", "-ok", "-okdir") else None
        elif word.text == ";" or (word.text == "+" and words and words[-1].text == "{}"):
            inner.append(_command(words, parse, depth) if words else unknown("find -exec without a command"))
            words = None
        else:
            words.append(Word(word.text, word.known and "{}" not in word.text))
    if words is not None:
        inner.append(unknown("find -exec without an end"))
    return part._replace(inner=tuple(inner))


def _shell(part: Part, arguments: Sequence[Word], parse: Parse, depth: int, plain: bool) -> Part:
    """`bash -c CODE` runs the code; `bash FILE` a file; `bash` alone whatever comes in."""
    takes_code, simple, at = False, plain, 0
    while at < len(arguments) and arguments[at].text[:1] in ("-", "+") and len(arguments[at].text) > 1:
        word = arguments[at]
        if not word.known:
            return part._replace(inner=(unknown("options of a shell"),))
        at += 1
        if word.text == "--":
            break
        if word.text.startswith("--"):
            simple = False
            at += word.text in ("--rcfile", "--init-file")
            continue
        takes_code = takes_code or (word.text[0] == "-" and "c" in word.text)
        simple = simple and not set(word.text[1:]) - set("ceuxlo")
        at += word.text[-1] in "oO"
    if at >= len(arguments):
        shown = any(word.text in ("--version", "--help") for word in arguments)
        return part if shown else part._replace(inner=(unknown("a shell that runs what it reads"),))
    if not takes_code:
        script = arguments[at]
        if script.text in ("-", "/dev/stdin") or script.text.startswith("/dev/fd/"):
            return part._replace(inner=(unknown("a shell that runs what it reads"),))
        return part
    if not arguments[at].known:
        return part._replace(inner=(unknown("the code of a shell"),))
    return part._replace(inner=parse(arguments[at].text, depth + 1), transparent=simple)
