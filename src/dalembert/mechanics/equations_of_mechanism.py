"""Equations of motion of a Mechanism, in the coordinates that the user chooses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dalembert.core.arguments import one_of
from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.equations import equations as equations
from dalembert.mechanics.absolute.producer import absolute_equations
from dalembert.model import Mechanism

COORDINATES = ("absolute", "joint")
FORMS = ("recursive", "closed")
ROTATIONS = ("exponential", "linear")
OPTIONS = ("coordinates", "absolute", "cut", "form", "rotations")


@equations.register
def equations_of_mechanism(
    m: Mechanism,
    *,
    coordinates: str = "absolute",
    absolute: Iterable[str] = (),
    cut: Iterable[str] = (),
    form: str = "recursive",
    rotations: str = "exponential",
    **unknown: object,
) -> EquationsOfMotion:
    """Equations of a mechanism.

    coordinates : "absolute", of every body, or "joint": those of the joints of a spanning tree.
    absolute : bodies that keep coordinates of their own beside a tree.  cut : joints that rows close.
    form : of joint coordinates: "recursive", or "closed": the same by global matrices (`da.tree.closed_form`).
    rotations : of nodes of flexible bodies in the closed form: "exponential", or "linear" in their rotation vectors.
    """
    for name in unknown:
        problem = unknown_name("option", name, OPTIONS, "da.equations of a mechanism")
        raise ModelError("unknown-name", problem, where={"option": name})
    if coordinates not in COORDINATES:
        problem = unknown_name("kind of coordinates", coordinates, COORDINATES, f"mechanism {m.name!r}")
        raise ModelError("unknown-choice", problem, where={"option": "coordinates"})
    one_of("form", form, FORMS)
    one_of("rotations", rotations, ROTATIONS)
    names = [_names("absolute", "bodies", absolute), _names("cut", "joints", cut)]
    if rotations != ROTATIONS[0] and form != "closed":
        raise ModelError(
            "conflicting-arguments", "linear rotations exist in the closed form only.",
            Advice("Use them with {}.", Argument("form", "closed")), where={"option": "rotations"},
        )  # fmt: skip
    if coordinates == "joint":
        from dalembert.mechanics.tree.producer import joint_equations  # a machine in absolute coordinates needs no tree

        return joint_equations(m, absolute=names[0], cut=names[1], form=form, rotations=rotations)
    if any(names) or form != FORMS[0]:
        raise ModelError(
            "conflicting-arguments", "options absolute, cut and form choose a tree of joint coordinates.",
            Advice("Use them with {}.", Argument("coordinates", "joint")), where={"option": "coordinates"},
        )  # fmt: skip
    return absolute_equations(m)


def _names(option: str, what: str, given: Any) -> list[str]:
    """Names of bodies or joints, one or several."""
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(name, str) for name in names):
        raise ModelError(
            "wrong-type", f"{option} must be names of {what}, got {given!r:.80}.",
            Advice("Give {}.", Argument(option, [getattr(x, "name", x) for x in names if hasattr(x, "name")] or ["A"])),
            where={"option": option},
        )  # fmt: skip
    return names
