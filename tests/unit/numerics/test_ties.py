"""No order, name or decision hangs on the last bit: what another BLAS computes is the same result."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.control import place
from dalembert.core.errors import DalembertError
from dalembert.linear import SecondOrder, StateSpace, track_eigenvalues
from dalembert.numerics import ties
from dalembert.structures import Frame, Section, assemble_structure, solve_static
from dalembert.structures.reduction.master_coordinates import choose_masters

BITS = range(40)


def shaken(values, seed: int) -> np.ndarray:
    """The numbers with their last bits changed at random."""
    values = np.asarray(values)
    return values * (1.0 + 2.0**-52 * np.random.default_rng(seed).integers(-2, 3, size=values.shape))


@pytest.mark.parametrize("seed", BITS[:8])
def test_orders_and_choices_do_not_depend_on_the_last_bit(seed):
    assert ties.largest_first(shaken([3.0, 1.0, 3.0, 0.0, 1e-20, 2.0], seed)).tolist() == [0, 2, 5, 1, 3, 4]
    assert ties.first_largest(shaken([1.0, -3.0, 3.0], seed)) == 1
    s = shaken([2.0, -2.0, -1.0 + 3j, -1.0 - 3j, 0.5, 0.5], seed)
    assert ties.by_modulus(s).tolist() == [4, 5, 0, 1, 3, 2]
    columns = np.array([[1.0, 0.6, 0.0, 1.0], [0.0, 0.8, 1.0, 0.0]])
    assert ties.pivot_columns(shaken(columns, seed))[1][:2].tolist() == [0, 2]


def test_ranks_keep_apart_what_differs():
    assert ties.ranks([1e-6, 2e-6, 1e6, 1e6 * (1.0 + 1e-6), np.inf, np.inf, -np.inf]).tolist() == [1, 2, 3, 4, 5, 5, 0]


@pytest.mark.parametrize("dt", [None, 0.1])
@pytest.mark.parametrize("count", [2, 3])
def test_integrators_of_several_levels_never_fall_among_the_stable_states(dt, count):
    """A double pole at 0 is torn to ±1e-8, a triple one to 1e-5: on either side of the border."""
    A = np.zeros((3 + count, 3 + count))
    A[:2, :2], A[2, 2] = [[0.0, 1.0], [-4.0, -0.2]], 0.5
    A[3:, 3:] = np.eye(count, k=1)
    for seed in BITS:
        T = np.linalg.qr(np.random.default_rng(6).normal(size=A.shape))[0]
        space = StateSpace(shaken(T.T @ A @ T, seed), T[:, :1], T[:2], [[1.0], [2.0]])
        space = space if dt is None else space.to_discrete(dt)
        stable, rest = space.stable_split()
        assert (stable.nx, rest.nx) == (2, 1 + count)
        assert stable.is_stable
        np.testing.assert_allclose((stable + rest).markov(6), space.markov(6), rtol=0, atol=1e-10)


def test_a_mechanism_is_named_by_the_same_coordinates_in_the_same_order():
    words = set()
    for seed in BITS:
        frame = Frame("bays", planar=True)
        frame.add_points(list("ABCDEF"), shaken([[0, 0], [0, 1], [1, 1], [1, 0], [2, 1], [2, 0]], seed) + 0.0)
        frame.add_bars("b", list("ABCCE"), list("BCDEF"), section=Section.rectangle(0.2, 0.1), material="steel")
        frame.add_support(["A", "D", "F"], "pinned")
        frame.add_force("wind", "B", (1, 0))
        with pytest.raises(DalembertError) as caught:
            solve_static(assemble_structure(frame), "wind")
        words.add(str(caught.value))
    assert len(words) == 1


@pytest.mark.parametrize("rule", ["ratio", "greedy"])
def test_masters_of_a_symmetric_chain_are_the_same_whatever_the_last_bit(rule):
    K = 2.0 * np.eye(8) - np.eye(8, k=1) - np.eye(8, k=-1)
    found = {choose_masters(SecondOrder(np.diag(shaken(np.ones(8), seed)), K), 4, rule=rule) for seed in BITS}
    assert len(found) == 1


@pytest.mark.parametrize("seed", BITS[:8])
def test_conjugate_pairs_of_one_real_part_are_taken_as_pairs(seed):
    poles = shaken(np.array([-1 + 2j, -1 - 2j, -1 + 5j, -1 - 5j]), seed) + shaken(np.ones(4), seed + 1) - 1.0
    chain = SecondOrder(np.eye(2), [[2.0, -1.0], [-1.0, 2.0]], B=[0.0, 1.0])
    K = place(chain, poles).K
    assert pytest.approx(place(chain, [-1 + 2j, -1 - 2j, -1 + 5j, -1 - 5j]).K, rel=1e-12) == K


@pytest.mark.parametrize("seed", BITS[:8])
def test_equal_pairs_that_cross_the_axis_together_are_one_crossing(seed):
    K = np.diag(shaken([4.0, 4.0], seed))
    found = track_eigenvalues(lambda c: SecondOrder(np.eye(2), K, C=c * np.eye(2)), np.linspace(-1.0, 1.0, 5))
    assert [one.value for one in found.crossings] == pytest.approx([0.0], abs=1e-12)


@pytest.mark.parametrize(
    ("values", "tie"),
    [
        ([1.0, 1.0 + 0.9e-9], True),
        ([1.0, 1.0 + 1.1e-9], False),
        ([0.0, 0.9e-14, 1.0], True),
        ([0.0, 1.1e-14, 1.0], False),
    ],
)
def test_numbers_are_a_tie_to_a_billionth_and_to_1e_14_of_the_largest(values, tie):
    ranks = ties.ranks(values)
    assert (ranks[0] == ranks[1]) == tie


@pytest.mark.parametrize(("more", "first"), [(0.4e-4, 0), (0.6e-4, 1)])
def test_the_first_of_two_columns_is_preferred_by_half_of_1e_4(more, first):
    assert ties.pivot_columns(np.diag([1.0, 1.0 + more]))[1][0] == first
