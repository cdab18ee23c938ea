"""Result of a model update: values, and the agreement of the modes before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.findings import Finding
from dalembert.core.tables import align_columns
from dalembert.equations import EquationsOfMotion
from dalembert.identify.records.checks import find_name
from dalembert.linear import SecondOrder


@frozen
class Updated:
    """Parameters of a model that agree with measured modes; frozen.

    Attributes
    ----------
    parameters : names;  values, first : (m,)
    deviations, covariance : (m,), (m, m), or None
        Where deviations of the modes were given.
    system : SecondOrder
        The model with the new values.
    equations : EquationsOfMotion or None
        The machine with the new values, where the model was one.
    measured_hz, frequencies_before_hz, frequencies_after_hz : (k,) [Hz], one per measured mode
    mac_before, mac_after : (k,)
    damping_measured, damping_before, damping_after : (k,)
    directions : (m, k)
        Combinations of parameters that the modes do not determine.
    status : "converged", or why the search ended
    findings : undetermined parameters, repeated modes, poor pairs, parameters at a bound
    provenance : mapping
    """

    parameters: tuple[str, ...]
    values: FloatArray
    first: FloatArray
    deviations: FloatArray | None
    covariance: FloatArray | None
    system: SecondOrder
    equations: EquationsOfMotion | None
    measured_hz: FloatArray
    frequencies_before_hz: FloatArray
    frequencies_after_hz: FloatArray
    mac_before: FloatArray
    mac_after: FloatArray
    damping_measured: FloatArray
    damping_before: FloatArray
    damping_after: FloatArray
    shapes_count: bool
    damping_counts: bool
    directions: FloatArray
    status: str
    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]

    def __getitem__(self, parameter: str) -> float:
        return float(self.values[find_name("parameter", parameter, self.parameters, "this update")])

    @property
    def errors_before(self) -> FloatArray:
        """Relative errors of the frequencies before (k,) [%]."""
        return 100.0 * (self.frequencies_before_hz / self.measured_hz - 1.0)

    @property
    def errors_after(self) -> FloatArray:
        """Relative errors of the frequencies after (k,) [%]."""
        return 100.0 * (self.frequencies_after_hz / self.measured_hz - 1.0)

    def table(self) -> str:
        """One line per parameter, then one per mode."""
        rows = []
        for k, name in enumerate(self.parameters):
            value, first = float(self.values[k]), float(self.first[k])
            change = f"{100 * (value / first - 1):+.2f}" if first else "-"
            deviation = None if self.deviations is None else float(self.deviations[k])
            shown = "-" if deviation is None else f"{deviation:.2g}" if np.isfinite(deviation) else "unknown"
            rows.append((name, f"{first:.6g}", f"{value:.6g}", change, shown))
        head = ("parameter", "before", "after", "change [%]", "deviation")
        modes = []
        for i in range(len(self.measured_hz)):
            errors, mac = (self.errors_before, self.errors_after), (self.mac_before, self.mac_after)
            line = [str(i + 1), f"{self.measured_hz[i]:.5g}", *(f"{e[i]:+.3f}" for e in errors)]
            line += [f"{value[i]:.3f}" for value in mac]
            if self.damping_counts:
                line += [f"{z[i]:.4g}" for z in (self.damping_measured, self.damping_before, self.damping_after)]
            modes.append(tuple(line))
        mode_head = ["mode", "measured [Hz]", "error before [%]", "after [%]", "MAC before", "after"]
        if self.damping_counts:
            mode_head += ["damping", "before", "after"]
        return align_columns(head, rows) + "\n" + align_columns(mode_head, modes)

    def __repr__(self) -> str:
        worst = float(np.abs(self.errors_after).max())
        head = f"Updated: {self.status}, frequencies within {worst:.3g} %"
        return "\n".join([head, self.table(), *(f"  {finding.text()}" for finding in self.findings)])
