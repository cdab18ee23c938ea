"""Sticking and sliding in runs, loops, at rest, in linear models and accelerations."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import State
from dalembert.solve.integrate.stick_slip import StickSlip, _Judge, exact
from tests.helpers.findings import raises, warns
from tests.helpers.loops import gain_law
from tests.helpers.repetitions import few

G, SLOPE, MASS, MU = 9.81, 0.3, 2.0, 0.4
READS = ["rail.displacement", "rail.speed"]


def block(slope: float, name: str = "dry", **friction: Any) -> da.EquationsOfMotion:
    m = da.Mechanism("slope", planar=True)
    body = m.add_body("block", mass=MASS, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), body.at(0, 0), axis=(np.cos(slope), np.sin(slope)))
    m.add_friction(name, "rail", **friction)
    m.add_actuator("push", joint="rail", input="push")
    m.add_sensor("rubbing", da.spring_force(name))
    return da.equations(m)


@pytest.fixture(scope="module")
def level() -> da.EquationsOfMotion:
    return block(0.0, coulomb=MU)


@pytest.fixture(scope="module")
def slope() -> da.EquationsOfMotion:
    return block(SLOPE, coulomb=MU)


def four_bar(**friction: Any) -> da.EquationsOfMotion:
    m = da.Mechanism("crank-rocker", planar=True)
    crank, coupler, rocker = (
        m.add_body(name, mass=w, inertia=da.rod(w)) for name, w in (("crank", 0.2), ("coupler", 0.6), ("rocker", 0.5))
    )
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_revolute("B", crank.at(0.1, 0), coupler.at(-0.3, 0))
    m.add_revolute("C", coupler.at(0.3, 0), rocker.at(0.25, 0))
    m.add_revolute("D", m.ground.at(0.7, 0), rocker.at(-0.25, 0))
    for joint in "ABCD":
        m.add_friction(f"f{joint}", joint, radius=0.02, **friction)
    return da.equations(m)


def chain(**friction: Any) -> da.EquationsOfMotion:
    m = da.Mechanism("chain", planar=True)
    one, two = (m.add_body(name, mass=1.0, inertia=0.02) for name in ("one", "two"))
    m.add_revolute("A", m.ground.at(0, 0), one.at(-0.25, 0))
    m.add_revolute("B", one.at(0.25, 0), two.at(-0.25, 0))
    for joint in "AB":
        m.add_friction(f"f{joint}", joint, radius=0.05, coulomb=0.3, **friction)
    return da.equations(m)


def turntable(place: float) -> da.Mechanism:
    """A block on a radial rail."""
    m = da.Mechanism("turntable", planar=True, gravity=0)
    table = m.add_body("table", mass=1.0, inertia=0.1)
    body = m.add_body("block", mass=MASS, inertia=0.1, position=(place, 0))
    m.add_revolute("pivot", m.ground.at(0, 0), table.at(0, 0))
    m.add_prismatic("rail", table.at(0, 0), body.at(0, 0), axis=(1, 0))
    return m


# --- runs -------------------------------------------------------------------------------------------------------------


def test_a_sensor_reads_the_effort_of_friction_sliding_and_sticking(slope: Any) -> None:
    run = da.simulate(slope, 1.0, start=da.assemble(slope, velocity={"rail": 2.0}), every=0.1)
    normal = MASS * G * np.cos(SLOPE)
    expected = np.where(run["dry.sliding"] == 0, MASS * G * np.sin(SLOPE), -MU * normal)
    assert run["rubbing"] == pytest.approx(expected, rel=1e-9)
    assert run["dry.effort"] == pytest.approx(expected, rel=1e-9)
    assert set(run["dry.sliding"]) == {0.0, 1.0}
    assert not [name for name in run.names if "holding" in name]


def test_a_run_goes_on_from_the_state_another_ended_in(slope: Any) -> None:
    """The modes follow from the state: a block that stuck sticks, one that slid slides."""
    start = da.assemble(slope, velocity={"rail": 2.0})
    whole = da.simulate(slope, 1.0, start=start)
    for until in (0.2, 0.6):
        states: list[State] = []
        keep = da.Event("keep", lambda s: s.t - until, action=states.append)  # noqa: B023
        da.simulate(slope, 0.8, start=start, events=keep)
        rest = da.simulate(slope, 1.0, start=states[0])
        assert rest["rail.displacement"][-1] == pytest.approx(whole["rail.displacement"][-1], abs=1e-13)
        assert len(states[0].lam) == len(slope.rows)


def test_a_kick_frees_what_sticks_and_its_energy_is_booked(level: Any) -> None:
    kick = da.Event("kick", lambda s: s.t - 1.0, action=da.Switch(velocity={"rail": -2.0}))
    run = da.simulate(level, 3.0, events=kick)
    assert run["rail.displacement"][-1] == pytest.approx(-4.0 / (2 * MU * G), abs=1e-13)
    assert [c["now"] for c in run.statistics["friction"]] == ["sticks", "slides backward", "sticks"]
    assert [e["name"] for e in run.statistics["events"]] == ["kick"]
    assert np.abs(run["energy.balance"]).max() < 1e-12


def test_a_block_on_a_turntable_slips_when_the_centrifugal_force_leaves_the_cone() -> None:
    """θ = α t²/2: on a radial rail the normal force is m α s and friction holds m α² t² s, until t = √(μ/α)."""
    alpha, place = 0.5, 0.3
    m = turntable(place)
    m.add_driver("motor", "pivot", lambda t: alpha * t**2 / 2)
    m.add_friction("dry", "rail", coulomb=MU)
    run = da.simulate(da.equations(m), 1.0, every=0.1)
    _, slips = run.statistics["friction"]
    assert slips["now"] == "slides forward" and slips["time"] == pytest.approx(np.sqrt(MU / alpha), rel=1e-8)
    held = run["dry.sliding"] == 0
    assert np.abs(run["rail.displacement"][held] - place).max() < 1e-12
    assert run["dry.effort"][held] == pytest.approx(-MASS * (alpha * run.time[held]) ** 2 * place, abs=1e-9)


def test_a_load_that_jumps_is_met_at_the_jump(level: Any) -> None:
    run = da.simulate(level, 3.0, inputs={"push": lambda t: da.where(t > 1.0, 10.0, 7.0)})
    assert run.statistics["friction"][-1] == {
        "coordinate": "rail.displacement", "time": pytest.approx(1.0, abs=1e-12), "now": "slides forward"
    }  # fmt: skip
    assert run["rail.displacement"][-1] == pytest.approx(0.5 * (10.0 / MASS - MU * G) * 4.0, abs=1e-11)


@pytest.mark.slow
def test_friction_in_two_joints_of_a_chain_agrees_with_the_regularised_law() -> None:
    exact, smooth = chain(), chain(speed=1e-6)
    run = da.simulate(exact, 3.5, every=0.5)
    reference = da.simulate(smooth, 3.5, every=0.5, method=da.Rosenbrock())
    assert {c["now"] for c in run.statistics["friction"]} == {"sticks", "slides forward", "slides backward"}
    for name in ("A.angle", "B.angle"):  # the regularised law is off by speed² / rate² and its method by 1e-8
        assert run[name] == pytest.approx(reference[name], abs=2e-5)
    assert np.abs(run["energy.balance"]).max() < 1e-9


@pytest.mark.slow
def test_four_joints_that_hold_one_freedom_stop_it_together() -> None:
    """All rates vanish at once; those at their limit and those that stick share the load. Dead centres are passed."""
    exact, smooth = four_bar(coulomb=0.3), four_bar(coulomb=0.3, speed=1e-5)
    begin = {"velocity": {"A.angle": 10.0}}
    run = da.simulate(exact, 6.0, start=da.assemble(exact, {"A.angle": 1.57}, **begin), every=0.1)
    reference = da.simulate(
        smooth, 6.0, start=da.assemble(smooth, {"A.angle": 1.57}, **begin), every=0.1, method=da.Rosenbrock()
    )
    stop = next(c["time"] for c in run.statistics["friction"] if c["now"] == "sticks")
    still = run.time > stop
    assert np.ptp(run["A.angle"][still]) < 1e-12 < 0.1 < np.ptp(reference["A.angle"][~still])
    assert run["A.angle"] == pytest.approx(reference["A.angle"], abs=1e-4)  # the regularised law creeps
    for joint in "ABCD":
        limit = 0.3 * 0.02 * np.hypot(run[f"{joint}.force.x"], run[f"{joint}.force.y"])
        assert (np.abs(run[f"f{joint}.effort"]) <= limit * (1 + 1e-6) + 1e-12).all()
    assert da.equilibrium(exact, start=states_of(exact, run)).friction["A.angle"] <= 1.0


def states_of(eqs: da.EquationsOfMotion, run: da.Record) -> State:
    return eqs.state([run[name][-1] for name in eqs.coordinates.names])


@pytest.mark.parametrize("speed", few([20.0, 3e3, 3e4]))
def test_a_slider_passes_its_dead_centre_without_sticking(speed: float) -> None:
    """Its rate is zero there while the crank turns: stopping it would take an impact."""
    m = da.Mechanism("slider-crank", planar=True, gravity=(0, 0))
    crank, rod = m.add_body("crank", mass=1.0, inertia=0.05), m.add_body("rod", mass=0.5, inertia=da.rod(0.5))
    slider = m.add_body("slider", mass=0.5, inertia=0.001)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(0, 0))
    m.add_revolute("B", crank.at(0.1, 0), rod.at(-0.25, 0))
    m.add_revolute("C", rod.at(0.25, 0), slider.at(0, 0))
    m.add_prismatic("P", m.ground.at(0, 0), slider.at(0, 0), axis=(1, 0))
    m.add_friction("rub", "P", coulomb=1.0, preload=5.0)
    eqs = da.equations(m)
    run = da.simulate(eqs, 20.0 / speed, start=da.assemble(eqs, {"A.angle": 0.5}, velocity={"A.angle": speed}))
    assert {c["now"] for c in run.statistics["friction"]} == {"slides forward", "slides backward"}
    assert len(run.statistics["friction"]) == 1 + int(run["A.angle"][-1] / np.pi) > 4  # one per dead centre
    assert run["A.rate"][-1] > speed / 2
    assert np.abs(run["energy.balance"]).max() < 1e-9 * (speed / 20.0) ** 2


def test_friction_looks_the_same_from_a_turned_world() -> None:
    """The same machine turned by an angle (gravity too) and mirrored: the same times and places."""
    places = []
    for angle in (0.0, 1.1):
        m = da.Mechanism("turned", planar=True, gravity=(G * np.sin(angle), -G * np.cos(angle)))
        body = m.add_body("block", mass=MASS, inertia=0.1)
        m.add_prismatic("rail", m.ground.at(0, 0), body.at(0, 0), axis=(np.cos(angle), np.sin(angle)))
        m.add_spring("spring", joint="rail", stiffness=50.0)
        m.add_friction("dry", "rail", coulomb=MU)
        eqs = da.equations(m)
        for side in (1.0, -1.0):
            run = da.simulate(eqs, 4.0, start=da.assemble(eqs, {"rail": side * 0.9}), every=0.5)
            places.append(side * run["rail.displacement"])
            times = [c["time"] for c in run.statistics["friction"]]
            assert times == pytest.approx(np.pi / 5 * np.arange(len(times)), abs=1e-9)
    for place in places[1:]:
        assert place == pytest.approx(places[0], abs=1e-10)


def test_both_motions_of_a_cylindrical_joint_stick_on_their_own() -> None:
    """Each feels the limit of its own: μ N along the axis, μ N r about it; N = m g, so both stops are closed forms."""
    m = da.Mechanism("shaft")
    body = m.add_body("shaft", mass=MASS, inertia=(0.1, 0.1, 0.1))
    m.add_cylindrical("cyl", m.ground.at(0, 0, 0), body.at(0, 0, 0), axis=(1, 0, 0))
    m.add_friction("dry", "cyl", coulomb=MU, radius=0.05)
    eqs = da.equations(m)
    speeds = {"cyl.displacement": 1.0, "cyl.angle": -2.0}
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs, velocity=speeds), every=0.5)
    assert run["cyl.displacement"][-1] == pytest.approx(1.0 / (2 * MU * G), abs=1e-12)
    assert run["cyl.angle"][-1] == pytest.approx(-(2.0**2) * 0.1 / (2 * MU * MASS * G * 0.05), abs=1e-12)
    assert [c["now"] for c in run.statistics["friction"][-2:]] == ["sticks", "sticks"]
    assert {"dry.displacement.effort", "dry.angle.sliding"} <= set(run.names)


# --- loops ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [None, 0.01])
def test_a_servo_stops_inside_its_dead_band(level: Any, dt: float | None) -> None:
    law = replace(gain_law(np.array([[50.0, 1e-9]]), READS, ["push"]), dt=dt)
    run = da.simulate(level, 5.0, start=da.assemble(level, {"rail": 1.0}), controller=law, every=0.05)
    assert run.statistics["friction"][-1]["now"] == "sticks"
    assert np.ptp(run["rail.displacement"][-10:]) < 1e-13
    assert abs(run["rail.displacement"][-1]) < MU * MASS * G / 50
    assert run["dry.effort"][-1] == pytest.approx(50 * run["rail.displacement"][-1], rel=1e-6)
    assert np.abs(run["energy.balance"]).max() < 1e-9
    if dt is None:  # a spring: the closed form
        assert run["rail.displacement"][-1] == pytest.approx(-(1.0 - 6 * MU * MASS * G / 50), abs=1e-7)


def test_a_sampled_loop_hears_a_kick(level: Any) -> None:
    kick = da.Event("kick", lambda s: s.t - 0.55, action=da.Switch(velocity={"rail": 2.0}))
    law = replace(gain_law(np.zeros((1, 2)), READS, ["push"]), dt=0.1)
    run = da.simulate(level, 3.0, events=kick, controller=law)
    assert run["rail.displacement"][-1] == pytest.approx(4.0 / (2 * MU * G), abs=1e-13)
    assert [c["now"] for c in run.statistics["friction"]] == ["sticks", "slides forward", "sticks"]


# --- rest, accelerations, linear models -------------------------------------------------------------------


def test_rest_inside_the_cone_is_an_equilibrium_that_says_its_share(slope: Any) -> None:
    for options in ({}, {"start": da.assemble(slope, {"rail": 2.0})}, {"hold": {"rail": 2.0}}):
        rest = da.equilibrium(slope, **options)
        assert rest.friction == {"rail.displacement": pytest.approx(np.tan(SLOPE) / MU, rel=1e-9)}
        assert rest["rail.displacement"] == pytest.approx(2.0 if options else 0.0, abs=1e-12)
    assert "rail.displacement sticks with 77.3% of its limit" in repr(rest)
    assert np.ptp(da.simulate(slope, 1.0, start=rest)["rail.displacement"]) < 1e-14


def test_a_block_rides_on_a_turntable_where_friction_holds_it() -> None:
    m = turntable(0.3)
    m.add_friction("dry", "rail", coulomb=MU, preload=20.0)
    steady = da.equilibrium(da.equations(m), rates={"pivot": 2.0})
    assert steady["rail.displacement"] == pytest.approx(0.3, abs=1e-12)
    assert steady.friction == {"rail.displacement": pytest.approx(MASS * 2.0**2 * 0.3 / (MU * 20.0), rel=1e-9)}


def test_rest_outside_the_cone_is_refused_with_the_limit() -> None:
    with raises(da.errors.ConvergenceError, "no-solution", "'dry'"):
        da.equilibrium(block(SLOPE, coulomb=0.2))


@pytest.mark.slow
def test_regularised_friction_is_named_where_it_cannot_hold_a_machine() -> None:
    with raises(da.errors.ConvergenceError, "no-solution", "'dry'", "speed"):
        da.equilibrium(block(SLOPE, coulomb=MU, speed=1e-3))


def test_a_free_pendulum_hangs_from_a_cart_that_sticks() -> None:
    m = da.Mechanism("cart", planar=True)
    cart, bob = m.add_body("cart", mass=2.0, inertia=0.1), m.add_body("bob", mass=1.0, inertia=0.01)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0), axis=(np.cos(0.1), np.sin(0.1)))
    m.add_revolute("pin", cart.at(0, 0), bob.at(0, 0.5))
    m.add_friction("dry", "rail", coulomb=0.3)
    eqs = da.equations(m)
    rest = da.equilibrium(eqs, guess={"pin": 0.3})
    assert rest["bob.x"] == pytest.approx(0.0, abs=1e-9)
    with warns(da.errors.ModelWarning, "linear-friction", "'dry'"):
        model = da.linearize(eqs, rest)
    assert isinstance(model, da.SecondOrder)
    assert model.coordinates == ("pin.angle",)
    assert model.modes().frequencies == pytest.approx([np.sqrt(G * 0.5 / 0.26)], rel=1e-9)
    assert "held by friction" in model.provenance["friction"]["rail.displacement"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = da.linearize(eqs, rest, friction=False, anywhere=True)
    assert len(free.coordinates) == 2
    found = da.forward_dynamics(eqs, rest)
    assert found["rail.speed"] == pytest.approx(0.0, abs=1e-12)
    assert found["dry.effort"] == pytest.approx(3.0 * G * np.sin(0.1), rel=1e-9)


def test_a_linear_model_says_what_friction_became(level: Any, slope: Any) -> None:
    with (
        pytest.warns(da.errors.ModelWarning),
        raises(da.errors.ModelError, "no-freedom", "'slope'"),
    ):
        da.linearize(slope)
    smooth = block(0.0, coulomb=MU, speed=0.1)
    with warns(da.errors.ModelWarning, "linear-friction", "'dry'"):
        model = da.linearize(smooth)
    assert pytest.approx(np.array([[MU * MASS * G / 0.1]]), rel=1e-9) == model.C
    steady = da.equilibrium(level, rates={"rail": 0.5}, inputs={"push": MU * MASS * G})
    with warns(da.errors.ModelWarning, "linear-friction", "'dry'"):
        model = da.linearize(level, steady, inputs={"push": MU * MASS * G})
    assert pytest.approx(np.zeros((1, 1)), abs=1e-12) == model.C


def test_friction_of_a_contact_is_said_to_be_regularised() -> None:
    m = da.Mechanism("box", planar=True)
    box = m.add_body("box", mass=1.0, inertia=0.01)
    m.add_contact("heel", m.ground.at(0, 0), box.at(0, 0), stiffness=1e4, friction=0.5)
    eqs = da.equations(m)
    with warns(da.errors.ModelWarning, "linear-friction", "'heel'"):
        da.linearize(eqs, da.assemble(eqs, {"box.y": -G / 1e4}), anywhere=True)


def test_accelerations_on_both_sides_of_the_cone(slope: Any) -> None:
    assert da.forward_dynamics(slope)["rail.speed"] == pytest.approx(0.0, abs=1e-12)
    sliding = block(SLOPE, coulomb=0.2)
    expected = -G * (np.sin(SLOPE) - 0.2 * np.cos(SLOPE))
    for method in ("udwadia_kalaba", "kkt", "null_space", "graph"):
        assert da.forward_dynamics(sliding, method=method)["rail.speed"] == pytest.approx(expected, rel=1e-9)
    moving = da.assemble(sliding, velocity={"rail": 1e-5})
    expected = -G * (np.sin(SLOPE) + 0.2 * np.cos(SLOPE))
    assert da.forward_dynamics(sliding, moving)["rail.speed"] == pytest.approx(expected, rel=1e-9)


# --- advice and mistakes -------------------------------------------------------------------


def test_many_steps_of_regularised_friction_give_advice() -> None:
    eqs = block(SLOPE, coulomb=MU, speed=1e-5)
    with warns(da.errors.SimulationWarning, "stiff-friction", "'dry'", "1e-05", "da.Rosenbrock") as warned:
        run = da.simulate(eqs, 1.0, every=0.5)
    assert warned[0].filename == __file__
    assert "Rosenbrock" in run.statistics["advice"]
    assert da.simulate(eqs, 1.0, every=0.5, method=da.Rosenbrock()).statistics["steps"] < 200


def test_advice_does_not_depend_on_the_speed_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    eqs, found = block(SLOPE, coulomb=MU, speed=1e-6), []
    for seconds in (0.0, 10.0):  # one step per call, and all of them in a few calls
        monkeypatch.setattr("dalembert.solve.integrate.run.CHUNK_SECONDS", seconds)
        with warns(da.errors.SimulationWarning, "stiff-friction", "10000"):
            found.append(da.simulate(eqs, 0.07, every=0.07).statistics["advice"])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "code", "shown"),
    [
        ({"coulomb": 0.3, "static": 0.2}, "out-of-range", ("static (0.2)", "coulomb (0.3)")),
        ({"coulomb": 0.3, "static": 0.4, "speed": 1e-3}, "conflicting-arguments", ("speed=",)),
        ({"coulomb": 0.3, "speed": 0.0}, "not-positive", ("speed", "0.0")),
    ],
)
def test_mistakes_are_named(options: dict[str, float], code: str, shown: tuple[str, ...]) -> None:
    with raises(da.errors.ModelError, code, "friction 'dry'", *shown):
        block(0.0, **options)


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_friction_whatever_the_load_stops_a_hinge_evenly(coordinates: str) -> None:
    """A balanced rod: I ω̇ = -T, so that it stops after I ω²/(2 T) and stays there; no reaction is needed."""
    m = da.Mechanism("rod")
    rod = m.add_body("rod", mass=2.0, inertia=(0.1, 0.2, 0.3))
    m.add_revolute("A", m.ground.at(0, 0, 0), rod.at(0, 0, 0))
    m.add_friction("dry", "A", effort=0.6)
    eqs = da.equations(m, coordinates=coordinates)
    assert eqs.friction_joints == ()
    run = da.simulate(eqs, 2.0, start=da.assemble(eqs, velocity={"A": 2.0}), every=0.01)
    assert run["A.angle"][-1] == pytest.approx(0.3 * 2.0**2 / (2 * 0.6), abs=1e-9)  # tolerance of the method
    assert abs(run["A.rate"][-1]) < 1e-10


# --- limits of the decision: the friction on the level block is at most 0.4 · 2 kg · 9.81 m/s² ------------------------


def decide(
    eqs: da.EquationsOfMotion, push: float, speed: float = 0.0, *, fired: bool = False, sliding: float = 0.0
) -> float:
    """+1, -1, or 0 where the block sticks."""
    full = exact(eqs)
    run = StickSlip(full)
    full = run._with(full, np.array([sliding]))
    state = full.state(np.zeros(full.nq), [speed, 0.0, 0.0])
    return float(run.decide(full, state, np.array([push]), (0,) if fired else ()).sliding[0])


@pytest.mark.parametrize(("before", "ends"), [(59, False), (60, True)])
def test_sixty_changes_at_one_instant_will_not_end(level: Any, before: int, ends: bool) -> None:
    full = exact(level)
    run = StickSlip(full)
    run.last, run.repeats = 0.0, before
    state = full.state(np.zeros(full.nq))
    with raises(da.errors.ConvergenceError, "stick-slip-cycle") if ends else nullcontext():
        run.change(full, state, np.zeros(1), (0,))


@pytest.mark.parametrize(("count", "tried"), [(6, 1 + 3**6), (7, 1)])
def test_all_combinations_of_six_coordinates_are_tried_together(count: int, tried: int) -> None:
    """No modes agree with friction: those of the search, then every combination."""
    judge = _Judge.__new__(_Judge)
    seen: list[Any] = []
    judge.free, judge.reached = list(range(count)), set()
    judge.run = SimpleNamespace(dry=[SimpleNamespace(name=f"rub{k}") for k in range(count)])  # type: ignore[assignment]
    judge.state = SimpleNamespace(t=0.0)  # type: ignore[assignment]
    judge.verdict = lambda modes: seen.append(tuple(modes)) or (None, None, -1, -1, False)  # type: ignore[method-assign, func-returns-value, return-value, assignment]
    with raises(da.errors.ConvergenceError, "no-solution"):
        judge.search(np.zeros(count), ())
    assert len(seen) == tried


@pytest.mark.parametrize("method", [da.GeneralizedAlpha(step=1e-4), da.Rosenbrock()], ids=["alpha", "rosenbrock"])
def test_implicit_steps_slide_where_the_row_of_friction_is_the_only_one(method: Any) -> None:
    """A pendulum of 1 kg and 1 m in joint coordinates: while it slides, no row is left. ω̇ = (m g/2 - τ) / (m/3)."""
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_friction("dry", "hinge", effort=0.5)
    eqs = da.equations(m, coordinates="joint")
    run = da.simulate(eqs, 0.01, start=da.assemble(eqs, {"hinge.angle": 0.0}), method=method, progress=False)
    assert run["hinge.rate"][-1] == pytest.approx(-3 * (G / 2 - 0.5) * 0.01, rel=1e-5)  # turns by 7e-4 rad


def test_friction_acts_on_flexible_bodies() -> None:
    """Its effort changes the accelerations of a state; what is judged of loads on flexible bodies belongs to runs."""
    m = da.read_model("tudor")
    smooth = da.equations(m, coordinates="joint")
    m.add_friction("dry", "elbow", effort=0.5)
    arm = da.equations(m, coordinates="joint")
    start = da.assemble(arm, {"shoulder.angle": 0.0, "elbow.angle": 0.0}, velocity={"elbow.angle": 1.0})
    solutions = (da.forward_dynamics(arm, start), da.forward_dynamics(smooth, smooth.state(start.q, start.v)))
    change = np.array([solutions[0][n] - solutions[1][n] for n in arm.speeds.names])
    M = da.tree.mass_matrix(arm, start)
    np.testing.assert_allclose(M @ change, -0.5 * np.eye(arm.nv)[1], atol=1e-9)  # of accelerations of 4e4 rad/s²
