"""A store continues the same sweep and no other: all that changes a number is part of the identity of a trial."""

from __future__ import annotations

import functools
import inspect
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.sweeps.running import identify_trial
from dalembert.sweeps.trials import SweepPoint
from tests.helpers.findings import raises

GRID = da.sweeps.Grid({"mass": [1.0, 1.1]})
T = np.linspace(0.0, 1.0, 11)
FACTOR = 2.0


@cache
def arm(length: float = 1.0) -> Any:
    m = da.Mechanism("arm", planar=True)
    rod = m.add_body("rod", mass=m.parameter("mass", 1.0), inertia=da.rod(length))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-length / 2, 0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


@cache
def regulator(Q: float) -> Any:
    return da.control.lqr(da.linearize(arm(), at=da.equilibrium(arm())), Q=Q, R=0.1, dt=0.05)


def pd(gain: float) -> Any:
    return da.control.custom_law("pd", lambda s: gain * (s.reference("place") - s["A.angle"]), "torque", dt=0.05)


def kalman(Q: float) -> Any:
    return da.estimate.ExtendedKalman(arm(), outputs=["encoder"], Q=Q, R=1e-6)


def torque(size: float) -> Callable[[Any], Any]:
    return lambda t: size * da.sin(t)


def rising(level: float) -> Any:
    return da.Event("up", lambda s: s["A.angle"] - level, direction=1, action="note")


def recorded(size: float) -> da.Record:
    return da.Record(T, size * np.sin(T)[:, None], ["torque"], ["N m"])


RUN: dict[str, Any] = {"eqs": arm(), "until": 0.2, "outputs": {"a": "A.angle"}, "start": {"A": -1.2}}
LOOP = {**RUN, "controller": regulator(1.0)}
# argument of `Simulation` or of `da.simulate` -> arguments of a sweep, and other values of this argument
ROWS: dict[str, tuple[dict[str, Any], list[Callable[[], Any]]]] = {
    "eqs": (RUN, [lambda: arm(1.2), lambda: arm().replace(mass=2.0)]),
    "until": (RUN, [lambda: 0.3]),
    "outputs": (RUN, [lambda: {"a": "A.rate"}, lambda: {"a": ("A.angle", "max")}, lambda: {"b": "A.angle"}]),
    "start": (RUN, [lambda: {"A": -1.3}, dict, lambda: None]),
    "velocity": (RUN, [lambda: {"A": 0.1}]),
    "guess": (RUN, [lambda: {"A": -1.0}]),
    "inputs": (
        {**RUN, "inputs": {"torque": torque(1.0)}},
        [lambda: None, lambda: {"torque": 5.0}, lambda: {"torque": torque(2.0)}, lambda: recorded(1.0),
         lambda: {"torque": lambda t: da.cos(t)}],
    ),
    "method": (RUN, [lambda: da.RK4(0.01), lambda: da.DormandPrince(rtol=1e-6)]),
    "every": (RUN, [lambda: 0.1, lambda: [0.0, 0.2]]),
    "events": ({**RUN, "events": rising(0.5)}, [lambda: rising(0.6), lambda: ()]),
    "controller": (LOOP, [lambda: regulator(100.0), lambda: pd(3.0)]),
    "observer": ({**LOOP, "observer": kalman(1e-5)}, [lambda: kalman(1e-4), lambda: None]),
    "noise": (
        {**LOOP, "noise": da.Noise(sensors={"A.angle": 1e-3})},
        [lambda: da.Noise(sensors={"A.angle": 2e-3}), lambda: da.Noise(sensors={"A.angle": 1e-3}, seed=5)],
    ),
    "references": ({**RUN, "controller": pd(2.0), "references": {"place": 0.1}}, [lambda: {"place": 0.2}]),
    "actuators": (
        {**LOOP, "actuators": {"torque": da.ActuatorLimits(1.0)}}, [lambda: {"torque": da.ActuatorLimits(0.5)}]
    ),
    "switch_on": ({**LOOP, "switch_on": 0.1}, [lambda: 0.15]),
}  # fmt: skip


def simulation(arguments: dict[str, Any]) -> da.sweeps.Simulation:
    given = dict(arguments)
    return da.sweeps.Simulation(given.pop("eqs"), given.pop("until"), given.pop("outputs"), **given)


def test_every_argument_of_a_simulation_has_a_row() -> None:
    own = set(inspect.signature(da.sweeps.Simulation).parameters) - {"options"}
    options = set(inspect.signature(da.simulate).parameters) - {"eqs", "until", "start", "progress", "unknown"}
    assert set(ROWS) == own | options


@pytest.mark.parametrize("name", ROWS)
def test_a_store_refuses_a_simulation_with_another_value_of_one_argument_and_names_it(
    name: str, tmp_path: Path
) -> None:
    arguments, others = ROWS[name]
    first = da.sweep(simulation(arguments), GRID, workers=0, store=tmp_path)
    again = da.sweep(simulation(arguments), GRID, workers=0, store=tmp_path)  # also after its parts were used
    assert all(np.array_equal(first[label], again[label]) for label in first.results)
    for other in others:
        with raises(DataError, "other-sweep", name) as caught:
            da.sweep(simulation({**arguments, name: other()}), GRID, workers=0, store=tmp_path)
        assert caught.value.where["differ"] == (name,)


def test_the_seed_of_a_design_and_its_points_belong_to_the_sweep(tmp_path: Path) -> None:
    da.sweep(plain, da.sweeps.Points({"x": [1.0, 2.0]}, seed=1), workers=0, store=tmp_path)
    for design, part in (
        (da.sweeps.Points({"x": [1.0, 2.0]}, seed=2), "seed"), (da.sweeps.Points({"x": [1.0, 3.0]}, seed=1), "points")
    ):  # fmt: skip
        with raises(DataError, "other-sweep", part):
            da.sweep(plain, design, workers=0, store=tmp_path)


def test_a_store_without_the_arguments_of_its_trial_is_not_continued_but_read(tmp_path: Path) -> None:
    da.sweep(plain, da.sweeps.Points({"x": [1.0, 2.0]}), workers=0, store=tmp_path)
    head = json.loads((tmp_path / "sweep.json").read_text())
    (tmp_path / "sweep.json").write_text(json.dumps(head | {"trial": "tests.plain"}))
    with raises(DataError, "other-sweep", "older version"):
        da.sweep(plain, da.sweeps.Points({"x": [1.0, 2.0]}), workers=0, store=tmp_path)
    assert da.sweeps.read_sweep(tmp_path)["y"].tolist() == [2.0, 4.0]


# ---- functions and objects


def plain(point: SweepPoint) -> dict[str, float]:
    return {"y": scale(point["x"])}


def scale(x: float, by: float = 1.0) -> float:
    return FACTOR * x * by


def recursive(point: SweepPoint) -> dict[str, float]:
    return {"y": 1.0} if point["x"] < 1.0 else recursive(point)


@dataclass
class Weighing:
    weight: float

    def __call__(self, point: SweepPoint) -> dict[str, float]:
        return {"y": self.weight * point["x"]}


class Counting:
    def __init__(self, weight: float) -> None:
        self.weight = weight

    @functools.cached_property
    def table(self) -> list[float]:
        return [self.weight] * 3

    def __call__(self, point: SweepPoint) -> dict[str, float]:
        return {"y": self.table[0] * point["x"]}


def closure(k: float, values: Any = ()) -> Callable[[SweepPoint], dict[str, float]]:
    return lambda point: {"y": k * point["x"] + sum(values)}


def rewritten(text: str) -> Callable[[SweepPoint], dict[str, float]]:
    """A trial as a changed file would have it."""
    space: dict[str, Any] = {"__name__": "users_file"}
    exec(text, space)
    return space["trial"]  # type: ignore[no-any-return]


BODY = "K = 2.0\ndef part(x, n=1):\n    return K * x ** n\ndef trial(point):\n    return {'y': part(point['x'])}\n"


@pytest.mark.parametrize(
    ("trial", "other", "part"),
    [
        (closure(1.0), closure(2.0), "k"), (closure(1.0, [1.0]), closure(1.0, [1.5]), "values"),
        (Weighing(1.0), Weighing(2.0), "weight"), (Counting(1.0), Counting(2.0), "function"),
        (functools.partial(plain, 1.0), functools.partial(plain, 2.0), "function"),
        (np.linalg.norm, np.linalg.det, "function"), (statistics.mean, statistics.median, "function"),
        (rewritten(BODY), rewritten(BODY.replace("2.0", "2.5")), "part"),
        (rewritten(BODY), rewritten(BODY.replace("n=1", "n=2")), "part"),
        (rewritten(BODY), rewritten(BODY.replace("K * x", "K + x")), "part"),
        (rewritten(BODY), rewritten(BODY.replace("'y': part", "'y': -part")), "function"),
    ],
)  # fmt: skip
def test_bodies_of_functions_and_the_values_they_name_are_part_of_the_identity(
    trial: Any, other: Any, part: str
) -> None:
    before, after = identify_trial(trial), identify_trial(other)
    different = [name for name in before | after if before.get(name) != after.get(name)]
    assert different and part in different[0]
    if isinstance(trial, Counting):
        assert trial.table
    assert identify_trial(trial) == before


def test_an_argument_that_cannot_be_compared_is_refused_by_name_where_a_store_needs_it(tmp_path: Path) -> None:
    trial = closure(1.0, values=(x for x in [1.0]))
    with raises(DataError, "not-supported", "values"):
        da.sweep(trial, da.sweeps.Points({"x": [1.0]}), workers=0, store=tmp_path)


def test_an_identity_is_the_same_in_another_process_with_another_seed_of_hashes() -> None:
    code = "import json, tests.property.test_sweep_identity as t; print(json.dumps(t.identities()))"
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    other = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True).stdout
    assert json.loads(other) == identities()


def identities() -> list[dict[str, str]]:
    simulations = [simulation(ROWS[name][0]) for name in ("observer", "events", "inputs")]
    return [identify_trial(trial) for trial in (*simulations, plain, recursive, Weighing(2.0))]
