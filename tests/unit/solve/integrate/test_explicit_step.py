"""Control of the step: growth, shortening and the last step of a run, with the numbers of its limits."""

from __future__ import annotations

import math

import pytest

import dalembert as da
from dalembert.solve.integrate.explicit_step import damp_error, propose_steps


@pytest.fixture(scope="module")
def ball() -> da.EquationsOfMotion:
    """Free fall: a parabola, without error in any method here."""
    m = da.Mechanism("ball", planar=True)
    m.add_body("ball", mass=1.0, inertia=1.0)
    return da.equations(m)


@pytest.mark.parametrize(
    ("size", "before", "order", "grown", "shrunk"),
    [
        (1.0, 1.0, 5, 0.8, 0.8),  # safety
        (0.1, 1.0, 5, 0.8 * 10**0.14, 0.8 * 10**0.2),  # exponent 0.7 / order
        (1.0, 0.1, 5, 0.8 * 10**-0.08, 0.8),  # exponent 0.4 / order of the error before
        (0.0, 1e-4, 8, 0.8 * 10**0.875 * 10**-0.2, 0.8 * 10**1.25),  # 1e-10 takes the place of an error of zero
        (0.0, 1.0, 5, 5.0, 0.8 * 100),  # at most
        (1.0, 1e-4, 1, 0.3, 0.8),  # at least: 0.8 · 1e-1.6 is 0.02
        (3.0, 1.0, 1, 0.8 * 3**-0.7, 0.8 / 3),
        (5.0, 1.0, 1, 0.3, 0.2),  # at least, after a rejection: 0.16 else
        (float("inf"), 1.0, 5, 0.3, 0.2),  # a stage left the domain of a force law
    ],
)
def test_the_next_step_follows_from_the_error_within_its_limits(
    size: float, before: float, order: int, grown: float, shrunk: float
) -> None:
    found = [float(h) for h in propose_steps(size, before, 2.0, order)]
    assert found == pytest.approx([2.0 * grown, 2.0 * shrunk], rel=1e-7)  # 1e-10 is added to the error


@pytest.mark.parametrize(("left", "steps"), [(0.5e-6, 1), (2e-6, 2)])
def test_a_fixed_step_is_stretched_by_a_millionth_to_the_end(
    ball: da.EquationsOfMotion, left: float, steps: int
) -> None:
    run = da.simulate(ball, 0.1 * (1 + left), start=da.assemble(ball), method=da.RK4(step=0.1), progress=False)
    assert run.statistics["steps"] == steps


@pytest.mark.parametrize(("left", "steps"), [(0.5e-9, 1), (2e-9, 2)])
def test_a_controlled_step_is_stretched_by_a_billionth_to_the_end(
    ball: da.EquationsOfMotion, left: float, steps: int
) -> None:
    """The first step of a parabola is `max_step`."""
    method = da.DormandPrince(max_step=1e-4, rtol=1e-3, atol=1e-3)
    run = da.simulate(ball, 1e-4 * (1 + left), start=da.assemble(ball), method=method, progress=False)
    assert run.statistics["steps"] == steps


def test_an_error_below_1e_4_is_remembered_as_1e_4() -> None:
    """Steps without error grow by 0.8 · 1e-10^(-0.7/8) · 1e-4^(0.4/8) = 3.79, the first by 4.77 (1e-2 before it)."""
    time, step, steps = 1e-4, 4.77e-4, 1
    while time < 1e6:
        time, step, steps = time + step, step * 0.8 * 10**0.875 * 10**-0.2, steps + 1
    m = da.Mechanism("stone", planar=True, gravity=0)
    m.add_body("stone", mass=1.0, inertia=1.0)
    run = da.simulate(da.equations(m), 1e6, method=da.DormandPrince(first_step=1e-4), every=1e6, progress=False)
    assert run.statistics["steps"] == steps


@pytest.mark.parametrize(("beyond", "steps"), [(4.70e-4, 2), (4.85e-4, 3)])
def test_the_first_step_grows_as_after_an_error_of_a_hundredth(beyond: float, steps: int) -> None:
    """0.8 · 1e-10^(-0.7/8) · 1e-2^(0.4/8) = 4.77, of a step of 1e-4 s without error."""
    m = da.Mechanism("stone", planar=True, gravity=0)
    m.add_body("stone", mass=1.0, inertia=1.0)
    end = 1e-4 + beyond
    run = da.simulate(da.equations(m), end, method=da.DormandPrince(first_step=1e-4), every=end, progress=False)
    assert run.statistics["steps"] == steps


@pytest.mark.parametrize(
    ("fifth", "third", "error"),
    [
        (1.0, 0.0, 1.0),
        (1.0, 10.0, 0.5**0.5),
        (0.9e100, 0.0, 0.9e100),
        (1.1e100, 0.0, math.inf),
        (1.0, 1.1e100, math.inf),
    ],
)
def test_the_error_of_order_8_is_damped_by_a_tenth_of_that_of_order_3(fifth: float, third: float, error: float) -> None:
    assert float(damp_error(fifth, third)) == pytest.approx(error)
