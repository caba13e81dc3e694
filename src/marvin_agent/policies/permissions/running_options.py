"""Arguments that make a program run another, or write a file of their own choosing: no wildcard covers them."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple


class Arguments(NamedTuple):
    """What to look for in the arguments of a program."""

    long: str = ""
    """Long options, separated by spaces; with a value or not, and shortened as GNU and git allow it."""
    short: str = ""
    """Letters of short options, alone or among others (`-xzf`)."""
    takes_value: str = ""
    """Letters of short options behind which the rest of the word is a value."""
    commands: str = ""
    """Subcommands, as globs."""
    globs: tuple[str, ...] = ()
    """Anything else, as globs of a whole argument."""


_OUTSIDE = Arguments(globs=("/*", "..", "../*", "*/../*"))
"""Where a whole directory is made."""
_PACKAGES = Arguments(
    "--script-shell --node-options --prefix --userconfig --globalconfig --dir --cwd",
    "C",
    commands="exec x dlx explore create init",
)
_AWK = Arguments(
    "--file --exec --include --load --dump-variables --pretty-print --profile",
    "filEDdop",
    "Fv",
    globs=("*system*", "*|*", "*>*", "*@*"),
)
_NETCAT = Arguments("--exec --sh-exec --lua-exec --output --hex-dump --append-output", "eco", "pswgGiq")

OPTIONS: dict[str, Arguments] = {
    "git": Arguments(
        "--exec --upload-pack --receive-pack --open-files-in-pager --extcmd --ext-diff --textconv --output --template"
        " --tree-filter --unsafe-paths --index-output --export-marks --output-directory",
        "xO",
        "SM",
        "filter-branch bisect config difftool mergetool send-email imap-send hook web--browse instaweb merge-index svn"
        " p4 cvsserver daemon shell http-backend credential* archimport quiltimport remote-ext submodule--helper",
        ("ext::*", "foreach", *(start + ".[gG][iI][tT]" + end for start in ("", "*/") for end in ("", "/*"))),
    ),
    "git -": Arguments(
        "--config-env --exec-path --git-dir --work-tree --namespace --super-prefix --attr-source --list-cmds",
        globs=("-c*", "-C*"),
    ),
    "git clone": Arguments("--config", "uc", "bojC", globs=_OUTSIDE.globs),
    **dict.fromkeys(("git worktree", "git init", "git bundle", "gh repo", "gh gist"), _OUTSIDE),
    "git archive": Arguments("", "o"),
    "git format-patch": Arguments("", "o"),
    "git checkout-index": Arguments("--prefix"),
    "find": Arguments(globs=("-execdir", "-ok*", "-delete", "-fprint*", "-fls")),
    "fd": Arguments("--exec --exec-batch", "xX", "eEtdSoj"),
    "rg": Arguments("--hostname-bin --search-zip", "z", "eftgTmABCjMEr", globs=("--pre", "--pre=*")),
    "tar": Arguments(
        "--to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command --info-script"
        " --new-volume-script --index-file",
        "IF",
        "fbCTXLgKNVH",
    ),
    "rsync": Arguments("--rsh --rsync-path --remote-option --config", "eM", "fTB"),
    "sort": Arguments("--compress-program --output --temporary-directory", "oT", "ktS"),
    "sed": Arguments(),
    "awk": _AWK,
    "make": Arguments("--eval --file --makefile --directory --include-dir", "fCI", "jloOW", globs=("*=*",)),
    "man": Arguments("--pager --html --config-file --preprocessor", "PHC", "LmMRSserT"),
    "ssh": Arguments("", "oFEI", "bcDeiJLlmOpQRSWw"),
    "scp": Arguments("", "oSF", "cDilPJX"),
    "sftp": Arguments("", "oSFbD", "ciJlPRsX"),
    "curl": Arguments(
        "--config --output --remote-name --remote-name-all --dump-header --cookie-jar --trace --trace-ascii --stderr"
        " --output-dir --engine --etag-save --hsts --alt-svc --libcurl",
        "KoOcD",
        "XHduAbeFTmEQrUwyYzthxC",
    ),
    "wget": Arguments(
        "--use-askpass --execute --output-document --output-file --append-output --directory-prefix --config"
        " --save-cookies --warc-file",
        "eOoaP",
        "UTtQlRADIXBw",
    ),
    "go": Arguments(globs=("-exec*", "-toolexec*", "-vettool*", "--exec*", "--toolexec*", "--vettool*", "-C*", "--C*")),
    "go env": Arguments(globs=("-w", "--w")),
    "cargo": Arguments("--config", "Z", "pjC"),
    "npm": _PACKAGES,
    "pnpm": _PACKAGES,
    "yarn": _PACKAGES,
    "bun": _PACKAGES._replace(long=f"{_PACKAGES.long} --preload --require --import --config", short="Crc"),
    "mypy": Arguments("--python-executable --install-types"),
    "pytest": Arguments("--rootdir --confcutdir --override-ini --pdbcls", "pco", "kmnrW"),
    "printf": Arguments("", "v"),
    "less": Arguments(
        "--log-file --LOG-FILE --lesskey-file --lesskey-src --lesskey-content", "oOk", "pPtTbhxyz", globs=("+*",)
    ),
    "bat": Arguments("--pager"),
    "ag": Arguments("--pager"),
    "fzf": Arguments("--preview --bind --execute"),
    "zip": Arguments("--unzip-command --output-file", globs=("-*TT*", "-*O*")),
    "split": Arguments("--filter", takes_value="abClnt"),
    "csplit": Arguments("--prefix", "f", "bn"),
    "uniq": Arguments(takes_value="fsw"),
    "xxd": Arguments(takes_value="cglnosR"),
    "shuf": Arguments("--output --random-source", "o", "in"),
    "iconv": Arguments("--output", "o", "ft"),
    "base64": Arguments("--output", "o", "wb"),
    "yq": Arguments("--inplace --in-place --split-exp --split-exp-file", "is", "opI"),
    "openssl": Arguments(globs=("-out*", "-engine*", "-config", "-writerand")),
    "date": Arguments("--set", "s", "dfrI"),
    "tree": Arguments("", "o", "LPI"),
    "nc": _NETCAT,
    "ip": Arguments("--batch --force", globs=("exec", "-b*", "-force")),
    "history": Arguments("", "awrns"),
    "gh": Arguments(commands="alias config extension extensions ext"),
    "gh release": Arguments("--output --dir", "OD", "p"),
    "gh run": Arguments("--dir", "D", "n"),
}
"""By the program, or the program with a word that stands among its arguments; `git -` is in front of the subcommand."""
_SAME = {
    **dict.fromkeys(("gawk", "mawk", "nawk"), "awk"),
    **dict.fromkeys(("gtar", "bsdtar"), "tar"),
    **dict.fromkeys(("ncat", "netcat"), "nc"),
    "gsed": "sed",
    "gfind": "find",
    "gmake": "make",
    "fdfind": "fd",
    "batcat": "bat",
    "gsort": "sort",
}

_SECOND_IS_WRITTEN = frozenset({"uniq", "xxd", "split"})
"""Programs whose second file, if there is one, is what they write (or how its name begins)."""

_SED_OPTIONS = re.compile(r"-[nErsuz]+|--(quiet|silent|regexp-extended|separate|unbuffered|null-data|posix|debug)")
_SED_COMMAND = re.compile(
    r"""\s*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)I?(?:,(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\.)*/)I?)?\s*!?\s*)?
        (?:[pdqQ=lnNhHgGxPD]|s(?P<mark>[/|,#:@%!])(?:(?!(?P=mark))[^\\\n]|\\.)*(?P=mark)
           (?:(?!(?P=mark))[^\\\n]|\\.)*(?P=mark)[gpiIM\d]*)?\s*""",
    re.VERBOSE,
)


class Watch:
    """What to look for in the arguments of one command; None of it when the program is not known for such."""

    __slots__ = ("_commands", "_front", "_odd", "_options", "_plain_first", "watches")

    def __init__(self, program: str, arguments: Sequence[str]) -> None:
        program = _SAME.get(program, program)
        self.watches = program in OPTIONS
        if not self.watches:
            return
        names = [program, *(f"{program} {argument}" for argument in set(arguments))]
        self._options = [OPTIONS[name] for name in names if name in OPTIONS]
        self._front = frozenset(_in_front(arguments)) if f"{program} -" in OPTIONS else frozenset()
        self._commands = {text for each in self._options for text in _commands(each, arguments)}
        # The letters of tar without a dash take their values from the words behind, one after the other.
        self._plain_first = arguments[0] if program == "tar" and arguments and arguments[0][0:1] != "-" else None
        self._odd = _odd_in_sed(arguments) if program == "sed" else frozenset()
        if program in _SECOND_IS_WRITTEN:
            self._odd = _files_behind_the_first(arguments, OPTIONS[program].takes_value)

    def may_run_others(self, text: str) -> bool:
        """Whether one of the arguments may make the program run something else."""
        if text == self._plain_first:
            return bool(set(text) & set(OPTIONS["tar"].short))
        if text in self._odd or text in self._commands:
            return True
        if text in self._front and _has(OPTIONS["git -"], text):
            return True
        return any(_has(each, text) for each in self._options)


def _in_front(arguments: Sequence[str]) -> Sequence[str]:
    """The options before the first word that is none."""
    end = next((at for at, argument in enumerate(arguments) if not argument.startswith("-")), len(arguments))
    return arguments[:end]


def _commands(options: Arguments, arguments: Sequence[str]) -> Iterator[str]:
    """The words that may be one of the subcommands: words in front may be options and their values."""
    after_option = False
    for argument in arguments if options.commands else ():
        if argument.startswith("-"):
            after_option = True
            continue
        if any(fnmatchcase(argument, command) for command in options.commands.split()):
            yield argument
        if not after_option:
            break
        after_option = False


def _has(options: Arguments, text: str) -> bool:
    if any(fnmatchcase(text, glob) for glob in options.globs):
        return True
    if text.startswith("--"):
        given = text.partition("=")[0]
        return len(given) > 2 and any(name.startswith(given) for name in options.long.split())
    for letter in text[1:] if text.startswith("-") else "":
        if letter in options.short:
            return True
        if letter in options.takes_value or not (letter.isascii() and letter.isalnum()):
            break
    return False


def _files_behind_the_first(arguments: Sequence[str], takes_value: str) -> frozenset[str]:
    files: list[str] = []
    words = iter(arguments)
    for argument in words:
        if argument == "--":
            files += words
        elif argument == "-" or not argument.startswith("-"):
            files.append(argument)
        elif len(argument) == 2 and argument[1] in takes_value:
            next(words, None)
    # A glob may be several.
    return frozenset([*files[1:], *(file for file in files if set(file) & set("*?["))])


def _odd_in_sed(arguments: Sequence[str]) -> frozenset[str]:
    """The scripts and options with which sed may run programs (`e`) or write files (`w`)."""
    odd: set[str] = set()
    given = False
    words = iter(arguments)
    for argument in words:
        script = None
        if re.fullmatch(r"-[nErsuz]*e|--expression", argument):
            argument = script = next(words, "")
        elif argument.startswith("--expression="):
            script = argument.partition("=")[2]
        elif argument.startswith("-") and argument != "-":
            if not _SED_OPTIONS.fullmatch(argument):
                odd.add(argument)
            continue
        elif not given:
            script = argument
        given = given or script is not None
        if script is not None and not all(_SED_COMMAND.fullmatch(part) for part in re.split(r"[;\n]", script)):
            odd.add(argument)
    return frozenset(odd)
