"""Functions of one flexible body, which all bodies of the same data share.

A large machine written out flat repeats the operations of its bodies: twenty beams of ten modes have twenty times the
code of one, which takes longer to build and to compile than to run. Here the mass block, the forces of the motion and
the nodes of a body are functions of its own coordinates and speeds; bodies with equal data share them. In the rest of
the equations their results are symbols, except for results that are numbers or coordinates. A function of the machine
first calls the functions of its bodies, once for all bodies with the same data, and passes the results to the rest.

A call with SX expressions is written out flat again, so that derivatives are those of the whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.expressions import Expr
from dalembert.mechanics.bodies.attachment import Attachment
from dalembert.mechanics.bodies.floating import FloatingBody
from dalembert.mechanics.poses import Pose, Space, Twist
from dalembert.model import Body
from dalembert.model.flexible import FlexibleBodyData

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute

SX, MX = ca.SX, ca.MX
# Fewest operations, in mass blocks and forces of bodies with repeated data, for which bodies share functions: four
# beams of ten modes. With two or three beams, calls cost more time than they save; decision 043 has the figures.
REPEATED_OPERATIONS = 6000


class LocalHost:
    """Replaces the machine where a body is written in its own coordinates."""

    def __init__(self, planar: bool, modes: int) -> None:
        self.space = Space(planar)
        self.q, self.v = SX.sym("q", self.space.nq + modes), SX.sym("v", self.space.nv + modes)

    def rigid_columns(self, body: Body) -> range:
        return range(self.space.nv)

    def euler_parameters(self, body: Body) -> Expr:
        return SX(0, 1) if self.space.planar else self.q[3:7]


@dataclass(frozen=True)
class BodyPart:
    """A quantity of a body.

    results : column of its entries that are neither numbers nor coordinates, in the body's own symbols.
    place : (q, v, this column) -> the quantity.
    """

    results: Expr
    place: ca.Function


def _part(name: str, q: Expr, v: Expr, values: Sequence[Expr]) -> BodyPart:
    computed: list[Expr] = []
    outputs = []
    column = SX.sym(name, sum(SX(value).nnz() for value in values))
    for value in values:
        entries = []
        for entry in SX(value).nonzeros():
            leaf = entry.is_constant() or entry.is_symbolic()
            entries.append(entry if leaf else column[len(computed)])
            if not leaf:
                computed.append(entry)
        outputs.append(SX(SX(value).sparsity(), ca.vertcat(*entries, SX(0, 1))))
    place = ca.Function(f"{name}_place", [q, v, column[: len(computed)]], outputs)
    return BodyPart(ca.vertcat(*computed, SX(0, 1)), place)


class BodyKernels:
    """Parts of all bodies with this data, made at their first use."""

    def __init__(self, body: Body, planar: bool) -> None:
        assert body.flexible is not None
        self.host = host = LocalHost(planar, body.flexible.modes)
        space = host.space
        eta, rate = host.q[space.nq :], host.v[space.nv :]
        modes = range(space.nv, space.nv + body.flexible.modes)
        self.body = FloatingBody(host, body, space.pose(host.q), space.twist(host.v), eta, rate, modes)  # type: ignore[arg-type]
        self._parts: dict[str, BodyPart] = {}
        self._functions: dict[Any, ca.Function] = {}

    @cached_property
    def operations(self) -> int:
        """Of the mass block and the forces of the motion."""
        parts = [self.part(name) for name in ("mass", "forces")]
        function = self.function([(part, range(part.results.shape[0])) for part in parts])
        return int(function.n_instructions())

    def part(self, name: str, node: str = "") -> BodyPart:
        key = f"{name} {node}"
        if key not in self._parts:
            self._parts[key] = _part(name, self.host.q, self.host.v, getattr(self, f"_{name}")(node))
        return self._parts[key]

    def function(self, wanted: Sequence[tuple[BodyPart, Sequence[int]]]) -> ca.Function:
        """(q) or (q, v) -> these results of parts, in one column, with common expressions evaluated once."""
        key = tuple((id(part), tuple(which)) for part, which in wanted)
        if key not in self._functions:
            results = ca.cse(ca.vertcat(*(part.results[list(which)] for part, which in wanted)))
            inputs = [self.host.q, self.host.v] if ca.depends_on(results, self.host.v) else [self.host.q]
            self._functions[key] = ca.Function("body", inputs, [ca.densify(results)])
        return self._functions[key]

    def _mass(self, node: str) -> list[Expr]:
        return [self.body.mass_block()]

    def _forces(self, node: str) -> list[Expr]:
        return [self.body.velocity_forces()]

    def _pose(self, node: str) -> list[Expr]:
        at = self.body.attach_node(node)
        return [at.pose.r, at.pose.R, at.pose.angle, at.euler_parameters, at.B]

    def _twist(self, node: str) -> list[Expr]:
        at = self.body.attach_node(node)
        return [at.twist.v, at.twist.w, at.bias]


def content_of(data: FlexibleBodyData) -> bytes:
    """A digest of all numbers that equations of motion take from the data."""
    found = hashlib.sha256()

    def add(*arrays: Any) -> None:
        for array in arrays:
            numbers = np.ascontiguousarray(array, dtype=np.float64)
            found.update(str(numbers.shape).encode() + numbers.tobytes())

    add(data.mass, data.first_moment, data.inertia, data.translation, data.rotation, data.modal_mass)
    add(data.moments, data.products)
    for node in data.nodes:
        found.update(node.name.encode() + b"\0")
        add(node.place, node.translation, node.rotation)
    if data.stiffening is not None:
        for given in (data.stiffening.centrifugal, data.stiffening.acceleration):
            add(np.zeros(0) if given is None else given)
        for loads in (data.stiffening.forces, data.stiffening.moments):
            for name, matrices in loads.items():
                found.update(name.encode() + b"\0")
                add(matrices)
    return found.digest()


class _Key:
    """A body and the digest of its data, which alone is compared."""

    def __init__(self, body: Body, content: bytes) -> None:
        self.body, self.content = body, content

    def __hash__(self) -> int:
        return hash(self.content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.content == self.content


@lru_cache(maxsize=32)
def _kernels(key: _Key, planar: bool) -> BodyKernels:
    return BodyKernels(key.body, planar)


def find_kernels(body: Body, planar: bool) -> BodyKernels:
    """Kernels of a body, shared with all of equal data."""
    assert body.flexible is not None
    return _kernels(_Key(body, content_of(body.flexible)), planar)


def repeats_bodies(bodies: Sequence[Body], planar: bool) -> bool:
    """Whether enough bodies have equal data for shared operations to save time."""
    flexible = [(body, body.flexible) for body in bodies if body.flexible is not None and body.flexible.modes]
    digests = {id(data): content_of(data) for data in {id(data): data for _, data in flexible}.values()}
    same: dict[bytes, list[Body]] = {}
    for body, data in flexible:
        same.setdefault(digests[id(data)], []).append(body)
    repeated = [(len(own) - 1, own[0]) for own in same.values() if len(own) > 1]
    return sum(count * find_kernels(body, planar).operations for count, body in repeated) >= REPEATED_OPERATIONS


@dataclass
class BodyCall:
    """A part of a body: symbols in the place of its results, and the coordinates and speeds of the body."""

    kernels: BodyKernels
    part: BodyPart
    column: list[Expr]
    q: tuple[int, ...]
    v: tuple[int, ...]


@dataclass
class _BodyCall:
    """Results of one body that a function of the machine needs, and their symbols."""

    evaluate: ca.Function
    symbols: list[Expr]
    q: tuple[int, ...]
    v: tuple[int, ...]

    def arguments(self, q: Any, v: Any) -> list[Any]:
        given = [q[list(self.q)]]
        return given if self.evaluate.n_in() == 1 else [*given, v[list(self.v)]]


@dataclass
class CallList:
    """All calls of a machine with coordinates q and speeds v (symbols)."""

    q: Expr
    v: Expr
    calls: list[BodyCall] = field(default_factory=list)

    def place(self, kernels: BodyKernels, part: BodyPart, q: tuple[int, ...], v: tuple[int, ...]) -> list[Expr]:
        """The quantity of a part, with symbols for the results of its function."""
        column = SX.sym("body", part.results.shape[0])
        self.calls.append(BodyCall(kernels, part, column.nonzeros(), q, v))
        return list(part.place.call([self.q[list(q)], self.v[list(v)], column]))

    def flat(self, expression: Expr) -> Expr:
        """The expression of coordinates and speeds alone."""
        used = self._collect_calls([expression])
        if not used:
            return expression
        values = [call.evaluate(*call.arguments(self.q, self.v)) for call in used]
        symbols = ca.vertcat(*(x for call in used for x in call.symbols))
        return ca.substitute(expression, symbols, ca.vertcat(*values))

    def _collect_calls(self, expressions: Sequence[Expr]) -> list[_BodyCall]:
        """One call per body for all results that the expressions take, bodies with the same function together."""
        names = {x.__hash__() for e in expressions for x in ca.symvar(SX(e))}
        wanted: dict[tuple[int, ...], list[tuple[BodyCall, list[int]]]] = {}
        for call in self.calls:
            which = [k for k, x in enumerate(call.column) if x.__hash__() in names]
            if which:
                wanted.setdefault(call.q, []).append((call, which))
        calls = []
        for own in wanted.values():
            evaluate = own[0][0].kernels.function([(call.part, which) for call, which in own])
            symbols = [call.column[k] for call, which in own for k in which]
            calls.append(_BodyCall(evaluate, symbols, own[0][0].q, own[0][0].v))
        order = {call.evaluate.__hash__(): k for k, call in reversed(list(enumerate(calls)))}
        return sorted(calls, key=lambda call: order[call.evaluate.__hash__()])

    def function(self, inner: Any, name: str, inputs: list[Any], outputs: list[Any]) -> ca.Function:
        """The function of the machine: its bodies, those of one data together, then `inner` (name, inputs, outputs)."""
        used = self._collect_calls(outputs)
        if not used:
            return inner(name, inputs, outputs)
        rest = inner(name, [*inputs, ca.vertcat(*(x for call in used for x in call.symbols))], outputs)
        symbols = [MX.sym(rest.name_in(k), x.shape[0]) for k, x in enumerate(inputs)]
        results = []
        for _, same in groupby(used, key=lambda call: call.evaluate.__hash__()):
            group = list(same)
            evaluate, count = group[0].evaluate, len(group)
            places = [[i for call in group for i in call.q], [i for call in group for i in call.v]]
            matrices = [
                ca.reshape(x[where], x[where].shape[0] // count, count)
                for x, where in zip(symbols[: evaluate.n_in()], places, strict=False)
            ]
            results.append(ca.vec((evaluate.map(count) if count > 1 else evaluate)(*matrices)))
        return ca.Function(name, symbols, rest.call([*symbols, ca.vertcat(*results)]))


class SharedBody(FloatingBody):
    """A flexible body whose mass block, forces and nodes are those of the kernels of its data."""

    def __init__(
        self, host: Absolute, body: Body, pose: Pose, twist: Twist, eta: Expr, rate: Expr, modes: range, first: int
    ) -> None:
        super().__init__(host, body, pose, twist, eta, rate, modes)
        assert host.calls is not None
        self._calls, self._kernels = host.calls, find_kernels(body, host.space.planar)
        k, nq = host.body_index[id(body)], host.space.nq
        self._q = (*range(nq * k, nq * (k + 1)), *range(first, first + len(modes)))

    def _get(self, name: str, node: str = "") -> list[Expr]:
        return self._calls.place(self._kernels, self._kernels.part(name, node), self._q, tuple(self.columns))

    def mass_block(self) -> Expr:
        return self._get("mass")[0]

    def velocity_forces(self) -> Expr:
        return self._get("forces")[0]

    def attach_node(self, name: str) -> Attachment:
        r, R, angle, p, B = self._get("pose", name)
        v, w, bias = self._get("twist", name)
        nothing = SX.zeros(self.host.space.dim)
        return Attachment(self.host.space, Pose(r, R, angle), Twist(v, w), nothing, self.columns, p, B, bias)
