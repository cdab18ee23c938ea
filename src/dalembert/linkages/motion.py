"""Expressions of a linkage in (y, q): elastic displacements u = Y(q) y of its nodes about rigid links at r(q).

    b = r(q) + G u ,   ḃ = T [ẏ; q̇] ,   T = [G Y, S] ,   b̈ = T [ÿ; q̈] + S' q̇ ,
    Tᵀ M T [ÿ; q̈] = Tᵀ (M (g - S' q̇) + f - (2 M_G + C) G Y ẏ) - [Yᵀ Gᵀ K G Y y; 0]

(Vidoni, Gasparetto and Giovagnoni 2013). K S = 0, so that no elastic force acts on q. Terms of u times rates are
dropped, as there. Y = 1 is the whole model. S and the rates of S come from the rigid linkage in minimum coordinates;
every product is made in the axes of the links, where M, K and C are numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.equations import EquationsOfMotion
from dalembert.linkages.elastic_coordinates import ElasticCoordinates
from dalembert.linkages.links import SlenderLink

SX: Any = ca.SX


@dataclass(frozen=True, eq=False)
class Linkage:
    """Everything about a linkage that does not depend on its coordinates.

    rigid : equations of the rigid links in independent coordinates.  nodes : of the machine with a body for each node.
    zeroed, dependent, free : entries of the displacements w.  gravity [m/s²].
    """

    name: str
    links: tuple[SlenderLink, ...]
    rigid: EquationsOfMotion
    nodes: EquationsOfMotion
    elastic: ElasticCoordinates
    zeroed: tuple[int, ...]
    dependent: tuple[int, ...]
    free: tuple[int, ...]
    gravity: tuple[float, ...]
    gyroscopic: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.elastic.names[k] for k in self.free)

    @property
    def nq(self) -> int:
        return self.rigid.nv

    def matrices(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """M of (u, q), K of u and the angles of the links at rigid coordinates with their seeds."""
        M, K, angles = (np.array(value, dtype=np.float64) for value in self._matrices(x))
        return M, K, angles.ravel()

    @cached_property
    def _matrices(self) -> ca.Function:
        x, p = SX.sym("x", self.rigid.nq), ca.DM(self.rigid.p)
        pose = LinkagePose(self, x, SX.zeros(self.rigid.nv), p, 0.0)
        G = pose.displacements(p, 0.0)[:, list(self.free)]
        T, G_link = pose.to_links(ca.horzcat(G, pose.S)), pose.to_links(G)
        angles = ca.vertcat(*(pose.angles[link.name] for link in self.links))
        parts = (T.T @ pose.matrix("M") @ T, G_link.T @ pose.matrix("K") @ G_link, angles)
        return ca.Function("linkage_matrices", [x], [ca.densify(part) for part in parts], {"cse": True})


class LinkagePose:
    """Places of nodes, S, G and the matrices of the elements at a pose of the rigid links; expressions of x and p."""

    def __init__(self, linkage: Linkage, x: Any, rates: Any, p: Any, t: Any) -> None:
        self.linkage = linkage
        value, _, S, bias = linkage.rigid.functions["measures"](x, rates, p, t)
        index = linkage.rigid.measures.index
        self.angles: dict[str, Any] = {"ground": SX(0)}
        self.turning: list[Any] = []
        self.axes: list[tuple[Any, Any]] = []
        self.bodies: list[Any] = []
        places, motions, drifts = [], [], []
        for link in linkage.links:
            rows = [index[f"{link.name}.{way}"] for way in ("x", "y", "angle")]
            body, S_body, bias_body = value[rows], S[rows, :], bias[rows]
            c, s = ca.cos(body[2]), ca.sin(body[2])
            rate = S_body[2, :] @ rates
            self.angles[link.name] = body[2]
            self.bodies.append(body)
            self.turning.append(rate)
            self.axes.append((c, s))
            for local in link.places:
                arm = ca.vertcat(c * local[0] - s * local[1], s * local[0] + c * local[1])
                turned = ca.vertcat(-arm[1], arm[0])
                places += [body[:2] + arm, body[2]]
                motions += [S_body[:2, :] + turned @ S_body[2, :], S_body[2, :]]
                drifts += [bias_body[:2] + turned * bias_body[2] - arm * rate**2, bias_body[2]]
        self.r, self.S, self.drift = ca.vertcat(*places), ca.vertcat(*motions), ca.vertcat(*drifts)

    def displacements(self, p: Any, t: Any) -> Any:
        """G (3N, n) of displacements that the joints allow; columns of dependent ones are zero."""
        linkage, elastic = self.linkage, self.linkage.elastic
        P = elastic.expand(self.angles)
        if not linkage.dependent:
            return P
        A = solved_rows(linkage.nodes, elastic, self.r, P, p, t)
        dependent = list(linkage.dependent)
        others = [k for k in range(P.shape[1]) if k not in linkage.dependent]
        followed = -ca.solve(A[:, dependent], A[:, others])
        G = SX(*P.shape)
        G[:, others] = P[:, others] + P[:, dependent] @ followed
        return G

    def to_links(self, columns: Any) -> Any:
        """Rows of nodes in the axes of their links instead of the world's."""
        return self._turned(columns, -1.0)

    def to_world(self, columns: Any) -> Any:
        return self._turned(columns, 1.0)

    def _turned(self, columns: Any, sign: float) -> Any:
        rows, first = [], 0
        for link, (c, s) in zip(self.linkage.links, self.axes, strict=True):
            for _ in link.points:
                x, y = columns[first, :], columns[first + 1, :]
                rows += [c * x - sign * s * y, sign * s * x + c * y, columns[first + 2, :]]
                first += 3
        return ca.vertcat(*rows)

    def matrix(self, name: str) -> Any:
        """M, K, C or G of all links in their own axes, numbers."""
        return ca.diagcat(*(ca.sparsify(SX(ca.DM(getattr(link, name)))) for link in self.linkage.links))

    def convective(self) -> Any:
        """M_G in the axes of the links."""
        blocks = zip(self.linkage.links, self.turning, strict=True)
        return ca.diagcat(*(ca.sparsify(SX(ca.DM(link.G))) * rate for link, rate in blocks))

    def gravity(self) -> Any:
        """Nodal acceleration of gravity, in the world."""
        return ca.DM(np.tile([*self.linkage.gravity, 0.0], self.r.shape[0] // 3))

    def weight_potential(self) -> Any:
        """Potential energy of the weight of rigid links."""
        total = SX(0)
        for link, body, (c, s) in zip(self.linkage.links, self.bodies, self.axes, strict=True):
            mx, my = link.static_moment
            moment = ca.vertcat(c * mx - s * my, s * mx + c * my)
            total -= ca.dot(ca.DM(self.linkage.gravity), link.mass * body[:2] + moment)
        return total


def solved_rows(nodes: EquationsOfMotion, elastic: ElasticCoordinates, r: Any, P: Any, p: Any, t: Any) -> Any:
    """Rows of the joints that share no displacements, in w, without those that repeat others at no pose."""
    zero = [SX.zeros(n) for n in (nodes.nv, nodes.nz, nodes.nu)]
    A, _ = nodes.functions["rows"](r, *zero, p, t)
    by_name = {info.name: info.rows for info in nodes.joints}
    rows = [row for joint in elastic.solved for row in by_name[joint.name]]
    return A[rows, :] @ P
