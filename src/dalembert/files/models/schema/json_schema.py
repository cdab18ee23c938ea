"""JSON Schema of model files, for completion and checks in editors.

``schema.json`` beside this module is made by ``python -m dalembert.files.models.schema.make_schema``; a test says
when it is stale. An editor finds it through the first line of a model file (``#:schema path/to/schema.json`` in TOML,
``"$schema": "..."`` in JSON).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).with_name("schema.json")


def model_schema() -> dict[str, Any]:
    """The JSON Schema of model files, as it is shipped.

    Examples
    --------
    >>> model_schema()["title"]
    'dalembert model'
    """
    found: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return found


def schema_path() -> Path:
    """Where the JSON Schema lies, for the first line of a model file."""
    return SCHEMA
