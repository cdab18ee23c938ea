"""Model files: a machine as TOML or JSON, with units, expressions and includes, and a library of them."""

from dalembert.files.models.reading import library, library_path, parse_model, read_model
from dalembert.files.models.writing import write_model

__all__ = ["library", "library_path", "parse_model", "read_model", "write_model"]
