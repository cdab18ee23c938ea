"""Check of a whole machine: problems of its description, then its freedoms and redundant joints."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from dalembert.core.errors import DalembertError, ModelError, ModelWarning
from dalembert.mechanics import equations
from dalembert.model import Mechanism
from dalembert.solve.constrained import matrices
from dalembert.solve.position.assemble import assemble
from dalembert.solve.position.limits import find_exceeded
from dalembert.solve.position.mobility import LIMITS, Mobility, mobility, rows_at


@dataclass(frozen=True)
class Report:
    """What `da.check` found; prints everything."""

    name: str
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    mobility: Mobility | None

    @property
    def ok(self) -> bool:
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        lines = [f"Check of {self.name!r}: {'sound' if self.ok else f'{len(self.problems)} problem(s)'}"]
        lines += [f"  problem: {text}" for text in self.problems]
        lines += [f"  warning: {text}" for text in self.warnings]
        if self.mobility is not None:
            lines.append(repr(self.mobility))
        return "\n".join(lines)


def check(m: Mechanism) -> Report:
    """Look a machine over: every problem of its description at once, then its freedoms and redundant joints.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> da.check(m).ok
    True
    """
    if not isinstance(m, Mechanism):
        raise ModelError("wrong-type", f"only a Mechanism can be checked, got {type(m).__name__}.")
    found = tuple(one.text() for one in m.problems())
    if found:
        return Report(m.name, found, (), None)
    try:
        eqs = equations(m)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # limits are among the findings below
            state = assemble(eqs)
        result = mobility(eqs, state)
        M = np.reshape(eqs.kernel("inertia")(state.q, eqs.p, state.t)[0], (eqs.nv, eqs.nv))
        matrices.realizability(M, rows_at(eqs, state), eqs.speeds.names)
    except DalembertError as error:
        return Report(m.name, (str(error),), (), None)
    limits = [f"as drawn, {one.problem}" for one in find_exceeded(eqs, state)]
    return Report(m.name, (), (*_warnings(m, result), *limits), result)


def _warnings(m: Mechanism, found: Mobility) -> list[str]:
    texts = []
    massless = [body.name for body in m.bodies if float(body.mass) == 0]
    if massless:
        texts.append(f"bodies without mass, constrained by their joints: {', '.join(massless)}.")
    if found.singular:
        texts.append("the drawing shows a singular pose: more can move there than nearby.")
    elif found.redundant:
        texts.append(
            f"{found.rows - found.rank} redundant constraint row(s); reactions of "
            f"{', '.join(found.redundant)} are not unique."
        )
    if found.distance < LIMITS.near_singular:
        texts.append(f"the drawing is near a singular pose (smallest singular value {found.distance:.1e}).")
    if found.dof == 0 and not m.drivers:
        texts.append("nothing can move: there is no degree of freedom.")
    return texts
