"""Couplers, drivers, a user's own constraints and extra coordinates as data, and the methods that add them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dalembert.core.arguments import one_of
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.core.registry import Registry
from dalembert.model.bodies import Body, Scalar, is_number, name_of, nonzero, number
from dalembert.model.joints import Joint, unit_along
from dalembert.model.options import Option
from dalembert.record import Record
from dalembert.record.units import in_si

LEVELS = ("position", "velocity", "acceleration")
ROTATION_VECTOR = (".rx", ".ry", ".rz")  # ends of the names of its components


@dataclass(frozen=True)
class CouplerKind:
    """second = ratio · first + offset, by the names that the parts of this kind have in methods and files.

    first, second : name and meaning of the two coordinates.  ratio, offset : name, meaning and kind of number.
    """

    doc: str
    first: tuple[str, str]
    second: tuple[str, str]
    ratio: tuple[str, str, str]
    offset: tuple[str, str, str]

    @property
    def keys(self) -> dict[str, Option]:
        """Keys of its table in a model file."""
        sides = [Option(name, "coordinate", doc) for name, doc in (self.first, self.second)]
        (ratio, meaning, number), (offset, about, kind) = self.ratio, self.offset
        return {
            option.name: option for option in (*sides, Option(ratio, number, meaning), Option(offset, kind, about, 0.0))
        }


COUPLERS: Registry[CouplerKind] = Registry("coupler kind", group="dalembert.couplers")
COUPLERS.register(
    "gear",
    CouplerKind(
        "Two joint coordinates in a fixed ratio: second = ratio · first + offset.",
        first=("first", "a joint, or its coordinate (`U.angle1`)"),
        second=("second", "a joint, or its coordinate"),
        ratio=("ratio", "change of the second per change of the first", ""),
        offset=("offset", "of the second where the first is zero", ""),
    ),
)
COUPLERS.register(
    "rack and pinion",
    CouplerKind(
        "A turning and a sliding joint coupled: displacement = radius · angle + offset.",
        first=("pinion", "the turning joint"),
        second=("rack", "the sliding joint"),
        ratio=("radius", "of the pinion", "length"),
        offset=("offset", "displacement at angle zero", "length"),
    ),
)


@dataclass(frozen=True)
class Coupler:
    """second = ratio * first + offset, between two joint coordinates."""

    name: str
    first: str
    second: str
    ratio: Scalar
    offset: Scalar = 0.0
    kind: str = "gear"


@dataclass(frozen=True)
class Driver:
    """Prescribed motion of a coordinate: coordinate = motion(t), or its acceleration = an input."""

    name: str
    coordinate: str
    motion: Any
    input: str = ""


@dataclass(frozen=True)
class UserConstraint:
    """phi(s) = 0, c(s) = 0 or D v̇ = d, given by a function of the state."""

    name: str
    level: str
    function: Callable[[Any], Any]


@dataclass(frozen=True)
class Variable:
    """An extra coordinate without mass, for user constraints."""

    name: str
    start: float


class CouplingMethods:
    """Methods that add couplers, drivers, constraints and variables; part of `Mechanism`."""

    couplers: list[Coupler]
    drivers: list[Driver]
    constraints: list[UserConstraint]
    variables: list[Variable]
    joints: list[Joint]
    bodies: list[Body]

    def add_coupler(
        self, kind: str, name: str, first: str | Joint, second: str | Joint, ratio: Scalar, offset: Scalar = 0.0
    ) -> Coupler:
        """Couple two joint coordinates: second = ratio * first + offset. `kind` is "gear", "rack and pinion", ..."""
        declared, what = COUPLERS[kind], f"{kind} {name!r}"
        coupler = Coupler(
            name,
            name_of(first, f"{what}: {declared.first[0]}"),
            name_of(second, f"{what}: {declared.second[0]}"),
            nonzero(ratio, f"{declared.ratio[0]} of {what}", declared.ratio[2]),
            number(offset, f"{declared.offset[0]} of {what}", declared.offset[2]),
            kind,
        )
        self.couplers.append(coupler)
        return coupler

    def add_gear(
        self, name: str, first: str | Joint, second: str | Joint, *, ratio: Scalar, offset: Scalar = 0.0
    ) -> Coupler:
        """Couple two joint coordinates: second = ratio * first + offset."""
        return self.add_coupler("gear", name, first, second, ratio, offset)

    def add_rack_and_pinion(
        self, name: str, pinion: str | Joint, rack: str | Joint, *, radius: Scalar, offset: Scalar = 0.0
    ) -> Coupler:
        """Couple a turning and a sliding joint: displacement = radius * angle + offset."""
        return self.add_coupler("rack and pinion", name, pinion, rack, radius, offset)

    def add_driver(self, name: str, coordinate: str | Joint, motion: object = None, *, input: str = "") -> Driver:
        """Prescribe a coordinate (``"A.angle"``, ``"crank.x"``): a number, a function of time or a Record.

        ``"plate.rotation"`` prescribes the orientation of a body in space: a `da.rotation`, a rotation vector or a
        quaternion, or a function of time that gives one; ``"plate.pose"`` its x, y, z followed by one of these. Three
        drivers of ``"plate.rx"``, ``"plate.ry"`` and ``"plate.rz"`` do the same, with an effort each. A Record of up to
        1000 samples prescribes them by splines of degree five; before and after its times the coordinate is held.

        ``input`` instead of a motion: the name of an input channel that is the acceleration of the coordinate [m/s²,
        rad/s²]. A measured base excitation of any length is an input of a run, and linear models have it too.
        """
        driven = name_of(coordinate, f"driver {name!r}: coordinate")
        what = f"motion of driver {name!r}"
        if (motion is None) == (not input):
            raise ModelError(
                "missing-argument" if motion is None else "conflicting-arguments",
                f"driver {name!r} prescribes a motion, or an acceleration by an input: one of them.",
                Advice("Give {}.", Argument("motion"), Argument("input")),
                where={"driver": name},
            )
        if input:
            if driven.endswith((".rotation", ".pose", *ROTATION_VECTOR)):
                problem = f"driver {name!r}: an input can be the acceleration of one coordinate, not of {driven!r}."
                raise ModelError("not-supported", problem, where={"driver": name})
            driver = Driver(name, driven, None, input)
            self.drivers.append(driver)
            return driver
        if isinstance(motion, Record):
            from dalembert.model.recorded import interpolate_motion

            motion = interpolate_motion(motion, driven, what)
        motion = in_si(motion, unit_along(driven, self.joints, self.bodies), what=what, error=ModelError)
        if not callable(motion) and driven.endswith((".rotation", ".pose")):
            from dalembert.model.orientation import as_rotation, split_pose

            (as_rotation if driven.endswith(".rotation") else split_pose)(motion, what)
        elif not callable(motion) and not is_number(motion):
            raise ModelError(
                "wrong-type",
                f"driver {name!r}: motion must be a number or a function of time, got {motion!r}.",
                where={"driver": name},
            )
        driver = Driver(name, driven, motion)
        self.drivers.append(driver)
        return driver

    def add_constraint(self, name: str, function: Callable[[Any], Any], *, level: str = "position") -> UserConstraint:
        """Any constraint as a function of the state ``s``.

        level "position": returns phi(s), zero; "velocity": returns c(s), zero, may use velocities (also
        nonlinearly); "acceleration": returns the residual D(s) v̇ - d(s), with ``s.acceleration_of(name)``
        for the entries of v̇, and must be affine in them.
        """
        one_of(f"constraint {name!r}: level", level, LEVELS, ModelError)
        if not callable(function):
            raise ModelError(
                "wrong-type", f"constraint {name!r}: expected a function of the state, got {function!r}.",
                where={"constraint": name},
            )  # fmt: skip
        constraint = UserConstraint(name, level, function)
        self.constraints.append(constraint)
        return constraint

    def add_variable(self, name: str, start: float = 0.0) -> Variable:
        """An extra coordinate without mass, to be used in constraints as ``s[name]``."""
        variable = Variable(name, float(number(start, f"start of variable {name!r}", "number")))
        self.variables.append(variable)
        return variable
