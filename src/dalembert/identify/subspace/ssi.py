"""Stochastic subspace identification: modes from outputs alone (Van Overschee, De Moor 1996; Peeters, De Roeck 1999).

ssi_data   Γ from L32 of the factor with the rows Y_p, Y_f: the future projected on the past
ssi_cov    Γ from Y_f Y_pᵀ / J, the matrix of output covariances R_i, R_{i-1}, ...; squares the singular values

A and C are the shift and the first rows of Γ, the gain comes from the innovations of the future. The excitation is
assumed to be white, or the record to be a free decay; poles of steady sines, as of machines, are findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dalembert.identify.model.identified import Identified
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.spectral.machine_harmonics import describe_machine_harmonics, find_machine_harmonics
from dalembert.identify.subspace.subspace import find_model, project_data
from dalembert.record import Record


@report_findings
def ssi_data(
    record: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None = None, *, order: int | None = None,
    rows: int | None = None,
) -> Identified:  # fmt: skip
    """Model of outputs under unknown white excitation, or of free decays, by projection of the data (SSI-data).

    Parameters
    ----------
    record : Record, or several (repeated tests)
    outputs : channel names; all when left out
    order : number of states, optional
        Two per mode; chosen from the data when left out.
    rows : block rows of past and future, optional

    Returns
    -------
    Identified, without inputs.

    Examples
    --------
    >>> import numpy as np
    >>> k = np.arange(200)
    >>> decay = Record.from_channels(0.1 * k, {"sway": 0.99**k * np.cos(0.3 * k)})
    >>> found = ssi_data(decay, "sway", order=2)
    >>> bool(np.isclose(found.frequencies_hz[0], np.hypot(0.3, np.log(0.99)) / (0.2 * np.pi)))
    True
    """
    return realize_outputs("ssi_data", record, outputs, order, rows)


@report_findings
def ssi_cov(
    record: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None = None, *, order: int | None = None,
    rows: int | None = None,
) -> Identified:  # fmt: skip
    """Model of outputs under unknown white excitation by their covariances (SSI-cov); as :func:`ssi_data`.

    A strong, hardly damped mode can hide weak ones from a model of few states: its covariances are known the least.
    ``ssi_data`` weighs the past by its own spread and suffers less from this.
    """
    return realize_outputs("ssi_cov", record, outputs, order, rows)


def realize_outputs(
    method: str, record: Record | Sequence[Record] | Data, outputs: str | Iterable[str] | None, order: int | None,
    rows: int | None = None,
) -> Identified:  # fmt: skip
    """A model of the outputs alone, with its findings."""
    data = read_data.quiet(record, (), outputs, offset_takes_states=True, drift_matters=True)
    findings = [] if order is None else data.check_order(order)
    projection, order, notes = project_data(data, method, order, rows)
    model = find_model(data, projection, order, notes=notes, findings=findings)[0]
    sines = find_machine_harmonics(data, model.underdamped_modes())
    return model.replace(findings=(*model.findings, *describe_machine_harmonics(sines)))
