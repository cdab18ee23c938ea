"""H2 and H-infinity norms.

H2           ‖G‖₂² = tr(C P Cᵀ)  (+ ‖D‖² sampled; infinite with D ≠ 0 in continuous time)
H-infinity   ‖G‖∞ = max over ω of the largest singular value of G(iω)

The maximum is found by Bruinsma and Steinbuch (1990): γ is a singular value of G(iω) if and only if iω is an
eigenvalue of the Hamiltonian matrix

    [[A + B R⁻¹ Dᵀ C,  B R⁻¹ Bᵀ], [-Cᵀ (I + D R⁻¹ Dᵀ) C,  -(A + B R⁻¹ Dᵀ C)ᵀ]],   R = γ² I - Dᵀ D

so the imaginary eigenvalues are the frequencies where the gain crosses γ. The gain is evaluated between them, and γ
is raised until the gain crosses it nowhere. The tolerance of imaginary eigenvalues is wide, because a false one costs
one evaluation only. The highest peak is then refined. Sampled systems are mapped by z = (1 + s)/(1 - s), which keeps
the norm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from scipy.linalg import get_lapack_funcs

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.findings import Advice, Call
from dalembert.linear.eigen import roots
from dalembert.linear.eigen.roots import complex_schur, eigenvalues, solve
from dalembert.linear.transforms import gramians
from dalembert.numerics.balancing import balance_system

if TYPE_CHECKING:
    from dalembert.linear.state_space import StateSpace


@dataclass(frozen=True)
class PeakGain:
    """Largest gain and its frequency.

    Parameters
    ----------
    gain : float
        ‖G‖∞, in output units per input unit.
    frequency : float
        [rad/s]; infinite where the peak is the direct term alone.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> StateSpace([[0, 1], [-1, -0.02]], [0, 1], [[1, 0]]).hinf_norm()
    PeakGain: peak gain 50.00250019 at 0.99989999... rad/s (0.159139 Hz)
    """

    gain: float
    frequency: float

    def __float__(self) -> float:
        return self.gain

    @property
    def frequency_hz(self) -> float:
        """[Hz]."""
        return self.frequency / (2.0 * math.pi)

    def table(self) -> str:
        """Gain and frequency."""
        if math.isinf(self.frequency):
            return f"peak gain {self.gain:.10g} at infinite frequency (direct term)"
        return f"peak gain {self.gain:.10g} at {self.frequency:.10g} rad/s ({self.frequency_hz:.6g} Hz)"

    def __repr__(self) -> str:
        return f"PeakGain: {self.table()}"


class TransferGain:
    """Largest singular value of G(iω) of a continuous system, by one Schur form and triangular solves."""

    def __init__(self, A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray) -> None:
        T, U = complex_schur(A) if len(A) else (np.zeros((0, 0), complex),) * 2
        self._T = np.asfortranarray(-T)
        self._diagonal = np.diag(self._T).copy()
        self._B, self._C, self._D = np.asfortranarray(U.conj().T @ B), C @ U, D
        (self._solve,) = get_lapack_funcs(("trtrs",), (self._T,))

    def __call__(self, omega: float) -> float:
        if not len(self._T) or math.isinf(omega):
            G = self._D
        else:
            np.einsum("ii->i", self._T)[:] = self._diagonal + 1j * omega
            x, info = self._solve(self._T, self._B)
            if info:
                return math.inf
            G = self._C @ x + self._D
        return float(np.linalg.norm(G, 2)) if G.size else 0.0


def dc_gain(system: StateSpace) -> FloatArray:
    """See :meth:`StateSpace.dc_gain`."""
    if not roots.find_eigenpairs(system, vectors=False)[2]:
        shifted = roots.rest_point(system) * np.eye(system.nx) - system.A
        gain: FloatArray = system.D + system.C @ solve(shifted, system.B)
        return gain
    raise DataError(
        "unstable",
        "the system has a pole at 0 (an integrator or a free motion), so a constant input has no steady output.",
        Advice("If no input reaches it or no output shows it, use the gain of {}.", Call("StateSpace.minimal")),
    )


def h2_norm(system: StateSpace) -> float:
    """See :meth:`StateSpace.h2_norm`."""
    if not gramians.is_stable(system) or (system.dt is None and system.D.any()):
        return math.inf
    L = gramians.factor(system.A, system.B, system.dt)
    return float(np.hypot(np.linalg.norm(system.C @ L), np.linalg.norm(system.D)))


def hinf_norm(system: StateSpace, tolerance: float = 1e-10) -> PeakGain:
    """See :meth:`StateSpace.hinf_norm`."""
    if not gramians.is_stable(system):
        values = roots.poles(system).values
        worst = values[np.argmin(gramians.stability_margin(system))]
        return PeakGain(math.inf, abs(worst.imag) if system.dt is None else abs(float(np.angle(worst))) / system.dt)
    A, B, C, D = (system.A, system.B, system.C, system.D) if system.dt is None else bilinear(system)
    A, B, C, _ = balance_system(A, B, C)
    peak, omega = _peak(A, B, C, D, tolerance)
    if system.dt is not None:
        omega = 2.0 * math.atan(omega) / system.dt
    return PeakGain(peak, omega)


def bilinear(system: StateSpace) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """A, B, C, D of a sampled system with frequencies on the imaginary axis, z = (1 + s)/(1 - s)."""
    right = np.eye(system.nx) + system.A
    A = solve(right, system.A - np.eye(system.nx))
    B = math.sqrt(2.0) * solve(right, system.B)
    C = math.sqrt(2.0) * solve(right.T, system.C.T).T
    return A, B, C, system.D - system.C @ solve(right, system.B)


def _peak(
    A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, tolerance: float, rounds: int = 50
) -> tuple[float, float]:
    gain = TransferGain(A, B, C, D)
    best, omega = gain(math.inf), math.inf
    if not (len(A) and B.any() and C.any()):
        return best, omega
    s = eigenvalues(A)
    s = s[s.imag >= 0.0]
    resonances = np.sqrt(np.maximum(s.imag**2 - s.real**2, 0.0))
    best, omega = _rise(gain, np.concatenate([[0.0], np.abs(s), resonances]), best, omega)
    for _ in range(rounds):
        if best == 0.0:
            return 0.0, 0.0
        crossings = _crossings(A, B, C, D, (1.0 + tolerance) * best)
        if not len(crossings):
            break
        between = 0.5 * (crossings[1:] + crossings[:-1])
        higher, at = _rise(gain, np.concatenate([[0.0, 2.0 * crossings[-1]], crossings, between]), best, omega)
        if math.isfinite(at) and at != omega:
            higher, at = _refine(gain, higher, at, s)
        if higher <= (1.0 + tolerance) * best:
            best, omega = max((best, omega), (higher, at))
            break
        best, omega = higher, at
    else:
        raise ConvergenceError(
            "no-convergence", f"the H-infinity norm still rises after {rounds} rounds (now {best:.6g})."
        )
    return _refine(gain, best, omega, s) if math.isfinite(omega) else (best, omega)


def _rise(gain: TransferGain, frequencies: FloatArray, best: float, omega: float) -> tuple[float, float]:
    tried = np.unique(frequencies)
    values = [gain(float(w)) for w in tried]
    i = int(np.argmax(values))
    return (values[i], float(tried[i])) if values[i] > best else (best, omega)


def _crossings(
    A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, gamma: float, axis: float = 1e-5, zero: float = 1e-12
) -> FloatArray:
    """Frequencies, ascending, where some singular value of G(iω) equals γ, possibly with false ones.

    ``axis``, ``zero`` : real part of a candidate, relative to its modulus and (smaller) to the largest one: pairs that
    meet on the axis at a peak are split to about √ε.
    """
    # Inputs scaled by √γ give both off-diagonal blocks similar norms.
    R = np.eye(D.shape[1]) - (D.T @ D) / gamma**2
    half = scipy.linalg.cholesky(R, lower=True)
    B_ = scipy.linalg.solve_triangular(half, B.T / math.sqrt(gamma), lower=True).T
    DC = scipy.linalg.solve_triangular(half, D.T @ C, lower=True) / gamma
    top = A + math.sqrt(1.0 / gamma) * B_ @ DC
    hamiltonian = np.block([[top, B_ @ B_.T], [-(C.T @ C + DC.T @ DC) / gamma, -top.T]])
    values = scipy.linalg.eigvals(hamiltonian, check_finite=False, overwrite_a=True)
    values = values[values.imag >= 0.0]
    size = np.abs(values)
    frequencies: FloatArray = np.unique(values.imag[np.abs(values.real) <= axis * size + zero * size.max(initial=0.0)])
    return frequencies


def _refine(gain: TransferGain, best: float, omega: float, s: ComplexArray) -> tuple[float, float]:
    """Maximise the gain near ω; a peak is as wide as the damping of the nearest pole."""
    from scipy.optimize import minimize_scalar  # slow to import

    width = float(np.min(np.abs(1j * omega - s)))
    low, high = max(omega - width, 0.0), omega + width
    peak = minimize_scalar(
        lambda w: -gain(w), bounds=(low, high), method="bounded", options={"xatol": 1e-10 * max(width, 1e-300)}
    )
    return (-float(peak.fun), float(peak.x)) if -peak.fun > best else (best, omega)
