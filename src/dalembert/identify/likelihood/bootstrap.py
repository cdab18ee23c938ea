"""Scatter of any identification method by a parametric bootstrap (Efron 1979).

Records are simulated from the found model, driven by the measured inputs and by white noise with the covariance of
its residuals (through its gain where it has one); the method is run on each, and the scatter of its results is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DalembertError, DataError
from dalembert.core.findings import Advice, Argument
from dalembert.identify.likelihood.refine import prepare_refinement
from dalembert.identify.model.identified import HoldsIdentified, Identified, take_identified
from dalembert.identify.records.data import Data
from dalembert.linear.recursions import march
from dalembert.record import Record


def bootstrap(
    fit: Identified, record: Record | Sequence[Record] | Data,
    identify: Callable[..., Identified | HoldsIdentified] | None, runs: int, seed: int, fewest_runs: int = 10,
    same_mode: float = 0.2,
) -> Identified:  # fmt: skip
    """See :func:`dalembert.identify.deviations`.

    fewest_runs : a standard deviation from 10 runs is known to 1/√18 = 24 %.
    same_mode : a mode found in a simulated record belongs to the nearest of the model within this distance relative to
    its frequency: far beyond the scatter of a mode that has been found.
    """
    if identify is None:
        raise DataError(
            "missing-argument",
            "the bootstrap runs the method again.",
            Advice("Give {}, a function from a Record to a model.", Argument("identify")),
            where={"argument": "identify"},
        )
    whole_number("runs", runs, fewest_runs)
    prepared = prepare_refinement(fit, record, "output", "estimate")
    runs_in = [record] if isinstance(record, Record) else record
    raw = record.u if isinstance(record, Data) else [fit._channels(run, fit.inputs) for run in runs_in]  # type: ignore
    noise = _noise(fit, prepared.u, prepared.y)
    rng = np.random.default_rng(seed)
    modes = fit.underdamped_modes()
    table = np.full((runs, 2 * len(modes)), np.nan)
    failed = 0
    for run in range(runs):
        records = [
            _simulate_record(fit, *run_data, noise, rng) for run_data in zip(raw, prepared.u, prepared.y, strict=True)
        ]
        try:
            run_modes = take_identified(identify(records[0] if len(records) == 1 else records)).underdamped_modes()
        except (DalembertError, np.linalg.LinAlgError):
            failed += 1
            continue
        for j, s in enumerate(modes.eigenvalues):
            if len(run_modes):
                i = int(np.argmin(np.abs(run_modes.eigenvalues - s)))
                if abs(run_modes.eigenvalues[i] - s) < same_mode * abs(s):
                    table[run, 2 * j : 2 * j + 2] = run_modes.frequencies_hz[i], run_modes.damping_ratios[i]
    matched = np.isfinite(table)
    if (matched.sum(axis=0) < 0.5 * runs).any():
        raise DataError(
            "order-too-high",
            f"the method did not find every mode again in half of {runs} simulated records: the model has modes that "
            "the data do not support. Choose a smaller order.",
        )
    complete = table[matched.all(axis=1)]
    covariance = np.atleast_2d(np.cov(complete, rowvar=False)) if len(complete) > 2 * len(modes) else None
    spread = np.nanstd(table, axis=0, ddof=1)
    note = f"standard deviations from {runs} simulated records (parametric bootstrap)"
    return fit.replace(
        frequency_deviations_hz=spread[0::2], damping_deviations=spread[1::2], covariance=covariance,
        notes=(*fit.notes, note + (f"; the method failed on {failed}" if failed else "")),
        deviation_method="bootstrap",
    )  # fmt: skip


def _noise(fit: Identified, u: Sequence[FloatArray], y: Sequence[FloatArray]) -> FloatArray:
    """Square root of the covariance of e, (ny, ny)."""
    R = fit.innovation
    if R is None:
        total, count = np.zeros((fit.system.ny, fit.system.ny)), 0
        for us, ys in zip(u, y, strict=True):
            e = ys - (fit._simulate(us, ys) if fit.gain is None else fit._predict(us, ys, 1, True))
            total, count = total + e.T @ e, count + len(e)
        R = total / count if fit.gain is not None else np.diag(np.diag(total) / count)
    values, vectors = np.linalg.eigh(R)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _simulate_record(
    fit: Identified, raw: FloatArray, u: FloatArray, y: FloatArray, noise: FloatArray, rng: np.random.Generator
) -> Record:
    """A record as the model would give it: the ``raw`` measured inputs (u: as delayed), outputs with new noise."""
    s = fit.system
    e = rng.standard_normal(y.shape) @ noise.T
    simulated = fit._simulate(u, y) + e
    if fit.gain is not None and np.any(fit.gain):
        simulated += march(s.A, (e @ fit.gain.T)[:-1], np.zeros(s.nx)) @ s.C.T
    level = np.array([fit.offsets.get(name, 0.0) for name in (*s.inputs, *s.outputs)])
    return Record(fit.dt * np.arange(len(u)), np.hstack([raw, simulated]) + level, (*s.inputs, *s.outputs))
