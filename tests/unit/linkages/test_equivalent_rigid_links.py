"""Linkages of bending links about equivalent rigid links: (u, q) against finite elements held by the joints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.errors import ConvergenceError, ModelError
from dalembert.linkages import EquivalentRigidLinks
from dalembert.linkages.links import SlenderLink
from dalembert.structures import Frame
from dalembert.studies.manipulator.manipulator_model import POSE, manipulator, mechanism
from tests.helpers.bending_linkages import quick_return, slider_crank, strip
from tests.helpers.repetitions import few


def single_rod(frame: Frame) -> SlenderLink:
    m = da.Mechanism("single rod", planar=True)
    rod = m.add_body("rod", mass=1, inertia=1, center=(0, 0))
    m.add_revolute("O", m.ground.at(0, 0), rod.at(0, 0))
    return EquivalentRigidLinks(m, beams={"rod": frame}).links[0]


def held_elements(erls: EquivalentRigidLinks, q: Any) -> Any:
    """Eigenvalues of the finite elements of all nodes in a pose, held by the rows of the joints alone."""
    L = erls.linkage
    values = L.rigid.kernel("measures")(q, np.zeros(L.rigid.nv), L.rigid.p, 0.0)[0]
    index = L.rigid.measures.index
    M, K, r = [], [], []
    for link in L.links:
        x, y, turn = (values[index[f"{link.name}.{way}"]] for way in ("x", "y", "angle"))
        c, s = np.cos(turn), np.sin(turn)
        R = np.kron(np.eye(len(link.points)), [[c, -s, 0], [s, c, 0], [0, 0, 1]])
        M.append(R @ link.M @ R.T)
        K.append(R @ link.K @ R.T)
        r += [(x + c * a - s * b, y + s * a + c * b, turn) for a, b in link.places]
    nodes = L.nodes
    zero = np.zeros(nodes.nv), np.zeros(nodes.nz), np.zeros(nodes.nu)
    A = nodes.kernel("rows")(np.ravel(r), *zero, nodes.p, 0.0)[0]
    names = {joint.name for joint in erls.mechanism.joints}
    A = A[[row for info in nodes.joints if info.name in names for row in info.rows]]
    Z = scipy.linalg.null_space(A)
    M, K = scipy.linalg.block_diag(*M), scipy.linalg.block_diag(*K)
    return scipy.linalg.eigh(Z.T @ K @ Z, Z.T @ M @ Z, eigvals_only=True)


def in_u_and_q(eqs: da.EquationsOfMotion, q: Any) -> Any:
    state = eqs.state(q=q)
    still = np.zeros(eqs.nv), np.zeros(eqs.nz), np.zeros(eqs.nu)
    K, _ = eqs.kernel("tangent")(state.q, *still, eqs.p, 0.0)
    return scipy.linalg.eigh(K, eqs.kernel("inertia")(state.q, eqs.p, 0.0)[0], eigvals_only=True)


@pytest.mark.parametrize("make", few([slider_crank, quick_return]))
def test_slides_on_ground_and_on_moving_links_leave_the_frequencies_of_the_finite_elements(make: Any) -> None:
    for angle in (0.4, 1.3, 2.4):
        erls = make(angle)
        eqs = da.equations(erls)
        expected = held_elements(erls, erls.rigid.state().q)
        found = in_u_and_q(eqs, eqs.state().q)
        assert eqs.nv == len(expected)
        # rounding of an eigenvalue is 1e-16 of the largest
        assert np.abs(found - expected).max() <= 1e-11 * expected[-1]
        assert np.sum(np.abs(found) < 1e-9 * expected[-1]) == 1


@pytest.mark.spec("004-C32")
@pytest.mark.spec("004-C37")
def test_frequencies_in_elastic_and_rigid_coordinates_are_those_of_the_finite_elements_at_every_pose() -> None:
    erls = manipulator()
    eqs = da.equations(erls)
    assert (len(eqs.elastic), eqs.nv, sum(len(link.points) for link in erls.links)) == (27, 30, 14)
    random = np.random.default_rng(3)
    for _ in range(10):
        q = eqs.state().q.copy()
        q[27:30] += random.uniform(-0.5, 0.5, 3)
        found, expected = in_u_and_q(eqs, q), held_elements(erls, q[27:])
        assert np.abs(found - expected).max() <= 1e-10 * expected[-1]
        assert np.abs(found[:3]).max() <= 1e-10 * expected[-1]


@pytest.mark.spec("004-C35")
@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_convective_inertia_vanishes_for_translations_and_for_concentrated_masses(mass: str) -> None:
    link = single_rod(strip("rod", 0.8, mass=mass))
    moved = np.tile(np.eye(3)[:, :2], (len(link.points), 1))
    assert np.abs(link.G @ moved).max() < 1e-14 * link.M.max()
    assert link.G.any() == (mass == "consistent")


@pytest.mark.spec("004-C35")
def test_convective_inertia_of_one_element_is_the_closed_form() -> None:
    link = single_rod(strip("rod", 0.8, 1, theory="euler-bernoulli", rotary=False))
    mass, length = link.mass, 0.8
    A = np.zeros((6, 6))
    A[np.ix_([0, 3], [1, 2, 4, 5])] = -mass * np.array(
        [[7 / 20, length / 20, 3 / 20, -length / 30], [3 / 20, length / 30, 7 / 20, -length / 20]]
    )
    A -= A.T
    turn = scipy.linalg.block_diag([[0, -1], [1, 0]], 0, [[0, -1], [1, 0]], 0)
    assert np.abs(link.G - (A - link.M @ turn)).max() < 1e-14 * mass


@pytest.mark.spec("004-C63")
def test_curvature_at_a_node_is_the_mean_of_its_elements_and_in_the_middle_the_difference_of_turns() -> None:
    link = manipulator().links[1]
    row = link.gauge_row(0.2125, "middle of the first")
    assert np.allclose(row, np.eye(9)[5] / 0.425 - np.eye(9)[2] / 0.425, atol=1e-12)
    ends = [link._element_gauge(0, 1.0, None), link._element_gauge(1, 0.0, None)]
    assert np.allclose(link.gauge_row(0.425, "node"), np.mean(ends, axis=0), atol=1e-12)


@pytest.mark.spec("004-C63")
def test_strain_of_a_surface_is_that_of_the_axis_less_height_times_curvature() -> None:
    link = manipulator().links[1]
    axial = np.eye(9)[3] / 0.425 - np.eye(9)[0] / 0.425
    row = axial - 0.015 * link.gauge_row(0.1, "curvature")
    assert np.allclose(link.gauge_row(0.1, "surface", 0.015), row, atol=1e-12)
    erls = manipulator(gauges={"top": ("AD", 0.1, 0.015)})
    assert da.equations(erls).outputs.units[-1] == ""


def test_a_rigid_motion_strains_nothing_and_the_zeroed_rotations_carry_it() -> None:
    erls = manipulator()
    numbers = erls.conditions()
    assert numbers["S_0"] == pytest.approx(1.0, abs=1e-12)
    assert numbers["KS"] < 1e-12
    assert not erls.findings()


def refusal(**changes: Any) -> ModelError:
    m = mechanism(POSE)
    frames = {"AB": strip("AB", 0.5)}
    with pytest.raises(ModelError) as caught:
        EquivalentRigidLinks(changes.pop("mechanism", m), beams=changes.pop("beams", frames), **changes)
    return caught.value


def test_what_cannot_be_modelled_is_refused_by_name() -> None:
    names = ["A1.angle", "A2.angle", "EF.angle"]
    zeroed = ["AB.1.rz", "AB.2.rz", "AD.centre.rz"]
    singular = refusal(coordinates=names, zeroed=zeroed)
    assert singular.code == "singular-matrix" and "AB.2.rz" in str(singular)
    assert refusal(coordinates=names, zeroed=zeroed[:2]).code == "wrong-shape"
    assert refusal(gauges={"g": ("AD", 0.1)}).code == "no-modes"
    assert refusal(gauges={"g": ("AB", 0.6)}).code == "out-of-range"
    assert refusal(beams={"AB": strip("AB", 0.4)}).code == "no-node"
    assert refusal(beams={"AX": strip("AB", 0.4)}).code == "unknown-name"
    held = strip("AB", 0.5)
    held.add_support("1")
    assert refusal(beams={"AB": held}).code == "not-supported"
    m = mechanism(POSE)
    m.add_friction("dry", "A1", effort=1.0)
    assert refusal(mechanism=m).code == "not-supported"


def hanging_arm() -> EquivalentRigidLinks:
    """Two links with concentrated masses hang down under their weight and a force on the tip."""
    m = da.Mechanism("arm", planar=True)
    down = -np.pi / 2
    upper = m.add_body("upper", mass=1, inertia=0.1, center=(0, 0), position=(0, 0), angle=down)
    lower = m.add_body("lower", mass=1, inertia=0.1, center=(0, 0), position=(0, -0.6), angle=down)
    m.add_revolute("A", m.ground.at(0, 0), upper.at(0, 0))
    m.add_revolute("B", upper.at(0.6, 0), lower.at(0, 0))
    m.add_force("load", lower.at(0.5, 0), (0.0, -20.0))
    frames = {"upper": strip("upper", 0.6, 2, mass="lumped"), "lower": strip("lower", 0.5, 2, mass="lumped")}
    for frame in frames.values():
        for point in ("1", "beam1[1]", "2"):
            frame.add_mass(f"disc {point}", point, 0.1, inertia=1e-4)
    return EquivalentRigidLinks(m, beams=frames)


@pytest.mark.spec("004-C40")
def test_the_linear_model_has_the_blocks_of_the_finite_elements_and_the_slope_of_the_loads() -> None:
    """Masses at the nodes: their weight does not change with the pose, nor does the force."""
    erls = hanging_arm()
    eqs = da.equations(erls)
    lin = da.linearize(eqs, at=da.equilibrium(eqs, start=eqs.state()))
    assert isinstance(lin, da.SecondOrder)
    assert lin.coordinates == (*eqs.elastic, "A.angle", "B.angle")
    n = len(eqs.elastic)

    def places(q: Any) -> Any:
        """Nodes of both links with their angles, by trigonometry: (6, 3)."""
        first, second = q[0], q[0] + q[1]
        e = [np.array([np.cos(angle), np.sin(angle)]) for angle in (first, second)]
        order = [link.places[:, 0] for link in erls.links]
        upper = [[*(x * e[0]), first] for x in order[0]]
        lower = [[*(0.6 * e[0] + x * e[1]), second] for x in order[1]]
        return np.ravel(upper + lower)

    def slope(function: Any, q: Any, h: float = 1e-5) -> Any:
        return np.column_stack([(function(q + h * d) - function(q - h * d)) / (2 * h) for d in np.eye(2)])

    q0 = np.array([-np.pi / 2, 0.0])
    S = slope(places, q0)
    blocks: dict[str, Any] = {"M": [], "K": []}
    for link, angle in zip(erls.links, (-np.pi / 2, -np.pi / 2)):
        c, s = np.cos(angle), np.sin(angle)
        R = np.kron(np.eye(len(link.points)), [[c, -s, 0], [s, c, 0], [0, 0, 1]])
        for key in blocks:
            blocks[key].append(R @ getattr(link, key) @ R.T)
    M, K = (scipy.linalg.block_diag(*blocks[key]) for key in "MK")
    share = np.zeros((len(M), n))
    for k, column in enumerate(erls.linkage.elastic.columns):
        if column in erls.linkage.free:
            share[k, erls.linkage.free.index(column)] = 1.0
    load = M @ np.tile([0, -9.81, 0], len(M) // 3)
    tip = 9 + 3 * erls.links[1].points.index("2")
    load[tip + 1] -= 20.0
    T = np.hstack([share, S])
    expected = np.zeros((n + 2, n + 2))
    expected[:n, :n] = share.T @ K @ share
    expected[n:, n:] = -slope(lambda q: slope(places, q, 1e-4).T @ load, q0, 1e-3)
    assert np.abs(lin.M - T.T @ M @ T).max() < 1e-9 * np.abs(M).max()
    stiffness = lin.K_full
    assert np.abs(stiffness[n:, n:] - expected[n:, n:]).max() < 1e-5 * np.abs(load).max()  # differences of differences
    assert np.abs(stiffness[:n, :n] - expected[:n, :n]).max() < 1e-12 * np.abs(K).max()
    assert np.abs(stiffness[n:, :n]).max() < 1e-12 * np.abs(K).max()
    # K turns with the links that the loads stretch: the printed block is zero, this one is as large as the loads
    assert np.abs(stiffness[:n, n:]).max() < 2 * np.abs(load).max()


@pytest.mark.spec("004-C39")
def test_each_of_two_springs_has_its_own_initial_tension() -> None:
    def torque(count: int, preload: float, stiffness: float) -> float:
        m = da.Mechanism("lever", planar=True, gravity=0)
        lever = m.add_body("lever", mass=1, inertia=0.1, center=(0, 0))
        m.add_revolute("A", m.ground.at(0, 0), lever.at(0, 0))
        for k in range(count):
            m.add_spring(f"spring{k + 1}", m.ground.at(0.5, -0.4), lever.at(0.5, 0), stiffness=stiffness,
                         free_length=0.179, preload=preload)  # fmt: skip
        eqs = da.equations(EquivalentRigidLinks(m, beams={"lever": strip("lever", 0.5)}))
        state = eqs.state()
        return float(eqs.kernel("forces")(state.q, state.v, state.z, [], eqs.p, 0.0, [])[0][-1])

    assert torque(2, 34.7, 760.0) == pytest.approx(-0.5 * (2 * 34.7 + 2 * 760.0 * (0.4 - 0.179)), rel=1e-12)


@pytest.mark.spec("004-C36")
def test_masses_at_nodes_stand_on_the_diagonal() -> None:
    bare, loaded = strip("rod", 0.8), strip("rod", 0.8)
    loaded.add_mass("tip", "2", 0.3, inertia=0.02)
    difference = single_rod(loaded).M - single_rod(bare).M
    assert np.diag(difference)[3:6] == pytest.approx([0.3, 0.3, 0.02], abs=1e-15)
    assert np.abs(difference).sum() == pytest.approx(0.62)


@pytest.mark.spec("004-C38")
def test_fixed_explicit_steps_beyond_the_limit_are_refused_with_the_limit_and_the_body() -> None:
    eqs = da.equations(manipulator())
    with pytest.raises(ConvergenceError) as caught:
        da.simulate(eqs, 0.01, method=da.RK4(step=1e-4))
    assert caught.value.code == "unstable-step"
    # the fastest vibration has 4667.6 Hz, and RK4 follows 2.78 rad of it
    assert caught.value.finding.evidence["longest"] == pytest.approx(2.78 / (2 * np.pi * 4667.61), rel=1e-4)
    assert "of body 'CE'" in str(caught.value)
