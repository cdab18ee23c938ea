"""Rolling and skating: closed forms, and the rolling sphere of spec 002-T4 and T12.

Unless said, runs hold 1e-11 per step and are asked for 1e-8 over a few thousand steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.rotations import rotation
from dalembert.model.orientation import quaternion_from_matrix
from tests.helpers.checks import DIFFERENCE, freedoms, row_error, rows

TIGHT = da.DormandPrince(rtol=1e-11, atol=1e-11)
ASKED = 1e-8


def matrix(p: Any) -> Any:
    return np.array(rotation(np.asarray(p))).astype(float).reshape(3, 3)


# --- discs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lean", [1.0, 1.3])  # nearer the upright it is too slow to be stable
def test_rolling_disc_runs_steadily_in_a_circle(lean: float) -> None:
    """Axle at angle θ from the vertical, centre on a circle of radius ρ: with A about a diameter and C about the axle

        Ω² sin θ (A cos θ + C ρ/r + m r ρ) = m g r cos θ ,   spin about the axle  ω·e = -Ω ρ/r .

    (Moments about the centre; contact force m g up and m Ω² ρ inwards.)
    """
    mass, r, rho = 2.0, 0.25, 1.0
    A, C = mass * r**2 / 4, mass * r**2 / 2
    c, s = np.cos(lean), np.sin(lean)
    rate = np.sqrt(mass * 9.81 * r * c / (s * (A * c + C * rho / r + mass * r * rho)))
    axle = np.array([s, 0.0, c])
    place = np.array([rho, 0.0, r * s])
    # body axes: y along the axle, the default of a rolling wheel
    R = np.column_stack(([0.0, -1.0, 0.0], axle, np.cross([0.0, -1.0, 0.0], axle)))
    assert np.linalg.det(R) == pytest.approx(1.0)
    m = da.Mechanism("disc")
    disc = m.add_body(
        "disc",
        mass=mass,
        inertia=da.cylinder(r, axis="y"),
        position=tuple(place),
        rotation=tuple(quaternion_from_matrix(R)),
    )
    m.add_rolling_wheel("W", m.ground, disc, radius=r)
    eqs = da.equations(m)
    spin = -rate * rho / r - rate * c  # relative to the axle's own turning
    w = R.T @ (np.array([0, 0, rate]) + spin * axle)
    start = eqs.state(v=np.concatenate(([0.0, rate * rho, 0.0], w)))
    assert freedoms(eqs, start) == 3
    assert row_error(eqs, start) < DIFFERENCE
    (residual,) = eqs.kernel("rates")(start.q, start.v, eqs.p, 0.0)
    assert np.abs(residual).max() < 1e-12
    turn = 2 * np.pi / rate
    run = da.simulate(eqs, turn, start=start, method=TIGHT, every=turn / 50)
    azimuth = np.unwrap(np.arctan2(run["disc.y"], run["disc.x"]))
    assert np.abs(azimuth - rate * run.time).max() < ASKED
    assert np.abs(run["disc.z"] - place[2]).max() < ASKED
    assert np.abs(np.hypot(run["disc.x"], run["disc.y"]) - rho).max() < ASKED
    assert np.abs(run["W.force.z"] - mass * 9.81).max() < 1e-5
    assert np.abs(run["energy.balance"]).max() < ASKED


def test_upright_disc_rolls_straight() -> None:
    """Fast enough to stay up, spin² > g/(3 r)."""
    r, s = 0.3, 5.0
    m = da.Mechanism("disc")
    disc = m.add_body("disc", mass=1.0, inertia=da.cylinder(r, axis="y"), position=(0, 0, r))
    m.add_rolling_wheel("W", m.ground, disc, radius=r)
    eqs = da.equations(m)
    start = eqs.state(v=[r * s, 0, 0, 0, s, 0])
    run = da.simulate(eqs, 5.0, start=start, method=TIGHT)
    assert np.abs(run["disc.x"] - r * s * run.time).max() < ASKED
    assert np.abs(run["disc.z"] - r).max() < ASKED


# --- spheres -------------------------------------------------------------------------------------------------------


def test_sphere_rolls_down_a_slope_with_five_sevenths_of_gravity() -> None:
    m = da.Mechanism("slope")
    normal = (np.sin(0.3), 0.0, np.cos(0.3))
    r = 0.1
    ball = m.add_body("ball", mass=0.4, inertia=da.sphere(r), position=tuple(r * np.array(normal)))
    m.add_rolling_sphere("S", m.ground, ball, radius=r, normal=normal)
    eqs = da.equations(m)
    run = da.simulate(eqs, 2.0, method=TIGHT)
    way = (run["ball"] - run["ball"][0]) @ [np.cos(0.3), 0.0, -np.sin(0.3)]
    exact = 0.5 * 5 / 7 * 9.81 * np.sin(0.3) * run.time**2
    assert np.abs(way - exact).max() < ASKED
    assert np.abs((run["ball"] @ np.array(normal)) - r).max() < 1e-12
    assert np.abs(run["energy.balance"]).max() < ASKED


def test_sphere_on_a_turntable_runs_in_a_circle_at_two_sevenths_of_its_rate() -> None:
    """v̇ = (2/7) Ω z × v for a solid sphere that rolls on a plane turning at Ω: a circle in the world."""
    m = da.Mechanism("turntable")
    disc = m.add_body("disc", mass=10.0, inertia=(1.0, 1.0, 2.0), position=(0, 0, 0))
    m.add_revolute("A", m.ground, disc, at=(0, 0, 0), axis=(0, 0, 1))
    m.add_driver("drive", "A", lambda t: 3.0 * t)
    r = 0.1
    ball = m.add_body("ball", mass=0.4, inertia=da.sphere(r), position=(0.5, 0.2, r))
    m.add_rolling_sphere("S", disc, ball, radius=r)
    eqs = da.equations(m)
    start = da.assemble(eqs, velocity={"ball.x": 0.3, "ball.y": -0.1})
    run = da.simulate(eqs, 5.0, start=start, method=TIGHT, every=0.1)
    k = 2 / 7 * 3.0
    z0, v0 = 0.5 + 0.2j, 0.3 - 0.1j
    exact = z0 + v0 * (np.exp(1j * k * run.time) - 1) / (1j * k)
    assert np.abs(run["ball.x"] + 1j * run["ball.y"] - exact).max() < ASKED


@pytest.mark.spec("002-T4")
def test_t4_rolling_sphere_kinematics_on_a_plane() -> None:
    """S is the null space of A, V the velocity of the body point (0, 0, -r); V S = 0 at y = 0, identity orientation."""
    r = 0.01
    m = da.Mechanism("sphere")
    ball = m.add_body("ball", mass=0.05, inertia=da.sphere(r), position=(0, 0, r))
    m.add_rolling_sphere("S", m.ground, ball, radius=r)
    m.add_sensor("charge", da.velocity(ball.at(0, 0, -r)))
    eqs = da.equations(m)
    q = np.array(eqs.placement.q)
    A, _ = rows(eqs, q, np.zeros(6), 0.0)
    # rows wx, wy, wz, vx, vy, vz of the source with n = (0, 0, 1); ours are (v, ω)
    S = np.vstack((np.eye(3), [0, r, 0], [-r, 0, 0], [0, 0, 0]))
    own = np.vstack((S[3:], S[:3]))
    assert np.abs(A @ own).max() < 1e-15
    assert np.linalg.matrix_rank(A) == 3
    V = point_velocity(eqs, q)
    source = np.array([[0, -r, 0, 1, 0, 0], [r, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]])  # c = (0, 0, 1)
    assert np.abs(V - source).max() < 1e-15
    assert np.abs(V @ S).max() < 1e-15


def point_velocity(eqs: da.EquationsOfMotion, q: Any) -> Any:
    """Velocity of the sensor's point as a matrix times (ω in world axes, v)."""
    zero = np.zeros
    R = matrix(q[3:7])
    columns = []
    for k in range(6):
        v = zero(6)
        if k < 3:
            v[3:] = R.T @ np.eye(3)[k]
        else:
            v[k - 3] = 1
        v = np.concatenate((v, zero(eqs.nv - 6)))
        (y,) = eqs.kernel("outputs")(q, v, zero(eqs.nv), zero(len(eqs.rows)), zero(0), zero(0), eqs.p, 0.0)
        columns.append(y)
    return np.column_stack(columns)


# --- the trough ----------------------------------------------------------------------------------------------------

RADIUS, CURVE = 0.01, 0.5  # surface z = CURVE y²


def trough() -> da.EquationsOfMotion:
    """Spec 002-T12: contact coordinates x, y as extra variables; centre = contact + r n; no slip v = r ω × n."""
    m = da.Mechanism("trough", gravity=(0, 0, -9.8))
    ball = m.add_body("ball", mass=0.05, inertia=da.sphere(RADIUS))
    m.add_variable("cx", 0.0)
    m.add_variable("cy", 0.1)

    def normal(s: Any) -> tuple[Any, Any, Any]:
        slope = 2 * CURVE * s["cy"]
        size = da.math.sqrt(1 + slope * slope)
        return (0.0, -slope / size, 1 / size)

    def touch(s: Any) -> Any:
        n = normal(s)
        contact = (s["cx"], s["cy"], CURVE * s["cy"] ** 2)
        return tuple(s[f"ball.{k}"] - c - RADIUS * nk for k, c, nk in zip("xyz", contact, n, strict=True))

    def no_slip(s: Any) -> Any:
        _, ny, nz = normal(s)
        w = s.angular_velocity(ball)
        v = s["ball.vx"], s["ball.vy"], s["ball.vz"]
        slip = (v[0] - RADIUS * (w[1] * nz - w[2] * ny), v[1] + RADIUS * w[0] * nz, v[2] - RADIUS * w[0] * ny)
        return (slip[0], slip[1] * nz - slip[2] * ny)  # the two directions along the surface

    m.add_constraint("touch", touch)
    m.add_constraint("no slip", no_slip, level="velocity")
    m.add_force("field", ball.at(0, 0, -RADIUS), lambda s: (5e-6 * 1e4 * da.sin(np.pi * s.t / 2), 0.0, 0.0))
    m.add_sensor("charge", da.velocity(ball.at(0, 0, -RADIUS)))
    return da.equations(m)


@pytest.mark.spec("002-T4")
def test_t4_rolling_sphere_kinematics_in_the_trough() -> None:
    """Away from y = 0 and at a turned pose: A S = 0 for the S of the source, and V as printed with R's third column."""
    eqs = trough()
    random = np.random.default_rng(4)
    p = random.normal(size=4)
    p /= np.linalg.norm(p)
    y = 0.07
    n = np.array([0, -2 * CURVE * y, 1]) / np.sqrt(1 + (2 * CURVE * y) ** 2)
    center = np.array([0.2, y, CURVE * y**2]) + RADIUS * n
    q = np.concatenate((center, p, [0.2, y]))
    assert np.abs(eqs.kernel("position")(q, eqs.p, 0.0)[0]).max() < 1e-15
    A, _ = rows(eqs, q, np.zeros(8), 0.0)
    r = RADIUS
    rolling = np.array([[0, r * n[2], -r * n[1]], [-r * n[2], 0, r * n[0]], [r * n[1], -r * n[0], 0]])
    R = matrix(p)
    # contact rates that go with a centre velocity: ẋ_c = vx, ẏ_c from d(center)/dy
    h = 1e-6

    def height(y: float) -> Any:
        n = np.array([0, -2 * CURVE * y, 1]) / np.sqrt(1 + (2 * CURVE * y) ** 2)
        return np.array([0, y, CURVE * y**2]) + RADIUS * n

    slope = (height(y + h) - height(y - h)) / (2 * h)
    contact = np.vstack((rolling[0], slope @ rolling / (slope @ slope)))
    S = np.vstack((rolling, R.T, contact))  # (v, ω in body axes, contact) per ω in world axes
    assert np.abs(A @ S).max() < 1e-11  # h² and 1e-16/h times r
    assert np.linalg.matrix_rank(A) == 5
    c1, c2, c3 = R[:, 2]
    assert c3 == pytest.approx(1 - 2 * p[1] ** 2 - 2 * p[2] ** 2, abs=1e-14)
    V = point_velocity(eqs, q)
    source = np.hstack((r * np.array([[0, -c3, c2], [c3, 0, -c1], [-c2, c1, 0]]), np.eye(3)))
    assert np.abs(V - source).max() < 1e-15


@pytest.mark.spec("002-T12")
def test_t12_charged_sphere_rolls_in_the_trough() -> None:
    """x at 1, 2, 5, 10 s to the six digits printed; y swings with 2.3688 s between ±0.1, z twice as fast."""
    eqs = trough()
    start = da.assemble(eqs, {"cx": 0.0, "cy": 0.1})
    assert start["ball.e0"] == pytest.approx(1.0, abs=1e-12)
    method = da.DormandPrince(rtol=1e-11, atol=1e-12)
    run = da.simulate(eqs, 10.0, start=start, method=method, every=0.01)
    for t, x in ((1.0, 0.139317), (2.0, 0.830153), (5.0, 1.836234), (10.0, 4.476887)):
        assert run.at(t)["cx"] == pytest.approx(x, abs=6e-7)
    y = run["cy"]
    assert np.abs(y).max() < 0.1 + 1e-9
    down = np.nonzero((y[:-1] > 0) & (y[1:] <= 0))[0]
    crossings = run.time[down] + 0.01 * y[down] / (y[down] - y[down + 1])  # linear: error (2.65·0.01)³ of 0.1/0.26
    assert np.diff(crossings) == pytest.approx(2.3688, abs=6e-5)
    height = run["ball.z"] - 0.5 * (run["ball.z"].max() + run["ball.z"].min())
    assert np.count_nonzero(np.diff(np.sign(height))) == pytest.approx(2 * np.count_nonzero(np.diff(np.sign(y))), abs=2)
    assert np.abs(sum(run[f"ball.e{k}"] ** 2 for k in range(4)) - 1).max() < 1e-14
    assert np.abs(run["energy.balance"]).max() < 1e-9


# --- skates --------------------------------------------------------------------------------------------------------


def sleigh(arm: float, gravity: Any) -> da.EquationsOfMotion:
    """A planar body on a blade `arm` behind its mass centre, pointing along the body's x."""
    m = da.Mechanism("sleigh", planar=True, gravity=gravity)
    body = m.add_body("b", mass=2.0, inertia=0.3)

    def blade(s: Any) -> Any:
        v = s.velocity(body.at(-arm, 0))
        R = s.rotation(body)
        return R[0, 1] * v[0] + R[1, 1] * v[1]

    m.add_constraint("blade", blade, level="velocity")
    return da.equations(m)


def test_chaplygin_sleigh_turns_round_and_glides_away() -> None:
    """u̇ = a ω², (J + m a²) ω̇ = -m a u ω: u = U tanh κ(t - t₀), ω = W sech κ(t - t₀), κ = m a U/(J + m a²)."""
    arm, U = 0.4, 3.0
    J = 0.3 + 2.0 * arm**2
    kappa, W = 2.0 * arm * U / J, U * np.sqrt(2.0 / J)
    eqs = sleigh(arm, 0)
    t0 = 0.5
    u, w = U * np.tanh(-kappa * t0), W / np.cosh(kappa * t0)
    start = da.assemble(eqs, velocity={"b.x": u, "b.y": arm * w, "b.angle": w})
    assert freedoms(eqs, start) == 2
    assert row_error(eqs, start) < DIFFERENCE
    run = da.simulate(eqs, 2.0, start=start, method=TIGHT)
    c, s = np.cos(run["b.angle"]), np.sin(run["b.angle"])
    along = run["b.vx"] * c + run["b.vy"] * s
    assert np.abs(along - U * np.tanh(kappa * (run.time - t0))).max() < ASKED
    assert np.abs(run["b.rate"] - W / np.cosh(kappa * (run.time - t0))).max() < ASKED
    assert np.abs(run["energy"] - run["energy"][0]).max() < ASKED


def test_knife_edge_on_a_slope_does_not_slide_down() -> None:
    """Blade at the mass centre turning at ω: v = (g/ω)(cos ωt - 1) along it, a cycloid that stays at its height."""
    eqs = sleigh(0.0, (0, -2.0))
    w = 1.5
    run = da.simulate(eqs, 8.0, start=da.assemble(eqs, velocity={"b.angle": w}), method=TIGHT)
    t = run.time
    v = 2.0 / w * (np.cos(w * t) - 1)
    x = 2.0 / w * (t / 2 + np.sin(2 * w * t) / (4 * w) - np.sin(w * t) / w)
    y = 2.0 / w**2 * (np.sin(w * t) ** 2 / 2 + np.cos(w * t) - 1)
    assert np.abs(run["b.vx"] * np.cos(w * t) + run["b.vy"] * np.sin(w * t) - v).max() < ASKED
    assert np.abs(run["b.x"] - x).max() < ASKED
    assert np.abs(run["b.y"] - y).max() < ASKED


def test_appell_hamel_constraint_falls_at_a_constant_rate() -> None:
    """ẋ² + ẏ² = k² ż² with Chetaev's rule: the heading stays, ṡ = g k/(1 + k²), z̈ = -g/(1 + k²)."""
    k = 0.7
    m = da.Mechanism("Appell-Hamel")
    m.add_body("b", mass=1.2, inertia=0.1)

    def cone(s: Any) -> Any:
        return s["b.vx"] ** 2 + s["b.vy"] ** 2 - k**2 * s["b.vz"] ** 2

    m.add_constraint("cone", cone, level="velocity")
    eqs = da.equations(m)
    s0, heading = 0.5, 0.6
    v = [s0 * np.cos(heading), s0 * np.sin(heading), -s0 / k, 0, 0, 0]
    start = eqs.state(v=v)
    assert freedoms(eqs, start) == 5
    assert row_error(eqs, start) < DIFFERENCE
    run = da.simulate(eqs, 2.0, start=start, method=TIGHT)
    speed = s0 + 9.81 * k / (1 + k**2) * run.time
    assert np.abs(run["b.vx"] - speed * np.cos(heading)).max() < ASKED
    assert np.abs(run["b.vy"] - speed * np.sin(heading)).max() < ASKED
    assert np.abs(run["b.vz"] + s0 / k + 9.81 / (1 + k**2) * run.time).max() < ASKED
    assert np.abs(run["energy.balance"]).max() < ASKED
