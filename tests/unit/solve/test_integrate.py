"""simulate: sampling, inputs, progress, interruption, failures that keep what they had, the native code's cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import State
from dalembert.solve import Baumgarte
from dalembert.solve.integrate.inputs import read_inputs
from dalembert.solve.integrate.open_run import sample_times
from dalembert.solve.integrate.run import Run
from tests.helpers.findings import raises

METHODS: list[Any] = [
    da.DormandPrince(),
    da.RK4(step=1e-3),
    da.Rosenbrock(),
    da.GeneralizedAlpha(step=1e-3),
    da.Sundials(),
]


@pytest.fixture(scope="module")
def cart() -> da.EquationsOfMotion:
    """A cart on a line, pushed by an input."""
    m = da.Mechanism("cart", planar=True)
    body = m.add_body("cart", mass=m.parameter("mass", 2.0), inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), body.at(0, 0), axis=(1, 0))
    m.add_actuator("motor", joint="rail", input="force")
    m.add_actuator("other motor", joint="rail", input="wind")
    return da.equations(m)


@pytest.fixture(scope="module")
def four_bar() -> tuple[da.EquationsOfMotion, State]:
    m = da.Mechanism("four-bar", planar=True)
    lengths = {"crank": 0.2, "coupler": 0.6, "rocker": 0.5}
    crank, coupler, rocker = (m.add_body(n, mass=x, inertia=da.rod(x)) for n, x in lengths.items())
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_revolute("B", crank.at(0.1, 0), coupler.at(-0.3, 0))
    m.add_revolute("C", coupler.at(0.3, 0), rocker.at(0.25, 0))
    m.add_revolute("D", m.ground.at(0.7, 0), rocker.at(-0.25, 0))
    eqs = da.equations(m)
    return eqs, da.assemble(eqs, {"A.angle": np.pi / 2}, velocity={"A.angle": 10.0})


# --- samples --------------------------------------------------------------------------------------------------------


def test_sample_times_follow_every() -> None:
    assert sample_times(0.0, 1.0, 0.25, None) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert sample_times(1.0, 2.0, 0.4, None) == pytest.approx([1, 1.4, 1.8, 2.0])
    assert len(sample_times(0.0, 1.0, None, 0.01)) == 101
    assert len(sample_times(0.0, 1.0, None, None)) == 1001
    assert sample_times(0.0, 1.0, [0.1, 0.7], None).tolist() == [0.1, 0.7]


@pytest.mark.parametrize("method", METHODS)
def test_samples_at_arbitrary_times_are_as_exact_as_the_run(four_bar: Any, method: Any) -> None:
    eqs, start = four_bar
    times = np.sort(np.random.default_rng(0).uniform(0.0, 1.0, 25))
    run = da.simulate(eqs, 1.0, start=start, method=method, every=times)
    exact = da.simulate(eqs, 1.0, start=start, every=times, method=da.DormandPrince(rtol=1e-12, atol=1e-12))
    assert run.time.tolist() == times.tolist()
    grid = np.linspace(0.0, 1.0, 101)  # on the steps of the fixed-step methods
    usual = da.simulate(eqs, 1.0, start=start, method=method, every=grid)
    best = da.simulate(eqs, 1.0, start=start, every=grid, method=da.DormandPrince(rtol=1e-12, atol=1e-12))
    for name in ("A.angle", "rocker.x", "D.angle", "A.force.x"):
        error = np.abs(usual[name] - best[name]).max()
        assert np.abs(run[name] - exact[name]).max() < 2 * error + 1e-9


def test_all_methods_agree_on_the_four_bar(four_bar: Any) -> None:
    eqs, start = four_bar
    methods: list[tuple[Any, float]] = [
        (da.DormandPrince(rtol=1e-13, atol=1e-13), 1e-11),
        (da.RK4(step=5e-4), 1e-8),  # 2.4e-9, and 1.9e-10 at half the step
        (da.Rosenbrock(rtol=1e-10, atol=1e-10), 1e-9),
        # some 2000 steps of 1e-11 each, and a hundred times that by the motion's own sensitivity
        (da.Sundials(rtol=1e-11, atol=1e-11), 2e-6),
        (da.Sundials(rtol=1e-11, atol=1e-11, solver="idas"), 2e-6),
        (da.GeneralizedAlpha(step=1e-3), 4e-3),  # second order: 2.0e-3, and 4.9e-4 at half the step
    ]
    for method, tolerance in methods:
        end = da.simulate(eqs, 2.0, start=start, method=method, every=[0.0, 2.0])["A.angle"][-1]
        assert end == pytest.approx(31.27384320353983, abs=tolerance)  # Dormand-Prince 8 at 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_a_run_may_start_at_any_time(cart: da.EquationsOfMotion, method: Any) -> None:
    start = da.assemble(cart, {"rail": 0.0}, t=2.0)
    run = da.simulate(cart, 3.0, start=start, inputs={"force": lambda t: 12 * t}, method=method, every=[2.5, 3.0])
    # a = 6 t: v = 3 (t² - 4), x = t³ - 12 t + 16
    assert run["cart.vx"] == pytest.approx(3 * (run.time**2 - 4), abs=2e-6)
    assert run["cart.x"] == pytest.approx(run.time**3 - 12 * run.time + 16, abs=2e-6)


def test_a_record_has_statistics_status_and_provenance(four_bar: Any) -> None:
    eqs, start = four_bar
    run = da.simulate(eqs, 0.5, start=start, method=da.RK4(step=1e-3))
    assert run.status == "complete"
    assert run.statistics["steps"] == 500
    assert run.statistics["rejected"] == 0
    assert run.statistics["end"] == 0.5
    assert "RK4(step=0.001" in run.provenance["method"]
    assert run["residual.position"].max() < 1e-9
    assert np.abs(run["energy.balance"]).max() < 1e-5 * np.abs(run["energy"]).max()


def test_projection_leaves_the_square_of_the_drift_of_a_step(four_bar: Any) -> None:
    """Steps of 10 ms open the joints by 3e-8 m (seen without feedback); one Newton step leaves the square of it."""
    eqs, start = four_bar
    free = da.simulate(eqs, 0.05, start=start, method=da.RK4(step=1e-2, stabilise=Baumgarte(0, 0, 0)))
    drift = np.diff(free["residual.position"]).max()
    closed = da.simulate(eqs, 0.05, start=start, method=da.RK4(step=1e-2))
    assert drift > 1e-8
    assert closed["residual.position"].max() < 1e-3 * drift


# --- inputs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_inputs_are_numbers_functions_or_records(cart: da.EquationsOfMotion, method: Any) -> None:
    time = np.linspace(0.0, 2.0, 21)
    ramp = da.Record.from_channels(time, {"force": 12 * time, "idle": 0 * time})
    sources = ({"force": lambda t: 12 * t}, {"force": ramp}, ramp)
    start = da.assemble(cart, {"rail": 0.0})
    for source in sources:
        run = da.simulate(cart, 2.0, start=start, inputs=source, method=method, every=0.5)  # type: ignore[arg-type]
        assert run["cart.vx"] == pytest.approx(3 * run.time**2, abs=2e-6)
        assert run["force"] == pytest.approx(12 * run.time, abs=1e-12)
        assert run["wind"] == pytest.approx(0.0)
    run = da.simulate(cart, 2.0, start=start, inputs={"force": 4, "wind": -1.0}, method=method, every=0.5)
    assert run["cart.vx"] == pytest.approx(1.5 * run.time, abs=1e-7)


def zeros(name: str, end: float) -> da.Record:
    return da.Record.from_channels(np.array([0.0, end]), {name: np.zeros(2)})


def test_a_record_is_read_linearly_between_its_samples(cart: da.EquationsOfMotion) -> None:
    kink = da.Record.from_channels(np.array([0.0, 1.0, 2.0]), {"force": np.array([0.0, 2.0, 0.0])})
    run = da.simulate(cart, 2.0, start=da.assemble(cart, {"rail": 0.0}), inputs={"force": kink}, every=[0.5, 1.5, 2.0])
    assert run["force"] == pytest.approx([1.0, 1.0, 0.0], abs=1e-12)
    assert run["cart.vx"] == pytest.approx([0.125, 0.875, 1.0], abs=1e-8)


@pytest.mark.parametrize(
    ("inputs", "error", "finding"),
    [
        ({"forc": 1.0}, da.errors.ModelError, ("unknown-name", "'force'")),
        ({"force": "strong"}, da.errors.DataError, ("wrong-type", "'force'", "'strong'")),
        ({"force": float("nan")}, da.errors.DataError, ("not-finite", "'force'")),
        ({"force": lambda t: 1.0 if t > 1 else 0.0}, da.errors.ModelError, ("branch-on-symbol", "da.where")),
        ({"force": lambda t: [t, t]}, da.errors.ModelError, ("wrong-shape", "'force'")),
        ({"force": zeros("force", 0.5)}, da.errors.DataError, ("record-too-short", "0 to 0.5")),
        ({"force": zeros("push", 2.0)}, da.errors.DataError, ("unknown-name", "'force'")),
    ],
)
def test_wrong_inputs_are_refused_by_name(
    cart: da.EquationsOfMotion, inputs: Any, error: Any, finding: tuple[str, ...]
) -> None:
    with raises(error, *finding):
        da.simulate(cart, 1.0, start=da.assemble(cart, {"rail": 0.0}), inputs=inputs)


# --- progress, interruption, failure --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_progress_is_called_with_a_growing_fraction(four_bar: Any, method: Any) -> None:
    eqs, start = four_bar
    seen: list[float] = []
    da.simulate(eqs, 0.5, start=start, method=method, every=0.05, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("method", [da.RK4(step=1e-4), da.Sundials()])
def test_interruption_keeps_the_run_so_far(four_bar: Any, method: Any) -> None:
    eqs, start = four_bar

    def stop(fraction: float) -> None:
        if fraction > 0.2:
            raise KeyboardInterrupt

    with raises(da.errors.Interrupted, "interrupted") as caught:
        da.simulate(eqs, 2.0, start=start, method=method, every=0.01, progress=stop)
    record = caught.value.record
    assert 0.3 < record.time[-1] < 1.9
    assert record.status.startswith("interrupted")
    whole = da.simulate(eqs, 2.0, start=start, method=method, every=0.01)
    assert record["A.angle"] == pytest.approx(whole["A.angle"][: len(record)], abs=1e-12)


def test_a_run_that_leaves_finite_numbers_says_when_and_keeps_its_record() -> None:
    m = da.Mechanism("runaway", planar=True, gravity=0)
    body = m.add_body("body", mass=1.0, inertia=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), body.at(0, 0), axis=(1, 0))
    m.add_spring("push", joint="rail", law=lambda x, v: -10 * x**3)
    eqs = da.equations(m)
    start = da.assemble(eqs, {"rail": 1.0})
    with raises(da.errors.ConvergenceError, "diverged", "0.01 s") as caught:
        da.simulate(eqs, 5.0, start=start, method=da.RK4(step=0.01))
    assert caught.value.record.status.startswith("failed")
    assert len(caught.value.record) > 10
    assert np.isfinite(caught.value.record.data).all()
    with raises(da.errors.ConvergenceError, "step-too-small", "da.Rosenbrock"):
        da.simulate(eqs, 5.0, start=start)


def hinged_rod(stiffness: float = 0.0) -> Any:
    m = da.Mechanism("rod", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=1 / 12)
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", joint="hinge", input="torque")
    m.add_spring("spring", joint="hinge", stiffness=stiffness)
    return da.equations(m)


@pytest.mark.parametrize("method", [da.DormandPrince(max_steps=2000), da.Rosenbrock(max_steps=2000)])
def test_a_run_that_makes_no_progress_ends_when_its_budget_is_spent(method: Any) -> None:
    eqs = hinged_rod(stiffness=-1e10)
    with raises(da.errors.ConvergenceError, "too-many-steps", "2000", "t = 0 s", "max_steps=") as caught:
        da.simulate(eqs, 1.0, method=method)
    record = caught.value.record
    assert record.statistics["steps"] + record.statistics["rejected"] >= 2000
    assert record.time[-1] == record.statistics["end"] > 0  # the last state is there, though no sample was due


def test_an_exploding_input_ends_with_its_reason_and_the_record_so_far() -> None:
    eqs = hinged_rod()
    grow = {"torque": lambda t: da.math.exp(1000 * t)}
    with raises(da.errors.ConvergenceError, "too-many-steps", "rod.rate", "rad/s") as caught:
        da.simulate(eqs, 1.0, inputs=grow, method=da.DormandPrince(max_steps=5000))
    assert len(caught.value.record) > 5
    assert np.isfinite(caught.value.record.data).all()


def test_a_run_that_is_too_long_is_not_blamed_on_stiffness() -> None:
    with pytest.raises(da.errors.ConvergenceError) as caught:
        da.simulate(hinged_rod(), 1e18, method=da.DormandPrince(max_steps=3000))
    assert "to the end at 1e+18 s" in str(caught.value)
    assert "fell" not in str(caught.value)
    assert caught.value.record.time[-1] > 30  # where error control was once said to be stuck


def test_a_start_whose_joints_are_open_is_refused(four_bar: Any) -> None:
    eqs, start = four_bar
    q = np.array(start.q)
    q[0] += 0.1
    with raises(da.errors.AssemblyError, "joint-open"):
        da.simulate(eqs, 1.0, start=eqs.state(q))


def test_a_start_whose_speeds_open_the_joints_is_refused(four_bar: Any) -> None:
    eqs, start = four_bar
    v = np.array(start.v)
    v[3:6] *= 1.001  # of the coupler
    with raises(da.errors.AssemblyError, "joint-open"):
        da.simulate(eqs, 1.0, start=eqs.state(start.q, v))
    mended = da.assemble(eqs, start=eqs.state(start.q, v))
    assert da.simulate(eqs, 0.1, start=mended).status == "complete"


def beyond_reach() -> da.EquationsOfMotion:
    """A four-bar whose driver turns the crank further than coupler and rocker reach."""
    m = da.Mechanism("four-bar", planar=True)
    lengths = {"crank": 0.5, "coupler": 0.6, "rocker": 0.2}
    crank, coupler, rocker = (m.add_body(n, mass=x, inertia=da.rod(x)) for n, x in lengths.items())
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.25, 0))
    m.add_revolute("B", crank.at(0.25, 0), coupler.at(-0.3, 0))
    m.add_revolute("C", coupler.at(0.3, 0), rocker.at(0.1, 0))
    m.add_revolute("D", m.ground.at(0.7, 0), rocker.at(-0.1, 0))
    m.add_driver("turn", "A", lambda t: 0.8 + t)
    return da.equations(m)


@pytest.mark.parametrize("method", [da.DormandPrince(), da.DormandPrince(order=5), da.Rosenbrock()])
def test_a_driver_beyond_its_reach_is_named_soon(method: Any) -> None:
    eqs = beyond_reach()
    with raises(da.errors.ConvergenceError, "step-too-small", "'turn'") as caught:
        da.simulate(eqs, 3.0, start=da.assemble(eqs), method=method, every=0.01)
    record = caught.value.record
    limit = np.arccos((0.5**2 + 0.7**2 - 0.8**2) / (2 * 0.5 * 0.7)) - 0.8  # coupler and rocker in a line
    assert limit - 0.02 < record.time[-1] <= limit
    assert record.statistics["steps"] + record.statistics["rejected"] < 20_000


def test_when_a_run_gives_up_does_not_depend_on_the_speed_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    eqs, found = beyond_reach(), []
    for seconds in (0.0, 10.0):  # one step per call, and all of them in a few calls
        monkeypatch.setattr("dalembert.solve.integrate.run.CHUNK_SECONDS", seconds)
        with raises(da.errors.ConvergenceError, "step-too-small") as caught:
            da.simulate(eqs, 3.0, start=da.assemble(eqs), every=0.01)
        found.append((str(caught.value), caught.value.record.statistics["steps"], len(caught.value.record)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda e, s: da.simulate(e, 1.0, stop=3), "'stop'"),
        (lambda e, s: da.simulate(e, 1.0, input={}), "'inputs'"),
        (lambda e, s: da.simulate(e, 1.0, step=1e-3), "method="),
        (lambda e, s: da.simulate(e, 1.0, rtol=1e-3), "method="),
    ],
)
def test_unknown_keywords_are_refused_as_python_does(four_bar: Any, call: Any, shown: str) -> None:
    with raises(TypeError, None, shown):
        call(*four_bar)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda e: da.simulate("m", 1.0), "da.equations"),
        (lambda e: da.simulate(e, 1.0, start=[1]), "da.assemble"),
    ],
)
def test_arguments_of_another_kind_are_refused_with_the_function_that_makes_them(
    four_bar: Any, call: Any, named: str
) -> None:
    with raises(da.errors.ModelError, "wrong-type", named):
        call(four_bar[0])


@pytest.mark.parametrize(
    ("until", "options", "finding"),
    [
        (1.0, {"method": "RK4"}, ("wrong-type", "'RK4'", "da.DormandPrince")),
        (1.0, {"method": da.RK4}, ("wrong-type", "RK4", "da.DormandPrince")),
        (-1.0, {}, ("out-of-range", "until", "-1.0")),
        ("long", {}, ("not-a-number", "until", "'long'")),
        (1.0, {"every": 0}, ("not-positive", "every")),
        (1.0, {"every": [0.5, 0.1]}, ("not-increasing",)),
        (1.0, {"every": [0.5, 1.5]}, ("out-of-range", "0 and 1 s")),
    ],
)
def test_wrong_times_and_methods_are_refused(four_bar: Any, until: Any, options: Any, finding: tuple[str, ...]) -> None:
    with raises(da.errors.DataError, *finding):
        da.simulate(four_bar[0], until, **options)


def test_friction_that_does_not_settle_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    m = da.Mechanism("rub", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_friction("friction", "A", coulomb=0.2, radius=0.05, speed=0.05)
    eqs = da.equations(m)
    monkeypatch.setattr("dalembert.solve.integrate.run.FRICTION_SETTLED", -1.0)  # never met
    with raises(da.errors.ConvergenceError, "friction-unsettled") as caught:
        da.simulate(eqs, 1.0, start=da.assemble(eqs, {"A": 0.0}), method=da.RK4(step=1e-3))
    assert caught.value.record.status.startswith("failed")


@pytest.mark.parametrize("factor", [0.99, 1.01])
@pytest.mark.parametrize(
    ("part", "method", "code"),
    [
        ("change", da.GeneralizedAlpha(1e-3), "no-convergence"),
        ("q", da.RK4(1e-3), "joint-open"),
        ("h", da.DormandPrince(), "step-too-small"),
    ],
)
def test_a_step_is_refused_beyond_its_thresholds(part: str, method: Any, code: str, factor: float) -> None:
    eqs = hinged_rod()
    start = da.assemble(eqs, {eqs.measures.names[0]: 0.0})
    run = Run(eqs, method, read_inputs(eqs, None), (), 1.0, False)
    run.first = x = run.steps.begin(0.0, 1e-3, start.q, start.v, start.z, 0.0, start.lam)
    place, _ = run.where[part]
    if part == "change":
        x[place] = factor * 1e-8
    elif part == "q":
        x[place] += factor * 1e-5  # the rod moves off its hinge
    else:
        x[place] = 1e-14 / factor
    if factor < 1.0:
        run._check(x)
    else:
        with raises(da.errors.ConvergenceError, code):
            run._check(x)


# --- native code ----------------------------------------------------------------------------------------------------


def kernels(eqs: da.EquationsOfMotion, method: Any, inputs: Any = None, end: float = 1.0) -> Any:
    return Run(eqs, method, read_inputs(eqs, inputs), (), end, False).steps.kernel


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (da.RK4(step=1e-3), da.RK4(step=2e-3)),
        (da.DormandPrince(rtol=1e-6), da.DormandPrince(rtol=1e-9, max_step=0.1)),
        (da.Rosenbrock(step=1e-3), da.Rosenbrock(rtol=1e-6)),
        (da.GeneralizedAlpha(step=1e-3, rho=0.8), da.GeneralizedAlpha(step=1e-2, rho=0.1)),
    ],
)
def test_another_step_end_constant_or_parameter_builds_nothing(cart: Any, one: Any, other: Any) -> None:
    first = kernels(cart, one, {"force": 1.0})
    assert kernels(cart, other, {"force": 2.0}, end=7.0) is first
    assert kernels(cart.replace(mass=3.0), one, {"force": 1.0}) is first
    assert kernels(cart, one, {"force": lambda t: t}) is not first


def test_a_sweep_of_parameters_changes_the_motion(cart: da.EquationsOfMotion) -> None:
    start = da.assemble(cart, {"rail": 0.0})
    for mass in (1.0, 4.0):
        run = da.simulate(cart.replace(mass=mass), 1.0, start=start, inputs={"force": 2.0}, every=0.5)
        assert run["cart.vx"][-1] == pytest.approx(2.0 / mass, abs=1e-8)
