"""Whether two equations of motion are the same functions, to rounding, at random arguments."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

import dalembert as da
from dalembert.equations import ARGUMENTS

ROUNDING = 1e-11  # a few hundred operations on numbers of size one, relative to the largest entry


def difference(a: da.EquationsOfMotion, b: da.EquationsOfMotion, *, seed: int = 0, samples: int = 3) -> float:
    """Largest difference of any function of the equations, relative to its size; names must agree."""
    for channels in ("coordinates", "speeds", "internal", "inputs", "parameters", "measures", "outputs"):
        assert getattr(a, channels).names == getattr(b, channels).names
        assert getattr(a, channels).units == getattr(b, channels).units
    assert a.rows == b.rows
    assert np.allclose(a.p, b.p, rtol=1e-15, atol=0)
    assert np.allclose(a.placement.q, b.placement.q, rtol=1e-14, atol=1e-15)
    random = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(samples):
        for name, function in a.functions.items():
            other = b.functions[name]
            given = [_argument(function, k, a, random) for k in range(function.n_in())]
            for x, y in zip(_values(function, given), _values(other, given), strict=True):
                assert x.shape == y.shape
                known = np.isfinite(x)
                assert np.array_equal(known, np.isfinite(y)), name
                scale = max(1.0, float(np.abs(x[known]).max(initial=0.0)))
                worst = max(worst, float(np.abs(x[known] - y[known]).max(initial=0.0)) / scale)
    assert (a.stick_slip is None) == (b.stick_slip is None)
    if a.stick_slip is not None and b.stick_slip is not None:
        worst = max(worst, difference(a.stick_slip, b.stick_slip, seed=seed, samples=1))
    return worst


def _argument(function: Any, k: int, eqs: da.EquationsOfMotion, random: np.random.Generator) -> Any:
    if ARGUMENTS[function.name()].split()[k] == "p":  # all others may be any numbers
        return np.asarray(eqs.p) * random.uniform(0.9, 1.1, len(eqs.p))
    return random.uniform(-1, 1, function.size_in(k))


def _values(function: Any, given: list[Any]) -> list[np.ndarray]:
    return [np.array(x.full()) for x in function.call([ca.DM(x) for x in given])]
