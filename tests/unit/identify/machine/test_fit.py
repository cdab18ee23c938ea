"""Fitting a machine: derivatives, the linear algebra of the chain, arguments, undetermined parameters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ConvergenceError, DataError, ModelError
from dalembert.expressions import Kernel
from dalembert.identify import IdentificationWarning, fit
from dalembert.identify.likelihood.identifiability import judge_information
from dalembert.identify.machine.fitted import correlate_neighbours, find_lost_outputs
from dalembert.identify.machine.friction_rates import rates_function
from dalembert.identify.machine.records import read_tests
from dalembert.identify.machine.shooting import Shooter, ShootingSteps, cut_segments, find_tangents
from dalembert.identify.model.quality import Fit
from dalembert.numerics.chain_least_squares import Chain, compress, predict, reduce, solve, solve_bounded
from dalembert.solve.constrained.solve import forward_function
from tests.helpers.findings import found_in, raises, warns


def pendulum(length: float = 1.0, damping: float = 0.05, mass: float = 1.0) -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=True)
    weight = m.parameter("mass", mass)
    bob = m.add_body("bob", mass=weight, inertia=0.01 * weight)
    m.add_revolute("A", m.ground.at(0, 0), bob.at(0, m.parameter("length", length)))
    m.add_friction("bearing", "A", viscous=m.parameter("damping", damping))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


def four_bar(mass: float = 0.6, friction: float = 0.02, length: float = 0.5) -> da.EquationsOfMotion:
    m = da.Mechanism("four-bar", planar=True)
    coupler_mass, rocker = m.parameter("coupler.mass", mass), m.parameter("rocker.length", length)
    crank = m.add_body("crank", mass=0.2, inertia=0.2 * 0.2**2 / 12)
    coupler = m.add_body("coupler", mass=coupler_mass, inertia=coupler_mass * 0.6**2 / 12)
    rod = m.add_body("rod", mass=0.5, inertia=0.5 * 0.5**2 / 12)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_revolute("B", crank.at(0.1, 0), coupler.at(-0.3, 0))
    m.add_revolute("C", coupler.at(0.3, 0), rod.at(rocker / 2, 0))
    m.add_revolute("D", m.ground.at(0.7, 0), rod.at(-rocker / 2, 0))
    m.add_friction("bearing", "D", viscous=m.parameter("friction", friction))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    m.add_sensor("accelerometer", da.acceleration(coupler.at(0, 0)))
    return da.equations(m)


def swing(eqs: da.EquationsOfMotion, until: float = 6.0, every: float = 0.05, angle: float = 1.0) -> da.Record:
    return da.simulate(eqs, until, start=da.assemble(eqs, {"A.angle": angle}), every=every)


def noisy(run: da.Record, channel: str, size: float, seed: int) -> da.Record:
    noise = size * np.random.default_rng(seed).normal(size=len(run))
    return da.Record.from_channels(run.time, {channel: run[channel] + noise}, {channel: run.units[channel]})


# ---- derivatives


def test_sensitivities_of_a_closed_loop_equal_differences_of_whole_simulations() -> None:
    eqs = four_bar()
    start = da.assemble(eqs, {"A.angle": 1.0}, velocity={"A.angle": 4.0})
    run = da.simulate(eqs, 0.2, start=start, inputs={"torque": 0.1}, every=0.01)
    tests = read_tests(eqs, run, ["encoder", "accelerometer"], ["torque"], "linear")
    chosen = [eqs.parameters.index[name] for name in ("coupler.mass", "rocker.length", "friction")]
    steps = ShootingSteps(eqs, tests.outputs, chosen, 2, 2)
    shooter = Shooter(steps, cut_segments(tests, [10], "linear"))
    names = [*eqs.coordinates.names, *eqs.speeds.names]
    x = shooter.starts(np.array([run[names][k] for k in shooter.segments.first]), eqs.p)
    seeds = np.zeros((len(x), steps.size, 5))
    for j, state in enumerate(x):
        seeds[j, :, :2] = find_tangents(eqs, state, eqs.p, 0.0, np.ones(steps.nx))
    seeds[:, :, 2:] = shooter.start_slopes(x, eqs.p)
    slopes = shooter.shoot_with_slopes(x, seeds, eqs.p)[3]
    h = 1e-4  # four-point differences: truncation h⁴, rounding 1e-14/h; the projection itself closes to ε = 1e-8
    for k in range(5):
        estimate: Any = 0.0
        for shift, weight in ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12)):
            p = eqs.p.copy()
            moved = x.copy()
            if k < 2:
                moved = x + shift * h * seeds[:, :, k]
            else:
                p[chosen[k - 2]] += shift * h
            estimate = estimate + weight / h * shooter.shoot(shooter.starts(moved, p), p)[1]
        size = np.abs(slopes[..., k]).max()
        np.testing.assert_allclose(estimate, slopes[..., k], atol=2e-6 * size)


def test_segments_of_a_true_machine_meet_and_follow_its_own_simulation() -> None:
    eqs = pendulum()
    run = swing(eqs)
    tests = read_tests(eqs, run, None, None, "linear")
    shooter = Shooter(ShootingSteps(eqs, tests.outputs, [0], 2, 4), cut_segments(tests, [30], "linear"))
    names = [*eqs.coordinates.names, *eqs.speeds.names]
    x = shooter.starts(np.array([run[names][k] for k in shooter.segments.first]), eqs.p)
    states, y = shooter.shoot(x, eqs.p)
    assert np.nanmax(np.abs(y - shooter.segments.y)) < 1e-6
    np.testing.assert_allclose(states[:-1, -1], x[1:], atol=1e-6)


# ---- linear algebra


def test_elimination_of_a_chain_solves_the_same_least_squares_as_one_dense_matrix() -> None:
    random = np.random.default_rng(2)
    S, n, m, k, weight, damping = 5, 2, 3, 9, 50.0, 0.3
    linked = np.array([True, True, False, True, False])
    data, links = random.normal(size=(S, k, n + m + 1)), random.normal(size=(S, n, n + m + 1))
    chain = Chain(compress(data), links, linked, n, m)
    d_states, d_theta = random.uniform(0.5, 1.0, (S, n)), random.uniform(0.5, 1.0, m)
    states, theta, left = solve(
        chain, reduce(chain, weight, damping, d_states, d_theta), np.full(m, -9.0), np.full(m, 9.0)
    )
    rows: list[Any] = []
    for j in range(S):
        for row in data[j]:
            full = np.zeros(S * n + m + 1)
            full[j * n : j * n + n], full[S * n :] = row[:n], row[n:]
            rows.append(full)
        for i in range(n if linked[j] else 0):
            full = np.zeros(S * n + m + 1)
            full[j * n : j * n + n], full[S * n :] = links[j, i, :n], links[j, i, n:]
            full[(j + 1) * n + i] -= 1.0
            rows.append(weight * full)
    own = np.sqrt(damping) * np.concatenate((d_states.reshape(-1), d_theta))
    matrix = np.vstack((rows, np.hstack((np.diag(own), np.zeros((len(own), 1))))))
    best = np.linalg.lstsq(matrix[:, :-1], -matrix[:, -1], rcond=None)[0]
    np.testing.assert_allclose(np.concatenate((states.reshape(-1), theta)), best, rtol=1e-10, atol=1e-12)
    residual = matrix[:, :-1] @ best + matrix[:, -1]
    assert left == pytest.approx(residual @ residual, rel=1e-10)
    total, gaps = predict(chain, states, theta)
    penalty = weight**2 * (gaps**2).sum() + ((own * best) ** 2).sum()
    assert total + penalty == pytest.approx(left, rel=1e-8)


def test_bounds_hold_a_least_squares_solution() -> None:
    R = np.array([[2.0, 1.0], [0.0, 1.0]])
    free = solve_bounded(R, np.array([-4.0, -1.0]), np.full(2, -9.0), np.full(2, 9.0))
    np.testing.assert_allclose(free, [1.5, 1.0])
    held = solve_bounded(R, np.array([-4.0, -1.0]), np.full(2, -9.0), np.array([1.0, 9.0]))
    np.testing.assert_allclose(held, [1.0, 1.5])  # min (2 + b - 4)² + (b - 1)² -> b = 1.5


def test_an_undetermined_direction_is_named_by_the_known_combination() -> None:
    ratio = judge_information(np.array([[1e3, -1e3], [0.0, 0.0]]), ["m", "J"])
    assert [one.problem for one in ratio.findings] == ["the data determine only the ratio of m and J."]
    assert np.isinf(np.diag(ratio.covariance)).all()
    product = judge_information(np.array([[1e3, 1e3], [0.0, 1e-9]]), ["m", "g"])
    assert [one.problem for one in product.findings] == ["the data determine only the product of m and g."]
    blind = judge_information(np.diag([1e3, 0.0]), ["k", "c"])
    assert [one.where["parameters"] for one in blind.findings] == [("c",)]
    assert np.sqrt(blind.covariance[0, 0]) == pytest.approx(1e-3)
    assert judge_information(np.diag([1e3, 10.0]), ["k", "c"]).findings == ()


def test_a_machine_follows_an_output_unless_the_fit_is_poor_and_its_errors_are_a_motion() -> None:
    def lost(percent: float, correlation: float) -> int:
        e = np.array([correlation, 1.0, 0.0])[:, None]
        assert correlate_neighbours([e[:, 0]]) == pytest.approx(correlation)
        agreement = Fit(percent=np.array([percent]), rms=np.ones(1), outputs=("encoder",), kind="simulation", units={})
        return len(find_lost_outputs(agreement, (e,)))

    assert lost(50.0 - 1.0, 0.5 + 0.01) == 1
    assert lost(50.0 + 1.0, 0.5 + 0.01) == 0
    assert lost(50.0 - 1.0, 0.5 - 0.01) == 0


# ---- fits


def test_a_pendulum_gives_its_length_and_damping_back() -> None:
    truth = pendulum(length=0.8, damping=0.04)
    result = fit(pendulum(length=1.0, damping=0.0), swing(truth), ["length", "damping"], outputs="encoder")
    assert result["length"] == pytest.approx(0.8, rel=1e-5)
    assert result["damping"] == pytest.approx(0.04, rel=1e-4)
    assert result.status == "converged"
    assert result.fit["encoder"] > 99.99
    assert result.start[0]["A.angle"] == pytest.approx(1.0, abs=1e-4)
    assert dict(zip(result.equations.parameters.names, result.equations.p, strict=True))["length"] == result["length"]
    again = da.simulate(result.equations, 6.0, start=result.start[0], every=0.05)
    np.testing.assert_allclose(again["encoder"], result.simulated[0]["encoder"], atol=1e-4)
    assert "length" in result.table() and "converged" in repr(result)


def test_repeated_tests_share_parameters_and_keep_their_own_starts() -> None:
    truth = pendulum(length=0.8)
    runs = [swing(truth, 4.0, angle=angle) for angle in (1.0, -0.5)]
    result = fit(pendulum(), runs, ["length"], outputs="encoder")
    assert result["length"] == pytest.approx(0.8, rel=1e-5)
    assert [round(state["A.angle"], 3) for state in result.start] == [1.0, -0.5]


def test_gaps_in_outputs_and_uneven_samples_are_no_obstacle() -> None:
    truth = pendulum(length=0.8)
    run = swing(truth)
    keep = np.delete(np.arange(len(run)), [7, 30, 31, 80])
    values = np.array(run["encoder"][keep])
    values[20:30] = np.nan
    record = da.Record.from_channels(run.time[keep], {"encoder": values})
    result = fit(pendulum(), record, ["length", "damping"])
    assert result["length"] == pytest.approx(0.8, rel=1e-5)
    assert np.isnan(result.errors[0]).sum() == 10
    with raises(DataError, "not-finite"):
        result.residuals()


def test_other_names_of_channels_are_mapped_and_a_held_input_drives() -> None:
    truth = pendulum(length=0.8)
    t = np.arange(0.0, 5.0, 0.05)
    torque = np.where(np.floor(t / 0.5) % 2 > 0, 1.5, -1.0)
    parts = []
    state = da.assemble(truth, {"A.angle": 0.0})
    for a, value in zip(t[:-1], torque[:-1], strict=True):
        run = da.simulate(truth, a + 0.05, start=state, inputs={"torque": float(value)}, every=0.05)
        parts.append(run["encoder"][0])
        q, v = (run[list(c.names)][-1] for c in (truth.coordinates, truth.speeds))
        state = truth.state(q, v, t=a + 0.05)
    record = da.Record.from_channels(t[:-1], {"volt": torque[:-1], "ch1": parts})
    result = fit(
        pendulum(), record, {"length": 1.1, "damping": 0.02}, outputs={"encoder": "ch1"}, inputs={"torque": "volt"},
        hold="zero",
    )  # fmt: skip
    assert result["length"] == pytest.approx(0.8, rel=1e-4)
    assert result.simulated[0].names == ("ch1", "volt")
    assert len(result.residuals().outputs) == 1


def test_mass_and_damping_of_a_free_pendulum_are_known_only_by_their_ratio() -> None:
    record = noisy(swing(pendulum()), "encoder", 1e-3, 0)
    with warns(IdentificationWarning, "undetermined-parameters", "ratio", "mass", "damping"):
        result = fit(pendulum(mass=1.2), record, ["length", "mass", "damping"])
    assert result["length"] == pytest.approx(1.0, abs=5 * result.deviation("length"))
    assert result["damping"] / result["mass"] == pytest.approx(0.05, rel=0.02)
    assert np.isinf(result.deviation("mass")) and np.isinf(result.deviation("damping"))
    assert result.deviation("length") < 1e-3
    assert any(note.startswith("warning") for note in result.notes)


def test_a_parameter_without_influence_is_named_and_left_where_it_was() -> None:
    record = noisy(swing(pendulum(damping=0.0), 4.0), "encoder", 1e-3, 0)
    with warns(IdentificationWarning, "undetermined-parameters") as caught:
        result = fit(pendulum(damping=0.0, mass=3.0), record, ["length", "mass"])
    (one,) = found_in(caught, "undetermined-parameters")
    assert one.where["parameters"] == ("mass",) and one.evidence["deviation"] == np.inf
    assert result["mass"] == pytest.approx(3.0, rel=1e-2)


def rubbing(coulomb: float, length: float) -> da.EquationsOfMotion:
    m = da.Mechanism("rubbing pendulum", planar=True)
    bob = m.add_body("bob", mass=1.0, inertia=0.01)
    m.add_revolute("A", m.ground.at(0, 0), bob.at(0, m.parameter("length", length)))
    m.add_friction("bearing", "A", coulomb=m.parameter("coulomb", coulomb), radius=0.02, speed=0.05)
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


def test_dry_friction_that_grows_with_the_reaction_is_found() -> None:
    record = noisy(swing(rubbing(0.3, 1.0), 4.0, 0.04), "encoder", 1e-3, 0)
    result = fit(rubbing(0.1, 0.8), record, ["coulomb", "length"])
    assert np.abs((result.values - [0.3, 1.0]) / result.deviations).max() < 3.5
    assert result.deviation("coulomb") < 0.02 * 0.3


def test_rates_under_dry_friction_equal_those_of_the_simulation() -> None:
    eqs = rubbing(0.3, 1.0)
    state = da.assemble(eqs, {"A.angle": 1.0}, velocity={"A.angle": 0.4})
    at = (state.q, state.v, state.z, np.zeros(0), eqs.p, 0.0)
    settled = Kernel(forward_function(eqs))(*at, np.zeros(len(eqs.rows)))
    ours = Kernel(rates_function(eqs))(*at, 1.05 * settled[4])
    np.testing.assert_allclose(ours[1], settled[1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours[3], settled[4], rtol=1e-9, atol=1e-9)


def test_a_body_in_space_is_found_from_the_track_of_one_point_without_any_start() -> None:
    def spinning(length: float) -> da.EquationsOfMotion:
        m = da.Mechanism("spatial pendulum")
        body = m.add_body("body", mass=1.0, inertia=(0.02, 0.03, 0.04))
        m.add_spherical("S", m.ground.at(0, 0, 0), body.at(0, 0, m.parameter("length", length)))
        m.add_sensor("tip", da.position(body.at(0.1, 0, 0)))
        return da.equations(m)

    truth = spinning(0.5)
    start = da.assemble(truth, velocity={"body.wx": 2.0, "body.wy": 1.0, "body.wz": 3.0})
    run = da.simulate(truth, 4.0, start=start, every=0.03)
    random = np.random.default_rng(0)
    track = {f"tip.{axis}": run[f"tip.{axis}"] + 1e-3 * random.normal(size=len(run)) for axis in "xyz"}
    result = fit(spinning(0.7), da.Record.from_channels(run.time, track), ["length"], outputs="tip")
    assert abs(result["length"] - 0.5) < 3.5 * result.deviation("length")
    assert result.fit.percent.min() > 95.0


def test_a_channel_that_is_not_followed_is_warned_of() -> None:
    run = swing(pendulum(), 3.0)
    record = da.Record.from_channels(run.time, {"encoder": run["encoder"], "rate": -run["A.rate"]})
    with warns(IdentificationWarning, "poor-fit", "start="):
        fit(pendulum(), record, ["length"], outputs={"encoder": "encoder", "A.rate": "rate"})


def test_a_bound_holds_and_is_noted() -> None:
    result = fit(pendulum(length=0.95), swing(pendulum(length=0.8), 3.0), ["length"], outputs="encoder",
                 bounds={"length": (0.9, 2.0)})  # fmt: skip
    assert result["length"] == pytest.approx(0.9)
    assert any("lower bound" in note for note in result.notes)


def test_given_weights_are_kept_and_judged() -> None:
    record = noisy(swing(pendulum(length=0.8)), "encoder", 2e-3, 1)
    result = fit(pendulum(), record, ["length"], weights={"encoder": 1 / 1e-3})
    assert result.noise[0] == pytest.approx(1e-3)
    assert any("mean square of the weighted residuals" in note for note in result.notes)


def test_an_interrupted_fit_keeps_the_best_so_far() -> None:
    calls = []

    def stop(fraction: float) -> None:
        calls.append(fraction)
        if len(calls) == 4:
            raise KeyboardInterrupt

    result = fit(pendulum(), swing(pendulum(length=0.8), 4.0), ["length"], outputs="encoder", progress=stop)
    assert result.status.startswith("stopped after 3")
    assert abs(result["length"] - 0.8) < 0.2


def test_progress_grows_to_one() -> None:
    seen: list[float] = []
    fit(pendulum(), swing(pendulum(length=0.8), 3.0), ["length"], outputs="encoder", progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == 1.0


@pytest.mark.parametrize(
    ("options", "error", "code", "shown"),
    [
        ({"parameters": ["lenght"]}, ModelError, "unknown-name", "'length'"),
        ({"parameters": []}, DataError, "empty", ""),
        ({"parameters": ["length", "length"]}, DataError, "duplicate", "length"),
        ({"outputs": ["encodr"]}, ModelError, "unknown-name", "'encoder'"),
        ({"outputs": {"encoder": "ch9"}}, DataError, "unknown-name", "'ch9'"),
        ({"inputs": ["force"]}, ModelError, "unknown-name", "'force'"),
        ({"bounds": {"mass": (0, 1)}}, DataError, "unknown-name", "'mass'"),
        ({"bounds": {"length": (2, 1)}}, DataError, "out-of-range", "length"),
        ({"weights": {"encoder": -1.0}}, DataError, "not-positive", "encoder"),
        ({"shooting": 0}, DataError, "not-a-count", "shooting"),
        ({"hold": "cubic"}, DataError, "unknown-choice", "hold"),
        ({"start": 3.0}, DataError, "wrong-type", "start"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], error: type[Exception], code: str, shown: str) -> None:
    run = swing(pendulum(), 1.0)
    arguments = {"parameters": ["length"], "outputs": "encoder", **options}
    with raises(error, code, shown):
        fit(pendulum(), run, **arguments)


def test_a_record_without_any_channel_of_the_machine_says_how_to_map() -> None:
    record = da.Record.from_channels(np.arange(20.0), {"a": np.arange(20.0)})
    with raises(DataError, "missing-argument", "outputs="):
        fit(pendulum(), record, ["length"])


def test_steps_too_coarse_for_the_machine_end_in_an_error() -> None:
    m = da.Mechanism("stiff", planar=True)
    slider = m.add_body("slider", mass=1.0)
    m.add_prismatic("X", m.ground.at(0, 0), slider.at(0, 0), axis=(1, 0))
    m.add_spring("spring", joint="X", stiffness=m.parameter("k", 1e12))
    eqs = da.equations(m)
    record = da.Record.from_channels(0.1 * np.arange(50), {"X.displacement": np.sin(np.arange(50.0))})
    with warnings.catch_warnings(), raises(ConvergenceError, "too-many-steps"):
        fit(eqs, record, ["k"], outputs={eqs.measures.names[eqs.recorded_measures[0]]: "X.displacement"})
