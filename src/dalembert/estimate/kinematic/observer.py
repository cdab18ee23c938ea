"""Observers from the joints of a machine alone: no mass, no friction, no force (Palomba 2016, ch. 2).

Measured velocities or accelerations are the inputs u, measured positions the outputs y; the independent coordinates z
and their derivatives are estimated, and with them every joint and sensor of the machine. `model_kinematics` makes the
model; any filter of ``da.estimate`` takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from dalembert.core.declare import checked, instance, mapping, one_of, positive
from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import State
from dalembert.estimate.kinematic.check import check_levels, largest_determinant
from dalembert.estimate.kinematic.model import KinematicModel
from dalembert.estimate.kinematic.quantities import LEVEL
from dalembert.estimate.kinematic.relations import find_relations
from dalembert.estimate.kinematic.step import METHODS, SCHEMES, KinematicStep
from dalembert.estimate.kinematic.switching import Switching

Order = Annotated[str, one_of(*LEVEL[1:]), "level of the inputs"]
Method = Annotated[str, one_of(*METHODS), "of integration"]
NewmarkForm = Annotated[str, one_of("velocity", "displacement"), "of Newmark's formula"]
Newmark = Annotated[float, positive, "number of Newmark's formula"]
SwitchingRule = Annotated[
    Switching,
    instance(Switching, advice=[Advice("Give {}.", Call("da.estimate.Switching"))]),
    "near singular poses",
    ModelError,
]


@checked
def model_kinematics(
    model: object,
    *,
    independent: str | Sequence[str],
    inputs: str | Sequence[str],
    outputs: str | Sequence[str],
    order: Order = "acceleration",
    scheme: int | str | None = "constraint",
    method: Method = "euler",
    form: NewmarkForm = "velocity",
    beta: Newmark = 0.3025,
    gamma: Newmark = 0.6,
    switching: SwitchingRule | None = None,
    weights: Mapping[str, float] | None = None,
    use_current: bool = False,
    start: Mapping[str, float] | State | None = None,
    workspace: Mapping[str, tuple[float, float]] | None = None,
    units: Mapping[str, str] | None = None,
) -> KinematicModel:
    """A kinematics-based model for filters: from joints and sensors alone, no masses and no forces.

    Parameters
    ----------
    model : a mechanism, its equations, or a function of ``s`` that returns formulas
        (``lambda s: {"slider": 0.3 * da.sin(s["crank"])}`` names ``slider``, ``slider.rate``, ``slider.acceleration``).
    independent : as many coordinates as the machine has degrees of freedom.
    inputs : measured velocities or accelerations (sensors or coordinates by name), at least as many.
    outputs : measured positions (and rates), at least as many; another set than the inputs.
    order : ``"acceleration"`` or ``"velocity"``: the quantity of the inputs.
    scheme : how the highest derivative enters the state: 1 ``"constraint"``, 2 ``"newmark"``, 3 ``"both"``, or None for
        a state without it.
    method : ``"euler"``, ``"heun"`` or ``"rk4"``, of the other rows, with the input held over the step; Euler's pairs
        every input with the pose it was measured at.
    form, beta, gamma : ``"velocity"`` (gamma) or ``"displacement"`` (beta) form of Newmark's formula.
    switching : treatment of poses where the inputs do not determine the coordinates; None: none.
    weights : weight of every input in the least squares, e.g. one over its variance; 1 each by default.
    use_current : the step to sample k takes the inputs of sample k, not k - 1, so that the highest derivative does not
        lag (scheme 1; Euler's or Heun's method).
    start : initial coordinates, rates, accelerations, reached from the drawing; or a state of the machine
        (`da.assemble`), which also determines how its loops are closed.
    workspace : range of every independent coordinate for :meth:`KinematicModel.check`.
    units : of the quantities of formulas.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True, gravity=(0, 0))
    >>> arm = m.add_body("arm", mass=1.0, inertia=da.rod(0.4))
    >>> joint = m.add_revolute("A", m.ground.at(0, 0), arm.at(-0.2, 0))
    >>> sensor = m.add_sensor("acc", da.accelerometer(arm.at(0.1, 0)))
    >>> model = da.estimate.model_kinematics(m, independent="A.angle", inputs="acc.y", outputs="A.angle")
    >>> model.states.names
    ('A.angle', 'A.rate', 'A.acceleration')
    """
    level, chosen = LEVEL.index(order), _scheme(scheme)
    _check_newmark(chosen, method, form, level)
    if use_current and (chosen != "constraint" or method == "rk4"):
        fits = Advice("Use {} and the method 'euler' or 'heun'.", Argument("scheme", "constraint"))
        raise ModelError(
            "conflicting-arguments", "inputs of the current sample do not fit this scheme or method.", fits
        )
    at, named = (start, None) if isinstance(start, State) else (None, start)
    relations = find_relations(model, independent, units, at)
    measured = tuple(relations.names(inputs, "inputs"))
    read = tuple(relations.names(outputs, "outputs"))
    check_levels(relations, measured, read, level, chosen)
    weight = _weights(weights, measured)
    stepper = KinematicStep(
        relations, measured, weight, level, chosen, method, form, beta, gamma, switching, 1.0, use_current
    )
    observer = KinematicModel(stepper, read, {}, workspace)
    observer = replace(observer, start=observer.read_values(named) if at is None else relations.read(at))
    observer.state()  # checks the initial state
    if switching is not None and switching.distance is None:
        observer = replace(observer, stepper=replace(stepper, scale=largest_determinant(observer, workspace)))
    return observer


def _scheme(given: Any) -> str | None:
    name = SCHEMES.get(given) if isinstance(given, int) else given
    if given is not None and name not in SCHEMES.values():
        problem = f"scheme must be 1 'constraint', 2 'newmark', 3 'both' or None, got {given!r}."
        raise ModelError("unknown-choice", problem)
    return name


def _check_newmark(scheme: str | None, method: str, form: str, level: int) -> None:
    if form == "displacement" and scheme in ("newmark", "both"):
        if level == 1:
            problem = "the displacement form of Newmark's formula needs accelerations as inputs."
            raise ModelError("conflicting-arguments", problem)
        if method == "euler":
            raise ModelError(
                "conflicting-arguments",
                "with Euler's method z_k - z = Δt ż, so Newmark's formula in displacement form has no inputs in it.",
                Advice("Use {}.", Argument("method", "heun"), Argument("method", "rk4"), Argument("form", "velocity")),
            )


def _weights(given: Mapping[str, float] | None, inputs: tuple[str, ...]) -> tuple[float, ...]:
    weights = mapping("input", positive)("weights", given)
    for name in weights:
        require_name("input", name, inputs, error=ModelError, argument="weights")
    return tuple(weights.get(name, 1.0) for name in inputs)
