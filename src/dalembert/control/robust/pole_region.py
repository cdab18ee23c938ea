"""Regions of the complex plane for poles, and their matrix inequalities (Chilali and Gahinet 1996).

A region {s : Ψ + Ω s + Ωᵀ s̄ < 0} has all eigenvalues of A if and only if some X > 0 fulfils

    Ψ ⊗ X + Ω ⊗ (A X) + Ωᵀ ⊗ (A X)ᵀ < 0

half-plane Re s < -α:  Ψ = 2 α, Ω = 1;  damping above ζ, a cone of half-angle φ, cos φ = ζ:  Ψ = 0,
Ω = [[sin φ, -cos φ], [cos φ, sin φ]];  disk |s| < r:  Ψ = -r I, Ω = [[0, 1], [0, 0]]. An intersection has all of them.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import at_least, not_negative, positive
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.results import result
from dalembert.numerics.matrix_inequalities import AffineMatrix, block


@result
class PoleRegion:
    """Poles with at least this damping ratio, decaying at least this fast, within a radius.

    Attributes
    ----------
    damping : ratio ζ from 0 to below 1.  decay : α [1/s], every pole left of -α.  radius : largest modulus [rad/s].

    Examples
    --------
    >>> region = PoleRegion(damping=0.5, decay=1.0)
    >>> region.contains(np.array([-2.0 + 3.0j, -2.0 + 4.0j, -0.5])).tolist()
    [True, False, False]
    """

    damping: Annotated[float, at_least(0.0, 1.0), "damping ratio"] = 0.0
    decay: Annotated[float, not_negative, "α [1/s]"] = 0.0
    radius: Annotated[float, positive, "largest modulus [rad/s]"] | None = None

    def __post_init__(self) -> None:
        empty = self.radius is not None and self.decay >= self.radius
        problem = f"no pole decays faster than {self.decay:g} 1/s within a radius of {self.radius or 0.0:g} rad/s."
        DataError.when(empty, "empty", problem, Advice("Make {} larger than the decay.", Argument("radius")))

    def contains(self, values: ComplexArray, rounding: float = 1e-9) -> FloatArray:
        """Whether each pole is inside; ``rounding``: of the largest modulus, by which it may be outside."""
        values = np.asarray(values, dtype=complex)
        return np.asarray(self.excess(values) <= rounding * np.abs(values).max(initial=0.0))

    def excess(self, values: ComplexArray) -> FloatArray:
        """Distance [rad/s] of each pole from the region; negative inside."""
        sine = float(np.sqrt(1.0 - self.damping**2))
        distances = [values.real + self.decay, values.real * sine + np.abs(values.imag) * self.damping]
        if self.radius is not None:
            distances.append(np.abs(values) - self.radius)
        return np.asarray(np.max(distances, axis=0))

    def inequalities(self, X: AffineMatrix, AX: AffineMatrix, time: float = 1.0) -> list[AffineMatrix]:
        """Matrices that are positive semidefinite where the poles are inside; ``time``: unit of time [s] of A."""
        both = AX + AX.T
        matrices = [-both - 2.0 * self.decay * time * X]
        if self.damping:
            sine, skew = float(np.sqrt(1.0 - self.damping**2)), self.damping * (AX - AX.T)
            matrices.append(-block([[sine * both, skew], [-skew, sine * both]]))
        if self.radius is not None:
            edge = self.radius * time * X
            matrices.append(block([[edge, -AX], [-AX.T, edge]]))
        return matrices

    def words(self) -> str:
        """``damping above 0.5, decay above 10 1/s``."""
        texts = [f"damping above {self.damping:g}"] * bool(self.damping)
        texts += [f"decay above {self.decay:g} 1/s"] * bool(self.decay)
        texts += [f"modulus below {self.radius:g} rad/s"] if self.radius is not None else []
        return ", ".join(texts) or "the left half-plane"
