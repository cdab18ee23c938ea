"""MuJoCo: Runge-Kutta 4, the loop closed by a connect constraint."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import mujoco
import numpy as np

from benchmarks import reference
from benchmarks.chain import GRAVITY, STEP, affordable
from benchmarks.four_bar import pin_error
from benchmarks.harness import Emit, Method, cpu_time, search

# Everything that a mechanism of ideal hinges does not need is off. One Newton iteration is enough: the problem has
# equalities only, so it is quadratic.
OPTION = (
    '<compiler boundinertia="0" balanceinertia="false"/>'
    '<option timestep="{step!r}" gravity="0 -9.81 0" integrator="RK4"'
    ' solver="Newton" iterations="1" jacobian="dense">'
    '<flag contact="disable" limit="disable" frictionloss="disable" actuation="disable" sensor="disable"'
    ' refsafe="disable"/></option>'
)


def _bar(name: str, offset: float, length: float, mass: float, inside: str = "") -> str:
    """A uniform bar hinged about z at its left end."""
    moment = mass * length**2 / 12
    return (
        f'<body name="{name}" pos="{offset!r} 0 0"><inertial pos="{length / 2!r} 0 0" mass="{mass!r}" '
        f'diaginertia="1e-6 {moment!r} {moment!r}"/><joint type="hinge" axis="0 0 1"/>{inside}</body>'
    )


def _four_bar(tree: str, stiffness: float, step: float) -> Any:
    """The crank-rocker, cut at C ("branches") or D ("serial").

    MuJoCo's constraints are soft. The impedance is at its upper bound, and the feedback on the gap is critically
    damped with a frequency of ``stiffness / step``: the stiffer, the smaller the softness, until the step is unstable.
    """
    rocker = reference.ROCKER
    if tree == "branches":
        coupler = _bar("coupler", reference.CRANK, reference.COUPLER, reference.COUPLER)
        bars = _bar("crank", 0.0, reference.CRANK, reference.CRANK, coupler)
        bars += _bar("rocker", reference.GROUND, rocker, rocker)
        ends = f'body1="coupler" body2="rocker" anchor="{reference.COUPLER} 0 0"'
        anchor = (rocker, 0, 0)
    else:
        inside = _bar("rocker", reference.COUPLER, rocker, rocker)
        coupler = _bar("coupler", reference.CRANK, reference.COUPLER, reference.COUPLER, inside)
        bars = _bar("crank", 0.0, reference.CRANK, reference.CRANK, coupler)
        ends = f'body1="rocker" anchor="{rocker} 0 0"'
        anchor = (reference.GROUND, 0, 0)
    frequency = stiffness / step
    softness = f'solref="{-(frequency**2)!r} {-2 * frequency!r}" solimp="0.9999 0.9999 0.001"'
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco>{OPTION.format(step=step)}<worldbody>{bars}</worldbody>"
        f"<equality><connect {ends} {softness}/></equality></mujoco>"
    )
    model.eq_data[0, 3:6] = anchor  # the compiler takes it from the drawing, where the loop is open
    return model


def four_bar(task: dict[str, Any], emit: Emit) -> None:
    """Both trees, with the stiffnesses that a scan found to be the best ones."""

    def run(tree: str, stiffness: float, steps: int) -> tuple[float, float]:
        model = _four_bar(tree, stiffness, reference.SAMPLE / steps)
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = reference.joint_start(tree)
        angle = np.empty(len(task["reference"]))

        def simulate() -> None:
            for i in range(len(angle)):
                mujoco.mj_step(model, data, steps)
                angle[i] = data.qpos[0]

        cpu, _ = cpu_time(simulate)
        return cpu, pin_error(reference.CRANK * np.column_stack((np.cos(angle), np.sin(angle))), task)

    methods = [
        Method(
            f"RK4, {tree}, stiffness {stiffness}",
            partial(run, tree, stiffness),
            lambda k: {"step": reference.SAMPLE / k},
            16,
        )
        for tree, stiffness in (("branches", 0.3), ("branches", 0.2), ("serial", 0.2))
    ]
    search(methods, task["tolerances"], emit)


def chain(task: dict[str, Any], emit: Emit) -> None:
    """Hinged rods in joint coordinates."""
    begin = time.perf_counter()
    specification = mujoco.MjSpec()
    option = specification.option
    option.timestep, option.gravity, option.integrator = STEP, [0, -GRAVITY, 0], mujoco.mjtIntegrator.mjINT_RK4
    option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT
    body = specification.worldbody
    for i in range(task["bodies"]):
        body = body.add_body(pos=[1.0 if i else 0.0, 0, 0])
        body.mass, body.ipos, body.inertia, body.explicitinertial = 1.0, [0.5, 0, 0], [1e-6, 1 / 12, 1 / 12], True
        body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
    specification.compiler.balanceinertia = False
    model = specification.compile()
    data = mujoco.MjData(model)
    built = time.perf_counter() - begin

    def simulate(steps: int) -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_step(model, data, steps)

    affordable("RK4, joint coordinates", simulate, task, emit, build_s=built)


def rollout(task: dict[str, Any], emit: Emit) -> None:
    """MuJoCo's own loop over many machines, one thread: microseconds per machine and step."""
    from mujoco import rollout as rolling

    machines, steps = 64, 1000
    model = _four_bar("branches", 0.5, 2e-3)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = reference.joint_start("branches")
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    first = np.empty(size)
    mujoco.mj_getState(model, data, first, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states = np.tile(first, (machines, 1))

    def run() -> None:
        rolling.rollout([model] * machines, [data], states, nstep=steps)

    run()
    cpu = min(cpu_time(run)[0] for _ in range(5))
    emit({"us": 1e6 * cpu / machines / steps, "machines": machines, "steps": steps})
