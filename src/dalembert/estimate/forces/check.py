"""Whether a motion and measured forces determine unknown forces, and where not, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray, frozen

FORMS = ("known-from-unknown", "unknown-from-known")


@dataclass(frozen=True)
class ForceLimits:
    """When a motion determines a force, and when a record is a motion of the machine."""

    poor: float = 100.0  # condition number: an error of 1 % of a measured force is then 100 % of the unknown one
    singular: float = 1e-9  # effect of a force over the sum of its parts that counts as none: rounding leaves 1e-15
    open: float = 1e-6  # gap of a pose of a record [m or rad]: 1 µm, a thousandth of usual readings
    elsewhere: float = 0.1  # a coordinate further off [rad or m] belongs to another way of closing the loops


LIMITS = ForceLimits()


@frozen
class ForceCheck:
    """How well a motion determines unknown forces: condition numbers, and the verdict in words."""

    known: tuple[str, ...]
    unknown: tuple[str, ...]
    form: str
    time: FloatArray
    condition: FloatArray
    seen: FloatArray
    map: FloatArray

    @property
    def well_posed(self) -> bool:
        return bool(max(self.condition.max(), self.seen.max()) < LIMITS.poor)

    @property
    def verdict(self) -> str:
        """Whether the unknown forces are determined, and where not."""
        names = ", ".join(self.unknown)
        if self.well_posed:
            return f"{', '.join(self.known)} and the motion determine {names} everywhere on this motion."
        worst = self.condition if self.condition.max() >= self.seen.max() else self.seen
        at = float(self.time[int(np.argmax(worst))])
        share = 100.0 * float(np.mean(np.maximum(self.condition, self.seen) >= LIMITS.poor))
        measured = self.form == FORMS[0] and worst is self.condition
        inverted = self.known if measured else self.unknown
        pose = (
            f"{inverted[0]} moves nothing"
            if len(inverted) == 1
            else f"{', '.join(inverted)} do not act independently of one another"
        )
        cure = f"measure {names if len(self.unknown) == 1 else 'one of them'}"
        if measured:
            cure = f"use form={FORMS[1]!r}, which does not divide by what they do"
        return (
            f"near t = {at:.4g} s the machine is in a pose where {pose} "
            f"({f'{share:.0f}' if share >= 1.0 else 'less than 1'} % of the motion): {names} is not determined there, "
            f"and nearby only with large errors. Avoid that pose, {cure}, or use a law with little noise to bridge it."
        )

    def __repr__(self) -> str:
        worst = max(self.condition.max(), self.seen.max())
        return f"ForceCheck: {self.verdict} Largest condition number {worst:.3g}."
