import sqlite3
from pathlib import Path

import pytest

from examples.conftest import Example
from marvin_agent.testing import BlockingHarness


@pytest.fixture
def hook(example: Example) -> BlockingHarness:
    loaded = example("custom_tool", replies=[{"text": "ok"}])
    fill(loaded.work / "a?b.db")
    return loaded


def fill(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table users (name, age)")
    connection.executemany("insert into users values (?, ?)", [("Ada", 36), ("Bob", None), ("Cy", 1)])
    connection.commit()
    connection.close()


def test_the_model_gets_rows(hook: BlockingHarness) -> None:
    answer = hook.call("sqlite", database="a?b.db", query="select * from users", limit=2)
    assert answer.status == "ok"
    assert answer.text == "name | age\nAda | 36\nBob | None\n(more than 2 rows)"
    assert hook.tool("sqlite", database="a?b.db", query="select * from users where age > 99") == "no rows"


def test_the_model_is_told_how_to_call_it(hook: BlockingHarness) -> None:
    hook.prompt("go")
    (tool,) = [each["function"] for each in hook.requests[0]["tools"] if each["function"]["name"] == "sqlite"]
    assert tool["parameters"]["required"] == ["database", "query"]
    assert tool["parameters"]["properties"]["query"]["description"] == "One SQL statement."


@pytest.mark.parametrize("query", ["delete from users", "drop table users", "insert into users values (1, 2)"])
def test_nothing_can_be_changed(hook: BlockingHarness, query: str) -> None:
    answer = hook.call("sqlite", database="a?b.db", query=query)
    assert (answer.status, "readonly" in answer.text) == ("error", True)


def test_mistakes_are_told_to_the_model(hook: BlockingHarness) -> None:
    assert "no such table" in hook.tool("sqlite", database="a?b.db", query="select * from nope")
    assert "no database" in hook.tool("sqlite", database="nope.db", query="select 1")
    assert not (hook.work / "nope.db").exists()
