"""Published and recomputed figures of H-infinity synthesis.

Skogestad, S. and Postlethwaite, I. (2005), Multivariable Feedback Control, example 2.17. Spring chains and the two
plants that other tools do not return on: independent computations, gammas to 1e-3.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.control import hinf, mixed_sensitivity, tf
from dalembert.linear import StateSpace, connect
from tests.helpers.robust_plants import spring_chain


@pytest.mark.spec("001-C54")
@pytest.mark.parametrize(("count", "gamma"), [(5, 2.9228), (10, 6.0555), (20, 12.339)])
def test_chains_of_springs_have_their_gain_and_a_loop_that_holds(count, gamma):
    design = hinf(spring_chain(count), outputs="reading", inputs="push")
    low, high = design.bounds
    assert low == pytest.approx(gamma, abs=1e-3) and high == pytest.approx(gamma, abs=1e-3)
    assert design.is_stable and design.poles.values.real.max() < 0.0
    assert design.fastest < 30.0
    assert design.achieved <= 1.021 * high
    assert design.grid_peak <= design.achieved * (1 + 1e-9)


def test_a_command_without_weight_does_not_prevent_a_synthesis():
    """python-control, issue 152: infimum 0.8, the direct term at infinite frequency."""
    plant = StateSpace([[-0.01, -0.992], [0, -0.75]], [[0.992, 0], [0, 1]], [[1, -0.8], [0, -1]], [[0.8, 0], [1, 0]],
                       inputs=["w", "u"], outputs=["z", "y"])  # fmt: skip
    design = hinf(plant, outputs="y", inputs="u")
    assert design.bounds[0] == pytest.approx(0.8, abs=1e-12)
    assert design.achieved <= 0.81 and design.fastest < 500.0


def test_a_sensitivity_alone_is_shaped():
    """python-control, issue 973: infimum 2/3, the weight at infinite frequency, where the sensitivity is one."""
    plant = tf([1, 1], [1, 0.5, 4], output="y", input="u")
    weight = tf([2, -2.2, 1], [3, 0.2, 0.01], input="error", output="z")
    difference = StateSpace.gain([[1, -1]], inputs=["w", "y"], outputs="error")
    system = connect({"plant": plant, "weight": weight, "sum": difference}, inputs=["w", "u"], outputs=["z", "error"])
    design = hinf(system, outputs="error", inputs="u")
    assert design.bounds[0] == pytest.approx(2 / 3, abs=1e-9)
    assert design.achieved <= 0.68 and design.fastest < 500.0
    assert np.isfinite(design.grid_peak)


@pytest.mark.spec("001-C54")
def test_the_disturbance_process_has_the_published_gain():
    """Example 2.17: G = 200/((10 s + 1)(0.05 s + 1)²), weights (s/1.5 + 10)/(s + 1e-3) and 1: 1.37, three digits."""
    plant = tf([200.0], np.polymul([10.0, 1.0], [0.0025, 0.1, 1.0]))
    design = mixed_sensitivity(plant, error=tf([1 / 1.5, 10.0], [1.0, 1e-3]), command=1.0)
    assert design.bounds[1] == pytest.approx(1.37, abs=0.005)
    assert design.achieved <= 1.021 * design.bounds[1]
