"""A state of a machine: coordinates, speeds and internal states at one time, read by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Call
from dalembert.expressions import Array

if TYPE_CHECKING:
    from dalembert.equations.equations_of_motion import EquationsOfMotion


@dataclass(frozen=True, eq=False)
class State:
    """Where a machine is and how it moves; ``state["A.angle"]`` reads any coordinate or speed by name.

    friction : of an equilibrium, the coordinates that dry friction holds, with their share of its limit (0 to 1).
    free : of an equilibrium, the coordinates whose value does not matter: the machine would rest at any other as well
        (a cart on a level rail). Hold them (``hold={...}``) to choose one place of many.
    efforts : of an equilibrium, the forces and torques along held coordinates that keep it [N, N m].
    """

    eqs: EquationsOfMotion
    q: Array
    v: Array
    z: Array
    t: float
    lam: Array
    friction: Mapping[str, float] = field(default_factory=dict)
    free: tuple[str, ...] = ()
    efforts: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        eqs = self.eqs
        name = eqs.full_name(name) if isinstance(name, str) else repr(name)
        for channels, values in ((eqs.coordinates, self.q), (eqs.speeds, self.v), (eqs.internal, self.z)):
            if name in channels.index:
                return float(values[channels.index[name]])
        if name in eqs.measures.index or name in eqs.measure_rates.index:
            s, rate, _, _ = eqs.kernel("measures")(self.q, self.v, eqs.p, self.t)
            if name in eqs.measures.index:
                return float(s[eqs.measures.index[name]])
            return float(rate[eqs.measure_rates.index[name]])
        names = (*eqs.measures.names, *eqs.measure_rates.names, *eqs.speeds.names, *eqs.coordinates.names)
        problem = unknown_name("coordinate or speed", name, names, f"a state of {eqs.name!r}")
        sensed = name in eqs.outputs.index or name in eqs.reaction_channels.index
        advice = [Advice("Sensors and reactions in a state are those of {}.", Call("da.forward_dynamics"))] * sensed
        raise DataError("unknown-name", problem, *advice)

    def __repr__(self) -> str:
        eqs = self.eqs
        shown = [eqs.measures.names[k] for k in eqs.recorded_measures][:8] or list(eqs.coordinates.names[:8])
        values = ", ".join(f"{name}={self[name]:.6g}" for name in shown)
        held = "".join(f", {name} sticks with {share:.1%} of its limit" for name, share in self.friction.items())
        held += "".join(f", {name} is held by {effort:.6g}" for name, effort in self.efforts.items())
        free = f"; at rest at any {', '.join(self.free)}" if self.free else ""
        return f"State({eqs.name!r}, t={self.t:g}, {values}{held}{free})"
