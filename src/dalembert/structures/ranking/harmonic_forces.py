"""Forces on masters with several harmonics, and the undamped motion under them.

    f(t) = Re Σ F_k e^{jω_k t},    (K - ω_k² M) x_k = F_k

ω = 0 is a constant part. At a natural frequency ω_j the motion has no limit; inverse iteration
y = (K - ω² M)⁻¹ M x finds the nearest, |ω_j² - ω²| = |x| / |y| in the mass norm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import ArgumentKind, Scope
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.linear.second_order import SecondOrder
from dalembert.structures.assembly.stiffness_factor import StiffnessFactor

Forces = Mapping[str, complex | Sequence[complex]]


def _read_forces(name: str, value: Any, scope: Scope) -> dict[str, ComplexArray]:
    if not isinstance(value, Mapping) or not value:
        raise DataError("wrong-type", f"{name} must be a mapping of masters to amplitudes, got {value!r:.80}.")
    amplitudes = {}
    for key, entry in value.items():
        try:
            array = np.atleast_1d(np.asarray(entry, dtype=np.complex128))
        except (TypeError, ValueError):
            array = np.full(1, np.nan, dtype=np.complex128)
        if array.ndim != 1 or not np.isfinite(array).all():
            raise DataError("not-finite", f"{name}[{key!r}] must be a finite number, or one for each harmonic.")
        amplitudes[str(key)] = array
    if not any(array.any() for array in amplitudes.values()):
        raise DataError("zero", f"{name} has no amplitude that is not zero.")
    return amplitudes


def _read_harmonics(name: str, value: Any, scope: Scope) -> tuple[float, ...]:
    array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all() or (array < 0.0).any():
        raise DataError("out-of-range", f"{name} must be frequencies from 0 on [rad/s], got {value!r}.")
    if len(set(array.tolist())) < len(array):
        raise DataError("duplicate", f"{name} has a frequency twice: {array.tolist()}.")
    return tuple(array.tolist())


amplitudes = ArgumentKind("{master: complex amplitude, or one for each harmonic} [N, N m]", _read_forces)
frequencies = ArgumentKind("frequencies [rad/s], 0 for a constant part", _read_harmonics)


def amplitudes_at(masters: tuple[str, ...], forces: Mapping[str, ComplexArray], harmonics: Sequence[float]) -> Any:
    """(m, h) complex amplitudes at the masters; of a constant part the real part counts."""
    F = np.zeros((len(masters), len(harmonics)), dtype=np.complex128)
    for name, each in forces.items():
        require_name("master", name, masters, argument="forces")
        if len(each) not in (1, len(harmonics)):
            problem = f"forces[{name!r}] has {len(each)} amplitudes for {len(harmonics)} harmonics."
            raise DataError("wrong-shape", problem)
        F[masters.index(name)] = each
    constant = np.asarray(harmonics) == 0.0
    F[:, constant] = F[:, constant].real
    return F


def respond(system: SecondOrder, at: Any, F: Any, omega: float, clearance: float) -> Any:
    """(n,) complex motion under amplitudes F (m,) at coordinates ``at``."""
    factor = StiffnessFactor(system.K - omega**2 * system.M)
    _refuse_resonance(system, factor, omega, clearance)
    force = np.zeros((system.nq, 2))
    force[at, 0], force[at, 1] = F.real, F.imag
    x = factor.solve(force)
    return x[:, 0] + 1j * x[:, 1]


def _refuse_resonance(system: SecondOrder, factor: StiffnessFactor, omega: float, clearance: float) -> None:
    """clearance : relative distance of ω from a natural frequency."""
    if omega == 0.0:
        near = factor.free_motions().shape[1] > 0
    else:
        x: FloatArray = np.random.default_rng(0).standard_normal(system.nq)
        gap = 0.0
        for _ in range(6):  # the share of the nearest mode grows by the ratio of the distances each time
            x = x / np.sqrt(abs(x @ (system.M @ x)))
            y = factor.solve(system.M @ x) if factor.exists else np.full(system.nq, np.nan)
            gap = 1.0 / np.sqrt(abs(y @ (system.M @ y))) if np.isfinite(y).all() and y.any() else 0.0
            if gap == 0.0:
                break
            x = y
        near = gap <= 2.0 * clearance * omega**2
    if near:
        raise DataError(
            "resonance",
            f"a harmonic of {omega:.8g} rad/s is a natural frequency of the system, and without damping its motion has "
            "no limit." if omega else "a constant force moves the system without limit: it is free to move.",
            Advice("Move the harmonic by some tenths of a per cent."),
            Advice("Or leave the motion free of it with another {}.", Argument("harmonics")),
            where={"argument": "harmonics"}, evidence={"frequency": omega},
        )  # fmt: skip
