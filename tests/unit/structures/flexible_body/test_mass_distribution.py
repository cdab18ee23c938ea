"""The mass of every kind of element, as bodies that move: sums over them are those of the mass matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import Frame, Section, Solid, assemble_structure, box_mesh
from dalembert.structures.flexible_body.inertia_integrals import clean, clean_pairs, integrate
from dalembert.structures.flexible_body.mass_distribution import distribute

ROD = Section.rectangle(0.03, 0.02)


def start(planar: bool = False) -> Frame:
    frame = Frame("frame", planar=planar)
    places = [[0, 0, 0], [0.5, 0.1, 0.2], [0.9, 0.5, 0.1], [0.3, 0.8, 0.4]]
    frame.add_points(["A", "B", "C", "D"], [place[:2] for place in places] if planar else places)
    return frame


def plain(frame: Frame, **options: Any) -> Frame:
    frame.add_beam("one", "A", "B", section=ROD, material="steel", elements=2, **options)
    frame.add_beam("two", "B", "C", section=Section.circle(0.02), material="aluminium", elements=2, **options)
    frame.add_beam("three", "C", "D", section=ROD, material="steel")
    return frame


def with_arms() -> Frame:
    return plain(start(), offsets=((0.02, 0.01, 0.0), (0.0, -0.03, 0.01)))


def with_releases() -> Frame:
    frame = start()
    frame.add_beam("one", "A", "B", section=ROD, material="steel", elements=2)
    frame.add_beam("two", "B", "C", section=ROD, material="steel", elements=2, releases={"start": "rz ry"})
    frame.add_beam("three", "C", "D", section=ROD, material="steel")
    return frame


def with_links() -> Frame:
    frame = plain(start())
    frame.add_point("E", 0.3, 1.0, 0.5)
    frame.add_rigid("arm", "D", "E")
    frame.add_mass("weight", "E", 0.7, inertia=(1e-3, 2e-3, 3e-3), offset=(0.05, 0.0, 0.02))
    return frame


def with_bars() -> Frame:
    frame = plain(start())
    frame.add_bar("stay", "A", "C", section=Section.circle(0.01), material="steel")
    frame.add_bar("light stay", "A", "D", section=Section.circle(0.01), material="steel", mass="lumped")
    return frame


def with_taper() -> Frame:
    return plain(start(), end_section=Section.rectangle(0.01, 0.01))


CASES: dict[str, Callable[[], Frame | Solid]] = {
    "beams": lambda: plain(start()),
    "slender beams": lambda: plain(start(), theory="euler-bernoulli", rotary=False),
    "lumped beams": lambda: plain(start(), mass="lumped"),
    "planar": lambda: plain(start(planar=True)),
    "arms": with_arms,
    "releases": with_releases,
    "rigid links and masses": with_links,
    "bars": with_bars,
    "taper": with_taper,
    "hexahedra": lambda: Solid("box", box_mesh((1, 0.5, 0.2), (2, 2, 1), kind="hex20"), "steel"),
    "tetrahedra": lambda: Solid("box", box_mesh((1, 0.5, 0.2), (2, 2, 1), kind="tet10"), "steel"),
}


@pytest.mark.parametrize("case", CASES)
def test_sums_over_bodies_are_those_of_the_mass_matrix(case: str) -> None:
    """ΦᵀMΦ, RᵀMΦ and RᵀMR of random shapes of the free coordinates: rounding."""
    s = assemble_structure(CASES[case]())
    shapes = s.expand(np.random.default_rng(1).standard_normal((len(s.free), 5)))
    found = integrate(distribute(s), shapes)
    modal = shapes.T @ (s.M @ shapes)
    np.testing.assert_allclose(found.modal_mass, modal, rtol=0, atol=1e-12 * np.abs(modal).max())
    assert found.mass == pytest.approx(s.mass(), rel=1e-12)
    R, names = s.rigid_motions(), s.rigid_names
    coupling, rigid = R.T @ (s.M @ shapes), R.T @ (s.M @ R)
    for k, name in enumerate(names):
        mine = found.rotation["xyz".index(name[1])] if name[0] == "r" else found.translation["xyz".index(name)]
        np.testing.assert_allclose(mine, coupling[k], rtol=0, atol=1e-12 * np.abs(coupling).max(), err_msg=name)
        if name[0] == "r":
            axis = "xyz".index(name[1])
            assert found.inertia[axis, axis] == pytest.approx(rigid[k, k], rel=1e-11)


@pytest.mark.parametrize("case", ["beams", "arms", "rigid links and masses", "hexahedra", "tetrahedra"])
def test_lumped_masses_keep_mass_and_have_a_matrix_of_their_own(case: str) -> None:
    s = assemble_structure(CASES[case]())
    lumped = distribute(s, lumped=True)
    shapes = s.expand(np.random.default_rng(2).standard_normal((len(s.free), 3)))
    found = integrate(lumped, shapes)
    modal = shapes.T @ (lumped.M @ shapes)
    np.testing.assert_allclose(found.modal_mass, modal, rtol=0, atol=1e-12 * np.abs(modal).max())
    assert found.mass == pytest.approx(s.mass(), rel=1e-12)
    assert lumped.shared is None and (lumped.mass >= 0).all()


def test_own_elements_are_sliced_by_themselves() -> None:
    from dataclasses import dataclass

    from dalembert.structures import FrameElement, RigidSlices

    @dataclass(frozen=True)
    class Ball(FrameElement):
        """A mass halfway between two points."""

        name: str
        points: tuple[str, str]

        def slices(self, places: Any) -> RigidSlices:
            shapes = np.zeros((1, 6, 12))
            shapes[0, :, :6] = shapes[0, :, 6:] = 0.5 * np.eye(6)
            return RigidSlices(shapes, np.array([2.0]), 0.1 * np.eye(3)[None], places.mean(axis=0)[None])

        def mass_matrix(self, places: Any) -> Any:
            half = self.slices(places).shapes[0]
            return half.T @ np.diag([2.0, 2.0, 2.0, 0.1, 0.1, 0.1]) @ half

    frame = plain(start())
    frame.elements.append(Ball("ball", ("A", "B")))
    s = assemble_structure(frame)
    shapes = np.random.default_rng(3).standard_normal((len(s.coordinates), 3))
    modal = shapes.T @ (s.M @ shapes)
    np.testing.assert_allclose(
        integrate(distribute(s), shapes).modal_mass, modal, rtol=0, atol=1e-12 * np.abs(modal).max()
    )


def test_a_structure_without_mass_is_refused() -> None:
    light = da.structures.Material("nothing", E=1e9, density=0.0)
    frame = start()
    frame.add_beam("one", "A", "B", section=ROD, material=light)
    frame.add_beam("two", "B", "C", section=ROD, material=light)
    frame.add_beam("three", "C", "D", section=ROD, material=light)
    with pytest.raises(da.errors.DalembertError) as caught:
        distribute(assemble_structure(frame))
    assert caught.value.code == "no-mass"


def test_rounding_becomes_zero_relative_to_what_it_belongs_to() -> None:
    values = np.array([[1.0, 1e-13], [-1e-13, 1e-20]])
    assert clean(values).tolist() == [[1.0, 0.0], [0.0, 0.0]]
    # a soft mode beside a stiff one keeps its stiffness
    assert clean_pairs(np.diag([1e-3, 1e14])).tolist() == [[1e-3, 0.0], [0.0, 1e14]]
    assert clean_pairs(np.array([[1.0, 1e-9], [1e-9, 1e8]])).tolist() == [[1.0, 0.0], [0.0, 1e8]]
