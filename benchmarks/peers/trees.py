"""Trees in Pinocchio, MuJoCo and Drake: functions of a chain of hinges and of a humanoid, called from Python."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import trees
from benchmarks.harness import Emit, Method, cpu_time, search
from benchmarks.trees import FUNCTIONS, HUMANOID, STATES, per_call

Call = tuple[Callable[[], Any], Callable[[], Any]]  # a function, and its results


def measure(calls: dict[str, Call], emit: Emit) -> None:
    """Microseconds of each call; what it gives is compared with others."""
    for name in FUNCTIONS:
        if name in calls:
            call, result = calls[name]
            call()
            values = [np.asarray(x, dtype=float).tolist() for x in result()]
            emit({"function": name, "us": 1e6 * per_call(call), "result": values})


# --- Pinocchio -------------------------------------------------------------------------------------------------------


def _chain_model(joints: int) -> Any:
    import pinocchio as pin

    model, parent = pin.Model(), 0
    kinds = {"z": pin.JointModelRZ, "y": pin.JointModelRY, "x": pin.JointModelRX}
    for k in range(joints):
        shift = pin.SE3(np.eye(3), np.array([trees.OFFSET if k else 0.0, 0.0, 0.0]))
        parent = model.addJoint(parent, kinds[trees.axis_of(k)](), shift, f"joint{k}")
        inertia = pin.Inertia(trees.MASS, np.array([trees.CENTRE, 0.0, 0.0]), np.diag(trees.INERTIA))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    return model


def _pinocchio_calls(model: Any, q: Any, v: Any, x: Any) -> dict[str, Call]:
    import pinocchio as pin

    data = model.createData()

    def full(M: Any) -> Any:
        return np.triu(M) + np.triu(M, 1).T

    return {
        "mass_matrix": (partial(pin.crba, model, data, q), lambda: [full(data.M)]),
        "inverse_dynamics": (partial(pin.rnea, model, data, q, v, x), lambda: [data.tau]),
        "forward_dynamics": (partial(pin.aba, model, data, q, v, x), lambda: [data.ddq]),
        "inverse_dynamics_derivatives": (
            partial(pin.computeRNEADerivatives, model, data, q, v, x),
            lambda: [data.dtau_dq, data.dtau_dv, full(data.M)],
        ),
        "forward_dynamics_derivatives": (
            partial(pin.computeABADerivatives, model, data, q, v, x),
            lambda: [data.ddq_dq, data.ddq_dv, full(data.Minv)],
        ),
    }


def pinocchio(task: dict[str, Any], emit: Emit) -> None:
    """A chain, or the humanoid with a free base, whose file is named in the first line."""
    import pinocchio as pin

    if task["joints"] is None:
        folder = Path(pin.__file__).parents[4] / "share"
        path = folder / HUMANOID
        model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        emit({"file": str(path), "folder": str(folder), "speeds": model.nv})
        q = pin.integrate(model, pin.neutral(model), 0.3 * np.ones(model.nv))
        _, v, x = trees.draw(model.nv)
    else:
        model = _chain_model(task["joints"])
        q, v, x = trees.draw(task["joints"])
    measure(_pinocchio_calls(model, q, v, x), emit)


def simulate_pinocchio(task: dict[str, Any], emit: Emit) -> None:
    """The arm with viscous joints: articulated bodies, Runge-Kutta 4 in a Python loop."""
    import pinocchio as pin

    model = _chain_model(trees.ARM)
    data = model.createData()
    aba, damping = pin.aba, trees.DAMPING
    reference = np.array(task["reference"])

    def run(steps: int) -> Any:
        h = trees.SAMPLE / steps
        q, v = np.array(trees.POSE), np.zeros(trees.ARM)
        angles = []
        for _ in range(len(reference)):
            for _ in range(steps):
                a1 = aba(model, data, q, v, -damping * v)
                v2 = v + (h / 2) * a1
                a2 = aba(model, data, q + (h / 2) * v, v2, -damping * v2)
                v3 = v + (h / 2) * a2
                a3 = aba(model, data, q + (h / 2) * v2, v3, -damping * v3)
                v4 = v + h * a3
                a4 = aba(model, data, q + h * v3, v4, -damping * v4)
                q = q + (h / 6) * (v + 2 * (v2 + v3) + v4)
                v = v + (h / 6) * (a1 + 2 * (a2 + a3) + a4)
            angles.append(q)
        return np.array(angles)

    def once(steps: int) -> tuple[float, float]:
        cpu, angles = cpu_time(partial(run, steps))
        return cpu, float(np.abs(angles - reference).max())

    search([Method("RK4", once, lambda k: {"step": trees.SAMPLE / k}, 16)], task["tolerances"], emit)


# --- MuJoCo ----------------------------------------------------------------------------------------------------------


def _mujoco_chain(joints: int) -> Any:
    import mujoco

    specification = mujoco.MjSpec()
    specification.option.gravity = [0.0, 0.0, -trees.GRAVITY]
    specification.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT
    specification.compiler.balanceinertia = False
    body = specification.worldbody
    for k in range(joints):
        body = body.add_body(pos=[trees.OFFSET if k else 0.0, 0.0, 0.0])
        body.mass, body.ipos, body.inertia = trees.MASS, [trees.CENTRE, 0.0, 0.0], list(trees.INERTIA)
        body.explicitinertial = True
        body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=trees.AXES[trees.axis_of(k)])
    return specification.compile()


def _mujoco_humanoid(path: str) -> Any:
    import mujoco

    specification = mujoco.MjSpec.from_string(bare_urdf(path))
    specification.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    specification.compiler.balanceinertia = True
    for body in specification.worldbody.bodies:
        body.add_freejoint()
    return specification.compile()


def mujoco(task: dict[str, Any], emit: Emit) -> None:
    """State and accelerations stand in MuJoCo's own memory; it has no derivatives in closed form."""
    import mujoco as mj

    model = _mujoco_chain(task["joints"]) if task["joints"] else _mujoco_humanoid(task["file"])
    data = mj.MjData(model)
    q, v, x = trees.draw(model.nv)
    if task["joints"]:
        data.qpos[:] = q
    else:
        data.qpos[7:] = 0.3
    data.qvel[:] = v

    def mass() -> None:
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)
        mj.mj_makeM(model, data)

    def read_mass() -> list[Any]:
        M = np.zeros((model.nv, model.nv))
        mj.mj_fullM(model, data, M)
        return [M]

    measure({"mass_matrix": (mass, read_mass)}, emit)
    data.qfrc_applied[:] = x
    measure({"forward_dynamics": (partial(mj.mj_forward, model, data), lambda: [data.qacc])}, emit)
    data.qfrc_applied[:] = 0.0
    data.qacc[:] = x
    measure({"inverse_dynamics": (partial(mj.mj_inverse, model, data), lambda: [data.qfrc_inverse])}, emit)


def rollout(task: dict[str, Any], emit: Emit) -> None:
    """MuJoCo's own loop over many machines, one thread: microseconds per machine and step."""
    import mujoco as mj
    from mujoco import rollout as rolling

    machines, steps = 1000, STATES // 1000
    model = _mujoco_chain(trees.ARM)
    data = mj.MjData(model)
    q, v, _ = trees.draw_states(machines)
    states = np.zeros((machines, mj.mj_stateSize(model, mj.mjtState.mjSTATE_FULLPHYSICS)))
    states[:, 1 : 1 + trees.ARM], states[:, 1 + trees.ARM :] = q, v

    def run() -> None:
        rolling.rollout([model] * machines, [data], states, nstep=steps)

    run()
    emit({"us": 1e6 * min(cpu_time(run)[0] for _ in range(5)) / machines / steps})


# --- Drake -----------------------------------------------------------------------------------------------------------


def _drake_chain(joints: int) -> Any:
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import RevoluteJoint, SpatialInertia, UnitInertia

    plant = MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -trees.GRAVITY])
    parent = plant.world_frame()
    unit = UnitInertia(*(x / trees.MASS for x in trees.INERTIA)).ShiftFromCenterOfMass([-trees.CENTRE, 0.0, 0.0])
    inertia = SpatialInertia(trees.MASS, [trees.CENTRE, 0.0, 0.0], unit)
    for k in range(joints):
        body = plant.AddRigidBody(f"body{k}", inertia)
        shift = RigidTransform([trees.OFFSET if k else 0.0, 0.0, 0.0])
        plant.AddJoint(RevoluteJoint(
            f"joint{k}", plant.AddFrame(_fixed(f"place{k}", parent, shift)), body.body_frame(),
            trees.AXES[trees.axis_of(k)],
        ))  # fmt: skip
        parent = body.body_frame()
    plant.Finalize()
    return plant


def _fixed(name: str, parent: Any, shift: Any) -> Any:
    from pydrake.multibody.tree import FixedOffsetFrame

    return FixedOffsetFrame(name, parent, shift)


def drake(task: dict[str, Any], emit: Emit) -> None:
    """A chain or the humanoid; Drake keeps results of a state, so that every call sets the state anew."""
    from pydrake.autodiffutils import ExtractGradient, InitializeAutoDiff
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import MultibodyForces, MultibodyForces_

    if task["joints"] is None:
        from pydrake.multibody.parsing import Parser

        plant = MultibodyPlant(0.0)
        Parser(plant).AddModelsFromString(bare_urdf(task["file"]), "urdf")
        plant.Finalize()
        context = plant.CreateDefaultContext()
        _, v, x = trees.draw(plant.num_velocities())
        state = np.concatenate([plant.GetPositions(context), v])
        state[-2 * plant.num_velocities() + 6 : -plant.num_velocities()] = 0.3
    else:
        plant = _drake_chain(task["joints"])
        context = plant.CreateDefaultContext()
        q, v, x = trees.draw(task["joints"])
        state = np.concatenate([q, v])
    forces = MultibodyForces(plant)
    found: dict[str, Any] = {}

    def keep(name: str, call: Callable[[], Any]) -> Call:
        def run() -> None:
            plant.SetPositionsAndVelocities(context, state)
            found[name] = call()

        return run, lambda: [found[name]]

    def inverse() -> Any:
        none = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, none)  # gravity
        return plant.CalcInverseDynamics(context, x, none)

    applied = plant.get_applied_generalized_force_input_port()
    applied.FixValue(context, x)
    port = plant.get_generalized_acceleration_output_port()
    measure({
        "mass_matrix": keep("mass_matrix", lambda: plant.CalcMassMatrix(context)),
        "inverse_dynamics": keep("inverse_dynamics", inverse),
        "forward_dynamics": keep("forward_dynamics", lambda: port.Eval(context)),
    }, emit)  # fmt: skip
    if task["joints"] is None:
        return
    del forces
    dual = plant.ToAutoDiffXd()
    dual_context = dual.CreateDefaultContext()
    n = task["joints"]

    def derivatives() -> Any:
        y = InitializeAutoDiff(np.concatenate([state, x]))
        dual.SetPositionsAndVelocities(dual_context, y[: 2 * n])
        none = MultibodyForces_[type(y[0, 0])](dual)
        dual.CalcForceElementsContribution(dual_context, none)
        return ExtractGradient(dual.CalcInverseDynamics(dual_context, y[2 * n :].ravel(), none))

    def split() -> list[Any]:
        gradient = derivatives()
        return [gradient[:, :n], gradient[:, n : 2 * n], gradient[:, 2 * n :]]

    measure({"inverse_dynamics_derivatives": (derivatives, split)}, emit)


def bare_urdf(path: str) -> str:
    """The text of a URDF file without pictures, collision shapes, gears and friction."""
    root = ET.parse(path).getroot()
    for link in root.findall("link"):
        for kind in ("visual", "collision"):
            for part in link.findall(kind):
                link.remove(part)
    for joint in root.findall("joint"):
        for kind in ("mimic", "dynamics"):
            for part in joint.findall(kind):
                joint.remove(part)
    for kind in ("transmission", "gazebo"):
        for part in root.findall(kind):
            root.remove(part)
    return ET.tostring(root, encoding="unicode")
