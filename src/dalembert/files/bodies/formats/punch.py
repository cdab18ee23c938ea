"""A reduced body in a Nastran punch file: points (GRID), and the matrices KAA and MAA as DMIG.

Superelements that are written as DMIG with their bulk data (``EXTSEOUT(ASMBULK, DMIGPCH)``) have the coordinates of
their boundary points, and modes as scalar points. All of them are kept, and the boundary points are the nodes. A file
of a full model is named in a descriptor (``.toml``), which has the choice of modes.
"""

from __future__ import annotations

from pathlib import Path

from dalembert.core.errors import FileFormatError
from dalembert.files.bodies.format import BODY_FORMATS, BodyFormat, BodyReading
from dalembert.files.bodies.nastran_text import read_bulk
from dalembert.files.bodies.node_matrices import reduced_model
from dalembert.files.bodies.reduced_matrices import reduced_body
from dalembert.model.flexible import FlexibleBodyData


def read(path: Path, how: BodyReading) -> FlexibleBodyData:
    """The body of all coordinates of a punch file."""
    bulk = read_bulk(path, str(path), how.max_bytes)
    matrices = {key: matrix for key in ("M", "K", "D") if (matrix := bulk.matrix(key)) is not None}
    for key in ("M", "K"):
        problem = f"there is no matrix {key}: a DMIG whose name begins with {key}."
        FileFormatError.when(key not in matrices, "missing-argument", problem)
    return reduced_body(reduced_model(path.stem, bulk.places, matrices, how.max_bytes))


BODY_FORMATS.register("punch", BodyFormat((".pch",), read))
