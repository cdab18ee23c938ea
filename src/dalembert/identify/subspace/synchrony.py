"""Whether every output is in step with the inputs, judged by a model that was found from them.

With the states x of the model, driven by the inputs, an output that was sampled d samples late obeys

    y(k + d) = c x(k) + d u(k) + free motion + noise

and nothing of the kind at y(k): what is missing there is u(k - 1) ... u(k - d), or u(k + 1) ... where it is early. So c
and the direct part are sought anew, by least squares, for the output moved by s = -5 ... 5 samples, and what is left,
over the same samples of the output, is compared with what is left at s = 0. Outputs that begin softly (displacements at
a high rate) hardly differ by a sample, but neither does it harm their model.

Believed is a move after which little is left, or after which nothing of the inputs is left. A model whose order is too
low may take an output for early by chance: one of a larger order, which could make up for a late output by its
additional states but never for an early one, decides then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.lib.stride_tricks import as_strided

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.text import counted, listed
from dalembert.identify.records.data import Data
from dalembert.identify.subspace.input_matrices import powers
from dalembert.linear.recursions import march
from dalembert.linear.state_space import StateSpace

# Samples that an output is moved by, either way.
FARTHEST = 5
# Of what is unexplained, this much at most may remain after moving, and of the output, before it is believed.
FALLS_TO = 0.75
EXPLAINED = 0.3
# A smaller fall is believed where it leaves nothing of the inputs, that is no more than chance by so many deviations.
HARDLY_FALLS_TO = 0.95
BY_CHANCE = 4.0
LAGS = 10
# Below this part of the power of an output nothing is sought: modes beyond the order leave as much, and harm nothing.
EXACT = 1e-5
# Two moves that leave as much, up to this factor, count as one; the shorter is told.
AS_GOOD = 1.2
# Samples looked at, and products formed, at most: a check must not take long.
LONGEST, SHORTEST = 2048, 512
WORK = 10_000_000
# ln of what a motion may grow by, or must be left of it at the end of what is looked at to be called lasting.
MOST_GROWTH, LASTING = 2.0, -0.2
# Further states of the model that decides on early outputs, which must leave so much more than moving does.
MORE_STATES = 4
NOT_AS_WELL = 1.3


ModelFinder = Callable[[Data, int], StateSpace]


@dataclass(frozen=True)
class Doubt:
    """An output that fits better moved: ``samples`` late (early where negative).

    ``place`` : its number; ``falls_to`` : what then remains of the unexplained; ``left`` : of the power of the output.
    """

    output: str
    place: int
    samples: int
    falls_to: float
    left: float


def in_doubt(moves: Moves, data: Data, order: int, find_model: ModelFinder | None, *, rough: bool) -> list[Doubt]:
    """The same for outputs that were moved already."""
    if find_model is not None and rough and (moves.ratios < HARDLY_FALLS_TO).any():
        moves = second_opinion(data, find_model, order) or moves
    doubts = moves.doubts()
    if find_model is not None and any(doubt.samples < 0 for doubt in doubts):
        larger = second_opinion(data, find_model, order + MORE_STATES)
        doubts = [doubt for doubt in doubts if doubt.samples > 0 or _still_early(doubt, larger)]
    return doubts


def second_opinion(data: Data, find_model: ModelFinder, order: int) -> Moves | None:
    """The same by another model, if there is one."""
    try:
        return judged(data, find_model(data, order))
    except (DataError, np.linalg.LinAlgError):
        return None


def _still_early(doubt: Doubt, larger: Moves | None) -> bool:
    """Whether more states at no move leave more than the move does with few."""
    if larger is None:
        return doubt.falls_to < FALLS_TO
    return bool(larger.shares[FARTHEST, doubt.place] > NOT_AS_WELL * doubt.left)


def told(doubts: Sequence[Doubt], data: Data) -> list[Finding]:
    """The finding, with the remedy."""
    by_move: dict[int, list[str]] = {}
    for doubt in doubts:
        by_move.setdefault(doubt.samples, []).append(doubt.output)
    rest = 100.0 * max(doubt.falls_to for doubt in doubts)
    texts = [
        f"{listed(names, {})} seem{'s' if len(names) == 1 else ''} to be about {counted(abs(move), 'sample')} "
        f"{'late' if move > 0 else 'early'}"
        for move, names in sorted(by_move.items())
    ]
    moves = {doubt.output: float(f"{doubt.samples * data.dt:.6g}") for doubt in doubts}
    several = len(doubts) == data.ny and len(by_move) == 1
    move = next(iter(by_move))
    shift = Call("da.identify.shift", Argument("delays", moves))
    if several and move > 0:
        advice = [Advice("Use {}.", Argument("delays", {data.inputs[0]: move}), shift)]
    else:
        clocks = Call("da.identify.delay"), Call("da.identify.synchronise")
        advice = [Advice("Compare the clocks with {}.", *clocks), Advice("Then use {}.", shift)]
    problem = (
        f"channels are not synchronous: output {'; output '.join(texts)} against the inputs (moved so, a model of the "
        f"same order leaves {rest:.0f} % or less of its residual). Damping may be far off. Where waves truly take that "
        "time, raise the order."
    )
    where = {"channels": tuple(doubt.output for doubt in doubts)}
    numbers = {"samples": {doubt.output: doubt.samples for doubt in doubts}}
    return [Finding("not-synchronous", problem, where, numbers, tuple(advice))]


@dataclass(frozen=True, eq=False)
class Moves:
    """What moved outputs leave: ``ratios`` to unmoved and ``shares`` of their power, (2·FARTHEST + 1, ny).

    ``rest`` : (N, 2·FARTHEST + 1, ny) residuals; ``u``, ``y`` : (N, nu), (N, ny), inputs and outputs of the same
    samples, scaled; ``poles`` : those with Im z >= 0; ``driven``, ``free`` : (poles, ny), power of every mode by the
    inputs and from the start, as parts of the power of the output.
    """

    outputs: tuple[str, ...]
    ratios: FloatArray
    shares: FloatArray
    rest: FloatArray
    u: FloatArray
    y: FloatArray
    poles: ComplexArray
    driven: FloatArray
    free: FloatArray

    def doubts(self) -> list[Doubt]:
        """Outputs that a move makes fit clearly better."""
        found = []
        for j, name in enumerate(self.outputs):
            ratio = self.ratios[:, j]
            near = np.flatnonzero(ratio <= AS_GOOD * ratio.min())
            best = int(near[np.abs(near - FARTHEST).argmin()])
            if self.shares[best, j] > EXPLAINED or ratio[best] > HARDLY_FALLS_TO:
                continue
            if ratio[best] < FALLS_TO or (_of_inputs(self.rest[:, best, j], self.u) < BY_CHANCE < _of_inputs(
                    self.rest[:, FARTHEST, j], self.u)):  # fmt: skip
                found.append(Doubt(name, j, best - FARTHEST, float(ratio[best]), float(self.shares[best, j])))
        return found


def judged(data: Data, system: StateSpace) -> Moves | None:
    """Every output moved by -FARTHEST ... FARTHEST samples, on the states of the model."""
    n, nu, ny, S = system.nx, data.nu, data.ny, FARTHEST
    if not nu or not n:
        return None
    values, vectors = np.linalg.eig(system.A)
    values, vectors = values.astype(np.complex128), vectors.astype(np.complex128)
    poles = values[values.imag >= 0.0]
    width, moves = 2 * n + nu, 2 * S + 1
    u, y = loudest(data, int(np.clip(WORK / (width * (width + moves * ny)), SHORTEST, LONGEST)))
    common = len(u) - 4 * S
    if common < 4 * width or len(u) * np.log(np.abs(poles).max(initial=0.1)) > MOST_GROWTH:
        return None
    size_u, size_y = (np.sqrt(np.maximum(np.mean(part**2, axis=0), 1e-300)) for part in (u, y))
    free = powers(poles, len(u))
    x = march(system.A, (u @ system.B.T)[:-1], np.zeros(n))
    X = np.hstack([x, u / size_u, free.real, free.imag[:, poles.imag > 0.0]])
    sizes = np.sqrt(np.maximum(np.einsum("ij,ij->j", X, X), 1e-300))
    X /= sizes
    y = np.ascontiguousarray(y / size_y)
    inner = X[S : len(X) - S]
    made = as_strided(y, (len(inner), moves * ny), y.strides, writeable=False)  # all moves side by side
    gram = inner.T @ inner + 1e-12 * width * np.eye(width)
    theta = scipy.linalg.solve(gram, inner.T @ made, assume_a="pos", check_finite=False)
    rest = made - inner @ theta
    # every move is judged by the same samples of the output: at the ends stands the start of a motion, or nothing
    down, along = rest.strides
    same = as_strided(rest[2 * S :], (common, moves, ny), (down, ny * along - down, along), writeable=False)
    power = np.maximum((y[2 * S : 2 * S + common] ** 2).sum(axis=0), 1e-300)
    left = np.einsum("tkj,tkj->kj", same, same) + EXACT * power
    plain = theta[:, S * ny : (S + 1) * ny] / sizes[:, None]
    return Moves(
        data.outputs, left / left[S], left / power, same, (u / size_u)[2 * S : 2 * S + common],
        y[2 * S : 2 * S + common], poles,
        *_modal_power(x, free, values, vectors, poles, plain, power),
    )  # fmt: skip


def _modal_power(
    x: FloatArray, free: ComplexArray, values: ComplexArray, vectors: ComplexArray, poles: ComplexArray,
    theta: FloatArray, power: FloatArray,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Power of every mode in every output, driven and free, (poles, ny); of those that last only, else zero."""
    n, ny = x.shape[1], theta.shape[1]
    driven, loose = np.zeros((len(poles), ny)), np.zeros((len(poles), ny))
    lasting = np.flatnonzero(len(x) * np.log(np.maximum(np.abs(poles), 1e-300)) > LASTING)
    if not len(lasting) or np.linalg.cond(vectors) > 1e8:
        return driven, loose
    modal = np.linalg.inv(vectors)
    pairs = np.cumsum(poles.imag > 0.0) - 1
    for m in lasting:
        k = int(np.abs(values - poles[m]).argmin())
        xi = x @ modal[k]
        c, twice = theta[:n].T @ vectors[:, k], 2.0 if poles[m].imag > 0.0 else 1.0
        driven[m] = ((twice * (xi[:, None] * c).real) ** 2).sum(axis=0)
        g = theta[-len(poles) - pairs[-1] - 1 :][m].astype(np.complex128)
        if poles[m].imag > 0.0:
            g = g - 1j * theta[len(theta) - pairs[-1] - 1 + pairs[m]]
        loose[m] = ((free[:, m, None] * g).real ** 2).sum(axis=0)
    return driven / power, loose / power


def _of_inputs(rest: FloatArray, u: FloatArray) -> float:
    """How far what inputs within LAGS samples explain of a residual is above chance, in standard deviations."""
    columns = [u[k : len(u) - 2 * LAGS + k] for k in range(2 * LAGS + 1)]
    M, target = np.hstack(columns), rest[LAGS : len(rest) - LAGS]
    gram = M.T @ M
    explained = target @ M @ scipy.linalg.solve(
        gram + 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram)), M.T @ target, assume_a="pos", check_finite=False
    )  # fmt: skip
    count, size = M.shape[1], float(target @ target)
    chance = float(explained) / max(size - float(explained), 1e-300) * (len(target) - count)
    return float((chance - count) / np.sqrt(2.0 * count))


def loudest(data: Data, most: int) -> tuple[FloatArray, FloatArray]:
    """The stretch of at most so many samples, of the longest record, where the inputs are largest."""
    k = int(np.argmax(data.lengths))
    u, y = data.u[k], data.y[k]
    if len(u) <= most:
        return u, y
    every = max(1, len(u) // 8192)
    some = u[::every]
    size = np.sqrt(np.mean(some**2, axis=0))
    power = np.concatenate([[0.0], np.cumsum(((some / np.where(size > 0.0, size, 1.0)) ** 2).sum(axis=1))])
    span = max(1, most // every)
    first = every * int(np.argmax(power[span:] - power[:-span]))
    first = min(max(0, first - FARTHEST), len(u) - most)
    return u[first : first + most], y[first : first + most]
