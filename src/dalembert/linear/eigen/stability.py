"""Stability of linear systems, also with defective eigenvalues.

An eigenvalue on the imaginary axis (unit circle) bounds the motion only if it is semisimple, that is, has as many
eigenvectors as its multiplicity; else the motion grows like a power of time: a free body (s² = 0), a flutter boundary.
Rounding splits such an eigenvalue by ±√ε and more, so the signs of real parts alone are not reliable. Here:

1. A first-order matrix A is made in coordinates where it is as normal as it can be: undamped modal ones with velocities
   over frequencies (skew for a conservative system), else balanced.
2. ``|Re s| > c ε ‖A‖ κ``, with κ the condition number of that eigenvalue, is a certain sign; a split multiple
   eigenvalue has a κ as large as the split, so its sign is never certain.
3. The others are gathered into clusters by their discs of uncertainty. The mean of a cluster is well conditioned: its
   sign is certain beyond ``100 m ε max|s|``, else it lies on the axis.
4. Its geometric multiplicity is the number of zero singular values of ``A - mean``, to the same tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
import scipy.sparse.csgraph

from dalembert.core.arrays import ComplexArray, FloatArray, assign, frozen
from dalembert.core.errors import DataError
from dalembert.core.tables import align_columns
from dalembert.core.text import complex_text
from dalembert.linear import storage
from dalembert.linear.eigen import massless, quadratic
from dalembert.numerics import ties

if TYPE_CHECKING:
    from dalembert.linear.second_order import SecondOrder
    from dalembert.linear.state_space import StateSpace

EPS = float(np.finfo(np.float64).eps)
ASYMPTOTIC, BOUNDED, UNSTABLE = "asymptotically stable", "stable", "unstable"


@dataclass(frozen=True)
class Guilty:
    """An eigenvalue that keeps a system from being asymptotically stable."""

    eigenvalue: complex
    algebraic: int
    geometric: int
    motion: str


@frozen(init=False)
class Stability:
    """Verdict on a linear system, with the eigenvalues that decide it.

    Attributes
    ----------
    verdict : "asymptotically stable", "stable" (bounded, not decaying) or "unstable"
    guilty : eigenvalues on or beyond the axis (circle), each with its multiplicities and its motion
    eigenvalues : (m,) complex, ascending in modulus; s [rad/s] or, of a discrete system, z
    margin : float
        Distance of the worst eigenvalue from the axis, -max Re s [rad/s], or 1 - max \\|z\\|; negative when unstable.
    tolerance : float
        Real parts below this (in the unit of margin) count as zero.
    reason : text, where a theorem or a computed set of modes decided and not all eigenvalues
    """

    verdict: str
    guilty: tuple[Guilty, ...]
    eigenvalues: ComplexArray
    margin: float
    tolerance: float
    discrete: bool
    reason: str

    def __init__(
        self, verdict: str, guilty: tuple[Guilty, ...], eigenvalues: object, margin: float, tolerance: float,
        *, discrete: bool = False, reason: str = "",
    ) -> None:  # fmt: skip
        values = np.array(eigenvalues, dtype=np.complex128)
        assign(self, verdict=verdict, guilty=tuple(guilty), eigenvalues=values, margin=float(margin),
                     tolerance=float(tolerance), discrete=bool(discrete), reason=reason)  # fmt: skip

    @property
    def is_bounded(self) -> bool:
        """Whether every free motion stays bounded."""
        return self.verdict != UNSTABLE

    @property
    def is_asymptotic(self) -> bool:
        """Whether every free motion decays."""
        return self.verdict == ASYMPTOTIC

    def table(self) -> str:
        """The verdict and one line per guilty eigenvalue."""
        unit = "" if self.discrete else " [rad/s]"
        head = f"{self.verdict}; margin {self.margin:.4g}{unit}" if len(self.eigenvalues) else self.verdict
        lines = [head + (f" ({self.reason})" if self.reason else "")]
        if self.guilty:
            rows = [(complex_text(g.eigenvalue), str(g.algebraic), str(g.geometric), g.motion) for g in self.guilty]
            lines.append(align_columns((f"eigenvalue{unit}", "algebraic", "geometric", "motion"), rows, left=(-1,)))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Stability: {self.table()}"


def judge_second_order(system: SecondOrder, dense: int = 1000) -> Stability:
    """Whether the free motions of a system decay, stay bounded or grow.

    A sparse system of more than ``dense`` coordinates is judged by its energy (Kelvin-Tait-Chetaev) where that
    decides, else refused: reduce it first.
    """
    if storage.nonzero(system.K_loss):
        return _hysteretic(system)
    if system.is_sparse and system.nq > dense:
        return _by_energy(system)
    return judge(_normal_form(system.dense()))


def judge_state_space(system: StateSpace) -> Stability:
    """As :func:`judge_second_order`, of a continuous or sampled state-space system."""
    return judge(scipy.linalg.matrix_balance(system.A)[0], discrete=system.dt is not None)


def judge(
    A: FloatArray,
    *,
    discrete: bool = False,
    # multiple of the first-order bound ε √m / |yᴴx| of an eigenvalue: 1600 eigenvalues of 400 random matrices of order
    # 2 to 6, half of them nearly defective, differed from those of 50 digits by 4.3 times the bound at most
    sure: float = 100.0,
    # largest disc, of ‖A‖: a quadruple eigenvalue is split by ε^(1/4) = 1e-4, and ten times that is allowed
    widest: float = 1e-3,
) -> Stability:
    """Verdict on ``z′ = A z``, or ``z[k+1] = A z[k]``; A well scaled."""
    m = len(A)
    if m == 0:
        return Stability(ASYMPTOTIC, (), [], np.inf, 0.0, discrete=discrete)
    values, left, right = scipy.linalg.eig(A, left=True, right=True)
    overlap = np.abs(np.einsum("ik,ik->k", left.conj(), right))
    norm = float(np.linalg.norm(A, 2))
    doubt = np.minimum(sure * EPS * np.sqrt(m) * norm / np.maximum(overlap, EPS), widest * norm)
    tolerance = 100.0 * m * EPS * max(norm, 1.0 if discrete else 0.0)
    beyond = np.abs(values) - 1.0 if discrete else values.real
    unsure = np.abs(beyond) <= np.maximum(doubt, tolerance)
    guilty = [Guilty(complex(s), 1, 1, _growth(complex(s), discrete)) for s in values[~unsure & (beyond > 0.0)]]
    worst = float(beyond[~unsure].max(initial=-np.inf))
    for cluster in _clusters(values[unsure], np.maximum(doubt[unsure], tolerance)):
        mean = complex(cluster.mean())
        excess = abs(mean) - 1.0 if discrete else mean.real
        if abs(excess) <= tolerance:
            excess, mean = 0.0, _on_the_edge(mean, tolerance, discrete)
        worst = max(worst, excess)
        if excess < 0.0:
            continue
        geometric = _null_count(A, mean, tolerance, len(cluster))
        guilty.append(Guilty(mean, len(cluster), geometric, _motion(mean, excess, geometric < len(cluster), discrete)))
    unstable = any(g.motion not in _BOUNDED for g in guilty)
    verdict = UNSTABLE if unstable else (BOUNDED if guilty else ASYMPTOTIC)
    guilty = [guilty[k] for k in ties.by_modulus([g.eigenvalue for g in guilty])]
    guilty.sort(key=lambda g: g.motion in _BOUNDED)
    return Stability(verdict, tuple(guilty), values[ties.by_modulus(values)], 0.0 - worst, tolerance, discrete=discrete)


_BOUNDED = ("rest", "oscillation")


def _motion(s: complex, excess: float, defective: bool, discrete: bool) -> str:
    if excess > 0.0:
        return _growth(s, discrete)
    if defective:
        return "growth like a power of time"
    return "rest" if s == (1.0 if discrete else 0.0) else "oscillation"


def _growth(s: complex, discrete: bool) -> str:
    steady = s.imag == 0.0 and (not discrete or s.real > 0.0)
    return "divergence" if steady else "flutter (growing oscillation)"


def _on_the_edge(s: complex, tolerance: float, discrete: bool) -> complex:
    if discrete:
        s = s / abs(s)
        return complex(round(s.real), 0.0) if abs(s.imag) <= tolerance else s
    return complex(0.0, 0.0 if abs(s.imag) <= tolerance else s.imag)


def _clusters(values: ComplexArray, radii: FloatArray) -> list[ComplexArray]:
    """Groups of eigenvalues whose discs overlap, directly or through others."""
    near = np.abs(values[:, None] - values) <= radii[:, None] + radii
    count, label = scipy.sparse.csgraph.connected_components(near, directed=False)
    return [values[label == k] for k in range(count)]


def _null_count(A: FloatArray, s: complex, tolerance: float, most: int) -> int:
    """Geometric multiplicity of s; at least 1."""
    singular = np.linalg.svd(A - s * np.eye(len(A)), compute_uv=False)
    return int(np.clip(np.count_nonzero(singular <= tolerance), 1, most))


def _normal_form(system: SecondOrder) -> FloatArray:
    """First-order matrix in undamped modal coordinates (ω x, x′) where M > 0, else balanced."""
    M, C, K = system.M, system.C_full, system.K_full
    if not massless.is_positive(M):
        first = massless.first_order(massless.separate(M, C, K, system.coordinates))
        balanced: FloatArray = scipy.linalg.matrix_balance(first.A)[0]
        return balanced
    n = len(M)
    factor = np.linalg.cholesky(M)
    mu, Q = quadratic.stiffness_modes(factor, M, system.K)
    Phi = scipy.linalg.solve_triangular(factor, Q, lower=True, trans="T")
    D, H = Phi.T @ C @ Phi, Phi.T @ system.H @ Phi
    omega = np.sqrt(np.abs(mu))
    # The rate of a free coordinate is measured in a frequency of the system, so that its coupling is no small number.
    typical = float(omega.max()) or float(np.abs(D).max()) or float(np.sqrt(np.abs(H).max())) or 1.0
    scale = np.where(omega > 0.0, omega, typical)
    return np.block([[np.zeros((n, n)), np.diag(scale)], [-(np.diag(mu) + H) / scale, -D]])


def _hysteretic(system: SecondOrder) -> Stability:
    values = system.modes().eigenvalues
    size = float(np.abs(values).max(initial=0.0))
    tolerance = 100.0 * len(values) * EPS * size
    guilty = tuple(Guilty(complex(s), 1, 1, _motion(complex(s), max(s.real - tolerance, 0.0), False, False))
                   for s in values[values.real >= -tolerance])  # fmt: skip
    unstable = any(g.motion not in _BOUNDED for g in guilty)
    verdict = UNSTABLE if unstable else BOUNDED if guilty else ASYMPTOTIC
    return Stability(verdict, guilty, values, -float(values.real.max()), tolerance,
                     reason="harmonic motion, hysteretic damping")  # fmt: skip


def _by_energy(system: SecondOrder) -> Stability:
    """Large sparse systems: the energy decides where H = 0 and the matrices are definite (Kelvin-Tait-Chetaev)."""
    from dalembert.linear.eigen.classify import definiteness

    kinds = {symbol: definiteness(getattr(system, symbol)) for symbol in ("M", "C", "K")}
    natural, text = not storage.nonzero(system.G), ", ".join(f"{k} {v}" for k, v in kinds.items())
    holds = kinds["M"].startswith("positive") and not storage.nonzero(system.H)
    damped = kinds["C"] if storage.nonzero(system.C) else "zero"
    if holds and kinds["K"] == "positive definite" and damped in ("zero", "positive semidefinite", "positive definite"):
        verdict = ASYMPTOTIC if damped == "positive definite" else BOUNDED
        note = "" if damped != "positive semidefinite" else "; it may decay as well"
        return Stability(verdict, (), [], np.nan, 0.0, reason=f"by energy: {text}{note}")
    if holds and kinds["K"] in ("positive semidefinite", "zero") and damped in ("zero", "positive semidefinite"):
        return _free_bodies(system, f"by energy: {text}")
    if holds and natural and kinds["K"] in ("indefinite", "negative definite", "negative semidefinite"):
        modes = system.modes(10)
        growing = tuple(Guilty(complex(s), 1, 1, "divergence") for s in modes.eigenvalues if s.real > 0.0)
        return Stability(UNSTABLE, growing, [], np.nan, 0.0, reason=f"by energy: {text}")
    raise DataError(
        "no-solution",
        f"the energy does not decide the stability of this sparse system of {system.nq} coordinates ({text}). "
        "Reduce it first, for instance system.modal(count), and judge the reduced one.",
    )


def _free_bodies(system: SecondOrder, reason: str) -> Stability:
    """M, C, K ≥ 0 with rigid-body motions: they drift unless damping holds every one of them."""
    modes = system.modes(20)
    rigid = modes.shapes[:, modes.eigenvalues == 0.0].real
    zeros = quadratic.zeros(rigid, system.C_full, rigid)
    drifting = zeros > rigid.shape[1]
    guilty = Guilty(0.0, zeros, rigid.shape[1], _motion(0.0, 0.0, drifting, False))
    return Stability(UNSTABLE if drifting else BOUNDED, (guilty,), [], 0.0, 0.0, reason=reason)
