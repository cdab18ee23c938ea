"""Synchrony of outputs and inputs, judged by the residuals of a model that was found from them.

With the states x of the model, driven by the inputs, an output that was sampled d samples late obeys

    y(k + d) = c x(k) + d u(k) + free motion + noise

and no such equation at y(k), where u(k - 1) ... u(k - d) are missing, or u(k + 1) ... where it is early. So c and the
direct part are estimated again by least squares for the output shifted by s = -5 ... 5 samples. The residual over the
same samples of the output is compared with that at s = 0. Outputs with a smooth onset (displacements at a high rate)
hardly differ by a sample, but then the delay does not harm their model either.

A shift is accepted if it leaves a small residual, or a residual without any effect of the inputs. A model whose order
is too low may make an output look early by chance. A model of larger order decides then: its additional states can
explain a late output, but never an early one.

The limits are from an experiment: three-storey frame, 2048 samples; good records (0.1 to 30 % noise, white force or
hammer, and a chain of 12 masses with travelling waves) against records with one channel shifted by 1 to 3 samples or
damaged otherwise.
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
from dalembert.core.text import count_noun, list_names
from dalembert.identify.records.data import Data
from dalembert.identify.subspace.input_matrices import powers
from dalembert.linear.recursions import march
from dalembert.linear.state_space import StateSpace

TINY = float(np.finfo(float).tiny)
FARTHEST = 5  # samples that an output is shifted by, either way
LONGEST, SHORTEST = 2048, 512  # samples that are examined: a check must not take long


ModelFinder = Callable[[Data, int], StateSpace]


@dataclass(frozen=True)
class AsynchronousOutput:
    """An output that fits better when shifted: ``samples`` late (early where negative).

    ``index`` : its number; ``ratio`` : residual power with and without the shift; ``share`` : that with the shift
    relative to the power of the output.
    """

    output: str
    index: int
    samples: int
    ratio: float
    share: float


def find_asynchronous(
    shifted: ShiftedOutputs, data: Data, order: int, find_model: ModelFinder | None, *, rough: bool,
    more_states: int = 4, largest_ratio: float = 0.95,
) -> list[AsynchronousOutput]:  # fmt: skip
    """Outputs that are late or early against the inputs.

    find_model : data, order -> another model, used where an output looks early, and for any output where the method of
    the first model is ``rough``.
    more_states : additional states of the larger model, two modes, and by how much more than the shift it must leave.
    largest_ratio : a ratio up to this is accepted where the residual has no effect of the inputs left: noise hides the
    shift.
    """
    if find_model is not None and rough and (shifted.ratios < largest_ratio).any():
        shifted = shift_with_other_model(data, find_model, order) or shifted
    outputs = shifted.find_asynchronous()
    if find_model is not None and any(output.samples < 0 for output in outputs):
        larger = shift_with_other_model(data, find_model, order + more_states)
        outputs = [output for output in outputs if output.samples > 0 or _still_early(output, larger)]
    return outputs


def shift_with_other_model(data: Data, find_model: ModelFinder, order: int) -> ShiftedOutputs | None:
    """Shifted outputs on the states of another model, if there is one."""
    try:
        return shift_outputs(data, find_model(data, order))
    except (DataError, np.linalg.LinAlgError):
        return None


def _still_early(
    one: AsynchronousOutput, larger: ShiftedOutputs | None, accepted_ratio: float = 0.75, larger_model: float = 1.3
) -> bool:
    """Whether more states without a shift leave more than the shift with few states.

    accepted_ratio : residual power of the best shift over that of none: above 0.99 in good records, 0.003 to 0.30 where
    a channel is shifted, above 0.77 with other damages.
    larger_model : additional states of the larger model, two modes, and by how much more than the shift it must leave.
    """
    if larger is None:
        return one.ratio < accepted_ratio
    return bool(larger.shares[FARTHEST, one.index] > larger_model * one.share)


def describe_asynchronous(found: Sequence[AsynchronousOutput], data: Data) -> list[Finding]:
    """The finding on late or early outputs, with advice."""
    by_move: dict[int, list[str]] = {}
    for output in found:
        by_move.setdefault(output.samples, []).append(output.output)
    percent = 100.0 * max(output.ratio for output in found)
    texts = [
        f"{list_names(names, {})} seem{'s' if len(names) == 1 else ''} to be about {count_noun(abs(move), 'sample')} "
        f"{'late' if move > 0 else 'early'}"
        for move, names in sorted(by_move.items())
    ]
    moves = {output.output: float(f"{output.samples * data.dt:.6g}") for output in found}
    several = len(found) == data.ny and len(by_move) == 1
    move = next(iter(by_move))
    shift = Call("da.identify.shift", Argument("delays", moves))
    if several and move > 0:
        advice = [Advice("Use {}.", Argument("delays", {data.inputs[0]: move}), shift)]
    else:
        clocks = Call("da.identify.delay"), Call("da.identify.synchronise")
        advice = [Advice("Compare the clocks with {}.", *clocks), Advice("Then use {}.", shift)]
    problem = (
        f"channels are not synchronous: output {'; output '.join(texts)} against the inputs (with this shift a model "
        f"of the same order leaves {percent:.0f} % or less of its residual). Damping may be far off. Where waves truly "
        "take that time, raise the order."
    )
    where = {"channels": tuple(output.output for output in found)}
    numbers = {"samples": {output.output: output.samples for output in found}}
    return [Finding("not-synchronous", problem, where, numbers, tuple(advice))]


@dataclass(frozen=True, eq=False)
class ShiftedOutputs:
    """Residual power of shifted outputs: ``ratios`` to that without shift and ``shares`` of their power, both
    (2·FARTHEST + 1, ny).

    ``rest`` : (N, 2·FARTHEST + 1, ny) residuals; ``u``, ``y`` : (N, nu), (N, ny), inputs and outputs of the same
    samples, scaled; ``poles`` : those with Im z >= 0; ``driven``, ``free`` : (poles, ny), power of every mode by the
    inputs and from the initial state, as shares of the power of the output.
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

    def find_asynchronous(
        self, largest_share: float = 0.3, largest_ratio: float = 0.95, accepted_ratio: float = 0.75,
        significance: float = 4.0, equal: float = 1.2,
    ) -> list[AsynchronousOutput]:  # fmt: skip
        """Outputs that fit clearly better when shifted.

        largest_share : share of the output that the best shift leaves: below 0.003 where a channel is shifted.
        significance : standard deviations of the effect of inputs on a residual: below 2 in good records, above 600
        where it is shifted.
        equal : shifts with residuals up to this factor of the least count as equal; the shortest is reported. So a
        shift must reduce the residual below 1/1.2 to be one at all.
        """
        late_outputs = []
        for j, name in enumerate(self.outputs):
            ratio = self.ratios[:, j]
            near = np.flatnonzero(ratio <= equal * ratio.min())
            best = int(near[np.abs(near - FARTHEST).argmin()])
            if self.shares[best, j] > largest_share or ratio[best] > largest_ratio:
                continue
            after, before = (_input_significance(self.rest[:, k, j], self.u) for k in (best, FARTHEST))
            if ratio[best] < accepted_ratio or after < significance < before:
                share = float(self.shares[best, j])
                late_outputs.append(AsynchronousOutput(name, j, best - FARTHEST, float(ratio[best]), share))
        return late_outputs


def shift_outputs(
    data: Data, system: StateSpace, growth: float = 2.0, exact: float = 1e-5, work: int = 10_000_000
) -> ShiftedOutputs | None:
    """Every output shifted by -FARTHEST ... FARTHEST samples, on the states of the model.

    None for models without inputs or states, unstable ones, and too few samples.

    growth : ln of the growth of a model over the samples, beyond which it is not simulated.
    exact : power relative to the output below which residuals count as equal: modes beyond the order leave as much.
    work : products formed
    """
    n, nu, ny, S = system.nx, data.nu, data.ny, FARTHEST
    if not nu or not n:
        return None
    values, vectors = np.linalg.eig(system.A)
    values, vectors = values.astype(np.complex128), vectors.astype(np.complex128)
    poles = values[values.imag >= 0.0]
    width, moves = 2 * n + nu, 2 * S + 1
    u, y = find_loudest_stretch(data, int(np.clip(work / (width * (width + moves * ny)), SHORTEST, LONGEST)))
    common = len(u) - 4 * S
    if common < 4 * width or len(u) * np.log(np.abs(poles).max(initial=TINY)) > growth:
        return None
    size_u, size_y = (np.sqrt(np.maximum(np.mean(signal**2, axis=0), 1e-300)) for signal in (u, y))
    free = powers(poles, len(u))
    x = march(system.A, (u @ system.B.T)[:-1], np.zeros(n))
    X = np.hstack([x, u / size_u, free.real, free.imag[:, poles.imag > 0.0]])
    sizes = np.sqrt(np.maximum(np.einsum("ij,ij->j", X, X), 1e-300))
    X /= sizes
    y = np.ascontiguousarray(y / size_y)
    inner = X[S : len(X) - S]
    shifted = as_strided(y, (len(inner), moves * ny), y.strides, writeable=False)  # all shifts side by side
    gram = inner.T @ inner + 1e-12 * width * np.eye(width)
    theta = scipy.linalg.solve(gram, inner.T @ shifted, assume_a="pos", check_finite=False)
    residual = shifted - inner @ theta
    # the same samples of the output for every shift: its ends may contain the beginning of a motion, or nothing
    down, along = residual.strides
    same = as_strided(residual[2 * S :], (common, moves, ny), (down, ny * along - down, along), writeable=False)
    power = np.maximum((y[2 * S : 2 * S + common] ** 2).sum(axis=0), 1e-300)
    remaining = np.einsum("tkj,tkj->kj", same, same) + exact * power
    plain = theta[:, S * ny : (S + 1) * ny] / sizes[:, None]
    return ShiftedOutputs(
        data.outputs, remaining / remaining[S], remaining / power, same, (u / size_u)[2 * S : 2 * S + common],
        y[2 * S : 2 * S + common], poles,
        *_modal_power(x, free, values, vectors, poles, plain, power),
    )  # fmt: skip


def _modal_power(
    x: FloatArray, free: ComplexArray, values: ComplexArray, vectors: ComplexArray, poles: ComplexArray,
    theta: FloatArray, power: FloatArray, defective: float = 1e8, decay: float = 0.2,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Power of every mode in every output, driven and free, (poles, ny); zero for modes that decay.

    defective : condition number of eigenvectors, 1/√ε: a defective pair, whose modes have no power of their own.
    decay : ln of the decay of a mode over the samples, below which it lasts (18 %).
    """
    n, ny = x.shape[1], theta.shape[1]
    driven, loose = np.zeros((len(poles), ny)), np.zeros((len(poles), ny))
    lasting = np.flatnonzero(len(x) * np.log(np.maximum(np.abs(poles), TINY)) > -decay)
    if not len(lasting) or np.linalg.cond(vectors) > defective:
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


def _input_significance(rest: FloatArray, u: FloatArray, lags: int = 10) -> float:
    """Effect of inputs within LAGS samples on a residual, in standard deviations above chance.

    lags : samples of inputs before and after, whose effect on a residual is tested
    """
    columns = [u[k : len(u) - 2 * lags + k] for k in range(2 * lags + 1)]
    return float(regress(rest[lags : len(rest) - lags, None], np.hstack(columns))[1][0])


def regress(target: FloatArray, M: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of the power of target (N, k) that M (N, m) explains, and its standard deviations above chance, (k,)."""
    gram, products, count = M.T @ M, M.T @ target, M.shape[1]
    if not np.trace(gram) > 0.0:  # an input that rests in this stretch explains nothing
        return np.zeros(target.shape[1]), np.zeros(target.shape[1])
    gram += 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram))
    explained = np.einsum("ij,ij->j", products, scipy.linalg.solve(gram, products, assume_a="pos", check_finite=False))
    size = np.maximum(np.einsum("ij,ij->j", target, target), 1e-300)
    chance = explained / np.maximum(size - explained, 1e-300) * (len(target) - count)
    return explained / size, (chance - count) / np.sqrt(2.0 * count)


def find_loudest_stretch(data: Data, most: int) -> tuple[FloatArray, FloatArray]:
    """The part of the longest record with the largest inputs, of at most this number of samples."""
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
