"""An observer of the manipulator's bending: thirteen coordinates, three angles and three strain gauges.

The plant is the whole model of 30 coordinates under an implicit method, the observer an extended Kalman filter on the
reduced equations with explicit steps of 0.1 ms. Torques, sensors and their noise are those of Palomba 2016, ch. 6;
damping and the noise of the gauges, which the thesis does not print, are 1 % at 14.2 Hz and 0.5 % of the peak.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.progress import step
from dalembert.estimate import ExtendedKalman, observability_map, operation_count
from dalembert.linkages import reduce_links
from dalembert.structures import InteriorModeRanking, rank_modes
from dalembert.studies.manipulator.manipulator_model import (
    GAUGES,
    MASTERS,
    POSE,
    RIGID,
    damping_for,
    manipulator,
)
from dalembert.studies.runner import rms
from dalembert.view.reports.pages import Piece, Table, Text

STEP = 1e-4  # [s]
TORQUES = {"T1": (1.4, 8.0), "T2": (7.0, 10.0), "T3": (0.1, 11.0)}  # amplitude [N m], frequency [Hz]
TORQUE_NOISE = {"T1": 0.002 * 15, "T2": 0.002 * 60, "T3": 0.002 * 2}  # [N m]
ENCODERS = {"encoder1": np.radians(1.534e-3), "encoder2": np.radians(1.534e-3), "encoder3": 2 * np.pi / 4096}  # [rad]
GAUGE_NOISE = 0.005  # of the peak
ERRORS = (0.01, -0.01, 0.02)  # of the first angles [rad]


def observer(*, until: float = 3.0, filtered: float = 0.3, seed: int = 1) -> tuple[dict[str, Any], list[Piece]]:
    """Figures of the part, and its pieces of the page.

    until : of the plant and of the reduced model without measurements [s].  filtered : of the filter [s]
    """
    beta = damping_for(0.01, 14.2)
    erls = manipulator(beta=beta)
    ranking = rank_modes(erls.system(), [*RIGID, *MASTERS], InteriorModeRanking(modes=range(4, 10)))
    reduced = reduce_links(erls, MASTERS, ranking, size=4)
    whole, small = da.equations(erls), da.equations(reduced)
    step("observability")
    results: dict[str, Any] = {"observability": observability(small)}
    count = operation_count(30, masters=9, modes=4)
    results["operations"] = {"reduced": count.reduced, "full": count.full, "saving": count.saving}
    step("plant")
    torques = {name: _sine(*wave) for name, wave in TORQUES.items()}
    plant = da.simulate(whole, until=until, inputs=torques, method=da.GeneralizedAlpha(step=STEP), every=STEP)
    free = da.simulate(small, until=until, inputs=torques, method=da.RK4(step=STEP), every=STEP)
    results["open_loop"] = {
        "elastic": {name: rms(free[name] - plant[name]) / rms(plant[name]) for name in MASTERS},
        "angles": {name: rms(free[name] - plant[name]) / rms(plant[name] - plant[name][0]) for name in RIGID},
        "spectra": spectra(plant, free),
    }
    step("observer")
    random = np.random.default_rng(seed)
    part = plant.between(0.0, filtered)
    estimate = run_filter(small, part, random)
    late = np.array(part.time) > 0.3 * filtered
    results["filter"] = {
        "elastic": {n: rms((estimate[n] - part[n])[late]) / rms(np.asarray(part[n])[late]) for n in MASTERS},
        "angles": {n: rms((estimate[n] - part[n])[late]) for n in RIGID},
    }
    return results, _pieces(results)


def _sine(amplitude: float, frequency: float) -> Any:
    return lambda t: amplitude * da.sin(2 * np.pi * frequency * t)


def observability(small: da.EquationsOfMotion) -> dict[str, Any]:
    """Ranks and smallest values at q* from angles, from curvatures, and from both."""
    at = {name: [value] for name, value in POSE.items()}
    seen = observability_map(small, at, outputs=list(ENCODERS))
    cases = {"angles": list(ENCODERS), "curvatures": list(GAUGES), "both": [*ENCODERS, *GAUGES]}
    maps = {name: seen.of(outputs) for name, outputs in cases.items()}
    return {name: {"rank": int(each.rank.min()), "strength": float(each.strength.min())} for name, each in maps.items()}


def run_filter(small: da.EquationsOfMotion, plant: da.Record, random: np.random.Generator) -> Any:
    """Estimate from noisy angles, curvatures and torques, from wrong first angles."""
    noise = ENCODERS | {name: GAUGE_NOISE * float(np.abs(plant[name]).max()) for name in GAUGES}
    channels = {name: plant[name] + random.normal(0.0, deviation, len(plant)) for name, deviation in noise.items()}
    for name, (amplitude, frequency) in TORQUES.items():
        torque = amplitude * np.sin(2 * np.pi * frequency * np.array(plant.time))
        channels[name] = torque + random.normal(0.0, TORQUE_NOISE[name], len(plant))
    n = small.nv
    first = np.concatenate([np.full(n - 3, 1e-6), np.full(3, 1e-3), np.full(n, 1e-3)])
    start = {name: POSE[name] + error for name, error in zip(RIGID, ERRORS, strict=True)}
    ekf = ExtendedKalman(
        small, outputs=list(noise), R={name: s**2 for name, s in noise.items()}, Q=1e-12, P0=first, start=start,
        input_noise={name: s**2 for name, s in TORQUE_NOISE.items()}, dt=STEP, jacobian="frozen",
    )  # fmt: skip
    return ekf.run(da.Record.from_channels(plant.time, channels))


def spectra(plant: da.Record, model: da.Record, first_mode: float = 12.95) -> dict[str, list[float]]:
    """Amplitudes of the motion of the tip [m], of the plant and of the model, at the excitation and at mode 1.

    Hann window: its peak is 4 lines wide, as far as modes shift.
    """
    time = np.array(plant.time)
    window = np.hanning(len(time))
    hertz = np.fft.rfftfreq(len(time), time[1] - time[0])

    def amplitude(values: FloatArray, frequency: float) -> float:
        lines = np.abs(np.fft.rfft(window * (values - values.mean()))) * 2 / window.sum()
        return float(lines[np.abs(hertz - frequency) <= 2 * hertz[1]].max())

    tip = MASTERS[-2]
    return {
        f"{frequency:g}": [amplitude(np.array(run[tip]), frequency) for run in (plant, model)]
        for frequency in (8.0, 10.0, 11.0, first_mode)
    }


def _pieces(results: dict[str, Any]) -> list[Piece]:
    seen, operations = results["observability"], results["operations"]
    text = Text(
        f"At q* three angles see {seen['angles']['rank']} of 26 states, three curvatures {seen['curvatures']['rank']}; "
        f"both raise the distance to an unobservable model from {seen['angles']['strength']:.2g} to "
        f"{seen['both']['strength']:.2g}. A step of the prediction takes {operations['reduced']} operations instead of "
        f"{operations['full']}, {100 * operations['saving']:.1f} % less."
    )
    rows = tuple(
        (name, f"{100 * results['open_loop']['elastic'][name]:.3f}", f"{100 * results['filter']['elastic'][name]:.3f}")
        for name in MASTERS
    )
    return [text, Table(("displacement", "without measurements [%]", "filter [%]"), rows, "Errors, of the RMS motion")]
