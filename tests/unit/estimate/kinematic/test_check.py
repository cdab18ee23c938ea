"""Kinematics-based models: singular poses, rules for sensors, filters that run them (spec 004, C15, C18)."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.estimate import Switching, Window, model_kinematics, process
from dalembert.estimate.kinematic.step import KinematicStep
from tests.helpers.findings import raises
from tests.helpers.kinematic_machines import DT, observer, slider_crank, stepped, two_link


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    return da.equations(slider_crank())


# --- switching ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C18")
def test_inside_the_window_the_chain_of_integrators_goes_on(eqs):
    model = observer(eqs, scheme=3, switching=Switching(0.08, distance=Window("B.angle")))
    at = {"A.angle": np.pi / 2 - 0.02, "A.rate": 12.0, "A.acceleration": 3.0}
    assert model.relation(at).distance < 0.08
    after = stepped(model, model.state(at), 55.0)
    assert after == pytest.approx([np.pi / 2 - 0.02 + DT * 12.0, 12.0 + DT * 3.0, 3.0], abs=1e-14)


@pytest.mark.spec("004-C18")
@pytest.mark.parametrize("turn", [-3, -1, 0, 1, 2])
def test_the_window_repeats_every_half_turn(eqs, turn):
    model = observer(eqs, switching=Switching(0.08, distance=Window("B.angle")))
    for off in (-0.05, 0.05):
        angle = np.pi / 2 + turn * np.pi + off
        th2 = np.arccos(-0.5 * np.cos(angle))
        wanted = abs((angle - th2 + np.pi / 2) % np.pi - np.pi / 2)
        assert model.relation({"A.angle": angle}).distance == pytest.approx(wanted, abs=1e-12)


@pytest.mark.spec("004-C18")
def test_the_determinant_is_measured_by_its_largest_in_the_workspace(eqs):
    """Crank 0.3: S² over its largest; the same for a machine a thousand times larger: no unit in the threshold."""
    small = observer(eqs, switching=Switching(0.01))
    large = model_kinematics(slider_crank(300.0, 600.0), independent="A.angle", inputs="slider acceleration",
                      outputs="encoder", switching=Switching(0.01))  # fmt: skip
    th1 = np.linspace(0, np.pi, 2001)
    th2 = np.arccos(-0.5 * np.cos(th1))
    S = 0.3 * np.sin(th2 - th1) / np.sin(th2)
    at = {"A.angle": 1.2}
    expected = (np.interp(1.2, th1, S) / np.abs(S).max()) ** 2
    assert small.relation(at).distance == pytest.approx(expected, rel=1e-3)  # 400 poses find the top of a parabola
    assert large.relation(at).distance == pytest.approx(small.relation(at).distance, rel=1e-9)


@pytest.mark.spec("004-C18")
def test_with_hysteresis_the_constraint_comes_back_at_the_larger_distance(eqs):
    model = observer(eqs, switching=Switching(0.08, 0.2, distance=Window("B.angle")))
    step = process(model).functions["step"]
    x = model.state({"A.angle": np.pi / 2 - 0.4, "A.rate": 10.0})
    flags, distances = [], []
    for _ in range(80):
        distances.append(model.relation(x=x).distance)
        relation = model.relation(x=x)
        x = np.array(step(x, relation.bias, [], 0.0, DT)).ravel()  # no angular acceleration
        flags.append(x[-1])
    inside = np.flatnonzero(flags)
    assert distances[inside[0]] <= 0.08 < distances[inside[0] - 1]
    assert distances[inside[-1]] < 0.2 <= distances[inside[-1] + 1]
    assert (np.diff(inside) == 1).all()


@pytest.mark.spec("004-C18")
def test_derivatives_are_finite_at_the_singular_pose_itself(eqs):
    """Nothing of the branch that is not taken leaks in, not even 0 times NaN."""
    model = observer(eqs, scheme=3, switching=Switching(0.08, distance=Window("B.angle")))
    p = process(model)
    x, u = ca.MX.sym("x", p.nx), ca.MX.sym("u")
    f = p.functions["step"](x, u, [], 0, DT)
    J = ca.Function("J", [x, u], [ca.jacobian(f, x), ca.jacobian(f, u)])
    at = model.state({"A.angle": np.pi / 2, "A.rate": 12.0})
    F, G = (np.array(value) for value in J(at, 3.0))
    assert np.isfinite(F).all()
    assert not G[:3].any()
    assert F[:3, :3] == pytest.approx(np.array([[1, DT, 0], [0, 1, DT], [0, 0, 1]]))


@pytest.mark.spec("004-C18")
def test_each_branch_has_a_noise_of_its_own(eqs):
    model = observer(eqs, switching=Switching(0.08, distance=Window("B.angle")))
    noise = model.noise(walk=4.0, outside=0.25)

    def at(angle: float) -> list[float]:
        names = model.carried.names
        values = dict(zip(names, map(ca.SX, model.state({"A.angle": angle})), strict=True))
        return np.array(ca.DM(ca.evalf(noise({**values, "t": ca.SX(0)})))).ravel().tolist()

    assert at(0.3) == [0.0, 0.0, 0.25]
    assert at(np.pi / 2) == [0.0, 0.0, 4.0]


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"enter": 0.0}, "not-positive"),
        ({"enter": 0.1, "leave": 0.05}, "out-of-range"),
        ({"enter": 0.1, "distance": 3.0}, "wrong-type"),
    ],
)
def test_switching_refuses_what_makes_no_sense(bad, code):
    with raises(da.errors.DalembertError, code):
        Switching(**bad)


# --- rules --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C15")
def test_the_check_reports_where_the_inputs_are_blind(eqs):
    found = observer(eqs).check()
    assert found.condition.max() > 100
    assert abs(np.cos(found.worst["A.angle"])) < 0.02  # crank and rod in line
    assert found.observable_rank == 2
    (blind,) = found.findings
    assert blind.code == "singular-pose" and blind.where["pose"] == found.worst and not found.regular
    assert [part.name for one in blind.advice for part in one.parts] == ["switching"]
    assert blind.text() in found.table()
    (covered,) = observer(eqs, switching=Switching(0.01)).check().findings
    assert covered.code == "singular-pose" and not covered.advice


@pytest.mark.spec("004-C15")
def test_the_check_looks_along_a_motion(eqs):
    """Swinging between dead points nothing is blind; turning through them the check says where, over the same rules."""
    model = observer(eqs)
    swing = da.kinematics(eqs, 1.0, motion={"A": lambda t: 0.8 * da.sin(6 * t)}, every=2e-3)
    turn = da.kinematics(eqs, 1.0, motion={"A": lambda t: 6.5 * t}, every=2e-3)
    away, through = model.check(swing), model.check(turn)
    assert (away.blind, away.observable_rank) == (0.0, 2)
    assert "at every pose of the check" in away.table()
    assert away.poses[:, 0] == pytest.approx(swing["A.angle"][np.linspace(0, 500, 400).astype(int)])
    assert through.blind > 0.0 and abs(np.cos(through.worst["A.angle"])) < 0.02
    assert model.check(turn.select("A.angle", "A.rate"), poses=50).poses.shape == (50, 1)
    given = model_kinematics(lambda s: {"h": da.sin(s["q"])}, independent="q", inputs="h.acceleration", outputs="q")
    record = da.Record([0.0, 1.0], [[0.1, 0.2], [0.3, 0.2]], ["q", "q.rate"])
    assert given.check(record).blind == 0.0


@pytest.mark.parametrize(
    ("motion", "why"),
    [
        ("turn", ("wrong-type",)),
        (da.Record([0.0, 1.0], [[0.1], [0.2]], ["guide.displacement"]), ("missing-channel", "'guide.speed'")),
        (
            da.Record([0.0, 1.0], [[0.7, 0.0], [2.0, 0.0]], ["guide.displacement", "guide.speed"]),
            ("inconsistent-motion",),
        ),
    ],
)
def test_a_motion_that_cannot_be_looked_along_is_refused(eqs, motion, why):
    """The last asks the slider to go where the rod does not reach."""
    model = observer(eqs, independent="guide.displacement", inputs="A.acceleration", outputs="guide.displacement",
                     start=da.assemble(eqs, {"A.angle": 0.5}))  # fmt: skip
    with raises(da.errors.DalembertError, *why):
        model.check(motion)


@pytest.mark.spec("004-C15")
def test_the_check_finds_an_open_chain_regular_everywhere():
    """det S = d1 d2 at every pose."""
    model = model_kinematics(
        two_link(), independent=["A.angle", "B.angle"], inputs=["acc1.y", "acc2.y"], outputs=["A.angle", "B.angle"]
    )
    found = model.check(workspace={"A.angle": (-2, 2), "B.angle": (-1, 1)})
    assert (found.smallest * found.largest) == pytest.approx(0.3 * 0.25, rel=1e-9)
    assert found.blind == 0.0
    assert found.observable_rank == 4
    assert found.poses[:, 1].max() == pytest.approx(1.0)


@pytest.mark.spec("004-C15")
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"inputs": "slider speed"}, ("unobservable", "'slider speed'")),
        ({"outputs": "slider speed"}, ("unobservable",)),
        ({"outputs": "guide.acceleration", "scheme": None}, ("unobservable",)),
        ({"inputs": "pin force.force.x"}, ("needs-forces",)),
        ({"inputs": ["slider acceleration", "slider acceleration"]}, ("unobservable",)),
        ({"outputs": ["encoder", "slider acceleration"]}, ("unobservable",)),
        ({"independent": ["A.angle", "B.angle"]}, ("dependent-coordinates",)),
        ({"independent": "A.angl"}, ("unknown-name", "'A.angle'")),
        ({"inputs": "slider aceleration"}, ("unknown-name", "'slider acceleration'")),
        ({"order": "jerk"}, ("unknown-choice",)),
        ({"scheme": 4}, ("unknown-choice",)),
        ({"method": "rk5"}, ("unknown-choice",)),
        ({"scheme": 2, "form": "displacement"}, ("conflicting-arguments",)),
        ({"gamma": 0.0}, ("not-positive",)),
        ({"weights": {"encoder": 1.0}}, ("unknown-name",)),
        ({"start": {"A.angl": 1.0}}, ("unknown-name",)),
        ({"switching": 0.08}, ("wrong-type", "da.estimate")),
    ],
)
def test_sensors_that_do_not_fit_are_refused_in_words(eqs, options, why):
    with raises(da.errors.DalembertError, *why):
        observer(eqs, **options)


@pytest.mark.spec("004-C15")
def test_too_few_coordinates_and_too_few_sensors_are_refused():
    with raises(da.errors.ModelError, "dependent-coordinates"):
        model_kinematics(two_link(), independent="A.angle", inputs="acc1.y", outputs="A.angle")
    with raises(da.errors.ModelError, "unobservable"):
        model_kinematics(two_link(), independent=["A.angle", "B.angle"], inputs="acc1.y", outputs="A.angle")


@pytest.mark.spec("004-C15")
def test_inputs_that_all_measure_the_same_are_refused():
    """Two accelerometers on the first link say nothing of the second joint."""
    m = two_link()
    m.add_sensor("acc0", da.accelerometer(m.bodies[0].at(0.05, 0)))
    model = model_kinematics(
        m, independent=["A.angle", "B.angle"], inputs=["acc0.y", "acc1.y"], outputs=["A.angle", "B.angle"]
    )
    with raises(da.errors.ModelError, "unobservable", "A.angle", "B.angle"):
        model.check()
    with raises(da.errors.ModelError, "unobservable"):
        model_kinematics(m, independent=["A.angle", "B.angle"], inputs=["acc0.y", "acc1.y"],
                  outputs=["A.angle", "B.angle"], switching=Switching(0.01))  # fmt: skip


@pytest.mark.spec("004-C15")
def test_outputs_that_all_measure_the_same_are_refused():
    model = model_kinematics(
        two_link(), independent=["A.angle", "B.angle"], inputs=["acc1.y", "acc2.y"],
        outputs=["A.angle", "upper.x", "upper.y"],
    )  # fmt: skip
    with raises(da.errors.ModelError, "unobservable"):
        model.check()


def test_a_rolling_machine_is_refused():
    m = da.Mechanism("wheel", planar=True)
    m.add_body("wheel", mass=1.0, inertia=1.0)
    m.add_constraint("rolls", lambda s: s["wheel.vx"] + 0.5 * s["wheel.rate"], level="velocity")
    with raises(da.errors.ModelError, "not-supported"):
        model_kinematics(m, independent=["wheel.x"], inputs="wheel.ax", outputs="wheel.x")


def test_a_process_reports_every_joint_and_the_gap(eqs):
    p = process(observer(eqs))
    assert {"A.acceleration", "B.rate", "guide.displacement", "slider speed"} <= set(p.reported.names)
    assert "pin force.force.x" not in p.reported.names
    values = np.array(p.functions["report"](p.start, 0.0, [], 0.0)).ravel()
    assert values[p.reported.index["residual.position"]] < 1e-14


def test_a_stepper_is_plain_data(eqs):
    assert isinstance(observer(eqs).stepper, KinematicStep)
    assert "KinematicModel('slider-crank'" in repr(observer(eqs))


def test_an_encoder_that_starts_again_every_turn_does_as_well(eqs):
    """Residuals of angles are taken in (-π, π], so turns need not be counted."""
    run = da.kinematics(eqs, 1.2, motion={"A": lambda t: 12 * t}, every=DT)
    model = observer(eqs, start={"A.rate": 12.0}, switching=Switching(0.2, distance=Window("B.angle")))
    ekf = da.estimate.ExtendedKalman(model, Q=model.noise(1.0), R=1e-5, input_noise=1e-3, P0=[1e-4, 1.0, 100.0])
    plain = run.select("slider acceleration", "encoder")
    turns = np.column_stack((plain["slider acceleration"], (plain["encoder"] + np.pi) % (2 * np.pi) - np.pi))
    counted, again = ekf.run(plain), ekf.run(da.Record(run.time, turns, plain.names))
    assert again["A.angle"] == pytest.approx(counted["A.angle"], abs=1e-9)
    assert again["A.angle"][-1] > 4 * np.pi


# --- inside a simulation ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use_current", [False, True])
def test_inside_a_simulation_the_inputs_are_read_from_sensors(use_current):
    """The same estimates as over the record of that simulation afterwards."""
    m = two_link(gravity=(0, -9.81))
    m.add_sensor("encoder 1", da.angle("A"))
    m.add_sensor("encoder 2", da.angle("B"))
    model = model_kinematics(
        m, independent=["A.angle", "B.angle"], inputs=["acc1.y", "acc2.y"], outputs=["encoder 1", "encoder 2"],
        use_current=use_current,
    )  # fmt: skip
    noise = {"R": 1e-6, "input_noise": 1e-4, "P0": [1e-6] * 4 + [1.0] * 2}
    ekf = da.estimate.ExtendedKalman(model, dt=5e-3, **noise)
    eqs = da.equations(m)
    run = da.simulate(eqs, 0.3, observer=da.estimate.sense_inputs(ekf), every=5e-3)
    name = next(n for n in run.names if n.endswith("B.rate") and n != "B.rate")
    after = ekf.run(run.select("acc1.y", "acc2.y", "encoder 1", "encoder 2"))
    assert run[name][: len(after)] == pytest.approx(after["B.rate"], abs=1e-9)
    lag = 5e-3 * 40.0  # Euler's method: a sample of the acceleration
    assert run[name][-1] == pytest.approx(run["B.rate"][-1], abs=lag)


# ---- edges of thresholds
