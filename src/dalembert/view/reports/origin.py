"""Where a page comes from: versions, and what tells a model or data from any other."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
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


HASH = "model hash (SHA-256)"
MOST_RECORDS = 12


def model_hash(model: Any) -> str:
    """SHA-256 that tells a model from others: of a mechanism or its equations, of a process of a filter, of a linear or
    identified model."""
    from dalembert.mechanics import equations  # loads CasADi, which versions alone do not need
    from dalembert.model import Mechanism

    if isinstance(model, Mechanism):
        model = equations(model)
    own = getattr(model, "content_hash", None)
    if own is not None:
        return str(own)
    if hasattr(model, "functions"):  # the process of a filter
        parts = [repr(model.parameter_values), *(f.serialize() for f in model.functions.values())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    system = getattr(model, "system", model)
    digest = hashlib.sha256(repr((system.inputs, system.outputs, getattr(system, "dt", None))).encode())
    for name in ("A", "B", "C", "D", "M", "K", "G", "H", "Y_position", "Y_velocity", "Y_acceleration"):
        matrix = getattr(system, name, None)
        if matrix is not None:
            dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
            digest.update(name.encode() + np.ascontiguousarray(dense).tobytes())
    return digest.hexdigest()


def readable(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says of its origin, under the words of a page, nothing twice."""
    told = dict(provenance)
    if "model_hash" in told:
        told.setdefault(HASH, told.pop("model_hash"))
        told.pop("model_hash", None)
    return told


def data_hash(record: Record) -> str:
    """SHA-256 of the times, names and numbers of a record."""
    digest = hashlib.sha256("\n".join(record.names).encode())
    digest.update(np.ascontiguousarray(record.time).tobytes())
    digest.update(np.ascontiguousarray(record.data).tobytes())
    return digest.hexdigest()


def of_identified(model: Any, records: Sequence[Record], given: Mapping[str, Any]) -> dict[str, Any]:
    """Provenance of an identified model: what is given, its data and itself by their hashes, versions."""
    told = {key: value for key, value in given.items() if value and value != [""]}
    for k, record in enumerate(records[:MOST_RECORDS], start=1):
        told[f"data hash of {record.name or f'record {k}'}, {len(record)} samples (SHA-256)"] = data_hash(record)
    return {**told, HASH: model_hash(model), **versions()}
