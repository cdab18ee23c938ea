"""Modal coordinates and modal damping (Meirovitch 1997).

    x = Φ η:   M̄ η″ + (C̄ + Ḡ) η′ + (K̄ + H̄) η = Φᵀ B u,   X̄ = Φᵀ X Φ

Φ are modes of the undamped part (M, K), so M̄ and K̄ are diagonal; C̄ is where C uncouples (C = α M + β K among
others), Ḡ and H̄ are skew and never. Fewer modes than coordinates are an approximation; the static response of the
others, ``y = Y_position R B u`` with the residual flexibility R = K⁻¹ - Φ K̄⁻¹ Φᵀ, can be added to D. That is the
mode-acceleration method: the same motion as x = K⁻¹(B u - M Φ η″ - C Φ η′).

    C = M Φ diag(2 ζ ω / m̄) Φᵀ M         a damping matrix from modal damping ratios
    ζ = α / 2ω + β ω / 2                  ratios of C = α M + β K
    ζ = ½ Σ η_part φᵀK_part φ / φᵀK φ     ratios from loss factors, weighted by elastic energy
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.linear import storage
from dalembert.linear.modes import Modes
from dalembert.linear.responses.superposition import modal_basis, static_residual

if TYPE_CHECKING:
    from dalembert.linear.second_order import SecondOrder


def undamped_modes(system: SecondOrder, count: int | None = None) -> Modes:
    """Modes of M x″ + K x = 0: one real shape per mode, also where K < 0."""
    modes = system.replace(C=None, G=None, H=None, K_loss=None).modes(count)
    # A diverging direction has two rows, growing and decaying, of one shape.
    return modes.select(np.flatnonzero(modes.eigenvalues.real <= 0.0) + 1)


def modal(
    system: SecondOrder,
    count: int | None = None,
    modes: Modes | None = None,
    *,
    static_correction: bool = False,
    diagonal: bool = False,
) -> SecondOrder:
    """The system in modal coordinates ``mode1, mode2, ...``, with its inputs and outputs.

    Parameters
    ----------
    system : SecondOrder, dense or sparse
    count : int, optional
        The lowest modes of (M, K); all of a dense system and 20 of a sparse one when left out.
    modes : Modes, optional
        Shapes to use instead, real or complex (their real and imaginary parts span the coordinates).
    static_correction : bool
        Add the static response of the omitted modes to D, for outputs of positions. All rigid-body modes must be kept.
    diagonal : bool
        Drop the coupling of the modes by C (small damping); refused where G or H couples them.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> chain = SecondOrder(np.eye(2), [[2, -1], [-1, 2]], C=[[0.3, 0], [0, 0]])
    >>> modal(chain).C.round(3).tolist()
    [[0.15, 0.15], [0.15, 0.15]]
    """
    basis = modal_basis(system, undamped_modes(system, count) if modes is None else modes)
    reduced = basis.reduced
    changes: dict[str, Any] = {symbol: _diagonal_if_so(getattr(reduced, symbol)) for symbol in "MCK"}
    if diagonal:
        if storage.nonzero(reduced.G) or storage.nonzero(reduced.H):
            raise DataError(
                "not-supported", "gyroscopic and circulatory terms are skew: no modal form of them is diagonal."
            )
        changes["C"] = np.diag(np.diag(reduced.C))
    if static_correction and system.nu:
        elastic = system.replace(K_loss=None)
        span = basis if modes is None else modal_basis(elastic, modes)
        residual = static_residual(elastic, span, storage.dense(system.B))
        changes["D"] = reduced.D + np.asarray(system.Y_position @ residual)
    how = {"modal form": f"{reduced.nq} of {system.nq}", "static correction": bool(static_correction)}
    return reduced.replace(**changes, provenance={**system.provenance, **how})


def modal_damping(system: SecondOrder, ratios: ArrayLike, modes: Modes | None = None) -> FloatArray:
    """Damping matrix (n, n), full, that gives these damping ratios to the modes and zero to all others.

    Parameters
    ----------
    system : SecondOrder
    ratios : (k,) or one number for all modes
        ζ of the first k undamped modes.
    modes : Modes, optional
        Real undamped modes of the system; computed when left out.
    """
    if storage.is_large(system.nq):
        raise DataError(
            "too-large",
            f"modal damping fills all of C: {system.nq} x {system.nq} numbers. Reduce the system first "
            "(system.modal(count)), or use Rayleigh or hysteretic damping.",
        )
    zeta = np.asarray(ratios, dtype=np.float64)
    if zeta.ndim > 1 or not np.isfinite(zeta).all():
        raise DataError(
            "not-finite", f"ratios must be finite numbers, one per mode or one for all; got shape {zeta.shape}."
        )
    if modes is None:
        modes = undamped_modes(system.dense(), None if zeta.ndim == 0 else len(zeta))
    if zeta.ndim and len(zeta) > len(modes):
        raise DataError("wrong-shape", f"{len(zeta)} damping ratios were given for {len(modes)} modes.")
    damped = modes if zeta.ndim == 0 else modes.select(range(1, len(zeta) + 1))
    if np.iscomplexobj(damped.shapes):
        raise DataError(
            "not-supported", "modal damping needs the real modes of the undamped system; these are complex."
        )
    weight = 2.0 * zeta * damped.frequencies / damped.modal_masses
    P = damped.momenta
    result: FloatArray = np.real((P * weight) @ P.T)
    return 0.5 * (result + result.T)


def rayleigh_coefficients(frequencies: ArrayLike, ratios: ArrayLike) -> tuple[float, float]:
    """α [1/s] and β [s] of C = α M + β K that give these ratios at these frequencies [rad/s].

    Two frequencies are matched exactly, more by least squares in ζ; for one frequency both terms contribute equally.

    Examples
    --------
    >>> alpha, beta = rayleigh_coefficients([10.0, 100.0], [0.02, 0.02])
    >>> round(alpha, 6), round(beta, 8)
    (0.363636, 0.00036364)
    """
    omega, zeta = np.broadcast_arrays(np.atleast_1d(np.asarray(frequencies, float)), np.asarray(ratios, float))
    if omega.ndim != 1 or not (np.isfinite(omega).all() and np.isfinite(zeta).all() and np.all(omega > 0.0)):
        raise DataError(
            "out-of-range", "Rayleigh damping needs positive frequencies [rad/s] and finite ratios, one each."
        )
    # In scaled unknowns α/2ω₀ and βω₀/2, so that least squares (of minimum norm for one frequency) weighs them equally.
    scale = float(np.exp(np.log(omega).mean()))
    design = np.column_stack([scale / omega, omega / scale])
    a, b = np.linalg.lstsq(design, zeta, rcond=None)[0]
    return float(2.0 * scale * a), float(2.0 * b / scale)


def energy_damping(modes: Modes, parts: Mapping[str, tuple[Any, float]]) -> FloatArray:
    """Damping ratios (k,) from the loss factors of parts, weighted by their elastic energy.

    Parameters
    ----------
    modes : Modes of a SecondOrder
    parts : mapping of a name to (group, loss factor)
        Groups as in :meth:`Modes.energy_shares`.
    """
    shares = modes.energy_shares({name: group for name, (group, _) in parts.items()})
    return 0.5 * sum((shares[name] * float(eta) for name, (_, eta) in parts.items()), np.zeros(len(modes)))


def equivalent_viscous(system: SecondOrder) -> SecondOrder:
    """The system with viscous modal damping in place of K_loss: the same damping at each resonance.

    ζ = ½ φᵀK_loss φ / φᵀKφ of all undamped modes, the 20 lowest of a sparse system; the others are left undamped.
    """
    modes = undamped_modes(system)
    shares = modes.energy_shares({"loss": system.K_loss})["loss"]
    C = modal_damping(system, 0.5 * shares, modes) + storage.dense(system.C)
    return system.replace(C=C, K_loss=None)


def _diagonal_if_so(matrix: FloatArray, rounding: float = 1e-9, undamped: float = 1e-6) -> FloatArray:
    """A matrix whose off-diagonal part is rounding of the shapes, without it.

    Relative to √(c̄_ii c̄_jj); where that vanishes, to a millionth of the largest term.
    """
    size = np.sqrt(np.abs(np.outer(np.diag(matrix), np.diag(matrix))))
    off = np.abs(matrix - np.diag(np.diag(matrix)))
    if np.all(off <= rounding * np.maximum(size, undamped * np.abs(matrix).max(initial=0.0))):
        return np.diag(np.diag(matrix))
    return matrix
