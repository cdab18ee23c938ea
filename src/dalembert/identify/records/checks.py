"""What identification refuses in records, and what it warns of; every message names channel, place and remedy."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.core.errors import DalembertWarning, DataError
from dalembert.core.text import listed
from dalembert.identify.records.drift import drift_share
from dalembert.record import Record

FloatArray = NDArray[np.float64]

# Sample times of repeated tests may differ by what a logger rounds.
SAME_STEP = 1e-4
FEWEST = 8
# Beyond this, squares overflow; nothing that was measured is as large.
LARGEST = 1e100
# A channel that sits this share of its samples, in runs, at its own extreme value is taken as clipped.
CLIPPED_SHARE = 1e-3
CLIPPED_FEWEST = 5
STUCK_FEWEST = 20
STUCK_SHARE = 0.02
# Below this many levels an output has the resolution of a switch; looked for in so many samples.
LEVELS = 8
LOOKED_AT = 10_000
# |mean| / standard deviation above which an offset (gravity, a bias voltage) hides the motion.
OFFSET = 10.0
# The same where no input has an offset that could be its cause, if it stays so from block to block of the record.
UNCAUSED = 1.0
STEADY = 0.2
BLOCKS = 8
# Channels of one unit, and one channel in repeated tests, further apart than this are in other units than they say.
SAME_UNIT_RATIO = 1e6
REPEATED_RATIO = 1e4
# Smallest eigenvalue of the correlation of channels: squares, so 1e-7 of their size, well above rounding.
DEPENDENT = 1e-14
ROWS = 16_384


class IdentificationWarning(DalembertWarning):
    """The data allow a model, but something about them makes it doubtful."""


def warn(message: str) -> None:
    """Say it with the place of the call, four frames up: the user's, read_data, values, check."""
    warnings.warn(message, IdentificationWarning, stacklevel=5)


# ---- refused


def record_list(records: Any) -> tuple[Record, ...]:
    """One record or several, as a tuple; nothing else."""
    runs = (records,) if isinstance(records, Record) else records
    if isinstance(runs, (str, Mapping)) or not isinstance(runs, Iterable):
        raise DataError(f"identification needs a Record or a sequence of Records, got {type(records).__name__}.")
    runs = tuple(runs)
    if not runs:
        raise DataError("identification needs at least one Record; the sequence is empty.")
    for k, run in enumerate(runs):
        if not isinstance(run, Record):
            raise DataError(f"identification needs Records; element {k} of the sequence is a {type(run).__name__}.")
        if any(run is other for other in runs[:k]):
            raise DataError(f"{label(runs, k)} is given twice; repeated tests must be different records.")
    return runs


def label(runs: Sequence[Record], k: int) -> str:
    """``"record 2 'hammer'"``; ``"the record"`` where there is one without a name."""
    name = f" {runs[k].name!r}" if runs[k].name else ""
    return f"record {k + 1}{name}" if len(runs) > 1 else f"record{name}" if name else "the record"


def channels(
    runs: Sequence[Record], inputs: str | Iterable[str], outputs: str | Iterable[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the inputs and outputs, stems spelled out; the same in all records."""
    names_in = _expanded(runs, inputs if inputs is not None else (), "inputs")
    if outputs is None:
        names_out = tuple(name for name in runs[0].names if name not in names_in)
    else:
        names_out = _expanded(runs, outputs, "outputs")
    if not names_out:
        raise DataError(
            f"there is no output channel: all of {listed(runs[0].names, {})} are inputs, or none was named."
        )
    both = sorted(set(names_in) & set(names_out))
    if both:
        raise DataError(f"{listed(both, {})} cannot be input and output at once; a channel drives or answers.")
    for k, run in enumerate(runs):
        for name in (*names_in, *names_out):
            if name not in run.names:
                raise DataError(
                    f"{label(runs, k)} has no channel {name!r}, which record 1 has. Repeated tests need the same "
                    f"channels; known here: {listed(run.names, {})}."
                )
    return names_in, names_out


def _expanded(runs: Sequence[Record], wanted: Any, what: str) -> tuple[str, ...]:
    given = (wanted,) if isinstance(wanted, str) else wanted
    if not isinstance(given, Iterable):
        raise DataError(f"{what} must be channel names, got {wanted!r}.")
    names: list[str] = []
    for name in given:
        if not isinstance(name, str):
            raise DataError(f"{what} must be channel names, got {name!r}. Known: {listed(runs[0].names, {})}.")
        names += runs[0].expand(name)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"{listed(twice, {})} named twice in {what}.")
    return tuple(names)


def sample_time(runs: Sequence[Record]) -> float:
    """Sample time [s] of all records; uneven time and different rates are refused."""
    steps = []
    for k, run in enumerate(runs):
        try:
            steps.append(run.sample_time)
        except DataError as error:
            place = f"{label(runs, k)}: " if len(runs) > 1 else ""
            raise DataError(f"{place}{error} Identification needs samples at equal distances in time.") from error
    for k, step in enumerate(steps):
        if abs(step - steps[0]) > SAME_STEP * steps[0]:
            raise DataError(
                f"{label(runs, k)} is sampled every {step:.6g} s, record 1 every {steps[0]:.6g} s. Bring them to one "
                f"rate first: record.resample(every={max(steps):.6g}), or identify.decimate."
            )
    return float(np.mean(steps))


def common_units(runs: Sequence[Record], names: Sequence[str]) -> dict[str, str]:
    """Units by name; one channel in two units is refused."""
    units: dict[str, str] = {}
    for k, run in enumerate(runs):
        own = run.units
        for name in names:
            unit = own[name]
            if units.setdefault(name, unit) != unit:
                raise DataError(
                    f"{name!r} is in [{unit}] in {label(runs, k)} and in [{units[name]}] in record 1. Convert one."
                )
    return units


def lengths(runs: Sequence[Record], count: int) -> None:
    """Refuse fewer samples than any model of so many channels needs."""
    needed = max(FEWEST, 2 * count)
    for k, run in enumerate(runs):
        if len(run) < needed:
            raise DataError(
                f"{label(runs, k)} has {len(run)} samples, too few for {count} channels: at least {needed} are needed, "
                "and some hundred for a trustworthy model."
            )


def order(wanted: int, nu: int, ny: int, samples: int) -> None:
    """Refuse an impossible model order; warn where outputs outnumber what the order can tell apart."""
    if isinstance(wanted, bool) or not isinstance(wanted, (int, np.integer)) or wanted < 1:
        raise DataError(f"the order must be a whole number from 1 on, got {wanted!r}.")
    unknowns = wanted * (nu + ny) + nu * ny  # of a canonical form with that order
    if samples * ny < unknowns + ny:
        raise DataError(
            f"a model of order {wanted} has {unknowns} unknowns, more than {samples} samples of {ny} outputs can tell. "
            "Lower the order or measure longer."
        )
    if ny > wanted + nu:
        warnings.warn(
            f"{ny} outputs are more than order {wanted} allows: with {nu} inputs only {wanted + nu} of them can be "
            "independent. Raise the order, or leave outputs out.",
            IdentificationWarning,
            stacklevel=4,
        )


# ---- looked at, channel by channel


def values(
    runs: Sequence[Record], inputs: Sequence[str], outputs: Sequence[str], units: Mapping[str, str], *, offsets: bool,
    strict: bool = False, warned: bool = True, drifts: str = "",
) -> None:  # fmt: skip
    """Refuse gaps and dead channels, warn of what looks wrong in the numbers.

    offsets, strict : whether means matter, and small ones too; drifts : how trends are taken off later, or empty where
    they do not matter.
    """
    names = (*inputs, *outputs)
    seen = Seen(runs, names)
    _refuse_constant(names, len(inputs), seen.lows, seen.highs)
    if not warned:
        return
    driven = np.abs(seen.means[:, : len(inputs)]) > STEADY * seen.spreads[:, : len(inputs)]
    for j, name in enumerate(names):
        if seen.repeats[j]:
            _warn_of_form(runs, name, j < len(inputs), seen.lows[:, j], seen.highs[:, j])
        if drifts and j >= len(inputs):
            _warn_of_drift(runs, name, inputs, drifts)
        if offsets and j >= len(inputs):
            _warn_of_offset(runs, name, seen.means[:, j], seen.spreads[:, j], small=strict and not driven.any())
    for what, part in (("inputs", slice(0, len(inputs))), ("outputs", slice(len(inputs), None))):
        _warn_of_units(names[part], units, seen.spreads[:, part])
        if what == "outputs":  # an input may rest in some of the tests
            _warn_of_repeats(names[part], seen.spreads[:, part])
        _warn_of_dependence(seen.gram[part, part], names[part], what)


class Seen:
    """What one pass over the records shows of every channel, in pieces: a campaign may fill the memory.

    ``lows``, ``highs``, ``means``, ``spreads`` : (records, channels); ``repeats`` : (channels,), whether two samples
    in a row are ever equal; ``gram`` : (channels, channels), products over all records about the first sample.
    """

    def __init__(self, runs: Sequence[Record], names: Sequence[str]) -> None:
        shape = len(runs), len(names)
        self.lows, self.highs = np.full(shape, np.inf), np.full(shape, -np.inf)
        self.means, self.spreads = np.empty(shape), np.empty(shape)
        self.repeats = np.zeros(len(names), dtype=bool)
        self.gram = np.zeros((len(names), len(names)))
        shift = np.zeros(len(names))
        for k, run in enumerate(runs):
            places = [run.names.index(name) for name in names]
            sums, squares = np.zeros(len(names)), np.zeros(len(names))
            for first in range(0, len(run), ROWS):
                part = run.data[first : first + ROWS, places]
                low, high = part.min(axis=0), part.max(axis=0)
                bad = ~((low > -LARGEST) & (high < LARGEST))  # NaN compares as False
                if bad.any():
                    name = names[int(bad.argmax())]
                    _refuse_gaps(run[name], run.time, name, label(runs, k))
                self.lows[k], self.highs[k] = np.minimum(self.lows[k], low), np.maximum(self.highs[k], high)
                self.repeats |= (part[1:] == part[:-1]).any(axis=0)
                shift = part[0].copy() if first == k == 0 else shift
                part -= shift  # our own copy: picking columns by a list makes one
                gram = part.T @ part
                self.gram += gram
                sums += part.sum(axis=0)
                squares += np.diag(gram)
            mean = sums / len(run)
            self.means[k] = mean + shift
            variance = squares / len(run) - mean**2
            for j in np.flatnonzero(variance <= 1e-12 * mean**2):  # lost in rounding: far from the first sample
                variance[j] = run[names[int(j)]].var()
            self.spreads[k] = np.where(self.highs[k] > self.lows[k], np.sqrt(variance), 0.0)


def _refuse_gaps(column: FloatArray, time: FloatArray, name: str, where: str) -> None:
    bad = ~np.isfinite(column)
    if not bad.any():
        at = int(np.abs(column).argmax())
        raise DataError(
            f"channel {name!r} of {where} holds {column[at]:.4g} at t = {time[at]:.6g} s: no measured number. Repair "
            "it with identify.repair, or look at how the file was read."
        )
    raise DataError(
        f"channel {name!r} of {where} has {int(bad.sum())} samples that are not finite (gaps), the first at "
        f"t = {time[int(bad.argmax())]:.6g} s. Fill short ones with identify.repair, cut long ones with identify.trim."
    )


def _refuse_constant(names: Sequence[str], nu: int, lows: FloatArray, highs: FloatArray) -> None:
    low, high = lows.min(axis=0), highs.max(axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    still = high - low <= 8.0 * np.finfo(np.float64).eps * size
    if still.any():
        j = int(still.argmax())
        why = "excites nothing" if j < nu else "says nothing of the motion (a dead or unplugged sensor?)"
        raise DataError(f"channel {names[j]!r} is constant ({low[j]:.6g}) and {why}. Leave it out.")


def _warn_of_form(runs: Sequence[Record], name: str, is_input: bool, low: FloatArray, high: FloatArray) -> None:
    """Clipped at an extreme, stuck for a while, or of few levels."""
    first = runs[0][name][:LOOKED_AT]
    levels = np.unique(first).size
    if is_input and (levels <= LEVELS or np.count_nonzero(first[1:] == first[:-1]) > 0.5 * first.size):
        return  # a binary, stepped or mostly resting input is meant to be so
    if not is_input and levels <= LEVELS and first.size > 20 * LEVELS:
        warn(f"output {name!r} takes only {levels} different values: its resolution is too coarse for its range.")
        return
    bottom, top = low.min(), high.max()
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
        length, start = longest_run(same)
        if start > 0 and start + length < len(column) and length > longest:
            longest, at = length, float(run.time[start])
    if clipped >= max(CLIPPED_FEWEST, CLIPPED_SHARE * total):
        warn(
            f"channel {name!r} looks saturated: {clipped} of {total} samples stay at its extreme values "
            f"({bottom:.6g} or {top:.6g}). Raise the range of the sensor; a linear model of clipped data is biased."
        )
    elif not is_input and longest >= max(STUCK_FEWEST, STUCK_SHARE * total):
        warn(f"output {name!r} does not change for {longest} samples from t = {at:.6g} s: a dropout that held a value?")


def longest_run(same: NDArray[np.bool_]) -> tuple[int, int]:
    """Samples and start of the longest run of equal samples; ``same[k]`` says that k and k+1 are equal."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
    runs = edges[1::2] - edges[::2]
    k = int(runs.argmax())
    return int(runs[k]) + 1, int(edges[2 * k])


def _warn_of_offset(runs: Sequence[Record], name: str, means: FloatArray, spreads: FloatArray, *, small: bool) -> None:
    hidden = np.abs(means) > OFFSET * spreads
    if hidden.all():
        k = int(hidden.argmax())
        warn(
            f"output {name!r} has a mean of {means[k]:.4g} and a standard deviation of {spreads[k]:.4g}: the offset "
            "hides the motion. Use detrend='mean'."
        )
    elif small and (np.abs(means) > UNCAUSED * spreads).all():
        levels = np.array([[part.mean() for part in np.array_split(run[name], BLOCKS)] for run in runs])
        if (levels.std(axis=1) < STEADY * np.abs(means)).all():
            warn(
                f"output {name!r} stands off zero: its mean is {means[0]:.4g}, its standard deviation "
                f"{spreads[0]:.4g}, and no input explains it. It takes states from the modes. Use detrend='mean'."
            )


def _warn_of_drift(runs: Sequence[Record], name: str, inputs: Sequence[str], detrend: str) -> None:
    run = runs[int(np.argmax([len(run) for run in runs]))]
    share = drift_share(run[name], [run[other] for other in inputs], linear=detrend == "linear")
    if share:
        warn(
            f"output {name!r} drifts: {100 * share:.0f} % of its power is a slow wandering of its level that no input "
            "explains. It takes states from the modes. Use detrend='linear', or identify.highpass."
        )


def _warn_of_units(names: Sequence[str], units: Mapping[str, str], spreads: FloatArray) -> None:
    alive = [spreads[:, j][spreads[:, j] > 0.0] for j in range(len(names))]
    sizes_of: dict[str, list[tuple[float, str]]] = {}
    for name, sizes in zip(names, alive):
        if units.get(name):
            sizes_of.setdefault(units[name], []).append((float(sizes.max()), name))
    for unit, found in sizes_of.items():
        small, large = min(found), max(found)
        if large[0] > SAME_UNIT_RATIO * small[0]:
            warn(
                f"{large[1]!r} varies {large[0] / small[0]:.2g} times more than {small[1]!r}, both in [{unit}]: wrong "
                "units suspected in one of them (mm for m, g for m/s², a missing gain)?"
            )


def _warn_of_repeats(names: Sequence[str], spreads: FloatArray) -> None:
    for name, column in zip(names, spreads.T):
        sizes = column[column > 0.0]
        if sizes.size > 1 and sizes.max() > REPEATED_RATIO * sizes.min():
            warn(
                f"channel {name!r} varies {sizes.max() / sizes.min():.2g} times more in one record than in another: "
                "wrong units in one of them?"
            )


def _warn_of_dependence(gram: FloatArray, names: Sequence[str], what: str) -> None:
    """Channels that are combinations of others, up to a constant, by the eigenvalues of their correlation."""
    if len(names) < 2:
        return
    size = np.sqrt(np.diag(gram))
    eigenvalues, vectors = np.linalg.eigh(gram / np.outer(size, size))
    if eigenvalues[0] < DEPENDENT:
        involved = [name for name, share in zip(names, vectors[:, 0]) if abs(share) > 0.1]
        why = (
            "their effects cannot be told apart"
            if what == "inputs"
            else "they hold no more than fewer channels would, or are more outputs than the order of the system allows"
        )
        warn(f"{what} {listed(involved, {})} are linearly dependent: {why}.")
