"""Inputs and outputs of a structure: which forces act on which coordinates, and what is read of them.

On coordinates i:  B = [T_iᵀ, −Tᵀ M r],   y = T_i x,  T_i ẋ,  T_i ẍ  or  T_i ẍ + r_i a.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.errors import DataError, unknown_name

if TYPE_CHECKING:
    from dalembert.structures.assembly.structure import Structure

Channels = str | Iterable[str] | Mapping[str, str]
OUTPUT_KINDS = ("position", "velocity", "acceleration", "absolute_acceleration")
PER_TIME = {"velocity": "/s", "acceleration": "/s²", "absolute_acceleration": "/s²"}


def name_channels(given: Channels | None, what: str, structure: str) -> dict[str, str]:
    """Names of channels and the coordinates they belong to; ``what``: "inputs" or "outputs"."""
    if isinstance(given, Mapping):
        return dict(given)
    if given is not None and not np.iterable(given):
        raise DataError("wrong-type", f"{what} must be coordinate names or a mapping of names to them, got {given!r}.")
    names = [given] if isinstance(given, str) else list(given or ())
    twice = (
        [name for k, name in enumerate(names) if name in names[:k]] if len(set(map(str, names))) < len(names) else []
    )
    if twice:
        raise DataError("duplicate", f"{what} of structure {structure!r}: {twice[0]!r} is given twice.")
    if what == "outputs":
        return {name: name for name in names}
    # "tip.y" is a displacement already, with a unit of its own
    return {f"{name}.{_effort(name)}" if isinstance(name, str) else name: name for name in names}


def _effort(coordinate: str) -> str:
    return "torque" if coordinate.rpartition(".")[2].startswith("r") else "force"


def build_input_matrix(s: Structure, inputs: dict[str, str], base: list[str]) -> tuple[sp.csc_array, list[str]]:
    """(n, nu) and the names of the inputs: forces on coordinates, then accelerations of the base."""
    rows = [s.index(name) for name in inputs.values()]
    forces = s.T.tocsr()[rows, :].tocsr() if rows else sp.csr_array((0, len(s.free)))
    idle = [name for name, size in zip(inputs, np.diff(forces.indptr)) if not size]
    if idle:
        raise DataError(
            "ineffective-input",
            f"input {idle[0]!r} acts on a held coordinate of structure {s.name!r}: it would move nothing.",
        )
    columns = [-(s.T.T @ (s.M @ s.base_motion(way))) for way in base]
    parts = [forces.T, *([sp.csc_array(np.column_stack(columns))] if columns else [])]
    return sp.csc_array(sp.hstack(parts)), [*inputs, *(f"base.{way}" for way in base)]


def build_output_matrices(s: Structure, outputs: dict[str, str], inputs: list[str], base: list[str]) -> dict[str, Any]:
    """Output matrices of `SecondOrder` by their symbols."""
    for coordinate in outputs.values():
        _refuse_strange_kind(s, coordinate)
    split = [_kind(coordinate) for coordinate in outputs.values()]
    rows = [s.index(name) for name, _ in split]
    selected = s.T.tocsr()[rows, :]
    output_matrices: dict[str, Any] = {"outputs": list(outputs)}
    for symbol, kinds in (("Y_position", ("position",)), ("Y_velocity", ("velocity",)),
                          ("Y_acceleration", ("acceleration", "absolute_acceleration"))):  # fmt: skip
        picked = np.array([float(kind in kinds) for _, kind in split])
        if picked.any() or symbol == "Y_position":
            output_matrices[symbol] = sp.csc_array(sp.diags_array(picked) @ selected)
    D = np.zeros((len(split), len(inputs)))
    moving = [i for i, (_, kind) in enumerate(split) if kind == "absolute_acceleration"]
    for j, way in enumerate(base, len(inputs) - len(base)):
        D[moving, j] = s.base_motion(way)[[rows[i] for i in moving]]
    output_matrices["D"] = sp.csc_array(D)
    return output_matrices


def find_units(s: Structure, inputs: dict[str, str], outputs: dict[str, str], base: list[str]) -> dict[str, str]:
    """Units of coordinates and channels; a force that a mapping calls like a coordinate leaves it the unit."""
    units = {name: s.units[name.rpartition(".")[2]] for name in s.free}
    for name, coordinate in inputs.items():
        units.setdefault(name, "N m" if _effort(coordinate) == "torque" else "N")
    units.update({f"base.{way}": "rad/s²" if way[0] == "r" else "m/s²" for way in base})
    for name, coordinate in outputs.items():
        stem, kind = _kind(coordinate)
        units.setdefault(name, s.units[stem.rpartition(".")[2]] + PER_TIME.get(kind, ""))
    return units


def _refuse_strange_kind(s: Structure, coordinate: str) -> None:
    """``"A.x.speed"`` of a known coordinate ``"A.x"``."""
    stem, _, kind = coordinate.rpartition(".") if isinstance(coordinate, str) else ("", "", "")
    if kind not in (*OUTPUT_KINDS, *s.directions) and stem in s.coordinates:
        raise DataError("unknown-name", unknown_name("kind of output", kind, OUTPUT_KINDS, repr(coordinate)))


def _kind(coordinate: str) -> tuple[str, str]:
    """``"A.x.velocity"`` -> ``("A.x", "velocity")``."""
    stem, _, kind = coordinate.rpartition(".") if isinstance(coordinate, str) else ("", "", "")
    return (stem, kind) if kind in OUTPUT_KINDS else (coordinate, "position")
