"""Bounds of the structured singular value: closed forms, lower below upper, the worst machine on the edge."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control import mu
from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, StateSpace, Uncertain, UncertainBlock, connect, dynamic_block, fit_uncertain
from tests.helpers.findings import raises
from tests.helpers.repetitions import few

SIZES = {
    "real": [("real", 1, 1)] * 3,
    "repeated": [("real", 2, 2), ("real", 1, 1)],
    "mixed": [("real", 1, 1), ("real", 1, 1), ("full", 2, 1)],
    "full": [("full", 2, 2), ("full", 1, 2), ("real", 1, 1)],
}


def machine(kinds: str, seed: int, nx: int = 5) -> Uncertain:
    """A random stable system with blocks of these kinds."""
    random = np.random.default_rng(seed)
    sizes = SIZES[kinds]
    rows, columns = sum(size[1] for size in sizes), sum(size[2] for size in sizes)
    A = random.normal(size=(nx, nx))
    A -= (np.linalg.eigvals(A).real.max() + 0.2) * np.eye(nx)
    D = 0.1 * (seed % 2) * random.normal(size=(columns, rows))
    system = StateSpace(A, random.normal(size=(nx, rows)), 0.3 * random.normal(size=(columns, nx)), D)
    return Uncertain(system, [UncertainBlock(f"b{k}", *size) for k, size in enumerate(sizes)])


def judge(uncertain: Uncertain, samples: int = 40) -> None:
    judged = mu(uncertain)
    assert judged.proved
    # the bound is computed to 1e-4 of itself, the perturbation to 1e-9
    assert np.all(judged.lower <= judged.upper * (1.0 + 1e-7))
    assert judged.attained <= judged.peak
    edge = uncertain.worst(judged).poles().values
    speed = np.abs(np.linalg.eigvals(uncertain.system.A)).max()
    assert abs(edge.real.max()) < 1e-6 * speed
    # smaller ranges than the bound: no system of theirs is unstable
    smaller = 0.999 / judged.peak
    for k, system in enumerate(uncertain.sample(samples, seed=1)):
        random = np.random.default_rng(k)
        deltas = {b.name: smaller * random.uniform(-1, 1) for b in uncertain.blocks if b.kind == "real"}
        for block in uncertain.blocks:
            if block.kind == "full":
                direction = np.outer(random.normal(size=block.rows), random.normal(size=block.columns))
                deltas[block.name] = smaller * direction / np.linalg.norm(direction)
        assert uncertain.at_delta(deltas).is_stable, system


@pytest.mark.spec("001-C54", "001-C55")
@pytest.mark.parametrize("kinds", few(["mixed", "real", "repeated", "full"]))
def test_bounds_hold_for_random_machines(kinds):
    judge(machine(kinds, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("kinds", SIZES)
def test_bounds_hold_for_many_random_machines(kinds):
    for seed in range(2, 15):
        judge(machine(kinds, seed), samples=400)


def test_one_full_block_has_the_h_infinity_norm():
    G = StateSpace([[0, 1], [-4, -0.2]], [[0, 0], [1, 2]], [[1, 0]])
    u = Uncertain(G.replace(inputs=["w1", "w2"], outputs="z"), [UncertainBlock("d", "full", 2, 1)])
    judged, norm = mu(u), G.hinf_norm()
    assert judged.peak == pytest.approx(norm.gain, rel=2.5e-3)
    assert judged.attained == pytest.approx(norm.gain, rel=1e-6)
    assert judged.frequency == pytest.approx(norm.frequency, rel=1e-3)


def test_one_spring_becomes_unstable_where_it_vanishes():
    u = fit_uncertain(lambda p: SecondOrder(1.0, p["k"], C=0.1, B=[1.0]), {"k": (7.0, 13.0)})
    judged = mu(u)
    assert judged.attained == pytest.approx(0.3, rel=1e-9)
    assert judged.peak == pytest.approx(0.3, rel=3e-3)
    assert judged.frequency == 0.0
    assert judged.worst["k"] == pytest.approx(0.0, abs=1e-8)


def test_a_mass_that_vanishes_is_found_at_infinite_frequency():
    u = fit_uncertain(lambda p: SecondOrder(p["m"], 4.0, C=0.4, B=[1.0]), {"m": (0.8, 1.2)})
    judged = mu(u)
    assert judged.peak == pytest.approx(0.2, rel=3e-3)
    assert judged.attained == pytest.approx(0.2, rel=1e-6)


def test_a_sampled_loop_is_judged_on_the_unit_circle():
    plant = StateSpace(0.9, 0.1, 1.0, dt=0.1, inputs="u", outputs="y")
    gain = fit_uncertain(lambda p: StateSpace.gain([[-p["g"]]], inputs="y", outputs="u"), {"g": (4.0, 6.0)})
    judged = mu(connect([plant, gain]))
    # 0.9 - 0.1 g = -1 at g = 19, +1 at g = -1: 1/δ = 1/14 and 1/6
    assert judged.attained == pytest.approx(1.0 / 6.0, rel=1e-6)
    assert judged.worst["g"] == pytest.approx(-1.0, rel=1e-6)


def test_robust_performance_is_a_full_block_more():
    plant = StateSpace(-1.0, 1.0, 1.0, inputs="v", outputs="y")
    lag = dynamic_block("lag", inputs="u", outputs="d", weight=StateSpace.gain([[0.5]]))
    u = connect([plant, lag, StateSpace.gain([[1, 1]], inputs=["u", "d"], outputs="v")], inputs="u", outputs="y")
    # y = (1 + 0.5 Δ) u / (s + 1): gain 1 asked of all with ‖Δ‖ ≤ δ at 1/δ times less: δ (1 + 0.5 δ) = 1 at zero
    judged = mu(u, inputs="u", outputs="y")
    delta = -1.0 + np.sqrt(3.0)
    assert judged.peak == pytest.approx(1.0 / delta, rel=3e-3)
    assert judged.attained == pytest.approx(1.0 / delta, rel=1e-6)


def test_a_loop_that_is_unstable_without_uncertainty_is_refused():
    u = fit_uncertain(lambda p: StateSpace([[p["a"]]], [1.0], [1.0]), {"a": (0.5, 1.5)})
    with raises(DataError, "unstable", "1"):
        mu(u)
    with raises(DataError, "unknown-name", "'x'"):
        mu(machine("real", 1), inputs="x", outputs="y")
    with raises(DataError, "wrong-type", "StateSpace"):
        mu(da.linear.StateSpace(-1.0, 1.0, 1.0))
