"""Parameters of a machine from records, by multiple shooting with exact derivatives (after Bock 1987).

    minimise over p, x₀, …, x_S   Σ ‖(y - ŷ)/σ‖²   with   x_j(end; p) = x_{j+1}(start)

`initial_states` finds the first states, `search` minimises, `shooting` simulates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from dalembert.core.arguments import positive_number, whole_number
from dalembert.core.errors import ConvergenceError, DataError, ModelError, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.progress import Progress, Setting
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.identify.machine import initial_states
from dalembert.identify.machine.fitted import FittedMachine, make_result
from dalembert.identify.machine.records import MeasuredTests, Names, read_tests
from dalembert.identify.machine.search import Search
from dalembert.identify.machine.shooting import (
    Segments,
    Shooter,
    ShootingSteps,
    cut_segments,
    find_tangents,
    take_segment,
)
from dalembert.identify.records.checks import find_name
from dalembert.identify.records.reporting import report_findings
from dalembert.record import Record

Start = State | Mapping[str, float] | None


@report_findings
def fit(
    eqs: EquationsOfMotion, record: Record | Sequence[Record], parameters: Sequence[str] | Mapping[str, float], *,
    outputs: Names = None, inputs: Names = None, start: Start | Sequence[Start] = None,
    bounds: Mapping[str, tuple[float, float]] | None = None, weights: Mapping[str, float] | None = None,
    shooting: int | None = None, hold: Literal["linear", "zero"] = "linear", substeps: int | None = None,
    progress: Setting = None,
) -> FittedMachine:  # fmt: skip
    """Estimate parameters of a machine (masses, lengths, stiffnesses, friction) from measured records.

    Parameters
    ----------
    eqs : equations of motion whose unknown numbers were declared with ``m.parameter(name, value)``
    record : Record, or a sequence of repeated tests
        Each test has an initial state of its own; all share the parameters. Sampling may be uneven, outputs
        may have gaps.
    parameters : names, or a mapping of names to first values (those of ``eqs`` where left out)
    outputs : channels to match, named like sensors, coordinates or rates; or a mapping of those names to channels
        All sensors that the record has; without sensors all joint coordinates it has.
    inputs : channels that drive, named like inputs of ``eqs``; or a mapping of inputs to channels
        All inputs that the record has; an input without a channel is zero.
    start : State, or mapping of coordinates to values, or one of these per record, optional
        First guess of the initial state, which is always estimated.
    bounds : mapping of a parameter to (low, high), optional
        Parameters in the mass matrix stay positive by themselves.
    weights : mapping of an output channel to 1 / (standard deviation of its noise), optional
        Estimated from the residuals where not given.
    shooting : number of segments per record, optional
        About two per period when left out; 1 is single shooting, which needs good first values.
    hold : "linear" or "zero"
        The input between samples: linear, or that of the sample before.
    substeps : Runge-Kutta steps per sample, optional
        As many as the outputs need (to 1e-5 of their spread) when left out.
    progress : None, True, False or a function of the fraction done

    Returns
    -------
    FittedMachine
        ``result.equations`` are ``eqs`` with the fitted values; after a stop from the keyboard the best ones so far.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> bob = m.add_body("bob", mass=1.0)
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, m.parameter("length", 2.0)))
    >>> eqs = da.equations(m)
    >>> truth = eqs.replace(length=1.5)
    >>> run = da.simulate(truth, until=8.0, start=da.assemble(truth, {"hinge.angle": 1.0}), every=0.05)
    >>> round(fit(eqs, run, ["length"], outputs="hinge.angle")["length"], 5)
    1.5
    """
    most_substeps = 1000  # of a sample: all are in one expression
    require_equations(eqs)
    chosen, first = _parameters(eqs, parameters)
    low, high = _bounds(eqs, chosen, first, bounds)
    eqs = eqs.replace(**dict(zip(chosen, np.clip(first, low, high), strict=True)))
    tests = read_tests(eqs, record, outputs, inputs, hold)
    for name, value, most in (("shooting", shooting, None), ("substeps", substeps, most_substeps)):
        if value is not None:
            whole_number(name, value, 1, most)
    sigma = _noise(tests, weights)
    with Progress(progress, "fit") as bar:
        search = _prepare(eqs, tests, chosen, start, shooting, hold, substeps)
        search.sigma = sigma if weights else search.sigma
        search.fixed, search.refine = weights is not None, substeps is None
        search.low, search.high = low, high
        status = search.run(bar)
    return make_result(eqs, tests, search, status, hold)


def _parameters(eqs: EquationsOfMotion, given: Sequence[str] | Mapping[str, float]) -> tuple[list[str], Array]:
    values = dict(given) if isinstance(given, Mapping) else {}
    names = list(values) if values else [given] if isinstance(given, str) else list(given)
    if not names:
        raise DataError("empty", "no parameter to estimate was named.", where={"argument": "parameters"})
    if len(set(names)) < len(names):
        raise DataError("duplicate", f"parameters are named twice: {', '.join(names)}.")
    for name in names:
        require_name(
            "parameter",
            name,
            eqs.parameters.names,
            f"equations {eqs.name!r}",
            Advice("Declare it with {} first.", Call("m.parameter", Argument("name", name), Argument("value"))),
            error=ModelError,
            where={"parameter": name},
        )
    nominal = {name: float(eqs.p[eqs.parameters.index[name]]) for name in names}
    first = np.array([float(values.get(name, nominal[name])) for name in names])
    return names, first


def _bounds(
    eqs: EquationsOfMotion, names: list[str], first: Array, given: Mapping[str, tuple[float, float]] | None
) -> tuple[Array, Array]:
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    inertial = set(eqs.functions["inertia"].jac_sparsity(0, 1).get_col())
    for k, name in enumerate(names):
        if eqs.parameters.index[name] in inertial and first[k] > 0:
            low[k] = 1e-6 * first[k]
    for name, pair in (given or {}).items():
        k = find_name("parameter", name, names, "bounds", parameter=name)
        try:
            low[k], high[k] = (float(value) for value in pair)
        except (TypeError, ValueError):
            raise DataError("wrong-shape", f"bounds of {name!r} must be a pair (low, high), got {pair!r}.") from None
        if not low[k] < high[k]:
            raise DataError("out-of-range", f"bounds of {name!r}: {low[k]:g} is not below {high[k]:g}.")
    return low, high


def _noise(tests: MeasuredTests, weights: Mapping[str, float] | None) -> Array:
    sigma = initial_states.find_spreads(tests)
    if weights is None:
        return sigma
    for name in weights:
        find_name("output channel", name, tests.channels, "weights")
    for k, name in enumerate(tests.channels):
        if name not in weights:
            raise DataError("missing-argument", f"weights need one entry for every output; {name!r} is missing.")
        sigma[k] = 1.0 / positive_number(f"the weight of {name!r}", weights[name])
    return sigma


def _prepare(
    eqs: EquationsOfMotion, tests: MeasuredTests, chosen: list[str], start: Start | Sequence[Start],
    shooting: int | None, hold: str, substeps: int | None,
) -> Search:  # fmt: skip
    """Segments, steps and an initial state for each."""
    count = len(tests.runs)
    starts: list[Start] = list(start) if isinstance(start, (list, tuple)) else [start] * count  # type: ignore[list-item]
    if len(starts) != count:
        raise DataError("wrong-shape", f"start holds {len(starts)} states for {count} records.")
    x0 = [initial_states.find_initial_state(eqs, tests, k, starts[k]) for k in range(count)]
    columns = [eqs.parameters.index[name] for name in chosen]
    n = find_tangents(eqs, x0[0], eqs.p, float(tests.runs[0].t[0]), np.ones(len(x0[0]))).shape[1]
    spread = initial_states.find_spreads(tests)
    lengths = [
        initial_states.choose_segment_length(run, n, [tests.units[c] == "rad" for c in tests.channels])
        for run in tests.runs
    ]

    def make(substeps: int) -> ShootingSteps:
        return ShootingSteps(eqs, tests.outputs, columns, n, substeps)

    full = cut_segments(tests, lengths, hold)  # states are found segment by segment in any case
    shooter, x = _track_states(make, full, x0, eqs.p, spread, n, substeps)
    states, y = shooter.shoot(x, eqs.p)
    scale = initial_states.scale_states(eqs, states[:, :, : shooter.steps.nx].reshape(-1, shooter.steps.nx))
    if shooting is not None:
        lengths = [max(1, round((len(run.t) - 1) / shooting)) for run in tests.runs]
        segments = cut_segments(tests, lengths, hold)
        shooter = Shooter(shooter.steps, segments)
        x = _take_states(full, states, segments)
    misfit = float(np.sqrt(np.nanmean(((y - full.y) / spread) ** 2)))
    sigma = spread * np.clip(misfit, 1e-3, 1.0)
    return Search(eqs, shooter, chosen, columns, x, scale, spread, sigma)


def _track_states(
    make: Callable[[int], ShootingSteps], whole: Segments, x0: list[Array], p: Array, spread: Array, n: int,
    substeps: int | None, finest: int = 64,
) -> tuple[Shooter, Array]:  # fmt: skip
    """A state per segment, with steps fine enough for all of them."""
    scale = np.ones(len(x0[0]))
    opening = np.zeros((1, make(1).size))
    opening[0, : len(x0[0])] = x0[0]
    opening[0, len(x0[0]) :] = initial_states.find_reactions(
        make(1), opening[0], whole.u[0, 0], p, float(whole.t[0, 0])
    )
    fine = substeps or initial_states.choose_substeps(make, take_segment(whole, 0), opening, p, spread, 1)
    while True:
        shooter = Shooter(make(fine), whole)
        try:
            x = initial_states.track_states(shooter, x0, p, spread, scale, n)
            better = fine if substeps else initial_states.choose_substeps(make, whole, x, p, spread, fine)
        except ConvergenceError:  # a machine that speeds up may need shorter steps than at its start
            if substeps or fine >= finest:
                raise
            better = 2 * fine
        if better == fine:
            return shooter, x
        fine = better


def _take_states(whole: Segments, states: Array, own: Segments) -> Array:
    """States of some segments at the first samples of others."""
    result = np.zeros((len(own.h), states.shape[2]))
    for j in range(len(own.h)):
        inside = np.flatnonzero((whole.run == own.run[j]) & (whole.first <= own.first[j]))
        k = int(inside[-1])
        result[j] = states[k, int(own.first[j] - whole.first[k])]
    return result
