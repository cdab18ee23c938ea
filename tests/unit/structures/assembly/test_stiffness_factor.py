"""Factors of stiffness matrices: when a matrix counts as definite."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.structures.assembly import stiffness_factor as factors


@pytest.mark.parametrize(
    ("name", "below", "above"), [("is_definite", 5e-15, 2e-14), ("is_surely_definite", 5e-11, 2e-10)]
)
def test_a_matrix_is_definite_from_its_smallest_pivot_on(name: str, below: float, above: float):
    for pivot, definite in ((below, False), (above, True)):
        c = np.sqrt(1.0 - pivot)  # pivots 1 and 1 - c²
        assert getattr(factors, name)(np.array([[1.0, c], [c, 1.0]])) == definite


EPS = 2.0**-52


def nearly_singular(resistance: float) -> np.ndarray:
    """Two coordinates that move together against this stiffness; unit diagonal."""
    return np.array([[1.0, resistance - 1.0], [resistance - 1.0, 1.0]])


@pytest.mark.parametrize(("resistance", "count"), [(40 * EPS, 1), (60 * EPS, 0)])
def test_a_motion_is_free_below_fifty_roundings(resistance: float, count: int) -> None:
    """K v of (1, 1) is exact but for one rounding."""
    assert factors.null_space(nearly_singular(resistance)).shape[1] == count


def test_free_motions_contain_less_than_a_rounding_of_stiff_ones() -> None:
    """A chain along x whose points move freely across it: K v has no sum that could round."""
    chain = 2 * np.eye(41) - np.eye(41, k=1) - np.eye(41, k=-1)
    matrix = np.block([[chain, np.zeros((41, 40))], [np.zeros((40, 81))]])
    motions = factors.null_space(matrix)
    assert motions.shape[1] == 40
    assert factors.resistance(matrix, motions).max() < EPS


@pytest.mark.parametrize(("resistance", "rigid"), [(0.9e4 * EPS, True), (1.1e4 * EPS, False)])
def test_a_mode_is_rigid_below_ten_thousand_roundings(resistance: float, rigid: bool) -> None:
    squares, _ = factors.lowest(np.eye(2), nearly_singular(resistance), 1)
    assert bool(squares[0] == 0.0) is rigid


@pytest.mark.parametrize(("part", "names"), [(0.9e-6, ["a"]), (1.1e-6, ["a", "b"])])
def test_coordinates_with_a_millionth_of_a_free_motion_are_named(part: float, names: list[str]) -> None:
    assert factors.name_moving(np.array([[2.0], [2.0 * part]]), ["a", "b"]) == names


def test_one_free_motion_is_found_among_many_of_1e_8_of_the_stiffness() -> None:
    """More than the eight of a block: four inverse iterations leave (1e-10 / 1e-8)⁴ of the others, times 1e-8."""
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 40)))[0]
    K = (Q * np.array([0.0, *np.full(20, 1e-8), *np.ones(19)])) @ Q.T
    assert factors.null_space(0.5 * (K + K.T)).shape[1] == 1


@pytest.mark.parametrize(("mass", "modes"), [(2e-15, 1), (2e-14, 2)])
def test_a_motion_with_ten_roundings_of_the_largest_mass_has_none(mass, modes):
    # eigenvalues 1 and m of M, turned so that no row of M is zero; K is the identity and the edge 20 ε
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0)
    assert len(factors.dense_pairs(turn @ np.diag([1.0, mass]) @ turn.T, np.eye(2))[0]) == modes
