"""From forces as data to generalized forces, potential energy and internal states.

Forces with a potential are kept apart from all others, so that the energy balance d(T + V)/dt = power of the others
can be recorded in every run. Everything elastic has one: gravity, springs, bushings, stops, contacts, and a law of
extension and speed in its part at zero speed. The remaining parts (damping, friction) belong to the others.

The mathematics of a kind of force is in a file of its own, which registers it under the name of the kind:

    def act(builder: ForceBuilder, magnet: Magnet) -> None:
        at_a, _ = builder.point(magnet.a)
        ...
        builder.push(magnet.a, pull, has_potential=True)

    FORCE_EQUATIONS.register("magnet", ForceEquations(act))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.core.registry import Registry
from dalembert.equations import DryFriction
from dalembert.expressions import call_user
from dalembert.mechanics.bodies.attachment import Attachment
from dalembert.mechanics.forces.drawing import Drawing
from dalembert.mechanics.rows import Measured
from dalembert.mechanics.user_view import as_column
from dalembert.model.bodies import Place
from dalembert.model.joints import Joint

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute

SX = ca.SX


def _draw_nothing(drawing: Drawing, force: object) -> None:
    pass


def _no_friction(force: object, joints: Mapping[str, Joint]) -> list[DryFriction]:
    return []


def _no_reactions(force: object) -> list[str]:
    return []


@dataclass(frozen=True)
class ForceEquations:
    """The mathematics of a kind of force.

    act : adds its generalized forces and its potential to a `ForceBuilder`.
    draw : adds it to the picture.
    dry : its Coulomb friction, one entry per coordinate (or contact), from the joints of the mechanism by name.
    reactions : joints on whose reactions it depends.
    """

    act: Callable[[ForceBuilder, Any], None]
    draw: Callable[[Drawing, Any], None] = _draw_nothing
    dry: Callable[[Any, Mapping[str, Joint]], list[DryFriction]] = _no_friction
    reactions: Callable[[Any], list[str]] = _no_reactions


FORCE_EQUATIONS: Registry[ForceEquations] = Registry(
    "equations of a kind of force", package="dalembert.mechanics.forces", group="dalembert.forces"
)


class ForceBuilder:
    """Generalized forces of one mechanism.

    host : poses, speeds, inputs and parameters of the mechanism.  potential : energy of everything elastic [J].
    tensions : values for `da.spring_force`, by the name of the force, with their units.
    state_rates : time derivatives of the internal states by name.
    limits : of Coulomb friction: rate, limit at rest, limit in motion.
    efforts : of friction, by its name and coordinate, with units.
    pushes : the carriers of places with the forces of force elements on them, world axes.
    """

    def __init__(self, host: Absolute) -> None:
        self.host = host
        self.space = host.space
        self._potential_parts = [SX(0) for _ in range(host.nv)]
        self._other_parts = [SX(0) for _ in range(host.nv)]
        self.applied = SX.zeros(host.nv)  # of force elements alone, without weight and forces of the bodies' motion
        self.potential = SX(0)
        self.state_rates: dict[str, Any] = {}
        self.tensions: dict[str, tuple[Any, str]] = {}
        self.limits: list[tuple[Any, Any, Any]] = []
        self.efforts: dict[tuple[str, str], tuple[Any, str]] = {}
        self.pushes: list[tuple[Attachment, Any]] = []

    @property
    def potential_part(self) -> Any:
        return ca.vertcat(*self._potential_parts) if self._potential_parts else SX.zeros(0, 1)

    @property
    def other_part(self) -> Any:
        return ca.vertcat(*self._other_parts) if self._other_parts else SX.zeros(0, 1)

    @property
    def internal_rates(self) -> list[Any]:
        """Rates of the internal states of all forces, in the order of these states."""
        return [self.state_rates[name] for force in self.host.m.forces for name, _ in force.states()]

    # -- ways to act ------------------------------------------------------------------------------------------------
    def add(self, columns: Sequence[int], values: Any, *, has_potential: bool) -> None:
        """Generalized forces on these speeds."""
        parts = self._potential_parts if has_potential else self._other_parts
        for k, column in enumerate(columns):
            parts[column] = parts[column] + values[k]

    def push(self, place: Place, force: Any, *, at: Any = None, has_potential: bool = False) -> None:
        """A force (world axes) at a place, or on the body of the place `at` another point of the world."""
        side = self.host.attach(place)
        if side.columns:
            arm = side.arm if at is None else at - side.pose.r
            self._act(side, force, self.space.turn_about(arm, force), has_potential=has_potential)

    def turn(self, place: Place, torque: Any, *, has_potential: bool = False) -> None:
        """A torque on the body of a place, in world axes (a scalar in the plane)."""
        side = self.host.attach(place)
        if side.columns:
            self._act(side, SX.zeros(self.space.dim), torque, has_potential=has_potential)

    def _act(self, side: Attachment, force: Any, torque: Any, *, has_potential: bool) -> None:
        own = torque if self.space.planar else side.pose.R.T @ torque
        self.pushes.append((side, force))
        self.add(side.columns, side.generalize(ca.vertcat(force, own)), has_potential=has_potential)

    def drive(self, measured: Measured, effort: object, *, has_potential: bool = False) -> None:
        """An effort along a named coordinate: f += Sᵀ effort."""
        form = measured.form
        self.add(form.columns, [value * effort for value in form.values], has_potential=has_potential)

    # -- values -----------------------------------------------------------------------------------------------------
    def point(self, place: Place) -> tuple[Any, Any]:
        """(position, velocity) of a point in world axes."""
        side = self.host.attach(place)
        return side.position, side.velocity

    def input(self, channel: str) -> Any:
        """The value of an input channel."""
        return self.host.u[self.host.inputs.index[channel]]

    def state(self, name: str) -> Any:
        """The value of an internal state; its rate goes into `state_rates`."""
        return self.host.z[self.host.internal.index[name]]

    def amount(self, given: object, size: int, channel: str | None, what: str) -> Any:
        """A constant or user-given vector, times its input channel where it has one."""
        if callable(given):
            value = as_column(call_user(given, what, self.host.view()), what, self.host.p_symbols)
            if value.shape != (size, 1):
                problem = f"{what} must return {size} value{'s' if size > 1 else ''}, got {value.shape[0]}."
                raise ModelError("wrong-shape", problem, evidence={"values": value.shape[0], "needed": size})
        else:
            value = self.host.vector(given if size > 1 else (given,))
        return value if channel is None else value * self.input(channel)

    # -- all forces -------------------------------------------------------------------------------------------------
    def build(self) -> None:
        host = self.host
        gravity = host.vector(host.m.gravity)
        for force in host.m.forces:
            FORCE_EQUATIONS[force.kind].act(self, force)
        self.applied = self.potential_part + self.other_part
        host.add_body_forces(self, gravity)
