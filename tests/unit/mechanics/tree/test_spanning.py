"""The spanning tree: which joints carry, which are cut, and what the user may choose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError, ModelWarning
from dalembert.mechanics.tree.spanning import describe_tree, span
from dalembert.solve.constrained import mass_factor

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
        ({"coordinates": "joint", "cut": None}, "wrong-type"),
        ({"coordinates": "joint", "cut": 3}, "wrong-type"),
        ({"coordinates": "joint", "absolute": [four_bar().bodies[0]]}, "wrong-type"),
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
    (found,) = eqs.findings
    assert (found.code, found.where) == ("joint-by-rows", {"joint": "A", "force": "bearing"})
    assert "'A'" in repr(eqs)


def _chain(count: int) -> da.Mechanism:
    m = da.Mechanism("chain", planar=True)
    place = m.ground.at(0, 0)
    for k in range(count):
        rod = m.add_body(f"rod{k}", mass=1.0, inertia=da.rod(1.0))
        m.add_revolute(f"joint{k}", place, rod.at(-0.5, 0))
        place = rod.at(0.5, 0)
    return m


@pytest.mark.filterwarnings("error")
def test_a_long_chain_is_advised_to_take_absolute_coordinates_before_it_is_built() -> None:
    with pytest.raises(ModelWarning) as caught:
        da.equations(_chain(201), coordinates="joint")
    assert caught.value.code == "slow-coordinates" and "coordinates='absolute'" in str(caught.value)
    many = _chain(1)
    for k in range(1000):  # not long: every body is carried by the ground alone
        many.add_revolute(f"arm{k}", many.ground.at(k, 1), many.add_body(f"arm{k}", mass=1.0, inertia=1.0).at(-0.5, 0))
    for m in (_chain(195), many):
        assert not describe_tree(m, span(m), {}, ())


def test_an_open_tree_moves_without_a_factor_of_its_mass_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, absolute = (da.equations(_chain(10), coordinates=kind) for kind in ("joint", "absolute"))
    expected = da.simulate(absolute, until=0.05)
    monkeypatch.setattr(mass_factor, "factor_block", None)  # calling it fails
    found = da.simulate(tree, until=0.05)
    np.testing.assert_allclose(found["joint9.angle"], expected["joint9.angle"], rtol=0, atol=1e-9)


def test_a_single_name_may_stand_alone() -> None:
    m = four_bar()
    assert {row.owner for row in da.equations(m, coordinates="joint", cut="C").rows} == {"C"}
    assert "coupler.x" in da.equations(m, coordinates="joint", absolute="coupler").coordinates.names


@pytest.mark.parametrize(("option", "name"), [("cut", "C"), ("absolute", "coupler")])
def test_a_joint_cut_twice_is_named(option: str, name: str) -> None:
    with pytest.raises(ModelError) as caught:
        da.equations(four_bar(), coordinates="joint", **{option: [name, name]})
    assert caught.value.code == "duplicate" and name in caught.value.where.values()
    assert caught.value.advice[0].parts[0].name == option


def test_a_body_in_no_tree_has_coordinates_of_its_own_and_equations_say_so() -> None:
    m = four_bar()
    ball = m.add_body("ball", mass=1.0, inertia=0.1)
    m.add_massless_rod("string", m.ground.at(0, 0), ball.at(0, 0), length=0.3)
    eqs = da.equations(m, coordinates="joint")
    (found,) = eqs.findings
    assert (found.code, found.where) == ("body-by-itself", {"body": "ball", "rows": ["string"]})
    assert not da.equations(m, coordinates="joint", absolute=["ball"]).findings
    chosen = da.Mechanism("chosen", planar=True)
    flying = chosen.add_body("flying", mass=1.0, inertia=0.1)
    chosen.add_planar("root", chosen.ground.at(0, 0), flying.at(0, 0))
    assert not da.equations(chosen, coordinates="joint").findings


def test_a_driver_that_closes_a_loop_with_a_free_body_is_a_row() -> None:
    """A body that a string and a driver hold: the same motion in both coordinates."""
    m = da.Mechanism("driven", planar=True)
    arm = m.add_body("arm", mass=1.0, inertia=da.rod(1.0))
    ball = m.add_body("ball", mass=0.5, inertia=0.01)
    m.add_revolute("A", m.ground.at(0, 0), arm.at(-0.5, 0))
    m.add_massless_rod("string", arm.at(0.5, 0), ball.at(0, 0), length=0.4)
    m.add_driver("shake", "ball.x", lambda t: 1.2 + 0.05 * da.sin(3 * t))
    runs = []
    for kind in ("absolute", "joint"):
        eqs = da.equations(m, coordinates=kind)
        still = {"A.angle": 0.1, "ball.angle": 0.0}
        start = da.assemble(eqs, still, velocity=dict.fromkeys(still, 0.0), guess={"ball.y": -0.3})
        runs.append(da.simulate(eqs, 1.0, start=start, every=0.01))
    assert {row.owner for row in eqs.rows} == {"string", "shake"} == set(eqs.findings[0].where["rows"])
    for name in ("A.angle", "ball.y", "string.force.x", "shake.effort"):
        # steps of relative tolerance 1e-9, efforts of some ten newtons
        np.testing.assert_allclose(runs[1][name], runs[0][name], rtol=0, atol=1e-6)


def test_the_base_of_a_floating_robot_is_the_body_that_no_joint_has_on_its_second_side() -> None:
    m = da.Mechanism("floating")
    hand, arm, base = (m.add_body(name, mass=1.0, inertia=da.box(0.1, 0.1, 0.1)) for name in ("hand", "arm", "base"))
    m.add_revolute("wrist", arm.at(0.1, 0, 0), hand.at(-0.1, 0, 0))
    m.add_revolute("shoulder", base.at(0.1, 0, 0), arm.at(-0.1, 0, 0))
    eqs = da.equations(m, coordinates="joint")
    base_names = [f"base.{c}" for c in ("x", "y", "z", "e0", "e1", "e2", "e3")]
    assert list(eqs.coordinates.names) == [*base_names, "shoulder.angle", "wrist.angle"]
