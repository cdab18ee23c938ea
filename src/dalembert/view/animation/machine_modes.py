"""Scene of the modes of a machine for the page: its bodies at rest, and the motion of each in every mode.

A small motion that the joints allow is δξ = X δs with the independent coordinates s of the linear model;
of a mode s = φ exp(iωt), so that a body is displaced by Re(X φ exp(iωt)): its origin along δr, turned by δθ
about axes of the world; the elastic coordinates of a flexible body change with it. Shapes are as the eigenvectors are,
complex where points do not move in step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import ComplexArray
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import EquationsOfMotion, State
from dalembert.linear.modes import Modes, damping_text, is_undamped, turns
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.model import Mechanism
from dalembert.numerics import ties
from dalembert.record import Array
from dalembert.solve.position.chart import Chart
from dalembert.solve.position.orientations import to_omega
from dalembert.solve.position.tangent import Instant
from dalembert.solve.rest.equilibrium import equilibrium
from dalembert.solve.rest.linearize import linearize
from dalembert.view.animation.body_shapes import corners
from dalembert.view.animation.machine_motion import machine_motion, picture_modes, spread, still
from dalembert.view.animation.machine_scene import machine_data
from dalembert.view.animation.mode_playback import MOST_MODES, REACH, mode_clock, read_count

_PARTS = 8  # coordinates of a mode that are listed


Machine = Mechanism | EquationsOfMotion | State


def machine_mode_data(machine: Machine, modes: object, speed: float, fps: float = 30.0) -> dict[str, Any]:
    """The data of the page: modes of a Mechanism, of its equations or about a State, or given Modes drawn on it.

    A State without modes, because it does not rest or nothing is free to move, is drawn without motion.
    """
    eqs, state = _find_state(machine)
    if eqs.scene is None:
        raise DataError("no-scene", f"equations {eqs.name!r} have no scene to draw.")
    try:
        chosen = modes if isinstance(modes, Modes) else _modes(eqs, state, modes)
    except ModelError as error:
        if modes is None and machine is state and error.code in ("not-at-rest", "no-freedom", "singular-pose"):
            return machine_data(still(eqs, state), fps, speed, [])
        raise
    if not len(chosen):
        raise DataError("empty", f"{eqs.name!r} has no modes to show.")
    tangent = _tangent(eqs, state, chosen.coordinates)
    data = machine_data(still(eqs, state), 30, 1.0, [])
    shapes = _shapes(eqs, state, data, np.asarray(tangent @ chosen.shapes, dtype=np.complex128))
    amplitude = shapes.reach
    edge = amplitude * np.array([1.0, 1.0, 0.0 if data["planar"] else 1.0])
    parts = (shapes.poses, *shapes.elastic.values())
    in_step = not any(float(np.abs(array.imag).max(initial=0.0)) > 0.0 for array in parts)
    for b, elastic in shapes.elastic.items():
        data["bodies"][b]["flexible"] |= _split(elastic, in_step)
    return {
        **data,
        "low": (np.array(data["low"]) - edge).tolist(),
        "high": (np.array(data["high"]) + edge).tolist(),
        "radius": data["radius"] + amplitude,
        "modes": [{**_words(s), "parts": _parts(chosen, k)} for k, s in enumerate(chosen.eigenvalues)],
        **_split(shapes.poses, in_step),
        **mode_clock(speed),
        "forces": [],
        "channels": None,
    }


def _find_state(machine: Machine) -> tuple[EquationsOfMotion, State]:
    if isinstance(machine, State):
        return machine.eqs, machine
    if isinstance(machine, Mechanism):
        from dalembert.mechanics import equations

        machine = equations(machine)
    return machine, equilibrium(machine)


def _modes(
    eqs: EquationsOfMotion,
    state: State,
    modes: object,
    # Eigenvalue relative to the largest, below which a mode of a rolling machine is one of its free motions: a
    # free motion is a double eigenvalue zero, which rounding splits to √ε = 1.5e-8.
    free: float = 1e-6,
) -> Modes:
    count = read_count(modes) or MOST_MODES
    linear = linearize(eqs, state)
    if isinstance(linear, SecondOrder):
        normal_modes = linear.modes()
        return normal_modes.select(range(1, min(count, len(normal_modes)) + 1))
    # of a machine that rolls, or has states of its own: the coordinates are the first of the states
    charts = (_chart(eqs, state, None, world) for world in (False, True))
    listed = ([c.name for c in chart.positions] for chart in charts)
    names = next(listing for listing in listed if tuple(listing) == linear.states[: len(listing)])
    rows = np.eye(linear.nx)[: len(names)]
    outputs_model = StateSpace(
        linear.A, linear.B, rows, None, states=linear.states, inputs=linear.inputs, outputs=names
    )
    normal_modes = outputs_model.modes()
    alive = np.abs(normal_modes.eigenvalues) > free * np.abs(normal_modes.eigenvalues).max(initial=0.0)
    alive &= np.abs(normal_modes.shapes).max(axis=0, initial=0.0) > 0.0
    return normal_modes.select((np.flatnonzero(alive)[:count] + 1).tolist())


def _chart(eqs: EquationsOfMotion, state: State, names: list[str] | None, world: bool) -> Chart:
    here = Instant(state.q, state.v, state.z, np.zeros(eqs.nu), state.t, np.zeros(eqs.nv), state.lam)
    return Chart(eqs, here, names, world=world)


def _tangent(eqs: EquationsOfMotion, state: State, names: tuple[str, ...]) -> Array:
    """X (nv, n): speeds of all bodies by those of the named coordinates."""
    try:
        chart = _chart(eqs, state, list(names), False)
    except ModelError as error:
        raise DataError("wrong-owner", f"these Modes do not belong to {eqs.name!r}: {error}") from error
    order = [c.name for c in chart.positions]
    wanted = [eqs.full_name(name) for name in names]
    missing = [name for name in order if name not in wanted]
    if missing and eqs.is_holonomic:
        raise DataError(
            "wrong-owner",
            f"these Modes have no {', '.join(map(repr, missing))}, by which {eqs.name!r} also moves.",
            Advice("Take those of {}(equations).", Call("da.linearize")),
        )
    return np.asarray(chart.X[:, [order.index(name) for name in wanted]])


@dataclass(frozen=True)
class _Shapes:
    """Every mode as it is first drawn.

    poses : (k, bodies, 3 or 6) displacement and turn.  elastic : (k, m) by the number of a flexible body.
    reach : largest displacement of a point [m].
    """

    poses: ComplexArray
    elastic: dict[int, ComplexArray]
    reach: float


def _split(shapes: ComplexArray, in_step: bool) -> dict[str, Any]:
    """Entries of the page: the real part, and the part that is a quarter of a cycle ahead."""
    real, turned = np.ascontiguousarray(shapes.real), np.ascontiguousarray(shapes.imag)
    return {"shapes": real, "turned": None if in_step else turned}


def _shapes(
    eqs: EquationsOfMotion,
    state: State,
    data: dict[str, Any],
    motion: ComplexArray,
    largest_turn: float = 2.5,  # largest turn [rad]: less than half a revolution, so that its direction is seen.
    # Largest gap of a joint as part of the size of the machine: about five pixels of a page of 400. An arm a
    # turned by θ leaves its tangent by a θ²/2.
    largest_gap: float = 0.012,
    # Displacement relative to its limit that counts as none: a mode that does not move here is not enlarged by
    # it. Any small number does: it keeps a division from zero, and another of the three limits decides.
    least: float = 1e-12,
) -> _Shapes:
    """Displacements of all bodies in every mode, by its speeds (nv, k)."""
    assert eqs.scene is not None
    planar, standing = eqs.scene.planar, machine_motion(still(eqs, state))
    size = 2.0 * float(data["own"])
    poses = np.zeros((motion.shape[1], len(data["bodies"]), 3 if planar else 6), dtype=np.complex128)
    elastic: dict[int, ComplexArray] = {}
    compared: list[ComplexArray] = []  # elastic coordinates as the largest displacements that they cause [m]
    far, turn, gap = np.zeros((3, motion.shape[1]))
    for b, (body, drawn) in enumerate(zip(data["bodies"], eqs.scene.bodies, strict=True)):
        channels = drawn.channels(planar)
        body_motion = (_pose_rows(eqs, state, channels) @ motion).T
        axes = standing.turns(drawn.name)[0]
        if planar:
            moved, turned = np.pad(body_motion[:, :2], ((0, 0), (0, 1))), body_motion[:, 2:] * np.array([0.0, 0.0, 1.0])
        else:  # the turn in body axes is 2 Ē(p) δp
            p = np.tile([state[name] for name in channels[3:]], (len(body_motion), 1))
            turned = to_omega(p, body_motion[:, 3:].real) + 1j * to_omega(p, body_motion[:, 3:].imag)
            moved, turned = body_motion[:, :3], turned @ axes.T
            body_motion = np.hstack([moved, turned])
        poses[:, b] = body_motion
        bent: ComplexArray | float = 0.0
        if drawn.flexible is None:
            places = standing.points(drawn.name, corners(body))[0]
        else:
            numbers = spread(drawn.flexible)
            places = standing.picture_points(drawn.name, numbers)[0]
            elastic[b] = (_pose_rows(eqs, state, drawn.elastic) @ motion).T
            modes = picture_modes(drawn.flexible)[1][:, numbers]
            compared.append(elastic[b] * np.linalg.norm(modes, axis=2).max(axis=1, initial=0.0))
            bent = np.tensordot(elastic[b], modes @ axes.T, 1)
        arms = np.vstack([places, standing.origins(drawn.name)]) - standing.origins(drawn.name)
        reach = moved[:, None, :] + np.cross(turned[:, None, :], arms[None, :, :])
        reach[:, : len(places)] += bent
        far = np.maximum(far, np.linalg.norm(reach, axis=2).max(axis=1))
        own_turn = np.linalg.norm(turned, axis=1)
        turn = np.maximum(turn, own_turn)
        gap = np.maximum(gap, np.sqrt(np.linalg.norm(arms, axis=1).max() / 2) * own_turn)
    limits = ((REACH * size, far), (largest_turn, turn), (np.sqrt(largest_gap * size), gap))
    factor = np.min([limit / np.maximum(value, least * limit) for limit, value in limits], axis=0)
    every = np.hstack([poses.reshape(len(poses), -1), *compared]) * factor[:, None]
    phase = np.array([_find_phase(shape) for shape in every])
    imaginary = np.abs((every * phase[:, None]).imag).max(axis=1, initial=0.0)
    in_step = ~turns(imaginary, np.abs(every).max(axis=1, initial=0.0))

    def draw(shapes: ComplexArray) -> ComplexArray:
        scaled: ComplexArray = shapes * (factor * phase).reshape(-1, *[1] * (shapes.ndim - 1))
        scaled[in_step] = scaled[in_step].real
        return scaled

    drawn_elastic = {b: draw(shape) for b, shape in elastic.items()}
    return _Shapes(draw(poses), drawn_elastic, float((far * factor).max(initial=0.0)))


def _find_phase(components: ComplexArray) -> complex:
    """The factor that gives the largest component the phase zero."""
    largest = components[ties.first_largest(components)]
    return complex(np.conj(largest) / abs(largest)) if abs(largest) > 0.0 else 1.0 + 0.0j


def _pose_rows(eqs: EquationsOfMotion, state: State, channels: tuple[str, ...]) -> Array:
    """(channels, nv) rates of the channels of a pose, which are coordinates or measures, by the speeds."""
    N = np.reshape(eqs.kernel("kinematics")(state.q, eqs.p, state.t)[0], (eqs.nq, eqs.nv))
    S = np.reshape(eqs.kernel("measures")(state.q, state.v, eqs.p, state.t)[2], (len(eqs.measures), eqs.nv))
    rows = []
    for name in channels:
        if name in eqs.coordinates.index:
            rows.append(N[eqs.coordinates.index[name]])
        elif name in eqs.measures.index:
            rows.append(S[eqs.measures.index[name]])
        else:
            raise DataError("not-supported", f"the pose channel {name!r} is no coordinate or measure: it has no modes.")
    return np.array(rows)


def _words(s: complex) -> dict[str, Any]:
    """Title, note and kind of a mode with eigenvalue s [rad/s]."""
    size = abs(s)
    if size == 0.0:
        return {"title": "free motion", "note": "no stiffness against it", "kind": "free"}
    if s.imag == 0.0:
        kind = "decays" if s.real < 0.0 else "grows"
        return {
            "title": f"{kind} {1.0 / size:.3g} s",
            "note": f"does not oscillate, s = {s.real:.4g} 1/s",
            "kind": kind,
        }
    damping = -s.real / size
    note = damping_text(damping) or "undamped"
    return {
        "title": f"{size / (2.0 * np.pi):.4g} Hz",
        "note": note + (", grows" if damping < 0.0 and not is_undamped(damping) else ""),
        "kind": "",
    }


def _parts(
    modes: Modes,
    k: int,
    # Component relative to the largest from which a coordinate is listed: three digits are written.
    listed: float = 1e-3,
) -> list[list[Any]]:
    """Name, size and phase [deg] of the coordinates that move most, the largest 1 and at 0°."""
    column = np.asarray(modes.shapes)[:, k]
    sizes = np.abs(column)
    order = [int(i) for i in ties.largest_first(sizes)[:_PARTS] if sizes[i] > listed * sizes.max(initial=0.0)]
    if not order:
        return []
    first = column[order[0]]
    phases = np.degrees(np.angle(column / first))
    return [[modes.coordinates[i], float(sizes[i] / abs(first)), round(float(phases[i]), 1)] for i in order]
