"""The search for parameters of a machine and the start states of all segments.

The gaps between segments are closed by a weight that grows from stage to stage: at first every segment follows its own
samples and the parameters are drawn to what closes the gaps (an equation-error estimate, which needs no good first
values), at the end the gaps are closed to rounding and the estimate is that of one long simulation, the most likely one
for white noise σ on the outputs. Each stage is Levenberg-Marquardt on all states and parameters (`arrow`), with exact
derivatives (`shooting`); σ is what is left over, channel by channel, unless the weights are given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.core.errors import ConvergenceError
from dalembert.core.progress import Progress
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.identify.machine.shooting import Shooter, tangents
from dalembert.numerics import chain_least_squares as arrow

STAGES = (3.0, 30.0, 1e3, 1e6)  # weights of the gaps, in units of a segment's noise
ROUNDS = 6  # of the last stage, each with σ estimated anew
SETTLED = 1e-2  # relative change of σ that ends them
ITERATIONS = 60
SMALLEST_NOISE = 1e-9  # of an output, relative to its spread
STEP_ERROR = 0.2  # of the estimate by the length of the steps, in its deviations
NO_MOVE = 1e-6  # relative move of a parameter that no measurement shows, however clean the record
FINEST = 64  # steps per sample
LARGEST_CHANGE = 0.6  # of a parameter in one iteration, relative


@dataclass(frozen=True)
class Shot:
    """What a simulation of all segments gave: outputs y (S, L + 1, ny), their derivatives by relative changes, and rows
    [G H c] of the gaps (S, n, n + m + 1); states (S, L + 1, size); T (S, nx, n). ``fine`` : all is finite."""

    y: Array
    slopes: Array
    links: Array
    states: Array
    T: Array
    fine: bool


@dataclass(frozen=True)
class Look:
    """A shot weighed by the noise: sums of squares, and the linear problem there."""

    shot: Shot
    data: float
    apart: float  # Σ |c|
    chain: arrow.Chain | None

    def merit(self, price: float) -> float:
        return self.data + (2.0 * price * self.apart if price else 0.0)


class Search:
    """Levenberg-Marquardt on all start states and the parameters."""

    fixed = False
    refine = True
    step_error = 0.0
    low: Array
    high: Array
    last: Look  # at self.x and self.p

    def __init__(
        self, eqs: EquationsOfMotion, shooter: Shooter, names: list[str], columns: list[int], x: Array, scale: Array,
        spread: Array, sigma: Array,
    ) -> None:  # fmt: skip
        self.eqs, self.shooter, self.names, self.columns = eqs, shooter, names, columns
        self.scale, self.spread, self.sigma = scale, spread, sigma
        self.n, self.m = shooter.steps.n, len(columns)
        self.p = np.array(eqs.p)
        size = np.abs(self.p[columns])
        self.relative = size > 0
        self.unit = np.where(self.relative, size, 1.0)
        self.x = shooter.starts(x, self.p)
        self.iterations = 0
        y = shooter.plan.y
        self.mask = np.isfinite(y)
        self.target = np.nan_to_num(y)
        self.per_segment = np.sqrt(max(1.0, float(self.mask.sum()) / len(y)))

    # -- one point ------------------------------------------------------------------------------------------------
    def look(self, x: Array, p: Array) -> Look:
        """Residuals, gaps and their derivatives."""
        with np.errstate(all="ignore"):  # a trial may diverge; it is then refused
            return self.weighed(self.shoot(x, p))

    def shoot(self, x: Array, p: Array) -> Shot:
        s, g = self.shooter.steps, self.shooter.plan
        S, n, m = len(x), self.n, self.m
        T = np.array([tangents(self.eqs, x[j, : s.nx], p, g.t[j, 0], self.scale, n) for j in range(S)])
        seeds = np.zeros((S, s.size, n + m))
        seeds[:, : s.nx, :n] = self.scale[:, None] * T
        follow = self.shooter.start_slopes(x, p)
        seeds[:, :, n:] = follow
        states, y, dx, dy = self.shooter.shoot_with_slopes(x, seeds, p)
        dy[..., n:] *= self.unit
        links = np.zeros((S, n, n + m + 1))
        for j in np.flatnonzero(g.linked):
            back = T[j + 1].T / self.scale
            links[j, :, : n + m] = back @ dx[j, -1, : s.nx]
            links[j, :, n : n + m] -= back @ follow[j + 1, : s.nx]
            links[j, :, n : n + m] *= self.unit
            links[j, :, -1] = back @ (states[j, -1, : s.nx] - x[j + 1, : s.nx])
        fine = bool(np.isfinite(y).all() and np.isfinite(dy).all() and np.isfinite(links).all())
        return Shot(y, dy, links, states, T, fine)

    def weighed(self, shot: Shot) -> Look:
        if not shot.fine:
            return Look(shot, np.inf, np.inf, None)
        n, m = self.n, self.m
        weight = self.mask / self.sigma
        rows = np.empty((*shot.y.shape, n + m + 1))
        rows[..., : n + m] = shot.slopes * weight[..., None]
        rows[..., -1] = (shot.y - self.target) * weight
        data, apart = float((rows[..., -1] ** 2).sum()), float(np.abs(shot.links[..., -1]).sum())
        if not np.isfinite(data):
            return Look(shot, np.inf, np.inf, None)
        compressed = arrow.compress(rows.reshape(len(rows), -1, n + m + 1))
        chain = arrow.Chain(compressed, shot.links, self.shooter.plan.linked, n, m)
        return Look(shot, data, apart, chain)

    def moved(self, look: Look, states: Array, theta: Array) -> tuple[Array, Array]:
        s, g = self.shooter.steps, self.shooter.plan
        p = self.p.copy()
        p[self.columns] = np.clip(p[self.columns] + self.unit * theta, self.low, self.high)
        x = self.x.copy()
        x[:, : s.nx] += self.scale * np.einsum("jik,jk->ji", look.shot.T, states)
        if s.nl:  # reactions only warm up the friction: carried along
            x[1:, s.nx :] = np.where(g.linked[:-1, None], look.shot.states[:-1, -1, s.nx :], x[1:, s.nx :])
        return self.shooter.starts(x, p), p

    # -- stages ---------------------------------------------------------------------------------------------------
    def run(self, bar: Progress) -> str:
        """All stages; the status."""
        linked = bool(self.shooter.plan.linked.any())
        stages = STAGES if linked else (1.0,)
        total = len(stages) + ROUNDS - 1
        status = "converged"
        try:
            look = self.last = self.look(self.x, self.p)
            if look.chain is None:
                raise ConvergenceError(
                    "the machine leaves finite numbers from the first values of the parameters; give better ones, or "
                    "leave shooting to its default."
                )
            for k, stage in enumerate(stages[:-1]):
                look, _ = self.stage(look, stage, bar, k / total, 1 / total, tolerance=1e-3)
                look = self.noise_anew(look, common=True)
            for k in range(ROUNDS):
                done = (len(stages) - 1 + k) / total
                look, settled = self.stage(look, stages[-1], bar, done, 1 / total, tolerance=1e-9)
                status = "converged" if settled else f"not converged after {self.iterations} iterations"
                before = self.sigma.copy()
                look = self.noise_anew(look)
                look, finer = self.finer_steps(look)
                if not finer and (self.fixed or np.abs(self.sigma / before - 1.0).max() < SETTLED):
                    break
        except KeyboardInterrupt:
            if not hasattr(self, "last"):  # nothing was found yet
                raise
            status = f"stopped after {self.iterations} iterations"
        bar.update(1.0)
        return status

    def noise_anew(self, look: Look, *, common: bool = False) -> Look:
        """σ of every channel from what is left over, and the point seen with it.

        ``common`` : the same share of its spread for all, so that no channel is given up on the way.
        """
        if self.fixed:
            return look
        counts = self.mask.sum(axis=(0, 1))
        free = self.m + self.n * int((~self.shooter.plan.linked).sum())
        share = np.maximum(1.0 - free / max(float(counts.sum()), free + 1.0), 0.1)
        squares = (np.where(self.mask, look.shot.y - self.target, 0.0) ** 2).sum(axis=(0, 1))
        if common:
            squares = self.spread**2 * counts * float((squares / self.spread**2).sum() / counts.sum())
        self.sigma = np.maximum(np.sqrt(squares / (counts * share)), SMALLEST_NOISE * self.spread)
        self.last = self.weighed(look.shot)
        return self.last

    def finer_steps(self, look: Look) -> tuple[Look, bool]:
        """Halve the steps as long as that would move the estimate by a good part of its deviation.

        The outputs of halved steps, put into the linear problem instead of the residuals, give that move directly.
        """
        s, shot = self.shooter.steps, look.shot
        assert look.chain is not None
        halved = Shooter(s.with_substeps(2 * s.substeps), self.shooter.plan)
        states, y = halved.shoot(self.x, self.p)
        rows = np.concatenate((shot.slopes, (y - shot.y)[..., None]), axis=-1) * (self.mask / self.sigma)[..., None]
        links = shot.links.copy()
        for j in np.flatnonzero(self.shooter.plan.linked):
            back = shot.T[j + 1].T / self.scale
            links[j, :, -1] = back @ (states[j, -1] - shot.states[j, -1])[: s.nx]
        if not (np.isfinite(rows).all() and np.isfinite(links).all()):
            return look, False
        chain = replace(look.chain, data=arrow.compress(rows.reshape(len(rows), -1, rows.shape[-1])), links=links)
        d_states, d_theta = self.damping_scales(chain)
        reduced = arrow.reduce(chain, STAGES[-1] * self.per_segment, 1e-16, d_states, d_theta)
        # in units of the deviations along the axes of the information: ‖R ϑ‖ of the move
        self.step_error = float(np.linalg.norm(reduced.rho)) / np.sqrt(self.m)
        move = np.linalg.lstsq(reduced.R, reduced.rho, rcond=1e-7)[0]
        if float(np.abs(move).max()) < NO_MOVE:
            self.step_error = 0.0
        if not self.refine or self.step_error < STEP_ERROR or 2 * s.substeps > FINEST:
            return look, False
        self.shooter = halved
        return self.look(self.x, self.p), True

    def stage(
        self, look: Look, stage: float, bar: Progress, done: float, part: float, *, tolerance: float
    ) -> tuple[Look, bool]:
        """Levenberg-Marquardt at one weight of the gaps; where it ends, and whether it settled there.

        A step is judged by Σ r² + 2 ν Σ |c|, ν above the multipliers w² c of the step: exact at any weight, where the
        square of a heavy weight would refuse every step along a curved valley.
        """
        weight = stage * self.per_segment
        damping, growth, price = 1e-4, 4.0, 0.0
        for k in range(ITERATIONS):
            bar.update(done + part * k / ITERATIONS)
            assert look.chain is not None
            reduced = arrow.reduce(look.chain, weight, damping, *self.damping_scales(look.chain))
            states, theta, _ = arrow.solve(look.chain, reduced, *self.room())
            data, gaps = arrow.predicted(look.chain, states, theta)
            price = max(price, 1.5 * weight**2 * float(np.abs(gaps).max(initial=0.0)))
            x, p = self.moved(look, states, theta)
            trial = self.look(x, p) if np.isfinite(x).all() else replace(look, data=np.inf, apart=np.inf, chain=None)
            self.iterations += 1
            merit = look.merit(price)
            gained = merit - trial.merit(price)
            hoped = merit - data - 2.0 * price * float(np.abs(gaps).sum())
            if trial.chain is not None and gained > 1e-4 * hoped and gained > 0.0:
                self.x, self.p, self.last = x, p, trial
                look = trial
                damping = max(damping * (0.1 if gained > 0.75 * hoped else 0.5), 1e-12)
                growth = 4.0
                if gained <= tolerance * trial.merit(price) and gained > 0.1 * hoped:
                    return look, True
            elif hoped <= 1e-9 * merit + 1e-12:  # nothing is to be gained above rounding
                return look, True
            else:
                damping, growth = damping * growth, 2 * growth
                if damping > 1e12:
                    return look, False
        return look, False

    def room(self) -> tuple[Array, Array]:
        """How far ϑ may go in one iteration."""
        now = self.p[self.columns]
        most = np.where(self.relative, LARGEST_CHANGE * np.maximum(np.abs(now), 0.1 * self.unit), np.inf)
        low, high = np.maximum(self.low - now, -most), np.minimum(self.high - now, most)
        return low / self.unit, high / self.unit

    def damping_scales(self, chain: arrow.Chain) -> tuple[Array, Array]:
        """Sizes of the columns, gaps counted as in the first stage: a heavier weight must not hold the states back."""
        n, m = self.n, self.m
        weight = STAGES[0] * self.per_segment
        squares = (chain.data**2).sum(axis=1) + weight**2 * (chain.links**2).sum(axis=1)
        states, theta = np.sqrt(squares[:, :n]), np.sqrt(squares[:, n : n + m].sum(axis=0))
        return np.maximum(states, 1e-6 * states.max(initial=1e-300)), np.maximum(
            theta, 1e-6 * theta.max(initial=1e-300)
        )

    def information(self) -> Array:
        """(m, m) square root of the information on relative changes of the parameters, all start states free."""
        look = self.last
        if look.chain is None:
            return np.zeros((self.m, self.m))
        weight = STAGES[-1] * self.per_segment
        d_states, _ = self.damping_scales(look.chain)
        reduced = arrow.reduce(look.chain, weight, 1e-26, d_states, np.zeros(self.m))
        return reduced.R
