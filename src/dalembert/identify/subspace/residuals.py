"""Examination of the residuals of a model, for errors in the data it was found from.

    not-synchronous     an output fits better when shifted by some samples (``synchrony.py``), or its residual follows
                        a much earlier or later input
    undriven-motion     a mode that lasts as long as the record and that the inputs do not drive: mains hum, drift
    unexplained-output  one output has a large residual that no input explains, and others have residuals that inputs do
                        explain: it took their states, because it is not linear, not steady or not of this test
    disturbed-stretch   the residual comes from one part of the record: samples lost, an impact that was not measured
    unstable-model      the model grows far more than the record
    poor-simulation     most of an output is unexplained
    few-samples, few-periods   noise is hardly averaged

The gravest is reported. At most 2048 samples are used, so the cost does not grow with the record.

The limits are from an experiment: three-storey frame, 2048 samples; 29 good records (0.1 to 30 % noise, white force or
hammer, and a chain of 12 masses with travelling waves) against 60 damages of one of them; models of order 6 by MOESP.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.text import count_noun, list_names
from dalembert.identify.records.data import Data
from dalembert.identify.subspace.input_matrices import powers
from dalembert.identify.subspace.synchrony import (
    FARTHEST,
    LONGEST,
    TINY,
    ModelFinder,
    ShiftedOutputs,
    describe_asynchronous,
    find_asynchronous,
    find_loudest_stretch,
    regress,
    shift_outputs,
    shift_with_other_model,
)
from dalembert.linear.recursions import march
from dalembert.linear.state_space import StateSpace
from dalembert.numerics import ties


def examine_residuals(
    data: Data, system: StateSpace, find_model: ModelFinder, *, unexplained: float | None = None, rough: bool = False,
    poor: float = 0.55,
) -> list[Finding]:  # fmt: skip
    """The gravest finding on a model, or none.

    find_model : data, order -> another model; unexplained : share of the worst output that simulation leaves, computed
    where it is None; rough : whether the method of the model is less accurate than that of ``find_model``.
    poor : share of the power of an output that simulation leaves: 0.08 at most in good records (30 % noise), 0.88 with
    the input of another test; below one half the model still explains most.
    """
    shifted = shift_outputs(data, system)
    if shifted is None and (findings := find_growth(data, system)):
        return findings
    if shifted is not None:
        late = find_asynchronous(shifted, data, system.nx, find_model, rough=rough)
        if late:
            return describe_asynchronous(late, data)
        findings = (
            find_undriven_motion(shifted, data)
            or find_late_input(shifted, data, system.nx, find_model)
            or find_unexplained_output(shifted)
            or find_disturbed_stretch(shifted)
        )
        if findings:
            return findings
    share = simulation_residual(data, system) if unexplained is None else unexplained
    if share is not None and share > poor:
        return poor_simulation(share)
    return find_few_data(data, system, shifted)


def find_growth(data: Data, system: StateSpace, growth: float = 2.0) -> list[Finding]:
    """A model that grows far more than the record it was found from."""
    radius = float(np.abs(np.linalg.eigvals(system.A)).max(initial=0.0))
    k = int(np.argmax(data.lengths))
    predicted = data.lengths[k] * np.log(max(radius, 1e-300))
    eighth = max(1, data.lengths[k] // 8)
    ends_seen = [
        np.log(np.linalg.norm(ends, axis=0) + 1e-300).max() for ends in (data.y[k][:eighth], data.y[k][-eighth:])
    ]
    if predicted < growth or ends_seen[1] - ends_seen[0] > 0.5 * predicted:
        return []
    problem = (
        f"the model is unstable: largest |z| = {radius:.6f}. That is right only for a machine that a controller "
        "keeps stable; else inputs and outputs are not of one test, not synchronous, or the order does not suit."
    )
    return [Finding("unstable-model", problem, evidence={"radius": radius})]


def poor_simulation(share: float) -> list[Finding]:
    """The finding on a model that leaves this share of the power of an output."""
    problem = (
        f"simulated from its inputs, the model leaves {100 * share:.0f} % of the power of an output unexplained: the "
        "order does not suit, forces were not measured, noise hides the motion, or channels are exchanged or not "
        "synchronous. Do not trust its modes before the reason is known."
    )
    advice = Advice("Compare the clocks of the channels with {}.", Call("da.identify.delay"))
    return [Finding("poor-simulation", problem, evidence={"share": share}, advice=(advice,))]


def find_undriven_motion(
    shifted: ShiftedOutputs, data: Data, least_periods: float = 20.0, undriven_share: float = 0.03,
    undriven: float = 10.0,
) -> list[Finding]:  # fmt: skip
    """Lasting modes that no input drives.

    least_periods, undriven_share, undriven : power of a lasting mode from its initial state over that from the inputs:
    0 in good records, 7e5 with hum, 8e3 with an offset; its share of the output, the square of 17 % noise; periods that
    separate it from a slow mode.
    """
    periods = np.abs(np.angle(shifted.poles)) * len(shifted.u) / (2.0 * np.pi)
    lasting = (periods > least_periods) | (periods == 0.0)
    loose = (shifted.free > undriven * shifted.driven) & (shifted.free > undriven_share) & lasting[:, None]
    if not loose.any():
        return []
    m, j = np.unravel_index(int(np.where(loose, shifted.free, 0.0).argmax()), loose.shape)
    hertz = abs(np.angle(shifted.poles[m])) / (2.0 * np.pi * data.dt)
    what = "a drift" if hertz == 0.0 else f"a steady tone at {hertz:.4g} Hz (mains hum, a machine nearby)"
    advice = (
        Advice("Use {}.", Argument("detrend", "linear"), Call("da.identify.highpass"))
        if hertz == 0.0
        else Advice("Filter it out, or add two states for it.")
    )
    problem = (
        f"output {shifted.outputs[j]!r} holds a motion that does not decay and that no input drives, {what}. It takes "
        "states from the modes."
    )
    return [Finding("undriven-motion", problem, {"channel": shifted.outputs[j]}, {"hertz": float(hertz)}, (advice,))]


def find_unexplained_output(
    shifted: ShiftedOutputs, large: float = 0.03, explained: float = 0.15, significance: float = 20.0,
    unexplained: float = 0.05, larger: float = 3.0,
) -> list[Finding]:  # fmt: skip
    """An output that takes the states which the others need.

    large : share of an output left before it is suspected, as above.
    explained, unexplained : part of a residual that past inputs explain: below 0.01 in good records, below 0.03 of an
    output that takes states, above 0.26 of those whose states it took.
    significance : its significance in standard deviations: 2 at most in good records, 94 and more with such an output.
    larger : its share over that of the others, whose states it took: 8 and more with clipped or dead sensors.
    """
    residuals, share = shifted.rest[:, FARTHEST], shifted.shares[FARTHEST]
    if share.max() < large:
        return []
    parts, sure = _driven_parts(residuals, shifted.u)
    needy = (parts > explained) & (sure > significance)
    for i in ties.largest_first(share):
        others = needy & (share * larger < share[i])
        if share[i] > large and parts[i] < unexplained and others.any():
            problem = (
                f"output {shifted.outputs[i]!r} spoils the model: {100 * share[i]:.0f} % of its power is driven by no "
                f"input, while {list_names([shifted.outputs[j] for j in np.flatnonzero(others)], {})} has residuals "
                "that inputs do drive. The sensor is dead, noisy, clipped or jumps, has another clock, or a larger "
                "order is needed. Leave the output out and compare."
            )
            where, numbers = {"channel": shifted.outputs[i]}, {"share": float(share[i])}
            return [Finding("unexplained-output", problem, where, numbers)]
    return []


def _driven_parts(rest: FloatArray, u: FloatArray, lags_back: int = 30) -> tuple[FloatArray, FloatArray]:
    """Part of every residual that the latest inputs explain, beyond chance, and its significance, (ny,).

    lags_back : samples of past inputs that are tested for an effect on a residual
    """
    back = min(lags_back, max(1, len(u) // (8 * u.shape[1])))
    M = np.hstack([u[back - k : len(u) - k] for k in range(back + 1)])
    parts, significance = regress(rest[back:], M)
    return parts - M.shape[1] / (len(rest) - back), significance


def find_late_input(
    shifted: ShiftedOutputs, data: Data, order: int, find_model: ModelFinder, noise: float = 1e-6,
    largest_lag: int = 256, large: float = 0.03, late_input: float = 0.2,
) -> list[Finding]:  # fmt: skip
    """A residual that follows a much later input, or an output that responds at once after a long silence.

    The silence counts also where the residual is small: a model of many states contains a delay, with wrong modes.

    noise : share of an output that counts as noise: 0.1 % of its amplitude.
    largest_lag : samples
    late_input : correlation of a residual with a later input: below 0.09 in good records, above 0.29 with a channel 20
    or 40 samples early.
    """
    residuals, share = shifted.rest[:, FARTHEST], shifted.shares[FARTHEST]
    if share.max() < noise:
        return []
    lags = min(largest_lag, len(residuals) // 4)
    tried = False
    for q, name in enumerate(data.inputs):
        u = _whiten(shifted.u[:, q])
        response = _correlate(shifted.y, u, lags)
        follows = _correlate(residuals, u, lags) if share.max() >= large else np.zeros_like(response)
        onsets = [_find_onset(response[lags:, i], len(residuals)) for i in range(data.ny)]
        silent = all(late is None or late > 2 * FARTHEST for late in onsets)  # it is the input that is early
        for i in ties.largest_first(share):
            k = int(np.abs(follows[:, i]).argmax()) - lags if share[i] >= large else 0
            late = onsets[i] or 0
            if k < -2 * FARTHEST and abs(follows[k + lags, i]) > late_input:
                how, word = -k, "before"
            elif late > 2 * FARTHEST and not tried:
                tried = True  # once: every trial is a model
                moved = _delay_input(data, q, late) if silent else _advance_output(data, int(i), late)
                if not _improves(moved, int(i), order, find_model, float(share[i])):
                    continue
                how, word = late, "after"
            else:
                continue
            problem = (
                f"channels are not synchronous: output {shifted.outputs[i]!r} responds about "
                f"{count_noun(how, 'sample')} ({how * data.dt:.4g} s) {word} {name!r}."
            )
            where = {"channel": shifted.outputs[i], "input": name}
            advice = (
                Advice("Compare the clocks with {}.", Call("da.identify.delay"), Call("da.identify.synchronise")),
                Advice("Correct them with {}.", Call("da.identify.shift"), Argument("delays")),
            )
            numbers = {"samples": how if word == "after" else -how}
            return [Finding("not-synchronous", problem, where, numbers, advice)]
    return []


def _delay_input(data: Data, place: int, late: int) -> Data:
    """The records that are long enough, with one input delayed."""
    long = [k for k, count in enumerate(data.lengths) if count > 2 * late]
    u = [data.u[k][late:].copy() for k in long]
    for signal, k in zip(u, long, strict=True):
        signal[:, place] = data.u[k][:-late, place]
    return data.replace(u=tuple(u), y=tuple(data.y[k][late:] for k in long))


def _advance_output(data: Data, place: int, late: int) -> Data:
    """The records that are long enough, with one output earlier."""
    long = [k for k, count in enumerate(data.lengths) if count > 2 * late]
    y = [data.y[k][:-late].copy() for k in long]
    for signal, k in zip(y, long, strict=True):
        signal[:, place] = data.y[k][late:, place]
    return data.replace(u=tuple(data.u[k][:-late] for k in long), y=tuple(y))


def _improves(moved: Data, place: int, order: int, find_model: ModelFinder, left: float, improved: float = 0.5) -> bool:
    """Whether a model of the same order explains an output far better in shifted data: one of waves does not.

    improved : residual with the delay removed over that without: a model of waves does not improve.
    """
    shifted = shift_with_other_model(moved, find_model, order)
    return shifted is not None and bool(shifted.shares[FARTHEST, place] < improved * left)


def _correlate(y: FloatArray, u: FloatArray, lags: int) -> FloatArray:
    """Correlations of y(k) with u(k - l), l = -lags ... lags, (2·lags + 1, ny); u of unit power."""
    size = scipy.fft.next_fast_len(2 * len(y), real=True)
    S = scipy.fft.rfft(y - y.mean(axis=0), size, axis=0) * scipy.fft.rfft(u, size).conj()[:, None]
    r = scipy.fft.irfft(S, size, axis=0)
    r = np.concatenate([r[-lags:], r[: lags + 1]])
    result: FloatArray = r / np.sqrt(np.maximum((y**2).sum(axis=0), 1e-300) * len(y))
    return result


def _find_onset(r: FloatArray, count: int, chance: float = 4.5, onset: float = 0.5) -> int | None:
    """The lag at which a response begins, if it begins at once; 0 where it rises slowly, as waves do; None where noise
    hides it.

    chance : standard deviations of a correlation: one in 150 000 by chance; over 256 lags one in 600.
    onset : size of a response at its first lag relative to its largest, if it begins at once; waves begin smoothly.
    """
    size = np.abs(r)
    clear = np.flatnonzero(size > chance / np.sqrt(count))
    if not len(clear):
        return None
    return int(clear[0]) if size[clear[0]] > onset * size.max() else 0


def _whiten(u: FloatArray) -> FloatArray:
    """An input of unit power with a flat spectrum, within its band."""
    U = scipy.fft.rfft(u - u.mean())
    power = np.abs(U) ** 2
    smooth = np.convolve(power, np.ones(9) / 9.0, mode="same")
    U = U / np.sqrt(np.maximum(smooth, max(1e-4 * smooth.max(), 1e-300)))  # an input may rest in this stretch
    white: FloatArray = scipy.fft.irfft(U, len(u))
    return white / max(float(np.sqrt(np.mean(white**2))), 1e-300)


def find_disturbed_stretch(
    shifted: ShiftedOutputs, stretch_share: float = 0.1, steady_level: float = 2.0, stretch: float = 4.5,
    unexplained: float = 0.05, parts: int = 16,
) -> list[Finding]:  # fmt: skip
    """A part of the record with a far larger residual than the others, which inputs do not explain.

    stretch_share : where the residual is at least this share of the output.
    steady_level : largest ratio of the levels of the inputs in these parts: beyond, residuals follow the level.
    stretch : residual power of one of the parts over their median: 1.5 at most in good records, 3.9 at most with other
    damages than drift that leave that much, 5.2 and more with lost samples and dropouts ...
    parts : of a record
    """
    residuals, share = shifted.rest[:, FARTHEST], shifted.shares[FARTHEST]
    if len(residuals) < 8 * parts or share.max() < stretch_share:
        return []
    size = np.array([(stretch_of**2).mean(axis=0) for stretch_of in np.array_split(residuals, parts)])
    level = np.array([np.median(np.abs(stretch_of), axis=0) for stretch_of in np.array_split(shifted.u, parts)]).mean(
        axis=1
    )
    if level.max() > steady_level * level.min():
        return []  # not a steady test: the residual follows the level
    ratio = size.max(axis=0) / np.maximum(np.median(size, axis=0), 1e-300)
    i = int(np.where(share > stretch_share, ratio, 0.0).argmax())
    if ratio[i] < stretch or _driven_parts(residuals, shifted.u)[0][i] > unexplained:
        return []
    problem = (
        f"the residual of output {shifted.outputs[i]!r} ({100 * share[i]:.0f} % of its power) comes mostly from one "
        "stretch of the record: samples lost, a disturbance that was not measured, or a sensor that failed for a "
        "while."
    )
    advice = Advice("Look at the residuals, and cut the record there with {}.", Call("da.identify.cut"))
    where, numbers = {"channel": shifted.outputs[i]}, {"share": float(share[i])}
    return [Finding("disturbed-stretch", problem, where, numbers, (advice,))]


def find_few_data(
    data: Data, system: StateSpace, shifted: ShiftedOutputs | None, noise: float = 1e-6, few: float = 5.0,
    few_periods: float = 6.0, damped: float = 0.2,
) -> list[Finding]:  # fmt: skip
    """Few samples, or few periods of the slowest mode, with noise that must be averaged out.

    few : numbers per unknown: a standard deviation of residuals is then known to 35 %.
    few_periods, damped : periods of a mode: its damping scatters by 1/√(4π ζ periods) of itself, 80 % at six periods
    and ζ = 2 %; and the damping ratio beyond which a mode has no periods to count.
    """
    unexplained = simulation_residual(data, system) if shifted is None else float(shifted.shares[FARTHEST].max())
    if unexplained is None or unexplained < noise:
        return []
    unknowns = system.nx * (data.nu + data.ny) + data.nu * data.ny
    if data.samples * data.ny < few * unknowns:
        problem = (
            f"{data.samples} samples of {count_noun(data.ny, 'output')} are few for the {unknowns} unknowns of order "
            f"{system.nx}, with noise: damping is uncertain. Measure longer, or use a lower order."
        )
        return [Finding("few-samples", problem, evidence={"samples": data.samples, "unknowns": unknowns})]
    values = np.linalg.eigvals(system.A).astype(np.complex128)
    rates = np.log(values[values.imag > 0.0]) / data.dt
    hertz = np.abs(rates[-rates.real < damped * np.abs(rates)]) / (2.0 * np.pi)
    if not len(hertz) or hertz.min() * data.duration > few_periods:
        return []
    periods = float(hertz.min()) * data.duration
    problem = (
        f"the record has {periods:.1f} periods of the slowest mode ({hertz.min():.4g} Hz): with noise its damping is "
        "a guess. Measure longer, or add records of repeated tests."
    )
    return [Finding("few-periods", problem, evidence={"periods": periods, "hertz": float(hertz.min())})]


def simulation_residual(data: Data, system: StateSpace, growth: float = 2.0) -> float | None:
    """Share of the worst output that simulation leaves, with free initial states; None for unstable models."""
    values = np.linalg.eigvals(system.A).astype(np.complex128)
    u, y = find_loudest_stretch(data, LONGEST)
    if not data.nu or not len(values) or len(u) * np.log(np.abs(values).max(initial=TINY)) > growth:
        return None
    residual = y - march(system.A, (u @ system.B.T)[:-1], np.zeros(system.nx)) @ system.C.T - u @ system.D.T
    poles = values[values.imag >= 0.0]
    free = powers(poles, len(u))
    columns = np.hstack([free.real, free.imag[:, poles.imag > 0.0]])
    gram = columns.T @ columns
    gram += 1e-12 * np.trace(gram) * np.eye(len(gram))
    residual = residual - columns @ scipy.linalg.solve(gram, columns.T @ residual, assume_a="pos", check_finite=False)
    longest_run = data.y[int(np.argmax(data.lengths))]
    some = longest_run[:: max(1, len(longest_run) // 8192)]  # the output may be small where the input is large
    power = np.maximum(np.mean(y**2, axis=0), np.mean(some**2, axis=0))
    return float((np.mean(residual**2, axis=0) / np.maximum(power, 1e-300)).max())
