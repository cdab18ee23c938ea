"""The same machine in MuJoCo: states for ours, mass matrix, bias, passive forces and rigid accelerations.

Coordinates have the same meaning: a free joint has the place and the Euler parameters (scalar first) of its body, with
velocities in world axes and angular velocities in body axes; only the order differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.equations import EquationsOfMotion, State

mujoco: Any = __import__("pytest").importorskip("mujoco")
FREE, BALL, SLIDE, HINGE = range(4)


@dataclass
class MujocoTwin:
    """A model of MuJoCo and the places of its coordinates and speeds in our equations."""

    model: Any
    eqs: EquationsOfMotion

    def __post_init__(self) -> None:
        self.data = mujoco.MjData(self.model)
        self.q_places: list[int] = []
        self.v_places: list[int] = []
        counts: dict[int, int] = {}
        for j in range(self.model.njnt):
            body = int(self.model.jnt_bodyid[j])
            counts[body] = counts.get(body, 0) + 1
            name = self.model.joint(j).name or f"{self.model.body(body).name or f'body{body}'}.joint{counts[body]}"
            if f"{name}_joint" in {joint.name for joint in self.eqs.joints}:
                name = f"{name}_joint"
            q, v = {
                HINGE: (["angle"], ["rate"]), SLIDE: (["displacement"], ["speed"]),
                BALL: (["e0", "e1", "e2", "e3"], ["wx", "wy", "wz"]),
                FREE: (["x", "y", "z", "e0", "e1", "e2", "e3"], ["vx", "vy", "vz", "wx", "wy", "wz"]),
            }[int(self.model.jnt_type[j])]  # fmt: skip
            self.q_places += [self.eqs.coordinates.index[f"{name}.{c}"] for c in q]
            self.v_places += [self.eqs.speeds.index[f"{name}.{c}"] for c in v]

    def take(self, state: State) -> None:
        """Put MuJoCo into our state."""
        self.data.qpos[:] = state.q[self.q_places]
        self.data.qvel[:] = state.v[self.v_places]
        mujoco.mj_forward(self.model, self.data)

    def ordered(self, values: FloatArray) -> FloatArray:
        """Numbers of ours, one for each speed, in MuJoCo's order."""
        return values[..., self.v_places]

    def mass_matrix(self) -> FloatArray:
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return M

    def rigid_accelerations(self, rows: list[tuple[FloatArray, FloatArray]], effort: FloatArray) -> FloatArray:
        """v̇ of M v̇ = effort + passive - bias + Jᵀ λ, J v̇ = r: rows of MuJoCo's own Jacobians, held exactly."""
        M, n = self.mass_matrix(), self.model.nv
        right = effort + self.data.qfrc_passive - self.data.qfrc_bias
        J = np.concatenate([one[0] for one in rows]) if rows else np.zeros((0, n))
        r = np.concatenate([one[1] for one in rows]) if rows else np.zeros(0)
        system = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
        return np.asarray(np.linalg.lstsq(system, np.concatenate([right, r]), rcond=1e-12)[0][:n])

    def point_row(self, body: str, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """J and J̇ v of a point of a body (its coordinates), and of its rotation, in world axes."""
        k = self.model.body(body).id
        place = self.data.xpos[k] + self.data.xmat[k].reshape(3, 3) @ point
        Jp, Jr, dJp, dJr = (np.zeros((3, self.model.nv)) for _ in range(4))
        mujoco.mj_jac(self.model, self.data, Jp, Jr, place, k)
        mujoco.mj_jacDot(self.model, self.data, dJp, dJr, place, k)
        return Jp, Jr, dJp @ self.data.qvel, dJr @ self.data.qvel


def load_both(path: Path, cut: tuple[str, ...] = ()) -> tuple[da.Mechanism, MujocoTwin]:
    """cut : equalities, which rows close, as in MuJoCo."""
    m = da.read_mjcf(path)
    eqs = da.equations(m, coordinates="joint", cut=cut)
    return m, MujocoTwin(mujoco.MjModel.from_xml_path(str(path)), eqs)


def random_state(eqs: EquationsOfMotion, random: np.random.Generator, spread: float = 0.6) -> State:
    q = np.array(eqs.placement.q) + spread * random.normal(size=eqs.nq)
    for block in eqs.quaternions:
        q[block.part] /= np.linalg.norm(q[block.part])
    return eqs.state(q, random.normal(size=eqs.nv))
