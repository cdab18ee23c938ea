"""Displacements, internal forces and stresses of the finite-element model from elastic coordinates.

u = Φ η: stresses by superposition of the modes. They converge with the modes kept; static shapes at loaded nodes make
them exact under constant loads there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.model.flexible import FlexibleBodyData
from dalembert.record import Record
from dalembert.structures.analysis.statics import StaticSolution
from dalembert.structures.assembly.structure import Structure, assemble_structure


def recover_deformation(
    source: Any,
    body_data: FlexibleBodyData,
    eta: ArrayLike | Record,
    *,
    body: str | None = None,
    at: float | None = None,
) -> StaticSolution:
    """The finite-element model of a flexible body, deformed by the elastic coordinates of the body.

    Parameters
    ----------
    source : the `Frame`, `Solid` or `Structure` of the data.
    body_data : made with ``keep_shapes=True``.
    eta : (m,) elastic coordinates, or a run of a machine with the body.
    body : its name in the machine, for a run; the name of the data when left out.
    at : time of the run [s].

    Returns
    -------
    StaticSolution: displacements, and ``stresses()``, ``beam(name)`` or ``largest_stresses()``. Its load is the one
    that causes this deformation.

    Examples
    --------
    >>> from dalembert.structures import Solid, box_mesh, flexible_body, recover_deformation
    >>> bar = Solid("bar", box_mesh((1.0, 0.1, 0.05), (10, 2, 2)), "steel")
    >>> bar.add_interface("root", "x=0")
    >>> body_data = flexible_body(bar, fixed="root", modes=2, keep_shapes=True)
    >>> bent = recover_deformation(bar, body_data, [1e-2, 0.0])
    >>> bool(bent.stresses()[0].von_mises.max() > 1e6)
    True
    """
    structure = source if isinstance(source, Structure) else assemble_structure(source)
    values = body_data.finite_elements
    shapes = None if values is None else values.shapes
    if shapes is None:
        raise ModelError(
            "missing-argument",
            f"the data of flexible body {body_data.name!r} do not contain the modes of its model.",
            Advice("Make them with {}.", Argument("keep_shapes", True)),
            where={"body": body_data.name},
        )
    if isinstance(eta, Record):
        eta = _elastic_coordinates(eta, body_data, body or body_data.name, at)
    elif body is not None or at is not None:
        problem = "body and time belong to a run; elastic coordinates were given."
        raise ModelError("ineffective-argument", problem, where={"body": body_data.name})
    coordinates = np.asarray(eta, dtype=np.float64)
    if coordinates.shape != (body_data.modes,) or not np.isfinite(coordinates).all():
        raise ModelError(
            "wrong-shape",
            f"flexible body {body_data.name!r} has {body_data.modes} elastic coordinates, got {coordinates.shape}.",
            where={"body": body_data.name},
            evidence={"modes": body_data.modes},
        )
    if len(shapes) != len(structure.coordinates):
        raise ModelError(
            "wrong-owner",
            f"flexible body {body_data.name!r} was made from a model with {len(shapes)} coordinates, "
            f"{structure.name!r} has {len(structure.coordinates)}.",
            where={"body": body_data.name},
        )
    u = shapes @ coordinates
    return StaticSolution(structure, u, structure.K @ u, {})


def _elastic_coordinates(run: Record, data: FlexibleBodyData, body: str, at: float | None) -> list[float]:
    """Those of a body of a run at one time."""
    if at is None:
        problem = f"flexible body {body!r}: a run has a deformation at every time; choose one time."
        raise ModelError("missing-argument", problem, Advice("Give {}.", Argument("at")), where={"body": body})
    names = [f"{body}.mode{k + 1}" for k in range(data.modes)]
    missing = [name for name in names if name not in run.names]
    if missing:
        known = list(dict.fromkeys(name.rpartition(".mode")[0] for name in run.names if name.endswith(".mode1")))
        problem = f"the run has no {missing[0]!r}: {unknown_name('flexible body', body, known, 'the run')}"
        raise ModelError("unknown-name", problem, Advice("Give {}.", Argument("body")), where={"body": body})
    values = run.select(*names).at(at)
    return [values[name] for name in names]
