"""Commands as rules see them: the words of one simple command, and whether a pattern covers them.

A pattern is compared with the words of one simple command, quotes taken off: `git log *` covers `git log` with any
arguments, `*` elsewhere is any text within one word, and a word without a glob is that word. Variables set in front
(`A=1 make`) are words too: an allow rule has to name them.

Allow and deny read a pattern differently. An allow must be sure: each word has to be known, the program has to be
written as the rule has it, and the wildcard at the end leaves out the options that make a program run another one. A
deny must not be dodged: a path in front of the program, variables and options before the subcommand do not hide it.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, TypeAlias

from marvin_agent.permission_rules import Rule, command_words
from marvin_agent.policies.permissions.known_programs import LAUNCHERS
from marvin_agent.policies.permissions.running_options import Watch

Match: TypeAlias = Literal["yes", "maybe", "no"]

MANY = 100
"""Words in front of a subcommand, or of a launched command, that are looked at."""
FOLDS_CASE = sys.platform == "darwin"
"""Whether `RM` finds the program `rm`."""
_COMMANDS = re.compile(
    r"(BASH_)?ENV|PS\d|SHELL|EDITOR|VISUAL|BROWSER|LESS(OPEN|CLOSE)|GIT_.*|.*(PAGER|COMMAND|_EDITOR|_SSH)"
)
"""Variables whose values are run."""


class Word(NamedTuple):
    """A word as the program will get it; where that cannot be known, as it is written."""

    text: str
    known: bool = True


class Part(NamedTuple):
    """One thing that a command line does."""

    kind: Literal["command", "write", "read", "unknown"]
    words: tuple[Word, ...] = ()
    """Of a command: variables set for it, the program, its arguments. Of a redirection: the file."""
    name_at: int = 0
    """Where among the words the program is."""
    inner: tuple["Part", ...] = ()
    """What it runs in turn, as `sudo` and `bash -c` do."""
    inner_at: int | None = None
    """Where among the words that begins, if it is there as words."""
    transparent: bool = False
    """Does nothing but run what is inside (`nohup`, `bash -c`)."""
    why: str = ""
    """Of what is unknown: the reason."""

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def name(self) -> Word:
        return self.words[self.name_at] if len(self.words) > self.name_at else Word("", known=False)


def unknown(why: str) -> Part:
    return Part("unknown", why=why)


class Pattern:
    """The pattern of a bash rule."""

    __slots__ = ("rule", "tail", "words")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.words, self.tail = command_words(rule.pattern or "*")

    def surely(self, part: Part) -> bool:
        """Whether it covers a part without a doubt: for allow rules."""
        return part.kind == "command" and any(self._covers(part, words) for words in {part.words, without_pager(part)})

    def _covers(self, part: Part, words: Sequence[Word]) -> bool:
        if len(words) < len(self.words) or not self.words:
            return False
        if not all(word.known for word in words[: part.name_at + 1]):
            return False
        # The program itself has to be named, not taken in by the wildcard.
        if len(self.words) <= part.name_at:
            return False
        if not all(_is_surely(w, p) for p, w in zip(self.words, words, strict=False)):
            return False
        rest = words[len(self.words) :]
        return not rest or (self.tail and not any(running(part, rest)))

    def names_inner(self, part: Part) -> bool:
        """Whether it names, in so many letters, the program that a wrapper runs."""
        if not self.tail and all(_is_literal(word) for word in self.words):
            return True
        at = part.inner_at
        return at is not None and len(self.words) > at and _is_literal(self.words[at])

    def perhaps(self, part: Part) -> Match:
        """Whether it covers a part, with doubts counted: for deny and ask rules."""
        if part.kind != "command" or not self.words:
            return "no"
        if len(self.words) == 1 and self.words[0].startswith("*"):
            # What is looked for may stand anywhere.
            return "yes" if any(fnmatchcase(word.text, self.words[0]) for word in part.words) else "no"
        found = self._compare(part.words)
        if found != "yes" and part.name_at:
            found = _surer(found, self._compare(part.words[part.name_at :]))
        # What a variable such as PS4 or GIT_SSH_COMMAND is set to may be run; the script's own ones are lower-case.
        read = [word for word in part.words[: part.name_at + 1] if re.match(r"[A-Z_][A-Z0-9_]*\+?=", word.text)]
        read += part.words[part.name_at + 1 :] if _launches(part) else ()
        return "maybe" if found == "no" and self._launched(read) else found

    def _launched(self, read: Sequence[Word]) -> bool:
        words = re.split(r"[\s='\"`!;|&(){},$]+", " ".join(word.text for word in read))
        begins = (at for at, word in enumerate(words) if self._is_program(Word(word)))
        return any(self._compare([Word(word) for word in words[at : at + MANY]]) != "no" for at in begins)

    def _compare(self, words: Sequence[Word]) -> Match:
        if not words or not self._is_program(words[0]):
            return "no" if words and (words[0].known or _sets_a_value(words[0].text)) else "maybe"
        found = _arguments(self.words[1:], words[1:], self.tail)
        if found == "no" and self.words[1:]:
            if len(words) > MANY and all(word.text.startswith("-") for word in words[1:MANY]):
                return "maybe"
            behind = (_arguments(self.words[1:], rest, self.tail) for rest in _behind_options(words[1:]))
            return "maybe" if any(one != "no" for one in behind) else "no"
        return found

    def _is_program(self, word: Word) -> bool:
        wanted = self.words[0]
        names = (word.text, word.text.rpartition("/")[2])
        if FOLDS_CASE:
            wanted, names = wanted.casefold(), (names[0].casefold(), names[1].casefold())
        return any(fnmatchcase(name, wanted) for name in names)


def _is_surely(word: Word, pattern: str) -> bool:
    # `rm build/*` means what is in there: no `..` leads out of it.
    climbs = ".." in word.text.split("/") and ".." not in pattern
    return word.known and fnmatchcase(word.text, pattern) and not climbs


def _sets_a_value(text: str) -> bool:
    """Whether it sets a variable that no program takes for a command: `X=$(date)` runs nothing but `date`."""
    found = re.match(r"([A-Za-z_]\w*)\+?=", text)
    return found is not None and _COMMANDS.fullmatch(found[1]) is None


def _is_literal(glob: str) -> bool:
    return not re.search(r"[*?\[]", re.sub(r"\[[*?\[]\]", "", glob))


def _arguments(patterns: Sequence[str], words: Sequence[Word], tail: bool) -> Match:
    """How a deny is compared: `*` as a word of its own stands for any number of words."""
    reached = {0}
    doubted = False
    first_unknown = next((at for at, word in enumerate(words) if not word.known), len(words))
    behind_known = next((at + 1 for at in range(len(words) - 1, -1, -1) if words[at].known), 0)
    for pattern in patterns:
        if pattern == "*":
            reached = set(range(min(reached), len(words) + 1))
            continue
        there = {at for at in reached if at < len(words)}
        matching = {at for at in there if fnmatchcase(words[at].text, pattern)}
        # A variable may become any words, or none.
        doubted = doubted or any(at >= first_unknown for at in there - matching)
        reached = {at + 1 for at in matching}
        if not reached:
            break
    if any(tail or at == len(words) for at in reached):
        return "yes"
    open_end = any(at >= behind_known for at in reached)
    return "maybe" if doubted or open_end else "no"


def _behind_options(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """What may be the subcommand and its arguments, behind options in front of it, each with a value or without."""
    at = 0
    while at < min(len(words), MANY) and words[at].text.startswith("-"):
        at += 1
        yield words[at:]
        if at < len(words) and not words[at].text.startswith("-"):
            at += 1
            yield words[at:]


def _surer(one: Match, other: Match) -> Match:
    order: tuple[Match, ...] = ("no", "maybe", "yes")
    return max(one, other, key=order.index)


def without_pager(part: Part) -> tuple[Word, ...]:
    """Its words without the options of git that only leave the pager out: `git --no-pager log` is `git log`."""
    words, behind = part.words, part.name_at + 1
    upto = behind
    while part.name.text == "git" and upto < len(words) and words[upto].text in ("--no-pager", "-P"):
        upto += 1
    return (*words[:behind], *words[upto:])


def _launches(part: Part) -> bool:
    arguments = part.words[part.name_at + 1 :]
    return part.name.text.rpartition("/")[2] in LAUNCHERS or any(running(part, arguments))


def running(part: Part, words: Sequence[Word]) -> Iterator[Word]:
    """Those of its arguments that may make the program run something else; what is unknown may."""
    program = part.name.text.rpartition("/")[2]
    watch = Watch(program, [word.text for word in part.words[part.name_at + 1 :]])
    messages = _messages(part.words) if program == "git" else frozenset()
    for word in words if watch.watches else ():
        # The names that a glob finds begin as it does: src/*.py becomes no option.
        only_glob = word.known or (word.text[:1] not in ("*", "?", "[", "-", "~") and not set(word.text) & set("$`{"))
        if watch.may_run_others(word.text) if only_glob else word not in messages:
            yield word


def _messages(words: Sequence[Word]) -> frozenset[Word]:
    """The values of `-m` that are one word whatever is put into them: `git commit -m "$(cat <<EOF ...)"`."""
    found = {word for at, word in enumerate(words) if at and words[at - 1].text in ("-m", "-am", "--message")}
    elsewhere = {
        word for at, word in enumerate(words) if not at or words[at - 1].text not in ("-m", "-am", "--message")
    }
    return frozenset(word for word in found - elsewhere if _is_one_word(word.text))


def _is_one_word(text: str) -> bool:
    return text.startswith('"') and text.endswith('"') and not re.search(r"\$\{?[\w!#]*(@|\[@)", text)
