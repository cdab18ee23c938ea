"""Families of linear systems in one picture: Bode and Nyquist diagrams, poles with the region they are to be in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.control.robust.pole_region import PoleRegion
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, require_name
from dalembert.linear.eigen.roots import Roots
from dalembert.linear.state_space import StateSpace
from dalembert.linear.uncertain import Uncertain
from dalembert.view.plots.figures import BLUE, GREY, INK, RED, choice, heading, log_ticks, new_figure
from dalembert.view.plots.linear.pole_map import NONE, plot_plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 600
VIEWS = ("bode", "nyquist", "poles")


def plot_uncertain(
    uncertain: Uncertain,
    *pair: str,
    view: str = "bode",
    samples: int = 30,
    seed: int = 0,
    region: PoleRegion | None = None,
    frequency: str = "Hz",
    title: str | None = None,
) -> Figure:
    """Members of the family drawn at random: Bode or Nyquist diagram of one output and input (the first where left
    out), or poles with their region."""
    family = [uncertain.nominal, *uncertain.sample(samples, seed=seed)]
    return plot_family(family, *pair, view=view, region=region, frequency=frequency, title=title)


def plot_family(
    family: Sequence[StateSpace],
    *pair: str,
    view: str = "bode",
    region: PoleRegion | None = None,
    frequency: str = "Hz",
    title: str | None = None,
) -> Figure:
    """Models with the same channels in one picture; the first one is drawn above the others."""
    choice("view", view, VIEWS, "the plot of a family")
    choice("frequency unit", frequency, ("Hz", "rad/s"), "the plot of a family")
    first = family[0]
    if view == "poles":
        figure = plot_plane(np.concatenate([np.linalg.eigvals(each.A) for each in family]), NONE, first.dt, "")
        if region is not None and first.dt is None:
            draw_region(figure.axes[0], region)
        words = "poles"
    else:
        output, into = (*pair, *(first.outputs[0], first.inputs[0])[len(pair) :])
        require_name("output", output, first.outputs, "the models")
        require_name("input", into, first.inputs, "the models")
        omega = frequencies_around(family)
        curves = [respond(each.select(inputs=into, outputs=output), omega)[:, 0, 0] for each in family]
        figure = draw_bode(omega, curves, frequency) if view == "bode" else draw_nyquist(omega, curves)
        words = f"{output} from {into}" if view == "bode" else f"loop at {into}"
    heading(figure, f"{words}, {len(family)} models" if title is None else title)
    return figure


def draw_bode(omega: FloatArray, curves: Sequence[Any], frequency: str) -> Figure:
    """Magnitudes and phases over frequency."""
    figure = new_figure(7.4, 5.2)
    size, phase = figure.subplots(2, 1, sharex=True)
    x = frequency_axis(phase, omega, frequency)
    angles = [np.degrees(np.unwrap(np.angle(curve))) for curve in curves]
    for k, (curve, angle) in enumerate(zip(curves, angles, strict=True)):
        size.plot(x, 20.0 * np.log10(np.maximum(np.abs(curve), 1e-300)), **thin(len(curves), k))
        turns = np.round(np.median(angle - angles[0]) / 360.0)  # -179° and 181° are one phase
        phase.plot(x, angle - 360.0 * turns, **thin(len(curves), k))
    size.axhline(0.0, color=GREY, lw=0.9)
    size.set_ylabel("magnitude [dB]")
    phase.set_ylabel("phase [°]")
    return figure


def draw_nyquist(omega: FloatArray, curves: Sequence[Any], reach: float = 3.0) -> Figure:
    """Loops of negative feedback in the complex plane, with the point -1; ``reach``: of the plane around it."""
    if not len(omega):
        raise DataError("empty", "there is no frequency to draw.")
    figure = new_figure(5.6, 5.0)
    ax = figure.subplots()
    for k, curve in enumerate(curves):
        near = np.where(np.abs(curve) < 3.0 * reach, curve, np.nan)
        ax.plot(near.real, near.imag, **thin(len(curves), k))
        ax.plot(near.real, -near.imag, **{**thin(len(curves), k), "ls": ":"})
    ax.plot([-1.0], [0.0], "+", color=RED, ms=11, mew=2.0)
    ax.set_xlim(-reach, 0.6 * reach)
    ax.set_ylim(-0.8 * reach, 0.8 * reach)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlabel("real part [-]")
    ax.set_ylabel("imaginary part [-]")
    return figure


def draw_region(ax: Axes, region: PoleRegion) -> None:
    """Edge of a region of poles; what is outside is grey."""
    (left, right), (_, top) = ax.get_xlim(), ax.get_ylim()
    x, y = np.meshgrid(np.linspace(left, right, 400), np.linspace(-top, top, 401))
    outside = region.excess(x + 1j * y)
    ax.contour(x, y, outside, [0.0], colors=[INK], linewidths=1.3)
    ax.contourf(x, y, outside, [0.0, np.inf], colors=[GREY], alpha=0.25)
    ax.plot([], [], color=INK, lw=1.3, label=region.words().replace(", ", ",\n"))
    ax.legend(loc="upper left", bbox_to_anchor=(1.005, 1.02), borderaxespad=0.0)


def frequencies_around(systems: Sequence[StateSpace], beyond: float = 10.0, zero: float = 1e-6) -> FloatArray:
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


def respond(system: StateSpace, omega: FloatArray) -> Any:
    """Responses (frequencies, outputs, inputs)."""
    s = 1j * omega if system.dt is None else np.exp(1j * omega * system.dt)
    return np.stack(
        [system.C @ np.linalg.solve(each * np.eye(system.nx) - system.A, system.B) + system.D for each in s]
    )


def frequency_axis(ax: Axes, omega: FloatArray, frequency: str) -> FloatArray:
    """A log axis below; frequencies in its unit."""
    ax.set_xscale("log")
    ax.set_xlabel(f"frequency [{frequency}]")
    scaled = np.asarray(omega / (2.0 * np.pi) if frequency == "Hz" else omega, dtype=float)
    ax.set_xlim(scaled[0], scaled[-1])
    log_ticks(ax.xaxis)
    return scaled


def thin(count: int, place: int = 0) -> dict[str, Any]:
    """Line of a member; thin where there are several, the first above them."""
    if count == 1:
        return {"color": BLUE, "lw": 1.6}
    return {"color": BLUE, "lw": 0.7, "alpha": 0.5} | ({"lw": 1.4, "alpha": 1.0, "zorder": 3} if place == 0 else {})
