"""The beams and bars of a structure: their methods of an `ElementGroup`.

Internal forces are those of `internal_forces`, exact along every element; their geometric stiffness is that of
`initial_forces`. A rigid arm d that carries the force F to the end of an element adds its own, since that end moves by
θ×d + ½ θ×(θ×d):  U = ½ [(F·θ)(d·θ) - (F·d) θ²].

The spin of a beam is that of its slices, rigid bodies at Gauss points that move by the beam's own shape functions
(`rotating_bodies`); slices have no extent where rotary inertia is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.structures.assembly import rotating_bodies as bodies
from dalembert.structures.assembly.element_assembly import congruent
from dalembert.structures.assembly.element_group import ElementGroup, SpinMatrices, on_rotations, scatter
from dalembert.structures.beams import beam_stresses as stresses
from dalembert.structures.beams import elements
from dalembert.structures.beams import initial_forces as initial
from dalembert.structures.beams.beam_group import BeamGroup
from dalembert.structures.beams.initial_forces import InitialForces
from dalembert.structures.beams.internal_forces import Loaded

# Elements handled at once: some hundred MB at most for the matrices of their slices.
CHUNK = 10_000


@dataclass(frozen=True)
class SpinLoads:
    """Centrifugal loads: f (ne, 12) at the ends, along the axis at both ends (ne, 2) [N/m], mean couple (ne, 3)."""

    f: FloatArray
    axial: FloatArray
    couple: FloatArray


@dataclass(frozen=True)
class Slices:
    """Slices of some elements: which (ne,), place ξ (g,), shapes (ne, g, 6, 12), mass (ne, g), inertia (ne, g, 3)."""

    which: Any
    xi: FloatArray
    shapes: FloatArray
    mass: FloatArray
    inertia: FloatArray


class BeamElements(BeamGroup, ElementGroup):
    """All beam and bar elements of one structure."""

    def own_stiffness(self) -> sp.csc_array:
        return self.assemble(self.stiffness())

    def own_mass(self) -> sp.csc_array:
        return self.assemble(self.mass())

    def joined_pairs(self) -> IntArray:
        return self.points

    # -- internal forces ---------------------------------------------------------------------------------------------

    def state(
        self,
        u: FloatArray,
        factors: Mapping[str, float],
        acceleration: FloatArray | None = None,
        before: InitialForces | None = None,
    ) -> Loaded:
        return Loaded(self, u, factors, acceleration, before=before)

    def tension_state(self, tension: Mapping[str, float]) -> InitialForces:
        pull = np.zeros(len(self.points))
        for name, value in tension.items():
            k = self.beams.index(name)
            pull[self.first[k] : self.first[k + 1]] = value
        return InitialForces((), pull)

    def add_states(self, before: InitialForces | None, more: Loaded | InitialForces) -> InitialForces:
        known = InitialForces((), np.zeros(len(self.points))) if before is None else before
        if isinstance(more, InitialForces):
            return InitialForces((*known.states, *more.states), known.tension + more.tension)
        return InitialForces((*known.states, more), known.tension)

    def geometric_stiffness(self, state: Loaded | InitialForces | initial.InternalForces) -> sp.csc_array:
        forces = state if isinstance(state, initial.InternalForces) else state.internal()
        total = self.assemble(initial.element_stiffness(self, forces))
        if self.arms is not None:
            for end, force in ((0, -forces.start[:, :3]), (1, forces.end[:, :3])):
                turning = np.matmul(self.R.transpose(0, 2, 1), np.matmul(carry(force, self.arms[:, end]), self.R))
                total = total + on_rotations(self.count, self.keep, self.points[:, end], turning)
        return sp.csc_array(total)

    def energy_of_loads(self, state: Loaded, u: FloatArray) -> float:
        ends = self.ends(u)
        at_points = 0.5 * float(np.einsum("ei,eij,ej->", ends, self.stiffness(), ends, optimize=True))
        return state.energy() - at_points

    def along(self, name: str, state: Loaded, stations: Any, *, total: bool) -> stresses.BeamResult:
        return stresses.along_beam(state, name, stations, total=total)

    def stresses_of(self, state: Loaded, stations: int, *, total: bool) -> dict[str, float]:
        return stresses.largest(state, stations, total=total)

    def case_load(self, case: str) -> FloatArray | None:
        return self.scatter(self.load_vectors({case: 1.0}), self.transform()) if case in self.loaded_cases() else None

    # -- spin ----------------------------------------------------------------------------------------------------------

    def spin(self, positions: FloatArray, spin: FloatArray, centre: FloatArray) -> SpinMatrices:
        ne = len(self.points)
        G, K, f, couple = np.zeros((ne, 12, 12)), np.zeros((ne, 12, 12)), np.zeros((ne, 12)), np.zeros((ne, 3))
        start = np.einsum("eij,ej->ei", self.R, positions[self.points[:, 0]] - centre)
        if self.arms is not None:
            start = start + self.arms[:, 0]
        turned = self.R @ spin
        for some in self.slices():
            e, g = len(some.which), len(some.xi)
            places = np.repeat(start[some.which, None], g, axis=1)
            places[..., 0] += some.xi * self.length[some.which, None]
            J = some.inertia.reshape(e * g, 3)[:, :, None] * np.eye(3)
            G6, K6, f6 = bodies.spin_matrices(
                some.mass.ravel(), np.zeros((e * g, 3)), J, places.reshape(-1, 3),
                np.repeat(turned[some.which], g, axis=0),
            )  # fmt: skip
            N = some.shapes.reshape(e, g * 6, 12)
            for total, blocks in ((G, G6), (K, K6)):
                weighted = np.matmul(blocks.reshape(e, g, 6, 6), some.shapes).reshape(e, g * 6, 12)
                total[some.which] += np.matmul(N.transpose(0, 2, 1), weighted)
            f[some.which] += np.einsum("egr,egri->ei", f6.reshape(e, g, 6), some.shapes)
            couple[some.which] += f6.reshape(e, g, 6)[:, :, 3:].sum(axis=1) / self.length[some.which, None]
        # row of -A = Ω² - ΩΩᵀ along the axis
        pull = (turned**2).sum(1)[:, None] * np.eye(3)[0] - turned[:, :1] * turned
        first = (pull * start).sum(1)
        axial = self.mass_per_length() * np.stack([first, first + pull[:, 0] * self.length], axis=1)
        at_points = self.scatter(f, self.transform())
        return SpinMatrices(self._assemble(G), self._assemble(K), at_points, SpinLoads(f, axial, couple))

    def spin_state(self, u: FloatArray, loads: SpinLoads) -> initial.InternalForces:
        forces = np.einsum("eij,ej->ei", self.stiffness(), self.ends(u, loads.f)) - loads.f
        return initial.from_ends(self, forces, loads.axial, loads.couple)

    def gyroscopic(self, axis: FloatArray, speed: float) -> sp.csc_array:
        local = np.zeros((len(self.points), 12, 12))
        for some in self.slices():
            turned = self.R[some.which] @ axis
            J = some.inertia[..., None] * np.eye(3)
            bodies.refuse_not_round(J, turned[:, None, :], "a beam")
            G3 = bodies.gyroscopic(J.reshape(-1, 3, 3), np.repeat(turned * speed, J.shape[1], axis=0))
            N = some.shapes[:, :, 3:]
            local[some.which] += np.einsum("egri,egrs,egsj->eij", N, G3.reshape(*J.shape[:2], 3, 3), N, optimize=True)
        return self._assemble(local)

    def _assemble(self, matrices: FloatArray) -> sp.csc_array:
        """(N, N) sum of element matrices in local axes, symmetric or not."""
        return scatter(self.coordinates(), congruent(self.transform(), matrices), self.count * len(self.keep))

    def slices(self, *, at_ends: bool = False, as_in_mass: bool = False) -> Iterator[Slices]:
        """The slices of all elements; Gauss points where the mass is consistent, both ends where it is lumped.

        at_ends : half of every element at each end, for any mass matrix.  as_in_mass : with the inertia about the
        axis that the mass matrix has also where rotary inertia of bending is left out.
        """
        varying = np.zeros(len(self.points), bool)
        varying[self.tapered_index] = True
        ends = np.array([0.0, 1.0])
        lumped = np.ones(len(self.points), bool) if at_ends else self.lumped
        for mask, (xi, weights) in (
            (~lumped & ~varying, elements.gauss(4)),
            (lumped, (ends, np.array([0.5, 0.5]))),
            (~lumped & varying, elements.gauss(12)),
        ):
            for which in np.array_split(np.flatnonzero(mask), max(1, -(-int(mask.sum()) // CHUNK))):
                if not len(which):
                    continue
                some = self.pick(which)
                if some.tapered is not None and mask is not lumped:
                    at = some.tapered.at_gauss
                    density = np.stack([at[name] for name in ("rhoA", "rhoI_p", "rhoI_y", "rhoI_z")], -1)
                else:
                    b = some.numbers
                    density = np.repeat(np.stack([b.rhoA, b.rhoI_p, b.rhoI_y, b.rhoI_z], -1)[:, None], len(xi), axis=1)
                density[some.is_bar, :, 1:] = 0.0
                density[some.lumped, :, 2:] = 0.0
                if not as_in_mass:
                    # slices without rotary inertia of bending have no extent: I_p alone is the inertia of no body
                    density[~density[..., 2:].any(axis=(1, 2)), :, 1:] = 0.0
                amount = density * weights[:, None] * some.length[:, None, None]
                yield Slices(which, xi, some.shapes(xi), amount[..., 0], amount[..., 1:])


def carry(force: FloatArray, arm: FloatArray) -> FloatArray:
    """(k, 3, 3) stiffness against rotation of arms (k, 3) that carry forces (k, 3) to their far ends."""
    product = force[:, :, None] * arm[:, None, :]
    inner = np.einsum("kii->k", product)[:, None, None]
    result: FloatArray = 0.5 * (product + product.transpose(0, 2, 1)) - inner * np.eye(3)
    return result
