"""Mode shapes of flexible bodies, from the picture in their data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.model.flexible import BodyPicture, FlexibleBodyData
from dalembert.view.plots.figures import BLUE, INK, PALE, choose_modes
from dalembert.view.plots.structures import stage
from dalembert.view.plots.structures.stage import Stage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REACH = 0.13  # largest displacement of a drawn shape, as part of the size of the body


def plot_flexible_body(
    data: FlexibleBodyData, *, mode: object = None, scale: float | None = None, title: str | None = None
) -> Figure:
    """Mode shapes beside one another, with the undeformed body and its nodes.

    Parameters
    ----------
    mode : number or numbers from 1; the first six when left out.
    scale : factor of the shapes; chosen for each so that it is seen when left out.
    """
    picture = data.picture
    if picture is None or not len(picture.points):
        raise DataError("no-scene", f"flexible body {data.name!r} has no picture in its data.")
    numbers = choose_modes(mode, data.modes, 6)
    hertz = data.frequencies_hz
    size = stage.size_of(picture.points)
    planar = not picture.points[:, 2].any() and not picture.modes[:, 2].any()
    shapes = [picture.modes[:, :, number - 1] for number in numbers]
    factors = [_factor(shape, size) if scale is None else scale for shape in shapes]
    reach = max((f * float(np.linalg.norm(s, axis=1).max()) for f, s in zip(factors, shapes)), default=0.0)
    text = f"{data.name}: modes with the frame held" if title is None else title
    figure, scenes = stage.stages(picture.points, planar, len(numbers), reach, text)
    for scene, number, shape, factor in zip(scenes, numbers, shapes, factors):
        _draw(scene, picture, shape, factor)
        moved = np.array([node.place + factor * node.translation[:, number - 1] for node in data.nodes]).reshape(-1, 3)
        scene.marks(moved, marker="o", ms=3.5, mfc=INK, mec=INK)
        scene.title(f"mode {number}: {hertz[number - 1]:.4g} Hz")
    if planar:  # axes share their limits
        for scene in scenes:
            scene.see_all(scenes)
    for scene in scenes:
        scene.finish(bare=len(scenes) > 1)
        if planar:
            scene.ax.label_outer()
    stage.fit(figure, scenes)
    return figure


def _factor(shape: FloatArray, size: float) -> float:
    largest = float(np.linalg.norm(shape, axis=1).max(initial=0.0))
    return REACH * size / largest if largest > 0.0 else 0.0


def _draw(scene: Stage, picture: BodyPicture, shape: FloatArray, factor: float) -> None:
    """Lines at rest in grey and displaced in colour; a surface displaced, coloured by the size of its motion."""
    where = picture.points + factor * shape
    scene.see(picture.points)
    if len(picture.lines):
        scene.lines(picture.points[picture.lines], colors=PALE, linewidths=1.2, label="at rest")
        scene.lines(where[picture.lines], colors=BLUE, linewidths=2.2, label="displaced")
    if len(picture.triangles):
        values = np.linalg.norm(shape, axis=1)[picture.triangles].mean(axis=1)
        look = {"edgecolors": "#5f7f9c", "linewidths": 0.1, "cmap": "viridis"}
        scene.faces(where[picture.triangles], values=values, **look)
