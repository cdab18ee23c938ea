"""Control of the step: growth, shortening and the last step of a run, with the numbers of its limits."""

from __future__ import annotations

import pytest

import dalembert as da
from dalembert.solve.integrate.explicit_step import propose_steps


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
