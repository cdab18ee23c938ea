"""Where a page comes from: versions, and what tells a model or data from any other."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from dalembert.record import Record

_PACKAGES = ("casadi", "numpy", "scipy", "matplotlib")


def versions() -> dict[str, str]:
    """What computed: this package, Python and the packages underneath."""
    from dalembert import __version__

    found = {"dalembert": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def model_hash(eqs: Any) -> str:
    """SHA-256 of the equations of a machine and the values of its parameters."""
    parts = [repr(eqs.parameter_values), *(f.serialize() for f in eqs.functions.values())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def data_hash(record: Record) -> str:
    """SHA-256 of the times, names and numbers of a record."""
    digest = hashlib.sha256("\n".join(record.names).encode())
    digest.update(np.ascontiguousarray(record.time).tobytes())
    digest.update(np.ascontiguousarray(record.data).tobytes())
    return digest.hexdigest()
