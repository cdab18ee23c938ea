"""Places along a beam: between its ends, up to the rounding of lengths that are sums of elements."""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import FloatArray


def is_flat(least: float, largest: float, line: float = 1e-9) -> bool:
    """Whether the least principal moment of points is that of a line.

    line : of the largest; J⁻¹ then has a relative error of ε/1e-9 = 2e-7, and points of a file with seven digits a
    spread of 1e-14 of the length squared.
    """
    return bool(least <= line * largest)


def on_a_line(points: FloatArray) -> bool:
    """Whether points (n, 3) are on a line, or at one place: a body that they carry could turn about it."""
    sizes = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2  # moments are sums of two of them
    return is_flat(sizes[1:].sum(), sizes[:2].sum())


def is_on(place: float, length: float, beyond: float = 1e-9) -> bool:
    """Whether a place lies on a beam of this length.

    beyond : share of the length; a thousand elements add up to 1e-13, and ten digits in a file leave 5e-10.
    """
    return -beyond * length <= place <= length * (1.0 + beyond)
