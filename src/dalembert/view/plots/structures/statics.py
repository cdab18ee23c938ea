"""Static solutions: the deformed shape, diagrams of internal forces along beams, stresses.

Diagrams are drawn on their beam in the plane of bending: M_z and V_y in the local x-y plane, M_y and V_z in x-z, N and
T in x-y. Bending moments are drawn on the side of the tension (σ = −M_z y/I_z + M_y z/I_y).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.structures.analysis.statics import StaticSolution
from dalembert.structures.beams.beam_stresses import FORCES, stresses_at
from dalembert.structures.beams.internal_forces import Loaded
from dalembert.structures.solid.elastic_laws import STRAINS
from dalembert.view.plots.figures import BLUE, GREY, INK, RED, choice, choose_prefix
from dalembert.view.plots.structures import geometry, stage, structures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {"N": "axial force N", "V_y": "shear force V_y", "V_z": "shear force V_z", "T": "torque T",
         "M_y": "bending moment M_y", "M_z": "bending moment M_z"}  # fmt: skip
FAMILIES = {"axial": ("N",), "shear": ("V_y", "V_z"), "torque": ("T",), "moment": ("M_z", "M_y")}
# Local axis (0 x, 1 y, 2 z) and sign in which a diagram is drawn.
SIDE = {"N": (1, 1.0), "V_y": (1, 1.0), "V_z": (2, 1.0), "T": (1, 1.0), "M_y": (2, 1.0), "M_z": (1, -1.0)}
REACH = 0.16  # height of the largest value of a diagram, as part of the size of the structure
NAMED = 14  # beams up to which their largest value is written
SPREAD = 0.1  # largest displacement as part of the size of the structure


def plot_static(
    solution: StaticSolution, *, view: str = "shape", scale: float | None = None, title: str | None = None
) -> Figure:
    """Draw the effect of a load on a structure.

    Parameters
    ----------
    view : "shape"; of beams "axial", "shear", "moment", "torque" or one of N V_y V_z T M_y M_z; "von_mises" (beams and
        solids); of solids one of xx yy zz xy yz zx.
    scale : factor of the displacements; a round number chosen so that they are seen when left out. Of a diagram: metres
        per newton or newton metre.
    """
    structure = solution.structure
    has_beams, has_solids = bool(geometry.beams(structure)), bool(geometry.solids(structure))
    forces = (*FAMILIES, *FORCES) if has_beams else ()
    views = ("shape", *forces, *(("von_mises",) if has_beams or has_solids else ()), *(STRAINS if has_solids else ()))
    choice("view", view, views, f"the plot of a static solution of structure {structure.name!r}")
    if scale is not None and not (np.isfinite(scale) and scale != 0.0):
        raise DataError("out-of-range", f"scale must be a number other than 0, got {scale!r}.")
    if view == "shape":
        return _shape(solution, scale, title)
    if view in forces:
        return _diagram(solution, view, scale, title)
    if scale is not None:
        raise DataError("ineffective-argument", "scale belongs to the view 'shape' and to diagrams of forces.")
    return _stresses(solution, view, title)


def _load(solution: StaticSolution) -> str:
    cases = " + ".join(case if factor == 1.0 else f"{factor:g} {case}" for case, factor in solution.factors.items())
    return cases or "given load"


def _loaded_beams(solution: StaticSolution) -> list[Loaded]:
    return [solution.state(group) for group in geometry.beams(solution.structure)]


def _stage(solution: StaticSolution, reach: float, text: str, *, bar: bool = False) -> tuple[Figure, stage.Stage]:
    positions, planar = solution.structure.positions, geometry.is_planar(solution.structure)
    figure, scenes = stage.stages(positions, planar, 1, reach, text, bar=bar)
    return figure, scenes[0]


def _shape(solution: StaticSolution, scale: float | None, title: str | None) -> Figure:
    structure = solution.structure
    along = [geometry.displace_by_load(loaded, geometry.places(loaded.group)) for loaded in _loaded_beams(solution)]
    sizes = [np.linalg.norm(moved, axis=2).max(initial=0.0) for moved in along]
    sizes.append(np.linalg.norm(geometry.translations(structure, solution.u), axis=1).max(initial=0.0))
    largest = float(max(sizes))
    factor = scale if scale is not None else _round_factor(stage.size_of(structure.positions), largest)
    divisor, unit = choose_prefix(largest, "m")
    text = f"{structure.name}: {_load(solution)}, drawn × {factor:g}, largest {largest / divisor:.3g} {unit}"
    colored = bool(geometry.solids(structure))
    figure, scene = _stage(solution, factor * largest, text if title is None else title, bar=colored)
    drawn = structures.draw_displaced(scene, structure, solution.u, factor, along=along)
    scene.finish(bare=False)
    stage.fit(figure, [scene])
    if drawn is not None:
        drawn.set_array(drawn.get_array() / divisor)
        drawn.set_clim(0.0, largest / divisor or 1.0)
        scene.colorbar(drawn, f"displacement [{unit}]")
    return figure


def _round_factor(size: float, largest: float) -> float:
    """1, 2 or 5 times a power of ten that makes the largest displacement at most a tenth of the size; 1 at least."""
    if largest <= 0.0:
        return 1.0
    wanted = SPREAD * size / largest
    power = 10.0 ** np.floor(np.log10(wanted))
    return max(1.0, float(max(k for k in (1.0, 2.0, 5.0) if k * power <= wanted * 1.0001) * power))


# -- diagrams --------------------------------------------------------------------------------------------------------


def _diagram(
    solution: StaticSolution,
    view: str,
    scale: float | None,
    title: str | None,
    # Largest value of the kind, relative to that of all kinds, that is rounding of the solution.
    rounding: float = 1e-9,
    # Diagram: at the default height of 0.16 of the structure a smaller one is thinner than its line.
    seen: float = 2e-3,
) -> Figure:
    structure = solution.structure
    loaded = _loaded_beams(solution)
    along = [_forces_along(beam) for beam in loaded]
    name = _strongest(view, [values for _, values in along])
    column, (way, sign) = FORCES.index(name), SIDE[name]
    largest = max(float(np.abs(values[:, :, column]).max(initial=0.0)) for _, values in along)
    every = max(float(np.abs(values).max(initial=0.0)) for _, values in along)
    if largest <= rounding * every:
        largest = 0.0
    factor = scale if scale is not None else REACH * stage.size_of(structure.positions) / (largest or 1.0)
    divisor, unit = choose_prefix(largest, "N m" if name[0] in "TM" else "N")
    peak = f", largest {largest / divisor:.4g} {unit}" if largest else ": zero everywhere"
    text = f"{structure.name}: {WORDS[name]} [{unit}] under {_load(solution)}{peak}"
    figure, scene = _stage(solution, 2.0 * factor * largest, text if title is None else title)
    for beam, (xi, values) in zip(loaded, along):
        group = beam.group
        lines = geometry.rest_lines(structure, group, xi)
        value = values[:, :, column] if largest else np.zeros(values.shape[:2])
        tips = lines + (factor * sign * value)[:, :, None] * group.R[:, way, None, :]
        scene.lines(lines[:, [0, -1]], colors=INK, linewidths=1.8 * geometry.thickness(group), label="beams")
        for side, color in ((np.maximum(value, 0.0), BLUE), (np.minimum(value, 0.0), RED)):
            ends = lines + (factor * sign * side)[:, :, None] * group.R[:, way, None, :]
            which = np.flatnonzero(np.abs(side).max(axis=1) > seen * largest)
            scene.areas([np.concatenate([lines[e], ends[e, ::-1]]) for e in which], facecolors=color, alpha=0.28,
                        linewidths=0)  # fmt: skip
        long = np.abs(value).max(axis=1) > seen * largest
        scene.lines(tips[long], colors=GREY, linewidths=geometry.thickness(group), label="diagram")
        if largest:
            _write_largest(scene, group, value, tips, largest, divisor)
    structures.draw_marks(scene, structure)
    scene.finish(bare=False)
    stage.fit(figure, [scene])
    return figure


def _forces_along(
    loaded: Loaded,
    beside: float = 1e-9,  # distance of the two places beside a point load, as part of the length of an element.
) -> tuple[FloatArray, FloatArray]:
    """Places (ne, g) as fractions of the length and forces (ne, g, 6), with both sides of every point load."""
    group = loaded.group
    ne = len(group.points)
    base = np.linspace(0.0, 1.0, 3 if ne > geometry.MANY else 13)
    at: list[list[float]] = [[] for _ in range(ne)]
    for element, place in zip(loaded.at_element.tolist(), loaded.at_place.tolist()):
        share = place / float(group.length[element])
        at[element] += [min(max(share + step, 0.0), 1.0) for step in (-beside, beside)]
    most = max((len(positions) for positions in at), default=0)
    xi = np.sort(np.array([[*base, *positions, *[1.0] * (most - len(positions))] for positions in at]), axis=1)
    e = np.repeat(np.arange(ne), xi.shape[1])
    forces = loaded.forces(e, (xi * group.length[:, None]).ravel())
    return xi, forces.reshape(ne, xi.shape[1], 6)


def _strongest(view: str, values: list[FloatArray]) -> str:
    """The component of a family (both shear forces, both moments) that is largest; a component is itself."""
    family = FAMILIES.get(view, (view,))
    return max(family, key=lambda name: max(float(np.abs(array[:, :, FORCES.index(name)]).max()) for array in values))


def _write_largest(
    scene: stage.Stage,
    group: Any,
    value: FloatArray,
    tips: FloatArray,
    largest: float,
    divisor: float,
    named: float = 0.02,  # number beside it: smaller ones stand on the beam itself.
) -> None:
    """The largest value of every beam, where there are few."""
    if len(group.beams) > NAMED:
        return
    for k in range(len(group.beams)):
        elements = np.arange(group.first[k], group.first[k + 1])
        e, g = np.unravel_index(int(np.abs(value[elements]).argmax()), value[elements].shape)
        peak = value[elements[e], g]
        if abs(peak) > named * largest:
            scene.text(tips[elements[e], g], f"{peak / divisor:.3g}", fontsize=8, color=INK)


# -- stresses --------------------------------------------------------------------------------------------------------


def _stresses(solution: StaticSolution, view: str, title: str | None) -> Figure:
    structure = solution.structure
    along, at_points = [], None
    for beam in _loaded_beams(solution) if view == "von_mises" else []:
        along.append(_stress_pieces(solution, beam))
    for group in geometry.solids(structure):
        stress = group.stresses(solution.u)
        at_points = stress.von_mises if view == "von_mises" else stress.at_points[:, STRAINS.index(view)]
    every = np.concatenate([values for _, values in along] + ([] if at_points is None else [at_points]))
    finite = every[np.isfinite(every)]
    largest = float(np.abs(finite).max(initial=0.0))
    divisor, unit = choose_prefix(largest, "Pa")
    low, high = float(finite.min(initial=0.0)) / divisor, float(finite.max(initial=0.0)) / divisor
    norm = Normalize(*((0.0, high or 1.0) if view == "von_mises" else (min(low, -high), max(high, -low) or 1.0)))
    cmap = "viridis" if view == "von_mises" else "RdBu_r"
    words = "von Mises stress" if view == "von_mises" else f"stress {view}"
    text = f"{structure.name}: {words} under {_load(solution)}, largest {largest / divisor:.4g} {unit}"
    figure, scene = _stage(solution, 0.0, text if title is None else title, bar=True)
    for beams, (pieces, values) in zip(geometry.beams(structure), along):
        thick = 3.5 * geometry.thickness(beams)
        scene.lines(pieces, values=values / divisor, cmap=cmap, norm=norm, linewidths=thick, label="stress")
    if at_points is not None:
        padded = np.concatenate([at_points, np.zeros(len(structure.points) - len(at_points))])
        structures.draw_faces(scene, structure, structure.positions, values=padded / divisor, cmap=cmap, norm=norm)
    structures.draw_marks(scene, structure)
    scene.finish(bare=False)
    stage.fit(figure, [scene], bar=True)
    scene.colorbar(ScalarMappable(norm, cmap), f"{words} [{unit}]")
    return figure


def _stress_pieces(solution: StaticSolution, loaded: Loaded) -> tuple[list[FloatArray], FloatArray]:
    """Short pieces of beams (2, 3) and the stress in the middle of each [Pa]; grey (NaN) where it is not known."""
    group = loaded.group
    count = 1 if len(group.points) > geometry.MANY else 12
    lines = geometry.rest_lines(solution.structure, group, np.linspace(0.0, 1.0, count + 1))
    middle = (np.arange(count) + 0.5) / count
    e = np.repeat(np.arange(len(group.points)), count)
    values = stresses_at(loaded, e, (middle[None, :] * group.length[:, None]).ravel())["von_mises"]
    pieces = np.stack([lines[:, :-1], lines[:, 1:]], axis=2).reshape(-1, 2, 3)
    return list(pieces), values
