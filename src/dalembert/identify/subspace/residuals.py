"""What the residuals of a model tell of the data it was found from.

    out of step      an output fits better moved by some samples (``synchrony.py``)
    steady motion    a mode that lasts as long as the record and that the inputs do not drive: mains hum, drift
    spoiled          one output leaves much that no input explains, and others leave what the inputs do explain: the
                     states went to the one that is not linear, not steady or not of this test
    one stretch      what is left comes from one part of the record: samples lost, a blow that was not measured
    far out of step  what is left of an output is an input of long before or after
    unstable         the model would have outgrown the record
    poor             simulation leaves most of an output
    too short        few periods of the slowest mode, with noise

The gravest is told, with its remedy. All from at most 2048 samples, so the cost does not grow with the record.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.text import counted, listed
from dalembert.identify.records.data import Data
from dalembert.identify.subspace.input_matrices import powers
from dalembert.identify.subspace.synchrony import (
    FARTHEST,
    LONGEST,
    MOST_GROWTH,
    ModelFinder,
    Moves,
    in_doubt,
    judged,
    loudest,
    second_opinion,
    told,
)
from dalembert.linear.recursions import march
from dalembert.linear.state_space import StateSpace
from dalembert.numerics import ties

# Share of the power of an output that simulation may leave before that is told.
POOR = 0.55
# A lasting mode with so much more power from the start than from the inputs, and so much of the output, is no answer.
FREE, FREE_SHARE, PERIODS = 10.0, 0.03, 20.0
# Inputs so many samples back, the part of a residual they may explain, and its significance in standard deviations.
BACK = 30
EXPLAINED, NOT_EXPLAINED, SURE = 0.15, 0.05, 20.0
# Share of an output that must be left, and times as much as others leave, to suspect it.
MUCH, MORE = 0.03, 3.0
# Parts of the record, and how much more than usual one must leave.
PARTS, STANDS_OUT, LEFT = 16, 4.5, 0.1
# Correlation of a residual with an input at one far lag.
FAR, FAR_LAGS = 0.2, 256
# Standard deviations of a correlation that is no chance; the first of its largest of an answer that comes at once.
BEYOND_CHANCE, AT_ONCE, HALF = 4.5, 0.5, 0.5
FEW_PERIODS, DAMPED = 6.0, 0.2
NOISY = 1e-6
# Fewer numbers per unknown are called few.
FEW = 5.0


def examine_residuals(
    data: Data, system: StateSpace, find_model: ModelFinder, *, unexplained: float | None = None,
    rough: bool = False, poor: float = POOR,
) -> list[Finding]:  # fmt: skip
    """The gravest doubt about a model, or none."""
    moves = judged(data, system)
    if moves is None and (found := grows(data, system)):
        return found
    if moves is not None:
        doubts = in_doubt(moves, data, system.nx, find_model, rough=rough)
        if doubts:
            return told(doubts, data)
        found = steady(moves, data) or spoiled(moves, data, system.nx, find_model) or one_stretch(moves, data)
        if found:
            return found
    share = simulation_leaves(data, system) if unexplained is None else unexplained
    if share is not None and share > poor:
        return poorly(share)
    return too_short(data, system, moves)


def grows(data: Data, system: StateSpace) -> list[Finding]:
    """A model that would have grown far beyond the record it was found from."""
    radius = float(np.abs(np.linalg.eigvals(system.A)).max(initial=0.0))
    k = int(np.argmax(data.lengths))
    predicted = data.lengths[k] * np.log(max(radius, 1e-300))
    part = max(1, data.lengths[k] // 8)
    seen = [np.log(np.linalg.norm(ends, axis=0) + 1e-300).max() for ends in (data.y[k][:part], data.y[k][-part:])]
    if predicted < MOST_GROWTH or seen[1] - seen[0] > 0.5 * predicted:
        return []
    problem = (
        f"the model is unstable: largest |z| = {radius:.6f}. That is right only for a machine that a controller "
        "keeps stable; else inputs and outputs are not of one test, not synchronous, or the order does not suit."
    )
    return [Finding("unstable-model", problem, evidence={"radius": radius})]


def poorly(share: float) -> list[Finding]:
    """The finding on a model that leaves this share of the power of an output."""
    problem = (
        f"simulated from its inputs, the model leaves {100 * share:.0f} % of the power of an output unexplained: the "
        "order does not suit, forces were not measured, noise hides the motion, or channels are exchanged or not "
        "synchronous. Do not trust its modes before the reason is known."
    )
    advice = Advice("Compare the clocks of the channels with {}.", Call("da.identify.delay"))
    return [Finding("poor-simulation", problem, evidence={"share": share}, advice=(advice,))]


def steady(moves: Moves, data: Data) -> list[Finding]:
    """Modes that last and that no input drives."""
    periods = np.abs(np.angle(moves.poles)) * len(moves.u) / (2.0 * np.pi)
    known = (periods > PERIODS) | (periods == 0.0)
    loose = (moves.free > FREE * moves.driven) & (moves.free > FREE_SHARE) & known[:, None]
    if not loose.any():
        return []
    m, j = np.unravel_index(int(np.where(loose, moves.free, 0.0).argmax()), loose.shape)
    hertz = abs(np.angle(moves.poles[m])) / (2.0 * np.pi * data.dt)
    what = "a drift" if hertz == 0.0 else f"a steady tone at {hertz:.4g} Hz (mains hum, a machine nearby)"
    advice = (
        Advice("Use {}.", Argument("detrend", "linear"), Call("da.identify.highpass"))
        if hertz == 0.0
        else Advice("Filter it out, or add two states for it.")
    )
    problem = (
        f"output {moves.outputs[j]!r} holds a motion that does not decay and that no input drives, {what}. It takes "
        "states from the modes."
    )
    return [Finding("undriven-motion", problem, {"channel": moves.outputs[j]}, {"hertz": float(hertz)}, (advice,))]


def spoiled(moves: Moves, data: Data, order: int, find_model: ModelFinder) -> list[Finding]:
    """An output that takes the states which the others need, or an input that acts long before or after."""
    rest, share = moves.rest[:, FARTHEST], moves.shares[FARTHEST]
    if share.max() < MUCH:
        return []
    far = _far(moves, data, order, find_model)
    if far:
        return far
    parts, sure = _driven_parts(rest, moves.u)
    needy = (parts > EXPLAINED) & (sure > SURE)
    for i in ties.largest_first(share):
        others = needy & (share * MORE < share[i])
        if share[i] > MUCH and parts[i] < NOT_EXPLAINED and others.any():
            problem = (
                f"output {moves.outputs[i]!r} spoils the model: {100 * share[i]:.0f} % of its power is driven by no "
                f"input, while of {listed([moves.outputs[j] for j in np.flatnonzero(others)], {})} some is left that "
                "the inputs do drive. A dead, noisy, clipped or jumping sensor, another clock, or a larger order is "
                "needed: leave it out and compare."
            )
            where, numbers = {"channel": moves.outputs[i]}, {"share": float(share[i])}
            return [Finding("unexplained-output", problem, where, numbers)]
    return []


def _driven_parts(rest: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Part of every residual that inputs up to BACK samples ago explain, beyond chance, and its significance, (ny,)."""
    back = min(BACK, max(1, len(u) // (8 * u.shape[1])))
    M = np.hstack([u[back - k : len(u) - k] for k in range(back + 1)])
    target, count = rest[back:], M.shape[1]
    gram = M.T @ M
    gram += 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram))
    made = M.T @ target
    explained = np.einsum("ij,ij->j", made, scipy.linalg.solve(gram, made, assume_a="pos", check_finite=False))
    size = np.maximum(np.einsum("ij,ij->j", target, target), 1e-300)
    chance = explained / np.maximum(size - explained, 1e-300) * (len(target) - count)
    return explained / size - count / len(target), (chance - count) / np.sqrt(2.0 * count)


def _far(moves: Moves, data: Data, order: int, find_model: ModelFinder) -> list[Finding]:
    """A residual that is an input of long after, or an output that is silent for long and then answers at once."""
    rest, share = moves.rest[:, FARTHEST], moves.shares[FARTHEST]
    lags = min(FAR_LAGS, len(rest) // 4)
    tried = False
    for q, name in enumerate(data.inputs):
        u = _whitened(moves.u[:, q])
        left, answer = _correlation(rest, u, lags), _correlation(moves.y, u, lags)
        for i in ties.largest_first(share):
            if share[i] < MUCH:
                break
            k = int(np.abs(left[:, i]).argmax()) - lags
            late = _onset(answer[lags:, i], len(rest))
            if k < -2 * FARTHEST and abs(left[k + lags, i]) > FAR:
                how, word = -k, "before"
            elif late > 2 * FARTHEST and not tried:
                tried = True  # once: every trial is a model
                if not _better_moved(data, int(i), late, order, find_model, float(share[i])):
                    continue
                how, word = late, "after"
            else:
                continue
            problem = (
                f"channels are not synchronous: output {moves.outputs[i]!r} responds about {counted(how, 'sample')} "
                f"({how * data.dt:.4g} s) {word} {name!r}."
            )
            where = {"channel": moves.outputs[i], "input": name}
            advice = (
                Advice("Compare the clocks with {}.", Call("da.identify.delay"), Call("da.identify.synchronise")),
                Advice("Correct them with {}.", Call("da.identify.shift"), Argument("delays")),
            )
            numbers = {"samples": how if word == "after" else -how}
            return [Finding("not-synchronous", problem, where, numbers, advice)]
    return []


def _better_moved(data: Data, place: int, late: int, order: int, find_model: ModelFinder, left: float) -> bool:
    """Whether a model of the same order explains an output far better once it is moved: waves are not mended so."""
    y = [part[: len(part) - late].copy() for part in data.y]
    for moved, part in zip(y, data.y, strict=True):
        moved[:, place] = part[late:, place]
    moves = second_opinion(
        data.replace(u=tuple(part[: len(part) - late] for part in data.u), y=tuple(y)), find_model, order
    )
    return moves is not None and bool(moves.shares[FARTHEST, place] < HALF * left)


def _correlation(y: FloatArray, u: FloatArray, lags: int) -> FloatArray:
    """Correlations of y(k) with u(k - l), l = -lags ... lags, (2·lags + 1, ny); u of unit power."""
    size = scipy.fft.next_fast_len(2 * len(y), real=True)
    S = scipy.fft.rfft(y - y.mean(axis=0), size, axis=0) * scipy.fft.rfft(u, size).conj()[:, None]
    r = scipy.fft.irfft(S, size, axis=0)
    r = np.concatenate([r[-lags:], r[: lags + 1]])
    result: FloatArray = r / np.sqrt(np.maximum((y**2).sum(axis=0), 1e-300) * len(y))
    return result


def _onset(r: FloatArray, count: int) -> int:
    """The lag at which an answer begins, if it begins at once; 0 where it rises slowly, as far waves do."""
    size = np.abs(r)
    heard = np.flatnonzero(size > BEYOND_CHANCE / np.sqrt(count))
    return int(heard[0]) if len(heard) and size[heard[0]] > AT_ONCE * size.max() else 0


def _whitened(u: FloatArray) -> FloatArray:
    """An input with its spectrum made flat where it has any, of unit power."""
    U = scipy.fft.rfft(u - u.mean())
    power = np.abs(U) ** 2
    smooth = np.convolve(power, np.ones(9) / 9.0, mode="same")
    U = U / np.sqrt(np.maximum(smooth, 1e-4 * smooth.max()))
    white: FloatArray = scipy.fft.irfft(U, len(u))
    return white / max(float(np.sqrt(np.mean(white**2))), 1e-300)


def one_stretch(moves: Moves, data: Data) -> list[Finding]:
    """A part of the record that leaves far more than the others, and what inputs do not explain."""
    rest, share = moves.rest[:, FARTHEST], moves.shares[FARTHEST]
    if len(rest) < 8 * PARTS or share.max() < LEFT:
        return []
    size = np.array([(part**2).mean(axis=0) for part in np.array_split(rest, PARTS)])
    level = np.array([np.median(np.abs(part), axis=0) for part in np.array_split(moves.u, PARTS)]).mean(axis=1)
    if level.max() > 2.0 * level.min():
        return []  # not a steady test: what is left follows the level
    ratio = size.max(axis=0) / np.maximum(np.median(size, axis=0), 1e-300)
    i = int(np.where(share > LEFT, ratio, 0.0).argmax())
    if ratio[i] < STANDS_OUT or _driven_parts(rest, moves.u)[0][i] > NOT_EXPLAINED:
        return []
    problem = (
        f"the residual of output {moves.outputs[i]!r} ({100 * share[i]:.0f} % of its power) comes mostly from one "
        "stretch of the record: samples lost, a disturbance that was not measured, or a sensor that failed for a "
        "while."
    )
    advice = Advice("Look at the residuals, and cut the record there with {}.", Call("da.identify.cut"))
    where, numbers = {"channel": moves.outputs[i]}, {"share": float(share[i])}
    return [Finding("disturbed-stretch", problem, where, numbers, (advice,))]


def too_short(data: Data, system: StateSpace, moves: Moves | None) -> list[Finding]:
    """Few periods of the slowest mode, where there is noise that would have to be averaged out."""
    left = simulation_leaves(data, system) if moves is None else float(moves.shares[FARTHEST].max())
    if left is None or left < NOISY:
        return []
    unknowns = system.nx * (data.nu + data.ny) + data.nu * data.ny
    if data.samples * data.ny < FEW * unknowns:
        problem = (
            f"{data.samples} samples of {counted(data.ny, 'output')} are few for the {unknowns} unknowns of order "
            f"{system.nx}, with noise: damping is a guess. Measure longer, or ask for a lower order."
        )
        return [Finding("few-samples", problem, evidence={"samples": data.samples, "unknowns": unknowns})]
    values = np.linalg.eigvals(system.A).astype(np.complex128)
    rates = np.log(values[(values.imag > 0.0) & (np.abs(values) > 1e-3)]) / data.dt
    hertz = np.abs(rates[-rates.real < DAMPED * np.abs(rates)]) / (2.0 * np.pi)
    if not len(hertz) or hertz.min() * data.duration > FEW_PERIODS:
        return []
    periods = float(hertz.min()) * data.duration
    problem = (
        f"the record holds {periods:.1f} periods of the slowest mode ({hertz.min():.4g} Hz): with noise its damping is "
        "a guess. Measure longer, or add records of repeated tests."
    )
    return [Finding("few-periods", problem, evidence={"periods": periods, "hertz": float(hertz.min())})]


def simulation_leaves(data: Data, system: StateSpace) -> float | None:
    """Share of the power of the worst output that simulation leaves, the start being free; None of unstable models."""
    values = np.linalg.eigvals(system.A).astype(np.complex128)
    u, y = loudest(data, LONGEST)
    if not data.nu or not len(values) or len(u) * np.log(np.abs(values).max() + 1e-300) > MOST_GROWTH:
        return None
    rest = y - march(system.A, (u @ system.B.T)[:-1], np.zeros(system.nx)) @ system.C.T - u @ system.D.T
    poles = values[values.imag >= 0.0]
    free = powers(poles, len(u))
    columns = np.hstack([free.real, free.imag[:, poles.imag > 0.0]])
    gram = columns.T @ columns
    gram += 1e-12 * np.trace(gram) * np.eye(len(gram))
    rest = rest - columns @ scipy.linalg.solve(gram, columns.T @ rest, assume_a="pos", check_finite=False)
    whole = data.y[int(np.argmax(data.lengths))]
    some = whole[:: max(1, len(whole) // 8192)]  # the output may be small where the input is large
    power = np.maximum(np.mean(y**2, axis=0), np.mean(some**2, axis=0))
    return float((np.mean(rest**2, axis=0) / np.maximum(power, 1e-300)).max())
