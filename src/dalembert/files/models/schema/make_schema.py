"""Write ``schema.json`` beside this module: ``python -m dalembert.files.models.schema.make_schema``."""

from dalembert.core.atomic_files import write_text
from dalembert.files.models.schema.json_schema import SCHEMA, schema_text

if __name__ == "__main__":
    write_text(SCHEMA, schema_text())
