"""Fit of a model to a record, and tests of its residuals.

fit          100 (1 - ‖y - ŷ‖ / ‖y - mean y‖) % per output (normalised root mean square)
whiteness    r(τ) = Σ e[k] e[k-τ] / Σ e²; of white e, √N r(τ) → N(0, 1): the band at 95 % is 1.96/√N.
             Q = N² Σ_{τ=1..L} tr(R_τᵀ R₀⁻¹ R_τ R₀⁻¹)/(N - τ) → χ²(ny² L) over all outputs together (Hosking 1980;
             of one output Ljung and Box 1978).
inputs       r(τ) = Σ e[k] u[k-τ] / √(Σe² Σu²); of independent e and u, N var r(τ) → Σ_j r_e(j) r_u(j) (Bartlett),
             and √N (r(0), ..., r(L)) has the covariance P_ab = Σ_j r_e(j) r_u(j + a - b): ζ = N rᵀ P⁻¹ r → χ²(L + 1)
             (Ljung 1999, 16.6). Lags below zero show feedback and are not tested.

No degrees of freedom are subtracted for fitted parameters: the tests are exact for a record the model was not fitted
to, and somewhat lenient for the one it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.special

from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.declare import between, checked
from dalembert.core.tables import align_columns

Level = Annotated[float, between(0.0, 1.0), "level of significance"]


@frozen
class Fit:
    """Agreement of a model with a record, per output.

    Attributes
    ----------
    percent : (ny,)
        100 (1 - ‖y - ŷ‖ / ‖y - mean y‖) [%]: 100 is perfect, 0 no better than the mean, negative worse.
    rms : (ny,)
        Root mean square of y - ŷ, in the unit of the output.
    outputs : names
    kind : "simulation" (inputs only) or "prediction" (inputs, and outputs up to the sample before)
    """

    percent: FloatArray
    rms: FloatArray
    outputs: tuple[str, ...]
    kind: str
    units: Mapping[str, str]

    @property
    def mean(self) -> float:
        """Mean of ``percent`` over the outputs."""
        return float(np.mean(self.percent))

    def __getitem__(self, output: str) -> float:
        return float(self.percent[self.outputs.index(output)])

    def table(self) -> str:
        """One line per output."""
        rows = [
            (name, f"{p:.2f}", f"{r:.4g}" + (f" {self.units[name]}" if self.units.get(name) else ""))
            for name, p, r in zip(self.outputs, self.percent, self.rms, strict=True)
        ]
        return align_columns(("output", "fit [%]", "rms error"), rows)

    def __repr__(self) -> str:
        return f"Fit by {self.kind}: {self.mean:.2f} % on average\n{self.table()}"


def measure_fit(
    y: Sequence[FloatArray], yhat: Sequence[FloatArray], outputs: Sequence[str], kind: str, units: Mapping[str, str]
) -> Fit:
    """Fit over one or more segments, each (N_k, ny), the mean taken of each segment by itself."""
    wrong = sum(((a - b) ** 2).sum(axis=0) for a, b in zip(y, yhat, strict=True))
    size = sum(((a - a.mean(axis=0)) ** 2).sum(axis=0) for a in y)
    count = sum(len(a) for a in y)
    ratio = np.sqrt(np.divide(wrong, size, out=np.full(len(wrong), np.inf), where=size > 0.0))
    return Fit(
        percent=100.0 * (1.0 - ratio), rms=np.sqrt(wrong / count), outputs=tuple(outputs), kind=kind, units=units
    )


@frozen
class Residuals:
    """Residuals of a model, and whether they are white and independent of the inputs.

    Attributes
    ----------
    values : tuple of (N_k, ny)
        y - ŷ, one array per record.
    covariance : (ny, ny)
    lags : (L,) from 1
    autocorrelation : (L, ny)
        Of each output with itself.
    band95, band99 : float
        Limits of the autocorrelation of white noise.
    whiteness : (ny,)
        Probability of residuals this far from white, were they white, per output; ``whiteness_all`` of all together.
    input_lags : (2L + 1,) from -L to L
    crosscorrelation : (2L + 1, ny, nu)
    cross_band95, cross_band99 : (ny, nu)
        Limits for residuals independent of the input, for any spectra of both.
    independence : (ny, nu)
        Probability of a dependence on present and past inputs this strong, were there none.
    """

    values: tuple[FloatArray, ...]
    covariance: FloatArray
    lags: FloatArray
    autocorrelation: FloatArray
    band95: float
    band99: float
    whiteness: FloatArray
    whiteness_all: float
    input_lags: FloatArray
    crosscorrelation: FloatArray
    cross_band95: FloatArray
    cross_band99: FloatArray
    independence: FloatArray
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    kind: str

    @checked
    def is_white(self, level: Level = 0.01) -> bool:
        """Whether whiteness is not refused at this level of significance, all outputs together."""
        return bool(self.whiteness_all >= level)

    @checked
    def is_independent(self, level: Level = 0.01) -> bool:
        """Whether the residuals are independent of the inputs; the level is shared among the pairs (Bonferroni)."""
        pairs = max(1, self.independence.size)
        return bool((self.independence >= level / pairs).all())

    def verdict(self) -> str:
        """The tests in one line."""
        text = f"{'white' if self.is_white() else 'not white'} (p = {self.whiteness_all:.3f})"
        if self.inputs:
            text += f", {'' if self.is_independent() else 'not '}independent of the inputs"
        return text

    def table(self) -> str:
        """Results of the tests, one line per output."""
        rows = []
        for i, name in enumerate(self.outputs):
            beyond = np.abs(self.autocorrelation[:, i]) > self.band95
            worst = "-"
            if self.inputs:
                j = int(np.argmin(self.independence[i]))
                worst = f"{self.independence[i, j]:.3f} ({self.inputs[j]})"
            rows.append((name, f"{np.sqrt(self.covariance[i, i]):.4g}", f"{100 * beyond.mean():.0f}",
                         f"{self.whiteness[i]:.3f}", worst))  # fmt: skip
        return align_columns(("output", "rms", "lags beyond 95 % band [%]", "p white", "p independent of inputs"), rows)

    def __repr__(self) -> str:
        return f"Residuals of {self.kind}: {self.verdict()}\n{self.table()}"


def examine(
    e: Sequence[FloatArray], u: Sequence[FloatArray], outputs: Sequence[str], inputs: Sequence[str], kind: str,
    lags: int | None = None,
) -> Residuals:  # fmt: skip
    """Residuals (N_k, ny) and inputs (N_k, nu) per segment -> :class:`Residuals`."""
    count = sum(len(a) for a in e)
    shortest = min(len(a) for a in e)
    L = max(1, min(25 if lags is None else lags, shortest // 4))
    ny, nu = e[0].shape[1], u[0].shape[1]
    centred = [a - a.mean(axis=0) for a in e]
    driven = [a - a.mean(axis=0) for a in u]
    R = correlate(centred, centred, L, count)
    portmanteau, each = _portmanteau(R, L, count)
    scale = np.sqrt(np.maximum(np.einsum("ii->i", R[0]), np.finfo(np.float64).tiny))
    auto = np.array([np.diagonal(R[k]) / scale**2 for k in range(1, L + 1)])
    # Bartlett's sum needs more lags than are shown: as many as either signal is correlated over
    wide = min(shortest - 1, max(4 * L, 10 * int(np.sqrt(count))))
    cross, spread, chance = _test_independence(centred, driven, L, wide, count, scale)
    z95, z99 = (float(scipy.special.ndtri(0.5 + p / 2.0)) for p in (0.95, 0.99))
    return Residuals(
        values=tuple(np.array(a) for a in e), covariance=R[0].copy(), lags=np.arange(1.0, L + 1.0),
        autocorrelation=auto, band95=z95 / np.sqrt(count), band99=z99 / np.sqrt(count),
        whiteness=each, whiteness_all=portmanteau, input_lags=np.arange(-L, L + 1.0), crosscorrelation=cross,
        cross_band95=z95 * spread, cross_band99=z99 * spread, independence=chance.reshape(ny, nu),
        outputs=tuple(outputs), inputs=tuple(inputs), kind=kind,
    )  # fmt: skip


def correlate(a: Sequence[FloatArray], b: Sequence[FloatArray], lags: int, count: int) -> FloatArray:
    """Σ_k a[k] b[k - τ]ᵀ / count for τ = 0..lags over all segments, (lags + 1, na, nb), by FFT."""
    total = np.zeros((lags + 1, a[0].shape[1], b[0].shape[1]))
    for x, w in zip(a, b, strict=True):
        size = scipy.fft.next_fast_len(len(x) + lags, real=True)
        X, W = scipy.fft.rfft(x, size, axis=0), scipy.fft.rfft(w, size, axis=0)
        for j in range(W.shape[1]):
            total[:, :, j] += scipy.fft.irfft(X * W[:, j : j + 1].conj(), size, axis=0)[: lags + 1]
    return total / count


def _portmanteau(R: FloatArray, L: int, count: int) -> tuple[float, FloatArray]:
    """Probabilities of all outputs together (), and of each (ny,)."""
    weight = count**2 / (count - np.arange(1.0, L + 1.0))
    variances = np.maximum(np.einsum("ii->i", R[0]), np.finfo(np.float64).tiny)
    r = np.einsum("kii->ki", R[1:]) / variances
    each: FloatArray = scipy.special.chdtrc(float(L), weight @ r**2)
    scaled = R / np.sqrt(np.outer(variances, variances))
    inverse = np.linalg.pinv(scaled[0], hermitian=True)
    rank = int(np.linalg.matrix_rank(scaled[0], hermitian=True))
    terms = np.einsum("kji,jl,klm,mi->k", scaled[1:], inverse, scaled[1:], inverse)
    return float(scipy.special.chdtrc(float(rank**2 * L), weight @ terms)), each


def _test_independence(
    e: Sequence[FloatArray], u: Sequence[FloatArray], L: int, wide: int, count: int, scale: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cross-correlations (2L + 1, ny, nu), their standard deviation (ny, nu), probabilities (ny, nu)."""
    ny, nu = e[0].shape[1], u[0].shape[1]
    past, future = correlate(e, u, L, count), correlate(u, e, L, count)
    own_e = np.column_stack([correlate([a[:, i : i + 1] for a in e], [a[:, i : i + 1] for a in e], wide,
                                          count)[:, 0, 0] / scale[i] ** 2 for i in range(ny)])  # fmt: skip
    cross, spread, chance = np.zeros((2 * L + 1, ny, nu)), np.zeros((ny, nu)), np.ones((ny, nu))
    for j in range(nu):
        single = [a[:, j : j + 1] for a in u]
        own_u = correlate(single, single, wide, count)[:, 0, 0]
        size = np.sqrt(own_u[0]) or 1.0
        own_u = own_u / size**2
        cross[L:, :, j] = past[:, :, j] / (scale * size)
        cross[:L, :, j] = future[:0:-1, j, :] / (scale * size)
        taper = 1.0 - np.arange(wide + 1) / (wide + 1.0)  # keeps P positive
        two_u = np.concatenate([(own_u * taper)[:0:-1], own_u * taper])
        for i in range(ny):
            two_e = np.concatenate([(own_e[:, i] * taper)[:0:-1], own_e[:, i] * taper])
            P = np.array([two_e[a:] @ two_u[: len(two_u) - a] for a in range(L + 1)])
            P[0] = max(P[0], 1e-12)
            spread[i, j] = np.sqrt(P[0] / count)
            r = cross[L:, i, j]
            zeta = count * r @ scipy.linalg.lstsq(scipy.linalg.toeplitz(P), r, cond=1e-10)[0]
            chance[i, j] = scipy.special.chdtrc(float(L + 1), max(zeta, 0.0))
    return cross, spread, chance
