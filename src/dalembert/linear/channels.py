"""Form of a linear system, names and units of its channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.text import list_names

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from dalembert.linear.second_order import SecondOrder
    from dalembert.linear.state_space import StateSpace


def is_second_order(system: object) -> TypeIs[SecondOrder]:
    """Whether a system is a SecondOrder; for functions behind its methods, which cannot import the class."""
    return getattr(system, "form", None) == "second-order"


def is_state_space(system: object) -> TypeIs[StateSpace]:
    """Whether a system is a StateSpace."""
    return getattr(system, "form", None) == "state-space"


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


def input_units(system: Any) -> dict[str, str]:
    """Units of the inputs by name, but of those named like a coordinate, state or output, whose unit it is."""
    others = {*getattr(system, "coordinates", ()), *getattr(system, "states", ()), *system.outputs}
    return {name: system.units[name] for name in system.inputs if name in system.units and name not in others}
