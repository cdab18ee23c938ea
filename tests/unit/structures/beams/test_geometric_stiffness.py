"""Geometric stiffness of the beam element against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.structures.beams import geometric_stiffness as geometric
from dalembert.structures.beams.elements import BeamNumbers


def element(length=1.3, phi_y=0.0, phi_z=0.0, EI_y=2.0, EI_z=5.0, EA=100.0, GJ=3.0) -> BeamNumbers:
    one = np.ones(1)
    return BeamNumbers(length * one, EA * one, EI_y * one, EI_z * one, GJ * one, phi_y * one, phi_z * one,
                       one, 0 * one, 0 * one, one)  # fmt: skip


def inside(N=0.0, T=0.0, M_y=0.0, M_z=0.0):
    return np.array([[N, 0.0, 0.0, T, M_y, M_z]])


class TestTheKernel:
    def test_constant_tension_without_shear_gives_the_classical_matrix(self) -> None:
        L, N = 1.3, 7.0
        K = geometric.geometric_stiffness(element(L), inside(N), inside(N))[0]
        half = np.array([[36, 3 * L, -36, 3 * L], [3 * L, 4 * L**2, -3 * L, -(L**2)]])
        classical = N / (30 * L) * np.vstack([half, [-36, -3 * L, 36, -3 * L], [3 * L, -(L**2), -3 * L, 4 * L**2]])
        signs = np.diag([1.0, -1.0, 1.0, -1.0])
        assert np.allclose(K[np.ix_([1, 5, 7, 11], [1, 5, 7, 11])], classical, rtol=0, atol=1e-13)
        assert np.allclose(K[np.ix_([2, 4, 8, 10], [2, 4, 8, 10])], signs @ classical @ signs, rtol=0, atol=1e-13)
        wagner = N * (7.0 / 100.0) / L * np.array([[1, -1], [-1, 1]])
        assert np.allclose(K[np.ix_([3, 9], [3, 9])], wagner, rtol=0, atol=1e-13)
        assert not K[[0, 6]].any()

    def test_with_shear_it_is_the_closed_form_of_the_timoshenko_element(self) -> None:
        """N/(30 l (1+Φ)²) [[36+60Φ+30Φ², 3l, ...], [3l, l²(4+5Φ+2.5Φ²), ..., -l²(1+5Φ+2.5Φ²)]]."""
        L, p, N = 0.8, 0.6, -2.0
        K = geometric.geometric_stiffness(element(L, p, 0.1), inside(N), inside(N))[0]
        a, b = 36 + 60 * p + 30 * p**2, 3 * L
        c, d = L**2 * (4 + 5 * p + 2.5 * p**2), -(L**2) * (1 + 5 * p + 2.5 * p**2)
        closed = np.array([[a, b, -a, b], [b, c, -b, d], [-a, -b, a, -b], [b, d, -b, c]]) * N / (30 * L * (1 + p) ** 2)
        assert np.allclose(K[np.ix_([1, 5, 7, 11], [1, 5, 7, 11])], closed, rtol=0, atol=1e-13)

    def test_a_parabolic_tension_is_integrated_exactly(self) -> None:
        b = element(1.0, 0.3, 0.2)
        fine = 4000  # midpoint rule: error of order fine⁻²
        x = (np.arange(fine) + 0.5) / fine
        tension = 2 + 3 * x + 5 * 4 * x * (1 - x)
        K = geometric.geometric_stiffness(b, inside(2.0), inside(5.0), np.array([5.0]))[0]
        p = 0.3
        slope = np.stack([-p - 6 * x + 6 * x**2, 1 + p * (0.5 - x) - 4 * x + 3 * x**2,
                          p + 6 * x - 6 * x**2, -p * (0.5 - x) - 2 * x + 3 * x**2]) / (1 + p)  # fmt: skip
        reference = (slope * tension) @ slope.T / fine
        assert np.allclose(K[np.ix_([1, 5, 7, 11], [1, 5, 7, 11])], reference, rtol=0, atol=1e-5)

    @pytest.mark.parametrize("phi", [0.0, 0.7])
    def test_a_rigid_rotation_turns_the_end_forces_with_the_element(self, phi: float) -> None:
        """Forces F become F + θ×F; moments, measured by their work on rotation vectors, M + ½ θ×M."""
        L, N, T, M_y, M_z, M_y2, M_z2 = 1.3, 4.0, 1.5, 2.0, -3.0, 0.7, 5.0
        V_y, V_z = -(M_z2 - M_z) / L, (M_y2 - M_y) / L
        K = geometric.geometric_stiffness(element(L, phi, 0.4 * phi), inside(N, T, M_y, M_z), inside(N, T, M_y2, M_z2))
        theta = np.array([0.3, -0.2, 0.5])
        motion = np.concatenate([np.zeros(3), theta, np.cross(theta, [L, 0, 0]), theta])
        force, first, second = np.array([N, V_y, V_z]), np.array([T, M_y, M_z]), np.array([T, M_y2, M_z2])
        expected = np.concatenate([-np.cross(theta, force), -0.5 * np.cross(theta, first),
                                   np.cross(theta, force), 0.5 * np.cross(theta, second)])  # fmt: skip
        assert np.allclose(K[0] @ motion, expected, rtol=0, atol=1e-13)

    def test_a_bar_is_a_string_across_its_axis(self) -> None:
        K = geometric.bar_geometric_stiffness(np.array([2.0]), np.array([10.0]))[0]
        assert np.allclose(K[np.ix_([1, 7], [1, 7])], [[5, -5], [-5, 5]])
        assert np.allclose(K[np.ix_([2, 8], [2, 8])], [[5, -5], [-5, 5]])
        assert np.count_nonzero(K) == 8
