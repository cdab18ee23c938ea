"""The same machine in joint and in absolute coordinates: states that belong together, random trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import dalembert as da
from dalembert.equations import EquationsOfMotion, State
from dalembert.model.flexible import FlexibleBodyData, Stiffening
from tests.helpers.flexible_bodies import PointMasses

AXIAL = ("revolute", "prismatic", "cylindrical", "planar")


FREEDOMS = {"revolute": 1, "prismatic": 1, "cylindrical": 2, "screw": 1, "planar": 3, "universal": 2, "spherical": 3,
            "free": 6, "fixed": 0}  # fmt: skip


def clamped_points(seed: int, modes: int) -> PointMasses:
    """Point masses that modes move, but for the first one."""
    points = PointMasses.random(seed, modes=modes)
    still = np.ones(len(points.masses))
    still[0] = 0.0
    return replace(points, modes=points.modes * still[:, None, None], rotations=points.rotations * still[:, None, None])


def random_flexible(seed: int, modes: int, *, stiffening: bool) -> FlexibleBodyData:
    """A body of point masses with nodes n0 to n3 that modes move, but for n0; stiffening of every kind."""
    points = clamped_points(seed, modes)
    rng = np.random.default_rng(seed)

    def symmetric(count: int) -> Any:
        x = 0.02 * rng.normal(size=(count, modes, modes))
        return x + np.swapaxes(x, 1, 2)

    geometric = None
    if stiffening:
        loads = {f"n{k}": symmetric(3) for k in (1, 2)}, {"n2": symmetric(3)}
        geometric = Stiffening(
            centrifugal=symmetric(6), acceleration=symmetric(3), forces=loads[0], moments=loads[1]
        )  # fmt: skip
    return points.data(damping=0.01 * points.stiffness, stiffening=geometric)


def random_tree(
    kinds: list[str], reversed_sides: list[bool], seed: int, *, chain: bool = False, modes: Sequence[int] = (),
    stiffening: bool = False, clamped: bool = False,
) -> Any:  # fmt: skip
    """A spatial tree: one joint of each kind in this order, places, axes and inertias at random.

    chain : each body on the one before it, instead of on any of them. A body that is "floating" has no joint and
    carries another on a hinge.
    modes : of the bodies; those with modes are flexible, with joints on any of their nodes, `stiffening` or not.
    clamped : no mode moves the node of a body that its own joint holds.
    """
    rng = np.random.default_rng(seed)

    def vector(size: float) -> tuple[float, ...]:
        return tuple(float(x) for x in size * rng.normal(size=3))

    def place(body: Any, root: bool) -> Any:
        node = int(rng.integers(4))
        return body.at(*vector(0.3)) if body.flexible is None else body.at(f"n{0 if root and clamped else node}")

    def inertia() -> list[list[float]]:
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        principal = rng.uniform(0.5, 1.0, 3)  # any three of these obey the triangle inequality
        found: list[list[float]] = ((axes * principal) @ axes.T).tolist()
        return found

    m = da.Mechanism("tree")
    bodies = [m.ground]
    for k, kind in enumerate(kinds):
        if k < len(modes) and modes[k]:
            data = random_flexible(seed + k, modes[k], stiffening=stiffening)
            body = m.add_flexible_body(f"b{k}", data, stiffness=1.3, damping=0.7)
        else:
            body = m.add_body(f"b{k}", mass=float(rng.uniform(0.5, 2.0)), inertia=inertia())
        parent = bodies[-1 if chain else int(rng.integers(len(bodies)))]
        if kind == "floating":
            bodies.append(body)
            kind, parent = "revolute", body
            body = m.add_body(f"c{k}", mass=float(rng.uniform(0.5, 2.0)), inertia=inertia())
        options: dict[str, Any] = {}
        if kind in AXIAL:
            options = {"axis": vector(1.0), "axis_b": vector(1.0)}
        elif kind == "universal":
            options = {"axis": vector(1.0), "second_axis": vector(1.0)}
        elif kind == "screw":
            options = {"axis": vector(1.0), "lead": 0.3}
        sides = (place(parent, False), place(body, True))
        getattr(m, f"add_{kind}")(f"j{k}", *(sides[::-1] if reversed_sides[k] else sides), **options)
        bodies.append(body)
    return m


def close_loop(m: Any, kind: str, seed: int) -> Any:
    """A further joint between the ground and the last body, closed at a random pose of the tree; that pose.

    Both frames are one place and direction of the world at the pose: universal joints have the second turned by 90°.
    """
    tree = da.equations(m, coordinates="joint")
    state = random_state(tree, seed)
    last = m.bodies[-1]
    rotation = da.rotation(quaternion=[state[f"{last.name}.e{k}"] for k in range(4)])
    R = np.array(rotation.matrix)
    rng = np.random.default_rng(seed + 1)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    axes *= np.sign(np.linalg.det(axes))
    place = np.array([state[f"{last.name}.{axis}"] for axis in "xyz"]) + R @ (0.3 * rng.normal(size=3))
    own = R.T @ (place - [state[f"{last.name}.{axis}"] for axis in "xyz"])
    second = axes[:, [1, 2, 0]] if kind == "universal" else axes  # z of the second frame is x of the first

    def frame(body: Any, at: Any, turned: Any) -> Any:
        return body.frame(*(float(x) for x in at), rotation=turned.tolist())

    options = {"screw": {"lead": 0.3}}.get(kind, {})
    getattr(m, f"add_{kind}")("loop", frame(m.ground, place, axes), frame(last, own, R.T @ second), **options)
    return tree, state


def poses_of(tree: EquationsOfMotion, state: State, m: Any) -> dict[str, Any]:
    """Poses of all bodies by name, as `da.assemble` takes them."""
    return {f"{b.name}.pose": tuple(state[f"{b.name}.{part}"] for part in ("x", "y", "z", "e0", "e1", "e2", "e3"))
            for b in m.bodies}  # fmt: skip


def random_state(eqs: EquationsOfMotion, seed: int, speed: float = 1.0) -> State:
    rng = np.random.default_rng(seed)
    q, v = 0.7 * rng.normal(size=eqs.nq), speed * rng.normal(size=eqs.nv)
    q[[eqs.coordinates.index[name] for name in eqs.elastic]] *= 0.5
    for block in eqs.quaternions:
        q[block.part] /= np.linalg.norm(q[block.part])
    return eqs.state(q=q, v=v)


def absolute_state(joint: EquationsOfMotion, state: State, absolute: EquationsOfMotion) -> State:
    """The state in absolute coordinates, from the measures of the bodies."""
    value, rate, _, _ = joint.kernel("measures")(state.q, state.v, joint.p, state.t)
    values = dict(zip(joint.measures.names, value, strict=True)) | dict(
        zip(joint.coordinates.names, state.q, strict=True)
    )
    rates = dict(zip(joint.measure_rates.names, rate, strict=True)) | dict(
        zip(joint.speeds.names, state.v, strict=True)
    )
    q = np.array([values[name.removesuffix(".turned")] for name in absolute.coordinates.names])
    v = np.array([rates.get(name, 0.0) for name in absolute.speeds.names])
    for block in absolute.quaternions:
        if f"{block.owner}.e0.rate" in rates:  # ω = 2 Gᵀ ṗ
            e0, e1, e2, e3 = q[block.part]
            G = np.array([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1], [-e2, e1, e0]])
            v[list(block.columns)] = 2 * G.T @ [rates[f"{block.owner}.e{k}.rate"] for k in range(4)]
    return absolute.state(q=q, v=v, z=state.z)


def joint_state(absolute: EquationsOfMotion, state: State, joint: EquationsOfMotion) -> State:
    """The state in joint coordinates, from poses and speeds of all bodies."""
    measured = absolute.measures.index
    position: dict[str, Any] = {n: state[n] for n in (*joint.coordinates.names, *measured) if n in measured}
    for block in absolute.quaternions:
        position[f"{block.owner}.rotation"] = tuple(float(x) for x in state.q[block.part])
    speeds = [n for n in absolute.speeds.names if n in joint.measure_rates.index or n in joint.speeds.index]
    internal = dict(zip(absolute.internal.names, state.z, strict=True))
    return da.assemble(
        joint, position, velocity={n: state[n] for n in speeds}, internal=internal, t=state.t, guess=position
    )


def agree(joint: EquationsOfMotion, state: State, plain: EquationsOfMotion) -> State:
    """Poses, accelerations, reactions and energies of a state in both coordinates; the state in absolute ones."""
    same = absolute_state(joint, state, plain)
    closed = np.concatenate(
        (plain.kernel("position")(same.q, plain.p, 0.0)[0], plain.kernel("rates")(same.q, same.v, plain.p, 0.0)[0])
    )
    assert np.abs(closed).max(initial=0.0) < 1e-11 * (1 + np.abs(same.v).max())  # poses of the bodies close every joint
    one, other = da.forward_dynamics(joint, state), da.forward_dynamics(plain, same)
    for names in (plain.measures.names, plain.reaction_channels.names):
        values = np.array([[one[n], other[n]] for n in names]).reshape(-1, 2)
        assert np.abs(np.diff(values)).max(initial=0.0) < 1e-9 * (1 + np.abs(values).max(initial=0.0))
    energies = [np.ravel(eqs.kernel("energy")(s.q, s.v, s.z, eqs.p, 0.0)) for eqs, s in ((joint, state), (plain, same))]
    np.testing.assert_allclose(energies[0], energies[1], rtol=1e-12, atol=1e-12)
    return same


def agree_linearly(joint: EquationsOfMotion, state: State, plain: EquationsOfMotion, same: State) -> None:
    """Linear models about the two states, in the same coordinates."""
    first = da.linearize(plain, at=same, anywhere=True)
    second = da.linearize(joint, at=state, anywhere=True, coordinates=list(first.coordinates))
    assert first.coordinates == second.coordinates
    for name in ("M", "C", "K"):
        ours, theirs = (np.asarray(getattr(model, name)) for model in (second, first))
        assert np.abs(ours - theirs).max() < 1e-9 * (1 + np.abs(theirs).max()), name
