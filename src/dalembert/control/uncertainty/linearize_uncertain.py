"""Uncertain linear model of a machine whose parameters are known between limits.

Every model of the family is `da.linearize` about the equilibrium of its own machine; `linear.fit_uncertain` makes of
them an uncertain system that is exact where a parameter enters the matrices as a polynomial and its equilibrium stays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, instance, known_as, positive
from dalembert.core.errors import DataError, ModelError, ModelWarning, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, State
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.fit_uncertain import Accuracy, Degree, fit_family, real_block
from dalembert.linear.uncertain import Uncertain
from dalembert.solve.position.assemble import assemble
from dalembert.solve.rest.equilibrium import equilibrium
from dalembert.solve.rest.linearize import linearize

Equations = Annotated[
    EquationsOfMotion,
    instance(EquationsOfMotion, advice=(Advice("Make them with {}.", Call("da.equations")),)),
    "machine",
]
Tolerances = Annotated[
    Any,
    known_as("tolerances", "{name: share or (low, high)}, or a result with deviations"),
    "what is known of parameters",
]
Sigmas = Annotated[float, positive, "half width of a range in standard deviations"]


@checked
def linearize_uncertain(
    eqs: Equations,
    at: State | None = None,
    *,
    parameters: Tolerances,
    sigmas: Sigmas = 3.0,
    inputs: Mapping[str, Any] | None = None,
    outputs: str | Iterable[str] | None = None,
    coordinates: str | Iterable[str] | None = None,
    accuracy: Accuracy = 1e-9,
    degree: Degree = 4,
) -> Uncertain:
    """Uncertain linear model about the equilibrium.

    Parameters
    ----------
    eqs : equations of motion whose parameters were declared with ``m.parameter(name, value)``
    at : equilibrium of the nominal machine; found when left out. The equilibria of the others are sought from it.
    parameters : ``{"rod.mass": 0.1, "spring.stiffness": (8.0, 14.0)}``: a share of the nominal value, or limits; or a
        result with values and deviations (of `da.identify.fit`, a model update, a structured fit), each within
        ``sigmas`` of them.
    sigmas : the default holds 99.7 % of a normal distribution.
    inputs, outputs, coordinates : as of `da.linearize`
    accuracy, degree : as of `da.linear.fit_uncertain`

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True, gravity=(0, -10))
    >>> bob = m.add_body("bob", mass=m.parameter("mass", 1.0))
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, m.parameter("length", 2.5)))
    >>> u = linearize_uncertain(da.equations(m), parameters={"length": 0.1})
    >>> abs(u.at(length=2.25).poles().values.imag).round(6).tolist()
    [2.108185, 2.108185]
    """
    blocks = [
        real_block(name, limits, nominal, eqs.parameters.units[eqs.parameters.index[name]])
        for name, (limits, nominal) in _ranges(eqs, parameters, sigmas).items()
    ]
    nominal = eqs.replace(**{block.name: block.value for block in blocks}) if blocks else eqs
    rest = equilibrium(nominal, inputs=inputs) if at is None else at
    first = nominal.state(rest.q, rest.v, rest.z, rest.t)
    moving = bool(np.abs(first.v).max(initial=0.0) > 0.0)

    def models(points: FloatArray) -> list[SecondOrder | StateSpace]:
        machines = [
            nominal.replace(**{b.name: float(p) for b, p in zip(blocks, point, strict=True)}) for point in points
        ]
        states = [machine.state(first.q, first.v, first.z, first.t) for machine in machines]
        if not moving:
            closed = [assemble(e, start=state, t=state.t) for e, state in zip(machines, states, strict=True)]
            states = [equilibrium(e, start=state, inputs=inputs) for e, state in zip(machines, closed, strict=True)]
        family = linearize(
            nominal, [rest if at is None else first, *states], inputs=inputs, outputs=outputs, coordinates=coordinates
        )
        return list(family[1:])

    uncertain = fit_family(models, blocks, accuracy=accuracy, degree=degree)
    _report_error(eqs, uncertain.error)
    return uncertain


def _report_error(eqs: EquationsOfMotion, error: float, most: float = 1e-2) -> None:
    """Warn of a poor fit. most : of the largest entries, as large as the tolerance of many parameters."""
    if error > most:
        problem = (
            f"the uncertain model of {eqs.name!r} differs from its machines by {error:.1%} of the largest "
            "entries of their matrices."
        )
        advice = Advice("Use narrower ranges, or a higher {}.", Argument("degree"))
        warnings.warn(ModelWarning("ill-conditioned", problem, advice, evidence={"error": error}), stacklevel=4)


def _ranges(eqs: EquationsOfMotion, given: Any, sigmas: float) -> dict[str, tuple[Any, float]]:
    """{name: (share or limits, nominal value)}."""
    if not isinstance(given, Mapping):
        given = _from_deviations(given, sigmas)
    ranges = {}
    for key, limits in given.items():
        name = key if key in eqs.parameters.index else str(key).replace("__", ".")
        advice = Advice("Declare it with {} first.", Call("m.parameter", Argument("name", name), Argument("value")))
        require_name(
            "parameter", name, eqs.parameters.names, f"equations {eqs.name!r}", advice, error=ModelError,
            where={"parameter": name},
        )  # fmt: skip
        value = float(eqs.p[eqs.parameters.index[name]])
        numbers = np.atleast_1d(np.asarray(limits, dtype=object))
        if len(numbers) == 3:
            value = float(numbers[1])
        share = len(numbers) == 1
        problem = f"parameter {name!r} is {value:g}, so a share of it is no range; give (low, high)."
        DataError.when(share and value == 0.0, "empty", problem, where={"parameter": name})
        ranges[name] = (limits, value)
    DataError.when(not ranges, "empty", "no parameter is uncertain.", where={"argument": "parameters"})
    return ranges


def _from_deviations(fitted: Any, sigmas: float) -> dict[str, tuple[float, float, float]]:
    """(low, value, high) of every parameter of a result with deviations."""
    values, deviations = getattr(fitted, "parameters", None), getattr(fitted, "deviations", None)
    if values is None or deviations is None:
        raise DataError(
            "wrong-type",
            f"parameters must map names to ranges, or be a result with deviations, got {type(fitted).__name__}.",
            where={"argument": "parameters"},
        )
    if not isinstance(values, Mapping):
        names = tuple(values)
        values, deviations = dict(zip(names, fitted.values, strict=True)), dict(zip(names, deviations, strict=True))
    unknown = [name for name in values if not 0.0 < deviations[name] < np.inf]
    problem = f"the result does not determine {', '.join(unknown)}, so there is no range of it."
    DataError.when(unknown, "not-finite", problem, where={"parameters": tuple(unknown)})
    return {
        name: (value - sigmas * deviations[name], value, value + sigmas * deviations[name])
        for name, value in values.items()
    }
