"""The loop of any law around a linear plant: the law is linearized at the operating point of the plant.

u = k(r, x, w, t) ,   x⁺ = m(r, x, w, t)            δu = K_r δr + K_x δx ,   δx⁺ = M_r δr + M_x δx

r are the values read, x the state of the law, w its references, at rest. The loop is opened at the driven inputs; its
transfer function L is that of negative feedback. A sampled law that is direct reads while its last command still acts.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.control.plant import Model, reference_values
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.estimate.models.process import machine_names
from dalembert.linear import StateSpace
from dalembert.loop.interfaces import Law
from dalembert.loop.wiring import as_laws


@checked
def open_loop(controller: object, plant: Model) -> StateSpace:
    """The loop of a law (or of several in a list) around a plant, opened at the driven inputs.

    Parameters
    ----------
    controller : a `Law`, a design with ``law()``, or a list of them with one sample time.
    plant : `StateSpace` or `SecondOrder`, as of ``da.linearize``; its operating point is that of the laws. A continuous
        one is sampled for sampled laws (zero-order hold).

    Examples
    --------
    >>> from dalembert.control import custom_law
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], states=["place", "speed"], inputs="push")
    >>> law = custom_law("pd", lambda s: -4 * s["place"] - 2 * s["speed"], "push")
    >>> open_loop(law, cart).feedback().poles().frequencies.round(6).tolist()
    [2.0, 2.0]
    """
    model: StateSpace = plant
    laws = as_laws(controller)
    times = {law.dt for law in laws}
    if len(times) != 1:
        raise DataError("sample-time-mismatch", "laws of one loop must have one sample time; these have several.")
    dt = times.pop()
    if dt is not None and model.dt is None:
        model = model.to_discrete(dt)
    if model.dt != dt:
        raise DataError(
            "sample-time-mismatch", f"the plant has the sample time {model.dt} and the law {dt}; they must be the same."
        )
    drives = tuple(name for law in laws for name in law.drives)
    for name in drives:
        require_name("input", name, model.inputs, "the plant")
    n, columns = len(drives), [model.inputs.index(name) for name in drives]
    readings = [_reading(law, model, drives) for law in laws]
    A, B = model.A, model.B[:, columns]
    if dt is not None and any(law.direct and S.any() for law, (_, S) in zip(laws, readings, strict=True)):
        # the last commands are states too
        A, B = scipy.linalg.block_diag(A, np.zeros((n, n))), np.vstack([B, np.eye(n)])
        readings = [(np.hstack([R, S * law.direct]), S * (not law.direct))
                    for law, (R, S) in zip(laws, readings, strict=True)]  # fmt: skip
    read = StateSpace(A, B, np.vstack([R for R, _ in readings]), np.vstack([S for _, S in readings]), dt)
    K_r, K_x, M_r, M_x = (scipy.linalg.block_diag(*part) for part in zip(*(_linearize(law, model) for law in laws)))
    loop = read.series(StateSpace(M_x, M_r, K_x, K_r, dt))
    return (-loop).replace(inputs=drives, outputs=[f"{name} fed back" for name in drives])


def _reading(law: Law, model: StateSpace, drives: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
    """R, S: the values a law reads are R x + S u."""
    columns = [model.inputs.index(name) for name in drives]
    states = {name: k for names in (machine_names(model), model.states) for k, name in enumerate(names)}
    R, S = np.zeros((len(law.reads), model.nx)), np.zeros((len(law.reads), len(drives)))
    for k, name in enumerate(law.reads):
        if name in drives:
            S[k, drives.index(name)] = 1.0
        elif name in model.outputs:
            row = model.outputs.index(name)
            R[k], S[k] = model.C[row], model.D[row, columns]
        elif name in states:
            R[k, states[name]] = 1.0
        else:
            require_name(
                "output or state", name, (*model.outputs, *states, *model.inputs), "the plant",
                Advice("Sensors are outputs of a linear model with {}.", Argument("outputs")),
            )  # fmt: skip
    return R, S


def _linearize(law: Law, model: StateSpace) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """∂u/∂r, ∂u/∂x, ∂x⁺/∂r, ∂x⁺/∂x at the operating point of the plant, at t = 0."""
    f = law.function
    sizes = [len(law.reads), len(law.state.names), len(law.references.names)]
    r, x, w = (ca.MX.sym(name, size) for name, size in zip(("r", "x", "w"), sizes, strict=True))
    u, after = f(r, x, w, ca.DM(list(law.parameters)), 0.0)
    gradient = ca.Function("gradient", [r, x, w], [ca.jacobian(ca.vertcat(u, after), ca.vertcat(r, x))])
    wanted: Any = law.resting or reference_values(model, [n.removesuffix(".reference") for n in law.references.names])
    start: Any = law.start or [0.0] * sizes[1]
    J = np.array(gradient(reference_values(model, law.reads), ca.DM(list(start)), ca.DM(list(wanted))), dtype=float)
    if not np.isfinite(J).all():
        raise DataError("not-finite", f"law {law.name!r} has no derivative at the operating point of the plant.")
    m = len(law.drives)
    return J[:m, : sizes[0]], J[:m, sizes[0] :], J[m:, : sizes[0]], J[m:, sizes[0] :]
