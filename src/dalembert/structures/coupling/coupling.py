"""Superelement assembly: parts, full or reduced, joined at their boundary coordinates.

    x_p = S_p x          S_p picks the coordinates of part p from those of the whole
    X = Σ S_pᵀ X_p S_p   X = M, C, G, K, H, K_loss;   B = [S_pᵀ B_p],   Y = [Y_p S_p]

Boundary coordinates are shared and added up; modal coordinates are private and named ``part.mode1``. A mass on a
shared point belongs to one of the parts: count it once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

from dalembert.core.arrays import frozen
from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.text import list_names
from dalembert.linear import storage
from dalembert.linear.channels import places
from dalembert.linear.modes import Modes
from dalembert.linear.second_order import SecondOrder
from dalembert.record import Record
from dalembert.structures.coupling.boundary_coordinates import BoundaryCoordinates
from dalembert.structures.reduction import reduction
from dalembert.structures.reduction.master_coordinates import Indices
from dalembert.structures.reduction.reduction import READ, SQUARE, Reduction

Springs = Mapping[tuple[str, str | None], float]


@frozen
class Coupled:
    """Joined parts as one system, with the way back to each of them.

    Parameters
    ----------
    system : SecondOrder of the whole
    parts : the joined systems by name
    maps : for every part the place in ``system.coordinates`` of each of its coordinates
    joined : names of the coordinates in which parts meet
    input_names : for every part, its inputs by their names in the whole
    """

    system: SecondOrder
    parts: Mapping[str, SecondOrder | Reduction | Coupled]
    maps: Mapping[str, Indices]
    joined: tuple[str, ...]
    input_names: Mapping[str, Mapping[str, str]]

    @property
    def modal(self) -> tuple[str, ...]:
        """Names of the private modal coordinates."""
        found = []
        for name, part in self.parts.items():
            private, own = set(modal_names_of(part)), system_of(part).coordinates
            found += [self.system.coordinates[k] for k, local in zip(self.maps[name], own) if local in private]
        return tuple(found)

    def part(self, name: str, x: Any, *, inputs: Mapping[str, float] | None = None, full: bool = True) -> Any:
        """Motion of one part from the motion of the whole.

        Parameters
        ----------
        name : of the part
        x : (n,) or (n, k), Modes or Record of the joined system
        inputs : values of inputs of the whole, optional: their static part, see :meth:`Reduction.expand`
        full : expand a reduced part to all its coordinates

        Returns
        -------
        as ``x``, on the coordinates of the part
        """
        if name not in self.parts:
            raise DataError("unknown-name", unknown_name("part", name, self.parts, "this coupled system"))
        part, places = self.parts[name], self.maps[name]
        own = system_of(part)
        local: Any
        if isinstance(x, Modes):
            if x.coordinates != self.system.coordinates:
                raise DataError("wrong-owner", "these modes are not on the coordinates of the coupled system.")
            local = Modes(x.eigenvalues, x.shapes[places], own.coordinates, provenance=x.provenance)
        elif isinstance(x, Record):
            local = self._record(name, x)
        else:
            values = np.asarray(x)
            if values.ndim not in (1, 2) or len(values) != self.system.nq:
                raise DataError(
                    "wrong-shape", f"x has shape {values.shape}; expected ({self.system.nq},) or ({self.system.nq}, k)."
                )
            local = values[places]
        if not (full and isinstance(part, Reduction)):
            return local
        sent = None
        if inputs is not None:
            there = self.input_names[name]
            sent = {own_name: inputs[whole] for own_name, whole in there.items() if whole in inputs}
        return part.expand(local, inputs=sent)

    def _record(self, name: str, record: Record) -> Record:
        own = system_of(self.parts[name])
        names = {local: self.system.coordinates[k] for local, k in zip(own.coordinates, self.maps[name])}
        sent = {local: whole for local, whole in self.input_names[name].items() if whole in record.names}
        names.update({local: whole for local, whole in sent.items() if local not in names})
        data = record.data[:, places("channel", [*names.values()], record.names, "this record")]
        units = {local: record.units[whole] for local, whole in names.items()}
        return Record(record.time, data, tuple(names), units, name=record.name, status=record.status,
                      provenance=record.provenance)  # fmt: skip

    def expand(self, x: Any, *, inputs: Mapping[str, float] | None = None) -> dict[str, Any]:
        """Motion of every part, by name; reduced ones on all their coordinates."""
        return {name: self.part(name, x, inputs=inputs) for name in self.parts}

    def table(self) -> str:
        """Parts, sizes and the coordinates where they meet."""
        lines = [f"{len(self.parts)} parts, {self.system.nq} coordinates, {len(self.joined)} shared"]
        for name, part in self.parts.items():
            what = part.table().splitlines()[0] if isinstance(part, Reduction) else f"{system_of(part).nq} coordinates"
            lines.append(f"  {name}: {what}")
        lines.append(f"  shared  {list_names(self.joined, self.system.units) or 'none'}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Coupled system of {self.table()}"


def couple(
    parts: Mapping[str, SecondOrder | Reduction | Coupled],
    shared: str | Iterable[str] | None = None,
    *,
    join: Mapping[str, str] | None = None,
    springs: Springs | None = None,
    dampers: Springs | None = None,
) -> Coupled:
    """Join parts at their boundary coordinates.

    Parameters
    ----------
    parts : mapping of names to full or reduced systems
    shared : coordinates or points that parts have in common, optional
        All equal names but modal ones when left out; a point that two parts have must then have the same
        coordinates in both. ``()`` shares nothing by name. An equal name that is not shared gets its part in
        front: ``"left.A.x"``.
    join : mapping such as ``{"left.A": "right.B"}`` or ``{"left.A.x": "right.B.x"}``, optional
        Differently named coordinates that move as one (also within one part).
    springs, dampers : mapping of a pair of coordinates to a stiffness or damping constant, optional
        ``{("left.A.x", "right.B.x"): 2e5}``; ``None`` as the second is the ground. Names as in the joined system, or
        ``part.coordinate``.

    Returns
    -------
    Coupled
        ``system`` with the shared coordinates by their names and private ones as ``left.mode1``.

    Examples
    --------
    >>> bar = SecondOrder(np.diag([0.5, 0.5]), [[1, -1], [-1, 1]])
    >>> left = SecondOrder(bar.M, bar.K, coordinates=["A", "B"])
    >>> right = SecondOrder(bar.M, bar.K, coordinates=["B", "C"])
    >>> whole = couple({"left": left, "right": right}, springs={("A", None): 1.0})
    >>> whole.system.coordinates
    ('A', 'B', 'C')
    >>> whole.part("right", [1.0, 2.0, 3.0]).tolist()
    [2.0, 3.0]
    """
    if not parts:
        raise ModelError("empty", "there are no parts to couple.")
    for name, part in parts.items():
        if not isinstance(part, SecondOrder | Reduction | Coupled):
            raise ModelError(
                "wrong-type", f"part {name!r} must be a SecondOrder or a Reduction, got {type(part).__name__}."
            )
    systems = {name: system_of(part) for name, part in parts.items()}
    private = {name: modal_names_of(part) for name, part in parts.items()}
    meet = BoundaryCoordinates({name: s.coordinates for name, s in systems.items()}, private, shared, join or {})
    if len(parts) > 1 and not meet.joined and not springs:
        raise ModelError(
            "not-connected",
            "no coordinate is shared by two parts: "
            + "; ".join(f"{name} has {list_names(s.coordinates, {}, most=6)}" for name, s in systems.items())
            + ".",
            Advice("Use equal names, or {}.", Argument("join", {"left.A": "right.B"})),
        )
    extra = {"K": _pair_matrix(meet, springs or {}, "spring"), "C": _pair_matrix(meet, dampers or {}, "damper")}
    system, inputs = _assemble(systems, meet, extra)
    return Coupled(system=system, parts=parts, maps=meet.maps, joined=meet.joined, input_names=inputs)


def system_of(part: SecondOrder | Reduction | Coupled) -> SecondOrder:
    """The second-order system of a part."""
    return part if isinstance(part, SecondOrder) else part.system


def modal_names_of(part: SecondOrder | Reduction | Coupled) -> tuple[str, ...]:
    """Coordinates of a part that never meet those of others."""
    return () if isinstance(part, SecondOrder) else part.modal


def _pair_matrix(meet: BoundaryCoordinates, pairs: Springs, kind: str) -> Any:
    """Matrix (n, n) of springs or dampers between pairs of coordinates or to the ground."""
    total = scipy.sparse.lil_array((len(meet.names), len(meet.names)))
    for pair, value in pairs.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise ModelError(
                "wrong-type",
                f"a {kind} is given for a pair of coordinates, got {pair!r}.",
                Advice("Give {}.", Argument(kind, {("left.A.x", "right.B.x"): 1e3})),
            )
        if not np.isfinite(value):
            raise ModelError(
                "not-positive", f"the constant of the {kind} between {pair[0]!r} and {pair[1]!r} is {value!r}."
            )
        a = meet.place(pair[0])
        b = None if pair[1] is None else meet.place(pair[1])
        if a == b:
            raise ModelError(
                "duplicate", f"the {kind} between {pair[0]!r} and {pair[1]!r} joins a coordinate with itself."
            )
        ends = [(a, 1.0)] if b is None else [(a, 1.0), (b, -1.0)]
        for i, sign_i in ends:
            for j, sign_j in ends:
                total[i, j] += sign_i * sign_j * value
    return total.tocsc()


def _assemble(
    systems: Mapping[str, SecondOrder], meet: BoundaryCoordinates, extra: Mapping[str, Any]
) -> tuple[SecondOrder, dict[str, dict[str, str]]]:
    n, sparse = len(meet.names), any(system.is_sparse for system in systems.values())
    pick = {
        name: scipy.sparse.csc_array((np.ones(len(p)), (np.arange(len(p)), p)), shape=(len(p), n))
        for name, p in meet.maps.items()
    }
    square = {}
    for symbol in SQUARE:
        terms = [pick[name].T @ getattr(s, symbol) @ pick[name] for name, s in systems.items()]
        total = sum(scipy.sparse.csc_array(term) for term in terms) if sparse else sum(np.asarray(t) for t in terms)
        if symbol in extra:
            total = total + (extra[symbol] if sparse else extra[symbol].toarray())
        square[symbol] = total
    inputs = _unique({name: s.inputs for name, s in systems.items()})
    fields: dict[str, Any] = {**square, "B": _stack([pick[name].T @ s.B for name, s in systems.items()], sparse, True)}
    units = {
        name: unit for part, s in systems.items() for name, unit in _global_units(s, meet, part, inputs[part]).items()
    }
    if not all(reduction.reads_coordinates(s) for s in systems.values()):
        outputs = _unique({name: s.outputs for name, s in systems.items()})
        for symbol in READ:
            fields[symbol] = _stack([getattr(s, symbol) @ pick[name] for name, s in systems.items()], sparse, False)
        D = scipy.sparse.block_diag([scipy.sparse.csc_array(s.D) for s in systems.values()], format="csc")
        fields.update(D=D if sparse else D.toarray())
        fields["outputs"] = [whole for named in outputs.values() for whole in named.values()]
        units.update({outputs[part][name]: s.units[name] for part, s in systems.items() for name in s.outputs
                      if name in s.units})  # fmt: skip
    system = SecondOrder(
        fields.pop("M"), fields.pop("K"), **fields, coordinates=meet.names,
        inputs=[whole for named in inputs.values() for whole in named.values()], units=units,
        provenance={"parts": tuple(systems)},
    )  # fmt: skip
    return system, inputs


def _global_units(
    system: SecondOrder, meet: BoundaryCoordinates, part: str, inputs: Mapping[str, str]
) -> dict[str, str]:
    units = {
        meet.names[k]: system.units[name]
        for name, k in zip(system.coordinates, meet.maps[part])
        if name in system.units
    }
    return units | {inputs[name]: system.units[name] for name in system.inputs if name in system.units}


def _unique(names: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, str]]:
    """Names of every part in the whole: their own where no other part has them, else with the part in front."""
    count = Counter(name for own in names.values() for name in own)
    return {part: {name: name if count[name] == 1 else f"{part}.{name}" for name in own} for part, own in names.items()}


def _stack(blocks: list[Any], sparse: bool, beside: bool) -> Any:
    if sparse:
        blocks = [scipy.sparse.csc_array(block) for block in blocks]
        return scipy.sparse.hstack(blocks, format="csc") if beside else scipy.sparse.vstack(blocks, format="csc")
    dense = [storage.dense(block) for block in blocks]
    return np.hstack(dense) if beside else np.vstack(dense)
