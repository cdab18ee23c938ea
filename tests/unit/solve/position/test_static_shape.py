"""Static rest of elastic coordinates with the joints held."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import Frame, Section, flexible_body
from tests.helpers.flexible_parts import spatial_four_bar

LENGTH, RADIUS = 0.5, 0.003


def rod(modes: int = 4, length: float = LENGTH):
    frame = Frame("rod", planar=True)
    frame.add_points(["root", "tip"], [[0, 0], [length, 0]])
    frame.add_beam(
        "rod", "root", "tip", section=Section.circle(2 * RADIUS).without_shear(), material="steel", elements=10
    )
    return flexible_body(frame, basis="clamped", fixed="root", modes=modes)


def test_a_held_arm_sags_as_a_cantilever():
    """ρ A g cos α L⁴/8EI at the tip; four modes of a clamped beam hold 99.99 % of it."""
    m = da.Mechanism("arm", planar=True)
    data = rod()
    body = m.add_flexible_body("rod", data)
    m.add_revolute("A", m.ground.at(0, 0), body.at("root"))
    eqs = da.equations(m)
    state = da.assemble(eqs, {"A.angle": 0.3}, elastic="static")
    steel = da.structures.material("steel")
    theory = steel.density * 9.81 * np.cos(0.3) * LENGTH**4 / (2 * steel.E * RADIUS**2)
    tip = data.node("tip").translation[1] @ [state[f"rod.mode{k}"] for k in (1, 2, 3, 4)]
    assert tip == pytest.approx(-theory, rel=1e-3)
    assert state["A.angle"] == pytest.approx(0.3, abs=1e-12)


def test_a_closed_loop_is_at_rest_but_for_the_joint_that_is_held():
    """With the crank driven to its angle nothing else moves: the accelerations of the held machine vanish."""
    m = da.Mechanism("slider-crank", planar=True)
    crank = m.add_flexible_body("crank", rod(length=0.2))
    coupler = m.add_flexible_body("coupler", rod())
    slider = m.add_body("slider", mass=0.1, inertia=1e-4)
    m.add_revolute("A", m.ground.at(0, 0), crank.at("root"))
    m.add_revolute("B", crank.at("tip"), coupler.at("root"))
    m.add_revolute("C", coupler.at("tip"), slider.at(0, 0))
    m.add_prismatic("D", m.ground.at(0, 0), slider.at(0, 0))
    m.add_driver("hold", "A.angle", 0.7)
    eqs = da.equations(m)
    state = da.assemble(eqs, guess={"A.angle": 0.7, "B.angle": -1.0}, elastic="static")
    assert abs(state["coupler.mode1"]) > 1e-6
    found = da.forward_dynamics(eqs, state).acceleration
    assert np.abs(found).max() < 1e-6  # [m/s², rad/s², 1/s²], where weight alone gives 10


def test_a_rigid_machine_has_no_static_shape():
    m = da.Mechanism("rod", planar=True)
    body = m.add_body("rod", mass=1.0, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), body.at(-0.5, 0))
    eqs = da.equations(m)
    with pytest.raises(da.errors.ModelError) as caught:
        da.assemble(eqs, elastic="static")
    assert caught.value.code == "ineffective-argument"
    with pytest.raises(da.errors.DataError) as refused:
        da.assemble(eqs, elastic="loose")
    assert refused.value.code == "unknown-choice"


@pytest.mark.parametrize("modes", (1, 12))
def test_a_loop_closes_with_any_number_of_modes_and_leaves_them_at_zero(modes):
    eqs = da.equations(spatial_four_bar(modes))
    state = da.assemble(eqs, {"A.angle": 0.3})
    assert state["A.angle"] == pytest.approx(0.3, abs=1e-12)
    assert [state[name] for name in eqs.elastic] == [0.0] * len(eqs.elastic)
    assert np.isfinite(state.q).all()


def test_given_elastic_coordinates_are_kept_while_loops_close():
    eqs = da.equations(spatial_four_bar(2))
    state = da.assemble(eqs, {"A.angle": 0.3, "coupler.mode1": 1e-3})
    assert state["coupler.mode1"] == 1e-3 and state["rocker.mode1"] == 0.0


def test_a_loop_on_a_ball_joint_is_closed_at_static_rest_in_joint_coordinates() -> None:
    """Passes move Euler parameters off their length by 1e-12, the gap that counts as closed."""
    eqs = da.equations(spatial_four_bar(3, motion=0.3), coordinates="joint")
    state = da.assemble(eqs, elastic="static")
    assert np.abs(eqs.kernel("position")(state.q, eqs.p, 0.0)[0]).max() < 1e-12
