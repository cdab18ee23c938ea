"""A continuous state-space model as equations of motion: internal states only, ż = A z + B u, y = C z + D u.

So a linear plant can have continuous laws, events and any method of integration, as equations can.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError
from dalembert.equations import ARGUMENTS, Channels, EquationsOfMotion, State
from dalembert.linear import StateSpace
from dalembert.linear.responses.excitation import initial_state
from dalembert.loop.names import rate_names

SX = ca.SX


def linear_equations(model: StateSpace) -> EquationsOfMotion:
    """The model without coordinates and speeds; its states are internal ones."""
    if model.dt is not None:
        raise ModelError(
            "not-supported",
            "a discrete StateSpace has no equations of motion: laws and observers around it are sampled, give them dt "
            "[s]; and there are no events between its samples.",
        )
    sizes = {"q": 0, "v": 0, "z": model.nx, "u": model.nu, "p": 0, "t": 1, "lam": 0, "a": 0}
    s = {name: SX.sym(name, size) for name, size in sizes.items()}
    A, B, C, D = (ca.sparsify(ca.DM(matrix)) for matrix in (model.A, model.B, model.C, model.D))
    made = {"internal": A @ s["z"] + B @ s["u"], "outputs": C @ s["z"] + D @ s["u"]}
    functions = {
        name: ca.Function(name, [s[part] for part in ARGUMENTS[name].split()], [ca.densify(value)])
        for name, value in made.items()
    }

    def channels(names: tuple[str, ...]) -> Channels:
        return Channels(names, [model.units.get(name, "") for name in names])

    return EquationsOfMotion(
        name="linear model", coordinates=Channels(), speeds=Channels(), internal=channels(model.states),
        inputs=channels(model.inputs), outputs=channels(model.outputs), functions=functions,
        shorthands={name: own for name, own in rate_names(model).items() if own in model.states},
    )  # fmt: skip


def read_linear_state(eqs: EquationsOfMotion, start: Any) -> State:
    """A start of the model (mapping of states, array, or None for zero) as a state of its equations."""
    if isinstance(start, State):
        return start
    return eqs.state(z=np.asarray(initial_state(start, eqs.internal.names, "the start")))
