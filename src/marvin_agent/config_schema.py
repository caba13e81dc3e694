"""The JSON Schema of config.json, made from the types in `settings` and the text under each key there.

It is shipped as a file, so that `marvin config schema` reads nothing else; a test keeps the file in step.
`python -m marvin_agent.config_schema` writes it anew.
"""

import ast
from pathlib import Path
from typing import Any

import msgspec

from marvin_agent import settings
from marvin_agent.jsonfile import write_json
from marvin_agent.settings import THINKING_LEVELS, Settings

SCHEMA_FILE = Path(__file__).with_name("data") / "config.schema.json"


def config_schema() -> dict[str, Any]:
    """The schema, as it follows from the types."""
    _, definitions = msgspec.json.schema_components([Settings], ref_template="#/$defs/{name}")
    descriptions = _descriptions()
    for name, definition in definitions.items():
        for key, attribute in _attributes(name).items():
            definition["properties"][key] = _key(definition["properties"][key], descriptions[name, attribute])
        definition.pop("title")
        if not definition["required"]:
            definition.pop("required")
    top = definitions.pop("Settings")
    level = "|".join(THINKING_LEVELS)
    top["properties"]["thinking"].pop("type")
    # The list of levels alone would refuse several; the pattern alone would offer none while typing.
    top["properties"]["thinking"]["anyOf"] = [
        {"enum": list(THINKING_LEVELS)},
        {"type": "string", "pattern": rf"^[\s,]*({level})\s*(,[\s,]*({level})\s*)*[\s,]*$"},
    ]
    for kind in top["properties"]["model"]["anyOf"]:
        if kind.pop("minLength", None):
            kind["pattern"] = r"[^\s,]"  # a list that names something
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "config.json of marvin",
        **top,
        "$defs": definitions,
    }
    as_read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(schema))
    return as_read


def _key(place: dict[str, Any], description: str) -> dict[str, Any]:
    # That a key without a default is null says nothing.
    return {"description": description} | {k: v for k, v in place.items() if (k, v) != ("default", None)}


def _attributes(section: str) -> dict[str, str]:
    """The name in JSON and the name in Python of each key of a section."""
    kind = getattr(settings, section)
    return dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))


def _descriptions() -> dict[tuple[str, str], str]:
    """The text under each key, which only the source has."""
    tree = ast.parse(Path(settings.__file__).read_text("utf-8"))
    found: dict[tuple[str, str], str] = {}
    for section in tree.body:
        if not isinstance(section, ast.ClassDef):
            continue
        for key, text in zip(section.body, section.body[1:], strict=False):
            match key, text:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(description))),
                ):
                    found[section.name, name] = " ".join(description.split())
    return found


if __name__ == "__main__":
    write_json(str(SCHEMA_FILE), config_schema(), mode=0o644)
