"""Equations of motion of a Mechanism, in the coordinates that the user chooses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.equations import equations as equations
from dalembert.mechanics.absolute.producer import absolute_equations
from dalembert.model import Mechanism

COORDINATES = ("absolute", "joint")
OPTIONS = ("coordinates", "absolute", "cut")


@equations.register
def equations_of_mechanism(
    m: Mechanism,
    *,
    coordinates: str = "absolute",
    absolute: Iterable[str] = (),
    cut: Iterable[str] = (),
    **unknown: object,
) -> EquationsOfMotion:
    """Equations of a mechanism.

    coordinates : "absolute", of every body, or "joint": those of the joints of a spanning tree.
    absolute : bodies that keep coordinates of their own beside a tree.  cut : joints that rows close.
    """
    for name in unknown:
        problem = unknown_name("option", name, OPTIONS, "da.equations of a mechanism")
        raise ModelError("unknown-name", problem, where={"option": name})
    if coordinates not in COORDINATES:
        problem = unknown_name("kind of coordinates", coordinates, COORDINATES, f"mechanism {m.name!r}")
        raise ModelError("unknown-choice", problem, where={"option": "coordinates"})
    names = [_names("absolute", "bodies", absolute), _names("cut", "joints", cut)]
    if coordinates == "joint":
        from dalembert.mechanics.tree.producer import joint_equations  # a machine in absolute coordinates needs no tree

        return joint_equations(m, absolute=names[0], cut=names[1])
    if any(names):
        raise ModelError(
            "conflicting-arguments", "options absolute and cut choose a tree of joint coordinates.",
            Advice("Use them with {}.", Argument("coordinates", "joint")), where={"option": "coordinates"},
        )  # fmt: skip
    return absolute_equations(m)


def _names(option: str, what: str, given: Any) -> list[str]:
    """Names of bodies or joints, one or several."""
    found = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(name, str) for name in found):
        raise ModelError(
            "wrong-type", f"{option} must be names of {what}, got {given!r:.80}.",
            Advice("Give {}.", Argument(option, [getattr(x, "name", x) for x in found if hasattr(x, "name")] or ["A"])),
            where={"option": option},
        )  # fmt: skip
    return found
