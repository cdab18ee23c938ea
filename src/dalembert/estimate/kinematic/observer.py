"""Observers that know a machine by its joints alone: no mass, no friction, no force (Palomba 2016, ch. 2).

Measured velocities or accelerations are the inputs u, measured positions the outputs y; the independent coordinates z
and their derivatives are estimated, and with them every joint and sensor of the machine. `model_kinematics` makes the
model; any filter of ``da.estimate`` takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.core.errors import ModelError, unknown_name
from dalembert.equations import State
from dalembert.estimate.kinematic.check import check_levels, largest_determinant
from dalembert.estimate.kinematic.model import KinematicModel
from dalembert.estimate.kinematic.quantities import LEVEL
from dalembert.estimate.kinematic.relations import relations_of
from dalembert.estimate.kinematic.step import METHODS, SCHEMES, KinematicStep
from dalembert.estimate.kinematic.switching import Switching
from dalembert.expressions.quantities import is_real


def model_kinematics(
    model: Any,
    *,
    independent: str | Sequence[str],
    inputs: str | Sequence[str],
    outputs: str | Sequence[str],
    order: str = "acceleration",
    scheme: int | str | None = "constraint",
    method: str = "euler",
    form: str = "velocity",
    beta: float = 0.3025,
    gamma: float = 0.6,
    switching: Switching | None = None,
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
    order : ``"acceleration"`` or ``"velocity"``: what the inputs are.
    scheme : how the highest derivative enters the state: 1 ``"constraint"``, 2 ``"newmark"``, 3 ``"both"``, or None for
        a state without it.
    method : ``"euler"``, ``"heun"`` or ``"rk4"``, of the other rows, with the input held over the step; Euler's pairs
        every input with the pose it was measured at.
    form, beta, gamma : ``"velocity"`` (gamma) or ``"displacement"`` (beta) form of Newmark's formula.
    switching : what to do near poses where the inputs say nothing; None: nothing.
    weights : weight of every input in the least squares, e.g. one over its variance; 1 each by default.
    use_current : the step to sample k takes the inputs of sample k, not k - 1, so that the highest derivative does not
        lag (scheme 1; Euler's or Heun's method).
    start : coordinates, rates, accelerations to begin with, reached from the drawing; or a state of the machine
        (`da.assemble`), which tells the way its loops are closed too.
    workspace : range of every independent coordinate that :meth:`KinematicModel.check` looks at.
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
    if order not in LEVEL[1:]:
        raise ModelError(f"order must be 'velocity' or 'acceleration', got {order!r}.")
    level, chosen = LEVEL.index(order), _scheme(scheme)
    if method not in METHODS:
        raise ModelError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    _check_newmark(chosen, method, form, beta, gamma, level)
    if use_current and (chosen != "constraint" or method == "rk4"):
        raise ModelError("use_current=True goes with scheme 1 'constraint' and method 'euler' or 'heun'.")
    if switching is not None and not isinstance(switching, Switching):
        raise ModelError(f"switching must be a da.estimate.Switching, got {switching!r}.")
    at, named = (start, None) if isinstance(start, State) else (None, start)
    relations = relations_of(model, independent, units, at)
    told = tuple(relations.names(inputs, "inputs"))
    read = tuple(relations.names(outputs, "outputs"))
    check_levels(relations, told, read, level, chosen)
    weight = _weights(weights, told)
    stepper = KinematicStep(
        relations, told, weight, level, chosen, method, form, beta, gamma, switching, 1.0, use_current
    )
    made = KinematicModel(stepper, read, {}, workspace, bool(getattr(model, "use_c", False)))
    made = replace(made, start=made.named(named) if at is None else relations.read(at))
    made.state()  # refuses a start that does not do
    if switching is not None and switching.distance is None:
        made = replace(made, stepper=replace(stepper, scale=largest_determinant(made, workspace)))
    return made


def _scheme(given: Any) -> str | None:
    found = SCHEMES.get(given) if isinstance(given, int) else given
    if given is not None and found not in SCHEMES.values():
        raise ModelError(f"scheme must be 1 'constraint', 2 'newmark', 3 'both' or None, got {given!r}.")
    return found


def _check_newmark(scheme: str | None, method: str, form: str, beta: float, gamma: float, level: int) -> None:
    if form not in ("velocity", "displacement"):
        raise ModelError(f"form must be 'velocity' or 'displacement', got {form!r}.")
    for name, value in (("beta", beta), ("gamma", gamma)):
        if not is_real(value) or not 0 < value < np.inf:
            raise ModelError(f"{name} must be a positive number, got {value!r}.")
    if form == "displacement" and scheme in ("newmark", "both"):
        if level == 1:
            raise ModelError("the displacement form of Newmark's formula needs accelerations as inputs.")
        if method == "euler":
            raise ModelError(
                "under Euler's method z_k - z = Δt ż, so the displacement form of Newmark's formula never sees the "
                "inputs. Use method='heun' or 'rk4', or form='velocity'."
            )


def _weights(given: Mapping[str, float] | None, inputs: tuple[str, ...]) -> tuple[float, ...]:
    for name, value in (given or {}).items():
        if name not in inputs:
            raise ModelError(f"weights: {unknown_name('input', name, inputs)}")
        if not is_real(value) or not 0 < value < np.inf:
            raise ModelError(f"weights: that of {name!r} must be a positive number, got {value!r}.")
    return tuple(float((given or {}).get(name, 1.0)) for name in inputs)
