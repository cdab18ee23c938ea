"""Connections of systems.

series     y = G₂ G₁ u        parallel   y = (G₁ + G₂) u        feedback   y = G₁ (u ∓ G₂ y)
connect    every input takes the output of the same name, of any system

All are the same step. With the systems side by side (block-diagonal A, B, C, D) and u = K y + E w,

    u = (I - K D)⁻¹ (K C x + E w)

An algebraic loop with I - K D singular has no solution, or many: that is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import scipy.linalg

from dalembert.core.arguments import take_names
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.text import count_noun, list_names
from dalembert.linear.channels import is_uncertain, places
from dalembert.linear.eigen.roots import EPS, solve

if TYPE_CHECKING:
    from dalembert.linear.state_space import StateSpace
    from dalembert.linear.uncertain import Uncertain


def append(systems: Iterable[StateSpace], how: str = "append") -> StateSpace:
    """Systems side by side, each with its own inputs and outputs.

    Parameters
    ----------
    systems : StateSpace objects of one sample time
        A name that occurs twice gets ``#2``, ``#3``, ...
    how : str
        Operation, for the provenance.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> lag = StateSpace(-1.0, 1.0, 1.0)
    >>> append([lag, lag]).inputs
    ('u1', 'u1#2')
    """
    systems = _several(systems)
    if not systems:
        raise DataError("empty", "there is no system to join.")
    first = systems[0]
    names = {kind: _distinct([name for s in systems for name in getattr(s, kind)]) for kind in _KINDS}
    units: dict[str, str] = {}
    for kind in _KINDS:
        old = [(s, name) for s in systems for name in getattr(s, kind)]
        units.update({new: s.units[name] for new, (s, name) in zip(names[kind], old, strict=True) if name in s.units})
    about: dict[str, Any] = {"made by": how, "parts": [dict(s.provenance) for s in systems]}
    for key in ("reference", "rates"):  # the operating point of a machine among the systems is that of the whole
        if merged := {name: value for s in systems for name, value in s.provenance.get(key, {}).items()}:
            about[key] = merged
    matrices = {symbol: scipy.linalg.block_diag(*(getattr(s, symbol) for s in systems)) for symbol in "ABCD"}
    return first.replace(
        **matrices, dt=_common_dt(systems), **names, units=units,
        provenance=about,
    )  # fmt: skip


def _several(systems: Iterable[StateSpace]) -> list[StateSpace]:
    if not isinstance(systems, Iterable):
        raise DataError(
            "wrong-type", f"several systems are joined, as in [first, second]; got {type(systems).__name__}."
        )
    parts = list(systems)
    _require_state_spaces(parts)
    return parts


def _require_state_spaces(systems: Iterable[object]) -> None:
    for system in systems:
        if not hasattr(system, "states"):  # state_space imports this module, so its class is not available here
            number = isinstance(system, (int, float, np.ndarray))
            hint = "; use its state_space()" if hasattr(system, "state_space") else ""
            hint = "; StateSpace.gain(D) makes one of numbers" if number else hint
            raise DataError("wrong-type", f"only StateSpace systems can be joined, got {type(system).__name__}{hint}.")


_KINDS = ("states", "inputs", "outputs")


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    originals = set(names)
    distinct: dict[str, None] = {}
    for name in names:
        new, count = name, 1
        while new in distinct or (count > 1 and new in originals):
            count += 1
            new = f"{name}#{count}"
        distinct[new] = None
    return tuple(distinct)


def _common_dt(systems: Sequence[StateSpace]) -> float | None:
    """The common sample time; a pure gain has none."""
    steps = {s.dt for s in systems if s.nx or s.dt is not None}
    if len(steps) > 1:
        shown = ", ".join("continuous" if dt is None else f"{dt:g} s" for dt in sorted(steps, key=lambda dt: dt or 0.0))
        raise DataError(
            "sample-time-mismatch",
            f"systems of different sample times cannot be joined ({shown}); use to_discrete or resample.",
        )
    return steps.pop() if steps else None


def _refuse_algebraic_loop(
    loop: FloatArray,
    inputs: Sequence[str],
    singular: float = 10.0 * EPS,  # of I - K D, over the larger of 1 and its largest, per input: error of the SVD
    share: float = 1e-6,  # component of its null vector: the SVD leaves ε over the distance to the next value
) -> None:
    if not len(loop):
        return
    _, sigma, Vt = np.linalg.svd(loop)
    if sigma[-1] <= singular * len(loop) * max(1.0, sigma[0]):
        null = np.abs(Vt[-1])
        at = [name for name, size in zip(inputs, null, strict=True) if size > share * null.max()]
        raise DataError(
            "algebraic-loop",
            f"algebraic loop: the direct terms close a loop with gain 1 through {list_names(at, {})}, so its "
            "signals are not determined. Add a lag (or a delay of one sample) to the loop.",
            where={"inputs": tuple(at)},
        )


def close(joined: StateSpace, K: FloatArray, E: FloatArray, F: FloatArray, **names: Any) -> StateSpace:
    """u = K y + E w and z = F y around ``joined``; w and z are the new inputs and outputs."""
    loop = np.eye(joined.nu) - K @ joined.D
    _refuse_algebraic_loop(loop, joined.inputs)
    X, Y = solve(loop, K @ joined.C), solve(loop, E)
    return joined.replace(
        A=joined.A + joined.B @ X, B=joined.B @ Y, C=F @ (joined.C + joined.D @ X), D=F @ joined.D @ Y, **names
    )


def series(first: StateSpace, second: StateSpace) -> StateSpace:
    """See :meth:`StateSpace.series`."""
    _require_state_spaces([first, second])
    if first.ny != second.nu:
        raise DataError(
            "wrong-shape",
            f"series: the first system has {count_noun(first.ny, 'output')} "
            f"and the second {count_noun(second.nu, 'input')}; select(...) picks among them.",
        )
    _same_units(first, second)
    joined = append([first, second], "series")
    K = np.zeros((joined.nu, joined.ny))
    K[first.nu :, : first.ny] = np.eye(first.ny)
    return close(
        joined, K, np.eye(joined.nu, first.nu), np.eye(joined.ny)[first.ny :],
        inputs=first.inputs, outputs=second.outputs, units=_units(joined, first, second),
    )  # fmt: skip


def parallel(first: StateSpace, second: StateSpace, sign: float = 1.0) -> StateSpace:
    """See :meth:`StateSpace.parallel`."""
    _require_state_spaces([first, second])
    if (first.nu, first.ny) != (second.nu, second.ny):
        raise DataError(
            "wrong-shape",
            f"parallel: the first system has {first.nu} inputs and {first.ny} outputs, "
            f"the second {second.nu} and {second.ny}; both must agree.",
        )
    joined = append([first, second], "parallel")
    E = np.vstack([np.eye(first.nu)] * 2)
    F = np.hstack([np.eye(first.ny), sign * np.eye(first.ny)])
    return close(
        joined, np.zeros((joined.nu, joined.ny)), E, F,
        inputs=first.inputs, outputs=first.outputs, units=_units(joined, first, first),
    )  # fmt: skip


def feedback(first: StateSpace, second: StateSpace | None, sign: int) -> StateSpace:
    """See :meth:`StateSpace.feedback`."""
    if sign not in (-1, 1):
        raise DataError("unknown-choice", f"sign must be -1 (negative feedback) or +1, got {sign!r}.")
    if second is None:
        if first.nu != first.ny:
            raise DataError(
                "wrong-shape",
                f"unity feedback needs as many outputs as inputs, not {first.ny} and {first.nu}; "
                "give the system in the return path.",
            )
        K = sign * np.eye(first.nu)
        provenance = {"made by": "unity feedback", "parts": [dict(first.provenance)]}
        return close(first, K, np.eye(first.nu), np.eye(first.ny), provenance=provenance)
    _require_state_spaces([second])
    if (second.nu, second.ny) != (first.ny, first.nu):
        raise DataError(
            "wrong-shape",
            f"feedback: the return path must take {first.ny} outputs and give {first.nu} inputs; "
            f"it has {second.nu} inputs and {second.ny} outputs.",
        )
    _same_units(first, second)
    _same_units(second, first)
    joined = append([first, second], "feedback")
    K = np.block([
        [np.zeros((first.nu, first.ny)), sign * np.eye(first.nu)],
        [np.eye(first.ny), np.zeros((first.ny, first.nu))],
    ])  # fmt: skip
    return close(
        joined, K, np.eye(joined.nu, first.nu), np.eye(first.ny, joined.ny),
        inputs=first.inputs, outputs=first.outputs, units=_units(joined, first, first),
    )  # fmt: skip


def _units(joined: StateSpace, inputs: StateSpace, outputs: StateSpace) -> dict[str, str]:
    """Units of the states of ``joined`` and of the remaining inputs and outputs."""
    units = {name: joined.units[name] for name in joined.states if name in joined.units}
    units.update({name: inputs.units[name] for name in inputs.inputs if name in inputs.units})
    units.update({name: outputs.units[name] for name in outputs.outputs if name in outputs.units})
    return units


def _same_units(first: StateSpace, second: StateSpace) -> None:
    """Refuse outputs of the first and inputs of the second, joined in order, in different units."""
    for out, into in zip(first.outputs, second.inputs, strict=True):
        sent, expected = first.units.get(out), second.units.get(into)
        if sent and expected and sent != expected:
            raise DataError(
                "unit-mismatch",
                f"output {out!r} and input {into!r} are joined but have different units, {sent} and {expected}; "
                "put a gain between them.",
            )


def select(system: StateSpace, inputs: Any, outputs: Any) -> StateSpace:
    """See :meth:`StateSpace.select`."""
    into = system.inputs if inputs is None else take_names("input", inputs)
    out = system.outputs if outputs is None else take_names("output", outputs)
    columns = places("input", into, system.inputs, "this StateSpace")
    rows = places("output", out, system.outputs, "this StateSpace")
    return system.replace(
        B=system.B[:, columns], C=system.C[rows], D=system.D[np.ix_(rows, columns)],
        inputs=into, outputs=out,
    )  # fmt: skip


@overload
def connect(
    systems: Iterable[StateSpace] | Mapping[str, StateSpace], *, inputs: str | Iterable[str] | None = None,
    outputs: str | Iterable[str] | None = None,
) -> StateSpace: ...  # fmt: skip


@overload
def connect(
    systems: Iterable[StateSpace | Uncertain] | Mapping[str, StateSpace | Uncertain], *,
    inputs: str | Iterable[str] | None = None, outputs: str | Iterable[str] | None = None,
) -> Any: ...  # fmt: skip


def connect(
    systems: Any,
    *,
    inputs: str | Iterable[str] | None = None,
    outputs: str | Iterable[str] | None = None,
) -> Any:
    """Join systems by the names of their signals.

    An input takes the output of the same name, of any system. Inputs of the same name in several systems
    are one signal. Sums are made by :meth:`StateSpace.gain`. With an `Uncertain` among them the result is one, in
    which a parameter of several systems, of the same name and range, is one parameter.

    Parameters
    ----------
    systems : StateSpace and Uncertain objects, or a mapping of prefixes to them
        With a mapping, states are named ``prefix.state``; signals keep their names.
    inputs : names, optional
        Inputs of the whole; those that no output feeds when left out. One that an output feeds is added to it
        (a disturbance).
    outputs : names, optional
        Outputs of the whole; all when left out.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> plant = StateSpace([[0, 1], [0, 0]], [0, 1], [[1, 0]], inputs="force", outputs="position")
    >>> law = StateSpace(-20.0, -80.0, 8.0, 36.0, inputs="error", outputs="force")
    >>> error = StateSpace.gain([[1, -1]], inputs=["wanted", "position"], outputs="error")
    >>> loop = connect([plant, law, error], outputs="position")
    >>> loop.inputs, loop.is_stable, loop.dc_gain().round(12).tolist()
    (('wanted',), True, [[1.0]])
    """
    if isinstance(systems, Iterable) and not isinstance(systems, Mapping):
        systems = list(systems)
    members = systems.values() if isinstance(systems, Mapping) else systems if isinstance(systems, list) else ()
    if any(map(is_uncertain, members)):
        return _connect_uncertain(systems, inputs, outputs)
    parts: list[StateSpace]
    if isinstance(systems, Mapping):
        _require_state_spaces(list(systems.values()))
        parts = [_prefix(system, prefix) for prefix, system in systems.items()]
    else:
        parts = _several(systems)
    into = [name for system in parts for name in system.inputs]
    out = [name for system in parts for name in system.outputs]
    _check_signals(parts, out)
    joined = append(parts, "connect")
    free = list(dict.fromkeys(name for name in into if name not in out))
    entering = free if inputs is None else take_names("input", inputs)
    shown = out if outputs is None else take_names("output", outputs)
    for kind, names, among in (("input", entering, into), ("output", shown, out)):
        places(kind, names, among, "the connected systems")
    K = np.array([[float(a == b) for b in out] for a in into]).reshape(len(into), len(out))
    E = np.array([[float(a == b) for b in entering] for a in into]).reshape(len(into), len(entering))
    F = np.array([[float(a == b) for b in out] for a in shown]).reshape(len(shown), len(out))
    units = {name: joined.units[name] for name in joined.states if name in joined.units}
    signals = {name: s.units[name] for s in parts for name in s.inputs + s.outputs if name in s.units}
    units.update({name: signals[name] for name in [*entering, *shown] if name in signals})
    return close(joined, K, E, F, inputs=entering, outputs=shown, units=units)


def _connect_uncertain(systems: Any, inputs: Any, outputs: Any) -> Any:
    """See :func:`connect`; channels of blocks get numbers and stay open."""
    prefixes = list(systems) if isinstance(systems, Mapping) else [""] * len(systems)
    parts = list(systems.values()) if isinstance(systems, Mapping) else list(systems)
    plain: list[StateSpace] = []
    placed: list[tuple[Any, tuple[str, ...], tuple[str, ...]]] = []
    for number, (prefix, part) in enumerate(zip(prefixes, parts, strict=True)):
        system = part.system if is_uncertain(part) else part
        _require_state_spaces([system])
        if is_uncertain(part):
            ins: list[str] = []
            outs: list[str] = []
            for block in part.blocks:
                rows = tuple(f"{block.name} w{number + 1}.{k + 1}" for k in range(block.rows))
                columns = tuple(f"{block.name} z{number + 1}.{k + 1}" for k in range(block.columns))
                placed.append((block, rows, columns))
                ins += rows
                outs += columns
            units = part._outer_units(part.states)
            system = system.replace(inputs=[*ins, *part.inputs], outputs=[*outs, *part.outputs], units=units)
        plain.append(_prefix(system, prefix) if prefix else system)
    into = [name for _, rows, _ in placed for name in rows]
    out = [name for _, _, columns in placed for name in columns]
    entering = None if inputs is None else [*into, *take_names("input", inputs)]
    shown = None if outputs is None else [*out, *take_names("output", outputs)]
    uncertain = [part for part in parts if is_uncertain(part)]
    error = max(part.error for part in uncertain)
    return uncertain[0].gather(connect(plain, inputs=entering, outputs=shown), placed, error)


def _prefix(part: StateSpace, prefix: str) -> StateSpace:
    units = {name: part.units[name] for name in part.inputs + part.outputs if name in part.units}
    units.update({f"{prefix}.{name}": part.units[name] for name in part.states if name in part.units})
    return part.replace(states=[f"{prefix}.{name}" for name in part.states], units=units)


def _check_signals(parts: Sequence[StateSpace], out: Sequence[str]) -> None:
    problems = [f"{name!r} is the output of two systems" for name in dict.fromkeys(out) if out.count(name) > 1]
    units: dict[str, str] = {}
    for system in parts:
        for name in system.inputs + system.outputs:
            unit = system.units.get(name)
            if unit and units.setdefault(name, unit) != unit:
                problems.append(f"{name!r} is in {units[name]} here and in {unit} there")
    if problems:
        raise DataError("unknown-name", "the systems cannot be connected by name: " + "; ".join(problems) + ".")
