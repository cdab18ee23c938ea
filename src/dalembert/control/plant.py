"""Inputs of a design: a linear model as a `StateSpace`, weights by name, and the operating point.

A model of `da.linearize` describes deviations from a reference; a law uses the values of the sensors,

    u = u₀ - K (x - x₀) .

``system.provenance`` has the reference: ``"reference"`` {name: value} of states, inputs and outputs, and
``"rates"`` {coordinate: name of its rate in the machine}, which `SecondOrder.state_space` calls ``<coordinate>.rate``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arguments import matrix as real_matrix
from dalembert.core.arguments import real_number, take_names
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Call
from dalembert.core.text import list_names
from dalembert.estimate.models.process import machine_names
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.transforms.riccati import symmetric
from dalembert.numerics.sample_times import is_same_time


@dataclass(frozen=True)
class MatrixThresholds:
    """Limits of eigenvalues, relative to the largest, and of condition numbers."""

    indefinite: float = 1e-10  # of a weight: an eigenvalue below minus this is no rounding of sums and products
    zero: float = 1e-14  # of a positive matrix: an eigenvalue below it is 50 roundings of zero
    named: float = 0.3  # part of a unit vector from which a name is shown: nine equal parts are 1/3 each
    condition: float = 1e12  # of a matrix to be inverted: above it fewer than four digits of the result are correct


THRESHOLDS = MatrixThresholds()
Weight = Any  # a number, a vector (diagonal), a matrix, or a mapping of names to diagonal entries


def plant(system: object, *, dt: float | None = None, what: str = "a design") -> StateSpace:
    """The model as a `StateSpace`; sampled with a zero-order hold where ``dt`` is given."""
    if isinstance(system, SecondOrder):
        system = system.state_space()
    if not isinstance(system, StateSpace):
        hints = {"EquationsOfMotion": " Write da.linearize(eqs).", "Mechanism": " Write da.linearize(da.equations(m))."}
        system_ = getattr(system, "system", None)
        if isinstance(system_, (SecondOrder, StateSpace)):
            hints[type(system).__name__] = " Hand over its .system."
        elif hasattr(system, "identified"):
            hints[type(system).__name__] = " Hand over its .identified.system."
        kind = type(system).__name__
        raise DataError("wrong-type", f"{what} needs a StateSpace or a SecondOrder, got {kind}.{hints.get(kind, '')}")
    if system.nx == 0:
        raise DataError("no-states", f"{what} needs a system with states; this one is a pure gain.")
    if dt is None:
        return system
    dt = real_number("dt", dt)
    if dt <= 0.0:
        raise DataError("not-positive", f"dt is the sample time in seconds, above 0; got {dt:g}.")
    if system.dt is None:
        return system.to_discrete(dt)
    if not is_same_time(dt, system.dt, dt):
        raise DataError(
            "sample-time-mismatch",
            f"the system is sampled every {system.dt:g} s, but the design needs {dt:g} s.",
            Advice("Change its step with {}.", Call("StateSpace.resample")),
        )
    return system


def choose_inputs(system: StateSpace, inputs: str | Iterable[str] | None) -> tuple[str, ...]:
    """The inputs the law drives, all when left out; by name, in the given order."""
    names = _choose("input", system.inputs, inputs)
    if not names:
        raise DataError("empty", "there is no input to drive: the system has none, or none was chosen.")
    return names


def choose_outputs(system: StateSpace, outputs: str | Iterable[str] | None) -> tuple[str, ...]:
    """Outputs by name, all when left out."""
    return _choose("output", system.outputs, outputs)


def _choose(kind: str, known: tuple[str, ...], given: str | Iterable[str] | None) -> tuple[str, ...]:
    names = known if given is None else take_names(kind, given)
    for name in names:
        require_name(kind, name, known, "this system")
    if len(set(names)) < len(names):
        raise DataError("duplicate", f"an {kind} is named twice: {', '.join(names)}.")
    return names


def weight(
    symbol: str, given: Weight, names: Sequence[str], kind: str, *, positive: bool = False, complete: bool = False
) -> FloatArray:
    """(n, n) symmetric, not indefinite, from a number, a diagonal, a matrix or a mapping of names.

    positive : singular ones are refused as well.  complete : a mapping must give every name.
    """
    n = len(names)
    if isinstance(given, Mapping):
        diagonal = np.zeros(n)
        for name, value in given.items():
            require_name(kind, name, names, "this system", argument=symbol)
            diagonal[list(names).index(name)] = real_number(f"{symbol}[{name!r}]", value)
        missing = [name for name in names if name not in given]
        if missing and complete:
            raise DataError(
                "not-positive-definite",
                f"{symbol} must be positive definite; give {', '.join(map(repr, missing))} a value too.",
            )
        matrix = np.diag(diagonal)
    else:
        why = f"one row and column per {kind}, in the order {list_names(names, {})}"
        if hasattr(given, "toarray"):
            given = given.toarray()
        try:
            if np.iscomplexobj(np.asarray(given)):
                raise ValueError("it holds complex numbers")
            raw = np.asarray(given, dtype=float)
        except (TypeError, ValueError) as error:
            raise DataError(
                "not-a-number", f"{symbol} must be a number, a diagonal, a matrix or a mapping of names: {error}"
            ) from None
        if raw.ndim == 0:
            raw = real_number(symbol, float(raw)) * np.eye(n)
        elif raw.ndim == 1:
            if len(raw) != n:
                raise DataError("wrong-shape", f"{symbol} has {len(raw)} entries, expected {n}: {why}.")
            raw = np.diag(raw)
        matrix = real_matrix(symbol, raw, n, n, why)
    matrix = symmetric(symbol, matrix)
    require_definite(symbol, matrix, names, positive=positive)
    return matrix


def require_definite(symbol: str, matrix: FloatArray, names: Sequence[str], *, positive: bool) -> None:
    """Refuse an indefinite weight, and a singular one where it must be positive."""
    values, vectors = np.linalg.eigh(matrix) if len(matrix) else (np.ones(1), np.eye(1))
    largest = max(float(np.abs(values).max()), np.finfo(float).tiny)
    floor = THRESHOLDS.zero * largest if positive else -THRESHOLDS.indefinite * largest
    if values[0] > floor or (not positive and values[0] >= floor):
        return
    at = [name for name, part in zip(names, np.abs(vectors[:, 0]), strict=False) if part > THRESHOLDS.named]
    wanted = "positive definite" if positive else "positive semidefinite"
    raise DataError(
        "not-positive-definite",
        f"{symbol} must be {wanted}; its smallest eigenvalue is {values[0]:.3g}, in the direction of "
        f"{list_names(at, {})}.",
    )


def factor_weight(matrix: FloatArray) -> FloatArray:
    """C (k, n) with Cᵀ C = matrix, which is positive semidefinite of rank k."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    keep = values > THRESHOLDS.zero * max(float(values[-1]), 0.0)
    return np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T)


def cross_weight(symbol: str, given: object, rows: int, columns: int, why: str) -> FloatArray:
    """(rows, columns); zero where it is left out."""
    if given is None:
        return np.zeros((rows, columns))
    return real_matrix(symbol, given, rows, columns, why, vector="column" if columns == 1 else "row")


def remove_reference(system: StateSpace) -> StateSpace:
    """The model without its operating point."""
    kept = {key: value for key, value in system.provenance.items() if key != "reference"}
    return system.replace(provenance=kept, units=system.units)


def replace_fields(design: Any, **fields: Any) -> Any:
    """A copy of a frozen design with some attributes replaced."""
    copy = object.__new__(type(design))
    copy.__setstate__({**design.__getstate__(), **fields})
    return copy


def _check_point(system: StateSpace, at: object) -> None:
    """A mapping must name states, inputs or outputs; any other object must allow access by name."""
    if isinstance(at, Mapping):
        every = (*system.states, *machine_names(system), *system.inputs, *system.outputs)
        for name, value in at.items():
            require_name("state, input or output", name, every, "this system", argument="at")
            real_number(f"at[{name!r}]", value)
    elif at is not None and not hasattr(at, "__getitem__"):
        raise DataError("wrong-type", f"at must be a mapping of names to values or a State of the machine, got {at!r}.")


def reference_values(system: StateSpace, names: Iterable[str], at: Any = None) -> FloatArray:
    """Values of states, inputs or outputs at the operating point; zero where no value is given.

    at : mapping of names to values, or a `State` of the machine, in place of the operating point of ``da.linearize``.
    """
    known: Mapping[str, float] = system.provenance.get("reference", {})
    _check_point(system, at)
    rates = {f"{name}.rate": rate for name, rate in system.provenance.get("rates", {}).items()}
    values = []
    for name in names:
        other = rates.get(name, name)
        value = known.get(name, known.get(other, 0.0))
        if isinstance(at, Mapping):
            value = at.get(name, at.get(other, value))
        elif at is not None:
            with suppress(DataError):  # of a sensor or an input: a state of the machine does not hold them
                value = at[other]
        values.append(float(value))
    return np.array(values)
