"""Structures in a turning frame: bodies, slices of beams, assembled structures."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.structures import (
    Frame,
    Material,
    Section,
    Solid,
    Structure,
    assemble_structure,
    box_mesh,
    spin,
    spin_rotor,
)
from dalembert.structures.analysis import spinning as turning
from dalembert.structures.assembly import rotating_bodies as bodies
from tests.helpers.findings import raises

AXES = np.eye(3)


def cloud(seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Masses (7,) and places (7, 3) from the point of attachment of a rigid cloud of particles."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 2.0, 7), rng.standard_normal((7, 3))


def of_cloud(masses: np.ndarray, places: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, offset of the centre and inertia about it."""
    c = masses @ places / masses.sum()
    s = places - c
    J = np.einsum("p,pij->ij", masses, (s**2).sum(1)[:, None, None] * AXES - s[:, :, None] * s[:, None, :])
    return float(masses.sum()), c, J


class TestABodyInATurningFrame:
    masses, places = cloud()
    point, spin = np.array([0.7, -0.4, 1.1]), np.array([0.3, -1.2, 0.8])

    def energies(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """G, K, f from T₁ and T₀ of the particles, p = r + u + s + θ×s + ½ θ×(θ×s)."""
        W = bodies.cross_matrix(self.spin)
        G, K, f = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(6)
        for m, s in zip(self.masses, self.places, strict=True):
            J = np.hstack([AXES, -bodies.cross_matrix(s)])
            H = np.zeros((3, 6, 6))
            for i in range(3):
                for j in range(3):
                    turned = np.cross(AXES[i], np.cross(AXES[j], s)) + np.cross(AXES[j], np.cross(AXES[i], s))
                    H[:, 3 + i, 3 + j] = 0.5 * turned
            velocity = W @ (self.point + s)
            G += m * 2 * J.T @ W @ J
            K -= m * ((W @ J).T @ (W @ J) + np.einsum("a,ab,bij->ij", velocity, W, H))
            f += m * velocity @ W @ J
        return G, K, f

    def test_its_matrices_are_those_of_the_kinetic_energy_of_its_particles(self) -> None:
        m, c, J = of_cloud(self.masses, self.places)
        found = bodies.spin_matrices(np.array([m]), c[None], J[None], (self.point + c)[None], self.spin[None])
        for ours, expected in zip(found, self.energies(), strict=True):
            assert np.allclose(ours[0], expected, rtol=0, atol=1e-12)

    def test_a_particle_on_isotropic_springs_keeps_the_factor_of_the_gyroscopic_matrix(self) -> None:
        """R3 of spec 003, 4.14: m = 1, k = 4, frame at 0.5 rad/s: 1.5 and 2.5 rad/s (trap 7: 1.18, 3.18)."""
        one = np.ones(1)
        G, K, _ = bodies.spin_matrices(one, np.zeros((1, 3)), np.zeros((1, 3, 3)), np.zeros((1, 3)), 0.5 * AXES[2:])
        assert np.array_equal(G[0, :2, :2], [[0, -1], [1, 0]])
        assert np.array_equal(K[0, :2, :2], -0.25 * np.eye(2))
        A = np.block([[np.zeros((2, 2)), np.eye(2)], [-4 * np.eye(2) - K[0, :2, :2], -G[0, :2, :2]]])
        assert np.allclose(np.sort(np.linalg.eigvals(A).imag), [-2.5, -1.5, 1.5, 2.5], rtol=0, atol=1e-12)


def rig(seed: int = 0, *, held: bool = True, mass: str = "consistent", taper: bool = False) -> Structure:
    """Three beams in space, with an arm, a point mass with an offset and a rigid link to another one."""
    rng = np.random.default_rng(seed)
    frame = Frame("rig", gravity=0)
    frame.add_points(["A", "B", "C", "D", "E"], rng.uniform(-1, 1, (5, 3)))
    for k, (start, end) in enumerate((("A", "B"), ("B", "C"), ("B", "D"))):
        frame.add_beam(
            f"b{k}", start, end, section=Section.rectangle(0.03, 0.05), material="steel", up=rng.normal(size=3),
            offsets=(rng.uniform(-0.1, 0.1, 3), None), elements=2, mass=mass,
            end_section=Section.rectangle(0.02, 0.03) if taper else None,
        )  # fmt: skip
    frame.add_mass("lump", "C", 4.0, inertia=(0.02, 0.03, 0.04), offset=(0.1, -0.05, 0.2))
    frame.add_rigid("arm", "D", "E")
    frame.add_mass("far", "E", 2.0)
    if held:
        frame.add_support("A", "fixed")
    return assemble_structure(frame)


def as_one_body(model: Structure, spin: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """G, K, f of the whole structure as one rigid body, at the origin, turning about an axis through the origin."""
    whole = model.inertia()
    m, c = model.mass(), model.centre()
    J = whole[3:, 3:] + m * bodies.cross_matrix(c) @ bodies.cross_matrix(c)
    found = bodies.spin_matrices(np.array([m]), c[None], J[None], c[None], spin[None])
    return found[0][0], found[1][0], found[2][0]


class TestAStructureThatTurns:
    @pytest.mark.parametrize("options", [{}, {"taper": True}])
    def test_coriolis_forces_and_centrifugal_load_of_a_rigid_motion_are_those_of_one_body(self, options: dict) -> None:
        model, spin = rig(**options), np.array([2.0, -3.0, 5.0])
        R = model.rigid_motions()
        found = turning.find_spin(model, spin, np.zeros(3))
        G, K, f = as_one_body(model, spin)
        # turning slices of one body move along circles: what is of second order in that comes with the tension
        assert np.allclose(R.T @ found.f, f, rtol=0, atol=1e-9 * np.abs(f).max())
        assert np.allclose((R.T @ (found.K @ R))[:3], K[:3], rtol=0, atol=1e-9 * np.abs(K).max())
        assert np.allclose(R.T @ (found.G @ R), G, rtol=0, atol=1e-9 * np.abs(G).max())

    def test_coriolis_forces_and_centrifugal_load_of_a_solid_are_those_of_one_body(self) -> None:
        """The shape functions of a brick hold every rigid motion, so its matrices are exact for them."""
        pytest.importorskip("skfem")
        model = assemble_structure(Solid("brick", box_mesh((0.6, 0.3, 0.2), (3, 2, 2)), "steel"))
        R, spin = model.rigid_motions(), np.array([2.0, -3.0, 5.0])
        found = turning.find_spin(model, spin, np.zeros(3))
        G, K, f = as_one_body(model, spin)
        assert np.allclose(R.T @ found.f, f, rtol=0, atol=1e-12 * np.abs(f).max())
        assert np.allclose((R.T @ (found.K @ R))[:3], K[:3], rtol=0, atol=1e-12 * np.abs(K).max())
        assert np.allclose(R.T @ (found.G @ R), G, rtol=0, atol=1e-12 * np.abs(G).max())

    @pytest.mark.parametrize("seed", range(6))
    def test_stiffened_by_its_own_tension_it_turns_as_one_body(self, seed: int) -> None:
        """Freely about a principal axis through its centre the loads balance, and K + K_g - M_g of rigid motions is
        that of a rigid body: tension, moments, torques, couples, arms, links and lumps all have to be right."""
        model = rig(seed)
        centre = model.centre()
        about = model.inertia(centre)[3:, 3:]
        spin = 7.0 * np.linalg.eigh(about)[1][:, 1]
        R = model.rigid_motions(centre)
        found = turning.find_spin(model, spin, centre)
        assert np.abs(R.T @ found.f).max() < 1e-9 * np.abs(found.f).max()
        _, K, _ = bodies.spin_matrices(
            np.array([model.mass()]), np.zeros((1, 3)), about[None], np.zeros((1, 3)), spin[None]
        )
        total = R.T @ ((found.K + turning.stiffness_under_spin(model, found)) @ R)
        assert np.allclose(total, K[0], rtol=0, atol=1e-9 * np.abs(K).max())

    def test_lumped_masses_turn_as_points(self) -> None:
        model, spin = rig(mass="lumped"), np.array([0.0, 0.0, 5.0])
        R = model.rigid_motions()
        found = turning.find_spin(model, spin, np.zeros(3))
        force = -model.mass() * bodies.cross_matrix(spin) @ bodies.cross_matrix(spin) @ model.centre()
        assert (R.T @ found.f)[:3] == pytest.approx(force, rel=1e-10, abs=1e-9)

    def test_a_planar_frame_turns_about_z_as_in_space(self) -> None:
        planar, spatial = Frame("plane", planar=True, gravity=0), Frame("space", gravity=0)
        for frame, places in ((planar, [[1, 0], [2, 0.5]]), (spatial, [[1, 0, 0], [2, 0.5, 0]])):
            frame.add_points(["A", "B"], places)
            up = None if frame is planar else (-0.5, 1, 0)
            frame.add_beam("b", "A", "B", section=Section.rectangle(0.02, 0.05), material="steel", elements=4, up=up)
            frame.add_support("A", "fixed")
        planar.add_mass("m", "B", 2.0, inertia=0.01, offset=(0.1, 0.1))
        spatial.add_mass("m", "B", 2.0, inertia=(0.0, 0.0, 0.01), offset=(0.1, 0.1, 0.0))
        flat = spin(assemble_structure(planar), "z", 40.0).dense().modes().frequencies
        full = spin(assemble_structure(spatial), "z", 40.0).dense().modes().frequencies
        for value in flat[:6]:
            assert np.abs(full / value - 1).min() < 1e-6

    def test_a_solid_turns_as_the_beam_it_is(self) -> None:
        """3 % in ω² for a root that cannot shrink and a coarse mesh; the spin adds the same to both, to 1 % of Ω²."""
        pytest.importorskip("skfem")
        steel = Material("m", E=210e9, density=7800.0, poisson=0.3)
        bar = Solid("bar", box_mesh((1.0, 0.05, 0.05), (20, 2, 2)), steel)
        bar.add_support("x=0", "xyz")
        beam = Frame("beam", gravity=0)
        beam.add_points(["A", "B"], [[0, 0.025, 0.025], [1, 0.025, 0.025]])
        beam.add_beam("b", "A", "B", section=Section.square(0.05), material=steel, elements=20)
        beam.add_support("A", "fixed")
        squares = []
        for model in (assemble_structure(bar), assemble_structure(beam)):
            found = [spin(model, "z", w, centre=(0, 0.025, 0.025)).modes(2).frequencies for w in (0.0, 300.0)]
            squares.append([found[0] ** 2, found[1] ** 2 - found[0] ** 2])
        assert squares[0][0] == pytest.approx(squares[1][0], rel=0.03)
        assert squares[0][1] == pytest.approx(squares[1][1], abs=0.01 * 300.0**2)

    def test_without_speed_nothing_changes(self) -> None:
        model = rig()
        still, system = spin(model, "z", 0.0), model.system()
        assert abs(still.K - system.K).max() == 0
        assert not still.G.count_nonzero()

    def test_names_inputs_and_provenance_travel_along(self) -> None:
        system = spin(rig(), (0, 0, 2), 3.0, inputs=["C.x"], outputs=["C.y"])
        assert system.inputs == ("C.x.force",)
        assert system.outputs == ("C.y",)
        assert system.provenance["speed"] == 3.0
        assert system.is_sparse

    @pytest.mark.parametrize(("axis", "speed", "code"), [
        ("w", 1.0, "unknown-choice"), ((0, 0), 1.0, "wrong-shape"), ((0, 0, 0), 1.0, "wrong-shape"),
        ("z", np.inf, "not-finite"), ("z", "fast", "not-a-number"),
    ])  # fmt: skip
    def test_a_wrong_axis_or_speed_is_refused(self, axis: object, speed: object, code: str) -> None:
        with raises(DataError, code):
            spin(rig(), axis, speed)

    def test_masses_that_differ_by_direction_are_refused(self) -> None:
        frame = Frame("odd", gravity=0)
        frame.add_points(["A", "B"], [[0, 0, 0], [1, 0, 0]])
        frame.add_beam("b", "A", "B", section=Section.circle(0.02), material="steel")
        frame.add_support("A", "fixed")
        frame.add_mass("m", "B", (1.0, 2.0, 1.0))
        with raises(DataError, "uneven-mass", "'B'"):
            spin(assemble_structure(frame), "z", 1.0)


class TestRotors:
    def test_a_body_that_is_not_round_is_refused(self) -> None:
        with raises(DataError, "not-round"):
            spin_rotor(rig(), "x", 10.0)

    def test_a_rotor_at_rest_has_no_gyroscopic_matrix(self) -> None:
        assert not spin_rotor(rig(), "x", 0.0).G.count_nonzero()

    def test_a_solid_is_refused(self) -> None:
        pytest.importorskip("skfem")
        with raises(DataError, "not-supported"):
            spin_rotor(assemble_structure(Solid("bar", box_mesh((1, 1, 1), (1, 1, 1)), "steel")), "x", 1.0)


STEEL = Material("steel", E=210e9, density=7850.0)


def test_a_blade_hinged_on_the_axis_flaps_once_per_turn():
    f = Frame("blade")
    f.add_points(["hub", "tip"], [[0, 0, 0], [4, 0, 0]])
    f.add_beam("blade", "hub", "tip", section=Section.rectangle(0.02, 0.2), material=STEEL, elements=8)
    f.add_support("hub", "xyz rx rz")
    for speed in (5.0, 30.0):
        assert spin(assemble_structure(f), "z", speed).modes(1).frequencies[0] == pytest.approx(speed, rel=1e-4)


def column(P=1.0):
    f = Frame("column", planar=True)
    f.add_points(["a", "b"], [[0, 0], [0, 3]])
    f.add_beam("c", "a", "b", section=Section.square(0.05), material=STEEL, elements=8)
    f.add_support("a")
    f.add_force("P", "b", (0, -P))
    return assemble_structure(f)


def test_a_rotor_needs_a_frame_in_space():
    with raises(DataError, "missing-rotations", "'column'"):
        spin_rotor(column(), "y", 10.0)
