"""Values of channels before identification: gaps and constant channels are refused, doubtful values are findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.rules import rule
from dalembert.core.text import list_names
from dalembert.identify.records.checks import name_record
from dalembert.identify.records.drift import measure_drift
from dalembert.record import Record

WHY = {
    "inputs": "their effects cannot be separated",
    "outputs": "they add no information, or there are more outputs than the order of the system allows",
}


def count_levels(column: FloatArray) -> float:
    """Different values of a channel: fewer than 3 bits resolve no vibration."""
    return np.unique(column).size


def share_at_extremes(held: HeldSamples, total: int, fewest: int = 5000) -> tuple[float, dict[str, Any]]:
    """Samples that stay at an extreme value, as a share of the record, or of the fewest that tell.

    Of a Gaussian signal with 8 bits over ±4 standard deviations 4e-5 of the samples are at an extreme, alone or not.
    """
    return held.clipped / max(total, fewest), {
        "samples": held.clipped, "total": total, "low": held.low, "high": held.high,
    }  # fmt: skip


def share_held(held: HeldSamples, total: int, fewest: int = 1000) -> tuple[float, dict[str, Any]]:
    """Longest run of equal samples over the record: a crest of 100 samples per period and 8 bits repeats 4 times."""
    return held.longest / max(total, fewest), {"samples": held.longest}


def mean_over_deviation(means: FloatArray, spreads: FloatArray) -> tuple[float, dict[str, Any]]:
    """|mean| / standard deviation in the record where it is least."""
    least = np.min(np.abs(means) / np.maximum(spreads, 1e-200))
    return float(least), {"mean": float(means[0]), "standard_deviation": float(spreads[0])}


def ratio_of_sizes(sizes: FloatArray, unit: str = "") -> tuple[float, dict[str, Any]]:
    """Largest over smallest standard deviation."""
    ratio = float(sizes.max() / sizes.min())
    return ratio, {"ratio": ratio, "unit": unit}


def smallest_correlation(
    gram: FloatArray, names: Sequence[str], what: str, least_part: float = 0.1
) -> tuple[float, dict[str, Any]]:
    """Smallest eigenvalue of the correlation of channels, and the channels of its combination.

    least_part : share of a channel in a combination of unit length: 1 % of its power
    """
    size = np.sqrt(np.diag(gram))
    eigenvalues, vectors = np.linalg.eigh(gram / np.outer(size, size))
    involved = tuple(name for name, share in zip(names, vectors[:, 0]) if abs(share) > least_part)
    return float(eigenvalues[0]), {
        "channels": involved, "listed": list_names(involved, {}), "what": what, "why": WHY[what],
    }  # fmt: skip


def share_of_repetitions(changes: NDArray[np.intp], fewest: int = 8) -> tuple[float, dict[str, Any]]:
    """Share of the changes that are as far apart as usual, where these are two samples or more."""
    steps = np.diff(changes)
    times = int(np.median(steps)) if len(changes) >= fewest else 1
    return float(np.mean(steps == times)) if times > 1 else 0.0, {"times": times}


SATURATED = rule(
    "saturated-channel", share_at_extremes, above=0.99999e-3, edge=(0.998e-3, 1e-3),
    problem="channel {channel!r} looks saturated: {samples} of {total} samples stay at its extreme values ({low:.6g} "
    "or {high:.6g}). Raise the range of the sensor; a linear model of clipped data is biased.",
)  # fmt: skip
STUCK = rule(
    "stuck-channel", share_held, above=0.0199999, edge=(0.01995, 0.02),
    problem="output {channel!r} does not change for {samples} samples from t = {time:.6g} s: a dropout that held a "
    "value?",
)  # fmt: skip
COARSE = rule(
    "coarse-resolution", count_levels, below=8.5, edge=(9, 8),
    problem="output {channel!r} takes only {value} different values: its resolution is too coarse for its range.",
)  # fmt: skip
OFFSET = rule(  # the offset has 99 % of the power of the channel
    "offset", mean_over_deviation, above=10.0, edge=(9.9, 10.1),
    advice=[Advice("Use {}.", Argument("detrend", "mean"))],
    problem="output {channel!r} has a mean of {mean:.4g} and a standard deviation of {standard_deviation:.4g}: the "
    "offset hides the motion.",
)  # fmt: skip
UNEXPLAINED_OFFSET = rule(  # it has half of the power, and would be modelled by a state of its own
    "unexplained-offset", mean_over_deviation, above=1.0, edge=(0.99, 1.01), advice=OFFSET.advice,
    problem="output {channel!r} has an offset: its mean is {mean:.4g}, its standard deviation "
    "{standard_deviation:.4g}, and no input explains it. It takes states from the modes.",
)  # fmt: skip
UNITS = rule(  # a forgotten prefix micro; nodes of modes give up to 1e4
    "suspect-units", ratio_of_sizes, above=1e6, edge=(0.99e6, 1.01e6),
    problem="{channel!r} varies {ratio:.2g} times more than {other!r}, both in [{unit}]: wrong units suspected in one "
    "of them (mm for m, g for m/s², a missing gain)?",
)  # fmt: skip
RESCALED = rule(  # levels of repeated tests differ by a factor of some hundred at most
    "suspect-units", ratio_of_sizes, above=1e4, edge=(0.99e4, 1.01e4),
    problem="channel {channel!r} varies {ratio:.2g} times more in one record than in another: wrong units in one of "
    "them?",
)  # fmt: skip
DEPENDENT = rule(  # 1e-7 of the size of a channel, squared; rounding leaves 1e-15
    "dependent-channels", smallest_correlation, below=1e-14, edge=(1.1e-14, 0.9e-14),
    problem="{what} {listed} are linearly dependent: {why}.",
)  # fmt: skip
REPEATED = rule(  # all of them, except for equal values by chance
    "repeated-samples", share_of_repetitions, above=0.89999, edge=(0.899, 0.9),
    problem="every sample is repeated {times} times: the record was written {times} times faster than the channels "
    "were measured. Half the rate holds no motion.",
)  # fmt: skip


def examine_values(
    runs: Sequence[Record], inputs: Sequence[str], outputs: Sequence[str], units: Mapping[str, str], *, offsets: bool,
    strict: bool = False, drifts: str = "", steady: float = 0.2,
) -> list[Finding]:  # fmt: skip
    """Refuse gaps and constant channels; findings on values that look wrong.

    offsets, strict : whether means matter, and small ones too; drifts : how trends are removed later, or empty where
    they do not matter.
    steady : an input with a mean below this share of its deviation is without offset
    """
    names, nu = (*inputs, *outputs), len(inputs)
    statistics = ChannelStatistics(runs, names)
    means, spreads, gram = statistics.means, statistics.spreads, statistics.gram
    _refuse_constant(names, nu, statistics.lows, statistics.highs)
    has_offset = np.abs(means[:, :nu]) > steady * spreads[:, :nu]
    findings: list[Finding | None] = [_examine_rate(runs, names)] if statistics.repeats.all() else []
    for j, name in enumerate(names):
        if statistics.repeats[j]:
            findings.append(_examine_repeated(runs, name, j < nu, statistics.lows[:, j], statistics.highs[:, j]))
        if drifts and j >= nu:
            findings += _find_drift(runs, name, inputs, drifts)
        if offsets and j >= nu:
            small = strict and not has_offset.any() and _is_steady(runs, name, means[:, j])
            findings.append(OFFSET.judge(means[:, j], spreads[:, j], channel=name) or (
                UNEXPLAINED_OFFSET.judge(means[:, j], spreads[:, j], channel=name) if small else None))  # fmt: skip
    if statistics.repeats[nu:].any():
        findings += _find_truncated(
            runs, [name for j, name in enumerate(outputs) if statistics.repeats[nu + j]], outputs
        )
    for what, columns in (("inputs", slice(0, nu)), ("outputs", slice(nu, None))):
        findings += _examine_units(names[columns], units, spreads[:, columns])
        if what == "outputs":  # an input may rest in some of the tests
            sizes = {name: column[column > 0.0] for name, column in zip(names[columns], spreads[:, columns].T)}
            findings += [RESCALED.judge(size, channel=name) for name, size in sizes.items() if size.size > 1]
        if len(names[columns]) > 1:
            findings.append(DEPENDENT.judge(gram[columns, columns], names[columns], what))
    return [finding for finding in findings if finding is not None]


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


def _examine_rate(runs: Sequence[Record], names: Sequence[str], most: int = 10_000) -> Finding | None:
    """A finding where every sample of all channels is repeated several times: recorded faster than measured."""
    run = max(runs, key=len)
    some = run.data[:most, [run.names.index(name) for name in names]]
    finding = REPEATED.judge(np.flatnonzero((some[1:] != some[:-1]).any(axis=1)))
    if finding is None:
        return None
    every = Argument("every", finding.evidence["times"] * run.sample_time)
    return replace(finding, advice=(Advice("Keep one of each with {}.", Call("Record.resample", every)),))


class HeldSamples(NamedTuple):
    """Samples of a channel that repeat the one before: at an extreme value, and the longest run inside a record."""

    clipped: int
    low: float
    high: float
    longest: int
    time: float


def _examine_repeated(
    runs: Sequence[Record], name: str, is_input: bool, lows: FloatArray, highs: FloatArray, some: int = 10_000,
    fewest: int = 160,
) -> Finding | None:  # fmt: skip
    """Clipped at an extreme, stuck for a while, or of few levels, which are counted in 20 samples for each at least."""
    first = runs[0][name][:some]
    coarse = COARSE.judge(first, channel=name)
    if is_input and (coarse or np.count_nonzero(first[1:] == first[:-1]) > 0.5 * first.size):
        return None  # a binary, stepped or mostly resting input is meant to be so
    if not is_input and coarse and first.size > fewest:
        return coarse
    held, total = _find_held(runs, name, float(lows.min()), float(highs.max())), sum(map(len, runs))
    saturated = SATURATED.judge(held, total, channel=name)
    return saturated or (None if is_input else STUCK.judge(held, total, channel=name, time=held.time))


def _find_held(runs: Sequence[Record], name: str, low: float, high: float) -> HeldSamples:
    clipped = longest = 0
    at = 0.0
    for run in runs:
        column = run[name]
        same = column[1:] == column[:-1]
        if not same.any():
            continue
        # a one-sided signal rests at its own extreme before it starts, and once it has died out
        rests = [float(column[end]) for end, held in ((0, same[0]), (-1, same[-1])) if held]
        clipped += sum(int(np.count_nonzero(same & (column[1:] == x))) for x in (low, high) if x not in rests)
        starts, stops = find_runs(same)
        k = int((stops - starts).argmax())
        length, start = int(stops[k] - starts[k]) + 1, int(starts[k])
        if start > 0 and start + length < len(column) and length > longest:
            longest, at = length, float(run.time[start])
    return HeldSamples(clipped, low, high, longest, at)


def find_runs(mask: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First places of the runs of True, and the places after them."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return edges[::2], edges[1::2]


def _is_steady(runs: Sequence[Record], name: str, means: FloatArray, blocks: int = 8, share: float = 0.2) -> bool:
    """Whether the means of this number of blocks stay within this share of that of the record."""
    levels = np.array([[block.mean() for block in np.array_split(run[name], blocks)] for run in runs])
    return bool((levels.std(axis=1) < share * np.abs(means)).all())


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


def _examine_units(names: Sequence[str], units: Mapping[str, str], spreads: FloatArray) -> list[Finding | None]:
    """Channels of one unit whose sizes are far apart."""
    sizes_of: dict[str, list[tuple[float, str]]] = {}
    for name, sizes in zip(names, spreads.T):
        if units.get(name):
            sizes_of.setdefault(units[name], []).append((float(sizes[sizes > 0.0].max()), name))
    ends = [(unit, min(sizes), max(sizes)) for unit, sizes in sizes_of.items()]
    return [UNITS.judge(np.array([small, large]), unit, channel=name, other=other)
            for unit, (small, other), (large, name) in ends]  # fmt: skip
