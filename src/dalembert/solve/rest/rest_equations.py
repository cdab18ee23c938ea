"""The equations of rest of a machine: f(q, 0, z, u, t, λ) + Aᵀ λ = 0, φ = 0, g = 0, and steps towards them.

Held coordinates are further rows. The multipliers of a pose are those that carry as much of the forces as they can;
the remaining force moves the machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.sparse import bmat, csc_matrix, diags, vstack
from scipy.sparse.linalg import splu

from dalembert.core.errors import ConvergenceError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.numerics import ties
from dalembert.solve.constrained.solve import LARGE
from dalembert.solve.position.assemble import DENSE, least_change, normalised_numbers
from dalembert.solve.position.balance import ACCELERATION, Scales, forces_at_play, measure_scales, rounded_forces, sizes
from dalembert.solve.position.tangent import (
    Instant,
    choose,
    measure_candidate,
    split,
    terms,
    turn_candidates,
    unit_changes,
)

CONVERGED = 1e-12  # unbalanced force that ends the iteration: some thousand roundings
ACCEPTED = 1e-9  # unbalanced force of an equilibrium, where rounding stops the iteration earlier
STEP = 0.4  # longest step: in radians, and as a share of the machine's size; a turn takes 16
NEWTON_STEPS = 60  # steps of Newton's method: it halves a step ten times or doubles its digits in five
CLOSED = 1e-13  # gap of a joint, over 1 + the largest coordinate, that ends Newton's method: 500 roundings
INTEGRATOR = 1e-12  # singular value of ∂g/∂z, of the largest, that is zero: an integrator has none
GOOD = 0.9  # share of the force that a step leaves and is accepted at once


@dataclass(frozen=True)
class Forces:
    """f, ∂f/∂z, K = -∂(f + Aᵀλ)/∂ξ, g, ∂g/∂ξ, ∂g/∂z, M, gaps of all rows, A (with held coordinates as rows)."""

    f: Array
    f_z: Any
    K: Any
    g: Array
    g_x: Any
    g_z: Any
    M: Any
    gap: Array
    A: Any

    def stiffness(self) -> Any:
        """K with the internal states following at rest."""
        if self.g.size == 0:
            return self.K
        follow = np.linalg.lstsq(self.g_z.toarray(), self.g_x.toarray(), rcond=INTEGRATOR)[0]
        return (self.K + self.f_z @ csc_matrix(follow)).tocsc()


@dataclass(frozen=True)
class Place:
    """A closed pose: internal states, multipliers that balance the forces as far as possible, remaining forces.

    left : the force that accelerates the machine, f + Aᵀλ = M a.  unit : change of every coordinate that takes a unit
    of work, so that unit · left compares coordinates of any kind.
    """

    q: Array
    z: Array
    lam: Array  # of the rows, then of the held coordinates
    left: Array
    g: Array
    acceleration: Array
    forces: Forces
    scales: Scales
    unit: Array

    def shares(self, left: Array | None = None, acceleration: Array | None = None) -> Array:
        """Forces left, or others with the accelerations they cause, over those at play along each coordinate."""
        left = self.left if left is None else left
        acceleration = self.acceleration if acceleration is None else acceleration
        return self.scales.shares(left, self.forces.M, acceleration, ACCEPTED)

    def work(self, left: Array) -> float:
        """Size of a force: the root of the work that it does, each component along a unit change."""
        return float(np.linalg.norm(self.unit * left))


class Rest:
    """The equations of rest, with held coordinates as further rows."""

    def __init__(self, eqs: EquationsOfMotion, u: Array, held: Mapping[str, float], t: float) -> None:
        self.eqs, self.u, self.t = eqs, u, t
        self.held = [eqs.measures.index[name] for name in held]
        self.values = np.array(list(held.values()))
        self.still = np.zeros(eqs.nv)
        self.kernel: Kernel = eqs.cache("rest terms", lambda: _rest_kernel(eqs))
        self.extent = np.ones(eqs.nv)  # size of the coordinates: 1 rad, or that of the machine

    def measure_size(self, q: Array) -> None:
        mass = self.eqs.kernel("inertia").sparse(0, q, self.eqs.p, self.t).diagonal()
        self.extent = sizes(self.eqs, q, self.t, mass)

    def is_lost(self, began: Array, q: Array, far: float = 60.0) -> bool:
        """Whether something falls for ever.

        far : times the size of the machine: a part that moves farther falls without end.
        """
        eqs = self.eqs
        metres = [k for k, unit in enumerate(eqs.coordinates.units) if unit == "m"]
        farthest = max([1.0, *(self.extent[k] for k, unit in enumerate(eqs.speeds.units) if unit == "m/s")])
        return bool(np.abs(q[metres] - began[metres]).max(initial=0.0) > far * farthest)

    def share(self, change: Array) -> float:
        """How much of a step may be taken."""
        longest = float((np.abs(change) / self.extent).max(initial=0.0))
        return min(1.0, STEP / max(longest, 1e-300))

    def forces(self, q: Array, z: Array, lam: Array) -> Forces:
        eqs = self.eqs
        raw = self.kernel.raw(q, z, self.u, eqs.p, self.t, lam[: len(eqs.rows)])
        result: list[Any] = []
        for k, values in enumerate(raw):
            sparsity = self.kernel.function.sparsity_out(k)
            if sparsity.shape[1] == 1 and k in (0, 3, 7):
                result.append(values.copy())
            else:
                result.append(csc_matrix((values.copy(), sparsity.row(), sparsity.colind()), shape=sparsity.shape))
        A, phi = result.pop(), result.pop()
        gap = np.zeros(len(eqs.rows) + len(self.held))
        gap[eqs.holonomic_rows] = phi
        if self.held:
            s, _, S, _ = eqs.kernel("measures")(q, self.still, eqs.p, self.t)
            A = vstack((A, csc_matrix(S.reshape(-1, eqs.nv)[self.held]))).tocsc()
            gap[len(eqs.rows) :] = s[self.held] - self.values
        f, f_z, K, g, g_x, g_z, M = result
        return Forces(f, f_z, K, g, g_x, g_z, M, gap, A)

    def move(self, q: Array, change: Array) -> Array:
        N = self.eqs.kernel("kinematics").sparse(0, q, self.eqs.p, self.t)
        return normalised_numbers(self.eqs, q + N @ change)

    def settle(self, q: Array, z: Array, closing: int = 25, nearly: float = 1e3, apart: float = 1e3) -> Place | None:
        """Close the joints, bring the internal states to rest, fit the multipliers; None where joints stay open.

        closing : iterations of it: where a row has no gradient a step quarters the gap, 22 from 1 m.
        nearly : times `closed`: a gap that is left after them and still passes.
        apart : gap [m or rad] from which the joints have come apart.
        """
        eqs = self.eqs
        z = np.array(z)
        zero = np.zeros(len(eqs.rows) + len(self.held))
        tolerance = CLOSED * (1 + float(np.abs(q).max(initial=0.0)))
        for k in range(closing):
            now = self.forces(q, z, zero)
            open_by = float(np.abs(now.gap).max(initial=0.0))
            if eqs.nz:
                z = z - np.linalg.lstsq(now.g_z.toarray(), now.g, rcond=INTEGRATOR)[0]
            if open_by <= tolerance:
                break
            if k == closing - 1 or not np.isfinite(open_by) or open_by > apart:
                if open_by <= nearly * tolerance:
                    break
                return None
            unit = unit_changes(eqs, now.M.diagonal(), now.K.diagonal())  # a gap is not closed by stretching a bar
            q = self.move(q, unit * least_change((now.A @ diags(unit)).tocsc(), now.gap, 0.0))
        now = self.forces(q, z, zero)
        mass = now.M.diagonal()
        a, lam = self.solve(now.M, now.A, now.f, self._with_some(mass) ** -0.5)
        left, F = now.f + now.A.T @ lam, forces_at_play(eqs, now.f, now.A, lam)
        now = self.forces(q, z, lam)
        extent = np.maximum(self.extent, sizes(eqs, q, self.t, mass))  # it may have sunk far from a drawing at a point
        scales = measure_scales(F, mass, rounded_forces(eqs, now.K, now.A, F, extent, mass))
        return Place(q, z, lam, left, now.g, a, now, scales, self.units_of_work(now))

    def units_of_work(self, now: Forces) -> Array:
        """Changes that take a unit of work against the stiffness, and the inertia at 1 m/s² over the size.

        Steps in these units are well scaled: a stiff coordinate beside a soft one has a small unit.
        """
        size = float(self.extent[[unit == "m/s" for unit in self.eqs.speeds.units]].max(initial=1.0))
        inertia = self._with_some(now.M.diagonal()) * (ACCELERATION / size)
        return np.asarray((np.abs(now.K.diagonal()) + inertia) ** -0.5)

    def _with_some(self, mass: Array, light: float = 1e-6) -> Array:
        """Masses along coordinates; those without any, or with little, have a small share of the largest.

        light : share of the largest inertia that a coordinate without one counts with in units of work.
        """
        least = light * float((mass * self.extent**2).max(initial=0.0)) or 1.0
        return np.maximum(mass, least / self.extent**2)

    def error(self, place: Place, rate_weight: float = 1e-3) -> float:
        """Largest left-over force relative to the forces at play along its coordinate, and rate of internal states.

        rate_weight : of the rate of internal states beside forces: their own search is Newton's.
        """
        rate = float(np.abs(place.g).max(initial=0.0)) / (1 + float(np.abs(place.z).max(initial=0.0)))
        return max(float(place.shares().max(initial=0.0)), rate_weight * rate)

    def step(self, place: Place, mu: float) -> Array:
        """δξ of (K + μM) δξ - f_z δz - Aᵀ δλ = left, A δξ = 0, g_ξ δξ + g_z δz = 0."""
        now = place.forces
        return self.solve(now.stiffness() + mu * now.M, now.A, place.left, place.unit)[0]

    def is_same_branch(self, before: Place, after: Place) -> bool:
        """Whether the joints, bent one way, are not bent the other way after a step.

        A motion that passes no singular pose keeps the sign of det(A Aᵀ): here of Uᵀ A' V with A = U S Vᵀ, which begins
        as det S. Branches meet in singular poses, and a step of finite length may leave one for the other.
        """
        if not before.forces.A.shape[0] > 0 or self.eqs.nv > DENSE:
            return True
        A, later = (place.forces.A.toarray() * self.extent for place in (before, after))
        lengths, U, _, V, _, _ = split(A)
        return bool(np.linalg.slogdet(U.T @ (later / lengths[:, None]) @ V)[0] > 0)

    def solve(
        self,
        H: Any,
        A: Any,
        right: Array,
        unit: Array,
        small_below: int = 40,
        regular: float = 1e-11,
        refinements: int = 2,
    ) -> tuple[Array, Array]:
        """x and λ of H x = right + Aᵀ λ, A x = 0: in units of the coordinates, with rows of unit length.

        small_below : speeds; above it steps are solved with sparse factors, slightly regularised. A step of a chain
        takes 3.9 ms with dense matrices and 6.9 ms with sparse ones at 39 speeds, 15 ms and 8 ms at 120.
        regular : added to a sparse system of unit size, and singular value of a dense one that is zero.
        refinements : of a sparse solution: each takes the error of `regular` down by as much.
        """
        nv, count = len(unit), A.shape[0]
        small = nv <= small_below
        U = np.diag(unit) if small else diags(unit)
        H, A = U @ (H.toarray() if small else H) @ U, (A.toarray() if small else A) @ U
        size = max(float(abs(H).max()), 1e-300)
        lengths = np.sqrt(np.asarray((A * A if small else A.multiply(A)).sum(axis=1)).reshape(-1))
        lengths[lengths == 0.0] = 1.0
        load = np.concatenate((unit * right / size, np.zeros(count)))
        if small:
            A = A / lengths[:, None]
            x = np.linalg.lstsq(np.block([[H / size, A.T], [A, np.zeros((count, count))]]), load, rcond=regular)[0]
        else:
            A = diags(1 / lengths) @ A
            matrix = bmat([[H / size, A.T], [A, None]]).tocsc()
            shift = regular * np.concatenate((np.ones(nv), -np.ones(count)))
            factor = splu((matrix + diags(shift)).tocsc())
            x = factor.solve(load)
            for _ in range(refinements):
                x = x + factor.solve(load - matrix @ x)
        return unit * x[:nv], -size * x[nv:] / lengths

    def accelerations(self, place: Place) -> float:
        """Size of the accelerations at rest, each over the size of its coordinate [1/s²]."""
        return float((np.abs(place.acceleration) / self.extent).max(initial=0.0))

    def unstable_direction(self, place: Place, unstable: float = 1e-7, near: float = 1e-6) -> Array | None:
        """A direction in which the machine would fall away from this pose, largest entry 1; None where stable.

        unstable : negative stiffness of an unstable equilibrium: 100 times the error of a soft direction.
        near : unbalanced force from which on the sign of a stiffness means anything.
        """
        if self.error(place) > near:
            return None
        D, K = self._freedoms(place)
        if D.shape[1] == 0:
            return None
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        if values[0] >= -unstable:
            return None
        direction = D @ vectors[:, 0]
        return np.asarray(direction / (np.abs(direction) / self.extent).max())

    def _freedoms(self, place: Place) -> tuple[Array, Array]:
        """Small motions that the joints allow, as columns, in units that take a unit of work; the stiffness in them."""
        D = place.unit[:, None] * split(place.forces.A.toarray() * place.unit)[4]
        return D, D.T @ place.forces.stiffness().toarray() @ D

    def free_coordinates(self, place: Place, soft_below: float = 1e-9) -> tuple[str, ...]:
        """Coordinates along which the machine is at rest anywhere: no force resists a displacement, small or larger.

        soft_below : stiffness below which a direction may be free: `accepted` over a change of 1 rad.
        """
        eqs = self.eqs
        if eqs.nv > DENSE:
            return ()
        D, K = self._freedoms(place)
        if D.shape[1] == 0:
            return ()
        _, sigma, Vt = np.linalg.svd(K)
        soft = D @ Vt[np.count_nonzero(sigma > soft_below) :].T
        kept = [direction for direction in soft.T if self._goes_on(place, direction)]
        if not kept:
            return ()
        x = Instant(place.q, self.still, place.z, self.u, self.t, self.still, place.lam[: len(eqs.rows)])
        measures, joints = (
            [measure_candidate(eqs, k) for k in part] for part in (eqs.positions, eqs.recorded_measures)
        )
        groups = [joints, measures, *turn_candidates(eqs, x, world=False)]
        return tuple(c.name for c in choose(np.linalg.qr(np.array(kept).T)[0], groups, terms(eqs, x), x))

    def _goes_on(
        self, place: Place, direction: Array, along: float = 0.25, returning: int = 6, returned: float = 0.5
    ) -> bool:
        """Whether equilibria continue along a direction without stiffness.

        A step along it, then Newton's method: along a family of equilibria it stays about there; where the force grows
        with the third power it goes back.

        along : of a longest step along a direction without stiffness, .
        returning : ... then steps of Newton's method: a third-power force goes back by a third each time.
        returned : share of the way left after them that is a family of equilibria: that force leaves 0.09.
        """
        length = along * STEP / float((np.abs(direction) / self.extent).max())
        first = self.settle(self.move(place.q, length * direction), place.z)
        trial = first
        for _ in range(returning):
            if trial is None or self.error(trial) <= ACCEPTED:
                break
            trial = self.settle(self.move(trial.q, self.step(trial, 0.0)), trial.z)
        if first is None or trial is None or self.error(trial) > ACCEPTED:
            return False
        went = first.q - place.q
        return bool((trial.q - place.q) @ went >= returned * (went @ went))

    def check_still(self, place: Place, still: float = 1e-9) -> None:
        # still: speed of a driven joint at rest [m/s or rad/s]: rounding of a law of time.
        (c,) = self.eqs.kernel("rates")(place.q, self.still, self.eqs.p, self.t)
        if c.size and float(np.abs(c).max()) > still:
            owner = self.eqs.rows[self.eqs.rate_rows[int(np.argmax(np.abs(c)))]].owner
            said = f"{owner!r} moves at t = {self.t:g} s, so {self.eqs.name!r} cannot be at rest"
            if self.eqs.nv <= DENSE and split(place.forces.A.toarray())[4].shape[1] == 0:
                raise ModelError(
                    "no-solution", f"{said}; nothing else in it is free to move. Simulate it to see its motion."
                )
            raise ModelError("no-solution", f"{said}.", Advice("For steady motion give {}.", Argument("rates")))

    def _creep(self) -> list[Advice]:
        """Advice that regularised friction cannot keep a machine at rest."""
        names = {d.name: d.coordinate for d in self.eqs.dry if d.speed is not None}
        if not names:
            return []
        shown = ", ".join(map(repr, names))
        found = [Advice(f"Friction {shown} is regularised: it cannot keep the machine at rest, which creeps.")]
        if any(names.values()):
            found.append(Advice("In joints, leave out {}: coordinates inside the limit then stick.", Argument("speed")))
        return found

    def check_found(
        self, place: Place, driven: Collection[str] = (), effort: float = 1e-7, unbalanced_rate: float = 1e-6
    ) -> None:
        """Refuse a pose that is not at rest, or is held there by an effort along others than driven coordinates.

        effort : unbalanced force where held coordinates are let go: the accepted one, times 100.
        unbalanced_rate : of an internal state, per 1 + its size: then the state is named, not the force.
        """
        eqs = self.eqs
        if self.error(place) > ACCEPTED:
            if eqs.nz and float(np.abs(place.g).max()) > unbalanced_rate * (1 + float(np.abs(place.z).max())):
                name = eqs.internal.names[int(np.argmax(np.abs(place.g)))]
                raise ConvergenceError(
                    "no-solution",
                    f"no equilibrium of {eqs.name!r} found: internal state {name!r} does not come to rest.",
                )
            shares = place.shares()
            worst = int(ties.first_largest(np.minimum(shares, 1.0 / ACCEPTED)))
            body, name = eqs.speeds.owners[worst], eqs.speeds.names[worst]
            joints = [j.name for j in eqs.joints if body in j.bodies]
            held = f" of body {body!r} (held by {', '.join(repr(j) for j in joints[:4])})" if joints else ""
            unit = "N m" if eqs.speeds.units[worst] == "rad/s" else "N"
            acceleration = float(place.acceleration[worst])
            raise ConvergenceError(
                "no-solution",
                f"no equilibrium of {eqs.name!r} found: {name!r}{held} is left with {place.left[worst]:.3g} {unit} "
                f"and changes by {acceleration:.3g} per second. Nothing balances it, or the way there is long.",
                Advice("Give {}.", Argument("start"), Argument("guess")),
                *self._creep(),
                where={"speed": name},
                evidence={"acceleration": acceleration, "share": float(shares[worst]), "accepted": ACCEPTED},
            )
        names = [eqs.measures.names[k] for k in self.held]
        still = {name: x for name, x in zip(names, self.values, strict=True) if name in driven}
        if len(still) == len(self.held):
            return
        released = Rest(eqs, self.u, still, self.t)
        released.extent = self.extent
        there = released.settle(place.q, place.z)
        if there is None or released.error(there) > effort:
            k = max(
                (k for k in range(len(names)) if names[k] not in still), key=lambda k: abs(place.lam[len(eqs.rows) + k])
            )
            name = names[k]
            unit = "N m" if eqs.measures.units[self.held[k]] == "rad" else "N"
            raise ConvergenceError(
                "no-solution",
                f"no equilibrium of {eqs.name!r} with {name} = {self.values[k]:g}: it would need an effort of "
                f"{place.lam[len(eqs.rows) + k]:.6g} {unit} along it. Give that by an input, or let go.",
                Advice("Where a motor holds it, name it in {}.", Argument("efforts", [name])),
            )


def _rest_kernel(eqs: EquationsOfMotion) -> Kernel:
    s = eqs.symbols()
    F = eqs.functions
    still = ca.SX.zeros(eqs.nv)
    f = F["forces"](s.q, still, s.z, s.u, s.p, s.t, s.lam)
    A, _ = F["rows"](s.q, still, s.z, s.u, s.p, s.t)
    N, _ = F["kinematics"](s.q, s.p, s.t)
    g = F["internal"](s.q, still, s.z, s.u, s.p, s.t, s.lam)
    K = -ca.jacobian(f + A.T @ s.lam, s.q) @ N
    outputs = [ca.densify(f), ca.jacobian(f, s.z), K, ca.densify(g), ca.jacobian(g, s.q) @ N, ca.jacobian(g, s.z)]
    outputs += [F["inertia"](s.q, s.p, s.t), ca.densify(F["position"](s.q, s.p, s.t)), A]
    function = ca.Function("rest", [s.q, s.z, s.u, s.p, s.t, s.lam], outputs, {"cse": eqs.nv < LARGE})
    return Kernel(function)
