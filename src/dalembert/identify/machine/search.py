"""The search for parameters of a machine and the initial states of all segments.

The gaps between segments are closed by a weight that grows from stage to stage. At first every segment follows its own
samples and the parameters close the gaps as far as they can (an equation-error estimate, which needs no good first
values). At the end the gaps are closed to rounding, and the estimate is that of one long simulation, the most likely
one for white noise σ on the outputs. Each stage is Levenberg-Marquardt on all states and parameters (block-bordered
least squares, `numerics.chain_least_squares`), with exact derivatives (`shooting`); σ is the standard deviation of the
residuals of each channel, unless the weights are given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.core.errors import ConvergenceError
from dalembert.core.findings import Advice, Argument
from dalembert.core.progress import Progress
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.identify.machine.shooting import Shooter, find_tangents
from dalembert.numerics.chain_least_squares import Chain, compress, predict, reduce, solve
from dalembert.numerics.least_squares import DampedStep, Damping, minimise

STAGES = (3.0, 30.0, 1e3, 1e6)  # weights of the gaps, in units of a segment's noise
ROUNDS = 6  # largest number of estimates of σ in the last stage


DAMPING = Damping(fair=0.5, poor=0.5, growth=4.0, acceleration=2.0, most=1e12)


@dataclass(frozen=True)
class Shot:
    """A simulation of all segments: outputs y (S, L + 1, ny), their derivatives by relative changes, rows [G H c] of
    the gaps (S, n, n + m + 1), states (S, L + 1, size), tangents T (S, nx, n), and whether all is finite."""

    y: Array
    slopes: Array
    links: Array
    states: Array
    T: Array
    finite: bool


@dataclass(frozen=True)
class WeightedShot:
    """A shot weighted by the noise: sum of squares, sum of gaps Σ |c|, and the linear problem there."""

    shot: Shot
    squares: float
    gap_sum: float
    chain: Chain | None

    def merit(self, price: float) -> float:
        return self.squares + (2.0 * price * self.gap_sum if price else 0.0)


class Search:
    """Levenberg-Marquardt on all initial states and the parameters."""

    fixed = False
    refine = True
    step_error = 0.0
    low: Array
    high: Array
    last: WeightedShot  # at self.x and self.p

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
        y = shooter.segments.y
        self.mask = np.isfinite(y)
        self.target = np.nan_to_num(y)
        self.per_segment = np.sqrt(max(1.0, float(self.mask.sum()) / len(y)))

    # -- one point ------------------------------------------------------------------------------------------------
    def evaluate(self, x: Array, p: Array) -> WeightedShot:
        """Residuals, gaps and their derivatives."""
        with np.errstate(all="ignore"):  # a trial that diverges is refused
            return self.weigh(self.shoot(x, p))

    def shoot(self, x: Array, p: Array) -> Shot:
        s, g = self.shooter.steps, self.shooter.segments
        S, n, m = len(x), self.n, self.m
        T = np.array([find_tangents(self.eqs, x[j, : s.nx], p, g.t[j, 0], self.scale, n) for j in range(S)])
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
        finite = bool(np.isfinite(y).all() and np.isfinite(dy).all() and np.isfinite(links).all())
        return Shot(y, dy, links, states, T, finite)

    def weigh(self, shot: Shot) -> WeightedShot:
        if not shot.finite:
            return WeightedShot(shot, np.inf, np.inf, None)
        n, m = self.n, self.m
        weight = self.mask / self.sigma
        rows = np.empty((*shot.y.shape, n + m + 1))
        rows[..., : n + m] = shot.slopes * weight[..., None]
        rows[..., -1] = (shot.y - self.target) * weight
        squares, gap_sum = float((rows[..., -1] ** 2).sum()), float(np.abs(shot.links[..., -1]).sum())
        if not np.isfinite(squares):
            return WeightedShot(shot, np.inf, np.inf, None)
        compressed = compress(rows.reshape(len(rows), -1, n + m + 1))
        chain = Chain(compressed, shot.links, self.shooter.segments.linked, n, m)
        return WeightedShot(shot, squares, gap_sum, chain)

    def move(self, here: WeightedShot, states: Array, theta: Array) -> tuple[Array, Array]:
        s, g = self.shooter.steps, self.shooter.segments
        p = self.p.copy()
        p[self.columns] = np.clip(p[self.columns] + self.unit * theta, self.low, self.high)
        x = self.x.copy()
        x[:, : s.nx] += self.scale * np.einsum("jik,jk->ji", here.shot.T, states)
        if s.nl:  # reactions only start the iteration of friction
            x[1:, s.nx :] = np.where(g.linked[:-1, None], here.shot.states[:-1, -1, s.nx :], x[1:, s.nx :])
        return self.shooter.starts(x, p), p

    # -- stages ---------------------------------------------------------------------------------------------------
    def run(self, bar: Progress, noise_change: float = 1e-2) -> str:
        """All stages; the status.

        noise_change : relative change of σ that ends its estimation: standard deviations of parameters have two digits.
        """
        linked = bool(self.shooter.segments.linked.any())
        stages = STAGES if linked else (1.0,)
        total = len(stages) + ROUNDS - 1
        status = "converged"
        try:
            here = self.last = self.evaluate(self.x, self.p)
            if here.chain is None:
                raise ConvergenceError(
                    "diverged",
                    "the simulation from the first values of the parameters diverges.",
                    Advice("Give better first values with {}.", Argument("parameters")),
                    Advice("Leave out {}.", Argument("shooting")),
                )
            for k, stage in enumerate(stages[:-1]):
                here, _ = self.stage(here, stage, bar, k / total, 1 / total, tolerance=1e-3)
                here = self.estimate_noise(here, common=True)
            for k in range(ROUNDS):
                done = (len(stages) - 1 + k) / total
                here, settled = self.stage(here, stages[-1], bar, done, 1 / total, tolerance=1e-9)
                status = "converged" if settled else f"not converged after {self.iterations} iterations"
                before = self.sigma.copy()
                here = self.estimate_noise(here)
                here, finer = self.refine_steps(here)
                if not finer and (self.fixed or np.abs(self.sigma / before - 1.0).max() < noise_change):
                    break
        except KeyboardInterrupt:
            if not hasattr(self, "last"):  # before the first evaluation
                raise
            status = f"stopped after {self.iterations} iterations"
        bar.update(1.0)
        return status

    def estimate_noise(self, here: WeightedShot, *, common: bool = False, least_noise: float = 1e-9) -> WeightedShot:
        """σ of every channel from the residuals, and the same shot weighted by it.

        ``common`` : the same share of its spread for all, so that no channel loses its weight in an early stage.

        least_noise : least noise of an output relative to its spread: a converter of 30 bits.
        """
        if self.fixed:
            return here
        counts = self.mask.sum(axis=(0, 1))
        free = self.m + self.n * int((~self.shooter.segments.linked).sum())
        share = np.maximum(1.0 - free / max(float(counts.sum()), free + 1.0), 0.1)
        squares = (np.where(self.mask, here.shot.y - self.target, 0.0) ** 2).sum(axis=(0, 1))
        if common:
            squares = self.spread**2 * counts * float((squares / self.spread**2).sum() / counts.sum())
        self.sigma = np.maximum(np.sqrt(squares / (counts * share)), least_noise * self.spread)
        self.last = self.weigh(here.shot)
        return self.last

    def refine_steps(
        self, here: WeightedShot, no_change: float = 1e-6, step_error: float = 0.2, finest: int = 64, rank: float = 1e-7
    ) -> tuple[WeightedShot, bool]:
        """Halve the steps where that would change the estimate by more than a share of its deviation.

        The outputs of halved steps in place of the measured ones in the linear problem give this change directly.

        no_change : relative change of a parameter below the accuracy of any sensor.
        step_error : error of the estimate by the length of the steps, in its deviations: it adds 2 % to them.
        finest : steps per sample
        rank : singular values of the information relative to the largest, as in `identify.likelihood.identifiability`.
        """
        s, shot = self.shooter.steps, here.shot
        assert here.chain is not None
        halved = Shooter(s.with_substeps(2 * s.substeps), self.shooter.segments)
        states, y = halved.shoot(self.x, self.p)
        rows = np.concatenate((shot.slopes, (y - shot.y)[..., None]), axis=-1) * (self.mask / self.sigma)[..., None]
        links = shot.links.copy()
        for j in np.flatnonzero(self.shooter.segments.linked):
            back = shot.T[j + 1].T / self.scale
            links[j, :, -1] = back @ (states[j, -1] - shot.states[j, -1])[: s.nx]
        if not (np.isfinite(rows).all() and np.isfinite(links).all()):
            return here, False
        chain = replace(here.chain, data=compress(rows.reshape(len(rows), -1, rows.shape[-1])), links=links)
        d_states, d_theta = self.damping_scales(chain)
        reduced = reduce(chain, STAGES[-1] * self.per_segment, 1e-16, d_states, d_theta)
        # in units of the deviations along the axes of the information: ‖R ϑ‖ of the move
        self.step_error = float(np.linalg.norm(reduced.rho)) / np.sqrt(self.m)
        move = np.linalg.lstsq(reduced.R, reduced.rho, rcond=rank)[0]
        if float(np.abs(move).max()) < no_change:
            self.step_error = 0.0
        if not self.refine or self.step_error < step_error or 2 * s.substeps > finest:
            return here, False
        self.shooter = halved
        return self.evaluate(self.x, self.p), True

    def stage(
        self, here: WeightedShot, stage: float, bar: Progress, done: float, part: float, *, tolerance: float,
        iterations: int = 60,
    ) -> tuple[WeightedShot, bool]:  # fmt: skip
        """Levenberg-Marquardt at one weight of the gaps; its end, and whether it converged.

        iterations : of a stage
        """
        minimum = minimise(
            _Stage(self, stage * self.per_segment, tolerance), _SearchPoint(self.x, self.p, here), DAMPING, iterations,
            share=1e-4, keep=self.keep, report=lambda fraction: bar.update(done + part * fraction),
        )  # fmt: skip
        return minimum.point.at, minimum.converged

    def keep(self, place: _SearchPoint) -> None:
        self.x, self.p, self.last = place.x, place.p, place.at

    def limit_step(self, largest_change: float = 0.6) -> tuple[Array, Array]:
        """Bounds of ϑ in one iteration.

        largest_change : relative change of a parameter in one iteration: it keeps its sign.
        """
        now = self.p[self.columns]
        most = np.where(self.relative, largest_change * np.maximum(np.abs(now), 0.1 * self.unit), np.inf)
        low, high = np.maximum(self.low - now, -most), np.minimum(self.high - now, most)
        return low / self.unit, high / self.unit

    def damping_scales(self, chain: Chain) -> tuple[Array, Array]:
        """Sizes of the columns, with the gaps weighted as in the first stage: larger weights would damp the states."""
        n, m = self.n, self.m
        weight = STAGES[0] * self.per_segment
        squares = (chain.data**2).sum(axis=1) + weight**2 * (chain.links**2).sum(axis=1)
        states, theta = np.sqrt(squares[:, :n]), np.sqrt(squares[:, n : n + m].sum(axis=0))
        return np.maximum(states, 1e-6 * states.max(initial=1e-300)), np.maximum(
            theta, 1e-6 * theta.max(initial=1e-300)
        )

    def information(self) -> Array:
        """(m, m) square root of the information on relative changes of the parameters, all initial states free."""
        here = self.last
        if here.chain is None:
            return np.zeros((self.m, self.m))
        weight = STAGES[-1] * self.per_segment
        d_states, _ = self.damping_scales(here.chain)
        reduced = reduce(here.chain, weight, 1e-26, d_states, np.zeros(self.m))
        return reduced.R


@dataclass(frozen=True, eq=False)
class _SearchPoint:
    """Initial states of all segments, parameters, and the shot there."""

    x: Array
    p: Array
    at: WeightedShot


class _Stage:
    """One weight of the gaps as a problem of damped least squares; a point is a `_SearchPoint`.

    The value is Σ r² + 2 ν Σ |c|, ν above the multipliers w² c of the step: exact at any weight, where the square of a
    heavy weight would reject every step along a curved valley. ν grows with the steps.
    """

    def __init__(self, search: Search, weight: float, tolerance: float) -> None:
        self.search, self.weight, self.tolerance = search, weight, tolerance
        self.price = 0.0

    def value(self, place: _SearchPoint) -> float:
        return place.at.merit(self.price)

    def step(self, place: _SearchPoint, damping: float) -> DampedStep:
        search, chain = self.search, place.at.chain
        assert chain is not None  # a place without one has no finite value
        reduced = reduce(chain, self.weight, damping, *search.damping_scales(chain))
        states, theta, _ = solve(chain, reduced, *search.limit_step())
        data, gaps = predict(chain, states, theta)
        self.price = max(self.price, 1.5 * self.weight**2 * float(np.abs(gaps).max(initial=0.0)))
        after = data + 2.0 * self.price * float(np.abs(gaps).sum())
        return DampedStep((states, theta), self.value(place) - after)

    def evaluate(self, place: _SearchPoint, step: DampedStep) -> _SearchPoint | None:
        search = self.search
        search.iterations += 1
        x, p = search.move(place.at, *step.change)
        at = search.evaluate(x, p) if np.isfinite(x).all() else None
        return None if at is None or at.chain is None else _SearchPoint(x, p, at)

    def is_settled(
        self, before: _SearchPoint, after: _SearchPoint, step: DampedStep, as_predicted: float = 0.1
    ) -> bool:
        # as_predicted: Actual over predicted reduction of a last step: a smaller one was cut by curvature, and more can
        # be gained.
        reduction = self.value(before) - self.value(after)
        return reduction <= self.tolerance * self.value(after) and reduction > as_predicted * step.predicted

    def is_rounding(
        self, place: _SearchPoint, trial: _SearchPoint | None, step: DampedStep, rounding: float = 1e-9,
        exact: float = 1e-3,
    ) -> bool:  # fmt: skip
        # rounding, exact: Predicted reduction, relative to the value (or to that of an exact fit), that is rounding of
        # its sums.
        return step.predicted <= rounding * (self.value(place) + exact)
