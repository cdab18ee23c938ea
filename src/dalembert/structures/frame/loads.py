"""Loads of a frame, by case: on points, along beams, on a place of a beam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.core.errors import ModelError
from dalembert.structures.frame import arguments
from dalembert.structures.frame.arguments import Vector


@dataclass(frozen=True)
class PointLoad:
    """Force [N] and moment [N m] on a point."""

    case: str
    point: str
    force: Vector
    moment: Vector


@dataclass(frozen=True)
class LineLoad:
    """Force [N/m] and moment [N m/m] per length, linear over ``part`` of a beam, (from, to) from its start [m]."""

    case: str
    beam: str
    start: tuple[float, ...]
    end: tuple[float, ...]
    local: bool
    part: tuple[float, float | None] = (0.0, None)


@dataclass(frozen=True)
class BeamPointLoad:
    """Force and moment on a place of a beam, ``at`` from its start [m]."""

    case: str
    beam: str
    at: float
    load: tuple[float, ...]
    local: bool


@dataclass(frozen=True)
class InitialStrain:
    """Strain and curvatures about y and z [1/m] that a beam would take on without any force."""

    case: str
    beam: str
    strain: Vector


class LoadMethods:
    """The part of a `Frame` that takes loads."""

    name: str
    planar: bool
    loads: list[Any]
    cases: list[str]

    def _case(self, case: Any) -> str:
        if not isinstance(case, str) or not case:
            raise ModelError("bad-name", f"the name of a load case must be a non-empty text, got {case!r}.")
        if case == "gravity":
            problem = "load case 'gravity' is made by the frame itself; give other loads another name."
            raise ModelError("taken-name", problem, where={"name": case})
        if case not in self.cases:
            self.cases.append(case)
        return case

    def add_force(self, name: str, point: str, force: Any, *, moment: Any = None) -> None:
        """A force [N] (and moment [N m]) on a point, in global axes; several on one point add up."""
        arguments.text(point, f"load case {name!r}")
        push = arguments.vector(force, f"force on point {point!r}", self.planar)
        turn = self._moment(moment, f"moment on point {point!r}")
        self.loads.append(PointLoad(self._case(name), point, push, turn))

    def add_moment(self, name: str, point: str, moment: Any) -> None:
        """A moment [N m] on a point: three numbers, or the one about z of a planar frame."""
        turn = self._moment(moment, f"moment on point {arguments.text(point, f'load case {name!r}')!r}")
        self.loads.append(PointLoad(self._case(name), point, (0.0, 0.0, 0.0), turn))

    def add_line_load(
        self,
        name: str,
        beam: str,
        force: Any = None,
        *,
        end_force: Any = None,
        moment: Any = None,
        end_moment: Any = None,
        start: float = 0.0,
        end: float | None = None,
        axes: str = "global",
    ) -> None:
        """A load along a beam or a part of it, per length of the beam.

        Parameters
        ----------
        force : [N/m] at the start; ``end_force`` at the end, linear between; the same when left out.
        moment, end_moment : [N m/m], likewise.
        start, end : where the load starts and ends, from the start of the beam [m]; all of it when left out.
        axes : "global", or "local" for the axes of the beam.
        """
        what = f"line load on {arguments.text(beam, f'load case {name!r}', 'beam')!r}"
        zero = (0.0, 0.0, 0.0)
        push = zero if force is None else arguments.vector(force, what, self.planar)
        last = push if end_force is None else arguments.vector(end_force, what, self.planar)
        turn = self._moment(moment, what)
        final = turn if end_moment is None else self._moment(end_moment, what)
        if not any(push + last + turn + final):
            raise ModelError("empty", f"{what} has neither force nor moment.")
        low = arguments.number(start, f"start of the {what}", not_negative=True)
        high = None if end is None else arguments.number(end, f"end of the {what}")
        if high is not None and high <= low:
            problem = f"{what} must end beyond its start, got {low:g} to {high:g} m."
            raise ModelError("out-of-range", problem, evidence={"start": low, "end": high})
        local = _local(axes, what)
        self.loads.append(LineLoad(self._case(name), beam, push + turn, last + final, local, (low, high)))

    def add_beam_force(
        self, name: str, beam: str, at: float, force: Any = None, *, moment: Any = None, axes: str = "global"
    ) -> None:
        """A force [N] and moment [N m] on a place of a beam, ``at`` from its start [m]; no point is needed there."""
        what = f"force on beam {arguments.text(beam, f'load case {name!r}', 'beam')!r}"
        push = (0.0, 0.0, 0.0) if force is None else arguments.vector(force, what, self.planar)
        load = push + self._moment(moment, what)
        if not any(load):
            raise ModelError("empty", f"{what} has neither force nor moment.")
        place = arguments.number(at, f"place of the {what}", not_negative=True)
        self.loads.append(BeamPointLoad(self._case(name), beam, place, load, _local(axes, what)))

    def add_strain(
        self, name: str, beam: str, strain: float = 0.0, *, curvature_y: float = 0.0, curvature_z: float = 0.0
    ) -> None:
        """Strain and curvature of a beam without any force: heat, shrinkage, lack of fit, the pull of a tendon.

        Parameters
        ----------
        strain : α ΔT for a change of temperature ΔT.
        curvature_y, curvature_z : about the local axes [1/m]; −α ΔT/h about z for a top (+y) warmer by ΔT.
        """
        what = f"strain of beam {arguments.text(beam, f'load case {name!r}', 'beam')!r}"
        first, second, third = (arguments.number(value, what) for value in (strain, curvature_y, curvature_z))
        if not (first or second or third):
            raise ModelError("empty", f"{what} has neither strain nor curvature.")
        self.loads.append(InitialStrain(self._case(name), beam, (first, second, third)))

    def _moment(self, given: Any, what: str) -> arguments.Vector:
        return (0.0, 0.0, 0.0) if given is None else arguments.read_moment(given, what, self.planar)


def _local(axes: Any, what: str) -> bool:
    return arguments.choose(f"axes of the {what}", axes, ("global", "local")) == "local"
