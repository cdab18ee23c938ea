"""Stresses and strains along loaded beams: forces of `loaded`, over the sections of `section_stresses`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray, frozen
from dalembert.core.errors import DataError
from dalembert.core.tables import align_columns
from dalembert.structures.assembly.places import is_on
from dalembert.structures.beams import section_stresses
from dalembert.structures.beams.internal_forces import Loaded

FORCES = ("N", "V_y", "V_z", "T", "M_y", "M_z")


def internal_forces(loaded: Loaded, e: IntArray, x: FloatArray, total: bool) -> FloatArray:
    """(k, 6) at x (k,) of elements e (k,): forces of the load, or with those of the prestress."""
    forces = loaded.forces(e, x)
    return forces + loaded.before.forces(e, x) if total and loaded.before is not None else forces


def stresses_at(loaded: Loaded, e: IntArray, x: FloatArray, *, total: bool = False) -> dict[str, FloatArray]:
    """Stresses [Pa] at places: axial, highest, lowest, shear, torsion, von_mises."""
    group = loaded.group
    forces = internal_forces(loaded, e, x, total)
    found: dict[str, FloatArray] = {}
    first, last = group.section_of[e].T
    parts = [(group.sections[k], np.flatnonzero((first == k) & (last == k))) for k in np.unique(first)]
    parts += [(group.section_at(int(e[k]), float(x[k])), np.array([k])) for k in np.flatnonzero(first != last)]
    for section, which in parts:
        for name, values in section_stresses.stresses(section, forces[which]).items() if len(which) else ():
            found.setdefault(name, np.zeros(len(e)))[which] = values
    return found


def largest(loaded: Loaded, stations: int, *, total: bool = False) -> dict[str, float]:
    """Largest von Mises stress [Pa] of every beam and bar, at ``stations`` places of each element."""
    group = loaded.group
    ne = len(group.points)
    e = np.repeat(np.arange(ne), stations)
    x = (np.linspace(0, 1, stations) * group.length[:, None]).ravel()
    worst = stresses_at(loaded, e, x, total=total)["von_mises"].reshape(ne, stations).max(axis=1)
    return dict(zip(group.beams, np.maximum.reduceat(worst, group.first[:-1]).tolist()))


@frozen
class BeamResult:
    """Internal forces, deflection and stresses along one beam or bar, in its own axes.

    Of a prestressed structure: forces of the load, in the axes of the turned sections (V in the plane of the section,
    normal to the deformed axis of a slender beam); with the prestress where ``total`` was requested.

    Attributes
    ----------
    x : (s,) from its start [m].
    N, V_y, V_z [N], T, M_y, M_z [N m] : on the face that looks along +x; tension positive.
    deflection : (s, 3) [m] and rotation : (s, 3) [rad], in local axes.  axes : (3, 3), rows are the local axes.
    highest, lowest : stress at the extreme fibres [Pa].  axial : N/A [Pa].
    shear : largest of the shear forces over the section [Pa]; ``shear_rule`` names the method.
    torsion : largest of the torque [Pa].  von_mises : largest over the points of the section [Pa].
    highest_strain, lowest_strain : at the extreme fibres.
    of : "load", "added load" (on a prestressed structure) or "prestress and load".
    """

    beam: str
    x: FloatArray
    N: FloatArray
    V_y: FloatArray
    V_z: FloatArray
    T: FloatArray
    M_y: FloatArray
    M_z: FloatArray
    deflection: FloatArray
    rotation: FloatArray
    axes: FloatArray
    axial: FloatArray
    highest: FloatArray
    lowest: FloatArray
    shear: FloatArray
    torsion: FloatArray
    von_mises: FloatArray
    highest_strain: FloatArray
    lowest_strain: FloatArray
    shear_rule: str
    of: str

    def table(self) -> str:
        """One row per station."""
        heads = ["x [m]", *(f"{name} [N]" for name in FORCES[:3]), *(f"{name} [N m]" for name in FORCES[3:])]
        columns = [self.x, *(getattr(self, name) for name in FORCES)]
        shown = [k for k, column in enumerate(columns) if k < 2 or column.any()]  # a plane has no V_z, T, M_y
        heads, columns = [heads[k] for k in shown], [columns[k] for k in shown]
        known = not np.isnan(self.von_mises).any()
        if known:
            heads += ["σ_max [Pa]", "σ_min [Pa]", "σ_v [Pa]"]
            columns += [self.highest, self.lowest, self.von_mises]
        title = (
            f"beam {self.beam!r}"
            + ("" if self.of == "load" else f", forces of the {self.of}")
            + (f", shear stress {self.shear_rule}" if known else " (no stresses: its section has no height and width)")
        )
        rows = [[f"{value + 0.0:.4g}" for value in row] for row in zip(*columns)]
        return f"{title}\n{align_columns(heads, rows)}"

    def __repr__(self) -> str:
        return self.table()


def along_beam(loaded: Loaded, beam: str, stations: Any, *, total: bool = False, rounding: float = 1e-14) -> BeamResult:
    """Everything along one beam at evenly spaced stations, or at given places x [m].

    rounding : relative distance before the end of an element that is the start of the next one; places are products
    and quotients of lengths, each good to ε.
    """
    group = loaded.group
    k = group.beams.index(beam)
    numbers = np.arange(group.first[k], group.first[k + 1])
    each = group.length[numbers[0]]
    x = _places(beam, stations, float(each * len(numbers)))
    place = np.minimum((x / each * (1 + rounding)).astype(np.int64), len(numbers) - 1)
    e, local = numbers[place], np.clip(x - place * each, 0.0, each)
    moved = loaded.deflections(e, local)
    stress = stresses_at(loaded, e, local, total=total)
    forces = internal_forces(loaded, e, local, total)
    of = "load" if loaded.before is None else "prestress and load" if total else "added load"
    E = np.array([m.E for m in group.materials])[group.material_of[e]]
    return BeamResult(
        beam=beam, x=x, **dict(zip(FORCES, forces.T.copy())), deflection=moved[:, :3],
        rotation=moved[:, 3:], axes=group.R[numbers[0]].copy(), **stress,
        highest_strain=stress["highest"] / E, lowest_strain=stress["lowest"] / E,
        shear_rule=section_stresses.shear_rule(group.sections[group.section_of[numbers[0], 0]]), of=of,
    )  # fmt: skip


def _places(beam: str, stations: Any, total: float) -> FloatArray:
    """Checked places [m] along a beam."""
    if isinstance(stations, (int, np.integer)) and not isinstance(stations, bool):
        if stations < 2:
            raise DataError("not-a-count", f"at least 2 stations are needed along a beam, got {stations}.")
        return np.linspace(0.0, total, int(stations))
    try:
        x = np.array(stations, dtype=np.float64)
    except (TypeError, ValueError):
        x = np.zeros(())
    if x.ndim != 1 or isinstance(stations, str):
        raise DataError(
            "wrong-type", f"stations must be a whole number or places along the beam [m], got {stations!r}."
        )
    beyond = [place for place in x if not is_on(place, total)]
    if beyond:
        raise DataError("out-of-range", f"beam {beam!r} is {total:g} m long, there is no place {beyond[0]:g} m on it.")
    return x
