"""One step of a kinematics-based model (Palomba 2016, ch. 2).

    velocities measured       x = z          ż = (SᵀWS)⁻¹SᵀW (u - …)
    accelerations measured    x = [z; ż]     z̈ = (SᵀWS)⁻¹SᵀW (u - Ṡż - …)

The highest derivative may be part of the state too (w below: z̈, or ż where velocities are measured; y is the one under
it, w° what the constraint gives from the state before the step). The other rows are integrated by Euler's, Heun's or
the classical Runge-Kutta method; then

    scheme 1, "constraint"   w_k = w°
    scheme 2, "newmark"      w_k = (y_k - y)/(γΔt) + (γ-1)/γ w                           velocity form
                             w_k = (z_k - z)/(βΔt²) - ż/(βΔt) + (1 - 1/(2β)) w           displacement form
    scheme 3, "both"         scheme 2 with w° in place of w

with y_k, z_k predicted by the step. The input is held over a step: Heun's and Runge-Kutta's later stages then pair
it with poses it was not measured at, which near singular poses costs more than their order gains. Eqs. 2.15, 2.17 and
2.18 there print y instead of y_k - y, which is wrong by three orders of magnitude. Under Euler's method scheme 3 is
scheme 1 for any γ: y_k - y is then Δt w°.

All of these lag by one sample, for w_k comes from u_{k-1}. With ``use_current`` the step takes u_k instead: the rows
below go on with the w of the state (which fits u_{k-1}), and then w_k = w° at the new state with u_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.estimate.kinematic.closing import least_squares
from dalembert.estimate.kinematic.quantities import Relations
from dalembert.estimate.kinematic.switching import Switching, gram_determinant
from dalembert.expressions import Expr, call_user
from dalembert.numerics.runge_kutta import TABLEAUX, combine

SX, MX = ca.SX, ca.MX
METHODS = ("euler", "heun", "rk4")
SCHEMES = {1: "constraint", 2: "newmark", 3: "both"}


@dataclass(frozen=True, eq=False)
class KinematicStep:
    """One step of the model; expressions and small native functions."""

    relations: Relations
    inputs: tuple[str, ...]
    weights: tuple[float, ...]
    order: int  # 1: velocities are measured, 2: accelerations
    scheme: str | None
    method: str
    form: str
    beta: float
    gamma: float
    switching: Switching | None
    scale: float  # of det(SᵀWS)
    use_current: bool

    @property
    def n(self) -> int:
        return len(self.relations.coordinates)

    @property
    def blocks(self) -> int:
        """Derivatives of z in the state, z itself included."""
        return self.order + (self.scheme is not None)

    @property
    def remembers(self) -> bool:
        return self.switching is not None and self.switching.remembers

    @property
    def nx(self) -> int:
        return self.blocks * self.n + len(self.relations.pose) + self.remembers

    def symbols(self, kind: Any = SX) -> tuple[Any, Any, Any, Any, Any]:
        """pose, z, ż, p, t."""
        r = self.relations
        sym = kind.sym
        return (
            sym("pose", len(r.pose)), sym("z", self.n), sym("zd", self.n), sym("p", len(r.parameters)), sym("t"),
        )  # fmt: skip

    def split(self, x: Expr) -> tuple[list[Any], Any, Any]:
        """Blocks of z and its derivatives, pose, and whether the last step walked at random."""
        n, k = self.n, self.blocks
        end = k * n + len(self.relations.pose)
        return [x[j * n : (j + 1) * n] for j in range(k)], x[k * n : end], x[end:] if self.remembers else MX(0)

    # -- the constraint ------------------------------------------------------------------------------------------------
    def affine(
        self, names: Sequence[str], order: int, pose: Expr, z: Expr, zd: Expr, p: Expr, t: Expr
    ) -> tuple[Expr, Expr]:
        """S and c with h⁽ᵒʳᵈᵉʳ⁾ = S z⁽ᵒʳᵈᵉʳ⁾ + c (SX); gravity in an accelerometer's reading is part of c."""
        top, zero = SX.sym("top", self.n), SX.zeros(self.n)
        if order == 1:
            h, c = (self.relations.values(names, pose, z, x, zero, p, t) for x in (top, zero))
        else:
            h, c = (self.relations.values(names, pose, z, zd, x, p, t) for x in (top, zero))
        S = ca.densify(ca.jacobian(h, top))
        crooked = ca.jacobian(S, top).row()
        if crooked:
            name = names[crooked[0] % len(names)]
            problem = f"{name!r} is not linear in the {('velocities', 'accelerations')[order - 1]}."
            raise ModelError("not-linear", problem, where={"name": name})
        return S, c

    def constraint(self) -> ca.Function:
        """(pose, z, ż, u, inside, p, t) -> highest derivative from the measured inputs; 0 inside Ω."""
        pose, z, zd, p, t = self.symbols()
        u, inside = SX.sym("u", len(self.inputs)), SX.sym("inside")
        S, c = self.affine(self.inputs, self.order, pose, z, zd, p, t)
        root = ca.DM(self.weights) ** 0.5
        right = root * (u - c)
        S = ca.diag(root) @ S
        if self.switching is not None:  # regular numbers where they are not used: 0 times NaN is NaN in a derivative
            regular = SX.zeros(*S.shape)
            for j in range(self.n):
                regular[j, j] = 1
            S = ca.if_else(inside, regular, S)
            right = ca.if_else(inside, 0, right)
        top = least_squares(S, right)
        return ca.Function("constraint", [pose, z, zd, u, inside, p, t], [ca.densify(top)], {"cse": True})

    def distance(self) -> ca.Function:
        """(pose, z, ż, p, t) -> distance from the singular poses; by default det(SᵀWS) over its scale."""
        pose, z, zd, p, t = self.symbols()
        distance = None if self.switching is None else self.switching.distance
        if distance is None:
            S, _ = self.affine(self.inputs, self.order, pose, z, SX.zeros(self.n), p, t)
            value = gram_determinant(ca.diag(ca.DM(self.weights) ** 0.5) @ S) / self.scale
        else:
            view = _DistanceView(self.relations, pose, z, zd, p, t)
            value = SX(call_user(distance, "the distance of Switching", view))
            if value.shape != (1, 1):
                raise ModelError("wrong-shape", f"the distance of Switching must be one number, got {value.shape}.")
        return ca.Function("distance", [pose, z, zd, p, t], [ca.densify(value)], {"cse": True})

    # -- the step ------------------------------------------------------------------------------------------------------
    def step(self) -> ca.Function:
        """(x, u, p, t, Δt) -> x after Δt."""
        r, n, order = self.relations, self.n, self.order
        constraint, distance = self.constraint(), self.distance()
        x, u = MX.sym("x", self.nx), MX.sym("u", len(self.inputs))
        p, t, dt = MX.sym("p", len(r.parameters)), MX.sym("t"), MX.sym("dt")
        blocks, pose, before = self.split(x)
        zero = MX.zeros(n)

        def inside(pose: Expr, y: Sequence[Any], t: Expr) -> Expr:
            if self.switching is None:
                return MX(0)
            return self.switching.inside(distance(pose, y[0], y[1] if len(y) > 1 else zero, p, t), before)

        def top(near: Expr, pose: Expr, y: Sequence[Any], t: Expr) -> Expr:
            rates = constraint(pose, y[0], y[1] if order == 2 else zero, u, near, p, t)
            return rates if self.switching is None else ca.if_else(near, held, rates)

        held = blocks[order] if self.scheme is not None else zero  # what walks at random
        start = blocks[:order]
        if self.use_current:
            end = [y + dt * slope for y, slope in zip(start, blocks[1:], strict=True)]
            if self.method == "heun":
                end[0] = end[0] + (dt**2 / 2 * held if order == 2 else 0)
            pose_end = r.close(pose, end[0], p, t + dt)
            near = inside(pose_end, end, t + dt)
            new = top(near, pose_end, end, t + dt)
            if self.method == "heun" and order == 2:
                end[1] = start[1] + dt / 2 * (held + new)
            end.append(new)
        else:
            near = inside(pose, blocks, t)
            table = TABLEAUX[self.method]
            slopes: list[list[Any]] = []
            for node, row in zip(table.nodes, table.rows, strict=True):
                at, here = start, pose
                if slopes:
                    at = [b + dt * combine(row, slopes, j) for j, b in enumerate(start)]
                    here = r.close(pose, at[0], p, t + node * dt)
                slopes.append([*at[1:], top(near, here, at, t + node * dt)])
            end = [b + dt * combine(table.weights, slopes, j) for j, b in enumerate(start)]
            pose_end = r.close(pose, end[0], p, t + dt)
            if self.scheme is not None:
                end.append(self._highest(start, end, slopes[0][-1], held, near, dt))
        parts = [*end, pose_end, *([near] if self.remembers else [])]
        return ca.Function("step", [x, u, p, t, dt], [ca.densify(ca.vertcat(*parts))])

    def _highest(
        self, start: Sequence[Any], end: Sequence[Any], given: Any, held: Expr, inside: Expr, dt: Expr
    ) -> Expr:
        """The highest derivative after the step."""
        if self.scheme == "constraint":
            return given
        last = held if self.scheme == "newmark" else given
        if self.form == "velocity":
            g = self.gamma
            new = (end[-1] - start[-1]) / (g * dt) + (g - 1) / g * last
        else:
            b = self.beta
            new = (end[0] - start[0]) / (b * dt**2) - start[1] / (b * dt) + (1 - 1 / (2 * b)) * last
        return new if self.switching is None else ca.if_else(inside, held, new)


class _DistanceView:
    """The argument ``s`` of a distance: ``s["B.angle"]``, ``s["A.rate"]``, ``s.t``."""

    def __init__(self, relations: Relations, pose: Expr, z: Expr, zd: Expr, p: Expr, t: Expr) -> None:
        self._all = (relations, pose, z, zd, p, t)
        self.t = t

    def __getitem__(self, name: str) -> Any:
        relations, pose, z, zd, p, t = self._all
        (full,) = relations.names([name], "the distance of Switching")
        if relations.known[full].order > 1:
            problem = f"the distance of Switching may depend on positions and velocities, not on {full!r}."
            raise ModelError("not-supported", problem)
        return relations.values([full], pose, z, zd, SX.zeros(z.shape[0]), p, t)
