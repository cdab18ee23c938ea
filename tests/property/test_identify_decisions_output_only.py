"""Decisions of output-only methods, robots, updates and physical models do not turn over with the last digits of data.

The law: modes, their lines, classes, findings, base parameters, their ranks, pairs, signs and the status of a search
are the same when every sample moves by 1e-9 of its channel's size, under every kernel of OpenBLAS and with one or two
threads. Values move by less than a hundredth of their deviations; where a method has none, by 1e-5 of their size (data
with noise of 1e-3 and more have deviations of 1e-3).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.linear import SecondOrder
from dalembert.numerics import ties
from dalembert.record import Record
from dalembert.studies.identification import arm_identification
from tests.helpers.ambient_chain import ambient
from tests.helpers.decision_records import MEASURED, SIMULATED, find_record, simulated
from tests.helpers.decisions import QUICK_DRAWS
from tests.helpers.measured_arm import JOINTS, NOISE, T, drawing, record, truth
from tests.helpers.robots import fourier_motion, measured_record
from tests.helpers.roving_frame import measure as roving_frame
from tests.helpers.storey_frame import played, sampled_frame, storey_frame, white

Made = tuple[list[Any], list[float], list[float] | None]
KERNELS = ("SkylakeX", "Haswell", "Sandybridge", "Prescott")
ADAMS = Path(__file__).parents[1] / "data" / "adams" / "four_bar_inverse_dynamics.tab"


def moved(data: Any, draw: int) -> Any:
    """Every sample moved by 1e-9 of its channel's size; draw 0 moves none."""
    if not draw:
        return data
    if not isinstance(data, Record):
        return [moved(one, 100 * draw + k) for k, one in enumerate(data)]
    noise = np.random.default_rng([draw, 7]).normal(size=data.data.shape)
    size = np.sqrt(np.mean(data.data**2, axis=0))
    return Record(data.time, data.data + 1e-9 * size * noise, data.names, data.units, name=data.name)


def codes(found: Any) -> list[str]:
    return sorted(finding.code for finding in found.findings)


# ---- what each function decides


def peaks(method: str, data: Record) -> Made:
    found = getattr(da.identify, method).quiet(data)
    decided = [found.lines.tolist(), found.ranks.tolist(), found.domains.tolist(), sorted(found.machines), codes(found),
               largest(found.shapes)]  # fmt: skip
    if found.damping_ratios is None:
        return decided, found.frequencies_hz.tolist(), None
    known = found.frequency_deviations_hz is not None
    return (
        decided, [*found.frequencies_hz, *found.damping_ratios],
        [*found.frequency_deviations_hz, *found.damping_deviations] if known else None,
    )  # fmt: skip


def largest(shapes: Any) -> list[int]:
    return ties.first_largest(shapes).tolist() if shapes.shape[1] else []


def merged(method: str, setups: Sequence[Record]) -> Made:
    found = da.identify.merge_setups.quiet(list(setups), method=method)  # type: ignore[attr-defined]
    grades = [(one.grade, *one.reasons) for one in found.judgements]
    factor = found.time_scale.factor
    decided = [len(found.modes), sorted(found.machines), codes(found), largest(found.shapes), grades, factor]
    values = [*found.frequencies_hz, *found.damping_ratios]
    if found.frequency_deviations_hz is None:
        return decided, [*values, *np.abs(found.shapes).ravel()], None
    return decided, values, [*found.frequency_deviations_hz, *found.damping_deviations]


def robot(data: Record, eqs: Any, **options: Any) -> Made:
    found = da.identify.robot.quiet(eqs, data, **options)  # type: ignore[attr-defined]
    how = found.provenance
    decided = [
        found.base.names, found.physically_consistent, codes(found), repr([one.where for one in found.findings]),
        [one is None for one in how["filtered_at_hz"]], how["deviations"].split(",")[0],
        [note for note in found.notes if "converged" in note],
    ]  # fmt: skip
    # the bodies found count too, by the combinations that data determine
    values = [*found.base_values, *found.base.from_parameters(found.values)]
    return decided, values, [*found.base_deviations] * 2


def update(modes: Any, model: Any, first: dict[str, float], **options: Any) -> Made:
    found = da.identify.update(model, modes, first, progress=False, **options)
    return [found.status, codes(found)], [*found.values, *found.mac_after, *found.mac_before], None


def physical(model: Any, **options: Any) -> Made:
    found = da.identify.physical(model, **options)
    notes = [note.split(":")[0] for note in found.provenance["notes"]]
    decided = [repr(found.provenance["co-located"]), found.provenance["sign"], notes]
    return decided, [x for matrix in (found.M, found.C, found.K) for x in (matrix / np.abs(matrix).max()).ravel()], None


# ---- records


def outputs(name: str) -> Record:
    given = find_record(name)
    return given.record.select(*given.outputs)


def dependent() -> Record:
    """Channels that are multiples and sums of each other: a second motion is rounding."""
    run = ambient(6400, seed=7)
    a, b = run["m1"], run["m5"]
    return Record(run.time, np.column_stack([a, 2.0 * a, -a, b, a + b]), ["a", "a2", "minus", "b", "sum"])


def parallel() -> Record:
    run = ambient(6400, seed=7)
    return Record(run.time, run["m1"][:, None] * [1.0, 2.0, -1.0], ["a", "b", "c"])


def split(run: Record, *setups: tuple[str, ...]) -> list[Record]:
    """Each set-up from its own part of a record."""
    part = len(run) // len(setups)
    return [
        Record(run.time[:part], run.select(*names).data[k * part : (k + 1) * part], names, run.select(*names).units)
        for k, names in enumerate(setups)
    ]


def resting(**options: Any) -> Record:
    """Joint B at rest, positions alone."""
    q, v, a = fourier_motion(truth(), T)
    for x, value in ((q, 0.7), (v, 0.0), (a, 0.0)):
        x[:, 1] = value
    friction = JOINTS | {"coulomb": np.array([2.0, 0.0])}
    return measured_record(truth(), (q, v, a), T, noise=NOISE, derivatives=False, **friction, **options)


def four_bar_record() -> Record:
    rows = np.loadtxt(ADAMS, comments="%")
    values = np.column_stack([np.deg2rad(rows[:, 2]), -rows[:, 1]])
    return Record(rows[:, 0], values, ["crank.angle", "torque"], ["rad", "N m"])


@cache
def four_bar() -> Any:
    m = da.Mechanism("four-bar", planar=True, gravity=(0, -9.80665))
    points = [(0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (4.0, 0.0)]
    before = m.ground.at(*points[0])
    for k, (joint, mass) in enumerate((("crank", 1.0), ("B", 2.0), ("C", 4.0))):
        length = float(np.hypot(*np.subtract(points[k + 1], points[k])))
        bar = m.add_body(f"bar{k + 1}", mass=mass, inertia=da.rod(length))
        m.add_revolute(joint, before, bar.at(-length / 2, 0))
        before = bar.at(length / 2, 0)
    m.add_revolute("E", before, m.ground.at(*points[3]))
    m.add_actuator("motor", "crank", input="torque")
    return da.equations(m, coordinates="joint")


@cache
def six_joints() -> tuple[Any, Record]:
    """The arm of the study on a random motion: its drawing and the record of the true one."""
    study = arm_identification
    eqs, true = (da.equations(m, coordinates="joint") for m in (study.read_arm(), study.true_arm()))
    plan = da.identify.excitation(eqs, study.PERIOD, limits=study.LIMITS, rotors=True, seed=1, iterations=0)
    return eqs, study.measure(eqs, true, plan.between(0.0, 4.0), study.SEED).record


def stick(k1: float = 1.0, k2: float = 1.0, k3: float = 1.0) -> SecondOrder:
    K = (2.0 * np.pi * 8.3) ** 2 * np.array([[k1 + k2, -k2, 0.0], [-k2, k2 + k3, -k3], [0.0, -k3, k3]])
    return SecondOrder(np.eye(3), K, coordinates=["floor1", "floor2", "floor3"])


def tower(kx: float, ky: float) -> SecondOrder:
    """Two floors that sway in two directions, turned by 45° against the sensors: repeated modes where kx = ky."""
    K = np.kron(np.diag([kx, ky]), (4.0 * np.pi) ** 2 * np.array([[2.0, -1.0], [-1.0, 1.0]]))
    turn = np.kron(np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0), np.eye(2))
    K = turn @ K @ turn.T
    return SecondOrder(np.eye(4), K, C=1e-3 * K, B=np.eye(4), Y_acceleration=np.eye(4), coordinates=list("abcd"),
                       inputs=["ua", "ub", "uc", "ud"], outputs=["ya", "yb", "yc", "yd"])  # fmt: skip


def tower_modes(data: Record) -> Any:
    return da.identify.n4sid.quiet(data, ["ua", "ub", "uc", "ud"], ["ya", "yb", "yc", "yd"], order=8)


TOWER = {"coordinates": {"ya": "a", "yb": "b", "yc": "c", "yd": "d"}}
THREE = {"B": np.eye(3), "inputs": ["f1", "f2", "f3"], "units": None}


def shaken(data: Record) -> Any:
    return da.identify.moesp.quiet(data, "ground", ["floor1", "floor2", "floor3"], order=6)


def pushed(data: Record) -> Any:
    forces = [name for name in data.names if name.startswith("f")]
    return da.identify.n4sid.quiet(data, forces, ["a1", "a2", "a3"], order=6)


def hammer_record() -> Record:
    """A blow to each floor in turn."""
    system = storey_frame(**THREE).state_space().to_discrete(1.0 / 32.0)
    force = np.zeros((1024, 3))
    force[[5, 346, 687], [0, 1, 2]] = 1.0
    return played(system, force, noise=0.01)


def frame_record(**changes: Any) -> Record:
    system = storey_frame(**changes).state_space().to_discrete(1.0 / 32.0) if changes else sampled_frame()
    return played(system, white(1024, system.nu), noise=0.01)


Case = tuple[Callable[[], Any], Callable[[Any], Made]]
EVERY = {**MEASURED, **SIMULATED}
CASES: dict[str, Case] = {
    f"{method}: {name}": (lambda name=name: outputs(name), lambda data, method=method: peaks(method, data))
    for method in ("fdd", "efdd")
    for name in EVERY
}  # type: ignore[misc]


def noise_free() -> Record:
    """Outputs of one force without noise: a window of 30 samples of three has 36 independent numbers."""
    return simulated(5, (3.0, 8.0, 14.0), noise=0.0, ny=4, samples=8000).record.select("y1", "y2", "y3", "y4")


SETUPS: dict[str, Callable[[], list[Record]]] = {
    "shake table": lambda: split(outputs("shake table"), ("floor3", "floor1"), ("floor3", "floor2")),
    "building": lambda: split(outputs("building"), ("unit3", "unit1"), ("unit3", "unit2")),
    "bridge": lambda: split(outputs("bridge"), ("chan13", "chan23", "chan15"), ("chan13", "chan23", "chan20")),
    "chain": lambda: split(ambient(12_800, seed=1), ("m3", "m8", "m1"), ("m3", "m8", "m4")),
    "noise-free": lambda: split(noise_free(), ("y1", "y2", "y3"), ("y1", "y2", "y4")),
    "heavily damped chain": lambda: split(ambient(12_800, seed=4, damping=0.05), ("m8", "m1"), ("m8", "m4")),
    "oversampled frame": lambda: roving_frame((0, 4, 13), rate=128.0, duration=120.0, kinds=(2, 1)),
}
CASES |= {
    f"{method}: {name}": (made, lambda data, method=method: merged(method, data))
    for method in ("poser", "preger")
    for name, made in SETUPS.items()
}  # type: ignore[misc]
CASES |= {
    "fdd: dependent channels": (dependent, lambda data: peaks("fdd", data)),
    "efdd: dependent channels": (dependent, lambda data: peaks("efdd", data)),
    "fdd: one motion": (parallel, lambda data: peaks("fdd", data)),
    "robot: arm": (record, lambda data: robot(data, drawing(), rotors=True)),
    "robot: positions": (
        lambda: record(derivatives=False, encoder=1e-5), lambda data: robot(data, drawing(), rotors=True)
    ),
    "robot: noise-free positions": (
        lambda: record(derivatives=False, noise=np.zeros(2)), lambda data: robot(data, drawing(), rotors=True)
    ),
    "robot: joint at rest": (resting, lambda data: robot(data, drawing(), rotors=True, speed=0.02)),
    "robot: short record": (lambda: record().between(0.0, 0.5), lambda data: robot(data, drawing(), rotors=True)),
    "robot: four-bar of Adams": (four_bar_record, lambda data: robot(data, four_bar(), friction=())),
    "robot: six joints": (
        lambda: six_joints()[1], lambda data: robot(data, six_joints()[0], rotors=True, speed=arm_identification.SPEED)
    ),
    "robot: six joints, wrong friction": (
        lambda: six_joints()[1], lambda data: robot(data, six_joints()[0], rotors=True)
    ),
    "update: shake table": (
        lambda: find_record("shake table").record,
        lambda data: update(shaken(data), stick, {"k1": 1.0, "k2": 1.0, "k3": 1.0}),
    ),
    "update: at a bound": (
        lambda: find_record("shake table").record,
        lambda data: update(shaken(data), stick, {"k1": 1.0, "k2": 1.0, "k3": 1.0}, bounds={"k1": (0.9, 1.05)}),
    ),
    "update: frequencies alone": (
        lambda: find_record("shake table").record,
        lambda data: update(shaken(data), stick, {"k1": 1.0, "k2": 1.0, "k3": 1.0}, shapes=False),
    ),
    "update: repeated at first": (
        lambda: played(tower(1.1, 0.93).state_space().to_discrete(1.0 / 32.0), white(1024, 4), noise=0.01),
        lambda data: update(tower_modes(data), tower, {"kx": 1.0, "ky": 1.0}, **TOWER),
    ),
    "update: repeated at the end": (
        lambda: played(tower(1.01, 0.99).state_space().to_discrete(1.0 / 32.0), white(1024, 4), noise=0.01),
        lambda data: update(tower_modes(data), lambda k: tower(k, k), {"k": 1.1}, **TOWER),
    ),
    "physical: hammer": (hammer_record, lambda data: physical(pushed(data), kind="acceleration")),
    "physical: frame": (frame_record, lambda data: physical(pushed(data))),
    "physical: three forces": (lambda: frame_record(**THREE), lambda data: physical(pushed(data), kind="acceleration")),
}  # fmt: skip
QUICK = (
    "fdd: shake table", "efdd: shake table", "efdd: robot arm", "efdd: building", "fdd: dependent channels",
    "fdd: one motion", "efdd: ambient with a machine", "poser: shake table", "preger: shake table",
    "poser: noise-free", "preger: noise-free", "robot: noise-free positions",
    "preger: heavily damped chain", "preger: oversampled frame", "poser: oversampled frame",
    "robot: arm", "robot: joint at rest", "robot: four-bar of Adams",
    "update: shake table", "update: repeated at the end", "update: repeated at first", "physical: frame",
    "physical: hammer",
    "physical: three forces",
)  # fmt: skip


def run(name: str, draws: Iterable[int]) -> list[Made]:
    """Decisions, values and deviations of a case, as they are and for some draws."""
    make, decide = CASES[name]
    data, results = make(), []
    for draw in (0, *draws):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results.append(decide(moved(data, draw)))
            except da.errors.DalembertError as error:
                results.append(([error.code], [], None))
    return json.loads(json.dumps(results, default=float))  # type: ignore[no-any-return]


def check(results: Sequence[Made]) -> None:
    decided, values, deviations = results[0]
    for other, others, _ in results[1:]:
        assert other == decided
        apart = np.abs(np.subtract(others, values))
        size = 1e-5 * (np.abs(values) + 0.1) if deviations is None else 0.01 * np.array(deviations)
        assert (apart <= size + 1e-12).all()


@pytest.mark.parametrize("name", QUICK)
def test_decisions_hold_when_samples_move_by_1e_9(name: str) -> None:
    check(run(name, QUICK_DRAWS))


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({name.partition(":")[0] for name in CASES}))
def test_decisions_hold_for_eight_draws_under_every_kernel_and_with_two_threads(kind: str) -> None:
    code = f"import json, tests.property.{Path(__file__).stem} as t; print(json.dumps(t.every({kind!r}, {{draws}})))"
    found = [every(kind, 8)]
    for kernel, threads, draws in (*((kernel, "1", 1) for kernel in KERNELS), ("", "2", 1)):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        environment |= {"OPENBLAS_CORETYPE": kernel} if kernel else {}
        command = [sys.executable, "-c", code.format(draws=draws)]
        ended = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        found.append(json.loads(ended.stdout.splitlines()[-1]))
    for name in found[0]:
        check([one for results in found for one in results[name]])


def every(kind: str, draws: int) -> dict[str, list[Made]]:
    return {name: run(name, range(1, draws + 1)) for name in CASES if name.startswith(f"{kind}:")}
