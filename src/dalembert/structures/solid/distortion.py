"""Stiffness against bending that linear hexahedra and quadrilaterals have by their shape alone.

No linear cell that passes the patch test bends freely when it is a trapezoid (MacNeal 1987): its incompatible
modes no longer cancel the shear. Each cell, of a material with E = 1 and ν = 0, is given the exact displacements of
bending, σ_aa = x_b, that is, with x from the centre of the cell,

    u = e_a x_a x_b − ½ e_b x_a² ,     U₀ = ½ ∫ x_b² dV

and its energy U is compared with the exact one. Where n cells lie through the thickness along b, 1/n² of the energy of
bending is bending of single cells: the body deflects by

    1 / (1 + (U/U₀ − 1)/n²)

of what it should. Axes a and b are the middle lines of the cell, the second made square to the first.
"""

from __future__ import annotations

import itertools

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.structures.solid import element_matrices as solid_elements
from dalembert.structures.solid import shapes as solid_shapes
from dalembert.structures.solid.element import SOLID_ELEMENTS

MOST_LAYERS = 8  # beyond this the bending of single cells is below 2 % of the energy


def bending_shares(points: FloatArray, cells: IntArray, kind: str, degree: int) -> tuple[FloatArray, FloatArray]:
    """Share of the deflection of linear cells with incompatible modes that bend in their worst direction; volumes.

    degree : of integration of the stiffness.  Both results (e,).
    """
    shares, volumes, layers = np.ones(len(cells)), np.empty(len(cells)), count_layers(cells, kind)
    d = SOLID_ELEMENTS[kind].dimension
    weights, values, slopes = solid_shapes.at_quadrature(kind, 3)
    law = np.diag([1.0, 1.0, 1.0, 0.5, 0.5, 0.5])[None]
    middle = solid_shapes.shapes(kind, np.full((1, d), 0.5))[1][0]
    for part in solid_elements.batches(len(cells), kind, 8):
        x = points[cells[part], :d]
        K = solid_elements.stiffness(x, law, kind, degree, True)[0]
        volume = solid_elements.gradients(x, slopes)[1] * weights
        volumes[part] = volume.sum(axis=1)
        x = x - (np.einsum("eq,qi,eia->ea", volume, values, x, optimize=True) / volumes[part, None])[:, None]
        lines = np.matmul(x.transpose(0, 2, 1), middle)
        lines = lines / np.linalg.norm(lines, axis=1, keepdims=True)
        for a, b in itertools.permutations(range(d), 2):
            along, across = lines[..., a], lines[..., b]
            across = across - along * np.sum(along * across, axis=1, keepdims=True)
            across = across / np.linalg.norm(across, axis=1, keepdims=True)
            x_a, x_b = np.matmul(x, along[..., None]), np.matmul(x, across[..., None])
            u = (along[:, None] * x_a * x_b - 0.5 * across[:, None] * x_a**2).reshape(len(x), -1, 1)
            energy = np.matmul(u.transpose(0, 2, 1), np.matmul(K, u))[:, 0, 0]
            exact = np.sum(volume * np.matmul(values, x_b)[..., 0] ** 2, axis=1)
            excess = np.maximum(energy / exact - 1.0, 0.0)
            shares[part] = np.minimum(shares[part], 1.0 / (1.0 + excess / layers[part, b] ** 2))
    return shares, volumes


def count_layers(cells: IntArray, kind: str) -> IntArray:
    """(e, d): cells from surface to surface of the body through each cell, along its axes."""
    corners = np.array(SOLID_ELEMENTS[kind].faces)
    faces = np.sort(cells[:, corners].reshape(-1, corners.shape[1]), axis=1)
    order = np.lexsort(faces.T)
    shared = np.flatnonzero((faces[order[1:]] == faces[order[:-1]]).all(axis=1))
    beside = np.full(len(faces), -1)
    beside[order[shared]], beside[order[shared + 1]] = order[shared + 1], order[shared]
    beyond = beside ^ 1  # the opposite face of the neighbour: faces are numbered in opposite pairs
    steps = np.zeros(len(faces), dtype=np.intp)
    for _ in range(MOST_LAYERS):
        steps = np.where(beside < 0, 0, 1 + steps[beyond])
    return np.asarray(1 + steps.reshape(-1, len(corners) // 2, 2).sum(axis=2))
