"""Elastic gears: the rotor is behind a spring, a fast coordinate like a mode (Spong 1987)."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError
from dalembert.equations import State

GEARS = {"A": (3e-4, 100.0, 4000.0, 0.5), "B": (1e-4, 80.0, 2500.0, 0.2)}  # inertia, ratio, stiffness, damping


def elastic_arm(elastic: bool = True, joints: str = "AB") -> da.Mechanism:
    """Two links in a vertical plane, on geared motors."""
    m = da.Mechanism("arm", planar=True)
    upper, lower = (m.add_body(name, mass=2.0, inertia=da.rod(0.6)) for name in ("upper", "lower"))
    m.add_revolute("A", m.ground.at(0, 0), upper.at(-0.3, 0))
    m.add_revolute("B", upper.at(0.3, 0), lower.at(-0.3, 0))
    for name in "AB":
        m.add_actuator(f"motor{name}", joint=name, input=f"torque{name}")
    for name in joints:
        inertia, ratio, stiffness, damping = GEARS[name]
        gear = {"stiffness": stiffness, "damping": damping} if elastic else {}
        m.add_rotor(f"gear{name}", joint=name, inertia=inertia, ratio=ratio, **gear)
    return m


START = {"A": 0.4, "B": -0.7, "gearA.deflection": 0.01, "gearB.deflection": -0.02}
RATES = {"A": 1.0, "B": 0.5, "gearA.deflection.rate": 0.3, "gearB.deflection.rate": -0.2}
TORQUES = {"torqueA": 30.0, "torqueB": -5.0}


def spong() -> FloatArray:
    """q̈ and θ̈ - q̈ of M(q) q̈ + h = k δ + c δ̇ , J θ̈ = τ - k δ - c δ̇ , with M and h of the arm without motors."""
    bare = da.equations(elastic_arm(joints=""), coordinates="joint")
    state = da.assemble(bare, {"A": 0.4, "B": -0.7}, velocity={"A": 1.0, "B": 0.5})
    M, h = da.tree.mass_matrix(bare, state), da.tree.inverse_dynamics(bare, state, np.zeros(2))
    J, k, c = np.array([(g[0] * g[1] ** 2, g[2], g[3]) for g in GEARS.values()]).T
    delta, rate = np.array([0.01, -0.02]), np.array([0.3, -0.2])
    carried = k * delta + c * rate
    q = np.linalg.solve(M, carried - h)
    return np.array([*q, *((np.array([30.0, -5.0]) - carried) / J - q)])


def accelerate(state: State, inputs: dict[str, float], names: Sequence[str]) -> FloatArray:
    """Second derivatives of measured coordinates."""
    eqs, a = state.eqs, da.forward_dynamics(state.eqs, state, inputs=inputs).acceleration
    S, bias = eqs.kernel("measures")(state.q, state.v, eqs.p, state.t)[2:]
    return np.asarray((S @ a + bias)[[eqs.measures.index[eqs.full_name(name)] for name in names]])


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_the_accelerations_are_those_of_spongs_equations(coordinates: str) -> None:
    eqs = da.equations(elastic_arm(), coordinates=coordinates)
    assert eqs.elastic == ("gearA.deflection", "gearB.deflection")
    names = ("A", "B", "gearA.deflection", "gearB.deflection")
    found = accelerate(da.assemble(eqs, START, velocity=RATES), TORQUES, names)
    # 2 x 2 systems in joint coordinates; rows of absolute coordinates close to 1e-10
    np.testing.assert_allclose(found, spong(), rtol=1e-9)


def test_reactions_energy_and_the_angle_of_the_rotor_are_those_of_absolute_coordinates() -> None:
    m = elastic_arm()
    m.add_sensor("carried", da.reaction("A"))
    m.add_sensor("encoder", da.angle("gearA.angle"))
    both = [da.equations(m, coordinates=coordinates) for coordinates in ("absolute", "joint")]
    assert [len(eqs.rows) for eqs in both] == [6, 0]
    states = [da.assemble(eqs, START, velocity=RATES) for eqs in both]
    runs = [da.simulate(eqs, 0.05, start=at, inputs=TORQUES, every=0.05) for eqs, at in zip(both, states, strict=True)]
    for name in ("A.rate", "B.rate", "encoder", "carried.force.x", "energy.kinetic", "energy.potential"):
        assert runs[1][name] == pytest.approx(runs[0][name], rel=1e-6), name  # tolerance 1e-8 of the runs, grown
    assert runs[1]["encoder"][0] == pytest.approx(100.0 * (0.4 + 0.01), rel=1e-12)
    assert np.ptp(runs[1]["energy.balance"]) < 1e-5


def test_functions_of_the_tree_have_the_gear() -> None:
    eqs = pickle.loads(pickle.dumps(da.equations(elastic_arm(), coordinates="joint")))  # noqa: S301 (its own)
    state, tau = da.assemble(eqs, START, velocity=RATES), np.array([30.0, -5.0, 30.0, -5.0])  # motors: on both
    a = da.tree.forward_dynamics(eqs, state, tau)
    np.testing.assert_allclose(a, spong(), rtol=1e-9)
    np.testing.assert_allclose(da.tree.inverse_dynamics(eqs, state, a), tau, rtol=1e-9)
    M = da.tree.mass_matrix(eqs, state)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    np.testing.assert_allclose(M, eqs.kernel("inertia")(state.q, eqs.p, 0.0)[0], rtol=1e-13)
    kinetic, potential = da.tree.energies(eqs, state)
    assert kinetic == pytest.approx(0.5 * state.v @ M @ state.v, rel=1e-12)
    still = da.assemble(eqs, {**START, "gearA.deflection": 0.0, "gearB.deflection": 0.0})
    springs = 0.5 * (4000.0 * 0.01**2 + 2500.0 * 0.02**2)
    assert potential - da.tree.energies(eqs, still)[1] == pytest.approx(springs, rel=1e-12)
    form = da.tree.closed_form(eqs, state)
    np.testing.assert_allclose(np.block([[form.Mtt, form.Mtq], [form.Mtq.T, form.Mqq]]), M, rtol=1e-12)
    np.testing.assert_array_equal(np.diag(form.Ke), [4000.0, 2500.0])
    with pytest.raises(ModelError) as error:
        da.tree.inverse_dynamics_derivatives(eqs, state, a)
    assert error.value.code == "not-supported"


def test_a_rotor_of_a_dc_motor_is_behind_the_gear() -> None:
    m = elastic_arm(joints="B")
    motor = da.DCMotor(resistance=1.0, torque_constant=0.1, gear_ratio=50.0, rotor_inertia=2e-4)
    m.forces = [force for force in m.forces if force.name != "motorB"]
    m.add_actuator("drive", joint="B", input="voltage", model=motor)
    solutions = []
    for coordinates in ("absolute", "joint"):
        eqs = da.equations(m, coordinates=coordinates)
        state = da.assemble(
            eqs, {"A": 0.4, "B": -0.7, "gearB.deflection": 0.01}, velocity={"A": 1.0, "B": 0.5, "gearB.deflection": 0.3}
        )
        solutions.append(accelerate(state, {"voltage": 5.0}, ("A", "B", "gearB.deflection", "drive.rotor")))
    np.testing.assert_allclose(solutions[1], solutions[0], rtol=1e-9)
    assert solutions[0][3] == pytest.approx(50.0 * (solutions[0][1] + solutions[0][2]), rel=1e-9)


def test_the_slow_model_of_order_0_is_the_arm_with_stiff_gears() -> None:
    eqs = da.equations(elastic_arm(), coordinates="joint")
    two = da.separate_scales(eqs, order=0)
    rigid = da.equations(elastic_arm(elastic=False), coordinates="joint")
    at = {"A": 0.4, "B": -0.7}
    rates = {"A": 1.0, "B": 0.5}
    slow, stiff = (da.assemble(one, at, velocity=rates) for one in (two.slow, rigid))
    found = [da.forward_dynamics(s.eqs, s, inputs=TORQUES).acceleration for s in (slow, stiff)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)  # the same equations, solved once each


def test_one_elastic_joint_has_the_fast_mode_and_the_manifold_of_its_two_inertias() -> None:
    """I q̈ = k δ, J (q̈ + δ̈) = τ - k δ: ω² = k (1/I + 1/J), and δ = I τ / ((I + J) k) under a steady torque."""
    m = da.Mechanism("joint", planar=True, gravity=0)
    link = m.add_body("link", mass=1.0, inertia=0.2)
    m.add_revolute("A", m.ground.at(0, 0), link.at(0, 0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_rotor("gear", joint="A", inertia=2e-5, ratio=100.0, stiffness=500.0)
    two = da.separate_scales(da.equations(m, coordinates="joint"))
    omega = np.sqrt(500.0 * (1 / 0.2 + 1 / 0.2))
    np.testing.assert_allclose(np.abs(np.linalg.eigvals(two.fast().A)), omega, rtol=1e-12)
    assert two.epsilon == pytest.approx(np.sqrt(0.2 / 500.0), rel=1e-12)
    assert two.manifold(inputs={"torque": 4.0}).deflections[0] == pytest.approx(4.0 / 2 / 500.0, rel=1e-12)


def test_gears_made_stiffer_approach_the_stiff_arm_with_the_inverse_of_their_stiffness() -> None:
    torques, gaps = {"torqueA": 30.0, "torqueB": -5.0}, []
    rigid = da.equations(elastic_arm(elastic=False), coordinates="joint")
    at = da.assemble(rigid, {"A": 0.4, "B": -0.7})
    due = da.forward_dynamics(rigid, at, inputs=torques).acceleration[0]
    for factor in (1.0, 10.0):
        m = elastic_arm()
        m.forces = [f if f.kind != "rotor" else type(f)(f.name, f.joint, inertia=f.inertia, ratio=f.ratio,
                    stiffness=factor * f.stiffness) for f in m.forces]  # fmt: skip
        two = da.separate_scales(da.equations(m, coordinates="joint"))
        slow = da.assemble(two.slow, {"A": 0.4, "B": -0.7})
        gaps.append(abs(da.forward_dynamics(two.slow, slow, inputs=torques).acceleration[0] - due))
    assert gaps[0] / gaps[1] == pytest.approx(10.0, rel=1e-6)  # order 2 is linear in 1/k


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_held_motors_let_the_arm_sag_by_torque_over_stiffness(coordinates: str) -> None:
    eqs = da.equations(elastic_arm(), coordinates=coordinates)
    state = da.assemble(eqs, {"A": 0.4, "B": -0.7}, elastic="static")
    assert state["A.angle"] == pytest.approx(0.4, abs=1e-12)  # the joint is where it was wanted; its rotor turned on
    arm = [2.0 * 9.81 * 0.3 * np.cos(angle) for angle in (0.4, -0.3)]
    load = [arm[0] + 2.0 * 9.81 * 0.6 * np.cos(0.4) + arm[1], arm[1]]
    assert state["gearA.deflection"] == pytest.approx(load[0] / 4000.0, rel=1e-9)
    assert state["gearB.deflection"] == pytest.approx(load[1] / 2500.0, rel=1e-9)


def test_the_compliance_of_a_place_has_the_gears_between_it_and_the_held_motors() -> None:
    m = elastic_arm()
    m.gravity = (0.0, 0.0)
    eqs = da.equations(m, coordinates="joint")
    state = da.assemble(eqs, {"A": 0.4, "B": -0.7})
    J = da.tree.jacobian(eqs, state, "lower")[:, :2]
    due = J @ np.diag([1 / 4000.0, 1 / 2500.0]) @ J.T
    np.testing.assert_allclose(da.tree.compliance(eqs, state, "lower"), due, rtol=1e-9, atol=1e-15)


def test_it_goes_through_a_model_file(tmp_path: Path) -> None:
    da.write_model(elastic_arm(), tmp_path / "arm.toml")
    assert da.read_model(tmp_path / "arm.toml").forces == elastic_arm().forces


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ({"inertia": 1e-4, "damping": 1.0}, "ineffective-argument"),
        ({"inertia": 0.0, "stiffness": 1.0}, "massless-body"),
        ({"inertia": 1e-4, "stiffness": 1.0, "ratio": 0.0}, "massless-body"),
        ({"inertia": 1e-4, "stiffness": 0.0}, "not-positive"),
        ({"inertia": 1e-4, "stiffness": 1.0, "damping": -1.0}, "negative"),
    ],
)
def test_numbers_that_make_no_gear_are_refused(numbers: dict[str, float], code: str) -> None:
    with pytest.raises(ModelError) as error:
        elastic_arm(joints="").add_rotor("gear", joint="A", **numbers)
    assert error.value.code == code


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_an_elastic_gear_that_reverses_moves_the_joint_as_one_that_does_not(coordinates: str) -> None:
    """T and V have the square of the ratio; the rotor turns the other way."""
    shown = []
    for ratio in (50.0, -50.0):
        m = elastic_arm(joints="")
        m.add_rotor("gear", joint="A", inertia=1e-4, ratio=ratio, stiffness=100.0)
        m.add_sensor("motor", da.angle("gear.angle"))
        eqs = da.equations(m, coordinates=coordinates)
        answer = da.forward_dynamics(eqs, da.assemble(eqs, {"A": 0.4, "gear.deflection": 0.1}))
        shown.append([answer["A.rate"], answer["gear.deflection.rate"], answer["motor"] / ratio])
    np.testing.assert_allclose(shown[1], shown[0], rtol=1e-10)
    assert shown[0][2] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(
    ("joint", "code"),
    [("C", "unknown-name"), ("gear.angle", "same-coordinate"), ("gear.deflection", "same-coordinate")],
)
def test_an_elastic_gear_at_no_joint_is_refused(joint: str, code: str) -> None:
    m = elastic_arm(joints="")
    m.add_rotor("gear", joint=joint, inertia=1e-4, stiffness=100.0)
    with pytest.raises(ModelError) as error:
        da.equations(m)
    assert error.value.code == code


def test_two_elastic_gears_at_one_joint_are_refused() -> None:
    m = elastic_arm()
    m.add_rotor("second", joint="A.angle", inertia=1e-4, stiffness=100.0)
    with pytest.raises(ModelError) as error:
        m.validate()
    assert error.value.code == "duplicate"
