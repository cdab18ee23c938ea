"""Markov parameters by division of transforms, averaged as H1.

Steady response to inputs of period P:   Y(ω_k) = H(ω_k) U(ω_k), ω_k = 2πk/P, exactly;  S_uu Hᵀ = S_uy over all periods
pulse response = inverse transform of H; a response longer than P wraps round, Σ_i Y_{j+iP}
variance of every Y_j = (1/P²) Σ_k E|ΔH_k|²,   E|ΔH_bc|² = σ²_b (S_uu⁻¹)_cc / n, σ² from n - nu degrees of freedom
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.identify.records.data import Data

# Share of the largest power of an input below which a line is rounding, and smallest eigenvalue of the correlation of
# independent inputs: both are squares, of 1e-10 and 1e-6; transforms round at 1e-13.
NO_POWER = 1e-20
DEPENDENT = 1e-12
# Root mean square of the last twentieth of an output that has died out, as a share of its peak.
DIED_OUT = 0.05
# Change of the input from one period to the next, as a share of its size: noise of the sensor leaves less.
REPEATS = 0.5


def divide_transforms(data: Data, count: int, period: int | None, skip: int | None) -> dict[str, Any]:
    """Fields of :class:`Markov`."""
    import scipy.fft

    findings = [] if period is not None else _find_cut_responses(data)
    blocks, length, text = _cut_periods(data, period, skip) if period is not None else _pad_transients(data, count)
    nu = data.nu
    if count > length:
        raise DataError("out-of-range", f"{count} Markov parameters are more than a period of {length} samples holds.")
    if len(blocks) < nu:
        raise DataError(
            "too-few-samples",
            f"{nu} inputs need at least {nu} records or periods with independent inputs; there are {len(blocks)}.",
        )
    X = scipy.fft.rfft(np.stack(blocks), length, axis=1).transpose(1, 0, 2)  # (nf, K, nu + ny)
    G = X.conj().transpose(0, 2, 1) @ X
    power = np.einsum("faa->fa", G[:, :nu, :nu]).real
    dead = (power <= NO_POWER * power.max(axis=0)).any(axis=1)
    size = np.sqrt(np.where(power > 0.0, power, 1.0))
    C = G[:, :nu, :nu] / (size[:, :, None] * size[:, None, :])
    weak = (np.linalg.eigvalsh(C)[:, 0] < DEPENDENT) | dead
    inverse = np.linalg.pinv(C, rcond=DEPENDENT, hermitian=True) / (size[:, :, None] * size[:, None, :])
    inverse[dead] = 0.0
    H = (inverse @ G[:, :nu, nu:]).transpose(0, 2, 1)  # (nf, ny, nu)
    if weak.any():
        problem = (
            f"the inputs do not excite, or are not independent, at {int(weak.sum())} of {len(weak)} frequencies: the "
            "response of the system there is missing from the parameters."
        )
        findings.append(Finding("weak-excitation", problem, evidence={"frequencies": int(weak.sum())}))
    values = scipy.fft.irfft(H, length, axis=0)[:count]
    rank = int(nu * len(weak) - np.count_nonzero(weak))
    deviations, noise = _spread(G, H, inverse, len(blocks), length, nu)
    return {
        "values": np.ascontiguousarray(values), "rank": rank, "unknowns": nu * len(weak), "noise": noise,
        "deviations": None if deviations is None else np.broadcast_to(deviations, values.shape).copy(),
        "notes": (f"{len(blocks)} {text} of {length} samples, H1",), "findings": findings,
    }  # fmt: skip


def _spread(
    G: ComplexArray, H: ComplexArray, inverse: ComplexArray, blocks: int, length: int, nu: int
) -> tuple[FloatArray | None, FloatArray | None]:
    """Standard deviations (ny, nu) of every parameter, and of the noise (ny,), from the differences among blocks."""
    if blocks <= nu:
        return None, None
    explained = np.einsum("fbc,fcd,fbd->fb", H.conj(), G[:, :nu, :nu], H, optimize=True).real
    left = np.maximum(np.einsum("faa->fa", G).real[:, nu:] - explained, 0.0) / (blocks - nu)  # E|noise|² per line
    twice = np.full(len(G), 2.0)  # a line stands for its mirror image too
    twice[0] = 1.0
    if length % 2 == 0:
        twice[-1] = 1.0
    variance = left[:, :, None] * np.einsum("fcc->fc", inverse).real[:, None, :]
    deviations: FloatArray = np.sqrt(np.einsum("f,fbc->bc", twice, variance)) / length
    noise: FloatArray = np.sqrt(twice @ left) / length
    return deviations, noise


def _cut_periods(data: Data, period: int, skip: int | None) -> tuple[list[FloatArray], int, str]:
    """Whole periods of every record once the transient has gone."""
    length = whole_number("period", period, 2)
    blocks: list[FloatArray] = []
    for u, y in zip(data.u, data.y):
        whole = len(y) // length
        first = min(1, max(whole - 1, 0)) if skip is None else whole_number("skip", skip)
        for k in range(first, whole):
            part = slice(k * length, (k + 1) * length)
            blocks.append(np.hstack([u[part], y[part]]))
    if not blocks:
        raise DataError(
            "too-few-samples",
            f"no whole period of {length} samples is left (records of {', '.join(map(str, data.lengths[:5]))} samples, "
            f"{'1' if skip is None else skip} periods skipped).",
        )
    _refuse_other_periods(data, length)
    return blocks, length, "periods"


def _refuse_other_periods(data: Data, length: int) -> None:
    """Within a record the input must repeat, else the period is wrong."""
    for u in data.u:
        if len(u) >= 2 * length:
            stop = len(u) // length * length
            gap = u[stop - length : stop] - u[stop - 2 * length : stop - length]
            size = np.sqrt((u[stop - 2 * length : stop] ** 2).mean(axis=0))
            if (np.sqrt((gap**2).mean(axis=0)) > REPEATS * size).any():
                raise DataError(
                    "not-periodic", f"the input does not repeat every {length} samples.",
                    Advice("Correct {}, or leave it out.", Argument("period")), evidence={"period": length},
                )  # fmt: skip


def _find_cut_responses(data: Data) -> list[Finding]:
    """A finding on the first output that has not died out at the end of its record."""
    for y, name in ((y[:, j], name) for y in data.y for j, name in enumerate(data.outputs)):
        end = max(1, len(y) // 20)
        if np.sqrt((y[-end:] ** 2).mean()) > DIED_OUT * np.abs(y).max():
            problem = (
                f"output {name!r} has not died out at the end of its record, so its transform is not that of the whole "
                "response."
            )
            choices = Argument("method", "least squares"), Call("da.identify.hammer_windows")
            return [Finding("truncated-response", problem, {"channel": name}, {}, (Advice("Use {}.", *choices),))]
    return []


def _pad_transients(data: Data, count: int) -> tuple[list[FloatArray], int, str]:
    """Every record continued by zeros, as far as needed for nothing to wrap round."""
    import scipy.fft

    longest = max(data.lengths)
    length = scipy.fft.next_fast_len(longest + max(count, longest), real=True)
    blocks = [np.zeros((length, data.nu + data.ny)) for _ in data.y]
    for block, u, y in zip(blocks, data.u, data.y):
        block[: len(y), : data.nu], block[: len(y), data.nu :] = u, y
    return blocks, length, "transients"
