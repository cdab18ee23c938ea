"""Reductions: how they are addressed, what they project, how they lead back."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder
from dalembert.record import Record
from dalembert.structures import choose_masters, condense_static, craig_bampton, guyan
from dalembert.structures.reduction.reduction import congruent
from tests.helpers.chains import ALL, chain, frequencies
from tests.helpers.findings import raises

# ---- names


def test_masters_are_coordinates_points_or_patterns_in_the_order_given():
    plane = SecondOrder(np.eye(4), np.eye(4), coordinates=["A.x", "A.y", "B[1].x", "B[1].y"])
    assert guyan(plane, ["B[1].y", "A"]).masters == ("B[1].y", "A.x", "A.y")
    assert guyan(plane, "B[1]").masters == ("B[1].x", "B[1].y")
    assert guyan(plane, ["*.y", "A.y"]).masters == ("A.y", "B[1].y")


def test_an_unknown_master_is_reported_with_the_nearest_name():
    with raises(DataError, "unknown-name", "'p33'", "'p3'"):
        guyan(chain(), "p33")
    with raises(DataError, "empty"):
        guyan(chain(), [])
    with raises(DataError, "bad-name"):
        guyan(chain(), [3])


def test_all_coordinates_as_masters_is_the_system_itself():
    for name in ("guyan", "static", "substructures", "irs", "craig_bampton", "serep"):
        reduced = ALL[name](chain(3), ["p1", "p2", "p3"])
        np.testing.assert_allclose(reduced.system.K, chain(3).K, rtol=0, atol=1e-12)
        np.testing.assert_allclose(reduced.T, np.eye(3), rtol=0, atol=1e-12)


def test_a_coordinate_named_like_a_mode_is_refused():
    with raises(DataError, "taken-name", "'mode1'"):
        craig_bampton(SecondOrder(np.eye(3), chain(3).K, coordinates=["mode1", "b", "c"]), "mode1", 1)


@pytest.mark.spec("003-C70")
def test_chosen_masters_are_those_of_small_stiffness_and_large_mass():
    system = chain(6)
    assert choose_masters(system, 2) == ("p6.x", "p5.x")
    assert choose_masters(system, 2, keep="p1") == ("p1.x", "p6.x")
    with raises(DataError, "out-of-range", "1", "6"):
        choose_masters(system, 7)
    with raises(DataError, "unknown-name", "'best'"):
        choose_masters(system, 1, rule="best")  # type: ignore[arg-type]


@pytest.mark.spec("003-C70")
def test_greedy_masters_spread_and_give_better_frequencies_than_the_ratio_taken_once():
    system = chain(12)
    exact = frequencies(system)[:3]
    ratio, greedy = choose_masters(system, 3), choose_masters(system, 3, rule="greedy")
    by_ratio, by_greedy = frequencies(guyan(system, ratio).system), frequencies(guyan(system, greedy).system)
    assert np.abs(by_greedy - exact).max() < 0.5 * np.abs(by_ratio - exact).max()


def test_greedy_masters_are_what_eliminating_one_by_one_leaves():
    """The update of M and K per eliminated coordinate is Guyan's reduction itself."""
    system = chain(7)
    left = list(system.coordinates)
    while len(left) > 3:
        small = guyan(system, left).system
        left.remove(small.coordinates[int(np.argmax(np.diag(small.K) / np.diag(small.M)))])
    assert set(choose_masters(system, 3, rule="greedy")) == set(left)


# ---- what is projected


@pytest.mark.parametrize("name", ALL)
def test_dense_and_sparse_systems_reduce_alike(name: str):
    masters = ["p2", "p5"]
    dense, sparse = ALL[name](chain(), masters), ALL[name](chain(sparse=True), masters)
    assert not sparse.system.is_sparse
    np.testing.assert_allclose(sparse.T, dense.T, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sparse.system.K, dense.system.K, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sparse.system.M, dense.system.M, rtol=0, atol=1e-10)


@pytest.mark.spec("003-C70")
@pytest.mark.parametrize("name", [name for name in ALL if name != "macneal"])
def test_every_matrix_is_projected(name: str):
    random = np.random.default_rng(3)
    skew = random.normal(size=(6, 6))
    skew = skew - skew.T
    part = {"C": 0.1 * chain().K, "G": skew, "K_loss": 0.02 * chain().K, "B": random.normal(size=(6, 2)),
            "Y_position": random.normal(size=(3, 6)), "D": random.normal(size=(3, 2))}  # fmt: skip
    if name in ("guyan", "craig_bampton"):
        part["H"] = 0.1 * skew
    if name not in ("static", "substructures"):
        part |= {"Y_velocity": random.normal(size=(3, 6)), "Y_acceleration": random.normal(size=(3, 6))}
    system = chain(**part)
    reduced = ALL[name](system, ["p2", "p5"])
    T, small = reduced.T, reduced.system
    for symbol in ("M", "C", "G", "K", "H", "K_loss"):
        np.testing.assert_allclose(getattr(small, symbol), T.T @ getattr(system, symbol) @ T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(small.B, T.T @ system.B, rtol=0, atol=1e-13)
    for symbol in ("Y_position", "Y_velocity", "Y_acceleration"):
        np.testing.assert_allclose(getattr(small, symbol), getattr(system, symbol) @ T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(small.D, system.D + system.Y_position @ reduced.residual, rtol=0, atol=1e-13)
    assert small.outputs == system.outputs


def test_names_units_and_provenance_travel():
    system = chain(B=[0, 0, 0, 0, 0, 1], inputs="force", units={"p1.x": "m", "p6.x": "m", "force": "N"},
                   provenance={"model": "chain"})  # fmt: skip
    reduced = craig_bampton(system, "p6", 1)
    assert reduced.system.coordinates == reduced.system.outputs == ("p6.x", "mode1")
    assert dict(reduced.system.units) == {"p6.x": "m", "force": "N"}
    assert reduced.system.provenance["model"] == "chain"
    assert reduced.system.provenance["reduction"] == "Craig-Bampton"


def test_a_reduction_is_frozen_and_survives_pickling():
    reduced = craig_bampton(chain(), ["p2", "p5"], 2)
    with pytest.raises(AttributeError):
        reduced.method = "other"
    assert not reduced.T.flags.writeable
    again = pickle.loads(pickle.dumps(reduced))  # noqa: S301  (our own bytes)
    np.testing.assert_array_equal(again.T, reduced.T)
    assert "Craig-Bampton: 6 -> 4 coordinates (2 masters, 2 modal)" in repr(again)
    assert "4 coordinates, 2 modes of which 2 kept" in repr(again.interior)


# ---- the way back


def test_expansion_takes_vectors_blocks_modes_and_records():
    reduced = craig_bampton(chain(), ["p2", "p5"], 2)
    np.testing.assert_array_equal(reduced.expand([1.0, 0, 0, 0]), reduced.T[:, 0])
    np.testing.assert_array_equal(reduced.expand(np.eye(4)), reduced.T)
    modes = reduced.expand(reduced.system.modes())
    assert modes.coordinates == chain().coordinates
    np.testing.assert_allclose(modes.shapes[1], reduced.system.modes().shapes[0])
    data = np.random.default_rng(0).normal(size=(5, 4))
    record = Record(np.arange(5.0), data[:, ::-1], reduced.system.coordinates[::-1])
    wide = reduced.expand(record)
    assert wide.names == chain().coordinates
    np.testing.assert_allclose(wide.data, data @ reduced.T.T)
    some = reduced.expand(record, coordinates=["p6", "p1"])
    np.testing.assert_array_equal(some.data, wide.data[:, [5, 0]])


def test_expanded_modes_know_their_masses():
    """Modal masses on the full mass matrix; with all interior modes they are exactly those of the reduced system."""
    reduced = craig_bampton(chain(sparse=True), ["p2", "p5"], None)
    modes = reduced.expand(reduced.system.modes())
    np.testing.assert_allclose(modes.modal_masses, 1.0, rtol=1e-10)
    np.testing.assert_allclose(modes.modal_stiffnesses, modes.frequencies**2, rtol=1e-9)
    np.testing.assert_allclose(modes.effective_masses(".x").sum(), chain().M.sum(), rtol=1e-10)


def test_expansion_refuses_what_does_not_fit():
    reduced = guyan(chain(), ["p2", "p5"])
    with raises(DataError, "wrong-shape", "(3,)", "(2,)"):
        reduced.expand([1.0, 2.0, 3.0])
    with raises(DataError, "unknown-name", "'p2.x'"):
        reduced.expand(Record([0.0, 1.0], [[0.0], [0.0]], ["p5.x"]))
    with raises(DataError, "unknown-name", "'q'"):
        reduced.expand([1.0, 2.0], coordinates="q")


def test_expansion_of_a_record_adds_the_static_part_of_its_inputs():
    reduced = condense_static(chain(B=[0, 0, 1, 0, 0, 0], inputs="push"), ["p5"])
    record = Record([0.0, 1.0], [[0.0, 0.0], [0.0, 2.0]], ["p5.x", "push"])
    np.testing.assert_allclose(reduced.expand(record).data[1], 2.0 * reduced.residual[:, 0])


@pytest.mark.parametrize(("rest", "kept"), [(1e-15, False), (2e-14, True)])
def test_sums_that_cancel_to_ten_roundings_are_zero(rest, kept):
    ones = np.ones((2, 1))
    assert (congruent(ones, np.diag([1.0, -1.0 + rest]), ones, 1)[0, 0] != 0.0) == kept
