"""Data of flexible bodies against closed forms, brute-force integration and published numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import dalembert as da
from dalembert.model.flexible_invariants import moments_from_eighth, products_from_ninth
from dalembert.structures import Beam, BeamGauge, Frame, Material, Section, Solid, box_mesh, flexible_body

# Uniform clamped-free Euler-Bernoulli beam, L = 1, m = 1, EI = 1, modes of unit mass, tip displacement positive.
# β L of Blevins 1979, table 8-1; the integrals are 2 σ/(β L) and 2/(β L)², the tip 2, its slope from sin and sinh.
OMEGA = (3.51602, 22.0345, 61.6972, 120.902)
TIP_SLOPE = (2.75301, 9.56156, 15.6973, 21.9918)
TRANSLATION = (0.782992, -0.433936, 0.254425, -0.181898)
MOMENT = (0.568826, -0.0907668, 0.0324164, -0.0165423)


def unit_frame(elements: int, direction: str = "y") -> Frame:
    """L = 1, m = 1, EI = 1 in the x-y plane, 100 in the other, no rotary inertia."""
    soft, stiff = 1e-6, 1e-4
    section = Section(
        area=1.0, I_y=stiff if direction == "y" else soft, I_z=soft if direction == "y" else stiff, J=1e-4
    )
    frame = Frame("beam")
    frame.add_points(["root", "tip"], [[0, 0, 0], [1, 0, 0]])
    frame.add_beam(
        "beam", "root", "tip", section=section, material=Material("unit", E=1e6, density=1.0), elements=elements,
        up=(0, 1, 0), theory="euler-bernoulli", rotary=False,
    )  # fmt: skip
    return frame


def in_plane(data: Any) -> list[int]:
    """Modes along y."""
    return [k for k in range(data.modes) if data.products[1, 1][k, k] > 0.5]


@pytest.mark.spec("001-C02")
@pytest.mark.spec("001-C10")
def test_clamped_beam_of_forty_elements_has_the_closed_invariants() -> None:
    """1e-5: mode 4 of 40 elements has a frequency error of (β h)⁴/720 = 2e-6 and shapes of that order."""
    data = flexible_body(unit_frame(40), basis="clamped", fixed="root", modes=20)
    kept = in_plane(data)[:4]
    assert data.frequencies[kept] == pytest.approx(OMEGA, rel=1e-5)
    tip = data.node("tip")
    assert tip.translation[1, kept] == pytest.approx(4 * [2.0], rel=1e-5)
    assert tip.rotation[2, kept] == pytest.approx(TIP_SLOPE, rel=1e-5)
    assert data.translation[1, kept] == pytest.approx(TRANSLATION, rel=1e-5)
    assert data.moments[0, 1][kept] == pytest.approx(MOMENT, rel=1e-5)
    assert data.rotation[2, kept] == pytest.approx(MOMENT, rel=1e-5)
    invariants = data.invariants()
    # rhoI_p of the section is part of I7, here 1e-4
    assert np.array(invariants["I7"]) == pytest.approx(np.diag([1.01e-4, 1 / 3, 1 / 3]), rel=1e-9)
    eighth, ninth = invariants["I8"][kept[0]], invariants["I9"][kept[0], kept[0]]
    assert eighth[1, 0] == pytest.approx(MOMENT[0], rel=1e-5)
    assert np.count_nonzero(eighth) == 1
    assert ninth == pytest.approx(np.diag([-1.0, 0.0, -1.0]), abs=1e-9)
    assert not np.any(invariants["I5"][np.ix_(kept, range(3), kept)])


@pytest.mark.spec("001-C02")
def test_continuous_beam_has_the_closed_invariants() -> None:
    """Numbers of six digits; the modes are exact."""
    data = flexible_body(Beam(1.0, EI=1.0, rhoA=1.0), modes=4)
    assert data.frequencies == pytest.approx(OMEGA, rel=5e-6)
    assert data.node("end").rotation[2] == pytest.approx(TIP_SLOPE, rel=5e-6)
    assert data.translation[1] == pytest.approx(TRANSLATION, rel=5e-6)
    assert data.moments[0, 1] == pytest.approx(MOMENT, rel=5e-6)
    assert np.array(data.inertia) == pytest.approx(np.diag([0, 1 / 3, 1 / 3]), abs=1e-12)
    assert data.reference == "attached"
    assert not data.node("start").translation.any()


def spring_network(count: int, rng: Any) -> tuple[Any, Any, Any]:
    """Point masses joined by springs along their lines: M diagonal, K free of force in rigid motions."""
    places, mass = rng.uniform(-1, 1, (count, 3)), rng.uniform(0.5, 1.5, count)
    K = np.zeros((3 * count, 3 * count))
    for i in range(count):
        for j in range(i):
            n = places[i] - places[j]
            n = n / np.linalg.norm(n)
            ends = np.zeros(3 * count)
            ends[3 * i : 3 * i + 3], ends[3 * j : 3 * j + 3] = n, -n
            K += 1e4 * np.outer(ends, ends)
    return places, mass, K


def cross(v: Any) -> Any:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


@pytest.mark.spec("001-C02")
@pytest.mark.spec("001-C03")
def test_invariants_of_random_point_masses_equal_their_sums() -> None:
    """Sums over 15 masses: rounding, 1e-12 of the largest entry."""
    rng = np.random.default_rng(7)
    places, mass, K = spring_network(15, rng)
    shapes = rng.normal(size=(45, 4))
    data = flexible_body((np.diag(np.repeat(mass, 3)), K), positions=places, modes=shapes, nodes={"a": "p0"})
    S = shapes.reshape(15, 3, 4)
    found = data.invariants()
    every = range(15)
    expected = {
        "I1": mass.sum(),
        "I2": mass @ places,
        "I3": sum(mass[i] * S[i] for i in every),
        "I4": sum(mass[i] * cross(places[i]) @ S[i] for i in every),
        "I5": np.array([sum(mass[i] * cross(S[i][:, j]) @ S[i] for i in every) for j in range(4)]),
        "I6": sum(mass[i] * S[i].T @ S[i] for i in every),
        "I7": sum(mass[i] * cross(places[i]).T @ cross(places[i]) for i in every),
        "I8": np.array([sum(mass[i] * cross(places[i]) @ cross(S[i][:, j]) for i in every) for j in range(4)]),
        "I9": np.array([
            [sum(mass[i] * cross(S[i][:, j]) @ cross(S[i][:, k]) for i in every) for k in range(4)] for j in range(4)
        ]),
        "I10": np.einsum("n,na,nbj->abj", mass, places, S),
        "I11": np.einsum("n,naj,nbk->abjk", mass, S, S),
    }  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=1e-12 * np.abs(value).max(), rtol=0, err_msg=name)


@pytest.mark.spec("001-C03")
def test_tenth_and_eleventh_invariant_follow_from_eighth_and_ninth() -> None:
    rng = np.random.default_rng(8)
    places, mass, K = spring_network(12, rng)
    shapes = rng.normal(size=(36, 3))
    data = flexible_body((np.diag(np.repeat(mass, 3)), K), positions=places, modes=shapes, nodes={"a": "p0"})
    found = data.invariants()
    np.testing.assert_allclose(moments_from_eighth(found["I8"]), found["I10"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(products_from_ninth(found["I9"]), found["I11"], rtol=0, atol=1e-12)
    wrong = moments_from_eighth(found["I8"].transpose(0, 2, 1))  # s̃ ũ₀ instead of ũ₀ s̃
    assert np.abs(wrong - found["I10"]).max() > 0.1 * np.abs(found["I10"]).max()


def bent_frame(elements: int) -> Frame:
    frame = Frame("bent")
    frame.add_points(["A", "B", "C"], [[0.1, 0.2, 0], [0.6, 0.2, 0.1], [0.7, 0.6, 0.3]])
    frame.add_beam("one", "A", "B", section=Section.rectangle(0.02, 0.03), material="steel", elements=elements,
                   theory="euler-bernoulli")  # fmt: skip
    frame.add_beam("two", "B", "C", section=Section.circle(0.02), material="steel", elements=elements,
                   theory="euler-bernoulli")  # fmt: skip
    frame.add_mass("weight", "C", 0.4, inertia=(1e-4, 2e-4, 3e-4), offset=(0.02, 0.01, 0.0))
    return frame


@pytest.mark.spec("001-C02")
@pytest.mark.spec("000-39")
def test_invariants_of_a_bent_frame_equal_brute_force_integration() -> None:
    """Own shape functions (linear, cubic Hermite, linear twist), 30 Gauss points per element: 1e-12 of the largest."""
    frame = bent_frame(2)
    data = flexible_body(frame, basis="clamped", fixed="A", modes=8)
    s = da.structures.assemble_structure(frame)
    system = s.system()
    held = [i for i, name in enumerate(s.free) if name.startswith("A.")]
    inner = [i for i in range(len(s.free)) if i not in held]
    # the modes again, from the dense matrices; signs and order from the tip
    squares, own = scipy.linalg.eigh(system.K.toarray()[np.ix_(inner, inner)], system.M.toarray()[np.ix_(inner, inner)])
    shapes = np.zeros((len(s.coordinates), 8))
    shapes[np.array(s.free_index)[inner]] = own[:, :8]
    tip = shapes[s.point("C") * 6 : s.point("C") * 6 + 6]
    signs = np.sign((tip * np.vstack([data.node("C").translation, data.node("C").rotation])).sum(axis=0))
    shapes = shapes * signs
    assert np.sqrt(squares[:8]) / (2 * np.pi) == pytest.approx(data.frequencies_hz, rel=1e-6)
    total = brute_force(s, shapes)
    for name, value in total.items():
        # modes of two eigensolvers agree to 1e-9 of their size
        np.testing.assert_allclose(getattr(data, name), value, atol=1e-8 * np.abs(value).max(), rtol=0, err_msg=name)
    exact = brute_force(s, np.zeros((len(s.coordinates), 0)))
    assert data.mass == pytest.approx(exact["mass"], rel=1e-13)
    np.testing.assert_allclose(data.inertia, exact["inertia"], rtol=0, atol=1e-12)


def brute_force(s: Any, shapes: Any) -> dict[str, Any]:
    group = s.groups[0]
    x, w = np.polynomial.legendre.leggauss(30)
    xi, weights = 0.5 * (x + 1), 0.5 * w
    m = shapes.shape[1]
    pieces = []  # mass, place, inertia, U, W
    for e in range(len(group.points)):
        a, b = group.points[e]
        start, end = s.positions[a], s.positions[b]
        R, L, n = group.R[e], group.length[e], group.numbers
        ends = np.vstack([shapes[a * 6 : a * 6 + 6], shapes[b * 6 : b * 6 + 6]])
        local = np.vstack([R @ ends[3 * k : 3 * k + 3] for k in range(4)])
        for z, weight in zip(xi, weights):
            H = np.array([1 - 3 * z**2 + 2 * z**3, L * (z - 2 * z**2 + z**3), 3 * z**2 - 2 * z**3, L * (z**3 - z**2)])
            dH = np.array([6 * z**2 - 6 * z, L * (1 - 4 * z + 3 * z**2), 6 * z - 6 * z**2, L * (3 * z**2 - 2 * z)]) / L
            u = np.zeros((3, m))
            turn = np.zeros((3, m))
            u[0] = (1 - z) * local[0] + z * local[6]
            turn[0] = (1 - z) * local[3] + z * local[9]
            u[1] = H @ local[[1, 5, 7, 11]]
            turn[2] = dH @ local[[1, 5, 7, 11]]
            signs = np.array([1, -1, 1, -1])
            u[2] = (H * signs) @ local[[2, 4, 8, 10]]
            turn[1] = -(dH * signs) @ local[[2, 4, 8, 10]]
            J = np.diag([n.rhoI_p[e], n.rhoI_y[e], n.rhoI_z[e]]) * weight * L
            pieces.append((n.rhoA[e] * weight * L, start + z * (end - start), R.T @ J @ R, R.T @ u, R.T @ turn))
    c, offset = s.point("C"), np.array([0.02, 0.01, 0.0])
    at = shapes[c * 6 : c * 6 + 6]
    moved = at[:3] - cross(offset) @ at[3:]
    pieces.append((0.4, s.positions[c] + offset, np.diag([1e-4, 2e-4, 3e-4]), moved, at[3:]))
    return {
        "mass": sum(p[0] for p in pieces),
        "first_moment": sum(p[0] * p[1] for p in pieces),
        "inertia": sum(p[0] * cross(p[1]).T @ cross(p[1]) + p[2] for p in pieces),
        "translation": sum(p[0] * p[3] for p in pieces),
        "rotation": sum(p[0] * cross(p[1]) @ p[3] + p[2] @ p[4] for p in pieces),
        "modal_mass": sum(p[0] * p[3].T @ p[3] + p[4].T @ p[2] @ p[4] for p in pieces),
        "moments": sum(p[0] * np.einsum("a,bj->abj", p[1], p[3]) for p in pieces),
        "products": sum(p[0] * np.einsum("aj,bk->abjk", p[3], p[3]) for p in pieces),
    }


def test_lumped_and_consistent_routes_converge_to_each_other() -> None:
    """Lumping has an error of h²: four times smaller on each halving, within 25 %."""
    gaps = []
    for elements in (4, 8, 16):
        one, other = (
            flexible_body(unit_frame(elements), basis="clamped", fixed="root", modes=2, mass=route)
            for route in ("consistent", "lumped")
        )
        gaps.append(
            [
                abs(one.translation[1, 0] - other.translation[1, 0]),
                abs(one.moments[0, 1][0] - other.moments[0, 1][0]),
                abs(one.frequencies_hz[0] - other.frequencies_hz[0]),
            ]
        )
    ratios = np.array(gaps[:-1]) / np.array(gaps[1:])
    assert np.all((ratios > 3.0) & (ratios < 5.0)), ratios


@pytest.mark.spec("001-C10")
def test_cantilever_plate_has_the_frequencies_of_kirchhoff() -> None:
    """300 x 50 x 2 mm, E = 70 GPa, ν = 0.33, 2800 kg/m³: 18.2, 114.0 (bending) and 213.7 Hz (torsion); 1 %."""
    plate = Solid("plate", box_mesh((0.3, 0.05, 0.002), (24, 4, 1), kind="hex20"),
                  Material("aluminium plate", E=70e9, density=2800.0, poisson=0.33))  # fmt: skip
    plate.add_interface("root", "x=0")
    data = flexible_body(plate, basis="clamped", fixed="root", modes=3)
    assert data.frequencies_hz == pytest.approx([18.2, 114.0, 213.7], rel=0.01)


# Rotating cantilever of hub radius 0, flap frequencies over √(EI/ρA L⁴) (Wright et al. 1982).
FLAP = {0: (3.5160, 22.0345), 2: (4.1373, 22.6149), 6: (7.3604, 26.8091), 12: (13.1702, 37.6031)}


@pytest.mark.parametrize("speed", FLAP)
def test_rotating_cantilever_flaps_faster_by_its_centrifugal_stiffness(speed: int) -> None:
    """Eight flap modes: truncation leaves 2e-4 at the highest speed, five digits are published."""
    frame = unit_frame(24, direction="z")
    data = flexible_body(frame, basis="clamped", fixed="root", modes=8, stiffening="centrifugal")
    assert data.stiffening is not None and data.stiffening.centrifugal is not None
    K = data.stiffness + speed**2 * data.stiffening.centrifugal[2]
    along_z = [k for k in range(data.modes) if data.products[2, 2][k, k] > 0.5]
    assert len(along_z) >= 5
    found = np.sqrt(scipy.linalg.eigvalsh(K[np.ix_(along_z, along_z)]))
    assert found[:2] == pytest.approx(FLAP[speed], rel=3e-4)


def test_rotating_cantilever_in_the_plane_is_softened_by_the_spin() -> None:
    """ω² of lag is that of flap less Ω² (Wright et al. 1982), for any speed: 3.6218 at γ = 2."""
    data = flexible_body(Beam(1.0, EI=1.0, rhoA=1.0), modes=8, stiffening=True)
    assert data.stiffening is not None and data.stiffening.centrifugal is not None
    K = data.stiffness + 4.0 * (data.stiffening.centrifugal[2] - data.products[1, 1])
    assert np.sqrt(scipy.linalg.eigvalsh(K)[0]) == pytest.approx(np.sqrt(4.1373**2 - 4.0), rel=5e-5)


def test_standing_column_buckles_under_its_own_weight() -> None:
    """Greenhill: q L³/EI = 7.837; six modes are above it by less than 0.1 %."""
    data = flexible_body(unit_frame(20), basis="clamped", fixed="root", modes=12, stiffening="acceleration")
    assert data.stiffening is not None and data.stiffening.acceleration is not None
    kept = in_plane(data)[:6]
    K, G = (matrix[np.ix_(kept, kept)] for matrix in (data.stiffness, data.stiffening.acceleration[0]))
    # K + a G is singular at the critical acceleration along the axis
    critical = 1.0 / np.max(scipy.linalg.eigh(-G, K, eigvals_only=True))
    assert critical == pytest.approx(7.837, rel=1e-3)


def test_column_buckles_under_a_force_at_its_tip() -> None:
    """Euler: P = π² EI/4 L²; seven modes are above it by less than 0.2 %."""
    data = flexible_body(unit_frame(20), basis="clamped", fixed="root", modes=14, stiffening="forces")
    assert data.stiffening is not None
    kept = in_plane(data)[:7]
    K, G = (matrix[np.ix_(kept, kept)] for matrix in (data.stiffness, data.stiffening.forces["tip"][0]))
    critical = 1.0 / np.max(scipy.linalg.eigh(G, K, eigvals_only=True))
    assert critical == pytest.approx(np.pi**2 / 4, rel=2e-3)


def test_beam_that_is_spun_up_bends_back_and_straightens() -> None:
    """L = 10 m, EI = 1.4e4, ρA = 1.2, to 6 rad/s in 15 s (Kane, Ryan and Banerjee 1987), five modes with centrifugal
    stiffness: tip −0.21729, −0.54407, −0.46043 m after 3, 6, 9 s; digits as published."""
    data = flexible_body(Beam(10.0, EI=1.4e4, rhoA=1.2), modes=5, stiffening="centrifugal")
    assert data.stiffening is not None and data.stiffening.centrifugal is not None
    softer = data.stiffening.centrifugal[2] - data.products[1, 1]

    def rates(t: float, state: Any) -> Any:
        speed = 6 / 15 * (t - 15 / (2 * np.pi) * np.sin(2 * np.pi * t / 15))
        acceleration = 6 / 15 * (1 - np.cos(2 * np.pi * t / 15))
        force = -(data.stiffness + speed**2 * softer) @ state[:5] - data.rotation[2] * acceleration
        return np.concatenate([state[5:], force])

    run = scipy.integrate.solve_ivp(rates, (0.0, 9.0), np.zeros(10), rtol=1e-8, atol=1e-10, t_eval=[3.0, 6.0, 9.0])
    tip = data.node("end").translation[1] @ run.y[:5]
    assert tip == pytest.approx([-0.21729, -0.54407, -0.46043], abs=1.1e-5)


@pytest.mark.spec("001-C31")
def test_strain_gauge_agrees_with_the_cubic_through_three_nodes() -> None:
    """Nodes 1.5 mm apart, deflection A x³ + B x² + C x. The third mode has β x = 0.82 there, and what a cubic misses of
    its curvature between the nodes is (β x)⁴ (Δx/x)² = 5e-4."""
    frame = Frame("rod")
    places = [0.0, 0.0445, 0.046, 0.0475, 0.44]
    frame.add_points("n", [[x, 0, 0] for x in places])
    rod = Section.rectangle(0.004, 0.015)
    steel = Material("spring steel", E=200e9, density=7800.0)
    for k, elements in enumerate((6, 1, 1, 40)):
        frame.add_beam(f"rod{k}", f"n{k + 1}", f"n{k + 2}", section=rod, material=steel, elements=elements,
                       up=(0, 1, 0), theory="euler-bernoulli")  # fmt: skip
    gauge = {"X": BeamGauge(beam="rod1", x=0.0015, y=0.002)}
    nodes = ["n1", "n2", "n3", "n4", "n5"]
    data = flexible_body(frame, basis="clamped", fixed="n1", nodes=nodes, modes=[1, 3, 4], gauges=gauge)
    x = np.array(places[1:4])
    deflection = np.array([data.node(name).translation[1] for name in nodes[1:4]])
    A, B, _ = np.linalg.solve(np.stack([x**3, x**2, x], axis=1), deflection)
    cubic = -(6 * A * 0.046 + 2 * B) * 0.002
    exact = data.gauges[0].row
    moving = np.abs(exact) > 1e-6
    assert moving.sum() == 3
    assert cubic == pytest.approx(exact, rel=5e-4)


def test_link_of_the_two_link_robot_has_its_frequencies() -> None:
    """Rod of 0.440 m, 15 x 4 mm, spring steel, 0.5885 kg at its tip: 4.73, 17.75 (across), 75.63, 241.81 Hz; 0.5 %."""
    frame = Frame("link 1")
    frame.add_points(["root", "tip"], [[0, 0, 0], [0.44, 0, 0]])
    frame.add_beam("rod", "root", "tip", section=Section.rectangle(0.004, 0.015), elements=20, up=(0, 1, 0),
                   material=Material("spring steel", E=200e9, density=7800.0))  # fmt: skip
    frame.add_mass("motor 2", "tip", 0.5885)
    data = flexible_body(frame, basis="clamped", fixed="root", modes=[1, 2, 3, 4])
    assert data.frequencies_hz == pytest.approx([4.73, 17.75, 75.63, 241.81], rel=5e-3)
    assert data.out_of_plane_modes() == [2]
