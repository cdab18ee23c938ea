"""Linearization: names, inputs and outputs, the two forms it can take, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as da
from dalembert.core.errors import ModelError
from dalembert.solve.position.chart import Chart
from dalembert.solve.position.tangent import Instant, accelerations
from dalembert.solve.rest import linear_matrices
from tests.helpers.findings import raises, warns

G = 9.81
EXACT = 1e-10  # derivatives are exact and every pose closes to about 1e-13: only rounding, times a few stiffnesses


def cart_pole() -> da.EquationsOfMotion:
    """Cart of 1.5 kg, point mass of 0.4 kg on a rod of 0.7 m; angle measured from hanging."""
    m = da.Mechanism("cart pole", planar=True)
    cart = m.add_body("cart", mass=1.5, inertia=0.1)
    bob = m.add_body("bob", mass=0.4)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_revolute("hinge", cart.at(0, 0), bob.at(0, 0.7))
    m.add_actuator("motor", "rail", input="push")
    m.add_damper("friction", joint="rail", damping=0.2)
    m.add_sensor("encoder", da.angle("hinge"))
    m.add_sensor("imu", da.accelerometer(bob.at(0, 0)))
    m.add_sensor("pin", da.reaction("hinge"))
    return da.equations(m)


def pair(damping: float = 0.3) -> da.EquationsOfMotion:
    m = da.Mechanism("pair", planar=True)
    upper = m.add_body("upper", mass=1.0, inertia=da.rod(1.0))
    lower = m.add_body("lower", mass=0.5, inertia=da.rod(0.8))
    m.add_revolute("A", m.ground.at(0, 0), upper.at(-0.5, 0))
    m.add_revolute("B", upper.at(0.5, 0), lower.at(-0.4, 0))
    m.add_damper("drag", joint="B", damping=damping)
    return da.equations(m)


def test_a_cart_pole_has_its_textbook_matrices() -> None:
    """(M+m) ẍ + m l θ̈ + d ẋ = u,  m l ẍ + m l² θ̈ + m g l θ = 0 about hanging."""
    lin = da.linearize(cart_pole())
    assert isinstance(lin, da.SecondOrder)
    assert lin.coordinates == ("rail.displacement", "hinge.angle")
    assert lin.inputs == ("push",)
    ml = 0.4 * 0.7
    np.testing.assert_allclose(lin.M, [[1.9, ml], [ml, ml * 0.7]], rtol=0, atol=EXACT)
    np.testing.assert_allclose(lin.K, [[0, 0], [0, ml * G]], rtol=0, atol=EXACT)
    np.testing.assert_allclose(lin.C, [[0.2, 0], [0, 0]], rtol=0, atol=EXACT)
    np.testing.assert_allclose(lin.B, [[1], [0]], rtol=0, atol=EXACT)
    assert not lin.G.any() and not lin.H.any()


def test_upright_the_pole_falls() -> None:
    eqs = cart_pole()
    lin = da.linearize(eqs, da.equilibrium(eqs, guess={"hinge": 3.0}))
    assert lin.K[1, 1] == pytest.approx(-0.4 * 0.7 * G, abs=EXACT)
    assert np.linalg.eigvals(lin.state_space().A).real.max() > 1


def test_sensors_of_acceleration_and_reaction_are_outputs_with_the_accelerations_eliminated() -> None:
    """Hanging: imu.x = ẍ + l θ̈ + g θ (first order), with ẍ and θ̈ from the equations of motion."""
    lin = da.linearize(cart_pole(), outputs=["imu", "encoder", "pin.force.x"])
    assert lin.outputs == ("imu.x", "imu.y", "encoder", "pin.force.x")
    assert lin.units["imu.x"] == "m/s^2"
    m = 0.4
    # ẍ = (u - d ẋ + m g θ) / M ;  l θ̈ = -ẍ - g θ   =>   imu.x = 0: the rod carries no side force
    np.testing.assert_allclose(lin.Y_position[0], [0, 0], rtol=0, atol=EXACT)
    np.testing.assert_allclose(lin.D[0], 0, rtol=0, atol=EXACT)
    # the pin pulls the bob: m (ẍ + l θ̈) = -m g θ
    np.testing.assert_allclose(lin.Y_position[3], [0, -m * G], rtol=0, atol=EXACT)
    np.testing.assert_allclose(lin.Y_position[2], [0, 1], rtol=0, atol=EXACT)
    both = da.linearize(cart_pole(), outputs=["rail", "rail.speed"])
    np.testing.assert_allclose(both.Y_position, [[1, 0], [0, 0]], rtol=0, atol=EXACT)
    np.testing.assert_allclose(both.Y_velocity, [[0, 0], [1, 0]], rtol=0, atol=EXACT)


def test_an_accelerometer_on_the_cart_has_a_direct_link() -> None:
    m = da.Mechanism("cart", planar=True)
    cart = m.add_body("cart", mass=2.0, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_spring("spring", joint="rail", stiffness=8.0, damping=0.5)
    m.add_actuator("motor", "rail", input="push")
    m.add_sensor("imu", da.accelerometer(cart.at(0, 0)))
    lin = da.linearize(da.equations(m))
    np.testing.assert_allclose(lin.Y_position[0], [-4.0], rtol=0, atol=EXACT)
    np.testing.assert_allclose(lin.Y_velocity[0], [-0.25], rtol=0, atol=EXACT)
    np.testing.assert_allclose(lin.D[0], [0.5], rtol=0, atol=EXACT)


def test_the_coordinates_may_be_chosen_and_the_physics_does_not_care() -> None:
    eqs = pair()
    own = da.linearize(eqs, coordinates=["upper.angle", "lower.angle"])
    assert own.coordinates == ("upper.angle", "lower.angle")
    joints = da.linearize(eqs, coordinates=["B", "A"])
    assert joints.coordinates == ("B.angle", "A.angle")
    np.testing.assert_allclose(own.modes().eigenvalues, joints.modes().eigenvalues, rtol=0, atol=1e-9)
    change = np.array([[-1.0, 1.0], [1.0, 0.0]])  # (B, A) of (upper, lower)
    np.testing.assert_allclose(change.T @ joints.K @ change, own.K, rtol=0, atol=EXACT)


@pytest.mark.spec("003-C26")
def test_the_model_is_the_derivative_of_the_simulated_motion() -> None:
    """Central differences of runs against exp(A T): h = 1e-4 leaves h² of curvature and 1e-12/h of run error, 1e-8."""
    eqs = pair()
    rest = da.equilibrium(eqs)
    A = da.linearize(eqs, rest).state_space().A
    end = 0.7
    method = da.DormandPrince(rtol=1e-12, atol=1e-12)
    names = ["A.angle", "B.angle", "A.rate", "B.rate"]
    h = 1e-4
    columns = []
    for k in range(4):
        ends = []
        for sign in (1, -1):
            x = np.array([rest[n] for n in names])
            x[k] += sign * h
            start = da.assemble(eqs, {"A": x[0], "B": x[1]}, velocity={"A.rate": x[2], "B.rate": x[3]}, start=rest)
            run = da.simulate(eqs, end, start=start, method=method, every=end)
            ends.append(np.array([run[n][-1] for n in names]))
        columns.append((ends[0] - ends[1]) / (2 * h))
    np.testing.assert_allclose(np.array(columns).T, expm(A * end), rtol=0, atol=2e-7)


def test_anywhere_means_the_derivative_of_the_accelerations_at_that_instant() -> None:
    """Central differences, h = 1e-5: h² of curvature and 1e-13/h of rounding, 1e-8 each."""
    eqs = pair()
    x0 = np.array([0.3, -0.5, 1.0, -2.0])

    def accelerations_at(x: np.ndarray) -> np.ndarray:
        state = da.assemble(eqs, {"A": x[0], "B": x[1]}, velocity={"A.rate": x[2], "B.rate": x[3]})
        solution = da.forward_dynamics(eqs, state)
        return np.array([solution["A.rate"], solution["B.rate"]])

    at = da.assemble(eqs, {"A": x0[0], "B": x0[1]}, velocity={"A.rate": x0[2], "B.rate": x0[3]})
    A = da.linearize(eqs, at, anywhere=True).state_space().A
    h = 1e-5
    columns = [(accelerations_at(x0 + h * e) - accelerations_at(x0 - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(A[2:], np.array(columns).T, rtol=0, atol=1e-6)


def test_projection_and_multiplier_elimination_agree() -> None:
    """K̄ from projected equations against -M̄ A₂₁ from the accelerations: two roads to one matrix."""
    eqs = cart_pole()
    rest = da.equilibrium(eqs)
    x = accelerations(eqs, Instant(rest.q, rest.v, rest.z, np.zeros(1), 0.0, np.zeros(eqs.nv), rest.lam))
    chart = Chart(eqs, x, None, world=False)
    first = linear_matrices.find_first_order(eqs, x, chart, [])
    M, C, K, B = linear_matrices._find_second_order(eqs, chart, first)
    np.testing.assert_allclose(-M @ first.A[2:, :2], K, rtol=0, atol=EXACT)
    np.testing.assert_allclose(-M @ first.A[2:, 2:], C, rtol=0, atol=EXACT)
    np.testing.assert_allclose(M @ first.B[2:], B, rtol=0, atol=EXACT)


def test_joint_friction_that_depends_on_reactions_is_differentiated_too() -> None:
    """A block on a slope kept moving at constant speed by Coulomb friction: the linear model is a steady slide."""
    m = da.Mechanism("slide", planar=True, gravity=(2.0, -9.0))
    block = m.add_body("block", mass=2.0, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), block.at(0, 0))
    m.add_friction("rub", "rail", coulomb=0.5, speed=1.0)
    m.add_force("press", block.at(0, 0), (0, -1), input="press")
    eqs = da.equations(m)
    # 2·2 = 0.5·2·9 w / sqrt(w² + 1)
    ratio = 4 / 9
    speed = ratio / np.sqrt(1 - ratio**2)
    steady = da.equilibrium(eqs, rates={"rail": None}, guess={"rail.speed": 0.3})
    assert steady["rail.speed"] == pytest.approx(speed, rel=1e-9)
    with warns(da.errors.ModelWarning, "linear-friction", "'rub'", "6.47"):
        lin = da.linearize(eqs, steady)
    # damping: d/dw of 9 w / sqrt(w²+1); input: -0.5 w / sqrt(w²+1) per newton
    np.testing.assert_allclose(lin.C, [[9 / (speed**2 + 1) ** 1.5]], rtol=1e-8)
    np.testing.assert_allclose(lin.B, [[-0.5 * ratio]], rtol=1e-8)


def test_internal_states_give_a_state_space_with_named_states() -> None:
    m = da.Mechanism("drive", planar=True, gravity=0)
    wheel = m.add_body("wheel", mass=1.0, inertia=0.02)
    m.add_revolute("axle", m.ground.at(0, 0), wheel.at(0, 0))
    m.add_damper("drag", joint="axle", damping=0.01)
    m.add_actuator("lag", "axle", input="demand", model=da.FirstOrderLag(time_constant=0.1, gain=2.0))
    lin = da.linearize(da.equations(m))
    assert isinstance(lin, da.StateSpace)
    assert lin.states == ("axle.angle", "axle.rate", "lag.effort")
    np.testing.assert_allclose(lin.A, [[0, 1, 0], [0, -0.5, 50], [0, 0, -10]], rtol=0, atol=EXACT)
    np.testing.assert_allclose(lin.B, [[0], [0], [20]], rtol=0, atol=EXACT)


def test_cyclic_coordinates_may_be_left_out() -> None:
    m = da.Mechanism("drive", planar=True, gravity=0)
    wheel = m.add_body("wheel", mass=1.0, inertia=0.02)
    arm = m.add_body("arm", mass=1.0, inertia=0.1)
    m.add_revolute("axle", m.ground.at(0, 0), wheel.at(0, 0))
    m.add_revolute("joint", wheel.at(0, 0), arm.at(0, 0))
    m.add_spring("spring", joint="joint", stiffness=3.0)
    eqs = da.equations(m)
    lin = da.linearize(eqs, coordinates=["joint"])
    assert isinstance(lin, da.StateSpace)
    assert lin.states == ("joint.angle", "joint.rate", "axle.rate")
    with raises(ModelError, "dependent-coordinates", "'joint.angle'"):
        da.linearize(eqs, coordinates=["axle"])


def test_dependent_coordinates_are_refused_by_name() -> None:
    with raises(ModelError, "dependent-coordinates", "'upper.x'"):
        da.linearize(pair(), coordinates=["A", "B", "upper.x"])
    with raises(ModelError, "unknown-name", "'C.angle'"):
        da.linearize(pair(), coordinates=["C.angle"])
    with raises(ModelError, "unknown-name", "'gyro'"):
        da.linearize(pair(), outputs=["gyro"])
    with raises(ModelError, "wrong-type"):
        da.linearize(pair(), 3.0)  # type: ignore[arg-type]


@pytest.mark.spec("003-C26")
def test_a_state_that_is_no_equilibrium_is_refused_with_its_drift_unless_asked_for() -> None:
    """Spec 003, trap 4: the constant term vanishes at an equilibrium only."""
    eqs = cart_pole()
    at = da.assemble(eqs, {"hinge": 1.0})
    with raises(ModelError, "not-at-rest"):
        da.linearize(eqs, at)
    lin = da.linearize(eqs, at, anywhere=True)
    drift = lin.provenance["drift"]
    # (M + m sin²θ) ẍ = m g sin θ cos θ and l θ̈ = -ẍ cos θ - g sin θ, from rest
    s, c = np.sin(1.0), np.cos(1.0)
    push = 0.4 * G * s * c / (1.5 + 0.4 * s * s)
    assert drift["rail.speed"] == pytest.approx(push, rel=1e-9)
    assert drift["hinge.rate"] == pytest.approx((-push * c - G * s) / 0.7, rel=1e-9)


@pytest.mark.spec("003-C25", "003-C26")
def test_frozen_coefficients_and_jacobian_are_two_different_things() -> None:
    """Spec 003, trap 5, on a pendulum: A₂₁(θ) = -(g/l) sin θ / θ frozen, -(g/l) cos θ as Jacobian."""
    m = da.Mechanism("pendulum", planar=True)
    bob = m.add_body("bob", mass=2.0)
    m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, 0.5))
    eqs = da.equations(m)
    at = da.assemble(eqs, {"hinge": 1.2}, velocity={"hinge": 0.4})
    frozen = da.linearize(eqs, at, frozen=True)
    assert isinstance(frozen, da.StateSpace)
    np.testing.assert_allclose(frozen.A, [[0, 1], [-2 * G * np.sin(1.2) / 1.2, 0]], rtol=0, atol=1e-9)
    jacobian = da.linearize(eqs, at, anywhere=True)
    np.testing.assert_allclose(jacobian.K / jacobian.M, [[2 * G * np.cos(1.2)]], rtol=0, atol=1e-9)
    # ẋ = A(x) (x - x₀) exactly, what the Jacobian does not give
    np.testing.assert_allclose(frozen.A @ [1.2, 0.4], [0.4, -2 * G * np.sin(1.2)], rtol=0, atol=1e-9)


@pytest.mark.spec("003-C25")
def test_frozen_matrices_give_rates_and_outputs_exactly_with_inputs_and_time() -> None:
    """ẋ = A(x,t) x + B(x,t) u and y = C(x,t) x + D(x,t) u about rest: a cart-pole on a spring that stiffens."""
    m = da.Mechanism("cart-pole", planar=True)
    cart, bob = m.add_body("cart", mass=1.5, inertia=1.0), m.add_body("bob", mass=0.4)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_revolute("hinge", cart.at(0, 0), bob.at(0, 0.7))
    m.add_force("push", cart.at(0, 0), (1, 0), input="force")
    m.add_actuator("spring", joint="rail", effort=lambda s: -8.0 * (1 + 0.5 * s.t) * s["rail.displacement"])
    m.add_damper("drag", joint="hinge", damping=0.1)
    m.add_sensor("shake", da.acceleration(bob.at(0, 0)))
    m.add_sensor("swing", da.angle("hinge"))
    eqs = da.equations(m)
    found = []
    for t in (0.0, 2.0):
        x = np.array([0.3, 1.1, -0.4, 2.0])
        at = da.assemble(eqs, {"rail": x[0], "hinge": x[1]}, velocity={"rail": x[2], "hinge": x[3]}, t=t)
        frozen = da.linearize(eqs, at, frozen=True)
        assert frozen.states == ("rail.displacement", "hinge.angle", "rail.speed", "hinge.rate")
        for force in (0.0, 3.0):
            sol = da.forward_dynamics(eqs, at, inputs={"force": force})
            expected = [x[2], x[3], sol["rail.speed"], sol["hinge.rate"]]
            np.testing.assert_allclose(frozen.A @ x + frozen.B @ [force], expected, rtol=0, atol=1e-9)
            y = eqs.kernel("outputs")(at.q, at.v, sol.acceleration, sol.lam, [], [force], eqs.p, t)[0]
            np.testing.assert_allclose(frozen.C @ x + frozen.D @ [force], y, rtol=0, atol=1e-9)
        # B of a cart-pole at its angle: 1 / (M + m sin² θ), not the 1 / M of the rest
        assert frozen.B[2, 0] == pytest.approx(1 / (1.5 + 0.4 * np.sin(1.1) ** 2), rel=1e-9)
        found.append(frozen.A)
    assert found[1][2, 0] == pytest.approx(2 * found[0][2, 0], rel=1e-9)  # twice as stiff at t = 2 s


def test_spatial_bodies_without_joints_turn_about_their_own_axes() -> None:
    m = da.Mechanism("hovering", gravity=0)
    box = m.add_body("box", mass=2.0, inertia=(0.1, 0.2, 0.3), position=(1, 2, 3))
    m.add_bushing("mount", m.ground.at(1, 2, 3), box.at(0, 0, 0), stiffness=100.0, rotational_stiffness=5.0)
    lin = da.linearize(da.equations(m))
    assert lin.coordinates == ("box.x", "box.y", "box.z", "box.rx", "box.ry", "box.rz")
    np.testing.assert_allclose(np.diag(lin.M), [2, 2, 2, 0.1, 0.2, 0.3], rtol=0, atol=EXACT)
    np.testing.assert_allclose(lin.K, np.diag([100.0] * 3 + [5.0] * 3), rtol=0, atol=1e-9)


def test_a_singular_pose_has_no_linear_model() -> None:
    """A parallelogram stretched out: at its dead point it may leave in two ways."""
    m = da.Mechanism("parallelogram", planar=True, gravity=0)
    bars = [m.add_body(n, mass=1.0, inertia=0.1) for n in ("left", "top", "right")]
    left, top, right = bars
    m.add_revolute("A", m.ground.at(0, 0), left.at(-0.5, 0))
    m.add_revolute("B", left.at(0.5, 0), top.at(-1, 0))
    m.add_revolute("C", top.at(1, 0), right.at(0.5, 0))
    m.add_revolute("D", m.ground.at(2, 0), right.at(-0.5, 0))
    m.add_spring("spring", joint="A", stiffness=1.0)
    eqs = da.equations(m)
    dead = eqs.state([0.5, 0, 0, 2, 0, 0, 2.5, 0, 0])
    with raises(ModelError, "singular-pose"):
        da.linearize(eqs, dead)


def test_redundant_joints_change_nothing() -> None:
    def door(hinges: int) -> da.SecondOrder:
        m = da.Mechanism("door")
        leaf = m.add_body("leaf", mass=2.0, inertia=(0.1, 0.2, 0.3))
        for k in range(hinges):
            m.add_revolute(f"H{k}", m.ground.at(0, 0.2 * k, 0), leaf.at(-1, 0.2 * k, 0), axis=(0, 1, 0))
        lin = da.linearize(da.equations(m))
        assert isinstance(lin, da.SecondOrder)
        return lin

    one, three = door(1), door(3)
    np.testing.assert_allclose(three.M, one.M, rtol=0, atol=1e-9)
    np.testing.assert_allclose(three.K, one.K, rtol=0, atol=1e-9)
    assert three.modes().frequencies[0] == pytest.approx(np.sqrt(2 * G / 2.2), rel=1e-9)


def test_parameters_change_the_model_without_rebuilding() -> None:
    m = da.Mechanism("pendulum", planar=True)
    length = m.parameter("length", 1.0)
    bob = m.add_body("bob", mass=2.0)
    m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, length))
    eqs = da.equations(m)
    for value in (1.0, 4.0):
        lin = da.linearize(eqs.replace(length=value))
        assert lin.modes().frequencies[0] == pytest.approx(np.sqrt(G / value), rel=1e-9)


# --- cyclic coordinates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rates", [{"spin": 200.0, "yaw": 3.0}, {"spin": 200.0}])
def test_cyclic_coordinates_of_a_steady_motion_are_rigid_body_modes(rates: dict[str, float]) -> None:
    """A heavy gyroscope in two gimbals: nothing depends on yaw and spin, whatever turns; the tilt nutates or falls."""
    m = da.Mechanism("gyroscope")
    outer = m.add_body("outer", mass=0.5, inertia=(0.02, 0.03, 0.02))
    inner = m.add_body("inner", mass=0.3, inertia=(0.01, 0.01, 0.02))
    wheel = m.add_body("wheel", mass=2.0, inertia=(0.02, 0.02, 0.04))
    m.add_revolute("yaw", m.ground.at(0, 0, 0), outer.at(0, 0, 0), axis=(0, 0, 1))
    m.add_revolute("tilt", outer.at(0, 0, 0), inner.at(0, 0, 0), axis=(1, 0, 0))
    m.add_revolute("spin", inner.at(0, 0, 0), wheel.at(0, 0, -0.1), axis=(0, 0, 1))
    eqs = da.equations(m)
    lin = da.linearize(eqs, at=da.equilibrium(eqs, rates=rates, guess={"tilt": 0.7} if "yaw" in rates else None))
    cyclic = [lin.coordinates.index(name) for name in ("yaw.angle", "spin.angle")]
    assert not lin.K[:, cyclic].any() and not lin.K[cyclic].any()
    found = lin.modes()
    assert list(found.eigenvalues[:2]) == [0.0, 0.0] and abs(found.eigenvalues[2]) > 1.0
    assert found.table().count("rigid body\n") == 2


def test_a_machine_without_freedom_says_that_it_has_no_small_motions() -> None:
    m = da.Mechanism("driven", planar=True)
    crank = m.add_body("crank", mass=1.0, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.5, 0))
    m.add_driver("turn", "A", lambda t: 2 * t)
    eqs = da.equations(m)
    with raises(ModelError, "no-freedom", "'driven'"):
        da.linearize(eqs, at=da.assemble(eqs))


# -- many states -------------------------------------------------------------------------------------------------------
def slider_crank() -> da.EquationsOfMotion:
    """A crank of 0.1 m and a rod whose length is a parameter; the slider stands at a dead point at the angle 0."""
    m = da.Mechanism("engine", planar=True)
    length = m.parameter("length", 0.3)
    crank = m.add_body("crank", mass=0.5, inertia=da.rod(0.1))
    rod = m.add_body("rod", mass=0.3, inertia=da.rod(length))
    piston = m.add_body("piston", mass=0.4, inertia=0.01)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.05, 0))
    m.add_revolute("B", crank.at(0.05, 0), rod.at(-length / 2, 0))
    m.add_revolute("C", rod.at(length / 2, 0), piston.at(0, 0))
    m.add_prismatic("D", m.ground.at(0, 0), piston.at(0, 0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("pressure", da.reaction("D"))
    return da.equations(m)


def same(one: object, other: object) -> None:
    assert type(one) is type(other)
    parts = ("M", "C", "K", "B") if isinstance(one, da.SecondOrder) else ("A", "B", "C", "D")
    for part in parts:
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
    assert one.provenance == other.provenance  # type: ignore[attr-defined]


@pytest.mark.parametrize("count", [0, 1, 3, 70])
def test_many_states_give_the_models_of_each_with_its_own_parameters(count: int) -> None:
    eqs = slider_crank()
    values = np.random.default_rng(2).uniform((0.25, 0.3), (0.35, 1.2), (count, 2))
    states = [da.assemble(eqs.replace(length=length), {"A": angle}) for length, angle in values]
    found = da.linearize(eqs, at=states, anywhere=True, inputs={"torque": 0.3}, coordinates="A.angle")
    assert len(found) == count
    for state, one in zip(states, found, strict=True):
        same(one, da.linearize(state.eqs, state, anywhere=True, inputs={"torque": 0.3}, coordinates="A.angle"))


def test_models_of_many_states_have_the_coordinates_of_the_first() -> None:
    eqs = slider_crank()
    states = [da.assemble(eqs, {"A": angle}) for angle in (0.0, 1.2, 3.0)]
    first, *rest = da.linearize(eqs, at=states, anywhere=True)
    assert {one.coordinates for one in rest} == {first.coordinates}  # type: ignore[union-attr]


def test_a_coordinate_that_is_no_coordinate_at_another_state_is_refused() -> None:
    eqs = slider_crank()
    states = [da.assemble(eqs, {"A": angle}) for angle in (1.2, 0.0)]
    with raises(ModelError, "dependent-coordinates", "D.displacement"):
        da.linearize(eqs, at=states, anywhere=True, coordinates="D.displacement")


def test_many_states_of_a_machine_with_dry_friction() -> None:
    m = da.Mechanism("sledge", planar=True)
    body = m.add_body("body", mass=m.parameter("mass", 1.0), inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), body.at(0, 0))
    m.add_friction("rub", joint="rail", coulomb=1.0)
    m.add_spring("coil", joint="rail", stiffness=50.0)
    eqs = da.equations(m)
    states = [da.assemble(eqs.replace(mass=mass), {"rail": 0.01}, velocity={"rail": 1.0}) for mass in (1.0, 2.0)]
    options = {"anywhere": True, "friction": False}
    for state, one in zip(states, da.linearize(eqs, at=states, **options), strict=True):  # type: ignore[arg-type]
        same(one, da.linearize(state.eqs, state, **options))  # type: ignore[arg-type]


def test_many_equilibria_and_frozen_models() -> None:
    eqs = pair()
    states = [da.assemble(eqs, {"A": a, "B": 0.2}) for a in (-1.2, -1.0)]
    for state, one in zip(states, da.linearize(eqs, at=states, frozen=True), strict=True):
        same(one, da.linearize(eqs, state, frozen=True))
    rests = [da.equilibrium(eqs), da.equilibrium(eqs)]
    for one in da.linearize(eqs, at=rests):
        same(one, da.linearize(eqs, rests[0]))


def test_every_state_of_a_list_is_checked() -> None:
    eqs = pair()
    rest = da.equilibrium(eqs)
    with raises(ModelError, "wrong-type"):
        da.linearize(eqs, at=[rest, {"A": 0.0}])  # type: ignore[list-item]
    with raises(ModelError, "wrong-owner"):
        da.linearize(eqs, at=[rest, da.equilibrium(cart_pole())])
    with raises(ModelError, "not-at-rest"):
        da.linearize(eqs, at=[rest, da.assemble(eqs, {"A": 0.1})])
