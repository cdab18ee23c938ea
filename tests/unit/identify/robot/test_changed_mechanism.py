"""Other inertias of bodies in the same places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.identify.robot.changed_mechanism import NewInertia, change_inertia

LIBRARY = Path(da.__file__).parent / "library"


def crank() -> da.Mechanism:
    m = da.Mechanism("crank", planar=True)
    rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0), position=(0.5, 0.0), angle=0.3, points={"tip": (0.5, 0.0)})
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_spring("S", m.ground.at(1, 1), rod.at("tip"), stiffness=50.0, free_length=0.2)
    m.add_sensor("tip", da.position(rod.at("tip")))
    return m


def test_places_stay_where_they_are_and_the_weight_moves() -> None:
    m = crank()
    changed = change_inertia(m, {"rod": NewInertia(3.0, np.array([0.1, 0.05]), 0.4)})
    runs = []
    for one in (m, changed):
        eqs = da.equations(one, coordinates="joint")
        at = da.assemble(eqs, {"A": 0.4})
        runs.append(at)
        torque = da.tree.inverse_dynamics(eqs, at)[0]
        c = np.array([0.5, 0.0]) if one is m else np.array([0.6, 0.05])
        arm = c[0] * np.cos(0.4) - c[1] * np.sin(0.4)
        assert torque == pytest.approx((2.0 if one is m else 3.0) * 9.81 * arm)
    tips = [da.simulate(s.eqs, 0.001, start=s)[["tip.x", "tip.y"]][0] for s in runs]
    np.testing.assert_allclose(tips[0], tips[1], atol=1e-12)
    assert changed["rod"].at("tip").coordinates == pytest.approx((0.4, -0.05))
    assert m["rod"].mass == 2.0 and m["rod"].shape is not None  # the mechanism itself is as before


def test_nothing_changes_where_nothing_is_changed() -> None:
    m = da.read_model(LIBRARY / "six-joint-arm.toml")
    same = {
        body.name: NewInertia(
            float(body.mass), np.zeros(3), np.array([[float(x) for x in row] for row in body.inertia])
        )
        for body in m.bodies
    }
    one, other = (da.equations(x, coordinates="joint") for x in (m, change_inertia(m, same)))
    np.testing.assert_allclose(
        da.tree.dynamic_parameters(one).values, da.tree.dynamic_parameters(other).values, atol=1e-14
    )
    assert da.assemble(one, {"q2": 0.3}).q == pytest.approx(da.assemble(other, {"q2": 0.3}).q)


def test_it_goes_through_a_model_file(tmp_path: Path) -> None:
    changed = change_inertia(crank(), {"rod": NewInertia(3.0, np.array([0.1, 0.05]), 0.4)})
    da.write_model(changed, tmp_path / "crank.toml")
    again = da.read_model(tmp_path / "crank.toml")
    assert again["rod"].at("tip").coordinates == pytest.approx(changed["rod"].at("tip").coordinates)
    assert float(again["rod"].inertia) == pytest.approx(0.4)


def test_an_unknown_body_is_refused() -> None:
    with pytest.raises(ModelError) as caught:
        change_inertia(crank(), {"bar": NewInertia(3.0, np.zeros(2), 0.4)})
    assert caught.value.code == "unknown-name"
