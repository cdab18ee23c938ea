"""Values of channels before identification: gaps and constant channels are refused, doubtful values are findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.text import list_names
from dalembert.identify.records.checks import name_record
from dalembert.identify.records.drift import measure_drift
from dalembert.record import Record


def examine_values(
    runs: Sequence[Record], inputs: Sequence[str], outputs: Sequence[str], units: Mapping[str, str], *, offsets: bool,
    strict: bool = False, drifts: str = "", steady: float = 0.2,
) -> list[Finding]:  # fmt: skip
    """Refuse gaps and constant channels; findings on values that look wrong.

    offsets, strict : whether means matter, and small ones too; drifts : how trends are removed later, or empty where
    they do not matter.
    steady : where the means of this number of blocks stay within this share of it; an input with a mean below is
    without offset
    """
    names, nu = (*inputs, *outputs), len(inputs)
    statistics = ChannelStatistics(runs, names)
    _refuse_constant(names, nu, statistics.lows, statistics.highs)
    has_offset = np.abs(statistics.means[:, :nu]) > steady * statistics.spreads[:, :nu]
    findings: list[Finding] = _find_repeated_samples(runs, names) if statistics.repeats.all() else []
    for j, name in enumerate(names):
        if statistics.repeats[j]:
            findings += _find_repeated_values(runs, name, j < nu, statistics.lows[:, j], statistics.highs[:, j])
        if drifts and j >= nu:
            findings += _find_drift(runs, name, inputs, drifts)
        if offsets and j >= nu:
            small = strict and not has_offset.any()
            findings += _find_offset(runs, name, statistics.means[:, j], statistics.spreads[:, j], small=small)
    if statistics.repeats[nu:].any():
        findings += _find_truncated(
            runs, [name for j, name in enumerate(outputs) if statistics.repeats[nu + j]], outputs
        )
    for what, columns in (("inputs", slice(0, nu)), ("outputs", slice(nu, None))):
        findings += _find_wrong_units(names[columns], units, statistics.spreads[:, columns])
        if what == "outputs":  # an input may rest in some of the tests
            findings += _find_rescaled(names[columns], statistics.spreads[:, columns])
        findings += _find_dependence(statistics.gram[columns, columns], names[columns], what)
    return findings


class ChannelStatistics:
    """Statistics of every channel from one pass over the records, in pieces.

    ``lows``, ``highs``, ``means``, ``spreads`` : (records, channels); ``repeats`` : (channels,), whether two samples
    in a row are ever equal; ``gram`` : (channels, channels), products over all records about the first sample.
    """

    def __init__(
        self, runs: Sequence[Record], names: Sequence[str], largest_value: float = 1e100, rows: int = 16_384,
        lost: float = 1e-12,
    ) -> None:  # fmt: skip
        # largest_value: largest value: the squares of larger ones overflow once they are summed and multiplied
        # rows: samples read at a time: a campaign may fill the memory
        # lost: variance over the squared mean (from the first sample) that sums of squares do not give: half of their
        # digits
        shape = len(runs), len(names)
        self.lows, self.highs = np.full(shape, np.inf), np.full(shape, -np.inf)
        self.means, self.spreads = np.empty(shape), np.empty(shape)
        self.repeats = np.zeros(len(names), dtype=bool)
        self.gram = np.zeros((len(names), len(names)))
        shift = np.zeros(len(names))
        largest = largest_value
        for k, run in enumerate(runs):
            places = [run.names.index(name) for name in names]
            sums, squares = np.zeros(len(names)), np.zeros(len(names))
            for first in range(0, len(run), rows):
                block = run.data[first : first + rows, places]
                low, high = block.min(axis=0), block.max(axis=0)
                bad = ~((low > -largest) & (high < largest))  # NaN compares as False
                if bad.any():
                    name = names[int(bad.argmax())]
                    _refuse_gaps(run[name], run.time, name, name_record(runs, k))
                self.lows[k], self.highs[k] = np.minimum(self.lows[k], low), np.maximum(self.highs[k], high)
                self.repeats |= (block[1:] == block[:-1]).any(axis=0)
                shift = block[0].copy() if first == k == 0 else shift
                block -= shift  # our own copy: picking columns by a list makes one
                gram = block.T @ block
                self.gram += gram
                sums += block.sum(axis=0)
                squares += np.diag(gram)
            mean = sums / len(run)
            self.means[k] = mean + shift
            variance = squares / len(run) - mean**2
            # lost in rounding: far from the first sample
            for j in np.flatnonzero(variance <= lost * mean**2):
                variance[j] = run[names[int(j)]].var()
            self.spreads[k] = np.where(self.highs[k] > self.lows[k], np.sqrt(variance), 0.0)


def _refuse_gaps(column: FloatArray, time: FloatArray, name: str, where: str) -> None:
    bad = ~np.isfinite(column)
    if not bad.any():
        at = int(np.abs(column).argmax())
        raise DataError(
            "out-of-range",
            f"channel {name!r} of {where} holds {column[at]:.4g} at t = {time[at]:.6g} s, which no sensor measures.",
            Advice("Repair it with {}, or look at how the file was read.", Call("da.identify.repair")),
            where={"channel": name, "time": float(time[at])},
        )
    first = float(time[int(bad.argmax())])
    raise DataError(
        "not-finite",
        f"channel {name!r} of {where} has {int(bad.sum())} samples that are not finite (gaps), the first at "
        f"t = {first:.6g} s.",
        Advice("Fill short gaps with {}.", Call("da.identify.repair")),
        Advice("Cut long ones out with {}.", Call("da.identify.trim")),
        where={"channel": name, "time": first},
    )


def _refuse_constant(
    names: Sequence[str], nu: int, lows: FloatArray, highs: FloatArray,
    constant: float = 8.0 * float(np.finfo(np.float64).eps),
) -> None:  # fmt: skip
    # constant: range over the largest value of a constant: eight roundings of a unit conversion
    low, high = lows.min(axis=0), highs.max(axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    still = high - low <= constant * size
    if still.any():
        j = int(still.argmax())
        why = "excites nothing" if j < nu else "shows no motion (a dead or unplugged sensor?)"
        raise DataError(
            "constant-channel",
            f"channel {names[j]!r} is constant ({low[j]:.6g}) and {why}. Leave it out.",
            where={"channel": names[j]},
        )


def _find_truncated(
    runs: Sequence[Record], suspects: Sequence[str], outputs: Sequence[str], stuck_samples: int = 20,
    stuck_share: float = 0.02, least_alive: float = 0.1,
) -> list[Finding]:  # fmt: skip
    """Outputs that begin late or end early: they keep one value while another output moves.

    stuck_samples, stuck_share : equal samples in a row, and their share: a crest with 100 samples per period and 8 bits
    repeats a value 4 times
    least_alive : standard deviation of another output in a stretch, relative to that of its record, by which it moves
    there
    """
    findings = []
    for name in suspects:
        for run in runs:
            column = run[name]
            moving = np.flatnonzero(column[1:] != column[:-1])
            if not len(moving):
                continue
            ends = {"begins": slice(0, int(moving[0]) + 1), "ends": slice(int(moving[-1]) + 1, None)}
            for word, still in ends.items():
                length = len(column[still])
                others = [run[output] for output in outputs if output != name]
                # they move in most of the rest: a blow reaches the sensors at different samples
                alive = any(
                    output[still].std() > least_alive * output.std()
                    and 2 * np.count_nonzero(np.diff(output[still])) > length
                    for output in others
                    if length > 1
                )
                if length >= max(stuck_samples, stuck_share * len(column)) and alive:
                    at = float(run.time[moving[0] if word == "begins" else moving[-1]])
                    problem = (
                        f"output {name!r} {word} at t = {at:.6g} s while others move: it keeps one value for "
                        f"{length} samples."
                    )
                    advice = (Advice("Cut the record there with {}.", Call("da.identify.trim")),)
                    where = {"channel": name, "time": at}
                    findings.append(Finding("truncated-channel", problem, where, {"samples": length}, advice))
    return findings


def _find_repeated_samples(
    runs: Sequence[Record], names: Sequence[str], levels: int = 8, repeated: float = 0.9,
    samples_of_levels: int = 10_000,
) -> list[Finding]:  # fmt: skip
    """A finding where every sample of all channels is repeated several times: recorded faster than measured.

    levels : different values of an output: fewer than 3 bits resolve no vibration; counted in 20 times as many samples
    repeated : share of the samples with the usual number of repetitions: all of them, except for equal values by chance
    samples_of_levels : samples in which different values are counted
    """
    run = max(runs, key=len)
    some = run.data[:samples_of_levels, [run.names.index(name) for name in names]]
    new = np.flatnonzero((some[1:] != some[:-1]).any(axis=1))
    if len(new) < levels:
        return []
    steps = np.diff(new)
    times = int(np.median(steps))
    if times < 2 or np.mean(steps == times) < repeated:
        return []
    problem = (
        f"every sample is repeated {times} times: the record was written {times} times faster than the channels "
        "were measured. Half the rate holds no motion."
    )
    advice = Advice("Keep one of each with {}.", Call("Record.resample", Argument("every", times * run.sample_time)))
    return [Finding("repeated-samples", problem, {}, {"times": times}, (advice,))]


def _find_repeated_values(
    runs: Sequence[Record], name: str, is_input: bool, low: FloatArray, high: FloatArray,
    samples_of_levels: int = 10_000, most_levels: int = 8, clipped_samples: int = 5, samples_per_level: int = 20,
    clipped_share: float = 1e-3, stuck_samples: int = 20, stuck_share: float = 0.02,
) -> list[Finding]:  # fmt: skip
    """Clipped at an extreme, stuck for a while, or of few levels.

    most_levels, samples_per_level : different values of an output: fewer than 3 bits resolve no vibration; counted in
    20 times as many samples
    clipped_samples, clipped_share : share of samples that repeat the extreme value of the channel, and their number. Of
    a Gaussian signal with 8 bits over ±4 standard deviations 4e-5 of the samples are at an extreme, alone or not.
    """
    where = {"channel": name}
    first = runs[0][name][:samples_of_levels]
    levels = np.unique(first).size
    if is_input and (levels <= most_levels or np.count_nonzero(first[1:] == first[:-1]) > 0.5 * first.size):
        return []  # a binary, stepped or mostly resting input is meant to be so
    if not is_input and levels <= most_levels and first.size > samples_per_level * most_levels:
        problem = f"output {name!r} takes only {levels} different values: its resolution is too coarse for its range."
        return [Finding("coarse-resolution", problem, where, {"levels": levels})]
    bottom, top = float(low.min()), float(high.max())
    clipped = longest = total = 0
    at = 0.0
    for run in runs:
        column = run[name]
        total += len(column)
        same = column[1:] == column[:-1]
        if not same.any():
            continue
        # a one-sided signal rests at its own extreme before it starts, and once it has died out
        rests = [float(column[end]) for end, held in ((0, same[0]), (-1, same[-1])) if held]
        for extreme in (bottom, top):
            flat = int(np.count_nonzero(same & (column[1:] == extreme)))
            if flat and extreme not in rests:
                clipped += flat
        starts, stops = find_runs(same)
        k = int((stops - starts).argmax())
        length, start = int(stops[k] - starts[k]) + 1, int(starts[k])
        if start > 0 and start + length < len(column) and length > longest:
            longest, at = length, float(run.time[start])
    if clipped >= max(clipped_samples, clipped_share * total):
        problem = (
            f"channel {name!r} looks saturated: {clipped} of {total} samples stay at its extreme values "
            f"({bottom:.6g} or {top:.6g}). Raise the range of the sensor; a linear model of clipped data is biased."
        )
        return [Finding("saturated-channel", problem, where, {"samples": clipped, "low": bottom, "high": top})]
    if not is_input and longest >= max(stuck_samples, stuck_share * total):
        problem = (
            f"output {name!r} does not change for {longest} samples from t = {at:.6g} s: a dropout that held a value?"
        )
        return [Finding("stuck-channel", problem, {**where, "time": at}, {"samples": longest})]
    return []


def find_runs(mask: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First places of the runs of True, and the places after them."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return edges[::2], edges[1::2]


def _find_offset(
    runs: Sequence[Record], name: str, means: FloatArray, spreads: FloatArray, *, small: bool, offset: float = 10.0,
    unexplained_offset: float = 1.0, steady: float = 0.2, blocks: int = 8,
) -> list[Finding]:  # fmt: skip
    # offset: |mean| / standard deviation: the offset has 99 % of the power of the channel
    # unexplained_offset: the same where no input has an offset: it has half of the power, and would be modelled by a
    # state of its own ...
    # steady, blocks: where the means of this number of blocks stay within this share of it; an input with a mean below
    # is without offset
    advice = (Advice("Use {}.", Argument("detrend", "mean")),)
    numbers = {"mean": float(means[0]), "standard_deviation": float(spreads[0])}
    if (np.abs(means) > offset * spreads).all():
        problem = (
            f"output {name!r} has a mean of {means[0]:.4g} and a standard deviation of {spreads[0]:.4g}: the offset "
            "hides the motion."
        )
        return [Finding("offset", problem, {"channel": name}, numbers, advice)]
    if small and (np.abs(means) > unexplained_offset * spreads).all():
        levels = np.array([[block.mean() for block in np.array_split(run[name], blocks)] for run in runs])
        if (levels.std(axis=1) < steady * np.abs(means)).all():
            problem = (
                f"output {name!r} has an offset: its mean is {means[0]:.4g}, its standard deviation "
                f"{spreads[0]:.4g}, and no input explains it. It takes states from the modes."
            )
            return [Finding("unexplained-offset", problem, {"channel": name}, numbers, advice)]
    return []


def _find_drift(runs: Sequence[Record], name: str, inputs: Sequence[str], detrend: str) -> list[Finding]:
    run = runs[int(np.argmax([len(run) for run in runs]))]
    share = measure_drift(run[name], [run[input_name] for input_name in inputs], linear=detrend == "linear")
    if not share:
        return []
    problem = (
        f"output {name!r} drifts: {100 * share:.0f} % of its power is a slow change of its level that no input "
        "explains. It takes states from the modes."
    )
    advice = Advice("Use {}.", Argument("detrend", "linear"), Call("da.identify.highpass"))
    return [Finding("drift", problem, {"channel": name}, {"share": share}, (advice,))]


def _find_wrong_units(
    names: Sequence[str], units: Mapping[str, str], spreads: FloatArray, unit_ratio: float = 1e6
) -> list[Finding]:
    # unit_ratio: ratio of the standard deviations of channels of one unit: a forgotten prefix micro; nodes of modes
    # give up to 1e4
    alive = [spreads[:, j][spreads[:, j] > 0.0] for j in range(len(names))]
    sizes_of: dict[str, list[tuple[float, str]]] = {}
    for name, sizes in zip(names, alive):
        if units.get(name):
            sizes_of.setdefault(units[name], []).append((float(sizes.max()), name))
    findings = []
    for unit, sizes_found in sizes_of.items():
        small, large = min(sizes_found), max(sizes_found)
        if large[0] > unit_ratio * small[0]:
            problem = (
                f"{large[1]!r} varies {large[0] / small[0]:.2g} times more than {small[1]!r}, both in [{unit}]: wrong "
                "units suspected in one of them (mm for m, g for m/s², a missing gain)?"
            )
            where, ratio = {"channel": large[1], "other": small[1]}, large[0] / small[0]
            findings.append(Finding("suspect-units", problem, where, {"ratio": ratio}))
    return findings


def _find_rescaled(names: Sequence[str], spreads: FloatArray, repeat_ratio: float = 1e4) -> list[Finding]:
    # repeat_ratio: the same of one channel in repeated tests, whose levels differ by a factor of some hundred at most
    findings = []
    for name, column in zip(names, spreads.T):
        sizes = column[column > 0.0]
        if sizes.size > 1 and sizes.max() > repeat_ratio * sizes.min():
            ratio = float(sizes.max() / sizes.min())
            problem = (
                f"channel {name!r} varies {ratio:.2g} times more in one record than in another: wrong units in one of "
                "them?"
            )
            findings.append(Finding("suspect-units", problem, {"channel": name}, {"ratio": ratio}))
    return findings


def _find_dependence(
    gram: FloatArray, names: Sequence[str], what: str, dependent: float = 1e-14, least_part: float = 0.1
) -> list[Finding]:
    """Channels that are combinations of others, up to a constant, by the eigenvalues of their correlation.

    dependent : smallest eigenvalue of the correlation matrix: 1e-7 of the size of a channel, squared; rounding leaves
    1e-15
    least_part : share of a channel in such a combination, of unit length: 1 % of its power
    """
    if len(names) < 2:
        return []
    size = np.sqrt(np.diag(gram))
    eigenvalues, vectors = np.linalg.eigh(gram / np.outer(size, size))
    if eigenvalues[0] >= dependent:
        return []
    involved = [name for name, share in zip(names, vectors[:, 0]) if abs(share) > least_part]
    why = (
        "their effects cannot be separated"
        if what == "inputs"
        else "they add no information, or there are more outputs than the order of the system allows"
    )
    problem = f"{what} {list_names(involved, {})} are linearly dependent: {why}."
    return [Finding("dependent-channels", problem, {"channels": tuple(involved)})]
