"""Robots identified from records: right values with honest deviations, and awkward records with clear findings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.errors import DataError, ModelError
from dalembert.identify import IdentificationWarning, IdentifiedRobot
from dalembert.identify.robot.robot import (
    _compress,
    _judge_data,
)
from tests.helpers.measured_arm import JOINTS, NOISE, T, drawing, quiet, record, truth
from tests.helpers.robots import fourier_motion, measured_record, planar_arm


def true_base(found: IdentifiedRobot) -> FloatArray:
    joints = np.column_stack([JOINTS["viscous"], JOINTS["coulomb"], JOINTS["rotor"]]).ravel()
    return found.base.from_parameters(np.concatenate([da.tree.dynamic_parameters(truth()).values, joints]))


def codes(found: IdentifiedRobot) -> set[str]:
    return {one.code for one in found.findings}


def test_base_parameters_friction_and_motors_are_found_within_their_deviations() -> None:
    found = da.identify.robot(drawing(), record(), rotors=True)
    z = (found.base_values - true_base(found)) / found.base_deviations
    assert np.abs(z).max() < 4.0 and found.physically_consistent and not found.findings
    np.testing.assert_allclose(found.noise, NOISE, rtol=0.15)  # 400 samples: 3.5 % each, four times that
    # the possible bodies have the combinations found
    assert np.abs((found.base.from_parameters(found.values) - found.base_values) / found.base_deviations).max() < 0.05
    assert found["B.coulomb"] == pytest.approx(0.5, abs=5 * found.deviation("B.coulomb"))


def test_estimates_lie_within_their_intervals_as_often_as_they_say() -> None:
    inside = total = 0
    for seed in range(60):
        found = quiet(drawing(), record(seed), rotors=True, consistent=False)
        inside += int((np.abs(found.base_values - true_base(found)) < 1.96 * found.base_deviations).sum())
        total += found.base.count
    low, high = scipy.stats.binom.interval(0.999, total, 0.95)
    assert low <= inside <= high


def test_positions_alone_are_enough() -> None:
    given = record(derivatives=False, encoder=1e-5, noise=0.1 * NOISE)
    found = quiet(drawing(), given, rotors=True)
    # noise of positions biases a little: within 2 % of what matters
    size = np.abs(true_base(found)).max()
    np.testing.assert_allclose(found.base_values, true_base(found), atol=0.02 * size)


def test_several_records_count_together() -> None:
    one, both = (quiet(drawing(), [record(s) for s in seeds], rotors=True) for seeds in ((0,), (0, 1)))
    assert np.median(both.base_deviations / one.base_deviations) == pytest.approx(np.sqrt(0.5), rel=0.1)
    assert len(both.predicted) == 2


def test_without_consistency_the_rest_stays_near_the_drawing() -> None:
    found = quiet(drawing(), record(), rotors=True, consistent=False)
    np.testing.assert_allclose(found.base.from_parameters(found.values), found.base_values, rtol=1e-8, atol=1e-10)
    assert found["rod1.mass"] == pytest.approx(2.0)  # no effort depends on it


def test_torques_of_joints_may_be_named_by_joints() -> None:
    given = record()
    named = quiet(drawing(), given, inputs={"A": "uA", "B": "uB"}, rotors=True)
    assert named.base_values == pytest.approx(quiet(drawing(), given, rotors=True).base_values)


def test_a_free_body_with_arms_is_identified_from_the_torques_of_its_joints() -> None:
    m = da.Mechanism("satellite")
    base = m.add_body("base", mass=5.0, inertia=[0.5, 0.6, 0.7])
    for k, axis in enumerate([(1, 0, 0), (0, 1, 0)]):
        arm = m.add_body(f"arm{k}", mass=1.0, inertia=[0.05, 0.04, 0.03])
        m.add_revolute(f"j{k}", base.at(0.2 - 0.4 * k, 0.1, 0.3), arm.at(0.05, -0.3, 0.1), axis=axis)
        m.add_actuator(f"motor{k}", f"j{k}", input=f"u{k}")
    eqs = da.equations(m, coordinates="joint")
    torques = {"u0": lambda t: 0.3 * da.sin(2.1 * t) + 0.2 * da.cos(3.3 * t), "u1": lambda t: 0.3 * da.cos(1.3 * t)}
    start = da.assemble(eqs, velocity={"base.wx": 0.4, "base.wz": -0.3})
    run = da.simulate(eqs, 6.0, inputs=torques, every=0.02, start=start)
    noise = 0.005 * np.random.default_rng(0).normal(size=(len(run), 2))
    channels = {name: run[name] for name in run.names} | {f"u{k}": run[f"u{k}"] + noise[:, k] for k in range(2)}
    found = da.identify.robot(eqs, da.Record.from_channels(run.time, channels, run.units), friction=())
    # rows of the base balance without effort; the torques of two joints give the scale of all parameters
    assert found.base.count == 10 + 7 * 2 and found.physically_consistent and np.isfinite(found.base_deviations).all()
    np.testing.assert_allclose(found.base_values, found.base_first, atol=4 * found.base_deviations.max())


# -- awkward records -----------------------------------------------------------------------------------------------


def test_a_joint_that_does_not_move_is_named_with_what_stays_as_drawn() -> None:
    q, v, a = fourier_motion(truth(), T)
    for x, value in ((q, 0.7), (v, 0.0), (a, 0.0)):
        x[:, 1] = value
    still = measured_record(truth(), (q, v, a), T, noise=NOISE, **(JOINTS | {"coulomb": np.array([2.0, 0.0])}))
    with pytest.warns(IdentificationWarning):
        found = da.identify.robot(drawing(), still, rotors=True)
    assert {"no-motion", "undetermined-parameters"} <= codes(found)
    rest = next(one for one in found.findings if one.code == "no-motion")
    assert rest.where["joints"] == ("B",) and rest.advice
    assert np.isinf(found.deviation("B.viscous")) and found["B.viscous"] == 0.0
    assert np.isfinite(found.deviation("A.viscous"))
    assert found.physically_consistent


def test_a_wrong_sign_of_a_torque_is_found() -> None:
    given = record()
    data = given.data.copy()
    data[:, given.names.index("uA")] *= -1
    found = quiet(drawing(), da.Record(T, data, given.names, list(given.units.values())), rotors=True)
    wrong = next(one for one in found.findings if one.code == "wrong-sign")
    assert wrong.where == {"channel": "uA", "joint": "A"} and wrong.evidence["correlation"] < -0.5
    assert "not-physical" in codes(found) and not found.physically_consistent


def test_missing_friction_terms_show_in_the_bodies_or_in_the_fit() -> None:
    strong = record(coulomb=np.array([15.0, 6.0]))
    without = quiet(drawing(), strong, friction=(), rotors=True)
    right = quiet(drawing(), strong, rotors=True)
    assert without.fit.mean < right.fit.mean - 10
    assert {"poor-fit", "not-physical"} & codes(without) and not codes(right)
    assert without.provenance["deviations"] != "white residuals"  # what is left is not white


def test_too_short_a_record_is_refused_and_a_short_one_is_reported() -> None:
    given = record()
    with pytest.raises(DataError) as caught:
        da.identify.robot(drawing(), given.between(0.0, 0.09), rotors=True)
    assert caught.value.code == "too-few-samples"
    found = quiet(drawing(), given.between(0.0, 0.5), rotors=True)
    assert "few-samples" in codes(found)


def test_noise_that_contradicts_the_residuals_is_reported() -> None:
    right = {"uA": 1 / NOISE[0], "uB": 1 / NOISE[1]}
    assert not codes(quiet(drawing(), record(), rotors=True, weights=right))
    found = quiet(drawing(), record(), rotors=True, weights=right | {"uB": 10 / NOISE[1]})
    wrong = next(one for one in found.findings if one.code == "wrong-noise")
    assert wrong.where["channel"] == "uB" and wrong.evidence["ratio"] == pytest.approx(10.0, rel=0.3)


def test_torques_of_noise_alone_are_a_poor_fit() -> None:
    found = quiet(drawing(), record(noise=np.array([100.0, 30.0])), rotors=True)
    assert "poor-fit" in codes(found)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"weights": {"uA": 1.0}}, "missing-argument"),
        ({"weights": {"uA": 1.0, "uZ": 1.0}}, "unknown-name"),
        ({"friction": ("wet",)}, "unknown-choice"),
        ({"cutoff_hz": -1.0}, "not-positive"),
        ({"inputs": ["uZ"]}, "missing-channel"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], code: str) -> None:
    with pytest.raises(DataError) as caught:
        da.identify.robot(drawing(), record(), **options)
    assert caught.value.code == code


def test_equations_in_absolute_coordinates_are_refused() -> None:
    with pytest.raises(ModelError) as caught:
        da.identify.robot(da.equations(planar_arm()), record())
    assert caught.value.code == "wrong-type"


# ---- edges of thresholds

ROW = SimpleNamespace(speed=0, input=0, channel="u", label="A")


def made_balance(**parts: Any) -> Any:
    """One joint with an effort."""
    return SimpleNamespace(rows=[ROW], channels=SimpleNamespace(efforts={}), **parts)


def compress(parameters: int, measured: FloatArray, expected: FloatArray) -> list[str]:
    """Codes of findings on efforts of one joint."""
    count = len(measured)
    block = SimpleNamespace(
        Y=np.ones((count, 1, parameters)), effort=measured[:, None], target=(measured - expected)[:, None]
    )
    balance = made_balance(blocks=lambda motion: [(slice(0, count), block)])
    base: Any = SimpleNamespace(count=parameters, kept=tuple(range(parameters)))
    motions: Any = [None]
    findings = _compress(balance, base, np.ones(parameters), motions, [np.ones((count, 1), dtype=bool)])[2]
    return [one.code for one in findings]


@pytest.mark.parametrize(("correlation", "wrong"), [(-0.51, True), (-0.49, False)])
def test_efforts_opposed_by_half_to_the_drawing_have_the_wrong_sign(correlation: float, wrong: bool) -> None:
    one, other = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 1.0, -1.0, -1.0])
    expected = correlation * one + np.sqrt(1.0 - correlation**2) * other
    assert compress(1, one, expected) == ["wrong-sign"] * wrong


@pytest.mark.parametrize(
    ("rows", "percent", "squares", "code"),
    [
        (100, 90.0, 1.0, None), (99, 90.0, 1.0, "few-samples"), (100, 50.1, 1.0, None), (100, 49.9, 1.0, "poor-fit"),
        (100, 90.0, 1.99, None), (100, 90.0, 2.01, "wrong-noise"), (100, 90.0, 0.501, None),
        (100, 90.0, 0.499, "wrong-noise"),
    ],
)  # fmt: skip
def test_doubts_about_data(rows: int, percent: float, squares: float, code: str | None) -> None:
    """Ten efforts per parameter, half of the effort explained, and the noise within a factor 2 of its square."""
    base: Any = SimpleNamespace(names=["m"] * 10, count=10, kept=(), parameters=())
    data: Any = SimpleNamespace(counts=np.array([float(rows)]), squares=lambda x: np.array([squares * (rows - 10)]))
    found: Any = SimpleNamespace(deviations=np.ones(10), x=np.zeros(10))
    fit: Any = SimpleNamespace(percent=[percent])
    findings = _judge_data(made_balance(), base, data, found, fit, np.ones(1))
    assert [one.code for one in findings] == ([] if code is None else [code])
