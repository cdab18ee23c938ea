"""Trials that other processes can import."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from dalembert.sweeps.trials import SweepPoint


def square(point: SweepPoint) -> dict[str, float]:
    return {"square": point["x"] ** 2, "drawn": float(np.random.default_rng(point.seed).standard_normal())}


def slow(point: SweepPoint) -> dict[str, float]:
    time.sleep(0.05)
    return square(point)


def noted(point: SweepPoint) -> dict[str, float]:
    """Leaves a line per computation in the file that the environment names, so that a test can count them."""
    with Path(os.environ["SWEEP_NOTES"]).open("a", encoding="utf-8") as file:
        file.write(f"{point.index}\n")
    time.sleep(0.03)
    return square(point)


def failing(point: SweepPoint) -> dict[str, float]:
    if point["x"] > 1.5:
        raise ValueError(f"x = {point['x']:g} is too much")
    return square(point)


def dying(point: SweepPoint) -> dict[str, float]:
    if point["x"] > 1.5:
        os._exit(9)
    return square(point)


def changing(point: SweepPoint) -> dict[str, object]:
    return {"path": np.arange(point["x"])}
