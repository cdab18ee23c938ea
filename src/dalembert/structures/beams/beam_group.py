"""The beams and bars of a frame, numbered: from points to element ends and back.

    u_e = P A R u_points

R: global to local axes (rows are the local axes in the global frame); A: rigid arms from the points to the ends,
u + θ × a; P: released ends follow the held ones, u_r = −K_rr⁻¹ K_rk u_k, so that stiffness, mass and loads are all
condensed by the same transformation, and released ends carry no force.

From the free coordinates of a structure to one beam and its elements, by Boolean matrices (`Connectivity`):

    q_elementⱼ = B_cⱼ q_beam,     q_beam = B_e q_free of the beam,     q_free of the beam = B_f q_free

B_c shares points among the elements of the beam, B_e drops the held coordinates, B_f shares coordinates among beams.
Rows of B_e that follow a rigid link carry its coefficients instead of a one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import BoolArray, FloatArray, IntArray, frozen
from dalembert.core.errors import DataError, unknown_name
from dalembert.structures.assembly import element_assembly as assembly
from dalembert.structures.assembly.rotating_bodies import cross_matrix
from dalembert.structures.assembly.sections import Section
from dalembert.structures.beams import elements
from dalembert.structures.beams.elements import BeamNumbers
from dalembert.structures.beams.taper import TaperedElements

if TYPE_CHECKING:
    from dalembert.structures.assembly.structure import Structure

# elements (m,), places x (m,) [m], jumps (m, 3, 6) there in local axes: of force, of load per length, of its slope
PointLoads = tuple[IntArray, FloatArray, FloatArray]


@frozen
class BeamGroup:
    """All beam and bar elements of one frame; arrays carry one entry per element.

    Attributes
    ----------
    beams : names of the beams; element ``first[k]`` to ``first[k + 1] − 1`` belong to beam k.
    count : number of points of the structure.  keep : which of the six directions its points have.
    points : (ne, 2).  numbers : `BeamNumbers`.  R : (ne, 3, 3), rows are the local axes.
    arms : (ne, 2, 3) from the points to the ends in local axes [m], or None.
    released : (ne, 12) bool, or None.  is_bar, lumped : (ne,) bool.  loss : (ne,) loss factors.
    sections : different sections; ``section_of`` (ne, 2) their places at start and end of the *beam*, ``span``
        (ne, 2) the fractions of the beam where the element starts and ends.
    tapered, tapered_index : elements with varying section, or None.
    line_loads : by case, (ne, 2, 6) force and moment per length at start and end, local axes.
    point_loads : by case, loads that act or start or end inside an element.  gravity : (3,) [m/s²].
    strains : by case, (ne, 3) strain and curvatures about y and z that the elements have without force.
    """

    beams: tuple[str, ...]
    first: IntArray
    count: int
    keep: tuple[int, ...]
    points: IntArray
    numbers: BeamNumbers
    R: FloatArray
    arms: FloatArray | None
    released: BoolArray | None
    is_bar: BoolArray
    lumped: BoolArray
    loss: FloatArray
    sections: tuple[Section, ...]
    section_of: IntArray
    span: FloatArray
    tapered: TaperedElements | None
    tapered_index: IntArray
    materials: tuple[Any, ...]
    material_of: IntArray
    shear: BoolArray
    line_loads: Mapping[str, FloatArray]
    point_loads: Mapping[str, PointLoads]
    strains: Mapping[str, FloatArray]
    gravity: FloatArray

    @property
    def length(self) -> FloatArray:
        """(ne,) [m]."""
        return self.numbers.length

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the beams."""
        return self.beams

    # -- matrices in local axes --------------------------------------------------------------------------------------

    def stiffness(self) -> FloatArray:
        """(ne, 12, 12) stiffness in local axes, before releases."""
        K = elements.stiffness(self.numbers)
        if self.is_bar.any():
            K[self.is_bar] = elements.bar_stiffness(self.numbers.take(self.is_bar))
        if self.tapered is not None:
            K[self.tapered_index] = self.tapered.stiffness()
        return K

    def mass(self) -> FloatArray:
        """(ne, 12, 12) mass in local axes, before releases."""
        M = elements.mass(self.numbers)
        if self.tapered is not None:
            M[self.tapered_index] = self.tapered.mass()
        lumped = self.lumped & ~self.is_bar
        if lumped.any():
            M[lumped] = elements.lumped_mass(self.numbers.take(lumped))
        if self.is_bar.any():
            M[self.is_bar] = elements.bar_mass(self.numbers.take(self.is_bar), self.lumped[self.is_bar])
        return M

    def shapes(self, xi: FloatArray) -> FloatArray:
        """(ne, g, 6, 12) displacement and rotation at ξ (g,) from the ends, in local axes, without element loads."""
        N = elements.shapes(self.numbers, xi)
        if self.is_bar.any():
            N[self.is_bar] = elements.bar_shapes(self.numbers.take(self.is_bar), xi)
        if self.tapered is not None:
            N[self.tapered_index] = self.tapered.shapes(xi)
        return N

    # -- between points and elements ---------------------------------------------------------------------------------

    def transform(self, K: FloatArray | None = None) -> FloatArray:
        """(ne, 12, 2·d): element ends in local axes from the coordinates of the two points, P A R."""
        T = np.zeros((len(self.points), 12, 12))
        for block in range(4):
            T[:, 3 * block : 3 * block + 3, 3 * block : 3 * block + 3] = self.R
        if self.arms is not None:
            for end in (0, 1):  # u_end = u + θ × a = u − [a]× θ
                turn = -np.matmul(cross_matrix(self.arms[:, end]), self.R)
                T[:, 6 * end : 6 * end + 3, 6 * end + 3 : 6 * end + 6] = turn
        if self.released is not None:
            which = self.released.any(axis=1)
            P, _ = self.release(self.stiffness() if K is None else K)
            T[which] = np.matmul(P[which], T[which])
        if len(self.keep) == 6:
            return T
        columns = [6 * end + way for end in (0, 1) for way in self.keep]
        return T[:, :, columns]

    def release(self, K: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P, Q (ne, 12, 12): ends from held ends, and from loads on the released ones (K_rr⁻¹, zero elsewhere)."""
        ne = len(self.points)
        P, Q = np.broadcast_to(np.eye(12), (ne, 12, 12)).copy(), np.zeros((ne, 12, 12))
        if self.released is None:
            return P, Q
        patterns, which = np.unique(self.released, axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            r = np.flatnonzero(pattern)
            if not len(r):
                continue
            e = np.flatnonzero(which.ravel() == k)
            inverse = np.linalg.inv(K[np.ix_(e, r, r)])
            follow = -np.matmul(inverse, K[e][:, r, :])
            follow[:, :, r] = 0.0
            P[np.ix_(e, r, np.arange(12))] = follow
            Q[np.ix_(e, r, r)] = inverse
        return P, Q

    def assemble(self, matrices: FloatArray, transform: FloatArray | None = None) -> sp.csc_array:
        """(N, N) sum of element matrices (ne, 12, 12) given in local axes at the element ends."""
        T = self.transform() if transform is None else transform
        return assembly.assemble(self.count, len(self.keep), [self.blocks(matrices, T)])

    def different(self) -> tuple[BeamGroup, IntArray]:
        """One element of each kind (same numbers, axes, arms, releases), and which of them every element is."""
        n = self.numbers
        columns = [getattr(n, name) for name in n.__dataclass_fields__]
        columns += [*self.R.reshape(-1, 9).T, self.is_bar, self.lumped, self.loss, *self.section_of.T]
        if self.tapered is not None:
            columns += [*self.span.T]
        if self.arms is not None:
            columns += [*self.arms.reshape(-1, 6).T]
        if self.released is not None:
            columns += [*self.released.T]
        first, same = assembly.classes(np.column_stack(columns))
        return (self if len(first) == len(same) else self.pick(first)), same

    def blocks(self, matrices: FloatArray, transform: FloatArray) -> assembly.Blocks:
        """Blocks of local element matrices on the points."""
        return assembly.blocks(self.points, assembly.congruent(transform, matrices))

    def scatter(self, vectors: FloatArray, transform: FloatArray) -> FloatArray:
        """(N,) sum of element load vectors (ne, 12) in local axes at the element ends."""
        at_points = np.einsum("eij,ei->ej", transform, vectors)
        total = np.zeros(self.count * len(self.keep))
        np.add.at(total, self.coordinates(), at_points)
        return total

    def coordinates(self) -> IntArray:
        """(ne, 2·d) places of the coordinates of each element in a vector (N,): the Boolean connectivity as indices."""
        return assembly.coordinates(self.points, len(self.keep))

    def ends(self, u: FloatArray, loads: FloatArray | None = None) -> FloatArray:
        """(ne, 12) displacements of the element ends in local axes from u (N,) and element load vectors (ne, 12)."""
        K = self.stiffness() if self.released is not None else None
        local: FloatArray = np.einsum("eij,ej->ei", self.transform(K), u[self.coordinates()])
        if K is not None and loads is not None:
            local += np.einsum("eij,ej->ei", self.release(K)[1], loads)
        return local

    # -- loads on elements -------------------------------------------------------------------------------------------

    def load_vectors(self, factors: Mapping[str, float]) -> FloatArray:
        """(ne, 12) equivalent end loads, ∫ Nᵀ q dx, of combined load cases; released ends included."""
        total = np.zeros((len(self.points), 12))
        for case, factor in factors.items():
            if case == "gravity":
                total += factor * self.weights()
            if case in self.line_loads:
                total += factor * self.line_load_vectors(self.line_loads[case])
            if case in self.point_loads:
                which, x, load = self.point_loads[case]
                np.add.at(total, which, factor * self._point_load_vectors(which, x, load))
        strain = self.initial_strains(factors)
        if strain.any():  # K times the shape the element takes on by itself
            L = self.length
            shape = np.zeros_like(total)
            shape[:, 6], shape[:, 10], shape[:, 11] = strain.T * L
            shape[:, 7], shape[:, 8] = strain[:, 2] * L**2 / 2, -strain[:, 1] * L**2 / 2
            total += np.einsum("eij,ej->ei", self.stiffness(), shape)
        return total

    def _point_load_vectors(self, which: IntArray, x: FloatArray, jumps: FloatArray) -> FloatArray:
        """(m, 12) end loads of jumps (m, 3, 6) at places x (m,) of elements which (m,).

        Nᵀ F of a force, ∫ Nᵀ (q + q′ (s − x)) ds from x to the end for a load that starts there.
        """
        some = self.pick(which)
        vectors: FloatArray = np.einsum("mri,mr->mi", some._shapes_at((x / some.length)[:, None])[:, 0], jumps[:, 0])
        starts = np.flatnonzero(jumps[:, 1:].any(axis=(1, 2)))
        if len(starts):
            xi, weights = elements.gauss(12 if self.tapered is not None else 3)
            rest = (some.length - x)[starts, None]
            part = some.pick(starts)
            N = part._shapes_at((x[starts, None] + rest * xi) / part.length[:, None])
            q = jumps[starts, 1, None] + jumps[starts, 2, None] * (rest * xi)[:, :, None]
            vectors[starts] += np.einsum("mgri,mgr,mg->mi", N, q, rest * weights)
        return vectors

    def _shapes_at(self, xi: FloatArray) -> FloatArray:
        """(ne, g, 6, 12) as :meth:`shapes`, at places ξ (ne, g) that differ by element."""
        N = elements.shapes(self.numbers, xi)
        if self.is_bar.any():
            N[self.is_bar] = elements.bar_shapes(self.numbers.take(self.is_bar), xi[self.is_bar])
        for k in self.tapered_index:
            N[k] = self.pick([int(k)]).shapes(xi[k])[0]
        return N

    def loaded_cases(self) -> set[str]:
        """Load cases with loads on elements."""
        return {*self.line_loads, *self.point_loads, *self.strains}

    def initial_strains(self, factors: Mapping[str, float]) -> FloatArray:
        """(ne, 3) combined strain and curvatures without force."""
        total = np.zeros((len(self.points), 3))
        for case, factor in factors.items():
            if case in self.strains:
                total += factor * self.strains[case]
        return total

    def weights(self) -> FloatArray:
        """(ne, 12) end loads of gravity: ``M`` times the unit translation along it (shape functions hold it)."""
        along = np.zeros((len(self.points), 12))
        along[:, :3] = along[:, 6:9] = self.R @ self.gravity
        loads: FloatArray = np.einsum("eij,ej->ei", self.mass(), along)
        return loads

    def line_load_vectors(self, load: FloatArray) -> FloatArray:
        """(ne, 12) of a load (ne, 2, 6) per length, linear along each element; exact by quadrature."""
        xi, weights = elements.gauss(12 if self.tapered is not None else 3)
        loaded = np.flatnonzero(load.any(axis=(1, 2)))
        q = load[loaded, 0, None, :] * (1 - xi)[:, None] + load[loaded, 1, None, :] * xi[:, None]
        result = np.zeros((len(self.points), 12))
        N = self.pick(loaded).shapes(xi)
        result[loaded] = np.einsum("egri,egr,g->ei", N, q, weights) * self.length[loaded, None]
        return result

    def density(self, factors: Mapping[str, float]) -> FloatArray:
        """(ne, 2, 6) combined load per length at start and end of each element, with gravity of consistent masses."""
        q = np.zeros((len(self.points), 2, 6))
        for case, factor in factors.items():
            if case in self.line_loads:
                q += factor * self.line_loads[case]
            if case == "gravity":
                pull = factor * self.R @ self.gravity
                q[:, :, :3] += self.mass_per_length()[:, :, None] * pull[:, None, :]
        return q

    def mass_per_length(self) -> FloatArray:
        """(ne, 2) [kg/m] at start and end of each element; none where it is lumped."""
        m = np.repeat(self.numbers.rhoA[:, None], 2, axis=1)
        if self.tapered is not None:  # the linear density of the same mass and centre
            m[self.tapered_index] = _linear_density(self.tapered)
        m[self.lumped] = 0.0
        return m

    def inertia_loads(self, acceleration: FloatArray) -> tuple[FloatArray, FloatArray]:
        """End loads (ne, 12) and loads per length (ne, 2, 6) of the mass against a rigid acceleration (N,)."""
        a = self.ends(acceleration)
        taken: FloatArray = -np.einsum("eij,ej->ei", self.mass(), a)
        ends = a.reshape(-1, 2, 6)
        per_length = np.zeros_like(ends)
        per_length[:, :, :3] = -self.mass_per_length()[:, :, None] * ends[:, :, :3]
        b = self.numbers
        turning = np.stack([b.rhoI_p, b.rhoI_y, b.rhoI_z], axis=1)
        turning[self.lumped | self.is_bar] = 0.0
        per_length[:, :, 3:] = -turning[:, None, :] * ends[:, :, 3:]
        return taken, per_length

    def section_at(self, e: int, x: float) -> Section:
        """Section of element e at x [m] from its start."""
        one, other = self.sections[int(self.section_of[e, 0])], self.sections[int(self.section_of[e, 1])]
        if one is other:
            return one
        low, high = self.span[e]
        return one.between(other, float(min(max(low + (high - low) * x / self.length[e], 0.0), 1.0)))

    def pick(self, which: Any) -> BeamGroup:
        """The same group with some of its elements only (no load cases, no names)."""
        index = np.asarray(which, dtype=np.int64)
        tapered, place = None, np.zeros(0, dtype=np.int64)
        if self.tapered is not None:
            position = {int(e): k for k, e in enumerate(self.tapered_index)}
            place = np.array([k for k, e in enumerate(index) if int(e) in position], dtype=np.int64)
            if len(place):
                rows = np.array([position[int(index[k])] for k in place])
                at = {name: value[rows] for name, value in self.tapered.at_gauss.items()}
                tapered = TaperedElements(self.tapered.length[rows], at)
        fields = dict(self.__dict__)
        for name in ("points", "R", "arms", "released", "is_bar", "lumped", "loss", "section_of", "span",
                     "material_of", "shear"):  # fmt: skip
            fields[name] = None if fields[name] is None else fields[name][index]
        fields.update(
            beams=(), first=np.zeros(1, dtype=np.int64), numbers=self.numbers.take(index), tapered=tapered,
            tapered_index=place, line_loads={}, point_loads={}, strains={},
        )  # fmt: skip
        return BeamGroup(**fields)


def _linear_density(tapered: TaperedElements) -> FloatArray:
    """(nt, 2) mass per length at both ends of the linear law with the same total and first moment."""
    rho = tapered.at_gauss["rhoA"]
    mean = rho @ tapered.weights
    moment = rho @ (tapered.weights * tapered.xi)
    slope = 12 * (moment - mean / 2)
    return np.stack([mean - slope / 2, mean + slope / 2], axis=1)


@dataclass(frozen=True, eq=False)
class Connectivity:
    """How one beam takes part in a structure; made by :meth:`Structure.connectivity`.

    Attributes
    ----------
    coordinates : names of the n coordinates of the beam's points, held ones too.
    free : names of the n_f free coordinates of the structure that move it.
    B_c : (ne, 2 d, n), the coordinates of every element from those of the beam.
    B_e : (n, n_f), those of the beam from its free ones.
    B_f : (n_f, N_f), its free ones from all free ones of the structure.
    """

    beam: str
    coordinates: tuple[str, ...]
    free: tuple[str, ...]
    B_c: FloatArray
    B_e: FloatArray
    B_f: FloatArray

    def __repr__(self) -> str:
        elements, each, n = self.B_c.shape
        return (
            f"Connectivity of beam {self.beam!r}: {elements} elements with {each} coordinates each, {n} of its points, "
            f"{len(self.free)} free, of {self.B_f.shape[1]} of the structure"
        )


def connectivity(structure: Structure, beam: str) -> Connectivity:
    """Maps of one beam or bar."""
    groups = [group for group in structure.groups if isinstance(group, BeamGroup)]
    for group in groups:
        if beam not in group.beams:
            continue
        k = group.beams.index(beam)
        places = group.coordinates()[group.first[k] : group.first[k + 1]]
        own = np.array(list(dict.fromkeys(places.ravel().tolist())))  # in order along the beam
        rows = structure.T.tocsr()[own, :].toarray()
        used = np.flatnonzero(rows.any(axis=0))
        return Connectivity(
            beam=beam, coordinates=tuple(structure.coordinates[i] for i in own),
            free=tuple(structure.free[i] for i in used),
            B_c=(places[:, :, None] == own).astype(np.float64), B_e=rows[:, used],
            B_f=(used[:, None] == np.arange(len(structure.free))).astype(np.float64),
        )  # fmt: skip
    known = [name for group in groups for name in group.beams]
    raise DataError("unknown-name", unknown_name("beam or bar", beam, known, f"structure {structure.name!r}"))
