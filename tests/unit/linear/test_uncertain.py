"""Uncertain systems: families that are exact, fewest repetitions, systems joined by name."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace, Uncertain, UncertainBlock, connect, dynamic_block, fit_uncertain
from tests.helpers.findings import raises


def distance(first: StateSpace, second: StateSpace) -> float:
    return max(float(np.abs(getattr(first, s) - getattr(second, s)).max(initial=0.0)) for s in "ABCD")


def pendulum_cart(p) -> SecondOrder:
    m, length, k = p["mass"], p["length"], p["stiffness"]
    M = [[m * length**2 + 1.0, 0.3 * m * length], [0.3 * m * length, 2.0 * m]]
    K = [[k + 9.81 * m * length, -k], [-k, k]]
    return SecondOrder(M, K, C=np.diag([0.1, 0.2]), B=[[1.0], [0.0]], Y_acceleration=[[0, 1]], Y_position=[[1, 0]])


def test_masses_lengths_and_stiffnesses_enter_exactly():
    u = fit_uncertain(pendulum_cart, {"mass": (0.8, 1.2), "length": (0.9, 1.1), "stiffness": (5.0, 20.0)})
    assert u.error == 0.0
    random = np.random.default_rng(1)
    for _ in range(20):
        p = {name: random.uniform(*limits) for name, limits in u.parameters.items()}
        assert distance(u.at(**p), pendulum_cart(p).state_space()) < 1e-12  # entries up to 20, condition of M below 10


def test_a_parameter_repeats_as_often_as_its_matrices_have_rank():
    def chain(p):
        k = [p["a"], p["b"], 10.0]
        K = np.diag([k[0] + k[1], k[1] + k[2], k[2]]) - np.diag(k[1:], 1) - np.diag(k[1:], -1)
        return SecondOrder(np.diag([1.0, p["m"], 1.0]), K, C=0.02 * K, B=[0, 0, 1])

    u = fit_uncertain(chain, {"a": (7, 13), "b": (7, 13), "m": (0.5, 1.5)})
    # a spring acts on its elongation and, by C = 0.02 K, on its rate, with one force: rank 1
    assert [block.rows for block in u.blocks] == [1, 1, 1]
    everything = fit_uncertain(lambda p: SecondOrder(p["m"] * np.eye(3), np.eye(3)), {"m": (1, 2)})
    assert everything.blocks[0].rows == 3


def test_other_functions_are_fitted_and_their_error_is_reported():
    def rational(p):
        return StateSpace([[0, 1], [-1.0 / p["m"], -0.1 / p["m"]]], [0, 1.0 / p["m"]], [[1, 0]])

    rough, fine = (fit_uncertain(rational, {"m": (0.9, 1.1)}, degree=degree) for degree in (1, 4))
    # 1/(1 + 0.1 δ): the first power left out is 0.1ⁿ⁺¹ or, as the best polynomial, some 2ⁿ times less
    assert 1e-3 < rough.error < 2e-2
    assert 1e-7 < fine.error < 2e-5
    assert distance(fine.at(m=0.93), rational({"m": 0.93})) < 2.0 * fine.error


def test_systems_are_joined_by_name_and_one_parameter_stays_one():
    spring = fit_uncertain(lambda p: StateSpace.gain([[p["k"]]], inputs="x", outputs="f"), {"k": (1, 3)})
    second = fit_uncertain(lambda p: StateSpace.gain([[2 * p["k"]]], inputs="f", outputs="g"), {"k": (1, 3)})
    joined = connect([spring, second], outputs=["g"])
    assert isinstance(joined, Uncertain)
    assert [(block.name, block.rows) for block in joined.blocks] == [("k", 2)]
    assert joined.at(k=2.5).D.item() == pytest.approx(2 * 2.5**2, rel=1e-14)
    loop = connect({"law": StateSpace(-1.0, 1.0, 0.5, inputs="g", outputs="x"), "spring": joined}, inputs="x")
    assert loop.states == ("law.x1",)
    expected = -1.0 + 0.5 * 2 * 2.5**2
    assert loop.at(k=2.5).A.item() == pytest.approx(expected, rel=1e-14)


def test_neglected_dynamics_stand_behind_their_weight():
    weight = StateSpace(-10.0, 10.0, 0.2)
    u = dynamic_block("actuator", inputs=["a", "b"], outputs="d", weight=weight)
    G = u.at(actuator=np.array([[1.0, 0.0]])).dc_gain()
    assert G.round(12).tolist() == [[0.2, 0.0]]
    lag = StateSpace(-1.0, 1.0, [[0.5]])
    both = u.select(inputs="a").at(actuator=StateSpace(-1.0, [[1.0, 0.0]], 0.5))
    assert both.dc_gain().item() == pytest.approx((weight.dc_gain() @ lag.dc_gain()).item(), rel=1e-12)


def test_samples_are_inside_the_box_and_repeat_with_their_seed():
    u = fit_uncertain(pendulum_cart, {"mass": (0.8, 1.2), "length": (0.9, 1.1), "stiffness": (5.0, 20.0)})
    first, second = u.sample(5, seed=3), u.sample(5, seed=3)
    for one, other in zip(first, second, strict=True):
        values = one.provenance["uncertain"]
        assert all(low <= values[name] <= high for name, (low, high) in u.parameters.items())
        assert distance(one, other) == 0.0
        assert distance(one, pendulum_cart(values).state_space()) < 1e-12
    full = dynamic_block("lag", inputs=["u", "v"], outputs=["y", "z"])
    assert all(system.is_stable and float(system.hinf_norm()) <= 1.0 + 1e-9 for system in full.sample(5))


@pytest.mark.parametrize(
    ("call", "code", "shown"),
    [
        (lambda: fit_uncertain(pendulum_cart, {"mass": (1.0, 1.0)}), "empty", "mass"),
        (lambda: fit_uncertain(pendulum_cart, {"mass": (1.2, 0.8)}), "empty", "mass"),
        (lambda: fit_uncertain(pendulum_cart, {"mass": (0.8, 1.5, 1.2)}), "out-of-range", "1.5"),
        (lambda: fit_uncertain(pendulum_cart, {"mass": "heavy"}), "wrong-type", "mass"),
        (lambda: fit_uncertain(pendulum_cart, {}), "empty", "parameter"),
        (lambda: Uncertain(StateSpace.gain([[1.0]]), [UncertainBlock("d", "full", 2, 1)]), "wrong-shape", "2 rows"),
        (lambda: Uncertain(StateSpace.gain(np.eye(3)), [UncertainBlock("d", "real", 2, 1)]), "wrong-shape", "'d'"),
        (lambda: dynamic_block("d", inputs="u", outputs="y", weight=StateSpace(1.0, 1.0, 1.0)), "unstable", "'d'"),
        (lambda: dynamic_block("d", inputs="u", outputs="y").at(e=1.0), "unknown-name", "'e'"),
    ],
)
def test_a_family_that_cannot_be_is_refused_with_its_place(call, code, shown):
    with raises(DataError, code, shown):
        call()


def test_two_parameters_of_one_name_and_other_ranges_are_refused():
    first = fit_uncertain(lambda p: StateSpace.gain([[p["k"]]], inputs="x", outputs="f"), {"k": (1, 3)})
    second = fit_uncertain(lambda p: StateSpace.gain([[p["k"]]], inputs="f", outputs="g"), {"k": (1, 4)})
    with raises(DataError, "taken-name", "'k'"):
        connect([first, second])
