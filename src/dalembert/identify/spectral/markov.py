"""Markov parameters (pulse responses) from records.

y(k) = Σ_j Y_j u(k - j),   Y_0 = D,   Y_j = C A^{j-1} B      (m x r; the same in all coordinates of the state)

Least squares solves for the first ``memory`` of them: from rest with u = 0 before every record (``start="zero"``), or
leaving out the first samples, whose past is not known (``start="unknown"``). The response must have died out beyond the
memory, or the record must be no longer than the memory. The rows are compressed by QR piece by piece, so memory does
not grow with the samples, and the rank is taken from singular values.

By FFT the transforms are divided, averaged as H1:

Steady response to inputs of period P:   Y(ω_k) = H(ω_k) U(ω_k), ω_k = 2πk/P, exactly;  S_uu Hᵀ = S_uy over all periods
pulse response = inverse transform of H; a response longer than P wraps round, Σ_i Y_{j+iP}
variance of every Y_j = (1/P²) Σ_k E|ΔH_k|²,   E|ΔH_bc|² = σ²_b (S_uu⁻¹)_cc / n, σ² from n - nu degrees of freedom

It is exact for transients that have died out within their records, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import scipy.fft

from dalembert.core.arguments import one_of, real_number, whole_number
from dalembert.core.arrays import ComplexArray, FloatArray, frozen
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.tables import align_columns
from dalembert.core.text import list_names
from dalembert.identify.records.checks import find_name, require_samples
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.identify.spectral.spectra import Records
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record

__all__ = ["Markov", "markov"]

METHODS = ("least squares", "fft")


@frozen
class Markov:
    """Markov parameters, the response of a sampled system to pulses of one sample; frozen.

    ``values`` : (count, ny, nu), Y_0 = D first; ``deviations`` : standard deviations of the same shape, or None where
    the noise is not known; ``dt`` [s]; ``inputs``, ``outputs``, ``units``; ``method``; ``rank`` of the equations and
    ``unknowns`` per output; ``noise`` : (ny,) standard deviation of the residuals, or None; ``notes`` : decisions;
    ``findings`` : reasons for doubt; ``provenance``.
    """

    values: FloatArray
    deviations: FloatArray | None
    dt: float
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: Mapping[str, str]
    method: str
    rank: int
    unknowns: int
    noise: FloatArray | None
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def times(self) -> FloatArray:
        """(count,) [s] after the pulse."""
        return self.dt * np.arange(len(self.values), dtype=np.float64)

    def __getitem__(self, pair: str | tuple[str, str]) -> FloatArray:
        """(count,) pulse response of ``m["output", "input"]``; with a single input ``m["output"]`` is enough."""
        b, c = self._place(pair)
        return self.values[:, b, c]

    def deviation(self, output: str, input: str | None = None) -> FloatArray:
        """(count,) standard deviations of one pulse response."""
        if self.deviations is None:
            raise DataError(
                "unknown-noise", "the noise is not known: more samples than unknowns, or repeated tests, are needed."
            )
        b, c = self._place(output if input is None else (output, input))
        return self.deviations[:, b, c]

    def record(self) -> Record:
        """Pulse responses as a Record with channels ``"output per input"``."""
        names = [f"{output} per {input_name}" for output in self.outputs for input_name in self.inputs]
        units = [_unit(self.units, output, input_name) for output in self.outputs for input_name in self.inputs]
        data = self.values.reshape(len(self), -1)
        return Record(self.times, data, names, units, name="pulse responses", provenance=dict(self.provenance))

    def table(self, *, most: int = 10) -> str:
        """The first parameters of the first six pairs, with standard deviations where known."""
        pairs = [(b, c) for b in range(len(self.outputs)) for c in range(len(self.inputs))][:6]
        head = ("k", *(f"{self.outputs[b]} per {self.inputs[c]}" for b, c in pairs))
        rows = []
        for k in range(min(whole_number("most", most), len(self))):
            cells = [f"{self.values[k, b, c]:.5g}" for b, c in pairs]
            if self.deviations is not None:
                cells = [f"{cell} ± {self.deviations[k, b, c]:.2g}" for cell, (b, c) in zip(cells, pairs)]
            rows.append((str(k), *cells))
        more = f"\n({len(rows)} of {len(self)})" if len(rows) < len(self) else ""
        return align_columns(head, rows) + more

    def __repr__(self) -> str:
        lines = [
            f"Markov ({self.method}): {len(self)} parameters every {self.dt:.6g} s, "
            f"{list_names(self.outputs, self.units)} per {list_names(self.inputs, self.units)}",
            *(f"  {note}" for note in self.notes),
        ]
        return "\n".join([*lines, self.table()])

    def _place(self, pair: str | tuple[str, str]) -> tuple[int, int]:
        output, input_name = (pair, None) if isinstance(pair, str) else pair
        b = find_name("output", output, self.outputs, "these Markov parameters")
        if input_name is None and len(self.inputs) > 1:
            raise DataError(
                "missing-argument",
                f"name output and input, one of {list_names(self.inputs, {})}: there are several.",
            )
        return b, 0 if input_name is None else find_name("input", input_name, self.inputs, "these Markov parameters")


def markov(
    source: Records | StateSpace, count: int, inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] | None = None, *, method: Literal["least squares", "fft"] = "least squares",
    start: Literal["zero", "unknown"] = "zero", memory: int | None = None, period: int | None = None,
    skip: int | None = None, tolerance: float | None = None,
) -> Markov:  # fmt: skip
    """Markov parameters of the system behind records, or of a sampled StateSpace.

    Parameters
    ----------
    source : Record, sequence of them, Data, or a sampled StateSpace
    count : how many parameters, Y_0 = D included
    inputs, outputs : channel names; outputs are all others when left out
    method : "least squares" (any input) or "fft" (periodic inputs, or transients that die out)
    start : "zero" (at rest before every record) or "unknown" (the first ``memory - 1`` samples only serve as past)
    memory : parameters solved for by least squares, at least ``count`` and as long as the response lasts;
        ``count`` when left out
    period : of the input, in samples, for "fft"; left out, every record is a transient
    skip : periods to leave out at the beginning of every record, until the response is steady; 1 when there are more
    tolerance : singular values below this share of the largest count as zero; rounding when left out

    Returns
    -------
    Markov

    Examples
    --------
    >>> system = StateSpace([[0.5]], [[1.0]], [[2.0]], [[0.1]], dt=0.1, inputs="u", outputs="y")
    >>> u = np.random.default_rng(3).normal(size=400)
    >>> y = np.convolve(u, system.markov(400)[:, 0, 0])[:400]
    >>> found = markov(Record.from_channels(0.1 * np.arange(400), {"u": u, "y": y}), 5, "u", memory=60)
    >>> found["y"].round(9)
    array([0.1 , 2.  , 1.  , 0.5 , 0.25])
    """
    q = whole_number("count", count, 1)
    if isinstance(source, StateSpace):
        return _of_system(source, q)
    one_of("method", method, METHODS)
    one_of("start", start, ("zero", "unknown"))
    data = read_data(source, inputs, outputs)
    data.require_inputs("a Markov parameter")
    if method == "fft":
        fields = divide_transforms(data, q, period, skip)
    else:
        long = q if memory is None else whole_number("memory", memory, 1)
        if long < q:
            raise DataError(
                "conflicting-arguments",
                f"memory must be at least count: {q} parameters are wanted of {long} solved for.",
            )
        limit = None if tolerance is None else real_number("tolerance", tolerance)
        fields = _solve_least_squares(data, q, long, start, limit)
    findings = fields.pop("findings")
    IdentificationWarning.report(findings)
    return Markov(
        findings=(*data.findings, *findings),
        dt=data.dt, inputs=data.inputs, outputs=data.outputs, units=dict(data.units), method=method,
        provenance=dict(data.provenance), **fields,
    )  # fmt: skip


def _of_system(system: StateSpace, count: int) -> Markov:
    if system.dt is None:
        raise DataError(
            "wrong-type", "the system is continuous and has no pulses of one sample.",
            Advice("Sample it with {}.", Call("StateSpace.to_discrete")),
        )  # fmt: skip
    return Markov(
        values=system.markov(count), deviations=None, dt=system.dt, inputs=system.inputs, outputs=system.outputs,
        units=dict(system.units), method="state space", rank=count * system.nu, unknowns=count * system.nu, noise=None,
        notes=(), findings=(), provenance=dict(system.provenance),
    )  # fmt: skip


# ---- least squares


def _solve_least_squares(data: Data, count: int, memory: int, start: str, tolerance: float | None) -> dict[str, Any]:
    nu, unknowns = data.nu, memory * data.nu
    lost = memory - 1 if start == "unknown" else 0
    rows = sum(max(0, length - lost) for length in data.lengths)
    require_samples(
        rows, unknowns,
        f"{memory} Markov parameters of {nu} inputs are {unknowns} unknowns per output; the records leave {rows} "
        f"equations{' once the unknown past is left out' if lost else ''}. Ask for fewer, or measure longer.",
    )  # fmt: skip
    size = np.sqrt(sum((u**2).sum(axis=0) for u in data.u) / data.samples)
    R = compress(data, memory, lost, size)
    top, right, residual = R[:unknowns, :unknowns], R[:unknowns, unknowns:], R[unknowns:, unknowns:]
    U, s, Vt = np.linalg.svd(top)
    limit = (np.finfo(np.float64).eps * max(rows, unknowns) if tolerance is None else tolerance) * s[0]
    rank = int(np.count_nonzero(s > limit))
    inverse = Vt[:rank].T / s[:rank]
    theta = inverse @ (U[:, :rank].T @ right)
    lost_part = right - U[:, :rank] @ (U[:, :rank].T @ right)
    square = (residual**2).sum(axis=0) + (lost_part**2).sum(axis=0)
    scale = np.tile(size, memory)
    values = (theta / scale[:, None]).reshape(memory, nu, data.ny).transpose(0, 2, 1)
    noise = deviations = None
    if rows > rank:
        noise = np.sqrt(square / (rows - rank))
        spread = np.sqrt((inverse**2).sum(axis=1)) / scale
        deviations = (spread[:, None] * noise).reshape(memory, nu, data.ny).transpose(0, 2, 1)
    notes = [f"{unknowns} unknowns per output from {rows} equations, rank {rank}, condition {s[0] / s[rank - 1]:.3g}"]
    if rows > rank and rank:
        power = (right**2).sum(axis=0) + (residual**2).sum(axis=0)
        share = 1.0 - square / np.where(power > 0.0, power, 1.0)
        notes.append("explains " + ", ".join(f"{100 * x:.4g} % of {b}" for x, b in zip(share[:8], data.outputs)))
    findings = []
    if rank < unknowns:
        problem = (
            f"the inputs excite only {rank} of {unknowns} directions: the parameters of least norm are returned, "
            "which need not be those of the system. Excite more, or ask for fewer."
        )
        findings.append(Finding("weak-excitation", problem, evidence={"rank": rank, "unknowns": unknowns}))
    elif memory < max(data.lengths):
        findings += _find_tail(values, deviations)
    return {
        "findings": findings,
        "values": np.ascontiguousarray(values[:count]),
        "deviations": None if deviations is None else np.ascontiguousarray(deviations[:count]),
        "rank": rank, "unknowns": unknowns, "noise": noise, "notes": tuple(notes),
    }  # fmt: skip


def compress(data: Data, memory: int, lost: int, size: FloatArray, rows: int = 4096) -> FloatArray:
    """R of the QR decomposition of [past inputs, outputs], all records, (unknowns + ny) square at most.

    rows : rows of the regression that are compressed at once, at least.
    """
    nu = data.nu
    width = memory * nu + data.ny
    batch = max(rows, 2 * width)
    R = np.zeros((0, width))
    for u, y in zip(data.u, data.y):
        if len(y) <= lost:
            continue
        padded = np.vstack([np.zeros((memory - 1, nu)), u / size])
        past = np.lib.stride_tricks.sliding_window_view(padded, memory, axis=0)  # (N, nu, memory), oldest first
        for k in range(lost, len(y), batch):
            some = past[k : k + batch, :, ::-1].transpose(0, 2, 1)
            block = np.hstack([some.reshape(len(some), -1), y[k : k + batch]])
            R = np.asarray(np.linalg.qr(np.vstack([R, block]), mode="r"), dtype=np.float64)
    return R


def _find_tail(values: FloatArray, deviations: FloatArray | None, largest_tail: float = 0.01) -> list[Finding]:
    """A finding where the last tenth of a response exceeds its noise and is not small.

    largest_tail : size of the last tenth of a response that has died out, as a share of its peak: it biases the others
    by as much
    """
    tail = values[-max(1, len(values) // 10) :]
    size = np.sqrt((tail**2).mean(axis=0))
    floor = 0.0 if deviations is None else 3.0 * np.sqrt((deviations[-len(tail) :] ** 2).mean(axis=0))
    if (size <= np.maximum(largest_tail * np.abs(values).max(axis=0), floor)).all():
        return []
    problem = f"the response has not died out after {len(values)} samples; its later part biases the parameters."
    advice = Advice("Use a larger {}.", Argument("memory")), Advice("Or use an observer: {}.", Call("da.identify.okid"))
    return [Finding("truncated-response", problem, {}, {"samples": len(values)}, advice)]


# ---- division of transforms


def divide_transforms(
    data: Data, count: int, period: int | None, skip: int | None, dependent: float = 1e-12, no_power: float = 1e-20
) -> dict[str, Any]:
    """Fields of :class:`Markov`.

    dependent, no_power : share of the largest power of an input below which a line is rounding, and smallest eigenvalue
    of the correlation of independent inputs: both are squares, of 1e-10 and 1e-6; transforms round at 1e-13
    """
    findings = [] if period is not None else _find_cut_responses(data)
    blocks, length, text = _cut_periods(data, period, skip) if period is not None else _pad_transients(data, count)
    nu = data.nu
    if count > length:
        raise DataError("out-of-range", f"{count} Markov parameters are more than a period of {length} samples holds.")
    require_samples(
        len(blocks), nu,
        f"{nu} inputs need at least {nu} records or periods with independent inputs; there are {len(blocks)}.",
    )  # fmt: skip
    X = scipy.fft.rfft(np.stack(blocks), length, axis=1).transpose(1, 0, 2)  # (nf, K, nu + ny)
    G = X.conj().transpose(0, 2, 1) @ X
    power = np.einsum("faa->fa", G[:, :nu, :nu]).real
    dead = (power <= no_power * power.max(axis=0)).any(axis=1)
    size = np.sqrt(np.where(power > 0.0, power, 1.0))
    C = G[:, :nu, :nu] / (size[:, :, None] * size[:, None, :])
    weak = (np.linalg.eigvalsh(C)[:, 0] < dependent) | dead
    inverse = np.linalg.pinv(C, rcond=dependent, hermitian=True) / (size[:, :, None] * size[:, None, :])
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
    noise_power = np.maximum(np.einsum("faa->fa", G).real[:, nu:] - explained, 0.0) / (
        blocks - nu
    )  # E|noise|² per line
    twice = np.full(len(G), 2.0)  # a line also counts for its mirror image
    twice[0] = 1.0
    if length % 2 == 0:
        twice[-1] = 1.0
    variance = noise_power[:, :, None] * np.einsum("fcc->fc", inverse).real[:, None, :]
    deviations: FloatArray = np.sqrt(np.einsum("f,fbc->bc", twice, variance)) / length
    noise: FloatArray = np.sqrt(twice @ noise_power) / length
    return deviations, noise


def _cut_periods(data: Data, period: int, skip: int | None) -> tuple[list[FloatArray], int, str]:
    """Whole periods of every record once the transient has gone."""
    length = whole_number("period", period, 2)
    blocks: list[FloatArray] = []
    for u, y in zip(data.u, data.y):
        periods = len(y) // length
        first = min(1, max(periods - 1, 0)) if skip is None else whole_number("skip", skip)
        for k in range(first, periods):
            span = slice(k * length, (k + 1) * length)
            blocks.append(np.hstack([u[span], y[span]]))
    if not blocks:
        raise DataError(
            "too-few-samples",
            f"no whole period of {length} samples remains (records of {', '.join(map(str, data.lengths[:5]))} samples, "
            f"{'1' if skip is None else skip} periods skipped).",
        )
    _refuse_other_periods(data, length)
    return blocks, length, "periods"


def _refuse_other_periods(data: Data, length: int, repeats: float = 0.5) -> None:
    """Within a record the input must repeat, else the period is wrong.

    repeats : change of the input from one period to the next, as a share of its size: noise of the sensor leaves less
    """
    for u in data.u:
        if len(u) >= 2 * length:
            stop = len(u) // length * length
            gap = u[stop - length : stop] - u[stop - 2 * length : stop - length]
            size = np.sqrt((u[stop - 2 * length : stop] ** 2).mean(axis=0))
            if (np.sqrt((gap**2).mean(axis=0)) > repeats * size).any():
                raise DataError(
                    "not-periodic", f"the input does not repeat every {length} samples.",
                    Advice("Correct {}, or leave it out.", Argument("period"))
                )  # fmt: skip


def _find_cut_responses(data: Data, died_out: float = 0.05) -> list[Finding]:
    """A finding on the first output that has not died out at the end of its record.

    died_out : root mean square of the last twentieth of an output that has died out, as a share of its peak
    """
    for y, name in ((y[:, j], name) for y in data.y for j, name in enumerate(data.outputs)):
        end = max(1, len(y) // 20)
        if np.sqrt((y[-end:] ** 2).mean()) > died_out * np.abs(y).max():
            problem = (
                f"output {name!r} has not died out at the end of its record, so its transform is not that of the whole "
                "response."
            )
            choices = Argument("method", "least squares"), Call("da.identify.hammer_windows")
            return [Finding("truncated-response", problem, {"channel": name}, {}, (Advice("Use {}.", *choices),))]
    return []


def _pad_transients(data: Data, count: int) -> tuple[list[FloatArray], int, str]:
    """Every record continued by zeros, as far as needed for nothing to wrap round."""
    longest = max(data.lengths)
    length = scipy.fft.next_fast_len(longest + max(count, longest), real=True)
    blocks = [np.zeros((length, data.nu + data.ny)) for _ in data.y]
    for block, u, y in zip(blocks, data.u, data.y):
        block[: len(y), : data.nu], block[: len(y), data.nu :] = u, y
    return blocks, length, "transients"


def _unit(units: Mapping[str, str], output: str, given: str) -> str:
    top, bottom = units.get(output, ""), units.get(given, "")
    if not bottom:
        return top
    return f"{top or '1'}/{bottom if bottom.isalpha() else f'({bottom})'}"
