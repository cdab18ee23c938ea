"""Damping of a whole structure: Rayleigh and modal.

Rayleigh   C = α M + β K,                 ζᵢ = (α/ωᵢ + β ωᵢ)/2
modal      C = Σ 2 ζᵢ ωᵢ M φᵢ φᵢᵀ M,      φᵢᵀ M φᵢ = 1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dalembert.core.arguments import real_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.structures.assembly.materials import is_number

# Above this size the full matrix that modal damping needs is refused.
MODAL_LIMIT = 3000
MASSLESS = 1e-13  # eigenvalue, relative to the largest, of a direction without mass: 500 roundings


@dataclass(frozen=True)
class Rayleigh:
    """``C = alpha M + beta K``; alpha [1/s], beta [s].

    A negative beta makes every mode above ω = √(−α/β) unstable: it is accepted, because
    identified models have it, and seen by ``stability()``.

    Examples
    --------
    >>> Rayleigh.from_ratios(10.0, 0.02, 40.0, 0.02)
    Rayleigh(alpha=0.32, beta=0.0008)
    """

    alpha: float = 0.0
    beta: float = 0.0

    def __post_init__(self) -> None:
        if not (_finite(self.alpha) and _finite(self.beta)):
            raise DataError(
                "not-a-number", f"Rayleigh damping needs finite numbers, got {self.alpha!r} and {self.beta!r}."
            )

    @classmethod
    def from_ratios(cls, omega_1: float, ratio_1: float, omega_2: float, ratio_2: float) -> Rayleigh:
        """The two numbers that give two damping ratios at two angular frequencies [rad/s]."""
        if not (_finite(omega_1) and _finite(omega_2) and 0 < omega_1 < omega_2):
            raise DataError(
                "not-increasing",
                f"two different positive frequencies in rising order are needed, got {omega_1!r}, {omega_2!r}.",
            )
        if not (_finite(ratio_1) and _finite(ratio_2)):
            raise DataError("not-a-number", f"damping ratios must be finite numbers, got {ratio_1!r} and {ratio_2!r}.")
        beta = 2 * (ratio_2 * omega_2 - ratio_1 * omega_1) / (omega_2**2 - omega_1**2)
        return cls(round(2 * ratio_1 * omega_1 - beta * omega_1**2, 15), round(beta, 15))

    def ratio(self, omega: ArrayLike) -> FloatArray:
        """Damping ratio at angular frequency ``omega`` [rad/s]."""
        w = np.asarray(omega, dtype=np.float64)
        ratios: FloatArray = 0.5 * (self.alpha / w + self.beta * w)
        return ratios


@dataclass(frozen=True)
class ModalDamping:
    """Damping ratios of the modes in rising order of frequency; one number is for all modes."""

    ratios: float | tuple[float, ...]

    def __post_init__(self) -> None:
        given: Any = self.ratios
        values = list(given) if isinstance(given, (tuple, list, np.ndarray)) else [given]
        if not values or not all(_finite(value) and value >= 0 for value in values):
            raise DataError("negative", f"damping ratios must be finite and not negative, got {self.ratios!r}.")


Damping = Rayleigh | ModalDamping


def _finite(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def damping_matrix(damping: Damping | None, M: sp.csc_array, K: sp.csc_array, C: sp.csc_array) -> sp.csc_array:
    """``C`` plus what ``damping`` adds, on the free coordinates."""
    if damping is None:
        return C
    if isinstance(damping, Rayleigh):
        return sp.csc_array(C + damping.alpha * M + damping.beta * K)
    if not isinstance(damping, ModalDamping):
        raise DataError("wrong-type", f"damping must be Rayleigh(...) or ModalDamping(...), got {damping!r}.")
    n = M.shape[0]
    if n > MODAL_LIMIT:
        raise DataError(
            "too-large",
            f"modal damping of {n} coordinates would need a full {n} x {n} matrix (limit {MODAL_LIMIT}).",
            Advice("Use {}.", Call("da.structures.Rayleigh")),
            Advice("Or damp the modes of {}.", Call("system.modal", Argument("count"))),
            evidence={"coordinates": n, "limit": MODAL_LIMIT},
        )
    return sp.csc_array(C + _modal(np.atleast_1d(np.asarray(damping.ratios, float)), M.toarray(), K.toarray()))


def damping_of(title: str, damping: Any, M: FloatArray, K: FloatArray) -> FloatArray:
    """(m, m) damping matrix of the modal coordinates of a flexible body; numbers are damping ratios."""
    if damping is None:
        return np.zeros_like(K)
    if isinstance(damping, Rayleigh):
        return np.asarray(damping.alpha * M + damping.beta * K)
    given: Damping = damping if isinstance(damping, ModalDamping) else ModalDamping(
        real_number("damping", damping)
        if np.ndim(damping) == 0
        else tuple(real_number("damping", value) for value in damping)
    )  # fmt: skip
    assert isinstance(given, ModalDamping)
    ratios = np.atleast_1d(np.asarray(given.ratios, dtype=np.float64))
    if len(ratios) not in (1, len(K)):
        raise ModelError(
            "wrong-shape",
            f"flexible body {title!r}: {len(ratios)} damping ratios for {len(K)} modes.",
            Advice("Give one ratio for all modes, or one each."),
            where={"body": title},
            evidence={"ratios": len(ratios), "modes": len(K)},
        )
    squares, shapes = scipy.linalg.eigh(K, M)
    momenta = M @ shapes
    rates = 2 * np.resize(ratios, len(K)) * np.sqrt(np.maximum(squares, 0.0))
    return np.asarray((momenta * rates) @ momenta.T)


def _modal(ratios: FloatArray, M: FloatArray, K: FloatArray) -> FloatArray:
    massive = np.linalg.eigvalsh(M)[0] > MASSLESS * np.abs(M).max()
    if massive:
        squares, shapes = scipy.linalg.eigh(K, M)
    else:  # K x = λ M x as M x = μ K x, μ = 1/λ: massless directions have μ = 0 and are not damped
        inverse, shapes = scipy.linalg.eigh(M, K)
        keep = inverse > MASSLESS * inverse[-1]
        squares, shapes = 1 / inverse[keep][::-1], (shapes[:, keep] / np.sqrt(inverse[keep]))[:, ::-1]
    count = len(squares) if len(ratios) == 1 else min(len(ratios), len(squares))
    zeta = np.resize(ratios, count)
    omega = np.sqrt(np.clip(squares[:count], 0, None))
    momenta = M @ shapes[:, :count]
    matrix: FloatArray = (momenta * (2 * zeta * omega)) @ momenta.T
    return 0.5 * (matrix + matrix.T)
