"""Simulation: from an initial state to a time, with or without a controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Never

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Call
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.loop.actuators import ActuatorLimits
from dalembert.loop.noise import Noise
from dalembert.record import Record
from dalembert.solve.integrate.events import Event
from dalembert.solve.integrate.method import INTEGRATORS, Method, options_of
from dalembert.solve.integrate.open_run import open_run

if TYPE_CHECKING:
    from dalembert.linear import SecondOrder, StateSpace
    from dalembert.model import Mechanism

LOOP = ("controller", "observer", "noise", "references", "actuators", "switch_on")


def simulate(
    eqs: EquationsOfMotion | Mechanism | StateSpace | SecondOrder,
    until: float,
    *,
    start: object = None,
    inputs: Mapping[str, Any] | Record | None = None,
    method: Method | None = None,
    every: float | Sequence[float] | Array | None = None,
    events: Event | Sequence[Event] = (),
    progress: bool | Callable[[float], None] | None = None,
    controller: object = None,
    observer: object = None,
    noise: Noise | None = None,
    references: Mapping[str, Any] | Record | None = None,
    actuators: Mapping[str, ActuatorLimits] | None = None,
    switch_on: object = None,
    **unknown: Never,
) -> Record:
    """Motion of a machine from an initial state to a time, free or driven by a controller.

    Parameters
    ----------
    eqs : equations of motion, or a mechanism (``da.equations`` of it); with a controller, observer or noise also a
        `StateSpace` or `SecondOrder` (its start a mapping or array of states; sampled loops step it exactly under held
        inputs, whole intervals only).
    until : end time [s].
    start : from `da.assemble`; or named coordinates and rates, ``{"A.angle": "90 deg", "A.rate": 2.0}``; None starts at
        rest from the drawing.
    inputs : channel -> number, function of time, or Record; zero where left out.
    method : `da.DormandPrince()` by default; `da.RK4(step)`; for stiff machines `da.Rosenbrock()`,
        `da.GeneralizedAlpha(step)`, `da.Sundials()`.
    every : sampling interval of the record, or the sample times; None: every step of a fixed-step method, else 1000
        intervals.
    events : `da.Event`s that stop the run or switch something at a zero crossing.
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done.
    controller : a design with ``law()``, or a list of such that drive different inputs. A law with an interval
        acts every ``dt`` seconds and its inputs are held; one without acts continuously, inside the equations.
    observer : a filter between sensors and controller; the controller reads its estimate instead of the machine.
        Behind a sampled one a continuous law without a state acts at its samples. A filter without an interval of its
        own takes that of the laws, or ``noise.every``.
    noise : `da.Noise` of process and sensors, with its seed.
    references : set points of laws: name -> number, function of time, or Record; a set point that is left out is
        that of the law's operating point, or zero.
    actuators : driven input -> `da.ActuatorLimits` (limits, rate, resolution, delay). Integrals of designs
        of `da.control` stop at the limits; their observers read the limited input, not the command. A law made by hand
        may read its own input.
    switch_on : time [s] from which laws drive; a `da.Event` for its first crossing (with a sampled law: from the next
        sample on), or (time, event) for the first after that time. Before it their inputs are those of `inputs`. A
        law without a way to know that it is off (by reading its own input) keeps its initial state.

    Returns
    -------
    Record of all coordinates, joints, reactions, inputs and sensors, with energy balance, joint residuals and step
    statistics (``run.statistics["events"]`` lists names and times of events, ``["singular poses"]`` the passes through
    a pose where constraint rows lose rank, with time, joints and energy lost; a `SimulationWarning` reports them;
    ``["reactions not unique"]`` lists redundant joints, whose reactions the machine leaves open: the channels hold the
    smallest). A run that fails raises an error with the results so far in ``error.record``. A sampled loop has one
    sample of the record per sample of the loop (unless `every` is given) and adds ``measured.<sensor>``,
    ``estimate.<name>``, ``command.<input>``, ``reference.<name>`` and ``<law>.<state>``; inputs are those that act from
    that sample on.
    """
    if unknown:
        raise _report_unknown_keyword(next(iter(unknown)))
    loop = {"controller": controller, "observer": observer, "noise": noise, "references": references,
            "actuators": actuators, "switch_on": switch_on}  # fmt: skip
    plant = eqs if isinstance(eqs, EquationsOfMotion) else _make_plant(eqs)
    if not isinstance(plant, EquationsOfMotion) or any(part is not None for part in loop.values()):
        from dalembert.loop.closed_loop import simulate_loop

        return simulate_loop(
            plant, until, start=start, inputs=inputs, method=method, every=every, events=events,
            progress=progress, **loop,
        )  # fmt: skip
    return open_run(
        plant, until, start=start, inputs=inputs, method=method, every=every, events=events, progress=progress
    )


def _make_plant(model: object) -> StateSpace | EquationsOfMotion:
    """Equations of a mechanism, or a linear model as the plant of a loop; anything else is refused.

    Linear systems are loaded where one is given, and the maker of equations where a mechanism is.
    """
    from dalembert.model import Mechanism

    if isinstance(model, Mechanism):
        from dalembert.mechanics import equations

        return equations(model)
    from dalembert.linear import SecondOrder, StateSpace

    if isinstance(model, SecondOrder):
        return model.state_space()
    if isinstance(model, StateSpace):
        return model
    raise ModelError(
        "wrong-type",
        f"simulate needs equations of motion, got {type(model).__name__}.",
        Advice("Make them with {}.", Call("da.equations")),
    )


def _report_unknown_keyword(name: str) -> TypeError:
    if any(name in options_of(kind) for kind in INTEGRATORS.values()):
        return TypeError(f"simulate has no keyword {name!r}; it belongs to the method: method=da.RK4(step=1e-3), ...")
    known = ("start", "inputs", "method", "every", "events", "progress", "until", *LOOP)
    return TypeError(f"simulate: {unknown_name('keyword', name, known)}")
