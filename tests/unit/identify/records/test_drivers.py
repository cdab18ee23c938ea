"""Which channels drive."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

import dalembert as da
from dalembert.identify.records.drivers import find_drivers, measure_causality

RNG = np.random.default_rng(7)
WHITE = RNG.normal(size=20_000)


def resonance(u: np.ndarray, f: float, damping: float) -> np.ndarray:
    """Displacement of an oscillator at f (share of the sampling rate) under a force u, one step later."""
    s = 2 * np.pi * f * (-damping + 1j * np.sqrt(1 - damping**2))
    return lfilter([0.0, 1.0], [1.0, -2 * np.exp(s).real, abs(np.exp(s)) ** 2], u)


def test_a_force_and_the_names_of_test_engineers_say_who_drives() -> None:
    t = np.arange(50.0)
    data = RNG.normal(size=(50, 2))
    by_unit = find_drivers(da.Record(t, data, ["p", "q"], ["m", "N"]))
    assert by_unit.inputs == ("q",) and by_unit.outputs == ("p",) and by_unit.certain
    assert find_drivers(da.Record(t, data, ["ground_ax", "roof_ax"])).inputs == ("ground_ax",)
    assert find_drivers(da.Record(t, data, ["u", "y"])).inputs == ("u",)
    assert find_drivers(da.Record(t, data, ["F", "a1"])).inputs == ("F",)
    assert find_drivers(da.Record(t, data, ["a1", "a2"])).inputs == ()


def test_the_response_of_an_effect_begins_after_its_cause() -> None:
    for damping in (0.005, 0.05):
        y = resonance(WHITE, 0.03, damping)
        y = y + 0.1 * y.std() * RNG.normal(size=y.size)
        assert measure_causality(WHITE, y) > 0.85
        found = find_drivers(da.Record(np.arange(20_000.0), np.column_stack([y, WHITE]), ["p", "q"]))
        assert found.inputs == ("q",) and not found.certain


def test_independent_channels_have_no_driver() -> None:
    data = RNG.normal(size=(20_000, 3))
    assert find_drivers(da.Record(np.arange(20_000.0), data, ["p", "q", "r"])).inputs == ()


def test_channels_are_chosen_by_kind() -> None:
    t = np.arange(400.0)

    def find(names: list[str], units: list[str] | None = None, data: np.ndarray | None = None) -> tuple:
        numbers = RNG.normal(size=(400, len(names))) if data is None else data
        found = find_drivers(da.Record(t, numbers, names, units))
        return found.inputs, found.outputs, set(found.left_out)

    tested = ["Force", "Voltage", "Acceleration1", "Acceleration2"]
    for units in (None, ["N", "V", "m/s^2", "m/s^2"]):
        assert find(tested, units) == (("Force",), ("Acceleration1", "Acceleration2"), {"Voltage"})
    raw = [f"{sensor}.{quantity}_{axis}" for sensor in ("ground", "roof") for quantity in ("Euler", "Acc", "Gyr")
           for axis in "XY"]  # fmt: skip
    inputs, outputs, left = find(raw)
    assert inputs == ("ground.Acc_X", "ground.Acc_Y") and outputs == ("roof.Acc_X", "roof.Acc_Y") and len(left) == 8
    motion = ["chan1.acceleration", "chan1.velocity", "chan1.displacement", "chan2.acceleration"]
    assert find(motion) == ((), ("chan1.acceleration", "chan2.acceleration"), set(motion[1:3]))
    assert find(["ref_x", "ref_y", "a1"]) == ((), ("ref_x", "ref_y", "a1"), set())
    assert find(["F", "x1", "a2"], ["N", "m", "m/s^2"]) == (("F",), ("x1", "a2"), set())
    force = RNG.normal(size=400)
    near = np.column_stack([force, 0.3 * force + 0.01 * RNG.normal(size=400), RNG.normal(size=400)])
    assert find(["force", "monitor", "a1"], None, near) == (("force",), ("a1",), {"monitor"})


def test_copies_and_integrals_are_left_out_whatever_their_names() -> None:
    t = 0.01 * np.arange(20_000)
    force = WHITE[:, None]
    near, far = (resonance(WHITE, f, 0.02) + 0.01 * RNG.normal(size=t.size) for f in (0.03, 0.11))
    velocity = np.concatenate([[0.0], np.cumsum(near[1:] + near[:-1])]) * 0.005
    rounded = np.array([float(f"{x:.5g}") for x in -3 * far])
    data = np.column_stack([force, near, far, velocity, np.cumsum(velocity) * 0.01, rounded, near - far])
    names = ["Force", "c1", "c2", "c3", "c4", "c5", "c6"]
    found = find_drivers(da.Record(t, data, names))
    assert found.inputs == ("Force",) and found.outputs == ("c1", "c2", "c6")
    assert set(found.left_out) == {"c3", "c4", "c5"}
    assert {word for why in found.left_out.values() for word in ("copy", "integral") if word in why} == {
        "copy",
        "integral",
    }
    dead = da.Record(t, np.column_stack([near, np.full(t.size, 3.7), far]), ["p", "q", "r"])
    assert find_drivers(dead).outputs == ("p", "r") and find_drivers(dead).left_out == {"q": "constant"}
    # a laser with noise of its own at the place of an accelerometer is no integral of it
    laser = velocity + 0.03 * np.diff(velocity, append=0.0).std() * RNG.normal(size=t.size)
    beside = da.Record(t, np.column_stack([WHITE, near, far, laser]), ["Force", "a1", "a2", "laser"])
    assert find_drivers(beside).outputs == ("a1", "a2", "laser")
    # sine and cosine are integrals of each other: one is left
    wave = np.column_stack([WHITE, np.sin(0.1 * t), np.cos(0.1 * t)])
    assert find_drivers(da.Record(t, wave, ["Force", "p", "q"])).outputs in (("p",), ("q",))
    # the cause is found behind its copy
    twice = da.Record(t, np.column_stack([2 * WHITE, near, WHITE]), ["p", "q", "r"])
    assert find_drivers(twice).inputs == ("p",) and find_drivers(twice).outputs == ("q",)
