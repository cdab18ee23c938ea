"""MOESP with past inputs and outputs as instruments (Verhaegen 1994): Γ from L32 of ``projections.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalembert.identify.model.identified import Identified
from dalembert.identify.records.data import Data, Detrend
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.subspace.subspace import Names, identify_subspace
from dalembert.record import Record


@report_findings
def moesp(
    record: Record | Sequence[Record] | Data, inputs: Names = (), outputs: Names | None = None, *,
    order: int | None = None, rows: int | None = None, feedthrough: bool = True,
    delays: Mapping[str, int] | None = None, detrend: Detrend = "none",
) -> Identified:  # fmt: skip
    """State-space model by MOESP with past inputs and outputs as instruments (Verhaegen 1994).

    Parameters
    ----------
    record : Record, or several (repeated tests; no column of data spans two)
    inputs, outputs : channel names
        All channels that are no inputs when ``outputs`` is left out.
    order : int, optional
        Number of states; chosen from the data when left out, with a note on the reason.
    rows : int, optional
        Block rows i of past and future: i·ny must exceed the order. More rows look further back (slow modes at high
        sample rates want more), at i² cost.
    feedthrough : bool
        Whether D is estimated; an accelerometer beside a force has one, displacement sensors have none.
    delays : mapping of an input to whole samples by which it acts late, optional
    detrend : "none", "mean" or "linear"
        Taken off each record first.

    Returns
    -------
    Identified, with the gain of the innovation form where the data are noisy.

    Examples
    --------
    >>> import numpy as np
    >>> from dalembert.linear import StateSpace
    >>> rng = np.random.default_rng(1)
    >>> true = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1.0, 0.0], [1.0, 0.5], dt=0.1, inputs="force", outputs="sway")
    >>> force = Record(0.1 * np.arange(500), rng.normal(size=(500, 1)), ["force"], ["N"])
    >>> sway = true.response(force)
    >>> test = Record.from_channels(force.time, {"force": force["force"], "sway": sway["sway"]})
    >>> found = moesp(test, "force", "sway", order=2)
    >>> bool(np.allclose(found.system.poles().values, [0.9 - 0.3j, 0.9 + 0.3j]))
    True
    """
    return identify_subspace("moesp", record, inputs, outputs, order, rows, feedthrough, delays, detrend)
