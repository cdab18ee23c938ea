"""One door to reports: ``report(result, path)`` writes a page on whatever has one."""

from __future__ import annotations

import os
from typing import Any

from dalembert.errors import DataError


def report(result: Any, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write a self-contained HTML page on a result.

    Parameters
    ----------
    result : what :func:`dalembert.identify.auto` returned
        Modes with standard deviations, decisions and doubts in words, cross-validation, stabilization diagram, mode
        shapes, measured and modelled frequency responses, residuals.
    path : the file, ending in .html; it appears whole or not at all
    title : above the page
    """
    kinds = [kind.__name__ for kind in type(result).__mro__]
    if "AutoIdentified" not in kinds:
        raise DataError(f"report takes what identify.auto returns, not a {type(result).__name__}.")
    from dalembert.view.identification_report import identification_report

    identification_report(result, path, **({} if title is None else {"title": title}))
