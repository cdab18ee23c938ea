"""Form of a linear system, names and units of its channels; kinds of arguments that are systems or channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from dalembert.core.declare import ArgumentKind, Scope
from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.text import list_names

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from dalembert.linear.second_order import SecondOrder
    from dalembert.linear.state_space import StateSpace
    from dalembert.linear.uncertain import Uncertain
else:
    SecondOrder = StateSpace = Uncertain = Any  # their modules build on this one


def is_second_order(system: object) -> TypeIs[SecondOrder]:
    """Whether a system is a SecondOrder; for functions behind its methods, which cannot import the class."""
    return getattr(system, "form", None) == "second-order"


def is_state_space(system: object) -> TypeIs[StateSpace]:
    """Whether a system is a StateSpace."""
    return getattr(system, "form", None) == "state-space"


def is_uncertain(system: object) -> TypeIs[Uncertain]:
    """Whether a system is an Uncertain."""
    return getattr(system, "form", None) == "uncertain"


def places(kind: str, names: Sequence[str], known: Sequence[str], where: str) -> list[int]:
    """Places of the names among the known ones."""
    at = {name: i for i, name in enumerate(known)}
    for name in names:
        if name not in at:
            raise DataError("unknown-name", unknown_name(kind, name, known, where))
    return [at[name] for name in names]


def place(kind: str, name: str | None, known: Sequence[str], where: str) -> int:
    """Place of one name; a name left out is that of the only channel there is."""
    if name is None and len(known) != 1:
        problem = f"{where} has {len(known) or 'no'} {kind}s: {list_names(known, {}) or '(none)'}."
        raise DataError("missing-argument", problem, Advice("Name one: {}.", Argument(kind)))
    return 0 if name is None else places(kind, [name], known, where)[0]


def system_of(*forms: str) -> ArgumentKind:
    """A system of one of the forms, which gives the names of its channels to the scope."""
    words = {"second-order": "SecondOrder", "state-space": "StateSpace"}
    shown = " or a ".join(words[form] for form in forms)

    def read(name: str, value: Any, scope: Scope) -> Any:
        if getattr(value, "form", None) not in forms:
            hint = [Advice("Use {}.", Call("SecondOrder.state_space"))] if is_second_order(value) else []
            raise DataError("wrong-type", f"{name} must be a {shown}, got {type(value).__name__}.", *hint)
        scope |= {"system": f"this {type(value).__name__}", "inputs": value.inputs, "outputs": value.outputs}
        return value

    return ArgumentKind(f"a {shown}", read, gives=("system", "inputs", "outputs"))


def channel(kind: str) -> ArgumentKind:
    """The name of one input or output of the system; the only one where left out."""

    def read(name: str, value: Any, scope: Scope) -> str:
        channels: tuple[str, ...] = scope[f"{kind}s"]
        return channels[place(kind, value, channels, scope["system"])]

    return ArgumentKind(f"name of an {kind}; the only one where left out", read, ("system",))


AnySystem = Annotated[SecondOrder | StateSpace, system_of("second-order", "state-space"), "linear system"]
SecondOrderSystem = Annotated[SecondOrder, system_of("second-order"), "linear system"]
StateSpaceSystem = Annotated[StateSpace, system_of("state-space"), "linear system"]
InputName = Annotated[str | None, channel("input"), "input that acts"]
OutputName = Annotated[str | None, channel("output"), "output that is read"]


def input_units(system: Any) -> dict[str, str]:
    """Units of the inputs by name, but of those named like a coordinate, state or output, whose unit it is."""
    others = {*getattr(system, "coordinates", ()), *getattr(system, "states", ()), *system.outputs}
    return {name: system.units[name] for name in system.inputs if name in system.units and name not in others}
