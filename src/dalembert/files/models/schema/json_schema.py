"""JSON Schema of model files, for completion and checks in editors; made from the models that check files.

``schema.json`` beside this module holds the built-in kinds; `make_schema` writes it. An editor finds it through the
first line of a model file (``#:schema path/to/schema.json`` in TOML, ``"$schema": "..."`` in JSON).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.files.models.schema.values import FileTable

SCHEMA = Path(__file__).with_name("schema.json")


def model_schema() -> dict[str, Any]:
    """The JSON Schema of model files, with the kinds of other packages that are installed.

    Examples
    --------
    >>> model_schema()["title"]
    'dalembert model'
    """
    from dalembert.files.models.schema.document import model_type

    model = model_type()
    schema = model.model_json_schema(by_alias=True)
    for table in _tables():
        _add_units(table, schema["$defs"].get(table.__name__, schema if table is model else {}))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "dalembert model"}


def schema_path() -> Path:
    """Path of the JSON Schema of the built-in kinds, for the first line of a model file."""
    return SCHEMA


def _tables(kind: type[FileTable] | None = None) -> list[type[FileTable]]:
    """All tables of a model file."""
    from dalembert.files.models.schema.values import FileTable

    return [table for child in (kind or FileTable).__subclasses__() for table in (child, *_tables(child))]


def _add_units(table: type[FileTable], schema: dict[str, Any]) -> None:
    """The meaning of a key takes the place of its kind of number in the schema, so the unit is added to it."""
    from dalembert.files.models.schema.values import declared_kind
    from dalembert.record.units import KINDS

    for key, info in table.model_fields.items():
        keys = schema.get("properties", {}).get(info.alias or key, {})
        unit = KINDS.get(declared_kind(table, key) or "", ("",))[0]
        if unit and "description" in keys and "[" not in keys["description"]:
            keys["description"] += f" [{unit}]"


def schema_text() -> str:
    return json.dumps(model_schema(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
