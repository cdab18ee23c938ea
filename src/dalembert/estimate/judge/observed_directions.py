"""Directions of the state that readings determine: uncertainty against noise, direction by direction.

With O of `process_slopes`, the covariance P₀ = L Lᵀ of the initial state and readings with noise R = N Nᵀ, the singular
values s of

    A = N⁻¹ O L = Σ s u vᵀ ,     P = L (1 + AᵀA)⁻¹ Lᵀ

compare the effect of an uncertainty on the readings with their noise: along L v the standard deviation falls from 1 to
1/√(1 + s²). A sensor is judged by that with its own rows added to A: by what it takes off the directions that are seen
badly, |log det| of their block of P. One that shows the rest better but not these takes nothing off.

Where P₀ and R are not known, typical magnitudes σ replace them. Quantities of one unit have one magnitude, as
large as the motion makes of those of other units: σ_a ≈ g_ab σ_b with g the largest slope of any a by any b, solved for
the logarithms; a reading is as good as 1 % of what it sweeps for states off by σ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dalembert.expressions import Array
from dalembert.numerics import ties


def is_weak(share: float, seen: float = 0.5) -> bool:
    """Whether a direction is observed weakly: this share of its standard deviation remains, or more."""
    return share > seen


def weak_value(seen: float = 0.5) -> float:
    """Singular value at which the share ``seen`` remains: 1/√(1 + s²) = seen."""
    return float((1 / seen**2 - 1) ** 0.5)


def dies_out(fade: Any, faded: float = 0.1) -> Any:
    """Whether a change needs no sensor, from the share that remains of it at the end of the window by itself."""
    return fade <= faded


def class_one(swept: Any, precision: float = 0.01) -> Any:
    """Error of a reading without R, of what it sweeps: a sensor of class 1."""
    return precision * swept


# ---- typical magnitudes


def typical_magnitudes(units: Sequence[str], flow: Array, others: Sequence[str], stacked: Array) -> Array:
    """(ne,) typical size of every state.

    units, others : of the states and of the quantities.  flow, stacked : (..., ne, ne), (..., ny, ne) slopes.
    """
    kinds = [unit or f"state {k}" for k, unit in enumerate(units)]
    place = {kind: k for k, kind in enumerate(dict.fromkeys(kinds))}
    largest = np.zeros((len(place), len(place)))
    for slopes, rows in ((flow, kinds), (stacked, others)):
        peaks = np.abs(slopes).max(axis=tuple(range(slopes.ndim - 2)), initial=0.0)
        for i, row in enumerate(rows):
            if row in place:
                for j, column in enumerate(kinds):
                    a, b = place[row], place[column]
                    largest[a, b] = max(largest[a, b], peaks[i, j])
    logs = _balance(largest, [(place[kind], place[f"{kind}/s"]) for kind in place if f"{kind}/s" in place])
    return np.asarray(np.exp(logs)[[place[kind] for kind in kinds]])


def _balance(
    largest: Array,
    sure: list[tuple[int, int]],
    nothing: float = 1e-13,  # slope between units that is rounding: 450 times the unit roundoff
    one_way: float = 1e-3,  # weight of an influence that is not mutual
    alike: float = 3.0,  # influences within this factor are equal
) -> Array:
    """log σ with σ_a ≈ g_ab σ_b for the influences that count; `sure` are those that cannot be rounding.

    An influence on a that is small beside others does not determine the magnitude of a: the least ones are removed, as
    long as connected parts stay connected.
    """
    n = len(largest)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b and largest[a, b] > nothing]
    returned = np.sqrt(largest * largest.T)
    weights = {(a, b): 1.0 if (a, b) in sure else float(np.clip(returned[a, b], one_way, 1.0)) for a, b in pairs}
    logs = np.zeros(n)
    while pairs:
        rows = np.zeros((len(pairs), n))
        for k, (a, b) in enumerate(pairs):
            rows[k, a], rows[k, b] = weights[a, b], -weights[a, b]
        values = np.array([weights[pair] * np.log(largest[pair]) for pair in pairs])
        # A graph has as many zero singular values as parts; the others are above 2/n of the least weight.
        logs = np.linalg.lstsq(rows, values, rcond=one_way / n**2)[0]
        share = {(a, b): np.log(largest[a, b]) + logs[b] - logs[a] for a, b in pairs}
        small = [pair for pair in pairs if share[pair] < -np.log(alike) and pair not in sure]
        small.sort(key=lambda pair: share[pair] + np.log(largest[pair]))  # of two alike, rounding is the smaller number
        before = len(pairs)
        for pair in small[: 1 + len(small) // 5]:
            without = [edge for edge in pairs if edge != pair]
            if _parts(n, without) == _parts(n, pairs):
                pairs = without
        if len(pairs) == before:
            break
    return logs


def _parts(n: int, pairs: list[tuple[int, int]]) -> int:
    """Number of connected parts of n things with connections between pairs."""
    ones = np.ones(len(pairs))
    graph = coo_array((ones, tuple(np.array(pairs).reshape(-1, 2).T)), shape=(n, n))
    return int(connected_components(graph, directed=False)[0])


def typical_noise(
    units: Sequence[str], stacked: Array, roots: Array, nothing: float = 1e-13, least_range: float = 0.01
) -> Array:
    """(ny,) standard deviations of readings: 1 % of what each sweeps for starts off by roots (windows, ne, d).

    stacked : (windows, samples, ny, ne). One that hardly moves, by ``least_range`` of others of its unit, has their
    noise.  nothing : as in :func:`_balance`.
    """
    swept = np.sqrt(((stacked @ roots[:, None]) ** 2).sum(axis=3).mean(axis=1).max(axis=0))
    swept = np.where(swept > nothing * swept.max(initial=0.0), swept, 0.0)
    kinds = [unit or f"quantity {k}" for k, unit in enumerate(units)]
    among = {kind: max(s for s, unit in zip(swept, kinds, strict=True) if unit == kind) for kind in set(kinds)}
    return np.array([class_one(max(s, least_range * among[kind])) for s, kind in zip(swept, kinds, strict=True)])


# ---- one window


@dataclass(frozen=True, eq=False)
class View:
    """Result of one window.

    names : of the states.  seen : (samples · ny, ne) O in units of the noise.
    root : L (ne, d); fewer columns than rows where the joints let fewer errors pass.
    values, directions : s (d,), largest first, and the rows v.  floor : the smallest s that is not rounding.
    last : (d, d) v at the end of the window, without corrections.
    """

    names: tuple[str, ...]
    seen: Array
    root: Array
    values: Array
    directions: Array
    floor: float
    last: Array

    @classmethod
    def of(cls, names: tuple[str, ...], seen: Array, root: Array, flow: Array) -> View:
        n = root.shape[1]
        A = seen @ root
        _, values, directions = np.linalg.svd(np.vstack((A, np.zeros((n, n)))), full_matrices=False)
        inner = np.linalg.pinv(root) @ flow @ root  # rounding of the slopes grows with the motion
        growth = max(1.0, float(np.linalg.norm(inner, axis=(1, 2)).max()))
        return cls(names, seen, root, values, directions, _floor(values, growth), inner[-1])

    @property
    def gramian(self) -> Array:
        return np.asarray(self.seen.T @ self.seen)

    @property
    def rank(self) -> int:
        return int(np.count_nonzero(self.values > self.floor))

    @property
    def well(self) -> int:
        """How many directions are seen well."""
        return int(np.count_nonzero(self.values > max(weak_value(), self.floor)))

    @property
    def left(self) -> Array:
        """(d,) remaining share of the standard deviation of every direction."""
        s = np.where(self.values > self.floor, self.values, 0.0)
        return np.asarray(1.0 / np.sqrt(1.0 + s**2))

    @property
    def covariance(self) -> Array:
        """(ne, ne) of the start, after the window."""
        L = self.root @ self.directions.T * self.left
        return np.asarray(L @ L.T)

    @property
    def shares(self) -> Array:
        """(ne,) of every state, what lies in directions that are not seen."""
        return self._of_states(self.directions[self.rank :].T)

    @property
    def kept(self) -> Array:
        """(ne,) remaining share of the standard deviation of every state."""
        return self._of_states(self.directions.T * self.left)

    def _of_states(self, part: Array) -> Array:
        return np.asarray(np.sqrt(((self.root @ part) ** 2).sum(axis=1)) / self._sizes)

    @property
    def _sizes(self) -> Array:
        sizes = np.sqrt((self.root**2).sum(axis=1))
        return np.where(sizes > 0, sizes, 1.0)

    def weigh(self, rows: Array) -> Array:
        """CᵀC (d, d) of further rows, in directions of the view and units of their remaining deviations."""
        C = rows @ self.root @ self.directions.T * self.left
        return np.asarray(C.T @ C)

    @property
    def poor(self) -> Array:
        """(d - well, k): weakly observed directions that do not fade by themselves, in terms of the last directions."""
        _, fades, Vt = np.linalg.svd(self.last @ self.directions[self.well :].T, full_matrices=False)
        return np.asarray(Vt[~dies_out(fades)].T)

    def unseen_directions(self, shows: float = 1e-6) -> Array:
        """(k, d) directions that nothing shows.

        shows : square of the share of a state in directions with a signal below which nothing shows the state: 1/1000.
        """
        basis = self.directions[self.rank :].T
        hidden = (self.directions[: self.rank] ** 2).sum(axis=0) < shows
        return np.asarray(_simple(basis, hidden).T)

    def weak(self) -> Array:
        """(k, d) directions that are seen only weakly, the worst first."""
        return np.asarray(self.directions[self.well : self.rank][::-1])

    def fade(self, v: Array) -> float:
        """Share of a direction that remains at the end of the window without corrections."""
        return float(np.linalg.norm(self.last @ v))

    def direction(self, v: Array, shown: float = 0.05) -> dict[str, float]:
        """States and the amounts by which they change together, from a share of the largest on; one of the largest."""
        amounts, sizes = self.root @ v, np.abs(self.root @ v) / self._sizes
        order = ties.largest_first(sizes)
        largest = amounts[order[0]]
        return {self.names[k]: float(amounts[k] / largest) for k in order if sizes[k] > shown * sizes[order[0]]}


def _floor(
    values: Array,
    growth: float,
    rounding: float = 1e-9,  # of the largest singular value: errors of the slopes of 4 Runge-Kutta steps per sample
    gap: float = 1e3,  # ratio of successive singular values that separates signal from errors of the slopes,
    below: float = 1e-4,  # where the smaller one is below this share of the largest,
    faint: float = 0.1,  # and below this value, which leaves 99.5 % of a standard deviation
) -> float:
    floor = rounding * growth * max(float(values[0]), 1.0)
    for large, small in pairwise(values):
        if large > floor and small < min(below * values[0], faint) and large > gap * small:
            return max(floor, float(np.sqrt(large * max(small, 1e-300))))
    return floor


def _simple(basis: Array, first: Array, preference: float = 1e3) -> Array:
    """The same space with few entries per direction: reduced, columns that nothing shows as the first pivots.

    preference : such a state describes a hidden direction even where others move 1000 times as much.
    """
    basis = basis.copy()
    done: list[int] = []
    for k in range(basis.shape[1]):
        size = np.abs(basis[:, k:]).max(axis=1) * np.where(first, preference, 1.0)
        size[done] = 0.0
        row = int(ties.first_largest(size))
        column = k + int(ties.first_largest(basis[row, k:]))
        basis[:, [k, column]] = basis[:, [column, k]]
        basis[:, k] /= basis[row, k]
        others = [j for j in range(basis.shape[1]) if j != k]
        basis[:, others] -= np.outer(basis[:, k], basis[row, others])
        done.append(row)
    return np.asarray(basis / np.maximum(np.linalg.norm(basis, axis=0), 1e-300))


# ---- what to measure besides


def rank_sensors(
    view: View,
    further: Mapping[str, Array],
    last: Sequence[str],
    worth: float = 0.69,  # gain of a useful sensor: ln 2, it halves a standard deviation
    alike: float = 3.0,  # gains within this factor are equal: the order is that of the list
    alternatives: int = 5,  # sensors that are named, one instead of the other
    together: int = 8,  # sensors that are named to be used together
) -> tuple[tuple[tuple[str, ...], float], ...]:
    """Sensors that would show the directions that are seen badly, best first, with the largest deviation left then.

    further : rows (samples · k, ne) of everything else that could be measured, in units of its noise.
    last : names to come after all others: of quantities that are seldom measured, such as unknown forces.
    """
    poor = view.poor
    if not poor.size:
        return ()
    blocks = {name: view.weigh(block) for name, block in further.items()}
    alone = [(name, *_with(view, poor, block)) for name, block in blocks.items()]
    enough = [(name, gain, share) for name, gain, share in alone if not is_weak(share) and gain > worth]
    if enough:
        best = max(gain for _, gain, _ in enough)
        enough.sort(key=lambda item: (item[0] in last, int((best - item[1]) / np.log(alike))))
        return tuple(((name,), share) for name, _, share in enough[:alternatives])
    names: list[str] = []
    total, gained, share = np.zeros_like(view.directions), 0.0, 1.0
    while len(names) < together and is_weak(share):
        gains = {
            name: _with(view, poor, total + block)[0] - gained for name, block in blocks.items() if name not in names
        }
        gains = {name: gain for name, gain in gains.items() if gain > worth}
        if not gains:
            break
        usual = {name: gain for name, gain in gains.items() if name not in last} or gains
        name = next(name for name, gain in usual.items() if gain > max(usual.values()) - np.log(alike))
        names.append(name)
        total = total + blocks[name]
        gained, share = _with(view, poor, total)
    for name in names[:-1]:  # what came first may have become needless
        without = total - blocks[name]
        if not is_weak(share) and not is_weak(_with(view, poor, without)[1]):
            names.remove(name)
            total = without
    return ((tuple(names), _with(view, poor, total)[1]),) if names else ()


def _with(view: View, poor: Array, block: Array) -> tuple[float, float]:
    """Gain on weakly observed directions by further rows, and their largest remaining deviation.

    block : CᵀC (d, d) of the rows, in directions of the view and units of their remaining deviations.
    """
    P = np.linalg.inv(np.eye(len(block)) + block)
    gain = -0.5 * np.linalg.slogdet(poor.T @ P[view.well :, view.well :] @ poor)[1]
    L = view.left[:, None] * scipy.linalg.block_diag(np.eye(view.well), poor)
    return float(gain), float(np.sqrt(np.linalg.eigvalsh(L.T @ P @ L)[-1]))


# ---- words


def describe(direction: Mapping[str, float]) -> str:
    """A direction in words; turns about the axes of one body as one turn."""
    names = list(direction)
    if len(names) == 1:
        return names[0]
    body = names[0].rpartition(".")[0]
    axes = [f"{body}.r{axis}" for axis in "xyz"]
    if set(names) <= set(axes):
        axis = np.array([direction.get(name, 0.0) for name in axes])
        axis = axis / np.linalg.norm(axis)
        return f"a turn of {body} about its axis ({', '.join(f'{a:.2g}' for a in axis)})"
    most = ", ".join(f"{name} by {direction[name]:.3g}" for name in names[1:4])
    return f"{names[0]} by 1 together with {most}{', ...' if len(names) > 4 else ''}"


def describe_decay(fade: float) -> str:
    return ", which dies out by itself" if dies_out(fade) else ""


def format_share(left: float) -> str:
    """Such as 0.83, or 0.99997 where the reduction is small."""
    digits = 1 + int(-np.log10(max(1 - left, 1e-8)))  # two at least, nine at most
    return f"{left:.{max(2, digits)}f}"


def join_first(parts: list[str], most: int = 3) -> str:
    more = len(parts) - most
    return "; ".join(parts[:most]) + (f"; and {more} more" if more > 0 else "")


def join_names(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
