"""Motion first, then forces: two filters, coupled one way only (Palomba 2016, ch. 3).

The first, from joints without masses, estimates z, ż, z̈; the second takes them as inputs and estimates forces. There
is no feedback, so an error of a mass or of a force does not affect the motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arrays import assign, frozen
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import Channels
from dalembert.estimate.engine.estimate import Estimate
from dalembert.estimate.engine.filter import Filter
from dalembert.estimate.engine.stepper import FilterStepper
from dalembert.estimate.forces.model import ForceModel
from dalembert.estimate.kinematic.model import KinematicModel
from dalembert.expressions import Expr
from dalembert.loop.interfaces import ObserverStep
from dalembert.record import Record

MX = ca.MX


@frozen(init=False)
class TwoStage:
    """A filter of the motion and a filter of the forces, one after the other.

    Parameters
    ----------
    motion : filter of a kinematic model that estimates accelerations (scheme 1, 2 or 3).
    forces : filter of a :class:`ForceModel` of the same machine.
    current : the forces at sample k follow from the motion at k; else, as in Palomba 2016, from that at k - 1, which
        makes them late by one sample.
    """

    motion: Filter
    forces: Filter
    current: bool

    def __init__(self, motion: Filter, forces: Filter, *, current: bool = False) -> None:
        for what, estimator in (("motion", motion), ("forces", forces)):
            if not isinstance(estimator, Filter):
                raise ModelError("wrong-type", f"{what} must be a filter, got {estimator!r}.")
        model = forces.process.source
        if not isinstance(model, ForceModel):
            make = Advice("Make the model with {}.", Call("da.estimate.model_forces"))
            raise ModelError("wrong-type", "forces must be a filter of a force model.", make)
        estimated = motion.process.reported.names or motion.process.carried.names
        missing = [name for name in model.motion.names if name not in estimated]
        if missing:
            raise ModelError(
                "missing-channel",
                f"the filter of the motion does not estimate {missing[0]!r}, from which forces follow.",
                Advice("Use the same independent coordinates, and a scheme with accelerations."),
                where={"channels": tuple(missing)},
            )
        assign(self, motion=motion, forces=forces, current=bool(current))

    @property
    def model(self) -> ForceModel:
        return self.forces.process.source  # type: ignore[no-any-return]

    def run(self, record: Record, *, progress: object = None) -> TwoStageEstimate:
        """Motion and forces along a record of all sensors."""
        motion = self.motion.run(record, progress=progress)
        first = {name: float(motion[name][0]) for name in self._coordinates}
        return TwoStageEstimate(
            motion, self.forces.run(self.second_record(motion.record, record), start=self._begin(first))
        )

    def stepper(self, dt: float | None = None, *, t: float = 0.0) -> TwoStageStepper:
        """Both filters sample by sample."""
        return TwoStageStepper(self, dt, t)

    def observer_step(self, dt: float | None = None) -> ObserverStep:
        """Both filters as an expression, for ``da.simulate(..., observer=)``."""
        return _observer_step(self, dt)

    def second_record(self, motion: Record, record: Record) -> Record:
        """The record of the second filter: the motion, the exactly known inputs, the measured forces."""
        names = list(self.model.motion.names)
        moved = np.asarray(motion[names], dtype=float).reshape(len(motion), len(names))
        if self.current:  # the step to sample k takes the values at k - 1
            moved = np.vstack([moved[1:], moved[-1:]])
        inputs = [*self.model.exact, *self.model.known]
        columns = [np.asarray(record[name], dtype=float)[: len(motion)] for name in inputs]
        units = [motion.units[name] for name in names] + [record.units[name] for name in inputs]
        return Record(motion.time, np.column_stack([moved, *columns]), [*names, *inputs], units, name=record.name)

    @property
    def _coordinates(self) -> tuple[str, ...]:
        return self.model.balance.relations.coordinates.names

    def _begin(self, z: Mapping[str, float] | None = None) -> Expr:
        """The forces as the filter begins, at z, or at the pose where the motion begins."""
        r, source = self.model.balance.relations, self.motion.process.source
        x = np.array(self.forces.start, dtype=float)
        begin = None  # the way the loops are closed in the first filter holds in the second too
        if isinstance(source, KinematicModel) and source.relations.pose.names == r.pose.names:
            first = source.stepper.blocks * source.stepper.n
            begin = self.motion.start[first : first + len(r.pose)]
        q = r.start(z, begin)[1] if z is not None else r.begin if begin is None else begin
        x[len(x) - len(q) :] = q
        return x

    def __repr__(self) -> str:
        return f"TwoStage: {type(self.motion).__name__} of the motion, then {self.model!r}"


class TwoStageStepper:
    """Both filters, stepped sample by sample; mutable.

    motion, forces : steppers of the two filters (that of the forces from the first sample on).
    """

    def __init__(self, stages: TwoStage, dt: float | None, t: float) -> None:
        self.stages, self.dt = stages, dt
        self.motion = stages.motion.stepper(dt, t=t)
        self.forces: FilterStepper | None = None
        self._exact: list[float] = []
        self.estimate: dict[str, float] = {}

    def step(self, sample: Mapping[str, float], t: float | None = None) -> dict[str, float]:
        """Take the readings of all sensors, by name (NaN or left out: not measured); returns both estimates by name."""
        model, motion = self.stages.model, self.stages.motion.process
        needed = [*motion.inputs.names, *model.exact]
        missing = [name for name in needed if name not in sample]
        if missing:
            problem = f"the sample lacks {', '.join(missing)}: inputs must be given with every sample."
            raise DataError("missing-channel", problem, where={"channels": tuple(missing)})
        moved = self.motion.step(
            {name: sample[name] for name in motion.outputs.names if name in sample},
            {name: sample[name] for name in motion.inputs.names}, t,
        )  # fmt: skip
        exact = [sample[name] for name in model.exact]
        now = [*(moved[name] for name in model.motion.names), *exact]
        before = None
        if self.forces is None:
            first = {name: moved[name] for name in self.stages._coordinates}
            self.forces = self.stages.forces.stepper(self.dt, start=self.stages._begin(first), t=self.motion.t)
        elif self.stages.current:  # the motion of now, other inputs as they were until now
            before = [*now[: len(model.motion)], *self._exact]
        self._exact = exact
        forces = self.forces.step(
            {name: sample[name] for name in model.known if name in sample}, now, self.motion.t, before=before
        )
        self.estimate = {**moved, **forces}
        return self.estimate


def _observer_step(stages: TwoStage, dt: float | None) -> ObserverStep:
    """state = [states of both filters; motion and exact inputs at the last sample; whether there was one]."""
    model = stages.model
    a, b = stages.motion.observer_step(dt), stages.forces.observer_step(dt)
    known = tuple(dict.fromkeys([*a.known, *model.known, *model.exact]))
    nm, n = len(model.motion), len(b.known)
    sizes = [len(a.state), len(b.state), n, 1]
    state, y = MX.sym("state", sum(sizes)), MX.sym("y", len(a.reads))
    u0, u1 = MX.sym("u0", len(known)), MX.sym("u1", len(known))
    measured, t, step = MX.sym("measured", len(a.reads)), MX.sym("t"), MX.sym("dt")
    p = MX.sym("p", len(a.parameters) + len(b.parameters))
    ma, mb, last, begun = ca.vertsplit(state, np.cumsum([0, *sizes]).tolist())

    def of(u: Expr, names: Iterable[str]) -> Expr:
        return ca.vertcat(MX(0, 1), *[u[known.index(name)] for name in names])

    after_a, moved = a.function(ma, of(u0, a.known), of(u1, a.known), y, measured, p[: len(a.parameters)], t, step)
    now = ca.vertcat(*[moved[a.gives.index[name]] for name in model.motion.names], of(u1, model.exact))
    before = ca.if_else(begun, last, now)
    if stages.current:
        before = ca.vertcat(now[:nm], before[nm:])
    after_b, forces = b.function(
        mb, before, now, of(u1, model.known), MX.ones(len(model.known)), p[len(a.parameters) :], t, step
    )
    mine = [k for k, name in enumerate(b.gives.names) if name not in a.gives.index]
    function = ca.Function(
        "watch", [state, u0, u1, y, measured, p, t, step],
        [ca.vertcat(after_a, after_b, now, 1), ca.vertcat(moved, forces[mine])],
    )  # fmt: skip
    start = np.array(b.start)
    start[: stages.forces.process.nx] = stages._begin()
    names = [*a.state.names, *(f"forces {name}" for name in b.state.names), *(f"last {k}" for k in range(n)), "begun"]
    return ObserverStep(
        f"{a.name}, then forces", a.reads, known,
        Channels([*a.gives.names, *(b.gives.names[k] for k in mine)],
                 [*a.gives.units, *(b.gives.units[k] for k in mine)]),
        function, a.dt, Channels(names, [""] * len(names)),
        (*a.start, *(float(x) for x in start), *[0.0] * (n + 1)), (*a.parameters, *b.parameters),
    )  # fmt: skip


@frozen(init=False)
class TwoStageEstimate:
    """Estimates of both stages; ``est["force"]`` and ``est["A.rate"]`` find either."""

    motion: Estimate
    forces: Estimate

    def __init__(self, motion: Estimate, forces: Estimate) -> None:
        assign(self, motion=motion, forces=forces)

    def __getitem__(self, name: str) -> Any:
        return self.forces[name] if name in self.forces.record.names else self.motion[name]

    @property
    def time(self) -> Any:
        return self.motion.time

    @property
    def record(self) -> Record:
        """Every estimate in one record."""
        a, b = self.motion.record, self.forces.record
        mine = [k for k, name in enumerate(b.names) if name not in a.names]
        names = [*a.names, *(b.names[k] for k in mine)]
        units = [a.units[name] for name in a.names] + [b.units[b.names[k]] for k in mine]
        return Record(a.time, np.column_stack([a.data, b.data[:, mine]]), names, units, name=a.name)

    def __repr__(self) -> str:
        return f"TwoStageEstimate\n{self.motion!r}\n{self.forces!r}"
