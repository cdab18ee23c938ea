"""One free rigid body: Jacobi's closed form, conservation, and the numbers of spec 003-E12."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ellipj, ellipk

import dalembert as da
from dalembert.mechanics.rotations import rotation
from dalembert.model.orientation import quaternion_from_matrix

Array = NDArray[np.float64]
TIGHT = da.DormandPrince(rtol=1e-13, atol=1e-14)


def body(inertia: tuple[float, float, float], mass: float = 1.0) -> da.EquationsOfMotion:
    m = da.Mechanism("free body", gravity=0)
    m.add_body("b", mass=mass, inertia=inertia)
    return da.equations(m)


def vectors(run: da.Record) -> tuple[Array, Array]:
    """Rotation matrices (N, 3, 3) and angular velocities in body axes (N, 3)."""
    e = np.column_stack([run[f"b.e{k}"] for k in range(4)])
    return np.array([np.array(rotation(p)) for p in e]), np.column_stack([run[f"b.w{k}"] for k in "xyz"])


@pytest.mark.spec("002-B1")
def test_body_spun_about_its_intermediate_axis_flips_and_keeps_energy_and_momentum() -> None:
    """Energy and momentum kept to 1e-10, as asked (1e-13 per step, 2e3 steps); ω by Jacobi's elliptic functions.

    With J₁ < J₂ < J₃ and H² > 2 T J₂: ω = (a₁ cn, ±a₂ sn, a₃ dn) of s t; H² 1e-6 above the separatrix 2 T J₂, so that
    the body spins about the intermediate axis most of the time and flips in between.
    """
    J = np.array([2.0, 3.0, 4.0])
    spin = 0.8
    T2, H2 = 3.0 * spin**2, (3.0 * spin) ** 2 * (1 + 1e-6)
    # at sn = 0: ω₁² and ω₃² from 2 T and H²
    a = np.linalg.solve([[J[0], J[2]], [J[0] ** 2, J[2] ** 2]], [T2, H2])
    w1, w3 = np.sqrt(a)
    eqs = body(tuple(J))
    run = da.simulate(eqs, 100.0, start=eqs.state(v=[0, 0, 0, w1, 0.0, w3]), method=TIGHT, every=0.1)
    R, w = vectors(run)
    momentum = np.einsum("nij,nj->ni", R, J * w)
    energy = 0.5 * np.sum(J * w * w, axis=1)
    assert np.abs(momentum - momentum[0]).max() / np.sqrt(H2) < 1e-10
    assert np.abs(energy / energy[0] - 1).max() < 1e-10
    # closed form
    rate = np.sqrt((J[2] - J[1]) * (H2 - T2 * J[0]) / (J[0] * J[1] * J[2]))
    k2 = (J[1] - J[0]) * (T2 * J[2] - H2) / ((J[2] - J[1]) * (H2 - T2 * J[0]))
    a1 = np.sqrt((T2 * J[2] - H2) / (J[0] * (J[2] - J[0])))
    a2 = np.sqrt((T2 * J[2] - H2) / (J[1] * (J[2] - J[1])))
    a3 = np.sqrt((H2 - T2 * J[0]) / (J[2] * (J[2] - J[0])))
    sn, cn, dn, _ = ellipj(rate * run.time, k2)
    # the modulus is within 1e-6 of one, so errors of T and H of 1e-13 shift the phase by up to 1e-7
    exact = np.column_stack((a1 * cn, a2 * sn, a3 * dn))
    sign = np.sign(w[2, 1])
    assert np.abs(w - exact * [1, sign, 1]).max() < 1e-6
    assert w[:, 1].max() > 0.79
    assert w[:, 1].min() < -0.79  # it flips
    quarter = ellipk(k2) / rate
    assert 2 < 100 / quarter < 40


@pytest.mark.spec("003-E12")
def test_e12_growth_about_the_intermediate_axis() -> None:
    """Spin 0.8 rad/s about y of J = (2, 3, 4): a disturbance grows like exp(0.282843 t)."""
    eqs = body((2.0, 3.0, 4.0))
    growth = np.sqrt((3 - 2) * (4 - 3) / (2 * 4)) * 0.8
    assert growth == pytest.approx(0.282843, abs=5e-7)
    # the growing direction: σ ω_x = ((J_y - J_z)/J_x) 0.8 ω_z
    small = 1e-7
    start = [0, 0, 0, small, 0.8, small * growth * 2 / (0.8 * (3 - 4))]
    run = da.simulate(eqs, 20.0, start=eqs.state(v=start), method=TIGHT, every=1.0)
    assert np.abs(run["b.wx"] / (small * np.exp(growth * run.time)) - 1).max() < 1e-6  # second order: (3e-5)²


@pytest.mark.spec("003-E12", "003-C37", "002-B1")
def test_e12_numbers_of_the_source() -> None:
    """v and Ω in body axes, position, Tait-Bryan angles at 2 s, to the six digits printed; the invariants."""
    J = np.array([2.0, 3.0, 4.0])
    R0 = da.rotation(tait_bryan=(0.1, 0.2, 0.3)).matrix
    eqs = body(tuple(J), mass=5.0)
    q = np.concatenate((np.zeros(3), quaternion_from_matrix(R0)))
    w0 = np.array([0.1, 0.8, 0.2])
    v0 = R0 @ [1.0, 0.0, 0.5]
    assert v0 == pytest.approx([1.045469, 0.271151, 0.288916], abs=5e-7)
    assert R0 @ (J * w0) == pytest.approx([-0.298291, 2.323780, 0.975227], abs=5e-7)
    run = da.simulate(eqs, 2.0, start=eqs.state(q, np.concatenate((v0, w0))), method=TIGHT, every=0.1)
    R, w = vectors(run)
    v = np.array([run[f"b.v{k}"][-1] for k in "xyz"])
    assert R[-1].T @ v == pytest.approx([-0.563675, -0.080569, 0.962174], abs=6e-7)
    assert w[-1] == pytest.approx([-0.053433, 0.805932, 0.190860], abs=6e-7)
    assert run["b"][-1] == pytest.approx([2.090937, 0.542302, 0.577832], abs=6e-7)
    last = R[-1]
    theta = -np.arcsin(last[2, 0])
    phi, psi = np.arctan2(last[2, 1], last[2, 2]), np.arctan2(last[1, 0], last[0, 0])
    assert (phi, theta, psi) == pytest.approx((1.982280, 1.091920, 2.489986), abs=6e-7)
    momentum = np.einsum("nij,nj->ni", R, J * w)
    assert np.abs(momentum - momentum[0]).max() < 1e-11
    assert 0.5 * np.sum(J * w**2, axis=1) == pytest.approx(1.05 * np.ones(len(w)), abs=1e-11)


@pytest.mark.spec("000-31")
def test_a_free_body_keeps_energy_momentum_and_norm_at_fixed_steps() -> None:
    """I = (1, 2, 3), ω₀ = (0.1, 2, 0.1), Runge-Kutta 4 at 1 ms for 10 s: energy 4.02 to 2e-11, H = (0.1, 4, 0.3)."""
    eqs = body((1.0, 2.0, 3.0))
    run = da.simulate(eqs, 10.0, start=eqs.state(v=[0, 0, 0, 0.1, 2.0, 0.1]), method=da.RK4(1e-3), every=0.1)
    R, w = vectors(run)
    assert run["energy"] == pytest.approx(np.full(101, 4.02), abs=2e-11)
    momentum = np.einsum("nij,nj->ni", R, [1.0, 2.0, 3.0] * w)
    assert momentum == pytest.approx(np.tile([0.1, 4.0, 0.3], (101, 1)), abs=4e-11)
    assert sum(run[f"b.e{k}"] ** 2 for k in range(4)) == pytest.approx(np.ones(101), abs=2e-12)


@pytest.mark.spec("002-B1")
def test_symmetric_body_precesses_freely_at_the_closed_form_rate() -> None:
    """ω₁ + i ω₂ turns at (J₃ - J₁) ω₃/J₁ in body axes."""
    eqs = body((0.5, 0.5, 0.8))
    run = da.simulate(eqs, 10.0, start=eqs.state(v=[0, 0, 0, 0.3, 0.0, 4.0]), method=TIGHT, every=0.1)
    rate = (0.8 - 0.5) / 0.5 * 4.0
    turning = 0.3 * np.exp(1j * rate * run.time)
    assert np.abs(run["b.wx"] + 1j * run["b.wy"] - turning).max() < 1e-10
    assert np.abs(run["b.wz"] - 4.0).max() < 1e-12


@pytest.mark.spec("002-B1")
def test_torque_and_force_about_any_point_follow_newton_and_euler() -> None:
    """ω̇ and v̇* of one evaluation against I* ω̇ = t* - ω × I* ω with non-principal axes."""
    m = da.Mechanism("pushed")
    inertia = np.array([[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]])
    p = np.array([0.8, 0.3, -0.4, 0.2])
    b = m.add_body("b", mass=1.3, inertia=inertia.tolist(), position=(0.1, 0.2, 0.3), rotation=p.tolist())
    arm, force = np.array([0.2, -0.1, 0.3]), np.array([1.0, -2.0, 0.5])
    m.add_force("F", b.at(*arm), tuple(force))
    m.add_sensor("a", da.acceleration(b.at(0, 0, 0)))
    eqs = da.equations(m)
    w = np.array([0.5, -1.0, 2.0])
    q, v = np.array(eqs.placement.q), np.concatenate((np.zeros(3), w))
    zero = np.zeros(0)
    M = eqs.kernel("inertia")(q, eqs.p, 0.0)[0]
    f = eqs.kernel("forces")(q, v, zero, zero, eqs.p, 0.0, zero)[0]
    a = np.linalg.solve(M, f)
    R = np.array(rotation(q[3:7])).astype(float).reshape(3, 3)
    torque = np.cross(arm, R.T @ force)
    assert a[:3] == pytest.approx(force / 1.3 + [0, 0, -9.81], abs=1e-13)
    assert a[3:] == pytest.approx(np.linalg.solve(inertia, torque - np.cross(w, inertia @ w)), abs=1e-12)
