"""Functions of a tree on numbers: one state, many states, or the states of a record, natively.

A public function of `da.tree` is a few lines: it reads its arguments with `evaluate`.

    def gravity(eqs, state):
        return evaluate(eqs, state, "gravity")[0]

`evaluate` builds the function (`mechanics.tree.link_tree`) at its first use and keeps its native code with the
equations; results of many states have them as first axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, FunctionSource, State, require_equations
from dalembert.expressions import Array, Kernel
from dalembert.mechanics.tree.link_tree import PAYLOAD, TREE_FUNCTIONS
from dalembert.record import Record
from dalembert.record.checks import numbers
from dalembert.solve.position.prescribed_motion import acceleration_name
from dalembert.tree.payload import Payload

States: TypeAlias = "State | Sequence[State] | Record | tuple[Any, Any]"
Efforts: TypeAlias = "Mapping[str, Any] | Record | Array | Sequence[Any] | float | None"


@dataclass(frozen=True)
class Instants:
    """Arguments of a function of a tree; all with a first axis if there are many states.  count : None for one."""

    q: Array
    v: Array
    t: Array
    count: int | None


def require_tree(eqs: object) -> FunctionSource:
    """The tree of equations in joint coordinates."""
    found = require_equations(eqs)
    if found.tree is None:
        raise ModelError(
            "wrong-type", f"equations {found.name!r} are not in joint coordinates.",
            Advice("Make them with {}.", Argument("coordinates", "joint")),
        )  # fmt: skip
    return found.tree


def read_states(eqs: EquationsOfMotion, state: States) -> Instants:
    """q, v and t of a state, of several, of a record, or of arrays (q, v)."""
    if isinstance(state, State):
        return Instants(state.q, state.v, np.array([state.t]), None)
    if isinstance(state, Record):
        names = [eqs.counted_angles.get(name, name) for name in eqs.coordinates.names]
        q, v = _channels(state, names), _channels(state, eqs.speeds.names)
        return Instants(q, v, np.asarray(state.time).reshape(-1, 1), len(state))
    if isinstance(state, Sequence) and all(isinstance(one, State) for one in state):
        q, v, t = (np.array([getattr(one, part) for one in state]) for part in ("q", "v", "t"))
        return Instants(q, v, t.reshape(-1, 1), len(q))
    try:
        q, v = (np.asarray(part, dtype=float) for part in state)
    except (TypeError, ValueError):
        problem = f"expected a state, several, a record, or arrays (q, v), got {type(state).__name__}."
        raise DataError("wrong-type", problem) from None
    counts = {x.shape[0] for x in (q, v) if x.ndim == 2}
    if q.shape[-1:] != (eqs.nq,) or v.shape[-1:] != (eqs.nv,) or max(q.ndim, v.ndim) > 2 or len(counts) > 1:
        problem = f"q and v have the shapes {q.shape} and {v.shape}; {eqs.name!r} has {eqs.nq} and {eqs.nv}."
        raise DataError("wrong-shape", problem)
    return Instants(q, v, np.zeros(1), counts.pop() if counts else None)


def read_speeds(eqs: EquationsOfMotion, given: Efforts, what: str, names: Sequence[str]) -> Array:
    """One value for each speed: by names (zero where left out), as an array, or from the channels of a record."""
    if given is None:
        return np.zeros(eqs.nv)
    if isinstance(given, Record):
        return _channels(given, names)
    if isinstance(given, Mapping):
        places = _places(eqs)
        for name in given:
            if eqs.full_name(name) not in places:
                problem = unknown_name("coordinate or speed", name, places, f"equations {eqs.name!r}")
                raise DataError("unknown-name", f"{what}: {problem}", where={"name": name})
        values = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in given.values())) if given else []
        speeds = np.zeros((*(values[0].shape if values else ()), eqs.nv))
        for name, value in zip(given, values, strict=True):
            speeds[..., places[eqs.full_name(name)]] = value
        return speeds
    array = numbers(given, what)
    if array.shape[-1:] != (eqs.nv,) or array.ndim > 2:
        raise DataError("wrong-shape", f"{what} has the shape {array.shape}; {eqs.name!r} has {eqs.nv} speeds.")
    return array


def accelerations(eqs: EquationsOfMotion, given: Efforts, state: States) -> Array:
    """Derivatives of the speeds; those of the record of states if none are given with one."""
    require_tree(eqs)
    names = [acceleration_name(name, eqs.speeds.index) for name in eqs.speeds.names]
    return read_speeds(eqs, state if given is None and isinstance(state, Record) else given, "accelerations", names)


def find_kernel(eqs: EquationsOfMotion, name: str, *choices: Any, place: Any = None) -> Kernel:
    """The kernel of a function of the tree.  place : of a payload, which is its last argument."""
    tree = require_tree(eqs)

    def make() -> Kernel:
        return Kernel((tree if place is None else tree.load(place)).function(name, *choices))

    return eqs.cache(("tree", name, *choices, PAYLOAD, place), make)  # type: ignore[no-any-return]


def kernel(eqs: EquationsOfMotion, name: str, *choices: Any, calls: int = 0) -> Kernel:
    """A function of the tree for your own loops: a call costs little more than its computation.

    name : of a function of `da.tree`.  choices : its further arguments, such as a place.
    calls : expected number of calls; machine code is made now if it saves time over this number.

    The kernel takes vectors q, v, then a or tau (those that the function has, see ``kernel.function``), ``eqs.p`` and
    the time, and gives all results as arrays; ``kernel.raw`` gives the same entries, matrices column by column, in
    memory that the next call overwrites, and ``kernel.many`` takes a state in every row.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm")
    >>> rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0, 0), rod.at(-0.5, 0, 0), axis=(0, 1, 0))
    >>> eqs = da.equations(m, coordinates="joint")
    >>> inverse = da.tree.kernel(eqs, "inverse_dynamics", calls=100_000)
    >>> q, v, a = eqs.state().q, eqs.state().v, eqs.state().v
    >>> inverse.raw(q, v, a, eqs.p, 0.0)[0]
    array([-9.81])
    """
    if name not in TREE_FUNCTIONS:
        problem = unknown_name("function", name, list(TREE_FUNCTIONS), "da.tree")
        raise ModelError("unknown-name", problem, where={"function": name})
    found = find_kernel(eqs, name, *choices)
    found.expect(whole_number("calls", calls))
    return found


def evaluate(
    eqs: EquationsOfMotion, state: States, name: str, *choices: Any, payload: Payload | None = None, **numbers: Array
) -> list[Array]:
    """Results of a function of the tree; every one with a first axis where states or numbers have one.

    choices : further arguments of the builder.  payload : on a body of the tree.
    numbers : values of the symbols `a`, `tau` and `wrench`.
    """
    require_tree(eqs)
    given: object = payload
    if not isinstance(given, Payload | None):
        advice = Advice("Make one with {}.", Call("da.tree.Payload", Argument("place", "tip"), Argument("mass", 2.0)))
        raise ModelError("wrong-type", f"a payload has a place and a mass, got {given!r:.80}.", advice)
    at = read_states(eqs, state)
    kernel = find_kernel(eqs, name, *choices, place=None if payload is None else payload.place)
    known = {"q": at.q, "v": at.v, "t": at.t, "p": eqs.p, **numbers}
    own = TREE_FUNCTIONS[name]
    arguments = [known[part] for part in own.arguments.split()]
    if payload is not None:
        arguments.append(payload.numbers(kernel.function.numel_in(len(arguments)) == 4))
    many = at.count is not None or any(np.ndim(x) == 2 for x in numbers.values())
    shapes = [kernel.function.size_out(k) for k in range(kernel.function.n_out())]
    shapes = shapes if own.matrix else [shape[:1] if shape[1] == 1 else shape for shape in shapes]
    if not many:
        return [x.reshape(shape) for x, shape in zip(kernel(*arguments), shapes, strict=True)]
    return [x.reshape(len(x), *shape) for x, shape in zip(kernel.many(*arguments), shapes, strict=True)]


def _channels(record: Record, names: Sequence[str]) -> Array:
    missing = [name for name in names if name not in record]
    if missing:
        problem = unknown_name("channel", missing[0], record.names, "the record")
        raise DataError("missing-channel", problem, where={"channels": tuple(missing)})
    return np.asarray(record[list(names)], dtype=float).reshape(len(record), len(names))


def _places(eqs: EquationsOfMotion) -> dict[str, int]:
    """Columns of the speeds, by their own names and by those of the coordinates whose rates they are."""
    places = dict(eqs.speeds.index)
    for name, rate in zip(eqs.measures.names, eqs.measure_rates.names, strict=True):
        if rate in eqs.speeds.index:
            places.setdefault(name, eqs.speeds.index[rate])
    return places
