"""An arm of two links that differs from its drawing, with noisy records."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import dalembert as da
from dalembert.equations import EquationsOfMotion
from dalembert.identify.robot.changed_mechanism import NewInertia, change_inertia
from tests.helpers.robots import fourier_motion, measured_record, planar_arm

T = np.arange(0.0, 4.0, 0.01)


NOISE = np.array([0.3, 0.05])


JOINTS: dict[str, Any] = {
    "viscous": np.array([1.5, 0.4]), "coulomb": np.array([2.0, 0.5]), "rotor": np.array([0.3, 0.1])
}  # fmt: skip


quiet = da.identify.robot.quiet  # type: ignore[attr-defined]


@cache
def drawing() -> EquationsOfMotion:
    return da.equations(planar_arm(), coordinates="joint")


@cache
def truth() -> EquationsOfMotion:
    """Another arm than drawn."""
    changes = {
        "rod1": NewInertia(2.4, np.array([0.03, 0.01]), 0.06),
        "rod2": NewInertia(1.3, np.array([-0.02, 0.02]), 0.02),
    }
    return da.equations(change_inertia(planar_arm(), changes), coordinates="joint")


def record(seed: int = 0, **options: Any) -> da.Record:
    given = {"noise": NOISE, "seed": seed, **JOINTS} | options
    return measured_record(truth(), fourier_motion(truth(), T), T, **given)
