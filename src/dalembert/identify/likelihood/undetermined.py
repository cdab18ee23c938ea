"""What data cannot tell: small singular values of the information on parameters, in words.

RᵀR (m, m) is the information on relative changes ϑ = δp/p of parameters: along a unit vector n with ‖R n‖ = s they have
the standard deviation 1/s. Along equal entries the data hold only the ratios, along (1, -1)/√2 only the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.expressions import Array
from dalembert.numerics import ties

RANK = 1e-7  # of singular values, relative to the largest: below it rounding speaks, not the data
LOOSE = 1.0  # relative deviation of a combination that is called unknown
PART = 0.15  # share of a unit vector below which a parameter is not named
EQUAL = 0.08


@dataclass(frozen=True)
class Information:
    """Relative covariance (m, m), inf where nothing is known; unknown directions (k, m) and what they mean."""

    covariance: Array
    directions: Array
    sentences: tuple[str, ...]

    @property
    def correlation(self) -> Array:
        return correlation_of(self.covariance)


def correlation_of(covariance: Array) -> Array:
    """Correlation (m, m); 0 against a parameter of which nothing is known."""
    size = np.sqrt(np.diag(covariance))
    with np.errstate(all="ignore"):
        result = covariance / np.outer(size, size)
    result = np.where(np.isfinite(result), result, 0.0)
    np.fill_diagonal(result, 1.0)
    return np.asarray(result)


def weigh(R: Array, names: Sequence[str], *, relative: Sequence[bool] | Array | None = None) -> Information:
    """Covariance of relative changes from the square root of their information, and what it leaves open."""
    m = len(names)
    if m == 0:
        return Information(np.zeros((0, 0)), np.zeros((0, 0)), ())
    _, s, Vt = np.linalg.svd(R)
    blind = s <= RANK * max(float(s[0]), 1e-300)
    inverse = np.where(blind, 0.0, 1.0 / np.where(blind, 1.0, s))
    covariance = (Vt.T * inverse**2) @ Vt
    touched = (np.abs(Vt[blind]) > 1e-6).any(axis=0)
    covariance[touched, touched] = np.inf
    loose = blind | (inverse > LOOSE)
    kinds = [True] * m if relative is None else list(relative)
    sentences = tuple(
        _sentence(Vt[k], names, kinds, None if blind[k] else float(inverse[k])) for k in np.flatnonzero(loose)
    )
    return Information(covariance, Vt[loose].copy(), sentences)


def _sentence(direction: Array, names: Sequence[str], relative: Sequence[bool], deviation: float | None) -> str:
    part = [int(k) for k in np.flatnonzero(np.abs(direction) > PART)]
    shown = [names[k] for k in part]
    how = "" if deviation is None else f" (deviation {100 * deviation:.3g} %)"
    if len(part) == 1:
        return f"the data cannot tell {shown[0]}{how or ': it has no influence on the outputs'}."
    entries = direction[part] / direction[part][ties.first_largest(direction[part])]
    pair = f"{', '.join(shown[:-1])} from {shown[-1]}"
    if all(relative[k] for k in part):
        if np.ptp(entries) < EQUAL:
            return f"the data cannot tell {pair}: only their ratio{'' if len(part) == 2 else 's'}{how}."
        if len(part) == 2 and abs(float(entries.sum())) < EQUAL:
            return f"the data cannot tell {pair}: only their product{how}."
        shares = ", ".join(f"{100 * value:+.0f} % of {name}" for value, name in zip(entries, shown, strict=True))
        return f"the data cannot tell {pair}: changes in the proportion {shares} leave no trace{how}."
    return f"the data cannot tell {pair}: only a combination of them{how}."
