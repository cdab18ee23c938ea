"""Strain gauges on flexible bodies: rows that give a strain or a curvature from the elastic coordinates.

In a beam element with the forces p of its start on it, from the stiffness and the displacements of its ends,

    N = −p₁,   M_z = −p₆ + x p₂,   M_y = −p₅ − x p₃,       ε = N/EA − y M_z/EI_z + z M_y/EI_y,   κ = M/EI

which is exact for the shape functions of the element. On a solid the strain tensor at a point is the mean of the cells
around it, and ε = nᵀ E n along n.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError, ModelWarning, unknown_name
from dalembert.model.flexible import StrainGauge
from dalembert.structures.assembly.places import is_on
from dalembert.structures.assembly.sections import Section
from dalembert.structures.assembly.structure import Structure
from dalembert.structures.beams.beam_elements import BeamElements
from dalembert.structures.flexible_body.inertia_integrals import clean
from dalembert.structures.flexible_body.nodes import nearest_point
from dalembert.structures.solid.elastic_laws import STRAINS
from dalembert.structures.solid.stresses import SolidGroup

OUTSIDE = 0.05  # of the height: a gauge with its glue on the surface of a thin section
FAR = 5.0  # radii of gyration from the centroid to a fibre: 1.7 in a rectangle, 3 in a T


@dataclass(frozen=True)
class BeamGauge:
    """A gauge on a beam, at x [m] from its start and (y, z) [m] from the centroid, in the axes of its section.

    In space the y of a section is the direction ``up`` of its beam, upward along global z when left out.

    quantity : "strain" along the beam, or "curvature" about its local axis ``about`` ("y" or "z") [1/m].
    beam : its name in the frame; left out for a continuous beam.
    """

    x: float
    y: float = 0.0
    z: float = 0.0
    beam: str = ""
    quantity: str = "strain"
    about: str = "z"


@dataclass(frozen=True)
class SurfaceGauge:
    """A gauge on a solid: the strain along ``direction`` at the point of the mesh that is at ``place`` (3,) [m]."""

    place: tuple[float, float, float]
    direction: tuple[float, float, float]


def find_gauges(structure: Structure, gauges: Any, shapes: FloatArray) -> tuple[StrainGauge, ...]:
    """Rows of all gauges for modes (N, m)."""
    found = []
    for name, gauge in check_gauges(structure.name, gauges).items():
        if isinstance(gauge, BeamGauge):
            row, quantity = _on_beam(structure, name, gauge, shapes), gauge.quantity
        else:
            row, quantity = _on_solid(structure, name, gauge, shapes), "strain"
        found.append(StrainGauge(name=name, quantity=quantity, row=clean(row)))
    return tuple(found)


def check_gauges(title: str, gauges: Any) -> Mapping[str, BeamGauge | SurfaceGauge]:
    """A mapping of names to gauges."""
    if gauges is None:
        return {}
    if not isinstance(gauges, Mapping) or not all(isinstance(g, BeamGauge | SurfaceGauge) for g in gauges.values()):
        problem = (
            f"flexible body {title!r}: gauges are a mapping of names to BeamGauge or SurfaceGauge, got {gauges!r}."
        )
        raise ModelError("wrong-type", problem, where={"body": title})
    for name, gauge in gauges.items():
        if isinstance(gauge, BeamGauge) and (
            gauge.quantity not in ("strain", "curvature") or gauge.about not in ("y", "z")
        ):
            problem = f"flexible body {title!r}: gauge {name!r} reads strain or curvature, about y or z."
            raise ModelError("unknown-choice", problem, where={"body": title, "gauge": name})
    return gauges


def _warn_outside(title: str, name: str, gauge: BeamGauge, section: Section) -> None:
    """Ask about a gauge that is not on its section: its extent where it is known, else FAR radii of gyration."""
    if gauge.quantity != "strain":
        return
    sides = (("y", gauge.y, section.fibres_y, section.I_z), ("z", gauge.z, section.fibres_z, section.I_y))
    for axis, value, fibres, second_moment in sides:
        radius = FAR * float(np.sqrt(second_moment / section.area))
        low, high = fibres or (-radius, radius)
        slack = OUTSIDE * (high - low)
        if not low - slack <= value <= high + slack:
            problem = (
                f"flexible body {title!r}: gauge {name!r} is at {axis} = {value:g} m, its section is from {low:g} to "
                f"{high:g} m; the strain is that of a plane section continued."
            )
            where = {"body": title, "gauge": name}
            warnings.warn(ModelWarning("off-section", problem, where=where, evidence={axis: value}), stacklevel=7)


def _on_beam(structure: Structure, name: str, gauge: BeamGauge, shapes: FloatArray) -> FloatArray:
    groups = [group for group in structure.groups if isinstance(group, BeamElements)]
    known = [beam for group in groups for beam in group.beams]
    owner = [group for group in groups if gauge.beam in group.beams]
    if not owner:
        problem = f"gauge {name!r}: {unknown_name('beam', gauge.beam, known, f'flexible body {structure.name!r}')}"
        raise ModelError("unknown-name", problem, where={"body": structure.name, "gauge": name})
    group = owner[0]
    k = group.beams.index(gauge.beam)
    ends = np.cumsum(group.length[group.first[k] : group.first[k + 1]])
    if not is_on(gauge.x, ends[-1]):
        raise ModelError(
            "out-of-range",
            f"flexible body {structure.name!r}: gauge {name!r} is at x = {gauge.x:g} m, beam {gauge.beam!r} is "
            f"{ends[-1]:g} m long.",
            where={"body": structure.name, "gauge": name},
            evidence={"x": gauge.x, "length": float(ends[-1])},
        )
    number = min(int(np.searchsorted(ends, gauge.x)), len(ends) - 1)
    e = int(group.first[k]) + number
    x = gauge.x - (float(ends[number - 1]) if number else 0.0)
    one = group.pick([e])
    K = one.stiffness()[0]
    p = K @ (one.transform()[0] @ shapes[group.coordinates()[e]])  # (12, m) forces on the ends
    section, E = group.section_at(e, x), group.materials[int(group.material_of[e])].E
    _warn_outside(structure.name, name, gauge, section)
    curvature = {
        "z": (-p[5] + x * p[1]) / (E * section.I_z) if section.I_z else np.zeros(p.shape[1]),
        "y": (-p[4] - x * p[2]) / (E * section.I_y) if section.I_y else np.zeros(p.shape[1]),
    }
    if gauge.quantity == "curvature":
        return curvature[gauge.about]
    return np.asarray(-p[0] / (E * section.area) - gauge.y * curvature["z"] + gauge.z * curvature["y"])


def _on_solid(structure: Structure, name: str, gauge: SurfaceGauge, shapes: FloatArray) -> FloatArray:
    solids = [group for group in structure.groups if isinstance(group, SolidGroup)]
    if not solids:
        problem = f"flexible body {structure.name!r}: gauge {name!r} needs a solid."
        raise ModelError("not-supported", problem, where={"body": structure.name, "gauge": name})
    point = nearest_point(structure, f"gauge {name!r}", np.asarray(gauge.place, dtype=np.float64))
    along = np.asarray(gauge.direction, dtype=np.float64)
    size = float(np.linalg.norm(along))
    if along.shape != (3,) or not size > 0.0:
        problem = f"flexible body {structure.name!r}: the direction of gauge {name!r} has no length."
        raise ModelError("zero-length", problem, where={"body": structure.name, "gauge": name})
    n = dict(zip("xyz", along / size))
    weights = np.array([n[pair[0]] * n[pair[1]] for pair in STRAINS])
    return np.asarray(weights @ solids[0].strains_at(point, shapes))
