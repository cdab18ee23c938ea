"""Filters whose inputs are sensors, inside ``da.simulate``.

The inputs u of a kinematics-based filter are no inputs of the machine but readings of accelerometers or tachometers. In
a simulation it reads them with the other sensors, and its state holds those of the last sample,

    state = [state of the filter; u of the last sample; whether there was one] .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.equations import Channels
from dalembert.loop.interfaces import ObserverStep

MX = ca.MX


def read_inputs(inner: ObserverStep, current: bool) -> ObserverStep:
    """An observer step that reads the inputs of the filter as sensors.

    current : the step to a sample takes the readings of that sample, not those of the previous one.
    """
    nm, nu, ny = len(inner.state), len(inner.known), len(inner.reads)
    state, none = MX.sym("state", nm + nu + 1), MX.sym("none", 0)
    y, measured = MX.sym("y", ny + nu), MX.sym("measured", ny + nu)
    p, t, step = MX.sym("p", len(inner.parameters)), MX.sym("t"), MX.sym("dt")
    last = state[nm : nm + nu]
    now = ca.if_else(measured[ny:], y[ny:], last)  # a slower sensor holds its reading
    before = now if current else ca.if_else(state[-1], last, now)
    after, estimate = inner.function(state[:nm], before, now, y[:ny], measured[:ny], p, t, step)
    arguments = [state, none, MX.sym("none2", 0), y, measured, p, t, step]
    function = ca.Function("watch", arguments, [ca.vertcat(after, now, 1), estimate])
    names = [*inner.state.names, *(f"last {name}" for name in inner.known), "begun"]
    return ObserverStep(
        inner.name, (*inner.reads, *inner.known), (), inner.gives, function, inner.dt,
        Channels(names, [*inner.state.units, *[""] * (nu + 1)]), (*inner.start, *[0.0] * (nu + 1)),
        inner.parameters,
    )  # fmt: skip


@dataclass(frozen=True)
class SensedInputs:
    """A filter that reads its inputs from sensors of the machine; made by :func:`sense_inputs`."""

    filter: Any

    def observer_step(self, dt: float | None = None) -> ObserverStep:
        inner = self.filter.observer_step(dt)
        if inner.dt is None:
            raise ModelError("not-supported", f"{inner.name} is continuous; sensed inputs need a sampled filter.")
        return inner if self.filter.process.sensed else read_inputs(inner, self.filter.process.current)


def sense_inputs(filter: object) -> SensedInputs:
    """A filter as ``da.simulate(..., observer=)`` takes it whose inputs are sensors of the machine.

    A filter of a kinematic model does not need this: its inputs are always sensors.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> arm = m.add_body("arm", mass=1.0, inertia=da.rod(0.4), position=(0.2, 0))
    >>> joint = m.add_revolute("A", m.ground.at(0, 0), arm.at(-0.2, 0))
    >>> sensors = m.add_sensor("encoder", da.angle("A")), m.add_sensor("acc", da.accelerometer(arm.at(0.1, 0)))
    >>> model = da.estimate.model_kinematics(
    ...     m, independent="A.angle", inputs="acc.y", outputs="encoder", use_current=True)
    >>> ekf = da.estimate.ExtendedKalman(model, R=1e-6, input_noise=1e-4, P0=[1e-6, 1e-6, 1.0])
    >>> da.estimate.sense_inputs(ekf).observer_step(1e-3).reads == ekf.observer_step(1e-3).reads == ("encoder", "acc.y")
    True
    """
    if not hasattr(filter, "observer_step") or not hasattr(filter, "process"):
        raise ModelError("wrong-type", f"expected a filter, got {type(filter).__name__}.")
    return SensedInputs(filter)
