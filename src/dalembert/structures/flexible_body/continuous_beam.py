"""A continuous beam as a flexible body: its exact modes, integrated by Gauss points along it.

The axis is x from 0 to l, deflections are along y or z of the beam; slopes turn sections about z (v′ = θ_z) or y
(w′ = −θ_y). The ends determine the modes and with them the frame: clamped on the left, it is attached there; free at
both ends, it is a mean axis; held at both ends, it is the line through them. Rigid motions of the beam on its ends are
left out: they are motions of the frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.model.flexible import (
    BodyPicture,
    FiniteElementValues,
    FlexibleBodyData,
    FlexibleNode,
    Stiffening,
    StrainGauge,
)
from dalembert.numerics import ties
from dalembert.structures.assembly.damping import damping_of
from dalembert.structures.assembly.places import is_on
from dalembert.structures.beams.elements import gauss
from dalembert.structures.continuous.beam_modes import BeamModes
from dalembert.structures.continuous.beams import Beam
from dalembert.structures.flexible_body.gauges import BeamGauge, check_gauges
from dalembert.structures.flexible_body.inertia_integrals import clean, clean_integrals, clean_pairs, sum_bodies
from dalembert.structures.flexible_body.stiffening import is_cheap, wanted_kinds

# Gauss points per panel, and panels per half wave of the highest mode: rounding is reached with far fewer.
POINTS, PANELS = 8, 2


def beam_data(
    beam: Beam, name: str, modes: Any, nodes: Any, damping: Any, stiffening: Any, gauges: Any
) -> FlexibleBodyData:
    """Data of the lowest elastic modes of a beam."""
    found, kept = _elastic_modes(beam, name, modes)
    x, weights = _gauss_places(beam, int(kept.max()) + 1)
    ends = np.array([0.0, beam.length])
    body_places = np.concatenate([x, ends])
    U, W = _motions(beam, found, kept, body_places)
    mass = np.concatenate([beam.rhoA * weights, [beam.left.mass, beam.right.mass]])
    turning = np.concatenate([beam.rhoI * weights, [beam.left.inertia, beam.right.inertia]])
    J = np.zeros((len(mass), 3, 3))
    about = 2 if beam.direction == "y" else 1
    J[:, about, about] = turning
    places = np.zeros((len(mass), 3))
    places[:, 0] = body_places
    total = sum_bodies(mass, places, J, U, W)
    squares = found.frequencies[kept] ** 2
    stiffness, unit = np.diag(squares), np.eye(len(kept))
    at = _node_places(beam, name, nodes)
    U_n, W_n = _motions(beam, found, kept, np.array(list(at.values())))
    made = [
        FlexibleNode(
            name=key,
            place=np.array([place, 0.0, 0.0]),
            translation=clean(U_n[k], 10 * np.abs(U).max()),
            rotation=clean(W_n[k], 10 * np.abs(W).max()),
        )
        for k, (key, place) in enumerate(at.items())
    ]
    left, right = (beam._held.kt[0], beam._held.kr[0]), (beam._held.kt[1], beam._held.kr[1])
    reference = "attached" if np.isinf(left).all() else "mean axis" if not any((*left, *right)) else "given"
    if stiffening is None:
        stiffening = bool(np.isinf(beam.GA)) and reference != "mean axis" and is_cheap(len(kept), len(at))
    kinds = wanted_kinds(name, stiffening)
    values = FiniteElementValues(
        mass=float(mass.sum()), center=total.first_moment / total.mass, inertia=total.inertia,
        rigid_modes=None, coordinates=None, source=f"{beam.theory} beam", frequencies_hz=np.sqrt(squares) / (2 * np.pi),
    )  # fmt: skip
    return FlexibleBodyData(
        name=name, **vars(replace(clean_integrals(total), modal_mass=unit)), stiffness=stiffness,
        damping=clean_pairs(damping_of(name, damping, unit, stiffness)), nodes=tuple(made), reference=reference,
        finite_elements=values, gauges=_gauges(beam, name, found, kept, gauges),
        picture=_picture(beam, found, kept),
        stiffening=_stiffening(beam, x, weights, W[: len(x)], at, reference, kinds) if kinds else None,
    )  # fmt: skip


def _stiffening(
    beam: Beam, x: FloatArray, weights: FloatArray, turns: FloatArray, nodes: Mapping[str, float], reference: str,
    kinds: Sequence[str],
) -> Stiffening:  # fmt: skip
    """∫ N v′v′ᵀ dx with the tension N of loads along the axis; loads across it cause none.

    The left end takes the reaction, or the inertia of the beam in a mean axis.
    """
    if not np.isinf(beam.GA):
        problem = f"the geometric stiffness of a {beam.theory} beam is not known."
        raise ModelError("not-supported", problem, Advice("Make a {}.", Call("da.structures.Frame")))
    slopes = turns[:, 2 if beam.direction == "y" else 1]
    heavy = np.array([beam.rhoA * beam.length, beam.left.mass, beam.right.mass])
    total = float(heavy.sum())

    def under(line: tuple[float, float], left: float, right: float, at: float | None = None) -> FloatArray:
        """Loads line[0] + line[1] x [N/m], at the ends, and 1 N at a place."""
        point = 0.0 if at is None else 1.0
        if reference == "mean axis":
            pull = line[0] * beam.length + line[1] * beam.length**2 / 2 + left + right + point
            line = (line[0] - pull * beam.rhoA / total, line[1])
            right = right - pull * beam.right.mass / total
        N = line[0] * (beam.length - x) + line[1] * (beam.length**2 - x**2) / 2 + right
        if at is not None:
            N = N + np.where(x < at, 1.0, 0.0)
        return np.asarray((slopes * (N * weights)[:, None]).T @ slopes)

    m = slopes.shape[1]
    centrifugal, acceleration = np.zeros((6, m, m)), np.zeros((3, m, m))
    centrifugal[1] = centrifugal[2] = under((0.0, beam.rhoA), 0.0, beam.right.mass * beam.length)
    acceleration[0] = under((-beam.rhoA, 0.0), -beam.left.mass, -beam.right.mass)
    forces = {}
    for key, place in nodes.items():
        each = np.zeros((3, m, m))
        each[0] = clean(under((0.0, 0.0), 0.0, 0.0, place))
        forces[key] = each
    return Stiffening(
        centrifugal=clean(centrifugal) if "centrifugal" in kinds else None,
        acceleration=clean(acceleration) if "acceleration" in kinds else None,
        forces=forces if "forces" in kinds else {},
    )


def _elastic_modes(beam: Beam, name: str, modes: Any) -> tuple[BeamModes, Any]:
    """Mass-normalised modes with positive deflection of the right end, and the places of those that are kept."""
    if np.ndim(modes) == 0:
        numbers = list(range(1, whole_number("modes", modes, 1) + 1))
    elif np.ndim(modes) == 1 and len(modes):
        numbers = [whole_number("a mode number", number, 1) for number in modes]
    else:
        advice = Advice("Your own shapes need finite elements.")
        raise ModelError("wrong-shape", f"flexible body {name!r}: modes are a count or mode numbers.", advice)
    rigid = beam._held.rigid().shape[1]
    found = beam.modes(max(numbers) + rigid, normalised="mass")
    return found, np.array(numbers) - 1 + rigid


def _gauss_places(beam: Beam, modes: int) -> tuple[FloatArray, FloatArray]:
    panels = PANELS * (modes + 1)
    xi, weights = gauss(POINTS)
    start = np.arange(panels)[:, None]
    size = beam.length / panels
    return ((start + xi) * size).ravel(), np.tile(weights * size, panels)


def _motions(beam: Beam, found: BeamModes, kept: Any, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Displacements and rotations (k, 3, m) at places x (k,)."""
    deflection, slope = found.shape(x)[kept], found.slope(x)[kept]
    sign = _signs(beam, found, kept)
    U, W = np.zeros((len(x), 3, len(kept))), np.zeros((len(x), 3, len(kept)))
    U[:, 1 if beam.direction == "y" else 2] = (sign * deflection).T
    W[:, 2 if beam.direction == "y" else 1] = (sign * slope).T * (1.0 if beam.direction == "y" else -1.0)
    return U, W


def _signs(beam: Beam, found: BeamModes, kept: Any) -> FloatArray:
    """(m, 1) that make the largest deflection of every mode positive."""
    x = np.linspace(0.0, beam.length, 16 * (int(kept.max()) + 1) + 1)
    shapes = found.shape(x)[kept].T
    return np.where(shapes[ties.first_largest(shapes), np.arange(len(kept))] < 0.0, -1.0, 1.0)[:, None]


def _gauges(beam: Beam, name: str, found: BeamModes, kept: Any, gauges: Any) -> tuple[StrainGauge, ...]:
    made = []
    for key, gauge in check_gauges(name, gauges).items():
        if not isinstance(gauge, BeamGauge) or not 0.0 <= gauge.x <= beam.length:
            problem = f"flexible body {name!r}: gauge {key!r} must be a BeamGauge from 0 to {beam.length:g} m."
            raise ModelError("out-of-range", problem, where={"body": name, "gauge": key})
        bending = found.curvature(np.array([gauge.x]))[kept, 0] * _signs(beam, found, kept)[:, 0]
        along_y = beam.direction == "y"
        row = -(gauge.y if along_y else gauge.z) * bending
        if gauge.quantity == "curvature":
            about = "z" if along_y else "y"
            row = np.zeros_like(bending) if gauge.about != about else bending if along_y else -bending
        made.append(StrainGauge(name=key, quantity=gauge.quantity, row=clean(row)))
    return tuple(made)


def _picture(beam: Beam, found: BeamModes, kept: Any) -> BodyPicture:
    x = np.linspace(0.0, beam.length, max(33, 8 * (int(kept.max()) + 1) + 1))
    points = np.zeros((len(x), 3))
    points[:, 0] = x
    first = np.arange(len(x) - 1)
    return BodyPicture(
        points=points, modes=_motions(beam, found, kept, x)[0], lines=np.stack([first, first + 1], axis=1),
        triangles=np.zeros((0, 3), dtype=np.intp),
    )  # fmt: skip


def _node_places(beam: Beam, name: str, nodes: Any) -> dict[str, float]:
    """Names and places along the beam [m]; its ends when left out."""
    ends = {"start": 0.0, "end": beam.length}
    if nodes is None:
        return ends
    if not isinstance(nodes, Mapping):
        given = [nodes] if isinstance(nodes, str) else list(nodes)
        nodes = {key: ends.get(key, key) for key in given}
    node_places = {}
    for key, place in nodes.items():
        if isinstance(place, str) or not is_on(float(place), beam.length):
            raise ModelError(
                "off-mesh",
                f"flexible body {name!r}: node {key!r} is at {place!r}, the beam reaches from 0 to {beam.length:g} m.",
                where={"body": name, "node": key},
            )
        node_places[str(key)] = min(float(place), beam.length)
    return node_places
