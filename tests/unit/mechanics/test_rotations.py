"""Rotations, Euler parameters, Tait-Bryan angles, twists and wrenches: the formulas of the sources, at random values.

All identities hold exactly; 1e-13 is rounding of a few dozen operations on numbers of order one.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics import rotations as rot
from tests.helpers.checks import free_body, rows
from tests.helpers.findings import raises

EXACT = 1e-13


def num(value: Any) -> np.ndarray:
    return np.array(ca.DM(value))


def unit(seed: int, size: int) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=size)
    return x / np.linalg.norm(x)


def source_matrices(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E and Ē as spec 000-27 prints them."""
    t0, t1, t2, t3 = p
    E = np.array([[-t1, t0, -t3, t2], [-t2, t3, t0, -t1], [-t3, -t2, t1, t0]])
    Ebar = np.array([[-t1, t0, t3, -t2], [-t2, -t3, t0, t1], [-t3, t2, -t1, t0]])
    return E, Ebar


@pytest.mark.spec("000-26")
@pytest.mark.parametrize("seed", range(5))
def test_rodrigues_is_a_rotation_by_the_angle_about_the_axis(seed: int) -> None:
    axis, angle = unit(seed, 3), 0.3 + seed
    A = da.rotation(axis=2 * axis, angle=angle).matrix
    v = num(rot.skew(axis))
    assert np.abs(A - (np.eye(3) + np.sin(angle) * v + 2 * np.sin(angle / 2) ** 2 * v @ v)).max() < EXACT
    assert np.abs(A @ A.T - np.eye(3)).max() < EXACT
    assert np.linalg.det(A) == pytest.approx(1.0, abs=EXACT)
    assert np.abs(A @ axis - axis).max() < EXACT
    assert np.trace(A) == pytest.approx(1 + 2 * np.cos(angle), abs=EXACT)
    p = np.concatenate(([np.cos(angle / 2)], axis * np.sin(angle / 2)))
    assert np.abs(num(rot.rotation(p)) - A).max() < EXACT
    place, local = unit(seed + 9, 3), unit(seed + 20, 3)
    m = da.Mechanism("placed")
    b = free_body(m, "b", position=tuple(place), rotation=da.rotation(axis=axis, angle=angle))
    m.add_sensor("point", da.position(b.at(tuple(local))))
    assert np.abs(np.array(b.frame(rotation=da.rotation(axis=axis, angle=angle)).axes) - A).max() < EXACT
    eqs = da.equations(m)
    zero = np.zeros
    (y,) = eqs.kernel("outputs")(np.array(eqs.placement.q), zero(6), zero(6), zero(0), zero(0), zero(0), eqs.p, 0.0)
    assert np.abs(y - (place + A @ local)).max() < EXACT  # r = R + A ū


@pytest.mark.spec("000-27", "002-A16")
@pytest.mark.parametrize("seed", range(5))
def test_euler_parameters_have_the_identities_of_the_sources(seed: int) -> None:
    """A = E Ēᵀ, ω = G ṗ, ω̄ = Ḡ ṗ, Ȧ = A ω̄~, Ē p = 0, Ḡ˙ ṗ = 0, ω̄~ = 2 Ē Ē˙ᵀ; inverse rates (scalar first here)."""
    p, w = unit(seed, 4), np.random.default_rng(seed + 50).normal(size=3)
    E, Ebar = source_matrices(p)
    A = num(rot.rotation(p))
    rate = num(rot.rate_matrix(p)) @ w
    assert np.abs(A - E @ Ebar.T).max() < EXACT
    assert np.abs(2 * Ebar @ rate - w).max() < EXACT
    assert np.abs(2 * E @ rate - A @ w).max() < EXACT
    assert np.abs(Ebar @ p).max() < EXACT
    _, Ebar_rate = source_matrices(rate)  # linear in p
    assert np.abs(2 * Ebar_rate @ rate).max() < EXACT
    assert np.abs(2 * Ebar @ rate + 2 * Ebar_rate @ p).max() < EXACT
    spin = num(rot.skew(w))
    assert np.abs(2 * Ebar @ Ebar_rate.T - spin).max() < EXACT
    assert p @ rate == pytest.approx(0.0, abs=EXACT)
    # spec 002-A16, scalar last: q' of body rates
    (qt, qx, qy, qz), (wx, wy, wz) = p, w
    listed = [
        -(qx * wx + qy * wy + qz * wz) / 2,
        (qt * wx - qz * wy + qy * wz) / 2,
        (qz * wx + qt * wy - qx * wz) / 2,
        (-qy * wx + qx * wy + qt * wz) / 2,
    ]
    assert rate == pytest.approx(np.array(listed), abs=EXACT)
    matrix = [
        [qt**2 + qx**2 - qy**2 - qz**2, 2 * (qx * qy - qt * qz), 2 * (qx * qz + qt * qy)],
        [2 * (qx * qy + qt * qz), qt**2 - qx**2 + qy**2 - qz**2, 2 * (qy * qz - qt * qx)],
        [2 * (qx * qz - qt * qy), 2 * (qy * qz + qt * qx), qt**2 - qx**2 - qy**2 + qz**2],
    ]
    assert np.abs(A - matrix).max() < EXACT
    h = 1e-6  # Ȧ = A ω̄~ by a central difference: h² and 1e-16/h, about 1e-10
    slope = (num(rot.rotation(p + h * rate)) - num(rot.rotation(p - h * rate))) / (2 * h)
    assert np.abs(slope - A @ spin).max() < 1e-9


@pytest.mark.spec("002-A16", "002-G2")
def test_the_norm_of_the_quaternion_stays_one_in_a_long_run() -> None:
    m = da.Mechanism("tumbling", gravity=0)
    m.add_body("b", mass=1.0, inertia=(0.2, 0.3, 0.4))
    eqs = da.equations(m)
    run = da.simulate(eqs, 50.0, start=eqs.state(v=[0, 0, 0, 0.1, 3.0, -0.2]), every=0.5)
    norm = sum(run[f"b.e{k}"] ** 2 for k in range(4))
    assert np.abs(norm - 1).max() < 1e-14


@pytest.mark.spec("000-28")
def test_body_jacobian_maps_forces_and_moments_to_generalized_forces() -> None:
    """Lᵀ F with L = [1, -A ū~ Ḡ] of the source, against a force on a point: ours is per ω̄, so Ḡᵀ (ours) = source."""
    p, local, force = unit(3, 4), np.array([0.2, -0.3, 0.4]), np.array([1.0, 2.0, -0.5])
    m = da.Mechanism("pushed", gravity=0)
    b = free_body(m, "b", position=(0.1, 0.2, 0.3), rotation=tuple(p))
    m.add_force("F", b.at(tuple(local)), tuple(force))
    m.add_torque("T", b, (0.3, -0.1, 0.2), axes="body")
    eqs = da.equations(m)
    zero = np.zeros
    q = np.array(eqs.placement.q)
    (f,) = eqs.kernel("forces")(q, zero(6), zero(0), zero(0), eqs.p, 0.0, zero(0))
    _, Ebar = source_matrices(q[3:7])
    A, G = num(rot.rotation(q[3:7])), 2 * Ebar
    L = np.hstack((np.eye(3), -A @ num(rot.skew(local)) @ G))
    source = L.T @ force + np.concatenate((zero(3), G.T @ [0.3, -0.1, 0.2]))
    assert f[:3] == pytest.approx(source[:3], abs=EXACT)
    assert G.T @ f[3:] == pytest.approx(source[3:], abs=EXACT)


@pytest.mark.spec("000-29", "000-30", "002-B1")
def test_mass_matrix_and_quadratic_velocity_of_a_body() -> None:
    """M = diag(m 1, Ī) in (ṙ, ω̄); 4x4 block of the source is Ḡᵀ Ī Ḡ of rank 3; Q_v = -ω̄ × Ī ω̄ = ½ Ḡ … of the source."""
    m = da.Mechanism("body", gravity=0)
    free_body(m, "b")
    eqs = da.equations(m)
    p, w, zero = unit(5, 4), np.array([0.7, -1.1, 0.4]), np.zeros
    q, v = np.concatenate((zero(3), p)), np.concatenate((zero(3), w))
    (M,) = eqs.kernel("inertia")(q, eqs.p, 0.0)
    inertia = np.array([[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]])
    assert M[3:, 3:] == pytest.approx(inertia)
    assert M[:3, :3] == pytest.approx(1.3 * np.eye(3))
    (f,) = eqs.kernel("forces")(q, v, zero(0), zero(0), eqs.p, 0.0, zero(0))
    assert f[3:] == pytest.approx(-np.cross(w, inertia @ w), abs=EXACT)
    _, Ebar = source_matrices(p)
    rate = num(rot.rate_matrix(p)) @ w
    _, Ebar_rate = source_matrices(rate)
    G, G_rate = 2 * Ebar, 2 * Ebar_rate
    assert np.linalg.matrix_rank(G.T @ inertia @ G, tol=1e-12) == 3
    # the source's Q_v = -2 Ḡ˙ᵀ Ī Ḡ ṗ and its M p̈ = Ḡᵀ Ī Ḡ p̈: the same ω̄˙ where p̈ keeps the norm
    source = -2 * G_rate.T @ inertia @ G @ rate
    acceleration = np.linalg.solve(inertia, f[3:])
    second = np.linalg.lstsq(np.vstack((G, p)), np.concatenate((acceleration, [-rate @ rate])), rcond=None)[0]
    left = G.T @ inertia @ G @ second
    across = np.eye(4) - np.outer(p, p)  # the norm's own constraint force acts along p
    assert across @ (left - source) == pytest.approx(zero(4), abs=1e-12)
    kinetic = eqs.kernel("energy")(q, v, zero(0), eqs.p, 0.0)[0]
    assert kinetic == pytest.approx(0.5 * rate @ G.T @ inertia @ G @ rate, abs=EXACT)


@pytest.mark.spec("000-31")
def test_rows_of_a_joint_touch_both_bodies_as_the_source_lists_them() -> None:
    """Spherical joint: rows [1, -A ū~] and minus the same; b = -(A ω̄~ω̄~ ū)_b + (A ω̄~ω̄~ ū)_a; dot-1 rows of a hinge."""
    m = da.Mechanism("pair", gravity=0)
    a, b = free_body(m, "a"), free_body(m, "b")
    la, lb = np.array([0.1, -0.2, 0.3]), np.array([-0.3, 0.15, 0.2])
    m.add_revolute("J", a.at(tuple(la)), b.at(tuple(lb)), axis=(0, 0, 1))
    eqs = da.equations(m)
    pa, pb = unit(1, 4), unit(2, 4)
    random = np.random.default_rng(0)
    q = np.concatenate((random.normal(size=3), pa, random.normal(size=3), pb, [0.0]))  # the last counts turns
    v = random.normal(size=12)
    A, right = rows(eqs, q, v, 0.0)
    Ra, Rb = num(rot.rotation(pa)), num(rot.rotation(pb))
    wa, wb = (num(rot.skew(v[k : k + 3])) for k in (3, 9))
    ua, ub = num(rot.skew(la)), num(rot.skew(lb))
    assert A[:3] == pytest.approx(np.hstack((-np.eye(3), Ra @ ua, np.eye(3), -Rb @ ub)), abs=EXACT)
    assert right[:3] == pytest.approx(Ra @ wa @ wa @ la - Rb @ wb @ wb @ lb, abs=1e-12)
    x, z = np.array([1.0, 0, 0]), np.array([0, 0, 1.0])
    vi, vj = Ra @ x, Rb @ z
    row = np.concatenate((np.zeros(3), -vj @ Ra @ num(rot.skew(x)), np.zeros(3), -vi @ Rb @ num(rot.skew(z))))
    assert A[3] == pytest.approx(row, abs=EXACT)
    listed = vj @ Ra @ wa @ wa @ x + vi @ Rb @ wb @ wb @ z + 2 * (Ra @ wa @ x) @ (Rb @ wb @ z)
    assert right[3] == pytest.approx(-listed, abs=1e-12)


def turns(roll: float, pitch: float, yaw: float) -> np.ndarray:
    x, y, z = ((np.cos(a), np.sin(a)) for a in (roll, pitch, yaw))
    about_x = np.array([[1, 0, 0], [0, x[0], -x[1]], [0, x[1], x[0]]])
    about_y = np.array([[y[0], 0, y[1]], [0, 1, 0], [-y[1], 0, y[0]]])
    about_z = np.array([[z[0], -z[1], 0], [z[1], z[0], 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


@pytest.mark.spec("003-C37")
def test_tait_bryan_angles_go_in_and_come_out() -> None:
    """R = Rz Ry Rx; ω̄ = W (φ̇, θ̇, ψ̇) of a body whose angles are prescribed; a sensor and its run read them back."""
    angles = np.array([0.4, -0.6, 1.1])
    turned = da.rotation(tait_bryan=angles)
    assert np.abs(turned.matrix - turns(*angles)).max() < EXACT
    assert turned.tait_bryan == pytest.approx(angles, abs=EXACT)
    small = 1e-4
    near = da.rotation(tait_bryan=(small, -2 * small, 0.0)).matrix
    assert np.abs(near - [[1, 0, -2 * small], [0, 1, -small], [2 * small, small, 1]]).max() < 3 * small**2
    m = da.Mechanism("tilting", gravity=0)
    body = free_body(m, "b", rotation=turned)
    m.add_sensor("attitude", da.orientation(body, "tait-bryan"))
    m.add_sensor("turn", da.orientation(body.frame(rotation=da.rotation(vector=(0.1, 0.2, 0.3)))))
    run = da.kinematics(
        da.equations(m),
        2.0,
        motion={"b.pose": lambda t: (0, 0, t, da.rotation(tait_bryan=(da.sin(t), 0.5 * t, t**2)))},
        every=0.25,
    )
    t = run.time
    exact, rates = np.array([np.sin(t), 0.5 * t, t**2]), np.array([np.cos(t), 0.5 + 0 * t, 2 * t])
    assert pytest.approx(exact[:2], abs=1e-12) == run[["attitude.roll", "attitude.pitch"]].T
    assert np.exp(1j * run["attitude.yaw"]) == pytest.approx(np.exp(1j * exact[2]), abs=1e-12)
    (cf, ct), (sf, st) = np.cos(exact[:2]), np.sin(exact[:2])
    W = np.array([[1 + 0 * t, 0 * t, -st], [0 * t, cf, sf * ct], [0 * t, -sf, cf * ct]])
    assert pytest.approx(np.einsum("ijt,jt->it", W, rates), abs=1e-11) == run[["b.wx", "b.wy", "b.wz"]].T
    read = da.rotation(quaternion=run[["b.e0", "b.e1", "b.e2", "b.e3"]])
    assert read.tait_bryan[:, :2] == pytest.approx(exact[:2].T, abs=1e-12)
    frame = read.matrix @ da.rotation(vector=(0.1, 0.2, 0.3)).matrix
    assert da.rotation(vector=run[["turn.rx", "turn.ry", "turn.rz"]]).matrix == pytest.approx(frame, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_form_of_a_rotation_gives_the_others_back(seed: int) -> None:
    p = unit(seed, 4)
    turned = da.rotation(quaternion=3 * p)
    for other in (
        da.rotation(matrix=turned.matrix),
        da.rotation(vector=turned.vector),
        da.rotation(tait_bryan=turned.tait_bryan),
        da.rotation(axis=turned.vector, angle=turned.angle),
    ):
        assert np.abs(other.matrix - turned.matrix).max() < 10 * EXACT
    locked = da.rotation(tait_bryan=(0.3, np.pi / 2, 0.2))  # roll and yaw turn about the same axis there
    assert np.abs(da.rotation(tait_bryan=locked.tait_bryan).matrix - locked.matrix).max() < 1e-7


@pytest.mark.parametrize("size", [1e-9, 1e-3, 0.0199, 0.0201, 1.0])
def test_a_small_rotation_vector_comes_back(size: float) -> None:
    """Series and functions alike: they change places at a turn of 0.02 for one and 0.01 for the other direction."""
    vector = size * unit(3, 3)
    turned = da.rotation(vector=vector)
    assert turned.vector == pytest.approx(vector, rel=1e-13)
    assert turned.quaternion[0] == pytest.approx(np.cos(size / 2), rel=1e-15)
    assert np.linalg.norm(turned.quaternion[1:]) == pytest.approx(np.sin(size / 2), rel=1e-14)


def test_mistakes_in_rotations_are_named() -> None:
    with raises(da.errors.ModelError, "missing-argument", "axis", "angle"):
        da.rotation(axis=(0, 0, 1))
    with raises(da.errors.ModelError, "conflicting-arguments", "vector", "quaternion"):
        da.rotation(vector=(0, 0, 1), quaternion=(1, 0, 0, 0))
    with raises(da.errors.ModelError, "wrong-shape", "3", "(1, 2)"):
        da.rotation(vector=(1, 2))
    with raises(da.errors.ModelError, "zero-length"):
        da.rotation(quaternion=(0, 0, 0, 0))
    m = da.Mechanism("m")
    with raises(da.errors.ModelError, "unknown-choice", "'s'", "'rotation vector'", "'euler'"):
        m.add_sensor("s", da.orientation(free_body(m, "b"), "euler"))


@pytest.mark.parametrize("seed", range(8))
def test_quaternions_multiply_come_from_matrices_and_from_rotation_vectors(seed: int) -> None:
    p, r = unit(seed, 4), unit(seed + 100, 4)
    product = num(rot.multiply(p, r)).ravel()
    assert np.abs(num(rot.rotation(product)) - num(rot.rotation(p)) @ num(rot.rotation(r))).max() < EXACT
    back = np.array(da.rotation(matrix=num(rot.rotation(p))).quaternion)
    assert np.abs(back - p * np.sign(p[0])).max() < EXACT
    for size in (0.0, 1e-9, 1e-4, 1.0):
        turn = size * unit(seed + 7, 3)
        q = num(rot.exponential(turn)).ravel()
        assert np.linalg.norm(q) == pytest.approx(1.0, abs=EXACT)
        if size:
            A = da.rotation(axis=turn, angle=size).matrix
            assert np.abs(num(rot.rotation(q)) - A).max() < EXACT
