"""Geometric stiffness of flexible bodies under unit loads: frames of reference, sources and loads agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.model.flexible import CENTRIFUGAL
from dalembert.model.flexible_check import generalised_mass
from dalembert.structures import (
    Beam,
    Frame,
    Material,
    Section,
    Solid,
    assemble_structure,
    box_mesh,
    flexible_body,
    spin,
)


def beam_frame(elements: int = 16, **point: Any) -> Frame:
    frame = Frame("blade")
    frame.add_points(["root", "tip"], [[0, 0, 0], [1, 0, 0]])
    frame.add_beam("blade", "root", "tip", section=Section.rectangle(0.01, 0.02), material="steel", elements=elements)
    if point:
        frame.add_mass("weight", "tip", **point)
    return frame


def bent_frame() -> Frame:
    frame = Frame("bent")
    frame.add_points(["A", "B", "C"], [[0, 0, 0], [0.4, 0, 0.1], [0.5, 0.3, 0.2]])
    frame.add_beam("one", "A", "B", section=Section.rectangle(0.01, 0.02), material="steel", elements=8)
    frame.add_beam("two", "B", "C", section=Section.circle(0.02), material="steel", elements=8)
    frame.add_mass("weight", "C", 0.3, offset=(0.01, 0.02, 0))
    return frame


@pytest.mark.parametrize("axis", ["z", "y", (0.6, 0.0, 0.8), (0.48, 0.64, 0.6)])
def test_centrifugal_stiffness_is_that_of_the_spinning_structure(axis: Any) -> None:
    """K of `spin` with and without stiffening, projected on the modes; products of two axes enter once."""
    frame = bent_frame()
    data = flexible_body(frame, fixed="A", modes=8, stiffening=True)
    assert data.stiffening is not None and data.stiffening.centrifugal is not None
    frame.add_support("A", "fixed")
    s = assemble_structure(frame)
    speed = 30.0
    K, plain = (spin(s, axis, speed, stiffening=on).K.toarray() for on in (True, False))
    modes = s.modes(8)
    # the same modes from the supported structure, up to their signs
    shapes = modes.shapes / np.sqrt(np.einsum("ij,ij->j", modes.shapes, s.system().M @ modes.shapes))
    tip = s.expand(shapes)[s.index("C.x") : s.index("C.x") + 6]
    mine = np.vstack([data.node("C").translation, data.node("C").rotation])
    shapes = shapes * np.sign((tip * mine).sum(axis=0))
    expected = shapes.T @ (K - plain) @ shapes
    unit = np.array({"z": (0, 0, 1), "y": (0, 1, 0)}.get(axis, axis) if isinstance(axis, str) else axis, dtype=float)
    omega = speed * unit / np.linalg.norm(unit)
    found = sum(
        matrix * omega["xyz".index(pair[0])] * omega["xyz".index(pair[1])]
        for pair, matrix in zip(CENTRIFUGAL, data.stiffening.centrifugal)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_acceleration_along_an_axis_stiffens_as_gravity_does() -> None:
    frame = bent_frame()
    frame.add_support("A", "fixed")
    s = assemble_structure(frame)
    G = da.structures.geometric_stiffness(s, "gravity")  # 9.81 m/s² along −z: a frame that accelerates along +z
    data = flexible_body(bent_frame(), fixed="A", modes=6, stiffening="acceleration")
    assert data.stiffening is not None and data.stiffening.acceleration is not None
    shapes = s.expand(s.modes(6).shapes)
    shapes = shapes / np.sqrt(np.einsum("ij,ij->j", shapes, s.M @ shapes))
    tip = shapes[s.index("C.x") : s.index("C.x") + 6]
    shapes = shapes * np.sign((tip * np.vstack([data.node("C").translation, data.node("C").rotation])).sum(axis=0))
    expected = shapes.T @ (G @ shapes)
    np.testing.assert_allclose(
        9.81 * data.stiffening.acceleration[2], expected, rtol=0, atol=1e-6 * np.abs(expected).max()
    )


def test_a_body_that_falls_freely_is_not_stiffened_in_a_mean_axis() -> None:
    data = flexible_body(bent_frame(), basis="free", modes=6, stiffening=True)
    attached = flexible_body(bent_frame(), fixed="A", modes=6, stiffening=True)
    assert data.stiffening is not None and attached.stiffening is not None
    assert data.stiffening.acceleration is not None and attached.stiffening.acceleration is not None
    assert np.abs(data.stiffening.acceleration).max() < 1e-9 * np.abs(attached.stiffening.acceleration).max()


def test_balanced_pull_stiffens_alike_in_every_frame() -> None:
    """±1000 N along x, fixed in space, on both ends of a free beam: the same small motions in two frames.

    V = −Σ P·(r + θ × (u₀ + S η) + ½ θ × (θ × u₀)) beside the elastic energy; 30 interior modes.
    """
    found = []
    for reference in ("mean axis", "root"):
        data = flexible_body(beam_frame(8), reference=reference, modes=30, stiffening="forces")
        assert data.stiffening is not None
        forces, m = data.stiffening.forces, data.modes
        K = np.zeros((6 + m, 6 + m))
        K[6:, 6:] = data.stiffness
        for name, pull in (("tip", 1000.0), ("root", -1000.0)):
            P, node = np.array([pull, 0, 0]), data.node(name)
            cross = np.array([[0, -P[2], P[1]], [P[2], 0, -P[0]], [-P[1], P[0], 0]])
            K[3:6, 6:] += cross @ node.translation
            outer = np.outer(P, node.place)
            K[3:6, 3:6] += np.trace(outer) * np.eye(3) - 0.5 * (outer + outer.T)
            K[6:, 6:] += pull * forces[name][0] if name in forces else 0.0
        K[6:, 3:6] = K[3:6, 6:].T
        squares = scipy.linalg.eigvalsh(K, generalised_mass(data))
        found.append(np.sqrt(squares[squares > 100.0])[:8])
    assert found[0] == pytest.approx(found[1], rel=1e-5)
    plain = flexible_body(beam_frame(8), basis="free", modes=3)
    assert found[0][2] > 1.02 * plain.frequencies[0]  # two swings, then bending


def test_continuous_beams_and_frames_agree() -> None:
    """Loads per unit along the axis; 24 elements and eight modes of one plane."""
    section, steel = Section.rectangle(0.02, 0.01), Material("steel like", E=2e11, density=7800.0)
    frame = Frame("blade")
    frame.add_points(["start", "end"], [[0, 0, 0], [1, 0, 0]])
    frame.add_beam("blade", "start", "end", section=section, material=steel, elements=24, up=(0, 1, 0),
                   theory="euler-bernoulli", rotary=False)  # fmt: skip
    frame.add_mass("weight", "end", 0.5)
    one = flexible_body(frame, fixed="start", modes=12, stiffening=True)
    beam = Beam(1.0, section, steel, right=da.structures.End(mass=0.5))
    other = flexible_body(beam, modes=3, stiffening=True)
    kept = [k for k in range(12) if one.products[1, 1][k, k] > 0.5][:3]
    assert one.frequencies_hz[kept] == pytest.approx(other.frequencies_hz, rel=1e-5)
    assert one.stiffening is not None and other.stiffening is not None
    mine, theirs = one.stiffening, other.stiffening
    pairs = [
        (mine.centrifugal[2], theirs.centrifugal[2]),  # type: ignore[index]
        (mine.centrifugal[1], theirs.centrifugal[1]),  # type: ignore[index]
        (mine.acceleration[0], theirs.acceleration[0]),  # type: ignore[index]
        (mine.forces["end"][0], theirs.forces["end"][0]),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(found[np.ix_(kept, kept)], expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_free_continuous_beams_and_frames_agree() -> None:
    frame = beam_frame(24)
    one = flexible_body(frame, basis="free", modes=8, stiffening=True)
    section = Section.rectangle(0.01, 0.02)
    beam = Beam(1.0, section, "steel", left="free", right="free", direction="z")
    other = flexible_body(beam, modes=2, stiffening=True)
    assert one.stiffening is not None and other.stiffening is not None
    kept = [k for k in range(8) if one.products[2, 2][k, k] > 0.5][:2]
    # shear and rotary inertia of the frame: a slenderness of 100 makes 0.1 %
    for a, b in ((one.stiffening.centrifugal[2], other.stiffening.centrifugal[2]),  # type: ignore[index]
                 (one.stiffening.forces["tip"][0], other.stiffening.forces["end"][0])):  # fmt: skip
        np.testing.assert_allclose(np.abs(a[np.ix_(kept, kept)]), np.abs(b), rtol=0, atol=5e-3 * np.abs(b).max())


def test_a_free_continuous_beam_with_a_tip_mass_is_stiffened_as_its_frame() -> None:
    """In a mean axis the inertia of the tip mass takes its share of an axial force; 24 elements, two modes."""
    section, steel = Section.rectangle(0.02, 0.01), Material("steel like", E=2e11, density=7800.0)
    frame = Frame("blade")
    frame.add_points(["start", "end"], [[0, 0, 0], [1, 0, 0]])
    frame.add_beam("blade", "start", "end", section=section, material=steel, elements=24, up=(0, 1, 0),
                   theory="euler-bernoulli", rotary=False)  # fmt: skip
    frame.add_mass("weight", "end", 0.5)
    one = flexible_body(frame, basis="free", modes=10, stiffening="forces")
    beam = Beam(1.0, section, steel, left="free", right=da.structures.End(mass=0.5))
    other = flexible_body(beam, modes=2, stiffening="forces")
    assert one.stiffening is not None and other.stiffening is not None
    kept = [k for k in range(10) if one.products[1, 1][k, k] > 0.5][:2]
    assert one.frequencies_hz[kept] == pytest.approx(other.frequencies_hz, rel=1e-5)
    for node in ("start", "end"):
        found, expected = one.stiffening.forces[node][0][np.ix_(kept, kept)], other.stiffening.forces[node][0]
        np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=0, atol=1e-4 * np.abs(expected).max())


def test_solids_are_stiffened_as_their_beams() -> None:
    """1 x 0.05 x 0.02 m; the first mode bends along z. 2 % by the clamp and by Poisson's ratio."""
    solid = Solid("bar", box_mesh((1, 0.05, 0.02), (20, 2, 1), kind="hex20"), "steel")
    solid.add_interface("root", "x=0")
    solid.add_interface("tip", "x=1")
    one = flexible_body(solid, fixed="root", modes=1, stiffening=True)
    frame = Frame("bar")
    frame.add_points(["root", "tip"], [[0, 0.025, 0.01], [1, 0.025, 0.01]])
    frame.add_beam("bar", "root", "tip", section=Section.rectangle(0.02, 0.05), material="steel", elements=20)
    other = flexible_body(frame, fixed="root", modes=1, stiffening=True)
    assert one.stiffening is not None and other.stiffening is not None
    for a, b in (
        (one.stiffening.centrifugal[2], other.stiffening.centrifugal[2]),  # type: ignore[index]
        (one.stiffening.acceleration[0], other.stiffening.acceleration[0]),  # type: ignore[index]
        (one.stiffening.forces["tip"][0], other.stiffening.forces["tip"][0]),
    ):
        assert a[0, 0] == pytest.approx(b[0, 0], rel=0.02)


def test_matrices_alone_have_no_internal_forces() -> None:
    s = assemble_structure(Solid("bar", box_mesh((1, 0.1, 0.05), (4, 1, 1)), "steel"))
    with pytest.raises(da.errors.DataError) as caught:
        flexible_body((s.M, s.K), positions=s.positions, basis="free", nodes={"a": "p0"}, modes=2, stiffening=True)
    assert caught.value.code == "not-supported"


def test_only_the_kinds_asked_for_are_there() -> None:
    data = flexible_body(beam_frame(), fixed="root", modes=2, stiffening=["forces"])
    assert data.stiffening is not None
    assert data.stiffening.centrifugal is None and data.stiffening.acceleration is None
    assert set(data.stiffening.forces) == {"tip"}
    assert flexible_body(beam_frame(), fixed="root", modes=2, stiffening=False).stiffening is None


@pytest.mark.parametrize("way", [{"fixed": ["A", "C"]}, {"interfaces": ["C"], "reference": "A"}, {}, {"basis": "free"}])
def test_only_the_node_of_the_frame_takes_the_reaction(way: Any) -> None:
    """Stiffness under the acceleration along x between two shapes of its own, whatever basis they were found with."""
    data = flexible_body(bent_frame(), modes=4, keep_shapes=True, stiffening=True, **{"reference": "A", **way})
    assert data.finite_elements is not None and data.finite_elements.shapes is not None
    own = flexible_body(bent_frame(), modes=data.finite_elements.shapes, stiffening=True, reference="A")
    assert own.stiffening is not None and data.stiffening is not None
    for found, expected in (
        (data.stiffening.acceleration, own.stiffening.acceleration),
        (data.stiffening.centrifugal, own.stiffening.centrifugal),
        (data.stiffening.forces["C"], own.stiffening.forces["C"]),
    ):
        assert found is not None and expected is not None
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
