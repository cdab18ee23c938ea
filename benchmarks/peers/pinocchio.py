"""Pinocchio: proximal constraint dynamics with Baumgarte feedback, Runge-Kutta 4 in a Python loop."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin

from benchmarks import reference
from benchmarks.chain import GRAVITY, STEP, affordable
from benchmarks.four_bar import pin_error
from benchmarks.harness import Emit, Method, cpu_time, search


def _bar(model: Any, parent: int, offset: float, length: float, mass: float, name: str) -> int:
    """A uniform bar hinged about z at its left end."""
    joint = model.addJoint(parent, pin.JointModelRZ(), _shift(offset), name)
    moment = mass * length**2 / 12
    inertia = pin.Inertia(mass, np.array([length / 2, 0, 0]), np.diag([0, moment, moment]))
    model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return int(joint)


def _shift(x: float) -> Any:
    return pin.SE3(np.eye(3), np.array([x, 0.0, 0.0]))


def _planar_model() -> Any:
    model = pin.Model()
    model.gravity.linear = np.array([0, -GRAVITY, 0])
    return model


class FourBar:
    """The crank-rocker as a tree with one closed loop: cut at C ("branches") or at D ("serial")."""

    def __init__(self, tree: str, gain: float) -> None:
        self.model = _planar_model()
        crank = _bar(self.model, 0, 0.0, reference.CRANK, reference.CRANK, "A")
        coupler = _bar(self.model, crank, reference.CRANK, reference.COUPLER, reference.COUPLER, "B")
        if tree == "branches":
            rocker = _bar(self.model, 0, reference.GROUND, reference.ROCKER, reference.ROCKER, "D")
            ends = (coupler, _shift(reference.COUPLER), rocker, _shift(reference.ROCKER))
        else:
            rocker = _bar(self.model, coupler, reference.COUPLER, reference.ROCKER, reference.ROCKER, "C")
            ends = (rocker, _shift(reference.ROCKER), 0, _shift(reference.GROUND))
        loop = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, self.model, *ends, pin.ReferenceFrame.LOCAL)
        loop.m_baumgarte_parameters.Kp, loop.m_baumgarte_parameters.Kd = gain**2, 2 * gain
        self.constraints = pin.StdVec_RigidConstraintModel()
        self.constraints.append(loop)
        self.constraint_data = pin.StdVec_RigidConstraintData()
        self.constraint_data.append(loop.createData())
        self.data = self.model.createData()
        pin.initConstraintDynamics(self.model, self.data, self.constraints, self.constraint_data)
        self.q0, self.v0 = reference.joint_start(tree)

    def simulate(self, steps: int) -> np.ndarray:
        """Crank angles at the samples, with so many steps between them."""
        h = reference.SAMPLE / steps
        q, v, tau = self.q0, self.v0, np.zeros(3)
        proximal = pin.ProximalSettings(1e-14, 1e-12, 1)
        model, data, constraints, constraint_data = self.model, self.data, self.constraints, self.constraint_data
        dynamics = pin.constraintDynamics
        angles = []
        for _ in range(round(reference.DURATION / reference.SAMPLE)):
            for _ in range(steps):
                a1 = dynamics(model, data, q, v, tau, constraints, constraint_data, proximal)
                v2 = v + (h / 2) * a1
                a2 = dynamics(model, data, q + (h / 2) * v, v2, tau, constraints, constraint_data, proximal)
                v3 = v + (h / 2) * a2
                a3 = dynamics(model, data, q + (h / 2) * v2, v3, tau, constraints, constraint_data, proximal)
                v4 = v + h * a3
                a4 = dynamics(model, data, q + h * v3, v4, tau, constraints, constraint_data, proximal)
                q = q + (h / 6) * (v + 2 * (v2 + v3) + v4)
                v = v + (h / 6) * (a1 + 2 * (a2 + a3) + a4)
            angles.append(q[0])
        return np.array(angles)


def four_bar(task: dict[str, Any], emit: Emit) -> None:
    """Both trees, with the Baumgarte gains [1/s] that a scan found to be the best ones."""

    def run(system: FourBar, steps: int) -> tuple[float, float]:
        cpu, angle = cpu_time(partial(system.simulate, steps))
        return cpu, pin_error(reference.CRANK * np.column_stack((np.cos(angle), np.sin(angle))), task)

    methods = [
        Method(
            f"RK4, {tree}, Baumgarte {gain}",
            partial(run, FourBar(tree, gain)),
            lambda k: {"step": reference.SAMPLE / k},
            12,
        )
        for tree, gain in (("serial", 40.0), ("branches", 30.0), ("branches", 2.0), ("serial", 2.0))
    ]
    search(methods, task["tolerances"], emit)


def chain(task: dict[str, Any], emit: Emit) -> None:
    """Articulated-body algorithm in joint coordinates, Runge-Kutta 4 in a Python loop."""
    begin = time.perf_counter()
    model = _planar_model()
    parent = 0
    for i in range(task["bodies"]):
        parent = _bar(model, parent, 1.0 if i else 0.0, 1.0, 1.0, f"joint{i}")
    data = model.createData()
    built = time.perf_counter() - begin
    aba, h = pin.aba, STEP

    def simulate(steps: int) -> None:
        q, v = np.zeros(model.nq), np.zeros(model.nv)
        tau = np.zeros(model.nv)
        for _ in range(steps):
            a1 = aba(model, data, q, v, tau)
            v2 = v + (h / 2) * a1
            a2 = aba(model, data, q + (h / 2) * v, v2, tau)
            v3 = v + (h / 2) * a2
            a3 = aba(model, data, q + (h / 2) * v2, v3, tau)
            v4 = v + h * a3
            a4 = aba(model, data, q + h * v3, v4, tau)
            q = q + (h / 6) * (v + 2 * (v2 + v3) + v4)
            v = v + (h / 6) * (a1 + 2 * (a2 + a3) + a4)

    affordable("RK4, joint coordinates", simulate, task, emit, build_s=built)


def accelerations(task: dict[str, Any], emit: Emit) -> None:
    """The articulated-body algorithm called state by state: microseconds per state."""
    model = pin.Model()
    joint = 0
    kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    for i in range(7):
        joint = model.addJoint(joint, kinds[i % 3](), _shift(0.0 if i == 0 else 1.0), f"hinge{i}")
        inertia = pin.Inertia(1.0, np.array([0.5, 0, 0]), np.diag([0.01, 0.085, 0.085]))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    data = model.createData()
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-1, 1, (task["states"], 7)), rng.uniform(-1, 1, (task["states"], 7))
    still = np.zeros(7)

    def run() -> None:
        for a, b in zip(q, v, strict=True):
            pin.aba(model, data, a, b, still)

    run()
    cpu = min(cpu_time(run)[0] for _ in range(5))
    emit({"us": 1e6 * cpu / task["states"]})
