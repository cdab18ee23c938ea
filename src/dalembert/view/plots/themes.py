"""Themes of figures: for light screens, for dark ones, and for paper.

All figures are drawn in the few standard colours of ``figures``. A theme is a translation of
these colours, applied to a finished figure: drawing modules do not depend on it. On paper, lines differ also in
their dashes and in their darkness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dalembert.core.errors import require_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Dashes = str | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class Theme:
    """Standard colours to those of a theme, colour maps likewise; dashes by colour; least width of a line [pt]."""

    name: str
    colors: Mapping[str, str] = field(default_factory=dict)
    maps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dashes: Mapping[str, Dashes] = field(default_factory=dict)
    least_width: float = 0.0
    wider: float = 1.0
    dpi: int = 150


SOLID = "solid"  # gid of lines that differ by their position and need no dashes on paper
DARK_PAPER = "#14171c"
_DARK = Theme(
    "dark",
    {
        # lines: the same hues, lighter, every one above 6 : 1 against the background
        "#0072b2": "#4fb3f0", "#d55e00": "#ff8a4c", "#009e73": "#3fcf9f", "#cc79a7": "#e79cc6", "#e69f00": "#f5bd41",
        "#56b4e9": "#a3dcff", "#6f4e9c": "#b79bea", "#7a7a7a": "#b4b9c0",
        # paper, ink and what lies between
        "#ffffff": DARK_PAPER, "#30343b": "#e6e9ee", "#9aa0a8": "#868d97", "#c9ced6": "#444b55", "#edf6f1": "#17251f",
        "#8a8f98": "#79808a", "#e3e6ea": "#2b3038", "#5b616b": "#b3b9c2", "#6a707a": "#a5abb5", "#000000": "#e6e9ee",
        # faces of solids
        "#a9c4dc": "#3f5f7d", "#5f7f9c": "#9dbad6",
    },
    {
        "Blues": ("#1a1f27", "#1f4a75", "#4a9bdc", "#8fd0ff"),  # dark letters are read from its middle on
        "viridis": ("#7a5cc9", "#4a8fd0", "#2fb58f", "#9bd94a", "#fde725"),
    },
)  # fmt: skip
_PRINT = Theme(
    "print",
    {
        # from dark to light in the order they are used: they differ also without colour
        "#0072b2": "#00507d", "#d55e00": "#c24f00", "#009e73": "#007d5b", "#cc79a7": "#b35a8c", "#e69f00": "#c78500",
        "#56b4e9": "#3a93c7", "#6f4e9c": "#4a2f75", "#7a7a7a": "#666666",
        "#30343b": "#000000", "#8a8f98": "#000000", "#5b616b": "#000000", "#6a707a": "#404040", "#9aa0a8": "#707070",
        "#e3e6ea": "#d4d4d4",
    },
    {},
    {
        "#d55e00": (0.0, (6.0, 2.0)), "#009e73": (0.0, (1.2, 1.6)), "#cc79a7": (0.0, (6.0, 1.8, 1.2, 1.8)),
        "#e69f00": (0.0, (3.0, 1.5)), "#56b4e9": (0.0, (8.0, 2.0, 1.2, 2.0, 1.2, 2.0)),
        "#6f4e9c": (0.0, (10.0, 3.0)), "#7a7a7a": (0.0, (1.2, 3.0)),
    },
    least_width=0.8, wider=1.15, dpi=300,
)  # fmt: skip
THEMES: Mapping[str, Theme] = {"light": Theme("light"), "dark": _DARK, "print": _PRINT}
_current: ContextVar[str] = ContextVar("dalembert_figure_style", default="light")


def theme(name: str | None) -> Theme:
    """A theme by name, or the one now in use."""
    chosen = _current.get() if name is None else name
    require_name("theme", chosen, THEMES, "figures")
    return THEMES[chosen]


@contextmanager
def figure_style(name: str) -> Iterator[None]:
    """Theme of the figures drawn inside a ``with`` block: "light", "dark" or "print".

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> from dalembert.view import plot
    >>> with figure_style("dark"):
    ...     figure = plot(SecondOrder(1.0, 4.0).modes())
    >>> figure.get_facecolor()[0] < 0.2
    True
    """
    token = _current.set(theme(name).name)
    try:
        yield
    finally:
        _current.reset(token)


def rc(style: Mapping[str, Any], to: Theme) -> Any:
    """Settings of Matplotlib with the colours of a theme."""
    return {
        key: to.colors.get(value.lower(), value) if isinstance(value, str) else value for key, value in style.items()
    }


def recolor(figure: Figure, to: Theme) -> None:
    """Translate the colours of everything on a figure, in place."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    if not to.colors:
        return
    if to.dashes:
        for ax in figure.axes:
            _dash(ax, to)
    for artist in [*figure.findobj(include_self=True), *_other_ticks(figure)]:
        if isinstance(artist, Line2D):
            _line(artist, to)
        elif isinstance(artist, Collection):
            _collection(artist, to)
        elif isinstance(artist, Patch):
            _patch(artist, to)
        elif isinstance(artist, Text):
            artist.set_color(_to(artist.get_color(), to))
            # neither is a child of its text, so that no other search finds it
            for patch in (artist.get_bbox_patch(), getattr(artist, "arrow_patch", None)):
                if patch is not None:
                    _patch(patch, to)
        if isinstance(artist, ScalarMappable) and artist.get_array() is not None:
            _map(artist, to)
    for ax in figure.axes:  # a bar may belong to a map that is not drawn itself
        bar = getattr(ax, "_colorbar", None)
        if bar is not None:
            _map(bar.mappable, to)


def _other_ticks(figure: Figure) -> list[Any]:
    """Parts of ticks that a figure keeps for later and does not count among its children: those of a drawn figure."""
    ticks: list[Any] = []
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis, getattr(ax, "zaxis", None)):
            for tick in [] if axis is None else [*axis.majorTicks, *axis.minorTicks]:
                ticks += [tick.tick1line, tick.tick2line, tick.gridline, tick.label1, tick.label2]
    artists = set(figure.findobj(include_self=True))
    return [artist for artist in ticks if artist not in artists]


def _to(color: Any, to: Theme) -> Any:
    """The colour of a theme for one of the house; others stay. How much shows through is kept."""
    from matplotlib.colors import to_hex, to_rgba

    if isinstance(color, str) and color in ("none", "auto", "face"):
        return color
    rgba = to_rgba(color)
    if rgba[3] == 0.0:
        return "none"  # else a patch with an opacity of its own would show it
    found = to.colors.get(to_hex(rgba[:3]))
    return color if found is None else (*to_rgba(found)[:3], rgba[3])


def _patch(patch: Any, to: Theme) -> None:
    patch.set_facecolor(_to(patch.get_facecolor(), to))
    patch.set_edgecolor(_to(patch.get_edgecolor(), to))


def _line(line: Any, to: Theme) -> None:
    line.set_color(_to(line.get_color(), to))
    for get, put in (
        (line.get_markerfacecolor, line.set_markerfacecolor),
        (line.get_markeredgecolor, line.set_markeredgecolor),
    ):
        put(_to(get(), to))
    width = float(line.get_linewidth())
    line.set_linewidth(max(width * to.wider, to.least_width))


def _dash(ax: Any, to: Theme) -> None:
    """Dashes by colour, in axes with lines of several colours; lines that mean something by their own keep them."""
    from matplotlib.colors import to_hex

    def plain(line: Any) -> bool:
        return line.get_linestyle() == "-" and line.get_marker() in ("None", "", None) and line.get_gid() != SOLID

    first = next(iter(to.colors))
    colors = {to_hex(line.get_color()) for line in ax.lines if plain(line)} & {first, *to.dashes}
    if len(colors) < 2:
        return
    legend = ax.get_legend()
    for line in [*ax.lines, *(legend.get_lines() if legend else [])]:
        color = to_hex(line.get_color())
        if plain(line) and color in colors and color in to.dashes:
            line.set_linestyle(to.dashes[color])
            line.set_dash_capstyle("butt")


def _collection(drawn: Any, to: Theme) -> None:
    import numpy as np

    if drawn.get_array() is None:
        faces = getattr(drawn, "_facecolor3d", None)
        for get, put in ((drawn.get_facecolor, drawn.set_facecolor), (drawn.get_edgecolor, drawn.set_edgecolor)):
            if faces is not None and get == drawn.get_facecolor:
                continue  # shaded faces in space: mixed of a colour and light, readable on either paper
            colors = np.atleast_2d(get())
            if colors.size:
                put([_to(tuple(color), to) for color in colors])
    widths = np.atleast_1d(drawn.get_linewidth()) * to.wider
    drawn.set_linewidth(np.where(widths > 0.0, np.maximum(widths, to.least_width), 0.0))


def _map(drawn: Any, to: Theme) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    name = drawn.get_cmap().name
    if name in to.maps:
        drawn.set_cmap(LinearSegmentedColormap.from_list(f"{name} {to.name}", to.maps[name]))
