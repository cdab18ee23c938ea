"""Data of a flexible body from a finite-element model, a continuous beam or matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.model.flexible import FiniteElementValues, FlexibleBodyData, FlexibleNode
from dalembert.structures.assembly.damping import damping_of
from dalembert.structures.assembly.structure import DIRECTIONS
from dalembert.structures.beams.beam_elements import BeamElements
from dalembert.structures.continuous.beams import Beam
from dalembert.structures.flexible_body import basis as bases
from dalembert.structures.flexible_body.basis import Diagonal, ElasticModel, Statics
from dalembert.structures.flexible_body.continuous_beam import beam_data
from dalembert.structures.flexible_body.gauges import BeamGauge, SurfaceGauge, find_gauges
from dalembert.structures.flexible_body.inertia_integrals import clean, clean_integrals, clean_pairs, integrate
from dalembert.structures.flexible_body.mass_distribution import MassDistribution, distribute
from dalembert.structures.flexible_body.nodes import Node, find_nodes
from dalembert.structures.flexible_body.picture import draw_body
from dalembert.structures.flexible_body.sources import read_source
from dalembert.structures.flexible_body.stiffening import find_stiffening, inertia_loads, is_cheap, wanted_kinds
from dalembert.structures.reduction.kept_modes import ModesKept

BASES = ("craig-bampton", "clamped", "free")
ROUTES = ("consistent", "lumped")
# Largest difference of a modal mass from the unit matrix that counts as rounding.
UNIT = 1e-9
UNMOVED = 1e-12  # motion of a node, relative to the largest of its mode, that is rounding
# Most frequencies that are compared with those of the model, and most free coordinates of a model where they are: both
# limit the time of a comparison, which a body does not need.
COMPARED, SMALL = 6, 3000


def flexible_body(
    source: Any,
    *,
    name: str | None = None,
    basis: str | None = None,
    modes: Any = 10,
    up_to: float | None = None,
    nodes: Any = None,
    interfaces: Sequence[str] | None = None,
    fixed: str | Sequence[str] = (),
    static: str | Sequence[str] = (),
    reference: str | None = None,
    mass: str = "consistent",
    damping: Any = None,
    stiffening: bool | str | Sequence[str] | None = None,
    gauges: Mapping[str, BeamGauge | SurfaceGauge] | None = None,
    keep_shapes: bool = False,
    positions: Any = None,
    of: Any = None,
) -> FlexibleBodyData:
    """A flexible body for `add_flexible_body`: modes, inertia invariants, stiffness, damping and nodes.

    Parameters
    ----------
    source : `Frame`, `Solid`, `Structure`, `Beam`, `Reduction` (with ``of`` or ``positions``), or matrices ``(M, K)``
        of points with 3 or 6 coordinates (with ``positions``). Places and axes are those of the source.
    basis : "craig-bampton" (static shapes of the interface nodes, and vibration modes with them held), "clamped"
        (vibration modes with ``fixed`` nodes held) or "free" (of the free body). When left out: "clamped" where the
        source has supports or ``fixed`` is given, else "craig-bampton".
    modes : number of vibration modes, or their numbers from 1; or shapes (N, k) of your own.
    up_to : instead of ``modes``, all modes up to this frequency [rad/s].
    nodes : where other parts are attached: names of points; or a mapping of names to points, to places (x, y, z), or
        to sets of points (names, or a condition such as "x=0" of a solid), which count by their mean motion. When left
        out, the interfaces of a solid or the points of a frame.
    interfaces : nodes with static shapes; all that are points when left out (a mean of points has none: use
        ``static``).
    fixed : nodes that vibration modes do not move (with "clamped").
    static : nodes, or coordinates such as "tip.y", whose unit loads add a static shape each; "acceleration" and
        "centrifugal" for shapes under the inertia of the body (along and about its axes, and by its rotation), which
        strains and stresses far from loaded nodes need.
    reference : "mean axis", or the node that the frame is attached to. When left out: the first fixed node; "mean axis"
        for free modes and for Craig-Bampton modes of two interfaces and more, where a load bends the body away from
        the tangent at one end; the only interface; your own shapes stay unchanged.
    mass : "consistent" (integrated over the elements) or "lumped" (at the points).
    damping : `Rayleigh`, `ModalDamping`, a damping ratio for all modes or one each; that of the source when left out.
    stiffening : geometric stiffness under unit loads: True, False, or some of "centrifugal" (of the body's own rotation
        about the origin of its frame), "acceleration" (of the frame, and gravity) and "forces" (and moments at nodes).
        When left out: True where it costs little, for beams and frames of beams with at most 16 modes and 8 nodes
        (but not for modes of a free body, whose angular momentum is exact without it), else False.
    gauges : by name, `BeamGauge` or `SurfaceGauge`: strains and curvatures that sensors can read.
    keep_shapes : keep the modes of all coordinates of the model, for :func:`recover_deformation`.
    positions : of the points of matrices or of a reduction, (n, 3), or a mapping of names to (x, y, z) [m].
    of : the frame, solid or structure that was reduced.

    Returns
    -------
    FlexibleBodyData. Modes have unit mass and a diagonal stiffness (but for shapes of your own, which are kept).

    Examples
    --------
    >>> from dalembert.structures import Frame, Section, flexible_body
    >>> f = Frame("link")
    >>> f.add_points(["root", "tip"], [[0, 0, 0], [0.5, 0, 0]])
    >>> f.add_beam("link", "root", "tip", section=Section.rectangle(0.004, 0.03), material="steel", elements=10)
    >>> link = flexible_body(f, basis="clamped", fixed="root", modes=3)
    >>> link.frequencies_hz.round(2).tolist()
    [13.37, 83.75, 99.98]
    """
    if isinstance(source, Beam):
        _refuse_with_beam(basis=basis, up_to=up_to, interfaces=interfaces, fixed=fixed, static=static,
                          reference=reference, positions=positions, of=of)  # fmt: skip
        return beam_data(source, name or "beam", modes, nodes, damping, stiffening, gauges)
    structure, shapes = read_source(source, name, positions, of)
    title = name or structure.name or "body"
    if mass not in ROUTES:
        raise ModelError(
            "unknown-choice", f"flexible body {title!r}: mass is one of {', '.join(ROUTES)}, got {mass!r}."
        )
    distribution = distribute(structure, lumped=mass == "lumped")
    body = bases.make_body(structure, distribution.M)
    found = find_nodes(structure, nodes)
    own = shapes if shapes is not None else _own_shapes(body, modes)
    if shapes is not None and reference is None and not body.held:
        # a reduction has the rigid motions of its structure
        reference = "mean axis" if len(found) > 1 and bases.has_mean_axis(body) else found[0].name
    plan = _plan(title, body, found, basis, fixed, reference, own, interfaces)
    statics: Statics | None = None
    if own is not None:
        raw, vibrations = own, 0
    else:
        _check_modes(title, body, modes)
        raw, statics, vibrations = _raw_shapes(body, found, plan, modes, up_to, interfaces)
    expected = _expected_modes(plan, None if up_to is not None else modes, vibrations, bool(static))
    if static:
        names = take_names("node", static)
        inertia = [name for name in names if name in ("acceleration", "centrifugal")]
        if len(inertia) < len(names):
            forces = _unit_loads(title, found, [name for name in names if name not in inertia])
            raw = np.hstack([raw, _static_shapes(body, plan, forces, statics)])
        if inertia:
            raw = np.hstack([raw, _static_shapes(body, plan, inertia_loads(body, inertia), statics, inertia=True)])
    raw = _tie_frame(body, plan, raw)
    keep = own is not None and shapes is None
    made = Diagonal(raw, np.zeros(0)) if keep else bases.diagonalise(body, raw)
    if stiffening is None:
        beams = all(isinstance(group, BeamElements) for group in structure.groups) and bool(structure.groups)
        usual = own is None and plan.basis != "free" and plan.reference != "given"
        stiffening = beams and usual and is_cheap(made.shapes.shape[1], len(found))
    kinds = wanted_kinds(title, stiffening)
    known = _frequencies(body, plan, expected)
    if keep:
        known = (None, False) if len(body.structure.free) > SMALL else bases.lowest_of_shapes(body, raw)
    return _assemble(
        title, body, distribution, found, made, plan, damping, kinds, gauges, keep, keep_shapes, statics, known
    )


class _Plan:
    """Plan of the modes: the basis, the points held in vibration modes, and the node of the frame (or mean axis)."""

    def __init__(self, basis: str, held: tuple[str, ...], attached: Node | None, reference: str) -> None:
        self.basis, self.held, self.attached, self.reference = basis, held, attached, reference


def _plan(
    title: str, body: ElasticModel, nodes: Sequence[Node], basis: str | None, fixed: str | Sequence[str],
    reference: str | None, own: FloatArray | None, interfaces: Sequence[str] | None,
) -> _Plan:  # fmt: skip
    by_name = {node.name: node for node in nodes}
    held = [_find_node(title, by_name, name) for name in take_names("node", fixed)]
    loose = [node.name for node in held if node.point is None]
    if loose:
        raise ModelError(
            "not-supported",
            f"flexible body {title!r}: node {loose[0]!r} is a mean of points and cannot be held.",
            Advice("Make it an interface with {}.", Call("solid.add_interface")),
            where={"body": title, "node": loose[0]},
        )
    kind = basis or ("clamped" if held or body.held else "craig-bampton")
    if kind not in BASES:
        raise ModelError("unknown-choice", f"flexible body {title!r}: {unknown_name('basis', kind, BASES)}")
    if kind == "free" and (held or body.held):
        problem = f"flexible body {title!r}: a free body has no supports and no fixed nodes."
        raise ModelError("conflicting-arguments", problem, Advice("Use {}.", Argument("basis", "clamped")))
    if kind == "clamped" and not (held or body.held or own is not None):
        advice = Advice("Name the nodes that modes do not move with {}.", Argument("fixed"))
        raise ModelError("missing-argument", f"flexible body {title!r}: clamped modes need a fixed node.", advice)
    points = tuple(node.point for node in held if node.point is not None)
    if reference == "mean axis" or (reference is None and kind == "free" and own is None):
        if held or body.held:
            problem = f"flexible body {title!r}: held modes have momentum; a mean axis needs a body without supports."
            raise ModelError("conflicting-arguments", problem, Advice("Leave out {}.", Argument("reference")))
        return _Plan(kind, points, None, "mean axis")
    if reference is not None:
        return _Plan(kind, points, _find_node(title, by_name, reference), "attached")
    if own is not None:
        still = [node for node in nodes if not clean(node.rows @ own, 1e3 * np.abs(own).max(initial=0.0)).any()]
        return _Plan(kind, points, still[0] if still else None, "attached" if still else "given")
    if held:
        return _Plan(kind, points, held[0], "attached")
    if body.held:
        still = [node for node in nodes if _is_held(body, node)]
        return _Plan(kind, points, still[0] if still else None, "attached" if still else "given")
    joined = [node for node in nodes if node.point is not None and (interfaces is None or node.name in interfaces)]
    if len(joined) > 1 and bases.has_mean_axis(body):
        return _Plan(kind, points, None, "mean axis")
    return _Plan(kind, points, nodes[0], "attached")


def _find_node(title: str, nodes: Mapping[str, Node], name: str) -> Node:
    where = {"body": title, "node": name}
    require_name("node", name, nodes, f"flexible body {title!r}", error=ModelError, where=where)
    return nodes[name]


def _holds(body: ElasticModel, node: Node) -> bool:
    """Whether a body is held by the coordinates of one node: a point with rotations."""
    return node.point is not None and len(bases.free_places(body.structure, [node.point])) == body.R.shape[1]


def _is_held(body: ElasticModel, node: Node) -> bool:
    """Whether supports hold all six motions of a node."""
    if node.point is None:
        return False
    d = len(body.structure.directions)
    first = body.structure.point(node.point) * d
    return bool(body.structure.held[first : first + d].all())


def _raw_shapes(
    body: ElasticModel, nodes: Sequence[Node], plan: _Plan, modes: ModesKept, up_to: float | None,
    interfaces: Sequence[str] | None,
) -> tuple[FloatArray, Statics | None, int]:  # fmt: skip
    """Shapes (N, k), factors for static shapes, and the number of vibration modes among the shapes."""
    structure = body.structure
    held = bases.free_places(structure, plan.held)
    if plan.basis == "free":
        shapes = bases.free_modes(body, modes, up_to)
        return shapes, None, shapes.shape[1]
    if plan.basis == "clamped":
        shapes, clamped = bases.clamped_modes(body, held, modes, up_to)
        return shapes, clamped, shapes.shape[1]
    by_name = {node.name: node for node in nodes}
    chosen = nodes if interfaces is None else [_find_node(structure.name, by_name, name) for name in interfaces]
    twice = [name for k, name in enumerate(interfaces or ()) if name in list(interfaces or ())[:k]]
    if twice:
        problem = f"flexible body {structure.name!r}: interface {twice[0]!r} is given twice."
        raise ModelError("duplicate", problem, where={"body": structure.name, "node": twice[0]})
    points = [node.point for node in chosen if node.point is not None and node.point not in plan.held]
    if plan.attached is not None and plan.attached.point in points and _holds(body, plan.attached):
        points.remove(plan.attached.point)  # its static shapes would move the frame
        held = bases.free_places(structure, [*plan.held, plan.attached.point])
    masters = bases.free_places(structure, points)
    shapes, statics = bases.fixed_interface_modes(body, held, masters, modes, up_to)
    return shapes, statics, shapes.shape[1] - len(masters)


def _expected_modes(plan: _Plan, modes: Any, vibrations: int, static: bool) -> list[int]:
    """Numbers from 1 of the modes of the model whose frequencies the body must have.

    Vibration modes of the model that are kept have their exact frequency (Rayleigh and Ritz), those of static shapes
    and of the highest interface shapes are above any of the model.
    """
    numbers = sorted(int(number) for number in modes) if np.ndim(modes) == 1 else list(range(1, vibrations + 1))
    if static or plan.basis == "craig-bampton":  # other shapes may come between the modes that were left out
        numbers = [number for place, number in enumerate(numbers, 1) if number == place]
    return (numbers or [1] * (plan.basis == "craig-bampton"))[:COMPARED]


def _tie_frame(body: ElasticModel, plan: _Plan, shapes: FloatArray) -> FloatArray:
    if plan.reference == "mean axis":
        return bases.remove_momentum(body, shapes)
    if plan.attached is not None:
        return bases.attach_frame(body, shapes, plan.attached.rows)
    return shapes


def _own_shapes(body: ElasticModel, modes: Any) -> FloatArray | None:
    """Shapes (N, k) or on the free coordinates (n, k), given instead of a number of modes."""
    if modes is None or np.ndim(modes) < 2:
        return None
    structure, shapes = body.structure, np.array(modes, dtype=np.float64)
    name = structure.name
    if shapes.shape[0] not in (len(structure.coordinates), len(structure.free)) or shapes.ndim != 2:
        raise ModelError(
            "wrong-shape",
            f"flexible body {name!r}: modes have shape {shapes.shape}, expected {len(structure.coordinates)} rows, one "
            "per coordinate.",
            where={"body": name},
        )
    if not np.isfinite(shapes).all():
        bad = int(np.flatnonzero(~np.isfinite(shapes).all(axis=0))[0]) + 1
        problem = f"flexible body {name!r}: mode {bad} is not finite."
        raise ModelError("not-finite", problem, where={"body": name, "mode": bad})
    if shapes.shape[1] > len(structure.free):
        _raise_too_many(name, shapes.shape[1], len(structure.free))
    full = shapes if len(shapes) == len(structure.coordinates) else structure.expand(shapes)
    bases.diagonalise(body, full, keep_all=True)
    return full


def _check_modes(title: str, body: ElasticModel, modes: Any) -> None:
    """Refuse values that are neither a number of modes nor mode numbers, and more modes than coordinates."""
    numbers = [modes] if np.ndim(modes) == 0 else list(modes)
    if not all(
        isinstance(number, int | np.integer) and not isinstance(number, bool) and number >= 0 for number in numbers
    ):
        raise ModelError(
            "not-a-count",
            f"flexible body {title!r}: modes are their number, mode numbers from 1, or shapes (N, k), got {modes!r}.",
            where={"body": title},
        )
    if numbers and max(numbers) > len(body.structure.free):
        _raise_too_many(title, int(max(numbers)), len(body.structure.free))


def _raise_too_many(title: str, modes: int, coordinates: int) -> None:
    raise ModelError(
        "too-many-modes",
        f"flexible body {title!r}: {modes} modes are more than it can have: there are {coordinates} free coordinates.",
        Advice("Take fewer modes, or refine the mesh."),
        where={"body": title},
        evidence={"modes": modes, "coordinates": coordinates},
    )


def _static_shapes(
    body: ElasticModel, plan: _Plan, forces: FloatArray, statics: Statics | None, inertia: bool = False
) -> FloatArray:
    """Shapes under loads: with the held points held, with the node of the frame held, or balanced by inertia.

    inertia : the loads are inertia themselves; interfaces balance them where the modes have their static shapes.
    """
    points = list(plan.held)
    if not (body.held or points) and plan.attached is not None and _holds(body, plan.attached):
        points = [str(plan.attached.point)]
    held = bases.free_places(body.structure, points)
    if body.held or points:
        if statics is None or not np.array_equal(np.sort(held), statics.held):
            statics = bases.hold_statics(body, held)
        return bases.static_shapes(body, statics, forces, relief=False)
    known = statics or bases.hold_statics(body, bases.determinate_hold(body))
    return bases.static_shapes(body, known, forces, relief=not (inertia and statics is not None))


def _unit_loads(title: str, nodes: Sequence[Node], static: Sequence[str]) -> FloatArray:
    """(N, k) unit loads at nodes (all six) or along coordinates ("tip.y")."""
    by_name = {node.name: node for node in nodes}
    columns = []
    for name in static:
        stem, dot, way = name.rpartition(".")
        whole = name in by_name or not dot or way not in DIRECTIONS
        node = _find_node(title, by_name, name if whole else stem)
        rows = node.rows.toarray()
        columns += [row for row in rows if row.any()] if whole else [rows[DIRECTIONS.index(way)]]
    return np.column_stack(columns)


def _assemble(
    title: str, body: ElasticModel, distribution: MassDistribution, nodes: Sequence[Node], made: Diagonal, plan: _Plan,
    damping: Any, kinds: Sequence[str], gauges: Any, own: bool, keep_shapes: bool,
    statics: Statics | None, known: tuple[FloatArray | None, bool],
) -> FlexibleBodyData:  # fmt: skip
    shapes = made.shapes
    if not shapes.shape[1]:
        raise ModelError(
            "no-modes",
            f"flexible body {title!r} has no modes.",
            Advice("Request some with {}.", Argument("modes")),
            Advice("A rigid body is made by {}.", Call("m.add_body")),
            where={"body": title},
        )
    bases.refuse_rigid(body, shapes)
    integrals = clean_integrals(integrate(distribution, shapes))
    stiffness = clean_pairs(bases.project(body, shapes)[1]) if own else np.diag(made.squares)
    unit = np.eye(shapes.shape[1])
    if not own and np.abs(integrals.modal_mass - unit).max() < UNIT:
        integrals = replace(integrals, modal_mass=unit)
    frequencies, free = known
    values = FiniteElementValues(
        mass=body.structure.mass(), center=body.structure.centre(), inertia=_rigid_inertia(body),
        rigid_modes=body.R.shape[1], coordinates=len(body.structure.free), source=body.structure.name,
        frequencies_hz=frequencies, free=free, shapes=shapes if keep_shapes else None,
        wave_speed=bases.wave_speed(body),
    )  # fmt: skip
    given = damping if damping is not None else body.structure.damping
    damped = damping_of(title, given, integrals.modal_mass, stiffness) + shapes.T @ (body.structure.C @ shapes)
    return FlexibleBodyData(
        name=title, **vars(integrals), stiffness=stiffness, damping=clean_pairs(damped),
        nodes=tuple(make_flexible_node(node, shapes) for node in nodes), reference=plan.reference,
        finite_elements=values, gauges=find_gauges(body.structure, gauges, shapes),
        picture=draw_body(body.structure, distribution, shapes),
        stiffening=find_stiffening(body, nodes, plan.attached, shapes, kinds, statics) if kinds else None,
    )  # fmt: skip


def make_flexible_node(node: Node, shapes: FloatArray) -> FlexibleNode:
    """The slices of modes (N, m) at a node."""
    both = np.asarray(node.rows @ shapes)
    size = np.abs(shapes).max(axis=0)
    both[np.abs(both) <= UNMOVED * size] = 0.0
    return FlexibleNode(name=node.name, place=node.place, translation=both[:3], rotation=both[3:])


def _frequencies(body: ElasticModel, plan: _Plan, numbers: Sequence[int]) -> tuple[FloatArray | None, bool]:
    """Frequencies of modes of the model by number, with the supports of the modes [Hz], and whether there are none."""
    free = plan.reference == "mean axis" or plan.basis == "free"
    held = free or body.held or plan.held or plan.attached
    if len(body.structure.free) > SMALL or not numbers or not held:
        return None, False
    if free:
        try:
            shapes = bases.free_modes(body, list(numbers), None)
        except ModelError:  # rounding of very unequal stiffness hides rigid modes: such a body is not compared
            return None, False
    else:
        points = list(plan.held)
        if plan.attached is not None and plan.attached.point not in points and not _is_held(body, plan.attached):
            if plan.basis == "clamped" or plan.attached.point is None or not _holds(body, plan.attached):
                return None, False  # the frame is at a node that the modes of the model move
            points.append(plan.attached.point)
        shapes, _ = bases.clamped_modes(body, bases.free_places(body.structure, points), list(numbers), None)
    M, K = bases.project(body, shapes)
    return np.asarray(np.sqrt(np.maximum(np.diagonal(K) / np.diagonal(M), 0.0)) / (2 * np.pi)), free


def _rigid_inertia(body: ElasticModel) -> FloatArray:
    """(3, 3) about the origin, from RᵀMR; entries that a planar structure does not contain are NaN."""
    matrix, names = body.structure.inertia(), body.structure.rigid_names
    inertia = np.full((3, 3), np.nan)
    at = [(names.index(f"r{way}"), k) for k, way in enumerate("xyz") if f"r{way}" in names]
    for i, a in at:
        for j, b in at:
            inertia[a, b] = matrix[i, j]
    return inertia


def _refuse_with_beam(**given: Any) -> None:
    for key, value in given.items():
        if value is not None and value != ():
            raise ModelError(
                "ineffective-argument",
                f"a continuous beam has the modes of its ends; {key} needs finite elements.",
                Advice("Make a {}.", Call("da.structures.Frame")),
            )
