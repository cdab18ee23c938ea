"""Finite elements of one link in the axes of its body: mass, stiffness, damping and the matrix of convective inertia.

With the shape functions N of the elements and J = [[0, -1], [1, 0]], a link that turns at the rate ω has

    2 M_G u̇ ,   M_G = ω (A - M J) ,   A = ∫ ρ Nᵀ J N dv  (antisymmetric) ,

where J acts on the two translations of every node (Vidoni, Gasparetto and Giovagnoni 2013). M_G vanishes for rigid
translations and for concentrated masses, whose displacements are those of their node. The curvature of a beam at
ξ = x/l is the slope of its rotation without shear, (θ₂ - θ₁)/l in the middle of an element.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.model.bodies import Body
from dalembert.structures.assembly.damping import Rayleigh
from dalembert.structures.assembly.structure import Structure, assemble_structure
from dalembert.structures.beams.beam_elements import BeamElements
from dalembert.structures.beams.elements import gauss
from dalembert.structures.beams.taper import GAUSS_POINTS
from dalembert.structures.frame.frame import Frame

WAYS = ("x", "y", "rz")
UNITS = ("m", "m", "rad")
CENTRE = "centre"  # the node of a rigid link


@dataclass(frozen=True, eq=False)
class SlenderLink:
    """A link between its nodes.

    name : of its body.  points : of the nodes.  places : (n, 2) from the centre of mass of the body, body axes [m].
    M, K, C, G : (3n, 3n) in body axes; G is M_G at ω = 1.  elements : of the frame; None of a rigid link.
    """

    name: str
    points: tuple[str, ...]
    places: FloatArray
    M: FloatArray
    K: FloatArray
    C: FloatArray
    G: FloatArray
    elements: BeamElements | None

    @property
    def names(self) -> list[str]:
        return [f"{self.name}.{point}.{way}" for point in self.points for way in WAYS]

    @property
    def mass(self) -> float:
        return float(self.M[0::3, 0::3].sum())

    @property
    def static_moment(self) -> FloatArray:
        """Mass times the place of the centre of mass, body axes [kg m]."""
        turn = np.column_stack([-self.places[:, 1], self.places[:, 0], np.ones(len(self.places))]).ravel()
        ways = [np.eye(3)[np.arange(turn.size) % 3][:, k] for k in (0, 1)]
        return np.array([ways[1] @ self.M @ turn, -(ways[0] @ self.M @ turn)])

    def node_at(self, place: tuple[float, ...], part: str) -> int:
        """The node at a place of a part; places are written with nine digits."""
        gaps = np.linalg.norm(self.places - np.array(place), axis=1)
        nearest = int(np.argmin(gaps))
        size = float(np.ptp(self.places, axis=0).max()) or 1.0
        if gaps[nearest] > 1e-9 * size:
            raise ModelError(
                "no-node",
                f"{part!r} is at no node of link {self.name!r}: the nearest, {self.points[nearest]!r}, is "
                f"{gaps[nearest]:.3g} m away.",
                Advice("Add a point of the frame there, between two beams."),
                where={"body": self.name, "part": part}, evidence={"distance": float(gaps[nearest])},
            )  # fmt: skip
        return nearest

    def gauge_row(self, place: float, gauge: str, height: float | None = None) -> FloatArray:
        """(3n,) curvature κ [1/m] at a distance along the beams from the start of the first; at a node the mean.

        height : of a surface above the neutral axis [m]; then the strain there, ε = u' - height κ.
        """
        if self.elements is None:
            raise ModelError(
                "no-modes", f"gauge {gauge!r} is on link {self.name!r}, which is rigid: nothing bends there.",
                Advice("Give the link a frame in {}.", Argument("beams")), where={"gauge": gauge, "body": self.name},
            )  # fmt: skip
        ends = np.concatenate([[0.0], np.cumsum(self.elements.length)])
        edge = 1e-9 * ends[-1]
        if not -edge <= place <= ends[-1] + edge:
            raise ModelError(
                "out-of-range", f"gauge {gauge!r} at {place:g} m is beyond link {self.name!r} of {ends[-1]:g} m.",
                Advice("Measure along its beams from the start of the first: {}.", Argument("gauges")),
                where={"gauge": gauge, "body": self.name}, evidence={"place": place, "length": float(ends[-1])},
            )  # fmt: skip
        near = [e for e in range(len(ends) - 1) if ends[e] - edge <= place <= ends[e + 1] + edge]
        rows = [self._element_gauge(e, (place - ends[e]) / (ends[e + 1] - ends[e]), height) for e in near]
        return np.asarray(np.mean(rows, axis=0))

    def _element_gauge(self, element: int, xi: float, height: float | None) -> FloatArray:
        assert self.elements is not None
        b = self.elements.numbers
        length, phi = float(b.length[element]), float(b.phi_y[element])
        bending = np.array([12 * xi - 6, (6 * xi - 4 - phi) * length, 6 - 12 * xi, (6 * xi - 2 + phi) * length])
        local = np.zeros(12)
        local[[1, 5, 7, 11]] = bending / ((1 + phi) * length**2)
        if height is not None:
            local *= -height
            local[[0, 6]] = -1.0 / length, 1.0 / length
        row = np.zeros(3 * len(self.points))
        columns = (3 * self.elements.points[element][:, None] + np.arange(3)).ravel()
        row[columns] = local @ self.elements.transform()[element]
        return row


def elastic_link(body: Body, frame: Frame) -> SlenderLink:
    """The link of a body from a planar frame in the coordinates of ``body.at``."""
    where = {"body": body.name}
    if not isinstance(frame, Frame) or not frame.planar:
        raise ModelError(
            "wrong-type", f"the beams of link {body.name!r} must be a planar frame, got {frame!r:.60}.",
            Advice("Make it with {}.", Call("da.structures.Frame", Argument("planar", True))), where=where,
        )  # fmt: skip
    structure: Structure = assemble_structure(frame)
    group = structure.groups[0] if structure.groups else None
    plain = isinstance(group, BeamElements) and not group.is_bar.any() and group.released is None
    if not plain or structure.held.any() or structure.inactive.any() or structure.has_links:
        raise ModelError(
            "not-supported",
            f"the frame of link {body.name!r} must be beams and masses alone: joints of the mechanism hold it, and "
            "bars, releases and rigid links have no place in it.",
            Advice("Leave out supports, bars, releases and rigid links."), where=where,
        )  # fmt: skip
    assert isinstance(group, BeamElements)
    damping = structure.damping or Rayleigh()
    if not isinstance(damping, Rayleigh):
        raise ModelError(
            "not-supported", f"the frame of link {body.name!r} has damping ratios of modes, which a link has not.",
            Advice("Use {}.", Call("frame.set_damping", Argument("alpha"), Argument("beta"))), where=where,
        )  # fmt: skip
    M, K, C = (matrix.toarray() for matrix in (structure.M, structure.K, structure.C))
    centre = np.array([float(x) for x in body.center or (0.0, 0.0)])
    C = C + damping.alpha * M + damping.beta * K
    return SlenderLink(
        body.name, structure.points, structure.positions[:, :2] - centre, M, K, C, _convective(group), group
    )  # fmt: skip


def rigid_link(body: Body) -> SlenderLink:
    """A link of one node, the centre of mass of its body."""
    M = np.diag([float(body.mass), float(body.mass), float(body.inertia)])
    none = np.zeros((3, 3))
    return SlenderLink(body.name, (CENTRE,), np.zeros((1, 2)), M, none, none, none, None)


def _convective(group: BeamElements) -> FloatArray:
    """M_G of all elements at ω = 1."""
    xi, weights = gauss(GAUSS_POINTS)
    N = group.shapes(xi)[:, :, :2]
    density = np.repeat(group.numbers.rhoA[:, None], len(xi), axis=1)
    if group.tapered is not None:
        density[group.tapered_index] = group.tapered.at_gauss["rhoA"]
    scaled = density * weights * group.length[:, None]
    product = np.einsum("eg,egi,egj->eij", scaled, N[:, :, 1], N[:, :, 0])
    A = product - product.transpose(0, 2, 1)
    turned = np.zeros((12, 12))
    turned[[0, 6], [1, 7]], turned[[1, 7], [0, 6]] = -1.0, 1.0
    G = A - group.mass() @ turned
    G[group.lumped] = 0.0
    return np.asarray(group.assemble(G.transpose(0, 2, 1)).toarray())  # it takes blocks by columns


def link_of(links: tuple[SlenderLink, ...], name: str, what: str) -> SlenderLink:
    """The link of this name."""
    by_name: dict[str, SlenderLink] = {link.name: link for link in links}
    require_name("link", name, by_name, what, error=ModelError)
    return by_name[name]
