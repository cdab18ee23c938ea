"""Inertia of bodies in MJCF: given, or that of their geoms, within the bounds of the compiler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.files.robots.mjcf.document import CompilerSettings, MjcfReader
from dalembert.files.robots.mjcf.frames import POSE, read_origin
from dalembert.files.robots.mjcf.geoms import Geom, SolidMass, add_masses
from dalembert.files.robots.origins import Origin
from dalembert.files.robots.xml_tree import XmlNode


def inertia_of(
    reader: MjcfReader, name: str, inertial: tuple[XmlNode, Origin] | None, geoms: Sequence[Geom]
) -> SolidMass:
    """Mass, centre of mass and inertia of a body, in its frame."""
    settings = reader.settings
    if inertial is not None and settings.from_geoms != "true":
        solid = _read_inertial(reader, name, *inertial)
    elif settings.from_geoms == "false":
        solid = SolidMass(0.0, np.zeros(3), np.zeros((3, 3)))
    else:
        low, high = settings.groups
        solid = add_masses([geom.solid(reader) for geom in geoms if low <= geom.group <= high])
    return bound_masses(solid, settings)


def _read_inertial(reader: MjcfReader, name: str, node: XmlNode, outer: Origin) -> SolidMass:
    reader.check_names(node, (), ("mass", "diaginertia", "fullinertia", *POSE))
    if "pos" not in node.attributes:
        reader.problem(node, "missing-argument", f"<inertial> of body {name!r} has no attribute 'pos'.")
    mass, what = reader.number(node, "mass"), f"body {name!r}"
    origin = outer @ read_origin(reader, node)
    if "fullinertia" in node.attributes:
        if len(node.attributes.keys() & {"diaginertia", *POSE[1:]}):
            problem = f"<inertial> of {what}: fullinertia excludes diaginertia and an orientation."
            reader.problem(node, "conflicting-arguments", problem)
        xx, yy, zz, xy, xz, yz = reader.numbers(node, "fullinertia", 6)
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        J = np.diag(reader.numbers(node, "diaginertia", 3, (0, 0, 0)))
    if not reader.settings.balance or mass < 0 or np.linalg.eigvalsh(J)[0] < 0:
        J = reader.check_inertia(node, what, mass, J)
    return SolidMass(mass, np.zeros(3), J).place_at(origin)


def bound_masses(given: SolidMass, settings: CompilerSettings) -> SolidMass:
    """Least mass and principal inertias; principal inertias that break the triangle inequality become equal."""
    mass, J = max(given.mass, settings.bound_mass), given.inertia
    if settings.bound_inertia > 0 or settings.balance:
        values, axes = np.linalg.eigh(J)
        values = np.maximum(values, settings.bound_inertia)
        if settings.balance and values[0] + values[1] < values[2]:
            values = np.full(3, values.mean())
        J = axes @ np.diag(values) @ axes.T
    return SolidMass(mass, given.center, J)


def scale_masses(masses: dict[str, SolidMass], total: float) -> dict[str, SolidMass]:
    """Multiply masses and inertias of all bodies by one factor, so that the machine has a given mass."""
    sum_of_all = sum(mass_.mass for mass_ in masses.values())
    factor = total / sum_of_all if total > 0 and sum_of_all > 0 else 1.0
    return {
        name: SolidMass(factor * mass_.mass, mass_.center, factor * mass_.inertia) for name, mass_ in masses.items()
    }


def symmetric(J: FloatArray) -> list[list[float]]:
    rows: list[list[float]] = ((J + J.T) / 2).tolist()
    return rows
