"""Model files of this package: TOML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.files.models.format import MODEL_FORMATS, ModelFormat, ReadingOption

if TYPE_CHECKING:
    from dalembert.model import Mechanism


def read(path: Path, shown: str, *, allow_outside: bool = False) -> Mechanism:
    from dalembert.files.models.reading import read_model_file

    return read_model_file(path, shown, allow_outside=allow_outside)


OUTSIDE = ReadingOption("allow_outside", "flag", "let it include files that are not in its folder")
MODEL_FORMATS.register("model file", ModelFormat((".toml", ".json"), read, (OUTSIDE,)))
