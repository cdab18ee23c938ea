"""The look of every figure, and a figure that shows itself in a notebook."""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dalembert.core.arguments import take_path
from dalembert.core.atomic_files import replace_file
from dalembert.core.errors import DataError, FileFormatError, require_name
from dalembert.view.plots import themes

# Okabe and Ito's colours, which colour-blind readers distinguish too; the yellow is too light for a thin line
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6f4e9c", "#7a7a7a")
BLUE, RED, GREEN = COLORS[:3]
INK, GREY, PALE = "#30343b", "#9aa0a8", "#c9ced6"
SHORT = 200.0  # ratio of the ends of a log axis up to which there are plain numbers at 2 and 5 too: two decades
WHOLE = 1e-6  # distance of an exponent from a whole number that is rounding of log10
STABLE = "#edf6f1"  # light green behind what decays

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#8a8f98",
    "axes.facecolor": "#ffffff",
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.labelcolor": "#30343b",
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "figure.facecolor": "#ffffff",
    "font.family": "sans-serif",
    "font.size": 10,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.8,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
    "text.parse_math": False,
    "xtick.color": "#5b616b",
    "xtick.labelsize": 9,
    "ytick.color": "#5b616b",
    "ytick.labelsize": 9,
}


class NotebookFigure(Figure):
    """A figure made without ``pyplot``: it needs no screen, no other object keeps it, and a notebook shows it."""

    style: Any = None  # settings under which it is drawn, also later: ticks are made when a figure is looked at

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        FigureCanvasAgg(self)

    def draw(self, renderer: Any) -> None:
        with mpl.rc_context(self.style):
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=120)
        return image.getvalue()


def draw_figure(draw: Callable[[], Figure], file: str | os.PathLike[str] | None, theme: str | None = None) -> Figure:
    """A figure in the style of all, in the colours of a theme, written to a file where one is named."""
    chosen = themes.theme(theme)
    style = themes.rc(STYLE, chosen)
    with mpl.rc_context(style):
        figure = draw()
        themes.recolor(figure, chosen)
        if isinstance(figure, NotebookFigure):
            figure.style = style
        if file is not None:
            save(figure, file, chosen.dpi)
    return figure


def save(figure: Figure, file: str | os.PathLike[str], dpi: int = 150) -> None:
    """Write a figure; the old file stays until the new one is whole."""
    kinds = figure.canvas.get_supported_filetypes()
    kind = take_path("path", file).suffix.lower().lstrip(".")
    if kind not in kinds:
        kinds_shown = ", ".join(f".{kinds_shown}" for kinds_shown in sorted(kinds))
        raise FileFormatError(
            "unknown-choice", f"a figure cannot be written as {'.' + kind!r}. Known: {kinds_shown}.", path=str(file)
        )
    with replace_file(file) as temporary:
        figure.savefig(temporary, format=kind, dpi=dpi)


def new_figure(width: float, height: float) -> NotebookFigure:
    """An empty figure [inch]."""
    return NotebookFigure(figsize=(width, height), layout="constrained")


def heading(figure: Figure, text: str) -> None:
    """Title of a figure of several axes, in as many lines as its width requires."""
    if text:
        wide, high = figure.get_size_inches()
        place: Any = {} if figure.get_layout_engine() is not None else {"y": 1.0 - 0.08 / high}
        figure.suptitle(wrap_title(text, wide), x=0.1 / wide, ha="left", fontsize=12, fontweight="bold", **place)


def wrap_title(text: str, width: float) -> str:
    """A heading in lines that fit a figure of this width [inch]."""
    return "\n".join(textwrap.wrap(text, max(20, int(width / 0.108)), break_long_words=False))


def with_unit(text: str, unit: str) -> str:
    """``text [unit]``.

    Examples
    --------
    >>> with_unit("floor", "m/s^2"), with_unit("floor", "m/s^2/(m/s^2)"), with_unit("gain", "")
    ('floor [m/s²]', 'floor [-]', 'gain')
    """
    if not unit:
        return text
    over, _, under = unit.partition("/(")
    shown = "-" if under and under == f"{over})" else unit.replace("^2", "²").replace("^3", "³")
    return f"{text} [{shown}]".strip()


def list_names(names: Iterable[str], most: int = 8) -> str:
    """Names with commas between, the first ones of many.

    Examples
    --------
    >>> list_names("abcd", most=2)
    'a, b and 2 more'
    """
    every = list(names)
    hidden = len(every) - most
    return ", ".join(every) if hidden <= 0 else f"{', '.join(every[:most])} and {hidden} more"


def choose_prefix(size: float, unit: str) -> tuple[float, str]:
    """Divisor and unit that make a number of this size read well: 12300 N m -> 1e3, "kN m"."""
    prefixes = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
    if not unit or not np.isfinite(size) or size <= 0.0:
        return 1.0, unit
    power = 3 * int(np.floor(np.log10(size * 1.0000001) / 3))
    power = min(max(power, -9), 0 if unit == "m" else 9)
    return 10.0**power, prefixes[power] + unit


def log_ticks(axis: Any, *, plain: bool = False) -> None:
    """Labels of a log axis without mathematical typesetting: 10⁻³, or plain numbers; those also at 2 and 5 if short."""

    def power(value: float, _: object = None) -> str:
        exponent = np.log10(value) if value > 0.0 else np.nan
        if not np.isfinite(exponent) or abs(exponent - round(exponent)) > WHOLE:
            return ""
        return "10" + str(round(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))

    def number(value: float, _: object = None) -> str:
        return f"{value:g}"

    low, high = axis.get_view_interval()
    axis.set_major_formatter(FuncFormatter(number if plain else power))
    short = plain and low > 0.0 and high / low < SHORT
    axis.set_minor_formatter(
        FuncFormatter(lambda value, _: number(value) if short and f"{value:.0e}"[0] in "25" else "")
    )


def check_count(count: int, most: int, what: str, remedy: str = "Name fewer.") -> None:
    """Refuse more than a figure can show."""
    if count > most:
        raise DataError("too-large", f"{count} {what} are too many for one figure (at most {most}). {remedy}")


def tiles(count: int, columns: int, width: float, height: float) -> tuple[NotebookFigure, list[Any]]:
    """A figure with a number of axes of one size [inch] in rows, and the axes."""
    rows = -(-count // columns)
    figure = new_figure(1.0 + width * columns, 0.7 + height * rows)
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for ax in axes[count:]:
        ax.set_visible(False)
    return figure, axes[:count]


def line_of(k: int) -> dict[str, Any]:
    """Colour and dashes of the k-th line of an axes: dashed where the colours begin again."""
    return {"color": COLORS[k % len(COLORS)], "linestyle": "-" if k < len(COLORS) else "--"}


def choice(option: str, given: object, known: tuple[str, ...], what: str) -> str:
    """One of the known words, or an error that names them."""
    require_name(option, str(given), known, what)
    return str(given)


def choose_modes(mode: object, count: int, default: int, most: int = 12) -> list[int]:
    """Numbers of modes, from 1: the given ones, or the first ones."""
    if count == 0:
        raise DataError("empty", "there are no modes to draw.")
    if mode is None:
        return list(range(1, min(default, count) + 1))
    numbers = list(np.atleast_1d(np.asarray(mode, dtype=object)).tolist())
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 1 <= number <= count:
            raise DataError("unknown-name", f"there is no mode {number!r}; they are numbered 1 to {count}.")
    if not numbers or len(numbers) > most:
        raise DataError("out-of-range", f"mode takes 1 to {most} modes for one figure, got {len(numbers)}.")
    return [int(number) for number in numbers]


def put_legend_beside(ax: Axes, count: int) -> None:
    """Legend on the right of an axes, outside it."""
    place: Any = {"loc": "upper left", "bbox_to_anchor": (1.005, 1.02), "borderaxespad": 0.0}
    ax.legend(**place, ncols=1 + (count - 1) // 14)
