"""Structures in a turning frame: bodies, slices of beams, assembled structures."""

from __future__ import annotations

import numpy as np

from dalembert.structures import slices

AXES = np.eye(3)


def cloud(seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Masses (7,) and places (7, 3) from the point of attachment of a rigid cloud of particles."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 2.0, 7), rng.standard_normal((7, 3))


def of_cloud(masses: np.ndarray, places: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, offset of the centre and inertia about it."""
    c = masses @ places / masses.sum()
    s = places - c
    J = np.einsum("p,pij->ij", masses, (s**2).sum(1)[:, None, None] * AXES - s[:, :, None] * s[:, None, :])
    return float(masses.sum()), c, J


class TestABodyInATurningFrame:
    masses, places = cloud()
    point, spin = np.array([0.7, -0.4, 1.1]), np.array([0.3, -1.2, 0.8])

    def energies(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """G, K, f from T₁ and T₀ of the particles, p = r + u + s + θ×s + ½ θ×(θ×s)."""
        W = slices.cross_matrix(self.spin)
        G, K, f = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(6)
        for m, s in zip(self.masses, self.places, strict=True):
            J = np.hstack([AXES, -slices.cross_matrix(s)])
            H = np.zeros((3, 6, 6))
            for i in range(3):
                for j in range(3):
                    turned = np.cross(AXES[i], np.cross(AXES[j], s)) + np.cross(AXES[j], np.cross(AXES[i], s))
                    H[:, 3 + i, 3 + j] = 0.5 * turned
            velocity = W @ (self.point + s)
            G += m * 2 * J.T @ W @ J
            K -= m * ((W @ J).T @ (W @ J) + np.einsum("a,ab,bij->ij", velocity, W, H))
            f += m * velocity @ W @ J
        return G, K, f

    def test_its_matrices_are_those_of_the_kinetic_energy_of_its_particles(self) -> None:
        m, c, J = of_cloud(self.masses, self.places)
        found = slices.spin_matrices(np.array([m]), c[None], J[None], (self.point + c)[None], self.spin[None])
        for ours, expected in zip(found, self.energies(), strict=True):
            assert np.allclose(ours[0], expected, rtol=0, atol=1e-12)

    def test_a_particle_on_isotropic_springs_keeps_the_factor_of_the_gyroscopic_matrix(self) -> None:
        """R3 of spec 003, 4.14: m = 1, k = 4, frame at 0.5 rad/s: 1.5 and 2.5 rad/s (trap 7: 1.18, 3.18)."""
        one = np.ones(1)
        G, K, _ = slices.spin_matrices(one, np.zeros((1, 3)), np.zeros((1, 3, 3)), np.zeros((1, 3)), 0.5 * AXES[2:])
        assert np.array_equal(G[0, :2, :2], [[0, -1], [1, 0]])
        assert np.array_equal(K[0, :2, :2], -0.25 * np.eye(2))
        A = np.block([[np.zeros((2, 2)), np.eye(2)], [-4 * np.eye(2) - K[0, :2, :2], -G[0, :2, :2]]])
        assert np.allclose(np.sort(np.linalg.eigvals(A).imag), [-2.5, -1.5, 1.5, 2.5], rtol=0, atol=1e-12)
