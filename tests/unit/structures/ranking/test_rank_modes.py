"""Rankings of interior modes: bad input, large systems, flexible bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder
from dalembert.structures import (
    RANKINGS,
    ByFrequency,
    EffectiveInterfaceMass,
    EnergyBasedRanking,
    Frame,
    InteriorModeRanking,
    MomentMatching,
    OptimalModalReduction,
    Section,
    assemble_structure,
    craig_bampton,
    flexible_body,
    forced_fidelity,
    rank_modes,
)
from dalembert.studies.flexible.vibratory_feeder import feeder
from tests.helpers.findings import raises


def link(elements: int = 12) -> Frame:
    """A free beam in the plane, half a metre long."""
    frame = Frame("link", planar=True, gravity=0)
    frame.add_points(["root", "tip"], [[0, 0], [0.5, 0]])
    frame.add_beam("link", "root", "tip", section=Section.rectangle(0.004, 0.03), material="steel", elements=elements)
    return frame


def link_system(elements: int = 12) -> SecondOrder:
    return assemble_structure(link(elements)).system()


def test_every_ranking_is_registered() -> None:
    made: tuple[Any, ...] = (ByFrequency, EffectiveInterfaceMass, EnergyBasedRanking, InteriorModeRanking,
                             MomentMatching, OptimalModalReduction)  # fmt: skip
    assert set(RANKINGS.values()) == set(made)


def test_masters_that_leave_a_rigid_motion_are_refused() -> None:
    """A beam held at one point of the plane along x and y still turns; the slaves that take part are named."""
    with raises(DataError, "singular-matrix", "tip.y"):
        rank_modes(link_system(), ["root.x", "root.y"], ByFrequency())


def test_a_ranking_by_frequency_says_nothing_about_what_is_left_out() -> None:
    """Also where all interior modes were computed: else no mode at all would be enough."""
    chain = SecondOrder(np.eye(4), 2.0 * np.eye(4) - np.eye(4, k=1) - np.eye(4, k=-1))
    ranking = rank_modes(chain, "x1", ByFrequency())
    assert np.isnan([ranking.bound(0), ranking.bound(3)]).all()
    assert np.isnan(ranking.by(ByFrequency()).rest)
    with raises(DataError, "not-supported", "no total"):
        ranking.size(0.1)


def test_a_master_at_rest_at_the_instant_has_no_gain_error() -> None:
    system = link_system()
    ranking = rank_modes(system, ["root", "tip"], EnergyBasedRanking({"root.y": 1.0}, 10.0))
    with raises(DataError, "zero", "at rest"):
        forced_fidelity(ranking, {"root.y": 1.0j}, 10.0)  # a sine


@pytest.mark.spec("004-C54")
def test_a_harmonic_at_a_natural_frequency_is_refused() -> None:
    system = link_system()
    omega = float(system.modes(6).frequencies[4])
    with raises(DataError, "resonance", "harmonic"):
        rank_modes(system, ["root", "tip"], EnergyBasedRanking({"root.y": 1.0}, omega))
    beside = rank_modes(system, ["root", "tip"], EnergyBasedRanking({"root.y": 1.0}, omega * 1.00001))
    assert np.isfinite(beside.coefficients).all()
    with raises(DataError, "resonance", "harmonic"):
        forced_fidelity(beside, {"root.y": 1.0}, omega)


def test_a_constant_force_on_a_free_body_has_no_forced_motion() -> None:
    system = link_system()
    ranking = rank_modes(system, ["root", "tip"], ByFrequency())
    with raises(DataError, "resonance", "free to move"):
        forced_fidelity(ranking, {"root.y": 1.0}, 0.0)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: InteriorModeRanking(), "missing-argument"),
        (lambda: InteriorModeRanking(modes=[1], band=(0.0, 1.0)), "conflicting-arguments"),
        (lambda: InteriorModeRanking(modes=[0]), "not-a-count"),
        (lambda: InteriorModeRanking(modes=[2, 2]), "duplicate"),
        (lambda: InteriorModeRanking(modes=[4, 5], weights=[1.0]), "wrong-shape"),
        (lambda: InteriorModeRanking(modes=[4, 5], weights=[1.0, -1.0]), "negative"),
        (lambda: EnergyBasedRanking({}, 1.0), "wrong-type"),
        (lambda: EnergyBasedRanking({"root.y": "much"}, 1.0), "not-finite"),
        (lambda: EnergyBasedRanking({"root.y": 0.0}, 1.0), "zero"),
        (lambda: EnergyBasedRanking({"root.y": 1.0}, -1.0), "out-of-range"),
        (lambda: EnergyBasedRanking({"root.y": 1.0}, [1.0, 1.0]), "duplicate"),
        (lambda: EnergyBasedRanking({"middle.y": 1.0}, 100.0), "unknown-name"),
        (lambda: EnergyBasedRanking({"root.y": [1.0, 2.0]}, 100.0), "wrong-shape"),
        (lambda: OptimalModalReduction(3), "unknown-choice"),
        (lambda: InteriorModeRanking(modes=[100]), "too-few-modes"),
        (lambda: InteriorModeRanking(band=(1.0, 2.0)), "too-few-modes"),
        (lambda: "by frequency", "wrong-type"),
    ],
)
def test_a_mistake_in_a_ranking_has_its_code(make: Any, code: str) -> None:
    with raises(DataError, code):
        rank_modes(link_system(), ["root", "tip"], make())


def test_sizes_that_the_computed_modes_cannot_meet_are_refused() -> None:
    ranking = rank_modes(link_system(), ["root", "tip"], InteriorModeRanking(modes=[4, 5, 6]), count=3)
    assert ranking.rest > 0.0
    with raises(DataError, "too-few-modes"):
        ranking.size(0.5 * ranking.rest)
    with raises(DataError, "too-few-modes"):
        ranking.first(4)


@pytest.mark.spec("004-C51")
def test_a_flexible_body_takes_the_modes_of_a_ranking() -> None:
    """Four modes of a band, chosen for root and tip as masters: its free frequencies are those of the reduction."""
    frame = link()
    system = assemble_structure(frame).system()
    ranking = rank_modes(system, ["root", "tip"], InteriorModeRanking(modes=[4, 6]))
    modes = ranking.first(4)
    assert modes != tuple(sorted(modes)) or modes[-1] > 4  # not the lowest
    body = flexible_body(frame, basis="craig-bampton", interfaces=["root", "tip"], nodes=["root", "tip"], modes=modes)
    reduced = craig_bampton(system, ["root", "tip"], modes)
    hertz = reduced.system.modes(10).frequencies[3:7] / 2 / np.pi
    np.testing.assert_allclose(body.frequencies_hz[:4], hertz, rtol=1e-8)


@pytest.mark.spec("004-C52")
def test_a_large_system_computes_as_many_modes_as_leave_little() -> None:
    """600 slaves: two passes instead of all modes; the ranking of all of them is the same up to what is left."""
    system = link_system(201)
    method = InteriorModeRanking(modes=[4, 5])
    part = rank_modes(system, ["root", "tip"], method, rest=1e-5, first=8)
    every = rank_modes(system, ["root", "tip"], method, count=len(part.interior.slaves))
    assert len(part) < 100 < len(every) and part.rest <= 1e-5
    assert part.first(part.size(1e-3)) == every.first(every.size(1e-3))


@pytest.mark.spec("004-C56", "004-T9")
def test_masters_without_inertial_coupling_are_legal() -> None:
    """Exciters hang on springs to the tray: their masses feel no interior mode."""
    system = assemble_structure(feeder()).system()
    exciters = [f"exciter{i}.y" for i in (1, 4, 7)]
    alone = rank_modes(system, ["tray1.y", "tray4.y", "tray7.y", *exciters], EffectiveInterfaceMass())
    of_tray = rank_modes(system, ["tray1.y", "tray4.y", "tray7.y", *exciters], MomentMatching())
    assert np.isfinite(alone.coefficients).all() and alone.bound(0) == pytest.approx(1.0, abs=1e-12)
    assert np.isfinite(of_tray.coefficients).all()


def test_modes_of_one_frequency_share_their_coefficient() -> None:
    """Two equal chains on one master: every pair of modes has one frequency, and no shapes of its own."""
    chain = np.diag([3.0, 2.0, 1.0]) - np.eye(3, k=1) - np.eye(3, k=-1)
    K = np.zeros((7, 7))
    K[0, 0] = 4.0
    for block in (slice(1, 4), slice(4, 7)):
        K[block, block] = chain + np.diag([1.0, 0.0, 0.0])
        K[0, block.start] = K[block.start, 0] = -1.0
    ranking = rank_modes(SecondOrder(np.eye(7), K), "x1", InteriorModeRanking(modes=[1, 3]))
    pairs = ranking.coefficients.reshape(3, 2)
    np.testing.assert_allclose(pairs[:, 0], pairs[:, 1], rtol=1e-12)
    assert [set(pair) for pair in ranking.order.reshape(3, 2).tolist()] != []
    assert all(abs(a - b) == 1 for a, b in ranking.order.reshape(3, 2).tolist())
