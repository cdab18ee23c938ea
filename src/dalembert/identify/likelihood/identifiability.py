"""Identifiability: combinations of parameters that data do not determine, from the information on the parameters.

RᵀR (m, m) is the information on relative changes ϑ = δp/p of parameters: along a unit vector n with ‖R n‖ = s they have
the standard deviation 1/s. Along equal entries the data determine only the ratios, along (1, -1)/√2 only the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.findings import Finding
from dalembert.expressions import Array
from dalembert.numerics import ties


@dataclass(frozen=True)
class Information:
    """Relative covariance (m, m), inf where undetermined; undetermined directions (k, m) and a finding on each."""

    covariance: Array
    directions: Array
    findings: tuple[Finding, ...]


def correlation_of(covariance: Array) -> Array:
    """Correlation (m, m); 0 against a parameter that is not determined."""
    size = np.sqrt(np.diag(covariance))
    with np.errstate(all="ignore"):
        result = covariance / np.outer(size, size)
    result = np.where(np.isfinite(result), result, 0.0)
    np.fill_diagonal(result, 1.0)
    return np.asarray(result)


def judge_information(
    R: Array, names: Sequence[str], *, relative: Sequence[bool] | Array | None = None, source: str = "the data",
    effect: str = "the outputs", rank: float = 1e-7, deviation: float = 1.0, least_entry: float = 1e-6,
) -> Information:  # fmt: skip
    """Covariance of relative changes from the square root of their information, and undetermined combinations.

    relative : whether the change of a parameter is relative to its value (not so where that is zero);
    source, effect : words of a finding, where the information comes from and on what the parameters act.
    rank : singular values relative to the largest: derivatives of simulations are exact to 1e-9, some 100 times below.
    deviation : relative standard deviation: the parameter may be zero.
    least_entry : entry of an undetermined direction from which on a parameter is not determined: singular vectors are
    exact to the rank over the distance of singular values, 1e-7 and less.
    """
    m = len(names)
    if m == 0:
        return Information(np.zeros((0, 0)), np.zeros((0, 0)), ())
    _, s, Vt = np.linalg.svd(R)
    zero = rank * max(float(s[0]), 1e-300)
    blind = s <= zero
    inverse = np.where(blind, 0.0, 1.0 / np.where(blind, 1.0, s))
    covariance = (Vt.T * inverse**2) @ Vt
    touched = (np.abs(Vt[blind]) > least_entry).any(axis=0)
    covariance[touched, touched] = np.inf
    loose = blind | (inverse > deviation)
    kinds = [True] * m if relative is None else [bool(kind) for kind in relative]
    findings = tuple(
        _finding(Vt[k], names, kinds, None if blind[k] else float(inverse[k]), source, effect)
        for k in np.flatnonzero(loose)
    )
    return Information(covariance, Vt[loose].copy(), findings)


def _finding(
    direction: Array, names: Sequence[str], relative: Sequence[bool], deviation: float | None, source: str, effect: str,
    equal: float = 0.08, named: float = 0.15,
) -> Finding:  # fmt: skip
    # equal: Entries of a direction that differ by less count as equal: a direction known to some per cent.
    # named: Share of a unit vector: of six equal entries each has 0.41, of forty 0.16; smaller ones are not named.
    members = [int(k) for k in np.flatnonzero(np.abs(direction) > named)]
    shown = tuple(names[k] for k in members)
    how = "" if deviation is None else f" (deviation {100 * deviation:.3g} %)"
    entries = direction[members] / direction[members][ties.first_largest(direction[members])]
    them = f"{', '.join(shown[:-1])} and {shown[-1]}" if len(members) > 1 else shown[0]
    if len(members) == 1:
        problem = f"{source} do not determine {them}{how or ': it has no influence on ' + effect}."
    elif not all(relative[k] for k in members):
        problem = f"{source} determine only a combination of {them}{how}."
    elif np.ptp(entries) < equal:
        problem = f"{source} determine only the ratio{'' if len(members) == 2 else 's'} of {them}{how}."
    elif len(members) == 2 and abs(float(entries.sum())) < equal:
        problem = f"{source} determine only the product of {them}{how}."
    else:
        shares = ", ".join(f"{100 * value:+.0f} % of {name}" for value, name in zip(entries, shown, strict=True))
        problem = f"{source} do not determine {them}: changes of {shares} together leave {effect} unchanged{how}."
    evidence = {"direction": tuple(map(float, entries)), "deviation": np.inf if deviation is None else deviation}
    return Finding("undetermined-parameters", problem, {"parameters": shown}, evidence)
