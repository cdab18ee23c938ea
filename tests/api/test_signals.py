"""Ctrl-C and SIGTERM inside a long computation of the library: it ends soon, with its results so far."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DalembertError, Interrupted
from tests.helpers.repetitions import few

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
SOON = 20.0  # s: a busy machine; each of these computations takes minutes when it is not interrupted


@pytest.fixture
def interrupt() -> Iterator[Callable[..., Callable[[float], None]]]:
    """A function of progress that sends a signal a moment after its first call: in the middle of native code."""

    def end(*_: Any) -> None:
        raise KeyboardInterrupt

    before = {one: signal.signal(one, end) for one in (signal.SIGINT, signal.SIGTERM)}
    timers: list[threading.Timer] = []

    def prepare(which: signal.Signals = signal.SIGINT, moment: float = 0.05) -> Callable[[float], None]:
        def report(_: float) -> None:
            if not timers:
                timers.append(threading.Timer(moment, os.kill, (os.getpid(), which)))
                timers[0].start()

        return report

    yield prepare
    for timer in timers:
        timer.cancel()
        timer.join()
    for which, handler in before.items():
        signal.signal(which, handler)


@pytest.mark.parametrize(("solver", "which"), [("cvodes", signal.SIGINT), ("idas", signal.SIGTERM)])
def test_sundials_ends_at_a_signal_with_its_record(solver: Any, which: Any, interrupt: Any) -> None:
    """CasADi reports a signal inside SUNDIALS as a failed evaluation: it must not count as failed convergence."""
    eqs = da.equations(da.read_model("pendulum"))
    start = da.assemble(eqs, {"hinge.angle": 0.5})
    began = time.monotonic()
    with pytest.raises(Interrupted) as caught:
        da.simulate(
            eqs, 2000.0, start=start, every=1.0, method=da.Sundials(solver=solver, max_steps=10**9),
            progress=interrupt(which),
        )  # fmt: skip
    assert time.monotonic() - began < SOON
    record = caught.value.record
    assert record.status.startswith("interrupted") and 0.0 < record.time[-1] < 2000.0
    assert signal.getsignal(which).__name__ == "end"  # as before the run


def test_an_interruption_is_no_failure_of_what_was_interrupted() -> None:
    """`except DalembertError` of a search that skips failed trials must not swallow Ctrl-C."""
    assert not issubclass(Interrupted, DalembertError | Exception)


@pytest.mark.parametrize("lanes", few([True, False]))
def test_a_sweep_ends_at_a_signal_with_its_points(lanes: bool, interrupt: Any) -> None:
    """Also in a run of SUNDIALS, which ends as `Interrupted`: that is no failure of the point."""
    eqs = da.equations(da.read_model("pendulum"))
    outputs, start = {"last": "hinge.angle"}, {"hinge.angle": 0.5}
    method = da.DormandPrince() if lanes else da.Sundials(max_steps=10**9)
    trial = da.sweeps.Simulation(eqs, 50.0, outputs, start=start, method=method, every=1.0)
    design = da.sweeps.Grid({"velocity hinge.angle": np.linspace(0.1, 3.0, 5000)})
    assert trial.goes_together(design.names) is lanes
    began = time.monotonic()
    with pytest.raises(Interrupted) as caught:
        da.sweep(trial, design, workers=0, progress=interrupt())
    assert time.monotonic() - began < SOON
    assert 0 < caught.value.record.status.count("done") < len(design.points)
    assert "failed" not in caught.value.record.status


def test_an_estimate_ends_at_a_signal_with_its_record(interrupt: Any) -> None:
    eqs = da.equations(da.read_model("pendulum"))
    t = np.arange(1_000_000) * 0.01
    record = da.Record.from_channels(t, {"encoder": -1.5 + 0.3 * np.sin(3.8 * t)})
    ekf = da.estimate.ExtendedKalman(eqs, outputs=["encoder"], Q=1e-4, R=1e-4)
    with pytest.raises(Interrupted) as caught:
        ekf.run(record, progress=interrupt(moment=0.02))
    assert 0 < len(caught.value.record) < len(record)
    assert np.isfinite(caught.value.record.data).all()


def test_an_identification_ends_at_a_signal(interrupt: Any) -> None:
    """No trial of an order, of a split or of a resampled record takes the signal for its failure."""
    rng = np.random.default_rng(1)
    force = rng.standard_normal(20_000)
    channels = {"force": force} | {f"a{k}": np.convolve(force, rng.standard_normal(50))[:20_000] for k in range(4)}
    record = da.Record.from_channels(0.01 * np.arange(20_000.0), channels)
    interrupt(moment=1.0)(0.0)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        da.identify.auto(record, inputs=["force"])
    assert time.monotonic() - began < SOON
