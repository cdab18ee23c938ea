"""Interior modes of a linkage with its rigid coordinates and its masters held, at a pose and turned to another.

At a reference pose q*, with the slaves s and masters m of the elastic displacements,

    (K_ss - ω² M_ss) φ = 0 ,   φᵀ M_ss φ = 1 ,   B(q) = -K_ss(q)⁻¹ K_sm(q) ,
    Ψ(q) = R(q) R(q*)ᵀ Φ ,     u_s = B(q) u_m + Ψ(q) η

(Palomba 2016, ch. 5, which prints the transposes of R the other way round: with them modes are lost). R turns the
translations of every node with the link that has it first; rotations of nodes do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray, assign
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.linkages.motion import Linkage
from dalembert.numerics import ties


class PoseMatrices:
    """Numbers of a linkage at poses: M of (u, q), K of u, angles of the links; its masters and slaves among u.

    pairs, owners : translations (x, y) of nodes among the free displacements, and the number of the link that they turn
    with; nodes of a slide move along its axes and turn with them.
    """

    def __init__(self, linkage: Linkage, masters: Sequence[int], shared: str = "first") -> None:
        self.linkage = linkage
        self.n = len(linkage.free)
        self.masters = list(masters)
        self.slaves = [k for k in range(self.n) if k not in self.masters]
        self.pairs, self.owners = self._find_turning(shared)

    def _find_turning(self, shared: str) -> tuple[list[tuple[int, int]], list[int]]:
        """(x, y) of nodes among the free displacements, and the first or last link of each."""
        elastic = self.linkage.elastic
        place = {column: k for k, column in enumerate(self.linkage.free)}
        pairs: dict[tuple[int, int], int] = {}
        node = 0
        for number, link in enumerate(self.linkage.links):
            for _ in link.points:
                x, y = (place.get(column, -1) for column in elastic.columns[3 * node : 3 * node + 2])
                if x >= 0 and y >= 0 and node not in elastic.guides and (shared == "last" or (x, y) not in pairs):
                    pairs[x, y] = number
                node += 1
        return list(pairs), list(pairs.values())

    def at(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """M (n + n_q), K (n), angles of the links."""
        return self.linkage.matrices(x)

    def static(self, K: FloatArray) -> FloatArray:
        """B (s, m)."""
        s, m = self.slaves, self.masters
        return np.asarray(-scipy.linalg.solve(K[np.ix_(s, s)], K[np.ix_(s, m)], assume_a="pos"))

    def turn(self, Phi: FloatArray, angles: FloatArray) -> FloatArray:
        """Rows of slaves turned by the angles of their links."""
        whole = np.zeros((self.n, Phi.shape[1]))
        whole[self.slaves] = Phi
        for (x, y), owner in zip(self.pairs, self.owners, strict=True):
            c, s = np.cos(angles[owner]), np.sin(angles[owner])
            whole[[x, y]] = np.array([[c, -s], [s, c]]) @ whole[[x, y]]
        return np.asarray(whole[self.slaves])

    def expand(self, B: FloatArray, Psi: FloatArray) -> FloatArray:
        """Y (n, m + k): all displacements from those of the masters and modal coordinates."""
        m = len(self.masters)
        Y = np.zeros((self.n, m + Psi.shape[1]))
        Y[self.masters, np.arange(m)] = 1.0
        Y[self.slaves, :m], Y[self.slaves, m:] = B, Psi
        return Y


@dataclass(frozen=True, eq=False)
class InteriorBasis:
    """Interior modes at one reference pose.

    x : rigid coordinates with seeds.  q : the rigid coordinates alone.  angles : of the links.  numbers : of the modes,
    from 1.  Phi : (s, k) shapes of unit modal mass.  omega : (k,) [rad/s].
    """

    x: FloatArray
    q: FloatArray
    angles: FloatArray
    numbers: tuple[int, ...]
    Phi: FloatArray
    omega: FloatArray

    def __post_init__(self) -> None:
        for name in ("x", "q", "angles", "Phi", "omega"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.flags.writeable = False
            assign(self, **{name: array})


def interior_modes(matrices: PoseMatrices, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """ω, Φ of all interior modes, the largest entry of each positive, and the angles of the links."""
    M, K, angles = matrices.at(x)
    s = np.ix_(matrices.slaves, matrices.slaves)
    values, shapes = scipy.linalg.eigh(K[s], M[: -matrices.linkage.nq, : -matrices.linkage.nq][s])
    largest = ties.first_largest(shapes)
    shapes = shapes * np.sign(shapes[largest, np.arange(shapes.shape[1])])
    return np.sqrt(np.maximum(values, 0.0)), shapes, angles


def make_basis(matrices: PoseMatrices, x: FloatArray, numbers: Sequence[int]) -> InteriorBasis:
    """The modes of these numbers at a pose."""
    omega, shapes, angles = interior_modes(matrices, x)
    wrong = [number for number in numbers if not 1 <= number <= len(omega)]
    if wrong or len(set(numbers)) != len(numbers):
        raise DataError(
            "out-of-range", f"modes must be different numbers from 1 to {len(omega)}, got {tuple(numbers)}.",
            Advice("Use {}.", Argument("modes", "ranking.first(k)")), where={"argument": "modes"},
        )  # fmt: skip
    chosen = [number - 1 for number in numbers]
    q = x[: matrices.linkage.nq]
    return InteriorBasis(x, q, angles, tuple(numbers), shapes[:, chosen], omega[chosen])


def match_modes(matrices: PoseMatrices, x: FloatArray, before: InteriorBasis) -> InteriorBasis:
    """Modes computed anew at a pose: those most like the modes of another basis turned there, one for each, by MAC.

    Numbers may change from pose to pose: the modes of equal number would exchange their places unseen.
    """
    from scipy.optimize import linear_sum_assignment

    omega, shapes, angles = interior_modes(matrices, x)
    turned = matrices.turn(before.Phi, angles - before.angles)
    products = turned.T @ shapes
    mac = products**2 / np.outer((turned**2).sum(axis=0), (shapes**2).sum(axis=0))
    _, columns = linear_sum_assignment(-mac)
    signs = np.sign(products[np.arange(len(columns)), columns])
    numbers = tuple(int(column) + 1 for column in columns)
    return InteriorBasis(x, x[: matrices.linkage.nq], angles, numbers, shapes[:, columns] * signs, omega[columns])
