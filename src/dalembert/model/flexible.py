"""Data of a flexible body in its floating frame: inertia invariants, stiffness, damping, and the modes at its nodes.

A material point at u₀ of the undeformed body is at u = u₀ + S(u₀) η in the axes of the frame, with the modes S
(3, m) and the elastic coordinates η (m,). All inertia coupling follows from integrals over the mass (Shabana 2005,
ch. 5; Wallrapp 1994), which are computed once:

    mass = ∫dm               first_moment = ∫u₀ dm           inertia = ∫ũ₀ᵀũ₀ dm
    translation = ∫S dm      rotation = ∫ũ₀ S dm             modal_mass = ∫SᵀS dm
    moments[a, b] = ∫u₀_a S_b dm                             products[a, b] = ∫S_aᵀ S_b dm

S_a is the row of S along axis a. Rotary inertia of nodes, constant to first order, is part of `inertia`, `rotation`
and `modal_mass`. All numbers are spatial and in SI units; a planar machine takes x and y of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray, frozen
from dalembert.core.errors import ModelError, unknown_name

if TYPE_CHECKING:
    from dalembert.model.flexible_comparison import BodyCheck

CENTRIFUGAL = ("xx", "yy", "zz", "xy", "xz", "yz")  # products of angular velocities, the order of their matrices


@frozen
class FlexibleNode:
    """A place of a flexible body where joints, forces and sensors act.

    place : (3,) undeformed [m].  translation, rotation : (3, m) displacement and small rotation by η.
    """

    name: str
    place: FloatArray
    translation: FloatArray
    rotation: FloatArray


@frozen
class StrainGauge:
    """A quantity linear in η: ``strain`` [-] or ``curvature`` [1/m]; row : (m,)."""

    name: str
    quantity: str
    row: FloatArray


@frozen
class Stiffening:
    """Geometric stiffness (m, m) of the body under unit loads, for loads that follow from its motion.

    centrifugal : (6, m, m) per ω_a ω_b [rad²/s²], in the order of `CENTRIFUGAL`.
    acceleration : (3, m, m) per unit of the frame's acceleration minus gravity along its axes [m/s²].
    forces, moments : (3, m, m) per newton along and per newton metre about the axes of the frame, by the name of the
        node that they act on.
    """

    centrifugal: FloatArray | None = None
    acceleration: FloatArray | None = None
    forces: Mapping[str, FloatArray] = field(default_factory=dict)
    moments: Mapping[str, FloatArray] = field(default_factory=dict)


@frozen
class BodyPicture:
    """Picture of a flexible body: points (n, 3), their modes (n, 3, m), lines (k, 2) and triangles (t, 3) of points."""

    points: FloatArray
    modes: FloatArray
    lines: IntArray
    triangles: IntArray


@frozen
class FiniteElementValues:
    """Values of the finite-element model from which the data was made, for `FlexibleBodyData.check`.

    mass [kg]; center (3,) [m]; inertia (3, 3) about the frame's origin [kg m²], NaN where the model has none;
    rigid_modes : motions without stiffness, None where unknown.  coordinates : number of free ones.
    frequencies_hz : of the model with the supports of the modes (none where ``free``), or None.  source : its name.
    shapes : (N, m) modes of all coordinates of the model, or None.
    wave_speed : √(E/ρ) of the material [m/s], as the energy of a uniform expansion shows it, or None.
    """

    mass: float
    center: FloatArray
    inertia: FloatArray
    rigid_modes: int | None = None
    coordinates: int | None = None
    frequencies_hz: FloatArray | None = None
    free: bool = False
    source: str = ""
    shapes: FloatArray | None = None
    wave_speed: float | None = None


@frozen
class FlexibleBodyData:
    """A flexible body as `add_flexible_body` takes it; made by `da.structures.flexible_body` or read from a file.

    name : of the part.  stiffness, damping : (m, m), of η.  nodes : where other parts can be attached.
    reference : connection of the frame to the body: "attached" (to a node), "mean axis" or "given".
    finite_elements : values of the model from which the data was made, or None.
    """

    name: str
    mass: float
    first_moment: FloatArray
    inertia: FloatArray
    translation: FloatArray
    rotation: FloatArray
    modal_mass: FloatArray
    moments: FloatArray
    products: FloatArray
    stiffness: FloatArray
    damping: FloatArray
    nodes: tuple[FlexibleNode, ...]
    gauges: tuple[StrainGauge, ...] = ()
    stiffening: Stiffening | None = None
    picture: BodyPicture | None = None
    reference: str = "given"
    finite_elements: FiniteElementValues | None = None

    def __post_init__(self) -> None:
        from dalembert.model.flexible_check import refuse_unsound

        refuse_unsound(self)

    @property
    def modes(self) -> int:
        """Number of elastic coordinates m."""
        return len(self.stiffness)

    @property
    def center(self) -> FloatArray:
        """Centre of mass of the undeformed body (3,) [m]."""
        return self.first_moment / self.mass

    def node(self, name: str) -> FlexibleNode:
        """The node of this name."""
        for node in self.nodes:
            if node.name == name:
                return node
        problem = unknown_name("node", name, [node.name for node in self.nodes], f"flexible body {self.name!r}")
        raise ModelError("unknown-name", problem, where={"body": self.name, "node": name})

    def out_of_plane_modes(self, share: float = 1e-6) -> list[int]:
        """Numbers (from one) of the modes that move mass or nodes out of the plane of x and y.

        share : largest, of motion or rotation out of the plane: rounding mixes modes of symmetric sections.
        """
        total = np.maximum(np.abs(np.diagonal(self.modal_mass)), 1e-300)
        along = np.maximum(np.abs(np.diagonal(self.products[2, 2])), self.translation[2] ** 2 / self.mass)
        moved = np.abs([node.translation for node in self.nodes])
        turned = moved[:, 2].max(axis=0) / np.maximum(moved.max(axis=(0, 1)), 1e-300)
        for node in self.nodes:
            turns = np.abs(node.rotation).max(axis=0)
            tilt = np.abs(node.rotation[:2]).max(axis=0)
            turned = np.maximum(turned, tilt / np.maximum(turns, 1e-300))
        return [k + 1 for k in range(self.modes) if along[k] > share**2 * total[k] or turned[k] > share]

    @property
    def frequencies(self) -> FloatArray:
        """Frequencies of the body with its frame fixed (m,) [rad/s]."""
        from scipy.linalg import eigh

        return np.asarray(np.sqrt(np.maximum(eigh(self.stiffness, self.modal_mass, eigvals_only=True), 0.0)))

    @property
    def frequencies_hz(self) -> FloatArray:
        """The same in Hz."""
        return np.asarray(self.frequencies / (2 * np.pi))

    def limit_frequencies(self, cutoff_hz: float) -> FlexibleBodyData:
        """The same body with inertia added to its fast deformations, so that no frequency is above `cutoff_hz`.

        With v_k and ω_k² of the free body, K v = ω² M_f v with M_f = M_e - Gᵀ M_r⁻¹ G (G: coupling with the rigid
        motions, M_r: their inertia), the added inertia M_f v_k (ω_k²/ω_c² - 1) v_kᵀ M_f reduces every ω_k above ω_c to
        ω_c. Shapes and compliance do not change; joints cannot raise the largest frequency. The response is exact for
        loads that vary slowly compared with the cutoff.
        """
        from scipy.linalg import eigh

        if not isinstance(cutoff_hz, (int, float)) or not 0 < cutoff_hz < np.inf:
            problem = f"flexible body {self.name!r}: cutoff_hz must be a positive frequency, got {cutoff_hz!r}."
            raise ModelError("not-positive", problem, where={"argument": "cutoff_hz"})
        lever = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]) * self.first_moment[[[0, 2, 1], [2, 1, 0], [1, 0, 2]]]
        rigid = np.block([[self.mass * np.eye(3), lever.T], [lever, self.inertia]])
        G = np.vstack([self.translation, self.rotation])
        free = self.modal_mass - G.T @ np.linalg.pinv(rigid, rcond=1e-12, hermitian=True) @ G
        values, shapes = eigh(self.stiffness, free)
        excess = np.maximum(values / (2 * np.pi * cutoff_hz) ** 2 - 1, 0.0)
        added = (free @ shapes) * excess @ (free @ shapes).T
        mass = self.modal_mass + 0.5 * (added + added.T)
        fields = {field_.name: getattr(self, field_.name) for field_ in dataclass_fields(self)}
        return FlexibleBodyData(**{**fields, "modal_mass": mass})

    def invariants(self) -> Mapping[str, Any]:
        """The inertia invariants by their usual names, "I1" to "I11"; see `flexible_invariants`."""
        from dalembert.model.flexible_invariants import make_invariants

        return make_invariants(self)

    def check(self) -> BodyCheck:
        """Compare mass, centre, inertia, rigid modes and frequencies with the finite-element model, and the modes."""
        from dalembert.model.flexible_comparison import compare

        return compare(self)


@frozen
class FlexiblePieces:
    """A body cut into pieces, as `add_flexible_pieces` takes it; made by `da.structures.flexible_pieces`.

    places : (n, 3) origin of the frame of each piece, in the axes of the whole [m]; all axes are parallel.
    welds : (piece, node, piece, node), by number from 0.  points : named places of the whole (3,) [m].
    """

    name: str
    pieces: tuple[FlexibleBodyData, ...]
    places: FloatArray
    welds: tuple[tuple[int, str, int, str], ...]
    points: Mapping[str, FloatArray]
