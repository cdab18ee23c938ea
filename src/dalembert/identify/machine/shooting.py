"""Multiple shooting: a machine simulated over its records in many short segments, with exact sensitivities.

Every segment has an initial state xⱼ = (q, v, z) of its own that satisfies the joints. A step is Runge-Kutta 4 followed
by projection, as `da.simulate` takes it; CasADi takes its derivative along the n directions in which the initial state
may change and along the m parameters: Sₖ₊₁ = ∂step/∂x Sₖ + [0, ∂step/∂p]. Initial states move in the tangent space of
the joints,

    x = Π(xⱼ + D Tⱼ s, p) ,   ∂x/∂s = D Tⱼ ,   ∂x/∂p = ∂Π/∂p ,

D a diagonal of scales, Tⱼ (nx, n) orthonormal, Π the projection of `da.simulate`: the pose of a closed loop changes
with its lengths. Where a segment ends and the next starts, c = Tᵀ D⁻¹ (x_end - x_start) is the gap to be closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import FLAT_LIMIT, Array, Kernel
from dalembert.identify.machine.friction_rates import rates_function
from dalembert.identify.machine.records import MeasuredTests
from dalembert.numerics.runge_kutta import CLASSIC, combine
from dalembert.solve.constrained.solve import closing_function, depends_on_reactions, projection_function

MX = ca.MX
CLOSING = 4  # Newton steps of a projection from a changed initial state


class ShootingSteps:
    """Native functions of one machine and one choice of outputs: a sample's step, the outputs, the projection."""

    def __init__(
        self, eqs: EquationsOfMotion, outputs: tuple[tuple[str, int], ...], chosen: list[int], directions: int,
        substeps: int,
    ) -> None:  # fmt: skip
        self.eqs, self.outputs, self.chosen = eqs, outputs, chosen
        self.n, self.m, self.substeps = directions, len(chosen), substeps
        self.nl = len(eqs.rows) if depends_on_reactions(eqs) else 0
        self.nx = eqs.nq + eqs.nv + eqs.nz
        self.size = self.nx + self.nl
        self.seeds = ca.DM.zeros(len(eqs.parameters), self.n + self.m)
        for column, k in enumerate(chosen):
            self.seeds[k, self.n + column] = 1.0

    def with_substeps(self, substeps: int) -> ShootingSteps:
        return ShootingSteps(self.eqs, self.outputs, self.chosen, self.n, substeps)

    def _cache(self, key: str, make: Any, *rest: Any) -> Any:
        return self.eqs.cache(("shooting", key, self.outputs, tuple(self.chosen), self.n, self.substeps, *rest), make)

    def _split(self, x: Any) -> tuple[Any, Any, Any, Any]:
        a, b = self.eqs.nq, self.eqs.nq + self.eqs.nv
        lam = x[self.nx :] if self.nl else MX.zeros(len(self.eqs.rows))
        return x[:a], x[a:b], x[b : self.nx], lam

    def _join(self, q: object, v: object, z: object, lam: object) -> Any:
        return ca.densify(ca.vertcat(q, v, z, lam if self.nl else MX(0, 1)))

    def _symbols(self) -> list[Any]:
        eqs = self.eqs
        sizes = (("x", self.size), ("p", len(eqs.parameters)), ("u0", eqs.nu), ("u1", eqs.nu), ("t", 1), ("h", 1))
        return [MX.sym(name, size) for name, size in sizes]

    def step(self) -> ca.Function:
        """(x, p, u0, u1, t, h) -> x one Runge-Kutta 4 step later, the input going straight from u0 to u1."""
        F, close = rates_function(self.eqs), closing_function(self.eqs)
        symbols = self._symbols()
        x, p, u0, u1, t, h = symbols
        q, v, z, lam = self._split(x)
        inputs, weights = {0.0: u0, 0.5: 0.5 * (u0 + u1)}, CLASSIC.weights
        k: list[Any] = []
        for node, row in zip(CLASSIC.nodes[:-1], CLASSIC.rows[:-1], strict=True):
            y = [base + h * combine(row, k, i) for i, base in enumerate((q, v, z))]
            k.append(F(*y, inputs[node], p, t + node * h, k[-1][3] if k else lam))
        last = [base + h * combine(CLASSIC.rows[-1], k, i) for i, base in enumerate((q, v, z))]
        base = [y + h * combine(weights[:-1], k, i) for i, y in enumerate((q, v, z))]
        if self.nl:  # the closing function of a run solves friction by secants
            k.append(F(*last, u1, p, t + h, k[2][3]))
            rough = [y + h * weights[-1] * rate for y, rate in zip(base, k[3][:3], strict=True)]
            q, v = projection_function(self.eqs)(rough[0], rough[1], p, t + h)
            lam = F(q, v, rough[2], u1, p, t + h, k[3][3])[3]
            return flatten(ca.Function("step", symbols, [self._join(q, v, rough[2], lam)]), F)
        _, _, _, _, q, v, z, _, _, _, _, lam, _ = close(*last, k[2][3], *base, MX(0), h * weights[-1], u1, p, t + h)
        return flatten(ca.Function("step", symbols, [self._join(q, v, z, lam)]), F)

    def observe(self) -> ca.Function:
        """(x, p, u, t) -> the matched outputs."""
        eqs = self.eqs
        x, p, u, _, t, _ = self._symbols()
        q, v, z, lam = self._split(x)
        F = eqs.functions
        _, a, _, lam = rates_function(eqs)(q, v, z, u, p, t, lam)
        value, rate, _, _ = F["measures"](q, v, p, t)
        sensors = F["outputs"](q, v, a, lam, z, u, p, t)
        table = {"sensor": sensors, "measure": value, "rate": rate, "q": q, "v": v, "z": z}
        y = ca.densify(ca.vertcat(*[table[kind][k] for kind, k in self.outputs]))
        return flatten(ca.Function("observed", [x, p, u, t], [y]), rates_function(eqs))

    def sensitive(self) -> ca.Function:
        """(x, S; p, u0, u1, t, h) -> (x, S) one step later."""
        step = self.step()
        symbols = self._symbols()
        S = MX.sym("S", self.size, self.n + self.m)
        if not step.is_a("SXFunction"):
            after = step(*symbols)
            zeros = [MX(s, self.n + self.m) for s in (self.eqs.nu, self.eqs.nu, 1, 1)]
            slopes = step.forward(self.n + self.m)(*symbols, after, S, self.seeds, *zeros)
            return ca.Function("sensitive", [symbols[0], S, *symbols[1:]], [after, ca.densify(slopes)])
        # flattened, so that terms without seeds are computed once for all of them
        arguments = [ca.SX.sym("xputth"[k], s.shape[0]) for k, s in enumerate(symbols)]
        seeds = ca.SX.sym("S", self.size, self.n + self.m)
        after = step(*arguments)
        slopes = ca.jtimes(after, ca.vertcat(*arguments[:2]), ca.vertcat(seeds, ca.SX(self.seeds)))
        inputs = [arguments[0], seeds, *arguments[1:]]
        return ca.Function("sensitive", inputs, [after, ca.densify(slopes)], {"cse": True})

    def sample(self, *, sensitive: bool) -> ca.Function:
        """(x, S; p, u0, u1, t, h) -> (x, S) one sample later; without S where not ``sensitive``."""
        step = self._cache("step", self.sensitive if sensitive else self.step, sensitive)
        x, p, u0, u1, t, h = self._symbols()
        S = MX.sym("S", self.size, self.n + self.m)
        short = h / self.substeps
        now = (x, S) if sensitive else (x,)
        for k in range(self.substeps):
            a, b = (u0 + (u1 - u0) * (i / self.substeps) for i in (k, k + 1))
            after = step(*now, p, a, b, t + k * short, short)
            now = tuple(after) if sensitive else (after,)
        inputs = [x, S] if sensitive else [x]
        return ca.Function("sample", [*inputs, p, u0, u1, t, h], list(now))

    def chain(self, count: int, *, sensitive: bool) -> Kernel:
        """`count` samples in one call."""

        def make() -> Kernel:
            sample = self._cache("sample", lambda: self.sample(sensitive=sensitive), sensitive)
            return Kernel(sample.mapaccum("chain", count, 2 if sensitive else 1))

        return self._cache("chain", make, count, sensitive)  # type: ignore[no-any-return]

    def outputs_kernel(self, *, sensitive: bool) -> Kernel:
        def make() -> Kernel:
            function = self.observe()
            if sensitive:
                x, p, u, _, t, _ = self._symbols()
                S = MX.sym("S", self.size, self.n + self.m)
                y = function(x, p, u, t)
                zeros = [MX(s, self.n + self.m) for s in (self.eqs.nu, 1)]
                dy = function.forward(self.n + self.m)(x, p, u, t, y, S, self.seeds, *zeros)
                function = ca.Function("observed", [x, S, p, u, t], [y, ca.densify(dy)])
            return Kernel(function)

        return self._cache("outputs", make, sensitive)  # type: ignore[no-any-return]

    def projection(self) -> tuple[Kernel, Kernel]:
        """(q,v,p,t) -> q, v on the joints; and its derivative by the chosen parameters, each (nq or nv, m)."""

        def make() -> tuple[Kernel, Kernel]:
            far, near = projection_function(self.eqs, CLOSING), projection_function(self.eqs)
            q, v, p, t = (MX.sym(near.name_in(i), near.size1_in(i)) for i in range(4))
            seeds = self.seeds[:, self.n :]
            zeros = [MX(size, self.m) for size in (self.eqs.nq, self.eqs.nv)]
            dq, dv = near.forward(self.m)(q, v, p, t, *near(q, v, p, t), *zeros, seeds, MX(1, self.m))
            slope = ca.Function("slope", [q, v, p, t], [ca.densify(ca.vertcat(dq, dv))])
            return Kernel(far), Kernel(slope)

        return self._cache("projection", make)  # type: ignore[no-any-return]


def flatten(function: ca.Function, kernel: ca.Function) -> ca.Function:
    """One expression without calls where that is small enough."""
    if 6 * kernel.n_instructions() > FLAT_LIMIT:
        return function
    expanded = function.expand()
    symbols = expanded.sx_in()
    return ca.Function(function.name(), symbols, [ca.densify(expanded(*symbols))], {"cse": True})


# ---- the tangent space of the joints


def tangent_kernel(eqs: EquationsOfMotion) -> Kernel:
    """(q,v,p,t) -> N, A, ∂rates/∂ξ."""

    def make() -> Kernel:
        s = eqs.symbols()
        zero_z, zero_u = ca.SX.zeros(eqs.nz), ca.SX.zeros(eqs.nu)
        N, _ = eqs.functions["kinematics"](s.q, s.p, s.t)
        A, _ = eqs.functions["rows"](s.q, s.v, zero_z, zero_u, s.p, s.t)
        rates = eqs.functions["rates"](s.q, s.v, s.p, s.t)
        slope = ca.jacobian(rates, s.q) @ N
        function = ca.Function("tangents", [s.q, s.v, s.p, s.t], [ca.densify(x) for x in (N, A, slope)])
        return Kernel(function)

    return eqs.cache("shooting tangents", make)  # type: ignore[no-any-return]


def find_tangents(
    eqs: EquationsOfMotion, x: Array, p: Array, t: float, scale: Array, count: int | None = None, singular: float = 1e-9
) -> Array:
    """(nx, n) orthonormal: changes of x / scale that the joints allow; ``count`` fixes n.

    singular : of the rows of the joints, each of unit length
    """
    q, v = x[: eqs.nq], x[eqs.nq : eqs.nq + eqs.nv]
    N, A, slope = (
        block.reshape(shape)
        for block, shape in zip(
            tangent_kernel(eqs)(q, v, p, t),
            ((eqs.nq, eqs.nv), (len(eqs.rows), eqs.nv), (len(eqs.rate_rows), eqs.nv)), strict=True,
        )
    )  # fmt: skip
    Z = find_null_space(A[eqs.holonomic_rows])
    Zv = find_null_space(A[eqs.rate_rows])
    follow = -np.linalg.lstsq(A[eqs.rate_rows], slope @ Z, rcond=singular)[0] if eqs.rate_rows else np.zeros_like(Z)
    nz = eqs.nz
    columns = np.zeros((eqs.nq + eqs.nv + nz, Z.shape[1] + Zv.shape[1] + nz))
    columns[: eqs.nq, : Z.shape[1]] = N @ Z
    columns[eqs.nq : eqs.nq + eqs.nv, : Z.shape[1]] = follow
    columns[eqs.nq : eqs.nq + eqs.nv, Z.shape[1] : Z.shape[1] + Zv.shape[1]] = Zv
    columns[eqs.nq + eqs.nv :, Z.shape[1] + Zv.shape[1] :] = np.eye(nz)
    U, _, _ = np.linalg.svd(columns / scale[:, None], full_matrices=False)
    wanted = columns.shape[1] if count is None else count
    if U.shape[1] >= wanted:
        return np.asarray(U[:, :wanted])
    return np.hstack((U, np.zeros((len(U), wanted - U.shape[1]))))


def find_null_space(A: Array, singular: float = 1e-9) -> Array:
    if A.shape[0] == 0:
        return np.eye(A.shape[1])
    lengths = np.sqrt((A * A).sum(axis=1))
    lengths[lengths == 0.0] = 1.0
    _, sigma, Vt = np.linalg.svd(A / lengths[:, None])
    rank = int(np.count_nonzero(sigma > singular * sigma.max(initial=0.0)))
    return np.asarray(Vt[rank:].T)


# ---- segments


@dataclass(frozen=True)
class Segments:
    """Segments of all records, padded to one length L with steps of no duration.

    ``t`` (S, L + 1), ``h`` (S, L), ``u`` (S, L + 1, nu), ``u_end`` (S, L, nu): input at the end of each step;
    ``y`` (S, L + 1, ny) with NaN where nothing was measured or another segment has the sample; ``linked`` (S,);
    ``first`` (S,) first sample of a segment; ``run`` (S,) its record; ``length`` (S,) its steps.
    """

    t: Array
    h: Array
    u: Array
    u_end: Array
    y: Array
    linked: NDArray[np.bool_]
    first: NDArray[np.int_]
    run: NDArray[np.int_]
    length: NDArray[np.int_]


def cut_segments(tests: MeasuredTests, lengths: list[int], hold: str) -> Segments:
    """Cut every record into segments of about ``lengths[k]`` steps."""
    pieces: list[tuple[int, int, int]] = []
    for k, run in enumerate(tests.runs):
        steps = len(run.t) - 1
        count = max(1, round(steps / lengths[k]))
        cuts = np.linspace(0, steps, count + 1).round().astype(int)
        pieces += [(k, int(a), int(b)) for a, b in pairwise(cuts)]
    L = max(b - a for _, a, b in pieces)
    S, nu, ny = len(pieces), tests.runs[0].u.shape[1], tests.runs[0].y.shape[1]
    t, h, u, u_end = np.zeros((S, L + 1)), np.zeros((S, L)), np.zeros((S, L + 1, nu)), np.zeros((S, L, nu))
    y = np.full((S, L + 1, ny), np.nan)
    linked = np.zeros(S, dtype=bool)
    for j, (k, a, b) in enumerate(pieces):
        run, n = tests.runs[k], b - a
        t[j, : n + 1], t[j, n + 1 :] = run.t[a : b + 1], run.t[b]
        h[j, :n] = np.diff(run.t[a : b + 1])
        u[j, : n + 1], u[j, n + 1 :] = run.u[a : b + 1], run.u[b]
        u_end[j] = u[j, 1:] if hold == "linear" else u[j, :-1]
        linked[j] = b < len(run.t) - 1
        last = n if linked[j] else n + 1  # the sample where two segments meet belongs to the later one
        y[j, :last] = run.y[a : a + last]
    first, which = np.array([a for _, a, _ in pieces]), np.array([k for k, _, _ in pieces])
    return Segments(t, h, u, u_end, y, linked, first, which, np.array([b - a for _, a, b in pieces]))


def take_segment(whole: Segments, j: int, steps: int | None = None) -> Segments:
    """One segment by itself."""
    n = whole.h.shape[1] if steps is None else steps
    k = slice(j, j + 1)
    return Segments(
        whole.t[k, : n + 1], whole.h[k, :n], whole.u[k, : n + 1], whole.u_end[k, :n], whole.y[k, : n + 1],
        np.array([False]), whole.first[k], whole.run[k], whole.length[k],
    )  # fmt: skip


class Shooter:
    """Simulates all segments from given initial states."""

    def __init__(self, steps: ShootingSteps, segments: Segments) -> None:
        self.steps, self.segments = steps, segments

    def starts(self, x: Array, p: Array) -> Array:
        """(S, size) states projected onto the joints at parameters p."""
        s, eqs = self.steps, self.steps.eqs
        a, b = eqs.nq, eqs.nq + eqs.nv
        q, v = s.projection()[0].many(x[:, :a], x[:, a:b], p, self.segments.t[:, :1])
        return np.hstack((q, v, x[:, b:]))

    def start_slopes(self, x: Array, p: Array) -> Array:
        """(S, size, m): derivatives of projected initial states by the parameters."""
        s, eqs = self.steps, self.steps.eqs
        a, b = eqs.nq, eqs.nq + eqs.nv
        result = np.zeros((len(x), s.size, s.m))
        if s.m and eqs.rows:
            (slope,) = s.projection()[1].many(x[:, :a], x[:, a:b], p, self.segments.t[:, :1])
            result[:, :b] = slope.reshape(len(x), b, s.m)
        return result

    def shoot(self, x: Array, p: Array) -> tuple[Array, Array]:
        """States (S, L + 1, size) and outputs (S, L + 1, ny)."""
        g, s = self.segments, self.steps
        S, L = g.h.shape
        (ends,) = s.chain(L, sensitive=False).many(x, *self._repeat_inputs(p))
        states = np.concatenate((x[:, None], _columns(ends, S, L, s.size)), axis=1)
        (y,) = s.outputs_kernel(sensitive=False).many(
            states.reshape(-1, s.size), p, g.u.reshape(S * (L + 1), -1), g.t.reshape(-1, 1)
        )
        return states, y.reshape(S, L + 1, -1)

    def shoot_with_slopes(self, x: Array, seeds: Array, p: Array) -> tuple[Array, Array, Array, Array]:
        """States and outputs, and their derivatives (S, L + 1, size or ny, n + m) from ``seeds`` (S, size, n + m)."""
        g, s = self.segments, self.steps
        S, L = g.h.shape
        nd = s.n + s.m
        ends, slopes = s.chain(L, sensitive=True).many(
            x, seeds.transpose(0, 2, 1).reshape(S, -1), *self._repeat_inputs(p)
        )
        states = np.concatenate((x[:, None], _columns(ends, S, L, s.size)), axis=1)
        slopes = slopes.reshape(S, s.size, L, nd).transpose(0, 2, 1, 3)
        slopes = np.concatenate((seeds[:, None], slopes), axis=1)
        rows = S * (L + 1)
        y, dy = s.outputs_kernel(sensitive=True).many(
            states.reshape(rows, -1), slopes.transpose(0, 1, 3, 2).reshape(rows, -1), p, g.u.reshape(rows, -1),
            g.t.reshape(-1, 1),
        )  # fmt: skip
        return states, y.reshape(S, L + 1, -1), slopes, dy.reshape(S, L + 1, -1, nd)

    def _repeat_inputs(self, p: Array) -> tuple[Array, ...]:
        g = self.segments
        S, L = g.h.shape
        return np.tile(p, L), g.u[:, :-1].reshape(S, -1), g.u_end.reshape(S, -1), g.t[:, :-1], g.h


def _columns(block: Array, S: int, L: int, size: int) -> Array:
    """(S, size, L) or, of a single column, (S, size) -> (S, L, size)."""
    return block.reshape(S, size, L).transpose(0, 2, 1)
