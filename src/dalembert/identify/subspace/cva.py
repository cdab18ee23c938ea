"""Canonical variate analysis (Larimore 1990): the future weighted by its own spread, see ``projections.py``."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.identify.model.identified import Identified
from dalembert.identify.records.data import Data
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.subspace.subspace import Names, identify_subspace
from dalembert.record import Record


@report_findings
def cva(
    record: Record | Sequence[Record] | Data, inputs: Names = (), outputs: Names | None = None, *,
    order: int | None = None,
) -> Identified:  # fmt: skip
    """State-space model by canonical variate analysis (Larimore 1990): the future weighted by its own spread.

    The weighting suits outputs of very different noise. Parameters as for :func:`moesp`.
    """
    return identify_subspace("cva", record, inputs, outputs, order)
