"""P9 of peers.md: the crank-rocker, against a quadrature that shares nothing with any engine."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from benchmarks import reference
from benchmarks.four_bar import mechanism
from dalembert.equations import State

TIGHT = da.DormandPrince(rtol=1e-12, atol=1e-13)
# the quadrature; peers.md prints 149.5885938329, from an integrator, off by 4.5e-10
ANGLE = 149.58859383334


def start(eqs: da.EquationsOfMotion) -> State:
    return da.assemble(eqs, {"A.angle": reference.START_ANGLE}, velocity={"A.angle": reference.START_RATE})


def test_the_quadrature_agrees_with_the_published_digits() -> None:
    angle, rate = reference.crank_angle(np.array([10.0]))
    assert angle[0] == pytest.approx(ANGLE, abs=1e-11)
    assert angle[0] == pytest.approx(149.5885938329, abs=1e-9)
    assert rate[0] == pytest.approx(17.0683618091, abs=1e-8)


def test_p9_crank_angle_after_10_s_to_1e_9() -> None:
    """24 turns; local errors of 1e-12 grow with the phase: rate error times 10 s, about 1e-10."""
    eqs = da.equations(mechanism())
    run = da.simulate(eqs, 10.0, start=start(eqs), method=TIGHT, every=0.1)
    exact, rate = reference.crank_angle(run.time[1:])
    assert run["A.angle"][-1] == pytest.approx(ANGLE, abs=1e-9)
    assert np.abs(run["A.angle"][1:] - exact).max() < 1e-9
    assert np.abs(run["A.rate"][1:] - rate).max() < 1e-8
    assert run["residual.position"].max() < 1e-13
    assert np.abs(run["energy.balance"]).max() < 1e-10


@pytest.mark.parametrize(("step", "error"), [(5e-3, 1e-3), (1e-3, 1e-6)])
def test_p9_runge_kutta_reaches_the_errors_of_the_benchmark(step: float, error: float) -> None:
    eqs = da.equations(mechanism())
    run = da.simulate(eqs, 10.0, start=start(eqs), method=da.RK4(step), every=0.1)
    pin = 0.2 * np.column_stack((np.cos(run["A.angle"][1:]), np.sin(run["A.angle"][1:])))
    assert np.abs(pin - reference.crank_pin()).max() < error


def test_p9_as_a_spatial_machine_with_redundant_hinges_moves_the_same() -> None:
    """The same bars in space: 3 rows too many, the same motion and in-plane reactions."""
    planar = da.equations(mechanism())
    m = da.Mechanism("spatial crank-rocker", gravity=(0, -9.81, 0))
    pose = start(planar)
    bars = {}
    for name, length in (("crank", 0.2), ("coupler", 0.6), ("rocker", 0.5)):
        half = pose[f"{name}.angle"] / 2
        bars[name] = m.add_body(
            name,
            mass=length,
            inertia=(1e-5, length**3 / 12, length**3 / 12),
            position=(pose[f"{name}.x"], pose[f"{name}.y"], 0),
            rotation=(np.cos(half), 0, 0, np.sin(half)),
        )
    m.add_revolute("A", m.ground.at(0, 0, 0), bars["crank"].at(-0.1, 0, 0))
    m.add_revolute("B", bars["crank"].at(0.1, 0, 0), bars["coupler"].at(-0.3, 0, 0))
    m.add_revolute("C", bars["coupler"].at(0.3, 0, 0), bars["rocker"].at(0.25, 0, 0))
    m.add_revolute("D", m.ground.at(0.7, 0, 0), bars["rocker"].at(-0.25, 0, 0))
    eqs = da.equations(m)
    begin = da.assemble(eqs, velocity={"A": 10.0})
    runs = [da.simulate(e, 2.0, start=s, method=TIGHT, every=0.1) for e, s in ((planar, pose), (eqs, begin))]
    assert np.abs(runs[0]["crank.x"] - runs[1]["crank.x"]).max() < 1e-9
    assert np.abs(runs[0]["A.angle"] - runs[1]["A.angle"]).max() < 1e-9
    for name in ("A.force.x", "B.force.y", "C.force.x", "D.force.y"):
        assert np.abs(runs[0][name] - runs[1][name]).max() < 1e-6  # forces of order 100 N from a regularised solve
