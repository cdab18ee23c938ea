"""Events: zero crossings that stop a run, switch something, or are only listed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ConvergenceError
from dalembert.equations import State
from dalembert.solve.integrate import events
from dalembert.solve.integrate.events import Crossing, EventMonitor, speeds_after
from tests.helpers.findings import raises

G = 9.81
METHODS = [
    pytest.param(da.DormandPrince(), id="DormandPrince"),
    pytest.param(da.RK4(step=1e-2), id="RK4"),
    pytest.param(da.Rosenbrock(), id="Rosenbrock"),
    pytest.param(da.GeneralizedAlpha(step=1e-3), id="GeneralizedAlpha"),
    pytest.param(da.Sundials(rtol=1e-11, atol=1e-11), id="Sundials"),
]


@pytest.fixture(scope="module")
def ball() -> da.EquationsOfMotion:
    """A ball that moves along a vertical line."""
    m = da.Mechanism("ball", planar=True)
    body = m.add_body("ball", mass=m.parameter("mass", 2.0), inertia=1.0, position=(0, 1))
    m.add_prismatic("guide", m.ground, body, at=(0, 0), axis=(0, 1))
    m.add_force("push", body.at(0, 0), (0, 1), input="push")
    m.add_sensor("height", da.expression(lambda s: s["ball.y"], "m"))
    return da.equations(m)


def floor(**options: object) -> da.Event:
    return da.Event("floor", lambda s: s["ball.y"], direction=-1, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_a_run_stops_at_the_time_of_the_crossing(ball: da.EquationsOfMotion, method: object) -> None:
    run = da.simulate(ball, 2.0, start=da.assemble(ball), method=method, every=0.1, events=[floor()])  # type: ignore[arg-type]
    fall = np.sqrt(2 / G)  # free fall is a polynomial: every method here is exact but for error control
    assert run.time[-1] == pytest.approx(fall, abs=1e-9)
    assert run["ball.y"][-1] == pytest.approx(0, abs=1e-9)
    assert run.status.startswith("stopped by event 'floor'")
    assert run.statistics["events"] == [{"name": "floor", "time": run.time[-1]}]


@pytest.mark.parametrize("method", [da.DormandPrince(max_step=0.1), da.RK4(step=1e-2), da.Rosenbrock(max_step=0.1)])
def test_crossings_up_to_a_time_do_not_count(ball: da.EquationsOfMotion, method: object) -> None:
    start = da.assemble(ball, velocity={"ball.vy": 5.0}, start=ball.state(da.assemble(ball).q))
    level = da.Event("level", lambda s: s["height"] - 2.0, after=0.5)  # rising at 0.28 s, falling at 0.74 s
    run = da.simulate(ball, 1.2, start=start, method=method, events=level, every=0.1)  # type: ignore[arg-type]
    rise = 5.0 / G
    assert run.time[-1] == pytest.approx(rise + np.sqrt(rise**2 - 2 / G), abs=1e-8)
    with raises(da.errors.ModelError, "not-a-number"):
        da.Event("level", lambda s: s.t, after="noon")  # type: ignore[arg-type]


def test_direction_distinguishes_rising_from_falling(ball: da.EquationsOfMotion) -> None:
    start = da.assemble(ball, velocity={"ball.vy": 5.0}, start=ball.state(da.assemble(ball).q))
    level = [
        da.Event(name, lambda s: s["height"] - 2.0, direction=direction, action="note")
        for name, direction in (("up", 1), ("down", -1), ("both", 0))
    ]
    run = da.simulate(ball, 1.2, start=start, events=level)
    rise = 5.0 / G
    half = np.sqrt(rise**2 - 2 / G)
    found = {
        name: [e["time"] for e in run.statistics["events"] if e["name"] == name] for name in ("up", "down", "both")
    }
    assert found["up"] == pytest.approx([rise - half], abs=1e-8)
    assert found["down"] == pytest.approx([rise + half], abs=1e-8)
    assert found["both"] == pytest.approx([rise - half, rise + half], abs=1e-8)
    assert run.status == "complete"
    assert run.time[-1] == 1.2


@pytest.mark.parametrize("method", METHODS[:4])
def test_a_ball_bounces_by_its_impact_law(ball: da.EquationsOfMotion, method: object) -> None:
    e = 0.8
    bounce = da.Switch(velocity=lambda s: {"ball.vy": -e * s["ball.vy"]})
    run = da.simulate(ball, 2.5, start=da.assemble(ball), method=method, every=0.05, events=[floor(action=bounce)])  # type: ignore[arg-type]
    fall = np.sqrt(2 / G)
    expected = [fall]
    while expected[-1] < 2.5:
        expected.append(expected[-1] + 2 * fall * e ** len(expected))
    times = [event["time"] for event in run.statistics["events"]]
    assert times == pytest.approx(expected[:-1], abs=1e-7)
    assert run["ball.y"].min() > -1e-7
    # what the impacts take counts as work
    assert np.abs(run["energy.balance"]).max() < 1e-4


def test_an_event_that_starts_on_zero_is_not_missed_and_not_found_twice(ball: da.EquationsOfMotion) -> None:
    ground = ball.state([0, 0, 0], [0, 0.2, 0])
    run = da.simulate(ball, 2.0, start=ground, method=da.RK4(step=0.1), events=[floor()])
    assert run.time[-1] == pytest.approx(0.4 / G, abs=1e-12)  # up and down again within the first step
    both = da.Event("through", lambda s: s["ball.y"], action="note")
    run = da.simulate(ball, 1.0, start=ground, method=da.RK4(step=0.01), events=[both])
    assert len(run.statistics["events"]) == 1


@pytest.mark.parametrize("method", METHODS[:3])
def test_bouncing_without_end_is_given_up_with_the_record_kept(ball: da.EquationsOfMotion, method: object) -> None:
    bounce = da.Switch(velocity=lambda s: {"ball.vy": -0.5 * s["ball.vy"]})
    with raises(da.errors.ConvergenceError, "endless-events", "'floor'", "1.35") as caught:
        da.simulate(ball, 3.0, start=da.assemble(ball), method=method, events=[floor(action=bounce)])  # type: ignore[arg-type]
    assert caught.value.record.time[-1] < 3 * np.sqrt(2 / G)  # the bounces end at three times the fall


def test_an_event_that_happens_too_often_ends_the_run(ball: da.EquationsOfMotion) -> None:
    with raises(da.errors.ConvergenceError, "too-many-events", "'tick'", "20"):
        tick = da.Event("tick", lambda s: da.sin(50 * s.t), action="note", limit=20)
        da.simulate(ball, 10.0, start=da.assemble(ball), method=da.RK4(step=0.01), events=[tick])


def test_a_switch_changes_parameters_and_inputs_and_the_record_shows_them(ball: da.EquationsOfMotion) -> None:
    change = da.Switch(parameters={"mass": 4.0}, inputs={"push": 4.0 * G})
    half = da.Event("half", lambda s: s["ball.y"] - 0.5, direction=-1, action=change)
    run = da.simulate(ball, 1.0, start=da.assemble(ball), every=0.01, events=[half])
    t = np.sqrt(1 / G)
    later = run.time > t
    assert run["push"][later] == pytest.approx(4.0 * G)
    assert run["push"][~later] == pytest.approx(0.0)
    assert run["ball.vy"][later] == pytest.approx(-G * t, abs=1e-9)  # weight and push cancel
    kinetic = np.where(later, 2.0, 1.0) * run["ball.vy"] ** 2
    assert run["energy.kinetic"] == pytest.approx(kinetic, abs=1e-12)
    assert np.abs(run["energy.balance"]).max() < 1e-8


def test_speeds_follow_a_driver_whose_speed_is_switched() -> None:
    m = da.Mechanism("wheel", planar=True)
    wheel = m.add_body("wheel", mass=1.0, inertia=1.0)
    m.add_revolute("A", m.ground.at(0, 0), wheel.at(0, 0))
    speed = m.parameter("speed", 2.0)
    m.add_driver("drive", "A.angle", lambda t: 1.0 + speed * (t - 0.5))
    eqs = da.equations(m)
    change = da.Event("gear", lambda s: s.t - 0.5, action=da.Switch(parameters={"speed": 5.0}))
    run = da.simulate(eqs, 1.0, start=da.assemble(eqs), events=change, every=0.1)
    later = run.time > 0.55
    assert run["A.rate"][later] == pytest.approx(5.0, abs=1e-9)
    assert run["A.angle"][-1] == pytest.approx(3.5, abs=1e-9)


def test_an_impact_on_one_body_goes_through_the_joints() -> None:
    """Two rods at rest in a line, the first rate made 1 by an impulse there: the second follows by momentum."""
    m = da.Mechanism("double", planar=True, gravity=0)
    a = m.add_body("a", mass=1.0, inertia=1 / 12)
    b = m.add_body("b", mass=1.0, inertia=1 / 12)
    m.add_revolute("A", m.ground.at(0, 0), a.at(-0.5, 0))
    m.add_revolute("B", a.at(0.5, 0), b.at(-0.5, 0))
    eqs = da.equations(m)
    hit = da.Event("hit", lambda s: s.t - 0.1, action=da.Switch(velocity={"A.rate": 1.0}))
    run = da.simulate(eqs, 0.2, start=da.assemble(eqs, {"A.angle": 0.0, "B.angle": 0.0}), events=hit, every=[0.0, 0.15])
    # straight rods: impulse J at A only, so the second rod's angular momentum about B vanishes: 1/3 w2 + 1/2 w1 = 0
    angle = run["b.rate"][1] / run["a.rate"][1]
    assert angle == pytest.approx(-1.5, abs=0.05)  # the angle has changed a little since
    after = eqs.state(da.assemble(eqs).q)
    v = speeds_after(eqs, after, {"A.rate": 1.0}, "test")
    assert v[2] == pytest.approx(1.0, abs=1e-12)
    assert v[5] == pytest.approx(-1.5, abs=1e-12)


def test_a_function_decides_at_the_event(ball: da.EquationsOfMotion) -> None:
    seen: list[float] = []

    def decide(state: State) -> object:
        seen.append(state["ball.vy"])
        return "stop" if len(seen) == 3 else da.Switch(velocity={"ball.vy": 1.0})

    run = da.simulate(ball, 5.0, start=da.assemble(ball), events=[floor(action=decide)])
    assert len(seen) == 3
    assert seen[1:] == pytest.approx([-1.0, -1.0], abs=1e-8)
    assert run.time[-1] == pytest.approx(np.sqrt(2 / G) + 4 / G, abs=1e-8)


def test_of_two_events_in_one_step_the_earlier_one_acts(ball: da.EquationsOfMotion) -> None:
    late = da.Event("late", lambda s: s["ball.y"] - 0.1)
    early = da.Event("early", lambda s: s["ball.y"] - 0.11)
    run = da.simulate(ball, 2.0, start=da.assemble(ball), method=da.RK4(step=0.2), events=[late, early])
    assert "'early'" in run.status


def test_events_on_time_sensors_and_parameters(ball: da.EquationsOfMotion) -> None:
    for function in (lambda s: s.t - 0.25, lambda s: s["height"] - 0.8, lambda s: s["ball.y"] * s["mass"] - 1.6):
        run = da.simulate(ball, 1.0, start=da.assemble(ball), events=[da.Event("e", function)])
        assert run.time[-1] < 0.3


@pytest.mark.parametrize(
    ("make", "finding"),
    [
        (lambda: da.Event("e", lambda s: s["bal.y"]), ("unknown-name", "'ball.y'")),
        (lambda: da.Event("e", lambda s: s["ball.y"] < 0.5), ("comparison-event",)),
        (lambda: da.Event("e", lambda s: 3.0), ("constant-event",)),
        (lambda: da.Event("e", lambda s: [s["ball.y"], s.t]), ("wrong-type",)),
        (lambda: da.Event("e", lambda s: 1.0 if s["ball.y"] > 0 else -1.0), ("branch-on-symbol", "da.where")),
        (lambda: da.Event("e", "height"), ("wrong-type",)),  # type: ignore[arg-type]
        (lambda: da.Event("e", lambda s: s.t, direction=2), ("unknown-choice",)),
        (lambda: da.Event("e", lambda s: s.t, action="halt"), ("unknown-choice",)),
        (lambda: "floor", ("wrong-type",)),
    ],
)
def test_a_wrong_event_says_so(ball: da.EquationsOfMotion, make: object, finding: tuple[str, ...]) -> None:
    with raises(da.errors.ModelError, *finding):
        da.simulate(ball, 1.0, start=da.assemble(ball), events=[make()])  # type: ignore[operator]


@pytest.mark.parametrize(
    ("switch", "error", "message"),
    [
        (da.Switch(velocity={"ball.vz": 1.0}), da.errors.ModelError, "unknown-name"),
        (da.Switch(velocity={"ball.rate": 1.0}), da.errors.ModelError, "no-solution"),
        (da.Switch(velocity=lambda s: 3.0), da.errors.ModelError, "wrong-type"),  # type: ignore[arg-type,return-value]
        (da.Switch(parameters={"mas": 1.0}), da.errors.ModelError, "unknown-name"),
        (da.Switch(inputs={"pull": 1.0}), da.errors.ModelError, "unknown-name"),
    ],
)
def test_a_wrong_switch_fails_at_the_event_with_the_record_kept(
    ball: da.EquationsOfMotion, switch: da.Switch, error: type[Exception], message: str
) -> None:
    with raises(error, message) as caught:
        da.simulate(ball, 1.0, start=da.assemble(ball), every=0.1, events=[floor(action=switch)])
    assert len(caught.value.record.time) == 5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "method", [da.DormandPrince(rtol=1e-12, atol=1e-12), da.RK4(step=5e-4), da.Rosenbrock(step=1e-3)]
)
def test_events_find_the_period_of_a_pendulum_that_starts_at_rest(method: object) -> None:
    """peers.md P1: the rate is zero at the start, after half a period and after a whole one."""
    m = da.Mechanism("pendulum", planar=True)
    bob = m.add_body("bob", mass=1.0, inertia=0.0)
    m.add_revolute("A", m.ground.at(0, 0), bob.at(-1, 0))
    eqs = da.equations(m)
    turn = da.Event("turn", lambda s: s["A.rate"], action="note")
    run = da.simulate(eqs, 3.0, start=da.assemble(eqs, {"A": np.pi}), method=method, events=turn)  # type: ignore[arg-type]
    period = 2.3678419475762
    assert [e["time"] for e in run.statistics["events"]] == pytest.approx([period / 2, period], abs=1e-9)


@pytest.mark.parametrize(("last", "ends"), [(0.9 * 1e-6, True), (1.1 * 1e-6, False)])
def test_intervals_that_shrink_below_a_microsecond_will_not_end(last: float, ends: bool) -> None:
    monitor = EventMonitor([da.Event("bounce", lambda s: s.t)], SimpleNamespace(starts={"events": (0, 1)}))
    gaps = last * 2.0 ** np.arange(7, -1, -1)
    first, *others, final = np.cumsum([1.0, *gaps])
    for time in (first, *others):
        monitor.note(Crossing(0, np.array([time]), [0]))
    if ends:
        with raises(ConvergenceError, "endless-events"):
            monitor.note(Crossing(0, np.array([final]), [0]))
    else:
        monitor.note(Crossing(0, np.array([final]), [0]))


@pytest.mark.parametrize(("off", "refused"), [(0.9e-8, False), (4e-8, True)])
def test_speeds_after_a_jump_fit_the_joints_to_eight_digits(off: float, refused: bool) -> None:
    """A hinge turns as its rod does; least squares leave half of a contradiction: 1e-8 of 1 + the rate is 2e-8."""
    m = da.Mechanism("rod", planar=True, gravity=0)
    m.add_revolute("A", m.ground.at(0, 0), m.add_body("a", mass=1.0, inertia=1 / 12).at(-0.5, 0))
    eqs = da.equations(m)
    wanted = {"A.rate": 1.0, "a.rate": 1.0 + 2.0 * off}
    state = eqs.state(da.assemble(eqs).q)
    if refused:
        with raises(da.errors.ModelError, "no-solution"):
            speeds_after(eqs, state, wanted, "test")
    else:
        assert speeds_after(eqs, state, wanted, "test")[2] == pytest.approx(1.0, abs=2.0 * off)


def armed(value: float, change: float = 1.0, ahead: float = 0.0) -> float:
    """Side of an event function of this value whose next instants, from `ahead` seconds on, differ by a change."""
    monitor = EventMonitor([da.Event("one", lambda s: s.t)], SimpleNamespace(starts={"events": (2, 3)}))
    reach = lambda x, t: np.array([t, x[1], x[2] + (change if t >= ahead else 0.0)])  # noqa: E731
    monitor.arm(SimpleNamespace(reach=reach), np.array([0.0, 1.0, value]))
    return float(monitor.side[0])


@pytest.mark.parametrize(("ahead", "side"), [(0.9e-3, 1.0), (1.1e-3, 0.0)])
def test_the_side_of_an_event_on_zero_is_sought_for_a_millisecond(ahead: float, side: float) -> None:
    assert armed(0.0, ahead=ahead) == side


@pytest.mark.parametrize(("apart", "which"), [(0.5e-12, [0, 1]), (2e-12, [0])])
def test_events_within_ten_times_the_accuracy_of_their_time_happen_together(apart: float, which: list[int]) -> None:
    """Near t = 0, where the time has no rounding: 1e-13 s each."""
    events = [da.Event(name, lambda s: s.t) for name in ("one", "two")]
    monitor = EventMonitor(events, SimpleNamespace(starts={"events": (2, 4)}))
    zeros = np.array([1e-3, 1e-3 + apart])
    reach = lambda x, t: np.array([t, 1.0, *(t - zeros)])  # noqa: E731
    before, after = reach(None, 0.0), reach(None, 2e-3)
    monitor.side = np.array([-1.0, -1.0])
    found = monitor.find(SimpleNamespace(reach=reach), before, after[None, :])
    assert found is not None and found.which == which


def test_an_event_is_located_to_the_least_rounding_that_the_search_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 1e6 s the rounding of the time is far above 1e-13 s."""
    given: list[float] = []
    brentq = events.brentq
    monkeypatch.setattr(events, "brentq", lambda *a, rtol, **k: given.append(rtol) or brentq(*a, rtol=rtol, **k))
    monitor = EventMonitor([da.Event("one", lambda s: s.t)], SimpleNamespace(starts={"events": (2, 3)}))
    zero = 1e6 + 1 / 3
    reach = lambda x, t: np.array([t, 1.0, (t - zero) ** 3])  # noqa: E731
    found = monitor._locate(SimpleNamespace(reach=reach), reach(None, 1e6), reach(None, 1e6 + 1), 0, -1.0)
    assert abs(found - zero) <= 4.5 * np.finfo(float).eps * 1e6 + 1e-13
    with pytest.raises(ValueError, match="rtol"):
        brentq(lambda t: t - 0.5, 0.0, 1.0, rtol=0.9 * given[0])
