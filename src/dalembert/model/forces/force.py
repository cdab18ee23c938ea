"""Forces as data: the base of all kinds, their registry, and the methods of a mechanism that add them.

A kind is a class in a file of its own, declared by `@force`:

    @force("magnet")
    class Magnet(Force):
        \"\"\"Attraction of two poles, with the inverse square of their distance.\"\"\"

        a: Place = option("point", "first pole")
        b: Place = option("point", "second pole")
        _: KW_ONLY
        strength: Scalar = option("", "force times square of the distance [N m²]")

This gives ``m.add_magnet("M", a, b, strength=2.0)`` and ``type = "magnet"`` in model files, with schema, reader,
writer and reference page. `mechanics/forces/` has the mathematics of the same name. A package adds kinds through
entry points of the group ``dalembert.forces``: modules that declare both.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.registry import Registry
from dalembert.model.bodies import Body, Scalar, name_of
from dalembert.model.joints import Joint, unit_along
from dalembert.model.options import Declared, Kind, declare, option, require_options
from dalembert.record.units import in_si

if TYPE_CHECKING:
    from typing import Concatenate, ParamSpec

    from dalembert.model.forces.actuator import Actuator
    from dalembert.model.forces.bushing import Bushing
    from dalembert.model.forces.contact import Contact
    from dalembert.model.forces.damper import Damper
    from dalembert.model.forces.friction import Friction
    from dalembert.model.forces.point_force import PointForce
    from dalembert.model.forces.rotor import RotorInertia
    from dalembert.model.forces.spring import SpringDamper
    from dalembert.model.forces.stop import Stop
    from dalembert.model.forces.tendon import Tendon
    from dalembert.model.forces.thruster import Thruster
    from dalembert.model.forces.torque import Torque

    Arguments = ParamSpec("Arguments")
    Made = TypeVar("Made")

    def _adds(kind: Callable[Arguments, Made]) -> Callable[Concatenate[Any, Arguments], Made]: ...


class Rotor(NamedTuple):
    """A flywheel geared to a joint coordinate: angle = ratio times coordinate and deflection.

    deflection : coordinate of an elastic gear, at the joint; empty where the gear is stiff.
    stiffness, damping : of the elastic gear, at the joint.
    """

    name: str
    coordinate: str
    ratio: Any
    inertia: Any
    deflection: str = ""
    stiffness: Any = 0.0
    damping: Any = 0.0


class JointDynamics(NamedTuple):
    """What a file of a robot states of a force, at a joint or its only coordinate.

    damping : effort per speed.  friction : dry friction that no reaction changes.  complete : whether it is no more.
    """

    joint: str
    damping: float = 0.0
    friction: float = 0.0
    complete: bool = True


class Limits(NamedTuple):
    """Compliant limits of a joint coordinate."""

    coordinate: str
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class Force(Declared):
    """Anything that acts on bodies or along joint coordinates.

    measured : `da.spring_force` reads it: a tension, an effort along a coordinate, a normal force.
    central : it acts on its bodies along lines through its points, without a torque about these points.
    """

    name: str
    measured: ClassVar[bool] = False
    central: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.settle(self.what)
        self.check()

    @property
    def what(self) -> str:
        return f"{self.kind} {self.name!r}"

    def check(self) -> None:
        """Raise if its options do not fit together."""

    def require(self, fits: bool, code: str, problem: str, *advice: Advice, **evidence: float) -> None:
        """Refuse options that do not fit together; the problem follows the kind and name of the force."""
        if not fits:
            raise ModelError(code, f"{self.what}{problem}", *advice, where={"force": self.name}, evidence=evidence)

    def problems(self, joints: Mapping[str, Joint]) -> list[Finding]:
        """Problems of the force in a mechanism with these joints, besides names that do not exist."""
        return []

    def inputs(self) -> list[str]:
        """Input channels that it reads."""
        return list(self.values_of("input"))

    def input_unit(self, turns: bool | None) -> str:
        """Unit of its input; `turns`: whether its coordinate is an angle, None where it has none."""
        return "N m" if turns else "N"

    def effort_per_input(self) -> float | None:
        """Effort along its coordinate for a unit of its input; None where it is not proportional."""
        return None

    def input_range(self) -> tuple[float, float]:
        """Least and largest value of its input that acts."""
        return -math.inf, math.inf

    def joint_dynamics(self) -> JointDynamics | None:
        """Damping and friction of a joint, for files of robots; None where it is neither."""
        return None

    def states(self) -> list[tuple[str, str]]:
        """Names and units of its internal states: currents, lags."""
        return []

    def rotors(self) -> list[Rotor]:
        return []

    def limits(self) -> Limits | None:
        return None


class ForceMethods:
    """The `add_<kind>` methods of forces; part of `Mechanism`. Every registered kind has one."""

    forces: list[Force]
    joints: list[Joint]
    bodies: list[Body]

    def add_stops(
        self, *, stiffness: Scalar, damping: Scalar = 0.0, joints: Iterable[str | Joint] | None = None
    ) -> list[Force]:
        """A stop at every limit of joint coordinates (``limits=`` of a joint), or of those of some joints.

        stiffness, damping : as for `add_stop`: N/m and N s/m, N m/rad and N m s/rad of angles.
        """
        limited = {
            f"{joint.name}.{name}": (joint.name, limit.lower, limit.upper)
            for joint in self.joints
            for name, limit in joint.limits.items()
            if limit.lower is not None or limit.upper is not None
        }
        chosen = [*limited] if joints is None else [name_of(joint_name, "add_stops: joints") for joint_name in joints]
        for joint_name in chosen or ["any joint"]:
            if not any(joint_name in (full, owner) for full, (owner, _, _) in limited.items()):
                raise ModelError(
                    "no-limits", f"stops at the limits of {joint_name!r}: it has neither a lower nor an upper limit.",
                    Advice("Give {} where the joint is added.", Argument("limits")), where={"joint": joint_name},
                )  # fmt: skip
        stops = [
            FORCES["stop"](f"{full}.stop", full, lower=lower, upper=upper, stiffness=stiffness, damping=damping)  # type: ignore[call-arg]
            for full, (owner, lower, upper) in limited.items()
            if {full, owner} & {*chosen}
        ]
        self.forces += stops
        return stops

    if TYPE_CHECKING:  # those of the kinds of this package, for completion and type checkers
        add_actuator = _adds(Actuator)
        add_bushing = _adds(Bushing)
        add_contact = _adds(Contact)
        add_damper = _adds(Damper)
        add_force = _adds(PointForce)
        add_friction = _adds(Friction)
        add_rotor = _adds(RotorInertia)
        add_spring = _adds(SpringDamper)
        add_stop = _adds(Stop)
        add_tendon = _adds(Tendon)
        add_thruster = _adds(Thruster)
        add_torque = _adds(Torque)


def _attach(name: str, kind: type[Force]) -> None:
    parameters = inspect.signature(kind).parameters

    def add(self: ForceMethods, *arguments: Any, **options: Any) -> Force:
        arguments_by_name = {**dict(zip(parameters, arguments, strict=False)), **options}
        label = (*arguments, options.get("name"))[0]
        what = f"a {name}" if label is None else f"{name} {label!r}"
        if "joint" in options and "joint" not in parameters and "input" in parameters:  # a force or torque on a body
            advice = Advice("For a joint use {}.", Call("m.add_actuator", Argument("joint", options["joint"])))
            raise ModelError("unknown-argument", f"{what} acts on a body.", advice, where={"argument": "joint"})
        require_options(what, {key: value for key, value in arguments_by_name.items() if key != "name"}, kind.options())
        unit = (
            unit_along(name_of(joint, what), self.joints, self.bodies)
            if (joint := arguments_by_name.get("joint"))
            else "m"
        )
        for key, option_ in kind.options().items():
            if option_.about and isinstance(options.get(key), str):
                options[key] = in_si(options[key], option_.kind_along(unit), what=f"{what}: {key}", error=ModelError)
        added = kind(*arguments, **options)
        self.forces.append(added)
        return added

    add.__name__ = f"add_{name.replace(' ', '_')}"
    add.__qualname__ = f"Mechanism.{add.__name__}"
    add.__doc__ = kind.__doc__
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    add.__signature__ = inspect.Signature([first, *parameters.values()], return_annotation=kind.__name__)  # type: ignore[attr-defined]
    setattr(ForceMethods, add.__name__, add)


FORCES: Registry[type[Force]] = Registry(
    "kind of force", package="dalembert.model.forces", group="dalembert.forces", added=_attach
)


@dataclass_transform(frozen_default=True, field_specifiers=(option,))
def force(kind: str) -> Callable[[type[Kind]], type[Kind]]:
    """Declare a class as a kind of force: a frozen dataclass, a type of model files and a method ``add_<kind>``."""
    return declare(FORCES, kind)
