"""Kinematics-based models: relations, steps, schemes (spec 004, C12 to C14, C16)."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.estimate import ExtendedKalman, model_kinematics, process
from tests.helpers.findings import raises
from tests.helpers.kinematic_machines import DT, observer, slider_crank, spatial_loop, stepped, two_link


def formula(s):
    """The same in closed form."""
    th1 = s["A.angle"]
    th2 = da.math.acos(-0.5 * da.cos(th1))
    return {"slider": 0.3 * da.sin(th1) + 0.6 * da.sin(th2)}


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    return da.equations(slider_crank())


# --- relations ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C12")
def test_relations_of_a_mechanism_are_those_of_its_formula(eqs):
    built = observer(eqs)
    given = model_kinematics(
        formula, independent="A.angle", inputs="slider.acceleration", outputs="A.angle", units={"A.angle": "rad"}
    )
    for angle in np.random.default_rng(1).uniform(-3, 3, 20):
        at = {"A.angle": angle, "A.rate": 7.0}
        one, other = built.relation(at), given.relation(at)
        np.testing.assert_allclose(one.S, other.S, rtol=0, atol=1e-12)
        assert one.bias == pytest.approx(other.bias, abs=1e-11)  # of 20 m/s²


@pytest.mark.spec("004-C12")
def test_the_pose_stays_on_its_branch_over_many_turns(eqs):
    """The rod stays above the crank through four turns, dead points included; steps of a degree."""
    model = observer(eqs, order="velocity", inputs="slider speed", scheme=None)
    retract = process(model).functions["retract"]
    x = model.state({"A.angle": 0.0})
    for _ in range(4 * 360):
        x = np.array(retract(x, np.pi / 180, [], 0.0)).ravel()
    names = model.carried.names
    assert x[names.index("pose.slider.y")] == pytest.approx(0.6 * np.sin(np.pi / 3), abs=1e-12)
    assert x[names.index("pose.crank.angle")] == pytest.approx(8 * np.pi, abs=1e-11)


@pytest.mark.spec("004-C12")
def test_slopes_of_a_closed_chain_are_exact_derivatives_of_its_positions(eqs):
    """Through the pose that is closed inside the graph: ∂(slider position)/∂z = S of its acceleration."""
    model = observer(eqs, outputs=["encoder", "guide.displacement"])
    p = process(model)
    x, e = ca.MX.sym("x", p.nx), ca.MX.sym("e", p.ne)
    y = p.functions["outputs"](p.functions["retract"](x, e, [], 0), 0, [], 0)
    H = ca.Function("H", [x, e], [ca.jacobian(y, e)])
    for angle in (0.3, 1.2, 2.5, -1.0):
        at = model.state({"A.angle": angle})
        found = np.array(H(at, np.zeros(3)))
        assert found[1, 0] == pytest.approx(model.relation(x=at).S[0, 0], abs=1e-12)
        assert found[0].tolist() == [1.0, 0.0, 0.0]


def test_gravity_in_an_accelerometer_is_known_from_the_pose():
    m = da.Mechanism("arm", planar=True)  # gravity along -y
    arm = m.add_body("arm", mass=1.0, inertia=da.rod(0.4))
    m.add_revolute("A", m.ground.at(0, 0), arm.at(-0.2, 0))
    m.add_sensor("acc", da.accelerometer(arm.at(0.1, 0)))
    model = model_kinematics(m, independent="A.angle", inputs="acc.y", outputs="A.angle", scheme=None)
    relation = model.relation({"A.angle": 0.7, "A.rate": 3.0})
    np.testing.assert_allclose(relation.S, [[0.3]], rtol=0, atol=1e-14)
    assert relation.bias == pytest.approx([9.81 * np.cos(0.7)], abs=1e-13)


def test_parameters_stay_parameters():
    """The same graph at another length: S and bias of an accelerometer grow with it."""
    m = da.Mechanism("arm", planar=True, gravity=(0, 0))
    place = m.parameter("place", 0.3)
    arm = m.add_body("arm", mass=1.0, inertia=da.rod(0.4))
    m.add_revolute("A", m.ground.at(0, 0), arm.at(-0.2, 0))
    m.add_sensor("acc", da.acceleration(arm.at(place - 0.2, 0)))
    eqs = da.equations(m)
    for value in (0.3, 0.35):
        model = model_kinematics(
            eqs.replace(place=value), independent="A.angle", inputs=["acc.x", "acc.y"], outputs="A.angle", scheme=None
        )
        relation = model.relation({"A.angle": 0.7, "A.rate": 2.0})
        np.testing.assert_allclose(relation.S[:, 0], value * np.array([-np.sin(0.7), np.cos(0.7)]), rtol=0, atol=1e-14)
        assert relation.bias == pytest.approx(-4.0 * value * np.array([np.cos(0.7), np.sin(0.7)]), abs=1e-13)
        assert process(model).p.tolist() == [value]


def test_a_joint_driven_in_time_is_part_of_the_relations():
    """A cart whose rail is driven: the accelerometer feels the driven motion too."""
    m = da.Mechanism("driven", planar=True, gravity=(0, 0))
    cart = m.add_body("cart", mass=1.0, inertia=1.0)
    arm = m.add_body("arm", mass=1.0, inertia=da.rod(0.4))
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_driver("drive", "rail", lambda t: 0.5 * t**2)
    m.add_revolute("A", cart.at(0, 0), arm.at(-0.2, 0))
    m.add_sensor("acc", da.accelerometer(arm.at(0.2, 0)))
    model = model_kinematics(m, independent="A.angle", inputs="acc.y", outputs="A.angle", scheme=None)
    assert model.relation({"A.angle": 0.7}).bias == pytest.approx([-np.sin(0.7)], abs=1e-12)


@pytest.mark.spec("004-C12")
def test_redundant_rows_of_a_loop_in_space_do_no_harm():
    """Against the position, velocity and acceleration analysis, which solves the rows in another way."""
    eqs = da.equations(spatial_loop())
    model = model_kinematics(eqs, independent="A.angle", inputs=["imu.x", "imu.y"], outputs=["A.angle", "gyro.z"])
    begin = da.assemble(eqs)["A.angle"]
    run = da.kinematics(eqs, 1.0, motion={"A": lambda t: begin + 3 * t + 2 * t**2}, every=0.05)
    p = process(model)
    for k in range(0, 21, 4):
        x = model.state({"A": run["A.angle"][k], "A.rate": run["A.rate"][k], "A.acceleration": 4.0})
        relation = model.relation(x=x)
        measured = [run["imu.x"][k], run["imu.y"][k]]
        assert relation.S @ [4.0] + relation.bias == pytest.approx(measured, abs=1e-9)
        output = np.array(p.functions["report"](x, measured, [], 0.0)).ravel()
        for name in ("D.angle", "D.rate", "C.acceleration", "gyro.z", "imu.x"):
            assert output[p.reported.index[name]] == pytest.approx(run[name][k], abs=1e-9)


# --- steps --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C13")
def test_a_velocity_step_moves_by_the_speed_that_the_sensor_implies(eqs):
    model = observer(eqs, order="velocity", inputs="slider speed", scheme=None)
    x = model.state({"A.angle": 0.4})
    S = model.relation(x=x).S[0, 0]
    assert model.states.names == ("A.angle",)
    assert stepped(model, x, S * 5.0) == pytest.approx([0.4 + DT * 5.0], abs=1e-13)


def swinging_arm() -> da.Mechanism:
    """Two links of 0.4 m; the velocity of a point 0.25 m beyond the elbow and the spin of the second link are read."""
    m = two_link(gravity=(0, -9.81))
    lower = m.bodies[-1]
    m.add_sensor("wrist", da.velocity(lower.at(0.05, 0)))
    m.add_sensor("spin", da.gyroscope(lower))
    return m


def wrist_speeds(a: float, b: float) -> np.ndarray:
    """S (3, 2) of the arm in closed form: velocity of the point and spin, of the rates of both joints."""
    s1, c1, s2, c2 = np.sin(a), np.cos(a), np.sin(a + b), np.cos(a + b)
    return np.array([[-0.4 * s1 - 0.25 * s2, -0.25 * s2], [0.4 * c1 + 0.25 * c2, 0.25 * c2], [1.0, 1.0]])


@pytest.mark.spec("004-C13")
@pytest.mark.parametrize("weights", [None, {"wrist.x": 4.0, "wrist.y": 0.5, "spin": 2.0}])
def test_more_speeds_than_freedoms_give_the_rates_by_least_squares(weights):
    """ż = (Sᵀ W S)⁻¹ Sᵀ W u of two joints from three contradictory speeds; S written out, NumPy solves."""
    model = model_kinematics(swinging_arm(), order="velocity", independent=["A.angle", "B.angle"],
                      inputs=["wrist.x", "wrist.y", "spin"], outputs=["A.angle", "B.angle"], weights=weights,
                      scheme=None)  # fmt: skip
    assert model.states.names == ("A.angle", "B.angle")
    root = np.sqrt([1.0, 1.0, 1.0] if weights is None else list(weights.values()))
    u = np.array([0.7, -1.1, 2.0])
    p = process(model)
    for a, b in ((0.3, -0.8), (2.0, 1.4)):
        x = model.state({"A.angle": a, "B.angle": b})
        S = wrist_speeds(a, b)
        np.testing.assert_allclose(model.relation(x=x).S, S, rtol=0, atol=1e-12)
        rates = np.linalg.lstsq(root[:, None] * S, root * u, rcond=None)[0]
        assert stepped(model, x, u) == pytest.approx([a, b] + DT * rates, abs=1e-13)
        output = np.array(p.functions["report"](x, u, [], 0.0)).ravel()
        assert output[[p.reported.index["A.rate"], p.reported.index["B.rate"]]] == pytest.approx(rates, abs=1e-11)


@pytest.mark.spec("004-C13")
def test_an_observer_of_speeds_follows_an_arm_of_two_joints():
    """A falling arm from three exact speeds and the joint angles, from 0.1 rad off. Speeds held over a step leave
    dt² z̈ / 2 < 1e-4 rad at 200 rad/s², of which the filter (gain above 1/2) keeps less than twice."""
    eqs = da.equations(swinging_arm())
    begin = da.assemble(eqs, {"A.angle": 0.3, "B.angle": -0.8})
    run = da.simulate(eqs, 1.0, start=begin, every=DT)
    model = model_kinematics(eqs, order="velocity", independent=["A.angle", "B.angle"],
                      inputs=["wrist.x", "wrist.y", "spin"], outputs=["A.angle", "B.angle"], scheme=None,
                      method="rk4", start={"A.angle": 0.4, "B.angle": -0.9})  # fmt: skip
    found = ExtendedKalman(model, Q=1e-6, R=1e-6, P0=1e-2, dt=DT).run(run)
    late = run.time > 0.1
    for name in ("A.angle", "B.angle"):
        assert np.abs(found[name] - run[name])[late].max() < 2e-4
    for name in ("A.rate", "B.rate"):
        assert np.abs(found[name] - run[name])[late].max() < 2e-3 * np.abs(run[name]).max()


@pytest.mark.spec("004-C14")
def test_an_acceleration_step_inverts_the_relation(eqs):
    model = observer(eqs, scheme=None)
    x = model.state({"A.angle": 0.4, "A.rate": 6.0})
    relation = model.relation(x=x)
    u = relation.S[0, 0] * 11.0 + relation.bias[0]
    assert stepped(model, x, u) == pytest.approx([0.4 + DT * 6.0, 6.0 + DT * 11.0], abs=1e-12)


@pytest.mark.spec("004-C14")
def test_more_sensors_than_freedoms_are_weighted_least_squares():
    """Three accelerometers of an arm with two joints; NumPy's least squares with weights is the judge."""
    m = two_link(gravity=(0, -9.81))
    weights = {"acc1.y": 4.0, "acc2.y": 0.5, "acc2.x": 2.0}
    model = model_kinematics(
        m, independent=["A.angle", "B.angle"], inputs=list(weights), outputs=["A.angle", "B.angle"], weights=weights
    )
    x = model.state({"A.angle": 0.3, "B.angle": -0.8, "A.rate": 2.0, "B.rate": -5.0})
    relation = model.relation(x=x)
    u = np.array([3.0, -2.0, 7.0])
    root = np.sqrt(list(weights.values()))
    expected = np.linalg.lstsq(root[:, None] * relation.S, root * (u - relation.bias), rcond=None)[0]
    assert stepped(model, x, u)[4:] == pytest.approx(expected, abs=1e-11)


@pytest.mark.spec("004-C3")
@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("heun", 2), ("rk4", 4)])
def test_methods_have_their_order_under_a_held_input(eqs, method, order):
    """Error after 0.1 s with a constant slider acceleration, against steps thirty times as short."""

    def run(method: str, steps: int) -> np.ndarray:
        model = observer(eqs, scheme=None, method=method)
        x = model.state({"A.angle": 0.2, "A.rate": 3.0})
        step = process(model).functions["step"].mapaccum("run", steps)
        return np.array(step(x, np.full((1, steps), 2.0), [], 0.0, 0.1 / steps))[:2, -1]

    exact = run("rk4", 600)
    errors = [np.abs(run(method, steps) - exact).max() for steps in (10, 20)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)


# --- schemes ------------------------------------------------------------------------------------------------------

STATE = {"A.angle": 0.4, "A.rate": 6.0, "A.acceleration": -4.0}


def top_row(eqs, u: float = 1.5, **options) -> tuple[float, float, np.ndarray]:
    """The highest derivative after a step; that of the constraint before it; the whole state after."""
    model = observer(eqs, **options)
    x = model.state(STATE)
    relation = model.relation(x=x)
    after = stepped(model, x, u)
    return after[2], (u - relation.bias[0]) / relation.S[0, 0], after


@pytest.mark.spec("004-C16")
@pytest.mark.parametrize("method", ["euler", "heun", "rk4"])
def test_scheme_one_is_the_constraint_before_the_step(eqs, method):
    found, constraint, _ = top_row(eqs, scheme=1, method=method)
    assert found == pytest.approx(constraint, abs=1e-11)


@pytest.mark.spec("004-C16")
@pytest.mark.parametrize("method", ["euler", "heun", "rk4"])
def test_scheme_two_is_newmarks_formula_with_the_predicted_speed(eqs, method):
    gamma = 0.7
    found, _, after = top_row(eqs, scheme=2, method=method, gamma=gamma)
    assert found == pytest.approx((after[1] - 6.0) / (gamma * DT) + (gamma - 1) / gamma * -4.0, abs=1e-9)


@pytest.mark.spec("004-C16")
@pytest.mark.parametrize("scheme", [2, 3])
def test_the_displacement_form_is_newmarks_too(eqs, scheme):
    beta = 0.4
    found, constraint, after = top_row(eqs, scheme=scheme, method="rk4", form="displacement", beta=beta)
    last = -4.0 if scheme == 2 else constraint
    expected = (after[0] - 0.4) / (beta * DT**2) - 6.0 / (beta * DT) + (1 - 1 / (2 * beta)) * last
    assert found == pytest.approx(expected, abs=1e-7)  # differences of 1e-16 over Δt² = 1e-6


@pytest.mark.spec("004-C16")
@pytest.mark.spec("004-T1")
@pytest.mark.parametrize("gamma", [0.3, 0.5, 0.6, 1.0, 2.5])
def test_scheme_three_is_scheme_one_under_euler_for_any_gamma(eqs, gamma):
    """T3.1e: ż_k - ż is Δt times the constraint, so both terms add up to it. To rounding of a speed over Δt."""
    found, constraint, _ = top_row(eqs, scheme=3, gamma=gamma)
    assert found == pytest.approx(constraint, rel=1e-12)


@pytest.mark.spec("004-C16")
def test_scheme_three_differs_from_scheme_one_under_runge_kutta(eqs):
    found, constraint, after = top_row(eqs, scheme=3, method="rk4", gamma=0.6)
    expected = (after[1] - 6.0) / (0.6 * DT) - (0.4 / 0.6) * constraint
    assert found == pytest.approx(expected, abs=1e-9)
    assert abs(found - constraint) > 1e-2


@pytest.mark.spec("004-T1")
@pytest.mark.parametrize("scheme", [2, 3])
def test_the_literal_equation_of_the_source_is_not_what_is_implemented(eqs, scheme):
    """T3.1f: eq. 2.15 as printed divides the speed itself by γΔt: thousands of rad/s² where 10 are right."""
    found, _, _ = top_row(eqs, scheme=scheme, gamma=0.6)
    assert abs(found - 6.0 / (0.6 * DT)) > 9e3
    assert abs(found) < 100


@pytest.mark.spec("004-C16")
def test_one_order_lower_the_speed_stands_in_the_state(eqs):
    model = observer(eqs, order="velocity", inputs="slider speed", scheme=2, gamma=0.8)
    x = model.state({"A.angle": 0.4, "A.rate": 3.0})
    S = model.relation(x=x).S[0, 0]
    after = stepped(model, x, S * 5.0)
    assert after == pytest.approx([0.4 + DT * 5.0, 5.0 / 0.8 - 0.25 * 3.0], abs=1e-11)


@pytest.mark.spec("004-C16")
def test_an_input_of_the_same_instant_leaves_no_lag(eqs):
    """use_current: after a step with u_k the highest derivative fits u_k at the pose of k."""
    model = observer(eqs, scheme=1, use_current=True)
    p = process(model)
    x = np.array(p.functions["step"](model.state(STATE), 1.5, [], 0.0, DT)).ravel()
    relation = model.relation(x=x)
    assert x[:2] == pytest.approx([0.4 + DT * 6.0, 6.0 + DT * -4.0], abs=1e-14)  # goes on with its own acceleration
    assert relation.S[0, 0] * x[2] + relation.bias[0] == pytest.approx(1.5, abs=1e-11)
    with raises(da.errors.ModelError, "conflicting-arguments"):
        observer(eqs, scheme=3, use_current=True)


@pytest.mark.spec("004-C12")
def test_a_formula_with_time_of_its_own_has_the_derivatives_of_both():
    """h = sin(z) + z t² : ḣ = (cos z + t²) ż + 2 z t, ḧ = (cos z + t²) z̈ - sin z ż² + 4 t ż + 2 z."""
    model = model_kinematics(
        lambda s: {"probe": da.sin(s["z"]) + s["z"] * s.t**2}, independent="z", inputs="probe.acceleration",
        outputs="z", scheme=None, method="euler",
    )  # fmt: skip
    z, rate, t, a = 0.7, -1.3, 0.6, 2.5
    u = (np.cos(z) + t**2) * a - np.sin(z) * rate**2 + 4 * t * rate + 2 * z
    p = process(model)
    after = np.array(p.functions["step"]([z, rate], u, p.p, t, DT)).ravel()
    assert after == pytest.approx([z + DT * rate, rate + DT * a], abs=1e-13)


def test_the_step_to_the_sample_of_now_is_of_second_order(eqs):
    """use_current with Heun: θ + dt ω + dt² α / 2 with the α of before, ω + dt (α + α_new) / 2."""
    model = observer(eqs, scheme=1, use_current=True, method="heun")
    x = model.state({"A.angle": 0.4, "A.rate": 6.0, "A.acceleration": 30.0})
    end = 0.4 + DT * 6.0 + DT**2 / 2 * 30.0
    after = stepped(model, x, 5.0)
    relation = model.relation({"A.angle": end, "A.rate": 6.0 + DT * 30.0})
    new = (5.0 - relation.bias[0]) / relation.S[0, 0]
    assert after == pytest.approx([end, 6.0 + DT / 2 * (30.0 + new), new], rel=1e-10)
