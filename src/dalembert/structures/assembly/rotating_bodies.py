"""A rigid body, or a slice of a beam, seen from a frame that turns at the constant velocity Ω.

A body of mass m at a point that moves by u and turns by θ; its centre of mass C is at the offset c from the
point, its inertia about C is J; r is the place of C from a point of the axis. With W = Ω×, A = W² and
a₀ = A r, linear in u, θ (rotations as vectors; G and M_g come from the parts T₁, T₀ of the kinetic energy):

    force   m [ü + θ̈×c + 2 W (u̇ + θ̇×c) + A (u + θ×c) + a₀]
    moment  c × force + (θ×c) × m a₀ + J θ̈ + [(tr J - 2 J) Ω]× θ̇ + W [J W - (JΩ)×] θ + Ω × JΩ

so that  M q̈ + G q̇ + K q = f:  G skew (Coriolis, gyroscopic),  K = -M_g (softening by the spin, symmetric for
rotation vectors: its skew part belongs to the moment of f and is taken away),  f the centrifugal load.
All in common axes; one entry per body.
"""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call

# Difference of the two transverse inertias, relative to the largest inertia, up to which a body counts as round about
# its axis: far above the rounding of a section's moments (1e-15), far below any tolerance of manufacture.
ROUND = 1e-9


def cross_matrix(vector: FloatArray) -> FloatArray:
    """(..., 3, 3) with ``cross_matrix(a) b = a × b``."""
    x, y, z = np.moveaxis(vector, -1, 0)
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*vector.shape[:-1], 3, 3)


def spin_matrices(
    mass: FloatArray, offset: FloatArray, inertia: FloatArray, place: FloatArray, spin: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """G (k, 6, 6), K (k, 6, 6) and f (k, 6) of the module's equation.

    mass : (k,) [kg];  offset c, place r, spin Ω : (k, 3) [m, m, rad/s];  inertia J about C : (k, 3, 3) [kg m²].
    """
    m = mass[:, None, None]
    W, c = cross_matrix(spin), cross_matrix(offset)
    A = W @ W
    a0 = np.einsum("kij,kj->ki", A, place)
    J_spin = np.einsum("kij,kj->ki", inertia, spin)
    trace = np.einsum("kii->k", inertia)[:, None]
    G = np.zeros((len(mass), 6, 6))
    G[:, :3, :3] = 2 * m * W
    G[:, :3, 3:] = -2 * m * W @ c
    G[:, 3:, :3] = 2 * m * c @ W
    G[:, 3:, 3:] = -2 * m * c @ W @ c + cross_matrix(trace * spin - 2 * J_spin)
    K = np.zeros_like(G)
    K[:, :3, :3] = m * A
    K[:, :3, 3:] = -m * A @ c
    K[:, 3:, :3] = m * c @ A
    turning = m * (cross_matrix(a0) @ c - c @ A @ c) + W @ (inertia @ W - cross_matrix(J_spin))
    K[:, 3:, 3:] = 0.5 * (turning + turning.transpose(0, 2, 1))
    force = -mass[:, None] * a0
    f = np.concatenate([force, np.cross(offset, force) - np.cross(spin, J_spin)], axis=1)
    return G, K, f


def gyroscopic(inertia: FloatArray, spin: FloatArray) -> FloatArray:
    """(k, 3, 3) G of a spinning disc seen from a frame at rest: the turning axis carries H = JΩ along, G = -H×.

    inertia : (k, 3, 3) about the centre, round about the axis of ``spin`` (k, 3).
    """
    return -cross_matrix(np.einsum("kij,kj->ki", inertia, spin))


def refuse_not_round(inertia: FloatArray, axis: FloatArray, what: str) -> None:
    """Refuse inertias (..., 3, 3) that are not round about ``axis`` (..., 3): from the ground they vary in time."""
    along = np.einsum("...ij,...j->...i", inertia, axis)
    polar = np.einsum("...i,...i->...", along, axis)
    across = 0.5 * (np.einsum("...ii->...", inertia) - polar)
    square = axis[..., :, None] * axis[..., None, :]
    expected = polar[..., None, None] * square + across[..., None, None] * (np.eye(3) - square)
    if axis.any() and np.abs(inertia - expected).max() > ROUND * np.abs(inertia).max():
        raise DataError(
            "not-round",
            f"{what} is not round about the axis of the rotor.",
            Advice("Use {}, in the frame that turns with it.", Call("da.structures.spin")),
        )
