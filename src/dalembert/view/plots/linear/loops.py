"""Loops: Bode and Nyquist diagrams with their margins, and margins as ranges.

The disk margin α keeps the Nyquist curve out of the circle through -(2 - α)/(2 + α) and -(2 + α)/(2 - α) on the real
axis (``control.judge.margins``).
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Circle
from matplotlib.ticker import MultipleLocator

from dalembert.control.judge.margins import ChannelMargins, Margins, as_loop, isolate_channel, margins, minimal_loop
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.view.plots.figures import BLUE, GREY, INK, RED, choice, draw_figure, heading, log_ticks, new_figure
from dalembert.view.plots.linear import pole_map
from dalembert.view.plots.linear.families import plot_family
from dalembert.view.plots.linear.frequency import plot_frequency_response
from dalembert.view.plots.themes import SOLID

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 1500
REACH = 3.2  # of the Nyquist diagram, where the curve goes farther
LEAST_DB, MOST_DB = -80.0, 80.0


def bode(
    system: Any, *pairs: Any, plant: Any = None, frequency: str = "Hz", path: str | os.PathLike[str] | None = None,
    title: str | None = None, theme: str | None = None,
) -> Figure:  # fmt: skip
    """Bode diagram: magnitude in dB and phase over frequency, of a system or of the loop of a design.

    Parameters
    ----------
    system : StateSpace, SecondOrder or FrequencyResponse; of a design of ``da.control`` or a law with its `plant` the
        loop, opened at the driven inputs. ``da.plot(loop, view="loop")`` adds the margins. A list of models is drawn
        as a family, of one output and input.
    pairs : ``(output, input)``, or an output for all inputs; all when left out.
    frequency : "Hz" or "rad/s".  path, title, theme : as of ``da.plot``.
    """
    if isinstance(system, (list, tuple)):
        family = [as_loop(each, plant) for each in system]
        return draw_figure(
            lambda: plot_family(family, *_one_pair(pairs), frequency=frequency, title=title), path, theme
        )
    if isinstance(system, SecondOrder):
        system = system.state_space()
    if not isinstance(system, FrequencyResponse):
        system = as_loop(system, plant)
        system = system.frequency_response(_grid(system), kind="output")
    options: Any = {"magnitude": "dB", "frequency": frequency, "axis": "log", "title": title}
    return draw_figure(lambda: plot_frequency_response(system, *pairs, **options), path, theme)


def nyquist(
    loop: Any, *, plant: Any = None, channel: str | None = None, path: str | os.PathLike[str] | None = None,
    title: str | None = None, theme: str | None = None,
) -> Figure:  # fmt: skip
    """Nyquist diagram of a loop that is closed by negative feedback, with the circle that its disk margin keeps out.

    loop, plant : as of ``da.control.margins``; or a list, drawn as a family without margins.
    channel : input at which it is opened; the first when left out.
    """
    if isinstance(loop, (list, tuple)):
        family = [_isolated(as_loop(each, plant), channel) for each in loop]
        return draw_figure(lambda: plot_family(family, view="nyquist", title=title), path, theme)

    def draw() -> Figure:
        L, margin = _open_channel(as_loop(loop, plant), channel)[1:]
        figure = new_figure(5.6, 5.0)
        _nyquist(figure.subplots(), L, margin)
        heading(figure, _describe(margin.name, margin) if title is None else title)
        return figure

    return draw_figure(draw, path, theme)


def _one_pair(pairs: tuple[Any, ...]) -> tuple[str, ...]:
    """(output, input) of the first pair."""
    if not pairs:
        return ()
    return (pairs[0],) if isinstance(pairs[0], str) else tuple(pairs[0])


def _isolated(loop: StateSpace, channel: str | None) -> StateSpace:
    """One channel of a loop, the others closed."""
    name = loop.inputs[0] if channel is None else choice("channel", channel, loop.inputs, "this loop")
    return isolate_channel(loop, loop.inputs.index(name))


def plot_design(
    design: Any, *, view: str = "loop", channel: str | None = None, frequency: str = "Hz", title: str | None = None
) -> Figure:
    """Loop of a control law opened at its driven input: Bode and Nyquist with margins (``"loop"``), or its closed-loop
    poles (``"poles"``)."""
    choice("view", view, ("loop", "poles"), f"the plot of a {type(design).__name__}")
    if view == "poles":
        return plot_state_space(design.closed_loop(), zeros=False, title=title)
    return plot_loop(design.loop(), channel=channel, frequency=frequency, title=title)


def plot_state_space(
    system: StateSpace,
    *,
    view: str = "poles",
    zeros: bool = True,
    channel: str | None = None,
    frequency: str = "Hz",
    title: str | None = None,
) -> Figure:
    """Poles of a system and, where it has inputs and outputs, its zeros (``view="poles"``); or the Bode and Nyquist
    diagrams of a loop to be closed by negative feedback (``"loop"``)."""
    if choice("view", view, ("poles", "loop"), "the plot of a StateSpace") == "loop":
        return plot_loop(system, channel=channel, frequency=frequency, title=title)
    marked = system.zeros().values if zeros and system.nu and system.ny else pole_map.NONE
    return pole_map.plot_plane(system.poles().values, marked, system.dt, title or "")


def plot_loop(
    loop: StateSpace, *, channel: str | None = None, frequency: str = "Hz", title: str | None = None
) -> Figure:
    """Bode and Nyquist diagrams of one channel of a loop (negative feedback, the other channels closed)."""
    choice("frequency unit", frequency, ("Hz", "rad/s"), "the plot of a loop")
    w, L, margin = _open_channel(loop, channel)
    figure = new_figure(10.5, 5.0)
    parts = figure.subplot_mosaic([["size", "curve"], ["phase", "curve"]], width_ratios=[1.15, 1.0])
    _bode(parts["size"], parts["phase"], w, L, margin, frequency)
    _nyquist(parts["curve"], L, margin)
    heading(figure, _describe(margin.name, margin) if title is None else title)
    return figure


def _open_channel(loop: StateSpace, channel: str | None) -> tuple[FloatArray, ComplexArray, ChannelMargins]:
    """Frequencies, response and margins of one channel, the others closed."""
    loop, _ = minimal_loop(loop)
    loop_margins = margins(loop)
    channels = [one.name for one in loop_margins.channels]
    name = channels[0] if channel is None else choice("channel", channel, tuple(channels), "this loop")
    alone = isolate_channel(loop, channels.index(name))
    w = _grid(alone, loop_margins[name])
    return w, np.asarray(alone.frequency_response(w, kind="output").values)[:, 0, 0], loop_margins[name]


def plot_margins(found: Margins, *, title: str | None = None) -> Figure:
    """Gain factors and phases that each channel bears, and those it bears at once (disk)."""
    if not found.stable:
        raise DataError("unstable", "the closed loop is not stable: it has no margins to draw.")
    rows: list[tuple[str, tuple[float, float], float, bool]] = []
    for channel in found.channels:
        rows += [
            (channel.name, channel.gain, channel.phase, False),
            (f"{channel.name}, at once", channel.disk_gain, channel.disk_phase, True),
        ]
    if len(found.channels) > 1:
        rows.append(("all channels at once", found.disk_gain, found.disk_phase, True))
    figure = new_figure(9.5, 1.4 + 0.42 * len(rows))
    gain, phase = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [1.3, 1.0]})
    for k, (_, (low, high), angle, together) in enumerate(rows):
        color = RED if together else BLUE
        low_db, right = _decibel(low, LEAST_DB / 2), _decibel(high, MOST_DB / 2)
        gain.barh(k, right - low_db, left=low_db, color=color, height=0.6)
        words = f"{_factor(low)} to {_factor(high)}"
        gain.text(min(right, MOST_DB / 2) + 0.8, k, words, va="center", ha="left", fontsize=8.5, color=INK)
        degrees = min(math.degrees(angle), 180.0)
        phase.barh(k, degrees, color=color, height=0.6)
        words = "no limit" if math.isinf(angle) else f"±{math.degrees(angle):.3g}°"
        phase.text(degrees + 3.0, k, words, va="center", ha="left", fontsize=8.5, color=INK)
    gain.axvline(0.0, color=INK, lw=0.8)
    lows = [_decibel(low, LEAST_DB / 2) for _, (low, _), _, _ in rows]
    highs = [_decibel(high, MOST_DB / 2) for _, (_, high), _, _ in rows]
    gain.set_xlim(min(lows) - 2.0, max(highs) + 0.38 * (max(highs) - min(lows)) + 4.0)
    phase.set_xlim(0.0, 225.0)
    phase.xaxis.set_major_locator(MultipleLocator(45.0))
    gain.set_yticks(range(len(rows)), [row[0] for row in rows])
    gain.set_ylim(len(rows) - 0.4, -0.6)
    for ax, label in ((gain, "gain that is borne [dB]"), (phase, "phase that is borne [deg]")):
        ax.grid(axis="y", visible=False)
        ax.set_xlabel(label)
    heading(figure, "margins; red: gain and phase at once" if title is None else title)
    return figure


def _grid(
    loop: StateSpace,
    margin: ChannelMargins | None = None,
    least_damping: float = 1e-3,  # damping ratio for the points beside an undamped pole, where L is infinite.
    # Relative distance from an undamped pole at which no point is drawn: the peak is 1e7 times as high as its
    # foot.
    at_pole: float = 1e-7,
    zero: float = 1e-9,  # frequency [rad/s] of a pole, zero or crossing that counts as zero: a period of 200 years.
    # Share of the Nyquist frequency at which a diagram of a sampled loop begins at the latest: three decades.
    decades: float = 1e-3,
) -> FloatArray:
    """Frequencies [rad/s] that show all poles, zeros and crossings, denser where poles are lightly damped."""
    poles: ComplexArray = loop.poles().values
    zeros: ComplexArray = loop.zeros().values
    if loop.dt is not None:
        poles, zeros = _continuous(poles, loop.dt), _continuous(zeros, loop.dt)
    crossings = [*margin.crossovers, *margin.gain_frequencies, margin.disk_frequency] if margin else []
    marks = np.concatenate([np.abs(poles), np.abs(zeros), np.array(crossings)])
    marks = marks[np.isfinite(marks) & (marks > zero)]
    low, high = (0.05 * marks.min(), 20.0 * marks.max()) if len(marks) else (1e-2, 1e2)
    if loop.dt is not None:
        high = math.pi / loop.dt * (1.0 - 1e-9)
        low = min(low, decades * high)
    sizes = np.abs(poles[poles.imag > 0.0])
    damped = np.maximum(np.abs(poles[poles.imag > 0.0].real), least_damping * sizes)
    near = [size + width * np.linspace(-6.0, 6.0, 81) for size, width in zip(sizes, damped)]
    w = np.unique(np.concatenate([np.geomspace(low, high, POINTS), *near]))
    w = w[(w >= low) & (w <= high)]
    beside = np.abs(w[:, None] - sizes[None, :]).min(axis=1, initial=np.inf) > at_pole * w
    return np.asarray(w[beside])


def _continuous(
    z: ComplexArray,
    dt: float,
    origin: float = 1e-12,  # modulus of a sampled pole at the origin, which has no logarithm.
) -> ComplexArray:
    return np.asarray(np.log(np.where(np.abs(z) > origin, z, origin)) / dt, dtype=np.complex128)


def _bode(
    size: Axes,
    phase: Axes,
    w: FloatArray,
    L: ComplexArray,
    margin: ChannelMargins,
    unit: str,
    near_crossing: float = -160.0,  # phase [deg] within whose reach the line at -180 is drawn.
    plain: float = 1e5,  # ratio of the ends of a frequency axis up to which plain numbers fit.
) -> None:
    scale = 1.0 / (2.0 * np.pi) if unit == "Hz" else 1.0
    level = 20.0 * np.log10(np.maximum(np.abs(L), 1e-300))
    angle = np.degrees(np.unwrap(np.angle(L)))
    angle -= 360.0 * math.ceil((float(angle[0]) - 90.0 - 1e-6) / 360.0)  # begins between -270 and 90 degrees
    size.plot(w * scale, level, color=BLUE)
    phase.plot(w * scale, angle, color=BLUE)
    size.axhline(0.0, color=GREY, lw=1.0)
    low, high = max(float(level.min()), LEAST_DB), min(float(level.max()), MOST_DB)
    size.set_ylim(low - 5.0, high + 8.0)
    if angle.min() <= near_crossing <= angle.max() + 40.0:
        phase.axhline(-180.0, color=GREY, lw=1.0)
    for factor, at in zip(margin.gain, margin.gain_frequencies):
        if math.isfinite(at) and at > 0.0 and math.isfinite(factor) and factor > 0.0:
            drop = -20.0 * math.log10(factor)
            size.plot([at * scale] * 2, [drop, 0.0], color=RED, lw=2.0, gid=SOLID)
            size.annotate(f"{abs(drop):.3g} dB", (at * scale, 0.5 * drop), (5, 0), textcoords="offset points",
                          fontsize=8, color=RED, va="center")  # fmt: skip
    if math.isfinite(margin.phase_frequency) and margin.phase_frequency > 0.0:
        at = margin.phase_frequency
        here = float(np.interp(at, w, angle))
        base = 360.0 * round((here - 180.0) / 360.0) + 180.0
        phase.plot([at * scale] * 2, [base, here], color=RED, lw=2.0, gid=SOLID)
        phase.annotate(f"{math.degrees(margin.phase):.3g}°", (at * scale, 0.5 * (base + here)), (5, 0),
                       textcoords="offset points", fontsize=8, color=RED, va="center")  # fmt: skip
    phase.yaxis.set_major_locator(MultipleLocator(90.0 if np.ptp(angle) < 800.0 else 360.0))
    phase.margins(y=0.1)
    for ax in (size, phase):
        ax.set_xscale("log")
        ax.set_xlim(w[0] * scale, w[-1] * scale)
        log_ticks(ax.xaxis, plain=w[-1] < plain * w[0])
    size.tick_params(labelbottom=False)
    size.set_ylabel("|L| [dB]")
    phase.set_ylabel("phase of L [deg]")
    phase.set_xlabel(f"frequency [{unit}]")


def _nyquist(ax: Axes, L: ComplexArray, margin: ChannelMargins) -> None:
    ax.axhline(0.0, color=GREY, lw=0.8)
    ax.axvline(0.0, color=GREY, lw=0.8)
    ax.add_patch(Circle((0.0, 0.0), 1.0, fill=False, ec=GREY, lw=0.9, ls=":"))
    low, high = margin.disk_gain
    if 0.0 < low < high < math.inf:
        middle, radius = -0.5 * (low + high), 0.5 * (high - low)
        ax.add_patch(Circle((middle, 0.0), radius, fc=RED, ec=RED, alpha=0.22, lw=0, label="kept out by the disk"))
    ax.plot(L.real, L.imag, color=BLUE, label="L")
    ax.plot(L.real, -L.imag, color=BLUE, lw=0.8, ls="--")
    ax.plot(-1.0, 0.0, "+", ms=11, mew=2.2, color=RED, zorder=5)
    farthest = float(np.abs(L[np.isfinite(L)]).max()) if np.isfinite(L).any() else REACH
    reach = 1.1 * min(max(farthest, 1.4), REACH)
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    ax.set_aspect("equal", adjustable="box")
    ax.grid(False)
    ax.set_xlabel("real part of L [-]")
    ax.set_ylabel("imaginary part of L [-]")


def _describe(name: str, margin: ChannelMargins) -> str:
    if not margin.stable:
        return f"loop at {name}: the closed loop is not stable"
    low, high = margin.gain
    angle = "any phase" if math.isinf(margin.phase) else f"±{math.degrees(margin.phase):.3g}°"
    return (
        f"loop at {name}: gain {_factor(low)} to {_factor(high)}, phase {angle}, max |S| {margin.sensitivity.gain:.3g}"
    )


def _factor(
    value: float,
    factor: float = 1e3,  # factors of a gain that are written with three digits; others are "over 1000".
) -> str:
    if 0.0 < value < 1.0 / factor or factor < value < math.inf:
        return "less than 0.001" if value < 1.0 else "over 1000"
    return "∞" if math.isinf(value) else f"{value:.3g}"


def _decibel(factor: float, limit: float) -> float:
    if factor <= 0.0 or math.isinf(factor):
        return limit
    return float(np.clip(20.0 * math.log10(factor), -abs(limit), abs(limit)))
