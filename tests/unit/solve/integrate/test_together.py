"""Runs of one machine with many sets of parameters, in lanes and on all cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.solve.integrate import together
from dalembert.solve.integrate.channels import Samples
from dalembert.solve.integrate.inputs import read_inputs
from dalembert.solve.integrate.together import Starts, runs_together
from tests.helpers.native_code import assert_same_bits
from tests.helpers.repetitions import few

TIMES = np.linspace(0.0, 0.5, 11)


@pytest.fixture(scope="module")
def machine() -> da.EquationsOfMotion:
    """A driven pendulum with a damper."""
    m = da.Mechanism("pendulum", planar=True)
    length, damping = m.parameter("length", 1.0), m.parameter("damping", 0.2)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-length / 2, 0))
    m.add_damper("brake", joint="A", damping=damping)
    m.add_actuator("motor", joint="A", input="torque")
    return da.equations(m)


def starts(eqs: da.EquationsOfMotion, count: int, seed: int = 0) -> Starts:
    rng = np.random.default_rng(seed)
    p = eqs.p * rng.uniform(0.8, 1.2, (count, len(eqs.parameters)))
    states = [da.assemble(eqs.replace(**dict(zip(eqs.parameters.names, one, strict=True))), {"A": 0.3}) for one in p]
    return Starts(0.0, np.stack([s.q for s in states]), np.stack([s.v for s in states]), np.zeros((count, 0)), p)


def run_alone(eqs: da.EquationsOfMotion, method: Any, inputs: Any, given: Starts, k: int) -> da.Record:
    own = eqs.replace(**dict(zip(eqs.parameters.names, given.p[k], strict=True)))
    state = own.state(given.q[k], given.v[k], given.z[k], 0.0)
    return da.simulate(own, 0.5, start=state, method=method, inputs=inputs, every=TIMES)


METHODS = [
    da.RK4(step=0.01),
    da.RK4(step=0.013),
    da.DormandPrince(),
    da.Rosenbrock(),
    da.GeneralizedAlpha(step=0.01),
]


@pytest.mark.parametrize("method", few(METHODS, 2), ids=repr)
@pytest.mark.parametrize("count", [1, 3, 4, 10])
def test_a_lane_has_the_bits_of_a_run_alone(machine: da.EquationsOfMotion, method: Any, count: int) -> None:
    inputs = {"torque": lambda t: da.where(t > 0.2, 1.0, da.sin(9 * t))}
    given = starts(machine, count)
    found = runs_together(machine, method, read_inputs(machine, inputs), given, 0.5, TIMES)
    for k in (0, count - 1):
        samples = found[k]
        assert samples is not None
        run = run_alone(machine, method, inputs, given, k)
        for block, names in ((samples.q, machine.coordinates.names), (samples.v, machine.speeds.names)):
            assert_same_bits(block, run[list(names)])


def test_a_record_as_input_acts_in_every_lane(machine: da.EquationsOfMotion) -> None:
    signal = da.Record(np.linspace(0, 1, 40), np.random.default_rng(1).normal(size=(40, 1)), ["torque"], ["N m"])
    given = starts(machine, 5)
    found = runs_together(machine, da.RK4(step=0.01), read_inputs(machine, signal), given, 0.5, TIMES)
    run = run_alone(machine, da.RK4(step=0.01), signal, given, 4)
    samples = found[4]
    assert samples is not None
    assert_same_bits(samples.q, run[list(machine.coordinates.names)])


def test_the_number_of_cores_changes_no_bit(machine: da.EquationsOfMotion, monkeypatch: pytest.MonkeyPatch) -> None:
    given, inputs = starts(machine, 21), read_inputs(machine, None)
    results = []
    for cores in (1, 3):
        monkeypatch.setattr(together, "cores", lambda cores=cores: cores)
        results.append(runs_together(machine, da.DormandPrince(), inputs, given, 0.5, TIMES))
    for one, other in zip(*results, strict=True):
        assert one is not None and other is not None
        assert_same_bits(one.q, other.q)


def test_a_run_that_is_not_sound_is_left_out_and_the_others_go_on(machine: da.EquationsOfMotion) -> None:
    given = starts(machine, 6)
    p = given.p.copy()
    p[2, machine.parameters.index["damping"]] = np.nan
    p[4, machine.parameters.index["damping"]] = -1e5  # grows beyond all numbers
    broken = Starts(given.t, given.q, given.v, given.z, p)
    found = runs_together(machine, da.RK4(step=0.01), read_inputs(machine, None), broken, 0.5, TIMES)
    assert [k for k, one in enumerate(found) if one is None] == [2, 4]
    whole = runs_together(machine, da.RK4(step=0.01), read_inputs(machine, None), given, 0.5, TIMES)
    for k in (0, 1, 3, 5):
        one, other = found[k], whole[k]
        assert isinstance(one, Samples) and isinstance(other, Samples)
        assert_same_bits(one.v, other.v)


def test_no_runs_give_nothing(machine: da.EquationsOfMotion) -> None:
    given = starts(machine, 2)
    none = Starts(0.0, given.q[:0], given.v[:0], given.z[:0], given.p[:0])
    assert runs_together(machine, da.RK4(step=0.01), read_inputs(machine, None), none, 0.5, TIMES) == []


@pytest.mark.parametrize("method", [da.RK4(step=0.013), da.GeneralizedAlpha(step=0.01)], ids=repr)
def test_the_length_of_a_block_changes_no_bit(
    machine: da.EquationsOfMotion, method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, inputs = starts(machine, 9), read_inputs(machine, None)
    results = []
    for numbers in (together.IN_CACHE, 1000, 1):  # one block, some steps each, single steps
        monkeypatch.setattr(together, "IN_CACHE", numbers)
        results.append(runs_together(machine, method, inputs, given, 0.5, TIMES))
    for runs in zip(*results, strict=True):
        for one in runs:
            assert one is not None
            assert_same_bits(one.v, runs[0].v)
