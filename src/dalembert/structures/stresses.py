"""What happens inside beams: internal forces, deflections, stresses and strains, exact along each element.

With the forces p of the start point on the element and its load q(s) per length, on the face that looks along +x

    N = −p₁ − ∫q_x,   V_y = −p₂ − ∫q_y,   V_z = −p₃ − ∫q_z,   T = −p₄ − ∫m_x
    M_y = −p₅ − x p₃ − ∫(x−s) q_z − ∫m_y,      M_z = −p₆ + x p₂ + ∫(x−s) q_y − ∫m_z

so that E I_z v″ = M_z and E I_y w″ = −M_y for slender beams, and tension is positive. Deflections follow by
integrating the strains N/EA, χV/GA, T/GJ, M/EI from the start, stresses from

    σ = N/A − M_z y/I_z + M_y z/I_y,    τ = √(V_y² + V_z²)/A + |T|/W_T,    σ_v = √(σ² + 3 τ²)

σ_v is an estimate on the safe side as far as places go (largest σ and τ taken together), not for the peak of shear
over the section (its average is used). Where the section has no height and width there is no bending stress: NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import DataError
from dalembert.linear.checks import FloatArray, Frozen
from dalembert.structures.assembly import IntArray
from dalembert.structures.beam_group import BeamGroup
from dalembert.structures.elements import gauss
from dalembert.structures.sections import Section

FORCES = ("N", "V_y", "V_z", "T", "M_y", "M_z")
ROUND = ("circle", "tube", "thin_tube")


class Loaded:
    """A group of beams with displacements and loads: forces, strains and stresses at any place of any element.

    u : (N,).  factors : of the load cases.  acceleration : (N,) of a part that flies freely, as a rigid body.
    """

    def __init__(
        self, group: BeamGroup, u: FloatArray, factors: Mapping[str, float], acceleration: FloatArray | None = None
    ) -> None:
        self.group = group
        self.loads = group.load_vectors(factors)
        self.q = group.density(factors)
        if acceleration is not None:
            taken, along = group.inertia_loads(acceleration)
            self.loads, self.q = self.loads + taken, self.q + along
        self.ends = group.ends(u, self.loads)
        self.end_forces = np.einsum("eij,ej->ei", group.stiffness(), self.ends) - self.loads
        self.initial = group.initial_strains(factors)
        points = [(factor, *group.point_loads[case]) for case, factor in factors.items() if case in group.point_loads]
        self.at_element = np.concatenate([p[1] for p in points]) if points else np.zeros(0, dtype=np.int64)
        self.at_place = np.concatenate([p[2] for p in points]) if points else np.zeros(0)
        self.at_load = np.concatenate([p[0] * p[3] for p in points]) if points else np.zeros((0, 3, 6))

    def forces(self, e: IntArray, x: FloatArray) -> FloatArray:
        """(k, 6) N, V_y, V_z, T, M_y, M_z in elements e (k,) at x (k,) [m] from their starts, after point loads."""
        p, length = self.end_forces[e], self.group.length[e]
        first, slope = self.q[e, 0], (self.q[e, 1] - self.q[e, 0]) / length[:, None]
        x1 = x[:, None]
        total = first * x1 + slope * x1**2 / 2
        moment = first * x1**2 / 2 + slope * x1**3 / 6
        if len(self.at_element):
            order = np.argsort(e, kind="stable")
            begin, end = (np.searchsorted(e[order], self.at_element, side) for side in ("left", "right"))
            for k in np.flatnonzero(end > begin):
                place, load = self.at_place[k], self.at_load[k]
                own = order[begin[k] : end[k]]
                after = own[x[own] >= place]
                s = (x[after] - place)[:, None]
                total[after] += load[0] + load[1] * s + load[2] * s**2 / 2
                moment[after] += load[0] * s + load[1] * s**2 / 2 + load[2] * s**3 / 6
        result: FloatArray = -p[:, :6] - total
        result[:, 4] += -x * p[:, 2] - moment[:, 2]
        result[:, 5] += x * p[:, 1] + moment[:, 1]
        return result

    def deflections(self, e: IntArray, x: FloatArray) -> FloatArray:
        """(k, 6) displacement and rotation in local axes."""
        start = self.ends[e]
        result: FloatArray = start[:, :6].copy()
        result[:, 1] += x * start[:, 5]
        result[:, 2] -= x * start[:, 4]
        places = np.unique(self.at_place[np.isin(self.at_element, e)]).tolist()
        xi, weights = gauss(12 if self.group.tapered is not None else 4)
        for low, high in zip([0.0, *places], [*places, np.inf]):
            a, b = np.minimum(low, x), np.minimum(high, x)
            s = a[:, None] + (b - a)[:, None] * xi
            w = (b - a)[:, None] * weights
            which = np.repeat(e, len(xi))
            strain = self.strains(which, s.ravel()).reshape(*s.shape, 6)
            arm = x[:, None] - s
            result += (strain * w[:, :, None]).sum(axis=1)
            result[:, 1] += (strain[:, :, 5] * arm * w).sum(axis=1)
            result[:, 2] -= (strain[:, :, 4] * arm * w).sum(axis=1)
        bars = self.group.is_bar[e]
        if bars.any():
            t = (x / self.group.length[e])[bars, None]
            result[bars, :3] = self.ends[e[bars], :3] * (1 - t) + self.ends[e[bars], 6:9] * t
            result[bars, 3:] = 0.0
        return result

    def strains(self, e: IntArray, x: FloatArray) -> FloatArray:
        """(k, 6): ε, γ_y, γ_z, twist, curvature about y and z."""
        strain: FloatArray = self.forces(e, x) * self.give(e, x)
        strain[:, [0, 4, 5]] += self.initial[e]
        return strain

    def energy(self) -> float:
        """½ ∫ (N²/EA + χV²/GA + T²/GJ + M²/EI) of all elements [J]; bars are stretched only."""
        ne = len(self.group.points)
        e = np.concatenate([np.arange(ne), self.at_element])
        start = np.concatenate([np.zeros(ne), self.at_place])
        order = np.lexsort((start, e))
        e, start = e[order], start[order]
        last = np.append(e[1:] != e[:-1], True)
        end = np.where(last, self.group.length[e], np.append(start[1:], 0.0))
        xi, weights = gauss(12 if self.group.tapered is not None else 4)
        x = (start[:, None] + (end - start)[:, None] * xi).ravel()
        which = np.repeat(e, len(xi))
        density = self.forces(which, x) ** 2 * self.give(which, x)
        density[self.group.is_bar[which], 1:] = 0.0
        return 0.5 * float(density.sum(axis=1) @ ((end - start)[:, None] * weights).ravel())

    def largest(self, stations: int) -> dict[str, float]:
        """Largest von Mises stress [Pa] of every beam and bar, at ``stations`` places of each element."""
        group = self.group
        ne = len(group.points)
        e = np.repeat(np.arange(ne), stations)
        x = (np.linspace(0, 1, stations) * group.length[:, None]).ravel()
        worst = self.stresses(e, x)["von_mises"].reshape(ne, stations).max(axis=1)
        return dict(zip(group.beams, np.maximum.reduceat(worst, group.first[:-1]).tolist()))

    def give(self, e: IntArray, x: FloatArray) -> FloatArray:
        """(k, 6) strains of unit forces."""
        s = section_numbers(self.group, e, x)
        E, G = (np.array([getattr(m, name) for m in self.group.materials])[self.group.material_of[e]] for name in "EG")
        shear = self.group.shear[e] / (G * s["area"])
        stiff = np.stack([E * s["area"], G * s["J"], E * s["I_y"], E * s["I_z"]], axis=1)
        give = np.divide(1.0, stiff, out=np.zeros_like(stiff), where=stiff > 0)
        soft: FloatArray = np.stack([give[:, 0], s["shear_y"] * shear, s["shear_z"] * shear, *give[:, 1:].T], axis=1)
        return soft

    def stresses(self, e: IntArray, x: FloatArray) -> dict[str, FloatArray]:
        """Stresses [Pa] at places: highest, lowest (σ at the extreme fibres), shear, torsion, von_mises."""
        s = section_numbers(self.group, e, x)
        N, V_y, V_z, T, M_y, M_z = self.forces(e, x).T
        along = N / s["area"]
        with np.errstate(divide="ignore", invalid="ignore"):
            corners = [
                -np.where(M_z == 0, 0.0, M_z * s[y] / s["I_z"]) + np.where(M_y == 0, 0.0, M_y * s[z] / s["I_y"])
                for y in ("y_low", "y_high")
                for z in ("z_low", "z_high")
            ]
            bent = np.hypot(M_y, M_z) * s["y_high"] / s["I_z"]
            torsion = np.where(T == 0, 0.0, np.abs(T) / s["W_T"])
        rounds = s["round"] > 0
        highest = along + np.where(rounds, bent, np.max(corners, axis=0))
        lowest = along - np.where(rounds, bent, -np.min(corners, axis=0))
        shear = np.hypot(V_y, V_z) / s["area"]
        worst = np.maximum(np.abs(highest), np.abs(lowest))
        mises = np.sqrt(worst**2 + 3 * (shear + torsion) ** 2)
        return {
            "axial": along, "highest": highest, "lowest": lowest, "shear": shear, "torsion": torsion, "von_mises": mises
        }  # fmt: skip


class BeamResult(Frozen):
    """Internal forces, deflection and stresses along one beam or bar, in its own axes.

    Attributes
    ----------
    x : (s,) from its start [m].
    N, V_y, V_z [N], T, M_y, M_z [N m] : on the face that looks along +x; tension positive.
    deflection : (s, 3) [m] and rotation : (s, 3) [rad], in local axes.  axes : (3, 3), rows are the local axes.
    highest, lowest : stress at the extreme fibres [Pa]; axial, shear, torsion, von_mises [Pa].
    highest_strain, lowest_strain : at the extreme fibres.
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

    def __init__(self, **fields: Any) -> None:
        self._freeze(**fields)

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
        lines = [
            f"beam {self.beam!r}" + ("" if known else " (no stresses: its section has no height and width)"),
            "  ".join(head.rjust(11) for head in heads),
        ]
        lines += ["  ".join(f"{value + 0.0:11.4g}" for value in row) for row in zip(*columns)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.table()


def along_beam(loaded: Loaded, beam: str, stations: Any) -> BeamResult:
    """Everything along one beam at evenly spaced stations, or at given places x [m]."""
    group = loaded.group
    k = group.beams.index(beam)
    own = np.arange(group.first[k], group.first[k + 1])
    each = group.length[own[0]]
    total = each * len(own)
    x = _places(beam, stations, float(total))
    place = np.minimum((x / each * (1 + 1e-14)).astype(np.int64), len(own) - 1)
    e, local = own[place], np.clip(x - place * each, 0.0, each)
    moved = loaded.deflections(e, local)
    stress = loaded.stresses(e, local)
    E = np.array([m.E for m in group.materials])[group.material_of[e]]
    return BeamResult(
        beam=beam, x=x, **dict(zip(FORCES, loaded.forces(e, local).T.copy())), deflection=moved[:, :3],
        rotation=moved[:, 3:], axes=group.R[own[0]].copy(), **stress,
        highest_strain=stress["highest"] / E, lowest_strain=stress["lowest"] / E,
    )  # fmt: skip


def _places(beam: str, stations: Any, total: float) -> FloatArray:
    """Checked places [m] along a beam."""
    if isinstance(stations, (int, np.integer)) and not isinstance(stations, bool):
        if stations < 2:
            raise DataError(f"at least 2 stations are needed along a beam, got {stations}.")
        return np.linspace(0.0, total, int(stations))
    try:
        x = np.array(stations, dtype=np.float64)
    except (TypeError, ValueError):
        x = np.zeros(())
    if x.ndim != 1 or isinstance(stations, str):
        raise DataError(f"stations must be a whole number or places along the beam [m], got {stations!r}.")
    beyond = x[~((x >= -1e-9 * total) & (x <= total * (1 + 1e-9)))]
    if len(beyond):
        raise DataError(f"beam {beam!r} is {total:g} m long, there is no place {beyond[0]:g} m on it.")
    return x


def section_numbers(group: BeamGroup, e: IntArray, x: FloatArray) -> dict[str, FloatArray]:
    """Numbers of the section at places x of elements e, all (k,); along a taper from ``Section.between``."""
    table = [_numbers(section) for section in group.sections]
    first = group.section_of[e, 0]
    found = {key: np.array([row[key] for row in table])[first] for key in table[0]}
    for k in np.flatnonzero(first != group.section_of[e, 1]):
        low, high = group.span[e[k]]
        t = min(max(low + (high - low) * x[k] / group.length[e[k]], 0.0), 1.0)
        one, other = (group.sections[i] for i in group.section_of[e[k]])
        for key, value in _numbers(one.between(other, float(t))).items():
            found[key][k] = value
    return found


def _numbers(section: Section) -> dict[str, float]:
    y, z = section.fibres_y or (np.nan, np.nan), section.fibres_z or (np.nan, np.nan)
    names = ("area", "I_y", "I_z", "J", "shear_y", "shear_z")
    return {
        **{name: float(getattr(section, name)) for name in names},
        "y_low": y[0], "y_high": y[1], "z_low": z[0], "z_high": z[1],
        "round": float(section.shape in ROUND), "W_T": torsion_modulus(section),
    }  # fmt: skip


def torsion_modulus(section: Section) -> float:
    """W_T [m³]: largest shear stress = torque / W_T.

    Exact for circles, tubes, ellipses and rectangles (Saint-Venant's series), Bredt's formula for boxes, J / thickest
    wall for open sections; J / (smaller of height and width) for a section by properties, NaN without them.
    """
    d = section.dimensions
    if section.shape in ROUND:
        return section.J / (section.height or np.nan) * 2
    if section.shape == "ellipse":
        big, small = sorted((d["height"] / 2, d["width"] / 2), reverse=True)
        return float(np.pi * big * small**2 / 2)
    if section.shape == "rectangle":
        a, b = sorted((d["height"], d["width"]), reverse=True)
        n = np.arange(1, 40, 2)
        # τ = T b/J [1 − 8/π² Σ 1/(n² cosh(nπa/2b))], n odd, in the middle of the longer side
        sum_ = np.sum(1 / (n**2 * np.cosh(np.minimum(n * np.pi * a / (2 * b), 700.0))))
        return float(section.J / (b * (1 - 8 / np.pi**2 * sum_)))
    if section.shape in ("box", "thin_square_tube"):
        side = d.get("side")
        t = min(value for key, value in d.items() if key in ("wall", "flange", "thickness"))
        h, w = (side, side) if side is not None else (d["height"], d["width"])
        inner = 0.0 if section.shape == "thin_square_tube" else t
        return float(2 * (h - inner) * (w - inner) * t)
    walls = [value for key, value in d.items() if key in ("web", "flange", "thickness", "wall")]
    if walls:
        return section.J / max(walls)
    if section.height is None or section.width is None or not min(section.height, section.width):
        return float("nan")
    return section.J / min(section.height, section.width)
