"""Largest gain over a family: closed forms, and no member above the bound."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.control import worst_gain
from dalembert.linear import SecondOrder, StateSpace, connect, dynamic_block, fit_uncertain


def test_the_least_damper_has_the_largest_resonance():
    u = fit_uncertain(lambda p: SecondOrder(1.0, p["k"], C=p["c"], B=[1.0]), {"k": (3.0, 5.0), "c": (0.2, 0.6)})
    judged = worst_gain(u)
    assert judged.worst == pytest.approx({"k": 3.0, "c": 0.2})
    zeta = 0.2 / (2.0 * np.sqrt(3.0))
    expected = 1.0 / (3.0 * 2.0 * zeta * np.sqrt(1.0 - zeta**2))
    assert judged.gain == pytest.approx(expected, rel=1e-9)
    assert expected <= judged.upper <= 1.05 * expected
    assert judged.proved
    assert max(float(member.hinf_norm()) for member in u.sample(30)) <= judged.upper
    assert float(u.worst(judged).hinf_norm()) == pytest.approx(judged.gain, rel=1e-9)


def test_neglected_dynamics_add_their_gain():
    plant = StateSpace(-1.0, 1.0, 1.0, inputs="v", outputs="y")
    lag = dynamic_block("lag", inputs="u", outputs="d", weight=StateSpace.gain([[0.5]]))
    u = connect([plant, lag, StateSpace.gain([[1, 1]], inputs=["u", "d"], outputs="v")], inputs="u", outputs="y")
    judged = worst_gain(u)
    assert judged.nominal == pytest.approx(1.0)
    assert judged.gain == pytest.approx(1.5, rel=1e-3)
    assert 1.5 <= judged.upper <= 1.51


def test_a_family_with_unstable_members_has_no_bound():
    u = fit_uncertain(lambda p: SecondOrder(1.0, 4.0, C=p["c"], B=[1.0]), {"c": (-0.1, 0.5)})
    judged = worst_gain(u)
    assert judged.upper == np.inf and not judged.proved
