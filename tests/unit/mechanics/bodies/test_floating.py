"""Inertia and velocity forces of a flexible body against sums over point masses."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.mechanics.bodies import floating
from dalembert.mechanics.bodies.floating import FloatingTerms
from dalembert.model.flexible import Stiffening
from dalembert.structures import Frame, Material, Section, flexible_body
from tests.helpers.flexible_bodies import PointMasses

SX = ca.SX
MODES = 5


def cross_matrices(u: np.ndarray) -> np.ndarray:
    """-u~ of every row of u: (n, 3, 3), the velocity of a point by the angular velocity of its frame."""
    x, y, z = u.T
    zero = np.zeros_like(x)
    return -np.stack([np.stack([zero, -z, y], -1), np.stack([z, zero, -x], -1), np.stack([-y, x, zero], -1)], 1)


def evaluate(points: PointMasses, eta, rate, w, stiffening=None):
    """M and h in the axes of the frame."""
    symbols = [SX.sym("eta", MODES), SX.sym("rate", MODES), SX.sym("w", 3)]
    terms = FloatingTerms(points.data(stiffening=stiffening), *symbols)
    R = SX.eye(3)
    f = ca.Function("f", symbols, [ca.densify(terms.mass_block(R)), ca.densify(terms.velocity_forces(R))])
    M, h = f(eta, rate, w)
    return np.array(M), np.array(h).ravel()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.spec("001-C04", "001-C05", "001-C06", "000-40", "000-42")
def test_mass_matrix_and_velocity_forces_are_sums_over_the_masses(seed):
    """Rounding of sums of a dozen terms of order one is 1e-15; 1e-12 leaves a thousand of them."""
    rng = np.random.default_rng(100 + seed)
    points = PointMasses.random(seed, modes=MODES)
    eta, rate, w = rng.normal(size=MODES), rng.normal(size=MODES), rng.normal(size=3)
    M, h = evaluate(points, eta, rate, w)
    u, speed = points.places + points.modes @ eta, points.modes @ rate
    B = np.concatenate([np.tile(np.eye(3), (len(u), 1, 1)), cross_matrices(u), points.modes], 2)
    acceleration = np.cross(w, np.cross(w, u)) + 2 * np.cross(w, speed)
    assert pytest.approx(np.einsum("n,nia,nib->ab", points.masses, B, B), abs=1e-12) == M
    assert h == pytest.approx(-np.einsum("n,nia,ni->a", points.masses, B, acceleration), abs=1e-12)
    assert np.linalg.eigvalsh(M)[0] > 0


def test_a_body_without_modes_has_the_mass_matrix_of_a_rigid_body():
    points = PointMasses.random(0, modes=0)
    w = np.array([0.3, -1.0, 2.0])
    symbols = [SX.sym("eta", 0), SX.sym("rate", 0), SX.sym("w", 3)]
    terms = FloatingTerms(points.data(), *symbols)
    M, h = ca.Function("f", symbols, [terms.mass_block(SX.eye(3)), terms.velocity_forces(SX.eye(3))])([], [], w)
    data = points.data()
    assert np.array(M)[3:, 3:] == pytest.approx(data.inertia, abs=1e-14)
    assert np.array(h)[3:, 0] == pytest.approx(-np.cross(w, data.inertia @ w), abs=1e-13)


def random_stiffening(seed: int) -> Stiffening:
    rng = np.random.default_rng(seed)

    def symmetric(*shape: int) -> np.ndarray:
        A = rng.normal(size=(*shape, MODES, MODES)) * 0.02
        return A + np.swapaxes(A, -1, -2)

    return Stiffening(centrifugal=symmetric(6), acceleration=symmetric(3), forces={"n1": symmetric(3)})


def test_a_stiffened_body_keeps_its_energy():
    """dT/dt = 0 with M v̇ = h, for any motion: in axes of the frame (v the velocity of its origin in them)

        vᵀ h + ½ vᵀ (∂M/∂η η̇) v - p·(w × v) = 0 ,  p = ∂T/∂v .

    M is of second order in η, so that central differences are exact but for rounding, 1e-16 of 1e1 over 1e-3.
    """
    stiffening, points, rng = random_stiffening(3), PointMasses.random(1, modes=MODES), np.random.default_rng(7)
    for _ in range(5):
        eta, rate, w, v = rng.normal(size=MODES), rng.normal(size=MODES), rng.normal(size=3), rng.normal(size=3)
        M, h = evaluate(points, eta, rate, w, stiffening)
        step = 1e-3
        ends = [evaluate(points, eta + sign * step * rate, rate, w, stiffening)[0] for sign in (1, -1)]
        speeds = np.concatenate([v, w, rate])
        slope = (ends[0] - ends[1]) / (2 * step)
        change = speeds @ h + 0.5 * speeds @ slope @ speeds - (M @ speeds)[:3] @ np.cross(w, v)
        assert abs(change) < 2e-5 * step * (speeds @ M @ speeds)


def test_the_weight_of_a_stiffened_body_has_a_potential():
    """Force on η = gradient of g·(first moment), and its slope is the stiffness Σ g_a K_a of an acceleration -g."""
    stiffening, points, rng = random_stiffening(5), PointMasses.random(2, modes=MODES), np.random.default_rng(1)
    eta, g = SX.sym("eta", MODES), SX.sym("g", 3)
    terms = FloatingTerms(points.data(stiffening=stiffening), eta, SX.zeros(MODES), SX.zeros(3))
    moment, force = terms.weight(g)
    found = ca.Function("f", [eta, g], [force, ca.gradient(ca.dot(g, moment), eta), ca.jacobian(force, eta)])
    at = rng.normal(size=MODES), rng.normal(size=3)
    force, gradient, slope = (np.array(x) for x in found(*at))
    assert force == pytest.approx(gradient, abs=1e-13)
    assert slope == pytest.approx(np.einsum("a,amn->mn", at[1], stiffening.acceleration), abs=1e-13)


def lagrange(points: PointMasses, stiffening: Stiffening, eta, rate, w):
    """M and h of the kinetic energy of the displacement of second order, by central differences."""
    assert stiffening.centrifugal is not None and stiffening.acceleration is not None

    def mass(at):
        M = evaluate(points, at, 0 * at, np.zeros(3))[0]
        bent = np.array([at @ K for K in stiffening.acceleration])
        x, y, z = 0.5 * bent @ at
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        M[:3, 6:] += bent
        M[6:, :3] += bent.T
        M[3:6, :3] += cross
        M[:3, 3:6] -= cross
        for K, (a, b) in zip(stiffening.centrifugal, ("xx", "yy", "zz", "xy", "xz", "yz"), strict=True):
            i, j = 3 + "xyz".index(a), 3 + "xyz".index(b)
            M[i, j] -= 0.5 * at @ K @ at
            M[j, i] -= 0.5 * at @ K @ at
        return M

    step = 1e-3  # M is of second order: the differences are exact but for rounding
    M = mass(eta)
    speeds = np.concatenate([np.zeros(3), w, rate])
    slopes = [(mass(eta + step * e) - mass(eta - step * e)) / (2 * step) for e in np.eye(MODES)]
    slope = sum(r * one for r, one in zip(rate, slopes, strict=True))
    momentum = M @ speeds
    # the frame's origin at rest: d/dt(∂T/∂v) + w × ∂T/∂v = 0, d/dt(∂T/∂w) + w × ∂T/∂w = 0, d/dt(∂T/∂η̇) - ∂T/∂η = 0
    by_eta = np.array([0.5 * speeds @ one @ speeds for one in slopes])
    h = -slope @ speeds + np.concatenate([-np.cross(w, momentum[:3]), -np.cross(w, momentum[3:6]), by_eta])
    return M, h


def test_stiffened_equations_are_those_of_their_kinetic_energy_to_first_order():
    """What is left out is of second order in η and η̇: a hundredth of it at a tenth of the deformation.

    Forces of the plain body are those of its kinetic energy without remainder, so that only stiffening differs.
    """
    stiffening, points, rng = random_stiffening(3), PointMasses.random(1, modes=MODES), np.random.default_rng(7)
    eta, rate, w = rng.normal(size=MODES), rng.normal(size=MODES), rng.normal(size=3)
    errors = []
    for size in (1e-1, 1e-2):
        at = size * eta, size * rate, w
        found, exact = evaluate(points, *at, stiffening), lagrange(points, stiffening, *at)
        plain = evaluate(points, *at)
        coupling = found[0][:6, 6:] - exact[0][:6, 6:]  # M of η̈ times η̈, of the size of η, is of second order
        errors.append([np.abs(coupling).max(), np.abs(found[1] - exact[1]).max()])
    assert np.abs(exact[1] - plain[1]).max() > 20 * errors[1][1]
    assert np.all(np.array(errors[1]) < 0.02 * np.array(errors[0]))


@pytest.mark.parametrize("modes", [4, 6, 8, 10, 12])
def test_the_mass_matrix_of_a_stiffened_beam_is_positive_at_any_deformation(modes):
    """A hinged beam whose clamped modes leave its frame 1e-5 of its inertia and less, with all kinds of stiffening.

    Deflections of up to its length. The smallest eigenvalue is compared with that of the plain body, whose M is a sum
    of squares: X of the congruence M = XᵀM X has entries of order one and the determinant 1.
    """
    frame = Frame("beam", planar=True)
    frame.add_points(["root", "tip"], [[0.0, 0.0], [0.4, 0.0]])
    section = Section.rectangle(0.009, 0.2).without_shear()
    material = Material("soft", E=1e9, density=5540.0)
    frame.add_beam("beam", "root", "tip", section=section, material=material, elements=20, rotary=False)
    data = flexible_body(frame, basis="clamped", fixed="root", modes=modes, stiffening=True)
    m = da.Mechanism("free", planar=True, gravity=0)
    m.add_flexible_body("body", data)
    eqs = da.equations(m)
    inertia, rng = eqs.kernel("inertia"), np.random.default_rng(modes)
    for _ in range(200):
        q, eta = np.array(eqs.placement.q), rng.normal(size=modes) / np.arange(1, modes + 1)
        q[-modes:] = 0.4 * rng.uniform() * eta / np.abs(data.node("tip").translation @ eta).max()
        M = inertia(q, eqs.p, 0.0)[0]
        assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.spec("001-C01", "001-C08", "000-38")
def test_velocity_and_acceleration_of_a_node_are_derivatives_of_its_place(planar):
    """Along a motion of given accelerations: third derivatives of 1e3 leave 1e-7 in differences with a step of 1e-5."""
    points = PointMasses.random(5, modes=3, planar=planar)
    m = da.Mechanism("free", planar=planar, gravity=0)
    body = m.add_flexible_body("body", points.data(stiffening=None))
    node = body.at("n1")
    m.add_sensor("place", da.position(node))
    m.add_sensor("speed", da.velocity(node))
    m.add_sensor("change", da.acceleration(node))
    eqs = da.equations(m)
    rng = np.random.default_rng(2)
    q, v = np.array(eqs.placement.q), rng.normal(size=eqs.nv)
    q[:3], q[-3:] = rng.normal(size=3), rng.normal(size=3)
    a = da.forward_dynamics(eqs, eqs.state(q, v)).acceleration

    def outputs(time: float) -> np.ndarray:
        N = np.array(eqs.functions["kinematics"](q, eqs.p, 0.0)[0])
        middle = q + 0.5 * time * (N @ (v + 0.25 * time * a))
        N = np.array(eqs.functions["kinematics"](middle, eqs.p, 0.0)[0])
        moved = q + time * (N @ (v + 0.5 * time * a))
        found = eqs.functions["outputs"](moved, v + time * a, a, np.zeros(0), [], [], eqs.p, 0.0)
        return np.array(found).ravel()

    step = 1e-5
    before, now, after = outputs(-step), outputs(0.0), outputs(step)
    dim = 2 if planar else 3
    rates = (after - before) / (2 * step)
    assert rates[:dim] == pytest.approx(now[dim : 2 * dim], abs=1e-7)
    assert rates[dim : 2 * dim] == pytest.approx(now[2 * dim : 3 * dim], abs=1e-7)


@pytest.mark.parametrize("axes", ["world", "body"])
@pytest.mark.spec("001-C08")
def test_a_wrench_at_a_node_acts_on_the_frame_and_on_the_modes(axes):
    """f and τ at l = u₀ + S η with the rotation E = exp(θ~), θ = Ŝ η: force f on the frame, moment E τ + l × f about
    its origin in its axes, Sᵀ f + Ŝᵀ Tᵀ τ on the modes, T θ̇ the spin of Eᵀ Ė; T is the unit matrix to first order."""
    points, k = PointMasses.random(6, modes=3, size=0.4), 1
    force, torque = np.array([1.3, -0.7, 0.4]), np.array([0.2, 0.5, -0.9])

    def loads(loaded):
        m = da.Mechanism("free", gravity=0)
        body = m.add_flexible_body("body", points.data())
        if loaded:
            m.add_force("F", body.at(f"n{k}"), tuple(force), axes=axes)
            m.add_torque("T", body, tuple(torque), node=f"n{k}", axes=axes)
        eqs = da.equations(m)
        q = np.array(eqs.placement.q)
        q[:3], q[3:7], q[-3:] = (0.3, -0.2, 0.5), p, eta
        none = np.zeros(0)
        return np.array(eqs.functions["forces"](q, np.zeros(eqs.nv), none, none, eqs.p, 0.0, none)).ravel()

    rng = np.random.default_rng(8)
    p, eta = rng.normal(size=4), rng.normal(size=3)
    p /= np.linalg.norm(p)
    R = Rotation.from_quat(p, scalar_first=True).as_matrix()
    S, H = points.modes[k], points.rotations[k]

    def turned(change):
        return Rotation.from_rotvec(H @ eta + change).as_matrix()

    E, h = turned(np.zeros(3)), 1e-6
    spins = [E.T @ (turned(h * e) - turned(-h * e)) / (2 * h) for e in np.eye(3)]
    T = np.array([[W[2, 1], W[0, 2], W[1, 0]] for W in spins]).T
    # f in axes of the frame, τ in those of the node
    f, tau = (R.T @ force, E.T @ R.T @ torque) if axes == "world" else (E @ force, torque)
    place = points.places[k] + S @ eta
    found = loads(True) - loads(False)
    assert found[:3] == pytest.approx(R @ f, abs=1e-12)
    assert found[3:6] == pytest.approx(E @ tau + np.cross(place, f), abs=1e-12)
    assert found[6:] == pytest.approx(S.T @ f + H.T @ T.T @ tau, abs=1e-9)  # of the differences in T


@pytest.mark.spec("001-C07", "000-41")
def test_elastic_and_damping_forces_are_those_of_the_matrices_and_of_rayleigh():
    """-K η - D η̇ on the elastic rows, ½ ηᵀ K η in the energy, with D = α M_e + β K, and factors of both."""
    points = PointMasses.random(3, modes=MODES)
    alpha, beta = 0.3, 0.02
    plain = points.data()
    data = points.data(damping=alpha * plain.modal_mass + beta * plain.stiffness)
    m = da.Mechanism("free", gravity=0)
    m.add_flexible_body("body", data, stiffness=2.0, damping=0.5)
    eqs = da.equations(m)
    rng = np.random.default_rng(1)
    q, v = np.array(eqs.placement.q), np.zeros(eqs.nv)
    q[-MODES:], v[-MODES:] = rng.normal(size=MODES), rng.normal(size=MODES)
    none = np.zeros(0)
    f = np.array(eqs.functions["forces"](q, v, none, none, eqs.p, 0.0, none)).ravel()
    expected = -2.0 * data.stiffness @ q[-MODES:] - 0.5 * data.damping @ v[-MODES:]
    assert f[-MODES:] == pytest.approx(expected, abs=1e-12)  # without turning no other force acts on η
    potential = float(eqs.functions["energy"](q, v, none, eqs.p, 0.0)[1])
    assert potential == pytest.approx(q[-MODES:] @ data.stiffness @ q[-MODES:], rel=1e-12)  # ½ times the factor 2
    power = float(eqs.functions["power"](q, v, none, none, eqs.p, 0.0, none))
    assert power == pytest.approx(-0.5 * v[-MODES:] @ data.damping @ v[-MODES:], rel=1e-12)


@pytest.mark.parametrize("edge", [-1, 0], ids=["written out", "as matrices"])
def test_products_of_many_full_modes_are_matrices_with_the_same_equations(
    edge: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways multiply the same numbers; they differ by the order of sums of some 20 terms: 1e-15 each."""
    from benchmarks.flexible import dense_data

    def build(limit: int) -> da.EquationsOfMotion:
        monkeypatch.setattr(floating, "FULL", floating.FullModes(modes=limit))
        m = da.Mechanism("block")
        m.add_flexible_body("block", data)
        return da.equations(m)

    data = dense_data(floating.FULL.modes + 1 + edge)
    chosen, flat = build(floating.FULL.modes), build(10**6)
    smaller = chosen.functions["inertia"].n_instructions() < 0.5 * flat.functions["inertia"].n_instructions()
    assert smaller == (edge == 0)
    random = np.random.default_rng(0)
    q, v = 0.01 * random.normal(size=flat.nq), random.normal(size=flat.nv)
    q[3:7] = np.array([1.0, 0.1, 0.2, 0.3]) / np.linalg.norm([1.0, 0.1, 0.2, 0.3])
    none = np.zeros(0)
    for name, given in (
        ("inertia", (q, flat.p, 0.0)),
        ("forces", (q, v, none, none, flat.p, 0.0, none)),
        ("energy", (q, v, none, flat.p, 0.0)),
    ):
        for one, other in zip(chosen.kernel(name)(*given), flat.kernel(name)(*given), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-13 * np.abs(other).max())


@pytest.mark.parametrize(("filled", "full"), [(0.45, False), (0.55, True)])
def test_products_of_modes_are_matrices_where_most_of_them_are_not_zero(filled, full):
    products = np.zeros(1000)
    products[: round(1000 * filled)] = 1.0
    assert floating.is_full(SimpleNamespace(modes=17, products=products)) == full
    assert not floating.is_full(SimpleNamespace(modes=16, products=np.ones(10)))


# ---- edges of thresholds
