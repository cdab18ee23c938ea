"""Check of a whole machine: problems of its description, then its freedoms and redundant joints."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from dalembert.core.errors import DalembertError, ModelError, ModelWarning
from dalembert.core.findings import Finding
from dalembert.mechanics import equations
from dalembert.model import Mechanism
from dalembert.solve.constrained import matrices
from dalembert.solve.position.assemble import assemble
from dalembert.solve.position.limits import find_exceeded
from dalembert.solve.position.mobility import NEAR_SINGULAR, Mobility, mobility, rows_at


@dataclass(frozen=True)
class Report:
    """What `da.check` found; prints everything."""

    name: str
    problems: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    mobility: Mobility | None

    @property
    def ok(self) -> bool:
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        lines = [f"Check of {self.name!r}: {'sound' if self.ok else f'{len(self.problems)} problem(s)'}"]
        lines += [f"  problem: {one.text()}" for one in self.problems]
        lines += [f"  warning: {one.text()}" for one in self.warnings]
        if self.mobility is not None:
            lines.append(repr(self.mobility))
        return "\n".join(lines)


def check(m: Mechanism) -> Report:
    """Look a machine over: every problem of its description at once, then its freedoms and redundant joints.

    Data of flexible bodies are compared with their model and their units, as by ``data.check()``.

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
    found = tuple(m.problems())
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
        return Report(m.name, (error.finding,), (), None)
    limits = [replace(one, problem=f"as drawn, {one.problem}", advice=()) for one in find_exceeded(eqs, state)]
    return Report(m.name, (), (*_warnings(m, result), *limits), result)


def _warnings(m: Mechanism, found: Mobility) -> list[Finding]:
    result = []
    massless = [body.name for body in m.bodies if float(body.mass) == 0]
    if massless:
        problem = f"bodies without mass, constrained by their joints: {', '.join(massless)}."
        result.append(Finding("no-mass", problem, {"bodies": massless}))
    for body in m.bodies:
        if body.flexible is not None:
            result += body.flexible.check().findings
    if found.singular:
        result.append(Finding("singular-pose", "the drawing shows a singular pose: more can move there than nearby."))
    elif found.redundant:
        count, joints = found.rows - found.rank, list(found.redundant)
        problem = f"{count} redundant constraint row(s); reactions of {', '.join(joints)} are not unique."
        result.append(Finding("not-unique", problem, {"joints": joints}, {"rows": count}))
    if found.distance < NEAR_SINGULAR:
        problem = f"the drawing is near a singular pose (smallest singular value {found.distance:.1e})."
        result.append(Finding("near-singular", problem, evidence={"smallest": found.distance}))
    if found.dof == 0 and not m.drivers:
        result.append(Finding("no-freedom", "nothing can move: there is no degree of freedom."))
    return result
