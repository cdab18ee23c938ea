"""NExT: correlations of outputs under ambient excitation decay like free motion (James, Carne & Lauffer 1995).

    white excitation makes R(τ) = E[y(t + τ) y_ref(t)ᵀ] = C A^{τ-1} G for τ ≥ 1: a free decay, one column per reference

R(0) is left out: it contains the white sensor noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.fft

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray
from dalembert.identify.model.identified import Identified
from dalembert.identify.realization.decays import Decays, decay_era
from dalembert.identify.records.checks import find_name
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import report_findings
from dalembert.record import Record


def correlation_decays(
    record: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None = None, *,
    references: str | Iterable[str] | None = None, lags: int | None = None,
) -> Decays:  # fmt: skip
    """Correlation functions of outputs under ambient excitation (NExT), which decay as free motion does.

    Parameters
    ----------
    record, outputs : see :func:`read_data`
    references : names, optional
        Outputs with which all are correlated; all of them when left out.
    lags : int, optional
        Number of lags, from one sample on. When left out, as many as stand out of the scatter of their estimates, at
        most 512 or a tenth of the samples: later ones hide weak modes.

    Returns
    -------
    Decays
        Unbiased estimates, summed block by block.
    """
    most_lags = 512  # Most by default: the window of ERA has 512 lags of one channel at most.
    fewest = 8  # Fewest samples of a decay: two more than a model of order 2 and two columns need.
    data = read_data(record, (), outputs, detrend="mean")
    wanted = data.outputs if references is None else (references,) if isinstance(references, str) else tuple(references)
    places = [find_name("output", name, data.outputs, "references", channel=name) for name in wanted]
    usual = min(most_lags, max(data.samples // 10, fewest))
    count = usual if lags is None else whole_number("lags", lags, fewest)
    data.require(2 * count, f"correlations over {count} lags", each=True)
    correlations = correlate(data.y, places, count)
    if lags is None:
        count = _last_reliable_lag(correlations, places, data.samples)
    values = correlations[1 : count + 1]
    return Decays(
        values=values, dt=data.dt, outputs=data.outputs, columns=wanted, kind="correlations", units=dict(data.units),
        notes=(f"correlations with {', '.join(wanted)} from lag 1 to {count}; excitation assumed to be white noise",),
        provenance=dict(data.provenance),
    )  # fmt: skip


@report_findings
def next_era(
    record: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None = None, *, order: int | None = None,
    references: str | Iterable[str] | None = None, lags: int | None = None,
) -> Identified:  # fmt: skip
    """Modes from ambient records: :func:`correlation_decays`, then :func:`decay_era`."""
    decays = correlation_decays(record, outputs, references=references, lags=lags)
    return decay_era.quiet(decays, order=order)


def correlate(parts: Sequence[FloatArray], references: Sequence[int], lags: int, block: int = 16384) -> FloatArray:
    """R(0) ... R(lags), (lags + 1, ny, references): mean of y(k + τ) y_ref(k) over all segments.

    block : samples whose correlations are summed at a time.
    """
    ny = parts[0].shape[1]
    total = np.zeros((lags + 1, ny, len(references)))
    number = np.zeros(lags + 1)
    step = max(block, 4 * lags)
    for y in parts:
        size = scipy.fft.next_fast_len(min(step, len(y)) + lags, real=True)
        for start in range(0, len(y), step):
            ahead = scipy.fft.rfft(y[start : start + step + lags], size, axis=0)
            here = scipy.fft.rfft(y[start : start + step, references], size, axis=0)
            product = ahead[:, :, None] * here.conj()[:, None, :]
            total += scipy.fft.irfft(product, size, axis=0)[: lags + 1]
        number += np.maximum(len(y) - np.arange(lags + 1), 0)
    return np.asarray(total / number[:, None, None])


def _last_reliable_lag(
    found: FloatArray, references: Sequence[int], samples: int, fewest: int = 64, reliable: float = 4.0
) -> int:
    """Last lag at which the correlations exceed four times the deviation of their estimates.

    var ρ̂ ≈ Σ ρ²(τ) / N over all τ at lags where ρ has died out (Bartlett).

    fewest : fewest: a mode needs some periods.
    reliable : correlations are used while they exceed this number of standard deviations: one in 16 000 by chance.
    """
    count = len(found) - 1
    size = np.sqrt(found[0, references, range(len(references))])
    autocorrelations = found[:, references, range(len(references))] / size**2
    deviation = float(np.sqrt((2.0 * (autocorrelations**2).sum(axis=0) - 1.0).mean() / samples))
    above = np.flatnonzero(np.sqrt((autocorrelations**2).mean(axis=1)) > reliable * deviation)
    last = int(above[-1]) if len(above) else 0
    return min(count, max(last, fewest))
