"""Motion first, forces after it: two filters, coupled one way only (spec 004, C23 and C28).

The first, which knows joints and no masses, finds z, ż, z̈; the second takes them as inputs and finds forces. Nothing
goes back, so an error of a mass or of a force cannot spoil the motion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.estimate.estimate_result import Estimate
from dalembert.estimate.filtering import Filter
from dalembert.estimate.force_model import ForceModel
from dalembert.linear.checks import Frozen
from dalembert.record import Record


class TwoStage(Frozen):
    """A filter of the motion and a filter of the forces, one after the other.

    Parameters
    ----------
    motion : filter of a kinematic model that estimates accelerations (scheme 1, 2 or 3).
    forces : filter of a :class:`ForceModel` of the same machine.
    current : the forces at sample k follow from the motion at k; else, as in the source, from that at k - 1, which
        makes them late by one sample.
    """

    motion: Filter
    forces: Filter
    current: bool

    def __init__(self, motion: Filter, forces: Filter, *, current: bool = False) -> None:
        for what, given in (("motion", motion), ("forces", forces)):
            if not isinstance(given, Filter):
                raise ModelError(f"{what} must be a filter such as da.estimate.ExtendedKalman, got {given!r}.")
        model = forces.process.source
        if not isinstance(model, ForceModel):
            raise ModelError("forces must be a filter of a force model: da.estimate.forces(eqs, ...).")
        told = motion.process.reported.names or motion.process.carried.names
        missing = [name for name in model.motion.names if name not in told]
        if missing:
            raise ModelError(
                f"the filter of the motion does not estimate {missing[0]!r}, which forces follow from. Take the same "
                "independent coordinates, and a scheme for accelerations."
            )
        self._freeze(motion=motion, forces=forces, current=bool(current))

    @property
    def model(self) -> ForceModel:
        return self.forces.process.source  # type: ignore[no-any-return]

    def run(self, record: Record, *, progress: Any = None) -> TwoStageEstimate:
        """Motion and forces along a record of all sensors."""
        motion = self.motion.run(record, progress=progress)
        return TwoStageEstimate(motion, self.forces.run(self.told(motion.record, record), start=self._pose(motion)))

    def told(self, motion: Record, record: Record) -> Record:
        """What the second filter reads: the motion, the inputs it is told, the measured forces."""
        names = list(self.model.motion.names)
        moved = np.asarray(motion[names], dtype=float).reshape(len(motion), len(names))
        if self.current:  # the step to sample k takes what stands at k - 1
            moved = np.vstack([moved[1:], moved[-1:]])
        rest = [*self.model.told, *self.model.known]
        columns = [np.asarray(record[name], dtype=float)[: len(motion)] for name in rest]
        units = [motion.units[name] for name in names] + [record.units[name] for name in rest]
        return Record(motion.time, np.column_stack([moved, *columns]), [*names, *rest], units, name=record.name)

    def _pose(self, motion: Estimate) -> Any:
        """The forces as the filter begins, at the pose where the motion begins."""
        r = self.model.balance.relations
        x = np.array(self.forces.start, dtype=float)
        q = r.start({name: float(motion[name][0]) for name in r.coordinates.names})[1]
        x[len(x) - len(q) :] = q
        return x

    def __repr__(self) -> str:
        return f"TwoStage: {type(self.motion).__name__} of the motion, then {self.model!r}"


class TwoStageEstimate(Frozen):
    """Estimates of both stages; ``est["force"]`` and ``est["A.rate"]`` find either."""

    motion: Estimate
    forces: Estimate

    def __init__(self, motion: Estimate, forces: Estimate) -> None:
        self._freeze(motion=motion, forces=forces)

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
