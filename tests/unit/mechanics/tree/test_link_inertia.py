"""The room for elastic bodies: a body with one mode, written by hand, in the recursions, against Lagrange's equations.

The body has a rigid core and a mass at its tip. The tip moves on it along a curve p(η) and turns there; a child hangs
on the tip. Lagrange's equations come from the energies by differentiation and know nothing of links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import pytest

from dalembert.mechanics.joints.motion import RelativeMotion, move
from dalembert.mechanics.poses import Space, Twist
from dalembert.mechanics.rotations import skew, turn_matrix
from dalembert.mechanics.tree.link_inertia import LinkInertia, without_mass
from dalembert.mechanics.tree.link_tree import LinkTree, make_symbols
from dalembert.mechanics.tree.links import Link
from dalembert.mechanics.tree.spatial import SpatialInertia, Wrench, parallel

SX = ca.SX
SPACE = Space(planar=False)
GRAVITY = np.array([0.3, -0.2, -9.81])
TIP, SLOPE, CURVE = (np.array(x) for x in ([0.8, 0.1, -0.05], [0.02, 0.3, 0.1], [-0.1, 0.02, 0.04]))
AXIS = 0.7 * np.array([0.36, 0.48, 0.8])  # turn of the tip by η
MODE = 2  # its place among the speeds: two hinges before it, one behind
TIP_MASS = 0.6


def turned(vector: np.ndarray) -> np.ndarray:
    return np.array(ca.DM(turn_matrix(ca.DM(vector))))


@dataclass(frozen=True)
class Bending:
    """What the elastic body brings: a rigid core, and a mass at p(η) = TIP + SLOPE η + CURVE η²."""

    core: LinkInertia
    eta: Any
    rate: Any

    @property
    def tip(self) -> Any:
        return ca.DM(TIP) + SLOPE * self.eta + CURVE * self.eta**2

    @property
    def slope(self) -> Any:
        return ca.DM(SLOPE) + 2 * CURVE * self.eta

    @property
    def columns(self) -> list[int]:
        return [MODE]

    @property
    def spatial(self) -> SpatialInertia:
        r = self.tip
        return self.core.spatial + SpatialInertia(SX(TIP_MASS), TIP_MASS * r, TIP_MASS * parallel(SPACE, r, r))

    @property
    def coupling(self) -> Wrench:
        f = TIP_MASS * self.slope
        return Wrench(f, ca.cross(self.tip, f))

    @property
    def own(self) -> Any:
        return TIP_MASS * ca.dot(self.slope, self.slope)

    @property
    def weight_moment(self) -> tuple[Any, Any]:
        return self.spatial.moment, TIP_MASS * self.slope

    resistance, stored_energy = SX(1, 1), SX(0)  # no spring holds it

    def force(self, link: Link, motion: Twist, rates: Any = None) -> tuple[Wrench, Any]:
        w, r, moved = link.velocity.w, self.tip, self.slope * self.rate
        a = motion.v + ca.cross(motion.w, r) + ca.cross(w, ca.cross(w, r)) + 2 * ca.cross(w, moved)
        a = a + 2 * CURVE * self.rate**2 + (0 if rates is None else self.slope * rates[MODE])
        f = TIP_MASS * a
        return self.core.force(link, motion)[0] + Wrench(f, ca.cross(r, f)), ca.dot(self.slope, f)

    def kinetic_energy(self, link: Link) -> Any:
        v = link.velocity.v + ca.cross(link.velocity.w, self.tip) + self.slope * self.rate
        return self.core.kinetic_energy(link) + 0.5 * TIP_MASS * ca.dot(v, v)

    def frame_motion(self) -> RelativeMotion:
        """Of the frame at the tip against the link."""
        R = turn_matrix(SX(AXIS) * self.eta)
        one = move(SPACE, 1, R=R, p=self.tip, S=ca.DM(AXIS), P=self.slope)
        return RelativeMotion(**(one.__dict__ | {"P_bias": 2 * CURVE * self.rate**2}))


@dataclass(frozen=True)
class Rigid:
    """A body of the chain: frame E, offset on its parent, centre of mass, mass and inertia."""

    E: np.ndarray
    offset: np.ndarray
    centre: np.ndarray
    mass: float
    inertia: np.ndarray


def parts() -> list[Rigid]:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(3):
        axes = turned(rng.normal(size=3))
        principal = np.diag(rng.uniform(0.05, 0.1, 3))
        found.append(
            Rigid(turned(rng.normal(size=3)), rng.normal(size=3), rng.normal(size=3) / 4, rng.uniform(0.5, 2.0),
                  axes @ principal @ axes.T)
        )  # fmt: skip
    return found


def hinge(angle: Any) -> Any:
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))


def rigid_inertia(part: Rigid) -> LinkInertia:
    c, inertia = SX(part.centre), SX(part.inertia)
    about = inertia + part.mass * parallel(SPACE, c, c)
    return LinkInertia(SX(part.mass), part.mass * c, inertia, inertia, about)


def make_tree() -> LinkTree:
    """Two hinged bodies, the second elastic, and a third on its tip."""
    q, v, a = (SX.sym(name, 4) for name in "qva")
    first, second, third = parts()
    none = SX(3, 1)

    def link(name: str, part: Rigid, parent: Link | None, column: int) -> Link:
        motion = move(SPACE, 1, R=hinge(q[column]), S=ca.DM([0.0, 0.0, 1.0]))
        own = (SX(part.E), SX(part.offset), SX.eye(3), SX(-part.centre))
        return Link(SPACE, name, parent, [column], v[column], motion, *own)

    base = link("base", first, None, 0)
    beam = link("beam", second, base, 1)
    bending = Bending(rigid_inertia(second), q[MODE], v[MODE])
    tip = Link(SPACE, "tip", beam, [MODE], v[MODE], bending.frame_motion(), SX.eye(3), none, SX.eye(3), none)
    child = link("child", third, tip, 3)
    inertias: list[Any] = [rigid_inertia(first), bending, without_mass(SPACE), rigid_inertia(third)]
    symbols = make_symbols(q, v, a, SX.sym("p", 0), SX.sym("t"))
    names = {name: {} for name in ("base", "beam", "tip", "child")}
    gravity = SX(GRAVITY)
    return LinkTree(SPACE, symbols, SX.eye(4), gravity, [base, beam, tip, child], inertias, (), {}, names, (), {}, ())


def lagrange(q: Any, v: Any, a: Any) -> tuple[Any, Any, list[tuple[Any, Any]]]:
    """M, τ and the poses of the bodies' centres of mass, from energies."""
    first, second, third = parts()
    R0 = SX(first.E) @ hinge(q[0])
    r0 = SX(first.offset)
    r1, R1 = r0 + R0 @ second.offset, R0 @ second.E @ hinge(q[1])
    tip = r1 + R1 @ (ca.DM(TIP) + SLOPE * q[MODE] + CURVE * q[MODE] ** 2)
    on_tip = R1 @ turn_matrix(SX(AXIS) * q[MODE])
    r2, R2 = tip + on_tip @ third.offset, on_tip @ third.E @ hinge(q[3])
    poses = [(r + R @ part.centre, R) for r, R, part in ((r0, R0, first), (r1, R1, second), (r2, R2, third))]
    T, V = SX(0), SX(0)
    for (r, R), part in zip(poses, (first, second, third), strict=True):
        speed = ca.jtimes(r, q, v)
        spin = R.T @ ca.reshape(ca.jtimes(ca.vec(R), q, v), 3, 3)
        w = ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])
        T = T + 0.5 * part.mass * ca.dot(speed, speed) + 0.5 * ca.dot(w, part.inertia @ w)
        V = V - part.mass * ca.dot(GRAVITY, r)
    speed = ca.jtimes(tip, q, v)
    T, V = T + 0.5 * TIP_MASS * ca.dot(speed, speed), V - TIP_MASS * ca.dot(GRAVITY, tip)
    momentum = ca.gradient(T, v)
    tau = ca.jtimes(momentum, q, v) + ca.jtimes(momentum, v, a) - ca.gradient(T, q) + ca.gradient(V, q)
    return ca.jacobian(momentum, v), tau, poses


@pytest.mark.parametrize("seed", range(4))
def test_a_body_with_one_mode_passes_through_the_recursions(seed: int) -> None:
    tree = make_tree()
    M, tau, poses = lagrange(tree.q, tree.v, tree.a)
    reference = ca.Function("reference", [tree.q, tree.v, tree.a], [M, tau, *(ca.horzcat(R, r) for r, R in poses)])
    q, v, a = np.random.default_rng(seed).normal(size=(3, 4))
    M, tau, *places = (np.array(x) for x in reference(q, v, a))
    exact = {"rtol": 0, "atol": 1e-12}  # numbers of order one to ten, a few hundred operations
    np.testing.assert_allclose(np.array(tree.function("mass_matrix")(q, [], 0.0)), M, **exact)
    np.testing.assert_allclose(np.array(tree.function("inverse_dynamics")(q, v, a, [], 0.0)), tau, **exact)
    found = tree.function("forward_kinematics", "base", "beam", "child").call([q, [], 0.0])
    for ours, theirs in zip(found, places, strict=True):
        np.testing.assert_allclose(np.array(ours)[:3], theirs, **exact)
    J = np.array(tree.function("jacobian", "child", "local_world_aligned")(q, [], 0.0))
    by_hand = ca.Function("J", [tree.q], [ca.jacobian(poses[2][0], tree.q)])
    np.testing.assert_allclose(J[:3], np.array(by_hand(q)), **exact)
    kinetic = float(tree.function("energy")(q, v, [], 0.0)[0])
    assert kinetic == pytest.approx(0.5 * v @ M @ v, rel=1e-13)


def test_a_frame_at_the_tip_turns_as_its_columns_say() -> None:
    """The hand-written body itself: rate of the rotation against S η̇."""
    eta, rate = SX.sym("eta"), SX.sym("rate")
    motion = Bending(rigid_inertia(parts()[1]), eta, rate).frame_motion()
    moved = ca.reshape(ca.jtimes(ca.vec(motion.R), eta, rate), 3, 3)
    gap = ca.Function("gap", [eta, rate], [motion.R.T @ moved - skew(motion.S * rate)])
    assert np.abs(np.array(gap(0.7, 1.3))).max() < 1e-14
