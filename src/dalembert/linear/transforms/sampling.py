"""Conversion between continuous and sampled systems.

zero-order hold    exp([[A_c, B_c], [0, 0]] dt) = [[A, B], [0, I]]         exact for inputs held over each step
first-order hold   the same with a ramp; the state becomes ξ = x - Γ₂ u     exact for inputs linear over each step
Tustin             s = α (z - 1)/(z + 1),  α = 2/dt, or ω / tan(ω dt/2) to keep the response at ω

The exponential of the augmented matrix needs no inverse of A_c, so integrators and free masses are allowed; its
logarithm is the exact inverse, [[A_c, B_c], [0, 0]] dt = log [[A, B], [0, I]], on the principal branch
|Im λ_c| < π/dt: an oscillation above the Nyquist frequency returns as its alias.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from dalembert.core.arguments import real_number
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import ConvergenceError, DalembertWarning, DataError, require_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.text import count_noun
from dalembert.linear.eigen.roots import eigenvalues, solve
from dalembert.linear.recursions import compute_exact_step

if TYPE_CHECKING:
    from dalembert.linear.state_space import StateSpace

NAMES = {"zoh": "zero-order hold", "foh": "first-order hold", "tustin": "Tustin"}


ALIASED = "poles above Nyquist"


def sample_time(dt: object) -> float | None:
    """A positive number of seconds, or None."""
    if dt is None:
        return None
    value = real_number("dt [s]", dt)
    if value <= 0.0:
        raise DataError("not-positive", f"dt must be positive and finite, got {dt!r}; None means continuous time.")
    return value


def to_discrete(system: StateSpace, dt: float, method: str, prewarp: float | None) -> StateSpace:
    """See :meth:`StateSpace.to_discrete`."""
    if system.dt is not None:
        raise DataError(
            "sample-time-mismatch",
            f"this StateSpace is discrete already (dt = {system.dt:g} s).",
            Advice("Change the step with {}.", Call("StateSpace.resample")),
        )
    step = sample_time(dt)
    if step is None:
        raise DataError("missing-argument", "to_discrete needs a sample time in seconds, got None.")
    require_name("discretization method", method, NAMES)
    if prewarp is not None and method != "tustin":
        raise DataError("ineffective-argument", f"prewarp belongs to the method 'tustin', not to {method!r}.")
    provenance = {**system.provenance, "discretized": NAMES[method]}
    if method == "tustin":
        A, B, C, D = _tustin(system, _bilinear_step(step, prewarp))
    else:
        A, B, C, D = _sample_held_input(system, step, linear=method == "foh")
        above = int(np.count_nonzero(eigenvalues(system.A).imag >= np.pi / step))
        if above:
            provenance[ALIASED] = above
    return system.replace(A=A, B=B, C=C, D=D, dt=step, provenance=provenance)


def to_continuous(system: StateSpace, method: str, prewarp: float | None) -> StateSpace:
    """See :meth:`StateSpace.to_continuous`."""
    if system.dt is None:
        raise DataError("sample-time-mismatch", "this StateSpace is continuous already.")
    require_name("inverse discretization method", method, ("zoh", "tustin"))
    if prewarp is not None and method != "tustin":
        raise DataError("ineffective-argument", f"prewarp belongs to the method 'tustin', not to {method!r}.")
    provenance = {**system.provenance, "made continuous": NAMES[method]}
    if method == "tustin":
        A, B, C, D = _tustin_inverse(system, _bilinear_step(system.dt, prewarp))
        return system.replace(A=A, B=B, C=C, D=D, dt=None, provenance=provenance)
    aliases = int(provenance.pop(ALIASED, 0))
    A, B = _logarithm(system, aliases)
    return system.replace(A=A, B=B, dt=None, provenance=provenance)


def _sample_held_input(
    system: StateSpace, step: float, *, linear: bool
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    A, constant, ramp = compute_exact_step(system.A, system.B, step)
    if not all(np.isfinite(matrix).all() for matrix in (A, constant, ramp)):
        raise DataError(
            "diverged", f"the state grows beyond the number range within dt = {step:g} s; use a smaller dt."
        )
    if not linear:
        return A, constant, system.C, system.D
    return A, constant - ramp + A @ ramp, system.C, system.D + system.C @ ramp


def _bilinear_step(step: float, prewarp: float | None) -> float:
    """1/α of s = α (z - 1)/(z + 1)."""
    if prewarp is None:
        return 0.5 * step
    prewarp = real_number("prewarp", prewarp)
    if not 0.0 < prewarp < np.pi / step:
        raise DataError(
            "out-of-range",
            f"prewarp must lie between 0 and the Nyquist frequency {np.pi / step:g} rad/s of dt = {step:g} s, "
            f"got {prewarp!r}.",
        )
    return float(np.tan(0.5 * prewarp * step) / prewarp)


def _is_infinite(distance: Any, rounding: float = 1e-13) -> bool:
    """Whether the Tustin map is singular at a pole, from its distance: some 500 roundings of 1."""
    return bool(np.any(np.abs(distance) < rounding))


def _tustin(system: StateSpace, h: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    identity = np.eye(system.nx)
    denominator = identity - h * system.A
    if _is_infinite(1.0 - h * eigenvalues(system.A)):
        raise DataError(
            "no-solution", f"a pole at {1.0 / h:g} rad/s is mapped to infinity by Tustin at this dt; choose another dt."
        )
    A = solve(denominator, identity + h * system.A)
    B = solve(denominator, 2.0 * h * system.B)
    C = solve(denominator.T, system.C.T).T
    return A, B, C, system.D + 0.5 * system.C @ B


def _tustin_inverse(system: StateSpace, h: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    right = np.eye(system.nx) + system.A
    if _is_infinite(1.0 + eigenvalues(system.A)):
        raise DataError(
            "no-solution", "a pole at z = -1 comes from infinity under Tustin: there is no continuous system."
        )
    A = solve(right, system.A - np.eye(system.nx)) / h
    B = solve(right, system.B) / h
    C = 2.0 * solve(right.T, system.C.T).T
    return A, B, C, system.D - 0.5 * C @ system.B


def _logarithm(
    system: StateSpace,
    aliases: int,
    nyquist: float = 0.01,  # distance to the Nyquist frequency, relative, within which a pole may be an alias
    accuracy: float = 1e-9,  # to which exp(log A) must return A: the logarithm of an ill-conditioned A does not warn
) -> tuple[FloatArray, FloatArray]:
    step = system.dt
    assert step is not None
    nx, nu = system.B.shape
    if nx == 0:
        return system.A, system.B
    z = eigenvalues(system.A)
    _refuse_negative(z)
    near = np.abs(np.angle(z)) > np.pi * (1.0 - nyquist)
    if aliases or near.any():
        what = (
            f"{count_noun(aliases, 'pole pair')} above the Nyquist frequency before sampling, returned as aliases"
            if aliases
            else f"{np.count_nonzero(near)} of {len(z)} poles within {100 * nyquist:g} % of the Nyquist "
            "frequency may be aliases"
        )
        warnings.warn(DalembertWarning("aliasing", f"{what} (dt = {step:g} s, principal logarithm)."), stacklevel=4)
    block = np.eye(nx + nu)
    block[:nx, :nx], block[:nx, nx:] = system.A, system.B
    log = np.real(scipy.linalg.logm(block))
    gap = float(np.abs(scipy.linalg.expm(log) - block).max(initial=0.0))
    if not gap <= accuracy * max(1.0, float(np.abs(block).max(initial=1.0))):
        raise ConvergenceError(
            "no-convergence",
            f"the matrix logarithm returns A only to {gap:.1e}; A is too ill-conditioned.",
            Advice("Use {}, or remove very fast modes.", Argument("method", "tustin")),
        )
    return log[:nx, :nx] / step, log[:nx, nx:] / step


def _refuse_negative(z: ComplexArray) -> None:
    floor = 100.0 * np.finfo(np.float64).eps * np.abs(z).max(initial=1.0)
    bad = z[(np.abs(z.imag) <= floor) & (z.real <= floor)]
    if len(bad):
        raise DataError(
            "no-solution",
            f"{count_noun(len(bad), 'pole')} on the negative real axis or at 0 (z = {bad[0].real:.4g}): no continuous "
            "system, sampled with a zero-order hold, has them.",
            Advice("Use {}, or sample faster.", Argument("method", "tustin")),
        )
