"""Ends of a continuous beam, bar or shaft: free, held, or carrying springs and masses.

Every end is a spring against ground and a mass for each of its motions; an infinite spring holds it:

    end         translation    rotation           end         translation    rotation
    free        spring 0       spring 0           supported   spring ∞       spring 0
    clamped     spring ∞       spring ∞           guided      spring 0       spring ∞
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.structures.assembly.materials import is_number


@dataclass(frozen=True)
class End:
    """Springs at the end of a beam and the body on it; a free end has only zeros.

    Parameters
    ----------
    spring, rotational_spring : float
        Stiffness against ground across the beam [N/m] and against its rotation [N m/rad]; ``inf`` holds it.
    mass, inertia : float
        Mass [kg] and rotary inertia [kg m²] of a small body at the end.

    For a bar the spring acts along it and only ``spring`` and ``mass`` count; for a shaft only
    ``rotational_spring`` and ``inertia``.

    Examples
    --------
    >>> End(mass=0.5).text()
    'free, mass 0.5 kg'
    """

    spring: float = 0.0
    rotational_spring: float = 0.0
    mass: float = 0.0
    inertia: float = 0.0

    def __post_init__(self) -> None:
        for what in ("spring", "rotational_spring", "mass", "inertia"):
            value = getattr(self, what)
            finite = what in ("mass", "inertia")
            if not is_number(value) or not value >= 0.0:
                raise DataError("negative", f"{what} of an end must be a number that is not negative, got {value!r}.")
            if finite and math.isinf(value):
                raise DataError(
                    "not-finite",
                    f"{what} of an end must be finite.",
                    Advice("To hold the end, give {}.", Argument("spring", math.inf)),
                )

    def text(self) -> str:
        """In words, for tables and messages."""
        held = (math.isinf(self.spring), math.isinf(self.rotational_spring))
        words = [_HELD[held]]
        for value, what, unit in (
            (self.spring, "spring", "N/m"),
            (self.rotational_spring, "rotational spring", "N m/rad"),
            (self.mass, "mass", "kg"),
            (self.inertia, "inertia", "kg m²"),
        ):
            if value and not math.isinf(value):
                words.append(f"{what} {value:.6g} {unit}")
        return ", ".join(words)


_HELD = {(False, False): "free", (True, True): "clamped", (True, False): "supported", (False, True): "guided"}
NAMED = {
    "free": End(),
    "clamped": End(spring=math.inf, rotational_spring=math.inf),
    "supported": End(spring=math.inf),
    "guided": End(rotational_spring=math.inf),
}
_OTHER_NAMES = {"fixed": "clamped", "pinned": "supported", "simply supported": "supported", "sliding": "guided"}


def end(value: str | End, side: str) -> End:
    """An end by name (free, clamped, supported, guided) or the given one itself."""
    if isinstance(value, End):
        return value
    if not isinstance(value, str):
        raise ModelError("wrong-type", f"the {side} end is a name or an End, got {type(value).__name__}.")
    name = _OTHER_NAMES.get(value.lower(), value.lower())
    if name not in NAMED:
        raise ModelError(
            "unknown-name",
            unknown_name("end", value, NAMED, f"the {side} end of a beam"),
            Advice("Or use {}.", Call("da.structures.End", Argument("spring"), Argument("mass"))),
        )
    return NAMED[name]
