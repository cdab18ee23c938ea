"""Make ``schema.json`` from the models that check files: ``python -m dalembert.files.models.schema.make_schema``."""

from __future__ import annotations

import json
from typing import Any

from dalembert.core.atomic_files import write_text
from dalembert.files.models.schema.document import Model
from dalembert.files.models.schema.json_schema import SCHEMA
from dalembert.files.models.schema.values import Table, declared_kind
from dalembert.record.units import KINDS


def made_schema() -> dict[str, Any]:
    """The JSON Schema of model files."""
    schema = Model.model_json_schema(by_alias=True)
    for table in tables():
        _add_units(table, schema["$defs"].get(table.__name__, schema if table is Model else {}))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "dalembert model"}


def tables(kind: type[Table] = Table) -> list[type[Table]]:
    """All tables of a model file."""
    return [one for child in kind.__subclasses__() for one in (child, *tables(child))]


def _add_units(table: type[Table], schema: dict[str, Any]) -> None:
    """What a key means takes the place of its kind of number: the unit is told again."""
    for key, info in table.model_fields.items():
        given = schema.get("properties", {}).get(info.alias or key, {})
        unit = KINDS.get(declared_kind(table, key) or "", ("",))[0]
        if unit and "description" in given and "[" not in given["description"]:
            given["description"] += f" [{unit}]"


def schema_text() -> str:
    return json.dumps(made_schema(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    write_text(SCHEMA, schema_text())
