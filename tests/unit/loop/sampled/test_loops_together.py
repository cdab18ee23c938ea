"""Sampled loops of one machine with different parameters, initial states and seeds, in lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ConvergenceError
from dalembert.loop.closed_loop import prepare_loop
from dalembert.loop.sampled import loops_together
from dalembert.loop.sampled.loops_together import LoopStart, run_loops_together
from tests.helpers.native_code import assert_same_bits
from tests.helpers.repetitions import few

DT, UNTIL = 0.02, 1.0
NOISE = da.Noise(process={"hinge.rate": 1e-3}, sensors={"encoder": 1e-3})


@pytest.fixture(scope="module")
def arm() -> da.EquationsOfMotion:
    """A pendulum with a motor, a damper and an encoder."""
    m = da.Mechanism("arm", planar=True)
    mass, damping = m.parameter("mass", 1.0), m.parameter("damping", 0.1)
    rod = m.add_body("rod", mass=mass, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_damper("brake", joint="hinge", damping=damping)
    m.add_actuator("motor", joint="hinge", input="torque")
    m.add_sensor("encoder", da.angle("hinge"))
    return da.equations(m)


@pytest.fixture(scope="module")
def parts(arm: da.EquationsOfMotion) -> dict[str, Any]:
    """Regulator about the hanging pose, and a filter of the machine."""
    rest = da.assemble(arm, {"hinge.angle": -np.pi / 2})
    law = da.control.lqr(da.linearize(arm, at=rest), Q=5.0, R=0.2, dt=DT)
    observer = da.estimate.ExtendedKalman(arm, outputs=["encoder"], Q=1e-5, R=1e-6, start=rest, P0=1e-2)
    return {"controller": law, "observer": observer, "noise": NOISE}


def begin(eqs: da.EquationsOfMotion, count: int) -> list[LoopStart]:
    rng = np.random.default_rng(4)
    own = [eqs.replace(mass=m, damping=d) for m, d in rng.uniform((0.8, 0.05), (1.2, 0.3), (count, 2))]
    angles = rng.uniform(-1.9, -1.2, count)
    return [LoopStart(da.assemble(one, {"hinge.angle": a}), k) for k, (one, a) in enumerate(zip(own, angles))]


def run_all(
    eqs: da.EquationsOfMotion, starts: list[LoopStart], options: dict[str, Any], *, lanes: bool = True
) -> list[Any]:
    model = prepare_loop(eqs, 0.0, UNTIL, **options)
    assert model is not None
    if lanes:
        model.chunks.kernel.together()  # as for more runs
    return [run for _, run in sorted(run_loops_together(model, starts, len(starts)), key=lambda pair: pair[0])]


def run_alone(start: LoopStart, options: dict[str, Any]) -> da.Record:
    noise = da.Noise(NOISE.process, NOISE.sensors, start.seed)
    return da.simulate(start.state.eqs, UNTIL, start=start.state, **{**options, "noise": noise})


def assert_same_record(found: Any, expected: da.Record) -> None:
    assert isinstance(found, da.Record)
    assert found.names == expected.names and found.status == expected.status
    assert_same_bits(found.time, expected.time)
    assert_same_bits(found.data, expected.data)
    assert found.statistics["steps"] == expected.statistics["steps"]
    assert found.provenance == expected.provenance


METHODS = [None, da.RK4(step=0.01), da.Rosenbrock(), da.GeneralizedAlpha(step=0.01)]


@pytest.mark.parametrize("method", few(METHODS, 2), ids=repr)
def test_a_lane_has_the_bits_of_a_run_alone(arm: da.EquationsOfMotion, parts: dict[str, Any], method: Any) -> None:
    options = {**parts, "method": method}
    starts = begin(arm, 6)
    found = run_all(arm, starts, options)
    for k in (0, 3, 5):
        assert_same_record(found[k], run_alone(starts[k], options))


def test_few_runs_share_the_loop_without_lanes(arm: da.EquationsOfMotion, parts: dict[str, Any]) -> None:
    starts = begin(arm, 2)
    found = run_all(arm, starts, {**parts, "every": 0.05}, lanes=False)
    for k in (0, 1):
        assert_same_record(found[k], run_alone(starts[k], {**parts, "every": 0.05}))


def test_intervals_that_need_more_attempts_get_them_in_every_lane(
    arm: da.EquationsOfMotion, parts: dict[str, Any]
) -> None:
    """Steps of a hundredth of an interval: error control needs more than the first attempts, run by run."""
    options = {**parts, "method": da.DormandPrince(order=5, max_step=DT / 10)}
    starts = begin(arm, 5)
    found = run_all(arm, starts, options)
    for k in (0, 4):
        assert_same_record(found[k], run_alone(starts[k], options))


def test_an_event_ends_one_run_and_the_others_go_on(arm: da.EquationsOfMotion, parts: dict[str, Any]) -> None:
    options = {**parts, "events": da.Event("there", lambda s: s["hinge.angle"] + 1.6, action="stop")}
    starts = begin(arm, 7)
    found = run_all(arm, starts, options)
    ends = [run.time[-1] for run in found]
    assert max(ends) == UNTIL and len(set(ends)) > 2
    for k, start in enumerate(starts):
        assert_same_record(found[k], run_alone(start, options))


def test_a_run_that_fails_ends_with_its_own_error(arm: da.EquationsOfMotion, parts: dict[str, Any]) -> None:
    starts = begin(arm, 5)
    driven = arm.replace(damping=-60.0)  # grows beyond all numbers
    starts[2] = LoopStart(da.assemble(driven, {"hinge.angle": -1.5}), 2)
    found = run_all(arm, starts, parts)
    with pytest.raises(ConvergenceError) as alone:
        run_alone(starts[2], parts)
    assert type(found[2]) is ConvergenceError and str(found[2]) == str(alone.value)
    assert_same_bits(found[2].record.data, alone.value.record.data)  # type: ignore[union-attr]
    assert_same_record(found[3], run_alone(starts[3], parts))


def test_the_number_of_cores_changes_no_bit(
    arm: da.EquationsOfMotion, parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for cores in (1, 3):
        monkeypatch.setattr(loops_together, "cores", lambda cores=cores: cores)
        results.append(run_all(arm, begin(arm, 9), parts))
    for one, other in zip(*results, strict=True):
        assert_same_record(one, other)


def test_dry_friction_is_decided_run_by_run() -> None:
    m = da.Mechanism("sledge", planar=True)
    mass = m.parameter("mass", 1.0)
    body = m.add_body("body", mass=mass)
    m.add_prismatic("rail", m.ground.at(0, 0), body.at(0, 0))
    m.add_friction("rub", joint="rail", coulomb=1.0)
    m.add_actuator("drive", joint="rail", input="force")
    eqs = da.equations(m)
    law = da.control.custom_law("spring", lambda s: -8.0 * s["rail.displacement"], "force", dt=DT)
    options = {"controller": law, "noise": None}
    starts = [
        LoopStart(da.assemble(eqs.replace(mass=1.0 + 0.2 * k), {"rail.displacement": 0.3 + 0.1 * k}), None)
        for k in range(5)
    ]
    found = run_all(eqs, starts, options)
    for k in (0, 4):
        alone = da.simulate(starts[k].state.eqs, UNTIL, start=starts[k].state, controller=law)
        assert_same_record(found[k], alone)
        assert len(found[k].statistics["friction"]) == len(alone.statistics["friction"])


def test_continuous_loops_and_open_runs_are_not_prepared(arm: da.EquationsOfMotion) -> None:
    rest = da.assemble(arm, {"hinge.angle": -np.pi / 2})
    law = da.control.lqr(da.linearize(arm, at=rest), Q=5.0, R=0.2)
    assert prepare_loop(arm, 0.0, UNTIL, controller=law) is None
    assert prepare_loop(arm, 0.0, UNTIL) is None
