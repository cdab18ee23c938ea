"""Structures: their geometry, and their shapes of vibration and of buckling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.linear.modes import Modes
from dalembert.numerics import ties
from dalembert.structures.analysis.buckling import Buckling
from dalembert.structures.assembly.structure import Structure, assemble_structure
from dalembert.view.plots.figures import BLUE, GREEN, GREY, INK, PALE, choose_modes
from dalembert.view.plots.structures import geometry, stage
from dalembert.view.plots.structures.stage import SUPPORTS, Stage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 16  # points up to which they are named
REACH = 0.13  # largest displacement of a drawn shape, as part of the size of the structure
SMALL_MESH = 3000  # faces up to which their edges are drawn


def plot_description(description: Any, modes: Any = None, **options: Any) -> Figure:
    """A Frame or a Solid: the picture of its structure."""
    return plot_structure(assemble_structure(description), modes, **options)


def plot_structure(
    structure: Structure,
    modes: Modes | None = None,
    *,
    mode: object = None,
    scale: float | None = None,
    names: bool | None = None,
    title: str | None = None,
) -> Figure:
    """Geometry, or mode shapes beside one another.

    Parameters
    ----------
    modes : on the free coordinates of the structure (``structure.modes()``); None draws the structure at rest.
    mode : number or numbers from 1; the first four when left out.
    scale : factor of the shapes; chosen for each so that it is seen when left out.
    names : of the points; where there are few when left out.
    """
    if modes is None:
        if mode is not None or scale is not None:
            raise DataError("missing-argument", "mode and scale need modes to draw.")
        return _at_rest(structure, names, title)
    if names is not None:
        raise DataError("ineffective-argument", "names belong to the picture at rest.")
    if not isinstance(modes, Modes):
        raise DataError("wrong-type", f"a structure is drawn with its Modes, not with a {type(modes).__name__}.")
    geometry.check_modes(structure, modes)
    numbers = choose_modes(mode, len(modes), 4)
    shapes = [_real(modes.shapes[:, number - 1]) for number in numbers]
    hertz = modes.frequencies_hz
    titles = [f"mode {number}: {hertz[number - 1]:.4g} Hz" for number in numbers]
    return _small_multiples(structure, shapes, titles, scale, structure.name if title is None else title)


def plot_buckling(
    found: Buckling, *, mode: object = None, scale: float | None = None, title: str | None = None
) -> Figure:
    """Shapes of buckling, each with its load factor."""
    numbers = choose_modes(mode, len(found.factors), 4)
    shapes = [found.shapes[:, number - 1] for number in numbers]
    titles = [f"mode {number}: load × {found.factors[number - 1]:.4g}" for number in numbers]
    text = f"{found.structure.name}: buckling under {found.load!r}" if title is None else title
    return _small_multiples(found.structure, shapes, titles, scale, text)


def _real(shape: Any) -> FloatArray:
    """The shape at the moment its largest component is largest."""
    if np.iscomplexobj(shape):
        largest = shape[ties.first_largest(shape)]
        shape = (shape * np.conj(largest) / abs(largest) if largest else shape).real
    return np.asarray(shape, dtype=np.float64)


# -- at rest ---------------------------------------------------------------------------------------------------------


def _at_rest(structure: Structure, names: bool | None, title: str | None) -> Figure:
    text = structure.name if title is None else title
    planar = geometry.is_planar(structure)
    figure, (scene,) = stage.stages(structure.positions, planar, 1, 0.0, text, marks=True)
    for group in geometry.beams(structure):
        xi = np.array([0.0, 1.0])
        lines = geometry.rest_lines(structure, group, xi)
        thick = geometry.thickness(group)
        scene.lines(lines[~group.is_bar], colors=BLUE, linewidths=2.4 * thick, label="beams")
        scene.lines(lines[group.is_bar], colors=BLUE, linewidths=1.2 * thick, label="bars")
        scene.lines(geometry.arms(structure, group), colors=GREY, linewidths=1.2, label="arms")
    unmoved = np.zeros(len(structure.coordinates))
    scene.lines(geometry.other_curves(structure, unmoved), colors=BLUE, linewidths=1.2, label="other elements")
    draw_faces(scene, structure, structure.positions)
    kinds = draw_marks(scene, structure)
    solid = bool(geometry.solids(structure))
    points = [i for i, name in enumerate(structure.points) if "[" not in name and not (solid and name[0] == "p")]
    if names or (names is None and len(points) <= FEW):
        for i in points if not solid or names is None else range(len(structure.points)):
            scene.text(structure.positions[i], structure.points[i], fontsize=8, color=INK)
    scene.see(structure.positions)
    scene.finish(bare=False)
    stage.legend(figure, kinds)
    stage.fit(figure, [scene], marks=bool(kinds))
    return figure


def draw_marks(scene: Stage, structure: Structure, moved: FloatArray | None = None) -> list[str]:
    """Supports, springs and masses; returns the kinds drawn."""
    where = structure.positions if moved is None else moved
    pairs, grounded, masses = geometry.find_springs_and_masses(structure)
    if not structure.groups:
        scene.marks(where, marker=".", ms=6, color=BLUE, label="points")
    scene.lines([where[pair] for pair in pairs], colors=GREEN, linewidths=1.2, linestyles="--", label="springs")
    links = geometry.rigid_links(structure)
    scene.lines([where[pair] for pair in links], colors=GREY, linewidths=1.0, linestyles=":", label="rigid links")
    supports = dict(stage.held_kinds(structure))
    solid = bool(geometry.solids(structure))
    supports["spring to ground"] = grounded
    supports["mass"] = masses if structure.groups else masses[:0]
    if solid:
        first = len(geometry.solids(structure)[0].mesh.points)
        supports["interface"] = np.arange(first, len(structure.points))
    for kind, points in supports.items():
        scene.marks(where[points], label=kind, **SUPPORTS[kind])
    return [kind for kind, points in supports.items() if len(points)]


def draw_faces(scene: Stage, structure: Structure, where: FloatArray, *, values: Any = None, **style: Any) -> Any:
    """Surface of the solids with their points at ``where``; coloured by ``values`` (np,) of the points."""
    drawn = None
    for group in geometry.solids(structure):
        faces = geometry.outer_faces(group)
        fine = len(faces.points) > SMALL_MESH
        look = {"facecolors": "#a9c4dc", "edgecolors": "#5f7f9c", "linewidths": 0.0 if fine else 0.4, **style}
        if values is None:
            drawn = scene.faces(where[faces.points], **look)
        else:
            look.pop("facecolors")
            drawn = scene.faces(where[faces.points], values=values[faces.points].mean(axis=1), **look)
    return drawn


# -- shapes ----------------------------------------------------------------------------------------------------------


def _small_multiples(
    structure: Structure, shapes: Sequence[FloatArray], titles: Sequence[str], scale: float | None, text: str
) -> Figure:
    if scale is not None and not (np.isfinite(scale) and scale != 0.0):
        raise DataError("out-of-range", f"scale must be a number other than 0, got {scale!r}.")
    planar = geometry.is_planar(structure)
    size = stage.size_of(structure.positions)
    figure, scenes = stage.stages(structure.positions, planar, len(shapes), 1.3 * REACH * size, text)
    for scene, shape, words in zip(scenes, shapes, titles):
        u = structure.expand(shape)
        largest = largest_displacement(structure, u)
        factor = scale if scale is not None else REACH * size / largest if largest > 0.0 else 1.0
        draw_displaced(scene, structure, u, factor)
        scene.title(words)
    if planar:  # axes share their limits
        for scene in scenes:
            scene.see_all(scenes)
    for scene in scenes:
        scene.finish(bare=len(shapes) > 1)
        if planar:
            scene.ax.label_outer()
    stage.fit(figure, scenes)
    return figure


def largest_displacement(structure: Structure, u: FloatArray) -> float:
    """Largest displacement of points and along beams [m]: a beam of one element moves between its ends only."""
    moved = [np.linalg.norm(geometry.translations(structure, u), axis=1).max(initial=0.0)]
    for group in geometry.beams(structure):
        along = geometry.displace_by_shape(group, u, geometry.places(group))
        moved.append(np.linalg.norm(along, axis=2).max(initial=0.0))
    return float(max(moved))


def draw_displaced(
    scene: Stage, structure: Structure, u: FloatArray, factor: float, *, along: Sequence[FloatArray] | None = None
) -> Any:
    """The structure at rest in grey and displaced by ``factor`` u in colour; ``along`` gives beams' displacements."""
    where = structure.positions + factor * geometry.translations(structure, u)
    for k, group in enumerate(geometry.beams(structure)):
        xi = geometry.places(group)
        lines_at_rest = geometry.rest_lines(structure, group, xi)
        moved = geometry.displace_by_shape(group, u, xi) if along is None else along[k]
        thick = geometry.thickness(group)
        scene.lines(lines_at_rest[:, [0, -1]], colors=PALE, linewidths=1.2 * thick, label="at rest")
        curves = lines_at_rest + factor * moved
        scene.lines(curves[~group.is_bar], colors=BLUE, linewidths=2.2 * thick, label="beams")
        scene.lines(curves[group.is_bar], colors=BLUE, linewidths=1.2 * thick, label="bars")
    scene.lines(geometry.other_curves(structure, 0.0 * u), colors=PALE, linewidths=1.2, label="at rest")
    scene.lines(geometry.other_curves(structure, factor * u), colors=BLUE, linewidths=1.2, label="other elements")
    drawn = None
    if geometry.solids(structure):
        values = np.linalg.norm(geometry.translations(structure, u), axis=1)
        scene.see(structure.positions)
        drawn = draw_faces(scene, structure, where, values=values, cmap="viridis")
    else:
        draw_marks(scene, structure, where)
    return drawn
