"""Composite control: the correction of order two, poles of the whole machine, fast laws, mistakes."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelError, ModelWarning
from dalembert.studies.flexible.tudor import JOINTS, arm
from dalembert.studies.flexible.tudor_control import FREQUENCY, motion

STRAIGHT = {"elbow.angle": [0.0]}


def separated(payload=0.0, order=0, damping=0.0, gravity=False, modes=3):
    eqs = da.equations(arm(modes, damping=damping, gravity=gravity), coordinates="joint").replace(payload=payload)
    return da.separate_scales(eqs, order=order)


def slow_law(two, targets=None, dt=None):
    targets = targets or dict.fromkeys(JOINTS, 0.0)
    return da.control.computed_torque(two.rigid, targets, frequency=FREQUENCY, dt=dt)


def inverse_form(two, state, u0, u2):
    """Accelerations of order two by the inverse of the whole mass matrix, as published, with u₂ inside h₂ too."""
    eqs, n = two.eqs, len(JOINTS)
    sym = ca.SX.sym
    q, v, t = sym("q", eqs.nq), sym("v", eqs.nv), sym("t")
    K = np.array(two.split.matrices(eqs.p)[0])
    p, none = ca.DM(eqs.p), ca.SX(0, 1)
    M = eqs.functions["inertia"](q, p, t)
    C = -eqs.functions["forces"](q, v, none, ca.SX.zeros(n), p, t, none) - ca.vertcat(ca.SX.zeros(n), K @ q[n:])
    x, y = q[n:], v[n:]
    rigid = lambda e: ca.substitute(e, ca.vertcat(x, y), ca.SX.zeros(2 * (eqs.nq - n)))  # noqa: E731
    omega = ca.DM([FREQUENCY[name] for name in JOINTS])
    r = [ca.vertcat(*(motion(target)(t) for target in (1.0, -0.8)))]
    for _ in range(2):
        r.append(ca.jacobian(r[-1], t))
    a = r[2] + 2 * omega * (r[1] - v[:n]) + omega**2 * (r[0] - q[:n])
    held = rigid(M[:n, :n] @ a + C[:n])  # u₀

    def rate(e):
        return ca.jtimes(e, ca.vertcat(q[:n], v[:n], t), ca.vertcat(v[:n], a, ca.SX(1)))

    h0 = rigid(-M[n:, :n] @ ca.solve(M[:n, :n], held - C[:n]) - C[n:])
    dh0 = rate(h0)
    ddh0 = rate(dh0)
    deflection = ca.vertcat(ca.solve(ca.SX(K), h0), ca.solve(ca.SX(K), dh0))
    along = [rigid(ca.jtimes(ca.vec(each), ca.vertcat(x, y), deflection)) for each in (M, C)]
    f = ca.Function("f", [q[:n], v[:n], t], [held, rigid(M), rigid(C), *along, h0, ca.solve(ca.SX(K), ddh0)])
    held, M, C, dM, dC, h0, inertia = (np.array(part) for part in f(*state))
    assert held.ravel() == pytest.approx(u0, rel=1e-12)
    H = np.linalg.inv(M)
    dH = -H @ dM.reshape(M.shape) @ H
    C, dC, h0, inertia = (part.ravel() for part in (C, dC, h0, inertia))
    tt, tf, ft, ff = (np.ix_(a, b) for a in (range(n), range(n, len(M))) for b in (range(n), range(n, len(M))))
    force = [C[:n] - u0, C[n:] + h0]

    def acceleration(u):
        load = -H[ft] @ (dC[:n] - u) - dH[ft] @ force[0] - dH[ff] @ force[1] - inertia
        h2 = np.linalg.solve(H[ff], load)
        parts = -H[tf] @ h2, -H[tt] @ (dC[:n] - u), -dH[tt] @ force[0], -dH[tf] @ force[1]
        return np.sum(parts, axis=0), np.abs(parts).max()

    disturbance = np.linalg.solve(M[tt], u2)  # -D
    (residual, size), (printed, _) = acceleration(u2), acceleration(np.linalg.solve(H[tt], disturbance))
    return residual, printed, size, np.abs(disturbance).max()


@pytest.mark.spec("001-C50", "001-C49", "001-T9")
def test_the_correction_cancels_the_acceleration_of_order_two():
    """By the published form with the inverse of the whole mass matrix; with a block of that inverse it does not."""
    two = separated(0.4, order=2, gravity=True, modes=1)  # with more modes the mass matrix is nearly singular
    slow = slow_law(two, {"shoulder.angle": motion(1.0), "elbow.angle": motion(-0.8)})
    law = da.control.composite(two, slow, workspace=STRAIGHT, correction="motion")
    with pytest.warns(ModelWarning, match="not stable"):
        law = da.control.composite(two, slow, workspace=STRAIGHT)
    state = (np.array([0.3, -0.2]), np.array([0.5, -0.6]), 0.8)
    values = dict.fromkeys(law.law().reads, 0.0)
    values |= dict(zip(values, [*state[0], 0.0, 0.0, *state[1]], strict=False))
    terms = law.terms(values, state[2])
    residual, printed, size, disturbance = inverse_form(two, state, terms["u0"], terms["u2"])
    assert disturbance > 0.1
    assert np.abs(residual).max() < 1e-12 * size  # of the largest of its four terms
    assert np.abs(printed).max() > 0.1


@pytest.mark.spec("001-C47", "001-C48")
@pytest.mark.parametrize(
    ("payload", "poles"),
    [
        (0.0, [-8.83, -14.55, -17.45, -8.57 + 16.31j, -8.57 - 16.31j]),
        (0.4, [-8.06, -13.46, -19.11, -2.15 + 10.86j, -2.15 - 10.86j]),
    ],
)
def test_slow_poles_of_the_whole_arm_are_the_published_ones(payload, poles):
    two = separated(payload)
    found = da.control.composite(two, slow_law(two), workspace=STRAIGHT).workspace.poles[0]
    for pole in poles:
        assert np.abs(found - pole).min() < 0.005 * abs(pole)
    assert len(found) == 16


def test_the_linear_loop_is_that_of_the_closed_loop():
    """Against the linear model of the machine with its law inside."""
    two = separated(0.2, damping=0.01)
    pose = {"shoulder.angle": 0.4, "elbow.angle": -0.9}
    fast = da.control.lqr(two.fast(da.assemble(two.eqs, pose)), Q=1.0, R=100.0)
    law = da.control.composite(two, slow_law(two, pose), fast, workspace={k: [x] for k, x in pose.items()})
    closed = da.control.close_loop(two.eqs, law)
    model = da.linearize(closed, at=da.assemble(closed, pose))
    poles = np.linalg.eigvals(model.state_space().A)
    for pole in law.workspace.poles[0]:
        assert np.abs(poles - pole).min() < 1e-7 * abs(pole)


def test_a_fast_law_damps_the_fast_modes_of_the_whole_machine():
    two = separated(damping=0.001)
    fast = da.control.lqr(two.fast(), Q=1.0, R=0.01)
    damping = {
        name: da.control.composite(two, slow_law(two), law, workspace=STRAIGHT).workspace.damping.min()
        for name, law in (("slow", None), ("both", fast))
    }
    assert damping["both"] > 1.2 * damping["slow"]


def test_the_plant_with_the_slow_law_has_its_poles():
    two = separated(0.1, damping=0.01)
    law = da.control.composite(two, slow_law(two), workspace=STRAIGHT)
    plant = law.plant({"elbow.angle": 0.0})
    assert plant.inputs == ("shoulder_torque.fast", "elbow_torque.fast")
    for pole in np.linalg.eigvals(plant.A):
        assert np.abs(law.workspace.poles[0] - pole).min() < 1e-7 * abs(pole)


def test_a_sampled_law_has_nearly_the_slow_poles_of_the_continuous_one():
    """The joints weigh little without motors: a pole is at -2e5 rad/s."""
    two = separated(damping=0.02)
    poles = [
        da.control.composite(two, slow_law(two, dt=dt), workspace=STRAIGHT).workspace.poles[0] for dt in (None, 1e-6)
    ]
    for pole in poles[0][np.abs(poles[0]) < 40]:
        assert np.abs(poles[1] - pole).min() < 0.01 * abs(pole)


def test_the_workspace_has_every_angle_where_none_is_named():
    two = separated(damping=0.001)
    loop = da.control.composite(two, slow_law(two)).workspace
    assert loop.poses.shape == (36, 2)
    assert set(loop.worst) == set(JOINTS)
    assert "damping ratio" in repr(loop)


@pytest.mark.spec("001-C62")
def test_the_poles_of_all_poses_are_drawn_with_their_region():
    two = separated(damping=0.02)
    law = da.control.composite(two, slow_law(two), workspace={"elbow.angle": [0.0, 1.0]})
    figure = da.plot(law, region=da.control.PoleRegion(damping=0.1), within=100.0)
    (poles,) = (line for line in figure.axes[0].lines if line.get_label() == "poles")
    near = law.workspace.poles[np.abs(law.workspace.poles) < 100.0]
    assert sorted(poles.get_xdata()) == pytest.approx(sorted(near.real))
    assert "2 poses" in figure.axes[0].get_title(loc="left") + figure.get_suptitle()


def test_mistakes_are_named():
    two = separated()
    slow = slow_law(two)
    with pytest.raises(ModelError, match="one constraint for each"):
        da.control.composite(two, da.control.computed_torque(two.rigid, {"elbow.angle": 0.0}, frequency=1.0,
                                                             actuated="elbow_torque"))  # fmt: skip
    fast = da.control.custom_law("fast", lambda s: -s["elow.angle"], "elbow_torque.fast")
    with pytest.raises(ModelError, match=r"elow.angle"):
        da.control.composite(two, slow, fast)
    fast = da.control.custom_law("fast", lambda s: -s["link1.mode1"], "torque.fast")
    with pytest.raises(ModelError, match=r"torque"):
        da.control.composite(two, slow, fast)
    fast = da.control.custom_law("fast", lambda s: -s["link1.mode1"], "elbow_torque.fast", dt=0.1)
    with pytest.raises(ModelError) as refused:
        da.control.composite(two, slow, fast)
    assert refused.value.code == "sample-time-mismatch"
    with pytest.raises(ModelError, match="wrist"):
        da.control.composite(two, slow, workspace={"wrist.angle": [0.0]})
    with pytest.raises(ModelError, match="correction"):
        da.control.composite(two, slow, correction="none")
    with pytest.raises(ModelError, match="knee"):
        da.control.computed_torque(two.rigid, dict.fromkeys(JOINTS, 0.0), frequency={"knee": 1.0})
    with pytest.raises(ModelError) as refused:
        da.control.computed_torque(two.rigid, dict.fromkeys(JOINTS, 0.0), frequency={"elbow": 1.0})
    assert refused.value.code == "missing-argument"
