"""The equations of rest of a machine: f(q, 0, z, u, t, λ) + Aᵀ λ = 0, φ = 0, g = 0, and steps towards them.

Held coordinates are further rows. The multipliers of a pose are those that carry as much of the forces as they can;
the remaining force moves the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.sparse import bmat, csc_matrix, diags, identity, vstack
from scipy.sparse.linalg import splu

from dalembert.core.errors import ConvergenceError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.solve.constrained.matrices import RANK_TOLERANCE
from dalembert.solve.constrained.solve import LARGE
from dalembert.solve.position.assemble import LIMITS as ASSEMBLY
from dalembert.solve.position.assemble import least_change, normalised_numbers
from dalembert.solve.position.tangent import Instant, choose, measure_candidate, split, terms, turn_candidates


@dataclass(frozen=True)
class RestLimits:
    """Limits of the search for rest. Forces are relative to the largest force, stiffnesses to the largest stiffness."""

    converged: float = 1e-12  # unbalanced force that ends the iteration: some hundred roundings of the largest force
    accepted: float = 1e-9  # unbalanced force of an equilibrium, where rounding stops the iteration earlier
    still: float = 1e-9  # speed of a driven joint at rest [m/s or rad/s]: rounding of a law of time
    effort: float = 1e-7  # effort along a held coordinate that passes for none: the accepted force, times 100
    unbalanced_rate: float = 1e-6  # of an internal state, per 1 + its size: then the state is named, not the force
    soft: float = 1e-9  # stiffness below which a direction may be free: `accepted` over a change of 1 rad
    unstable: float = 1e-7  # negative stiffness of an unstable equilibrium: 100 times the error of a soft direction
    near: float = 1e-6  # unbalanced force from which on the sign of a stiffness means anything
    step: float = 0.4  # longest step: in radians, and as a share of the machine's size; a turn takes 16
    far: float = 60.0  # times the size of the machine: a part that moves farther falls without end
    # Speeds; above it steps are solved with sparse factors, slightly regularised. A step of a chain takes 3.9 ms with
    # dense matrices and 6.9 ms with sparse ones at 39 speeds, 15 ms and 8 ms at 120.
    small: int = 40
    descent: int = 600  # steps along the forces: 60 sizes of the machine in steps of 0.4, four times
    newton: int = 60  # steps of Newton's method: it halves a step ten times or doubles its digits in five
    perturbations: int = 6  # moves away from unstable equilibria, of 0.05 rad, doubled each time: up to a quarter turn
    first_move: float = 0.05  # the first of them [rad]
    closed: float = 1e-13  # gap of a joint, over 1 + the largest coordinate, that ends Newton's method: 500 roundings
    closing: int = 25  # iterations of it: where a row has no gradient a step quarters the gap, 22 from 1 m
    nearly: float = 1e3  # times `closed`: a gap that is left after them and still passes
    apart: float = 1e3  # gap [m or rad] from which the joints have come apart
    rate_weight: float = 1e-3  # of the rate of internal states beside forces: their own search is Newton's
    regular: float = 1e-11  # added to a sparse system of unit size, and singular value of a dense one that is zero
    integrators: float = 1e-12  # singular value of ∂g/∂z, of the largest, that is zero: an integrator has none
    too_far: float = 1e12  # damping over the first one that ends a descent: steps are rounding
    least_damping: float = 1e-3  # of the first one, after a step that failed
    no_damping: float = 1e-9  # of the first one, from which a step is Newton's
    good: float = 0.9  # share of the force that a step leaves and is accepted at once
    overshoot: float = 0.5  # or share of its first force that opposes a step at its end: past the minimum, not far
    slowest: float = 0.5  # factor by which damping falls after a step that helps, at least
    fastest: float = 0.05  # and at most: as fast as the force does, a step of Newton's method is tried four steps later
    shortest: float = 1e-3  # part of a Newton step, halved ten times, that ends the search
    decrease: float = 1e-4  # share of the predicted decrease that is one (Armijo)
    along: float = 0.25  # of a longest step along a direction without stiffness, ...
    returning: int = 6  # ... then steps of Newton's method: a third-power force goes back by a third each time
    returned: float = 0.5  # share of the way left after them that is a family of equilibria: that force leaves 0.09


LIMITS = RestLimits()


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
        follow = np.linalg.lstsq(self.g_z.toarray(), self.g_x.toarray(), rcond=LIMITS.integrators)[0]
        return (self.K + self.f_z @ csc_matrix(follow)).tocsc()


@dataclass(frozen=True)
class Place:
    """A closed pose: internal states, multipliers that balance the forces as far as possible, remaining forces."""

    q: Array
    z: Array
    lam: Array  # of the rows, then of the held coordinates
    left: Array
    g: Array
    scale: float


class Rest:
    """The equations of rest, with held coordinates as further rows."""

    def __init__(self, eqs: EquationsOfMotion, u: Array, held: Mapping[str, float], t: float) -> None:
        self.eqs, self.u, self.t = eqs, u, t
        self.held = [eqs.measures.index[name] for name in held]
        self.values = np.array(list(held.values()))
        self.still = np.zeros(eqs.nv)
        self.kernel: Kernel = eqs.cache("rest terms", lambda: _rest_kernel(eqs))
        self.limits = np.full(eqs.nv, LIMITS.step)

    def measure_size(self, q: Array) -> None:
        """Lengths may change by a share of the size of the machine, here the farthest coordinate."""
        metres = [k for k, unit in enumerate(self.eqs.coordinates.units) if unit == "m"]
        size = float(np.abs(q[metres]).max(initial=0.0))
        lengths = [k for k, unit in enumerate(self.eqs.speeds.units) if unit == "m/s"]
        self.limits[lengths] = LIMITS.step * (size if size > 0 else 1.0)

    def is_lost(self, began: Array, q: Array) -> bool:
        """Whether something falls for ever."""
        farthest = float(self.limits.max(initial=0.0)) / LIMITS.step
        metres = [k for k, unit in enumerate(self.eqs.coordinates.units) if unit == "m"]
        return float(np.abs(q[metres] - began[metres]).max(initial=0.0)) > LIMITS.far * max(farthest, 1e-300)

    def share(self, change: Array) -> float:
        """How much of a step may be taken."""
        longest = float((np.abs(change) / self.limits).max(initial=0.0))
        return min(1.0, 1.0 / max(longest, 1e-300))

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

    def settle(self, q: Array, z: Array) -> Place | None:
        """Close the joints, bring the internal states to rest, fit the multipliers; None where joints stay open."""
        eqs = self.eqs
        z = np.array(z)
        zero = np.zeros(len(eqs.rows) + len(self.held))
        tolerance = LIMITS.closed * (1 + float(np.abs(q).max(initial=0.0)))
        for k in range(LIMITS.closing):
            now = self.forces(q, z, zero)
            open_by = float(np.abs(now.gap).max(initial=0.0))
            if eqs.nz:
                z = z - np.linalg.lstsq(now.g_z.toarray(), now.g, rcond=LIMITS.integrators)[0]
            if open_by <= tolerance:
                break
            if k == LIMITS.closing - 1 or not np.isfinite(open_by) or open_by > LIMITS.apart:
                if open_by <= LIMITS.nearly * tolerance:
                    break
                return None
            q = self.move(q, least_change(now.A, now.gap, 0.0))
        now = self.forces(q, z, zero)
        f, A = now.f, now.A
        lam = -_fit(A.T.tocsc(), f)
        left = f + A.T @ lam
        parts = abs(A.T) @ np.abs(lam)
        # forces that cancel inside f leave no trace but their stiffness; and 1 m/s² is no small acceleration
        stiff = float((abs(now.K) @ (self.limits / LIMITS.step)).max(initial=0.0))
        heavy = float(now.M.diagonal().max(initial=0.0))
        scale = max(float(np.abs(f).max(initial=0.0)), float(parts.max(initial=0.0)), stiff, heavy)
        return Place(q, z, lam, left, now.g, scale)

    def error(self, place: Place) -> float:
        """Left-over force relative to the forces at play, and left-over rate of internal states."""
        force = float(np.abs(place.left).max(initial=0.0)) / max(place.scale, 1e-300)
        rate = float(np.abs(place.g).max(initial=0.0)) / (1 + float(np.abs(place.z).max(initial=0.0)))
        return max(force if place.scale > 0 else 0.0, LIMITS.rate_weight * rate)

    def step(self, place: Place, mu: float) -> Array:
        """δξ of (K + μM) δξ - f_z δz - Aᵀ δλ = left, A δξ = 0, g_ξ δξ + g_z δz = 0."""
        eqs = self.eqs
        now = self.forces(place.q, place.z, place.lam)
        K, A = now.stiffness() + mu * now.M, now.A
        size = max(float(abs(K).max()), 1e-300)
        lengths = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).reshape(-1))
        lengths[lengths == 0.0] = 1.0
        A = (diags(1 / lengths) @ A).tocsc()
        count = A.shape[0]
        right = np.concatenate((place.left / size, np.zeros(count)))
        if eqs.nv <= LIMITS.small:
            matrix = np.block([[(K / size).toarray(), A.T.toarray()], [A.toarray(), np.zeros((count, count))]])
            return np.asarray(np.linalg.lstsq(matrix, right, rcond=LIMITS.regular)[0][: eqs.nv])
        regular = LIMITS.regular
        matrix = bmat([[K / size + regular * identity(eqs.nv), A.T], [A, -regular * identity(count)]]).tocsc()
        return np.asarray(splu(matrix).solve(right)[: eqs.nv])

    def accelerations(self, place: Place) -> float:
        """Size of the accelerations at rest: left-over force over mass (with the joints' help)."""
        mass = np.abs(self.forces(place.q, place.z, place.lam).M.diagonal())
        typical = float(mass[mass > 0].min()) if np.any(mass > 0) else 1.0
        return float(np.abs(place.left).max(initial=0.0)) / typical

    def unstable_direction(self, place: Place) -> Array | None:
        """A direction in which the machine would fall away from this pose, largest entry 1; None where stable."""
        if self.error(place) > LIMITS.near:
            return None
        now = self.forces(place.q, place.z, place.lam)
        K = now.stiffness().toarray()
        Z = split(now.A.toarray())[4]
        if Z.shape[1] == 0:
            return None
        reduced = Z.T @ K @ Z
        values, vectors = np.linalg.eigh(0.5 * (reduced + reduced.T))
        if values[0] >= -LIMITS.unstable * max(float(np.abs(K).max()), 1e-300):
            return None
        direction = Z @ vectors[:, 0]
        return np.asarray(direction / np.abs(direction).max())

    def free_coordinates(self, place: Place) -> tuple[str, ...]:
        """Coordinates along which the machine is at rest anywhere: no force resists a displacement, small or larger."""
        eqs = self.eqs
        now = self.forces(place.q, place.z, place.lam)
        Z = split(now.A.toarray())[4] if eqs.nv <= ASSEMBLY.dense else np.zeros((eqs.nv, 0))
        if Z.shape[1] == 0:
            return ()
        K = now.stiffness().toarray()
        _, sigma, Vt = np.linalg.svd(Z.T @ K @ Z)
        D = Z @ Vt[np.count_nonzero(sigma > LIMITS.soft * max(float(np.abs(K).max()), 1e-300)) :].T
        kept = [direction for direction in D.T if self._goes_on(place, direction)]
        if not kept:
            return ()
        x = Instant(place.q, self.still, place.z, self.u, self.t, self.still, place.lam[: len(eqs.rows)])
        measures, joints = (
            [measure_candidate(eqs, k) for k in part] for part in (eqs.positions, eqs.recorded_measures)
        )
        chosen = choose(np.array(kept).T, [joints, measures, *turn_candidates(eqs, x, world=False)], terms(eqs, x), x)
        return tuple(c.name for c in chosen)

    def _goes_on(self, place: Place, direction: Array) -> bool:
        """Whether equilibria continue along a direction without stiffness.

        A step along it, then Newton's method: along a family of equilibria it stays about there; where the force grows
        with the third power it goes back.
        """
        first = self.settle(
            self.move(place.q, LIMITS.along * direction / (np.abs(direction) / self.limits).max()), place.z
        )
        trial = first
        for _ in range(LIMITS.returning):
            if trial is None or self.error(trial) <= LIMITS.accepted:
                break
            trial = self.settle(self.move(trial.q, self.step(trial, 0.0)), trial.z)
        if first is None or trial is None or self.error(trial) > LIMITS.accepted:
            return False
        went = first.q - place.q
        return bool((trial.q - place.q) @ went >= LIMITS.returned * (went @ went))

    def check_still(self, place: Place) -> None:
        (c,) = self.eqs.kernel("rates")(place.q, self.still, self.eqs.p, self.t)
        if c.size and float(np.abs(c).max()) > LIMITS.still:
            owner = self.eqs.rows[self.eqs.rate_rows[int(np.argmax(np.abs(c)))]].owner
            said = f"{owner!r} moves at t = {self.t:g} s, so {self.eqs.name!r} cannot be at rest"
            A = self.forces(place.q, place.z, place.lam).A
            if self.eqs.nv <= ASSEMBLY.dense and split(A.toarray())[4].shape[1] == 0:
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

    def check_found(self, place: Place) -> None:
        eqs = self.eqs
        worst = int(np.argmax(np.abs(place.left))) if eqs.nv else 0
        if self.error(place) > LIMITS.accepted:
            if eqs.nz and float(np.abs(place.g).max()) > LIMITS.unbalanced_rate * (1 + float(np.abs(place.z).max())):
                name = eqs.internal.names[int(np.argmax(np.abs(place.g)))]
                raise ConvergenceError(
                    "no-solution",
                    f"no equilibrium of {eqs.name!r} found: internal state {name!r} does not come to rest.",
                )
            body = eqs.speeds.owners[worst]
            joints = [j.name for j in eqs.joints if body in j.bodies]
            held = f" of body {body!r} (held by {', '.join(repr(j) for j in joints[:4])})" if joints else ""
            unit = "N m" if eqs.speeds.units[worst] == "rad/s" else "N"
            raise ConvergenceError(
                "no-solution",
                f"no equilibrium of {eqs.name!r} found: {eqs.speeds.names[worst]!r}{held} is left "
                f"with {place.left[worst]:.3g} {unit}. Nothing balances it, or the way there is long.",
                Advice("Give {}.", Argument("start"), Argument("guess")),
                *self._creep(),
                where={"speed": eqs.speeds.names[worst]},
            )
        kept = np.abs(place.lam[len(eqs.rows) :])
        if kept.size and float(kept.max()) > LIMITS.effort * place.scale:
            k = int(np.argmax(kept))
            name = eqs.measures.names[self.held[k]]
            unit = "N m" if eqs.measures.units[self.held[k]] == "rad" else "N"
            raise ConvergenceError(
                "no-solution",
                f"no equilibrium of {eqs.name!r} with {name} = {self.values[k]:g}: it would need an effort of "
                f"{place.lam[len(eqs.rows) + k]:.6g} {unit} along it. Give that by an input, or let go.",
            )


def _fit(matrix: csc_matrix, right: Array) -> Array:
    """x of least squares (and least length) with matrix x = right."""
    if matrix.shape[0] <= LIMITS.small:
        return np.asarray(np.linalg.lstsq(matrix.toarray(), right, rcond=RANK_TOLERANCE)[0])
    normal = (matrix.T @ matrix).tocsc()
    shift = LIMITS.regular * float(normal.diagonal().max(initial=1.0))
    factor = splu((normal + shift * identity(normal.shape[0])).tocsc())
    x = factor.solve(matrix.T @ right)
    for _ in range(3):
        x = x + factor.solve(matrix.T @ (right - matrix @ x))
    return np.asarray(x)


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
