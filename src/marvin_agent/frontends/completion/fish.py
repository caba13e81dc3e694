"""Completion for fish, from version 3 on."""

from collections.abc import Iterator

from marvin_agent.frontends.completion.grammar import Command, Option, Value

_TEMPLATE = """# fish completion for @PROGRAM@: put it into ~/.config/fish/completions/@PROGRAM@.fish

# The command that the words before the cursor lead to, and then how many arguments it already has (or `--`).
function __@PROGRAM@_place
    set -l command ''
    set -l count 0
    set -l skip ''
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test -n "$skip"
            set skip ''
            continue
        end
        switch "$command $word"
            case '* --'
                printf '%s\\n' "$command" --
                return
@STEPS@
            case '* -*'
            case '*'
                set count (math $count + 1)
        end
    end
    printf '%s\\n' "$command" "$count"
end

# Whether the cursor is in the command $argv[1]; with $argv[2], at this argument (`2-` is the third or a later one)
function __@PROGRAM@_at
    set -l place (__@PROGRAM@_place)
    test "$place[1]" = "$argv[1]" -a "$place[2]" != --; or return 1
    switch "$argv[2]"
        case ''
            return 0
        case '*-'
            test "$place[2]" -ge (string trim -r -c - -- $argv[2])
        case '*'
            test "$place[2]" -eq $argv[2]
    end
end

complete -c @PROGRAM@ -f
@COMPLETIONS@
"""


def fish_script(program: str, root: Command) -> str:
    """The script for fish's directory of completions."""
    steps = "\n".join(_steps(root))
    lines = "\n".join(line for command in root.all() for line in _completions(program, command))
    return _TEMPLATE.replace("@STEPS@", steps).replace("@COMPLETIONS@", lines).replace("@PROGRAM@", program)


def _steps(root: Command) -> Iterator[str]:
    for command in root.all():
        flags = [flag for option in command.options if option.value for flag in option.flags]
        if flags:
            yield f"            case {' '.join(_quote(f'{_name(command)} {flag}') for flag in flags)}"
            yield "                set skip 1"
    for command in root.all():
        for below in command.commands:
            # Only where no argument came before is a word a command.
            yield f"            case {_quote(f'{_name(command)} {below.path[-1]}')}"
            yield "                if test $count -eq 0"
            yield f"                    set command {_quote(_name(below))}"
            yield "                else"
            yield "                    set count (math $count + 1)"
            yield "                end"


def _completions(program: str, command: Command) -> Iterator[str]:
    def line(place: str, rest: str, description: str) -> str:
        condition = _quote(f"__{program}_at {_quote(_name(command))}{place}")
        shown = f" -d {_quote(description)}" if description else ""
        return f"complete -c {program} -n {condition} {rest}{shown}"

    for option in command.options:
        yield line("", _option(option), option.help)
    for below in command.commands:
        yield line(" 0", f"-a {_quote(below.path[-1])}", below.help)
    for index, argument in enumerate(command.arguments):
        if value := _value(argument):
            yield line(f" {index}{'-' if argument.repeated else ''}", value, "")


def _option(option: Option) -> str:
    flags = [
        f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" if len(flag) == 2 else f"-o {flag[1:]}"
        for flag in option.flags
    ]
    if option.value:
        flags.append(f"-r {_value(option.value) or '-f'}")
    return " ".join(flags)


def _value(value: Value) -> str:
    if value.files:
        return "-F"
    if value.directories:
        return "-f -a '(__fish_complete_directories)'"
    return f"-f -a {_quote(' '.join(map(_quote_word, value.words)))}" if value.words else ""


def _name(command: Command) -> str:
    return " ".join(command.path)


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _quote_word(word: str) -> str:
    # What -a gets is expanded again.
    return word if word.replace("-", "").replace("_", "").isalnum() else _quote(word)
