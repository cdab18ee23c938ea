"""Frequency responses and coherences from measured inputs and outputs (Bendat and Piersol 2010).

With the densities S_ab = E[conj(A) B] and y = H u + noise:

H1   S_uu H1ᵀ = S_uy                  least squares: unbiased for noise on the outputs (the usual choice)
H2   S_yu H2ᵀ = S_yy                  unbiased for noise on the inputs; one input, or as many outputs as inputs
Hv   smallest eigenvector of the densities of (u, y_b), each channel scaled to unit power: total least squares;
     with one input |Hv|² = |H1| |H2|
multiple coherence   γ²_b = S_yu S_uu⁻¹ S_uy / S_bb: the share of output b that the inputs explain
E|ΔH_bc|² ≈ (1 - γ²_b) S_bb (S_uu⁻¹)_cc / (n_d - r) for r inputs;
     a modulus or phase has half of that variance (Bendat & Piersol, 9.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arguments import one_of
from dalembert.core.arrays import ComplexArray, FloatArray, frozen
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.core.tables import align_columns
from dalembert.core.text import list_names
from dalembert.identify.records.checks import find_name, require_samples
from dalembert.identify.records.data import Data, Detrend, read_data
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.identify.spectral.spectra import Records, Window, average_blocks, divide, plan_blocks
from dalembert.linear.responses.frequency_response import FrequencyResponse

__all__ = ["Coherence", "FrfEstimate", "coherence", "frf"]

METHODS = ("H1", "H2", "Hv")


@frozen
class Coherence:
    """Coherence between inputs and outputs; frozen.

    ``frequencies`` : (nf,) [rad/s]; ``ordinary`` : (nf, ny, nu); ``multiple`` : (nf, ny), the share of an output that
    all inputs together explain; with one input the two are the same.
    """

    frequencies: FloatArray
    ordinary: FloatArray
    multiple: FloatArray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def frequencies_hz(self) -> FloatArray:
        """(nf,) [Hz]."""
        return self.frequencies / (2.0 * np.pi)

    def __getitem__(self, pair: str | tuple[str, str]) -> FloatArray:
        """(nf,) multiple coherence of ``c["output"]``, or ordinary coherence of ``c["output", "input"]``."""
        output, input_name = (pair, None) if isinstance(pair, str) else pair
        b = find_name("output", output, self.outputs, "this Coherence")
        if input_name is None:
            return self.multiple[:, b]
        return self.ordinary[:, b, find_name("input", input_name, self.inputs, "this Coherence")]

    def table(self) -> str:
        """Smallest, mean and share above 0.9 of the multiple coherence of every output."""
        high = 0.9
        rows = [
            (name, f"{g.min():.3f}", f"{g.mean():.3f}", f"{100.0 * np.mean(g > high):.0f} %")
            for name, g in zip(self.outputs, self.multiple.T)
        ]
        return align_columns(("output", "smallest", "mean", "above 0.9"), rows)

    def __repr__(self) -> str:
        return f"Coherence with {list_names(self.inputs, {})}: {len(self.frequencies)} frequencies\n{self.table()}"


@frozen
class FrfEstimate:
    """A measured frequency response with its coherence and random errors; frozen.

    ``response`` : FrequencyResponse; ``coherence`` : Coherence; ``deviations`` : (nf, ny, nu), standard deviations of
    the moduli (and, over the modulus, of the phases [rad]), or None where there are no more averages than inputs;
    ``method`` : "H1", "H2" or "Hv"; ``blocks``, ``averages`` : number of blocks, and of independent averages;
    ``findings`` : doubts about the data or the inputs.
    """

    response: FrequencyResponse
    coherence: Coherence
    deviations: FloatArray | None
    method: str
    blocks: int
    averages: float
    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]

    @property
    def frequencies(self) -> FloatArray:
        """(nf,) [rad/s]."""
        return self.response.frequencies

    @property
    def frequencies_hz(self) -> FloatArray:
        """(nf,) [Hz]."""
        return self.response.frequencies_hz

    def __getitem__(self, pair: str | tuple[str, str]) -> ComplexArray:
        """(nf,) complex of ``frf["output", "input"]``; with a single input ``frf["output"]`` is enough."""
        return self.response[pair]

    def deviation(self, output: str, input: str | None = None) -> FloatArray:
        """(nf,) standard deviation of the modulus of one entry."""
        if self.deviations is None:
            raise DataError(
                "unknown-noise",
                f"{self.averages:.3g} averages for {len(self.response.inputs)} inputs do not determine random errors; "
                "take shorter blocks or more records.",
            )
        self.response[(output, input) if input is not None else output]  # names checked there
        place = 0 if input is None else self.response.inputs.index(input)
        return self.deviations[:, self.response.outputs.index(output), place]

    def select(self, lines: NDArray[np.intp]) -> FrfEstimate:
        """The same at some of the lines only."""
        old, coherent = self.response, self.coherence
        response = FrequencyResponse(
            old.frequencies[lines], old.values[lines], old.inputs, old.outputs, provenance=old.provenance,
            input_units=old.input_units, output_units=old.output_units,
        )  # fmt: skip
        coherence = Coherence(
            frequencies=coherent.frequencies[lines], ordinary=coherent.ordinary[lines],
            multiple=coherent.multiple[lines], inputs=coherent.inputs, outputs=coherent.outputs,
        )  # fmt: skip
        return FrfEstimate(
            response=response, coherence=coherence,
            deviations=None if self.deviations is None else self.deviations[lines], method=self.method,
            blocks=self.blocks, averages=self.averages, findings=self.findings, provenance=self.provenance,
        )  # fmt: skip

    def table(self) -> str:
        """The first entry of the response, and the coherence of every output."""
        return f"{self.response.table()}\n{self.coherence.table()}"

    def __repr__(self) -> str:
        hertz = self.frequencies_hz
        return (
            f"FrfEstimate ({self.method}): {len(hertz)} frequencies, {hertz[0]:.6g} to {hertz[-1]:.6g} Hz, "
            f"{self.blocks} blocks worth {self.averages:.3g} averages\n{self.table()}"
        )


def frf(
    record: Records, inputs: str | Iterable[str] = (), outputs: str | Iterable[str] | None = None, *,
    method: Literal["H1", "H2", "Hv"] = "H1", window: Window = "hann", segment: int | Literal["record"] | None = None,
    overlap: float = 0.5, detrend: Detrend = "mean",
) -> FrfEstimate:  # fmt: skip
    """Frequency response from inputs to outputs with coherence and random errors.

    Parameters
    ----------
    record : Record, or a sequence of them (averaged)
        Several inputs need at least as many independent blocks or tests.
    inputs, outputs : channel names; outputs are all others when left out
    method : "H1" (noise on outputs), "H2" (noise on inputs), "Hv" (both, total least squares)
    window, segment, overlap, detrend : as in :func:`spectra`
        Hammer tests: ``window="boxcar", segment="record", detrend="none"``.

    Returns
    -------
    FrfEstimate
        The line at zero frequency is left out where means were subtracted.

    Examples
    --------
    >>> from dalembert.record import Record
    >>> rng = np.random.default_rng(2)
    >>> u = rng.normal(size=8192)
    >>> test = Record.from_channels(0.01 * np.arange(8192), {"f": u, "a": 3.0 * u + 0.3 * rng.normal(size=8192)})
    >>> measured = frf(test, "f", "a", segment=512)
    >>> bool(abs(measured["a"] - 3.0).max() < 0.25), bool(measured.coherence["a"].min() > 0.95)
    (True, True)
    """
    one_of("method", method, METHODS)
    data = read_data(record, inputs, outputs, offset_matters=detrend == "none")
    G, w, blocks, averages, text = _densities(data, window, segment, overlap, detrend, "a frequency response")
    nu = data.nu
    scaled = _Scaled(G, data, blocks)
    IdentificationWarning.report(scaled.findings)
    H = {"H1": scaled.h1, "H2": scaled.h2, "Hv": scaled.hv}[method]()
    quality = _coherence(scaled, w)
    deviations = None
    if averages > nu:
        unexplained = (1.0 - quality.multiple) * scaled.power[:, nu:]
        inverse = np.einsum("fcc->fc", scaled.inverse).real / np.maximum(scaled.power[:, :nu], scaled.tiny)
        deviations = np.sqrt(0.5 / (averages - nu) * unexplained[:, :, None] * inverse[:, None, :])
    units = data.units
    provenance = {**data.provenance, "method": f"{method}: {text}"}
    response = FrequencyResponse(
        w, H, data.inputs, data.outputs, provenance=provenance,
        input_units={name: units[name] for name in data.inputs if units[name]},
        output_units={name: units[name] for name in data.outputs if units[name]},
    )  # fmt: skip
    return FrfEstimate(
        response=response, coherence=quality, deviations=deviations, method=method, blocks=blocks, averages=averages,
        findings=(*data.findings, *scaled.findings), provenance=provenance,
    )  # fmt: skip


def coherence(
    record: Records, inputs: str | Iterable[str] = (), outputs: str | Iterable[str] | None = None, *,
    segment: int | None = None,
) -> Coherence:  # fmt: skip
    """Ordinary and multiple coherence; parameters as in :func:`frf`."""
    data = read_data(record, inputs, outputs, offset_matters=False)
    G, w, blocks, _, _ = _densities(data, "hann", segment, 0.5, "mean", "a coherence")
    scaled = _Scaled(G, data, blocks)
    IdentificationWarning.report(scaled.findings)
    return _coherence(scaled, w)


def _densities(
    data: Data, window: Window, segment: int | str | None, overlap: float, detrend: str, what: str
) -> tuple[ComplexArray, FloatArray, int, float, str]:
    data.require_inputs(what)
    plan = plan_blocks(data, window, segment, overlap, detrend)
    parts = [np.hstack([u, y]) for u, y in zip(data.u, data.y)]
    G, blocks, averages = average_blocks(parts, plan, data.dt)
    first = 0 if detrend == "none" else 1  # a mean that was subtracted has no response
    return G[first:], plan.frequencies(data.dt)[first:], blocks, averages, plan.text()


class _Scaled:
    """The density matrices with every channel at unit power, so that units decide no rank."""

    def __init__(
        self, G: ComplexArray, data: Data, blocks: int, dependence: float = 1e-10, no_power: float = 1e-24
    ) -> None:
        # dependence: smallest eigenvalue of the correlation of independent inputs: a difference of 1e-5 of their size,
        # squared
        # no_power: share of the largest power of an input below which its lines are rounding errors: 100 times the
        # square of 1e-13, the rounding of a transform
        nu, self.nu, self.data = data.nu, data.nu, data
        self.power = np.einsum("faa->fa", G).real
        self.tiny = np.finfo(np.float64).tiny
        self.dead = (self.power[:, :nu] <= no_power * self.power[:, :nu].max(axis=0)).any(axis=1)
        self.size = np.sqrt(np.maximum(self.power, self.tiny))
        self.C = G / (self.size[:, :, None] * self.size[:, None, :])
        require_samples(
            blocks, nu,
            f"the effects of {nu} inputs need at least {nu} independent blocks or records to be separated; there "
            f"are {blocks}. Add tests that excite the inputs differently, or take shorter blocks.",
            noun="blocks",
        )  # fmt: skip
        values = np.linalg.eigvalsh(self.C[:, :nu, :nu])
        self.inverse = np.linalg.pinv(self.C[:, :nu, :nu], rcond=dependence, hermitian=True)
        dependent = (values[:, 0] < dependence) & ~self.dead
        self.findings: list[Finding] = []
        if dependent.any():
            problem = (
                f"inputs {list_names(data.inputs, {})} are not independent at {int(dependent.sum())} of {len(values)} "
                "frequencies: their effects cannot be separated there."
            )
            where, count = {"channels": data.inputs}, {"frequencies": int(dependent.sum())}
            self.findings.append(Finding("dependent-channels", problem, where, count))
        if self.dead.any():
            problem = (
                f"an input has no power at {int(self.dead.sum())} of {len(values)} frequencies; the response there is "
                "set to 0, its coherence to 0."
            )
            count = {"frequencies": int(self.dead.sum())}
            self.findings.append(Finding("weak-excitation", problem, {"channels": data.inputs}, count))

    def restore(self, H: ComplexArray) -> ComplexArray:
        """Responses (nf, ny, nu) in the units of the channels, from those of scaled channels."""
        H = H * self.size[:, self.nu :, None] / self.size[:, None, : self.nu]
        H[self.dead] = 0.0
        return H

    def h1(self) -> ComplexArray:
        return self.restore((self.inverse @ self.C[:, : self.nu, self.nu :]).transpose(0, 2, 1))

    def h2(self, silence: float = 1e-12) -> ComplexArray:
        # silence: cross spectrum of channels of unit power below which an output does not answer: rounding of a
        # transform is 1e-13
        nu, C = self.nu, self.C
        if nu == 1:
            S = C[:, nu:, 0]  # (nf, ny) conj(y) u
            quiet = np.abs(S) <= silence
            return self.restore(np.where(quiet, 0.0, 1.0 / np.where(quiet, 1.0, S))[:, :, None])
        if self.data.ny != nu:
            raise DataError(
                "not-supported",
                f"H2 needs one input, or as many outputs as inputs; there are {nu} inputs and {self.data.ny} outputs.",
                Advice("Use {}.", Argument("method", "H1"), Argument("method", "Hv")),
            )
        return self.restore((np.linalg.pinv(C[:, nu:, :nu]) @ C[:, nu:, nu:]).transpose(0, 2, 1))

    def hv(self) -> ComplexArray:
        nu = self.nu
        H = np.empty((len(self.C), self.data.ny, nu), dtype=np.complex128)
        for b in range(self.data.ny):
            both = [*range(nu), nu + b]
            v = np.linalg.eigh(self.C[:, both][:, :, both])[1][:, :, 0]
            last = np.where(v[:, nu] != 0.0, v[:, nu], 1.0)  # components below rounding are exact zeros
            H[:, b] = -v[:, :nu] / last[:, None]
        return self.restore(H)


def divide_explained(G: ComplexArray, nu: int, dependence: float = 1e-10, no_power: float = 1e-24) -> FloatArray:
    """(nf, ny) multiple coherence of densities (nf, nu + ny, nu + ny), inputs first; 0 where an input has no power."""
    power = np.einsum("faa->fa", G).real
    size = np.sqrt(np.maximum(power, np.finfo(np.float64).tiny))
    C = G / (size[:, :, None] * size[:, None, :])
    inverse = np.linalg.pinv(C[:, :nu, :nu], rcond=dependence, hermitian=True)
    cross = C[:, :nu, nu:]
    multiple = np.einsum("fcb,fcd,fdb->fb", cross.conj(), inverse, cross, optimize=True).real
    multiple = divide(multiple, (power[:, nu:] > 0.0).astype(np.float64))
    multiple[(power[:, :nu] <= no_power * power[:, :nu].max(axis=0)).any(axis=1)] = 0.0
    return multiple


def _coherence(scaled: _Scaled, w: FloatArray) -> Coherence:
    nu, data = scaled.nu, scaled.data
    cross = scaled.C[:, :nu, nu:]  # (nf, nu, ny)
    multiple = np.einsum("fcb,fcd,fdb->fb", cross.conj(), scaled.inverse, cross, optimize=True).real
    multiple = divide(multiple, (scaled.power[:, nu:] > 0.0).astype(np.float64))
    ordinary = np.clip(np.abs(cross.transpose(0, 2, 1)) ** 2, 0.0, 1.0)
    multiple[scaled.dead] = 0.0
    return Coherence(
        frequencies=w.copy(), ordinary=ordinary, multiple=multiple, inputs=data.inputs, outputs=data.outputs
    )
