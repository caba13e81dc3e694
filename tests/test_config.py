"""Loading the configuration: what counts, where it came from, what is wrong with it."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from marvin_agent import settings
from marvin_agent.config import HARMLESS_KEYS, Config, load
from marvin_agent.errors import ConfigError, UsageError
from marvin_agent.llm import values
from marvin_agent.places import Places, find_places


class Home:
    """A home directory with a project in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.file = directory / ".config" / "marvin" / "config.json"
        self.project_file = directory / "project" / ".marvin" / "config.json"
        self.file.parent.mkdir(parents=True)
        self.project_file.parent.mkdir(parents=True)

    def places(self, **options: str) -> Places:
        return find_places(cwd=str(self.project_file.parent.parent), environ={"HOME": str(self.directory)}, **options)

    def load(self, *, trusted: bool = False, overrides: Mapping[str, Mapping[str, Any]] = {}, **options: str) -> Config:
        return load(self.places(**options), trusted=trusted, overrides=overrides)

    def problem(self, **options: Any) -> str:
        with pytest.raises(ConfigError) as caught:
            self.load(**options)
        assert caught.value.exit_code == 78
        return caught.value.show()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def write(file: Path, value: object) -> None:
    """One key a line, the first in line 2."""
    file.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))


def test_without_any_file_everything_is_its_default(home: Home) -> None:
    config = home.load()
    assert config.model is None
    assert config.thinking == "medium"
    assert config.permissions.mode == "ask"
    assert config.hooks.timeout_ms == 30_000
    assert config.hooks.gate_timeout_ms == 600_000
    assert config.origin("thinking") == config.origin("hooks.paths") == "default"
    assert config.notices == ()


EVERY_KEY: dict[str, Any] = {
    "$schema": "https://example.invalid/schema.json",
    "provider": "anthropic",
    "model": "a/b, c",
    "thinking": "low, xhigh",
    "tools": ["read"],
    "theme": "dark",
    "notifications": True,
    "editor": {"command": "code", "args": ["--wait"]},
    "systemPrompt": "Be kind.",
    "lsp": {"enabled": False, "autoInstall": False},
    "hooks": {
        "paths": ["/h.py"],
        "timeoutMs": 1,
        "gateTimeoutMs": 2,
        "required": ["a"],
        "disabled": ["b"],
        "settings": {"a": {"deep": {"x": 1}}},
        "isolate": ["c"],
        "env": {"a": ["PATH"]},
    },
    "hookTimeout": 3,
    "permissions": {"mode": "plan", "allow": ["read"], "ask": ["bash"], "deny": ["bash(rm *)"]},
    "sessions": {"enabled": False, "dir": "/s"},
    "retry": {"maxAttempts": 1, "baseDelayMs": 2, "maxDelayMs": 3},
    "http": {"connectTimeoutMs": 4, "idleTimeoutMs": 5},
    "compaction": {"keepRecentTokens": 1},
    "keybindings": {"quit": "ctrl+q", "tools": ["f2", "ctrl+o"]},
    "bash": {"scrubEnv": True},
}


def test_every_key_is_read(home: Home) -> None:
    write(home.file, EVERY_KEY)
    config = home.load()
    assert config.provider == "anthropic"
    assert config.models == ("a/b", "c")
    assert config.thinking_levels == ("low", "xhigh")
    assert config.tools == ("read",)
    assert config.theme == "dark"
    assert config.editor == settings.EditorCommand(command="code", args=("--wait",))
    assert config.system_prompt == "Be kind."
    assert config.lsp == settings.LspSettings(enabled=False, auto_install=False)
    assert config.hooks == settings.HookSettings(
        paths=("/h.py",),
        timeout_ms=1,
        gate_timeout_ms=2,
        required=("a",),
        disabled=("b",),
        settings={"a": {"deep": {"x": 1}}},
        isolate=("c",),
        env={"a": ("PATH",)},
    )
    assert config.permissions == settings.PermissionSettings(
        mode="plan", allow=("read",), ask=("bash",), deny=("bash(rm *)",)
    )
    assert config.sessions == settings.SessionSettings(enabled=False, dir="/s")
    assert config.retry == settings.RetrySettings(max_attempts=1, base_delay_ms=2, max_delay_ms=3)
    assert config.http == settings.HttpSettings(connect_timeout_ms=4, idle_timeout_ms=5)
    assert config.compaction == settings.CompactionSettings(keep_recent_tokens=1)
    assert config.keybindings == {"quit": "ctrl+q", "tools": ("f2", "ctrl+o")}
    assert config.bash == settings.BashSettings(scrub_env=True)
    assert set(EVERY_KEY) == {"$schema", *Config.__struct_encode_fields__} - {"layers", "notices"}


@pytest.mark.parametrize("editor", ["code --wait", ["code", "--wait"], {"command": "code"}])
def test_an_editor_is_a_string_a_list_or_an_object(home: Home, editor: object) -> None:
    write(home.file, {"editor": editor})
    assert home.load().editor in ("code --wait", ("code", "--wait"), settings.EditorCommand(command="code"))


def test_the_levels_of_thinking_are_those_of_the_models() -> None:
    assert settings.THINKING_LEVELS == values.THINKING_LEVELS == get_args(settings.ThinkingLevel)


def test_a_level_is_read_for_each_model_of_the_list(home: Home) -> None:
    config = home.load(overrides={"--thinking": {"thinking": "low, high"}})
    assert config.thinking_levels == ("low", "high")


def test_the_command_line_beats_the_project_which_beats_the_global_file(home: Home) -> None:
    write(home.file, {"model": "g", "theme": "g", "thinking": "low", "provider": "g"})
    write(home.project_file, {"theme": "p", "thinking": "high", "model": "p"})
    config = home.load(overrides={"--model": {"model": "o"}})
    assert (config.provider, config.theme, config.thinking, config.model) == ("g", "p", "high", "o")
    assert config.origin("model") == "--model"
    assert config.origin("theme") == f"{home.project_file}:2"
    assert config.origin("thinking") == f"{home.project_file}:3"
    assert config.origin("provider") == f"{home.file}:5"
    assert config.origin("editor") == "default"


def test_a_section_is_merged_key_by_key(home: Home) -> None:
    write(home.file, {"retry": {"maxAttempts": 2}, "hooks": {"settings": {"a": {"x": 1, "y": 1}}}})
    write(home.project_file, {"retry": {"baseDelayMs": 7}, "hooks": {"settings": {"a": {"y": 2}, "b": {}}}})
    config = home.load(trusted=True)
    assert (config.retry.max_attempts, config.retry.base_delay_ms, config.retry.max_delay_ms) == (2, 7, 60_000)
    assert config.hooks.settings == {"a": {"x": 1, "y": 2}, "b": {}}
    assert config.origin("retry.maxAttempts") == f"{home.file}:3"
    assert config.origin("retry.baseDelayMs") == f"{home.project_file}:3"
    assert config.origin(("hooks", "settings", "a", "y")) == f"{home.project_file}:8"


def test_an_editor_is_replaced_as_a_whole(home: Home) -> None:
    write(home.file, {"editor": {"command": "code", "args": ["--wait"]}})
    config = home.load(overrides={"--editor": {"editor": {"command": "vim"}}})
    assert config.editor == settings.EditorCommand(command="vim")
    assert config.origin("editor.args") == "--editor"


def test_rules_of_several_places_are_joined_so_that_none_takes_another_away(home: Home) -> None:
    write(home.file, {"permissions": {"deny": ["bash(rm *)"]}, "hooks": {"required": ["a"]}})
    write(
        home.project_file,
        {"permissions": {"deny": ["read(.env)"]}, "hooks": {"required": []}},
    )
    config = home.load(trusted=True)
    assert config.permissions.deny == ("bash(rm *)", "read(.env)")
    assert config.hooks.required == ("a",)
    assert config.origin("permissions.deny") == f"{home.file}:3, {home.project_file}:3"


def test_null_takes_a_value_back_to_its_default(home: Home) -> None:
    write(home.file, {"model": "x"})
    config = home.load(overrides={"--any-model": {"model": None}})
    assert (config.model, config.origin("model")) == (None, "--any-model")


def test_the_top_level_hook_timeout_counts_unless_the_section_says_otherwise(home: Home) -> None:
    write(home.file, {"theme": "x", "hookTimeout": 5})
    config = home.load()
    assert config.hooks.timeout_ms == 5
    assert config.origin("hooks.timeoutMs") == f"{home.file}:3"
    write(home.file, {"hookTimeout": 5, "hooks": {"timeoutMs": 6}})
    config = home.load()
    assert config.hooks.timeout_ms == 6
    assert config.origin("hooks.timeoutMs") == f"{home.file}:4"


@pytest.mark.parametrize("value", [0, -1, 1.5, 5.0, "5", True, 10**9])
@pytest.mark.parametrize("key", ["hookTimeout", "timeoutMs"])
def test_an_invalid_hook_timeout_is_a_configuration_error(home: Home, key: str, value: object) -> None:
    write(home.file, {key: value} if key == "hookTimeout" else {"hooks": {key: value}})
    assert f"{key} must be a whole number from 1 to 86400000" in home.problem()


def test_hook_paths_and_the_sessions_directory_are_relative_to_their_file(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    write(home.file, {"hooks": {"paths": ["mine", "~/h.py", "/abs.py"]}, "sessions": {"dir": "kept"}})
    config = home.load()
    assert config.hooks.paths == (str(home.file.parent / "mine"), "/home/ada/h.py", "/abs.py")
    assert config.sessions.dir == str(home.file.parent / "kept")
    other = tmp_path / "other.json"
    write(other, {"hooks": {"paths": ["mine"]}})
    assert home.load(config_file=str(other)).hooks.paths == (str(tmp_path / "mine"),)


def test_before_trust_only_harmless_keys_of_a_project_count_and_one_notice_names_the_rest(home: Home) -> None:
    acting = {key: value for key, value in EVERY_KEY.items() if key not in HARMLESS_KEYS}
    write(home.project_file, {**EVERY_KEY, "nonsense": 1})
    config = home.load()
    assert config.notices == (
        f"{home.project_file}: ignored until you trust this project (marvin trust): {', '.join([*acting, 'nonsense'])}",
    )
    assert (config.model, config.provider, config.thinking, config.theme, config.tools) == (
        "a/b, c",
        "anthropic",
        "low, xhigh",
        "dark",
        ("read",),
    )
    untouched = Config(model="a/b, c", provider="anthropic", thinking="low, xhigh", theme="dark", tools=("read",))
    for name in settings.Settings.__struct_fields__:
        if name != "schema_url":
            assert getattr(config, name) == getattr(untouched, name), name


def test_a_wrong_value_of_an_ignored_key_is_not_looked_at_before_trust(home: Home) -> None:
    write(home.project_file, {"hooks": 1})
    assert home.load().hooks == settings.HookSettings()
    assert "hooks must be an object" in home.problem(trusted=True)


def test_after_trust_the_project_counts_in_full(home: Home) -> None:
    write(
        home.project_file, {"permissions": {"mode": "edits"}, "hooks": {"disabled": ["x"]}, "bash": {"scrubEnv": True}}
    )
    config = home.load(trusted=True)
    assert (config.permissions.mode, config.hooks.disabled, config.bash.scrub_env) == ("edits", ("x",), True)
    assert config.notices == ()


def test_hook_paths_of_a_project_are_never_taken(home: Home) -> None:
    write(home.project_file, {"hooks": {"timeoutMs": 9, "paths": ["../../elsewhere.py"]}})
    config = home.load(trusted=True)
    assert (config.hooks.paths, config.hooks.timeout_ms) == ((), 9)
    assert config.notices == (
        f"{home.project_file}:4: hooks.paths is ignored in a project; put the hooks into .marvin/hooks",
    )


def test_before_trust_a_project_may_only_take_tools_away(home: Home) -> None:
    write(home.file, {"tools": ["read", "grep"]})
    write(home.project_file, {"theme": "x", "tools": ["bash", "grep"]})
    config = home.load()
    assert config.tools == ("grep",)
    assert config.notices == (f"{home.project_file}:3: tools that you left out stay out without --trust-project: bash",)
    assert home.load(trusted=True).tools == ("bash", "grep")
    write(home.project_file, {"tools": None})
    assert home.load().tools == ("read", "grep")
    write(home.file, {})
    write(home.project_file, {"tools": ["bash"]})
    assert home.load().tools == ("bash",)


def test_a_file_that_is_global_and_the_projects_is_the_global_one(home: Home) -> None:
    write(home.project_file, {"permissions": {"mode": "edits"}})
    home.file.symlink_to(home.project_file)
    config = home.load()
    assert (config.permissions.mode, config.notices) == ("edits", ())


def test_no_tools_is_not_the_same_as_all_tools(home: Home) -> None:
    write(home.file, {"tools": []})
    assert home.load().tools == ()
    assert home.load(overrides={"--tools": {"tools": None}}).tools is None


@pytest.mark.parametrize(
    ("lsp", "lines"), [(True, 1), ({}, 1), ({"autoInstall": False}, 1), (False, 0), ({"enabled": False}, 0)]
)
def test_lsp_is_answered_with_one_line_that_diagnostics_are_not_there_yet(home: Home, lsp: object, lines: int) -> None:
    write(home.file, {"lsp": lsp})
    assert home.load().notices == (f"{home.file}:2: lsp has no effect: diagnostics are not there yet",) * lines


def test_every_problem_of_every_file_is_shown_at_once_with_line_and_key(home: Home) -> None:
    write(home.file, {"modle": "x", "thinking": "hihg", "hooks": {"paths": "x", "timeout_ms": 5}, "tools": [1, ""]})
    write(home.project_file, {"theme": 1})
    assert home.problem().splitlines() == [
        f"{home.file}:2: unknown key modle",
        "Did you mean model?",
        f"{home.file}:3: thinking must be one of off, minimal, low, medium, high, xhigh, but is 'hihg'",
        "Did you mean high?",
        f"{home.file}:5: hooks.paths must be a list, but is a string",
        f"{home.file}:6: unknown key hooks.timeout_ms",
        "Did you mean hooks.timeoutMs?",
        f"{home.file}:9: tools[0] must be a string that is not empty, but is 1",
        f"{home.file}:10: tools[1] must be a string that is not empty, but is empty",
        f"{home.project_file}:2: theme must be a string that is not empty, but is 1",
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"permissions": {"mode": "Auto"}}, "must be one of ask, auto, edits, plan, but is 'Auto'\nDid you mean auto?"),
        ({"permissions": {"mode": None}}, "but is null"),
        ({"permissions": {"deny": ["bash(rm"]}}, "permissions.deny[0]: 'bash(rm' is no rule: a rule is `tool`"),
        ({"permissions": {"allow": ["bash(a | b)"]}}, "a rule for each command"),
        ({"timeoutMs": 5}, "unknown key timeoutMs\nDid you mean hooks.timeoutMs?"),
        ({"maxattempts": 5}, "Did you mean retry.maxAttempts?"),
        ({"zzz": 5}, "Known here: $schema, provider, model,"),
        ({"retry": {"zzz": 5}}, "Known here: maxAttempts, baseDelayMs, maxDelayMs."),
        ({"retry": {"maxAttempts": "3"}}, "from 1 to 100, but is a string\nWrite 3 without quotes."),
        ({"bash": {"scrubEnv": "true"}}, "bash.scrubEnv must be true or false, but is a string\nWrite true without"),
        ({"compaction": {"keepRecentTokens": -1}}, "a whole number, 0 or more, but is -1"),
        ({"editor": {"args": []}}, "editor needs the key command"),
        ({"editor": {"command": "x", "arg": []}}, "unknown key editor.arg\nDid you mean editor.args?"),
        ({"editor": 5}, "must be a string that is not empty, a list, an object or null, but is 5"),
        ({"editor": []}, "editor must not be empty"),
        ({"lsp": "on"}, "lsp must be true or false or an object, but is a string"),
        ({"keybindings": {"quit": 1}}, "keybindings.quit must be"),
        ({"hooks": {"settings": {"a": 1}}}, "hooks.settings.a must be an object, but is 1"),
        ({"hooks": {"env": {"a": "PATH"}}}, "hooks.env.a must be a list"),
        ({"model": ", "}, "model names none: ', '"),
        ({"thinking": ""}, "thinking must be one of"),
        ({"thinking": "low,,loud"}, "but is 'loud'"),
        ({"model": ""}, "model must be a string that is not empty, but is empty"),
        ([], "the configuration must be an object, but is a list"),
        ("{", "{ is not closed"),
        ('{"model": "a", "model": "b"}', "a second time"),
    ],
)
def test_a_problem_says_what_was_expected_and_what_to_do(home: Home, value: object, words: str) -> None:
    write(home.file, value)
    shown = home.problem()
    assert words in shown
    assert shown.startswith(f"{home.file}:")


def test_a_secret_in_the_wrong_place_is_not_shown(home: Home) -> None:
    write(home.file, {"provider": ["sk-secret"], "hooks": "sk-secret", "retry": {"maxAttempts": "sk-secret"}})
    assert "sk-secret" not in home.problem()


def test_a_syntax_error_in_one_file_does_not_hide_the_problems_of_the_other(home: Home) -> None:
    write(home.file, "{")
    write(home.project_file, {"theme": 1})
    assert home.problem().count(" must be ") == 1
    assert str(home.file) in home.problem()


def test_a_file_that_was_named_must_exist_and_replaces_the_usual_one(home: Home, tmp_path: Path) -> None:
    write(home.file, {"theme": "usual"})
    assert "none.json: does not exist" in home.problem(config_file=str(tmp_path / "none.json"))
    write(tmp_path / "some.json", {"model": "x"})
    config = home.load(config_file=str(tmp_path / "some.json"))
    assert (config.model, config.theme) == ("x", "auto")


def test_a_dangling_link_is_not_a_missing_file(home: Home, tmp_path: Path) -> None:
    home.file.symlink_to(tmp_path / "gone.json")
    assert "a link to a file that does not exist" in home.problem()


def test_a_wrong_value_on_the_command_line_is_a_usage_error(home: Home) -> None:
    with pytest.raises(UsageError, match=r"--thinking: thinking must be one of .*'loud'") as caught:
        home.load(overrides={"--thinking": {"thinking": "loud"}})
    assert caught.value.exit_code == 2


def test_every_valid_configuration_survives_its_own_explanation(home: Home) -> None:
    """The fast check and the thorough one agree: neither finds a problem where the other does not."""
    from marvin_agent.config_problems import explain

    assert [error.message for error in explain("f", EVERY_KEY, None, "nothing")] == ["f: nothing"]


def test_nothing_expensive_is_loaded_for_a_configuration_that_is_right(home: Home) -> None:
    write(home.file, EVERY_KEY)
    write(home.project_file, {"model": "x"})
    code = (
        "import sys; from marvin_agent.config import load; from marvin_agent.places import find_places\n"
        f"load(find_places(cwd={str(home.project_file.parent)!r}, environ={{'HOME': {str(home.directory)!r}}}))\n"
        "late = {'difflib', 'dataclasses', 'json', 'marvin_agent.config_problems', 'marvin_agent.jsonpositions'}\n"
        "print(late & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
