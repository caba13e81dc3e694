"""Completion for bash, from version 3.2 (the one of macOS) on, without the bash-completion package."""

import shlex
from collections.abc import Iterable

from marvin_agent.frontends.completion.grammar import Command, Value

# Finds the command that the words before the cursor lead to, and how many arguments it already has.
_TEMPLATE = r"""# bash completion for @PROGRAM@: source it, or put it where bash-completion looks for @PROGRAM@

@FUNCTION@_value() {  # $1: what may stand here, $2: the word so far
    local candidate
    COMPREPLY=()
    case $1 in
        :files|:directories)
            compopt -o filenames 2>/dev/null
            local what=-f
            [[ $1 == :directories ]] && what=-d
            while IFS= read -r candidate; do
                COMPREPLY+=("$candidate")
            done < <(compgen "$what" -- "$2")
            ;;
        ?*)
            while IFS= read -r candidate; do
                COMPREPLY+=("$candidate")
            done < <(compgen -W "$1" -- "$2")
            ;;
    esac
}

@FUNCTION@_option() {  # $1: command, $2: option; sets `value` when the option takes one
    value=
    case "$1 $2" in
@VALUES@
        *) return 1 ;;
    esac
}

@FUNCTION@_command() {  # $1: command; sets its `options`, its `commands`, and `argument`: the value of argument $2
    options= commands= argument=
    case $1 in
@COMMANDS@
    esac
}

@FUNCTION@() {
    local word=${COMP_WORDS[COMP_CWORD]}
    local command= count=0 only_arguments= value= options= commands= argument= i next
    for ((i = 1; i < COMP_CWORD; i++)); do
        next=${COMP_WORDS[i]}
        if [[ -n $only_arguments ]]; then
            count=$((count + 1))
        elif [[ $next == -- ]]; then
            only_arguments=1
        elif [[ $next == -?* ]]; then
            if @FUNCTION@_option "$command" "$next"; then
                # bash splits --option=value into three words
                [[ ${COMP_WORDS[i+1]} == = ]] && i=$((i + 1))
                i=$((i + 1))
                if ((i >= COMP_CWORD)); then
                    [[ $word == = ]] && word=
                    @FUNCTION@_value "$value" "$word"
                    return
                fi
            fi
        else
            @FUNCTION@_command "$command" 0
            if ((count == 0)) && [[ " $commands " == *" $next "* ]]; then
                command=${command:+$command }$next
            else
                count=$((count + 1))
            fi
        fi
    done
    @FUNCTION@_command "$command" "$count"
    if [[ $word == -* && -z $only_arguments ]]; then
        @FUNCTION@_value "$options" "$word"
    elif ((count == 0)) && [[ -n $commands && -z $only_arguments ]]; then
        @FUNCTION@_value "$commands" "$word"
    else
        @FUNCTION@_value "$argument" "$word"
    fi
}

complete -F @FUNCTION@ @PROGRAM@
"""


def bash_script(program: str, root: Command) -> str:
    """The script to source."""
    values = [
        f"        {'|'.join(shlex.quote(f'{_name(command)} {flag}') for flag in option.flags)})"
        f" value={_what(option.value)} ;;"
        for command in root.all()
        for option in command.options
        if option.value
    ]
    return (
        _TEMPLATE.replace("@VALUES@", "\n".join(values))
        .replace("@COMMANDS@", "\n".join(map(_command, root.all())))
        .replace("@FUNCTION@", f"_{program}")
        .replace("@PROGRAM@", program)
    )


def _command(command: Command) -> str:
    options = _words(flag for option in command.options for flag in option.flags)
    commands = _words(below.path[-1] for below in command.commands)
    arguments = "".join(
        f"\n                {f'{index}|[0-9]*' if argument.repeated else index}) argument={_what(argument)} ;;"
        for index, argument in enumerate(command.arguments)
    )
    chosen = f"\n            case $2 in{arguments}\n            esac" if arguments else ""
    name = shlex.quote(_name(command))
    return f"        {name})\n            options={options} commands={commands}{chosen}\n            ;;"


def _name(command: Command) -> str:
    return " ".join(command.path)


def _what(value: Value) -> str:
    if value.files or value.directories:
        return ":files" if value.files else ":directories"
    return _words(value.words)


def _words(words: Iterable[str]) -> str:
    # Quoted twice: for the assignment, and for compgen, which expands what it is given.
    return shlex.quote(" ".join(shlex.quote(word) for word in words))
