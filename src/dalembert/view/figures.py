"""The look of every figure, and a figure that shows itself in a notebook."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart also by colour-blind readers; the yellow is too light for a thin line
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6f4e9c", "#7a7a7a")

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
    """A figure made without ``pyplot``: it needs no screen, is kept by nobody else, and still shows in a notebook."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=120)
        return image.getvalue()
