"""Figures of a synthesis, for its plant or a family of models: gains, loops, poles with their region, impulses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from dalembert.control.robust.pole_region import PoleRegion
from dalembert.control.robust.synthesis import Synthesis
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.linear.eigen.roots import Roots
from dalembert.linear.state_space import StateSpace
from dalembert.view.plots.figures import BLUE, GREEN, GREY, INK, RED, choice, heading, log_ticks, new_figure
from dalembert.view.plots.linear.loops import plot_loop
from dalembert.view.plots.linear.pole_map import NONE, plot_plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 600
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


def _frequencies(systems: Sequence[StateSpace], beyond: float = 10.0, zero: float = 1e-6) -> FloatArray:
    """Frequencies [rad/s] around all poles, lightly damped ones included; ``zero``: of the fastest, a double zero."""
    values = np.concatenate([Roots(np.linalg.eigvals(each.A), each.dt).continuous for each in systems])
    size = np.abs(values[np.isfinite(values)])
    size = size[size > zero * size.max(initial=0.0)]
    if not len(size):
        return np.geomspace(0.1, 10.0, POINTS)
    ends = size.min() / beyond, size.max() * beyond
    near = [np.abs(v.imag) + np.linspace(-4.0, 4.0, 41) * abs(v.real) for v in values if v.imag > 0.0]
    omega = np.unique(np.concatenate([np.geomspace(*ends, POINTS), *near]))
    omega = omega[(omega > 0.0) & np.isfinite(omega)]
    dt = systems[0].dt
    return np.asarray(omega if dt is None else omega[omega < np.pi / dt], dtype=float)


def _respond(system: StateSpace, omega: FloatArray) -> Any:
    s = 1j * omega if system.dt is None else np.exp(1j * omega * system.dt)
    return np.stack(
        [system.C @ np.linalg.solve(each * np.eye(system.nx) - system.A, system.B) + system.D for each in s]
    )


def _axis(ax: Axes, omega: FloatArray, frequency: str) -> FloatArray:
    ax.set_xscale("log")
    ax.set_xlabel(f"frequency [{frequency}]")
    scaled = np.asarray(omega / (2.0 * np.pi) if frequency == "Hz" else omega, dtype=float)
    ax.set_xlim(scaled[0], scaled[-1])
    log_ticks(ax.xaxis)
    return scaled


def _thin(count: int) -> dict[str, Any]:
    return {"color": BLUE, "lw": 1.6 if count == 1 else 0.7, "alpha": 1.0 if count == 1 else 0.5}


def _gain(design: Synthesis, family: list[StateSpace], frequency: str) -> Figure:
    figure = new_figure(7.4, 4.4)
    ax = figure.subplots()
    closed = [_around(design, model).channel() for model in family]
    omega = _frequencies(closed)
    x = _axis(ax, omega, frequency)
    for k, system in enumerate(closed):
        size = np.linalg.svd(_respond(system, omega), compute_uv=False)[:, 0]
        ax.plot(x, size, label="largest gain, closed loop" if k == 0 else "_", **_thin(len(family)))
    if design.judged is None and len(family) == 1:
        plant = design.system.select(inputs=design.disturbances, outputs=design.performance)
        size = np.linalg.svd(_respond(plant, omega), compute_uv=False)[:, 0]
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
    ax = figure.axes[0]
    (left, right), (_, top) = ax.get_xlim(), ax.get_ylim()
    x, y = np.meshgrid(np.linspace(left, right, 400), np.linspace(-top, top, 401))
    outside = region.excess(x + 1j * y)
    ax.contour(x, y, outside, [0.0], colors=[INK], linewidths=1.3)
    ax.contourf(x, y, outside, [0.0, np.inf], colors=[GREY], alpha=0.25)
    ax.plot([], [], color=INK, lw=1.3, label=region.words().replace(", ", ",\n"))
    ax.legend(loc="upper left", bbox_to_anchor=(1.005, 1.02), borderaxespad=0.0)
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
            ax.plot(times, after, label="with control" if k == 0 else "_", **_thin(len(family)))
            ax.set_ylabel(name)
    axes[-1].set_xlabel("time [s]")
    axes[-1].set_xlim(0.0, times[-1])
    axes[0].legend(loc="upper right")
    return figure


def _loops(design: Synthesis, family: list[StateSpace]) -> tuple[FloatArray, list[Any]]:
    """Frequencies and responses of the loops, opened at the first driven input with the others closed."""
    loops = [_around(design, model).loop() for model in family]
    omega = _frequencies(loops)
    responses = []
    for loop in loops:
        L = _respond(loop, omega)
        rest = np.eye(loop.nu - 1) + L[:, 1:, 1:]
        responses.append(L[:, 0, 0] - (L[:, :1, 1:] @ np.linalg.solve(rest, L[:, 1:, :1]))[:, 0, 0]
                         if loop.nu > 1 else L[:, 0, 0])  # fmt: skip
    return omega, responses


def _bode(design: Synthesis, family: list[StateSpace], frequency: str) -> Figure:
    omega, responses = _loops(design, family)
    figure = new_figure(7.4, 5.2)
    size, phase = figure.subplots(2, 1, sharex=True)
    x = _axis(phase, omega, frequency)
    for L in responses:
        size.plot(x, 20.0 * np.log10(np.abs(L)), **_thin(len(family)))
        phase.plot(x, np.degrees(np.unwrap(np.angle(L))), **_thin(len(family)))
    size.axhline(0.0, color=GREY, lw=0.9)
    size.set_ylabel("magnitude [dB]")
    phase.set_ylabel("phase [°]")
    return figure


def _nyquist(design: Synthesis, family: list[StateSpace], _: None, reach: float = 3.0) -> Figure:
    omega, responses = _loops(design, family)
    if not len(omega):
        raise DataError("empty", "there is no frequency to draw.")
    figure = new_figure(5.6, 5.0)
    ax = figure.subplots()
    for L in responses:
        near = np.where(np.abs(L) < 3.0 * reach, L, np.nan)
        ax.plot(near.real, near.imag, **_thin(len(family)))
        ax.plot(near.real, -near.imag, **{**_thin(len(family)), "ls": ":"})
    ax.plot([-1.0], [0.0], "+", color=RED, ms=11, mew=2.0)
    ax.set_xlim(-reach, 0.6 * reach)
    ax.set_ylim(-0.8 * reach, 0.8 * reach)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlabel("real part [-]")
    ax.set_ylabel("imaginary part [-]")
    return figure
