"""Proportional damping from identified modes.

ξ_j = α / (2 ω_j) + β ω_j / 2,    least squares over the modes
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.errors import DataError
from dalembert.core.findings import Finding
from dalembert.core.tables import align_columns
from dalembert.identify.model.identified import HoldsIdentified, Identified, take_identified
from dalembert.identify.records.reporting import report_findings
from dalembert.linear.modes import Modes


@frozen(init=False)
class ProportionalDamping:
    """C = α M + β K as fitted to modes; frozen.

    alpha [1/s], beta [s]; frequencies (k,) [rad/s]; ratios, fitted, residuals (k,): given, fitted, their difference;
    findings : a negative coefficient.
    """

    alpha: float
    beta: float
    frequencies: FloatArray
    ratios: FloatArray
    fitted: FloatArray
    residuals: FloatArray
    findings: tuple[Finding, ...]

    def __init__(self, alpha: float, beta: float, frequencies: FloatArray, ratios: FloatArray) -> None:
        fitted = 0.5 * (alpha / frequencies + beta * frequencies)
        assign(
            self, alpha=float(alpha), beta=float(beta), frequencies=frequencies, ratios=ratios, fitted=fitted,
            residuals=ratios - fitted, findings=(),
        )  # fmt: skip
        assign(self, findings=tuple(_find_negative(self)))

    @property
    def unstable_above(self) -> float:
        """Frequency [rad/s] above which the damping is negative; infinite where it never is."""
        return float(np.sqrt(-self.alpha / self.beta)) if self.beta < 0.0 < self.alpha else np.inf

    def table(self) -> str:
        """Given and fitted ratios of every mode."""
        rows = [
            [f"{w / (2.0 * np.pi):.5g}", f"{z:.5g}", f"{f:.5g}", f"{z - f:.2g}"]
            for w, z, f in zip(self.frequencies, self.ratios, self.fitted, strict=True)
        ]
        return align_columns(["frequency [Hz]", "ratio", "fitted", "difference"], rows)

    def __repr__(self) -> str:
        return f"ProportionalDamping: alpha = {self.alpha:.6g} 1/s, beta = {self.beta:.6g} s\n{self.table()}"


@report_findings
def proportional_damping(
    frequencies: ArrayLike | Identified | HoldsIdentified | Modes, ratios: ArrayLike | None = None
) -> ProportionalDamping:
    """α and β of C = α M + β K that come nearest to these damping ratios.

    Parameters
    ----------
    frequencies : (k,) [rad/s], positive; at least two. Or an Identified or Modes, whose oscillating modes are taken
    ratios : (k,), with frequencies

    Returns
    -------
    ProportionalDamping
        Warns of a negative β, which makes modes above a certain frequency unstable, and of a negative α.

    Examples
    --------
    >>> fit = proportional_damping([10.0, 100.0], [0.02, 0.02])
    >>> round(fit.alpha, 6), round(fit.beta, 8)
    (0.363636, 0.00036364)
    """
    equal = 1e-12  # relative range of frequencies that are all one: some thousand roundings
    omega, zeta = _numbers(frequencies, ratios)
    if len(omega) != len(zeta) or len(omega) < 2:
        raise DataError(
            "wrong-shape",
            f"proportional damping needs as many ratios as frequencies, at least two; got {len(omega)} frequencies and "
            f"{len(zeta)} ratios.",
        )
    if not (np.isfinite(omega).all() and np.isfinite(zeta).all() and (omega > 0.0).all()):
        raise DataError("out-of-range", "proportional damping needs positive frequencies [rad/s] and finite ratios.")
    if np.ptp(omega) <= equal * omega.max():
        raise DataError("rank-deficient", "proportional damping needs at least two different frequencies.")
    # Scaled columns: 1/ω and ω differ by orders of magnitude.
    scale = float(np.exp(np.log(omega).mean()))
    a, b = np.linalg.lstsq(np.column_stack([scale / omega, omega / scale]), zeta, rcond=None)[0]
    return ProportionalDamping(2.0 * scale * a, 2.0 * b / scale, omega, zeta)


def _find_negative(fit: ProportionalDamping) -> list[Finding]:
    if fit.beta >= 0.0 and fit.alpha >= 0.0:
        return []
    name, value = ("beta", fit.beta) if fit.beta < 0.0 else ("alpha", fit.alpha)
    effect = (
        f"modes above {fit.unstable_above / (2.0 * np.pi):.4g} Hz would be unstable"
        if np.isfinite(fit.unstable_above)
        else "some modes would be unstable"
    )
    problem = (
        f"the fit of proportional damping has a negative {name} = {value:.4g}: {effect}. Use it within the identified "
        "band only, or damping ratios mode by mode."
    )
    return [Finding("negative-damping", problem, evidence={name: value})]


def _numbers(
    frequencies: ArrayLike | Identified | HoldsIdentified | Modes, ratios: ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Frequencies [rad/s] and ratios as arrays."""
    frequencies = take_identified(frequencies)
    if isinstance(frequencies, (Identified, Modes)):
        if ratios is not None:
            raise DataError(
                "conflicting-arguments",
                "modes have damping ratios of their own: give either modes, or frequencies [rad/s] and ratios.",
            )
        modes = frequencies.underdamped_modes() if isinstance(frequencies, Identified) else frequencies
        waves = modes.eigenvalues.imag > 0.0
        return np.array(modes.frequencies[waves]), np.array(modes.damping_ratios[waves])
    if ratios is None:
        raise DataError(
            "missing-argument", "proportional damping needs ratios beside the frequencies [rad/s], or modes."
        )
    try:
        omega, zeta = (np.array(numbers, dtype=np.float64).reshape(-1) for numbers in (frequencies, ratios))
    except (TypeError, ValueError) as error:
        raise DataError("not-a-number", f"frequencies [rad/s] and ratios must be numbers: {error}.") from error
    return omega, zeta
