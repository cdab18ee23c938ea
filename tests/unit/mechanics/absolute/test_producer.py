"""A body whose frame is not at its centre of mass: blocks of its mass matrix, inertia integrals, quadratic velocity.

Everything of order one: 1e-12 is rounding.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

EXACT = 1e-12
POINTS = (((0.3, -0.1, 0.2), 1.2), ((0.7, 0.4, -0.3), 0.8), ((-0.2, 0.5, 0.6), 0.5), ((0.1, 0.2, 0.9), 0.3))


def cross(w):
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


@pytest.fixture(scope="module")
def free():
    """Four welded point masses, their frame's origin watched; no gravity."""
    m = da.Mechanism("welded", gravity=0)
    body = m.add_body("b", inertia=da.composite(*[(da.sphere(0.0), mass, place) for place, mass in POINTS]))
    m.add_sensor("v", da.velocity(body.at(0, 0, 0)))
    m.add_sensor("a", da.acceleration(body.at(0, 0, 0)))
    eqs = da.equations(m)
    p = np.array([0.6, -0.3, 0.5, 0.2])
    return eqs, eqs.state([0.1, 0.2, 0.3, *(p / np.linalg.norm(p))], [0.4, -0.6, 0.9, 0.7, -1.1, 0.4])


def watched(eqs, state, v, a):
    """(velocity, acceleration) of the frame's origin, by the sensors."""
    y = eqs.kernel("outputs")(state.q, v, a, [], [], [], eqs.p, 0.0)[0]
    return y[:3], y[3:]


def integrals():
    """Mass, first moments and the six inertia integrals about the frame's origin."""
    x, mass = np.array([place for place, _ in POINTS]), np.array([mass for _, mass in POINTS])
    I11, I22, I33 = (mass @ (x[:, i] ** 2 + x[:, j] ** 2) for i, j in ((1, 2), (0, 2), (0, 1)))
    I12, I13, I23 = (-mass @ (x[:, i] * x[:, j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    return mass.sum(), mass @ x, np.array([[I11, I12, I13], [I12, I22, I23], [I13, I23, I33]])


def off_centre(eqs, state):
    """The package's mass matrix in the speeds (velocity of the frame's origin, ω̄), and the map to them."""
    L = np.vstack((np.column_stack([watched(eqs, state, e, np.zeros(6))[0] for e in np.eye(6)]), np.eye(6)[3:]))
    back = np.linalg.inv(L)
    return back.T @ eqs.kernel("inertia")(state.q, eqs.p, 0.0)[0] @ back, L


def rotation(eqs, state):
    """Columns: the body's axes in the world, from points of the body moved by the package."""
    w, x, y, z = state.q[3:]
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


@pytest.mark.spec("000-29")
def test_the_mass_matrix_of_a_frame_off_the_centre_has_the_blocks_of_its_integrals(free):
    eqs, state = free
    M, L = off_centre(eqs, state)
    mass, first, second = integrals()
    A = rotation(eqs, state)
    assert M[:3, :3] == pytest.approx(mass * np.eye(3), abs=EXACT)
    assert M[:3, 3:] == pytest.approx(-A @ cross(first), abs=EXACT)
    assert M[3:, 3:] == pytest.approx(second, abs=EXACT)
    own = L @ state.v
    kinetic = eqs.kernel("energy")(state.q, state.v, [], eqs.p, 0.0)[0]
    assert kinetic == pytest.approx(0.5 * own @ M @ own, abs=EXACT)
    # T = ½ Ṙᵀ m Ṙ + Ṙᵀ m_Rω ω + ½ ωᵀ Ī ω, of the point masses themselves
    speeds = [own[:3] + A @ np.cross(own[3:], place) for place, _ in POINTS]
    assert kinetic == pytest.approx(sum(0.5 * m * v @ v for v, (_, m) in zip(speeds, POINTS, strict=True)), abs=EXACT)


@pytest.mark.spec("000-30")
def test_the_quadratic_velocity_vector_of_a_frame_off_the_centre(free):
    """M (R̈; ω̄˙) = Q_v of a body that nothing acts on: Q_vR = -A ω̄~ω̄~ Ū, Q_vω = -ω̄~ Ī ω̄."""
    eqs, state = free
    M, _ = off_centre(eqs, state)
    _, first, second = integrals()
    acceleration = da.forward_dynamics(eqs, state).acceleration
    _, origin = watched(eqs, state, state.v, acceleration)
    W, omega = cross(state.v[3:]), state.v[3:]
    expected = np.concatenate((-rotation(eqs, state) @ W @ W @ first, -W @ second @ omega))
    assert M @ np.concatenate((origin, acceleration[3:])) == pytest.approx(expected, abs=EXACT)


@pytest.mark.spec("000-29", "000-30")
@pytest.mark.parametrize("planar", [True, False])
def test_a_body_with_its_origin_elsewhere_moves_as_its_centroidal_twin(planar):
    offset = np.array((0.4, -0.2) if planar else (0.4, -0.2, 0.3))
    pivot, size = np.array((0.1, 0.6) if planar else (0.1, 0.6, -0.2)), len(offset)

    def pendulum(shift):
        m = da.Mechanism("pendulum", planar=planar)
        given = {} if shift is None else {"center": tuple(shift)}
        inertia = 0.3 if planar else [[0.3, 0.02, 0.01], [0.02, 0.4, 0.03], [0.01, 0.03, 0.5]]
        body = m.add_body("b", mass=1.7, inertia=inertia, **given)
        shift = np.zeros(size) if shift is None else shift
        add = m.add_revolute if planar else m.add_spherical
        add("O", m.ground.at(*np.zeros(size)), body.at(*(pivot + shift)))
        m.add_spring("line", m.ground.at(*np.ones(size)), body.at(*(shift - pivot)), stiffness=30.0, free_length=0.5)
        m.add_sensor("tip", da.position(body.at(*(shift + 0.3))))
        eqs = da.equations(m)
        speed = {"b.rate": 2.0} if planar else {"b.wx": 1.0, "b.wy": -2.0, "b.wz": 0.5}
        return da.simulate(eqs, 0.5, start=da.assemble(eqs, velocity=speed), method=da.RK4(5e-3), every=0.1)

    one, other = pendulum(None), pendulum(offset)
    for name in one.names:
        assert other[name] == pytest.approx(one[name], abs=1e-10), name
    assert np.ptp(one["tip.x"]) > 0.1
