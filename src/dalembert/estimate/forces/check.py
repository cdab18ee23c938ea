"""Whether a motion and measured forces determine unknown forces, and where not, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.results import result

FORMS = ("known-from-unknown", "unknown-from-known")


def is_poor(condition: Any, limit: float = 100.0) -> Any:
    """Whether a pose does not determine a force: an error of 1 % of a measured one is then 100 % of the unknown one."""
    return condition >= limit


@result
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
        return not is_poor(max(self.condition.max(), self.seen.max()))

    @property
    def verdict(self) -> str:
        """Whether the unknown forces are determined, and where not."""
        names = ", ".join(self.unknown)
        if self.well_posed:
            return f"{', '.join(self.known)} and the motion determine {names} everywhere on this motion."
        worst = self.condition if self.condition.max() >= self.seen.max() else self.seen
        at = float(self.time[int(np.argmax(worst))])
        share = 100.0 * float(np.mean(is_poor(np.maximum(self.condition, self.seen))))
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
