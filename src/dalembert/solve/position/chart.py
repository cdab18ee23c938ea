"""Independent coordinates and speeds at one instant, and the tangent space that goes with them."""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.solve.position.balance import find_unsteady
from dalembert.solve.position.tangent import (
    RANK,
    Candidate,
    Instant,
    Terms,
    choose,
    measure_candidate,
    speed_candidate,
    split,
    terms,
    turn_candidates,
    unit_changes,
)

INDEPENDENT = 1e-6  # error of a unit change of a coordinate: 1 where it depends on the others, rounding elsewhere
AT_REST = 1e-7  # unbalanced forces of a state that a user gives, relative to those at play: seven digits


class Chart:
    """Independent coordinates s and speeds w at one instant, and the tangent X, V, W that goes with them."""

    def __init__(
        self,
        eqs: EquationsOfMotion,
        x: Instant,
        named: list[str] | None,
        *,
        world: bool,
        fixed: tuple[list[Candidate], list[Candidate]] | None = None,
        T: Terms | None = None,
    ) -> None:
        self.eqs, self.x = eqs, x
        self.T = T = terms(eqs, x) if T is None else T
        self.changes = unit_changes(eqs, T.M.diagonal(), T.R1_x.diagonal())
        rated = eqs.rate_rows
        self.second_order = eqs.is_holonomic and eqs.nz == 0
        if fixed is None:
            self._check_regular()
            self.positions, self.speeds = self._select(named, world)
        else:
            self.positions, self.speeds = fixed
        given = [c for c in self.positions if named is None or c.name in self._full(named)]
        self.kept = given
        # positions: [A_h; S] X = [0; 1]
        S = self.rows(self.positions, 0)
        self.X = solve_rows(T.A[eqs.holonomic_rows], S, np.zeros((len(eqs.holonomic_rows), len(S))), np.eye(len(S)))
        # speeds: [A; S] W = [0; 1],  [A; S] V = -[∂rates/∂ξ; ∂ṡ/∂ξ] X
        Sw = self.rows(self.speeds, 0)
        A = T.A[rated]
        self.W = solve_rows(A, Sw, np.zeros((len(rated), len(Sw))), np.eye(len(Sw)))
        self.V = solve_rows(A, Sw, -T.rates_x @ self.X, -self.rows(self.speeds, 1) @ self.X)

    def _full(self, named: list[str]) -> list[str]:
        return [self.eqs.full_name(name) for name in named]

    def rows(self, candidates: list[Candidate], which: int) -> Array:
        nv = self.eqs.nv
        return np.array([c.rows(self.T, self.x)[which] for c in candidates], dtype=float).reshape(len(candidates), nv)

    def move_to(self, x: Instant) -> Chart:
        chart = Chart(self.eqs, x, None, world=False, fixed=(self.positions, self.speeds))
        chart.kept = self.kept
        return chart

    def at_state(self, eqs: EquationsOfMotion, x: Instant, T: Terms) -> Chart:
        """The same coordinates at a state of its own, with other parameters perhaps."""
        chart = Chart(eqs, x, None, world=False, fixed=(self.positions, self.speeds), T=T)
        chart.kept, chart.second_order = self.kept, self.second_order
        chart._check_regular()
        for candidates, tangent in ((self.positions, chart.X), (self.speeds, chart.W)):
            own = np.abs(chart.rows(candidates, 0) @ tangent - np.eye(len(candidates)))
            if own.max(initial=0.0) > INDEPENDENT:
                name = candidates[int(np.argmax(own.max(axis=0)))].name
                raise ModelError(
                    "dependent-coordinates",
                    f"coordinates: {name!r} is not independent of the others in {eqs.name!r} at every state.",
                    Advice("Choose others with {}.", Argument("coordinates")),
                )
        return chart

    def _select(self, named: list[str] | None, world: bool) -> tuple[list[Candidate], list[Candidate]]:
        eqs, T, x, changes = self.eqs, self.T, self.x, self.changes
        Z, Zw = (split(T.A[rows] * changes)[4] for rows in (eqs.holonomic_rows, eqs.rate_rows))
        turns = turn_candidates(eqs, x, world=world)
        both = [c for group in (*turns, *turn_candidates(eqs, x, world=not world)) for c in group]
        every = [measure_candidate(eqs, k) for k in range(len(eqs.measures))]
        measures = [every[k] for k in eqs.positions]
        known = {c.name: c for c in (*both, *measures)}
        joints = [every[k] for k in eqs.recorded_measures]
        # body by body, the slowest spinning first: its place, then its turns
        spinning = [group[0].owner for group in turns]
        owners = [*spinning, *(c.owner for c in measures)]
        automatic = [joints]
        for owner in dict.fromkeys(owners):
            automatic.append([c for c in measures if c not in joints and c.owner == owner])
            automatic += [turns[spinning.index(owner)]] if owner in spinning else []
        if named is None:
            positions = choose(Z, automatic, T, x, changes)
        else:
            for name in self._full(named):
                if name not in known:
                    raise ModelError(
                        "unknown-name",
                        f"coordinates: {unknown_name('coordinate', name, known, f'equations {eqs.name!r}')}",
                    )
            mine = [known[name] for name in dict.fromkeys(self._full(named))]
            found = choose(Z, [[c] for c in mine], T, x, changes)
            for c in mine:
                if c not in found:
                    others = ", ".join(o.name for o in found) or "none"
                    raise ModelError(
                        "dependent-coordinates",
                        f"coordinates: {c.name!r} is not independent of the others ({others}) in {eqs.name!r}, "
                        f"which has {Z.shape[1]} degrees of freedom. Leave it out.",
                    )
            positions = choose(Z, automatic, T, x, changes, first=mine)
        if len(positions) < Z.shape[1]:
            raise ModelError(
                "rank-deficient",
                f"found only {len(positions)} of {Z.shape[1]} independent coordinates of {eqs.name!r}.",
            )
        if self.second_order and (named is None or len(positions) == len(set(self._full(named)))):
            return positions, positions
        self.second_order = False
        rates = [c for c in positions if c.kind == "measure"]
        free = [speed_candidate(eqs, k) for k in range(eqs.nv)]
        turning = [group if world else _rates_of_turns(group, free, every) for group in turns]
        mine = [c for c in rates if c in joints]
        if eqs.is_holonomic:
            speeds = choose(Zw, [rates, joints, measures, *turning, free], T, x, changes)
        else:  # where something rolls, what turns is steady, what travels need not be
            speeds = choose(Zw, [mine, joints, *turning, rates, measures, free], T, x, changes)
        if len(speeds) < Zw.shape[1]:
            raise ModelError(
                "rank-deficient", f"found only {len(speeds)} of {Zw.shape[1]} independent speeds of {eqs.name!r}."
            )
        return positions, speeds

    def _check_regular(self) -> None:
        """Redundant rows must stay redundant nearby: yᵀA = 0 must not be broken to first order along the motion."""
        eqs, x = self.eqs, self.x
        A = self.T.A[eqs.holonomic_rows]
        lengths, *_, Z, left = split(A)
        if left.shape[1] == 0 or Z.shape[1] == 0 or self.T.f_lam.any():
            return
        y = np.zeros(len(eqs.rows))
        y[eqs.holonomic_rows] = (left @ np.cos(np.arange(1.0, left.shape[1] + 1))) / lengths
        zero = np.zeros(eqs.nv)
        at_rest = Instant(x.q, zero, x.z, x.u, x.t, zero, y)
        none = Instant(x.q, zero, x.z, x.u, x.t, zero, np.zeros(len(eqs.rows)))
        curvature = Z.T @ (terms(eqs, at_rest).R1_x - terms(eqs, none).R1_x) @ Z
        size = float(np.abs(y).max()) * max(1.0, float(np.abs(A).max()))
        if float(np.abs(curvature).max()) > INDEPENDENT * size:
            raise ModelError(
                "singular-pose",
                f"the pose of {eqs.name!r} is singular (its joints allow more motions here than next to it, as at a "
                "dead point): there is no linear model. Linearize at another pose.",
            )

    def drift(self, *, strict: bool) -> dict[str, float]:
        """Accelerations of the independent coordinates at the reference, zero at an equilibrium."""
        eqs, T, x = self.eqs, self.T, self.x
        drift = {c.rate_name: c.rows(T, x)[5] for c in self.speeds}
        drift.update({name: float(value) for name, value in zip(eqs.internal.names, T.g, strict=True)})
        if not strict:
            return drift
        unsteady = find_unsteady(eqs, T, x, self.speeds, self.W, AT_REST)
        sums = 1.0 + np.abs(T.g_z) @ np.abs(x.z) + np.abs(T.g_u) @ np.abs(x.u)
        for name, rate, size in zip(eqs.internal.names, T.g, sums, strict=True):
            unsteady = (name, float(rate)) if unsteady is None and abs(rate) > AT_REST * size else unsteady
        if unsteady is not None:
            raise ModelError(
                "not-at-rest",
                f"at is neither an equilibrium nor a steady motion of {eqs.name!r}: {unsteady[0]!r} changes by "
                f"{unsteady[1]:.3g} per second.",
                Advice("Find one with {}.", Call("da.equilibrium", Argument("start"))),
                Advice(
                    "Deviations from the motion through any state are linearized with {}.", Argument("anywhere", True)
                ),
            )
        return drift


def solve_rows(A: Array, S: Array, right_a: Array, right_s: Array) -> Array:
    """Y with A Y = right_a (perhaps redundant, consistent) and S Y = right_s."""
    matrix = np.vstack((A, S))
    right = np.vstack((right_a, right_s))
    lengths = np.sqrt((matrix * matrix).sum(axis=1))
    lengths[lengths == 0.0] = 1.0
    return np.asarray(np.linalg.lstsq(matrix / lengths[:, None], right / lengths[:, None], rcond=RANK)[0])


def _rates_of_turns(group: list[Candidate], free: list[Candidate], measures: list[Candidate]) -> list[Candidate]:
    """The components of the angular velocity of small turns in body axes."""
    first = group[0]
    return [free[k] for k in first.columns] or measures[first.turns : first.turns + 3]
