"""Result of identification: a sampled state-space model, its noise, and its origin.

x[k+1] = A x[k] + B u[k] + K e[k]        e white, covariance ``innovation``
y[k]   = C x[k] + D u[k] + e[k]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import matrix, one_of, square, whole_number
from dalembert.core.arrays import ComplexArray, FloatArray, assign, frozen
from dalembert.core.declare import instance
from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.tables import align_columns
from dalembert.core.text import count_noun
from dalembert.identify.model import playback
from dalembert.identify.model.quality import Fit, Residuals, examine, measure_fit
from dalembert.identify.records.checks import find_name, list_records
from dalembert.linear.modes import Modes
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record
from dalembert.record.sampling import steps_agree


def is_oscillation(s: ComplexArray, dt: float, real_share: float = 1e-9) -> Any:
    """Which poles s [1/s] of a model of sample time dt oscillate below the Nyquist frequency, with Im s > 0.

    real_share : |Im| over |s|, or over |z|, of a real pole, and relative distance from the Nyquist frequency of an
    alternating one: eigenvalues of a real matrix are exactly real or a pair, those of a double real pole split by √ε =
    1.5e-8 or not at all.
    """
    return (s.imag > real_share * np.abs(s)) & (s.imag < (1.0 - real_share) * np.pi / dt)


# Source of the standard deviations: curvature of the likelihood, scatter of the residuals, simulated records.
DeviationMethod = Literal["fisher", "residuals"]
NoiseModel = Literal["output", "innovations"]  # white sensor noise alone, or noise that drives the system as well


@dataclass(frozen=True)
class SubspaceSource:
    """The projection that a model comes from: its method, and its rows of past and future samples."""

    method: str
    rows: int


@frozen(init=False)
class Identified:
    """A model found from records; frozen.

    Parameters
    ----------
    system : StateSpace
        Sampled; the part that the inputs drive. Without inputs (output-only methods) B and D have no columns.
    method : str
        Name of the method.
    gain : (nx, ny), optional
        K of the innovation form, A - K C stable; needed by :meth:`predict`.
    innovation : (ny, ny), optional
        Covariance of e.
    singular_values : (k,), optional
        Those from which the order was chosen; ``notes`` names them.
    covariance : square, optional
        Covariance of the estimated parameters, set by refinement; ``provenance`` names the parameters.
    frequency_deviations_hz, damping_deviations : (number of underdamped modes,), optional
        Standard deviations of :attr:`frequencies_hz` [Hz] and :attr:`damping_ratios`.
    deviation_method : "fisher" or "residuals", optional
        Their source: curvature of the likelihood (white residuals), scatter of the residuals, simulated records.
    noise_model : "output" or "innovations", optional
        That of the likelihood, of a model that was refined.
    subspace : SubspaceSource, optional
        Of a model by a subspace method, refined or not.
    delays : mapping of an input to a number of samples, optional
        Number of samples by which the system responds later to each input.
    offsets : mapping of a channel to a number, optional
        Levels that are subtracted from the channels before the model is applied, and added to simulated outputs.
    notes : texts
        Decisions and their reasons.
    findings : Findings
        Reasons for doubt about the data and the model; each has a ``code`` and a ``text()``.
    provenance : mapping of plain values, optional

    Examples
    --------
    >>> found = Identified(StateSpace([[0.0, 1.0], [-0.9, 1.8]], C=[1.0, 0.0], dt=0.1, outputs="sway"), method="given")
    >>> found.frequencies_hz.round(4).tolist(), found.damping_ratios.round(4).tolist()
    ([0.5189], [0.1616])
    """

    system: StateSpace
    method: str
    gain: FloatArray | None
    innovation: FloatArray | None
    singular_values: FloatArray | None
    covariance: FloatArray | None
    frequency_deviations_hz: FloatArray | None
    damping_deviations: FloatArray | None
    deviation_method: DeviationMethod | None
    noise_model: NoiseModel | None
    subspace: SubspaceSource | None
    delays: Mapping[str, int]
    offsets: Mapping[str, float]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]

    def __init__(
        self, system: StateSpace, *, method: str, gain: ArrayLike | None = None, innovation: ArrayLike | None = None,
        singular_values: ArrayLike | None = None, covariance: ArrayLike | None = None,
        frequency_deviations_hz: ArrayLike | None = None, damping_deviations: ArrayLike | None = None,
        deviation_method: DeviationMethod | None = None, noise_model: NoiseModel | None = None,
        subspace: SubspaceSource | None = None, delays: Mapping[str, int] | None = None,
        offsets: Mapping[str, float] | None = None, notes: str | Iterable[str] = (), findings: Iterable[Finding] = (),
        provenance: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if system.dt is None:
            raise DataError(
                "wrong-type", "an Identified has a sampled system; this one is continuous.",
                Advice("Sample it with {}.", Call("StateSpace.to_discrete"), Argument("dt")),
            )  # fmt: skip
        nx, ny = system.nx, system.ny
        K = None if gain is None else matrix("gain", gain, nx, ny, "one row per state, one column per output")
        S = None if innovation is None else matrix("innovation", innovation, ny, ny, "outputs by outputs")
        for name in delays or {}:
            find_name("input", name, system.inputs, "delays")
        for name in offsets or {}:
            find_name("channel", name, system.inputs + system.outputs, "offsets")
        assign(
            self, system=system, method=method, gain=K, innovation=S, singular_values=_row(singular_values),
            covariance=None if covariance is None else square("covariance", covariance),
            frequency_deviations_hz=_row(frequency_deviations_hz), damping_deviations=_row(damping_deviations),
            delays={name: int(count) for name, count in (delays or {}).items() if count},
            offsets={name: float(value) for name, value in (offsets or {}).items()},
            notes=(notes,) if isinstance(notes, str) else tuple(notes), provenance=provenance or {},
            deviation_method=deviation_method, noise_model=noise_model, subspace=subspace, findings=tuple(findings),
        )  # fmt: skip
        for label in ("frequency_deviations_hz", "damping_deviations"):
            numbers = getattr(self, label)
            if numbers is not None and len(numbers) != (count := len(self.underdamped_modes().eigenvalues)):
                raise DataError(
                    "wrong-shape", f"{label} has {len(numbers)} numbers, but the model has {count} underdamped modes."
                )

    # ---- contents

    @property
    def order(self) -> int:
        """Number of states."""
        return self.system.nx

    @property
    def dt(self) -> float:
        """Sample time [s]."""
        assert self.system.dt is not None
        return self.system.dt

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.system.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.system.outputs

    def replace(self, **changes: Any) -> Identified:
        """Copy with some arguments of :class:`Identified` changed; deviations do not outlive another system."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in changes:
            if name not in values:
                raise DataError("unknown-argument", unknown_name("argument", name, values, "Identified"))
        if "system" in changes:
            values |= dict.fromkeys(
                ("covariance", "frequency_deviations_hz", "damping_deviations", "deviation_method"), None
            )
        return Identified(**(values | changes))

    def add_notes(self, *notes: str) -> Identified:
        """Copy with more notes at the end."""
        return self.replace(notes=(*self.notes, *notes))

    # ---- modes

    def modes(self) -> Modes:
        """Continuous-time eigenvalues ln(z)/dt and shapes C Ψ at the outputs, largest component 1."""
        return self.system.modes()

    def underdamped_modes(self) -> Modes:
        """The modes that oscillate, below the Nyquist frequency, ascending; a decay on the negative real z-axis is
        not among them."""
        every = self.modes()
        oscillates = is_oscillation(every.eigenvalues, self.dt)
        return every.select(np.flatnonzero(oscillates) + 1)

    @property
    def frequencies_hz(self) -> FloatArray:
        """Undamped natural frequencies of the underdamped modes, ascending [Hz]."""
        return self.underdamped_modes().frequencies_hz

    @property
    def damping_ratios(self) -> FloatArray:
        """Damping ratios of the underdamped modes, in the order of :attr:`frequencies_hz`."""
        return self.underdamped_modes().damping_ratios

    def modal_table(self) -> str:
        """Frequency and damping ratio of the underdamped modes, with standard deviations where known, and how nearly
        real each shape is (modal phase collinearity); then the time constants of the decays."""
        from dalembert.identify.model.collinearity import modal_phase_collinearity

        modes = self.underdamped_modes()
        mpc = modal_phase_collinearity(modes.shapes)
        head, sd_f, sd_z = ["mode", "frequency [Hz]"], self.frequency_deviations_hz, self.damping_deviations
        head += (["±"] if sd_f is not None else []) + ["damping ratio"] + (["±"] if sd_z is not None else []) + ["MPC"]
        rows = []
        for i, (f, z) in enumerate(zip(modes.frequencies_hz, modes.damping_ratios, strict=True)):
            row = [str(i + 1), f"{f:.6g}"] + ([f"{sd_f[i]:.2g}"] if sd_f is not None else []) + [f"{z:.5g}"]
            rows.append([*row, *([f"{sd_z[i]:.2g}"] if sd_z is not None else []), f"{mpc[i]:.3f}"])
        return "\n".join(
            [align_columns(head, rows) if rows else "no oscillating modes", *_decays(self.system.A, self.dt)]
        )

    def output_spectra(self, frequencies: ArrayLike) -> ComplexArray | None:
        """One-sided spectral densities per Hz (nf, ny, ny) of outputs that the innovations drive; None without gain.

        Parameters
        ----------
        frequencies : (nf,) [rad/s]

        Notes
        -----
        S = 2 dt H Σ Hᴴ with H = C (z - A)⁻¹ K + 1 and z = exp(iω dt); S_ab = E[conj(a) b], as of measured densities.
        """
        if self.gain is None or self.innovation is None:
            return None
        z = np.exp(1j * np.asarray(frequencies, dtype=np.float64) * self.dt)
        s = self.system
        states = np.linalg.solve(z[:, None, None] * np.eye(s.nx) - s.A, self.gain.astype(np.complex128)[None])
        H = np.asarray(s.C @ states + np.eye(s.ny), dtype=np.complex128)
        S: ComplexArray = 2.0 * self.dt * (H @ self.innovation @ H.conj().transpose(0, 2, 1)).conj()
        return S

    # ---- simulation and prediction

    def simulate(self, record: Record, *, start: str = "estimate") -> Record:
        """Outputs simulated from the inputs of a record.

        Parameters
        ----------
        record : Record
            With the inputs, sampled at the model's ``dt``; with the outputs too for ``start="estimate"``.
        start : "estimate" or "zero"
            State at the first sample: least squares over the outputs of the record, or zero.

        Returns
        -------
        Record of the outputs.
        """
        one_of("start", start, ("estimate", "zero"))
        y = self._channels(record, self.outputs) if start == "estimate" else None
        return self._make_record(record, self._simulate(self._delayed_inputs(record), y), "simulation")

    def predict(self, record: Record, steps: int = 1, *, start: str = "estimate") -> Record:
        """Outputs predicted from the inputs up to now and the outputs up to ``steps`` samples ago."""
        one_of("start", start, ("estimate", "zero"))
        whole_number("steps", steps, 1)
        u, y = self._delayed_inputs(record), self._channels(record, self.outputs)
        return self._make_record(
            record, self._predict(u, y, int(steps), start == "estimate"), f"{steps}-step prediction"
        )

    def fit(self, record: Record | Sequence[Record], kind: str = "simulation", *, start: str = "estimate") -> Fit:
        """Agreement with one or several records, per output [%].

        Parameters
        ----------
        kind : "simulation" or "prediction" (one step ahead)
        """
        y, yhat, _ = self._replay(record, kind, start)
        return measure_fit(y, yhat, self.outputs, kind, self.system.units)

    def residuals(
        self, record: Record | Sequence[Record], kind: str | None = None, *, lags: int | None = None
    ) -> Residuals:
        """Residuals of the outputs, with tests of whiteness and of independence from the inputs.

        Parameters
        ----------
        kind : "prediction" or "simulation", optional
            Prediction where the model has a gain; simulation residuals are white only where all noise is sensor noise.
        lags : int, optional
            Number of lags tested; 25, or a quarter of the shortest record.
        """
        if lags is not None:
            whole_number("lags", lags, 1)
        chosen = kind or ("prediction" if self.gain is not None else "simulation")
        y, yhat, u = self._replay(record, chosen, "estimate")
        e = [a - b for a, b in zip(y, yhat, strict=True)]
        return examine(e, u, self.outputs, self.inputs, chosen, lags)

    # ---- as an object

    def table(self) -> str:
        """Modes, then the notes."""
        notes = [f"  - {note}" for note in self.notes]
        return "\n".join([self.modal_table(), *(["notes:"] if notes else []), *notes])

    def __repr__(self) -> str:
        sizes = ", ".join(count_noun(*size) for size in ((self.system.nu, "input"), (self.system.ny, "output")))
        head = f"Identified by {self.method}: order {self.order}, {sizes}, dt = {self.dt:g} s"
        return f"{head}\n{self.table()}"

    # ---- inside

    def _channels(self, record: Record, names: Sequence[str]) -> FloatArray:
        """(N, k) of the record without offsets; the record's sample time must be the model's."""
        instance(Record)("record", record)
        if len(record) > 1 and not steps_agree(record.sample_time, self.dt):
            raise DataError(
                "sample-time-mismatch",
                f"the record is sampled every {record.sample_time:.6g} s, the model every {self.dt:.6g} s.",
                Advice(
                    "Use {}.",
                    Call("Record.resample", Argument("every", float(f"{self.dt:.6g}"))),
                    Call("StateSpace.resample", Argument("dt", float(f"{record.sample_time:.6g}"))),
                ),
            )
        values = np.array(record[list(names)], dtype=np.float64)
        if np.isnan(values).any():
            name = names[int(np.argmax(np.isnan(values).any(axis=0)))]
            raise DataError(
                "not-finite", f"channel {name!r} has gaps (NaN).",
                Advice("Use {} first.", Call("da.identify.repair"), Call("da.identify.trim")), where={"channel": name},
            )  # fmt: skip
        values -= np.array([self.offsets.get(name, 0.0) for name in names])
        return values

    def _delayed_inputs(self, record: Record) -> FloatArray:
        return self._delay_columns(self._channels(record, self.inputs))

    def _delay_columns(self, u: FloatArray) -> FloatArray:
        """Inputs (N, nu) as late as the model takes them; before the record begins they are its first sample."""
        u = u.copy() if self.delays else u
        for name, count in self.delays.items():
            j = self.inputs.index(name)
            u[:, j] = u[np.maximum(np.arange(len(u)) - count, 0), j]
        return u

    def _simulate(self, u: FloatArray, y: FloatArray | None) -> FloatArray:
        s = self.system
        return playback.play_back(s.A, s.B, s.C, s.D, u, y)

    def _predict(self, u: FloatArray, y: FloatArray, steps: int, estimate: bool) -> FloatArray:
        if self.gain is None:
            raise DataError(
                "missing-gain",
                f"a model by {self.method} without gain cannot predict from outputs; simulate it, or use a method with "
                "a noise model (N4SID, MOESP, CVA, SSI).",
            )
        s = self.system
        return playback.predict(s.A, s.B, s.C, s.D, self.gain, u, y, steps, estimate)

    def _replay(
        self, record: Record | Sequence[Record], kind: str, start: str
    ) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray]]:
        one_of("kind", kind, ("simulation", "prediction"))
        one_of("start", start, ("estimate", "zero"))
        records = list_records(record)
        us = [self._delayed_inputs(each) for each in records]
        ys = [self._channels(each, self.outputs) for each in records]
        if kind == "prediction":
            simulated = [self._predict(u, y, 1, start == "estimate") for u, y in zip(us, ys, strict=True)]
        else:
            simulated = [self._simulate(u, y if start == "estimate" else None) for u, y in zip(us, ys, strict=True)]
        return ys, simulated, us

    def _make_record(self, record: Record, values: FloatArray, how: str) -> Record:
        data = values + np.array([self.offsets.get(name, 0.0) for name in self.outputs])
        units = {name: record.units.get(name, "") or self.system.units.get(name, "") for name in self.outputs}
        return Record(
            record.time, data, self.outputs, units, name=f"{how} of {record.name}" if record.name else how,
            provenance={"model": self.method, "order": self.order, "how": how},
        )  # fmt: skip


class HoldsIdentified(Protocol):
    """A result that holds an identified model, such as that of automatic identification or of a structured fit."""

    @property
    def identified(self) -> Identified: ...


def take_identified(model: Any) -> Any:
    """The identified model of a result that has one; any other object unchanged."""
    inner = getattr(model, "identified", None)
    return inner if isinstance(inner, Identified) else model


def _decays(A: FloatArray, dt: float, real_share: float = 1e-9, fastest: float = 10.0) -> list[str]:
    """Lines on the real poles z of A: slow decays first, then those without a time constant."""
    z = np.linalg.eigvals(A)
    real = np.sort(z.real[np.abs(z.imag) <= real_share * np.maximum(np.abs(z), real_share)])[::-1]
    # poles faster than a tenth of a sample, alternating or growing have no time constant
    slow = (real > np.exp(-fastest)) & (real < 1.0)
    lines = []
    if slow.any():
        constants = ", ".join(f"{-dt / np.log(pole):.3g}" for pole in real[slow])
        lines.append(f"time constants [s] of decays: {constants}")
    if not slow.all():
        lines.append(f"other real poles z: {', '.join(f'{pole:.4g}' for pole in real[~slow])}")
    return lines


def _row(values: ArrayLike | None) -> FloatArray | None:
    return None if values is None else np.array(values, dtype=np.float64).reshape(-1)
