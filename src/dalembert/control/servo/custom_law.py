"""A control law defined by a user's function of the signals it reads, called once with symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import casadi as ca

from dalembert.core.arguments import take_names
from dalembert.core.declare import checked, function, mapping, number, positive, refused_as, text
from dalembert.core.errors import ModelError, require_name, unknown_name
from dalembert.equations import Channels
from dalembert.expressions import call_user
from dalembert.expressions.quantities import is_real
from dalembert.loop.interfaces import Law

SX = ca.SX


class LawView:
    """The argument ``s`` of a law: the signals it reads, its memory and its references by name, and the time."""

    def __init__(self, memory: tuple[str, ...]) -> None:
        self.t = SX.sym("t")
        self._memory = {name: SX.sym(f"memory{k}") for k, name in enumerate(memory)}
        self._reads: dict[str, Any] = {}
        self._references: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise ModelError(
                "bad-name", f"s[...] takes the name of a sensor, coordinate, speed or memory, got {name!r}."
            )
        if name in self._memory:
            return self._memory[name]
        return self._reads.setdefault(name, SX.sym(f"read{len(self._reads)}"))

    def reference(self, name: str) -> Any:
        """The reference signal, given as ``references={name: ...}`` in ``da.simulate``."""
        return self._references.setdefault(name, SX.sym(f"reference{len(self._references)}"))


Memory = Annotated[
    Mapping[str, float] | None,
    mapping("memory", refused_as("not-finite", number)),
    "name -> value at the start",
    ModelError,
]


@checked
def custom_law(
    name: str,
    function: Annotated[Callable[[Any], Any], function, ModelError],
    drives: str | Iterable[str],
    *,
    dt: Annotated[float, refused_as("not-positive", positive), "sample time [s]; None acts continuously"] | None = None,
    memory: Memory = None,
    units: Mapping[str, str] | None = None,
) -> Law:
    """A law from a function.

    Parameters
    ----------
    name : name of the law.
    function : of ``s``, called once with symbols: ``s["hinge.angle"]`` reads a sensor, coordinate, speed, input or (by
        its name) the law's own memory, ``s.reference("place")`` a reference, ``s.t`` the time. It returns the driven
        inputs: one value, a list in the order of `drives`, or a dict; with a memory a pair of that and a dict
        name -> value after the sample (continuous laws: its rate).
    drives : input or inputs it drives.
    units : of memory and references.

    Examples
    --------
    >>> pd = custom_law("pd", lambda s: -20 * s["hinge.angle"] - 2 * s["hinge.rate"], "force", dt=0.01)
    >>> pd.reads
    ('hinge.angle', 'hinge.rate')
    >>> def pi(s):
    ...     error = s.reference("place") - s["place"]
    ...     return 2 * error + s["sum"], {"sum": s["sum"] + 0.01 * error}
    >>> custom_law("pi", pi, "force", dt=0.01, memory={"sum": 0.0}).references
    Channels(1: place)
    """
    inputs = take_names("input", drives)
    if not inputs or len(set(inputs)) < len(inputs):
        raise ModelError("empty", f"law {name!r}: drives must name at least one input, each once; got {drives!r}.")
    starts = dict(memory or {})
    view = LawView(tuple(starts))
    result = call_user(function, f"law {name!r}", view)
    after: Any = {}
    if starts:
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping)):
            raise ModelError(
                "missing-argument", f"law {name!r} has a memory: return (driven inputs, {{memory name: value after}})."
            )
        result, after = result
    u = _read_result(name, result, inputs)
    wrong = [key for key in after if key not in starts]
    if wrong:
        raise ModelError("unknown-name", unknown_name("memory", wrong[0], starts, f"law {name!r}"))
    missing = [key for key in starts if key not in after]
    if missing:
        raise ModelError("missing-argument", f"law {name!r} returns no next value of its memory {missing[0]!r}.")
    following = [_require_scalar(name, after[key], f"memory {key!r}") for key in starts]
    unit = mapping("memory or reference", text)("units", units)
    columns = [_stack(list(symbols.values())) for symbols in (view._reads, view._memory, view._references)]
    f = ca.Function("law", [*columns, SX.sym("p", 0), view.t], [_stack(u), _stack(following)], {"cse": True})
    return Law(
        name, tuple(view._reads), inputs, f, dt,
        state=Channels(starts, [unit.get(key, "") for key in starts]), start=tuple(starts.values()),
        references=Channels(view._references, [unit.get(key, "") for key in view._references]),
        direct=bool(f.jac_sparsity(0, 0).nnz()) or not starts,
    )  # fmt: skip


def _read_result(name: str, result: object, inputs: tuple[str, ...]) -> list[Any]:
    if isinstance(result, Mapping):
        for key in result:
            require_name("driven input", key, inputs, f"law {name!r}", error=ModelError)
        missing = [key for key in inputs if key not in result]
        if missing:
            raise ModelError("missing-argument", f"law {name!r} returns nothing for input {missing[0]!r}.")
        result = [result[key] for key in inputs]
    elif not isinstance(result, (list, tuple)):
        column = SX(result) if is_real(result) or isinstance(result, SX) else None
        if column is None:
            raise ModelError(
                "wrong-type", f"law {name!r} must return an expression or a number, got {type(result).__name__}."
            )
        result = ca.vertsplit(ca.vec(column)) if column.numel() > 1 else [column]
    if len(result) != len(inputs):
        raise ModelError(
            "wrong-shape", f"law {name!r} returns {len(result)} values for {len(inputs)} inputs ({', '.join(inputs)})."
        )
    return [_require_scalar(name, value, f"input {key!r}") for key, value in zip(inputs, result, strict=True)]


def _require_scalar(name: str, value: object, what: str) -> Any:
    try:
        expression = SX(value)
    except (NotImplementedError, TypeError, RuntimeError):
        raise ModelError(
            "wrong-type", f"law {name!r}: {what} must be an expression or a number, got {value!r}."
        ) from None
    if expression.shape != (1, 1):
        raise ModelError(
            "wrong-shape", f"law {name!r}: {what} must be one value, got {expression.shape[0]} x {expression.shape[1]}."
        )
    return expression


def _stack(parts: list[Any]) -> Any:
    return ca.densify(ca.vertcat(*parts)) if parts else SX(0, 1)
