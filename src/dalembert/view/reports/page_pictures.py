"""Figures as they stand in a page: once for light screens, once for dark ones, each as small as it may be."""

from __future__ import annotations

import base64
import copy
import io
from html import escape
from typing import TYPE_CHECKING, Any

from dalembert.view.plots import themes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150
SCREEN = 109  # pixels of the page per inch of a figure: letters have one size on the whole page
READABLE = 0.7  # of that size: letters of 9 points are then 9.5 pixels high; a narrower screen scrolls
COLOURS = 256  # of a picture inside a page: a third of the bytes, without a visible difference


def png(figure: Figure) -> bytes:
    """A figure as a picture file in memory, in the style of all figures."""
    import matplotlib as mpl

    image = io.BytesIO()
    with mpl.rc_context(_style("light")):
        # without the program's own name and date: the same figure gives the same bytes
        figure.savefig(image, format="png", dpi=DPI, metadata={"Software": None})
    return image.getvalue()


def picture(figure: Figure, alt: str) -> str:
    """A figure as HTML: an image in the colours of the reader's screen."""
    width = round(SCREEN * float(figure.get_size_inches()[0]))
    least = f"min-width: {round(READABLE * width)}px"
    image = f'<img alt="{escape(alt)}" width="{width}" style="{least}" src="{_data(figure, "light")}">'
    if not _is_light(figure):
        return image
    dark = _data(_dark(figure), "dark")
    return f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">{image}</picture>'


def _style(theme: str) -> Any:
    from dalembert.view.plots.figures import STYLE

    return themes.rc(STYLE, themes.theme(theme))


def _data(figure: Figure, theme: str) -> str:
    """A picture with few colours, as text."""
    from PIL import Image

    whole = Image.fromarray(_pixels(figure, theme)).convert("RGB")
    small = io.BytesIO()
    whole.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(small, format="PNG")
    return "data:image/png;base64," + base64.b64encode(small.getvalue()).decode("ascii")


def _pixels(figure: Figure, theme: str) -> Any:
    """(height, width, 4) of a figure, drawn once: ``savefig`` draws twice."""
    import matplotlib as mpl
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    dpi, own = figure.dpi, figure.canvas
    try:
        with mpl.rc_context(_style(theme)):
            figure.set_dpi(DPI)
            canvas: Any = FigureCanvasAgg(figure)
            canvas.draw()
            return np.array(canvas.buffer_rgba())
    finally:
        figure.set_dpi(dpi)
        figure.set_canvas(own)


def _is_light(figure: Figure) -> bool:
    """Whether a figure was drawn for white paper: then it has a dark side too."""
    from matplotlib.colors import to_rgb

    return sum(to_rgb(figure.get_facecolor())) > 2.9


def _dark(figure: Figure) -> Figure:
    """A copy in the colours of dark screens; the figure stays as it is."""
    from dalembert.view.plots.figures import NotebookFigure

    other: Any = copy.deepcopy(figure)
    if other.get_layout_engine() is not None:
        other.set_layout_engine("none")  # places are those of the light picture, drawn before
    themes.recolor(other, themes.theme("dark"))
    if isinstance(other, NotebookFigure):
        other.style = _style("dark")
    return other  # type: ignore[no-any-return]
