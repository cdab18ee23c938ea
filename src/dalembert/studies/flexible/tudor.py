"""The flexible arm TUDOR: frequencies, statics, energy, and a replay of measured angles by joint loops.

Two spring-steel rods in a vertical plane (Malzahn, Phung, Hoffmann and Bertram 2011; Scaglioni 2016, ch. 3 and 4). The
measured data are not at hand: a stand-in with two more modes for each link, other damping and noise takes their place.
``--data FILE`` takes a record with shoulder.angle, elbow.angle [rad] and strain11, strain12, strain21, strain22, evenly
sampled, 400 g.
"""

from __future__ import annotations

import math
import os
import warnings
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, unknown_name
from dalembert.core.progress import step
from dalembert.equations import State
from dalembert.files.models.reading import library_path, parse_model
from dalembert.linear import SecondOrder
from dalembert.studies.runner import Outcome, rms
from dalembert.view.plots.figures import BLUE, GREY, STYLE, new_figure
from dalembert.view.reports.pages import Moving, Picture, Piece, Table, Text

JOINTS = ("shoulder.angle", "elbow.angle")
TORQUES = ("shoulder_torque", "elbow_torque")
STRAINS = ("strain11", "strain12", "strain21", "strain22")
PAYLOADS = (0.0, 0.1, 0.2, 0.3, 0.4)
ROTORS = {"shoulder": (9.41e-6, 320.0), "elbow": (0.82e-6, 246.0)}
"""Inertia [kg m²] and gear ratio of the motors."""
MODEL: dict[str, Any] = {"modes": 3, "damping": 0.015}
PLANT: dict[str, Any] = {"modes": 5, "damping": 0.02}
"""Modes of each link with its root clamped, and their damping ratio: of the model and of the stand-in."""
GAINS = {"shoulder": (4000.0, 8000.0, 200.0), "elbow": (400.0, 800.0, 20.0)}
STIFFER = 3.0
"""k_p, k_i, k_d of the joint loops of the plant; the model follows measured angles more closely, by this factor."""
SAMPLE, FILTER = 1e-3, 5e-3
"""Sampling interval of the loops and time constant of their derivative [s]."""
UNTIL, SEED, NOISE = 20.0, 7, {"angle": 2e-5, "strain": 2e-6}
STEPS = {"frequencies": 5.0, "statics": 2.0, "free fall": 4.0, "replay": 12.0}


def arm(modes: int = 3, damping: float = 0.0, *, rotors: bool = False, gravity: bool = True) -> da.Mechanism:
    """The library's arm, or one with other modes and damping."""
    text = library_path("tudor").read_text(encoding="utf-8")
    m = parse_model(text.replace("modes = 3", f"modes = {modes}" + (f"\ndamping = {damping}" if damping else "")))
    for joint, (inertia, ratio) in ROTORS.items() if rotors else ():
        m.add_rotor(f"{joint}_rotor", joint, inertia=inertia, ratio=ratio)
    if not gravity:
        m.gravity = (0.0, 0.0)
    return m


def loaded(modes: int = 3, damping: float = 0.0, *, rotors: bool = False) -> da.EquationsOfMotion:
    """In joint coordinates, with 400 g."""
    return da.equations(arm(modes, damping, rotors=rotors), coordinates="joint").replace(payload=PAYLOADS[-1])


def matrices(eqs: da.EquationsOfMotion, payload: float, elbow: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """M and K of joints, then modes, of an arm without gravity."""
    eqs = eqs.replace(payload=payload)
    state = da.assemble(eqs, {"shoulder.angle": 0.0, "elbow.angle": elbow})
    lin = da.linearize(eqs, at=state, coordinates=[*JOINTS, *eqs.elastic])
    assert isinstance(lin, SecondOrder)
    return np.asarray(lin.M), np.asarray(lin.K)


def hertz(M: FloatArray, K: FloatArray) -> FloatArray:
    """Frequencies [Hz]."""
    values = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)
    frequencies: FloatArray = np.sqrt(np.maximum(values, 0.0)) / (2 * math.pi)
    return frequencies


def frequencies() -> dict[str, Any]:
    """Of the links alone, and of the arm with locked and with free joints by payload."""
    m = arm(gravity=False)
    eqs = da.equations(m, coordinates="joint")
    pairs = [matrices(eqs, payload) for payload in PAYLOADS]
    moved = matrices(da.equations(arm(rotors=True, gravity=False), coordinates="joint"), PAYLOADS[-1])
    return {
        "link_frequencies_hz": [body.flexible.frequencies_hz for body in m.bodies if body.flexible is not None],
        "payloads_kg": PAYLOADS,
        "locked_hz": [hertz(M[2:, 2:], K[2:, 2:])[:2] for M, K in pairs],
        "free_hz": [hertz(M, K)[2:4] for M, K in pairs],
        "with_rotors_hz": hertz(*moved)[2:5],
    }


def hold(eqs: da.EquationsOfMotion) -> tuple[State, dict[str, float]]:
    """The arm at rest with both angles zero: its state, torques of the joints and sensors."""
    state = da.equilibrium(eqs, hold=dict.fromkeys(JOINTS, 0.0), efforts=JOINTS)
    torques = {name: float(state.efforts[joint]) for name, joint in zip(TORQUES, JOINTS, strict=True)}
    solved = da.forward_dynamics(eqs, state, inputs=torques)
    return state, torques | {name: float(solved[name]) for name in ("tip.x", "tip.y", *STRAINS)}


def hold_linear(payload: float) -> dict[str, list[float]]:
    """Torques and tip with the rotation 1 + a ez× of the elbow's seat: then the load does not depend on the bending."""
    g = 9.81
    first, second = (body.flexible for body in arm().bodies[:2])
    assert first is not None and second is not None
    ends = [data.node("end") for data in (first, second)]
    length1, length2 = (float(end.place[0]) for end in ends)
    beyond = second.mass + payload
    lever = second.first_moment[0] + payload * length2
    slope, rise = ends[0].rotation[2], ends[0].translation[1]
    q1 = -g * np.linalg.solve(first.stiffness, first.translation[1] + beyond * rise + slope * lever)
    q2 = -g * np.linalg.solve(second.stiffness, second.translation[1] + payload * ends[1].translation[1])
    a, sag = float(slope @ q1), float(ends[1].translation[1] @ q2)
    outer = g * (lever - a * (second.translation[1] @ q2 + payload * sag))
    inner = g * (first.first_moment[0] + beyond * length1) + outer
    return {
        "undeformed": [g * (first.first_moment[0] + beyond * length1 + lever), g * lever],
        "deformed": [inner, outer],
        "tip_m": [length1 + length2 - a * sag, float(rise @ q1) + a * length2 + sag],
    }


def free_fall() -> tuple[da.Record, float, float]:
    """A fall from the horizontal, undeformed: the run, the largest change of energy, the kinetic one at the end [J]."""
    eqs = da.equations(arm(), coordinates="joint")
    start = da.assemble(eqs, dict.fromkeys((*JOINTS, *eqs.elastic), 0.0))
    run = da.simulate(eqs, 0.6, start=start, method=da.DormandPrince(rtol=1e-9), every=5e-3, progress=False)
    energy = run["energy.kinetic"] + run["energy.potential"]
    return run, float(np.abs(energy - energy[0]).max()), float(run["energy.kinetic"][-1])


# -- replay --------------------------------------------------------------------------------------------------------
def references(until: float) -> da.Record:
    """Angles that jump to random values at random times, smoothed over 0.6 s."""
    random = np.random.default_rng(SEED)
    time = np.arange(0.0, until + SAMPLE / 2, SAMPLE)
    channels = {}
    for name, size in zip(JOINTS, (0.1, 0.2), strict=True):
        angle = np.zeros_like(time)
        at = 0.5
        while at < until:
            x = np.clip((time - at) / 0.6, 0.0, 1.0)
            angle += (random.uniform(-size, size) - angle[-1]) * x**3 * (10 - 15 * x + 6 * x**2)
            at += random.uniform(0.8, 2.5)
        channels[name] = angle
    return da.Record.from_channels(time, channels, dict.fromkeys(JOINTS, "rad"))


def follow(angles: da.Record, factor: float, modes: int, damping: float) -> da.Record:
    """The arm with 400 g, whose joint loops follow recorded angles from rest."""
    eqs = loaded(modes, damping, rotors=True)
    loops = [
        da.control.pid(*(factor * gain for gain in gains), reads=f"{joint}.angle", drives=f"{joint}_torque",
                       filter=FILTER, dt=SAMPLE)
        for joint, gains in GAINS.items()
    ]  # fmt: skip
    return da.simulate(
        eqs, float(angles.time[-1]), start=hold(eqs)[0], references=angles.select(*JOINTS), every=SAMPLE,
        controller=da.control.joint_pid(eqs, loops), method=da.GeneralizedAlpha(step=SAMPLE / 2), progress=False,
    )  # fmt: skip


def stand_in() -> da.Record:
    """What a measurement would give: angles and strains of the plant with noise."""
    run = follow(references(UNTIL), 1.0, **PLANT)
    random = np.random.default_rng(SEED + 1)
    channels = {
        name: run[name] + NOISE["angle" if name in JOINTS else "strain"] * random.normal(size=len(run))
        for name in (*JOINTS, *STRAINS)
    }
    return da.Record.from_channels(run.time, channels, name="stand-in plant")


def read_data(data: str | os.PathLike[str]) -> da.Record:
    """A measured record, from time zero at the sampling interval of the loops."""
    record = da.read_record(data)
    for name in (*JOINTS, *STRAINS):
        if name not in record:
            raise DataError("missing-channel", unknown_name("channel", name, record.names, os.fspath(data)))
    time = np.arange(0.0, record.time[-1] - record.time[0], SAMPLE)
    channels = {name: np.interp(time, record.time - record.time[0], record[name]) for name in (*JOINTS, *STRAINS)}
    return da.Record.from_channels(time, channels, name=os.path.basename(data))


def resonance(run: da.Record) -> float:
    """Frequency of the largest vibration of the strain at the root of the first link between 1 and 4 Hz [Hz]."""
    from scipy.signal import periodogram

    rates, power = periodogram(np.gradient(run["strain11"]), 1 / SAMPLE, window="hann", nfft=8 * len(run))
    band = (rates > 1.0) & (rates < 4.0)
    return float(rates[band][np.argmax(power[band])])


def replay(measured: da.Record) -> tuple[dict[str, Any], da.Record]:
    """The model follows measured angles; its strains against the measured ones, without their means."""
    run = follow(measured, STIFFER, **MODEL)
    errors = {}
    for name in STRAINS:
        pair = [part - part.mean() for part in (run[name][: len(measured)], measured[name][: len(run)])]
        errors[name] = 100 * rms(pair[0] - pair[1]) / max(rms(pair[1]), 1e-300)
    lag = rms(np.concatenate([run[name][: len(measured)] - measured[name][: len(run)] for name in JOINTS]))
    return {
        "source": measured.name, "strain_rms_percent": errors, "angle_rms_rad": lag,
        "resonance_hz": {"model": resonance(run), "measured": resonance(measured)},
    }, run  # fmt: skip


def study(data: str | os.PathLike[str] | None = None) -> Outcome:
    """Frequencies, statics, free fall and replay."""
    with warnings.catch_warnings():
        # links without stiffening that sag by 8 % of their length, as published
        warnings.filterwarnings("ignore", message=".*buckling load|nodes of the flexible body 'link1' move")
        step("frequencies")
        results = frequencies()
        step("statics")
        _, held = hold(loaded())
        linear = hold_linear(PAYLOADS[-1])
        step("free fall")
        falling, change, kinetic = free_fall()
        step("replay")
        measured = stand_in() if data is None else read_data(data)
        replayed, run = replay(measured)
    results |= {
        "holding_torque": {"undeformed": linear["undeformed"], "deformed": [held[name] for name in TORQUES],
                           "deformed_linear_rotations": linear["deformed"]},
        "tip_m": {"exact_rotations": [held["tip.x"], held["tip.y"]], "linear_rotations": linear["tip_m"]},
        "strains": {name: held[name] for name in STRAINS},
        "free_fall_energy_error_j": change,
        "free_fall_kinetic_energy_j": kinetic,
        "replay": replayed,
    }  # fmt: skip
    origin = {"seeds": [SEED, SEED + 1] if data is None else "none", "data": measured.name}
    words = "The arm with 200 g falls from the horizontal, five times slower than real."
    m = arm()
    return Outcome(
        "The flexible arm TUDOR", results, _pieces(results, measured, run), origin, model=(m, da.equations(m)),
        moving=[Moving("fall", da.animate(falling, speed=0.2, trail="tip"), words)],
    )  # fmt: skip


def _pieces(results: dict[str, Any], measured: da.Record, run: da.Record) -> list[Piece]:
    replayed, torque = results["replay"], results["holding_torque"]
    strains = replayed["strain_rms_percent"]
    first = Text(
        f"The arm with 400 g and locked joints vibrates at {results['locked_hz'][-1][0]:.2f} Hz, with free joints at "
        f"{results['free_hz'][-1][0]:.1f} Hz. Held level, it needs {torque['deformed'][0]:.3f} and "
        f"{torque['deformed'][1]:.3f} N m. Joint loops that follow the angles of the {replayed['source']} bring its "
        f"strains to {max(strains.values()):.1f} % or better; both vibrate near "
        f"{replayed['resonance_hz']['model']:.2f} Hz."
    )
    pairs = zip(PAYLOADS, results["locked_hz"], results["free_hz"], strict=True)
    rows = [(f"{1000 * mass:g}", *(f"{value:.2f}" for value in (*locked, *free))) for mass, locked, free in pairs]
    columns = ("payload [g]", "locked 1", "locked 2", "free 1", "free 2")
    with mpl.rc_context(STYLE):
        figure = new_figure(8.5, 6.0)
        for axes, name in zip(figure.subplots(4, 1, sharex=True), STRAINS, strict=True):
            axes.plot(measured.time, 1e6 * measured[name], color=GREY, lw=2.5, label=replayed["source"])
            axes.plot(run.time, 1e6 * run[name], color=BLUE, lw=0.8, label="model")
            axes.set_ylabel(f"{name} [1e-6]")
        axes.set_xlabel("time [s]")
        figure.axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    caption = (
        f"Strains of the model, whose joint loops follow the angles of the {replayed['source']}. Modes of the "
        "first link have no moment at its end, where the elbow has one: three are too few for the strain in its middle."
    )
    return [
        first,
        Table(columns, tuple(rows), "Frequencies of the straight arm [Hz]"),
        Picture("strains", figure, caption),
    ]
