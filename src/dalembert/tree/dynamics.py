"""Mass matrix, inverse and forward dynamics, Coriolis matrix, gravity, energy and momentum of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion, require_equations
from dalembert.expressions import Array
from dalembert.tree.evaluation import Efforts, States, accelerations, evaluate, find_kernel, read_speeds, require_tree
from dalembert.tree.payload import Payload

Wrenches = Mapping[Any, Any]


def mass_matrix(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """M of the speeds by composite bodies, (nv, nv) or (states, nv, nv)."""
    return evaluate(eqs, state, "mass_matrix", payload=payload)[0]


def inverse_dynamics(
    eqs: EquationsOfMotion, state: States, a: Efforts = None, *, wrenches: Wrenches | None = None,
    payload: Payload | None = None,
) -> Array:  # fmt: skip
    """Efforts τ on the speeds that give the accelerations: τ = M v̇ + C v + g - Jᵀ (f, n), by Newton-Euler recursion.

    a : derivatives of the speeds, in their order or by the names of coordinates or speeds; None: zero, or those of the
        record of states.
    wrenches : forces and moments on bodies, as for `wrench_efforts`.  payload : held by a body.

    Springs, dampers and motors of the mechanism do not act, and rows of cut joints have no forces.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm")
    >>> rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0, 0), rod.at(-0.5, 0, 0), axis=(0, 1, 0))
    >>> eqs = da.equations(m, coordinates="joint")
    >>> level = eqs.state()
    >>> da.tree.inverse_dynamics(eqs, level).round(6)
    array([-9.81])
    >>> da.tree.inverse_dynamics(eqs, level, wrenches={rod.at(0.5, 0, 0): (0, 0, 5, 0, 0, 0)}).round(6)
    array([-4.81])
    """
    tau = evaluate(eqs, state, "inverse_dynamics", payload=payload, a=accelerations(eqs, a, state))[0]
    return tau if not wrenches else tau - wrench_efforts(eqs, state, wrenches)


def forward_dynamics(
    eqs: EquationsOfMotion, state: States, effort: Efforts = None, *, wrenches: Wrenches | None = None,
    payload: Payload | None = None,
) -> Array:  # fmt: skip
    """Accelerations v̇ of a tree under efforts τ on its speeds and gravity, by articulated bodies.

    effort : in the order of the speeds, or by names of coordinates or speeds; None: zero.
    wrenches : forces and moments on bodies, as for `wrench_efforts`.  payload : held by a body.

    Springs and other forces of the mechanism do not act; `da.forward_dynamics` has them.
    """
    refuse_rows(eqs)
    tau = read_speeds(eqs, effort, "effort", eqs.speeds.names)
    if wrenches:
        tau = tau + wrench_efforts(eqs, state, wrenches)
    return evaluate(eqs, state, "forward_dynamics", payload=payload, tau=tau)[0]


def refuse_rows(eqs: EquationsOfMotion) -> None:
    """Efforts alone do not give the accelerations where rows close loops."""
    if require_equations(eqs).rows:
        raise ModelError(
            "not-supported", f"equations {eqs.name!r} have constraint rows beside the tree.",
            Advice("Use {}, which closes them.", Call("da.forward_dynamics")),
        )  # fmt: skip


def wrench_efforts(eqs: EquationsOfMotion, state: States, wrenches: Wrenches) -> Array:
    """Efforts Jᵀ (f, n) on the speeds by forces and moments on bodies.

    wrenches : {place: force, then moment about the place}, in world axes: six numbers (three in the plane) or one row
        for each state; places as for `forward_kinematics`.
    """
    require_tree(eqs)
    if not isinstance(wrenches, Mapping) or not wrenches:
        problem = f"wrenches are forces and moments by the places where they act, got {wrenches!r:.80}."
        advice = Advice("Such as {}.", Argument("wrenches", {"tip": (0, 0, -10, 0, 0, 0)}))
        raise DataError("wrong-type", problem, advice)
    size = find_kernel(eqs, "wrench_efforts", *wrenches).function.numel_in(1) // len(wrenches)
    rows = [_read_wrench(place, given, size) for place, given in wrenches.items()]
    together = np.concatenate(np.broadcast_arrays(*rows), axis=-1)
    return evaluate(eqs, state, "wrench_efforts", *wrenches, wrench=together)[0]


def _read_wrench(place: Any, given: Any, size: int) -> Array:
    problem = f"the wrench at {str(place)!r:.80} must be force and moment, {size} numbers"
    try:
        row = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise DataError("not-a-number", f"{problem}, got {given!r:.80}.", where={"place": str(place)}) from None
    if row.ndim not in (1, 2) or row.shape[-1] != size:
        raise DataError("wrong-shape", f"{problem}, got the shape {row.shape}.", where={"place": str(place)})
    return row


def coriolis_matrix(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """C with M v̇ + C v + g = τ and Ṁ - 2 C skew-symmetric, (nv, nv) or (states, nv, nv)."""
    return evaluate(eqs, state, "coriolis_matrix", payload=payload)[0]


def gravity(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """Efforts g on the speeds that hold the tree at rest against gravity."""
    return evaluate(eqs, state, "gravity", payload=payload)[0]


def energies(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> tuple[Any, Any]:
    """Kinetic energy of all bodies and potential energy of their weights [J]; arrays of many states."""
    kinetic, potential = (x[..., 0] for x in evaluate(eqs, state, "energy", payload=payload))
    return (float(kinetic), float(potential)) if not kinetic.ndim else (kinetic, potential)


def total_mass(eqs: EquationsOfMotion, *, payload: Payload | None = None) -> float:
    """Of all bodies that can move [kg]."""
    return float(evaluate(eqs, eqs.state(), "total_mass", payload=payload)[0][0])


def center_of_mass(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """Of all bodies that can move, world coordinates [m]."""
    return evaluate(eqs, state, "center_of_mass", payload=payload)[0]


def center_of_mass_jacobian(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """J with velocity of the centre of mass = J v, (3, nv); in the plane (2, nv)."""
    return evaluate(eqs, state, "center_of_mass_jacobian", payload=payload)[0]


def centroidal_momentum(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Any:
    """Linear momentum, then angular momentum about the centre of mass, world axes; (6,), in the plane (3,)."""
    return evaluate(eqs, state, "centroidal_momentum", payload=payload)[0]


def centroidal_momentum_matrix(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """A with centroidal momentum = A v, (6, nv); in the plane (3, nv)."""
    return evaluate(eqs, state, "centroidal_momentum_matrix", payload=payload)[0]


def centroidal_momentum_matrix_rate(eqs: EquationsOfMotion, state: States, *, payload: Payload | None = None) -> Array:
    """Derivative in time of A: momentum' = A v̇ + A' v."""
    return evaluate(eqs, state, "centroidal_momentum_matrix_rate", payload=payload)[0]
