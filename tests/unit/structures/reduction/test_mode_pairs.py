"""Pairs of modes, one to one."""

from __future__ import annotations

import numpy as np

from dalembert.structures.reduction.mode_pairs import pair_modes


def test_every_computed_mode_is_taken_once() -> None:
    mac = np.array([[0.9, 0.8, 0.0], [0.95, 0.1, 0.0]])
    assert pair_modes(mac, np.array([1.0, 1.0]), np.array([1.0, 1.0, 1.0])).tolist() == [1, 0]


def test_a_mode_without_a_partner_has_none() -> None:
    assert pair_modes(np.array([[0.2], [0.9]]), np.array([1.0, 2.0]), np.array([2.0])).tolist() == [-1, 0]


def test_rigid_body_modes_are_far_from_every_frequency() -> None:
    mac = np.array([[1.0, 0.6]])
    assert pair_modes(mac, np.array([5.0]), np.array([0.0, 5.0])).tolist() == [1]
