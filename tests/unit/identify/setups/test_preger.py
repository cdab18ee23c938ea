"""Covariances of set-ups brought to one excitation."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.identify.auto.time_scale import TimeScale
from dalembert.identify.records.data import Data
from dalembert.identify.setups.preger import choose_size, merge_hankels


def test_exact_covariances_of_other_excitations_give_one_observability_matrix() -> None:
    rng = np.random.default_rng(0)
    z = np.exp(np.array([-0.01 + 0.3j, -0.02 + 0.9j]))
    A = np.zeros((4, 4))
    for k, one in enumerate(z):
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[one.real, -one.imag], [one.imag, one.real]]
    C, rows = rng.normal(size=(5, 4)), 8  # two references, then two and one moved sensors
    powers = [np.linalg.matrix_power(A, k) for k in range(2 * rows)]

    def hankel(sensors: list[int], level: float) -> np.ndarray:
        G = level * rng.normal(size=(4, 2))  # another excitation
        return np.array([np.hstack([C[sensors] @ powers[a + b] @ G for b in range(rows)]) for a in range(rows)])

    U, S, moved = merge_hankels([hankel([0, 1, 2, 3], 1.0), hankel([0, 1, 4], 30.0)], 2, 4)
    merged = np.concatenate([(U * S).reshape(rows, 2, 4), moved], axis=1)
    assert merged.shape == (rows, 5, 4)
    whole = np.vstack([C @ power for power in powers[:rows]])
    # the same columns in another basis of states: nothing of one is outside of the other, but for rounding
    basis = np.linalg.qr(whole)[0]
    stacked = merged.reshape(rows * 5, 4)
    left = stacked - basis @ (basis.T @ stacked)
    assert np.linalg.norm(left) == pytest.approx(0.0, abs=1e-9 * np.linalg.norm(stacked))
    assert np.linalg.matrix_rank(stacked) == 4


# ---- edges of thresholds


@pytest.mark.parametrize(("references", "rows"), [(1, 41), (2, 30), (3, 30)])
def test_block_rows_have_room_for_the_largest_order(references: int, rows: int) -> None:
    y = np.random.default_rng(0).normal(size=(4000, references + 1))
    part = Data((y[:, :0],), (y,), 0.1, (), tuple("abcd"[: references + 1]), {}, None, {})
    assert choose_size([part], references, None, None, TimeScale(0.1, 5.0, 5.0, 1, None, False)) == (rows, 40)
