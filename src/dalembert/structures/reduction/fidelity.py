"""How well one set of modes stands for another (Allemang and Brown 1982).

    e_f = |f - f*| / f · 100            frequency error [%]
    NCO = (uᵀ M u*)² / (uᵀ M u · u*ᵀ M u*)      normalised cross orthogonality
    MAC = (uᵀ u*)² / (uᵀ u · u*ᵀ u*)            modal assurance criterion

Modes are paired by the largest NCO (MAC where there is no mass matrix), not by their number. Modes of one frequency
(rigid-body motions, symmetric structures) have no shapes of their own, only a common space: their NCO and MAC are
those of each with its projection on the space of as many partners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray, Matrix, frozen
from dalembert.core.errors import DataError
from dalembert.core.tables import aligned
from dalembert.linear.modes import Modes
from dalembert.structures.assembly import stiffness_factor as factors

if TYPE_CHECKING:
    from dalembert.structures.reduction.reduction import Reduction


@dataclass(frozen=True)
class FrequencyLimits:
    """When frequencies count as equal or as zero; eigensolvers of large meshes leave relative errors of 1e-9."""

    # Relative difference of frequencies of repeated modes.
    repeated: float = 1e-6
    # Part of the highest frequency compared, below which one counts as zero: rigid bodies have no relative error.
    zero: float = 1e-6


LIMITS = FrequencyLimits()


@frozen
class Fidelity:
    """Frequencies and shapes of a model against a reference, mode by mode.

    Parameters
    ----------
    frequencies : (k,) of the reference [rad/s]
    partner_frequencies : (k,) of the paired modes [rad/s]
    partners : (k,) numbers of the paired modes, from 1
    nco : (k,) normalised cross orthogonality of each pair; NaN without a mass matrix
    mac : (k,) modal assurance criterion of each pair
    nco_matrix, mac_matrix : (k, l) every mode of the reference against every mode of the model
    method : name of the compared model
    """

    frequencies: FloatArray
    partner_frequencies: FloatArray
    partners: np.ndarray[Any, np.dtype[np.intp]]
    nco: FloatArray
    mac: FloatArray
    nco_matrix: FloatArray
    mac_matrix: FloatArray
    method: str

    def __len__(self) -> int:
        return len(self.frequencies)

    @property
    def frequency_errors(self) -> FloatArray:
        """(k,) \\|f - f*\\| / f [%]; 0 for a pair of rigid-body modes, infinite where only the reference is rigid."""
        f, g = self.frequencies, self.partner_frequencies
        small = LIMITS.zero * max(f.max(initial=0.0), g.max(initial=0.0))
        both, one = (f <= small) & (g <= small), f <= small
        with np.errstate(divide="ignore", invalid="ignore"):
            error = 100.0 * np.abs(f - g) / np.where(one, 0.0, f)
        return np.where(both, 0.0, error)

    @property
    def average_mac(self) -> float:
        """Mean of the paired MAC values."""
        return float(self.mac.mean())

    @property
    def average_frequency_error(self) -> float:
        """Mean of the frequency errors [%]."""
        return float(self.frequency_errors.mean())

    def good(self, *, frequency_error: float = 1.0, nco: float = 0.99) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(k,) which modes the model has: error at most so many percent, NCO (or MAC) at least so much."""
        shape = np.where(np.isnan(self.nco), self.mac, self.nco)
        return np.asarray((self.frequency_errors <= frequency_error) & (shape >= nco))

    def table(self) -> str:
        """One line per mode of the reference."""
        head = ("mode", "frequency [Hz]", "partner", "its frequency [Hz]", "error [%]", "NCO", "MAC")
        rows = [
            (str(i + 1), f"{f / (2 * np.pi):.6g}", str(partner), f"{g / (2 * np.pi):.6g}", f"{error:.4g}",
             "-" if np.isnan(nco) else f"{nco:.6f}", f"{mac:.6f}")
            for i, (f, g, partner, error, nco, mac) in enumerate(zip(
                self.frequencies, self.partner_frequencies, self.partners, self.frequency_errors, self.nco, self.mac))
        ]  # fmt: skip
        return aligned(head, rows)

    def __repr__(self) -> str:
        return f"Fidelity of {self.method}\n{self.table()}"


def correlate(reference: Modes, model: Modes, *, mass: Matrix | None = None) -> Fidelity:
    """Compare two sets of modes on the same coordinates: measured and computed, full and reduced.

    Parameters
    ----------
    reference, model : Modes
        With the same coordinates, in the same order. Complex shapes are compared by their moduli of products.
    mass : (n, n), optional
        Mass matrix: NCO as well, and pairs by the largest NCO; without it pairs by the largest MAC.

    Examples
    --------
    >>> measured = Modes([2.0j, 5.0j], [[1.0, 1.0], [2.0, -0.4]], ["a", "b"])
    >>> computed = Modes([5.5j, 2.0j], [[1.0, 1.1], [-0.5, 2.0]], ["a", "b"])
    >>> print(correlate(measured, computed).table())
    mode  frequency [Hz]  partner  its frequency [Hz]  error [%]  NCO       MAC
       1         0.31831        2             0.31831          0    -  0.998464
       2        0.795775        1            0.875352         10    -  0.993103
    """
    if not len(reference) or not len(model):
        raise DataError("empty", "there are no modes to compare.")
    MAC = reference.mac(model)  # refuses different coordinates
    if mass is not None and mass.shape != (len(reference.coordinates),) * 2:
        raise DataError(
            "wrong-shape",
            f"mass has shape {mass.shape}, expected {(len(reference.coordinates),) * 2}: one row per coordinate.",
        )
    return _compare(
        "modes against modes", reference.frequencies, reference.shapes, model.frequencies, model.shapes, mass, MAC
    )


def of_reduction(reduced: Reduction, count: int | None, modes: Modes | None) -> Fidelity:
    """Undamped modes of a reduced system against those of the full one."""
    system, full = reduced.system, reduced.full
    if modes is None:
        shapes: Any
        wanted = min(20, system.nq) if count is None else whole_number("count", count, 1)
        squares, shapes = factors.lowest(full.M, full.K, wanted)
        frequencies = np.sqrt(np.abs(squares))
    else:
        if modes.coordinates != full.coordinates:
            raise DataError("wrong-owner", "modes must be those of the full system, with all its coordinates.")
        frequencies, shapes = modes.frequencies[:count], modes.shapes[:, :count]
    own, small = factors.dense_pairs(np.asarray(system.M), np.asarray(system.K))
    return _compare(
        f"{reduced.method}, {full.nq} -> {system.nq} coordinates",
        frequencies, shapes, np.sqrt(np.abs(own)), reduced.T @ small, full.M, None,
    )  # fmt: skip


def _compare(
    method: str, f: FloatArray, u: Any, g: FloatArray, v: Any, mass: Matrix | None, MAC: FloatArray | None
) -> Fidelity:
    MAC = _squared_cosines(u, v, None) if MAC is None else MAC
    NCO = np.full(MAC.shape, np.nan) if mass is None else _squared_cosines(u, v, mass)
    best = MAC if mass is None else NCO
    partners, nco, mac = np.zeros(len(f), dtype=np.intp), np.full(len(f), np.nan), np.zeros(len(f))
    for group in group_repeats(f):
        if len(group) == 1:
            i, j = group[0], int(np.argmax(best[group[0]]))
            partners[i], nco[i], mac[i] = j, NCO[i, j], MAC[i, j]
            continue
        # the partners of a common space: as many modes as hold most of it, in order of frequency
        chosen = np.sort(np.argsort(best[group].sum(axis=0))[::-1][: len(group)])
        partners[group] = chosen[np.minimum(np.arange(len(group)), len(chosen) - 1)]
        mac[group] = _in_space(u[:, group], v[:, chosen], None)
        if mass is not None:
            nco[group] = _in_space(u[:, group], v[:, chosen], mass)
    return Fidelity(
        method=method, frequencies=np.array(f), partner_frequencies=g[partners], partners=partners + 1,
        nco=nco, mac=mac, nco_matrix=NCO, mac_matrix=MAC,
    )  # fmt: skip


def group_repeats(frequencies: FloatArray) -> Sequence[np.ndarray[Any, np.dtype[np.intp]]]:
    """Places of equal frequencies, group by group."""
    order = np.argsort(frequencies, kind="stable")
    f = frequencies[order]
    gap = np.diff(f) > np.maximum(LIMITS.repeated * f[1:], LIMITS.zero * f[-1])
    return np.split(order, np.flatnonzero(gap) + 1)


def _squared_cosines(u: Any, v: Any, mass: Matrix | None) -> FloatArray:
    """Squared cosine of the angle between every column of u and every column of v, in the metric of the mass."""
    Mu, Mv = (u, v) if mass is None else (mass @ u, mass @ v)
    uu, vv = np.einsum("ij,ij->j", u.conj(), Mu).real, np.einsum("ij,ij->j", v.conj(), Mv).real
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.abs(u.conj().T @ Mv) ** 2 / np.outer(uu, vv)
    return np.asarray(np.nan_to_num(result))  # a shape without mass (or zero) is like no other


def _in_space(u: Any, v: Any, mass: Matrix | None) -> FloatArray:
    """Squared cosine of each column of u with the space of the columns of v."""
    Mu, Mv = (u, v) if mass is None else (mass @ u, mass @ v)
    uu = np.einsum("ij,ij->j", u.conj(), Mu).real
    right = v.conj().T @ Mu
    inside = np.einsum("ij,ij->j", right.conj(), np.linalg.pinv(v.conj().T @ Mv, hermitian=True) @ right).real
    return np.asarray(inside / uu)
