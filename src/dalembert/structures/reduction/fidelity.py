"""Agreement of two sets of modes (Allemang and Brown 1982; Lieven and Ewins 1988).

    e_f = |f - f*| / f · 100            frequency error [%]
    NCO = (uᵀ M u*)² / (uᵀ M u · u*ᵀ M u*)      normalised cross orthogonality
    MAC = (uᵀ u*)² / (uᵀ u · u*ᵀ u*)            modal assurance criterion
    COMAC_i = (Σ |u_i u*_i|)² / (Σ u_i² · Σ u*_i²)      of coordinate i, sums over good pairs of unit length

Modes are paired by the largest NCO (MAC where there is no mass matrix), not by their number. Where a part of the
coordinates is compared, modes are paired one to one by MAC and frequency (`mode_pairs`). Modes of one frequency
(rigid-body motions, symmetric structures) have no shapes of their own, only a common space: their NCO and MAC are
those of each with its projection on the space of as many partners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray, Matrix, frozen
from dalembert.core.errors import DataError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.tables import align_columns
from dalembert.linear.modes import Modes
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.reduction.mode_pairs import WEIGHTS, pair_modes

if TYPE_CHECKING:
    from dalembert.structures.reduction.reduction import Reduction


@frozen
class Fidelity:
    """Frequencies and shapes of a model against a reference, mode by mode.

    Parameters
    ----------
    frequencies : (k,) of the reference [rad/s]
    partner_frequencies : (k,) of the paired modes [rad/s]
    partners : (k,) numbers of the paired modes, from 1; 0 where the model has no mode left, its frequency is NaN then
    nco : (k,) normalised cross orthogonality of each pair; NaN without a mass matrix
    mac : (k,) modal assurance criterion of each pair
    nco_matrix, mac_matrix : (k, l) every mode of the reference against every mode of the model
    comac : (n,) coordinate modal assurance criterion over the good pairs; NaN without one, or where nothing moves
    coordinates : names of the n coordinates
    method : name of the compared model
    """

    frequencies: FloatArray
    partner_frequencies: FloatArray
    partners: np.ndarray[Any, np.dtype[np.intp]]
    nco: FloatArray
    mac: FloatArray
    nco_matrix: FloatArray
    mac_matrix: FloatArray
    comac: FloatArray
    coordinates: tuple[str, ...]
    method: str

    def __len__(self) -> int:
        return len(self.frequencies)

    @property
    def frequency_errors(self) -> FloatArray:
        """(k,) \\|f - f*\\| / f [%]; 0 for a pair of rigid-body modes, infinite where only the reference is rigid."""
        f, g = self.frequencies, self.partner_frequencies
        small = _zero(max(f.max(initial=0.0), g.max(initial=0.0)))
        both, rigid = (f <= small) & (g <= small), f <= small
        with np.errstate(divide="ignore", invalid="ignore"):
            error = 100.0 * np.abs(f - g) / np.where(rigid, 0.0, f)
        return np.where(both, 0.0, error)

    @property
    def average_mac(self) -> float:
        """Mean of the paired MAC values."""
        return float(self.mac.mean())

    @property
    def average_frequency_error(self) -> float:
        """Mean of the frequency errors [%]."""
        return float(np.nanmean(self.frequency_errors))

    def good(self, *, frequency_error: float = 1.0, nco: float = 0.99) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(k,) which modes the model has: error at most ``frequency_error`` percent, NCO (or MAC) at least ``nco``."""
        shape = np.where(np.isnan(self.nco), self.mac, self.nco)
        return np.asarray((self.frequency_errors <= frequency_error) & (shape >= nco))

    def table(self) -> str:
        """One line per mode of the reference."""
        head = ("mode", "frequency [Hz]", "partner", "its frequency [Hz]", "error [%]", "NCO", "MAC")
        rows = [
            (str(i + 1), f"{f / (2 * np.pi):.6g}", *((str(partner), f"{g / (2 * np.pi):.6g}", f"{error:.4g}")
             if partner else ("-", "-", "-")),
             "-" if np.isnan(nco) else f"{nco:.6f}", f"{mac:.6f}")
            for i, (f, g, partner, error, nco, mac) in enumerate(zip(
                self.frequencies, self.partner_frequencies, self.partners, self.frequency_errors, self.nco, self.mac))
        ]  # fmt: skip
        return align_columns(head, rows)

    def __repr__(self) -> str:
        return f"Fidelity of {self.method}\n{self.table()}"


def correlate(
    reference: Modes,
    model: Modes,
    *,
    mass: Matrix | None = None,
    coordinates: Mapping[str, str] | Sequence[str] | None = None,
) -> Fidelity:
    """Compare two sets of modes: measured and computed, full and reduced.

    Parameters
    ----------
    reference, model : Modes
        Measured modes may have fewer coordinates than those of the model, and the other way round: the common ones are
        compared. Complex shapes are compared by their moduli of products.
    mass : (n, n), optional
        Mass matrix at the compared coordinates: NCO as well, and pairs by the largest NCO; without it pairs by the
        largest MAC, and where only a part of the coordinates is compared by MAC and frequency, one to one.
    coordinates : mapping of coordinates of the reference to those of the model, or some common ones, optional
        ``"-x1"`` for a sensor that measures against the direction of ``x1``. Coordinates of the same name when left
        out.

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
    names = _common(reference, model, coordinates)
    left = reference.shapes[[reference.coordinates.index(name) for name in names]]
    rows = [model.coordinates.index(other.lstrip("-") if sign < 0 else other) for other, sign in names.values()]
    right = model.shapes[rows] * np.array([[sign] for _, sign in names.values()])
    if mass is not None and mass.shape != (len(names),) * 2:
        raise DataError(
            "wrong-shape",
            f"mass has shape {mass.shape}, expected {(len(names),) * 2}: one row per coordinate.",
        )
    partial = len(names) < max(len(reference.coordinates), len(model.coordinates))
    return _compare(
        "modes against modes", tuple(names), reference.frequencies, left, model.frequencies, right, mass,
        one_to_one=partial and mass is None,
    )  # fmt: skip


def _common(
    reference: Modes, model: Modes, given: Mapping[str, str] | Sequence[str] | None
) -> dict[str, tuple[str, float]]:
    """Coordinate of the model, and its sign, by coordinate of the reference."""
    if given is None:
        known = set(model.coordinates)
        shared = [name for name in reference.coordinates if name in known]
        fewer = min(len(reference.coordinates), len(model.coordinates))
        if len(shared) < fewer:
            only = next(name for name in reference.coordinates if name not in known)
            raise DataError(
                "unknown-name", unknown_name("coordinate", only, model.coordinates, "the model"),
                Advice("Give the coordinates of the model by those of the reference with {}.",
                       Argument("coordinates", {only: model.coordinates[0]})),
                where={"name": only},
            )  # fmt: skip
        given = shared
    pairs = {str(name): str(given[name]) if isinstance(given, Mapping) else str(name) for name in given}
    if not pairs:
        raise DataError("empty", "there are no coordinates to compare.")
    found = {}
    for name, other in pairs.items():
        require_name("coordinate", name, reference.coordinates, "the reference", argument="coordinates")
        sign = -1.0 if other not in model.coordinates and other.startswith("-") else 1.0
        require_name("coordinate", other.lstrip("-") if sign < 0 else other, model.coordinates, "the model",
                     argument="coordinates")  # fmt: skip
        found[name] = (other, sign)
    return found


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
        f"{reduced.method}, {full.nq} -> {system.nq} coordinates", full.coordinates,
        frequencies, shapes, np.sqrt(np.abs(own)), reduced.T @ small, full.M,
    )  # fmt: skip


def _compare(
    method: str, names: tuple[str, ...], f: FloatArray, u: Any, g: FloatArray, v: Any, mass: Matrix | None, *,
    one_to_one: bool = False,
) -> Fidelity:  # fmt: skip
    MAC = _squared_cosines(u, v, None)
    NCO = np.full(MAC.shape, np.nan) if mass is None else _squared_cosines(u, v, mass)
    best = MAC if mass is None else NCO
    partners, nco, mac = np.zeros(len(f), dtype=np.intp), np.full(len(f), np.nan), np.zeros(len(f))
    if one_to_one:
        partners = pair_modes(MAC, f, g)
        mac = np.where(partners < 0, 0.0, MAC[np.arange(len(f)), partners])
    for group in () if one_to_one else group_repeats(f):
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
    paired = np.flatnonzero((mac >= WEIGHTS.good_mac) & (partners >= 0))
    return Fidelity(
        method=method, frequencies=np.array(f), partner_frequencies=np.where(partners < 0, np.nan, g[partners]),
        partners=partners + 1, nco=nco, mac=mac, nco_matrix=NCO, mac_matrix=MAC, coordinates=names,
        comac=_comac(u[:, paired], v[:, partners[paired]]),
    )  # fmt: skip


def _comac(u: Any, v: Any) -> FloatArray:
    """Coordinate modal assurance criterion of paired columns, which are scaled to unit length."""
    with np.errstate(divide="ignore", invalid="ignore"):
        u, v = (np.abs(of) / np.linalg.norm(of, axis=0) for of in (u, v))
        return np.asarray((u * v).sum(axis=1) ** 2 / ((u**2).sum(axis=1) * (v**2).sum(axis=1)))


def _zero(highest: float, share: float = 1e-6) -> float:
    """Frequency that counts as zero beside the highest: eigensolvers of large meshes leave 1e-9 of it."""
    return share * highest


def group_repeats(frequencies: FloatArray, repeated: float = 1e-6) -> Sequence[np.ndarray[Any, np.dtype[np.intp]]]:
    """Places of equal frequencies, group by group; ``repeated``: relative difference, as above."""
    order = np.argsort(frequencies, kind="stable")
    f = frequencies[order]
    gap = np.diff(f) > np.maximum(repeated * f[1:], _zero(f[-1]))
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
