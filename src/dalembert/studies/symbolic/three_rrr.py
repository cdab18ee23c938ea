"""A planar parallel robot on three legs: which torques of its three motors move the platform along a path?

A planar linkage by its nodes, with the data of Orsino (2016, section 5.3.2). The platform turns by the fourth power of
a sine: the text of the source has the first power, its published curves the fourth.
"""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.progress import step
from dalembert.solve import Baumgarte
from dalembert.studies.runner import Outcome
from dalembert.studies.symbolic.quick_return import find_extremes
from dalembert.symbolic import PlanarModel
from dalembert.view.plots.figures import COLORS, STYLE, new_figure
from dalembert.view.reports.origin import HASH, model_hash
from dalembert.view.reports.pages import Moving, Picture, Piece, Table, Text

UNTIL, SAMPLES = 16.0, 6401
STEPS = {"inverse dynamics": 2.0, "feedback": 4.0}
TORQUES = ("torque1", "torque2", "torque3")
PUBLISHED = {"torque1": (7.75, -7.5), "torque2": (11.1, -11.0), "torque3": (9.75, -5.2)}
"""Largest and smallest torque [N m] as read from the published curves."""
MOTION = {
    "platform.1.x": lambda t: -da.sin(math.pi * t / 2),
    "platform.1.y": lambda t: da.sin(math.pi * t / 4),
    "turned": lambda t: math.pi / 6 * da.sin(math.pi * t / 4) ** 4,
}


def linkage() -> PlanarModel:
    """A platform with its centre as first node, and three legs of two bars of 2 m."""
    r = math.sqrt(3)
    m = da.symbolic.PlanarModel("three-rrr", gravity=0)
    m.add_ground((3, 0), (-1.5, 1.5 * r), (-1.5, -1.5 * r))
    m.add_body("platform", [(0, 0), (1, 0), (-0.5, r / 2), (-0.5, -r / 2)], mass=1.0, inertia=0.25)
    for k, elbow in enumerate([(2, r), (-2.5, r / 2), (0.5, -1.5 * r)], start=1):
        m.add_bar(f"coupler{k}", f"platform.{k + 1}", elbow, mass=0.5, inertia=1 / 6)
        m.add_bar(f"crank{k}", f"0.{k}", elbow, mass=0.5, inertia=2 / 3, center=0)
        m.add_revolute(f"0.{k}-crank{k}.1", name=f"A{k}", input=f"torque{k}")
        m.add_revolute(f"platform.{k + 1}-coupler{k}.1", name=f"P{k}")
        m.add_revolute(f"coupler{k}.2-crank{k}.2", name=f"E{k}")
    m.add_coordinate("turned", "platform.rate")
    return m


def study() -> Outcome:
    """Torques of the motors over two periods of the path, and the residuals of the joints."""
    step("inverse dynamics")
    eqs = da.equations(linkage())
    run = da.inverse_dynamics(eqs, MOTION, times=np.linspace(0.0, UNTIL, SAMPLES))
    step("feedback")
    driven = linkage()
    for name, law in MOTION.items():
        driven.add_driver(f"drive {name}", name, law)
    held = da.equations(driven)
    method = da.RK4(4e-3, stabilise=Baumgarte(1, 1, 1))
    start = da.assemble(held)
    feedback = da.simulate(held, UNTIL, start=start, method=method, every=0.032, progress=False)
    period = run.between(0.0, 8.0)
    found = {name: find_extremes(period.time, period[name]) for name in TORQUES}
    results: dict[str, Any] = {
        **{f"torque_{key}": {name: found[name][key] for name in TORQUES}
           for key in ("max", "max_time", "min", "min_time")},
        "residual": run["residual.velocity"].max(),
        "residual_position": run["residual.position"].max(),
        "residual_force": run["residual.force"].max(),
        "residual_with_feedback": feedback["residual.velocity"].max(),
        "torque_at_start": {name: run[name][0] for name in TORQUES},
        "crank3_rate": find_extremes(period.time, period["A3.rate"]),
        "degrees_of_freedom": run.statistics["degrees of freedom"],
        "speeds": eqs.nv,
        "rows": len(eqs.rows),
    }  # fmt: skip
    words = "One period of the path, 8 s; the trace is that of the centre of the platform."
    shown = da.animate(period.resample(every=0.025), trail="platform.1", channels=list(TORQUES))
    moving = Moving("three-rrr", shown, words)
    provenance = {"data": "Orsino (2016), 5.3.2", "seeds": "none: nothing is random", HASH: model_hash(eqs)}
    return Outcome("3-RRR robot: torques along a path", results, _pieces(results, period), provenance, moving=[moving])


def _pieces(results: dict[str, Any], period: da.Record) -> list[Piece]:
    most = max(TORQUES, key=lambda name: results["torque_max"][name])
    first = Text(
        f"Three motors move the platform along a closed path in 8 s. The largest torque is "
        f"{results['torque_max'][most]:.4f} N m, of motor {most[-1]} at {results['torque_max_time'][most]:.2f} s. The "
        f"linkage has {results['speeds']} speeds and {results['rows']} constraint rows, so "
        f"{results['degrees_of_freedom']} degrees of freedom: three inputs are determined."
    )
    with mpl.rc_context(STYLE):
        figure = new_figure(8.5, 5.2)
        above, below = figure.subplots(2, 1, sharex=True)
        for k, (name, color) in enumerate(zip(TORQUES, COLORS, strict=False), start=1):
            above.plot(period.time, period[name], color=color, label=f"motor {k}")
            below.plot(period.time, period[f"A{k}.rate"], color=color)
            for key in ("max", "min"):
                place = results[f"torque_{key}_time"][name], results[f"torque_{key}"][name]
                above.plot(*place, "o", ms=4, color=color)
        above.set_ylabel("torque [N m]")
        above.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        below.set(xlabel="time [s]", ylabel="crank [rad/s]", xlim=(0.0, 8.0))
        figure.align_ylabels()
        path = new_figure(6.4, 4.2)
        ax = path.subplots()
        for node, color in zip("1234", COLORS, strict=False):
            label = "centre" if node == "1" else f"node {node}"
            ax.plot(period[f"platform.{node}.x"], period[f"platform.{node}.y"], color=color, label=label)
        ax.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    rows = tuple(
        (f"motor {k}", f"{results['torque_max'][name]:.4f}", f"{results['torque_max_time'][name]:.2f}",
         f"{PUBLISHED[name][0]:g}", f"{results['torque_min'][name]:.4f}", f"{results['torque_min_time'][name]:.2f}",
         f"{PUBLISHED[name][1]:g}")
        for k, name in enumerate(TORQUES, start=1)
    )  # fmt: skip
    head = ("", "largest [N m]", "at [s]", "published", "smallest [N m]", "at [s]", "published")
    return [
        first,
        Picture("torques", figure, "Torques of the motors and speeds of the cranks over one period."),
        Table(head, rows, "Extremes, beside values read from the published curves"),
        Picture("path", path, "Paths of the nodes of the platform."),
        Text(
            "Every sample is closed by Newton's method: the differentiated constraints are kept to "
            f"{results['residual']:.1e} m/s. Held by Baumgarte's feedback with (1, 1), as in the source, a run of "
            f"fixed steps leaves {results['residual_with_feedback']:.1e} m/s (published: below 4.3e-5)."
        ),
    ]  # fmt: skip
