"""Places along a beam: between its ends, up to the rounding of lengths that are sums of elements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray


@dataclass(frozen=True)
class PlaceLimits:
    """When places are on a beam, on a line, or at the end of an element."""

    # Share of the length by which a place may lie beyond an end: a thousand elements add up to 1e-13, and places
    # written in a file with ten digits leave 5e-10.
    ends: float = 1e-9
    # Least principal moment of points, of the largest, below which they are on a line: J⁻¹ then has a relative error
    # of ε/1e-9 = 2e-7, and points of a file with seven digits a spread of 1e-14 of the length squared.
    line: float = 1e-9
    # Relative distance of a station before the end of an element that counts as the start of the next one: places are
    # products and quotients of lengths, each good to ε.
    next: float = 1e-14


LIMITS = PlaceLimits()


def on_a_line(points: FloatArray) -> bool:
    """Whether points (n, 3) are on a line, or at one place: a body that they carry could turn about it."""
    sizes = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2  # moments are sums of two of them
    return bool(sizes[1:].sum() <= LIMITS.line * sizes[:2].sum())


def is_on(place: float, length: float) -> bool:
    """Whether a place lies on a beam of this length."""
    return -LIMITS.ends * length <= place <= length * (1.0 + LIMITS.ends)
