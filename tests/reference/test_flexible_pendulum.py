"""A flexible pendulum against published samples and against planar beam equations written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.structures import Beam, Frame, flexible_body
from dalembert.studies.flexible import flexible_pendulum as study

# Thin beam of 0.4 m, EI = 12.15 N m², 3.9888 kg, from rest in the horizontal, undamped: clamped-free modes in a
# floating frame at the hinge. The samples have two digits, and 4 and 6 modes differ by 0.07 mm: 0.1 mm.
DEFLECTION_MM = (1.25, 3.71, 4.90, 3.44, 0.12, -2.33, 0.23, -2.96)
ANGLE = (-0.0485, -0.1909, -0.4207, -0.7291, -1.1024, -1.5175)
# β L of the clamped-free beam (Blevins 1979, table 8-1)
ROOTS = (1.8751040687, 4.6940911330, 7.8547574382, 10.9955407349)
GRAVITY = 9.81


@pytest.mark.spec("001-T1")
@pytest.mark.spec("001-C14")
def test_the_pendulum_passes_the_published_samples() -> None:
    data = study.beam_data()
    assert data.mass == pytest.approx(3.9888, rel=1e-9)
    assert data.frequencies_hz[:4] == pytest.approx([3.86, 24.19, 67.74, 132.76], abs=0.01)
    run = study.swing(study.mechanism(data))
    deflection = 1e3 * run["deflection.y"]
    at = [round(t / study.EVERY) for t in study.DEFLECTION_TIMES]
    assert deflection[at] == pytest.approx(DEFLECTION_MM, abs=0.1)
    assert run["hinge.angle"][at[:6]] == pytest.approx(ANGLE, abs=2e-4)
    assert np.abs(deflection).max() == pytest.approx(5.1, abs=0.1)
    assert np.abs(run["energy.balance"]).max() < 1e-10
    rigid = study.swing(study.mechanism(None))
    apart = np.hypot(run["tip.x"] - rigid["tip.x"], run["tip.y"] - rigid["tip.y"]).max()
    assert 1e3 * apart == pytest.approx(1.6, abs=0.15)


def swing_by_hand(modes: int, times: Any) -> Any:
    """Angle and modes of a thin clamped-free beam in a frame at the hinge, mass 1/L per length and EI as the study's.

    L = ½ (J + qᵀq) ω² + ω pᵀq̇ + ½ q̇ᵀq̇ − ½ qᵀΩ²q − V, with p = ∫ρ x φ, s = ∫ρ φ and modes of unit mass:

        (J + qᵀq) ω̇ + pᵀ q̈ = −2 ω qᵀq̇ − g (m L/2 cos θ − sᵀq sin θ)
        p ω̇ + q̈ = ω² q − Ω² q − g s cos θ
    """
    length, mass = study.LENGTH, study.SECTION.area * study.LENGTH * study.MATERIAL.density
    root = np.array(ROOTS[:modes])
    sigma = (np.cosh(root) + np.cos(root)) / (np.sinh(root) + np.sin(root))
    sign = np.where(np.arange(modes) % 2, -1.0, 1.0)
    p = np.sqrt(mass) * length * sign * 2 / root**2
    s = np.sqrt(mass) * sign * 2 * sigma / root
    stiffness = study.MATERIAL.E * study.SECTION.I_z * root**4 / (mass * length**3)
    inertia = mass * length**2 / 3

    def rates(_: float, x: Any) -> Any:
        angle, q, omega, w = x[0], x[1 : 1 + modes], x[1 + modes], x[2 + modes :]
        M = np.block([[np.array([[inertia + q @ q]]), p[None]], [p[:, None], np.eye(modes)]])
        turning = -2 * omega * (q @ w) - GRAVITY * (mass * length / 2 * np.cos(angle) - s @ q * np.sin(angle))
        bending = omega**2 * q - stiffness * q - GRAVITY * s * np.cos(angle)
        return np.concatenate([[omega], w, np.linalg.solve(M, np.concatenate([[turning], bending]))])

    found = solve_ivp(rates, (0, times[-1]), np.zeros(2 + 2 * modes), "DOP853", times, rtol=1e-10, atol=1e-12)
    return found.y[0], 2 / np.sqrt(mass) * sign @ (found.y[1 : 1 + modes] * sign[:, None])


@pytest.mark.spec("001-C15")
@pytest.mark.spec("003-C50")
def test_the_pendulum_moves_as_planar_beam_equations_written_by_hand() -> None:
    """Three closed-form modes in both; both integrators keep 1e-8 of the state, over 60 periods of the fastest mode."""
    rhoA = study.SECTION.area * study.MATERIAL.density
    line = Beam(study.LENGTH, EI=study.MATERIAL.E * study.SECTION.I_z, rhoA=rhoA)
    data = flexible_body(line, modes=3, stiffening=False)
    m = da.Mechanism("pendulum", planar=True)
    beam = m.add_flexible_body("beam", data, position=(0, 0))
    m.add_revolute("hinge", m.ground.at(0, 0), beam.at("start"))
    m.add_sensor("deflection", da.deflection(beam.at("end")))
    run = study.swing(m)
    half = run.time <= 0.5 + 1e-9
    angle, deflection = swing_by_hand(3, run.time[half])
    assert run["hinge.angle"][half] == pytest.approx(angle, abs=1e-7)
    assert run["deflection.y"][half] == pytest.approx(deflection, abs=1e-7)
    elements = study.swing(study.mechanism(study.beam_data(3)))
    assert elements["deflection.y"][half] == pytest.approx(deflection, abs=1e-5)  # 20 elements: third mode to 2e-5


@pytest.mark.slow
@pytest.mark.spec("001-C15")
@pytest.mark.spec("000-43")
def test_the_pendulum_in_space_is_the_pendulum_in_the_plane() -> None:
    """The same beam as a spatial frame, gravity in its plane; the modes are the same up to 1e-9."""
    frame = Frame("beam")
    frame.add_points(["root", "tip"], [[0, 0, 0], [study.LENGTH, 0, 0]])
    frame.add_beam("beam", "root", "tip", section=study.SECTION, material=study.MATERIAL, elements=study.ELEMENTS,
                   up=(0, 1, 0), rotary=False)  # fmt: skip
    all_modes = flexible_body(frame, basis="clamped", fixed="root", modes=12)
    bending = [k + 1 for k in range(12) if abs(all_modes.node("tip").translation[1, k]) > 0.1][:3]
    data = flexible_body(frame, basis="clamped", fixed="root", modes=bending, stiffening=False)
    m = da.Mechanism("pendulum in space", gravity=(0, -GRAVITY, 0))
    beam = m.add_flexible_body("beam", data, position=(0, 0, 0))
    upright = (0, 0, 1)
    m.add_revolute("hinge", m.ground.frame(0, 0, 0, axis=upright), beam.frame("root", axis=upright))
    m.add_sensor("deflection", da.deflection(beam.at("tip")))
    spatial = study.swing(m)
    planar = study.swing(study.mechanism(study.beam_data(3)))
    assert spatial["hinge.angle"] == pytest.approx(planar["hinge.angle"], abs=1e-6)
    assert spatial["deflection.y"] == pytest.approx(planar["deflection.y"], abs=1e-6)
    assert np.abs(spatial["deflection.z"]).max() < 1e-9


@pytest.mark.parametrize("modes", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (8, 12))])
@pytest.mark.slow
def test_the_stiffened_pendulum_swings_with_many_modes(modes: int) -> None:
    """Clamped modes leave the frame little inertia of its own. 8 and 12 modes differ by 0.1 mm, as without stiffening;
    the energy of the exact equations is kept to the tolerance of the method."""
    run, finer = (study.swing(study.mechanism(study.beam_data(n, stiffening=True))) for n in (modes, 8))
    early = run.time <= 0.5
    assert 1e3 * np.abs(run["deflection.y"] - finer["deflection.y"])[early].max() < 0.15
    assert np.abs(run["energy.balance"]).max() < 1e-9
