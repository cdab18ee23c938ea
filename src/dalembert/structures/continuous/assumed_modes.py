"""Assumed modes (Ritz) for beams of any taper, with axial force and bodies on them (Meirovitch 1997).

    v(z, t) = φ(z)ᵀ q(t):
    M = ∫ ρA φφᵀ dz + Σ m φφᵀ + Σ J φ′φ′ᵀ (+ ∫ ρI φ′φ′ᵀ),      K = ∫ EI φ″φ″ᵀ dz + ∫ N φ′φ′ᵀ dz + Σ k φφᵀ + Σ k_r φ′φ′ᵀ.

The matrices are diagonal only if φ are the true modes; any functions that meet the geometric end conditions
(deflection and slope held, not moment and force) are admissible, and frequencies come from above. N > 0 is tension:
the centrifugal force of a blade of constant ρA turning at Ω with its root at radius R is
N = ρA Ω² ((R+l)² - (R+z)²)/2.

The polynomial family is (Legendre polynomials of 2z/l - 1) × (factors that vanish where an end is held), made
orthonormal in the mass matrix. Plain powers fail at ten functions; here the largest eigenvalue of K grows like n⁸ and
its rounding reaches the lowest frequency: 1e-11 relative at 12 functions, 1e-8 at 30. More than 40 are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.polynomial import Legendre
from numpy.typing import ArrayLike

from dalembert.core.arguments import number_names, whole_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice
from dalembert.linear import SecondOrder
from dalembert.structures.continuous.end_conditions import End, end

MOST = 40  # polynomials
# Eigenvalue of the mass matrix, relative to the largest, of functions that depend on each other: 500 roundings.
DEPENDENT = 1e-13

Varying = float | Callable[[FloatArray], ArrayLike]


@dataclass(frozen=True)
class Trial:
    """One assumed shape: functions of z (n,) [m] for the deflection and its first two derivatives."""

    shape: Callable[[FloatArray], ArrayLike]
    slope: Callable[[FloatArray], ArrayLike]
    curvature: Callable[[FloatArray], ArrayLike]


@dataclass(frozen=True)
class AssumedModes:
    """Result of :func:`assumed_modes`: the system and the functions its coordinates multiply.

    ``shape(z)``, ``slope(z)``, ``curvature(z)`` give (n functions, places).
    """

    system: SecondOrder
    length: float
    trials: tuple[Trial, ...]

    def shape(self, z: ArrayLike) -> FloatArray:
        """Assumed functions at z [m]."""
        return _values(self.trials, "shape", np.atleast_1d(np.asarray(z, dtype=np.float64)))

    def slope(self, z: ArrayLike) -> FloatArray:
        """First derivatives at z [m]."""
        return _values(self.trials, "slope", np.atleast_1d(np.asarray(z, dtype=np.float64)))

    def curvature(self, z: ArrayLike) -> FloatArray:
        """Second derivatives at z [m]."""
        return _values(self.trials, "curvature", np.atleast_1d(np.asarray(z, dtype=np.float64)))


def polynomials(
    length: float, count: int, *, left: str | End = "clamped", right: str | End = "free"
) -> tuple[Trial, ...]:
    """``count`` polynomials that meet the geometric conditions of the ends, independent of each other.

    An end that is held in deflection gives a factor z, one that is held in deflection and slope z²; a guided end
    (slope only) is met by integrating polynomials whose slope vanishes there.

    Examples
    --------
    >>> first = polynomials(2.0, 1)[0]
    >>> [float(first.shape(np.array([z]))[0]) for z in (0.0, 1.0, 2.0)]
    [0.0, 0.25, 1.0]
    """
    both = (end(left, "left"), end(right, "right"))
    deflection = [np.isinf(e.spring) for e in both]
    slope = [np.isinf(e.rotational_spring) for e in both]
    x = Legendre([0.5, 0.5])  # z/l, from 0 to 1 on the Legendre interval
    trials = []
    for series in _family(x, deflection, slope, whole_number("the number of functions", count, 1)):
        first, second = series.deriv(1) * 2.0, series.deriv(2) * 4.0
        trials.append(_trial(series, first, second, length))
    return tuple(trials)


def _trial(series: Legendre, first: Legendre, second: Legendre, length: float) -> Trial:
    return Trial(
        lambda z: series(2.0 * z / length - 1.0),
        lambda z: first(2.0 * z / length - 1.0) / length,
        lambda z: second(2.0 * z / length - 1.0) / length**2,
    )


def _family(x: Legendre, deflection: Sequence[bool], slope: Sequence[bool], count: int) -> list[Legendre]:
    """Legendre series on [-1, 1] that vanish as asked at the ends, one per degree."""
    guided = [turn and not held for held, turn in zip(deflection, slope, strict=True)]
    powers = [(2 if turn else 1) if held else 0 for held, turn in zip(deflection, slope, strict=True)]
    if not any(guided):
        factor = x ** powers[0] * (1.0 - x) ** powers[1]
        return [factor * Legendre.basis(k) for k in range(count)]
    # a guided end: integrate slopes that vanish there; a held other end fixes the constant (and its own slope)
    slopes = [1 if turn else 0 for turn in slope]
    factor = x ** slopes[0] * (1.0 - x) ** slopes[1]
    if any(deflection):
        start = -1.0 if deflection[0] else 1.0
        return [(factor * Legendre.basis(k)).integ(lbnd=start) for k in range(count)]
    return [Legendre([1.0]), *((factor * Legendre.basis(k)).integ(lbnd=-1.0) for k in range(count - 1))]


def assumed_modes(
    length: float,
    EI: Varying,
    rhoA: Varying,
    functions: Sequence[Trial] | int = 8,
    *,
    left: str | End = "clamped",
    right: str | End = "free",
    tension: Varying = 0.0,
    rhoI: Varying = 0.0,
    breaks: Sequence[float] = (),
) -> AssumedModes:
    """Full mass and stiffness matrices of a beam of any taper on assumed shapes.

    Parameters
    ----------
    length : float [m]
    EI, rhoA, tension, rhoI : number, or function of places z (n,) [m]
        Bending stiffness [N m²], mass per length [kg/m], axial tension [N], rotary inertia per length [kg m].
    functions : number of polynomials for these ends, or shapes of one's own
    left, right : ends; springs and masses of an End are added
    breaks : places where a property or a shape jumps or has a kink

    Examples
    --------
    >>> beam = assumed_modes(1.0, 1.0, 1.0, 8)
    >>> beam.system.modes().frequencies[:2].round(5).tolist()
    [3.51602, 22.03449]
    """
    if not (np.isfinite(length) and length > 0.0):
        raise DataError("not-positive", f"length of a beam must be a positive number, got {length!r}.")
    both = (end(left, "left"), end(right, "right"))
    own = isinstance(functions, (int, np.integer))
    if own and functions > MOST:  # type: ignore[operator]
        raise ModelError(
            "ill-conditioned",
            f"{functions} polynomials are not independent in double precision.",
            Advice(f"Take at most {MOST}, or functions of your own."),
        )
    trials = polynomials(length, int(functions), left=both[0], right=both[1]) if own else tuple(functions)  # type: ignore[arg-type]
    if not trials:
        raise DataError("empty", "assumed modes need at least one function.")
    M, K = _matrices(length, (EI, rhoA, tension, rhoI), trials, both, breaks, _degree(own, len(trials)))
    if own:
        trials, M, K = _orthonormal(trials, M, K)
    elif scipy.linalg.eigvalsh(M)[0] <= DEPENDENT * np.abs(M).max():
        raise ModelError(
            "rank-deficient",
            "the assumed functions depend on each other (their mass matrix is singular).",
            Advice("Leave some out."),
        )
    system = SecondOrder(
        M, K, coordinates=number_names("q", len(trials)),
        provenance={"method": "assumed modes", "functions": len(trials), "length [m]": float(length)},
    )  # fmt: skip
    return AssumedModes(system, float(length), trials)


def _degree(own: bool, count: int) -> int:
    """Gauss points per piece: polynomials are integrated exactly up to ten degrees of taper, others generously."""
    return count + 12 if own else max(80, 8 * count)


def _matrices(
    length: float, varying: tuple[Varying, ...], trials: tuple[Trial, ...], ends: tuple[End, End],
    breaks: Sequence[float], points: int,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    edges = np.unique(np.concatenate([[0.0, length], np.asarray(breaks, dtype=np.float64)]))
    if edges[0] < 0.0 or edges[-1] > length:
        raise DataError("out-of-range", f"breaks lie between 0 and {length:g} m, got {list(breaks)}.")
    x, w = np.polynomial.legendre.leggauss(points)
    half = 0.5 * np.diff(edges)[:, None]
    z = (edges[:-1, None] + half * (x + 1.0)).ravel()
    weight = (half * w).ravel()
    names = ("EI", "rhoA", "tension", "rhoI")
    EI, rhoA, tension, rhoI = (_along(value, z, name) for value, name in zip(varying, names, strict=True))
    shape, slope, curvature = (_values(trials, what, z) for what in ("shape", "slope", "curvature"))
    M = (shape * (rhoA * weight)) @ shape.T + (slope * (rhoI * weight)) @ slope.T
    K = (curvature * (EI * weight)) @ curvature.T + (slope * (tension * weight)) @ slope.T
    for place, held in zip((0.0, length), ends, strict=True):
        u, turn = (_values(trials, what, np.array([place])) for what in ("shape", "slope"))
        spring, rotational = (0.0 if np.isinf(k) else k for k in (held.spring, held.rotational_spring))
        M = M + held.mass * u @ u.T + held.inertia * turn @ turn.T
        K = K + spring * u @ u.T + rotational * turn @ turn.T
    return 0.5 * (M + M.T), 0.5 * (K + K.T)


def _orthonormal(
    trials: tuple[Trial, ...], M: FloatArray, K: FloatArray
) -> tuple[tuple[Trial, ...], FloatArray, FloatArray]:
    """Combinations with unit mass matrix: the same span, and no condition number to square."""
    size = 1.0 / np.sqrt(np.diag(M))
    values, vectors = np.linalg.eigh(M * size[:, None] * size)
    if values[0] <= DEPENDENT * values[-1]:
        raise ModelError(
            "ill-conditioned",
            f"{len(trials)} polynomials are too many for this beam in double precision.",
            Advice("Take fewer."),
        )
    mix = size[:, None] * vectors / np.sqrt(values)
    turned = mix.T @ K @ mix
    made = tuple(_mix(trials, column) for column in mix.T)
    return made, np.eye(len(trials)), 0.5 * (turned + turned.T)


def _mix(trials: tuple[Trial, ...], column: FloatArray) -> Trial:
    def of(what: str) -> Callable[[FloatArray], FloatArray]:
        return lambda z: column @ _values(trials, what, z)

    return Trial(of("shape"), of("slope"), of("curvature"))


def _values(trials: Sequence[Trial], what: str, z: FloatArray) -> FloatArray:
    return np.array(
        [np.broadcast_to(np.asarray(getattr(trial, what)(z), dtype=np.float64), z.shape) for trial in trials]
    )


def _along(value: Varying, z: FloatArray, name: str) -> FloatArray:
    given = np.broadcast_to(np.asarray(value(z) if callable(value) else value, dtype=np.float64), z.shape)
    if not np.isfinite(given).all():
        raise DataError("not-finite", f"{name} must be finite all along the beam.")
    if name in ("EI", "rhoA") and (given <= 0.0).any():
        place = z[np.argmin(given)]
        raise DataError(
            "not-positive", f"{name} must be positive all along the beam; at z = {place:.4g} m it is {given.min():g}."
        )
    return given
