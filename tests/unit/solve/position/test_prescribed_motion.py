"""Recorded motions between their samples."""

from __future__ import annotations

import warnings
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import BPoly

import dalembert as da
from dalembert.solve.position.prescribed_motion import RecordMotion, doubt, target_gap, targets_of


def pendulum(planar: bool) -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=planar)
    rod = m.add_body("rod", mass=1.0, inertia=0.1 if planar else (0.1, 0.1, 0.01))
    if planar:
        m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    else:
        m.add_spherical("hinge", m.ground.at(0, 0, 0), rod.at(-0.5, 0, 0))
    return da.equations(m)


def swing(eqs: da.EquationsOfMotion) -> RecordMotion:
    return RecordMotion(eqs, da.simulate(eqs, 1.0, every=0.05))


@pytest.mark.parametrize("planar", [True, False])
def test_an_instant_has_the_bits_that_it_has_among_others(planar: bool) -> None:
    motion = swing(pendulum(planar))
    times = np.unique(np.concatenate([motion.times, np.linspace(0.0, 1.0, 37)]))
    together = motion.at(times)
    for k, t in enumerate(times):
        for whole, alone in zip(together, motion.at(np.array([t])), strict=True):
            np.testing.assert_array_equal(alone[0], whole[k])


@pytest.mark.parametrize("planar", [True, False])
def test_an_instant_needs_the_samples_around_it_alone(planar: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    motion = swing(pendulum(planar))
    samples = []

    def count(times: Any, values: Any) -> Any:
        samples.append(len(times))
        return made(times, values)

    made = BPoly.from_derivatives
    monkeypatch.setattr(BPoly, "from_derivatives", count)
    motion.at(np.array([0.512]))
    assert samples and max(samples) == 2


def contradicts(rate: float, *, error: float = 0.0, size: float = 1.0, moved: float = 0.0) -> bool:
    """Whether a channel with a largest value of `size` is no rate: the derivative differs by `rate`, with an error."""
    times = np.linspace(0.0, 1.0, 5)
    record = da.Record.from_channels(times, {"x": np.array([0.0, 1.0, 0.0, 1.0, 0.0])})
    given = np.full((5, 1), size)
    found = given + rate
    found[2] = max(moved, float(found[2, 0]))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        doubt(record, ["x"], ["v"], given, lambda: (found, np.full((5, 1), error)))
    return bool(seen)


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({"rate": 0.019, "size": 0.95}, False),  # 2 % of the largest value: 0.019
        ({"rate": 0.0195, "size": 0.95}, True),
        ({"rate": 0.9e-9, "size": 1e-30}, False),  # 1e-9 of the coordinate, 1
        ({"rate": 1.1e-9, "size": 1e-30}, True),
        ({"rate": 0.9e-3, "size": 1e-30, "error": 1e-4}, False),  # ten times the error of the derivative
        ({"rate": 1.1e-3, "size": 1e-30, "error": 1e-4}, True),
        ({"rate": 0.9, "size": 1e-30, "moved": 0.99}, True),  # a quarter of the range of the coordinate, 1, in 0.25 s
        ({"rate": 0.9, "size": 1e-30, "moved": 1.01}, False),
    ],
)
def test_a_channel_is_no_rate_beyond_what_its_sampling_and_rounding_explain(given: Any, warned: bool) -> None:
    assert contradicts(**given) is warned


def test_an_orientation_is_known_by_its_place_among_the_targets() -> None:
    m = da.Mechanism("plate")
    m.add_body("plate", mass=1.0, inertia=da.sphere(0.1))
    eqs = da.equations(m)
    targets = targets_of(eqs, ["plate.x", "plate.rx", "plate.ry", "plate.rz"])
    (one,) = targets.orientations
    assert (one.owner, one.first, one.coordinate) == ("plate", 1, eqs.quaternions[0].coordinate)
    s = np.array([0.5, 0.0, 0.0, 0.3])
    gaps = np.array(target_gap(targets, ca.DM.zeros(4), ca.DM(eqs.state().q), ca.DM(s))).ravel()
    assert gaps[0] == -0.5
    assert gaps[one.part] == pytest.approx([0.0, 0.0, -2 * np.sin(0.15)], rel=1e-12)
    assert targets_of(eqs, ["plate.x", "plate.y"]).orientations == ()
