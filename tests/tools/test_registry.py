import subprocess
import sys

import pytest

from marvin_agent.errors import HookError, ToolError
from marvin_agent.toolnames import BUILTIN_TOOLS
from marvin_agent.tools.login import LoginEnvironment
from marvin_agent.tools.registry import Registry, builtin_tools
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import Tool


def tool(name: str) -> Tool:
    def function(word: str) -> str:
        return word

    return tool_from_function(function, name=name)


@pytest.fixture
def registry() -> Registry:
    return Registry(builtin_tools(LoginEnvironment()))


def test_the_tools_are_in_order(registry: Registry) -> None:
    assert [one.name for one in registry] == ["read", "write", "edit", "bash", "grep", "find", "ls"]
    assert len(registry) == 7
    assert "bash" in registry


def test_rules_and_hooks_know_the_tools_by_name(registry: Registry) -> None:
    assert {one.name for one in registry} == BUILTIN_TOOLS


def test_tools_that_only_look_need_no_permission(registry: Registry) -> None:
    assert [one.name for one in registry if one.acts] == ["write", "edit", "bash"]


def test_a_clash_names_both_owners(registry: Registry) -> None:
    registry.add(tool("weather"), owner="project:first")
    with pytest.raises(HookError, match="project:second adds the tool 'weather', which project:first") as caught:
        registry.add(tool("weather"), owner="project:second")
    assert caught.value.hint is not None
    assert 'replaces="weather"' in caught.value.hint


def test_a_replacement_takes_the_place_of_the_old_one_and_gives_it_back(registry: Registry) -> None:
    old = registry.get("write")
    new = tool("write")
    assert registry.add(new, owner="project:mine", replaces="write") is old
    assert registry.get("write") is new
    assert [one.name for one in registry][1] == "write"
    assert registry.owner("write") == "project:mine"


def test_a_selection_holds_for_tools_that_are_added_later(registry: Registry) -> None:
    some = Registry(registry, only=frozenset({"read", "shout", "nonsense"}))
    assert [one.name for one in some] == ["read"]
    assert "bash" not in some
    with pytest.raises(ToolError, match="There are: read"):
        some.get("bash")
    some.add(tool("whisper"), owner="x")
    some.add(tool("shout"), owner="x")
    assert some.add(tool("bash"), owner="x", replaces="bash")
    assert [one.name for one in some] == ["read", "shout"]
    assert some.added_by("x") == ["bash", "whisper", "shout"]
    assert some.unknown() == ["nonsense"]
    with pytest.raises(HookError, match="has added already"):
        some.add(tool("whisper"), owner="y")


def test_a_replacement_of_nothing_is_an_error(registry: Registry) -> None:
    with pytest.raises(HookError, match=r"There is no tool 'wriet'\. Did you mean write"):
        registry.add(tool("wriet"), owner="x", replaces="wriet")
    with pytest.raises(HookError, match="a replacement has the same name"):
        registry.add(tool("other"), owner="x", replaces="write")


def test_an_unknown_tool_is_told_with_the_nearest_names(registry: Registry) -> None:
    for wrong, right in [("Bash", "bash"), ("reed", "read"), ("read_file", "read"), ("gerp", "grep")]:
        with pytest.raises(ToolError, match=f"There is no tool '{wrong}'. Did you mean {right}"):
            registry.get(wrong)
    with pytest.raises(ToolError, match="There are: read, write, edit, bash, grep, find, ls"):
        registry.get("weather_report")


def test_a_removed_tool_is_gone(registry: Registry) -> None:
    registry.remove("bash")
    registry.remove("bash")
    assert "bash" not in registry


def test_the_builtin_tools_load_nothing_heavy() -> None:
    script = (
        "import sys, asyncio, asyncio.subprocess, msgspec; before = set(sys.modules)\n"
        "from marvin_agent.tools.registry import builtin_tools\n"
        "from marvin_agent.tools.login import LoginEnvironment\n"
        "builtin_tools(LoginEnvironment())\n"
        "print(*sorted({n.partition('.')[0] for n in set(sys.modules) - before} - {'marvin_agent'}))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert set(found) <= {"_bisect", "bisect", "fnmatch", "shlex", "unicodedata"}
