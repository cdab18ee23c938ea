"""When an entry of a linear model is zero or constant, and when a motion is steady: the numbers at the edges."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import ConvergenceError, ModelWarning
from dalembert.solve.rest import steady_motion
from dalembert.solve.rest.linear_matrices import StateMatrices, _product, _report_lost_digits
from dalembert.solve.rest.linearize import _changes, _cyclic
from tests.helpers.findings import raises, warns


@pytest.mark.parametrize(("left", "kept"), [(1.5e-12, False), (2.5e-12, True)])
def test_a_sum_below_1e_12_of_its_terms_is_rounding(left: float, kept: bool) -> None:
    one = np.ones((1, 1))
    assert bool(_product(one, (one, one), (-one, one - left))[0, 0]) is kept  # terms of 2


@pytest.mark.parametrize(("influence", "cyclic"), [(0.9e-9, [0]), (1.1e-9, [])])
def test_a_coordinate_below_a_billionth_of_the_largest_entry_is_ignorable(influence: float, cyclic: list[int]) -> None:
    A = np.array([[0.0, 1.0], [influence, 0.0]])
    assert _cyclic(A, [0], 1.0) == cyclic


@pytest.mark.parametrize("matrix", ["A", "C"])
@pytest.mark.parametrize(("change", "steady"), [(0.9e-6, True), (1.1e-6, False)])
def test_matrices_that_change_by_a_millionth_are_constant(matrix: str, change: float, steady: bool) -> None:
    one, none = np.ones((1, 1)), np.zeros((1, 0))
    parts: dict[str, Any] = {"A": one, "B": none, "C": one, "D": none, "acc": none, "lam": none}
    now = StateMatrices(**parts, outputs=("y",), units={})
    then = StateMatrices(**{**parts, matrix: one + change}, outputs=("y",), units={})
    eqs: Any = SimpleNamespace(name="top", internal=SimpleNamespace(names=("z",)))
    chart: Any = SimpleNamespace(positions=(), speeds=(), kept=())
    assert (_changes(eqs, chart, now, then) is None) is steady


@pytest.mark.parametrize(
    ("speed", "change", "stiff", "lasts"),
    [(1.0, 0.9e-6, 0, True), (1.0, 1.1e-6, 0, False), (0.9e-9, 1.0, 0, True), (1.1e-9, 1.0, 0, False),
     (1.0, 1.9e-6, 1e3, True), (1.0, 2.1e-6, 1e3, False)],
)  # fmt: skip
def test_a_steady_motion_accelerates_below_1e_6_a_moment_later(
    speed: float, change: float, stiff: float, lasts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state slower than 1e-9 rests: nothing moves to be looked at. A stiffness makes a force of the run's 1e-9."""
    monkeypatch.setattr(steady_motion, "later", lambda eqs, x: x)
    state: Any = SimpleNamespace(
        eqs=SimpleNamespace(name="top"),
        find_unsteady=lambda x, most, precision: ("rate", change) if change > most + stiff * precision else None,
    )
    with nullcontext() if lasts else raises(ConvergenceError, "no-solution"):
        steady_motion._Steady.check_lasting(state, SimpleNamespace(v=np.array([speed])))  # type: ignore[arg-type]


@pytest.mark.parametrize(("share", "reported"), [(0.9, False), (1.1, True)])
def test_coordinates_that_leave_an_error_of_1e_6_of_a_frequency_squared_are_reported(
    share: float, reported: bool
) -> None:
    """ω² = 1 as the difference of stiffnesses whose rounding is this share of 1e-6."""
    one, terms = np.ones((1, 1)), share * 1e-6 / np.finfo(float).eps * np.ones((1, 1))
    chart: Any = SimpleNamespace(W=one, X=one, T=SimpleNamespace(R1_x=terms, M=one))
    eqs: Any = SimpleNamespace(name="chain")
    with warns(ModelWarning, "ill-conditioned") if reported else nullcontext():
        _report_lost_digits(eqs, chart, one, one)
