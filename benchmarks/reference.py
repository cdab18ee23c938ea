"""Reference motion of the crank-rocker four-bar, by a route that shares nothing with any engine.

One coordinate, the crank angle θ.  With the loop ``a e^{iθ} + b e^{iφ} = d + c e^{iψ}`` the angles φ(θ), ψ(θ)
are known in closed form, hence the kinetic energy ½ J(θ) θ'² and the potential energy V(θ).  The crank never stops, so

    θ' = sqrt(2 (E - V) / J)    and    t(θ) = ∫ dθ / θ'

is a quadrature of a smooth function of period 2π.  Its Fourier series, integrated term by term, is exact to rounding;
Newton's method inverts it for θ(t).  No step size, no drift: the error is well below 1e-12 m.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.6, 0.5, 0.7
"""Lengths [m]; the bars are uniform with 1 kg/m."""
GRAVITY = 9.81
START_ANGLE, START_RATE = math.pi / 2, 10.0
DURATION, SAMPLE = 10.0, 0.1
FINAL_ANGLE, FINAL_RATE = 149.5885938329, 17.0683618091
"""Angle and rate at 10 s from an adaptive integrator at 1e-13: the quadrature must agree with them to 1e-9 and 1e-8."""


def loop_angles(theta: float) -> tuple[float, float]:
    """Angles of coupler and rocker (from ground to coupler) on the open branch, for a crank angle."""
    pin = CRANK * complex(math.cos(theta), math.sin(theta))
    diagonal = GROUND - pin
    length = abs(diagonal)
    opening = math.acos((COUPLER**2 + length**2 - ROCKER**2) / (2 * COUPLER * length))
    phi = math.atan2(diagonal.imag, diagonal.real) + opening
    end = pin + COUPLER * complex(math.cos(phi), math.sin(phi)) - GROUND
    return phi, math.atan2(end.imag, end.real)


def loop_rates(theta: float) -> tuple[float, float]:
    """dφ/dθ and dψ/dθ."""
    phi, psi = loop_angles(theta)
    sine = math.sin(psi - phi)
    return CRANK * math.sin(theta - psi) / (COUPLER * sine), CRANK * math.sin(theta - phi) / (ROCKER * sine)


def energy_terms(theta: float) -> tuple[float, float]:
    """Reduced inertia J [kg m²] and potential energy V [J] at a crank angle."""
    phi, psi = loop_angles(theta)
    phi_rate, psi_rate = loop_rates(theta)
    pin = CRANK * complex(math.cos(theta), math.sin(theta))
    coupler = COUPLER / 2 * complex(math.cos(phi), math.sin(phi))
    coupler_speed = abs(pin + phi_rate * coupler)
    inertia = (CRANK**3 + ROCKER**3 * psi_rate**2) / 3 + COUPLER * coupler_speed**2 + COUPLER**3 / 12 * phi_rate**2
    potential = CRANK**2 / 2 * math.sin(theta) + COUPLER * (pin + coupler).imag + ROCKER**2 / 2 * math.sin(psi)
    return inertia, GRAVITY * potential


def crank_angle(times: NDArray[np.float64], points: int = 4096) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Crank angle [rad] and rate [rad/s] at the given times."""
    inertia, potential = energy_terms(START_ANGLE)
    total = 0.5 * inertia * START_RATE**2 + potential

    def slowness(theta: float) -> float:
        moment, height = energy_terms(theta)
        return math.sqrt(moment / (2 * (total - height)))

    grid = 2 * math.pi / points * np.arange(points)
    spectrum = np.fft.rfft([slowness(theta) for theta in grid]) / points
    mean = spectrum[0].real
    orders = np.arange(1, 1 + points // 4)
    if abs(spectrum[orders[-1]]) > 1e-15:
        raise RuntimeError("four-bar reference: too few points for the Fourier series")
    weights = 2 * spectrum[orders] / (1j * orders)

    def elapsed(theta: float) -> float:
        waves = np.exp(1j * orders * theta) - np.exp(1j * orders * START_ANGLE)
        return float(mean * (theta - START_ANGLE) + (weights @ waves).real)

    angles = []
    for time in times:
        theta = START_ANGLE + time / mean
        for _ in range(50):
            change = (time - elapsed(theta)) / slowness(theta)
            theta += change
            if abs(change) < 1e-13 * abs(theta):
                break
        else:
            raise RuntimeError(f"four-bar reference: no crank angle found at {time} s")
        angles.append(theta)
    return np.array(angles), np.array([1 / slowness(theta) for theta in angles])


def crank_pin() -> NDArray[np.float64]:
    """Position of the crank pin B at 0.1, 0.2, ..., 10 s, shape (100, 2) [m]."""
    angle, rate = crank_angle(SAMPLE * np.arange(1, round(DURATION / SAMPLE) + 1))
    if abs(angle[-1] - FINAL_ANGLE) > 1e-9 or abs(rate[-1] - FINAL_RATE) > 1e-8:
        raise RuntimeError(f"four-bar reference ends at {angle[-1]!r} rad, {rate[-1]!r} rad/s: not the known motion")
    return CRANK * np.column_stack((np.cos(angle), np.sin(angle)))


def joint_start(tree: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Joint angles and rates at the start, for a tree cut at C (joints A, B, D: "branches") or at D (A, B, C)."""
    phi, psi = loop_angles(START_ANGLE)
    phi_rate, psi_rate = loop_rates(START_ANGLE)
    if tree == "branches":
        return (
            np.array([START_ANGLE, phi - START_ANGLE, psi]),
            START_RATE * np.array([1.0, phi_rate - 1.0, psi_rate]),
        )
    # The rocker hangs on the coupler here, so its own axis points from C to D.
    return (
        np.array([START_ANGLE, phi - START_ANGLE, psi + math.pi - phi]),
        START_RATE * np.array([1.0, phi_rate - 1.0, psi_rate - phi_rate]),
    )
