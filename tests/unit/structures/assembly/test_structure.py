"""The structure itself: names, algebra, systems, base motion, damping; built from matrices or from frames."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import Frame, Material, ModalDamping, Rayleigh, Section, Structure, assemble_structure
from tests.helpers.findings import assert_read_only, raises

STEEL = Material("steel", E=210e9, density=7850.0)
PLANK = Section.rectangle(0.2, 0.1)


def portal(**options):
    f = Frame("portal", planar=True)
    f.add_points("p", [[0, 0], [0, 3], [4, 3], [4, 0]])
    f.add_beams("b", ["p1", "p2", "p3"], ["p2", "p3", "p4"], section=PLANK, material=STEEL, elements=2, **options)
    f.add_support(["p1", "p4"], "fixed")
    return f


def pair(**options):
    """Two masses on springs: ground - A - B."""
    given = {"M": np.diag([0.0, 1.0, 2.0]), "K": [[3, -3, 0], [-3, 5, -2], [0, -2, 2]], "held": [True, False, False]}
    return Structure("pair", ["ground", "A", "B"], [[0, 0, 0], [1, 0, 0], [2, 0, 0]], ["x"], **{**given, **options})


# -- names and algebra ------------------------------------------------------------------------------------------------


def test_matrices_are_sparse_read_only_and_keep_their_names():
    s = assemble_structure(portal())
    assert isinstance(s.K, sp.csc_array)
    assert_read_only(s.K.data)
    with pytest.raises(AttributeError):
        s.K = 0
    assert s.free == tuple(name for name in s.coordinates if not name.startswith(("p1.", "p4.")))
    assert s.index("p3.rz") == 8
    assert "7 points, 21 coordinates, 15 free, 6 held" in repr(s)


def test_free_coordinates_expand_to_all():
    s = assemble_structure(portal())
    x = np.arange(30.0).reshape(15, 2)
    full = s.expand(x)
    np.testing.assert_array_equal(full[s.free_index], x)
    assert not full[s.held].any()


def test_unknown_names_are_answered_with_the_nearest():
    s = assemble_structure(portal())
    with raises(DataError, "unknown-name", "'p3.rz'"):
        s.index("p3.zr")
    with raises(DataError, "unknown-name", "'q'"):
        s.point("q")
    with raises(DataError, "unknown-name", "'z'"):
        s.base_motion("z")


def test_structures_survive_pickling():
    s = assemble_structure(portal())
    again = pickle.loads(pickle.dumps(s))  # noqa: S301
    np.testing.assert_array_equal(again.K.toarray(), s.K.toarray())
    assert again.free == s.free
    assert again.groups[0].beams == ("b1", "b2", "b3")


def test_rigid_motions_cost_nothing_and_carry_the_mass():
    f = portal()
    f.supports.clear()
    s = assemble_structure(f)
    R = s.rigid_motions()
    assert s.rigid_names == ("x", "y", "rz")
    np.testing.assert_allclose(s.K @ R, 0, rtol=0, atol=1e-14 * abs(s.K).max() * 10)
    mass = 7850 * 0.02 * 10
    assert s.mass() == pytest.approx(mass, rel=1e-12)
    np.testing.assert_allclose(s.centre(), [2, (3 * 1.5 + 4 * 3 + 3 * 1.5) / 10, 0], rtol=0, atol=1e-12)
    J = s.inertia(s.centre())
    assert J[0, 2] == pytest.approx(0, abs=1e-9)
    assert J[2, 2] > 0


def test_points_with_translations_only_turn_as_a_body_too():
    s = Structure("cloud", ["A", "B", "C", "D"], np.eye(4, 3), ["x", "y", "z"], M=np.eye(12), K=np.zeros((12, 12)))
    assert s.rigid_names == ("x", "y", "z", "rx", "ry", "rz")
    assert np.linalg.matrix_rank(s.rigid_motions()) == 6
    np.testing.assert_allclose(s.centre(), [0.25, 0.25, 0.25])


def test_wrong_input_is_refused():
    with raises(DataError, "wrong-shape", "(2, 2)"):
        pair(K=np.eye(2))
    with raises(DataError, "unknown-choice"):
        Structure("s", ["A"], [[0, 0, 0]], ["up"], M=[[1.0]], K=[[1.0]])
    with raises(DataError, "taken-name"):
        Structure("s", ["A", "A"], np.zeros((2, 3)), ["x"], M=np.eye(2), K=np.eye(2))
    with raises(DataError, "wrong-shape"):
        Structure("s", ["A"], [[0, 0]], ["x"], M=[[1.0]], K=[[1.0]])
    with raises(DataError, "wrong-shape"):
        pair(held=[True])
    with raises(DataError, "wrong-shape", "'f'"):
        pair(loads={"f": [1.0]})
    with raises(DataError, "wrong-shape"):
        pair(prescribed=[np.nan, 0, 0])
    with raises(DataError, "conflicting-links"):
        pair(links=[[1, 0, 0], [0, 1, 0], [0, 1, 0]], held=[False, False, True])
    with raises(ModelError, "wrong-type"):
        assemble_structure(42)
    with raises(ModelError, "empty"):
        pair(held=[True] * 3).system()


def test_links_of_matrices_are_eliminated():
    s = pair(links=[[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    assert s.free == ("A.x",)
    assert s.reduce(s.M).toarray().item() == 3
    assert s.reduce(s.K).toarray().item() == 3
    assert s.modes(1).frequencies[0] == pytest.approx(1)


# -- systems ----------------------------------------------------------------------------------------------------------


def test_a_system_has_the_free_coordinates_with_units():
    system = assemble_structure(portal()).system(inputs=["p2.x", "p3.rz"], outputs="p2.x")
    assert system.coordinates[0] == "p2.x"
    assert system.inputs == ("p2.x.force", "p3.rz.torque")
    assert system.outputs == ("p2.x",)
    assert [system.units[name] for name in ("p3.rz", *system.inputs)] == ["rad", "N", "N m"]
    B = system.B.toarray()
    assert B[system.coordinates.index("p2.x"), 0] == 1
    assert B.sum() == 2


def test_channels_may_have_names_of_their_own():
    system = assemble_structure(portal()).system(
        inputs={"hammer": "p2.x"}, outputs={"a": "p3.x.acceleration", "turn": "p3.rz"}
    )
    assert system.inputs == ("hammer",)
    assert system.outputs == ("a", "turn")
    assert [system.units[name] for name in ("hammer", "a", "turn", "p2.x")] == ["N", "m/s²", "rad", "m"]


def test_modes_are_those_of_the_matrices():
    s = assemble_structure(portal())
    K, M = s.reduce(s.K).toarray(), s.reduce(s.M).toarray()
    np.testing.assert_allclose(
        s.modes(5).frequencies, np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[:5]), rtol=1e-8
    )


def test_a_free_structure_has_its_rigid_modes_at_zero():
    f = portal()
    f.supports.clear()
    found = assemble_structure(f).modes(5).frequencies
    np.testing.assert_array_equal(found[:3], 0)
    assert found[3] > 10


def test_massless_rotations_of_lumped_beams_follow():
    s = assemble_structure(portal(mass="lumped"))
    K, M = s.reduce(s.K).toarray(), s.reduce(s.M).toarray()
    inverse = scipy.linalg.eigh(M, K, eigvals_only=True)[::-1]
    np.testing.assert_allclose(s.modes(4).frequencies, 1 / np.sqrt(inverse[:4]), rtol=1e-8)


def test_outputs_are_displacements_velocities_and_accelerations():
    system = pair().system(inputs="A.x", outputs=["B.x", "B.x.velocity", "B.x.acceleration", "ground.x"])
    x = np.array([0.0, 1.0])
    np.testing.assert_array_equal(system.Y_position @ x, [1, 0, 0, 0])
    np.testing.assert_array_equal(system.Y_velocity @ x, [0, 1, 0, 0])
    np.testing.assert_array_equal(system.Y_acceleration @ x, [0, 0, 1, 0])


def test_inputs_and_outputs_of_slaves_go_to_their_master():
    f = Frame("arm", planar=True)
    f.add_points(["A", "B"], [[0, 0], [2, 0]])
    f.add_mass("m", "A", 1.0, inertia=1.0)
    f.add_rigid("arm", "A", "B")
    system = assemble_structure(f).system(inputs="B.y", outputs="B.y")
    np.testing.assert_array_equal(system.B.toarray()[:, 0], [0, 1, 2])
    np.testing.assert_array_equal(system.Y_position.toarray()[0], [0, 1, 2])


def test_forces_on_supports_are_refused_as_inputs():
    with raises(DataError, "ineffective-input"):
        pair().system(inputs="ground.x")


def test_base_acceleration_pushes_every_mass_back():
    """Coordinates relative to the base; absolute acceleration = relative + base."""
    system = pair().system(base="x", outputs=["B.x", "B.x.absolute_acceleration"])
    assert system.inputs == ("base.x",)
    np.testing.assert_array_equal(system.B.toarray(), [[-1], [-2]])
    np.testing.assert_array_equal(system.D.toarray(), [[0], [1]])
    assert system.units["base.x"] == "m/s²"
    w = 0.7
    M, K = np.diag([1.0, 2.0]), np.array([[5.0, -2], [-2, 2]])
    # absolute coordinates: the ground moves by g, M ẍ + K x = k_ground g
    absolute = np.linalg.solve(K - w**2 * M, [3.0, 0.0])
    relative = np.linalg.solve(K - w**2 * M, system.B.toarray()[:, 0]) * (-(w**2))
    np.testing.assert_allclose(relative + 1, absolute, rtol=1e-12)


def test_base_rotation_turns_about_the_origin():
    s = assemble_structure(portal())
    r = s.base_motion("rz")
    assert r[s.index("p3.x")] == -3
    assert r[s.index("p3.y")] == 4
    system = s.system(base="x rz", inputs="p2.x")
    assert system.inputs == ("p2.x.force", "base.x", "base.rz")


# -- damping ----------------------------------------------------------------------------------------------------------


def test_rayleigh_damping_meets_two_ratios():
    damping = Rayleigh.from_ratios(10.0, 0.02, 50.0, 0.05)
    np.testing.assert_allclose(damping.ratio([10.0, 50.0]), [0.02, 0.05], rtol=1e-12)
    with raises(DataError, "not-increasing"):
        Rayleigh.from_ratios(5.0, 0.1, 5.0, 0.2)
    with raises(DataError, "not-a-number"):
        Rayleigh(float("nan"))


def test_modal_damping_gives_every_mode_its_ratio():
    f = portal()
    f.set_damping(ratios=[0.01, 0.02, 0.03])
    s = assemble_structure(f)
    found = s.system().modes(15).damping_ratios
    np.testing.assert_allclose(np.sort(found[:3]), [0.01, 0.02, 0.03], rtol=1e-6)
    np.testing.assert_allclose(found[3:], 0, rtol=0, atol=1e-9)
    all_alike = s.system(damping=ModalDamping(0.05)).modes(15).damping_ratios
    np.testing.assert_allclose(all_alike, 0.05, rtol=1e-6)


def test_modal_damping_with_massless_coordinates_damps_what_moves():
    f = portal(mass="lumped")
    s = assemble_structure(f)
    C = s.system(damping=ModalDamping(0.1)).C.toarray()
    K, M = s.reduce(s.K).toarray(), s.reduce(s.M).toarray()
    inverse, shapes = scipy.linalg.eigh(M, K)
    moving = inverse > 1e-12 * inverse[-1]
    modal = shapes[:, moving].T @ C @ shapes[:, moving]
    np.testing.assert_allclose(np.diag(modal) / np.sqrt(inverse[moving]), 0.2, rtol=1e-6)


def test_modal_damping_of_large_structures_is_refused():
    f = Frame("long", planar=True)
    f.add_points(["A", "B"], [[0, 0], [100, 0]])
    f.add_beam("b", "A", "B", section=PLANK, material=STEEL, elements=1100)
    f.add_support("A", "fixed")
    with raises(DataError, "too-large", "3300"):
        assemble_structure(f).system(damping=ModalDamping(0.02))


def test_wrong_damping_is_refused():
    with raises(DataError, "negative"):
        ModalDamping(-0.1)
    with raises(DataError, "wrong-type"):
        pair().system(damping=0.02)
    with raises(ModelError, "conflicting-arguments"):
        portal().set_damping(alpha=1.0, ratios=0.1)


def test_hysteretic_damping_goes_along():
    s = assemble_structure(portal(loss_factor=0.04))
    np.testing.assert_allclose(s.K_loss.toarray(), 0.04 * s.K.toarray(), rtol=1e-12)
    assert s.system().K_loss is not None
