"""Static solution of a structure: displacements, reactions, energy, and internal forces of its elements.

    TᵀKT x = Tᵀ (f − K u₀),   u = T x + u₀,   reactions r = T_hᵀ (K u − f)

Reactions come from the deleted rows and balance the loads. A structure that is not held has no static
solution: the free motions are found and named. With inertia relief the loads that would accelerate it are taken up
by its own inertia, f − M V (VᵀMV)⁻¹ Vᵀ f, and the displacements are those without rigid motion, VᵀM x = 0.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.tables import align_columns
from dalembert.numerics import ties
from dalembert.structures.assembly.element_group import ElementGroup
from dalembert.structures.assembly.free_motions import free_motions, report_free_motions
from dalembert.structures.assembly.stiffness_factor import StiffnessFactor
from dalembert.structures.assembly.structure import Structure, needs_structure
from dalembert.structures.beams.beam_stresses import BeamResult

# Structures up to this many free coordinates keep their factors for the next load.
KEPT = 20_000


class Named:
    """Numbers (N,) by coordinate name, like a mapping; a point name gives the vector of its coordinates."""

    def __init__(self, structure: Structure, array: FloatArray, which: Sequence[int] | None = None) -> None:
        self._structure, self.array = structure, array
        self._which = range(len(array)) if which is None else which
        array.setflags(write=False)

    def __getitem__(self, name: str) -> Any:
        d = len(self._structure.directions)
        point = self._structure._point_index.get(name)
        if point is not None:
            return self.array[point * d : point * d + d]
        s = self._structure
        if isinstance(name, str) and name.rpartition(".")[2] in s.directions:
            return float(self.array[s.index(name)])
        known = (*s.points, *s.coordinates)
        raise DataError("unknown-name", unknown_name("point or coordinate", name, known, f"structure {s.name!r}"))

    def __iter__(self) -> Iterator[str]:
        return (self._structure.coordinates[i] for i in self._which)

    def __len__(self) -> int:
        return len(self._which)

    def keys(self) -> list[str]:
        """Names of the coordinates."""
        return list(self)

    def items(self) -> list[tuple[str, float]]:
        """Names and numbers."""
        return [(self._structure.coordinates[i], float(self.array[i])) for i in self._which]

    def __repr__(self) -> str:
        return repr(dict(self.items()))


@frozen(init=False)
class StaticSolution:
    """Displacements, reactions and internal forces of a structure under a load; made by :func:`solve_static`.

    Attributes
    ----------
    u : (N,) displacements of all coordinates [m, rad].  load : (N,) forces that acted [N, N m].
    displacement : by coordinate (``["A.y"]``) or point (``["A"]``, a vector).
    reaction : forces of the supports on the structure, by held coordinate or by point [N, N m].
    factors : load cases that were combined.
    acceleration : (N,) of a part that flies freely (inertia relief) [m/s², rad/s²], or None.
    """

    structure: Structure
    u: FloatArray
    load: FloatArray
    factors: Mapping[str, float]
    displacement: Named
    reaction: Named
    acceleration: FloatArray | None

    def __init__(
        self,
        structure: Structure,
        u: FloatArray,
        load: FloatArray,
        factors: Mapping[str, float],
        acceleration: FloatArray | None = None,
    ) -> None:
        independent = np.flatnonzero(structure.held)
        forces = np.zeros(len(u))
        forces[independent] = structure.T_held.T @ (structure.K @ u - load)
        assign(
            self, structure=structure, u=u, load=load, factors=factors, displacement=Named(structure, u),
            reaction=Named(structure, forces, independent.tolist()), acceleration=acceleration,
        )  # fmt: skip

    def __reduce__(self) -> Any:
        arrays = [None if array is None else np.array(array) for array in (self.u, self.load, self.acceleration)]
        return (StaticSolution, (self.structure, arrays[0], arrays[1], dict(self.factors), arrays[2]))

    @cached_property
    def strain_energy(self) -> float:
        """Energy stored [J]: ½ uᵀKu and the part of loads and initial strains inside the elements, exactly."""
        total = 0.5 * float(self.u @ (self.structure.K @ self.u))
        for group in self.structure.groups:
            if self.acceleration is not None or {*group.loaded_cases(), "gravity"} & {*self.factors}:
                total += group.energy_of_loads(self.state(group), self.u)
        return total

    def beam(self, name: str, stations: int | Sequence[float] = 11, *, total: bool = False) -> BeamResult:
        """Internal forces, deflection and stresses along one beam; ``stations``: how many, or where [m].

        ``total``: forces and stresses of a prestressed structure with its prestress, instead of those of the load.
        """
        group = named_group(self.structure, name)
        result: BeamResult = group.along(name, self.state(group), stations, total=total)
        return result

    def forces(self, name: str, *, total: bool = False) -> Mapping[str, float]:
        """Internal forces of an element without stations along it, by their names; ``total`` as for :meth:`beam`."""
        group = named_group(self.structure, name)
        return group.forces_of(name, self.state(group), total=total)

    def state(self, group: ElementGroup) -> Any:
        """Internal forces of a group of elements, found once."""
        known: dict[int, Any] = self.__dict__.setdefault("_known", {})
        if id(group) not in known:
            s = self.structure
            before = s.initial[[one is group for one in s.groups].index(True)] if s.initial else None
            known[id(group)] = group.state(self.u, self.factors, self.acceleration, before)
        return known[id(group)]

    def largest_stresses(self, stations: int = 5, *, total: bool = False) -> dict[str, float]:
        """Largest von Mises stress [Pa] of every beam and bar, at ``stations`` places of each element.

        ``total`` as for :meth:`beam`.

        NaN for a bent beam whose section has no height and width: its extreme fibres are not known.
        """
        largest: dict[str, float] = {}
        for each in self.stresses(whole_number("stations", stations, 1), total=total):
            largest.update(each if isinstance(each, dict) else {})
        return largest

    def stresses(self, stations: int = 5, *, total: bool = False) -> list[Any]:
        """Stresses of every group of elements; ``total`` as for :meth:`beam`.

        Stresses of solids are in axes that turn with the material.
        """
        groups = self.structure.groups
        return [group.stresses_of(self.state(group), stations, total=total) for group in groups]

    def table(self, most: int = 12) -> str:
        """The largest displacements and the reactions."""
        s = self.structure
        beside = self.load - sum(
            (factor * s.loads[case] for case, factor in self.factors.items()), np.zeros(len(self.u))
        )
        if self.acceleration is not None:
            beside = beside + s.M @ self.acceleration
        cases = [f"{factor:g} {case}" for case, factor in self.factors.items()]
        if not is_rounding(beside, self.load):
            cases.append("given forces")
        what = " + ".join(cases) or "prescribed displacements"
        lines = [f"Static solution of {s.name!r} under {what}; strain energy {self.strain_energy:.6g} J"]
        # rotations are compared with translations by the motion they cause at the far end of the structure
        reach = float(np.ptp(s.positions, axis=0).max()) or 1.0
        size = np.abs(self.u) * np.tile([reach if way[0] == "r" else 1.0 for way in s.directions], len(s.points))
        order = [int(i) for i in ties.largest_first(size)[:most] if size[i] > 0]
        reactions = list(self.reaction)[:most]
        moved = [(s.coordinates[i], f"{self.u[i]:.6e}", s.units[s.coordinates[i].rpartition(".")[2]]) for i in order]
        held = [
            (name, f"{self.reaction[name]:.6e}", "N m" if name.rpartition(".")[2][0] == "r" else "N")
            for name in reactions
        ]
        table = align_columns((), [*moved, *held], left=(0, -1), indent="    ").splitlines()
        lines += ["  largest displacements", *(table[: len(moved)] or ["    none"])]
        lines += ["  reactions of supports", *(table[len(moved) :] or ["    none"])]
        if len(self.reaction) > most:
            lines.append(f"    ... ({len(self.reaction)} in all)")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.table()


def solve_static(structure: Structure, load: Any = None, *, inertia_relief: bool = False) -> StaticSolution:
    """Static solution under a load and the prescribed displacements of the supports.

    Parameters
    ----------
    load : name of a load case; mapping of cases to factors (``{"gravity": 1.35, "wind": 1.5}``) and of coordinates to
        forces (``{"A.y": -100}``); or a vector (N,). None for the prescribed displacements alone.
    inertia_relief : let inertia balance the load where supports do not (a part that flies freely).

    Raises
    ------
    ModelError
        Where the structure can move freely, with the names of those motions.

    Examples
    --------
    >>> import numpy as np
    >>> spring = Structure("spring", ["A", "B"], [[0, 0, 0], [1, 0, 0]], ["x"],
    ...                    M=np.eye(2), K=[[8, -8], [-8, 8]], held=[True, False])
    >>> solution = solve_static(spring, {"B.x": 4.0})
    >>> solution.displacement["B.x"], solution.reaction["A.x"], solution.strain_energy
    (0.5, -4.0, 1.0)
    """
    needs_structure("solve_static", structure)
    f, factors = load_vector(structure, load)
    if not structure.free:
        return StaticSolution(structure, np.array(structure.prescribed), f, factors)
    right = structure.T.T @ (f - structure.K @ structure.prescribed)
    K, factor, motions = _factor_stiffness(structure)
    if motions.shape[1] and not inertia_relief:
        raise report_free_motions(structure, K, motions)
    if motions.shape[1]:
        x, free = _relieve_by_inertia(structure, K, right, motions)
        a = structure.expand(free)
        return StaticSolution(structure, structure.expand(x, prescribed=True), f - structure.M @ a, factors, a)
    x = factor.solve(right)
    x = x + factor.solve(right - K @ x)  # one refinement: slender meshes lose half the digits otherwise
    if _has_buckled(x, right):
        raise ModelError(
            "not-stable",
            f"structure {structure.name!r} is not stable: it has buckled under its prestress.",
            Advice("Its critical load: {}.", Call("da.structures.find_buckling")),
            where={"structure": structure.name},
        )
    return StaticSolution(structure, structure.expand(x, prescribed=True), f, factors)


def is_rounding(forces: FloatArray, load: FloatArray, share: float = 1e-9) -> bool:
    """Whether forces are zero beside the load: rounding leaves 3e-16 of the weight of a hanging chain of 39 bars."""
    return bool(np.abs(forces).max() <= share * np.abs(load).max())


def _has_buckled(x: FloatArray, right: FloatArray, negative: float = 1e-9) -> bool:
    """Whether a load does negative work, beyond rounding (1e-16) of the sum of its absolute terms."""
    return bool(x @ right < -negative * (np.abs(x) @ np.abs(right)))


def named_group(structure: Structure, name: str) -> ElementGroup:
    """The group of the element called ``name``; an error names the nearest known one."""
    for group in structure.groups:
        if name in group.names:
            return group
    known = [element for group in structure.groups for element in group.names]
    problem = unknown_name("beam, bar or other element", name, known, f"structure {structure.name!r}")
    raise DataError("unknown-name", problem, where={"element": name, "structure": structure.name})


def _factor_stiffness(structure: Structure) -> tuple[sp.csc_array, StiffnessFactor, FloatArray]:
    """Stiffness, its factors and the free motions; kept with a structure of moderate size for the next load."""
    statics = structure.__dict__.get("_statics")
    if statics is None:
        K = structure.reduce(structure.K)
        factor = StiffnessFactor(K)
        statics = (K, factor, free_motions(structure, K, factor))
        if len(structure.free) <= KEPT:
            structure.__dict__["_statics"] = statics
    return statics


def load_vector(structure: Structure, load: Any) -> tuple[FloatArray, dict[str, float]]:
    """(N,) and the factors of the load cases in it."""
    N = len(structure.coordinates)
    if load is None:
        if not structure.prescribed.any():
            known = ", ".join(structure.loads) or "(none)"
            problem = f"no load is given for structure {structure.name!r}; its load cases: {known}."
            raise DataError("missing-argument", problem, Advice("Give {}.", Argument("load")))
        return np.zeros(N), {}
    if isinstance(load, str):
        load = {load: 1.0}
    if not isinstance(load, Mapping):
        try:
            vector = np.array(load, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.zeros(0)
        if vector.shape != (N,) or not np.all(np.isfinite(vector)):
            raise DataError(
                "wrong-shape",
                f"a load on structure {structure.name!r} must be the name of a case, a mapping of cases and "
                f"coordinates to numbers, or {N} finite numbers, one per coordinate; got {reprlib.repr(load)}.",
            )
        return vector, {}
    total, factors = np.zeros(N), {}
    for name, value in load.items():
        if isinstance(value, (bool, str)) or not np.isscalar(value) or not np.isfinite(value):
            raise DataError("not-a-number", f"the factor or force of {name!r} must be a finite number, got {value!r}.")
        if name in structure.loads:
            factors[name] = float(value)  # type: ignore[arg-type]
            total += factors[name] * structure.loads[name]
        elif isinstance(name, str) and (name.rpartition(".")[2] in structure.directions or _on_point(structure, name)):
            total[structure.index(name)] += float(value)  # type: ignore[arg-type]
        else:
            raise DataError(
                "unknown-name", unknown_name("load case", name, structure.loads, f"structure {structure.name!r}")
            )
    lost = np.flatnonzero(structure.inactive & (total != 0))
    if len(lost):
        raise DataError(
            "ineffective-load",
            f"a load acts on {structure.coordinates[lost[0]]}, which no element holds: bars and released ends "
            "do not turn their points.",
        )
    return total, factors


def _on_point(structure: Structure, name: str) -> bool:
    """Whether a name starts like a coordinate of a known point."""
    return name.rpartition(".")[0] in structure._point_index


def _relieve_by_inertia(
    structure: Structure, K: sp.csc_array, right: FloatArray, motions: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Displacements and rigid accelerations x, a with ``K x = f − M V a'``, VᵀM x = 0."""
    M = structure.reduce(structure.M)
    momenta = M @ motions
    inertia = motions.T @ momenta
    if np.linalg.matrix_rank(inertia) < len(inertia):
        raise ModelError(
            "no-mass", f"structure {structure.name!r}: a free motion has no mass, so inertia cannot take up the load."
        )
    acceleration = motions @ np.linalg.solve(inertia, motions.T @ right)
    scale = float(abs(K).max()) / float(np.abs(momenta).max())  # keeps the bordered matrix well scaled
    border = sp.csc_array(momenta * scale)
    whole = sp.csc_array(sp.block_array([[K, border], [border.T, None]]))
    full = np.concatenate([right - M @ acceleration, np.zeros(motions.shape[1])])
    x = scipy.sparse.linalg.splu(whole).solve(full)[: len(right)]
    return x, acceleration
