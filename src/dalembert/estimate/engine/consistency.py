"""Consistency of a filter: innovations and errors in units of the covariances that it reports.

    NIS  = eᵀ S⁻¹ e ~ χ²(ny) ,   white ;           NEES = (x - x̂)ᵀ P⁻¹ (x - x̂) ~ χ²(nx)

Over N samples (or N runs, at one time) the mean lies in χ²-quantiles of N n degrees of freedom, divided by N.
Innovations of a consistent filter are independent, so that their autocorrelations lie within ± z/√N
(Bar-Shalom, Li and Kirubarajan 2001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
import scipy.stats

from dalembert.core.declare import above_and_below, checked, count, refused_as
from dalembert.core.errors import DataError
from dalembert.core.tables import align_columns
from dalembert.estimate.engine.tangent import shares_of_errors
from dalembert.expressions import Array

if TYPE_CHECKING:
    from dalembert.estimate.engine.estimate import Estimate
    from dalembert.record import Record

EXACT = float(np.finfo(float).eps)  # of the largest: a variance below it is rounding

Level = Annotated[float, above_and_below(0.0, 1.0), "probability of the band"]
Degrees = Annotated[int, refused_as("out-of-range", count(1)), "of freedom of each value"]
Count = Annotated[int, refused_as("out-of-range", count(1)), "number of independent values"]


@checked
def chi_square_band(degrees: Degrees, count: Count = 1, level: Level = 0.95) -> tuple[float, float]:
    """Band in which the mean of `count` independent χ²(degrees) values lies with probability `level`.

    Examples
    --------
    >>> low, high = chi_square_band(2, 200)
    >>> round(low, 3), round(high, 3)
    (1.732, 2.287)
    """
    tail = (1 - level) / 2
    low, high = scipy.stats.chi2.ppf([tail, 1 - tail], degrees * count)
    return float(low / count), float(high / count)


@dataclass(frozen=True, eq=False)
class Consistency:
    """Result of the tests of innovations, which judge Q and R.

    nis_mean : per sample and measured output; 1 where the filter is consistent.  nis_band : where it should lie.
    inside : share of samples with a NIS inside its own band; `level` where consistent.
    autocorrelations : (lags, ny) of the innovations, normalised, from lag 1 on.  white_band : ± where they should lie.
    outside : share of them that does not.
    """

    nis_mean: float
    nis_band: tuple[float, float]
    inside: float
    level: float
    autocorrelations: Array
    white_band: float
    outside: float
    bias: Array
    outputs: tuple[str, ...]
    samples: int

    @property
    def consistent(self) -> bool:
        """Whether the mean NIS lies in its band and the innovations look white."""
        return self.nis_band[0] <= self.nis_mean <= self.nis_band[1] and self.is_white

    @property
    def is_white(self) -> bool:
        count = self.autocorrelations.size
        allowed = scipy.stats.binom.ppf(0.999, count, 1 - self.level) / max(count, 1)
        return bool(self.outside <= allowed)

    @property
    def verdict(self) -> str:
        """The findings in words, and what to change."""
        parts = []
        low, high = self.nis_band
        if self.nis_mean > high:
            parts.append(
                f"innovations are {np.sqrt(self.nis_mean):.3g} times larger than the filter expects: enlarge R or Q, "
                "or correct the model"
            )
        elif self.nis_mean < low:
            parts.append(
                f"innovations are {1 / np.sqrt(self.nis_mean) if self.nis_mean > 0 else np.inf:.3g} times smaller than "
                "the filter expects: R or Q is too large"
            )
        if not self.is_white:
            worst = self.autocorrelations[0] if len(self.autocorrelations) else np.zeros(1)
            sign = "follow each other (the filter is too slow: enlarge Q, or the model lacks a mode)"
            sign = sign if worst[np.abs(worst).argmax()] > 0 else "alternate (the filter is too fast: Q is too large)"
            parts.append(f"innovations are not white, they {sign}")
        return "; ".join(parts) if parts else "consistent"

    def table(self) -> str:
        rows = [
            [name, f"{self.bias[j]:+.3f}", *(f"{self.autocorrelations[k, j]:+.3f}" for k in self._shown)]
            for j, name in enumerate(self.outputs)
        ]
        return align_columns(["output", "mean/σ", *(f"lag {k + 1}" for k in self._shown)], rows)

    @property
    def _shown(self) -> list[int]:
        return [k for k in (0, 1, 4, 9) if k < len(self.autocorrelations)]

    def __repr__(self) -> str:
        return (
            f"Consistency: {self.verdict}\n"
            f"NIS {self.nis_mean:.4g} per output ({self.level:.0%} band {self.nis_band[0]:.4g} to "
            f"{self.nis_band[1]:.4g}), {self.inside:.1%} of samples inside theirs; autocorrelations within "
            f"±{self.white_band:.3g}: {1 - self.outside:.1%}\n{self.table()}"
        )


def consistency(estimate: Estimate, *, settle: float = 0.0, level: float = 0.95) -> Consistency:
    """Test of the innovations of a run, from `settle` seconds after its start on."""
    late = estimate.time >= estimate.time[0] + settle
    used = estimate.measured[late]
    nis = estimate.nis[late]
    total = int(used.sum())
    if total < 2:
        raise DataError("too-few-samples", f"no samples remain after settle = {settle:g} s.")
    low, high = chi_square_band(total, 1, level)
    tail = (1 - level) / 2
    ends = {n: scipy.stats.chi2.ppf([tail, 1 - tail], n) for n in np.unique(used[used > 0])}
    inside = [((nis >= a) & (nis <= b) & (used == n)).sum() for n, (a, b) in ends.items()]
    white = estimate.innovations[late] / estimate.spreads[late]
    correlations, pairs = autocorrelations(white)
    band = float(scipy.stats.norm.ppf(1 - tail)) / np.sqrt(np.maximum(pairs, 1))
    return Consistency(
        float(nis.sum() / total), (low / total, high / total), float(sum(inside) / (used > 0).sum()), level,
        correlations, float(band.mean()), float((np.abs(correlations) > band).mean()) if correlations.size else 0.0,
        np.nanmean(white, axis=0), estimate.filter.process.outputs.names, int(late.sum()),
    )  # fmt: skip


def autocorrelations(white: Array, most: int = 20) -> tuple[Array, Array]:
    """(lags, ny) of columns that may have gaps, from lag 1 on, and the number of pairs of each."""
    lags = min(most, len(white) - 1)
    there = np.isfinite(white)
    mean = np.nanmean(np.where(there.any(axis=0), white, 0.0), axis=0)
    centred = np.where(there, white - mean, 0.0)
    power = (centred**2).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    power = np.where(power > 0, power, 1.0)
    pairs = [(there[k:] & there[:-k]).sum(axis=0) for k in range(1, lags + 1)]
    sums = [(centred[k:] * centred[:-k]).sum(axis=0) for k in range(1, lags + 1)]
    counts = np.array(pairs).reshape(lags, white.shape[1])
    return np.array(sums).reshape(lags, white.shape[1]) / np.maximum(counts, 1) / power, counts


def nees(estimate: Estimate, truth: Record) -> Array:
    """(N,) (x ⊟ x̂)ᵀ P⁻¹ (x ⊟ x̂) of every sample, where the truth has all states by name (at the same times).

    A direction that the filter takes as exactly known (P singular, as from a P0 with zeros) counts 0 where it is right
    and infinitely where it is not.
    """
    model = estimate.filter.process
    lacking = [name for name in model.carried.names if name not in truth.names]
    if lacking:
        problem = f"NEES needs the true states; the record of the truth lacks {', '.join(lacking[:12])}."
        raise DataError("missing-channel", problem, where={"channels": tuple(lacking)})
    true = same_times(truth, estimate.time)[list(model.carried.names)]
    errors = error_columns(estimate, np.asarray(true))
    P = estimate.covariances()
    shares = shares_of_errors(estimate.filter, estimate.states, estimate.time)
    if shares is not None:  # a projection: only the part of an error that the joints allow
        errors = np.einsum("kij,kj->ki", shares, errors)
        P = shares @ P @ shares.transpose(0, 2, 1)
    scale = np.sqrt(np.einsum("kii->ki", P))
    scale = np.where(scale > 0, scale, 1.0)
    unit = P / (scale[:, :, None] * scale[:, None, :])
    variances, directions = np.linalg.eigh(unit)
    along = np.einsum("kij,ki->kj", directions, errors / scale)
    exact = variances <= EXACT * errors.shape[1] * variances[:, -1:]
    wrong = exact & (np.abs(along) > np.sqrt(EXACT) * np.maximum(1.0, np.abs(true).max(initial=0.0)))
    parts = np.where(exact, 0.0, along**2 / np.where(exact, 1.0, variances))
    return np.asarray(np.where(wrong.any(axis=1), np.inf, parts.sum(axis=1)), dtype=float)


def freedoms(estimate: Estimate) -> int:
    """Number of independent errors of a state: fewer than rows of the covariance where that is of a projection."""
    shares = shares_of_errors(estimate.filter, estimate.states[:1], estimate.time[:1])
    return estimate.filter.process.ne if shares is None else int(shares.shape[1])


def error_columns(estimate: Estimate, true: Array) -> Array:
    """(N, ne) true state ⊟ estimate."""
    model = estimate.filter.process
    if model.flat:
        return np.asarray(true - estimate.states, dtype=float)
    from dalembert.expressions import Kernel

    kernel = Kernel(model.functions["difference"])
    N = len(true)
    return np.asarray(
        kernel.many(true, estimate.states, np.broadcast_to(model.p, (N, len(model.p))), estimate.time[:, None])[0]
    ).reshape(N, model.ne)


def same_times(record: Record, times: Array, same: float = 1e-9) -> Record:
    """The record at these times: its own samples, or interpolated where they differ.

    same : [s], relative above one second: nine digits of a file, a thousandth of the shortest sample time.
    """
    slack = same * max(1.0, abs(times[-1]))
    if len(record) == len(times) and np.abs(record.time - times).max(initial=0.0) <= slack:
        return record
    if times[0] < record.time[0] - slack or times[-1] > record.time[-1] + slack:
        raise DataError(
            "out-of-range",
            f"the record of the truth covers {record.time[0]:.6g} to {record.time[-1]:.6g} s, the estimate "
            f"{times[0]:.6g} to {times[-1]:.6g} s.",
        )
    return record.resample(times=np.clip(times, record.time[0], record.time[-1]))


def mean_nees(values: object, states: int) -> tuple[Array, tuple[float, float]]:
    """Mean of `nees` over Monte Carlo runs, (N,), and the band it lies in at 95 % of the samples.

    values : (runs, N).  states : number of states of the filter.
    """
    array = np.asarray(values, dtype=float)
    if array.ndim != 2:
        problem = f"expected NEES of several runs, (runs, N); got an array of shape {array.shape}."
        raise DataError("wrong-shape", problem)
    return np.asarray(array.mean(axis=0), dtype=float), chi_square_band(states, len(array))
