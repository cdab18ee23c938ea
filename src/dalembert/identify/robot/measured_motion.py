"""Motion and inputs of a robot from records: positions filtered without delay, then differentiated.

Positions (with rates and accelerations where the record has them) pass a Butterworth filter forwards and backwards.
The cut-off frequency is given, or follows from the spectra: as high as the motion is above the noise floor, but not so
high that noise of the accelerations biases the estimate through the regressor. Speeds and accelerations
are derivatives of splines of degree five through the filtered samples.
The ends of the record, where filter and splines lack neighbours, are left out. Efforts are not filtered: least squares
averages their noise, and a filter would only make it coloured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arguments import positive_number, whole_number
from dalembert.core.errors import DataError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.identify.machine.records import Names, pair_names
from dalembert.identify.records.checks import list_records, name_record, require_finite, require_samples
from dalembert.identify.records.prepare import decimate as decimate_record
from dalembert.identify.records.prepare import lowpass
from dalembert.mechanics.forces.friction import SMOOTH
from dalembert.record import Record
from dalembert.solve.motion.recorded_poses import find_poses
from dalembert.solve.position.prescribed_motion import acceleration_name
from dalembert.tree.regressor import joint_speeds


@dataclass(frozen=True)
class MeasuredMotion:
    """One record: t (N,), q, v, a (N, ...), inputs u (N, nu) and efforts along speeds (N, nv), zero where not measured.

    cutoff_hz : of the filter; None where there was none.  place : number of the record, from 1.
    error : least error of an acceleration over its size, from channels of the best resolution.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    u: Array
    effort: Array
    cutoff_hz: float | None
    place: int
    error: float


@dataclass(frozen=True)
class MeasuredChannels:
    """Meaning of the channels of all records.

    motion : coordinate, speed or acceleration -> channel.  inputs : input -> channel.  efforts : number of a speed ->
    channel.
    """

    motion: Mapping[str, str]
    inputs: Mapping[str, str]
    efforts: Mapping[int, str]
    units: Mapping[str, str]


def read_channels(
    eqs: EquationsOfMotion, runs: Sequence[Record], motion: Names, inputs: Names, *, efforts: bool
) -> MeasuredChannels:
    """Assign channels to coordinates and inputs.  efforts : whether torques are needed, or the motion alone."""
    where = runs[0].name or "the record"
    measured = set.intersection(*(set(run.names) for run in runs))
    moving = _motion_channels(eqs, measured, motion, where)
    driven, along = _effort_channels(eqs, measured, inputs, where) if efforts else ({}, {})
    units = {name: runs[0].units[name] for name in (*moving.values(), *driven.values(), *along.values())}
    return MeasuredChannels(moving, driven, along, units)


def _motion_channels(eqs: EquationsOfMotion, known: set[str], given: Names, where: str) -> dict[str, str]:
    seconds = {acceleration_name(name, eqs.speeds.index): name for name in eqs.speeds.names}
    needed = [name for name in eqs.coordinates.names if name not in eqs.unrecorded]
    short = {full: name for name, full in eqs.shorthands.items()}
    pairs = pair_names(given, "motion")
    if pairs is None:
        joints = {joint.name for joint in eqs.joints}
        others = [name for name in eqs.measures.names if name.rpartition(".")[0] in joints]  # of cut joints
        every = (*needed, *(() if all(name in known for name in needed) else others), *eqs.speeds.names, *seconds)
        channels = {name: name for name in dict.fromkeys(every) if name in known}
        channels |= {name: short[name] for name in needed if name not in channels and short.get(name) in known}
    else:
        channels = {eqs.full_name(name): channel for name, channel in pairs.items()}
        allowed = (*needed, *eqs.measures.names, *eqs.speeds.names, *seconds)
        for name, channel in channels.items():
            require_name("coordinate or speed", name, allowed, f"equations {eqs.name!r}", argument="motion")
            require_name("channel", channel, known, where, argument="motion", where={"channel": channel})
    missing = [] if eqs.rows else [name for name in needed if name not in channels]
    if missing:
        raise DataError(
            "missing-channel",
            f"{where} has no channel of {', '.join(missing[:6])}; identification needs the position of every joint.",
            Advice("Name the channels, such as {}.", Argument("motion", {missing[0]: "channel"})),
            where={"channels": tuple(missing)},
        )
    return channels


def _effort_channels(
    eqs: EquationsOfMotion, known: set[str], given: Names, where: str
) -> tuple[dict[str, str], dict[int, str]]:
    joints = joint_speeds(eqs)
    pairs = pair_names(given, "inputs")
    if pairs is None:
        pairs = {name: name for name in eqs.inputs.names}
        if not pairs:
            raise DataError(
                "missing-argument", f"equations {eqs.name!r} have no inputs; which channels are efforts of the joints?",
                Advice("Name them, such as {}.", Argument("inputs", {next(iter(joints), "joint"): "channel"})),
                where={"argument": "inputs"},
            )  # fmt: skip
    missing = [channel for channel in pairs.values() if channel not in known]
    if missing:
        raise DataError(
            "missing-channel",
            f"{where} has no channel {missing[0]!r}, the effort of a joint. Known: {', '.join(sorted(known)[:20])}.",
            Advice("Name the channels, and joints without one are left out: {}.", Argument("inputs")),
            where={"channels": tuple(missing)},
        )
    driven, along = {}, {}
    for name, channel in pairs.items():
        if name in eqs.inputs.index:
            driven[name] = channel
        elif name in joints:
            along[joints[name]] = channel
        else:
            problem = unknown_name("input or joint", name, (*eqs.inputs.names, *joints), f"equations {eqs.name!r}")
            raise DataError("unknown-name", f"inputs: {problem}", where={"argument": "inputs"})
    return driven, along


def read_motions(
    eqs: EquationsOfMotion, record: Record | Sequence[Record], channels: MeasuredChannels, *,
    cutoff_hz: float | None, decimate: int | None,
) -> tuple[list[MeasuredMotion], list[Finding]]:  # fmt: skip
    """Filtered and differentiated motions of all records, and doubts about them."""
    runs = list_records(record)
    if cutoff_hz is not None:
        positive_number("cutoff_hz", cutoff_hz)
    motions, findings = [], []
    for k, run in enumerate(runs):
        motion, doubts = _read_motion(eqs, run, channels, cutoff_hz, decimate, name_record(runs, k), k + 1)
        motions.append(motion)
        findings += doubts
    return motions, findings


def _read_motion(
    eqs: EquationsOfMotion, run: Record, channels: MeasuredChannels, cutoff_hz: float | None, decimate: int | None,
    name: str, place: int, fewest: int = 8, widest: float = 0.8, spline_edge: int = 5, edge_time: float = 2.0,
) -> tuple[MeasuredMotion, list[Finding]]:  # fmt: skip
    # fewest: Fewest samples of a record: as for the other methods of identification.
    # widest: Cut-off over half the sample rate, above which no filter is used: samples at both ends would be lost for
    # little effect.
    # spline_edge: Samples left out at each end of derivatives of splines without a filter.
    # edge_time: Length of each end that is left out, in periods of the cut-off: the response of the filter has decayed
    # to 1e-4.
    every = [*channels.motion.values(), *channels.inputs.values(), *channels.efforts.values()]
    _check_samples(run, every, name, place)
    run = run.select(*dict.fromkeys(every))
    if decimate is not None and whole_number("decimate", decimate, 1) > 1:
        run = decimate_record(run, decimate)
    dt = run.sample_time
    moving = list(channels.motion.values())
    spectra = {c: MotionSpectrum.of(run[c], dt, order) for c, order in _orders(eqs, channels).items()}
    limit = widest * 0.5 / dt
    cutoff = choose_cutoff(list(spectra.values())) if cutoff_hz is None else float(cutoff_hz)
    filtered = lowpass(run, cutoff, channels=moving) if cutoff < limit else run
    units = filtered.units
    named = Record.from_channels(
        filtered.time, {n: filtered[c] for n, c in channels.motion.items()},
        {n: units[c] for n, c in channels.motion.items()},
    )  # fmt: skip
    poses, _, how = find_poses(eqs, named, None, None)
    edge = int(np.ceil(edge_time / cutoff / dt)) if cutoff < limit else 0
    edge = max(edge, 0 if how.endswith("given") else spline_edge)
    inner = slice(edge, len(run) - edge)
    require_samples(
        len(run) - 2 * edge, fewest,
        f"{name} has {len(run)} samples; {edge} at each end are lost to the filter at {cutoff:.3g} Hz.",
        Advice("Record longer, or give a higher {}.", Argument("cutoff_hz")), where={"record": place},
    )  # fmt: skip
    u, effort = np.zeros((len(run), eqs.nu)), np.zeros((len(run), eqs.nv))
    for key, channel in channels.inputs.items():
        u[:, eqs.inputs.index[key]] = run[channel]
    for column, channel in channels.efforts.items():
        effort[:, column] = run[channel]
    motion = MeasuredMotion(
        poses.t[inner], poses.q[inner], poses.v[inner], poses.a[inner], u[inner], effort[inner],
        cutoff if cutoff < limit else None, place,
        max((spectrum.least_error(cutoff) for spectrum in spectra.values() if spectrum.size > 0.0), default=0.0),
    )  # fmt: skip
    return motion, _find_noise(eqs, channels, spectra, motion, cutoff, name)


def _check_samples(run: Record, channels: Sequence[str], name: str, place: int, fewest: int = 8) -> None:
    require_samples(
        len(run), fewest, f"{name} has {len(run)} samples; at least {fewest} are needed.", where={"record": place}
    )
    for channel in channels:
        require_finite(
            run[channel],
            f"{name}: channel {channel!r} has gaps.",
            Advice("Fill them first with {}.", Call("da.identify.repair")),
            where={"record": place, "channel": channel},
        )


@dataclass(frozen=True)
class MotionSpectrum:
    """Power of a channel as an acceleration: at each frequency [Hz] the motion, and the noise of a white floor.

    band : highest frequency at which the channel is above its floor.
    """

    frequencies: Array
    motion: Array
    noise: Array
    band: float
    least: Array  # noise of the best resolution

    @classmethod
    def of(
        cls, values: Array, dt: float, order: int, rounding: float = 1e-12, above_noise: float = 100.0,
        resolution: float = 1e-7,
    ) -> MotionSpectrum:  # fmt: skip
        """order : number of differentiations of the channel: 2 for a position, 0 for an acceleration.

        rounding : least noise of a channel over its largest value: ten thousand roundings, which are no motion of a
        joint at rest.
        above_noise : power of the spectrum over its noise floor at the highest frequency of the motion. The floor of
        single lines scatters by a factor of 20 at most among 1e5 lines (exponential distribution, ln 1e5 = 12).
        resolution : least error of a channel over its largest value: 24 bits of an encoder.
        """
        count = len(values)
        t = np.linspace(-1.0, 1.0, count)
        detrended = values - np.polynomial.polynomial.polyval(t, np.polynomial.polynomial.polyfit(t, values, 1))
        window = np.hanning(count)
        power = (
            np.abs(np.fft.rfft(detrended * window)) ** 2 / (window**2).sum()
        )  # white noise: its variance in every line
        # the median of exponentially distributed lines is ln 2 times their mean
        floor = float(np.median(power[len(power) // 2 :])) / np.log(2.0)
        floor = max(floor, (rounding * float(np.abs(values).max())) ** 2)
        above = np.flatnonzero(power > above_noise * floor)
        last = max(1, int(above[-1]) if len(above) else 0)
        f = np.arange(len(power)) / (count * dt)
        gain = 2.0 / count * (2 * np.pi * f) ** (2 * order)
        motion = np.where(power > above_noise * floor, gain * power, 0.0)
        least = gain * (resolution * np.abs(values).max()) ** 2
        return cls(f, motion, gain * floor, float(f[last]), least)

    def noise_below(self, cutoff: float) -> float:
        """Standard deviation of the noise of the acceleration that a filter leaves."""
        return float(np.sqrt(self.noise[self.frequencies <= cutoff].sum()))

    def least_error(self, cutoff: float) -> float:
        """Error of the acceleration over its size that a filter leaves of the best resolution."""
        return float(np.sqrt(self.least[self.frequencies <= cutoff].sum())) / self.size

    @property
    def size(self) -> float:
        """Root mean square of the acceleration."""
        return float(np.sqrt(self.motion.sum()))


def choose_cutoff(
    spectra: Sequence[MotionSpectrum], margin: float = 3.0, main_power: float = 0.9, noise: float = 0.01
) -> float:
    """Cut-off [Hz] for all channels, infinite where none needs one; joints at rest do not count.

    margin : cut-off over the highest frequency of the motion: a filter of order 4, twice, takes 0.41 · 3⁻⁸ = 6e-5 off
    there.
    main_power : the cut-off is not taken lower than `margin` times the frequency below which this share of the power of
    the acceleration lies; the rest are impacts and reversals of friction.
    noise : noise of an acceleration after the filter, over its size. It biases inertias by its square, some 1e-4, ten
    times less than the deviations of a good record.
    """
    moving = [spectrum for spectrum in spectra if spectrum.size > 0.0]
    if not moving:
        return np.inf
    quiet, least = [], []
    for spectrum in moving:
        allowed = np.cumsum(spectrum.noise) <= (noise * spectrum.size) ** 2
        quiet.append(np.inf if allowed.all() else float(spectrum.frequencies[allowed][-1]) if allowed.any() else 0.0)
        most = np.searchsorted(np.cumsum(spectrum.motion), main_power * spectrum.motion.sum())
        least.append(margin * float(spectrum.frequencies[min(int(most), len(spectrum.frequencies) - 1)]))
    if min(quiet) == np.inf:
        return np.inf
    return min(margin * max(spectrum.band for spectrum in moving), max(min(quiet), *least))


def _orders(eqs: EquationsOfMotion, channels: MeasuredChannels) -> dict[str, int]:
    """Source channels of the accelerations, and the number of differentiations of each."""
    measured = channels.motion
    seconds = {name: acceleration_name(name, eqs.speeds.index) for name in eqs.speeds.names}
    rates = dict(zip(eqs.measures.names, eqs.measure_rates.names, strict=True))
    orders = {}
    for name, channel in measured.items():
        if name in seconds.values():
            orders[channel] = 0
        elif name in seconds:
            if seconds[name] not in measured:
                orders[channel] = 1
        else:
            owner = name.rpartition(".")[0]
            accelerations = (
                [rates[name]] if rates.get(name) in seconds else [v for v in seconds if v.startswith(f"{owner}.")]
            )
            if not any(v in measured or seconds[v] in measured for v in accelerations):
                orders[channel] = 2
    return orders


def _find_noise(
    eqs: EquationsOfMotion, channels: MeasuredChannels, spectra: Mapping[str, MotionSpectrum], motion: MeasuredMotion,
    cutoff: float, name: str, noisy: float = 0.1,
) -> list[Finding]:  # fmt: skip
    """Accelerations that noise of the positions hides.

    noisy : noise of an acceleration over its size. Noise in the regressor biases the estimates by its square: here 1 %.
    """
    findings = []
    coordinates = dict(zip(eqs.measure_rates.names, eqs.measures.names, strict=True))
    for label, k in joint_speeds(eqs).items():
        rate = eqs.speeds.names[k]
        sources = (acceleration_name(rate, eqs.speeds.index), rate, coordinates.get(rate, ""))
        channel = next((channels.motion[s] for s in sources if s in channels.motion), "")
        if not channel or np.abs(motion.v[:, k]).max() <= SMOOTH:  # another check reports a joint at rest
            continue
        noise, size = spectra[channel].noise_below(cutoff), float(np.sqrt(np.mean(motion.a[:, k] ** 2)))
        if noise > noisy * size:
            findings.append(Finding(
                "coarse-sampling",
                f"{name}: noise of {channel!r} makes {100 * noise / max(size, 1e-300):.0f} % of the acceleration of "
                f"{label!r}, which biases the estimate.",
                {"record": motion.place, "joint": label}, {"noise": noise, "size": size},
                (Advice("Give a lower {}, or move faster.", Argument("cutoff_hz")),),
            ))  # fmt: skip
    return findings
