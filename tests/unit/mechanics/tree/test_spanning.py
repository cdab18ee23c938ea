"""The spanning tree: which joints carry, which are cut, and what the user may choose."""

from __future__ import annotations

from pathlib import Path

import pytest

import dalembert as da
from dalembert.errors import ModelError

LIBRARY = Path(da.__file__).parent / "library"


def four_bar() -> da.Mechanism:
    return da.read_model(LIBRARY / "four-bar.toml")


def test_a_loop_is_cut_once() -> None:
    eqs = da.equations(four_bar(), coordinates="joint")
    assert (eqs.nv, len(eqs.rows)) == (3, 2)
    assert len({row.owner for row in eqs.rows}) == 1


@pytest.mark.parametrize("name", ["A", "B", "C", "D"])
def test_the_user_chooses_the_cut(name: str) -> None:
    eqs = da.equations(four_bar(), coordinates="joint", cut=[name])
    assert {row.owner for row in eqs.rows} == {name}


def test_a_body_may_keep_coordinates_of_its_own() -> None:
    eqs = da.equations(four_bar(), coordinates="joint", absolute=["coupler"])
    assert {"coupler.x", "coupler.y", "coupler.angle"} <= set(eqs.coordinates.names)
    assert (eqs.nv, len(eqs.rows)) == (5, 4)


def test_all_joints_cut_are_absolute_coordinates() -> None:
    eqs = da.equations(four_bar(), coordinates="joint", cut=["A", "B", "C", "D"])
    assert (eqs.nv, len(eqs.rows)) == (9, 8)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"coordinates": "polar"}, "unknown-choice"),
        ({"coordinates": "joint", "cut": ["Z"]}, "unknown-name"),
        ({"coordinates": "joint", "absolute": ["lever"]}, "unknown-name"),
        ({"cut": ["A"]}, "conflicting-arguments"),
        ({"tree": True}, "unknown-name"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, object], code: str) -> None:
    with pytest.raises(ModelError) as caught:
        da.equations(four_bar(), **options)
    assert caught.value.code == code


def test_friction_that_depends_on_a_reaction_keeps_its_joint_as_rows() -> None:
    m = da.Mechanism("arm", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_friction("bearing", joint="A", coulomb=0.2, radius=0.01)
    eqs = da.equations(m, coordinates="joint")
    assert {row.owner for row in eqs.rows} == {"A"}
