"""Kinematics-based models: relations, steps, schemes, switching, rules (spec 004, C12 to C18)."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.estimate import KinematicModel, Switching, Window, kinematic, process
from dalembert.estimate.kinematic_step import Stepper

DT = 1e-3


def slider_crank(L1: float = 0.3, L2: float = 0.6) -> da.Mechanism:
    """Guide on the y axis through the crank's axis; angles from the x axis (spec 004, C19)."""
    m = da.Mechanism("slider-crank", planar=True)
    rise = np.arccos(-L1 / L2)
    crank = m.add_body("crank", mass=1.0, inertia=da.rod(L1), position=(L1 / 2, 0))
    place = (L1 + L2 / 2 * np.cos(rise), L2 / 2 * np.sin(rise))
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(L2), position=place, angle=rise)
    slider = m.add_body("slider", mass=1.0, inertia=0.0, position=(0, L2 * np.sin(rise)))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-L1 / 2, 0))
    m.add_revolute("B", crank.at(L1 / 2, 0), rod.at(-L2 / 2, 0))
    m.add_revolute("C", rod.at(L2 / 2, 0), slider.at(0, 0))
    m.add_prismatic("guide", m.ground.at(0, 0), slider.at(0, 0), axis=(0, 1))
    m.add_sensor("slider acceleration", da.joint_acceleration("guide"))
    m.add_sensor("slider speed", da.speed("guide"))
    m.add_sensor("encoder", da.angle("A"))
    m.add_sensor("pin force", da.reaction("C"))
    m.add_sensor("squared", da.expression(lambda s: s["A.rate"] ** 2, "rad^2/s^2"))
    return m


def formula(s):
    """The same in closed form."""
    th1 = s["A.angle"]
    th2 = da.acos(-0.5 * da.cos(th1))
    return {"slider": 0.3 * da.sin(th1) + 0.6 * da.sin(th2)}


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    return da.equations(slider_crank())


def observer(eqs, **options) -> KinematicModel:
    return kinematic(
        eqs, **{"independent": "A.angle", "inputs": "slider acceleration", "outputs": "encoder", **options}
    )


def stepped(model: KinematicModel, x, u, dt: float = DT) -> np.ndarray:
    p = process(model)
    return np.array(p.functions["step"](x, u, p.p, 0.0, dt)).ravel()[: p.ne]


# --- relations ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C12")
def test_relations_of_a_mechanism_are_those_of_its_formula(eqs):
    built = observer(eqs)
    given = kinematic(
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
    model = kinematic(m, independent="A.angle", inputs="acc.y", outputs="A.angle", scheme=None)
    relation = model.relation({"A.angle": 0.7, "A.rate": 3.0})
    np.testing.assert_allclose(relation.S, [[0.3]], rtol=0, atol=1e-14)
    assert relation.bias == pytest.approx([9.81 * np.cos(0.7)], abs=1e-13)


def test_a_joint_driven_in_time_is_part_of_the_relations():
    """A cart whose rail is driven: the accelerometer feels the driven motion too."""
    m = da.Mechanism("driven", planar=True, gravity=(0, 0))
    cart = m.add_body("cart", mass=1.0, inertia=1.0)
    arm = m.add_body("arm", mass=1.0, inertia=da.rod(0.4))
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_driver("drive", "rail", lambda t: 0.5 * t**2)
    m.add_revolute("A", cart.at(0, 0), arm.at(-0.2, 0))
    m.add_sensor("acc", da.accelerometer(arm.at(0.2, 0)))
    model = kinematic(m, independent="A.angle", inputs="acc.y", outputs="A.angle", scheme=None)
    assert model.relation({"A.angle": 0.7}).bias == pytest.approx([-np.sin(0.7)], abs=1e-12)


def spatial_loop() -> da.Mechanism:
    """A planar four-bar modelled in space: three of its rows are redundant."""
    m = da.Mechanism("loop", gravity=(0, 0, 0))
    joint = np.array([0.2, 0, 0])
    d, rocker_length, coupler_length = 0.6, 0.5, 0.55
    # from joint B at (0.2, 0) to D at (0.6, 0): the triangle over BD
    base = d - 0.2
    alpha = np.arccos((coupler_length**2 + base**2 - rocker_length**2) / (2 * coupler_length * base))
    top = joint + coupler_length * np.array([np.cos(alpha), np.sin(alpha), 0])

    def bar(name, a, b):
        middle, along = (a + b) / 2, b - a
        turn = np.arctan2(along[1], along[0])
        half = np.linalg.norm(along) / 2
        body = m.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=tuple(middle),
                          rotation=(np.cos(turn / 2), 0, 0, np.sin(turn / 2)))  # fmt: skip
        return body, half

    crank, c = bar("crank", np.zeros(3), joint)
    coupler, k = bar("coupler", joint, top)
    rocker, r = bar("rocker", np.array([d, 0, 0]), top)
    m.add_revolute("A", m.ground.at(0, 0, 0), crank.at(-c, 0, 0), axis=(0, 0, 1))
    m.add_revolute("B", crank.at(c, 0, 0), coupler.at(-k, 0, 0), axis=(0, 0, 1))
    m.add_revolute("C", coupler.at(k, 0, 0), rocker.at(r, 0, 0), axis=(0, 0, 1))
    m.add_revolute("D", m.ground.at(d, 0, 0), rocker.at(-r, 0, 0), axis=(0, 0, 1))
    m.add_sensor("imu", da.accelerometer(coupler.at(0.1, 0.05, 0.0)))
    m.add_sensor("gyro", da.gyroscope(rocker))
    return m


@pytest.mark.spec("004-C12")
def test_redundant_rows_of_a_loop_in_space_do_no_harm():
    """Against the position, velocity and acceleration analysis, which solves the rows in another way."""
    eqs = da.equations(spatial_loop())
    model = kinematic(eqs, independent="A.angle", inputs=["imu.x", "imu.y"], outputs=["A.angle", "gyro.z"])
    begin = da.assemble(eqs)["A.angle"]
    run = da.kinematics(eqs, 1.0, motion={"A": lambda t: begin + 3 * t + 2 * t**2}, every=0.05)
    p = process(model)
    for k in range(0, 21, 4):
        x = model.state({"A": run["A.angle"][k], "A.rate": run["A.rate"][k], "A.acceleration": 4.0})
        relation = model.relation(x=x)
        measured = [run["imu.x"][k], run["imu.y"][k]]
        assert relation.S @ [4.0] + relation.bias == pytest.approx(measured, abs=1e-9)
        told = np.array(p.functions["report"](x, measured, [], 0.0)).ravel()
        for name in ("D.angle", "D.rate", "C.acceleration", "gyro.z", "imu.x"):
            assert told[p.reported.index[name]] == pytest.approx(run[name][k], abs=1e-9)


# --- steps --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C13")
def test_a_velocity_step_moves_by_the_speed_that_the_sensor_implies(eqs):
    model = observer(eqs, order="velocity", inputs="slider speed", scheme=None)
    x = model.state({"A.angle": 0.4})
    S = model.relation(x=x).S[0, 0]
    assert model.states.names == ("A.angle",)
    assert stepped(model, x, S * 5.0) == pytest.approx([0.4 + DT * 5.0], abs=1e-13)


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
    model = kinematic(
        m, independent=["A.angle", "B.angle"], inputs=list(weights), outputs=["A.angle", "B.angle"], weights=weights
    )
    x = model.state({"A.angle": 0.3, "B.angle": -0.8, "A.rate": 2.0, "B.rate": -5.0})
    relation = model.relation(x=x)
    u = np.array([3.0, -2.0, 7.0])
    root = np.sqrt(list(weights.values()))
    expected = np.linalg.lstsq(root[:, None] * relation.S, root * (u - relation.bias), rcond=None)[0]
    assert stepped(model, x, u)[4:] == pytest.approx(expected, abs=1e-11)


def two_link(L1=0.4, d1=0.3, d2=0.25, gravity=(0, 0)) -> da.Mechanism:
    m = da.Mechanism("two-link", planar=True, gravity=gravity)
    upper = m.add_body("upper", mass=1.0, inertia=da.rod(L1), position=(L1 / 2, 0))
    lower = m.add_body("lower", mass=1.0, inertia=da.rod(0.4), position=(L1 + 0.2, 0))
    m.add_revolute("A", m.ground.at(0, 0), upper.at(-L1 / 2, 0))
    m.add_revolute("B", upper.at(L1 / 2, 0), lower.at(-0.2, 0))
    m.add_sensor("acc1", da.accelerometer(upper.at(d1 - L1 / 2, 0)))
    m.add_sensor("acc2", da.accelerometer(lower.at(d2 - 0.2, 0)))
    return m


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
    with pytest.raises(da.ModelError, match="use_current"):
        observer(eqs, scheme=3, use_current=True)


def test_advance_moves_the_inputs_one_sample_ahead(eqs):
    model = observer(eqs, use_current=True)
    t = np.arange(4.0)
    record = da.Record(t, np.column_stack((t, 10 * t)), ["encoder", "slider acceleration"])
    moved = model.advance(record)
    assert moved["encoder"].tolist() == [0.0, 1.0, 2.0]
    assert moved["slider acceleration"].tolist() == [10.0, 20.0, 30.0]


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
    large = kinematic(slider_crank(300.0, 600.0), independent="A.angle", inputs="slider acceleration",
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


@pytest.mark.parametrize("bad", [{"enter": 0.0}, {"enter": 0.1, "leave": 0.05}, {"enter": 0.1, "distance": 3.0}])
def test_switching_refuses_what_makes_no_sense(bad):
    with pytest.raises(da.ModelError, match="Switching"):
        Switching(**bad)


# --- rules --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C15")
def test_the_check_tells_where_the_inputs_are_blind(eqs):
    found = observer(eqs).check()
    assert found.condition.max() > 100
    assert abs(np.cos(found.worst["A.angle"])) < 0.02  # crank and rod in line
    assert found.observable_rank == 2
    assert "use switching" in found.table()
    assert "switching model takes over" in observer(eqs, switching=Switching(0.01)).check().table()


@pytest.mark.spec("004-C15")
def test_the_check_finds_an_open_chain_regular_everywhere():
    """det S = d1 d2 at every pose."""
    model = kinematic(
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
        ({"inputs": "slider speed"}, "inputs must measure accelerations; these do not: 'slider speed' .velocity"),
        ({"outputs": "slider speed"}, "must be positions"),
        ({"outputs": "guide.acceleration", "scheme": None}, "goes up to velocities and cannot predict"),
        ({"inputs": "pin force.force.x"}, "depends on forces"),
        ({"inputs": ["slider acceleration", "slider acceleration"]}, "twice"),
        ({"outputs": ["encoder", "slider acceleration"]}, "input and output"),
        ({"independent": ["A.angle", "B.angle"]}, "not independent"),
        ({"independent": "A.angl"}, "Did you mean 'A.angle'"),
        ({"inputs": "slider aceleration"}, "Did you mean 'slider acceleration'"),
        ({"order": "jerk"}, "order must be"),
        ({"scheme": 4}, "scheme must be"),
        ({"method": "rk5"}, "method must be"),
        ({"scheme": 2, "form": "displacement"}, "never sees the"),
        ({"gamma": 0.0}, "gamma must be"),
        ({"weights": {"encoder": 1.0}}, "no input named"),
        ({"start": {"A.angl": 1.0}}, "Did you mean"),
        ({"switching": 0.08}, "must be a da.estimate.Switching"),
    ],
)
def test_sensors_that_do_not_fit_are_refused_in_words(eqs, options, why):
    with pytest.raises(da.DalembertError, match=why):
        observer(eqs, **options)


@pytest.mark.spec("004-C15")
def test_too_few_coordinates_and_too_few_sensors_are_refused():
    with pytest.raises(da.ModelError, match="has 2 degrees of freedom, but 1"):
        kinematic(two_link(), independent="A.angle", inputs="acc1.y", outputs="A.angle")
    with pytest.raises(da.ModelError, match=r"at least 2 inputs, got 1.*at least 2 of the outputs must be positions"):
        kinematic(two_link(), independent=["A.angle", "B.angle"], inputs="acc1.y", outputs="A.angle")


@pytest.mark.spec("004-C15")
def test_inputs_that_all_tell_the_same_are_refused():
    """Two accelerometers on the first link say nothing of the second joint."""
    m = two_link()
    m.add_sensor("acc0", da.accelerometer(m.bodies[0].at(0.05, 0)))
    model = kinematic(
        m, independent=["A.angle", "B.angle"], inputs=["acc0.y", "acc1.y"], outputs=["A.angle", "B.angle"]
    )
    with pytest.raises(da.ModelError, match=r"do not tell A\.angle, B\.angle at any pose"):
        model.check()
    with pytest.raises(da.ModelError, match="say nothing about"):
        kinematic(m, independent=["A.angle", "B.angle"], inputs=["acc0.y", "acc1.y"],
                  outputs=["A.angle", "B.angle"], switching=Switching(0.01))  # fmt: skip


@pytest.mark.spec("004-C15")
def test_outputs_that_all_tell_the_same_are_refused():
    model = kinematic(
        two_link(), independent=["A.angle", "B.angle"], inputs=["acc1.y", "acc2.y"],
        outputs=["A.angle", "upper.x", "upper.y"],
    )  # fmt: skip
    with pytest.raises(da.ModelError, match="tell 1 of 2 independent"):
        model.check()


def test_a_rolling_machine_is_refused():
    m = da.Mechanism("wheel", planar=True)
    m.add_body("wheel", mass=1.0, inertia=1.0)
    m.add_constraint("rolls", lambda s: s["wheel.vx"] + 0.5 * s["wheel.rate"], level="velocity")
    with pytest.raises(da.ModelError, match="velocity or acceleration level"):
        kinematic(m, independent=["wheel.x"], inputs="wheel.ax", outputs="wheel.x")


def test_a_process_tells_every_joint_and_the_gap(eqs):
    p = process(observer(eqs))
    assert {"A.acceleration", "B.rate", "guide.displacement", "slider speed"} <= set(p.reported.names)
    assert "pin force.force.x" not in p.reported.names
    values = np.array(p.functions["report"](p.start, 0.0, [], 0.0)).ravel()
    assert values[p.reported.index["residual.position"]] < 1e-14


def test_a_stepper_is_plain_data(eqs):
    assert isinstance(observer(eqs).stepper, Stepper)
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
    model = kinematic(
        m, independent=["A.angle", "B.angle"], inputs=["acc1.y", "acc2.y"], outputs=["encoder 1", "encoder 2"],
        use_current=use_current,
    )  # fmt: skip
    noise = {"R": 1e-6, "input_noise": 1e-4, "P0": [1e-6] * 4 + [1.0] * 2}
    ekf = da.estimate.ExtendedKalman(model, dt=5e-3, **noise)
    eqs = da.equations(m)
    run = da.simulate(eqs, 0.3, observer=da.estimate.sensed(ekf), every=5e-3)
    name = next(n for n in run.names if n.endswith("B.rate") and n != "B.rate")
    record = model.advance(run) if use_current else run
    after = ekf.run(record.select("acc1.y", "acc2.y", "encoder 1", "encoder 2"))
    assert run[name][: len(after)] == pytest.approx(after["B.rate"], abs=1e-9)
    lag = 5e-3 * 40.0  # Euler's method: a sample of the acceleration
    assert run[name][-1] == pytest.approx(run["B.rate"][-1], abs=lag)
