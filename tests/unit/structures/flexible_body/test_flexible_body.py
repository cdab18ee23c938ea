"""Flexible bodies from every source and with every basis."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.model.flexible import FlexibleBodyData
from dalembert.structures import (
    Beam,
    Frame,
    ModalDamping,
    Rayleigh,
    Section,
    Solid,
    assemble_structure,
    box_mesh,
    craig_bampton,
    flexible_body,
)


def bent_frame(elements: int = 6) -> Frame:
    frame = Frame("bent")
    frame.add_points(["A", "B", "C"], [[0, 0, 0], [0.4, 0, 0.1], [0.5, 0.3, 0.2]])
    frame.add_beam("one", "A", "B", section=Section.rectangle(0.01, 0.02), material="steel", elements=elements)
    frame.add_beam("two", "B", "C", section=Section.circle(0.02), material="steel", elements=elements)
    frame.add_mass("weight", "C", 0.3, inertia=(1e-4, 2e-4, 3e-4), offset=(0.01, 0.02, 0))
    return frame


def straight_frame(section: Section, elements: int = 12, planar: bool = False) -> Frame:
    frame = Frame("straight", planar=planar)
    frame.add_points(["A", "B"], [[0, 0], [1, 0]] if planar else [[0, 0, 0], [1, 0, 0]])
    frame.add_beam("beam", "A", "B", section=section, material="steel", elements=elements)
    return frame


def bar(kind: str = "hex8", cells: tuple[int, int, int] = (10, 2, 2)) -> Solid:
    solid = Solid("bar", box_mesh((1, 0.1, 0.05), cells, kind=kind), "steel")
    solid.add_interface("L", "x=0")
    solid.add_interface("R", "x=1", rigid=False)
    return solid


def held_frequencies(frame: Any, point: str, count: int) -> Any:
    """Of the structure with one point held, by its own support [Hz]."""
    frame.add_support(point, "fixed")
    return np.asarray(assemble_structure(frame).modes(count).frequencies_hz)


def generalised_mass(data: FlexibleBodyData, eta: Any) -> Any:
    """(6 + m, 6 + m) of frame and modes at elastic coordinates eta."""
    second = 0.5 * np.trace(data.inertia) * np.eye(3) - data.inertia  # ∫ u₀ u₀ᵀ dm
    first = data.first_moment + data.translation @ eta
    mixed = np.einsum("abj,j->ab", data.moments, eta)
    P = second + mixed + mixed.T + np.einsum("abjk,j,k->ab", data.products, eta, eta)
    d = data.moments + np.einsum("abjk,j->abk", data.products, eta)
    turning = np.stack([d[1, 2] - d[2, 1], d[2, 0] - d[0, 2], d[0, 1] - d[1, 0]])
    plain = np.stack([data.moments[1, 2] - data.moments[2, 1], data.moments[2, 0] - data.moments[0, 2],
                      data.moments[0, 1] - data.moments[1, 0]])  # fmt: skip
    turning = turning + data.rotation - plain  # rotary inertia
    x, y, z = first
    static = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.block([
        [data.mass * np.eye(3), static.T, data.translation],
        [static, np.trace(P) * np.eye(3) - P, turning],
        [data.translation.T, turning.T, data.modal_mass],
    ])  # fmt: skip


WAYS: dict[str, dict[str, Any]] = {
    "craig-bampton": {"reference": "A"},
    "craig-bampton in a mean axis": {},
    "one interface": {"interfaces": ["A"]},
    "craig-bampton at another node": {"reference": "B"},
    "two interfaces": {"interfaces": ["A", "C"]},
    "clamped": {"fixed": "A"},
    "clamped at both ends": {"fixed": ["A", "C"]},
    "clamped with static shapes": {"fixed": "A", "static": "C"},
    "free": {"basis": "free"},
    "free, attached": {"basis": "free", "reference": "A"},
    "free with a static shape": {"basis": "free", "static": ["C.y"]},
    "lumped": {"mass": "lumped"},
    "up to a frequency": {"fixed": "A", "up_to": 2 * np.pi * 500},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.spec("001-C10")
def test_every_basis_gives_orthogonal_modes_of_a_sound_body(way: str) -> None:
    frame = bent_frame()
    data = flexible_body(frame, modes=6, **WAYS[way])
    assert data.check().sound, data.check()
    assert np.array_equal(data.modal_mass, np.eye(data.modes))
    assert np.array_equal(data.stiffness, np.diag(np.diag(data.stiffness)))
    s = assemble_structure(frame)
    assert data.mass == pytest.approx(s.mass(), rel=1e-12)
    assert data.center == pytest.approx(s.centre(), abs=1e-12)
    if "lumped" not in way:
        np.testing.assert_allclose(data.inertia, s.inertia()[3:, 3:], rtol=0, atol=1e-13)
    for seed in range(3):  # positive definite far beyond small deflections
        eta = 0.1 * np.random.default_rng(seed).standard_normal(data.modes)
        assert np.linalg.eigvalsh(generalised_mass(data, eta))[0] > 0


@pytest.mark.parametrize(
    "way", ["craig-bampton", "one interface", "clamped", "free, attached", "clamped with static shapes"]
)
def test_a_frame_attached_to_a_node_leaves_it_where_it_is(way: str) -> None:
    data = flexible_body(bent_frame(), modes=4, **WAYS[way])
    assert data.reference == "attached"
    assert not data.node("A").translation.any()
    assert not data.node("A").rotation.any()


@pytest.mark.parametrize("way", ["craig-bampton in a mean axis", "two interfaces", "free", "free with a static shape"])
def test_modes_in_a_mean_axis_have_no_momentum(way: str) -> None:
    data = flexible_body(bent_frame(), modes=4, **WAYS[way])
    assert data.reference == "mean axis"
    assert not data.translation.any()
    assert not data.rotation.any()


def test_frequencies_with_the_frame_held_converge_to_those_of_the_structure() -> None:
    """Craig-Bampton from above: 2 % with 2 interior modes, 1e-4 with 14."""
    exact = held_frequencies(bent_frame(), "A", 4)
    errors = [flexible_body(bent_frame(), modes=n, reference="A").frequencies_hz[:4] / exact - 1 for n in (2, 6, 14)]
    assert all((error > -1e-6).all() for error in errors)
    assert errors[0].max() > errors[1].max() > errors[2].max()
    assert errors[2].max() < 1e-4


@pytest.mark.parametrize(("node", "axis"), [("A", "y"), ("B", "x"), ("C", "z")])
def test_static_shapes_of_a_free_body_have_its_whole_flexibility(node: str, axis: str) -> None:
    """φᵀK⁻¹φ at the loaded coordinate: the sum over all elastic modes, of which two contain 95 % at most."""
    every = len(assemble_structure(bent_frame()).free) - 6
    flexibility = []
    for how in ({"modes": 2, "static": [f"{node}.{axis}"]}, {"modes": every}, {"modes": 2}):
        data = flexible_body(bent_frame(), basis="free", **how)
        row = data.node(node).translation["xyz".index(axis)]
        flexibility.append(float(row @ np.linalg.solve(data.stiffness, row)))
    assert flexibility[0] == pytest.approx(flexibility[1], rel=1e-6)
    assert flexibility[2] < 0.95 * flexibility[1]


def test_references_span_the_same_deformations() -> None:
    """Distances between nodes change by the same amounts under the same load, whatever the frame is tied to."""
    stretch = []
    for reference in ("A", "B", "mean axis"):
        data = flexible_body(bent_frame(), modes=6, reference=reference)
        load = data.node("C").translation - data.node("A").translation
        # equal and opposite forces on A and C along y, with the moments that balance them on A
        arm = data.node("C").place - data.node("A").place
        force = np.array([0.0, 5.0, 0.0])
        eta = np.linalg.solve(data.stiffness, load.T @ force - data.node("A").rotation.T @ np.cross(arm, force))
        u = load @ eta
        turned = data.node("A").rotation @ eta
        stretch.append(u - np.cross(turned, arm))
    np.testing.assert_allclose(stretch[1:], [stretch[0]] * 2, rtol=1e-8)


def test_static_shapes_make_the_static_answer_exact() -> None:
    frame = bent_frame()
    data = flexible_body(frame, fixed="A", modes=3, static=["C.z"])
    tip = data.node("C").translation[2]
    frame.add_support("A", "fixed")
    frame.add_force("push", "C", (0, 0, 1.0))
    exact = da.structures.solve_static(assemble_structure(frame), "push").displacement["C.z"]
    assert tip @ np.linalg.solve(data.stiffness, tip) == pytest.approx(exact, rel=1e-6)
    other = flexible_body(bent_frame(), interfaces=["B"], reference="A", modes=3, static=["C.z"])
    tip = other.node("C").translation[2]
    assert tip @ np.linalg.solve(other.stiffness, tip) == pytest.approx(exact, rel=1e-6)
    few = flexible_body(bent_frame(), fixed="A", modes=3).node("C").translation[2]
    assert abs(few @ (few / np.diag(data.stiffness)[:3]) / exact - 1) > 1e-4


def test_reduction_gives_the_same_body_as_its_frame() -> None:
    frame = bent_frame()
    reduced = craig_bampton(assemble_structure(frame).system(), ["A", "C"], modes=6)
    one = flexible_body(reduced, of=frame, nodes=["A", "C"])
    other = flexible_body(frame, nodes=["A", "C"], modes=6)
    assert one.frequencies_hz == pytest.approx(other.frequencies_hz, rel=1e-6)
    assert np.abs(one.translation) == pytest.approx(np.abs(other.translation), abs=1e-5)


def test_reduction_with_positions_needs_no_structure() -> None:
    frame = bent_frame()
    s = assemble_structure(frame)
    reduced = craig_bampton(s.system(), ["A", "C"], modes=6)
    places = dict(zip(s.points, s.positions))
    one = flexible_body(reduced, positions=places, nodes=["A", "C"], name="link")
    other = flexible_body(reduced, of=frame, nodes=["A", "C"])
    assert one.name == "link"
    assert one.frequencies_hz == pytest.approx(other.frequencies_hz, rel=1e-6)
    np.testing.assert_allclose(one.inertia, other.inertia, rtol=0, atol=1e-12)
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body(reduced)
    assert caught.value.code == "missing-argument"


def test_matrices_of_a_frame_give_its_body_but_for_what_they_do_not_determine() -> None:
    """Mass, inertia, translation, rotation and modal mass are exact; moments and products are those of the points."""
    frame = bent_frame(20)
    s = assemble_structure(frame)
    one = flexible_body((s.M, s.K), positions=s.positions, nodes={"A": "p0", "C": (0.5, 0.3, 0.2)}, modes=6)
    other = flexible_body(frame, nodes=["A", "C"], modes=6)
    assert one.frequencies_hz == pytest.approx(other.frequencies_hz, rel=1e-6)
    for name in ("first_moment", "inertia", "translation", "rotation"):
        value = np.array(getattr(other, name))
        np.testing.assert_allclose(getattr(one, name), value, rtol=0, atol=1e-5 * np.abs(value).max(), err_msg=name)
    for name in ("moments", "products"):
        value = np.array(getattr(other, name))[:, :, :3]
        mine = np.array(getattr(one, name))[:, :, :3]
        if name == "products":
            value, mine = value[..., :3], mine[..., :3]
        np.testing.assert_allclose(mine, value, rtol=0, atol=0.02 * np.abs(value).max(), err_msg=name)


def test_matrices_of_a_solid_give_the_same_body() -> None:
    solid = Solid("bar", box_mesh((1, 0.1, 0.05), (8, 2, 2)), "steel")
    s = assemble_structure(solid)
    one = flexible_body(solid, basis="free", modes=5, nodes={"a": "p0"})
    other = flexible_body((s.M, s.K), positions=s.positions, basis="free", modes=5, nodes={"a": "p0"})
    for name in ("mass", "first_moment", "inertia", "stiffness", "moments", "products"):
        value = np.array(getattr(one, name))
        np.testing.assert_allclose(getattr(other, name), value, rtol=0, atol=1e-8 * np.abs(value).max(), err_msg=name)


@pytest.mark.parametrize("kind", ["hex8", "hex20", "tet4", "tet10"])
def test_integrals_of_a_solid_follow_from_its_mass_matrix(kind: str) -> None:
    """∫u₀ dm, ∫ũ₀ᵀũ₀ dm of a box are known; the modes have unit mass by the same sums."""
    data = flexible_body(bar(kind), modes=3)
    rho = 1.0 * 0.1 * 0.05 * 7850
    assert data.mass == pytest.approx(rho, rel=1e-12)
    assert data.center == pytest.approx([0.5, 0.05, 0.025], abs=1e-12)
    square = np.array([1.0, 0.1, 0.05]) ** 2 / 3
    exact = rho * np.diag(square.sum() - square)
    np.testing.assert_allclose(np.diag(data.inertia), np.diag(exact), rtol=1e-12)
    assert np.array_equal(data.modal_mass, np.eye(data.modes))


def test_a_solid_bends_as_its_beam() -> None:
    """L/h = 20 along z: shear and clamping make the solid differ from the beam by less than 2 %."""
    solid = bar("hex20", (12, 2, 1))
    data = flexible_body(solid, fixed="L", modes=2, nodes=["L", "R"])
    frame = straight_frame(Section.rectangle(0.05, 0.1))
    beam = flexible_body(frame, fixed="A", modes=2)
    assert data.frequencies_hz == pytest.approx(beam.frequencies_hz, rel=0.02)
    tip, end = data.node("R"), beam.node("B")
    assert tip.translation[2, 0] == pytest.approx(end.translation[2, 0], rel=0.02)
    assert tip.rotation[1, 0] == pytest.approx(end.rotation[1, 0], rel=0.02)


def test_round_beams_have_modes_along_one_axis_each() -> None:
    """Equal frequencies in all planes; the modes are apart and most integrals exactly zero."""
    data = flexible_body(straight_frame(Section.circle(0.02), 60), fixed="A", modes=8)
    for k in range(data.modes):
        moving = [axis for axis in range(3) if data.products[axis, axis][k, k] > 0]
        assert len(moving) == 1
    filled = np.count_nonzero(data.products) / data.products.size
    assert filled <= 1 / 9 + 1e-9


def test_planar_frames_give_planar_modes_and_spatial_inertia() -> None:
    section = Section.rectangle(0.01, 0.01)
    plane = flexible_body(straight_frame(section, planar=True), fixed="A", modes=3)
    space = flexible_body(straight_frame(section), fixed="A", modes=6)
    assert plane.frequencies_hz == pytest.approx(space.frequencies_hz[::2], rel=1e-6)
    assert not plane.products[2, 2].any()
    assert plane.inertia[2, 2] == pytest.approx(space.inertia[2, 2], rel=1e-12)
    assert plane.check().sound


def test_supports_of_the_source_hold_its_modes() -> None:
    frame = bent_frame()
    frame.add_support("A", "fixed")
    data = flexible_body(frame, modes=4)
    assert data.reference == "attached"
    exact = flexible_body(bent_frame(), fixed="A", modes=4)
    assert data.frequencies_hz == pytest.approx(exact.frequencies_hz, rel=1e-6)
    hinged = bent_frame()
    hinged.add_support(["A", "C"], "pinned")
    assert flexible_body(hinged, modes=4).reference == "given"


def test_a_truss_has_modes_too() -> None:
    """Points of bars do not turn: the frame follows the mean rotation of a point and its neighbours."""
    truss = Frame("truss")
    truss.add_points(["A", "B", "C", "D"], [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    for k, (start, end) in enumerate([("A", "B"), ("A", "C"), ("A", "D"), ("B", "C"), ("C", "D"), ("D", "B")]):
        truss.add_bar(f"b{k}", start, end, section=Section.circle(0.01), material="steel")
    free = flexible_body(truss, basis="free", modes=6)
    assert free.check().sound
    attached = flexible_body(truss, basis="free", modes=6, reference="A")
    assert not attached.node("A").translation.any() and not attached.node("A").rotation.any()


def test_shapes_of_your_own_are_kept_as_they_are() -> None:
    frame = straight_frame(Section.rectangle(0.01, 0.02))
    s = assemble_structure(frame)
    x = s.positions[:, 0]
    shapes = np.zeros((len(x), 6, 2))
    for k, power in enumerate((2, 3)):
        shapes[:, 1, k], shapes[:, 5, k] = x**power, power * x ** (power - 1)
    data = flexible_body(frame, modes=shapes.reshape(-1, 2))
    assert data.reference == "attached"  # they leave A where it is
    assert data.node("B").translation[1].tolist() == [1.0, 1.0]
    EI = 206e9 * Section.rectangle(0.01, 0.02).I_y  # height along z: bending along y is about z
    assert data.stiffness[0, 0] == pytest.approx(4 * EI, rel=0.05)
    assert data.modal_mass[0, 1] != 0.0


DAMPINGS: dict[str, tuple[Any, Any]] = {
    "ratio": (0.02, lambda w: 2 * 0.02 * w),
    "ratio of each": ([0.01, 0.02, 0.03], lambda w: 2 * np.array([0.01, 0.02, 0.03]) * w),
    "modal": (ModalDamping(0.05), lambda w: 2 * 0.05 * w),
    "rayleigh": (Rayleigh(0.5, 1e-5), lambda w: 0.5 + 1e-5 * w**2),
}


@pytest.mark.parametrize("kind", DAMPINGS)
def test_damping_of_every_kind(kind: str) -> None:
    given, rates = DAMPINGS[kind]
    data = flexible_body(bent_frame(), fixed="A", modes=3, damping=given)
    np.testing.assert_allclose(data.damping, np.diag(rates(data.frequencies)), rtol=1e-6)
    beam = flexible_body(Beam(1.0, EI=1.0, rhoA=1.0), modes=3, damping=given)
    np.testing.assert_allclose(beam.damping, np.diag(rates(beam.frequencies)), rtol=1e-6, atol=1e-12)


def test_damping_of_the_source_and_its_dampers_is_taken() -> None:
    frame = bent_frame()
    frame.set_damping(alpha=0.3)
    data = flexible_body(frame, fixed="A", modes=3)
    np.testing.assert_allclose(data.damping, 0.3 * np.eye(3), rtol=1e-9)


def test_data_can_be_pickled() -> None:
    data = flexible_body(bent_frame(), modes=2, stiffening=True)
    again = pickle.loads(pickle.dumps(data))  # noqa: S301
    assert np.array_equal(again.products, data.products)
    assert again.stiffening.forces.keys() == data.stiffening.forces.keys()


def test_continuous_beams_take_their_frame_from_their_ends() -> None:
    free = flexible_body(Beam(1.0, EI=1.0, rhoA=1.0, left="free"), modes=3)
    assert free.reference == "mean axis"
    assert not free.translation.any() and not free.rotation.any()
    rod = flexible_body(Beam(2.0, EI=1.0, rhoA=1.0, left="supported", right="supported"), modes=3, nodes={"mid": 1.0})
    assert rod.reference == "given"
    # sine waves: ω = (kπ/l)², the middle moves by √(2/ρA l)
    assert rod.frequencies == pytest.approx((np.arange(1, 4) * np.pi / 2) ** 2, rel=1e-9)
    assert abs(rod.node("mid").translation[1, 0]) == pytest.approx(1.0, rel=1e-9)
    across = flexible_body(Beam(1.0, EI=1.0, rhoA=1.0, direction="z"), modes=2)
    assert across.node("end").translation[2].tolist() == pytest.approx([2.0, 2.0])
    assert (across.node("end").rotation[1] < 0).all()
    assert across.check().sound


def test_continuous_beam_with_a_tip_mass_has_its_inertia() -> None:
    beam = Beam(0.5, Section.rectangle(0.002, 0.03), "steel", right=da.structures.End(mass=0.1))
    data = flexible_body(beam, modes=3)
    assert data.mass == pytest.approx(beam.mass + 0.1)
    assert data.inertia[2, 2] == pytest.approx(beam.mass * 0.25 / 3 + 0.1 * 0.25, rel=1e-12)
    squares = scipy.linalg.eigvalsh(data.stiffness, data.modal_mass)
    assert np.sqrt(squares) == pytest.approx(beam.frequencies(3), rel=1e-9)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no modes": ({"modes": 0, "fixed": "A"}, "no-modes"),
    "more modes than coordinates": ({"modes": 500, "fixed": "A"}, "too-many-modes"),
    "half a mode": ({"modes": 2.5, "fixed": "A"}, "not-a-count"),
    "negative modes": ({"modes": -1, "fixed": "A"}, "not-a-count"),
    "unknown basis": ({"basis": "guyan"}, "unknown-choice"),
    "unknown route": ({"mass": "diagonal"}, "unknown-choice"),
    "unknown node": ({"fixed": "D"}, "unknown-name"),
    "unknown reference": ({"reference": "D"}, "unknown-name"),
    "unknown point": ({"nodes": ["A", "D"]}, "unknown-name"),
    "node twice": ({"nodes": ["A", "A"]}, "duplicate"),
    "interface twice": ({"interfaces": ["C", "C"]}, "duplicate"),
    "node off the mesh": ({"nodes": {"A": "A", "x": (0.3, 0.3, 0.3)}}, "off-mesh"),
    "free and fixed": ({"basis": "free", "fixed": "A"}, "conflicting-arguments"),
    "clamped nowhere": ({"basis": "clamped"}, "missing-argument"),
    "held mean axis": ({"fixed": "A", "reference": "mean axis"}, "conflicting-arguments"),
    "wrong number of ratios": ({"fixed": "A", "modes": 3, "damping": [0.1, 0.1]}, "wrong-shape"),
    "unknown stiffening": ({"stiffening": "thermal"}, "unknown-choice"),
    "positions of a frame": ({"positions": [[0, 0, 0]]}, "ineffective-argument"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_bad_requests_are_named(kind: str) -> None:
    options, code = REFUSED[kind]
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body(bent_frame(), **options)
    assert caught.value.code == code
    assert "bent" in str(caught.value) or kind == "positions of a frame"


def matrices() -> tuple[Any, Any, Any]:
    s = assemble_structure(Solid("bar", box_mesh((1, 0.1, 0.05), (4, 1, 1)), "steel"))
    return s.M.toarray(), s.K.toarray(), s.positions


def make_asymmetric(M: Any, K: Any) -> None:
    K[3, 10] += 0.01 * K[3, 3]


def make_mass_asymmetric(M: Any, K: Any) -> None:
    M[0, 3] += 0.2 * M[0, 0]


def make_negative_mass(M: Any, K: Any) -> None:
    M[5, 5] = -1.0


def make_not_finite(M: Any, K: Any) -> None:
    K[2, 2] = np.nan


def hold_a_point(M: Any, K: Any) -> None:
    K[0, 0] += 1e9


def turn_the_sign(M: Any, K: Any) -> None:
    np.negative(K, out=K)


BAD_MATRICES: dict[str, tuple[Any, str]] = {
    "asymmetric stiffness": (make_asymmetric, "not-symmetric"),
    "asymmetric mass": (make_mass_asymmetric, "not-symmetric"),
    "negative mass": (make_negative_mass, "not-positive-definite"),
    "not finite": (make_not_finite, "not-finite"),
    "fewer than six rigid modes": (hold_a_point, "few-rigid-modes"),
    "negative stiffness": (turn_the_sign, "not-positive-definite"),
}


@pytest.mark.parametrize("kind", BAD_MATRICES)
def test_bad_matrices_are_named_with_body_and_number(kind: str) -> None:
    spoil, code = BAD_MATRICES[kind]
    M, K, places = matrices()
    spoil(M, K)
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body((M, K), positions=places, name="arm", nodes={"a": "p0"}, basis="free", modes=2)
    assert caught.value.code == code
    assert "'arm'" in str(caught.value)
    assert caught.value.finding.evidence


def test_matrices_of_the_wrong_size_are_refused() -> None:
    M, K, places = matrices()
    for given in ((M[:-1, :-1], K[:-1, :-1]), (M, K[:-1, :-1])):
        with pytest.raises(da.errors.ModelError) as caught:
            flexible_body(given, positions=places, nodes={"a": "p0"})
        assert caught.value.code == "wrong-shape"
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body((M, K), nodes={"a": "p0"})
    assert caught.value.code == "missing-argument"


def test_dependent_and_rigid_shapes_are_refused() -> None:
    M, K, places = matrices()
    rng = np.random.default_rng(0)
    one = rng.standard_normal((len(M), 1))
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body((M, K), positions=places, nodes={"a": "p0"}, modes=np.hstack([one, 2 * one]))
    assert caught.value.code == "rank-deficient"
    along = np.tile([1.0, 0.0, 0.0], len(places))[:, None]
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body((M, K), positions=places, nodes={"a": "p0"}, modes=np.hstack([one, along]))
    assert caught.value.code == "rigid-mode"
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body((M, K), positions=places, nodes={"a": "p0"}, modes=np.full((len(M), 1), np.inf))
    assert caught.value.code == "not-finite"
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body((M, K), positions=places, nodes={"a": "p0"}, modes=np.zeros((7, 2)))
    assert caught.value.code == "wrong-shape"


def test_models_in_millimetres_are_suspected() -> None:
    M, K, places = matrices()
    with pytest.raises(da.errors.ModelError) as caught:  # mm, t, N: K in N/mm, M in t
        flexible_body((M / 1e3, K / 1e3), positions=1e3 * places, name="arm", nodes={"a": "p0"}, basis="free", modes=2)
    assert caught.value.code == "suspect-units"
    assert "mm and t" in str(caught.value) and "1e+12" in str(caught.value)


def test_anything_else_is_no_source() -> None:
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body("link.fem")
    assert caught.value.code == "wrong-type"
    with pytest.raises(da.errors.ModelError) as caught:
        flexible_body(Beam(1.0, EI=1.0, rhoA=1.0), basis="clamped")
    assert caught.value.code == "ineffective-argument"


@pytest.mark.parametrize(
    "how",
    (
        {"basis": "clamped", "fixed": "A", "modes": 3, "static": "C"},
        {"basis": "clamped", "fixed": "A", "modes": [1, 3], "static": "C"},
        {"basis": "clamped", "fixed": "A", "modes": [1, 3]},
        {"basis": "clamped", "fixed": "A", "up_to": 3000.0, "static": "C"},
        {"basis": "clamped", "fixed": "A", "modes": 3, "reference": "C"},
        {"basis": "free", "modes": 2, "static": "C"},
        {"modes": 0},
        {"modes": [1, 3]},
        {"modes": 1, "interfaces": ["A", "C"]},
        {"modes": 3, "reference": "mean axis"},
    ),
    ids=str,
)
def test_a_check_compares_the_frequencies_that_a_basis_must_have(how: dict[str, Any]) -> None:
    """Static shapes and modes that were left out raise no alarm; modes that are kept have their frequency exactly."""
    data = flexible_body(bent_frame(), **how)
    assert data.check().sound, data.check()
    model = data.finite_elements
    if how.get("basis") == "clamped" and "reference" not in how:
        assert model is not None and model.frequencies_hz is not None
        assert data.frequencies_hz[: len(model.frequencies_hz)] == pytest.approx(model.frequencies_hz, rel=1e-6)


def test_a_check_finds_frequencies_that_are_off() -> None:
    """Two straight shapes for a mode: their lowest frequency is far above that of the bent frame."""
    structure = assemble_structure(bent_frame())
    x = structure.positions[:, 0]
    shapes = np.zeros((len(structure.coordinates), 1))
    shapes[1 :: len(structure.directions), 0] = x**6
    data = flexible_body(bent_frame(), modes=shapes, reference="A")
    assert not data.check().sound
    assert [one.code for one in data.check().findings] == ["out-of-range"]


# ---- edges of thresholds
