"""Arguments of a design: a linear model as a `StateSpace`, names, weights by name, and the operating point.

A model of `da.linearize` describes deviations from a reference; a law uses the values of the sensors,

    u = u₀ - K (x - x₀) .

``system.provenance`` has the reference: ``"reference"`` {name: value} of states, inputs and outputs, and
``"rates"`` {coordinate: name of its rate in the machine}, which `SecondOrder.state_space` calls ``<coordinate>.rate``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import numpy as np

from dalembert.core import arguments
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import ArgumentKind, Scope, mapping, matrix, names, number, one_of, positive, symmetric_part
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Call
from dalembert.core.text import list_names
from dalembert.estimate.models.process import machine_names
from dalembert.linear import SecondOrder, StateSpace
from dalembert.numerics.sample_times import is_same_time

# -- kinds of arguments ------------------------------------------------------------------------------------------------


def _read_model(name: str, system: object, scope: Scope) -> StateSpace:
    model = system.state_space() if isinstance(system, SecondOrder) else system
    if not isinstance(model, StateSpace):
        hints = {"EquationsOfMotion": " Write da.linearize(eqs).", "Mechanism": " Write da.linearize(da.equations(m))."}
        kind = type(system).__name__
        if isinstance(getattr(system, "system", None), (SecondOrder, StateSpace)):
            hints[kind] = " Hand over its .system."
        elif hasattr(system, "identified"):
            hints[kind] = " Hand over its .identified.system."
        raise DataError("wrong-type", f"{name} must be a StateSpace or a SecondOrder, got {kind}.{hints.get(kind, '')}")
    scope |= {"model": model, "states": model.states, "inputs": model.inputs, "outputs": model.outputs}
    return model


def _read_dynamic(name: str, system: object, scope: Scope) -> StateSpace:
    model = _read_model(name, system, scope)
    if model.nx == 0:
        raise DataError("no-states", f"{name} must have states; this one is a pure gain.")
    return model


def weight(of: str, noun: str, *, positive: bool = False) -> ArgumentKind:
    """(n, n) symmetric, not indefinite, from a number, a diagonal, a matrix or a mapping of names.

    positive : singular ones are refused as well, so that a mapping must give every name.
    """

    def read(symbol: str, value: Any, scope: Scope) -> FloatArray:
        known = scope[of]
        if isinstance(value, Mapping):
            entries = mapping(noun, number, of).read(symbol, value, scope)
            missing = [name for name in known if name not in entries]
            if missing and positive:
                wanted = f"give {', '.join(map(repr, missing))} a value too"
                raise DataError("not-positive-definite", f"{symbol} must be positive definite; {wanted}.")
            array = np.diag([entries.get(name, 0.0) for name in known])
        else:
            array = _square(symbol, value, known, noun)
        array = symmetric_part(symbol, array)
        require_definite(symbol, array, known, positive=positive)
        return array

    word = "positive definite" if positive else "positive semidefinite"
    return ArgumentKind(f"{word}: a number, a diagonal, a matrix or a mapping of {noun}s", read, (of,))


def _square(symbol: str, value: Any, known: Sequence[str], noun: str) -> FloatArray:
    n, why = len(known), f"one row and column per {noun}, in the order {list_names(known, {})}"
    if hasattr(value, "toarray"):
        value = value.toarray()
    try:
        if np.iscomplexobj(np.asarray(value)):
            raise ValueError("it holds complex numbers")
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        problem = f"{symbol} must be a number, a diagonal, a matrix or a mapping of names: {error}"
        raise DataError("not-a-number", problem) from None
    if array.ndim == 0:
        array = number(symbol, float(array)) * np.eye(n)
    elif array.ndim == 1 and len(array) == n:
        array = np.diag(array)
    return arguments.matrix(symbol, array, n, n, why)


def _read_noise(symbol: str, value: Any, scope: Scope) -> FloatArray:
    """A mapping of inputs gives B Q Bᵀ."""
    model = scope["model"]
    if isinstance(value, Mapping) and value and all(n in model.inputs and n not in model.states for n in value):
        entered: FloatArray = model.B @ weight("inputs", "input").read(symbol, value, scope) @ model.B.T
        return entered
    array: FloatArray = weight("states", "state").read(symbol, value, scope)
    return array


_MODEL = ("model", "states", "inputs", "outputs")
Model = Annotated[Any, ArgumentKind("a StateSpace or a SecondOrder", _read_model, gives=_MODEL), "linear model"]
Plant = Annotated[
    Any,
    ArgumentKind("a StateSpace or a SecondOrder with states", _read_dynamic, gives=_MODEL),
    "result of da.linearize, or",
]
SampleTime = Annotated[float, positive, "sample time [s]; a continuous system is sampled first (zero-order hold)"]
Horizon = Annotated[float, positive, "horizon [s]; infinite where left out"]
Names = str | Iterable[str] | None
Driven = Annotated[Names, names("input", "inputs", gives="drives", least=1), "inputs that the law drives"]
Followed = Annotated[Names, names("output", "outputs", left_out="none"), "outputs with a reference"]
Integrated = Annotated[Names, names("output", "outputs", left_out="none"), "outputs whose error is integrated"]
Outputs = Annotated[Names, names("output", "outputs"), "outputs that are read"]
Sensors = Annotated[Names, names("output", "outputs", gives="read", least=1), "outputs that it reads"]
StateWeight = Annotated[Any, weight("states", "state"), "weight of the states"]
InputWeight = Annotated[Any, weight("drives", "input", positive=True), "weight of the driven inputs"]
OutputWeight = Annotated[Any, weight("outputs", "output"), "weight of the outputs, y = C x + D u"]
CrossWeight = Annotated[Any, matrix("states", "drives", vector="either"), "cross term, 2 xᵀ N u"]
Noise = Annotated[
    Any, ArgumentKind("a covariance of states, or of inputs by name", _read_noise, ("model",)), "process noise"
]
OutputNoise = Annotated[Any, weight("read", "output", positive=True), "covariance of the noise of the outputs"]
Cost = Annotated[str, one_of("sum", "integral"), "weights of every sample, or of continuous time"]


def sample(model: StateSpace, dt: float | None) -> StateSpace:
    """The model with this sample time, its own where left out; a continuous one is sampled with a zero-order hold."""
    if dt is None:
        return model
    if model.dt is None:
        return model.to_discrete(dt)
    if not is_same_time(dt, model.dt, dt):
        raise DataError(
            "sample-time-mismatch",
            f"the system is sampled every {model.dt:g} s, but the design needs {dt:g} s.",
            Advice("Change its step with {}.", Call("StateSpace.resample")),
        )
    return model


# -- matrices ----------------------------------------------------------------------------------------------------------


def require_definite(
    symbol: str,
    matrix: FloatArray,
    names: Sequence[str],
    *,
    positive: bool,
    indefinite: float = 1e-10,  # eigenvalue, of the largest: below minus this it is no rounding of sums and products
    zero: float = 1e-14,  # eigenvalue of a positive matrix, of the largest: below it is 50 roundings of zero
    named: float = 0.3,  # part of a unit vector from which a name is shown: nine equal parts are 1/3 each
) -> None:
    """Refuse an indefinite weight, and a singular one where it must be positive."""
    values, vectors = np.linalg.eigh(matrix) if len(matrix) else (np.ones(1), np.eye(1))
    largest = max(float(np.abs(values).max()), np.finfo(float).tiny)
    floor = zero * largest if positive else -indefinite * largest
    if values[0] > floor or (not positive and values[0] >= floor):
        return
    at = [name for name, part in zip(names, np.abs(vectors[:, 0]), strict=False) if part > named]
    wanted = "positive definite" if positive else "positive semidefinite"
    raise DataError(
        "not-positive-definite",
        f"{symbol} must be {wanted}; its smallest eigenvalue is {values[0]:.3g}, in the direction of "
        f"{list_names(at, {})}.",
    )


def factor_weight(matrix: FloatArray, zero: float = 1e-14) -> FloatArray:
    """C (k, n) with Cᵀ C = matrix, positive semidefinite of rank k; ``zero``: 50 roundings of an eigenvalue."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    keep = values > zero * max(float(values[-1]), 0.0)
    return np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T)


def is_singular(matrix: FloatArray, condition: float = 1e12) -> bool:
    """Whether fewer than four digits of an inverse would be correct."""
    return bool(len(matrix)) and float(np.linalg.cond(matrix)) > condition


# -- operating point ---------------------------------------------------------------------------------------------------


def remove_reference(system: StateSpace) -> StateSpace:
    """The model without its operating point."""
    provenance = {key: value for key, value in system.provenance.items() if key != "reference"}
    return system.replace(provenance=provenance, units=system.units)


def replace_fields(design: Any, **fields: Any) -> Any:
    """A copy of a frozen design with some attributes replaced."""
    copy = object.__new__(type(design))
    copy.__setstate__({**design.__getstate__(), **fields})
    return copy


def reference_values(system: StateSpace, names: Iterable[str], at: Any = None) -> FloatArray:
    """Values of states, inputs or outputs at the operating point; zero where no value is given.

    at : mapping of names to values, or a `State` of the machine, in place of the operating point of ``da.linearize``.
    """
    reference: Mapping[str, float] = system.provenance.get("reference", {})
    if isinstance(at, Mapping):
        every = (*system.states, *machine_names(system), *system.inputs, *system.outputs)
        at = mapping("state, input or output", number, "every")("at", at, every=every)
    elif at is not None and not hasattr(at, "__getitem__"):
        raise DataError("wrong-type", f"at must be a mapping of names to values or a State of the machine, got {at!r}.")
    rates = {f"{name}.rate": rate for name, rate in system.provenance.get("rates", {}).items()}
    values = []
    for name in names:
        other = rates.get(name, name)
        value = reference.get(name, reference.get(other, 0.0))
        if isinstance(at, Mapping):
            value = at.get(name, at.get(other, value))
        elif at is not None:
            with suppress(DataError):  # of a sensor or an input: a state of the machine does not hold them
                value = at[other]
        values.append(float(value))
    return np.array(values)


def state_values(argument: str, system: StateSpace, values: Mapping[str, Any]) -> dict[int, float]:
    """{place of a state: value} from names of the machine or of the model."""
    states = machine_names(system)
    places: dict[int, float] = {}
    for name, value in values.items():
        if name not in system.states:
            require_name("state", name, states, argument=argument)
        place = states.index(name) if name in states else system.states.index(name)
        places[place] = number(f"{argument}[{name!r}]", value)
    return places
