"""Auto and cross spectral densities by averages over segments (Welch 1967).

X_k = FFT(w · x) of blocks k of every record; one-sided densities per Hz

S_ab(ω) = 2 Σ_k conj(A_k) B_k / (f_s Σ_k Σ w²)      (not doubled at 0 and at the Nyquist frequency)

the convention of SciPy and of Bendat & Piersol. Blocks never run across two records. Overlapping blocks are not
independent: n_d = K / (1 + 2 Σ_j (1 - j/K) ρ_j²), ρ_j the correlation of the window with itself j steps on, is the
equivalent number of independent averages of K blocks; a density has the relative standard deviation 1/√n_d.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from dalembert.core.arguments import one_of, whole_number
from dalembert.core.arrays import ComplexArray, FloatArray, frozen
from dalembert.core.declare import at_least
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.tables import align_columns
from dalembert.core.text import list_names
from dalembert.identify.records.checks import find_name, require_samples
from dalembert.identify.records.data import DETRENDS, Data, Detrend, read_data
from dalembert.record import Record

__all__ = ["Spectra", "spectra"]

Window = str | tuple[Any, ...]
Records = Record | Sequence[Record] | Data
DEFAULT_BLOCKS = 8  # with their overlap: a density then has a standard deviation of some 40 %


@frozen
class Spectra:
    """Matrix of spectral densities of some channels; frozen.

    ``frequencies`` : (nf,) [rad/s]; ``values`` : (nf, n, n) complex, Hermitian, one-sided, per Hz, [f, a, b] = S_ab;
    ``names``, ``units`` of the channels; ``blocks`` : how many were averaged; ``averages`` : independent ones they are
    worth; ``provenance`` : plain values.
    """

    frequencies: FloatArray
    values: ComplexArray
    names: tuple[str, ...]
    units: Mapping[str, str]
    blocks: int
    averages: float
    provenance: Mapping[str, Any]

    @property
    def frequencies_hz(self) -> FloatArray:
        """(nf,) [Hz]."""
        return self.frequencies / (2.0 * np.pi)

    @property
    def relative_error(self) -> float:
        """Standard deviation of an auto spectral density, as a fraction of it."""
        return float(1.0 / np.sqrt(self.averages))

    def psd(self, name: str) -> FloatArray:
        """(nf,) auto spectral density [unit²/Hz]."""
        i = self._place(name)
        return np.ascontiguousarray(self.values[:, i, i].real)

    def magnitude(self, name: str, lowest: float = 0.0, highest: float = np.inf) -> FloatArray:
        """(nf,) √ of the auto spectral density over its largest between two frequencies [Hz]: compares any sizes."""
        psd = self.psd(name)
        band = (self.frequencies_hz >= lowest) & (self.frequencies_hz <= highest)
        if not psd[band].any():
            raise DataError("empty", f"{name!r} has no spectrum between {lowest:g} and {highest:g} Hz.")
        return np.asarray(np.sqrt(psd / psd[band].max()))

    def csd(self, first: str, second: str) -> ComplexArray:
        """(nf,) cross spectral density conj(first) · second."""
        return self.values[:, self._place(first), self._place(second)]

    def coherence(self, first: str, second: str) -> FloatArray:
        """(nf,) ordinary coherence, 0 to 1."""
        i, j = self._place(first), self._place(second)
        power = self.values[:, i, i].real * self.values[:, j, j].real
        return divide(np.abs(self.values[:, i, j]) ** 2, power)

    def singular_values(self) -> FloatArray:
        """(nf, n) of the matrix at every frequency, descending: the peaks of the first are modes."""
        return np.asarray(np.linalg.svd(self.values, compute_uv=False), dtype=np.float64)

    def variance(self, name: str) -> float:
        """Area under the auto spectral density: the mean square of the channel in this band [unit²]."""
        return float(self.psd(name).sum() * (self.frequencies_hz[1] - self.frequencies_hz[0]))

    def select(self, *names: str) -> Spectra:
        """The same for some channels only."""
        places = [self._place(name) for name in names]
        units = {name: self.units[name] for name in names if name in self.units}
        return Spectra(
            frequencies=self.frequencies, values=self.values[:, places][:, :, places].copy(), names=tuple(names),
            units=units, blocks=self.blocks, averages=self.averages, provenance=dict(self.provenance),
        )  # fmt: skip

    def table(self, *, most: int = 20) -> str:
        """Auto spectral densities (at most six) at up to ``most`` frequencies spread over the band."""
        count = len(self.frequencies)
        rows = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))
        head = ("frequency [Hz]", *(f"{name} [{psd_unit(self.units.get(name, ''))}]" for name in self.names[:6]))
        cells = [
            (f"{self.frequencies_hz[k]:.6g}", *(f"{self.values[k, i, i].real:.5g}" for i in range(len(head) - 1)))
            for k in rows
        ]
        return align_columns(head, cells)

    def __repr__(self) -> str:
        hertz = self.frequencies_hz
        return (
            f"Spectra of {list_names(self.names, self.units)}: {len(hertz)} frequencies, {hertz[0]:.6g} to "
            f"{hertz[-1]:.6g} Hz, {self.blocks} blocks worth {self.averages:.3g} averages\n{self.table()}"
        )

    def _place(self, name: str) -> int:
        return find_name("channel", name, self.names, "these Spectra")


def spectra(
    record: Records, channels: str | Iterable[str] | None = None, *, window: Window = "hann",
    segment: int | Literal["record"] | None = None, overlap: float = 0.5, detrend: Detrend = "mean",
) -> Spectra:  # fmt: skip
    """Auto and cross spectral densities of channels, averaged over blocks and records.

    Parameters
    ----------
    record : Record, or a sequence of them
    channels : names; all when left out
    window : as ``scipy.signal.get_window`` takes it: "hann", "boxcar", "flattop", ("kaiser", 8.0), ...
    segment : samples per block; "record" takes every record as one block (transients; shorter ones are continued by
        zeros); left out, a power of two that gives at least eight blocks
    overlap : share of a block that the next one repeats, 0 to below 1
    detrend : subtracted from every block: "mean", "linear" or "none"

    Examples
    --------
    >>> noise = np.random.default_rng(1).normal(size=20000)
    >>> S = spectra(Record(0.01 * np.arange(20000), noise[:, None], ["a"], ["m/s^2"]), segment=1000)
    >>> S.blocks, round(S.averages, 1)          # 39 half-overlapping blocks of a Hann window
    (39, 37.0)
    >>> bool(abs(S.variance("a") - noise.var()) < 0.01)
    True
    """
    data = read_data(record, (), channels, offset_matters=detrend == "none")
    plan = plan_blocks(data, window, segment, overlap, detrend)
    parts = [np.hstack([u, y]) if data.nu else y for u, y in zip(data.u, data.y)]
    values, blocks, averages = average_blocks(parts, plan, data.dt)
    names = (*data.inputs, *data.outputs)
    return Spectra(
        frequencies=plan.frequencies(data.dt), values=values, names=names, units=dict(data.units), blocks=blocks,
        averages=averages, provenance={**data.provenance, "spectra": plan.text()},
    )  # fmt: skip


# ---- how blocks are cut and averaged


@frozen
class BlockPlan:
    """Length, window, step and detrending of the blocks."""

    length: int
    step: int
    window: FloatArray
    detrend: str
    whole: bool
    name: str

    def frequencies(self, dt: float) -> FloatArray:
        """(nf,) [rad/s]."""
        return np.asarray(2.0 * np.pi * np.fft.rfftfreq(self.length, dt), dtype=np.float64)

    def text(self) -> str:
        """For the provenance."""
        size = "one block per record" if self.whole else f"blocks of {self.length} every {self.step} samples"
        return f"{self.name} window, {size}, {self.detrend} taken off"


def plan_blocks(data: Data, window: Window, segment: int | str | None, overlap: float, detrend: str) -> BlockPlan:
    """The blocks for these data, checked."""
    import scipy.signal

    one_of("detrend", detrend, DETRENDS)
    shared = at_least(0.0, below=1.0)("overlap", overlap)
    is_word = isinstance(segment, str)
    if is_word:
        one_of("segment", segment, ("record",))
    shortest = min(data.lengths)
    if is_word:
        length = max(data.lengths)
    elif segment is None:
        length = min(shortest, 2 ** int(np.log2(max(data.samples // (DEFAULT_BLOCKS // 2 + 1), 4))))
    else:
        length = whole_number("segment", segment, 4)
        require_samples(
            shortest, length,
            f"a block of {length} samples is longer than the shortest record, {shortest} samples.",
            Advice("Use a smaller {}.", Argument("segment")),
        )  # fmt: skip
    try:
        values = np.array(scipy.signal.get_window(window, length), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise DataError("unknown-choice", f"no window {window!r}: {error}") from error
    step = length if is_word else max(1, length - round(shared * length))
    name = window if isinstance(window, str) else str(window[0])
    return BlockPlan(length=length, step=step, window=values, detrend=detrend, whole=is_word, name=name)


def average_blocks(
    parts: Sequence[FloatArray], plan: BlockPlan, dt: float, batch_size: int = 32_000_000
) -> tuple[ComplexArray, int, float]:
    """(nf, n, n) densities, number of blocks, independent averages.

    batch_size : blocks transformed at once fill about this much memory [bytes].
    """
    n = parts[0].shape[1]
    total = np.zeros((plan.length // 2 + 1, n, n), dtype=np.complex128)
    energy, blocks, averages = 0.0, 0, 0.0
    for x in parts:
        if plan.whole:
            w = plan.window if len(x) == plan.length else np.ones(len(x))
            energy += float(w @ w)
            total += _multiply_transforms((_detrend_blocks(x[None], plan.detrend) * w[:, None]), plan.length)
            count = 1
        else:
            count = 1 + (len(x) - plan.length) // plan.step
            energy += count * float(plan.window @ plan.window)
            view = np.lib.stride_tricks.sliding_window_view(x, plan.length, axis=0)[:: plan.step]  # (K, n, length)
            batch = max(1, batch_size // (16 * plan.length * n))
            for k in range(0, count, batch):
                some = _detrend_blocks(view[k : k + batch].transpose(0, 2, 1), plan.detrend)
                total += _multiply_transforms(some * plan.window[:, None], plan.length)
        blocks += count
        averages += count_averages(plan.window, plan.step, count)
    total *= 2.0 * dt / energy
    total[0] *= 0.5
    if plan.length % 2 == 0:
        total[-1] *= 0.5
    return total, blocks, averages


def _detrend_blocks(x: FloatArray, kind: str) -> FloatArray:
    """Blocks (K, length, n) without mean or line."""
    if kind == "none":
        return x
    result: FloatArray = x - x.mean(axis=1, keepdims=True)
    if kind == "linear":
        ramp = np.arange(x.shape[1]) - 0.5 * (x.shape[1] - 1)
        result -= ramp[:, None] * (ramp @ result / (ramp @ ramp))[:, None, :]
    return result


def _multiply_transforms(x: FloatArray, length: int) -> ComplexArray:
    """(nf, n, n): Σ over blocks of conj(X_a) X_b."""
    import scipy.fft

    X = scipy.fft.rfft(x, length, axis=1).transpose(1, 0, 2)  # (nf, K, n)
    result: ComplexArray = X.conj().transpose(0, 2, 1) @ X
    return result


def count_averages(window: FloatArray, step: int, count: int) -> float:
    """Equivalent number of independent averages of ``count`` blocks."""
    power = float(window @ window)
    loss = 0.0
    for j in range(1, min(count, -(-len(window) // step))):
        rho = float(window[j * step :] @ window[: len(window) - j * step]) / power
        loss += 2.0 * (1.0 - j / count) * rho**2
    return count / (1.0 + loss)


def divide(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """top / bottom within 0 and 1, and 0 where there is no power."""
    safe = np.where(bottom > 0.0, bottom, 1.0)
    return np.clip(np.where(bottom > 0.0, top / safe, 0.0), 0.0, 1.0)


def psd_unit(unit: str) -> str:
    """``"(m/s^2)²/Hz"``."""
    if not unit:
        return "1/Hz"
    return f"{unit}²/Hz" if unit.isalpha() else f"({unit})²/Hz"
