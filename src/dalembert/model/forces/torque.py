"""A torque on a body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

from dalembert.core.findings import Advice, Argument, Call
from dalembert.model.bodies import Body, Point, Scalar, Vector
from dalembert.model.forces.force import Force, force
from dalembert.model.options import option


@force("torque")
class Torque(Force):
    """A torque on a body: given, an expression, or an input channel along a direction.

    `torque` is a vector (a number in the plane) or a function of the state; with `input` it is the direction, and the
    torque per input. `add_actuator` drives joints.
    """

    body: Body = option("body", "on which it acts")
    torque: Scalar | Vector | Callable[[Any], Any] | None = option(
        "law or laws", "given, an expression, or with an input its direction; three in space", default=None
    )
    _: KW_ONLY
    input: str | None = option("input", "name of an input channel that scales it", default=None)
    axes: str = option("choice", "axes of the torque", default="world", choices=("world", "body"))
    node: str | None = option("text", "node of a flexible body at which it acts", default=None)

    def __post_init__(self) -> None:
        body: Any = self.body
        advice = Advice("For a joint use {}.", Call("m.add_actuator", Argument("joint", body)))
        self.require(not isinstance(body, str), "wrong-type", f": expected a body, got {body!r:.80}.", advice)
        super().__post_init__()

    def place(self) -> Body | Point:
        """The place where it acts: a rigid body, or a node of a flexible one."""
        return self.body if self.node is None else self.body.at(self.node)

    def check(self) -> None:
        flexible = self.body.flexible is not None
        problem = f" acts on the {'flexible' if flexible else 'rigid'} body {self.body.name!r}."
        advice = Advice("Give {}, one of its nodes." if flexible else "Leave out {}.", Argument("node"))
        code = "missing-argument" if flexible else "ineffective-argument"
        self.require(flexible == (self.node is not None), code, problem, advice)
        self.place()
        if self.torque is not None:
            return
        advice = Advice("Give {}.", Argument("torque"), *([] if self.input else [Argument("input")]))
        problem = f" has no {'direction' if self.input else 'size'}."
        self.require(self.input is not None and self.body.planar, "missing-argument", problem, advice)
        object.__setattr__(self, "torque", 1.0)

    def input_unit(self, turns: bool | None) -> str:
        return "N m"
