"""Rankings of interior modes of any structure: invariance, bounds, energies (spec 004, C50 to C56).

Structures are random: M and K with condition numbers below 1e4, a third of the coordinates masters; sums of some tens
of terms lose three digits at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dalembert.linear import SecondOrder
from dalembert.structures import (
    ByFrequency,
    EffectiveInterfaceMass,
    EnergyBasedRanking,
    InteriorModeRanking,
    MomentMatching,
    OptimalModalReduction,
    RankingMethod,
    craig_bampton,
    forced_fidelity,
    guyan,
    rank_modes,
)

SEEDS = st.integers(0, 2**32 - 1)
FORCES = {"a0.x": 1.0 + 0.5j, "a0.y": [0.3, -1j], "a1.x": -0.7}
HARMONICS = (0.43, 1.31)


def structure(seed: int, n: int = 12) -> SecondOrder:
    """Points a0, a1, ... that move along x and y; frequencies of 0.3 to 30 rad/s."""
    random = np.random.default_rng(seed)
    L, R = (random.normal(size=(n, n)) / np.sqrt(n) for _ in range(2))
    M = L @ L.T + 0.5 * np.eye(n)
    K = R @ R.T + np.diag(random.uniform(0.2, 20.0, n))
    return SecondOrder(M, K, coordinates=[f"a{i}.{way}" for i in range(n // 2) for way in "xy"])


MASTERS = ["a0", "a1"]


def methods(system: SecondOrder) -> dict[str, RankingMethod]:
    return {
        "modes": InteriorModeRanking(modes=[2, 4], weights=[1, 3]),
        "band": InteriorModeRanking(band=(0.0, float(system.modes(5).frequencies[4]) * 1.01)),
        "energy": EnergyBasedRanking(FORCES, HARMONICS), "frequency": ByFrequency(), "mass": EffectiveInterfaceMass(),
        **{f"force{power}": OptimalModalReduction(power) for power in (0, 2, 4)}, "moment": MomentMatching(),
    }  # fmt: skip


@pytest.mark.spec("004-C52")
@given(seed=SEEDS)
def test_the_bound_never_rises_and_ends_at_zero(seed: int) -> None:
    system = structure(seed)
    for name, method in methods(system).items():
        ranking = rank_modes(system, MASTERS, method)
        assert sorted(ranking.order.tolist()) == list(range(1, 9)), name
        assert np.all(np.diff(ranking.coefficients) <= 1e-9 * ranking.coefficients[:-1]), name  # ties share a place
        if name != "frequency":
            assert np.all(np.diff(ranking.bounds()) <= 0.0) and ranking.bound(8) == 0.0, name
            whole = ranking.bound(0)
            assert whole <= 1.0 + 1e-12 and (name in ("modes", "band") or whole == pytest.approx(1.0, abs=1e-12)), name


@pytest.mark.spec("004-C52")
@given(seed=SEEDS, computed=st.integers(3, 7))
def test_modes_that_were_not_computed_hold_what_the_bound_says(seed: int, computed: int) -> None:
    system = structure(seed)
    for name, method in methods(system).items():
        if name == "frequency":
            continue
        part, whole = rank_modes(system, MASTERS, method, count=computed), rank_modes(system, MASTERS, method)
        others = whole.shares[whole.order > computed].sum()
        if np.isfinite(part.rest):  # a total is the sum of all modes: the rest is exact, not only a bound
            assert part.rest == pytest.approx(others, abs=1e-10), name
        assert part.rest > others - 1e-10, name


@pytest.mark.spec("004-C50", "004-C51", "004-C54")
@given(seed=SEEDS, mass=st.floats(1e-3, 1e3), length=st.floats(1e-3, 1e3), time=st.floats(1e-2, 1e2))
def test_rankings_do_not_change_with_units_and_the_order_of_coordinates(
    seed: int, mass: float, length: float, time: float
) -> None:
    """M in mass, K in mass/time², forces in mass length/time²; coordinates shuffled."""
    system = structure(seed)
    shuffle = np.random.default_rng(seed).permutation(system.nq)
    M, K = np.asarray(system.M)[np.ix_(shuffle, shuffle)], np.asarray(system.K)[np.ix_(shuffle, shuffle)]
    other = SecondOrder(M * mass, K * mass / time**2, coordinates=[system.coordinates[i] for i in shuffle])
    here, there = methods(system), methods(other)
    there["energy"] = EnergyBasedRanking(
        {key: np.asarray(force) * mass * length / time**2 for key, force in FORCES.items()}, np.array(HARMONICS) / time
    )
    for name in here:
        one, two = rank_modes(system, MASTERS, here[name]), rank_modes(other, MASTERS, there[name])
        assume(np.all(-np.diff(one.coefficients) > 1e-7 * one.coefficients[:-1]))  # no place is a matter of rounding
        assert one.first(8) == two.first(8), name
        np.testing.assert_allclose(one.shares, two.shares, rtol=0, atol=1e-9)


@pytest.mark.spec("004-C50", "004-C54")
@given(seed=SEEDS, angle=st.floats(-3.0, 3.0))
def test_rankings_by_modes_and_by_energy_do_not_change_with_the_axes(seed: int, angle: float) -> None:
    """Points keep their masters when x and y turn. Sums over masters of other rankings change with the axes."""
    system = structure(seed)
    c, s = np.cos(angle), np.sin(angle)
    turn = np.kron(np.eye(system.nq // 2), [[c, -s], [s, c]])
    other = SecondOrder(turn @ system.M @ turn.T, turn @ system.K @ turn.T, coordinates=system.coordinates)
    force = {name: np.broadcast_to(np.asarray(FORCES.get(name, 0.0), dtype=complex), (2,))
             for name in ("a0.x", "a0.y", "a1.x", "a1.y")}  # fmt: skip
    turned = {f"{p}.{way}": row[0] * force[f"{p}.x"] + row[1] * force[f"{p}.y"]
              for p in ("a0", "a1") for way, row in (("x", (c, -s)), ("y", (s, c)))}  # fmt: skip
    pairs = [(methods(system)[name], methods(other)[name]) for name in ("modes", "band")]
    for one, two in [*pairs, (EnergyBasedRanking(FORCES, HARMONICS), EnergyBasedRanking(turned, HARMONICS))]:
        before, after = rank_modes(system, MASTERS, one), rank_modes(other, MASTERS, two)
        assume(np.all(-np.diff(before.coefficients) > 1e-7 * before.coefficients[:-1]))
        assert before.first(8) == after.first(8)
        np.testing.assert_allclose(before.shares, after.shares, rtol=0, atol=1e-9)


@pytest.mark.spec("004-C54")
@given(seed=SEEDS, phases=st.lists(st.floats(0.0, 6.3), min_size=6, max_size=6))
def test_masters_and_interior_modes_hold_the_mean_energy(seed: int, phases: list[float]) -> None:
    """¼ Σ Re yᴴ (K + ω² M) y of the whole, two harmonics of random phases: the sum of |.| where no term is negative."""
    system = structure(seed)
    forces = {name: np.exp(1j * np.array(phases[2 * k : 2 * k + 2])) for k, name in enumerate(("a0.x", "a0.y", "a1.x"))}
    reduction = craig_bampton(system, MASTERS, None)
    M, K = np.asarray(reduction.system.M), np.asarray(reduction.system.K)
    assert reduction.interior is not None
    omega = reduction.interior.omega
    harmonics = tuple(omega[0] * np.array([0.41, 1.23]))  # below √3 ω of every mode
    ranking = rank_modes(system, MASTERS, EnergyBasedRanking(forces, harmonics))
    energy = masters = 0.0
    terms = np.zeros(8)
    for k, w in enumerate(harmonics):
        F = np.zeros(12, dtype=complex)
        F[:3] = [forces[name][k] for name in ("a0.x", "a0.y", "a1.x")]
        y = np.linalg.solve(K - w**2 * M, F)
        x = np.linalg.solve(system.K - w**2 * np.asarray(system.M), _full(system, forces, k))
        energy += 0.25 * (x.conj() @ (system.K + w**2 * np.asarray(system.M)) @ x).real
        masters += 0.25 * (y[:4].conj() @ (K[:4, :4] + w**2 * M[:4, :4]) @ y[:4]).real
        cross = w**2 * (y[:4].conj() @ M[:4, 4:] * y[4:]).real
        terms += 0.5 * (omega**2 + w**2) * np.abs(y[4:]) ** 2 + cross
    np.testing.assert_allclose(ranking.coefficients, terms[ranking.order - 1], rtol=1e-7, atol=1e-10 * terms.max())
    assert masters + 0.5 * ranking.coefficients.sum() == pytest.approx(energy, rel=1e-10)


def _full(system: SecondOrder, forces: dict[str, Any], k: int) -> np.ndarray:
    F = np.zeros(system.nq, dtype=complex)
    for name, each in forces.items():
        F[system.coordinates.index(name)] = each[k]
    return F


@pytest.mark.spec("004-C55")
@given(seed=SEEDS, kept=st.integers(0, 8), instant=st.floats(0.0, 10.0))
def test_forced_fidelity_is_that_of_the_reduced_model(seed: int, kept: int, instant: float) -> None:
    system = structure(seed)
    ranking = rank_modes(system, MASTERS, EnergyBasedRanking(FORCES, HARMONICS))
    report = forced_fidelity(ranking, FORCES, HARMONICS, gain_at="a1.x", time=instant)
    reduction = craig_bampton(system, MASTERS, ranking.first(kept))
    u = v = np.zeros(12)
    for k, w in enumerate(HARMONICS):
        turn = np.exp(1j * w * instant)
        F = _full(system, {name: np.broadcast_to(each, 2) for name, each in FORCES.items()}, k)
        M, K = np.asarray(reduction.system.M), np.asarray(reduction.system.K)
        u = u + (np.linalg.solve(system.K - w**2 * np.asarray(system.M), F) * turn).real
        v = v + (reduction.T @ np.linalg.solve(K - w**2 * M, reduction.T.T @ F) * turn).real
    mac = (u @ v) ** 2 / ((u @ u) * (v @ v))
    assert report.mac[kept] == pytest.approx(mac, abs=1e-8)
    at = system.coordinates.index("a1.x")
    assume(abs(u[at]) > 1e-3 * np.abs(u).max())
    assert report.gain_errors[kept] == pytest.approx(100 * abs((u[at] - v[at]) / u[at]), abs=1e-5)


@pytest.mark.spec("004-C54")
@given(seed=SEEDS)
def test_a_constant_part_moves_no_interior_mode(seed: int) -> None:
    system = structure(seed)
    forces = {name: np.append(5.0, np.broadcast_to(each, 2)) for name, each in FORCES.items()}
    with_it = rank_modes(system, MASTERS, EnergyBasedRanking(forces, (0.0, *HARMONICS)))
    without = rank_modes(system, MASTERS, EnergyBasedRanking(FORCES, HARMONICS))
    np.testing.assert_array_equal(with_it.coefficients, without.coefficients)
    static = guyan(system, MASTERS)
    F = _full(system, {name: [5.0] for name in FORCES}, 0).real
    exact = np.linalg.solve(np.asarray(system.K), F)
    reduced = static.T @ np.linalg.solve(np.asarray(static.system.K), static.T.T @ F)
    np.testing.assert_allclose(reduced, exact, rtol=0, atol=1e-10 * np.abs(exact).max())
