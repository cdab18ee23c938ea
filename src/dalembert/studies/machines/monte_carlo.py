"""Tolerances of a crank-rocker: lengths and masses scatter, the motor's peak torque and the swing follow.

Every machine of the batch turns its crank at a steady 10 rad/s for two seconds, by inverse dynamics; lengths scatter by
0.2 %, masses by 2 %, drawn by a Latin hypercube. The runs are independent, so two cores need half the time of one.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.progress import step, within
from dalembert.studies.runner import Outcome
from dalembert.sweeps.trials import SweepPoint
from dalembert.view.plots.figures import BLUE, STYLE, new_figure
from dalembert.view.reports.pages import Moving, Picture, Piece, Table, Text

NOMINAL = {"crank": 0.2, "coupler": 0.6, "rocker": 0.5, "ground": 0.7}
"""Lengths [m]; uniform rods of 1 kg/m."""
LENGTH, MASS = 0.002, 0.02
"""Relative standard deviations."""
SAMPLES, SEED = 1000, 1
SPEED, SPAN, STEP = 10.0, 2.0, 2e-3
STEPS = {"batch": 120.0}
_built: dict[str, Any] = {}


def equations() -> da.EquationsOfMotion:
    """The machine with its lengths and densities as parameters; built once per process."""
    if "eqs" not in _built:
        m = da.Mechanism("crank-rocker", planar=True)
        size = {name: m.parameter(f"{name}.length", value) for name, value in NOMINAL.items()}
        load = {name: m.parameter(f"{name}.density", 1.0) for name in ("crank", "coupler", "rocker")}
        bodies = {}
        for name, density in load.items():
            mass = density * size[name]
            bodies[name] = m.add_body(name, mass=mass, inertia=mass * size[name] ** 2 / 12)
        crank, coupler, rocker = bodies.values()
        a, b, c, d = size.values()
        m.add_revolute("A", m.ground.at(0, 0), crank.at(-a / 2, 0))
        m.add_revolute("B", crank.at(a / 2, 0), coupler.at(-b / 2, 0))
        m.add_revolute("C", coupler.at(b / 2, 0), rocker.at(c / 2, 0))
        m.add_revolute("D", m.ground.at(d, 0), rocker.at(-c / 2, 0))
        m.add_actuator("motor", joint="A", input="torque")
        _built["machine"], _built["eqs"] = m, da.equations(m)
    return _built["eqs"]  # type: ignore[no-any-return]


def design(samples: int = SAMPLES) -> da.sweeps.LatinHypercube:
    """Relative deviations of all lengths and densities."""
    axes = {f"{name}.length": da.sweeps.Normal(1.0, LENGTH) for name in NOMINAL}
    axes |= {f"{name}.density": da.sweeps.Normal(1.0, MASS) for name in ("crank", "coupler", "rocker")}
    return da.sweeps.LatinHypercube(axes, samples, SEED)


def trial(point: SweepPoint) -> dict[str, float]:
    """One machine: peak torque [N m], swing of the rocker [rad], peak bearing force at A [N]."""
    run = motion(point)
    return {
        "peak torque": float(np.abs(run["torque"]).max()), "swing": float(np.ptp(run["D.angle"])),
        "bearing": float(np.hypot(run["A.force.x"], run["A.force.y"]).max()),
    }  # fmt: skip


def motion(point: Mapping[str, float]) -> da.Record:
    """Two seconds at steady speed of the machine with these relative lengths and densities."""
    eqs = equations()
    nominal = dict(zip(eqs.parameters.names, eqs.parameter_values, strict=True))
    eqs = eqs.replace(**{name: nominal[name] * share for name, share in point.items()})
    start = da.assemble(eqs, {"A.angle": 0.5 * np.pi})
    times: Any = np.arange(0.0, SPAN, STEP)
    return da.inverse_dynamics(eqs, {"A.angle": lambda t: 0.5 * np.pi + SPEED * t}, times=times, start=start)


def study() -> Outcome:
    """The whole batch on all cores."""
    step("batch")
    began = clock.perf_counter()
    found = da.sweep(trial, design(), progress=within())
    seconds = clock.perf_counter() - began
    results: dict[str, Any] = {
        "samples": len(found), "cores": os.cpu_count(), "seconds": seconds,
        "relative_deviation": {"lengths": LENGTH, "densities": MASS},
    }  # fmt: skip
    for name in found.results:
        values = found[name]
        low, high = np.quantile(values, [0.025, 0.975])
        share = _shares(found, name)
        results[name.replace(" ", "_")] = {
            "mean": values.mean(), "std": values.std(ddof=1), "interval_95": [low, high], "share_of_variance": share
        }  # fmt: skip
    words = "The machine with its lengths as designed, four times slower than real; the trace is that of joint C."
    nominal = motion({}).between(0.0, 2 * np.pi / SPEED)
    return Outcome(
        "Tolerances of a crank-rocker: a Monte Carlo batch", results, _pieces(results, found), {"seed": SEED},
        moving=[Moving("crank-rocker", da.animate(nominal, speed=0.25, trail="C"), words)],
        model=(_built["machine"], equations()),
    )  # fmt: skip


def _shares(found: Any, name: str) -> dict[str, float]:
    """Part of the variance that each axis explains by itself (squared correlation)."""
    return {axis: float(np.corrcoef(found[axis], found[name])[0, 1] ** 2) for axis in found.names}


def _pieces(results: dict[str, Any], found: Any) -> list[Piece]:
    torque = results["peak_torque"]
    most = max(torque["share_of_variance"], key=lambda axis: torque["share_of_variance"][axis])
    first = Text(
        f"{results['samples']} crank-rockers whose lengths scatter by {100 * LENGTH:g} % and masses per metre by "
        f"{100 * MASS:g} % (standard deviations) were run at {SPEED:g} rad/s: "
        f"the motor needs {torque['mean']:.3f} ± {torque['std']:.3f} N m at its peak, 95 % of them between "
        f"{torque['interval_95'][0]:.3f} and {torque['interval_95'][1]:.3f}. What counts most is {most}, with "
        f"{100 * torque['share_of_variance'][most]:.0f} % of the variance (squared correlation)."
    )
    labels = {"peak_torque": "peak torque [N m]", "swing": "swing of the rocker [rad]", "bearing": "force in A [N]"}
    rows = tuple(
        (label, f"{results[key]['mean']:.4g}", f"{results[key]['std']:.2g}",
         *(f"{v:.4g}" for v in results[key]["interval_95"]))
        for key, label in labels.items()
    )  # fmt: skip
    with mpl.rc_context(STYLE):
        figure = new_figure(8.5, 2.8)
        for ax, (key, label) in zip(figure.subplots(1, 3), labels.items(), strict=True):
            ax.hist(found[key.replace("_", " ")], bins=40, color=BLUE)
            ax.set_xlabel(label)
        figure.axes[0].set_ylabel("machines")
    return [
        first,
        Table(("", "mean", "deviation", "2.5 %", "97.5 %"), rows),
        Picture("batch", figure, "How many machines have which value."),
    ]
