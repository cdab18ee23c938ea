"""Accelerations along a record: forward dynamics of all its states in one batch, in lanes and on all cores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ConvergenceError, DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Call
from dalembert.equations import EquationsOfMotion, require_equations
from dalembert.expressions import Array, Kernel
from dalembert.record import Record
from dalembert.record.units import per_second
from dalembert.solve.constrained.solve import depends_on_reactions, forward_function
from dalembert.solve.integrate.inputs import read_inputs
from dalembert.solve.integrate.run import FRICTION_SETTLED
from dalembert.solve.position.prescribed_motion import acceleration_name


def accelerations_along(
    eqs: EquationsOfMotion, record: Record, inputs: Mapping[str, Any] | Record | None = None
) -> Record:
    """Accelerations of all speeds at the states of a record (a simulated run, or a record with all of its channels).

    inputs : as for `da.simulate`; None: the input channels of the record, at zero where it has none.
    """
    require_equations(eqs)
    if eqs.stick_slip is not None:
        raise ModelError(
            "not-supported",
            f"friction of {eqs.name!r} sticks and slips: the accelerations of a state depend on the previous states.",
            Advice("Take {} state by state.", Call("da.forward_dynamics")),
        )
    # a record has the angle of a counter of turns
    q = _block(record, tuple(eqs.counted_angles.get(name, name) for name in eqs.coordinates.names))
    v, z = (_block(record, group.names) for group in (eqs.speeds, eqs.internal))
    known = {name: record for name in eqs.inputs.names if name in record}
    u = read_inputs(eqs, known if inputs is None else inputs).values(eqs, record.time)
    a, change = eqs.cache("accelerations", lambda: _kernel(eqs)).many(q, v, z, u, eqs.p, record.time[:, None])
    if depends_on_reactions(eqs) and float(np.max(change, initial=0.0)) > FRICTION_SETTLED:
        worst = int(np.argmax(change))
        raise ConvergenceError(
            "friction-unsettled",
            f"friction and reactions did not settle at t = {record.time[worst]:.6g} s.",
            where={"time": float(record.time[worst])},
        )
    names = [acceleration_name(name, eqs.speeds.index) for name in eqs.speeds.names]
    units = [per_second(unit) for unit in eqs.speeds.units]
    return Record(record.time, a, names, units, name=eqs.name)


def _kernel(eqs: EquationsOfMotion) -> Kernel:
    """(q, v, z, u, p, t) -> v̇ and the last change of the reactions, from reactions of zero."""
    forward = forward_function(eqs)
    symbols = [ca.MX.sym(forward.name_in(i), forward.size1_in(i)) for i in range(6)]
    _, a, _, _, _, change = forward(*symbols, ca.MX.zeros(len(eqs.rows)))
    function = ca.Function("accelerations", symbols, [a, change])
    return Kernel(function.expand() if forward.is_a("SXFunction") else function)


def _block(record: Record, names: tuple[str, ...]) -> Array:
    missing = [name for name in names if name not in record]
    if missing:
        problem = unknown_name("channel", missing[0], record.names, "the record")
        raise DataError(
            "missing-channel", f"the record must hold every state of the machine: {problem}",
            Advice("Simulate it, or find poses with {}.", Call("da.kinematics")), where={"channels": tuple(missing)},
        )  # fmt: skip
    if not names:
        return np.empty((len(record), 0))
    return np.asarray(record[list(names)], dtype=float)
