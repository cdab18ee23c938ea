"""Servo-constraints on machines: computed torque, closed loops, redundant inputs, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control import VirtualConstraint, computed_torque, control_forces, udwadia_kalaba
from dalembert.core.errors import DataError, ModelError
from dalembert.equations import State
from tests.helpers.findings import raises


def arm(*, elbow: bool = True, tip: bool = False) -> da.EquationsOfMotion:
    m = da.Mechanism("arm", planar=True)
    upper = m.add_body("upper", mass=2.0, inertia=da.rod(0.5))
    lower = m.add_body("lower", mass=1.0, inertia=da.rod(0.4))
    m.add_revolute("shoulder", m.ground.at(0, 0), upper.at(-0.25, 0))
    m.add_revolute("elbow", upper.at(0.25, 0), lower.at(-0.2, 0))
    m.add_actuator("motor 1", joint="shoulder", input="shoulder torque")
    if elbow:
        m.add_actuator("motor 2", joint="elbow", input="elbow torque")
    if tip:
        m.add_force("jet", lower.at(0.2, 0), (0, 1), input="jet")
    return da.equations(m)


def posed(eqs: da.EquationsOfMotion, angles: tuple[float, float], rates: tuple[float, float]) -> State:
    names = ("shoulder.angle", "elbow.angle")
    return da.assemble(eqs, dict(zip(names, angles, strict=True)), velocity=dict(zip(names, rates, strict=True)))


def accelerations(eqs: da.EquationsOfMotion, state: State, inputs: dict[str, float]) -> np.ndarray:
    run = da.simulate(eqs, until=2e-4, start=state, inputs=inputs, every=1e-4, method=da.RK4(step=1e-4))
    rates = np.column_stack([run["shoulder.rate"], run["elbow.rate"]])
    return (rates[1] - rates[0]) / 1e-4


def test_computed_torque_on_its_motion_is_inverse_dynamics() -> None:
    eqs = arm()
    motion = {"shoulder.angle": lambda t: 0.3 * da.sin(2 * t), "elbow.angle": lambda t: 1.0 - da.cos(3 * t)}
    law = computed_torque(eqs, motion, frequency=10.0)
    wanted = da.inverse_dynamics(eqs, motion, times=[0.0, 0.4, 0.8])
    for k, t in enumerate((0.0, 0.4, 0.8)):
        state = da.assemble(
            eqs, {"shoulder.angle": 0.3 * np.sin(2 * t), "elbow.angle": 1 - np.cos(3 * t)},
            velocity={"shoulder.angle": 0.6 * np.cos(2 * t), "elbow.angle": 3 * np.sin(3 * t)}, t=t,
        )  # fmt: skip
        given = [wanted[name][k] for name in law.actuated]
        assert law.inputs_at(state) == pytest.approx(given, rel=1e-8, abs=1e-8)


def test_errors_of_computed_torque_obey_the_equation_that_was_asked_for() -> None:
    """ë + 2 ζ ω ė + ω² e = 0 with e the angles themselves, wanted zero; a difference quotient of 1e-4 s."""
    eqs = arm()
    law = computed_torque(eqs, {"shoulder.angle": 0.0, "elbow.angle": 0.0}, frequency=3.0, damping=0.7)
    state = posed(eqs, (0.5, -0.8), (1.0, 2.0))
    found = accelerations(eqs, state, dict(zip(law.actuated, law.inputs_at(state), strict=True)))
    wanted = -2 * 0.7 * 3.0 * np.array([1.0, 2.0]) - 9.0 * np.array([0.5, -0.8])
    assert found == pytest.approx(wanted, abs=0.02)


def test_computed_torque_follows_a_record_in_joint_coordinates() -> None:
    eqs = da.equations(da.read_model("seven-joint-arm"), coordinates="joint")
    home = da.assemble(eqs, {"joint2": 0.4, "joint4": 1.2})
    motion = da.tree.quintic(eqs, [home, da.assemble(eqs, {"joint1": 0.5, "joint4": 0.8})], 1.0, every=0.02)
    law = computed_torque(eqs, motion, frequency=10.0)
    torques = da.inverse_dynamics(eqs, motion)
    names = [*eqs.coordinates.names, *eqs.speeds.names]
    for k in (10, 25, 40):
        q, v = np.split(np.array([motion[name][k] for name in names]), 2)
        # the law splines 51 samples of a polynomial of degree five by splines of degree five: the same but for rounding
        wanted = [torques[name][k] for name in eqs.inputs.names]
        assert law.inputs_at(eqs.state(q, v, t=float(motion.time[k]))) == pytest.approx(wanted, abs=1e-6)


def test_an_underactuated_arm_keeps_one_relation() -> None:
    """One motor, one constraint: the elbow stays at twice the shoulder."""
    eqs = arm(elbow=False)
    law = udwadia_kalaba(eqs, {"coupled": lambda s: s["elbow.angle"] - 2.0 * s["shoulder.angle"]})
    state = posed(eqs, (0.3, 0.6), (0.5, 1.0))
    found = accelerations(eqs, state, dict(zip(law.actuated, law.inputs_at(state), strict=True)))
    assert found[1] == pytest.approx(2.0 * found[0], abs=0.01)


def test_a_velocity_constraint_holds_the_speed_of_a_closed_loop() -> None:
    from dalembert.studies.machines.crank_rocker import mechanism

    eqs = da.equations(mechanism())
    steady = VirtualConstraint(lambda s: s["A.rate"] - 10.0, level="velocity", frequency=5.0)
    law = udwadia_kalaba(eqs, {"steady": steady})
    start = da.assemble(eqs, {"A.angle": 1.57}, velocity={"A.angle": 9.0})
    torque = float(law.inputs_at(start)[0])
    run = da.simulate(eqs, until=2e-4, start=start, inputs={"torque": torque}, every=1e-4, method=da.RK4(step=1e-4))
    assert (run["A.rate"][1] - run["A.rate"][0]) / 1e-4 == pytest.approx(5.0, abs=0.05)


def test_of_all_inputs_that_do_it_those_with_the_least_effect_are_taken() -> None:
    """One constraint, two inputs: a step along the null space of the map changes (Gu)ᵀ M (Gu) to second order only."""
    eqs = arm()
    law = udwadia_kalaba(eqs, {"elbow": "elbow.angle"}, frequency=2.0)
    state = posed(eqs, (0.4, 0.9), (0.2, -0.3))
    J, W, r, *_ = law._evaluate(state.q, state.v, state.z, np.zeros(2), 0.0)
    u = law.inputs_at(state)
    assert np.abs(J[0] @ u - r[0]).max() < 1e-10
    free = np.linalg.svd(J[0])[2][-1]
    assert abs(free @ W[0] @ u) < 1e-7 * np.abs(W[0]).max() * np.abs(u).max()  # 1e-8 of W is added


def test_inputs_that_do_the_same_share_the_work() -> None:
    """Three inputs on two degrees of freedom: W is singular, the law is not."""
    eqs = arm(tip=True)
    law = udwadia_kalaba(eqs, {"elbow": "elbow.angle", "shoulder": "shoulder.angle"}, frequency=2.0)
    state = posed(eqs, (0.4, 0.9), (0.2, -0.3))
    u = law.inputs_at(state)
    J, _, r, *_ = law._evaluate(state.q, state.v, state.z, np.zeros(3), 0.0)
    assert np.abs(J[0] @ u - r[0]).max() < 1e-7 * np.abs(r).max()
    assert np.abs(u).max() < 100.0 and np.abs(u).min() > 1e-6


def test_what_other_inputs_do_is_read() -> None:
    eqs = arm(tip=True)
    law = udwadia_kalaba(
        eqs, {"elbow": "elbow.angle", "shoulder": "shoulder.angle"}, actuated=["shoulder torque", "elbow torque"]
    )
    assert law.known == ("jet",)
    assert law.law().reads[-1] == "jet"
    state = posed(eqs, (0.4, 0.9), (0.0, 0.0))
    assert not np.allclose(law.inputs_at(state), law.inputs_at(state, {"jet": 1.0}))


def test_examine_reports_residual_and_condition_along_a_run() -> None:
    eqs = arm()
    law = computed_torque(eqs, {"shoulder.angle": 0.0, "elbow.angle": 0.0}, frequency=3.0)
    report = law.examine(da.simulate(eqs, until=0.1, start=posed(eqs, (0.1, 0.1), (0.0, 0.0)), every=0.01))
    assert report.singular_at is None and "everywhere" in report.table()
    assert report.residual.shape == (11, 2) and report.residual.max() > 1.0  # nothing drives it in this run


@pytest.mark.parametrize(
    ("given", "options", "code", "shown"),
    [
        ({}, {}, "empty", "constraints"),
        ({"a": "elbo.angle"}, {}, "unknown-name", "'elbo.angle'"),
        ({"a": "elbow.angle", "b": "shoulder.angle"}, {"actuated": "elbow torque"}, "too-few-inputs", "1 input"),
        ({"a": "elbow.angle"}, {"actuated": "elbow torqe"}, "unknown-name", "'elbow torque'"),
        ({"a": "elbow.angle"}, {"actuated": ["elbow torque", "elbow torque"]}, "duplicate", "elbow torque"),
        ({"a": lambda s: s["elbow.rate"]}, {}, "not-supported", "'a'"),
        ({"a": lambda s: s["elbow torque"]}, {}, "not-supported", "'a'"),
        ({"a": lambda s: (1, 2)}, {}, "wrong-shape", "'a'"),
        ({"a": lambda s: s.t - 1.0}, {}, "not-realizable", "'a'"),
    ],
)
def test_mistakes_have_codes(given: dict, options: dict, code: str, shown: str) -> None:
    with raises(ModelError, code, shown):
        udwadia_kalaba(arm(), given, **options)


def test_a_singular_pose_is_an_error_that_names_the_constraints() -> None:
    m = da.Mechanism("arm", planar=True)
    upper, lower = m.add_body("upper", mass=2.0, inertia=0.2), m.add_body("lower", mass=1.0, inertia=0.1)
    m.add_revolute("S", m.ground.at(0, 0), upper.at(-0.5, 0))
    m.add_revolute("E", upper.at(0.5, 0), lower.at(-0.5, 0))
    m.add_actuator("shoulder", joint="S", input="ts")
    m.add_actuator("elbow", joint="E", input="te")
    eqs = da.equations(m)
    tip = {"reach": lambda s: da.cos(s["S.angle"]) + da.cos(s["S.angle"] + s["E.angle"]),
           "height": lambda s: da.sin(s["S.angle"]) + da.sin(s["S.angle"] + s["E.angle"])}  # fmt: skip
    law = da.control.udwadia_kalaba(eqs, tip, frequency=5.0)
    assert np.isfinite(law.inputs_at(da.assemble(eqs, {"E.angle": 0.5}))).all()
    with raises(da.errors.ModelError, "singular-pose"):
        law.inputs_at(da.assemble(eqs))


def test_constraints_that_depend_on_each_other_are_refused() -> None:
    twice = {"a": "elbow.angle", "b": lambda s: 2.0 * s["elbow.angle"] - 1.0}
    with raises(ModelError, "not-realizable"):
        udwadia_kalaba(arm(), twice)


def test_inputs_that_do_the_same_cannot_keep_two_constraints() -> None:
    m = da.Mechanism("arm", planar=True)
    upper, lower = m.add_body("upper", mass=2.0, inertia=0.2), m.add_body("lower", mass=1.0, inertia=0.1)
    m.add_revolute("S", m.ground.at(0, 0), upper.at(-0.5, 0))
    m.add_revolute("E", upper.at(0.5, 0), lower.at(-0.5, 0))
    m.add_actuator("first", joint="S", input="first")
    m.add_actuator("second", joint="S", input="second")
    with raises(ModelError, "not-realizable"):
        udwadia_kalaba(da.equations(m), {"a": "S.angle", "b": "E.angle"})


@pytest.mark.parametrize("value", ["elbow.angle", np.nan, None])
def test_a_motion_is_a_number_a_function_of_time_or_a_record(value: object) -> None:
    with raises(ModelError, "not-finite"):
        computed_torque(arm(), {"shoulder.angle": value}, frequency=1.0)
    with raises(ModelError, "too-few-samples"):
        computed_torque(
            arm(), {"shoulder.angle": da.Record([0.0, 1.0], [[0.0], [1.0]], ["shoulder.angle"])}, frequency=1.0
        )
    with raises(ModelError, "empty"):
        computed_torque(arm(), da.Record([0.0, 1.0], [[0.0], [1.0]], ["force"]), frequency=1.0)


def test_other_things_of_the_wrong_kind_are_refused() -> None:
    eqs = arm(tip=True)
    law = udwadia_kalaba(eqs, {"a": "elbow.angle"}, actuated="elbow torque")
    with raises(DataError, "wrong-type"):
        law.inputs_at(None)
    with raises(DataError, "wrong-type"):
        law.examine(None)
    with raises(DataError, "not-finite"):
        law.inputs_at(posed(eqs, (0.1, 0.2), (0.0, 0.0)), {"jet": np.nan})
    with raises(ModelError, "wrong-type", "motion"):
        computed_torque(eqs, "elbow.angle", frequency=1.0)
    for frequency in ("fast", np.nan, -1.0):
        with raises(ModelError, "negative"):
            udwadia_kalaba(eqs, {"a": "elbow.angle"}, frequency=frequency)


@pytest.mark.parametrize(
    ("M", "Q", "A", "unactuated", "said"),
    [
        (np.diag([1.0, 0.0]), [0.0, 0.0], [[0.0, 1.0]], [], "not-positive-definite"),
        (np.eye(2), [0.0, 0.0, 0.0], [[0.0, 1.0]], [], "wrong-shape"),
        (np.eye(2), [0.0, 0.0], [[0.0, 1.0, 2.0]], [], "wrong-shape"),
        (np.nan * np.eye(2), [0.0, 0.0], [[0.0, 1.0]], [], "not-finite"),
        ([[1.0, 0.5], [0.0, 1.0]], [0.0, 0.0], [[0.0, 1.0]], [], "not-symmetric"),
        (np.eye(2), [0.0, 0.0], [[0.0, 1.0]], [2], "out-of-range"),
    ],
)
def test_control_forces_say_what_does_not_fit(M: object, Q: object, A: object, unactuated: list, said: str) -> None:
    with raises(DataError, said):
        control_forces(M, Q, A, [0.0], unactuated)


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_a_law_of_a_machine_with_a_constant_gain_has_no_singularity_to_monitor(coordinates: str) -> None:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", "A", input="u")
    eqs = da.equations(m, coordinates=coordinates)
    law = da.control.computed_torque(eqs, {"A": lambda t: 0.3 * da.sin(t)}, frequency=5.0)
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs, {"A": 0.0}, velocity={"A": 0.3}), controller=law)
    assert run["A.angle"][-1] == pytest.approx(0.3 * np.sin(1.0), abs=1e-7)  # steps of 1e-9
