"""Completion for zsh, by its own `_arguments`."""

from marvin_agent.frontends.completion.grammar import Command, Option, Value

_TEMPLATE = """#compdef @PROGRAM@
# zsh completion for @PROGRAM@: put it into a directory of $fpath as _@PROGRAM@, or source it after compinit

@FUNCTIONS@
if [[ $funcstack[1] == _@PROGRAM@ ]]; then
    _@PROGRAM@ "$@"
else
    compdef _@PROGRAM@ @PROGRAM@
fi
"""


def zsh_script(program: str, root: Command) -> str:
    """The script for $fpath."""
    functions = "\n".join(_function(program, command) for command in root.all())
    return _TEMPLATE.replace("@FUNCTIONS@", functions).replace("@PROGRAM@", program)


def _function(program: str, command: Command) -> str:
    options = [spec for option in command.options for spec in _option(option)]
    arguments = [_argument(index, argument) for index, argument in enumerate(command.arguments, 1)]
    name = _name(program, command)
    if not command.commands:
        return f"{name}() {{\n    _arguments -s -S : \\\n{_lines(options + arguments)}\n}}\n"
    listed = "\n".join(f"        {_quote(_described(below))}" for below in command.commands)
    cases = "\n".join(f"        {below.path[-1]}) {_name(program, below)} && ret=0 ;;" for below in command.commands)
    more = "".join(f" {_argument(index, argument)}" for index, argument in enumerate(command.arguments) if index)
    repeated = "".join(f" {_argument(1, argument)}" for argument in command.arguments[:1] if argument.repeated)
    return f"""{name}() {{
    local curcontext=$curcontext state line ret=1
    local -a switches=(
{_lines(options, "")}
    )
    typeset -A opt_args
    _arguments -C -s -S : "${{switches[@]}}" '1:: :{name}__commands' '*::: :->rest' && ret=0
    [[ $state == rest ]] || return ret
    # What follows is the business of the command that the first argument names, if it names one.
    words=($line[1] "${{words[@]}}")
    ((CURRENT += 1))
    curcontext="${{curcontext%:*:*}}:{program}-$line[1]:"
    case $line[1] in
{cases}
        *) _arguments -s -S : "${{switches[@]}}"{more}{repeated} && ret=0 ;;
    esac
    return ret
}}

{name}__commands() {{
    # After -- comes a prompt, whatever its first word.
    ((${{words[(I)--]}} && ${{words[(I)--]}} < CURRENT)) && return 1
    local -a commands=(
{listed}
    )
    _describe command commands
}}
"""


def _name(program: str, command: Command) -> str:
    return "_" + "__".join((program, *command.path)).replace("-", "_")


def _described(command: Command) -> str:
    return f"{command.path[-1]}:{command.help}" if command.help else command.path[-1]


def _option(option: Option) -> list[str]:
    others = "*" if option.repeatable else f"({' '.join(option.flags)})"
    specs = []
    for flag in option.flags:
        joined = "" if option.value is None else "=" if flag.startswith("--") else "+"
        value = "" if option.value is None else _value(option.value)
        specs.append(_quote(f"{others}{flag}{joined}[{_plain(option.help)}]{value}"))
    return specs


def _argument(index: int, argument: Value) -> str:
    if argument.repeated:
        return _quote(f"*{_value(argument)}")
    return _quote(f"{index}:{_value(argument)}" if argument.optional else f"{index}{_value(argument)}")


def _value(value: Value) -> str:
    return f":{_plain(value.name)}:{_action(value)}"


def _action(value: Value) -> str:
    if value.files or value.directories:
        return "_files" if value.files else "_files -/"
    # Nothing to offer is an empty list: a blank would keep zsh from offering options there.
    return f"({' '.join(map(_plain, value.words))})"


def _plain(text: str) -> str:
    """Text inside a specification, where brackets and colons have a meaning."""
    for special in "\\[]:":
        text = text.replace(special, f"\\{special}")
    return text


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _lines(specs: list[str], joint: str = " \\") -> str:
    return f"{joint}\n".join(f"        {spec}" for spec in specs)
