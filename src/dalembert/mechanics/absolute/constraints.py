"""Constraint rows that are not joint kernels: couplers, drivers, rotors and a user's own constraints.

A position-level row φ(q,t) has A = φ_q N and b = -(A v + φ_t)˙ at v̇ = 0; a velocity-level row c(q,v,t), also one
nonlinear in v, has A = c_v and b = -(c_q q̇ + c_t) (Chetaev's rule for the nonlinear ones).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import ACCELERATION, HOLONOMIC, VELOCITY
from dalembert.expressions import call_user
from dalembert.mechanics.rotations import exponential, turn_between
from dalembert.mechanics.rows import Form
from dalembert.mechanics.user_view import as_column
from dalembert.model.couplings import ROTATION_VECTOR, Coupler, Driver, UserConstraint
from dalembert.model.forces import Rotor
from dalembert.model.orientation import as_rotation, normalise, split_pose

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute

SX = ca.SX


def general_rows(host: Absolute, owner: str, level: str, expression: Any) -> tuple[int, ...]:
    """Rows of any expression: φ(q,t), or c(q,v,t)."""
    rate = expression = host.flat(expression)
    N = host.flat(host.N)
    if level == HOLONOMIC:
        A = ca.jacobian(expression, host.q) @ N
        rate = A @ host.v + ca.jacobian(expression, host.t)
    else:
        A = ca.jacobian(expression, host.v)
    bias = ca.jtimes(rate, host.q, N @ host.v) + ca.jacobian(rate, host.t)
    phi = expression if level == HOLONOMIC else SX.zeros(0, 1)
    return host.rows.add(owner, [level] * expression.shape[0], Form.of_matrix(A), -bias, phi, rate)


def add_coupler(host: Absolute, coupler: Coupler) -> None:
    """second - ratio first - offset = 0."""
    first, second = host.measure(coupler.first), host.measure(coupler.second)
    ratio, offset = host.number(coupler.ratio), host.number(coupler.offset)
    form = second.form + first.form.scale(-ratio)
    rate = second.rate - ratio * first.rate
    bias = second.bias - ratio * first.bias
    gap = second.value - ratio * first.value - offset
    host.rows.add(coupler.name, [HOLONOMIC], form, -bias, gap, rate)


def add_driver(host: Absolute, driver: Driver) -> None:
    """coordinate - motion(t) = 0, or its acceleration - input = 0."""
    if driver.coordinate not in host.names and driver.coordinate.endswith((".rotation", ".pose")):
        _add_pose_driver(host, driver)
        return
    if driver.coordinate not in host.names and driver.coordinate.endswith(ROTATION_VECTOR):
        _add_component_driver(host, driver)
        return
    measured = host.measure(driver.coordinate)
    if driver.input:
        host.row_units[driver.name] = "N m" if measured.unit == "rad" else "N"
        wanted, none = host.u[host.inputs.index[driver.input]], SX.zeros(0, 1)
        host.rows.add(driver.name, [ACCELERATION], measured.form, wanted - measured.bias, none, none)
        return
    target = _target(host, driver)
    speed = ca.jacobian(target, host.t)
    acceleration = ca.jacobian(speed, host.t)
    gap = measured.value - target
    host.row_units[driver.name] = "N m" if measured.unit == "rad" else "N"
    host.rows.add(driver.name, [HOLONOMIC], measured.form, acceleration - measured.bias, gap, measured.rate - speed)


def _target(host: Absolute, driver: Driver) -> Any:
    if not callable(driver.motion):
        return SX(host.number(driver.motion))
    what = f"motion of driver {driver.name!r}"
    target = as_column(call_user(driver.motion, what, host.t), what, host.p_symbols)
    if target.shape != (1, 1):
        raise ModelError("wrong-shape", f"{what} must return one value.", where={"driver": driver.name})
    return target


def _add_component_driver(host: Absolute, driver: Driver) -> None:
    """One row of an orientation whose rotation vector three drivers prescribe, one component each."""
    owner = driver.coordinate[: -len(ROTATION_VECTOR[0])]
    body = next(b for b in host.m.bodies if b.name == owner)
    together = {d.coordinate: d for d in host.m.drivers}
    vector = ca.vertcat(*(_target(host, together[owner + end]) for end in ROTATION_VECTOR))
    gap = turn_between(exponential(vector), host.euler_parameters(body))
    host.row_units[driver.name] = "N m"
    general_rows(host, driver.name, HOLONOMIC, gap[ROTATION_VECTOR.index(driver.coordinate[len(owner) :])])


def _add_pose_driver(host: Absolute, driver: Driver) -> None:
    """Rows of an orientation: twice the vector part of p*(t)⁻¹ p, which is the small turn from p* to p in body axes."""
    owner, _, part = driver.coordinate.rpartition(".")
    body = next(b for b in host.m.bodies if b.name == owner)
    what = f"motion of driver {driver.name!r}"
    given = call_user(driver.motion, what, host.t) if callable(driver.motion) else driver.motion
    place, turned = split_pose(given, what) if part == "pose" else ((), as_rotation(given, what))
    target = normalise(tuple(as_column(c, what, host.p_symbols) for c in turned.quaternion))
    gap = turn_between(target, host.euler_parameters(body))
    if part == "pose":
        gap = ca.vertcat(host.attach(body).pose.r - as_column(list(place), what, host.p_symbols), gap)
    general_rows(host, driver.name, HOLONOMIC, gap)


def add_rotor(host: Absolute, owner: str, rotor: Rotor) -> None:
    """A rotor turns with its joint: rotor angle = ratio times joint coordinate and deflection of the gear."""
    own, side = host.measured[rotor.name], host.motor_side(rotor.coordinate)
    ratio = host.number(rotor.ratio)
    form = own.form + side.form.scale(-ratio)
    gap, rate = own.value - ratio * side.value, own.rate - ratio * side.rate
    host.rows.add(owner, [HOLONOMIC], form, ratio * side.bias, gap, rate)


def add_user_constraint(host: Absolute, constraint: UserConstraint) -> None:
    """φ(s) = 0, c(s) = 0 or D v̇ = d from a function of the state."""
    what, where = f"constraint {constraint.name!r}", {"constraint": constraint.name}
    accelerations = None
    if constraint.level == "acceleration":
        accelerations = {name: host.a[k] for k, name in enumerate(host.speeds.names)}
    given = call_user(constraint.function, what, host.view(accelerations))
    residual = host.flat(as_column(given, what, host.p_symbols))
    if residual.shape[0] == 0:
        raise ModelError("empty", f"{what} returns nothing.", where=where)
    depends = ca.vertcat(host.z, host.u)
    if depends.shape[0] and constraint.level != "acceleration" and ca.depends_on(residual, depends):
        problem = f"{what}: a {constraint.level}-level constraint may not depend on inputs or internal states."
        raise ModelError("not-supported", problem, where=where)
    if constraint.level == "position":
        if ca.depends_on(residual, host.v):
            advice = Advice("Use {}.", Argument("level", "velocity"))
            raise ModelError("wrong-level", f"{what} depends on velocities.", advice, where=where)
        if not ca.depends_on(residual, host.q):
            raise ModelError("independent-constraint", f"{what} does not depend on any coordinate.", where=where)
        general_rows(host, constraint.name, HOLONOMIC, residual)
    elif constraint.level == "velocity":
        if not ca.depends_on(residual, host.v):
            advice = Advice("Use {}.", Argument("level", "position"))
            raise ModelError("wrong-level", f"{what} does not depend on any velocity.", advice, where=where)
        general_rows(host, constraint.name, VELOCITY, residual)
    else:
        D = ca.jacobian(residual, host.a)
        if D.nnz() == 0:
            advice = Advice("Use {}.", Call("s.acceleration_of"))
            raise ModelError("wrong-level", f"{what} does not depend on any acceleration.", advice, where=where)
        if ca.depends_on(D, host.a):
            raise ModelError("not-affine", f"{what} must be affine in the accelerations.", where=where)
        d = -ca.substitute(residual, host.a, SX.zeros(host.nv))
        levels = [ACCELERATION] * residual.shape[0]
        host.rows.add(constraint.name, levels, Form.of_matrix(D), d, SX.zeros(0, 1), SX.zeros(0, 1))
