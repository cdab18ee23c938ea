"""Force laws: from the model's data to generalized forces, potential energy and internal states.

Forces with a potential are kept apart from all others, so that the energy balance d(T + V)/dt = power of the others
can be recorded in every run. Everything elastic has one: gravity, springs, bushings, stops, contacts, and of a law of
extension and speed the part at zero speed. What is left of them (damping, friction) belongs to the others.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.expressions import call_user
from dalembert.mechanics.forces.law_energy import law_energy
from dalembert.mechanics.joints.reactions import reaction_of
from dalembert.mechanics.rotations import conjugate, logarithm_and_rate, multiply
from dalembert.mechanics.rows import Measured
from dalembert.mechanics.user_view import as_column
from dalembert.model import Body
from dalembert.model.actuators import FirstOrderLag
from dalembert.model.forces import (
    Actuator,
    Bushing,
    Contact,
    Friction,
    JointSpring,
    PointForce,
    Spring,
    Stop,
    Torque,
)
from dalembert.model.orientation import quaternion_from_matrix

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute

SX = ca.SX
SMOOTH = 1e-3  # m/s or rad/s: the regularised law where the user chose exact stick and slip
SHORTEST = 1e-12  # [m], far below any length that matters, and without effect on them


class ForceBuilder:
    """Generalized forces of one mechanism."""

    def __init__(self, host: Absolute) -> None:
        self.host = host
        self.space = host.space
        self._potential_parts = [SX(0) for _ in range(host.nv)]
        self._other_parts = [SX(0) for _ in range(host.nv)]
        self.potential = SX(0)
        self.internal_rates: list[Any] = []
        self.tensions: dict[str, tuple[Any, str]] = {}
        self.limits: list[tuple[Any, Any, Any]] = []  # of Coulomb friction: rate, limit at rest, limit in motion
        self.efforts: dict[tuple[str, str], tuple[Any, str]] = {}  # of friction, by name and coordinate

    @property
    def potential_part(self) -> Any:
        return ca.vertcat(*self._potential_parts) if self._potential_parts else SX.zeros(0, 1)

    @property
    def other_part(self) -> Any:
        return ca.vertcat(*self._other_parts) if self._other_parts else SX.zeros(0, 1)

    # -- ways to act ------------------------------------------------------------------------------------------------
    def _add(self, column: int, value: Any, has_potential: bool) -> None:
        parts = self._potential_parts if has_potential else self._other_parts
        parts[column] = parts[column] + value

    def push(self, body: Body, arm: Any, force: Any, *, has_potential: bool = False) -> None:
        """A force (world axes) on a body, `arm` from its centre of mass in world axes."""
        columns = self.host.body_columns(body)
        if columns is None:
            return
        for k in range(self.space.dim):
            self._add(columns[k], force[k], has_potential)
        self.turn(body, self.space.turn_about(arm, force), has_potential=has_potential)

    def turn(self, body: Body, torque: Any, *, has_potential: bool = False) -> None:
        """A torque on a body, in world axes (a scalar in the plane)."""
        columns = self.host.body_columns(body)
        if columns is None:
            return
        own = torque if self.space.planar else self.host.body_state(body)[0].R.T @ torque
        for k in range(self.space.turns):
            self._add(columns[self.space.dim + k], own[k], has_potential)

    def drive(self, measured: Measured, effort: Any, *, has_potential: bool = False) -> None:
        """An effort along a named coordinate: f += Sᵀ effort."""
        form = measured.form
        for column, value in zip(form.columns, form.values, strict=True):
            self._add(column, value * effort, has_potential)

    def _point(self, place: Any) -> tuple[Any, Any, Any]:
        """(arm, position, velocity) of a point in world axes."""
        pose, twist = self.host.body_state(place.body)
        local = self.host.place(place)
        arm = pose.R @ local
        return arm, pose.r + arm, twist.v + self.space.turn_velocity(pose, twist.w, local)

    # -- the laws ---------------------------------------------------------------------------------------------------
    def build(self) -> None:
        host = self.host
        gravity = host.vector(host.m.gravity)
        for body in host.m.bodies:
            weight = host.number(body.mass) * gravity
            self.push(body, SX.zeros(self.space.dim), weight, has_potential=True)
            self.potential = self.potential - ca.dot(weight, host.body_state(body)[0].r)
        for force in host.m.forces:
            law = {
                Spring: self._spring,
                JointSpring: self._joint_spring,
                Bushing: self._bushing,
                PointForce: self._point_force,
                Torque: self._torque,
                Friction: self._friction,
                Stop: self._stop,
                Contact: self._contact,
                Actuator: self._actuator,
            }[type(force)]
            law(force)  # type: ignore[operator]
        if not self.space.planar:
            for k, body in enumerate(host.m.bodies):
                w = host.twists[k].w
                rows = [ca.horzcat(*[host.number(c) for c in row]) for row in body.inertia]
                gyroscopic = -ca.cross(w, SX(ca.vertcat(*rows)) @ w)
                columns = host.body_columns(body)
                assert columns is not None
                for i in range(3):
                    self._add(columns[3 + i], gyroscopic[i], True)  # does no work

    def _law(self, force: Any, extension: Any, speed: Any) -> Any:
        what = f"law of spring {force.name!r}"
        try:
            inspect.signature(force.law).bind(extension, speed)
            arguments: tuple[Any, ...] = (extension, speed)
        except (TypeError, ValueError):  # a table, or any other function of the extension alone
            arguments = (extension,)
        value = as_column(call_user(force.law, what, *arguments), what, self.host.p_symbols)
        if value.shape != (1, 1):
            raise ModelError(f"{what} must return one value.")
        return value

    def _spring(self, force: Spring) -> None:
        host = self.host
        arm_a, at_a, v_a = self._point(force.a)
        arm_b, at_b, v_b = self._point(force.b)
        d = at_b - at_a
        length = ca.sqrt(ca.dot(d, d) + SHORTEST**2)  # ends that meet pull nowhere, instead of giving NaN
        direction = d / length
        speed = ca.dot(direction, v_b - v_a)
        extension = length - host.number(force.free_length)

        def act(tension: Any, has_potential: bool) -> None:
            self.push(force.a.body, arm_a, tension * direction, has_potential=has_potential)
            self.push(force.b.body, arm_b, -tension * direction, has_potential=has_potential)

        self._effort(force, extension, speed, act, "N")

    def _joint_spring(self, force: JointSpring) -> None:
        measured = self.host.measure(force.coordinate)
        extension = measured.value - self.host.number(force.free)
        unit = "N m" if measured.unit == "rad" else "N"
        self._effort(
            force,
            extension,
            measured.rate,
            lambda tension, has: self.drive(measured, -tension, has_potential=has),
            unit,
        )

    def _effort(self, force: Any, extension: Any, speed: Any, act: Any, unit: str) -> None:
        """Elastic part with a potential; damping, and of a law what the speed adds, without."""
        host = self.host
        stiffness, damping, preload = (host.number(x) for x in (force.stiffness, force.damping, force.preload))
        elastic = preload + stiffness * extension
        self.potential = self.potential + preload * extension + 0.5 * stiffness * extension**2
        rest = damping * speed
        if force.law is not None:
            x, rate = SX.sym("extension"), SX.sym("speed")
            law = ca.Function("law", [x, rate, host.p], [self._law(force, x, rate)])
            energy = law_energy(
                force.law, ca.substitute(law(x, rate, host.p), rate, 0), x, host.p, host.m.parameters.values()
            )
            at_rest = SX(0)
            if energy is not None:
                at_rest = law(extension, 0, host.p)
                self.potential = self.potential + ca.substitute(energy, x, extension)
            elastic = elastic + at_rest
            rest = rest + (law(extension, speed, host.p) - at_rest)
        act(SX(elastic), True)
        act(SX(rest), False)
        self.tensions[force.name] = (elastic + rest, unit)

    def _bushing(self, force: Bushing) -> None:
        """Springs along and about the axes of frame a, acting at the origin of frame b.

        V = ½ Σ k d² + ½ Σ k_r θ² with d = Eᵀ (r_b - r_a) and θ the rotation vector of Eᵀ G (E, G: axes of a and b).
        Its rate for a relative angular velocity w in the axes of a, θ̇ = T(θ) w, gives the torque -Tᵀ (k_r θ).
        """
        host, space = self.host, self.space
        arm_b, at_b, v_b = self._point(force.b)
        pose_a, twist_a = host.body_state(force.a.body)
        pose_b, twist_b = host.body_state(force.b.body)
        E = pose_a.R @ host.frame_axes(force.a)
        origin = pose_a.r + pose_a.R @ host.place(force.a)
        # the point of body a that is at b's origin now: the force acts there on both bodies
        here = pose_a.R.T @ (at_b - pose_a.r)
        d = E.T @ (at_b - origin)
        slide = E.T @ (v_b - twist_a.v - space.turn_velocity(pose_a, twist_a.w, here))
        k, c = host.vector(force.stiffness), host.vector(force.damping)
        kr, cr = host.vector(force.rotational_stiffness), host.vector(force.rotational_damping)
        if space.planar:
            theta = pose_b.angle - pose_a.angle + host.number(force.b.angle) - host.number(force.a.angle)
            torque, spin, axes = -kr * theta, twist_b.w - twist_a.w, SX(1)
        else:
            p_a, p_b = (
                multiply(host.euler_parameters(f.body), quaternion_from_matrix(f.axes)) for f in (force.a, force.b)
            )
            theta, T = logarithm_and_rate(multiply(conjugate(p_a), p_b))
            torque, spin, axes = -(T.T @ (kr * theta)), E.T @ (pose_b.R @ twist_b.w - pose_a.R @ twist_a.w), E
        self.potential = self.potential + 0.5 * ca.dot(k, d * d) + 0.5 * ca.dot(kr, theta * theta)
        for pull, turn, has in ((-k * d, torque, True), (-c * slide, -cr * spin, False)):
            self.push(force.b.body, arm_b, E @ pull, has_potential=has)
            self.push(force.a.body, at_b - pose_a.r, -(E @ pull), has_potential=has)
            self.turn(force.b.body, axes @ turn, has_potential=has)
            self.turn(force.a.body, -(axes @ turn), has_potential=has)

    def _amount(self, force: Any, given: Any, size: int, what: str) -> Any:
        """A constant or user-given vector, times its input channel where it has one."""
        if callable(given):
            value = as_column(call_user(given, what, self.host.view()), what, self.host.p_symbols)
            if value.shape != (size, 1):
                raise ModelError(f"{what} must return {size} value{'s' if size > 1 else ''}, got {value.shape[0]}.")
        else:
            value = self.host.vector(given if size > 1 else (given,))
        if force.input is not None:
            value = value * self.host.u[self.host.inputs.index[force.input]]
        return value

    def _point_force(self, force: PointForce) -> None:
        arm, _, _ = self._point(force.point)
        value = self._amount(force, force.force, self.space.dim, f"force {force.name!r}")
        if force.axes == "body":
            value = self.host.body_state(force.point.body)[0].R @ value
        self.push(force.point.body, arm, value)

    def _torque(self, force: Torque) -> None:
        what = f"torque {force.name!r}"
        value = self._amount(force, force.torque, self.space.turns, what)
        if force.axes == "body" and not self.space.planar:
            value = self.host.body_state(force.body)[0].R @ value
        self.turn(force.body, value)

    def _friction(self, force: Friction) -> None:
        host = self.host
        joint = host.joints[force.joint][0]
        reaction, _, axes = reaction_of(host, force.joint)
        local = axes.T @ reaction
        sliding = any(c.unit == "m" for c in joint.coordinates)
        coulomb, viscous = host.number(force.coulomb), host.number(force.viscous)
        static = coulomb if force.static is None else host.number(force.static)
        speed = SMOOTH if force.speed is None else host.number(force.speed)
        dry = dict(force.coordinates(joint))
        if self.space.planar:
            across = ca.fabs(local[1]) if sliding else ca.sqrt(ca.dot(local, local) + 1e-24)
        else:
            across = ca.sqrt(local[0] ** 2 + local[1] ** 2 + 1e-24)
        normal = across + host.number(force.preload)
        for coordinate in [f"{joint.name}.{c[0]}" for c in joint.coordinates]:
            measured = host.measure(coordinate)
            turning = measured.unit == "rad"
            effort, holding = SX(-viscous * measured.rate), SX(0)
            if coordinate in dry:
                lever = (host.number(force.radius) if turning else 1.0) * normal
                direction = measured.rate / ca.sqrt(measured.rate**2 + speed**2)
                if (force.name, coordinate) in host.sticking:  # of the equations of stick and slip
                    row, direction = host.sticking[force.name, coordinate]
                    holding = host.lam[row]
                effort = effort - coulomb * lever * direction
                self.limits.append((measured.rate, static * lever, coulomb * lever))
            self.drive(measured, effort)
            unit = "N m" if turning else "N"
            self.tensions.setdefault(force.name, (effort + holding, unit))
            self.efforts[force.name, coordinate] = (effort + holding, unit)

    def _stop(self, force: Stop) -> None:
        """Depth times stiffness, damping only while closing and never pulling."""
        host = self.host
        measured = host.measure(force.coordinate)
        k, c = host.number(force.stiffness), host.number(force.damping)
        elastic = rest = SX(0)
        for limit, sign in ((force.lower, 1), (force.upper, -1)):
            if limit is None:
                continue
            depth = sign * (host.number(limit) - measured.value)
            push = k * ca.fmax(depth, 0)
            elastic = elastic + sign * push
            damped = ca.fmax(-sign * c * measured.rate, -push)
            rest = rest + sign * ca.if_else(depth > 0, damped, 0)
            self.potential = self.potential + 0.5 * push * ca.fmax(depth, 0)
        self.drive(measured, elastic, has_potential=True)
        self.drive(measured, rest)
        self.tensions[force.name] = (elastic + rest, "N m" if measured.unit == "rad" else "N")

    def _contact(self, force: Contact) -> None:
        """Normal force k δⁿ (1 + d δ̇), not negative; regularised friction against the slip (Hunt-Crossley form)."""
        host, space = self.host, self.space
        pose_a, twist_a = host.body_state(force.plane.body)
        E = pose_a.R @ host.frame_axes(force.plane)
        normal = E[:, 1] if space.planar else E[:, 2]
        origin = pose_a.r + pose_a.R @ host.place(force.plane)
        pose_b, twist_b = host.body_state(force.point.body)
        center = pose_b.r + pose_b.R @ host.place(force.point)
        touch = center - host.number(force.radius) * normal
        here_a, here_b = pose_a.R.T @ (touch - pose_a.r), pose_b.R.T @ (touch - pose_b.r)
        slip = (
            twist_b.v
            + space.turn_velocity(pose_b, twist_b.w, here_b)
            - twist_a.v
            - space.turn_velocity(pose_a, twist_a.w, here_a)
        )
        depth = -ca.dot(normal, touch - origin)
        closing = -ca.dot(normal, slip)
        safe = ca.fmax(depth, 0)
        exponent = host.number(force.exponent)
        elastic = safe if isinstance(exponent, float) and exponent == 1.0 else (safe + 1e-300) ** exponent
        spring = ca.if_else(depth > 0, host.number(force.stiffness) * elastic, 0)
        damped = spring * ca.fmax(host.number(force.damping) * closing, -1)
        push = spring + damped
        self.tensions[force.name] = (push, "N")
        self.potential = self.potential + spring * safe / (exponent + 1)
        total = damped * normal
        mu = host.number(force.friction)
        if not (isinstance(mu, float) and mu == 0.0):
            along = slip - ca.dot(normal, slip) * normal
            total = total - mu * push * along / ca.sqrt(ca.dot(along, along) + host.number(force.speed) ** 2)
        for value, has in ((spring * normal, True), (total, False)):
            self.push(force.point.body, touch - pose_b.r, value, has_potential=has)
            self.push(force.plane.body, touch - pose_a.r, -value, has_potential=has)

    def _actuator(self, force: Actuator) -> None:
        host, model = self.host, force.model
        measured = host.measure(force.coordinate)
        if model is None:
            self.drive(measured, self._amount(force, force.effort, 1, f"effort of actuator {force.name!r}"))
            return
        u = host.u[host.inputs.index[force.input]]
        if isinstance(model, FirstOrderLag):
            effort = host.z[host.internal.index[f"{force.name}.effort"]]
            self.internal_rates.append((host.number(model.gain) * u - effort) / host.number(model.time_constant))
            self.drive(measured, effort)
        else:
            k_t, R, n = (host.number(x) for x in (model.torque_constant, model.resistance, model.gear_ratio))
            k_e = k_t if model.back_emf is None else host.number(model.back_emf)
            voltage = u - k_e * n * measured.rate
            if f"{force.name}.current" in host.internal.index:
                current = host.z[host.internal.index[f"{force.name}.current"]]
                self.internal_rates.append((voltage - R * current) / host.number(model.inductance))
            else:
                current = voltage / R
            drag = host.number(model.rotor_damping) * n * n * measured.rate
            self.drive(measured, SX(n * k_t * current - drag))
