"""The process of a machine for a filter, with the outputs, inputs, coordinates and steps that a user chooses.

Its functions are built in `machine_functions`, the errors of its state are defined in `manifold`. Inputs named
``unknown`` are states too, random walks: d_{k+1} = d_k plus noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from dalembert.core.arguments import one_of, positive_number, take_names
from dalembert.core.errors import ModelError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import Channels, EquationsOfMotion, State
from dalembert.estimate.models.machine_functions import MachineFunctions, further_channels
from dalembert.estimate.models.manifold import Manifold, Tangent, independent
from dalembert.estimate.models.process import Names, Process, find_places, process
from dalembert.estimate.models.runge_kutta import SUBSTEPS
from dalembert.expressions import Array
from dalembert.numerics.runge_kutta import Tableau, find_tableau
from dalembert.solve.position.assemble import assemble, check_start, check_weightless

NEWTON_STEPS = 2  # from a state to one an error away, after the first along the tangent: 0.1 rad -> 1e-6 -> 1e-12


@process.register
def machine_process(
    eqs: EquationsOfMotion,
    *,
    outputs: str | Iterable[str] | None = None,
    inputs: str | Iterable[str] | None = None,
    dt: float | None = None,
    coordinates: str | Iterable[str] | None = None,
    closing: str = "independent",
    method: str | Tableau = "rk4",
    steps: int = 1,
    unknown: str | Iterable[str] | None = None,
    wrapped: str | Iterable[str] | None = None,
    report: str | Iterable[str] | None = None,
    at: State | None = None,
    newton_steps: int = NEWTON_STEPS,
) -> Process:
    """The process of a machine, for a filter.

    Parameters
    ----------
    outputs : sensors (``"imu"`` means all its axes), coordinates or rates of joints and bodies, speeds or internal
        states that are measured; all sensors when left out.
    inputs : known inputs; all that are not `unknown` when left out. The others are zero.
    dt : interval of the filter [s]; a machine takes any, so it may be left out.
    coordinates : independent coordinates whose errors have the covariance, such as ``["A.angle"]``. They must stay
        independent at every pose: the crank's angle of a slider-crank, not the slider's place. Chosen when left out.
    closing : "independent", or "projection": covariances of all tangent coordinates, projected onto the joints.
    method, steps : "rk4", "heun", "midpoint", "euler" or an explicit `Tableau`; number of its steps per interval.
    unknown : inputs that are estimated, as random walks.
    wrapped : outputs whose residual is taken in (-π, π]; those in radians when left out, so that an encoder may read
        many turns or one.
    report : further channels of the estimate, by name, or "all": reactions of joints, energies, sensors that need
        accelerations or reactions and are not measured. All coordinates, speeds, internal states, joint coordinates
        with their rates and other sensors are always channels of the estimate.
    at : the initial state of the machine; that of `da.assemble` when left out.
    newton_steps : Newton steps that bring a corrected state onto the joints, after a move along their tangent.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.estimate import process
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> sensor = m.add_sensor("encoder", da.angle("hinge"))
    >>> process(da.equations(m), dt=0.01)
    Process('pendulum': nonlinear, 6 states on a manifold of 2 dimensions, 0 inputs, outputs encoder)
    """
    drawn = at is None
    at = _start(eqs, at)
    free, estimated = _drives(eqs, inputs, unknown)
    places, names, units = _read_outputs(eqs, outputs)
    table = _tableau(method)
    one_of("closing", closing, ("independent", "projection"))
    for label, count in (("steps", steps), ("newton_steps", newton_steps)):
        SUBSTEPS(label, count)
    if dt is not None:
        positive_number("dt", dt)
    named = None if coordinates is None else [coordinates] if isinstance(coordinates, str) else list(coordinates)
    manifold: Manifold
    if closing == "projection" or (not eqs.rows and named is None):
        if named is not None:
            unused = Advice("Leave {} out.", Argument("coordinates"))
            raise ModelError("ineffective-argument", "a projection needs no independent coordinates.", unused)
        manifold = Tangent(eqs, newton_steps)
    else:
        manifold = independent(eqs, at, named, newton_steps)
    machine = MachineFunctions(eqs, manifold, tuple(places), tuple(free), tuple(estimated), table, int(steps),
                      _read_report(eqs, report))  # fmt: skip
    key = ("process", manifold.positions.names, manifold.speeds.names, closing, tuple(places), tuple(free),
           tuple(estimated), table, steps, newton_steps, machine.more)  # fmt: skip
    if machine.ne == 0:
        problem = f"the joints and drivers of {eqs.name!r} leave no freedom: there is nothing to estimate."
        raise ModelError("no-freedom", problem)
    channels = machine.report_channels()
    return Process(
        eqs.name, machine.errors(), machine.state_channels(),
        Channels([eqs.inputs.names[k] for k in free], [eqs.inputs.units[k] for k in free]), Channels(names, units),
        eqs.cache(key, machine.functions), machine.column(at), eqs.parameters, eqs.parameter_values,
        Channels([c[2] for c in channels], [c[3] for c in channels]), _find_angles(wrapped, names, units),
        source=eqs, placed=partial(place, machine, None if drawn else at),
    )  # fmt: skip


def place(machine: MachineFunctions, at: State | None, given: Mapping[str, float] | State) -> Array:
    """x of a state, or of named values: the joints are closed around those, from `at` or from the drawing."""
    eqs = machine.eqs
    if isinstance(given, State):
        return machine.column(_start(eqs, given))
    tables = {"unknown": [eqs.inputs.names[k] for k in machine.unknown], "internal": eqs.internal.names,
              "velocity": (*eqs.measure_rates.names, *eqs.speeds.names), "position": eqs.measures.names,
              "guess": eqs.coordinates.names}  # fmt: skip
    parts: dict[str, dict[str, float]] = {kind: {} for kind in tables}
    for name, value in given.items():
        kind = next((kind for kind, names_ in tables.items() if eqs.full_name(name) in names_), None)
        if kind is None:
            names_ = dict.fromkeys(word for table in tables.values() for word in table)
            where = f"equations {eqs.name!r}"
            raise ModelError(
                "unknown-name", f"start: {unknown_name('coordinate, rate or internal state', name, names_, where)}"
            )
        parts[kind][name] = value
    walking = parts.pop("unknown")
    if all(name in given for name in (*eqs.coordinates.names, *eqs.speeds.names)):  # such as an earlier estimate
        q, v = ([float(given[name]) for name in kind.names] for kind in (eqs.coordinates, eqs.speeds))
        x = machine.column(assemble(eqs, internal=parts["internal"], start=eqs.state(q, v)))
    else:
        t = 0.0 if at is None else at.t
        x = machine.column(
            assemble(eqs, parts["position"], velocity=parts["velocity"], guess=parts["guess"],
                     internal=parts["internal"], start=at, t=t)
        )  # fmt: skip
    for name, value in walking.items():
        x[machine.state_channels().index[name]] = value
    return x


def _start(eqs: EquationsOfMotion, at: State | None) -> State:
    if at is None:
        at = assemble(eqs)
    elif not isinstance(at, State):
        raise ModelError(
            "wrong-type",
            f"the initial state must be a State, got {type(at).__name__}.",
            Advice("Make one with {}.", Call("da.assemble")),
        )
    elif at.eqs.coordinates.names != eqs.coordinates.names:
        problem = f"the initial state belongs to equations {at.eqs.name!r}, not to {eqs.name!r}."
        raise ModelError("wrong-owner", problem)
    check_start(eqs, at)
    check_weightless(eqs, at)
    return at


def _drives(eqs: EquationsOfMotion, inputs: Names, unknown: Any) -> tuple[list[int], list[int]]:
    estimated = [] if unknown is None else find_places(unknown, eqs.inputs.names, "input")
    if inputs is None:
        return [k for k in range(eqs.nu) if k not in estimated], estimated
    free = find_places(inputs, eqs.inputs.names, "input")
    both = [eqs.inputs.names[k] for k in free if k in estimated]
    if both:
        problem = f"{', '.join(map(repr, both))}: an input is either known or estimated."
        name_once = Advice("Name it in one of {}.", Argument("inputs"), Argument("unknown"))
        raise ModelError("conflicting-arguments", problem, name_once)
    return free, estimated


def _read_outputs(eqs: EquationsOfMotion, outputs: Names) -> tuple[list[tuple[str, int]], list[str], list[str]]:
    """Where every output is found, its name and unit."""
    if outputs is None:
        outputs = eqs.outputs.names
        if not outputs:
            raise ModelError(
                "empty",
                f"{eqs.name!r} has no sensors.",
                Advice("Add one with {}.", Call("m.add_sensor")),
                Advice("Or name the measured coordinates in {}.", Argument("outputs")),
            )
    tables = {"sensor": eqs.outputs, "measure": eqs.measures, "rate": eqs.measure_rates,
              "q": eqs.coordinates, "v": eqs.speeds, "z": eqs.internal}  # fmt: skip
    places: list[tuple[str, int]] = []
    names: list[str] = []
    for word in take_names("output", outputs):
        place = _place(tables, word, eqs.full_name(word))
        axes = [name for name in eqs.outputs.names if name.startswith(f"{word}.")]
        if place is not None:
            places.append(place)
            names.append(word)
        elif axes:
            places += [("sensor", eqs.outputs.index[name]) for name in axes]
            names += axes
        else:
            readable = (*eqs.outputs.names, *eqs.measures.names, *eqs.measure_rates.names, *eqs.internal.names)
            raise ModelError(
                "unknown-name",
                f"outputs: {unknown_name('sensor or coordinate', word, readable, f'equations {eqs.name!r}')}",
            )
    if not names:
        raise ModelError("empty", "no outputs are named: a filter needs something measured.")
    if len(set(names)) < len(names):
        raise ModelError("duplicate", f"an output is named twice: {', '.join(names)}.")
    return places, names, [tables[kind].units[k] for kind, k in places]


def _place(tables: Mapping[str, Channels], *names: str) -> tuple[str, int] | None:
    for kind, channels in tables.items():
        for name in names:
            if name in channels.index:
                return kind, channels.index[name]
    return None


def _tableau(method: object) -> Tableau:
    table = find_tableau(method)
    if not table.explicit:
        raise ModelError(
            "not-supported",
            f"the filter of a machine takes explicit steps (rk4, heun, midpoint, euler), not {method!r}.",
            Advice("For a stiff machine use more {}.", Argument("steps")),
        )
    return table


def _find_angles(given: Any, names: list[str], units: list[str]) -> tuple[bool, ...]:
    if given is None:
        return tuple(unit == "rad" for unit in units)
    places = find_places(given, tuple(names), "output")
    return tuple(k in places for k in range(len(names)))


def _read_report(eqs: EquationsOfMotion, report: Any) -> tuple[str, ...]:
    known = [name for channels in further_channels(eqs).values() for name in channels.names]
    if report is None:
        return ()
    if report == "all":
        return tuple(known)
    names = [report] if isinstance(report, str) else list(report)
    for name in names:
        require_name(
            "sensor, reaction or energy", name, known, f"equations {eqs.name!r}", error=ModelError, argument="report"
        )
    return tuple(names)
