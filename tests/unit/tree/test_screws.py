"""Twists and wrenches: change of frame, power, axes and pitches, and the equation of motion of a body in any frame.

Identities of a few dozen operations on numbers of order one: 1e-13 is their rounding.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as da
from tests.helpers.arms import arm, arm_states
from tests.helpers.findings import raises

EXACT = 1e-13
RNG = np.random.default_rng(7)
R = da.rotation(vector=(0.4, -0.7, 0.2)).matrix
D = np.array([0.3, -0.5, 0.2])


@pytest.mark.spec("002-B2")
def test_twists_and_wrenches_change_frames_and_keep_their_power() -> None:
    X, Xf = da.tree.twist_transform(R, D), da.tree.wrench_transform(R, D)
    assert np.abs(Xf.T @ X - np.eye(6)).max() < EXACT
    twist, wrench = RNG.normal(size=(2, 6))
    assert (X @ twist) @ (Xf @ wrench) == pytest.approx(twist @ wrench, abs=EXACT)
    # v at the origin outside is that of the body's point there
    w = R @ twist[3:]
    np.testing.assert_allclose(X @ twist, [*(R @ twist[:3] - np.cross(w, D)), *w], atol=EXACT)
    slide = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0])
    assert da.tree.twist_transform(np.eye(3), D) @ slide == pytest.approx(slide, abs=EXACT)
    plane = da.tree.twist_transform([[0.6, -0.8], [0.8, 0.6]], (0.1, 0.2))
    assert plane == pytest.approx(np.array([[0.6, -0.8, 0.2], [0.8, 0.6, -0.1], [0.0, 0.0, 1.0]]), abs=EXACT)


@pytest.mark.spec("002-B2")
def test_every_twist_and_wrench_is_a_screw_with_an_axis_and_a_pitch() -> None:
    for given, screw_of, move, along in (
        (RNG.normal(size=6), da.tree.screw_of_twist, da.tree.twist_transform, slice(3, 6)),
        (RNG.normal(size=6), da.tree.screw_of_wrench, da.tree.wrench_transform, slice(0, 3)),
    ):
        screw = screw_of(given)
        at_axis = np.linalg.inv(move(np.eye(3), screw.point)) @ given  # about a point of the axis
        other = np.delete(at_axis, range(6)[along])
        assert at_axis[along] == pytest.approx(screw.magnitude * screw.direction, abs=EXACT)
        assert other == pytest.approx(screw.pitch * screw.magnitude * screw.direction, abs=EXACT)
        assert screw.point @ screw.direction == pytest.approx(0.0, abs=EXACT)  # nearest to the origin


@pytest.mark.spec("002-B2")
def test_a_translation_and_a_couple_have_an_infinite_pitch() -> None:
    slide, couple = da.tree.screw_of_twist((0, 3, 4, 0, 0, 0)), da.tree.screw_of_wrench((0, 0, 0, 0, 0, 2))
    assert (slide.pitch, slide.magnitude) == (math.inf, 5.0)
    assert (couple.pitch, couple.magnitude) == (math.inf, 2.0)
    assert couple.direction == pytest.approx([0, 0, 1])
    with raises(da.errors.DataError, "zero-length"):
        da.tree.screw_of_twist(np.zeros(6))
    with raises(da.errors.DataError, "wrong-shape", "twist"):
        da.tree.screw_of_twist((1, 2, 3))


@pytest.mark.spec("002-B2")
def test_a_screw_joint_moves_its_body_along_the_screw_that_it_is() -> None:
    eqs = arm()
    state = eqs.state(q=arm_states(1)[0].q, v=[0.0, 0.0, 3.0])  # only the screw turns
    screw = da.tree.screw_of_twist(da.tree.twist(eqs, state, "hand", reference="world"))
    frame = da.tree.forward_kinematics(eqs, state, "lower")
    place = frame[:3, :3] @ [0.3, 0, 0] + frame[:3, 3]
    assert screw.direction == pytest.approx(frame[:3, 0], abs=EXACT)
    assert screw.pitch == pytest.approx(0.05 / (2 * math.pi), abs=EXACT)
    assert np.cross(place - screw.point, screw.direction) == pytest.approx(np.zeros(3), abs=EXACT)
    assert screw.magnitude == pytest.approx(3.0, abs=EXACT)


@pytest.mark.spec("002-B2", "002-B1")
def test_a_spatial_inertia_gives_the_newton_euler_equations_in_any_frame() -> None:
    """I a + v×* I v = wrench at a point off the mass centre, against m a* = f and I* ω̇ + ω × I* ω = τ*."""
    mass, c = 1.3, np.array([0.2, -0.1, 0.3])
    inertia = np.array([[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]])
    own = da.tree.spatial_inertia(mass, c, inertia)
    X, Xf = da.tree.twist_transform(np.eye(3), -c), da.tree.wrench_transform(np.eye(3), c)
    at_centre = np.block([[mass * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), inertia]])
    assert np.abs(own - Xf @ at_centre @ X).max() < EXACT
    v, w, rate, alpha = RNG.normal(size=(4, 3))
    twist = np.concatenate((v, w))
    found = own @ np.concatenate((rate, alpha)) + da.tree.wrench_cross(twist) @ own @ twist
    # velocity components in axes that turn with the body: a = v̇ + ω × v
    centre = rate + np.cross(w, v) + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
    torque = inertia @ alpha + np.cross(w, inertia @ w)
    assert found[:3] == pytest.approx(mass * centre, abs=EXACT)
    assert found[3:] == pytest.approx(torque + np.cross(c, mass * centre), abs=EXACT)


@pytest.mark.spec("002-B2")
def test_wrenches_on_bodies_have_the_power_of_their_efforts() -> None:
    eqs, (state,) = arm(), arm_states(1)
    wrench = RNG.normal(size=6)
    efforts = da.tree.wrench_efforts(eqs, state, {"hand.tip": wrench})
    assert efforts @ state.v == pytest.approx(wrench @ da.tree.twist(eqs, state, "hand.tip"), abs=1e-12)


def test_axes_and_origins_must_fit() -> None:
    with raises(da.errors.DataError, "wrong-shape", "(3, 3)", "(2,)"):
        da.tree.twist_transform(np.eye(3), (1, 2))
