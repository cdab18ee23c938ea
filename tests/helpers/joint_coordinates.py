"""The same machine in joint and in absolute coordinates: states that belong together, random trees."""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as da
from dalembert.equations import EquationsOfMotion, State

AXIAL = ("revolute", "prismatic", "cylindrical", "planar")


def random_tree(kinds: list[str], reversed_sides: list[bool], seed: int) -> Any:
    """A spatial tree: one joint of each kind in this order, places, axes and inertias at random."""
    rng = np.random.default_rng(seed)

    def vector(size: float) -> tuple[float, ...]:
        return tuple(float(x) for x in size * rng.normal(size=3))

    def inertia() -> list[list[float]]:
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        principal = rng.uniform(0.5, 1.0, 3)  # any three of these obey the triangle inequality
        found: list[list[float]] = ((axes * principal) @ axes.T).tolist()
        return found

    m = da.Mechanism("tree")
    bodies = [m.ground]
    for k, kind in enumerate(kinds):
        body = m.add_body(f"b{k}", mass=float(rng.uniform(0.5, 2.0)), inertia=inertia())
        parent = bodies[int(rng.integers(len(bodies)))]
        options: dict[str, Any] = {}
        if kind in AXIAL:
            options = {"axis": vector(1.0), "axis_b": vector(1.0)}
        elif kind == "universal":
            options = {"axis": vector(1.0), "second_axis": vector(1.0)}
        elif kind == "screw":
            options = {"axis": vector(1.0), "lead": 0.3}
        sides = (parent.at(*vector(0.3)), body.at(*vector(0.3)))
        getattr(m, f"add_{kind}")(f"j{k}", *(sides[::-1] if reversed_sides[k] else sides), **options)
        bodies.append(body)
    return m


def random_state(eqs: EquationsOfMotion, seed: int, speed: float = 1.0) -> State:
    rng = np.random.default_rng(seed)
    q, v = 0.7 * rng.normal(size=eqs.nq), speed * rng.normal(size=eqs.nv)
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
