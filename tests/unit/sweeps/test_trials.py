"""Trials that run a machine."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from tests.helpers.findings import raises


def pendulum() -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=True)
    length = m.parameter("length", 1.0)
    bob = m.add_body("bob", mass=1.0)
    m.add_revolute("A", m.ground.at(0, 0), bob.at(0, length))
    return da.equations(m)


def test_a_guess_chooses_at_every_point_which_way_the_loops_close() -> None:
    eqs = da.equations(da.read_model("four-bar"))
    ends = []
    for angle in (1.9, -1.9):
        trial = da.sweeps.Simulation(eqs, 0.01, {"y": ("rocker.y", "first")}, guess={"D.angle": angle})
        ends.append(da.sweep(trial, da.sweeps.Grid({"start A.angle": [1.2, 1.6]}), workers=0)["y"])
    assert (ends[0] > 0.2).all() and (ends[1] < 0).all()


def test_parameters_and_starts_of_a_machine_are_swept() -> None:
    """Small swings of a pendulum: the angle after a time is θ₀ cos(√(g/L) t), but for some θ₀³."""
    trial = da.sweeps.Simulation(pendulum(), 0.5, {"angle": "A.angle", "largest": ("A.angle", "peak")}, every=0.1)
    found = da.sweep(trial, da.sweeps.Grid({"length": [0.5, 1.0], "start A.angle": [1e-3, 2e-3]}), workers=0)
    wanted = found["start A.angle"] * np.cos(np.sqrt(9.81 / found["length"]) * 0.5)
    assert found["angle"] == pytest.approx(wanted, abs=2e-3**3)
    assert found["largest"] == pytest.approx(found["start A.angle"], rel=1e-9)
    assert found.complete and "4 done" in repr(found)


def test_an_axis_that_the_machine_does_not_have_is_named() -> None:
    trial = da.sweeps.Simulation(pendulum(), 0.5, {"angle": "A.angle"})
    with raises(ModelError, "unknown-name", "'length'"):
        da.sweep(trial, da.sweeps.Grid({"lenght": [1.0]}), workers=0)
    with raises(DataError, "unknown-name"):
        da.sweeps.Simulation(pendulum(), 0.5, {"angle": ("A.angle", "median")})
