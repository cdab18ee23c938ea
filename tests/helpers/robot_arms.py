"""Arms for inverse kinematics and trajectories: random ones in space, two links in the plane, a wheel."""

from __future__ import annotations

from functools import cache

import numpy as np

import dalembert as da

TIP = "hand.tip"


@cache
def random_arm(joints: int, seed: int, limit: float | None = None) -> da.EquationsOfMotion:
    """Hinges about random axes at random places, up to 0.3 m apart along each axis; equal limits on both sides."""
    rng = np.random.default_rng(seed)
    m = da.Mechanism(f"arm {joints}-{seed}")
    parent, place = m.ground, (0.0, 0.0, 0.0)
    for k in range(joints):
        name = "hand" if k == joints - 1 else f"link{k}"
        body = m.add_body(name, mass=1.0, inertia=(0.01, 0.01, 0.01), points={"tip": (0.0, 0.0, 0.3)})
        axis = rng.normal(size=3)
        limits = None if limit is None else {"lower": -limit, "upper": limit}
        m.add_revolute(
            f"j{k}", parent.frame(*place, axis=axis), body.frame(0.0, 0.0, 0.0, axis=axis), limits=limits
        )  # fmt: skip
        parent, place = body, tuple(rng.uniform(-0.3, 0.3, size=3))
    return da.equations(m, coordinates="joint")


@cache
def two_links(**limits: float) -> da.EquationsOfMotion:
    """Two links of 1 m in the plane, on the ground at the origin; the elbow may have limits."""
    m = da.Mechanism("two links", planar=True)
    upper = m.add_body("upper", mass=1.0, inertia=da.rod(1.0))
    hand = m.add_body("hand", mass=1.0, inertia=da.rod(1.0), points={"tip": (0.5, 0.0)})
    m.add_revolute("shoulder", m.ground.at(0, 0), upper.at(-0.5, 0))
    m.add_revolute("elbow", upper.at(0.5, 0), hand.at(-0.5, 0), limits=limits or None)
    return da.equations(m, coordinates="joint")


@cache
def wheel(inertia: float = 0.5, damping: float = 0.0, **limits: float) -> da.EquationsOfMotion:
    """A disc on a hinge, without gravity: a double integrator."""
    m = da.Mechanism("wheel", planar=True, gravity=0)
    disc = m.add_body("disc", mass=1.0, inertia=inertia)
    m.add_revolute("hinge", m.ground.at(0, 0), disc.at(0, 0), limits=limits or None)
    if damping:
        m.add_damper("drag", joint="hinge", damping=damping)
    return da.equations(m, coordinates="joint")


@cache
def seven_joints() -> da.EquationsOfMotion:
    """The redundant arm of the library."""
    return da.equations(da.read_model("seven-joint-arm"), coordinates="joint")


def pose(eqs: da.EquationsOfMotion, q: object, place: str = TIP) -> np.ndarray:
    """Homogeneous transform of a place at coordinates."""
    return np.asarray(da.tree.forward_kinematics(eqs, eqs.state(q), place))
