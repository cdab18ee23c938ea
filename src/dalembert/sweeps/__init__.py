"""Sweeps and Monte Carlo runs: a design of points, a trial at each, on any executor, resumable."""

from dalembert.sweeps.designs import Design, Grid, LatinHypercube, Normal, Points, Sobol
from dalembert.sweeps.running import sweep
from dalembert.sweeps.store import read_sweep
from dalembert.sweeps.swept import Swept
from dalembert.sweeps.trials import Simulation

__all__ = [
    "Design", "Grid", "LatinHypercube", "Normal", "Points", "Simulation", "Sobol", "Swept", "read_sweep", "sweep",
]  # fmt: skip
