"""Derivatives of inverse and forward dynamics of a tree, in closed form."""

from __future__ import annotations

from typing import NamedTuple

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.tree.dynamics import refuse_rows
from dalembert.tree.evaluation import Efforts, States, accelerations, evaluate, read_speeds
from dalembert.tree.payload import Payload


class InverseDerivatives(NamedTuple):
    """Of efforts τ by the coordinates, the speeds and the accelerations, (nv, nv) or (states, nv, nv) each."""

    dtau_dq: Array
    dtau_dv: Array
    dtau_da: Array


class ForwardDerivatives(NamedTuple):
    """Of accelerations v̇ by the coordinates, the speeds and the efforts, (nv, nv) or (states, nv, nv) each."""

    da_dq: Array
    da_dv: Array
    da_dtau: Array


def inverse_dynamics_derivatives(
    eqs: EquationsOfMotion, state: States, a: Efforts = None, *, payload: Payload | None = None
) -> InverseDerivatives:
    """How the efforts of `inverse_dynamics` change with coordinates, speeds and accelerations (the last is M).

    Changes of the coordinates are those along the speeds, dq = N dξ with q̇ = N v: of a ball or a free body a small
    turn in its own axes instead of four Euler parameters.

    a : derivatives of the speeds, as for `inverse_dynamics`.  payload : held by a body.
    """
    rates = accelerations(eqs, a, state)
    return InverseDerivatives(*evaluate(eqs, state, "inverse_dynamics_derivatives", payload=payload, a=rates))


def forward_dynamics_derivatives(
    eqs: EquationsOfMotion, state: States, effort: Efforts = None, *, payload: Payload | None = None
) -> ForwardDerivatives:
    """How the accelerations of `forward_dynamics` change with coordinates, speeds and efforts (the last is M⁻¹).

    Changes of the coordinates are those along the speeds, as for `inverse_dynamics_derivatives`.

    effort : as for `forward_dynamics`.  payload : held by a body.
    """
    refuse_rows(eqs)
    tau = read_speeds(eqs, effort, "effort", eqs.speeds.names)
    return ForwardDerivatives(*evaluate(eqs, state, "forward_dynamics_derivatives", payload=payload, tau=tau))
