"""Duhamel's integral, mode by mode, in closed form (Meirovitch 1997).

m q″ + c q′ + k q = Q(t),   a = c/2m,   ω² = k/m
q(t) = q₀ k g(t) + q₀′ m h(t) + ∫₀ᵗ Q(τ) h(t - τ) dτ

h  unit impulse response,  m h = (e^{s₁t} - e^{s₂t}) / (s₁ - s₂),   s = -a ± √(a² - ω²)
g  release of a unit force held before,  k g = m h′ + 2a m h

Over a step on which Q is linear the integral needs only J₁ = ∫ m h and J₂ = ∫∫ m h. The usual closed
form is that of ω > a; the branches critical (s₁ = s₂), overdamped, ω = 0, k < 0 and c < 0 are one formula here, with
series where it would cancel: s₁ ≈ s₂, and short steps. Independent of the matrix exponential, so that each can
verify the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import checked
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.linear import storage
from dalembert.linear.channels import SecondOrderSystem, input_units
from dalembert.linear.eigen import quadratic
from dalembert.linear.modes import Modes
from dalembert.linear.recursions import march, march_varying, require_finite, uniform_step
from dalembert.linear.responses.excitation import Hold, initial_state, sample_inputs
from dalembert.linear.responses.superposition import modal_basis
from dalembert.record import Record

if TYPE_CHECKING:
    from dalembert.linear.second_order import SecondOrder

Kernels = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # k g, m h, J₁, J₂


def impulse_function(mass: ArrayLike, damping: ArrayLike, stiffness: ArrayLike, times: ArrayLike) -> FloatArray:
    """h(t) [m/(N s)]: displacement after a unit impulse; any damping, ω = 0 included; 0 before t = 0.

    Examples
    --------
    >>> impulse_function(2.0, 0.0, 0.0, [0.0, 3.0])
    array([0. , 1.5])
    """
    m, t, (_, h, _, _) = _oscillator(mass, damping, stiffness, times)
    return np.where(t > 0.0, h / m, 0.0)


def release_function(mass: ArrayLike, damping: ArrayLike, stiffness: ArrayLike, times: ArrayLike) -> FloatArray:
    """k g(t) [1]: motion after release from a unit displacement at rest; 1 before t = 0.

    Times k, so that it exists for k = 0 too.

    Examples
    --------
    >>> release_function(1.0, 2.0, 1.0, [0.0, 1.0]).round(6)
    array([1.      , 0.735759])
    """
    _, t, (g, _, _, _) = _oscillator(mass, damping, stiffness, times)
    return np.where(t > 0.0, g, 1.0)


@checked
def duhamel(
    system: SecondOrderSystem,
    inputs: Record | Mapping[str, Any] | None = None,
    *,
    times: ArrayLike | None = None,
    start: Mapping[str, float] | ArrayLike | None = None,
    hold: Hold = "first",
    modes: Modes | None = None,
) -> Record:
    """Response by Duhamel's integral in modal coordinates, exact for inputs linear between samples.

    Parameters
    ----------
    system : SecondOrder
        Symmetric (G = H = 0), with damping that the undamped modes uncouple (none, proportional, modal).
    inputs, times, start : as in :func:`dalembert.linear.response`
    hold : "first" (inputs linear between samples) or "zero" (held)
    modes : Modes, optional
        Keep only these.

    Returns
    -------
    Record with the outputs of the system.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> oscillator = SecondOrder(1.0, 4.0, C=0.2, B=[1.0], coordinates="x", inputs="f")
    >>> duhamel(oscillator, {"f": 1.0}, times=[0.0, 3.0])["x"].round(7)
    array([0.       , 0.0752229])
    """
    shapes, damping, stiffness = _uncouple(system, modes)
    t, u = sample_inputs(inputs, system.inputs, times, units=input_units(system), where="this SecondOrder")
    names = [*system.coordinates, *(f"{name}.rate" for name in system.coordinates)]
    z = initial_state(start, names, "this SecondOrder").reshape(2, -1)
    z0 = (system.M @ z.T).T @ shapes  # (2, k): modal masses are 1
    Q = u @ np.asarray(system.B.T @ shapes)
    q, rate = _convolve(damping, stiffness, Q, t, z0, hold)
    data = q @ np.asarray(system.Y_position @ shapes).T + rate @ np.asarray(system.Y_velocity @ shapes).T
    data = data + u @ storage.dense(system.D).T
    if storage.nonzero(system.Y_acceleration):
        acceleration = Q - rate * damping - q * stiffness
        data = data + acceleration @ np.asarray(system.Y_acceleration @ shapes).T
    units = {name: system.units[name] for name in system.outputs if name in system.units}
    about = {"method": "Duhamel's integral", "modes": len(damping), "hold": hold}
    return Record(t, data, system.outputs, units, provenance={**system.provenance, **about})


# ---- kernels


def kernels(a: FloatArray, w2: FloatArray, t: FloatArray, radius: float = 0.5, critical: float = 0.3) -> Kernels:
    """k g, m h, J₁ = ∫ m h, J₂ = ∫ J₁ at t ≥ 0, for a = c/2m and w2 = k/m; all of one shape (N,).

    Within the radii the series are exact to rounding: 23 terms for short steps, 9 near critical damping.
    """
    z = w2 - a * a
    short = np.maximum(np.abs(a), np.sqrt(np.abs(w2))) * t < radius
    double = ~short & (np.abs(z) * t * t < critical**2)
    result: Kernels = (np.empty_like(t), np.empty_like(t), np.empty_like(t), np.empty_like(t))
    for mask, branch in ((short, _short), (double, _critical), (~short & ~double, _apart)):
        if mask.any():
            for kernel, values in zip(result, branch(a[mask], w2[mask], t[mask]), strict=True):
                kernel[mask] = values
    return result


def _short(a: FloatArray, w2: FloatArray, t: FloatArray) -> Kernels:
    """Taylor series from the equation itself: h⁽ʲ⁺²⁾ = -2a h⁽ʲ⁺¹⁾ - ω² h⁽ʲ⁾."""
    before, now = np.zeros_like(t), np.ones_like(t)  # h⁽ʲ⁻¹⁾, h⁽ʲ⁾ at t = 0
    power = np.ones_like(t)  # tʲ⁻¹/(j-1)!
    slope, h, J1, J2 = (np.zeros_like(t) for _ in range(4))
    for j in range(1, 24):
        term = now * power
        slope += term
        h += term * t / j
        J1 += term * t**2 / (j * (j + 1))
        J2 += term * t**3 / (j * (j + 1) * (j + 2))
        before, now = now, -2.0 * a * now - w2 * before
        power = power * t / j
    return slope + 2.0 * a * h, h, J1, J2


def _critical(a: FloatArray, w2: FloatArray, t: FloatArray) -> Kernels:
    """s₁ ≈ s₂: cos √x and sin √x / √x as series in x = (ω² - a²) t², of either sign."""
    x = (w2 - a * a) * t * t
    cosine, sine, even, odd = (np.ones_like(t) for _ in range(4))
    for j in range(1, 10):
        even, odd = -even * x / ((2 * j - 1) * (2 * j)), -odd * x / ((2 * j) * (2 * j + 1))
        cosine, sine = cosine + even, sine + odd
    decay = np.exp(-a * t)
    h = decay * t * sine
    g = decay * cosine + a * h
    J1 = (1.0 - g) / w2  # ω ≈ |a| here, and |a| t is not small
    return g, h, J1, (t - h - 2.0 * a * J1) / w2


def _apart(a: FloatArray, w2: FloatArray, t: FloatArray) -> Kernels:
    """Divided differences of e^x, (e^x - 1)/x and the next, at s₁ t and s₂ t, which are well apart."""
    root = np.sqrt((a * a - w2).astype(np.complex128))
    # no cancellation in the far one; the other from s₁ s₂ = ω²
    far = np.asarray(-(a + np.where(a >= 0.0, 1.0, -1.0) * root), dtype=np.complex128)
    near = np.asarray(w2 / np.where(far == 0.0, 1.0, far), dtype=np.complex128)
    apart: ComplexArray = near - far
    first: ComplexArray = near * t
    second: ComplexArray = far * t
    e1, e2 = np.exp(first), np.exp(second)
    h = ((e1 - e2) / apart).real
    g = (0.5 * (e1 + e2)).real + a * h
    J1 = (t * (_phi1(first) - _phi1(second)) / apart).real
    J2 = (t * t * (_phi2(first) - _phi2(second)) / apart).real
    return g, h, J1, J2


def _phi1(x: ComplexArray) -> ComplexArray:
    """(eˣ - 1)/x."""
    none = np.abs(x) < np.finfo(float).tiny  # quotients of smaller complex numbers overflow
    safe = np.where(none, 1.0, x)
    result: ComplexArray = np.where(none, 1.0, np.expm1(safe) / safe)
    return result


def _phi2(x: ComplexArray, radius: float = 0.5) -> ComplexArray:
    """(eˣ - 1 - x)/x²; within the radius a series of 21 terms."""
    small = np.abs(x) < radius
    safe = np.where(small, 1.0, x)
    series = np.zeros_like(x)
    for j in range(20, -1, -1):
        series = series * x / (j + 3) + 1.0
    result: ComplexArray = np.where(small, 0.5 * series, (np.expm1(safe) - safe) / safe**2)
    return result


# ---- inside


def _oscillator(m: ArrayLike, c: ArrayLike, k: ArrayLike, times: ArrayLike) -> tuple[FloatArray, FloatArray, Kernels]:
    try:
        mass, damping, stiffness, t = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (m, c, k, times)))
    except (TypeError, ValueError) as error:
        raise DataError(
            "wrong-shape", f"mass, damping, stiffness and times must be numbers of one shape ({error})."
        ) from error
    if not all(np.isfinite(value).all() for value in (mass, damping, stiffness, t)) or not (mass > 0.0).all():
        raise DataError("out-of-range", "an oscillator needs a positive mass, and finite damping, stiffness and times.")
    flat = kernels(
        (damping / (2.0 * mass)).ravel(), (stiffness / mass).ravel(), np.maximum(t, 0.0).ravel().astype(np.float64)
    )
    g, h, J1, J2 = (kernel.reshape(t.shape) for kernel in flat)
    return mass, t, (g, h, J1, J2)


def _convolve(
    damping: FloatArray, stiffness: FloatArray, Q: FloatArray, t: FloatArray, z0: FloatArray, hold: str
) -> tuple[FloatArray, FloatArray]:
    """Modal coordinates and rates (N, k) of unit modal masses."""
    count, k = Q.shape
    q, rate = np.empty((count, k)), np.empty((count, k))
    step = uniform_step(t) if count > 1 else None
    steps = np.diff(t) if step is None else np.array([step])
    for mode in range(k):
        a, w2 = np.full(len(steps), 0.5 * damping[mode]), np.full(len(steps), stiffness[mode])
        g, h, J1, J2 = kernels(a, w2, steps)
        A = np.array([[g, h], [-w2 * h, g - 2.0 * a * h]]).transpose(2, 0, 1)
        now, change = Q[:-1, mode], np.diff(Q[:, mode]) if hold == "first" else 0.0 * Q[:-1, mode]
        w = np.column_stack([J1 * now + J2 / steps * change, h * now + J1 / steps * change])
        if count == 1:
            path = z0[None, :, mode]
        elif step is None:
            path = march_varying(A, np.arange(count - 1), w, z0[:, mode])
        else:
            path = march(A[0], w, z0[:, mode])
        q[:, mode], rate[:, mode] = require_finite(path, t).T
    return q, rate


def _uncouple(
    system: SecondOrder, modes: Modes | None, rounding: float = 1e-9
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shapes (n, k) of unit modal mass, modal damping and stiffness (k,).

    ``rounding`` : off-diagonal modal damping, relative to the largest, of modes that uncouple; likewise the difference
    of repeated ω²: such modes may be rotated among themselves.
    """
    for symbol, what in (("G", "gyroscopic"), ("H", "circulatory"), ("K_loss", "hysteretic")):
        if storage.nonzero(getattr(system, symbol)):
            raise DataError(
                "coupled-modes", f"the {what} matrix {symbol} couples the modes: Duhamel's integral does not apply."
            )
    if modes is None:
        if system.is_sparse:
            raise DataError(
                "missing-argument",
                "a sparse SecondOrder needs modes for Duhamel's integral.",
                Advice("Give {}.", Argument("modes", Call("SecondOrder.modes"))),
            )
        V, reduced = np.eye(system.nq), system
    else:
        basis = modal_basis(system, modes)
        V, reduced = basis.V, basis.reduced
    try:
        stiffness, turn = scipy.linalg.eigh(reduced.K, reduced.M)
    except np.linalg.LinAlgError as error:
        raise DataError(
            "not-positive-definite",
            "M is not positive definite: Duhamel's integral needs mass everywhere.",
            Advice("Use {}.", Call("da.linear.response")),
        ) from error
    turned = quadratic.turn([turn.T @ reduced.C @ turn], stiffness, rounding)
    if turned is None:
        raise DataError(
            "coupled-modes",
            "the damping couples the undamped modes (it is not proportional): Duhamel's integral does not apply mode "
            "by mode.",
            Advice("Use {}, which needs no modes.", Call("da.linear.response")),
        )
    (damping,), Q = turned
    return V @ turn @ Q, damping, stiffness
