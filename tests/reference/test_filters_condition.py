"""Two sensors that see almost the same: square-root filters against sixty digits, where plain ones fail.

The problem of Kaminski, Bryson and Schmidt (1971) with motion between the samples: rows (1, 1, 1) and (1, 1, 1 + ε) of
H, variance ε², P0 = I. S has the condition number 4/ε².
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from mpmath import matrix, mp

import dalembert as da
from dalembert.core.errors import ConvergenceError
from dalembert.estimate import (
    CentralDifference,
    Cubature,
    ExtendedKalman,
    Kalman,
    Scaled,
    SigmaPointKalman,
    SphericalSimplex,
    Symmetric,
)

SAMPLES = 20
A = np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 1.0]])


def readings(ε: float) -> tuple[Any, Any]:
    C = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + ε]])
    rng = np.random.default_rng(0)
    x, y = np.array([1.0, 2.0, 3.0]), []
    for _ in range(SAMPLES):
        y.append(C @ x + ε * rng.standard_normal(2))
        x = A @ x
    return C, np.array(y)


@lru_cache(maxsize=4)
def exact(ε: float) -> tuple[Any, Any, float]:
    """State and covariance after the last sample, and the condition number of the first S."""
    C, y = readings(ε)
    with mp.workdps(60):
        F, H, x, P = matrix(A.tolist()), matrix(C.tolist()), matrix(3, 1), mp.eye(3)
        R = mp.mpf(ε) ** 2 * mp.eye(2)
        for k in range(SAMPLES):
            if k:
                x, P = F * x, F * P * F.T
            S = H * P * H.T + R
            K = P * H.T * S**-1
            x, P = x + K * (matrix(y[k].tolist()) - H * x), P - K * S * K.T
            if not k:
                values = mp.eigsy(S, eigvals_only=True)
                condition = float(values[1] / values[0])
        return np.array(x.tolist(), dtype=float).ravel(), np.array(P.tolist(), dtype=float), condition


def wrong(ε: float, kind: Any, **keywords: Any) -> float:
    """Error of the state in standard deviations, or of P relative to its largest entry; infinite for a stopped run."""
    C, y = readings(ε)
    system = da.StateSpace(A, np.zeros((3, 1)), C, np.zeros((2, 1)), dt=1.0)
    record = da.Record(
        np.arange(SAMPLES) * 1.0, np.hstack([np.zeros((SAMPLES, 1)), y]), [*system.inputs, *system.outputs]
    )
    x, P, _ = exact(ε)
    try:
        found = kind(system, Q=0.0, R=ε**2, P0=1.0, start=np.zeros(3), **keywords).run(record)
    except ConvergenceError:
        return np.inf
    of_state = np.abs((found.states[-1] - x) / np.sqrt(P.diagonal())).max()
    return float(max(of_state, np.abs(found.covariances()[-1] - P).max() / np.abs(P).max()))


RULES = [Symmetric(), Symmetric(1.0), Scaled(), Scaled(0.5), SphericalSimplex(0.25), CentralDifference(), Cubature()]
FACTORED: dict[str, Any] = {
    "square-root": (Kalman, {"form": "square-root"}),
    "information": (Kalman, {"form": "information"}),
    **{f"√ {rule}": (SigmaPointKalman, {"points": rule, "square_root": True}) for rule in RULES},
}


@pytest.mark.spec("004-C8", "004-C4")
@pytest.mark.parametrize("name", FACTORED)
def test_square_root_filters_keep_seven_digits_at_a_condition_of_1e12(name: str) -> None:
    kind, options = FACTORED[name]
    assert exact(1e-6)[2] > 1e12
    assert wrong(1e-6, kind, **options) < 1e-7


@pytest.mark.spec("004-C8", "004-C4")
@pytest.mark.parametrize("name", FACTORED)
def test_square_root_filters_live_where_s_is_singular_in_double_precision(name: str) -> None:
    kind, options = FACTORED[name]
    assert exact(1e-8)[2] > 1e16
    assert wrong(1e-8, kind, **options) < 1e-5


@pytest.mark.parametrize(
    ("kind", "options", "least"),
    [
        (Kalman, {}, 1e-2), (ExtendedKalman, {}, 1e-2), (ExtendedKalman, {"iterations": 3}, 1e-2),
        *((SigmaPointKalman, {"points": rule}, 1e-5) for rule in RULES),
    ],
)  # fmt: skip
def test_plain_filters_fail_there(kind: Any, options: Any, least: float) -> None:
    """They carry P itself: half of the digits are gone at 1e12, all at 1e16 (a wrong P, or a run that stops)."""
    assert wrong(1e-6, kind, **options) > least
    assert wrong(1e-8, kind, **options) > 0.1
