"""Arms of three flexible links of point masses on hinges, with the motion of every mass by plain formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as da
from tests.helpers.flexible_bodies import PointMasses
from tests.helpers.joint_coordinates import clamped_points

# central differences of eighth order: of a step h the error is h⁸/630 or h⁸/3150 of a ninth or tenth derivative
FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
STEP = 0.02


def differentiate(x: Callable[[float], Any], weights: Any = FIRST, order: int = 1) -> Any:
    """Derivative of x(s) at s = 0."""
    return sum(w * x(k * STEP) for k, w in zip(range(-4, 5), weights, strict=True) if w) / STEP**order


def tilde(x: Any) -> Any:
    """x~ with x~ y = x × y."""
    return np.cross(np.eye(3), x)


class Arm:
    """Links of point masses: the node n1 of one carries the hinge to the next, at its fixed node n0 and its frame."""

    def __init__(self, seed: int, modes: tuple[int, ...] = (2, 3, 2), *, payload: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.modes = modes
        links = (clamped_points(seed + k, count) for k, count in enumerate(modes))
        self.links: list[PointMasses] = [link.move_frame(link.places[0]) for link in links]
        self.axes = [x / np.linalg.norm(x) for x in rng.normal(size=(len(modes), 3))]
        self.gravity = np.array([1.0, -2.0, -9.0])
        self.load = (rng.uniform(0.1, 0.3, 4), rng.uniform(-0.2, 0.2, (4, 3))) if payload else None
        self.m = da.Mechanism("arm", gravity=tuple(self.gravity))
        carrier = self.m.ground.at(0, 0, 0)
        for k, (link, axis) in enumerate(zip(self.links, self.axes, strict=True)):
            body = self.m.add_flexible_body(f"b{k}", link.data())
            self.m.add_revolute(f"j{k}", carrier, body.at("n0"), axis=tuple(axis), axis_b=tuple(axis))
            carrier = body.at("n1")

    @property
    def payload(self) -> da.tree.Payload | None:
        """The masses of the load at the node n1 of the last link."""
        if self.load is None:
            return None
        mass, places = self.load
        center = mass @ places / mass.sum()
        arms = places - center
        inertia = sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(mass, arms, strict=True))
        return da.tree.Payload(f"b{len(self.modes) - 1}.n1", mass.sum(), tuple(center), inertia.tolist())

    @property
    def masses(self) -> Any:
        return np.concatenate([link.masses for link in self.links] + ([self.load[0]] if self.load else []))

    def frames(self, q: Any, linear: bool = False) -> list[tuple[Any, Any]]:
        """Axes and origin of every link, and of the node at the tip.  linear : nodes turn by 1 + θ~."""
        n, frames = len(self.modes), []
        eta = np.split(q[n:], np.cumsum(self.modes)[:-1])
        R, at = np.eye(3), np.zeros(3)
        for link, axis, angle, x in zip(self.links, self.axes, q[:n], eta, strict=True):
            R = R @ Rotation.from_rotvec(angle * axis).as_matrix()
            frames.append((R, at))
            at, turn = at + R @ (link.places[1] + link.modes[1] @ x), link.rotations[1] @ x
            R = R @ (np.eye(3) + tilde(turn) if linear else Rotation.from_rotvec(turn).as_matrix())
        return [*frames, (R, at)]

    def places(self, q: Any) -> Any:
        """Of all masses in the world, (n, 3)."""
        *frames, (R, at) = self.frames(q)
        eta = np.split(q[len(self.modes) :], np.cumsum(self.modes)[:-1])
        moved = [
            r + (link.places + link.modes @ x) @ A.T for (A, r), link, x in zip(frames, self.links, eta, strict=True)
        ]
        return np.concatenate(moved + ([at + self.load[1] @ R.T] if self.load else []))

    def jacobian(self, q: Any) -> Any:
        """(n, 3, nv)."""
        return np.stack([differentiate(lambda s, e=e: self.places(q + s * e)) for e in np.eye(len(q))], axis=-1)

    def dynamics(self, q: Any, v: Any) -> tuple[Any, Any]:
        """M = Σ m JᵀJ, and Σ m Jᵀ (J̇ v - g)."""
        J, m = self.jacobian(q), self.masses
        a = differentiate(lambda s: self.places(q + s * v), SECOND, 2) - self.gravity
        return np.einsum("n,nia,nib->ab", m, J, J), np.einsum("n,nia,ni->a", m, J, a)
