"""Whitworth's quick return of shaping machines: which torque turns its crank at a steady speed?

A planar linkage by its nodes, with the data of Orsino (2016, section 5.3.1): inverse dynamics along four turns, on
poses that Newton's method closes at every sample; beside it a run that is held by Baumgarte's feedback, as published.
"""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.progress import step
from dalembert.solve import Baumgarte
from dalembert.studies.runner import Outcome
from dalembert.symbolic import PlanarModel
from dalembert.view.plots.figures import BLUE, GREEN, GREY, RED, STYLE, log_ticks, new_figure
from dalembert.view.reports.origin import HASH, model_hash
from dalembert.view.reports.pages import Moving, Picture, Piece, Table, Text

SPEED = math.pi / 2
"""Of the crank [rad/s]: a turn in 4 s."""
UNTIL, SAMPLES = 16.0, 16001
STEPS = {"inverse dynamics": 1.5, "feedback": 2.0}
# values read from the published curves, with their accuracy of about 1 %
PUBLISHED = {"torque_max": 0.955, "torque_min": -1.005, "residual": 8e-6}


def linkage() -> PlanarModel:
    """Slider, coupler, rocker and crank; the inertia of the rocker as published, with another mass than its own."""
    m = da.symbolic.PlanarModel("quick-return", gravity=0)
    m.add_ground((0, 0), (0, 0.3), (0, 0.8), (0.001, 0.8))
    m.add_body("slider", [(0.8, 0.8)], mass=1.0)
    m.add_bar("coupler", "slider.1", (0.15, 0.6), mass=0.2, inertia=0.2 * 0.1**2 / 12)
    m.add_bar("rocker", "0.1", "coupler.2", mass=0.4, inertia=0.2 * 0.5**2 / 12)
    m.add_bar("crank", "0.2", (0.1, 0.4), mass=0.2, inertia=0.2 * 0.1**2 / 3, center=0)
    m.add_prismatic("0.3-0.4", "slider.1", name="guide")
    m.add_revolute("slider.1-coupler.1", name="P")
    m.add_revolute("coupler.2-rocker.2", name="Q")
    m.add_revolute("0.1-rocker.1", name="O")
    m.add_revolute("0.2-crank.1", name="K", input="torque")
    m.add_slot("rocker.1-rocker.2", "crank.2", name="slot")
    m.add_coordinate("turned", "crank.rate")
    return m


def find_extremes(t: FloatArray, y: FloatArray) -> dict[str, float]:
    """Largest and smallest value with their times, between samples by a parabola through three of them."""
    found: dict[str, float] = {}
    for key, k in (("max", int(y.argmax())), ("min", int(y.argmin()))):
        time, value = float(t[k]), float(y[k])
        if 0 < k < len(t) - 1:
            a, b, c = np.polyfit(t[k - 1 : k + 2] - t[k], y[k - 1 : k + 2], 2)
            time, value = float(t[k] - b / (2 * a)), float(c - b**2 / (4 * a))
        found |= {key: value, f"{key}_time": time}
    return found


def study() -> Outcome:
    """Torque of the crank over four turns, motion of the slider, and the residuals of the joints."""
    step("inverse dynamics")
    eqs = da.equations(linkage())
    motion = {"turned": lambda t: SPEED * t}
    run = da.inverse_dynamics(eqs, motion, times=np.linspace(0.0, UNTIL, SAMPLES))
    step("feedback")
    driven = linkage()
    driven.add_driver("turn", "turned", motion["turned"])
    held = da.equations(driven)
    method = da.RK4(2e-3, stabilise=Baumgarte(1, 1, 1))
    feedback = da.simulate(held, UNTIL, start=da.assemble(held), method=method, every=0.02, progress=False)
    turn = run.between(0.0, 4.0)
    torque, slider = (find_extremes(turn.time, turn[name]) for name in ("torque", "guide.speed"))
    v, t = turn["guide.speed"], turn.time
    crossed = np.flatnonzero(np.diff(np.sign(v)))
    reversals = t[crossed] - v[crossed] * np.diff(t)[crossed] / np.diff(v)[crossed]
    results: dict[str, Any] = {
        **{f"torque_{key}": value for key, value in torque.items()},
        "residual": run["residual.velocity"].max(),
        "residual_position": run["residual.position"].max(),
        "residual_force": run["residual.force"].max(),
        "residual_with_feedback": feedback["residual.velocity"].max(),
        "torque_at_start": turn["torque"][0],
        **{f"slider_speed_{key}": value for key, value in slider.items()},
        "stroke": float(np.ptp(turn["slider.x"])),
        "reversals": reversals,
        "return_stroke": float(reversals[1] - reversals[0]),
        "degrees_of_freedom": run.statistics["degrees of freedom"],
        "speeds": eqs.nv,
        "rows": len(eqs.rows),
    }
    words = "One turn of the crank; the trace is that of the joint between coupler and rocker."
    moving = Moving("quick-return", da.animate(turn.resample(every=0.02), trail="rocker.2", channels="torque"), words)
    provenance = {"data": "Orsino (2016), 5.3.1", "seeds": "none: nothing is random", HASH: model_hash(eqs)}
    return Outcome(
        "Quick return: the torque that turns the crank", results, _pieces(results, turn, run, feedback), provenance,
        moving=[moving],
    )  # fmt: skip


def _pieces(results: dict[str, Any], turn: da.Record, run: da.Record, feedback: da.Record) -> list[Piece]:
    first = Text(
        f"A crank at a steady {SPEED:.3f} rad/s moves the slider by {results['stroke']:.3f} m. The return takes "
        f"{results['return_stroke']:.3f} s of the turn of 4 s, and the torque has its peaks there: "
        f"{results['torque_max']:.5f} N m at {results['torque_max_time']:.3f} s and {results['torque_min']:.5f} N m at "
        f"{results['torque_min_time']:.3f} s."
    )
    with mpl.rc_context(STYLE):
        figure = new_figure(8.5, 5.6)
        above, middle, below = figure.subplots(3, 1, sharex=True)
        above.plot(turn.time, turn["torque"], color=BLUE)
        for key in ("max", "min"):
            above.plot(results[f"torque_{key}_time"], results[f"torque_{key}"], "o", ms=5, color=RED)
        middle.plot(turn.time, turn["guide.speed"], color=GREEN)
        below.plot(turn.time, turn["rocker.rate"], color=RED)
        for ax, label in ((above, "torque [N m]"), (middle, "slider [m/s]"), (below, "rocker [rad/s]")):
            ax.set_ylabel(label)
            ax.axvspan(*results["reversals"], color=GREY, alpha=0.15, lw=0)
        below.set(xlabel="time [s]", xlim=(0.0, 4.0))
        figure.align_ylabels()
        closed = new_figure(8.5, 2.8)
        ax = closed.subplots()
        least = 1e-17  # rounding may leave nothing
        for t, y, color, label in (
            (feedback.time, feedback["residual.velocity"], RED, "Baumgarte (1, 1)"),
            (run.time[::16], run["residual.velocity"][::16], BLUE, "closed at every sample"),
        ):
            ax.semilogy(t, np.maximum(y, least), color=color, lw=1.2, label=label)
        ax.axhline(PUBLISHED["residual"], color=GREY, ls="--", lw=1, label="published bound")
        ax.set(xlabel="time [s]", ylabel="rate of the rows [m/s]", xlim=(0.0, UNTIL), ylim=(least, 1e-3))
        log_ticks(ax.yaxis)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    rows = tuple(
        (label, f"{results[key]:{form}}", f"{PUBLISHED[key]:{other}}")
        for key, label, form, other in (
            ("torque_max", "largest torque [N m]", ".5f", ".3f"),
            ("torque_min", "smallest torque [N m]", ".5f", ".3f"),
            ("residual", "rate of the constraints, largest [m/s]", ".1e", ".0e"),
        )
    )
    return [
        first,
        Picture("torque", figure, "Torque of the crank, speed of the slider and of the rocker over one turn; the "
                "return stroke is grey."),
        Table(("", "here", "read from the published curves"), rows),
        Picture("residual", closed, "Residual of the differentiated constraints over four turns."),
        Text(
            f"The linkage has {results['speeds']} speeds and {results['rows']} constraint rows, so "
            f"{results['degrees_of_freedom']} degree of freedom. Positions, speeds and accelerations follow from the "
            "rows at every sample by Newton's method; the published run integrates them with Baumgarte's feedback "
            f"instead, which here leaves a residual of {results['residual_with_feedback']:.1e} m/s."
        ),
    ]  # fmt: skip
