"""Motions designed for identification."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import EquationsOfMotion
from dalembert.errors import DataError, ModelError
from dalembert.identify import IdentificationWarning
from dalembert.identify.robot.excitation import condition_number, judge
from tests.helpers.robots import planar_arm

LIMITS = {
    "A": {"lower": -1.0, "upper": 2.0, "speed": 3.0, "acceleration": 12.0}, "B": {"speed": 4.0, "acceleration": 20.0}
}  # fmt: skip


@cache
def arm() -> EquationsOfMotion:
    return da.equations(planar_arm(), coordinates="joint")


@cache
def designed(criterion: str = "condition", iterations: int = 60) -> da.Record:
    return da.identify.excitation(
        arm(), 5.0, limits=LIMITS, rotors=True, criterion=criterion, iterations=iterations, starts=2, progress=False
    )


def test_a_designed_motion_is_better_conditioned_than_random_ones() -> None:
    random = [
        da.identify.excitation(arm(), 5.0, limits=LIMITS, rotors=True, iterations=0, seed=seed) for seed in range(5)
    ]
    numbers = [one.statistics["condition number"] for one in random]
    assert designed().statistics["condition number"] < 0.7 * min(numbers)


def test_more_information_means_smaller_deviations() -> None:
    def spread(plan: da.Record) -> float:
        names = ("A.angle", "B.angle"), ("A.rate", "B.rate"), ("A.acceleration", "B.acceleration")
        q, v, a = (plan[list(n)][::10] for n in names)
        base = da.tree.base_parameters(arm(), friction=("viscous", "coulomb"), rotors=True)
        Y = da.tree.regressor(arm(), (q, v), a, friction=("viscous", "coulomb"), rotors=True)[:, :, list(base.kept)]
        return float(-np.linalg.slogdet(np.einsum("bij,bik->jk", Y, Y))[1])

    random = da.identify.excitation(arm(), 5.0, limits=LIMITS, rotors=True, iterations=0)
    assert spread(designed("information")) < spread(random) - 1.0  # a factor e of the volume of the confidence region


def test_it_keeps_the_limits_and_rests_at_both_ends() -> None:
    plan = designed()
    assert plan["A.angle"].min() >= -1.0 and plan["A.angle"].max() <= 2.0
    assert np.abs(plan["B.angle"]).max() <= np.pi
    for joint, own in LIMITS.items():
        assert np.abs(plan[f"{joint}.rate"]).max() <= own["speed"]
        assert np.abs(plan[f"{joint}.acceleration"]).max() <= own["acceleration"]
        assert abs(plan[f"{joint}.rate"][0]) < 1e-12 and abs(plan[f"{joint}.rate"][-1]) < 1e-12
    assert plan.units["A.acceleration"] == "rad/s^2" and plan.time[-1] == 5.0


def test_limits_of_joints_count_where_none_are_given() -> None:
    m = da.Mechanism("arm", planar=True)
    rod = m.add_body("rod", mass=2.0, inertia=da.rod(0.5))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.25, 0), limits={"lower": 0.5, "upper": 1.0, "speed": 1.5})
    eqs = da.equations(m, coordinates="joint")
    plan = da.identify.excitation(eqs, 4.0, iterations=0, limits={"A": {"upper": 0.8}})
    assert plan["A.angle"].min() >= 0.5 and plan["A.angle"].max() <= 0.8 and np.abs(plan["A.rate"]).max() <= 1.5


def test_the_same_seed_gives_the_same_motion() -> None:
    one, other = (da.identify.excitation(arm(), 5.0, iterations=0, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.data, other.data)


@pytest.mark.parametrize("criterion", ["condition", "information"])
def test_criteria_have_their_gradients(criterion: str) -> None:
    rng = np.random.default_rng(0)
    W, D = rng.normal(size=(30, 5)), rng.normal(size=(30, 5))
    value, G = judge(W, criterion)
    difference = (judge(W + 1e-6 * D, criterion)[0] - judge(W - 1e-6 * D, criterion)[0]) / 2e-6
    assert (G * D).sum() == pytest.approx(difference, rel=1e-6)
    if criterion == "condition":
        assert np.exp(value) == pytest.approx(condition_number(W))


def test_efforts_beyond_their_limits_are_reported() -> None:
    with pytest.warns(IdentificationWarning) as caught:
        da.identify.excitation(arm(), 5.0, limits={"A": {"effort": 0.1}}, iterations=0)
    assert caught[0].message.code == "out-of-range"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"limits": {"Z": {"speed": 1.0}}}, "unknown-name"),
        ({"limits": {"A": {"velocity": 1.0}}}, "unknown-name"),
        ({"limits": {"A": {"lower": 1.0, "upper": 0.0}}}, "out-of-range"),
        ({"limits": {"A": {"speed": -1.0}}}, "not-positive"),
        ({"noise": {"A": 1.0}}, "missing-argument"),
        ({"criterion": "beauty"}, "unknown-choice"),
        ({"harmonics": 1}, "not-a-count"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], code: str) -> None:
    with pytest.raises(DataError) as caught:
        da.identify.excitation(arm(), 5.0, **options)
    assert caught.value.code == code


def test_a_slide_needs_limits_and_loops_are_not_moved() -> None:
    m = da.Mechanism("slide", planar=True)
    m.add_prismatic("rail", m.ground.at(0, 0), m.add_body("cart", mass=1.0).at(0, 0))
    with pytest.raises(DataError) as caught:
        da.identify.excitation(da.equations(m, coordinates="joint"), 5.0)
    assert caught.value.code == "missing-argument"
    ball = da.Mechanism("ball")
    ball.add_spherical("S", ball.ground.at(0, 0, 0), ball.add_body("bob", mass=1.0, inertia=0.1).at(0, 0, 1))
    with pytest.raises(ModelError) as refused:
        da.identify.excitation(da.equations(ball, coordinates="joint"), 5.0)
    assert refused.value.code == "not-supported"
