"""PID loops of joints with feed-forward of the efforts against gravity."""

import math

import numpy as np
import pytest

import dalembert as da
from dalembert.control import joint_pid, pid
from dalembert.core.errors import ModelError

LIMIT = 40.0


@pytest.fixture(scope="module")
def eqs():
    """A rigid upper arm and a forearm that bends."""
    frame = da.structures.Frame("rod")
    frame.add_points(["root", "tip"], [[0, 0, 0], [0.5, 0, 0]])
    square = da.structures.Section.rectangle(0.01, 0.01)
    frame.add_beam("rod", "root", "tip", section=square, material="steel", elements=4)
    data = da.structures.flexible_body(frame, basis="clamped", fixed="root", modes=2)
    m = da.Mechanism("arm")
    upper = m.add_body("upper", mass=1.0, inertia=da.rod(0.5))
    fore = m.add_flexible_body("fore", data, damping=0.01)
    joints = [m.add_revolute("shoulder", m.ground.at(0, 0, 0), upper.at(-0.25, 0, 0), axis=(0, -1, 0)),
              m.add_revolute("elbow", upper.at(0.25, 0, 0), fore.at("root"), axis=(0, -1, 0))]  # fmt: skip
    for joint in joints:
        m.add_actuator(f"{joint.name}_motor", joint=joint.name, input=f"{joint.name}_torque")
    return da.equations(m, coordinates="joint")


def loops(dt=None, limits=None, integral=1.0):
    gains = {"shoulder": (70.0, 140.0, 7.0), "elbow": (13.0, 26.0, 1.0)}
    return [
        pid(kp, integral * ki, kd, reads=f"{j}.angle", drives=f"{j}_torque", dt=dt, limits=limits)
        for j, (kp, ki, kd) in gains.items()
    ]


def test_feed_forward_is_gravity_of_the_undeformed_arm(eqs):
    angles = {"shoulder.angle": 0.3, "elbow.angle": -0.8}
    state = eqs.state(q=[angles.get(name, 0.0) for name in eqs.coordinates.names])
    efforts = da.tree.gravity(eqs, state)
    rows = [eqs.speeds.index[f"{name}.rate"] for name in ("shoulder", "elbow")]
    feed_forward = np.array(joint_pid(eqs, loops()).feed_forward(list(angles.values()))).ravel()
    assert feed_forward == pytest.approx(efforts[rows], rel=1e-12)


@pytest.mark.spec("001-C32")
def test_measured_angles_are_replayed_by_the_loops(eqs):
    """Set points are angles; the loops absorb what feed-forward does not know, here a sagging link."""
    time = np.linspace(0.0, 3.0, 601)
    x = np.clip(time / 1.0, 0.0, 1.0)
    smooth = x**3 * (10 - 15 * x + 6 * x**2)
    angles = {"shoulder.angle": 0.3 * smooth, "elbow.angle": -0.5 * smooth}
    measured = da.Record.from_channels(time, angles, dict.fromkeys(angles, "rad"))
    law = joint_pid(eqs, loops())  # continuous: collocated loops are passive towards the modes
    start = da.assemble(eqs, dict.fromkeys(eqs.coordinates.names, 0.0))
    run = da.simulate(eqs, 3.0, start=start, controller=law, references=measured, every=0.01, progress=False)
    for name, angle in angles.items():
        moved = np.ptp(angle)
        assert np.abs(run[name] - np.interp(run.time, time, angle)).max() < 0.05 * moved
        assert abs(run[name][-1] - angle[-1]) < 1e-3 * moved  # integrals: no error remains
    hold = {name: angle[-1] for name, angle in angles.items()}
    efforts = da.equilibrium(eqs, start=start, hold=hold, efforts=list(hold)).efforts
    assert [run[name][-1] for name in law.drives] == pytest.approx([efforts[name] for name in hold], rel=1e-3)


@pytest.mark.parametrize("dt", [None, 2e-3])
def test_the_sum_of_loop_and_feed_forward_keeps_its_limits_and_the_integral_stops(eqs, dt):
    law = joint_pid(eqs, loops(dt=dt, limits=LIMIT)).law()
    states, far = np.zeros(len(law.state.names)), [math.pi / 2, 0.0]
    u, after = law.function([0.0, 0.0], states, far, [], 0.0)
    integral = law.state.names.index("shoulder.angle.integral")
    assert float(u[0]) == LIMIT
    assert float(after[integral]) == 0.0
    free = joint_pid(eqs, loops(dt=dt)).within({"shoulder_torque": (-LIMIT, LIMIT)}).law()
    assert float(free.function([0.0, 0.0], states, far, [], 0.0)[0][0]) == LIMIT


def test_loops_must_differ_in_their_inputs_and_share_their_sample_time(eqs):
    first, second = loops()
    for wrong in ([], [first, first], [first, loops(dt=1e-3)[1]]):
        with pytest.raises(ModelError) as error:
            joint_pid(eqs, wrong)
        assert error.value.code == "wrong-shape"
    with pytest.raises(ModelError) as error:
        joint_pid(eqs, [pid(1.0, reads="wrist.angle", drives=second.driven)])
    assert error.value.code == "unknown-name"
