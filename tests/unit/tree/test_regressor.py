"""Efforts of trees are linear in their dynamic parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DataError, ModelError
from tests.helpers.joint_coordinates import random_state, random_tree
from tests.helpers.robots import planar_arm

KINDS = ["revolute", "universal", "spherical", "planar", "screw", "fixed", "cylindrical", "prismatic"]


@pytest.mark.spec("002-B3")
@pytest.mark.parametrize("reverse", [False, True])
def test_the_regressor_times_the_parameters_is_the_effort(reverse: bool) -> None:
    m = random_tree(KINDS, [reverse] * len(KINDS), 4)
    base, arm = (m.add_body(name, mass=1.5, inertia=[0.5, 0.6, 0.7]) for name in ("base", "arm"))  # floats
    m.add_revolute("shoulder", base.at(0.1, 0.2, 0.3), arm.at(0.3, -0.1, 0.2), axis=(1, 2, 3))
    eqs = da.equations(m, coordinates="joint")
    state, a = random_state(eqs, 1), np.random.default_rng(2).normal(size=eqs.nv)
    efforts = da.tree.inverse_dynamics(eqs, state, a)
    found = da.tree.regressor(eqs, state, a) @ da.tree.dynamic_parameters(eqs).values
    # sums of some hundred products up to 10: rounding of 1e-15 each
    np.testing.assert_allclose(found, efforts, rtol=0, atol=1e-12)


def test_many_states_at_once_are_those_of_single_ones() -> None:
    eqs = da.equations(planar_arm(3), coordinates="joint")
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 40, 3))
    many = da.tree.regressor(eqs, (q, v), a, friction=("viscous", "coulomb"), rotors=True)
    assert many.shape == (40, 3, 3 * 4 + 3 * 3)
    one = da.tree.regressor(eqs, eqs.state(q[7], v[7]), a[7], friction=("viscous", "coulomb"), rotors=True)
    np.testing.assert_allclose(many[7], one, rtol=0, atol=1e-13)


def test_joints_have_columns_of_friction_and_rotors() -> None:
    eqs = da.equations(planar_arm(), coordinates="joint")
    v, a = np.array([2.0, -0.5]), np.array([3.0, 4.0])
    options: dict[str, Any] = {"friction": ("viscous", "coulomb", "offset"), "rotors": True, "joints": "B"}
    names = da.tree.dynamic_parameters(eqs, **options).names
    assert names[-4:] == ("B.viscous", "B.coulomb", "B.offset", "B.rotor")
    Y = da.tree.regressor(eqs, (np.zeros(2), v), a, **options)[:, -4:]
    np.testing.assert_allclose(Y, [[0, 0, 0, 0], [-0.5, -1, 1, 4]])
    smooth = da.tree.regressor(eqs, (np.zeros(2), v), a, speed=0.5, **options)[1, -3]
    assert smooth == pytest.approx(-0.5 / np.hypot(0.5, 0.5))


def test_parameters_have_names_units_and_the_values_of_the_drawing() -> None:
    m = da.Mechanism("rod")
    length = m.parameter("length", 2.0)
    rod = m.add_body("rod", mass=3.0, inertia=da.rod(length))
    m.add_revolute("hinge", m.ground.at(0, 0, 0), rod.at(-length / 2, 0, 0), axis=(0, 0, 1), x=(1, 0, 0))
    found = da.tree.dynamic_parameters(da.equations(m, coordinates="joint").replace(length=1.0))
    assert found["rod.mass"] == 3.0 and found["rod.hx"] == pytest.approx(1.5) and found["rod.Jzz"] == pytest.approx(1.0)
    assert dict(zip(found.names, found.units, strict=True))["rod.hx"] == "kg m"
    assert "rod.Jzz" in found.table()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"friction": "dry"}, "unknown-choice"),
        ({"friction": "viscous", "joints": ["Z"]}, "unknown-name"),
        ({"speed": -1.0}, "negative"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], code: str) -> None:
    eqs = da.equations(planar_arm(), coordinates="joint")
    with pytest.raises(DataError) as caught:
        da.tree.regressor(eqs, eqs.state(), **options)
    assert caught.value.code == code


def test_absolute_coordinates_have_no_regressor() -> None:
    eqs = da.equations(planar_arm())
    with pytest.raises(ModelError) as caught:
        da.tree.dynamic_parameters(eqs)
    assert caught.value.code == "wrong-type"
