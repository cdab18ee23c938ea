"""An observer of the manipulator's bending: thirteen coordinates, three angles and three strain gauges.

The plant is the whole model of 30 coordinates under an implicit method, the observer an extended Kalman filter on the
reduced equations with explicit steps of 0.1 ms. Torques, sensors and their noise are those of Palomba 2016, ch. 6;
damping and the noise of the gauges, which the thesis does not print, are 1 % at 14.2 Hz and 0.5 % of the peak. A fourth
gauge, on link BC, is measured by nobody: the filter estimates what it would show.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.errors import ConvergenceError
from dalembert.core.progress import step
from dalembert.estimate import (
    Comparison,
    Estimate,
    ExtendedKalman,
    Filter,
    SigmaPointKalman,
    SphericalSimplex,
    observability_map,
    operation_count,
)
from dalembert.expressions import count_work
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
from dalembert.view.plots.figures import BLUE, GREY, RED, STYLE, log_ticks, new_figure
from dalembert.view.reports.pages import Picture, Piece, Table, Text

STEP = 1e-4  # [s]
TORQUES = {"T1": (1.4, 8.0), "T2": (7.0, 10.0), "T3": (0.1, 11.0)}  # amplitude [N m], frequency [Hz]
TORQUE_NOISE = {"T1": 0.002 * 15, "T2": 0.002 * 60, "T3": 0.002 * 2}  # [N m]
ENCODERS = {"encoder1": np.radians(1.534e-3), "encoder2": np.radians(1.534e-3), "encoder3": 2 * np.pi / 4096}  # [rad]
GAUGE_NOISE = 0.005  # of the peak
MODEL_NOISE = 1e-16  # variance of every state a step: innovations are as large as expected, at 1e-12 half as large
ERRORS = (0.01, -0.01, 0.02)  # of the first angles [rad]
UNMEASURED = {"gauge3": ("BC", 0.425)}
TIP = "EF.14.x"
FIRST_MODE = 12.95  # at q* [Hz]


def observer(
    *, until: float = 3.0, beside: float = 0.04, settle: float = 0.1, seed: int = 1
) -> tuple[dict[str, Any], list[Piece]]:
    """Figures of the part, and its pieces of the page.

    until : of the plant, of the reduced model without measurements and of the filter [s].  beside : of the filter with
    sigma points, whose sample takes twenty times the operations [s].  settle : start that figures of the filter leave
    out, since first errors are a hundred deviations [s]; of sigma points half of their time.
    """
    erls = manipulator(beta=damping_for(0.01, 14.2), gauges=GAUGES | UNMEASURED)
    ranking = rank_modes(erls.system(), [*RIGID, *MASTERS], InteriorModeRanking(modes=range(4, 10)))
    whole, small = da.equations(erls), da.equations(reduce_links(erls, MASTERS, ranking, size=4))
    step("observability")
    results: dict[str, Any] = {"observability": observability(small), "explicit": {
        "with_damping": refused_step(whole), "without_damping": refused_step(da.equations(manipulator())),
    }}  # fmt: skip
    step("plant")
    torques = {name: _sine(*wave) for name, wave in TORQUES.items()}
    plant = da.simulate(whole, until=until, inputs=torques, method=da.GeneralizedAlpha(step=STEP), every=STEP)
    free = da.simulate(small, until=until, inputs=torques, method=da.RK4(step=STEP), every=STEP)
    results["open_loop"] = {
        "elastic": {name: rms(free[name] - plant[name]) / rms(plant[name]) for name in MASTERS},
        "angles": {name: rms(free[name] - plant[name]) / rms(plant[name] - plant[name][0]) for name in RIGID},
    }
    step("observer")
    measured, noise = measure(plant, np.random.default_rng(seed))
    ekf = make_filter(small, noise)
    results["operations"] = operations(ekf, make_filter(whole, noise))
    estimate = ekf.run(measured)
    against = estimate.compare(plant, settle=settle)
    hertz = [*(frequency for _, frequency in TORQUES.values()), FIRST_MODE]
    results["filter"] = judged(estimate, against) | {
        "spectra": {f"{f:g}": both for f, both in zip(hertz, against.amplitudes(TIP, hertz).tolist(), strict=True)}
    }
    results["code"] = c_code(ekf, measured)
    step("sigma points")
    part = measured.between(0.0, beside)
    both = {"extended": ekf.run(part), "sigma_points": make_filter(small, noise, sigma_points=True).run(part)}
    results["beside"] = {name: judged(each, each.compare(plant, settle=beside / 2)) for name, each in both.items()}
    return results, _pieces(results, estimate, against)


def _sine(amplitude: float, frequency: float) -> Any:
    return lambda t: amplitude * da.sin(2 * np.pi * frequency * t)


def observability(small: da.EquationsOfMotion) -> dict[str, Any]:
    """Ranks and smallest values at q* from angles, from curvatures, and from both.

    Values depend on the scales of the states: with plain positions and time in milliseconds, instead of scales by
    kinetic energy, they are 2.8e-3 from angles and 4.0e-3 from both.
    """
    at = {name: [value] for name, value in POSE.items()}
    seen = observability_map(small, at, outputs=list(ENCODERS))
    cases = {"angles": list(ENCODERS), "curvatures": list(GAUGES), "both": [*ENCODERS, *GAUGES]}
    maps = {name: seen.of(outputs) for name, outputs in cases.items()}
    return {name: {"rank": int(each.rank.min()), "strength": float(each.strength.min())} for name, each in maps.items()}


def refused_step(whole: da.EquationsOfMotion) -> dict[str, Any]:
    """Why explicit steps of 0.1 ms are refused on the whole model, and the longest that are not [s]."""
    try:
        da.simulate(whole, until=100 * STEP, method=da.RK4(step=STEP))
    except ConvergenceError as error:
        finding = error.finding
        return {"code": finding.code, "longest": finding.evidence["longest"], "body": finding.where["motion"]}
    return {"code": "none", "longest": STEP, "body": ""}


def measure(plant: da.Record, random: np.random.Generator) -> tuple[da.Record, dict[str, float]]:
    """Noisy angles, curvatures and torques of a run, and the deviations of the sensors."""
    noise = ENCODERS | {name: GAUGE_NOISE * float(np.abs(plant[name]).max()) for name in GAUGES}
    channels = {name: plant[name] + random.normal(0.0, deviation, len(plant)) for name, deviation in noise.items()}
    for name, (amplitude, frequency) in TORQUES.items():
        torque = amplitude * np.sin(2 * np.pi * frequency * np.array(plant.time))
        channels[name] = torque + random.normal(0.0, TORQUE_NOISE[name], len(plant))
    return da.Record.from_channels(plant.time, channels), noise


def make_filter(eqs: da.EquationsOfMotion, noise: Mapping[str, float], *, sigma_points: bool = False) -> Filter:
    """A filter of the angles, the gauges and the noise of the torques, from wrong first angles."""
    n = eqs.nv
    options: dict[str, Any] = {
        "outputs": list(noise), "R": {name: s**2 for name, s in noise.items()}, "Q": MODEL_NOISE,
        "P0": np.concatenate([np.full(n - 3, 1e-6), np.full(3, 1e-3), np.full(n, 1e-3)]),
        "start": {name: POSE[name] + error for name, error in zip(RIGID, ERRORS, strict=True)},
        "input_noise": {name: s**2 for name, s in TORQUE_NOISE.items()}, "dt": STEP,
    }  # fmt: skip
    return (
        SigmaPointKalman(eqs, points=SphericalSimplex(), **options)
        if sigma_points
        else ExtendedKalman(eqs, jacobian="frozen", **options)
    )


def judged(estimate: Estimate, against: Comparison) -> dict[str, Any]:
    """Errors of elastic displacements and speeds, of their RMS; of angles [rad]; of the gauge that is not measured."""
    rates = [f"{name}.rate" for name in MASTERS]
    gauge = next(iter(UNMEASURED))
    return {
        "elastic": {name: against[name] / against.signal_rms[name] for name in MASTERS},
        "rates": {name: against[name] / against.signal_rms[name] for name in rates},
        "angles": {name: against[name] for name in RIGID},
        "unmeasured": {"error": against[gauge] / against.signal_rms[gauge],
                       "error_over_deviation": against[gauge] / against.deviation_rms[gauge]},
        "nis_per_output": float(np.mean(estimate.nis) / np.mean(estimate.measured)),
        "seconds_per_second": against.cpu_per_second,
    }  # fmt: skip


def operations(reduced: Filter, full: Filter) -> dict[str, Any]:
    """Products by the rule of the thesis, and operations of the code: of one rate of the state, and of one sample.

    Sparse code of the whole model takes fewer operations for a rate than the reduced one, which makes H(q)ᵀ M H(q):
    what a reduction saves are the products with covariances, and the steps that stiff modes would need.
    """
    count = operation_count(30, masters=9, modes=4)
    made = {name: {"rate": count_work(each.process.functions["rate"]).executed,
                   "sample": count_work(each.native.function).executed}
            for name, each in (("reduced", reduced), ("full", full))}  # fmt: skip
    return {
        "reduced": count.reduced, "full": count.full, "saving": count.saving, "pays": count.pays, "code": made,
        "measured_saving": 1.0 - made["reduced"]["sample"] / made["full"]["sample"],
    }  # fmt: skip


def c_code(ekf: Filter, measured: da.Record) -> dict[str, int]:
    """Size of the filter in C: operations of a sample, bytes of its state, of its work array and of its text."""
    with tempfile.TemporaryDirectory() as folder:
        export = da.export_c(ekf, folder, name="observer", example=measured.between(0.0, 20 * STEP))
        text = next(path for path in export.files if path.name.endswith("kernel.c"))
        return {"operations": count_work(ekf.native.function).executed, "state_bytes": export.memory_bytes,
                "work_bytes": export.work_bytes, "text_bytes": text.stat().st_size}  # fmt: skip


def _pieces(results: dict[str, Any], estimate: Estimate, against: Comparison) -> list[Piece]:
    seen, count, ekf, code = (results[key] for key in ("observability", "operations", "filter", "code"))
    gauge, rule, limit = ekf["unmeasured"], count["code"], results["explicit"]["without_damping"]
    text = Text(
        f"At q* three angles see {seen['angles']['rank']} of 26 states, three curvatures {seen['curvatures']['rank']}; "
        f"both raise the distance to an unobservable model from {seen['angles']['strength']:.2g} to "
        f"{seen['both']['strength']:.2g}. By the rule of the thesis a prediction takes {count['reduced']} products "
        f"instead of {count['full']}, {100 * count['saving']:.1f} % less. Code without zeros takes "
        f"{rule['reduced']['rate']} operations for a rate of the state instead of {rule['full']['rate']}, and "
        f"{rule['reduced']['sample']} instead of {rule['full']['sample']} for a sample of the filter, "
        f"{100 * count['measured_saving']:.0f} % less. Explicit steps of {1e3 * STEP:g} ms are refused on the whole "
        f"model: its fastest motion, {limit['body']}, allows {1e3 * limit['longest']:.3g} ms. In C the filter "
        f"needs {code['state_bytes']} bytes of state and {code['work_bytes']} of work. A gauge on link BC that nobody "
        f"reads is estimated within {100 * gauge['error']:.2g} % of its motion, "
        f"{gauge['error_over_deviation']:.2g} times the deviation that the filter reports."
    )
    beside = results["beside"]
    rows = tuple(
        (name, *(f"{100 * each['elastic'][name]:.3f}" for each in (results["open_loop"], ekf, beside["extended"],
                                                                  beside["sigma_points"])))
        for name in MASTERS
    )  # fmt: skip
    heads = ("displacement", "without measurements [%]", "filter [%]", "its start [%]", "sigma points, start [%]")
    lines = tuple(
        (f"{float(f):g}", f"{1e3 * truth:.4f}", f"{1e3 * value:.4f}", f"{100 * (value / truth - 1):+.2f} %")
        for f, (truth, value) in ekf["spectra"].items()
    )
    return [
        text, Table(heads, rows, "Errors, of the RMS motion"),
        Table(("frequency [Hz]", "truth [mm]", "estimate [mm]", "difference"), lines, "Amplitudes of the tip"),
        Picture("observer", _figure(estimate, against), "Bending estimated from angles and gauges of other links."),
    ]  # fmt: skip


def _figure(estimate: Estimate, against: Comparison) -> Any:
    """The gauge that nobody reads with two deviations, and spectra of the tip."""
    gauge = next(iter(UNMEASURED))
    time, shown = np.array(estimate.time), np.array(estimate.time) < 0.4
    value, deviation = np.array(estimate[gauge]), np.array(estimate.deviation(gauge))
    f, truth, guess, error = against.spectra(TIP)
    band = (f > 0.0) & (f < 80.0)
    with mpl.rc_context(STYLE):
        figure = new_figure(7.0, 5.6)
        upper, lower = figure.subplots(2, 1)
        low, high = value - 2 * deviation, value + 2 * deviation
        edge = 1.3 * float(np.abs(against.truth[gauge]).max())
        upper.fill_between(time[shown], low[shown], high[shown], color=RED, alpha=0.25, lw=0, label="two deviations")
        upper.plot(time[shown], np.array(against.truth[gauge])[shown], color=GREY, lw=3, label="truth")
        upper.plot(time[shown], value[shown], color=RED, lw=1, label="estimate")
        upper.set_ylim(-edge, edge)
        upper.set_xlabel("time [s]")
        upper.set_ylabel("curvature of BC [1/m]")
        upper.legend(ncols=3, loc="upper right")
        curves = (("truth", truth, GREY, 3), ("estimate", guess, BLUE, 1), ("error", error, RED, 1))
        for name, values, color, width in curves:
            lower.semilogy(f[band], 1e3 * values[band], color=color, lw=width, label=name)
        lower.set_xlabel("frequency [Hz]")
        lower.set_ylabel("tip across EF, amplitude [mm]")
        lower.legend(ncols=3, loc="upper right")
        log_ticks(lower.yaxis)
    return figure
