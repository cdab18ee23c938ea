"""Poles where they are wanted (spec 000, 63, 64)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DataError
from dalembert.linear.checks import FloatArray


def placed_gain(A: FloatArray, B: FloatArray, poles: Any, own_dt: Any, method: str, **rest: Any) -> FloatArray:
    from scipy.signal import place_poles

    if method not in ("robust", "null-space"):
        raise DataError(f"method must be 'robust' or 'null-space', got {method!r}.")
    return np.asarray(place_poles(A, B, np.asarray(poles)).gain_matrix)
