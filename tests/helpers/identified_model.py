"""A model of two modes as identification returns it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.identify import Identified
from dalembert.linear import StateSpace

DT = 0.01


def model(*hertz: float, shapes: Any = None, ratio: float = 0.01, **more: Any) -> Identified:
    """Modes at these frequencies, sampled at 100 Hz."""
    blocks, rows = [], []
    for k, f in enumerate(hertz):
        pole = np.exp(2.0 * np.pi * f * (-ratio + 1j * np.sqrt(1.0 - ratio**2)) * DT)
        blocks.append([[pole.real, pole.imag], [-pole.imag, pole.real]])
        shape = np.ones(1) if shapes is None else np.asarray(shapes[k])
        rows.append(np.column_stack([shape, np.zeros(len(shape))]))
    A = np.zeros((2 * len(hertz), 2 * len(hertz)))
    for k, block in enumerate(blocks):
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = block
    return Identified(StateSpace(A, C=np.hstack(rows), dt=DT), method="given", **more)
