"""Structures under internal forces: K + K_g, for vibration, statics and buckling under tension or compression.

    K_g = Σ Tₑᵀ K_g,ₑ(N, T, M_y, M_z) Tₑ        (element matrices: `geometric`)

A rigid arm or link d that carries the force F to where it acts adds its own, since that place moves by
θ×d + ½ θ×(θ×d):  U = ½ [(F·θ)(d·θ) - (F·d) θ²].

The internal forces come from the static solution of a load, K u = f (linear: of first order in the load), or are
given as a tension per beam. In a beam with a load along its axis the tension is linear or parabolic, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arguments import real_number
from dalembert.core.arrays import FloatArray, assign
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.structures.analysis.statics import is_rounding, load_vector, named_group, solve_static
from dalembert.structures.assembly.element_group import on_rotations
from dalembert.structures.assembly.stiffness_factor import StiffnessFactor
from dalembert.structures.assembly.structure import Structure, needs_structure
from dalembert.structures.beams.beam_elements import carry


def prestress(structure: Structure, load: Any = None, *, tension: Mapping[str, float] | None = None) -> Structure:
    """The structure with the geometric stiffness of a load, or of given tensions, added to its stiffness.

    Parameters
    ----------
    load : as for :func:`solve_static`: a case, a mapping or a vector (N,). Its internal forces are of linear statics.
    tension : tension [N] by name of a beam or bar, negative for compression; constant along it. Adds to the load's.

    Returns
    -------
    Structure with the same coordinates, masses and supports; K is that of small motions about the stressed state.
    Its static solutions are changes by a further load: displacements, reactions, and internal forces in equilibrium on
    the deformed beams; ``solution.beam(name, total=True)`` gives them with the prestress.

    Examples
    --------
    >>> from dalembert.structures import Frame, Section, assemble_structure
    >>> f = Frame("string", planar=True)
    >>> f.add_points(["A", "B"], [[0, 0], [1, 0]])
    >>> f.add_beam("wire", "A", "B", section=Section.circle(1e-3), material="steel", elements=12)
    >>> f.add_support(["A", "B"], "pinned")
    >>> free, tight = assemble_structure(f), prestress(assemble_structure(f), tension={"wire": 100.0})
    >>> [round(float(s.modes(1).frequencies_hz[0]), 2) for s in (free, tight)]
    [2.03, 63.71]
    """
    needs_structure("prestress", structure)
    if load is None and tension is None:
        advice = Advice("Give {}.", Argument("load"), Argument("tension"))
        raise DataError("missing-argument", "no load and no tension is given to stress the structure with.", advice)
    K_g, states = sp.csc_array(structure.K.shape), list(structure.initial or [None] * len(structure.groups))
    if load is not None:
        solution = solve(structure, load)
        K_g = K_g + stiffness_under(structure, solution)
        for k, group in enumerate(structure.groups):
            states[k] = group.add_states(states[k], element_state(structure, k, solution))
    if tension is not None:
        for k, pull in _tensions(structure, tension).items():
            state = structure.groups[k].tension_state(pull)
            K_g = K_g + structure.groups[k].geometric_stiffness(state)
            states[k] = structure.groups[k].add_states(states[k], state)
    return with_stiffness(structure, structure.K + K_g, "K + geometric stiffness", tuple(states))


def geometric_stiffness(structure: Structure, load: Any) -> sp.csc_array:
    """(N, N) geometric stiffness of the internal forces of a load, on all coordinates."""
    needs_structure("geometric_stiffness", structure)
    return stiffness_under(structure, solve(structure, load))


@dataclass(frozen=True)
class Solved:
    """Displacements u (N,) under the load f (N,), the factors of the load cases in it, and the factors of K used."""

    u: FloatArray
    f: FloatArray
    factors: Mapping[str, float]
    factor: StiffnessFactor


def solve(structure: Structure, load: Any, *, hanging: bool = True) -> Solved:
    """Linear statics with the factors of K kept; a structure that is not held raises the error of :func:`solve_static`.

    ``hanging`` lets a structure pass whose free motions the load does not move (a chain under its weight).
    """
    f, cases = load_vector(structure, load)
    K = structure.reduce(structure.K)
    factor = StiffnessFactor(K)
    if not structure.free or factor.free_motions().shape[1] or not factor.exists:
        return Solved(_solve_hanging(structure, load) if hanging else solve_static(structure, load).u, f, cases, factor)
    right = structure.T.T @ (f - structure.K @ structure.prescribed)
    x = factor.solve(right)
    x = x + factor.solve(right - K @ x)
    return Solved(structure.expand(x, prescribed=True), f, cases, factor)


def _solve_hanging(structure: Structure, load: Any) -> FloatArray:
    """(N,) displacements of a structure with free motions, if the load is in balance without them."""
    try:
        solution = solve_static(structure, load, inertia_relief=True)
    except ModelError:  # a free motion without mass
        return solve_static(structure, load).u
    f = load_vector(structure, load)[0]
    if solution.acceleration is not None and not is_rounding(solution.load - f, f):
        return solve_static(structure, load).u  # refuses, with the names of the motions
    return solution.u


def stiffness_under(structure: Structure, solution: Solved) -> sp.csc_array:
    """(N, N) geometric stiffness of a static state."""
    refuse_bare(structure)
    total = link_stiffness(structure, solution.u, solution.f)
    for k, group in enumerate(structure.groups):
        total = total + group.geometric_stiffness(element_state(structure, k, solution))
    return sp.csc_array(total)


def element_state(structure: Structure, number: int, solution: Solved) -> Any:
    """Internal forces of the elements of group ``number`` in a static state."""
    before = structure.initial[number] if structure.initial else None
    return structure.groups[number].state(solution.u, solution.factors, before=before)


def link_stiffness(structure: Structure, u: FloatArray, load: FloatArray) -> sp.csc_array:
    """(N, N) geometric stiffness of the rigid links of a structure, from the forces K u - f they carry."""
    if not structure.has_links:
        return sp.csc_array(structure.K.shape)
    d = len(structure.directions)
    keep = structure.keep
    owner = np.concatenate(
        [structure.free_index, np.flatnonzero(structure.held)]
    )  # coordinates of the columns of T, T_held
    links = sp.csr_array(sp.hstack([structure.T, structure.T_held])).tocoo()
    row, column = links.coords[0], owner[links.coords[1]]
    # the link that moves x of a slave with x of its master, if they are different points
    joins = (row % d == column % d) & (row // d != column // d) & np.isin(row % d, [k for k in range(d) if keep[k] < 3])
    slave, master, way = row[joins] // d, column[joins] // d, np.array(keep)[row[joins] % d]
    force = np.zeros((len(slave), 3))
    force[np.arange(len(slave)), way] = (structure.K @ u - load)[row[joins]]
    arm = structure.positions[slave] - structure.positions[master]
    return on_rotations(len(structure.points), keep, master, carry(force, arm))


def with_stiffness(
    structure: Structure, K: sp.csc_array, note: str, states: tuple[Any, ...] | None = None
) -> Structure:
    """Copy of a structure with another stiffness on all its coordinates, and other initial forces in its groups."""
    fields = {name: value for name, value in structure.__dict__.items() if not name.startswith("_")}
    fields["K"] = sp.csc_array(0.5 * (K + K.T))
    fields["provenance"] = {**structure.provenance, "stiffness": note}
    if states is not None:
        fields["initial"] = states
    copy = object.__new__(type(structure))
    assign(copy, **fields)
    return copy


def refuse_bare(structure: Structure) -> None:
    """Refuse a structure of matrices alone: its internal forces are not known."""
    if not structure.groups and not structure.has_links:
        problem = f"structure {structure.name!r} has no beams, bars or solids whose internal forces are known."
        raise DataError("not-supported", problem, where={"structure": structure.name})


def _tensions(structure: Structure, tension: Any) -> dict[int, dict[str, float]]:
    """Tensions [N] by name, apart for every group of elements by its number."""
    if not isinstance(tension, Mapping):
        problem = f"the tensions must be a mapping of elements to newtons, got {tension!r}."
        raise DataError("wrong-type", problem, Advice("Give {}.", Argument("tension", {"guy": 2e4})))
    tensions: dict[int, dict[str, float]] = {}
    for name, value in tension.items():
        group = named_group(structure, name)
        k = [one is group for one in structure.groups].index(True)
        tensions.setdefault(k, {})[name] = real_number(f"the tension of {name!r} [N]", value)
    return tensions
