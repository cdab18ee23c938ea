"""Flexible bodies of a model file: from a data file, or a beam described in place."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dalembert.core.findings import Advice
from dalembert.expressions import Quantity
from dalembert.files.bodies.bodies import read_body
from dalembert.files.bodies.format import BodyReading, suffixes
from dalembert.files.models.text import limits
from dalembert.files.models.values.includes import inside
from dalembert.files.models.values.scopes import Scope, Where
from dalembert.model.flexible import FlexibleBodyData, FlexiblePieces

RIGID = ("mass", "inertia", "center", "points", "picture")  # keys of a rigid body; data have these themselves
ENDS = ("start", "end")  # nodes that every beam has
SAME = 1e-9  # of the length: nodes nearer to each other are at one place


def refuse_keys(scope: Scope, table: Any, keys: tuple[str, ...], owner: str, where: Where) -> None:
    """Refuse keys that mean nothing in a table of this kind."""
    for key in keys:
        problem = f"{key} is for {owner}."
        scope.refuse_if(getattr(table, key) is not None, (*where, key), "ineffective-argument", problem)


def body_data(scope: Scope, name: str, table: Any, where: Where) -> FlexibleBodyData | FlexiblePieces:
    """Data of a flexible body, or of its pieces."""
    for key in RIGID:
        problem = f"{key} is for a rigid body; the data of a flexible one have it."
        scope.refuse_if(key in table.model_fields_set, (*where, key), "ineffective-argument", problem)
    both = table.flexible is not None and table.beam is not None
    scope.refuse_if(both, (*where, "beam"), "conflicting-arguments", "give either a data file or a beam.")
    if table.beam is not None:
        return _beam(scope, name, table.beam, (*where, "beam"))
    path = inside(scope, table.flexible, (*where, "flexible"), suffixes())
    if path not in scope.parts.data:
        shown = os.path.normpath(os.path.join(os.path.dirname(scope.source.path), table.flexible))
        scope.parts.data[path] = read_body(path, BodyReading(limits.BODY_BYTES), shown)
    return scope.parts.data[path]


def factors(scope: Scope, table: Any, where: Where) -> dict[str, Any]:
    """Factors of stiffness and damping; they may depend on parameters."""
    values = {key: scope.get(table, key, where) for key in ("stiffness", "damping")}
    return {key: value for key, value in values.items() if value is not None}


# -- beams ---------------------------------------------------------------------------------------------------------
def _beam(scope: Scope, name: str, table: Any, where: Where) -> FlexibleBodyData | FlexiblePieces:
    from dalembert.structures import Beam, End, flexible_body

    length = _number(scope, table, "length", where)
    scope.refuse_if(not length > 0.0, (*where, "length"), "not-positive", f"length must be positive, got {length:g}.")
    section, material = _section(scope, table, where), _material(scope, table, where)
    nodes = _nodes(scope, table, length, where)
    gauges = {key: _gauge(scope, gauge, (*where, "gauges", key)) for key, gauge in table.gauges.items()}
    how: dict[str, Any] = {"modes": table.modes, "stiffening": table.stiffening,
                           "damping": _number(scope, table, "damping", where, default=None)}  # fmt: skip
    loose = table.end_mass is not None and (table.ends is None or table.ends[1] != "free")
    problem = 'a mass at the end needs ends = [..., "free"].'
    scope.refuse_if(loose, (*where, "end_mass"), "ineffective-argument", problem)
    if table.pieces is not None:
        for key in ("ends", "damping"):
            problem = f"{key} does not go with pieces."
            scope.refuse_if(key in table.model_fields_set, (*where, key), "ineffective-argument", problem)
        modes = {"modes": table.modes} if "modes" in table.model_fields_set else {}
        how = {"stiffening": table.stiffening, **modes}
        return _frame(name, nodes, section, material, gauges, table.elements, scope.m.planar, how, table.pieces)
    if table.ends is not None:
        problem = "modes of given ends need no elements."
        scope.refuse_if("elements" in table.model_fields_set, (*where, "elements"), "ineffective-argument", problem)
        right = table.ends[1] if table.end_mass is None else End(mass=_number(scope, table, "end_mass", where))
        beam = Beam(length, section, material, left=table.ends[0], right=right)
        return flexible_body(beam, name=name, nodes=nodes, gauges=gauges or None, **how)
    return _frame(name, nodes, section, material, gauges, table.elements, scope.m.planar, how)


def _frame(
    name: str, nodes: dict[str, float], section: Any, material: Any, gauges: dict[str, Any], elements: int,
    planar: bool, how: dict[str, Any], pieces: int | None = None,
) -> FlexibleBodyData | FlexiblePieces:  # fmt: skip
    """Finite elements between the nodes; static shapes of both ends, and modes with these held; or pieces."""
    from dataclasses import replace

    from dalembert.structures import Frame, flexible_body, flexible_pieces

    ordered = sorted(nodes, key=lambda node: nodes[node])
    length = nodes["end"]
    frame = Frame(name, planar=planar)
    for node in ordered:
        frame.add_point(node, nodes[node], *(0.0,) * (1 if planar else 2))
    spans = [f"span{k + 1}" for k in range(len(ordered) - 1)]
    for span, a, b in zip(spans, ordered, ordered[1:]):
        count = max(1, round(elements * (nodes[b] - nodes[a]) / length))
        frame.add_beam(span, a, b, section=section, material=material, elements=count)
    placed = {}
    starts = np.array([nodes[node] for node in ordered[:-1]])
    for key, gauge in gauges.items():
        k = max(int(np.searchsorted(starts, gauge.x, side="right")) - 1, 0)
        placed[key] = replace(gauge, x=gauge.x - float(starts[k]), beam=spans[k])
    if pieces is not None:
        return flexible_pieces(frame, pieces=pieces, gauges=placed or None, **how)
    return flexible_body(
        frame, name=name, basis="craig-bampton", nodes=list(nodes), interfaces=ENDS, gauges=placed or None, **how
    )  # fmt: skip


def _number(scope: Scope, table: Any, key: str, where: Where, default: Any = 0.0) -> Any:
    """A number of a beam: its data are computed once, so that it cannot stay symbolic."""
    value = scope.get(table, key, where)
    if isinstance(value, Quantity):
        problem = f"{key} of a beam may not depend on a parameter: its modes are computed once."
        raise scope.refuse((*where, key), "not-supported", problem, Advice("Make the parameter a constant."))
    return default if value is None else float(value)


def _section(scope: Scope, table: Any, where: Where) -> Any:
    from dalembert.structures import Section

    sizes = [key for key in ("radius", "height", "width") if getattr(table, key) is not None]
    poisson = _number(scope, table, "poisson", where, default=0.3)
    if sizes == ["radius"]:
        return Section.circle(2 * _number(scope, table, "radius", where), poisson=poisson).without_shear()
    if sizes == ["height", "width"]:
        height, width = (_number(scope, table, key, where) for key in sizes)
        return Section.rectangle(height, width, poisson=poisson).without_shear()
    code = "conflicting-arguments" if len(sizes) > 1 else "missing-argument"
    problem = f"a beam has a radius, or height and width; got {' and '.join(sizes) or 'none'}."
    raise scope.refuse(where, code, problem)


def _material(scope: Scope, table: Any, where: Where) -> Any:
    from dalembert.structures import Material, material

    constants = [key for key in ("E", "density", "poisson") if getattr(table, key) is not None]
    if table.material is not None:
        for key in constants:
            problem = f"{key} is that of the material {table.material!r}."
            raise scope.refuse((*where, key), "conflicting-arguments", problem)
        return material(table.material)
    for key in ("E", "density"):
        problem = f"a beam has a material, or E and density; {key} is missing."
        scope.refuse_if(key not in constants, where, "missing-argument", problem)
    E, density = (_number(scope, table, key, where) for key in ("E", "density"))
    return Material("beam", E=E, density=density, poisson=_number(scope, table, "poisson", where, default=0.3))


def _nodes(scope: Scope, table: Any, length: float, where: Where) -> dict[str, float]:
    """Places of all nodes along the beam, its ends first."""
    places = {"start": 0.0, "end": length}
    for key, raw in table.nodes.items():
        here: Where = (*where, "nodes", key)
        place = scope.number(raw, "length", here)
        if isinstance(place, Quantity):
            problem = "a node of a beam may not depend on a parameter: its modes are computed once."
            raise scope.refuse(here, "not-supported", problem, Advice("Make the parameter a constant."))
        scope.refuse_if(key in places, here, "taken-name", f"every beam has a node {key!r}.")
        problem = f"node {key!r} is at {float(place):g} m, the beam reaches from 0 to {length:g} m."
        scope.refuse_if(not SAME * length < float(place) < (1 - SAME) * length, here, "off-mesh", problem)
        for name, x in places.items():
            problem = f"nodes {key!r} and {name!r} are at one place."
            scope.refuse_if(abs(x - float(place)) <= SAME * length, here, "duplicate", problem)
        places[key] = float(place)
    return places


def _gauge(scope: Scope, table: Any, where: Where) -> Any:
    from dalembert.structures import BeamGauge

    x, y, z = (_number(scope, table, key, where) for key in ("x", "y", "z"))
    return BeamGauge(x, y, z, quantity=table.quantity, about=table.about)
