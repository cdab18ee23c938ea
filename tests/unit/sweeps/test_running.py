"""Sweeps on any executor: failures, worker processes, interrupts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, Interrupted
from tests.helpers import sweep_trials as trials
from tests.helpers.findings import raises

LINE = da.sweeps.Grid({"x": [0.5, 1.0, 2.0]})


def test_a_trial_that_fails_is_noted_and_the_others_go_on() -> None:
    found = da.sweep(trials.failing, LINE, workers=0)
    assert found.status == ("done", "done", "failed")
    assert "too much" in found.errors[2] and np.isnan(found["square"][2])
    assert found.failed.tolist() == [[2.0]]
    with raises(DataError, "trial-failed", "2"):
        da.sweep(trials.failing, LINE, workers=0, stop_on_error=True)


def test_a_closure_cannot_be_sent_and_is_reported() -> None:
    with raises(DataError, "not-picklable"):
        da.sweep(lambda point: {"x": 1.0}, LINE)
    assert da.sweep(lambda point: {"x": 1.0}, LINE, workers=0)["x"].tolist() == [1.0] * 3


def test_any_executor_gives_the_same_to_the_bit() -> None:
    design = da.sweeps.Sobol({"x": (0.0, 1.0)}, samples=32, seed=5)
    alone = da.sweep(trials.square, design, workers=0)
    with ThreadPoolExecutor(2) as pool:
        threads = da.sweep(trials.square, design, executor=pool)
    processes = da.sweep(trials.square, design, workers=2)
    for name in ("square", "drawn"):
        assert np.array_equal(alone[name], threads[name])
        assert np.array_equal(alone[name], processes[name])


@pytest.mark.slow
def test_a_worker_that_dies_is_reported_and_what_was_done_is_kept(tmp_path: Path) -> None:
    with raises(DataError, "worker-died"):
        da.sweep(trials.dying, LINE, workers=1, store=tmp_path)
    assert da.sweeps.read_sweep(tmp_path).status[0] == "done"


def test_stopping_keeps_what_there_is() -> None:
    def stop(fraction: float) -> None:
        if fraction > 0.4:
            raise KeyboardInterrupt

    with raises(Interrupted, "interrupted", "2", "3") as stopped:
        da.sweep(trials.square, LINE, workers=0, progress=stop)
    assert stopped.value.record.status == ("done", "done", "missing")
