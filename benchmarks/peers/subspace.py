"""Subspace identification by other packages, each as its guide shows it, on the records of ``benchmarks.identify``."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Emit
from benchmarks.identify import measured, modes_of, problem, records


def slicot(task: dict[str, Any], emit: Emit) -> None:
    """SLICOT's MOESP (IB01AD, IB01BD) through ``ctrlsys``; it wants more block rows than states."""
    import ctrlsys

    p = problem(task["problem"])
    u, y = (np.asfortranarray(block) for block in records(task["problem"], task["samples"]))
    rows = max(p.rows, p.order + 1)

    def run() -> Any:
        for how in "CQ":  # Cholesky, and QR where that fails
            _, R, _, _, info = ctrlsys.ib01ad(
                "M", how, "N", "O", "N", "N", rows, u.shape[1], y.shape[1], u, y, 0.0, -1.0
            )
            if info == 0:
                break
        else:
            raise RuntimeError(f"IB01AD: info {info}")
        found = ctrlsys.ib01bd("M", "A", "N", rows, p.order, u.shape[1], y.shape[1], len(u), R, 0.0)
        if found[-1]:
            raise RuntimeError(f"IB01BD: info {found[-1]}")
        return found[0]

    measured(run, lambda A: modes_of(A, p.dt), emit)


def nfoursid(task: dict[str, Any], emit: Emit) -> None:
    """nfoursid takes a data frame."""
    import pandas as pd
    from nfoursid.nfoursid import NFourSID

    p = problem(task["problem"])
    u, y = records(task["problem"], task["samples"])
    inputs, outputs = [f"u{j}" for j in range(u.shape[1])], [f"y{i}" for i in range(y.shape[1])]
    table = pd.DataFrame(np.hstack([u, y]), columns=[*inputs, *outputs])

    def run() -> Any:
        found = NFourSID(table, output_columns=outputs, input_columns=inputs, num_block_rows=p.rows)
        found.subspace_identification()
        return found.system_identification(rank=p.order)[0].a

    measured(run, lambda A: modes_of(A, p.dt), emit)


def sippy(task: dict[str, Any], emit: Emit) -> None:
    """SIPPY's N4SID."""
    from sippy_unipi import system_identification

    p = problem(task["problem"])
    u, y = records(task["problem"], task["samples"])

    def run() -> Any:
        try:
            found = system_identification(y.T, u.T, "N4SID", SS_fixed_order=p.order, SS_f=p.rows, SS_p=p.rows)
        except TypeError:  # older releases: rows are samples' columns, and the horizon has one name
            found = system_identification(y, u, "N4SID", SS_fixed_order=p.order, SS_f=p.rows)
        return found.A

    measured(run, lambda A: modes_of(A, p.dt), emit)


def pyoma2(task: dict[str, Any], emit: Emit) -> None:
    """pyOMA2's SSI with inputs (IOcov where the release has it, else covariances of the outputs alone)."""
    from pyoma2.functions import ssi

    p = problem(task["problem"])
    u, y = records(task["problem"], task["samples"])

    def run() -> Any:
        try:
            H, _ = ssi.build_hank(Y=y.T, Yref=y.T, br=p.rows, method="IOcov", U=u.T)
        except (TypeError, AttributeError, ValueError):
            H, _ = ssi.build_hank(Y=y.T, Yref=y.T, br=p.rows, method="cov")
        _, A, *_ = ssi.SSI(H, p.rows, p.order)
        return A[-1]

    measured(run, lambda A: modes_of(A, p.dt), emit)
