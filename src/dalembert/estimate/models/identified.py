"""An identified model as a filter takes it: with the levels of its channels and the delays of its inputs.

    x⁺ = A x + B (u(k-d) - u₀) ,    y = y₀ + C x + D (u(k-d) - u₀)

u₀, y₀ are the offsets that identification subtracted: the filter takes the readings of the sensors. An input that acts
d samples late is carried along in d more states, ``force[1]`` to ``force[d]``, the input of so many samples ago; they
are exact, so that Q and P0 are those of the others. Before the record, inputs have the values of its first sample.
"""

from __future__ import annotations

import numpy as np

from dalembert.estimate.models.process import Names, Process, find_places, linear_process, process
from dalembert.expressions import Array
from dalembert.identify.model.identified import Identified
from dalembert.linear import StateSpace


@process.register
def _(
    model: Identified, *, outputs: Names = None, inputs: Names = None, dt: float | None = None, deviations: bool = False
) -> Process:
    known = [model.inputs[k] for k in find_places(inputs, model.inputs, "input")]
    delays = {name: count for name, count in model.delays.items() if name in known}
    system, lines = with_delays(model.system, delays)
    held = {place: known.index(name) for place, name in lines.items()}

    def point(_: StateSpace, read: list[str], driven: list[str]) -> tuple[Array, Array, Array] | None:
        u0, y0 = (np.array([model.offsets.get(name, 0.0) for name in names]) for names in (driven, read))
        x0 = np.zeros(system.nx)
        for place, column in held.items():
            x0[place] = u0[column]
        return (x0, u0, y0) if u0.any() or y0.any() else None

    return linear_process(system, outputs, inputs, dt, None if deviations else point, deviations=deviations, held=held)


def with_delays(system: StateSpace, delays: dict[str, int]) -> tuple[StateSpace, dict[int, str]]:
    """The system with delayed inputs carried along as states, and which state holds which input."""
    lines: dict[int, str] = {}
    A, B, C, D, states = system.A, system.B, system.C, system.D, list(system.states)
    units = dict(system.units)
    for name, count in delays.items():
        j, n = system.inputs.index(name), len(A)
        more = np.zeros((n + count, n + count))
        more[:n, :n], more[:n, -1] = A, B[:, j]
        more[n + 1 :, n:-1] = np.eye(count - 1)
        driven = np.vstack([B, np.zeros((count, B.shape[1]))])
        driven[:, j] = 0.0
        driven[n, j] = 1.0
        A, B, C, D = more, driven, np.hstack([C, np.zeros((len(C), count - 1)), D[:, [j]]]), D.copy()
        D[:, j] = 0.0
        names = [f"{name}[{k}]" for k in range(1, count + 1)]
        lines.update({n + k: name for k in range(count)})
        states += names
        if name in units:
            units.update(dict.fromkeys(names, units[name]))
    return (system.replace(A=A, B=B, C=C, D=D, states=states, units=units) if delays else system), lines
