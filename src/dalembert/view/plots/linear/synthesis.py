"""Figures of a synthesis, for its plant or a family of models: gains, loops, poles with their region, impulses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from dalembert.control.robust.pole_region import PoleRegion
from dalembert.control.robust.synthesis import Synthesis
from dalembert.core.arrays import FloatArray
from dalembert.linear.state_space import StateSpace
from dalembert.view.plots.figures import GREEN, GREY, RED, choice, heading, log_ticks, new_figure
from dalembert.view.plots.linear.families import (
    draw_bode,
    draw_nyquist,
    draw_region,
    frequencies_around,
    frequency_axis,
    respond,
    thin,
)
from dalembert.view.plots.linear.loops import plot_loop
from dalembert.view.plots.linear.pole_map import NONE, plot_plane

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VIEWS = ("gain", "poles", "impulse", "bode", "nyquist", "loop")


def plot_synthesis(
    design: Synthesis,
    *,
    view: str = "gain",
    models: Sequence[StateSpace] | None = None,
    region: PoleRegion | None = None,
    until: float | None = None,
    frequency: str = "Hz",
    title: str | None = None,
) -> Figure:
    """Largest gain from disturbances to performance outputs over frequency (``"gain"``), poles with their region,
    responses to an impulse without and with control, or the loop opened at the driven inputs.

    models : a family with the same channels; the plant of the design where left out.
    """
    choice("view", view, VIEWS, "the plot of a Synthesis")
    choice("frequency unit", frequency, ("Hz", "rad/s"), "the plot of a Synthesis")
    if view == "loop":
        return plot_loop(design.loop(), frequency=frequency, title=title)
    family = [design.system] if models is None else list(models)
    draw: Any = {"gain": _gain, "poles": _poles, "impulse": _impulse, "bode": _bode, "nyquist": _nyquist}[view]
    option = {"gain": frequency, "poles": region, "impulse": until, "bode": frequency, "nyquist": None}[view]
    figure: Figure = draw(design, family, option)
    heading(figure, _describe(design, view, len(family)) if title is None else title)
    return figure


def _describe(design: Synthesis, view: str, count: int) -> str:
    words = {
        "gain": f"{design.method}: largest gain {design.peak.gain:.4g}", "poles": f"{design.method}: closed loops",
        "impulse": f"{design.method}: impulse at {design.disturbances[0]}", "bode": f"{design.method}: open loop",
        "nyquist": f"{design.method}: open loop",
    }[view]  # fmt: skip
    return words + (f" of {count} models" if count > 1 else "")


def _around(design: Synthesis, model: StateSpace) -> Synthesis:
    if model is design.system:
        return design
    return Synthesis(design.controller, model, design.disturbances, design.performance, method=design.method)


def _gain(design: Synthesis, family: list[StateSpace], frequency: str) -> Figure:
    figure = new_figure(7.4, 4.4)
    ax = figure.subplots()
    closed = [_around(design, model).channel() for model in family]
    omega = frequencies_around(closed)
    x = frequency_axis(ax, omega, frequency)
    for k, system in enumerate(closed):
        size = np.linalg.svd(respond(system, omega), compute_uv=False)[:, 0]
        ax.plot(x, size, label="largest gain, closed loop" if k == 0 else "_", **thin(len(family)))
    if design.judged is None and len(family) == 1:
        plant = design.system.select(inputs=design.disturbances, outputs=design.performance)
        size = np.linalg.svd(respond(plant, omega), compute_uv=False)[:, 0]
        ax.plot(x, size, color=GREY, lw=1.2, label="without control", zorder=1)
    high = design.bounds[1]
    if np.isfinite(high) and design.norm == "H-infinity":
        ax.axhline(high, color=GREEN, ls="--", lw=1.1, label=f"smallest norm, at most {high:.4g}")
    if np.isfinite(design.peak.gain):
        ax.axhline(design.peak.gain, color=RED, lw=1.1, label=f"exact peak {design.peak.gain:.4g}")
    ax.set_yscale("log")
    ax.set_ylabel("largest gain [-]")
    log_ticks(ax.yaxis)
    ax.legend(loc="best")
    return figure


def _poles(design: Synthesis, family: list[StateSpace], region: PoleRegion | None) -> Figure:
    values = np.concatenate([_around(design, model).poles.values for model in family])
    figure = plot_plane(values, NONE, design.dt, "")
    if region is None or design.dt is not None:
        return figure
    draw_region(figure.axes[0], region)
    return figure


def impulse_response(system: StateSpace, times: FloatArray) -> FloatArray:
    """C e^{A t} B of one input, (times, ny); sampled C A^k B dt."""
    if system.dt is None:
        step, x = scipy.linalg.expm(system.A * (times[1] - times[0])), system.B[:, 0]
    else:
        step, x = system.A, system.B[:, 0] / system.dt
    rows = []
    for _ in times:
        rows.append(system.C @ x)
        x = step @ x
    return np.array(rows)


def _impulse(design: Synthesis, family: list[StateSpace], until: float | None) -> Figure:
    poles = np.concatenate([_around(design, model).poles.continuous for model in family])
    poles = poles[np.isfinite(poles)]
    slowest = max(float(-poles.real.max()), 1e-12)  # five time constants of it, or a hundred of the middle pole
    end = until or float(min(5.0 / slowest, 100.0 / np.median(np.abs(poles))))
    dt = design.dt or end / 2000.0
    times = np.asarray(np.arange(max(int(np.ceil(end / dt)), 2)) * dt, dtype=float)
    names, w = design.performance, design.disturbances[0]
    shown = names[:4]
    figure = new_figure(7.4, 1.2 + 1.7 * len(shown))
    axes = np.atleast_1d(figure.subplots(len(shown), 1, sharex=True))
    for k, model in enumerate(family):
        closed = _around(design, model).closed_loop().select(inputs=w, outputs=shown)
        opened, controlled = (impulse_response(each, times) for each in (model.select(inputs=w, outputs=shown), closed))
        for ax, before, after, name in zip(axes, opened.T, controlled.T, shown, strict=True):
            if np.abs(before).max() <= 20.0 * max(np.abs(after).max(), 1e-300) and np.abs(before).max() > 0.0:
                ax.plot(times, before, color=GREY, lw=0.9, label="without control" if k == 0 else "_", zorder=1)
            ax.plot(times, after, label="with control" if k == 0 else "_", **thin(len(family)))
            ax.set_ylabel(name)
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(0.0, times[-1])
    axes[0].legend(loc="upper right")
    return figure


def _loops(design: Synthesis, family: list[StateSpace]) -> tuple[FloatArray, list[Any]]:
    """Frequencies and responses of the loops, opened at the first driven input with the others closed."""
    loops = [_around(design, model).loop() for model in family]
    omega = frequencies_around(loops)
    responses = []
    for loop in loops:
        L = respond(loop, omega)
        rest = np.eye(loop.nu - 1) + L[:, 1:, 1:]
        responses.append(L[:, 0, 0] - (L[:, :1, 1:] @ np.linalg.solve(rest, L[:, 1:, :1]))[:, 0, 0]
                         if loop.nu > 1 else L[:, 0, 0])  # fmt: skip
    return omega, responses


def _bode(design: Synthesis, family: list[StateSpace], frequency: str) -> Figure:
    return draw_bode(*_loops(design, family), frequency)


def _nyquist(design: Synthesis, family: list[StateSpace], _: None) -> Figure:
    return draw_nyquist(*_loops(design, family))
