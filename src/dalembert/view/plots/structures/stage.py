"""Axes for geometry, flat or in space with equal scales, and how lines, faces and supports are drawn on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from dalembert.core.arrays import FloatArray
from dalembert.structures.assembly.structure import Structure
from dalembert.structures.solid.stresses import SolidGroup
from dalembert.view.plots.figures import INK, NotebookFigure, heading, new_figure, wrap_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ELEVATION, AZIMUTH = 18.0, -58.0  # from where structures in space are seen [deg]

LABELS = 0.75  # room for the labels of axes in space [inch]
SUPPORTS: dict[str, Any] = {
    "fixed": {"marker": "s", "ms": 7, "mfc": INK, "mec": INK},
    "pinned": {"marker": "^", "ms": 8, "mfc": INK, "mec": INK},
    "guided": {"marker": "^", "ms": 8, "mfc": "white", "mec": INK},
    "spring to ground": {"marker": "v", "ms": 7, "mfc": "white", "mec": "#009e73"},
    "mass": {"marker": "o", "ms": 7, "mfc": "#e69f00", "mec": INK, "mew": 0.7},
    "held": {"marker": "o", "ms": 3, "mfc": INK, "mec": INK},
    "interface": {"marker": "D", "ms": 6, "mfc": "white", "mec": "#d55e00"},
}


def size_of(positions: FloatArray) -> float:
    """Diagonal of the box around all points [m]."""
    return float(np.linalg.norm(np.ptp(positions, axis=0))) or 1.0


def seen_size(sides: FloatArray, planar: bool) -> tuple[float, float]:
    """Width and height of the picture of a box with these sides (3,) [m]."""
    if planar:
        return float(sides[0]), float(sides[1])
    e, a = np.radians(ELEVATION), np.radians(AZIMUTH)
    right = np.abs([np.sin(a), np.cos(a), 0.0])
    up = np.abs([np.sin(e) * np.cos(a), np.sin(e) * np.sin(a), np.cos(e)])
    return float(right @ sides), float(up @ sides)


class Stage:
    """One axes for geometry: in the x-y plane, or in space; all that is drawn widens its limits."""

    def __init__(self, ax: Any, planar: bool) -> None:
        self.ax, self.planar = ax, planar
        self._low, self._high = np.full(3, np.inf), np.full(3, -np.inf)
        ax.grid(False)

    def see(self, points: FloatArray) -> None:
        """Have these points (..., 3) inside the limits."""
        flat = points.reshape(-1, 3)
        if len(flat):
            self._low, self._high = np.minimum(self._low, flat.min(axis=0)), np.maximum(self._high, flat.max(axis=0))

    def see_all(self, others: Sequence[Stage]) -> None:
        """Have the limits of all of these, for axes that share them."""
        for member in others:
            self._low, self._high = np.minimum(self._low, member._low), np.maximum(self._high, member._high)

    def lines(self, curves: Any, *, values: Any = None, label: str = "", **style: Any) -> Any:
        """Curves (m, g, 3), or a list of (g, 3); ``values`` one per curve for a colour map."""
        curves = list(curves)
        if not curves:
            return None
        self.see(np.concatenate(curves))
        style = {"capstyle": "round", "joinstyle": "round", "clip_on": False, **style}
        if values is not None:
            style["array"] = np.asarray(values)
        if self.planar:
            drawn: Any = LineCollection([curve[:, :2] for curve in curves], label=label, **style)
        else:
            drawn = Line3DCollection(curves, label=label, **style)
        # in space too: `add_collection3d` has no `autolim` in Matplotlib 3.8
        self.ax.add_collection(drawn, autolim=False)
        return drawn

    def faces(self, corners: FloatArray, *, values: Any = None, **style: Any) -> Any:
        """Polygons (m, k, 3), in space shaded, or coloured by one value each."""
        self.see(corners)
        style["clip_on"] = False
        if self.planar:
            drawn: Any = PolyCollection(list(corners[..., :2]), **style)
        else:
            drawn = Poly3DCollection(list(corners), shade=values is None, **style)
        if values is not None:
            drawn.set_array(np.asarray(values))
        self.ax.add_collection(drawn, autolim=False)
        return drawn

    def areas(self, corners: Sequence[FloatArray], **style: Any) -> None:
        """Filled polygons (k, 3)."""
        for polygon in corners:
            self.see(polygon)
        if not len(corners):
            return
        if self.planar:
            self.ax.add_collection(PolyCollection([polygon[:, :2] for polygon in corners], **style), autolim=False)
        else:
            self.ax.add_collection(Poly3DCollection(list(corners), clip_on=False, **style), autolim=False)

    def marks(self, points: FloatArray, **style: Any) -> None:
        """Markers at points (m, 3)."""
        if len(points):
            self.see(points)
            coordinates = points[:, :2].T if self.planar else points.T
            self.ax.plot(*coordinates, ls="", zorder=5, clip_on=False, **style)

    def text(self, point: FloatArray, words: str, **style: Any) -> None:
        """A name beside a point."""
        if self.planar:
            self.ax.annotate(words, point[:2], (4, 4), textcoords="offset points", zorder=6, **style)
        else:
            self.ax.text(*point, f" {words}", zorder=6, **style)

    def title(self, words: str) -> None:
        """Above the picture; in space the axes are a square in the middle of their cell, the title is above it."""
        height = 1.0
        if not self.planar:
            cell = self.ax.get_position(original=True).size * self.ax.figure.get_size_inches()
            height = 0.5 + 0.5 * float(cell[1] / cell.min())
        self.ax.set_title(words, fontsize=10, fontweight="normal", pad=4, y=height)

    def colorbar(self, mappable: Any, label: str) -> None:
        """Beside a single picture, in the strip that `stages` kept free in space."""
        figure = self.ax.figure
        if self.planar:
            figure.colorbar(mappable, ax=self.ax, label=label, shrink=0.8, pad=0.02)
            return
        wide = figure.get_size_inches()[0]
        strip = figure.add_axes((1.0 - 0.95 / wide, 0.5 - 0.32, 0.2 / wide, 0.62))
        figure.colorbar(mappable, cax=strip, label=label)

    def finish(self, *, bare: bool) -> None:
        """Equal scales, limits about all that was drawn, labels in metres."""
        low, high = self._low, self._high
        side = float((high - low).max()) or 1.0
        if self.planar:
            edge = 0.05 * side
            wide = np.maximum(high - low, 0.12 * side) - (high - low)  # a straight beam has no height
            self.ax.set_aspect("equal", adjustable="box")
            self.ax.set_xlim(low[0] - edge - wide[0] / 2, high[0] + edge + wide[0] / 2)
            self.ax.set_ylim(low[1] - edge - wide[1] / 2, high[1] + edge + wide[1] / 2)
            self.ax.set_xlabel("x [m]")
            self.ax.set_ylabel("y [m]")
            return
        middle, half = 0.5 * (low + high), 0.51 * np.maximum(high - low, 0.14 * side)
        for axis, m, h in zip("xyz", middle, half):
            getattr(self.ax, f"set_{axis}lim")(m - h, m + h)
        self.ax.set_proj_type("ortho")
        self.ax.view_init(elev=ELEVATION, azim=AZIMUTH)
        self.ax.set_box_aspect(half, zoom=self._zoom(half, 0.12 if bare else LABELS))
        if bare:
            self.ax.set_axis_off()
            return
        for axis, h in zip("xyz", half):
            getattr(self.ax, f"set_{axis}label")(f"{axis} [m]", labelpad=-2.0 if h < 0.4 * half.max() else 4.0)
            # short sides have no room for many ticks
            getattr(self.ax, f"{axis}axis").set_major_locator(MaxNLocator(nbins=max(1, round(6 * h / half.max()))))
        self.ax.tick_params(labelsize=8, pad=1)
        for pane in (self.ax.xaxis, self.ax.yaxis, self.ax.zaxis):
            pane.set_pane_color((1.0, 1.0, 1.0, 0.0))

    def _zoom(self, half: FloatArray, edge: float) -> float:
        """Zoom to fill the cell of this axes, less ``edge`` inches for labels; its own view is a square."""
        self.ax.set_box_aspect(half, zoom=1.0)
        corners = np.array(np.meshgrid(*[(c.min(), c.max()) for c in map(np.array, self._limits())])).reshape(3, -1)
        from mpl_toolkits.mplot3d.proj3d import proj_transform

        self.ax.apply_aspect()
        x, y, _ = proj_transform(*corners, self.ax.get_proj())
        shares = np.ptp(self.ax.transData.transform(np.stack([x, y], axis=1)), axis=0) / self.ax.bbox.width
        cell = self.ax.get_position(original=True).size * self.ax.figure.get_size_inches()
        return float(np.min((cell - 2.0 * edge) / (shares * cell.min())))

    def _limits(self) -> list[Any]:
        return [self.ax.get_xlim(), self.ax.get_ylim(), self.ax.get_zlim()]


def layout(count: int, ratio: float) -> tuple[int, int]:
    """Rows and columns of so many pictures of this width over height: long ones in two columns, tall ones in four."""
    most = 2 if ratio > 1.8 else 3 if ratio > 1.2 and count != 4 else 4
    columns = count if count <= most else int(np.ceil(count / np.ceil(count / most)))
    return -(-count // columns), columns


def stages(
    positions: FloatArray, planar: bool, count: int, reach: float, text: str, *, bar: bool = False, marks: bool = False
) -> tuple[Figure, list[Stage]]:
    """A figure with ``count`` pictures of one structure, sized for its shape.

    ``reach`` [m] is the largest distance of the drawing from the structure; ``bar`` and ``marks`` keep room for a
    colour bar and a legend.
    """
    sides = np.ptp(positions, axis=0) + reach
    wide, high = seen_size(np.maximum(sides, 0.14 * sides.max()), planar)
    rows, columns = layout(count, wide / high)
    single = count == 1
    most_wide, most_high = (6.4, 5.6) if single else (min(10.5 / columns, 4.6), 3.4)
    scale = min(most_wide / wide, most_high / high)
    edge = (1.0 if single else 0.35) if planar else (2.0 * LABELS if single else 0.5)
    cell = np.array([wide * scale + edge, high * scale + (0.75 if single else 0.3) if planar else high * scale + edge])
    if not single:
        cell[0] = max(cell[0], 2.1)  # the words above a picture
    right, bottom = 1.4 * bar, 0.35 * marks + 0.3 * (planar and not single)
    total = max(columns * cell[0] + right, 4.6)
    top = 0.12 + 0.24 * (1 + wrap_title(text, total).count("\n")) if text else 0.05
    full = rows * (cell[1] + 0.3 * (not single)) + top + bottom
    if planar:
        figure: Figure = new_figure(total, full)
        every = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for ax in every[count:]:
            ax.remove()
        heading(figure, text)
        return figure, [Stage(ax, planar) for ax in every[:count]]
    figure = NotebookFigure(figsize=(total, full))
    heading(figure, text)
    drawn = []
    across = (total - right) / columns
    for k in range(count):
        row, column = divmod(k, columns)
        y = full - top - (row + 1) * (cell[1] + 0.3 * (not single))
        box = (column * across / total, y / full, across / total, cell[1] / full)
        drawn.append(Stage(figure.add_axes(box, projection="3d"), planar))
    return figure, drawn


def fit(figure: Figure, scenes: Sequence[Stage], *, bar: bool = False, marks: bool = False) -> None:
    """Take away the height that pictures with equal scales leave empty, now that their limits are known."""
    ax = scenes[0].ax
    place = ax.get_subplotspec() if scenes[0].planar else None
    if place is None:
        return
    rows, columns = place.get_gridspec().get_geometry()
    (x_low, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    total = float(figure.get_size_inches()[0])
    width = (total - 0.6 - 1.0 * bar) / columns - (0.15 if columns > 1 else 0.1)
    words = figure.get_suptitle()
    top = 0.12 + 0.24 * (1 + words.count("\n")) if words else 0.05
    named = 0.3 if ax.get_title() else 0.1
    wanted = rows * (width * (high - low) / (right - x_low) + named + 0.1) + top + 0.35 + 0.35 * marks
    figure.set_size_inches(total, min(wanted, float(figure.get_size_inches()[1])))


def held_kinds(structure: Structure) -> dict[str, Any]:
    """Points by how they are held: "fixed", "pinned" (all translations), "guided" (some directions); solids: "held"."""
    held = structure.held.reshape(len(structure.points), len(structure.directions))
    inactive = structure.inactive.reshape(held.shape)
    moving = np.array([way in "xyz" for way in structure.directions])
    some, straight = held.any(axis=1), held[:, moving].all(axis=1)
    turns = (held | inactive)[:, ~moving]
    turning = (~inactive[:, ~moving]).any(axis=1)
    clamped = straight & turns.all(axis=1) & turning
    if any(isinstance(group, SolidGroup) for group in structure.groups):
        return {"held": np.flatnonzero(some)}
    return {"fixed": np.flatnonzero(clamped), "pinned": np.flatnonzero(straight & ~clamped),
            "guided": np.flatnonzero(some & ~straight)}  # fmt: skip


def legend(figure: Figure, kinds: Sequence[str]) -> None:
    """Legend of the markers."""
    if kinds:
        shown = [Line2D([], [], ls="", label=kind, **SUPPORTS[kind]) for kind in kinds]
        outside = figure.get_layout_engine() is not None
        figure.legend(handles=shown, loc="outside lower center" if outside else "lower center", ncols=len(shown))
