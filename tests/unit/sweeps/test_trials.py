"""Trials that run a machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.sweeps.trials import SweepPoint
from tests.helpers.findings import raises
from tests.helpers.repetitions import few


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


def rocker() -> da.EquationsOfMotion:
    m = da.Mechanism("rocker", planar=True)
    length = m.parameter("length", 1.0)
    rod = m.add_body("rod", mass=1.0, inertia=length**2 / 12)
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-length / 2, 0))
    return da.equations(m)


OUTPUTS = {
    "angle": "A.angle",
    "fastest": ("A.rate", "peak"),
    "balance": ("energy.balance", "peak"),
    "x": ("rod.x", "all"),
}


def test_runs_that_go_together_give_what_each_gives_alone() -> None:
    eqs = rocker()
    trial = da.sweeps.Simulation(eqs, 1.0, OUTPUTS, start={"A": 0.4}, velocity={"A": 1.0}, every=0.1)
    design = da.sweeps.LatinHypercube({"length": (0.5, 2.0), "velocity A": (-2.0, 2.0)}, 37)
    assert trial.goes_together(design.names)
    found = da.sweep(trial, design)
    assert found.complete
    for k in (0, 5, 36):
        length, rate = found["length"][k], found["velocity A"][k]
        own = eqs.replace(length=length)
        run = da.simulate(own, 1.0, start=da.assemble(own, {"A": 0.4}, velocity={"A": rate}), every=0.1)
        assert found["angle"][k] == pytest.approx(run["A.angle"][-1], abs=1e-8)
        assert found["fastest"][k] == pytest.approx(np.abs(run["A.rate"]).max(), abs=1e-8)
        np.testing.assert_allclose(found["x"][k], run["rod.x"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("workers", few([0, 2]))
def test_results_have_the_same_bits_together_and_apart(workers: int) -> None:
    trial = da.sweeps.Simulation(rocker(), 0.5, OUTPUTS, start={"A": 0.4}, method=da.RK4(step=0.01), every=0.1)
    design = da.sweeps.Grid({"length": np.linspace(0.5, 2.0, 9)})
    together, apart = da.sweep(trial, design), da.sweep(trial, design, workers=workers)
    for name in OUTPUTS:
        np.testing.assert_array_equal(together[name], apart[name])
    alone = [trial.batch([point])[0] for point in _points(design)]
    assert [one["angle"] for one in alone] == together["angle"].tolist()  # type: ignore[index]


def _points(design: da.sweeps.Grid) -> list[SweepPoint]:
    rows = enumerate(design.points)
    return [SweepPoint(dict(zip(design.names, row.tolist(), strict=True)), k, 0) for k, row in rows]


@pytest.mark.slow
def test_a_point_that_fails_among_others_is_reported_as_it_would_be_alone() -> None:
    m = da.Mechanism("rocker", planar=True)
    mass = m.parameter("mass", 1.0)
    rod = m.add_body("rod", mass=mass, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    trial = da.sweeps.Simulation(da.equations(m), 0.1, {"angle": "A.angle"}, start={"A": 0.4})
    found = da.sweep(trial, da.sweeps.Grid({"mass": [1.0, -1.0, 2.0]}))
    assert found.status == ("done", "failed", "done")
    assert "negative" in found.errors[1]


@pytest.mark.parametrize("why", ["axis of the start", "pose not determined", "option", "method"])
def test_runs_that_cannot_go_together_run_one_by_one(why: str) -> None:
    options = {"method": da.Sundials()} if why == "method" else {}
    if why == "option":
        options = {"events": da.Event("low", lambda s: s["A.angle"], action="note")}
    start = {} if why == "pose not determined" else {"A": 0.4}
    trial = da.sweeps.Simulation(rocker(), 0.1, {"angle": "A.angle"}, start=start, **options)
    axis = "start A" if why == "axis of the start" else "length"
    assert not trial.goes_together((axis,))
    assert da.sweep(trial, da.sweeps.Grid({axis: [0.5, 0.6]}), workers=0).complete


# -- closed loops ------------------------------------------------------------------------------------------------------
LOOP_OUTPUTS = {"angle": ("A.angle", "all"), "read": ("measured.encoder", "all"), "torque": ("command.torque", "rms")}


@pytest.fixture(scope="module")
def regulated() -> da.EquationsOfMotion:
    m = da.Mechanism("rocker", planar=True)
    mass = m.parameter("mass", 1.0)
    rod = m.add_body("rod", mass=mass, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


def loop_trial(eqs: da.EquationsOfMotion, noise: da.Noise | None, **options: Any) -> da.sweeps.Simulation:
    law = da.control.custom_law("pd", lambda s: 4.0 - 9.0 * s["A.angle"] - 3.0 * s["A.rate"], "torque", dt=0.02)
    parts = {"controller": law, "start": {"A": 0.4}, **options}
    return da.sweeps.Simulation(eqs, 0.5, LOOP_OUTPUTS, noise=noise, **parts)


NOISE = da.Noise(sensors={"encoder": 1e-2})


def test_closed_loops_go_together_with_the_bits_of_single_runs(regulated: da.EquationsOfMotion) -> None:
    trial = loop_trial(regulated, NOISE)
    design = da.sweeps.LatinHypercube({"mass": (0.5, 2.0), "start A": (0.2, 0.6), "velocity A": (-1.0, 1.0)}, 9)
    assert trial.goes_together(design.names)
    found = da.sweep(trial, design)
    assert found.complete
    for k in (0, 4, 8):
        own = regulated.replace(mass=found["mass"][k])
        start = da.assemble(own, {"A": found["start A"][k]}, velocity={"A": found["velocity A"][k]})
        seed = int(np.random.SeedSequence([design.seed, k]).generate_state(1)[0])
        noise = da.Noise(sensors=NOISE.sensors, seed=seed)
        run = da.simulate(own, 0.5, start=start, controller=trial.options["controller"], noise=noise)
        np.testing.assert_array_equal(found["angle"][k], run["A.angle"])
        np.testing.assert_array_equal(found["read"][k], run["measured.encoder"])


@pytest.mark.slow
def test_closed_loops_give_the_same_in_processes(regulated: da.EquationsOfMotion) -> None:
    trial, design = loop_trial(regulated, NOISE), da.sweeps.Grid({"mass": [0.8, 1.0, 1.2]})
    together, apart = da.sweep(trial, design), da.sweep(trial, design, workers=2)
    for name in LOOP_OUTPUTS:
        np.testing.assert_array_equal(together[name], apart[name])


def test_an_axis_is_the_seed_of_the_noise(regulated: da.EquationsOfMotion) -> None:
    found = da.sweep(loop_trial(regulated, NOISE), da.sweeps.Grid({"seed": [3, 4, 3]}))
    np.testing.assert_array_equal(found["read"][0], found["read"][2])
    assert not np.array_equal(found["read"][0], found["read"][1])


def test_noise_with_a_seed_is_the_same_at_every_point(regulated: da.EquationsOfMotion) -> None:
    noise = da.Noise(sensors=NOISE.sensors, seed=7)
    found = da.sweep(loop_trial(regulated, noise), da.sweeps.Grid({"mass": [1.0, 2.0]}))
    errors = found["read"] - found["angle"]
    np.testing.assert_allclose(errors[0], errors[1], rtol=0, atol=1e-15)


def test_seeds_must_be_whole_numbers_and_belong_to_noise(regulated: da.EquationsOfMotion) -> None:
    found = da.sweep(loop_trial(regulated, NOISE), da.sweeps.Grid({"seed": [1.0, 1.5]}))
    assert found.status == ("done", "failed") and "whole" in found.errors[1]
    with raises(ModelError, "unknown-name", "seed"):
        da.sweep(loop_trial(regulated, None), da.sweeps.Grid({"seed": [1.0]}))


@pytest.mark.slow
def test_a_continuous_law_runs_one_by_one(regulated: da.EquationsOfMotion) -> None:
    law = da.control.custom_law("pd", lambda s: 4.0 - 9.0 * s["A.angle"] - 3.0 * s["A.rate"], "torque")
    trial = da.sweeps.Simulation(regulated, 0.1, {"angle": "A.angle"}, start={"A": 0.4}, controller=law)
    assert not trial.goes_together(("mass",))
    assert da.sweep(trial, da.sweeps.Grid({"mass": [0.5, 0.6]}), workers=0).complete
