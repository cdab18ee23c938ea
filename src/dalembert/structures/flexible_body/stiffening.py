"""Geometric stiffness of a flexible body under loads that follow from its motion, one unit of each.

    f = −∫ Nᵀ ω×(ω×u₀) dm = Σ f_ab ω_a ω_b      centrifugal, about the origin of the frame
    f = −∫ Nᵀ e_a dm                            acceleration of the frame less gravity
    f = Bᵀ e_a                                  a force or a moment on a node

Each load acts on the body while its frame is fixed as for the modes: a node that the frame is attached to takes the
reaction, Bᵀ r; in a mean axis the inertia of the body takes it, M R c. With these the load is in balance,

    f − L (RᵀL)⁻¹ Rᵀ f,        L = Bᵀ or M R,

and the coordinates that are fixed for the static solution have no reaction. The internal forces give every element its
geometric stiffness (`prestress`), which adds ΦᵀK_gΦ to the stiffness of the modes (Wallrapp 1994).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arguments import take_names
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError
from dalembert.model.flexible import CENTRIFUGAL, Stiffening
from dalembert.structures.analysis.prestress import link_stiffness, refuse_bare
from dalembert.structures.analysis.spinning import PointMasses, find_point_masses
from dalembert.structures.assembly import rotating_bodies as bodies
from dalembert.structures.assembly.structure import Structure
from dalembert.structures.flexible_body.basis import ElasticModel, Statics, determinate_hold, hold_statics
from dalembert.structures.flexible_body.inertia_integrals import clean
from dalembert.structures.flexible_body.nodes import Node
from dalembert.structures.solid.stresses import SolidGroup

KINDS = ("centrifugal", "acceleration", "forces")


# Most modes and nodes with which stiffness is cheap. Each node has six matrices of the modes in the equations: with 14
# modes and two nodes these have 2.5 times the operations, and the first run of a machine takes half a second longer.
MOST_MODES, MOST_NODES = 16, 8


def is_cheap(modes: int, nodes: int) -> bool:
    """Whether geometric stiffness is part of a body of beams without request."""
    return modes <= MOST_MODES and nodes <= MOST_NODES


def wanted_kinds(title: str, stiffening: Any) -> tuple[str, ...]:
    """Kinds of loads that the user requests."""
    if stiffening is True:
        return KINDS
    if not stiffening:
        return ()
    given = take_names("load", stiffening)
    wrong = [kind for kind in given if kind not in KINDS]
    if wrong:
        raise ModelError(
            "unknown-choice",
            f"flexible body {title!r}: stiffening is True, False or some of {', '.join(KINDS)}, got {wrong[0]!r}.",
            where={"body": title},
        )
    return given


def find_stiffening(
    body: ElasticModel,
    nodes: Sequence[Node],
    attached: Node | None,
    shapes: FloatArray,
    kinds: Iterable[str],
    statics: Statics | None = None,
) -> Stiffening:
    """Matrices of all requested loads; ``statics`` of the supported body avoids another factorization."""
    refuse_bare(body.structure)
    held = _Held(body, attached, statics)
    centrifugal = acceleration = None
    forces, moments = {}, {}
    if "centrifugal" in kinds:
        centrifugal = _centrifugal(held, shapes)
    if "acceleration" in kinds:
        ways = {way: k for k, way in enumerate(body.structure.rigid_names) if way in ("x", "y", "z")}
        acceleration = np.zeros((3, shapes.shape[1], shapes.shape[1]))
        if held.relief:  # in a mean axis inertia balances it everywhere: a body that falls freely has no stress
            ways = {}
        for way, column in ways.items():
            rigid = body.R[:, column]
            acceleration["xyz".index(way)] = held.under(-(body.M_full @ rigid), shapes, acceleration=rigid)
        acceleration = clean(acceleration)
    if "forces" in kinds:
        for node in nodes:
            if node is attached:
                continue
            stiffness = np.stack([held.under(load, shapes) for load in node.rows.toarray()])
            forces[node.name] = clean(stiffness[:3])
            moment = clean(stiffness[3:])
            if moment.any():
                moments[node.name] = moment
    return Stiffening(centrifugal=centrifugal, acceleration=acceleration, forces=forces, moments=moments)


class _Held:
    """The body with its frame held, its stiffness factored once."""

    def __init__(self, body: ElasticModel, attached: Node | None, statics: Statics | None) -> None:
        self.body, self.structure = body, body.structure
        self.balance: FloatArray | None = None
        self.relief = False
        if not body.held:
            self.relief = attached is None
            self.balance = body.M_full @ body.R if attached is None else attached.rows.toarray().T
        due = 0 if body.held else body.R.shape[1]  # more held coordinates would carry loads
        if statics is None or len(statics.held) != due:
            statics = hold_statics(body, determinate_hold(body)[:due])
        self.statics = statics

    def under(
        self, load: FloatArray, shapes: FloatArray, *, acceleration: FloatArray | None = None, spin: Any = None
    ) -> FloatArray:
        """(m, m) geometric stiffness of a load (N,) with its parts inside the elements: inertia, centrifugal loads."""
        s, inertia = self.structure, acceleration
        if self.balance is not None:
            R = self.body.R
            # the motions of a node of a planar structure are three of six
            parts = np.linalg.lstsq(R.T @ self.balance, R.T @ load, rcond=None)[0]
            load = load - self.balance @ parts
            if self.relief:
                inertia = R @ parts + (0.0 if acceleration is None else acceleration)
        u = s.expand(self.statics.solve((s.T.T @ load)[:, None])[:, 0])
        total = _project(link_stiffness(s, u, load), shapes)
        for number, group in enumerate(s.groups):
            loads = None if spin is None else spin.get(number)
            if isinstance(group, SolidGroup):
                total += group.project_geometric(u, shapes)
            elif loads is None:
                total += _project(group.geometric_stiffness(group.state(u, {}, inertia)), shapes)
            else:
                total += _project(group.geometric_stiffness(group.spin_state(u, loads)), shapes)
                if inertia is not None:
                    at_rest = group.state(np.zeros_like(u), {}, inertia)
                    total += _project(group.geometric_stiffness(at_rest), shapes)
        return total


def _project(matrix: sp.csc_array, shapes: FloatArray) -> FloatArray:
    return np.asarray(shapes.T @ (matrix @ shapes))


def _centrifugal(held: _Held, shapes: FloatArray) -> FloatArray:
    """(6, m, m) in the order of `CENTRIFUGAL`: products of two axes by the difference of rotations about both."""
    structure = held.structure
    masses = find_point_masses(structure)
    axes = np.eye(3)
    found: dict[str, FloatArray] = {}
    for pair in CENTRIFUGAL:
        a, b = ("xyz".index(way) for way in pair)
        rotation = axes[a] if a == b else axes[a] + axes[b]
        load, loads = spin_load(structure, masses, rotation)
        both = held.under(load, shapes, spin=loads)
        found[pair] = both if a == b else both - found[pair[0] * 2] - found[pair[1] * 2]
    return clean(np.stack([found[pair] for pair in CENTRIFUGAL]))


def inertia_loads(body: ElasticModel, kinds: Sequence[str]) -> FloatArray:
    """(N, k) loads of unit accelerations along and about the axes, and of products of angular velocities."""
    columns = [-(body.M_full @ body.R)] if "acceleration" in kinds else []
    if "centrifugal" in kinds:
        masses, axes = find_point_masses(body.structure), np.eye(3)
        planar = len(body.structure.rigid_names) < 6
        pairs = [(2, 2)] if planar else [("xyz".index(pair[0]), "xyz".index(pair[1])) for pair in CENTRIFUGAL]
        turns = [axes[a] if a == b else axes[a] + axes[b] for a, b in pairs]
        columns.append(np.column_stack([spin_load(body.structure, masses, turn)[0] for turn in turns]))
    return np.hstack(columns)


def spin_load(structure: Structure, masses: PointMasses, rotation: FloatArray) -> tuple[FloatArray, dict[int, Any]]:
    """Centrifugal load (N,) about the origin, and its parts inside the elements of each group by number."""
    d, load = len(structure.directions), np.zeros(len(structure.coordinates))
    inside: dict[int, Any] = {}
    origin = np.zeros(3)
    for number, group in enumerate(structure.groups):
        own = group.spin(structure.positions, rotation, origin)
        if own is not None:
            load = load + own.f
            if own.loads is not None:
                inside[number] = own.loads
    at_points = load.reshape(-1, d)
    W = bodies.cross_matrix(rotation)
    full = np.zeros((len(structure.points), 6))
    if masses.shared is not None:
        full[:, :3] = -(masses.shared @ (structure.positions @ (W @ W)))  # W² is symmetric
    elif len(masses.points):
        places = structure.positions[masses.points] + masses.offset
        turns = np.tile(rotation, (len(places), 1))
        full[masses.points] = bodies.spin_matrices(masses.mass, masses.offset, masses.inertia, places, turns)[2]
    return (at_points + full[:, structure.keep]).ravel(), inside
