"""Axes for geometry, flat or in space with equal scales, and how lines, faces and supports are drawn on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from dalembert.linear.checks import FloatArray
from dalembert.structures.structure import Structure
from dalembert.view.figures import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUPPORTS: dict[str, Any] = {
    "fixed": {"marker": "s", "ms": 7, "mfc": INK, "mec": INK},
    "pinned": {"marker": "^", "ms": 8, "mfc": INK, "mec": INK},
    "guided": {"marker": "^", "ms": 8, "mfc": "white", "mec": INK},
    "spring to ground": {"marker": "v", "ms": 7, "mfc": "white", "mec": "#009e73"},
    "mass": {"marker": "o", "ms": 7, "mfc": "#e69f00", "mec": INK, "mew": 0.7},
    "interface": {"marker": "D", "ms": 6, "mfc": "white", "mec": "#d55e00"},
}


def size_of(positions: FloatArray) -> float:
    """Diagonal of the box around all points [m]."""
    return float(np.linalg.norm(np.ptp(positions, axis=0))) or 1.0


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

    def lines(self, curves: Any, *, values: Any = None, label: str = "", **style: Any) -> Any:
        """Curves (m, g, 3), or a list of (g, 3); ``values`` one per curve for a colour map."""
        curves = list(curves)
        if not curves:
            return None
        self.see(np.concatenate(curves))
        style = {"capstyle": "round", "joinstyle": "round", **style}
        if values is not None:
            style["array"] = np.asarray(values)
        if self.planar:
            drawn: Any = LineCollection([curve[:, :2] for curve in curves], label=label, **style)
            self.ax.add_collection(drawn, autolim=False)
        else:
            drawn = Line3DCollection(curves, label=label, **style)
            self.ax.add_collection3d(drawn, autolim=False)
        return drawn

    def faces(self, corners: FloatArray, *, values: Any = None, **style: Any) -> Any:
        """Polygons (m, k, 3) in space, shaded, or coloured by one value each."""
        self.see(corners)
        if values is None:
            drawn = Poly3DCollection(list(corners), shade=True, **style)
        else:
            drawn = Poly3DCollection(list(corners), **style)
            drawn.set_array(np.asarray(values))
        self.ax.add_collection3d(drawn, autolim=False)
        return drawn

    def areas(self, corners: Sequence[FloatArray], **style: Any) -> None:
        """Filled polygons (k, 3)."""
        for one in corners:
            self.see(one)
        if self.planar:
            from matplotlib.collections import PolyCollection

            self.ax.add_collection(PolyCollection([one[:, :2] for one in corners], **style), autolim=False)
        else:
            self.ax.add_collection3d(Poly3DCollection(list(corners), **style), autolim=False)

    def marks(self, points: FloatArray, **style: Any) -> None:
        """Markers at points (m, 3)."""
        if len(points):
            self.see(points)
            coordinates = points[:, :2].T if self.planar else points.T
            self.ax.plot(*coordinates, ls="", zorder=5, **style)

    def text(self, point: FloatArray, words: str, **style: Any) -> None:
        """A name beside a point."""
        if self.planar:
            self.ax.annotate(words, point[:2], (4, 4), textcoords="offset points", zorder=6, **style)
        else:
            self.ax.text(*point, f" {words}", zorder=6, **style)

    def finish(self, *, bare: bool) -> None:
        """Equal scales, limits about all that was drawn, labels in metres."""
        low, high = self._low, self._high
        side = float((high - low).max()) or 1.0
        if self.planar:
            edge = 0.06 * side
            wide = np.maximum(high - low, 0.12 * side) - (high - low)  # a straight beam has no height
            self.ax.set_aspect("equal", adjustable="box")
            self.ax.set_xlim(low[0] - edge - wide[0] / 2, high[0] + edge + wide[0] / 2)
            self.ax.set_ylim(low[1] - edge - wide[1] / 2, high[1] + edge + wide[1] / 2)
            self.ax.set_xlabel("x [m]")
            self.ax.set_ylabel("y [m]")
            return
        middle, half = 0.5 * (low + high), 0.52 * np.maximum(high - low, 0.16 * side)
        for axis, m, h in zip("xyz", middle, half):
            getattr(self.ax, f"set_{axis}lim")(m - h, m + h)
        self.ax.set_box_aspect(2.0 * half, zoom=1.0 if not bare else 1.2)
        self.ax.view_init(elev=18.0, azim=-58.0)
        if bare:
            self.ax.set_axis_off()
            return
        for axis, h in zip("xyz", half):
            getattr(self.ax, f"set_{axis}label")(f"{axis} [m]")
            # short sides have no room for many ticks
            getattr(self.ax, f"{axis}axis").set_major_locator(_ticks(h / half.max()))
        self.ax.tick_params(labelsize=8, pad=1)
        for pane in (self.ax.xaxis, self.ax.yaxis, self.ax.zaxis):
            pane.set_pane_color((1.0, 1.0, 1.0, 0.0))


def _ticks(share: float) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=max(1, round(6 * share)))


def stages(figure: Figure, count: int, planar: bool) -> list[Stage]:
    """So many axes in rows of a good width, those left over removed."""
    columns = count if count <= 4 else int(np.ceil(count / np.ceil(count / 4)))
    rows = -(-count // columns)
    kind: Any = {"squeeze": False} if planar else {"squeeze": False, "subplot_kw": {"projection": "3d"}}
    if planar:
        kind |= {"sharex": True, "sharey": True}
    every = figure.subplots(rows, columns, **kind).ravel()
    for ax in every[count:]:
        ax.remove()
    return [Stage(ax, planar) for ax in every[:count]]


def layout(count: int) -> tuple[int, int]:
    """Rows and columns of so many small pictures."""
    columns = count if count <= 4 else int(np.ceil(count / np.ceil(count / 4)))
    return -(-count // columns), columns


def held_kinds(structure: Structure) -> dict[str, Any]:
    """Points by how they are held: "fixed", "pinned" (all translations) or "guided" (some directions)."""
    held = structure.held.reshape(len(structure.points), len(structure.directions))
    inactive = structure.inactive.reshape(held.shape)
    moving = np.array([way in "xyz" for way in structure.directions])
    some, straight = held.any(axis=1), held[:, moving].all(axis=1)
    turns = (held | inactive)[:, ~moving]
    turning = (~inactive[:, ~moving]).any(axis=1)
    whole = straight & turns.all(axis=1) & turning
    return {"fixed": np.flatnonzero(whole), "pinned": np.flatnonzero(straight & ~whole),
            "guided": np.flatnonzero(some & ~straight)}  # fmt: skip


def legend(figure: Figure, kinds: Sequence[str]) -> None:
    """What the markers mean."""
    if kinds:
        shown = [Line2D([], [], ls="", label=kind, **SUPPORTS[kind]) for kind in kinds]
        figure.legend(handles=shown, loc="outside lower center", ncols=len(shown))
