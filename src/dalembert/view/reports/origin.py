"""Origin of a page: versions, and hashes that identify a model or data."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.record import Record

_PACKAGES = ("casadi", "numpy", "scipy", "matplotlib")


def versions() -> dict[str, str]:
    """Versions of this package, of Python and of the packages underneath."""
    from dalembert import __version__

    entries = {"dalembert": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            entries[package] = version(package)
        except PackageNotFoundError:
            continue
    return entries


HASH = "model hash (SHA-256)"
MOST_RECORDS = 12
_OF_FILE = " (SHA-256)"


def model_hash(model: Any) -> str:
    """SHA-256 that identifies a model: of a mechanism or its equations, of a process of a filter, of a linear or
    identified model."""
    from dalembert.mechanics import equations  # loads CasADi, which versions alone do not need
    from dalembert.model import Mechanism

    if isinstance(model, Mechanism):
        model = equations(model)
    content_hash = getattr(model, "content_hash", None)
    if content_hash is not None:
        return str(content_hash)
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
    """Provenance of a record under the labels of a page, without duplicates."""
    entries = dict(provenance)
    if "model_hash" in entries:
        entries.setdefault(HASH, entries.pop("model_hash"))
    return entries


def data_hash(record: Record) -> str:
    """SHA-256 of the times, names and numbers of a record."""
    digest = hashlib.sha256("\n".join(record.names).encode())
    digest.update(np.ascontiguousarray(record.time).tobytes())
    digest.update(np.ascontiguousarray(record.data).tobytes())
    return digest.hexdigest()


def file_entries(paths: Sequence[Path]) -> dict[str, Any]:
    """SHA-256 of files, as entries of a page."""
    return {f"file {path.name}{_OF_FILE}": hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def find_files(entries: Mapping[str, Any]) -> dict[str, str]:
    """Name and SHA-256 of the files among the entries of a page."""
    named = {key: str(value) for key, value in entries.items() if key.startswith("file ") and key.endswith(_OF_FILE)}
    return {key.removeprefix("file ").removesuffix(_OF_FILE): value for key, value in named.items()}


def identified_origin(model: object, records: Sequence[Record], given: Mapping[str, Any]) -> dict[str, Any]:
    """Provenance of an identified model: given entries, hashes of its data and of itself, versions."""
    entries = {key: value for key, value in given.items() if value and value != [""]}
    for k, record in enumerate(records[:MOST_RECORDS], start=1):
        entries[f"data hash of {record.name or f'record {k}'}, {len(record)} samples (SHA-256)"] = data_hash(record)
    return {**entries, HASH: model_hash(model), **versions()}
