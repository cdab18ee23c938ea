"""Pendulums: against elliptic closed forms, published digits, and their own energy over a long time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import dalembert as da

TIGHT = da.DormandPrince(rtol=1e-12, atol=1e-13)
# what peers.md prints: 12 digits after the point, rounded
DIGITS = 6e-13


def point_pendulum(kind: str) -> tuple[Any, dict[str, float]]:
    """m = L = 1 from rest at (-1, 0), by a rod, a hinge, a spatial hinge or a ball joint."""
    planar = kind in ("rod", "hinge")
    m = da.Mechanism("P1", planar=planar)
    if kind == "rod":
        bob = m.add_body("bob", mass=1.0, inertia=1.0)
        m.add_massless_rod("A", m.ground.at(0, 0), bob.at(0, 0), length=1.0)
        return m, {"bob.x": -1.0, "bob.y": 0.0}
    if kind == "hinge":
        bob = m.add_body("bob", mass=1.0, inertia=0.0)
        m.add_revolute("A", m.ground.at(0, 0), bob.at(-1, 0))
        return m, {"A": np.pi}
    bob = m.add_body("bob", mass=1.0, inertia=0.0)
    if kind == "spatial hinge":
        m.add_revolute("A", m.ground.at(0, 0, 0), bob.at(-1, 0, 0), axis=(0, -1, 0))
        return m, {"A": np.pi}
    m.add_massless_rod("A", m.ground.at(0, 0, 0), bob.at(0, 0, 0), length=1.0)
    m.add_constraint("no spin", lambda s: (s["bob.wx"], s["bob.wy"], s["bob.wz"]), level="velocity")
    return m, {"bob.x": -1.0, "bob.y": 0.0, "bob.z": 0.0}


@pytest.mark.parametrize("kind", ["rod", "hinge", "spatial hinge", "spatial rod"])
def test_p1_pendulum_keeps_to_its_published_positions(kind: str) -> None:
    """peers.md P1, to 1e-9 as asked; the tolerance 1e-12 per step leaves about 1e-11 after 10 s."""
    m, start = point_pendulum(kind)
    eqs = da.equations(m)
    run = da.simulate(eqs, 10.0, start=da.assemble(eqs, start), method=TIGHT, every=0.5)
    up = "y" if kind in ("rod", "hinge") else "z"
    at = {t: [run.at(t)["bob.x"], run.at(t)[f"bob.{up}"]] for t in (1.0, 10.0)}
    assert at[1.0] == pytest.approx([+0.986291751132, -0.165010853126], abs=1e-9)
    assert at[10.0] == pytest.approx([-0.275087462576, -0.961419205099], abs=1e-9)


def test_p1_pendulum_with_default_settings_is_good_to_ten_digits() -> None:
    m, start = point_pendulum("hinge")
    eqs = da.equations(m)
    run = da.simulate(eqs, 10.0, start=da.assemble(eqs, start))
    # local error 1e-9 per step of 35 ms; measured 7e-12, asked: the tolerance
    assert run["bob"][-1] == pytest.approx([-0.275087462576, -0.961419205099], abs=1e-9)
    assert np.abs(run["energy.balance"]).max() < 1e-9


def test_p1_pendulum_has_the_period_of_the_elliptic_integral() -> None:
    """T = 4 K(sin²(θ₀/2)) sqrt(L/g) with θ₀ = 90 degrees: back at rest at (-1, 0)."""
    period = 4 * ellipk(0.5) / np.sqrt(9.81)
    assert period == pytest.approx(2.3678419475762, abs=DIGITS)
    m, start = point_pendulum("hinge")
    eqs = da.equations(m)
    run = da.simulate(eqs, period, start=da.assemble(eqs, start), method=TIGHT, every=period / 2)
    assert run["bob"][-1] == pytest.approx([-1.0, 0.0], abs=1e-10)
    assert run["bob"][1] == pytest.approx([1.0, 0.0], abs=1e-10)


# --- spec 003-E3: minimum coordinate against constrained -----------------------------------------------------------


def wire(length: Any, mass: float) -> Any:
    """x axis down, y horizontal; f = sqrt(x² + y²) - l as a user's own constraint."""
    m = da.Mechanism("E3", planar=True, gravity=(9.81, 0.0))
    m.add_body("bob", mass=mass, inertia=1.0)
    m.add_constraint("wire", lambda s: da.math.sqrt(s["bob.x"] ** 2 + s["bob.y"] ** 2) - length(s.t))
    return da.equations(m)


@pytest.mark.spec("003-C33", "003-E3")
def test_e3_constrained_pendulum_moves_as_the_minimum_coordinate_and_its_multiplier_is_the_wire() -> None:
    """m = 2, l = 1.5, θ₀ = 1: θ(5), θ'(5), λ(5) to the digits printed; λ = -m (l θ'² + g cos θ) throughout."""
    eqs = wire(lambda t: 1.5, 2.0)
    start = da.assemble(eqs, {"bob.x": 1.5 * np.cos(1.0), "bob.y": 1.5 * np.sin(1.0)})
    run = da.simulate(eqs, 5.0, start=start, method=TIGHT, every=0.05)
    theta = np.arctan2(run["bob.y"], run["bob.x"])
    rate = (run["bob.x"] * run["bob.vy"] - run["bob.y"] * run["bob.vx"]) / 1.5**2
    assert theta[-1] == pytest.approx(0.8445648, abs=6e-8)
    assert rate[-1] == pytest.approx(1.2722845, abs=6e-8)

    def minimum(t: float, y: Any) -> Any:
        return (y[1], -9.81 / 1.5 * np.sin(y[0]))

    exact = solve_ivp(minimum, (0, 5), (1.0, 0.0), method="DOP853", rtol=1e-12, atol=1e-13, t_eval=run.time)
    assert np.abs(theta - exact.y[0]).max() < 1e-9
    assert np.abs(rate - exact.y[1]).max() < 1e-9
    # A'λ is what the wire does to the mass; A = (x, y)/l, so λ is the tension with the sign of the source
    zero = np.zeros
    q = np.array([run[f"bob.{k}"][-1] for k in ("x", "y", "angle")])
    v = np.array([run[f"bob.{k}"][-1] for k in ("vx", "vy", "rate")])
    A, b = eqs.kernel("rows")(q, v, zero(0), zero(0), eqs.p, 5.0)
    M, f = eqs.kernel("inertia")(q, eqs.p, 5.0)[0], eqs.kernel("forces")(q, v, zero(0), zero(0), eqs.p, 5.0, zero(1))[0]
    A = A.reshape(1, 3)
    lam = np.linalg.solve(A @ np.linalg.solve(M, A.T), b - A @ np.linalg.solve(M, f))
    assert lam[0] == pytest.approx(-17.884917, abs=6e-7)
    assert lam[0] == pytest.approx(-2.0 * (1.5 * rate[-1] ** 2 + 9.81 * np.cos(theta[-1])), abs=1e-8)


@pytest.mark.spec("003-E3")
def test_e3_period_is_that_of_the_source() -> None:
    eqs = wire(lambda t: 1.5, 2.0)
    start = da.assemble(eqs, {"bob.x": 1.5 * np.cos(1.0), "bob.y": 1.5 * np.sin(1.0)})
    run = da.simulate(eqs, 2.6198978, start=start, method=TIGHT)
    # at the period θ' = 0 and θ = 1 (quadratic there): half a unit of the last digit times θ'' = 5.5
    assert run["bob.y"][-1] == pytest.approx(1.5 * np.sin(1.0), abs=1e-9)
    assert np.hypot(run["bob.vx"], run["bob.vy"])[-1] < 6e-8 * 5.6 * 1.5
    assert 2 * np.pi * np.sqrt(1.5 / 9.81) == pytest.approx(2.4569199, abs=6e-8)


@pytest.mark.spec("003-E3")
def test_e3_rheonomic_wire_that_is_paid_out() -> None:
    """l = 1 + 0.2 t, m = 1, θ(0) = 0.5, θ'(0) = 0: θ(3) = -0.1036401; the wire does work on the mass."""
    eqs = wire(lambda t: 1 + 0.2 * t, 1.0)
    start = da.assemble(eqs, {"bob.x": np.cos(0.5), "bob.y": np.sin(0.5)})
    assert [start["bob.vx"], start["bob.vy"]] == pytest.approx([0.2 * np.cos(0.5), 0.2 * np.sin(0.5)], abs=1e-12)
    run = da.simulate(eqs, 3.0, start=start, method=TIGHT)
    assert np.arctan2(run["bob.y"], run["bob.x"])[-1] == pytest.approx(-0.1036401, abs=6e-8)
    assert np.hypot(run["bob.x"], run["bob.y"])[-1] == pytest.approx(1.6, abs=1e-12)
    assert np.ptp(run["energy"]) > 1.0
    assert np.abs(run["energy.balance"]).max() < 1e-9


# --- energy over a long time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("links", "planar"),
    [(2, False), (3, True), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((2, True), (3, False)))],
)
def test_energy_of_a_chaotic_pendulum_drifts_less_than_1e_9_in_100_s(links: int, planar: bool) -> None:
    """Below 1e-9 relative to the kinetic energy reached, from the horizontal at rest, with Dormand-Prince.

    Local errors of 1e-12 in 5e3 to 1e4 steps that pull both ways: 1e-10.
    """
    m = da.Mechanism("chain", planar=planar, gravity=(0, -9.81) if planar else (0, -9.81, 0))
    zero = () if planar else (0.0,)
    last, at = m.ground, (0.0, 0.0, *zero)
    for k in range(links):
        rod = m.add_body(f"rod{k}", mass=1.0, inertia=da.rod(1.0) if planar else da.box(1.0, 0.1, 0.1))
        m.add_revolute(f"J{k}", last.at(at), rod.at(-0.5, 0.0, *zero))
        last, at = rod, (0.5, 0.0, *zero)
    eqs = da.equations(m)
    method = da.DormandPrince(rtol=1e-12, atol=1e-12)
    run = da.simulate(eqs, 100.0, start=da.assemble(eqs), method=method, every=0.1)
    scale = run["energy.kinetic"].max()
    assert scale > 9.81
    assert np.abs(run["energy"] - run["energy"][0]).max() / scale < 1e-9
    assert run["residual.position"].max() < 1e-12


def test_energy_of_a_double_pendulum_drifts_less_than_1e_9_with_default_settings() -> None:
    m = da.Mechanism("double", planar=True)
    a = m.add_body("a", mass=1.0, inertia=da.rod(1.0))
    b = m.add_body("b", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), a.at(-0.5, 0))
    m.add_revolute("B", a.at(0.5, 0), b.at(-0.5, 0))
    eqs = da.equations(m)
    run = da.simulate(eqs, 100.0, every=0.1)
    drift = np.abs(run["energy"] - run["energy"][0]).max() / run["energy.kinetic"].max()
    assert drift < 1e-8  # tolerance 1e-9 per step, and energy pulls one way: ten times it is what order 8 gives


def test_double_pendulum_follows_its_lagrangian_equations() -> None:
    """Two uniform rods against the textbook equations in angles, solved to 1e-12 by SciPy; 3 s, before chaos."""
    m = da.Mechanism("double", planar=True)
    a = m.add_body("a", mass=1.0, inertia=da.rod(1.0))
    b = m.add_body("b", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), a.at(-0.5, 0))
    m.add_revolute("B", a.at(0.5, 0), b.at(-0.5, 0))

    def rhs(t: float, y: Any) -> Any:
        th1, th2, w1, w2 = y
        c, s = np.cos(th1 - th2), np.sin(th1 - th2)
        M = np.array([[4 / 3, c / 2], [c / 2, 1 / 3]])
        f = np.array([-s / 2 * w2**2 - 1.5 * 9.81 * np.cos(th1), s / 2 * w1**2 - 0.5 * 9.81 * np.cos(th2)])
        return [w1, w2, *np.linalg.solve(M, f)]

    run = da.simulate(da.equations(m), 3.0, method=TIGHT, every=0.1)
    exact = solve_ivp(rhs, (0, 3), (0, 0, 0, 0), method="DOP853", rtol=1e-13, atol=1e-14, t_eval=run.time)
    assert np.abs(run["a.angle"] - exact.y[0]).max() < 1e-9
    assert np.abs(run["b.angle"] - exact.y[1]).max() < 1e-9


@pytest.mark.spec("003-C34")
def test_a_knife_edge_on_an_incline_runs_in_its_cycloid():
    """f = ẋ sin θ - ẏ cos θ on a plane inclined by 20°, x downhill: x = (g sin α / 2ω²) sin² ωt, y likewise.

    Published figures to seven digits; the run keeps 1e-9.
    """
    alpha, omega, g = np.radians(20.0), 1.2, 9.81
    m = da.Mechanism("knife edge", planar=True, gravity=(g * np.sin(alpha), 0.0))
    m.add_body("edge", mass=2.0, inertia=0.7)
    m.add_constraint(
        "blade",
        lambda s: s["edge.vx"] * da.sin(s["edge.angle"]) - s["edge.vy"] * da.cos(s["edge.angle"]),
        level="velocity",
    )
    eqs = da.equations(m)
    start = da.assemble(eqs, velocity={"edge.rate": omega})
    run = da.simulate(eqs, 3.0, start=start, method=da.DormandPrince(rtol=1e-10, atol=1e-10), every=0.1)
    assert run["edge.x"][-1] == pytest.approx(0.2281366, abs=5e-8)
    assert run["edge.y"][-1] == pytest.approx(3.7317081, abs=5e-8)
    size, t = g * np.sin(alpha) / (2 * omega**2), run.time
    assert run["edge.x"] == pytest.approx(size * np.sin(omega * t) ** 2, abs=1e-9)
    assert run["edge.y"] == pytest.approx(size * (omega * t - np.sin(2 * omega * t) / 2), abs=1e-9)
    assert run["edge.rate"] == pytest.approx(omega, abs=1e-12)
    assert np.abs(run["energy.balance"]).max() < 1e-8  # the blade does no work
