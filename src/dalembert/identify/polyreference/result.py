"""Result of the poly-reference method: modes with participations, residual terms and the diagram they come from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import ComplexArray, FloatArray, IntArray, frozen
from dalembert.core.findings import Finding
from dalembert.core.tables import align_columns, mode_cells
from dalembert.core.text import count_noun
from dalembert.identify.model.collinearity import modal_phase_collinearity
from dalembert.identify.spectral.frf import FrfEstimate
from dalembert.identify.subspace.stabilization import Stabilization
from dalembert.linear.modes import Modes
from dalembert.linear.responses.frequency_response import FrequencyResponse


@frozen
class PolyreferenceModes:
    """Modes that fit measured frequency responses; frozen.

    H(ω) = Σ_k (φ_k l_kᵀ / (iω - s_k) + conjugate) + Σ_q E_q (iω)^q

    Attributes
    ----------
    modes : Modes
        Ascending, with shapes φ (ny, k) at the outputs, largest component 1.
    participation : (k, nu) complex
        Rows l_k.
    residual_terms : (powers, ny, nu), residual_powers : powers of iω
        Of modes beyond the lines.
    stabilization : Stabilization
        Poles of fractions of all orders.
    measured : FrfEstimate or FrequencyResponse;  lines : those that were used
    """

    modes: Modes
    participation: ComplexArray
    residual_terms: FloatArray
    residual_powers: tuple[int, ...]
    stabilization: Stabilization
    measured: FrfEstimate | FrequencyResponse
    lines: IntArray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]
    method = "plscf"
    machines = MappingProxyType[int, Any]({})  # harmonics of machines do not appear in frequency responses

    @property
    def frequencies_hz(self) -> FloatArray:
        """Natural frequencies [Hz]."""
        return self.modes.frequencies_hz

    @property
    def damping_ratios(self) -> FloatArray:
        """(k,)."""
        return self.modes.damping_ratios

    @property
    def shapes(self) -> Any:
        """(ny, k) shapes at the outputs."""
        return self.modes.shapes

    @property
    def frequency_deviations_hz(self) -> FloatArray | None:
        """(k,) standard deviations [Hz], where those of the responses are known."""
        return self.modes.frequency_deviations_hz

    @property
    def damping_deviations(self) -> FloatArray | None:
        """(k,) standard deviations of the damping ratios."""
        return self.modes.damping_deviations

    @property
    def dt(self) -> float:
        """Time for which the last line is the Nyquist frequency [s]."""
        return float(np.pi / self.measured.frequencies[self.lines[-1]])

    def underdamped_modes(self) -> Modes:
        """All modes: those of this method oscillate."""
        return self.modes

    def response(self, frequencies: ArrayLike) -> FrequencyResponse:
        """Response of the modes and the residual terms at frequencies (nf,) [rad/s]."""
        w = np.asarray(frequencies, dtype=np.float64)
        s, residues = self.modes.eigenvalues, np.einsum("ok,kj->koj", self.modes.shapes, self.participation)
        near, far = 1.0 / (1j * w[:, None] - s), 1.0 / (1j * w[:, None] - s.conj())
        values = np.einsum("fk,koj->foj", near, residues) + np.einsum("fk,koj->foj", far, residues.conj())
        values += np.einsum("fq,qoj->foj", (1j * w[:, None]) ** np.array(self.residual_powers), self.residual_terms)
        return FrequencyResponse(w, values, self.inputs, self.outputs)

    def table(self) -> str:
        """One line per mode."""
        mpc = modal_phase_collinearity(self.shapes)
        cells = mode_cells(
            self.frequencies_hz, self.damping_ratios, self.frequency_deviations_hz, self.damping_deviations
        )
        rows = [(str(k + 1), *cell, f"{mpc[k]:.3f}") for k, cell in enumerate(cells)]
        return align_columns(("mode", "frequency [Hz]", "damping ratio [%]", "MPC"), rows) if rows else "no modes"

    def __repr__(self) -> str:
        sizes = " and ".join(count_noun(*size) for size in ((len(self.outputs), "output"), (len(self.inputs), "input")))
        head = f"PolyreferenceModes: {count_noun(len(self.modes), 'mode')} of {sizes}, {len(self.lines)} lines"
        return f"{head}\n{self.table()}"
