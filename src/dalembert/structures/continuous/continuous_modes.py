"""Modes of a continuous line body (beam, bar, shaft, string) as a frozen result.

    M_i = ∫ m q_i² dz (+ end masses),   K_i = ∫ k (q_i″)² dz (+ end springs),   ω_i² = K_i/M_i,
    participation r_i = ∫ m q_i dz,     effective mass r_i²/M_i, whose sum over all modes is the mass that can move.

Integrals are composite Gauss sums with 16 points per two radians of the shortest wave: exact to rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import one_of, whole_number
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.errors import DataError
from dalembert.core.tables import align_columns
from dalembert.structures.assembly.places import is_on

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)

MOST = 100_000  # modes: their numbers take seconds


def is_as_large(size: FloatArray, largest: FloatArray, equal: float = 1e-9) -> FloatArray:
    """Whether sizes are equal to the largest: eigenvalues of neighbours are separated to 1e-9."""
    return np.asarray(size >= largest * (1.0 - equal))


def gauss(waves: float) -> tuple[FloatArray, FloatArray]:
    """Places in (0, 1) and weights for products of two functions of wave numbers up to ``waves`` [rad]."""
    panels = max(2, int(np.ceil(waves / 2.0)))
    start = np.arange(panels)[:, None]
    z = (start + 0.5 * (_POINTS + 1.0)) / panels
    w = np.broadcast_to(0.5 * _WEIGHTS / panels, z.shape)
    return z.ravel(), w.ravel()


@frozen(init=False)
class ContinuousModes(ABC):
    """What modes of beams and of bars have in common.

    Attributes
    ----------
    length : float [m]
    wave_numbers : (k,)
        Roots of the characteristic equation without dimension: β = a l for a beam, ω l/c for a bar.
    frequencies : (k,) [rad/s], ascending; 0 for rigid-body modes
    modal_masses, modal_stiffnesses : (k,)
    participation : (k,)
        ∫ m q dz, end masses included: modal force -r_i ẍ of a base that moves with acceleration ẍ.
    moving_mass : float
        What the effective masses of all modes add up to (a mass on a held end does not move).
    normalisation : "largest" (the largest deflection is 1) or "mass" (modal masses are 1)
    """

    length: float
    wave_numbers: FloatArray
    frequencies: FloatArray
    modal_masses: FloatArray
    modal_stiffnesses: FloatArray
    participation: FloatArray
    moving_mass: float
    normalisation: str
    provenance: Mapping[str, Any]
    _scale: FloatArray

    def __len__(self) -> int:
        return len(self.frequencies)

    @property
    def frequencies_hz(self) -> FloatArray:
        """Natural frequencies [Hz]."""
        return self.frequencies / (2.0 * np.pi)

    @property
    def effective_masses(self) -> FloatArray:
        """r_i²/M_i, the part of the mass that each mode carries when the base moves."""
        return self.participation**2 / self.modal_masses

    @property
    def rigid(self) -> int:
        """Number of rigid-body modes; they come first."""
        return int(np.count_nonzero(self.frequencies == 0.0))

    def normalise(self, how: str) -> Self:
        """The same modes scaled to ``"largest"`` deflection 1 or to unit modal ``"mass"``."""
        one_of("normalisation of modes", how, ("largest", "mass"))
        if how == self.normalisation:
            return self
        size = np.sqrt(self.modal_masses) if how == "mass" else self._peaks() * self._scale
        changed = {
            "_scale": self._scale / size, "modal_masses": self.modal_masses / size**2, "normalisation": how,
            "modal_stiffnesses": self.modal_stiffnesses / size**2, "participation": self.participation / size,
        }  # fmt: skip
        other = object.__new__(type(self))
        assign(other, **{**self.__dict__, **changed})
        return other

    @abstractmethod
    def _peaks(self) -> FloatArray:
        """(k,) largest deflection of every mode before scaling, with its sign where it first occurs."""

    @abstractmethod
    def _fields(self, z: FloatArray) -> FloatArray:
        """Fields of every mode at z in [0, 1], before scaling: (k, fields, nz)."""

    def _field(self, index: int, z: ArrayLike, factor: float) -> FloatArray:
        place = self._place(z)
        values = self._fields(place.ravel())[:, index] * (factor * self._scale)[:, None]
        return values.reshape(len(self), *place.shape)

    def _place(self, z: ArrayLike) -> FloatArray:
        place = np.asarray(z, dtype=np.float64)
        if not all(is_on(one, self.length) for one in place.ravel()):
            raise DataError("out-of-range", f"a place along the body lies between 0 and {self.length:g} m, got {z!r}.")
        unit: FloatArray = np.clip(place / self.length, 0.0, 1.0)
        return unit

    def shape(self, z: ArrayLike) -> FloatArray:
        """Mode shapes at z [m]: (k,) for one place, (k, ...) for an array of places."""
        return self._field(0, z, 1.0)

    def sample(self, count: int = 201) -> tuple[FloatArray, FloatArray]:
        """Evenly spaced places (count,) [m] and the shapes there (k, count), for plots."""
        z = np.linspace(0.0, self.length, whole_number("the number of samples", count, 1))
        return z, self.shape(z)

    def project(self, load: Callable[[FloatArray], ArrayLike], *, breaks: Sequence[float] = ()) -> FloatArray:
        """Modal forces ∫ q_i f(z) dz of a distributed load, (k,).

        Parameters
        ----------
        load : function of places (n,) [m] that gives (n,) [N/m]
        breaks : places where the load or its slopes jump; a smooth load needs none
        """
        edges = np.unique(np.concatenate([[0.0, self.length], np.asarray(breaks, dtype=np.float64)]))
        total = np.zeros(len(self))
        for left, right in pairwise(edges):
            size = right - left
            unit, weight = gauss(self._shortest() * size / self.length + 8.0)
            z = left + size * unit
            f = np.broadcast_to(np.asarray(load(z), dtype=np.float64), z.shape)
            if not np.isfinite(f).all():
                raise DataError("not-finite", "the distributed load must be finite everywhere along the body.")
            total = total + self.shape(z) @ (f * weight * size)
        return total

    def coordinates(self, deflection: Callable[[FloatArray], ArrayLike]) -> FloatArray:
        """Modal coordinates η_i = (1/M_i) ∫ m q_i u dz of a deflection u(z), (k,).

        End masses and, for a Timoshenko beam, the rotation of the sections are not part of this projection.
        """
        return self.project(lambda z: self._mass_per_length() * np.asarray(deflection(z))) / self.modal_masses

    @abstractmethod
    def _shortest(self) -> float:
        """Largest wave number [rad per length]."""

    @abstractmethod
    def _mass_per_length(self) -> float: ...

    def table(self) -> str:
        """Root, frequency, modal mass and effective mass, one line per mode."""
        head = ("mode", "root", "frequency [Hz]", "modal mass", "participation", "effective mass", "of total")
        share = np.divide(self.effective_masses, self.moving_mass) if self.moving_mass else np.zeros(len(self))
        rows = [
            (str(i + 1), f"{self.wave_numbers[i]:.6g}", f"{self.frequencies_hz[i]:.5g}", f"{self.modal_masses[i]:.5g}",
             f"{self.participation[i] + 0.0:.5g}", f"{self.effective_masses[i]:.5g}", f"{100.0 * share[i]:.2f} %")
            for i in range(len(self))
        ]  # fmt: skip
        masses = f"effective masses so far: {100.0 * share.sum():.2f} % of {self.moving_mass:.6g}"
        return f"{align_columns(head, rows)}\n{masses}"
