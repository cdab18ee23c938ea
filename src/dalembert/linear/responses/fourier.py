"""Fourier series of periodic signals and the steady response to them.

f(t) = a₀/2 + Σ (aₙ cos nω₀t + bₙ sin nω₀t) = Re Σ Fₙ e^{inω₀t},   ω₀ = 2π/T
F₀ = mean,   Fₙ = aₙ - i bₙ = (2/T) ∫ f e^{-inω₀t} dt
y(t) = Re Σ H(nω₀) Fₙ e^{inω₀t}

The integrals are exact for sampled signals, held or linear between samples; functions are integrated by Gauss' rule
between their jumps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import positive_number, real_number
from dalembert.core.arrays import ComplexArray, FloatArray, assign, frozen
from dalembert.core.declare import checked, count, positive
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.core.results import result
from dalembert.core.tables import align_columns
from dalembert.linear import storage
from dalembert.linear.channels import AnySystem, SecondOrderSystem, is_second_order, is_state_space, places
from dalembert.linear.modes import Modes
from dalembert.linear.responses.excitation import Hold, call_signal
from dalembert.linear.responses.harmonic import frequency_response
from dalembert.linear.responses.superposition import modal_frequency_response
from dalembert.record import Record
from dalembert.record.checks import numbers

Period = Annotated[float, positive, "T [s]"]
Harmonics = Annotated[int, count(), "how many, besides the mean"]
Samples = Annotated[int, count(1), "of the record over one period; eight per shortest wave where left out"]


def is_negligible(amplitudes: Any, largest: Any = 1.0, rounding: float = 1e-14) -> Any:
    """Which harmonics are rounding of the largest."""
    return amplitudes <= rounding * largest


@frozen(init=False)
class FourierSeries:
    """Mean and complex amplitudes of a periodic signal; frozen.

    Parameters
    ----------
    period : T [s]
    amplitudes : (harmonics + 1,) complex, Fₙ = aₙ - i bₙ; the first is the mean

    Examples
    --------
    >>> series = FourierSeries(2 * np.pi, [1.0, 0.5 - 2.0j])
    >>> float(series.mean), float(series.cosines[1]), float(series.sines[1])
    (1.0, 0.5, 2.0)
    """

    period: float
    amplitudes: ComplexArray

    def __init__(self, period: float, amplitudes: ArrayLike) -> None:
        try:
            F = np.array(amplitudes, dtype=np.complex128)
        except (TypeError, ValueError) as error:
            raise DataError("not-a-number", f"amplitudes must be numbers, real or complex ({error}).") from error
        if F.ndim != 1 or not len(F) or not np.isfinite(F).all():
            raise DataError(
                "not-finite", f"amplitudes must be finite and of one dimension, the mean first; got shape {F.shape}."
            )
        assign(self, period=positive_number("the period [s]", period), amplitudes=F)

    @property
    def frequencies(self) -> FloatArray:
        """(harmonics + 1,) n ω₀ [rad/s], 0 first."""
        return harmonic_frequencies(self.period, len(self.amplitudes))

    @property
    def mean(self) -> np.float64:
        """a₀/2."""
        return np.float64(self.amplitudes[0].real)

    @property
    def cosines(self) -> FloatArray:
        """(harmonics + 1,) aₙ, the first twice the mean."""
        result = self.amplitudes.real.copy()
        result[0] *= 2.0
        return result

    @property
    def sines(self) -> FloatArray:
        """(harmonics + 1,) bₙ, the first 0."""
        result = -self.amplitudes.imag + 0.0
        result[0] = 0.0
        return result

    def __call__(self, times: ArrayLike) -> FloatArray:
        """The truncated series at some times [s]."""
        t = np.asarray(times, dtype=np.float64)
        return synthesis(self.amplitudes[:, None], self.period, t.ravel())[:, 0].reshape(t.shape)

    def table(self) -> str:
        """Harmonic, frequency, amplitude and phase of the twelve largest ones.

        Examples
        --------
        >>> print(FourierSeries(1.0, [0.0, -2.0j]).table())
        harmonic  frequency [Hz]  amplitude  phase [deg]
               1               1          2          -90
        """
        size, angle = np.abs(self.amplitudes), np.degrees(np.angle(self.amplitudes))
        shown = np.sort(np.argsort(-size, kind="stable")[:12])
        shown = shown[~is_negligible(size[shown], size.max())]
        head = ("harmonic", "frequency [Hz]", "amplitude", "phase [deg]")
        rows = [(str(n), f"{n / self.period:.6g}", f"{size[n]:.5g}", f"{angle[n] + 0.0:.5g}") for n in shown]
        return align_columns(head, rows)

    def __repr__(self) -> str:
        return f"FourierSeries: period {self.period:.6g} s, {len(self.amplitudes) - 1} harmonics\n{self.table()}"


@checked
def fourier_series(
    signal: Callable[[Any], Any] | ArrayLike,
    period: Period,
    harmonics: Harmonics,
    *,
    hold: Hold = "first",
    breaks: ArrayLike = (),
) -> FourierSeries:
    """Fourier series of one period of a signal.

    Parameters
    ----------
    signal : function of time (array in, array out), or (N,) samples at 0, T/N, 2T/N, ... (T itself left out)
    period : T [s]
    harmonics : how many, besides the mean
    hold : for samples: "first" (linear in between, closing the period) or "zero" (held: steps and square waves)
    breaks : for a function: times of its jumps and kinks within the period

    Examples
    --------
    >>> square = fourier_series([1.0, -1.0], 2.0, 5, hold="zero")   # bₙ = 4/nπ for odd n
    >>> (square.sines * np.pi / 4).round(12)[1:4] + 0.0
    array([1.        , 0.        , 0.33333333])
    """
    if callable(signal):
        return FourierSeries(period, _integrate(signal, period, harmonics, breaks))
    values = numbers(signal, "the signal")
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise DataError("not-finite", f"the signal must be finite samples of one dimension, got shape {values.shape}.")
    return FourierSeries(period, _transform(values, harmonics, hold))


def _transform(values: FloatArray, harmonics: int, hold: str) -> ComplexArray:
    """Exact for the held or linear interpolant: the discrete transform times that of its pulse or triangle."""
    N = len(values)
    n = np.arange(harmonics + 1)
    F = 2.0 * np.fft.fft(values)[n % N] / N
    half = np.pi * n / N  # nω₀ times half a sample
    pulse = np.sinc(half / np.pi)
    F = F * pulse**2 if hold == "first" else F * pulse * np.exp(-1j * half)
    F[0] *= 0.5
    return F


def _integrate(signal: Callable[[Any], Any], T: float, harmonics: int, breaks: ArrayLike) -> ComplexArray:
    inner = numbers(breaks, "breaks")
    jumps = np.unique([0.0, T, *inner.ravel()])
    if jumps[0] < 0.0 or jumps[-1] > T:
        raise DataError("out-of-range", f"breaks must lie within the period, 0 to {T:.6g} s.")
    panel = T / max(16, harmonics)  # at most a wave of the highest harmonic per panel
    edges = np.unique(
        np.concatenate([np.linspace(a, b, 1 + int(np.ceil((b - a) / panel))) for a, b in itertools.pairwise(jumps)])
    )
    x, weight = np.polynomial.legendre.leggauss(16)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    t = (middle[:, None] + half[:, None] * x).ravel()
    w = (half[:, None] * weight).ravel()
    f = call_signal(signal, "the signal", t)
    if not np.isfinite(f).all():
        raise DataError("not-finite", f"the signal is not finite at t = {t[int(np.argmin(np.isfinite(f)))]:.6g} s.")
    wave = -2j * np.pi / T * t
    F = np.array([w * f @ np.exp(n * wave) for n in range(harmonics + 1)], dtype=np.complex128) * (2.0 / T)
    F[0] *= 0.5
    return F


def synthesis(amplitudes: ComplexArray, period: float, times: FloatArray) -> FloatArray:
    """(N, k): Re Σ Fₙ e^{inω₀t} of amplitudes (harmonics + 1, k)."""
    n = np.arange(len(amplitudes))
    result: FloatArray = (np.exp(2j * np.pi / period * np.multiply.outer(times, n)) @ amplitudes).real
    return result


def harmonic_frequencies(period: float, count: int) -> FloatArray:
    """(count,) n ω₀ [rad/s], 0 first."""
    return np.array(2.0 * np.pi / period * np.arange(count), dtype=np.float64)


@result
class PeriodicResponse:
    """Steady response to a periodic load: one period in time, and its harmonics; frozen.

    ``record`` : Record of one period; ``amplitudes`` : (harmonics + 1, ny) complex, the mean first;
    ``loads`` : (harmonics + 1, nu) complex; ``frequencies`` : (harmonics + 1,) [rad/s]; ``kept`` : numbers (0-based)
    of the modes superposed, or None for all; ``outputs``, ``inputs`` names.
    """

    period: float
    frequencies: FloatArray
    loads: ComplexArray
    amplitudes: ComplexArray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    kept: tuple[int, ...] | None
    record: Record

    def __getitem__(self, output: str) -> ComplexArray:
        """(harmonics + 1,) complex amplitudes of an output."""
        return self.amplitudes[:, places("output", [output], self.outputs, "this PeriodicResponse")[0]]

    def table(self) -> str:
        """Modulus of the twelve largest harmonics of every output (at most six)."""
        size = np.abs(self.amplitudes)
        weight = (size / np.maximum(size.max(axis=0), np.finfo(np.float64).tiny)).max(axis=1)
        shown = np.sort(np.argsort(-weight, kind="stable")[:12])
        shown = shown[~is_negligible(weight[shown])]
        units = self.record.units
        names = (f"{name} [{units[name]}]" if units.get(name) else name for name in self.outputs[:6])
        head = ("harmonic", "frequency [Hz]", *names)
        rows = [(str(n), f"{n / self.period:.6g}", *(f"{x:.5g}" for x in size[n, :6])) for n in shown]
        return align_columns(head, rows)

    def __repr__(self) -> str:
        modes = "" if self.kept is None else f", {len(self.kept)} modes"
        harmonics = len(self.amplitudes) - 1
        return f"PeriodicResponse: period {self.period:.6g} s, {harmonics} harmonics{modes}\n{self.table()}"


@checked
def periodic_response(
    system: AnySystem,
    inputs: Mapping[str, Any],
    period: Period,
    *,
    harmonics: Harmonics = 50,
    samples: Samples | None = None,
    hold: Hold = "first",
    modes: int | Modes | None = None,
) -> PeriodicResponse:
    """Steady state under periodic inputs, harmonic by harmonic.

    Parameters
    ----------
    system : SecondOrder or continuous StateSpace
        The free motion has decayed. Hysteretic damping is allowed.
    inputs : mapping of input names to a FourierSeries, a smooth function of time, samples of one period, or a constant
    period : T [s]
    harmonics : of the loads, besides the mean
    samples : of the record over one period; eight per shortest wave when left out
    hold : as in :func:`fourier_series`
    modes : int or Modes, optional
        Superpose only these, with the static response of the others; a number keeps that many modes, those that the
        harmonics of the load excite most.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> mass = SecondOrder(1.0, 4.0, C=0.2, B=[1.0], coordinates="x", inputs="f")
    >>> steady = periodic_response(mass, {"f": [1.0, -1.0]}, 2 * np.pi, harmonics=5, hold="zero")
    >>> abs(steady["x"]).round(6)[[1, 3, 5]]
    array([0.423473, 0.084278, 0.012112])
    """
    if is_state_space(system) and system.dt is not None:
        raise DataError(
            "sample-time-mismatch",
            "a periodic response needs a continuous system.",
            Advice("Make one with {}.", Call("StateSpace.to_continuous")),
        )
    loads = _loads(system, inputs, period, harmonics, hold)
    w = harmonic_frequencies(period, len(loads))
    numbers: tuple[int, ...] | None = None
    chosen = modes
    if modes is not None:
        if not is_second_order(system):
            raise DataError(
                "not-supported",
                "modes belong to a SecondOrder.",
                Advice("Reduce a StateSpace with {}.", Call("StateSpace.balanced_truncation")),
            )
        if not isinstance(modes, Modes):
            every = system.modes()
            numbers = excited_modes(system, every, w, loads, modes)
            chosen = Modes(every.eigenvalues[list(numbers)], every.shapes[:, list(numbers)], every.coordinates)
        else:
            numbers = tuple(range(len(modes)))
    driven = ~is_negligible(np.abs(loads).max(axis=1), np.abs(loads).max())
    amplitudes = np.zeros((len(w), system.ny), dtype=np.complex128)
    for still in (True, False):  # at rest there is no loss: K_loss belongs to ω > 0
        lines = np.flatnonzero(driven & ((w == 0.0) == still))
        if len(lines):
            model = system
            if still and is_second_order(system) and storage.nonzero(system.K_loss):
                model = system.replace(K_loss=None)
            H = _transfer(model, w[lines], chosen)
            amplitudes[lines] = np.einsum("fyu,fu->fy", H, loads[lines])
    N = max(200, 8 * len(w)) if samples is None else samples
    t: FloatArray = period / N * np.arange(N, dtype=np.float64)
    units = {name: system.units[name] for name in system.outputs if name in system.units}
    how = {**system.provenance, "method": "Fourier series", "harmonics": len(w) - 1}
    record = Record(t, synthesis(amplitudes, period, t), system.outputs, units, provenance=how)
    return PeriodicResponse(
        period=period, frequencies=w, loads=loads, amplitudes=amplitudes, inputs=system.inputs, outputs=system.outputs,
        kept=numbers, record=record,
    )  # fmt: skip


def excited_modes(
    system: SecondOrderSystem, modes: Modes, frequencies: FloatArray, loads: ComplexArray, count: int
) -> tuple[int, ...]:
    """Numbers (0-based, ascending) of the ``count`` modes that harmonic loads move most.

    A mode's share is Σₙ \\|φᵀ B Fₙ\\| / \\|s² + ωₙ²\\| at its eigenvalue s: large where a harmonic lies near it.
    """
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= len(modes):
        raise DataError("not-a-count", f"modes must be a whole number from 1 to {len(modes)}, got {count!r}.")
    force = np.abs(loads @ np.asarray(system.B.T @ modes.shapes))
    s = modes.eigenvalues
    gap = np.abs((1j * frequencies[:, None] - s) * (1j * frequencies[:, None] - s.conj()))
    share = np.where(force > 0.0, force / np.maximum(gap, np.finfo(np.float64).tiny), 0.0).sum(axis=0)
    return tuple(sorted(int(k) for k in np.argsort(-share, kind="stable")[:count]))


def _transfer(system: Any, w: FloatArray, modes: Any) -> ComplexArray:
    inputs, outputs = system.inputs, system.outputs
    if modes is None:
        return frequency_response(system, w, kind="output", inputs=inputs, outputs=outputs).values
    return modal_frequency_response(system, modes, w, kind="output", inputs=inputs, outputs=outputs).values


def _loads(system: Any, inputs: Any, T: float, harmonics: int, hold: str, rounding: float = 1e-12) -> ComplexArray:
    """(harmonics + 1, nu); ``rounding`` of a period that is a sum of thousands of steps."""
    if not isinstance(inputs, Mapping) or not inputs:
        raise DataError("wrong-type", f"inputs must name channels, such as {{'force': samples}}; got {inputs!r}.")
    loads = np.zeros((harmonics + 1, system.nu), dtype=np.complex128)
    columns = places("input", [*inputs], system.inputs, f"this {type(system).__name__}")
    for column, (name, signal) in zip(columns, inputs.items(), strict=True):
        if isinstance(signal, FourierSeries):
            if abs(signal.period - T) > rounding * T:
                raise DataError(
                    "sample-time-mismatch",
                    f"the series of input {name!r} has the period {signal.period:.9g} s, not {T:.9g} s.",
                )
            F = signal.amplitudes[: harmonics + 1]
        elif not callable(signal) and np.ndim(signal) == 0:
            F = np.array([real_number(f"input {name!r}", signal)])
        else:
            F = fourier_series(signal, T, harmonics, hold=hold).amplitudes
        loads[: len(F), column] = F
    if not loads.any():
        raise DataError("no-motion", "all loads are zero: there is no response.")
    return loads
