"""Make ``schema.json`` from the models that check the files: ``python -m dalembert.files.models.make_schema``."""

from __future__ import annotations

import json
from typing import Any

from dalembert.files.atomic import write_text
from dalembert.files.models.json_schema import SCHEMA
from dalembert.files.models.schema import Model


def made_schema() -> dict[str, Any]:
    """The JSON Schema of model files."""
    schema = Model.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "dalembert model"}


def schema_text() -> str:
    return json.dumps(made_schema(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    write_text(SCHEMA, schema_text())
