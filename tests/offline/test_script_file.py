"""A script's file: what is right, and how what is wrong is told."""

from pathlib import Path

import pytest

from marvin_agent.errors import ConfigError
from marvin_agent.llm.offline.script import Script


def load(directory: Path, text: str, name: str = "script.json") -> Script:
    path = directory / name
    path.write_text(text)
    return Script.load(str(path))


def test_a_json_file_has_a_version_and_replies(tmp_path: Path) -> None:
    script = load(tmp_path, '{"version": 1, "replies": [{"text": "a"}, {"text": "b", "repeat": true}]}')
    assert script.left == 1
    assert script.take("").answer.text == "a"
    assert (script.left, script.taken) == (0, 1)


def test_json_lines_have_a_reply_each_and_may_begin_with_the_version(tmp_path: Path) -> None:
    script = load(tmp_path, '{"version": 1}\n{"text": "a"}\n\n{"text": "b"}\n', "script.jsonl")
    assert [script.take("").answer.text for _ in range(2)] == ["a", "b"]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ('{"txet": "a"}', "txet"),
        ('{"text": 3}', "Expected `str`, got `int` (in text)"),
        ('{"toolCalls": [{"arguments": {}}]}', "missing required field `name` (in toolCalls.0)"),
        ('{"match": "("}', "Not a regular expression"),
        ('{"text": "ab", "chunk": ["a"]}', "do not make the text"),
        ('{"chunk": 0}', "at least one character"),
        ('{"delayMs": -5}', ">= 0.0 (in delayMs)"),
        ('{"usage": {"input": -1}}', ">= 0 (in usage.input)"),
        ('{"fault": {"kind": "cut", "afterChunks": -1}}', ">= 0 (in fault.afterChunks)"),
        ('{"fault": {"status": 200}}', "400 to 599"),
        ('{"fault": "status"}', '{"status": 429}'),
        ('{"fault": "explode"}', "explode"),
        ('{"fault": {"kind": "cut", "retryAfter": 1}}', "do not go with cut"),
        ('{"fault": {"kind": "cut", "message": "a"}}', "does not go with cut"),
        ('{"fault": {"status": 500, "afterChunks": 1}}', "before every chunk"),
        ('{"toolCalls": [{"name": "a", "arguments": {"b": 1}, "rawArguments": "c"}]}', "Either arguments or raw"),
    ],
)
def test_what_is_wrong_with_a_reply_is_told_with_its_line(tmp_path: Path, reply: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, '{"version": 1, "replies": [\n{"text": "fine"},\n' + reply + "\n]}")
    assert message in caught.value.message
    assert caught.value.line == 3
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, '{"text": "fine"}\n' + reply, "script.jsonl")
    assert message in caught.value.message
    assert caught.value.line == 2


def test_the_line_is_that_of_the_key_which_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, '{"version": 1, "replies": [{\n"text": "a",\n"toolCalls": [\n{"name":\n5}]}]}')
    assert caught.value.line == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "A script is an object"),
        ('{"replies": []}', "A script is an object"),
        ('{"version": 1, "replies": [], "more": 1}', "A script is an object"),
        ('{"version": 2, "replies": []}', "version 1, not 2"),
        ('{"version": 1, "replies": [}', "script.json:1"),
    ],
)
def test_a_file_that_is_not_a_script_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert message in caught.value.message


def test_a_line_that_is_not_json_is_told_with_its_number(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, '{"text": "a"}\n{"text": \n', "script.jsonl")
    assert caught.value.line == 2
    assert caught.value.message.count("script.jsonl") == 1


def test_a_script_of_another_version_in_lines_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="version 1, not 9"):
        load(tmp_path, '{"version": 9}\n', "script.jsonl")


def test_a_missing_script_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.json.*No such file"):
        Script.load(str(tmp_path / "nowhere.json"))
