"""A sweep on a real Dask cluster, one of whose workers is killed half-way."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import dalembert as da
from tests.helpers import sweep_trials as trials

distributed = pytest.importorskip("distributed")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_a_killed_worker_costs_nothing_but_time() -> None:
    design = da.sweeps.Sobol({"x": (0.0, 1.0)}, samples=64, seed=9)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        killed = threading.Event()

        def kill() -> None:
            time.sleep(0.8)
            os.kill(pids[0], signal.SIGKILL)
            killed.set()

        threading.Thread(target=kill).start()
        found = da.sweep(trials.slow, design, executor=client.get_executor(), workers=2)
        assert killed.wait(10.0)
    alone = da.sweep(trials.square, design, workers=0)
    assert found.complete
    assert np.array_equal(found["square"], alone["square"]) and np.array_equal(found["drawn"], alone["drawn"])
