"""The same system as an object of python-control or of scipy.signal, and back.

python-control keeps names; scipy.signal has no names. Units and provenance are not exported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DataError, require_extra

if TYPE_CHECKING:
    from dalembert.linear.state_space import StateSpace


def to_control(system: StateSpace) -> Any:
    """See :meth:`StateSpace.to_control`."""
    control = require_extra("control", "control")
    return control.StateSpace(
        system.A, system.B, system.C, system.D, 0 if system.dt is None else system.dt,
        states=list(system.states), inputs=list(system.inputs), outputs=list(system.outputs),
        remove_useless_states=False,
    )  # fmt: skip


def from_control(cls: type[StateSpace], other: Any, units: Any) -> StateSpace:
    """See :meth:`StateSpace.from_control`."""
    control = require_extra("control", "control")
    if not isinstance(other, control.StateSpace):
        if not isinstance(other, control.lti.LTI):
            raise DataError(
                "wrong-type", f"from_control needs a linear system of python-control, got {type(other).__name__}."
            )
        try:
            other = control.ss(other)
        except (TypeError, ValueError, NotImplementedError) as error:
            raise DataError(
                "not-proper",
                f"python-control finds no state space of this {type(other).__name__}: {error}. Transfer functions must "
                "be proper; those with several inputs or outputs are converted entry by entry (and joined by connect).",
            ) from error
    if other.dt is True:
        raise DataError(
            "missing-argument",
            "this python-control system is sampled with an unknown time (dt = True); set its dt first.",
        )
    return cls(
        other.A, other.B, other.C, other.D, other.dt or None,
        states=other.state_labels, inputs=other.input_labels, outputs=other.output_labels,
        units=units, provenance={"from": "python-control"},
    )  # fmt: skip


def to_scipy(system: StateSpace) -> Any:
    """See :meth:`StateSpace.to_scipy`."""
    import scipy.signal  # slow to import

    matrices = (system.A, system.B, system.C, system.D)
    return scipy.signal.StateSpace(*matrices) if system.dt is None else scipy.signal.StateSpace(*matrices, dt=system.dt)


def from_scipy(cls: type[StateSpace], other: object, names: dict[str, Any]) -> StateSpace:
    """See :meth:`StateSpace.from_scipy`."""
    import scipy.signal

    if not isinstance(other, (scipy.signal.lti, scipy.signal.dlti)):
        raise DataError(
            "wrong-type", f"from_scipy needs a scipy.signal lti or dlti system, got {type(other).__name__}."
        )
    dt = other.dt
    if dt is True:
        raise DataError(
            "missing-argument",
            "this scipy.signal system is sampled with an unknown time (dt = True); set its dt first.",
        )
    try:
        space = other.to_ss()
    except ValueError as error:
        raise DataError(
            "not-proper", f"scipy.signal finds no state space of this {type(other).__name__}: {error}"
        ) from error
    D = np.asarray(space.D).reshape(len(space.C), space.B.shape[1])
    return cls(space.A, space.B, space.C, D, dt, provenance={"from": "scipy.signal"}, **names)
