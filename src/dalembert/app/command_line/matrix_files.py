"""Linear models as files: JSON, NumPy or MATLAB."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_matrices(document: dict[str, Any], out: Path) -> None:
    """The linear model as a file, whole or not at all."""
    import numpy as np

    from dalembert.core.atomic_files import replace_file, write_text
    from dalembert.core.results import plain

    if out.suffix.lower() == ".json":
        write_text(out, json.dumps(plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        return
    arrays = {name: np.array(rows) for name, rows in document["matrices"].items()}
    for key in ("coordinates", "states", "inputs", "outputs"):
        if key in document:
            arrays[key] = np.array(document[key], dtype=str)
    with replace_file(out) as temporary:
        if out.suffix.lower() == ".npz":
            np.savez(temporary, allow_pickle=False, **arrays)
        else:
            from scipy.io import savemat

            savemat(temporary, {name: a.astype(object) if a.dtype.kind == "U" else a for name, a in arrays.items()})
