"""Model files: a machine as TOML or JSON, with units, expressions and includes, and a library of them."""

from dalembert.files.models.json_schema import model_schema, schema_path
from dalembert.files.models.reading import library, library_path, parse_model, read_model
from dalembert.files.models.sources import ModelFileError
from dalembert.files.models.writing import write_model

__all__ = [
    "ModelFileError",
    "library",
    "library_path",
    "model_schema",
    "parse_model",
    "read_model",
    "schema_path",
    "write_model",
]
