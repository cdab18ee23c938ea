"""Subspace identification by other packages, each as its guide shows it, on the records of ``benchmarks.identify``.

pyOMA2 and SIPPY have the number of block rows (10 to 60 and 10 to 45 were tried) with which their damping error is
least on the first record of 10 000 samples. nfoursid has 20 rows, its time grows steeply with them; SLICOT has 20 for
the frame and for the chain the fewest it takes, one more than states. python-control has as many Markov parameters as
leave the least damping error: 50 to 300 were tried for the frame, 50 to 120 for the chain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Emit
from benchmarks.identify import measured, modes_of, problem

ROWS = {
    "frame": {"slicot": 20, "nfoursid": 20, "sippy": 45, "pyoma2": 30, "python_control": 50},
    "chain": {"slicot": 41, "nfoursid": 20, "sippy": 45, "pyoma2": 45, "python_control": 120},
}


def slicot(task: dict[str, Any], emit: Emit) -> None:
    """SLICOT's MOESP (IB01AD, IB01BD) through ``ctrlsys``."""
    import ctrlsys

    p = problem(task["problem"])
    rows = task.get("rows") or ROWS[task["problem"]]["slicot"]

    def prepare(u: Any, y: Any) -> Any:
        return np.asfortranarray(u), np.asfortranarray(y)

    def run(data: Any) -> Any:
        u, y = data
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

    measured(task, prepare, run, lambda A: modes_of(A, p.dt), emit)


def nfoursid(task: dict[str, Any], emit: Emit) -> None:
    """nfoursid takes a data frame."""
    import pandas as pd
    from nfoursid.nfoursid import NFourSID

    p = problem(task["problem"])
    rows = ROWS[task["problem"]]["nfoursid"]

    def prepare(u: Any, y: Any) -> Any:
        inputs, outputs = [f"u{j}" for j in range(u.shape[1])], [f"y{i}" for i in range(y.shape[1])]
        return pd.DataFrame(np.hstack([u, y]), columns=[*inputs, *outputs]), inputs, outputs

    def run(data: Any) -> Any:
        table, inputs, outputs = data
        found = NFourSID(table, output_columns=outputs, input_columns=inputs, num_block_rows=rows)
        found.subspace_identification()
        return found.system_identification(rank=p.order)[0].a

    measured(task, prepare, run, lambda A: modes_of(A, p.dt), emit)


def sippy(task: dict[str, Any], emit: Emit) -> None:
    """SIPPY's N4SID."""
    from sippy_unipi import system_identification

    p, rows = problem(task["problem"]), ROWS[task["problem"]]["sippy"]

    def run(data: Any) -> Any:
        u, y = data
        options = {"SS_fixed_order": p.order, "SS_f": rows, "SS_p": rows, "SS_D_required": True}
        return system_identification(y.T, u.T, "N4SID", **options).A

    measured(task, lambda u, y: (u, y), run, lambda A: modes_of(A, p.dt), emit)


def pyoma2(task: dict[str, Any], emit: Emit) -> None:
    """pyOMA2's SSI by covariances of inputs and outputs."""
    import logging

    from pyoma2.functions import ssi

    logging.disable(logging.INFO)
    p, rows = problem(task["problem"]), task.get("rows") or ROWS[task["problem"]]["pyoma2"]

    def run(data: Any) -> Any:
        u, y = data
        H, _ = ssi.build_hank(Y=y.T, Yref=y.T, br=rows, method="IOcov", U=u.T)
        return ssi.SSI_fast(H, rows, p.order)[1][-1]

    measured(task, lambda u, y: (u, y), run, lambda A: modes_of(A, p.dt), emit)


def python_control(task: dict[str, Any], emit: Emit) -> None:
    """python-control's Markov parameters by least squares, then its ERA."""
    import control

    p, lags = problem(task["problem"]), ROWS[task["problem"]]["python_control"]

    def run(data: Any) -> Any:
        u, y = data
        H = control.markov(y.T, u.T, lags)
        half = (lags - 1) // 2
        return control.eigensys_realization(H, p.order, half, half)[0].A

    measured(task, lambda u, y: (u, y), run, lambda A: modes_of(A, p.dt), emit)
