"""N4SID, the robust algorithm of Van Overschee and De Moor (1996): oblique projection, see ``projections.py``."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.identify.model.identified import Identified
from dalembert.identify.records.data import Data
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.subspace.subspace import Names, identify_subspace
from dalembert.record import Record


@report_findings
def n4sid(
    record: Record | Sequence[Record] | Data, inputs: Names = (), outputs: Names | None = None, *,
    order: int | None = None,
) -> Identified:  # fmt: skip
    """State-space model by N4SID: oblique projection, two state sequences, least squares.

    The robust algorithm of Van Overschee and De Moor (1996): the part that the future inputs explain is left out of the
    projection and of both state sequences, so periodic and coloured inputs do no harm. Done so, A and C are those of
    :func:`moesp` to rounding. B and D come from least squares on the outputs and not from the state sequences, whose
    truncated past biases them. Parameters as for :func:`moesp`.
    """
    return identify_subspace("n4sid", record, inputs, outputs, order)
