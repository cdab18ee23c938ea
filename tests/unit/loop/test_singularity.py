"""The judgement whether a law is at a singularity, at the edges of its thresholds."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.loop.interfaces import Law, SingularityMonitor
from dalembert.loop.singularity import is_monitored, is_unbounded, singularity_error


@pytest.mark.parametrize(
    ("margin", "residual", "unbounded"),
    [
        (0.0, 0.001, False),
        (0.0, 1.01 * 0.001, True),
        (0.2, 0.1 * 3.0, False),  # relative to a first margin of 2
        (0.2, 0.101 * 3.0, True),
        (np.nan, 0.5, True),
        (0.5, np.nan, True),
    ],
)
def test_a_command_is_unbounded_where_the_residual_stays_and_the_margin_goes(
    margin: float, residual: float, unbounded: bool
) -> None:
    assert bool(is_unbounded(margin, residual, 2.0)) is unbounded


def test_only_a_law_with_an_input_without_limits_is_monitored() -> None:
    function = ca.Function("law", [ca.SX.sym(name, 0) for name in "xsrp"] + [ca.SX.sym("t")], [ca.SX(1), ca.SX(0, 1)])
    plain = Law("plain", (), ("u",), function)
    law = Law("own", (), ("u",), function, monitor=SingularityMonitor(function, lambda reads, t: "a dead point"))
    assert not is_monitored(plain, None) and is_monitored(law, None)
    assert not is_monitored(law, {"u": da.ActuatorLimits(limits=1.0)})
    error = singularity_error(law, np.zeros(0), 0.25)
    assert error.code == "singular-law" and error.where == {"law": "own", "time": 0.25} and "a dead point" in str(error)
