"""Places along a beam: between its ends, up to the rounding of lengths that are sums of elements."""

from __future__ import annotations

# Share of the length by which a place may lie beyond an end: a thousand elements add up to 1e-13, and places written
# in a file with ten digits leave 5e-10.
ENDS = 1e-9


def is_on(place: float, length: float) -> bool:
    """Whether a place lies on a beam of this length."""
    return -ENDS * length <= place <= length * (1.0 + ENDS)
