"""docs/models.md says what is."""

import re
from pathlib import Path
from typing import get_args

import msgspec

from marvin_agent.llm.catalog import Catalog
from marvin_agent.llm.custom import load_custom
from marvin_agent.llm.providers import VARIABLES
from marvin_agent.llm.wire.completions_compat import Compat
from marvin_agent.settings import comma_list

PAGE = (Path(__file__).parent.parent / "docs" / "models.md").read_text()


def test_the_example_of_models_json_is_valid_and_gives_its_models(tmp_path: Path) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "models.json"
    path.write_text(example)
    catalog = Catalog.load(custom=load_custom(str(path)))
    assert catalog.find("ollama/qwen3:8b").context_window == 32768
    assert catalog.find("company/large").images
    assert catalog.find("openai/gpt-5").base_url == "https://proxy.company.example/v1"


def test_the_table_of_variables_is_the_one_in_use() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ((?:`[A-Z_]+`(?:, )?)+) \|$", PAGE, re.MULTILINE)
    assert {name: tuple(re.findall(r"[A-Z_]+", variables)) for name, variables in rows} == VARIABLES


def test_the_table_of_compat_has_every_key_and_what_holds_without_it() -> None:
    table = PAGE.partition("| key of `compat` |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    keys = {key: text for names, text in rows for key in re.findall(r"`(\w+)`", names)}
    fields = {field.encode_name: field for field in msgspec.structs.fields(Compat)}
    assert keys.keys() == fields.keys() | {"thinkingLevelMap", "adaptiveThinking"}
    for key, field in fields.items():
        if isinstance(field.default, bool):
            assert f"`{str(field.default).lower()}` unless said otherwise" in keys[key]
        else:
            words = [word for kind in get_args(field.type) for word in get_args(kind) or (kind,)]
            assert re.findall(r"`([\w-]+)`", keys[key]) == [word for word in words if isinstance(word, str)]


def test_the_names_in_the_first_table_are_found() -> None:
    catalog = Catalog.load()
    table = PAGE.partition("## Naming a model")[2].partition("When several")[0]
    names = [
        name for row in re.findall(r"^\| (`.*`) \|", table, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)
    ]
    assert "opus,gpt-5.5" in names
    for name in names:
        if name != "local":
            assert all(catalog.find(part) for part in comma_list(name)), name
