"""Phase collinearity of complex mode shapes: 1 for a real shape times one phase factor.

With S_xx = Re φᵀ Re φ, S_yy = Im φᵀ Im φ, S_xy = Re φᵀ Im φ over the components (not centred), the modal phase
collinearity is ((λ₁ - λ₂)/(λ₁ + λ₂))² = ((S_xx - S_yy)² + 4 S_xy²)/(S_xx + S_yy)², with λ the eigenvalues of
[[S_xx, S_xy], [S_xy, S_yy]]: 1 for a real shape, 0 for a travelling wave (Pappa, Elliott and Schenk 1993; the centred
variant of the literature calls a single-sensor or rigid shape undefined, this one calls it 1). It is |φᵀφ|²/(φᴴφ)²,
that is, the MAC of a shape with its own conjugate.

The mean phase is the direction of the principal axis; the phase deviation is the mean angle of the components from it,
each weighted by its modulus.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError


def modal_phase_collinearity(shapes: ArrayLike) -> FloatArray:
    """MPC of each column, from 0 (components in all phases) to 1 (in or against one phase).

    Parameters
    ----------
    shapes : (ny,) or (ny, k) complex

    Returns
    -------
    (k,); 0 for a column of zeros.

    Examples
    --------
    >>> modal_phase_collinearity([[1.0, 1.0], [-2.0j, 1.0j], [0.0, 0.0]]).round(3).tolist()
    [0.36, 0.0]
    >>> modal_phase_collinearity(np.exp(0.3j) * np.array([1.0, -2.0, 0.5])).round(12).tolist()
    [1.0]
    """
    columns = _columns(shapes)
    size = np.einsum("ik,ik->k", columns.conj(), columns).real
    inner = np.abs(np.einsum("ik,ik->k", columns, columns))
    ratio: FloatArray = np.divide(inner, size, out=np.zeros(len(size)), where=size > 0.0)
    return np.minimum(ratio, 1.0) ** 2


def mean_phase(shapes: ArrayLike) -> FloatArray:
    """Angle [rad] of the straight line nearest to the components of each column, in (-π/2, π/2]; (k,)."""
    columns = _columns(shapes)
    angle: FloatArray = 0.5 * np.angle(np.einsum("ik,ik->k", columns, columns))
    return angle


def phase_deviation(shapes: ArrayLike) -> FloatArray:
    """Mean angle [rad] of the components from the mean phase, weighted by modulus; 0 for a real shape; (k,)."""
    columns = _columns(shapes)
    turned = columns * np.exp(-1j * mean_phase(columns))
    weight = np.abs(columns)
    away = np.arctan2(np.abs(turned.imag), np.abs(turned.real))
    total = weight.sum(axis=0)
    result: FloatArray = np.divide((weight * away).sum(axis=0), total, out=np.zeros(len(total)), where=total > 0.0)
    return result


def _columns(shapes: ArrayLike) -> ComplexArray:
    columns = np.array(shapes, dtype=np.complex128)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or not np.isfinite(columns).all():
        raise DataError(
            "not-finite", f"shapes must be finite numbers (ny, k), one column per mode; got shape {columns.shape}."
        )
    return columns
