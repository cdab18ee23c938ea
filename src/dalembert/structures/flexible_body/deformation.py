"""Displacements, internal forces and stresses of the finite-element model from elastic coordinates.

u = Φ η: stresses by superposition of the modes. They converge with the modes kept; static shapes at loaded nodes make
them exact under constant loads there. The inertia of the body and its weight act on all of it, and few modes contain
little of the deformation by them: of the tension of a spinning bar, bending modes contain nothing. A run has the
accelerations, so that the missing part follows from statics (mode acceleration, Bisplinghoff and Ashley 1962):

    u = Φ η + (1 - Φ (ΦᵀKΦ)⁻¹ ΦᵀK) K⁻¹ f,      f = f(ω) - M (R a + Φ η̈)

a : acceleration of the frame less gravity, f(ω) : centrifugal load, K⁻¹ with a node held that joints hold.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import instance
from dalembert.core.errors import ModelError, ModelWarning, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.model.flexible import FlexibleBodyData
from dalembert.model.flexible_check import still_nodes
from dalembert.record import Record
from dalembert.record.checks import numbers
from dalembert.structures.analysis.spinning import find_point_masses
from dalembert.structures.analysis.statics import StaticSolution
from dalembert.structures.assembly.structure import Structure, assemble_structure
from dalembert.structures.flexible_body import basis as bases
from dalembert.structures.flexible_body.stiffening import spin_load

# Share of the strain energy outside the modes above which a warning tells: strains are its root, here a fifth.
MISSING = 0.05


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
    that causes this deformation. Of a simulated run it contains the static deformation by inertia and weight that
    the modes do not; where this is more than 5 % of the strain energy a warning gives the share, since strain
    sensors of the run lack it (``static=["acceleration", "centrifugal"]`` of :func:`flexible_body` adds such shapes
    to the modes).

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
    values = instance(FlexibleBodyData)("body_data", body_data).finite_elements
    shapes = None if values is None else values.shapes
    if shapes is None:
        raise ModelError(
            "missing-argument",
            f"the data of flexible body {body_data.name!r} do not contain the modes of its model.",
            Advice("Make them with {}.", Argument("keep_shapes", True)),
            where={"body": body_data.name},
        )
    moving = _Motion(eta, body_data, body or body_data.name, at) if isinstance(eta, Record) else None
    if moving is not None:
        eta = moving.eta
    elif body is not None or at is not None:
        problem = "body and time belong to a run; elastic coordinates were given."
        raise ModelError("ineffective-argument", problem, where={"body": body_data.name})
    coordinates = numbers(eta, "eta")
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
    if moving is None or not (moving.known and structure.groups):
        return StaticSolution(structure, u, structure.K @ u, {})
    acceleration, more = _missing_part(structure, body_data, shapes, moving)
    total = u + more
    energy, whole = (float(each @ (structure.K @ each)) for each in (more, total))
    share = energy / max(whole, moving.largest, 1e-300)  # a vibration that passes zero lacks nothing that matters
    if share > MISSING:
        problem = (
            f"the modes of flexible body {body_data.name!r} lack {share:.0%} of its strain energy at t = {at:.4g} s, "
            "the deformation by its distributed inertia and weight. It is added here; strain sensors lack it."
        )
        advice = Advice("Add modes, or shapes with {}.", Argument("static", ["acceleration", "centrifugal"]))
        where = {"body": body_data.name, "time": at}
        warning = ModelWarning("missing-shapes", problem, advice, where=where, evidence={"share": share})
        warnings.warn(warning, stacklevel=2)
    return StaticSolution(structure, total, structure.K @ total, {}, acceleration)


class _Motion:
    """Motion of a body of a run at one time, in the axes of its frame.

    eta, eta_change : η and η̈ (m,).  w : ω (3,).  change : (6,) acceleration of the frame less gravity, and ω̇.
    largest : ηᵀKη of the run, twice the strain energy.
    known : whether the run has all of these: one of another program may not, nor one in joint coordinates.
    """

    def __init__(self, run: Record, data: FlexibleBodyData, body: str, at: float | None) -> None:
        if at is None:
            problem = f"flexible body {body!r}: a run has a deformation at every time; choose one time."
            raise ModelError("missing-argument", problem, Advice("Give {}.", Argument("at")), where={"body": body})
        names = [f"{body}.mode{k + 1}" for k in range(data.modes)]
        missing = [name for name in names if name not in run.names]
        if missing:
            known = list(dict.fromkeys(name.rpartition(".mode")[0] for name in run.names if name.endswith(".mode1")))
            problem = f"the run has no {missing[0]!r}: {unknown_name('flexible body', body, known, 'the run')}"
            raise ModelError("unknown-name", problem, Advice("Give {}.", Argument("body")), where={"body": body})
        values = run.select(*[name for name in run.names if name.startswith(f"{body}.")]).at(at)

        def read(*parts: str) -> FloatArray:
            return np.array([values.get(f"{body}.{part}", 0.0) for part in parts])

        self.eta = np.array([values[name] for name in names])
        every = np.asarray(run[names])
        self.largest = float(np.einsum("ti,ij,tj->t", every, data.stiffness, every).max())
        self.eta_change = read(*(f"mode{k + 1}.acceleration" for k in range(data.modes)))
        self.known = run.scene is not None and f"{body}.ax" in values
        planar = f"{body}.angle" in values
        if planar:
            c, s = np.cos(values[f"{body}.angle"]), np.sin(values[f"{body}.angle"])
            R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        else:
            R = _turn(read("e0", "e1", "e2", "e3"))
        self.w = np.array([0.0, 0.0, *read("rate")]) if planar else read("wx", "wy", "wz")
        gravity = np.array((run.scene or {}).get("gravity", (0.0, 0.0, 0.0)), dtype=np.float64)
        of_frame = R.T @ (read("ax", "ay", "az") - gravity)
        spin_up = np.array([0.0, 0.0, *read("acceleration")]) if planar else read("alphax", "alphay", "alphaz")
        self.change = np.concatenate([of_frame, spin_up])


def _turn(e: FloatArray) -> FloatArray:
    """Rotation matrix of Euler parameters."""
    cross = np.array([[0.0, -e[3], e[2]], [e[3], 0.0, -e[1]], [-e[2], e[1], 0.0]])
    return np.asarray(np.eye(3) + 2 * e[0] * cross + 2 * cross @ cross)


def _missing_part(
    structure: Structure, data: FlexibleBodyData, shapes: FloatArray, moving: _Motion
) -> tuple[FloatArray, FloatArray]:
    """Acceleration (N,) of all coordinates, and static displacements (N,) by inertia that the modes do not contain."""
    body = bases.make_body(structure, structure.M)
    ways = ["xyz".index(name[-1]) + 3 * (name[0] == "r") for name in structure.rigid_names]
    acceleration = body.R @ moving.change[ways] + shapes @ moving.eta_change
    load = spin_load(structure, find_point_masses(structure), moving.w)[0] - structure.M @ acceleration
    hold = np.zeros(0, dtype=np.intp) if body.held else _hold(body, data)
    whole = bases.static_shapes(body, bases.hold_statics(body, hold), load[:, None], relief=False)
    K = shapes.T @ (structure.K @ shapes)
    more = whole - shapes @ np.linalg.solve(K, shapes.T @ (structure.K @ whole))
    return acceleration, np.asarray(more[:, 0])


def _hold(body: bases.ElasticModel, data: FlexibleBodyData) -> Any:
    """Free coordinates of the node of the frame, or of another one that joints hold; else of six that hold the body."""
    s, still = body.structure, still_nodes(data)
    for node in sorted(data.nodes, key=lambda node: node.name not in still):
        at = np.flatnonzero(np.abs(s.positions - node.place).max(axis=1) <= 1e-9 * np.ptp(s.positions, axis=0).max())
        for point in at:
            places = bases.free_places(s, [s.points[point]])
            if len(places) == body.R.shape[1]:
                return places
    return bases.determinate_hold(body)
