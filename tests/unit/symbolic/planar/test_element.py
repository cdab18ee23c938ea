"""The planar body with nodes against its formulas."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.symbolic.planar.element import locate_center, rotate, to_body_axes, turn


def test_places_in_body_axes_give_the_drawn_ones_back() -> None:
    places = [ca.SX([0.3, -0.2]), ca.SX([1.0, 0.7]), ca.SX([-0.4, 0.9])]
    angle, own = to_body_axes(places, None)
    for place, s in zip(places, own, strict=True):
        back = ca.DM(ca.evalf(places[0] + rotate(angle, s) - place))
        assert float(ca.norm_2(back)) < 1e-15
    assert float(ca.evalf(angle)) == pytest.approx(np.arctan2(0.9, 0.7))
    assert float(ca.evalf(turn(ca.SX([2.0, 3.0]))[0])) == -3.0


def test_the_centre_of_mass_is_beside_its_nodes() -> None:
    center = ca.DM(ca.evalf(locate_center(ca.SX([1.0, 0.0]), ca.SX([3.0, 0.0]), 0.25, 0.5)))
    assert np.array(center).ravel() == pytest.approx([1.5, 1.0])


@pytest.mark.spec("002-A15", "002-T5")
def test_velocities_of_nodes_follow_from_the_centre_and_the_spin() -> None:
    """Complement of a free body: v_k = v* + ω (h r_ij - g ẑ×r_ij + ẑ×r_ik), with nodes i, j and numbers g, h."""
    g, h = 0.3, -0.45
    m = da.symbolic.PlanarModel("body")
    places = [(0.1, 0.2), (1.3, -0.4), (0.6, 0.9), (-0.5, 0.3)]
    m.add_body("b", places, mass=1.0, inertia=0.2, center=(g, h), between=(3, 2))
    i, j = "b.3", "b.2"
    center = []
    for c, other, sign in (("x", "y", -1), ("y", "x", 1)):
        speed = m.add_speed(f"center.v{c}", unit="m/s")
        along = {axis: m[f"{j}.v{axis}"] - m[f"{i}.v{axis}"] for axis in "xy"}
        m.add_constraint(speed - (m[f"{i}.v{c}"] + g * along[c] + sign * h * along[other]), name=f"center {c}")
        center.append(f"center.v{c}")
    d = da.symbolic.derive_linkage(m, independent=[*center, "b.rate"])
    turned = 0.7  # another pose than the drawn one
    c, s = np.cos(turned), np.sin(turned)
    p = np.array(places) @ np.array([[c, s], [-s, c]]) + [2.0, -1.0]
    q = np.zeros(len(d.coordinates))
    for k, place in enumerate(p, start=1):
        q[[d.coordinates.index(f"b.{k}.{axis}") for axis in "xy"]] = place
    q[d.coordinates.index("b.angle")] = np.arctan2(*(p[1] - p[0])[::-1])
    found = d.evaluate(q)
    (ix, iy), (jx, jy) = p[2], p[1]
    for k, (kx, ky) in enumerate(p, start=1):
        rows = [
            [1, 0, (1 - g) * iy + g * jy + h * (jx - ix) - ky],
            [0, 1, -(1 - g) * ix - g * jx + h * (jy - iy) + kx],
        ]
        mine = found["C"][[d.speeds.index(f"b.{k}.v{axis}") for axis in "xy"]]
        assert mine == pytest.approx(np.array(rows), abs=1e-14)
    assert d.degrees_of_freedom == 3 and np.abs(found["A"] @ found["C"]).max() < 1e-14


@pytest.mark.spec("002-I3")
def test_mass_matrix_and_forces_of_a_body_are_those_of_the_source() -> None:
    """-m [[-a3,0,a5,a2],[0,-a3,-a2,a5],[a5,-a2,-a4,0],[a2,a5,0,-a4]] on the nodes, I on the spin (5.26), and (5.25)."""
    a1, a2, mass, inertia, gravity = 0.35, -0.2, 1.7, 0.4, (0.6, -9.0)
    m = da.symbolic.PlanarModel("body", gravity=gravity)
    m.add_body("b", [(0, 0), (1, 0.3)], mass=mass, inertia=inertia, center=(a1, a2))
    m.add_torque("T", "b", 5.0)
    found = da.symbolic.derive_linkage(m).evaluate()
    a3, a4, a5 = (a1 - 1) ** 2 + a2**2, a1**2 + a2**2, a2**2 + (a1 - 1) * a1
    book = -mass * np.array([[-a3, 0, a5, a2], [0, -a3, -a2, a5], [a5, -a2, -a4, 0], [a2, a5, 0, -a4]])
    assert found["M"][:4, :4] == pytest.approx(book, abs=1e-15) and found["M"][4, 4] == inertia
    share = np.array([[1 - a1, -a2], [a2, 1 - a1], [a1, a2], [-a2, a1]])
    assert found["f"].ravel() == pytest.approx([*(share @ np.array(gravity) * mass), 5.0], abs=1e-14)
