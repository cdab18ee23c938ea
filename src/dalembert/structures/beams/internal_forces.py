"""Internal forces and deflections of loaded beams, exact along each element.

With the forces p of the start point on the element and its load q(s) per length, on the face that looks along +x

    N = −p₁ − ∫q_x,   V_y = −p₂ − ∫q_y,   V_z = −p₃ − ∫q_z,   T = −p₄ − ∫m_x
    M_y = −p₅ − x p₃ − ∫(x−s) q_z − ∫m_y,      M_z = −p₆ + x p₂ + ∫(x−s) q_y − ∫m_z

so that E I_z v″ = M_z and E I_y w″ = −M_y for slender beams, and tension is positive. Deflections follow by
integrating the strains N/EA, χV/GA, T/GJ, M/EI from the start.

With forces F₀, moments M₀ and couples m₀ that were inside before, equilibrium holds on the deformed element. A small
displacement d(x) with the rotation θ(x) of the sections adds, p being (K + K_g) u − f,

    δF = −p_F − ∫q,     δM = −p_M + ½ θ(0) × M₀(0) − ∫ (e_x × δF + d′ × F₀ + m + ½ θ × m₀)
    N, V_y, V_z = δF − θ × F₀,      T, M_y, M_z = δM − θ × M₀ :

the forces in the axes of the turned section: V lies in its plane (for a slender beam it is normal to the deformed
axis, V = −M′; at a clamp it is the reaction). ½: moments p_M are conjugate to rotation vectors (`geometric`).
d is the deflection of first order and bubbles (1−ξ)²ξ² ξᵏ that the initial forces cause between the ends (Galerkin).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.structures.assembly.sections import Section
from dalembert.structures.beams import geometric_stiffness as geometric
from dalembert.structures.beams import initial_forces as initial
from dalembert.structures.beams.beam_group import BeamGroup
from dalembert.structures.beams.elements import gauss

if TYPE_CHECKING:
    from dalembert.structures.beams.initial_forces import InitialForces

POWERS = range(4)


class Loaded:
    """A group of beams with displacements and loads: internal forces and deflections at any place of any element.

    u : (N,).  factors : of the load cases.  acceleration : (N,) of a part that flies freely, as a rigid body.
    before : forces of the prestress; all results are then the changes that the load causes.
    """

    def __init__(
        self, group: BeamGroup, u: FloatArray, factors: Mapping[str, float], acceleration: FloatArray | None = None,
        *, before: InitialForces | None = None,
    ) -> None:  # fmt: skip
        self.group = group
        self.loads = group.load_vectors(factors)
        self.q = group.density(factors)
        if acceleration is not None:
            taken, along = group.inertia_loads(acceleration)
            self.loads, self.q = self.loads + taken, self.q + along
        self.ends = group.ends(u, self.loads)
        K = group.stiffness()
        self.first_order = self.end_forces = np.einsum("eij,ej->ei", K, self.ends) - self.loads
        self.initial = group.initial_strains(factors)
        points = [(factor, *group.point_loads[case]) for case, factor in factors.items() if case in group.point_loads]
        self.at_element = np.concatenate([p[1] for p in points]) if points else np.zeros(0, dtype=np.int64)
        self.at_place = np.concatenate([p[2] for p in points]) if points else np.zeros(0)
        self.at_load = np.concatenate([p[0] * p[3] for p in points]) if points else np.zeros((0, 3, 6))
        self.before, self.bubbles = before, np.zeros((len(group.points), 0))
        if before is not None:
            state = before.internal()
            K_g = initial.element_stiffness(group, state)
            forces = self.first_order + np.einsum("eij,ej->ei", K_g, self.ends)
            self.end_forces = np.einsum("eji,ej->ei", group.release(K)[0], forces)
            self.bubbles = self._bubbles(state)
            self.couple = state.couple

    def internal(self) -> initial.InternalForces:
        """What the geometric stiffness of these forces is made of."""
        return initial.from_ends(self.group, self.end_forces, self.q[:, :, 0], self.q[:, :, 3:].mean(axis=1))

    def forces(self, e: IntArray, x: FloatArray) -> FloatArray:
        """(k, 6) N, V_y, V_z, T, M_y, M_z in elements e (k,) at x (k,) [m] from their starts, after point loads."""
        result = self._statics(self.end_forces, e, x)
        if self.before is None:
            return result
        start = self._slopes_and_rotations(e, np.zeros(len(e)))[1]
        result[:, 3:] += 0.5 * np.cross(start, self.before.forces(e, np.zeros(len(e)))[:, 3:])
        for s, w in self._pieces(e, x, self.before.places(e)):
            which = np.repeat(e, s.shape[1])
            slope, turn = self._slopes_and_rotations(which, s.ravel())
            moment = np.cross(slope, self.before.forces(which, s.ravel())[:, :3]) + 0.5 * np.cross(
                turn, self.couple[which]
            )
            result[:, 3:] -= (moment.reshape(*s.shape, 3) * w[:, :, None]).sum(axis=1)
        turn, carried = self._slopes_and_rotations(e, x)[1], self.before.forces(e, x)
        result[:, :3] -= np.cross(turn, carried[:, :3])
        result[:, 3:] -= np.cross(turn, carried[:, 3:])
        return result

    def _slopes_and_rotations(self, e: IntArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(k, 3) each: slopes u′, v′, w′ of the axis and rotations of the section."""
        turn = self.deflections(e, x)[:, 3:]
        strain = self._first_strains(e, x)
        slope = np.stack([strain[:, 0], turn[:, 2] + strain[:, 1], strain[:, 2] - turn[:, 1]], axis=1)
        bars = self.group.is_bar[e]
        if bars.any():  # turns with its axis
            ends = self.ends[e[bars]]
            slope[bars] = (ends[:, 6:9] - ends[:, :3]) / self.group.length[e[bars], None]
            turn[bars] = np.cross([1.0, 0.0, 0.0], slope[bars])
        return slope, turn

    def _bubbles(self, state: initial.InternalForces) -> FloatArray:
        """(ne, 3 m) amplitudes of the deflections between the ends that the initial forces cause."""
        group, m = self.group, len(POWERS)
        ne = len(group.points)
        xi, weights = gauss(12 if group.tapered is not None else 6)
        g, L = len(xi), group.length
        e, x = np.repeat(np.arange(ne), g), (xi * L[:, None]).ravel()
        slope, turn = (values.reshape(ne, g, 3) for values in self._slopes_and_rotations(e, x))
        strain, give = self._first_strains(e, x).reshape(ne, g, 6), self.give(e, x).reshape(ne, g, 6)
        across, twist = _bubble(xi, 2), _bubble(xi, 1)
        shapes, rates = np.zeros((ne, g, 6, 3 * m + 1)), np.zeros((6, ne, g, 3 * m + 1))
        v, w, phi = (slice(k * m, k * m + m) for k in range(3))
        first, second = across[1] / L[:, None, None], across[2] / (L**2)[:, None, None]
        shapes[..., 5, v], rates[2][..., v], rates[5][..., v] = first, first, second
        shapes[..., 4, w], rates[3][..., w], rates[4][..., w] = -first, first, -second
        shapes[..., 3, phi], rates[1][..., phi] = twist[0], twist[1] / L[:, None, None]
        shapes[..., 3:, -1] = turn
        for rate, column in zip(rates, (slope[..., 0], strain[..., 3], slope[..., 1], slope[..., 2], strain[..., 4],
                                        strain[..., 5])):  # fmt: skip
            rate[..., -1] = column
        polar = np.divide(give[..., 0], give[..., 4], out=np.zeros((ne, g)), where=give[..., 4] > 0)
        polar += np.divide(give[..., 0], give[..., 5], out=np.zeros((ne, g)), where=give[..., 5] > 0)
        at = geometric.Places(L, xi, weights, shapes, tuple(rates), polar)
        U = geometric.second_order_work(at, state.start, state.end, state.bulge, state.couple)
        right = -U[:, :-1, -1]
        A = U[:, :-1, :-1]
        for part, rate, place in ((v, rates[5], 5), (w, rates[4], 4), (phi, rates[1], 3)):
            soft = give[..., place]
            none = (soft <= 0).any(axis=1) | group.is_bar  # no stiffness: stays unchanged
            stiff = weights * L[:, None] / np.where(soft > 0, soft, 1.0)
            A[:, part, part] += np.einsum("egi,eg,egj->eij", rate[..., part], stiff, rate[..., part])
            A[none, part, :], A[none, :, part], right[none, part] = 0.0, 0.0, 0.0
            A[none, part, part] = np.eye(m)
        return np.asarray(np.linalg.solve(A, right[..., None])[..., 0], dtype=np.float64)

    def _statics(self, end_forces: FloatArray, e: IntArray, x: FloatArray) -> FloatArray:
        """Equilibrium with forces (ne, 12) on the ends, on the undeformed element."""
        p, length = end_forces[e], self.group.length[e]
        first, slope = self.q[e, 0], (self.q[e, 1] - self.q[e, 0]) / length[:, None]
        x1 = x[:, None]
        total = first * x1 + slope * x1**2 / 2
        moment = first * x1**2 / 2 + slope * x1**3 / 6
        if len(self.at_element):
            order = np.argsort(e, kind="stable")
            begin, end = (np.searchsorted(e[order], self.at_element, side) for side in ("left", "right"))
            for k in np.flatnonzero(end > begin):
                place, load = self.at_place[k], self.at_load[k]
                own = order[begin[k] : end[k]]
                after = own[x[own] >= place]
                s = (x[after] - place)[:, None]
                total[after] += load[0] + load[1] * s + load[2] * s**2 / 2
                moment[after] += load[0] * s + load[1] * s**2 / 2 + load[2] * s**3 / 6
        result: FloatArray = -p[:, :6] - total
        result[:, 4] += -x * p[:, 2] - moment[:, 2]
        result[:, 5] += x * p[:, 1] + moment[:, 1]
        return result

    def deflections(self, e: IntArray, x: FloatArray) -> FloatArray:
        """(k, 6) displacement and rotation in local axes."""
        start = self.ends[e]
        result: FloatArray = start[:, :6].copy()
        result[:, 1] += x * start[:, 5]
        result[:, 2] -= x * start[:, 4]
        for s, w in self._pieces(e, x, []):
            strain = self._first_strains(np.repeat(e, s.shape[1]), s.ravel()).reshape(*s.shape, 6)
            arm = x[:, None] - s
            result += (strain * w[:, :, None]).sum(axis=1)
            result[:, 1] += (strain[:, :, 5] * arm * w).sum(axis=1)
            result[:, 2] -= (strain[:, :, 4] * arm * w).sum(axis=1)
        if self.bubbles.shape[1]:
            v, w, phi = np.split(self.bubbles[e], 3, axis=1)
            L = self.group.length[e]
            across, twist = _bubble(x / L, 2), _bubble(x / L, 1)
            result[:, 1] += (across[0] * v).sum(axis=1)
            result[:, 2] += (across[0] * w).sum(axis=1)
            result[:, 3] += (twist[0] * phi).sum(axis=1)
            result[:, 4] -= (across[1] * w).sum(axis=1) / L
            result[:, 5] += (across[1] * v).sum(axis=1) / L
        bars = self.group.is_bar[e]
        if bars.any():
            t = (x / self.group.length[e])[bars, None]
            result[bars, :3] = self.ends[e[bars], :3] * (1 - t) + self.ends[e[bars], 6:9] * t
            result[bars, 3:] = 0.0
        return result

    def _pieces(self, e: IntArray, x: FloatArray, more: list[float]) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Places (k, g) and weights (k, g) [m] of integrals from 0 to x, between the places where loads jump."""
        places = np.unique([*self.at_place[np.isin(self.at_element, e)], *more]).tolist()
        xi, weights = gauss(12 if self.group.tapered is not None else 4 if self.before is None else 6)
        for low, high in zip([0.0, *places], [*places, np.inf]):
            a, b = np.minimum(low, x), np.minimum(high, x)
            yield a[:, None] + (b - a)[:, None] * xi, (b - a)[:, None] * weights

    def _first_strains(self, e: IntArray, x: FloatArray) -> FloatArray:
        """(k, 6): ε, γ_y, γ_z, twist, curvature about y and z, of first order."""
        strain: FloatArray = self._statics(self.first_order, e, x) * self.give(e, x)
        strain[:, [0, 4, 5]] += self.initial[e]
        return strain

    def energy(self) -> float:
        """½ ∫ (N²/EA + χV²/GA + T²/GJ + M²/EI) of all elements [J]; bars are stretched only."""
        ne = len(self.group.points)
        e = np.concatenate([np.arange(ne), self.at_element])
        start = np.concatenate([np.zeros(ne), self.at_place])
        order = np.lexsort((start, e))
        e, start = e[order], start[order]
        last = np.append(e[1:] != e[:-1], True)
        end = np.where(last, self.group.length[e], np.append(start[1:], 0.0))
        xi, weights = gauss(12 if self.group.tapered is not None else 4)
        x = (start[:, None] + (end - start)[:, None] * xi).ravel()
        which = np.repeat(e, len(xi))
        density = self._statics(self.first_order, which, x) ** 2 * self.give(which, x)
        density[self.group.is_bar[which], 1:] = 0.0
        return 0.5 * float(density.sum(axis=1) @ ((end - start)[:, None] * weights).ravel())

    def give(self, e: IntArray, x: FloatArray) -> FloatArray:
        """(k, 6) strains of unit forces."""
        s = section_numbers(self.group, e, x)
        E, G = (np.array([getattr(m, name) for m in self.group.materials])[self.group.material_of[e]] for name in "EG")
        shear = self.group.shear[e] / (G * s["area"])
        stiff = np.stack([E * s["area"], G * s["J"], E * s["I_y"], E * s["I_z"]], axis=1)
        give = np.divide(1.0, stiff, out=np.zeros_like(stiff), where=stiff > 0)
        soft: FloatArray = np.stack([give[:, 0], s["shear_y"] * shear, s["shear_z"] * shear, *give[:, 1:].T], axis=1)
        return soft


def _bubble(xi: FloatArray, zeros: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n, m) each: ξᶻ(1−ξ)ᶻ (2ξ−1)ᵏ, zero at both ends ``zeros`` fold, and two derivatives by ξ."""
    factor = np.polynomial.Polynomial([0.0, 1.0, -1.0]) ** zeros
    terms = [factor * np.polynomial.Polynomial([-1.0, 2.0]) ** k for k in POWERS]
    values, first, second = (np.stack([term.deriv(d)(xi) if d else term(xi) for term in terms], axis=-1)
                             for d in range(3))  # fmt: skip
    return values, first, second


def section_numbers(group: BeamGroup, e: IntArray, x: FloatArray) -> dict[str, FloatArray]:
    """Numbers of the section at places x of elements e, all (k,); along a taper from ``Section.between``."""
    table = [_numbers(section) for section in group.sections]
    first = group.section_of[e, 0]
    found = {key: np.array([row[key] for row in table])[first] for key in table[0]}
    for k in np.flatnonzero(first != group.section_of[e, 1]):
        for key, value in _numbers(group.section_at(int(e[k]), float(x[k]))).items():
            found[key][k] = value
    return found


def _numbers(section: Section) -> dict[str, float]:
    return {name: float(getattr(section, name)) for name in ("area", "I_y", "I_z", "J", "shear_y", "shear_z")}
