"""Transfer functions of one input and one output, as state spaces in the companion form of the controller.

G(s) = (b₀ sⁿ + ... + bₙ) / (sⁿ + a₁ sⁿ⁻¹ + ... + aₙ) ;     x₁′ = -a₁ x₁ - ... - aₙ xₙ + u ,   xₖ′ = xₖ₋₁
y = Σ (bₖ - aₖ b₀) xₖ + b₀ u ; sampled with z in place of s.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from dalembert.core.declare import checked, matrix
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace

Coefficients = Annotated[Any, matrix("1", "*", vector="row"), "that of the highest power of s (sampled: of z) first"]


@checked
def tf(
    numerator: Coefficients,
    denominator: Coefficients,
    dt: float | None = None,
    *,
    input: str = "u1",
    output: str = "y1",
) -> StateSpace:
    """A transfer function as a `StateSpace`; connect them with ``*``, ``+`` and ``.feedback()``.

    Parameters
    ----------
    numerator, denominator : coefficients, that of the highest power of s (sampled: of z) first.
    dt : sample time [s]; None is continuous.
    input, output : names of its channels.

    Examples
    --------
    >>> motor = tf([2.0], [0.5, 1.0], input="voltage", output="speed")
    >>> motor.poles().values.real.tolist(), float(motor.dc_gain()[0, 0])
    ([-2.0], 2.0)
    """
    b, a = (np.trim_zeros(coefficients[0], "f") for coefficients in (numerator, denominator))
    if not a.size:
        raise DataError("zero", "the denominator of a transfer function must not be zero.")
    if b.size > a.size:
        raise DataError(
            "not-proper",
            f"the numerator has degree {b.size - 1}, the denominator {a.size - 1}: the output would need a derivative "
            "of the input. Add poles, such as those of a filter.",
        )
    n = a.size - 1
    b = np.concatenate([np.zeros(a.size - b.size), b]) / a[0]
    a = a / a[0]
    A, B = np.eye(n, k=-1), np.eye(n, 1)
    A[:1] = -a[1:]
    C = (b[1:] - a[1:] * b[0]).reshape(1, n)
    return StateSpace(A, B, C, [[b[0]]], dt, inputs=input, outputs=output)
