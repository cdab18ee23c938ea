"""Inertia of shapes against closed forms and against integration; composites against the parallel-axis theorem."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def gyration(shape: object) -> np.ndarray:
    return np.array(shape.gyration, dtype=float)  # type: ignore[attr-defined]


def test_shapes_have_their_closed_forms() -> None:
    assert gyration(da.rod(2.0)) == pytest.approx(np.diag([0, 4 / 12, 4 / 12]))
    assert gyration(da.rod(2.0, axis="z")) == pytest.approx(np.diag([4 / 12, 4 / 12, 0]))
    assert gyration(da.box(1.0, 2.0, 3.0)) == pytest.approx(np.diag([13 / 12, 10 / 12, 5 / 12]))
    assert gyration(da.cylinder(0.5, 2.0)) == pytest.approx(np.diag([4.75 / 12, 4.75 / 12, 0.125]))
    assert gyration(da.cylinder(0.5, axis="y")) == pytest.approx(np.diag([0.0625, 0.125, 0.0625]))
    assert gyration(da.sphere(0.5)) == pytest.approx(np.diag([0.1, 0.1, 0.1]))
    assert gyration(da.sphere(0.5, hollow=True)) == pytest.approx(np.diag([1 / 6, 1 / 6, 1 / 6]))


def test_box_agrees_with_integration_over_its_points() -> None:
    """Midpoint rule on 40³ cells: error of second moments 1/40² of an edge's own, 6e-4 relative."""
    edges = (1.0, 2.0, 0.5)
    x, y, z = np.meshgrid(*[e * ((np.arange(40) + 0.5) / 40 - 0.5) for e in edges], indexing="ij")
    exact = [np.mean(y**2 + z**2), np.mean(x**2 + z**2), np.mean(x**2 + y**2)]
    assert np.diag(gyration(da.box(*edges))) == pytest.approx(exact, rel=7e-4)


def test_two_half_boxes_make_a_whole_one() -> None:
    """The parallel-axis theorem: halves at ±1/4 of the length."""
    half = da.box(0.5, 0.2, 0.3)
    whole = da.composite((half, 1.0, (-0.25, 0, 0)), (half, 1.0, (0.25, 0, 0)))
    assert whole.mass == 2.0
    assert whole.center == pytest.approx((0, 0, 0), abs=1e-15)
    assert np.array(whole.inertia) == pytest.approx(2 * gyration(da.box(1.0, 0.2, 0.3)), abs=1e-15)


def test_composite_has_products_of_inertia_and_a_centre() -> None:
    """Point masses 1 and 3 kg: I = Σ m (r² 1 - r rᵀ) about the centre of mass."""
    places, masses = np.array([[0.0, 0, 0], [1.0, 2.0, -1.0]]), np.array([1.0, 3.0])
    parts = [(da.sphere(0.0), mass, tuple(place)) for mass, place in zip(masses, places, strict=True)]
    body = da.composite(*parts)
    center = masses @ places / 4
    exact = sum(
        mass * (np.dot(r, r) * np.eye(3) - np.outer(r, r)) for mass, r in zip(masses, places - center, strict=True)
    )
    assert body.center == pytest.approx(center)
    assert np.array(body.inertia) == pytest.approx(exact)


@pytest.mark.parametrize("planar", [True, False])
def test_pendulum_of_a_composite_swings_like_its_parts(planar: bool) -> None:
    """Rod 1 m, 2 kg with a disc of 3 kg at its end; points are measured from the origin of the parts."""
    m = da.Mechanism("clock", planar=planar, gravity=(0, -9.81) if planar else (0, -9.81, 0))
    parts = ((da.rod(1.0), 2.0, (0.5, 0)), (da.cylinder(0.1), 3.0, (1.0, 0)))
    body = m.add_body("b", inertia=da.composite(*parts))
    zero = (0, 0) if planar else (0, 0, 0)
    m.add_revolute("A", m.ground.at(zero), body.at(zero))
    run = da.simulate(da.equations(m), 1.0)
    inertia = 2 / 3 + 3 * (1 + 0.1**2 / 2)
    moment = 2 * 0.5 + 3
    energy = 0.5 * inertia * run["A.rate"] ** 2 + moment * 9.81 * np.sin(run["A.angle"])
    assert np.abs(energy).max() < 1e-8  # from rest at the horizontal; the run holds 1e-9 per step


def test_inertia_may_be_a_number_three_numbers_or_a_matrix() -> None:
    m = da.Mechanism("forms")
    full = ((0.3, 0.02, -0.01), (0.02, 0.4, 0.03), (-0.01, 0.03, 0.5))
    m.add_body("one", mass=1.0, inertia=0.2)
    m.add_body("three", mass=1.0, inertia=(0.3, 0.4, 0.5))
    m.add_body("full", mass=1.0, inertia=full)
    eqs = da.equations(m)
    (M,) = eqs.kernel("inertia")(np.array(eqs.placement.q), eqs.p, 0.0)
    assert M[3:6, 3:6] == pytest.approx(0.2 * np.eye(3))
    assert M[9:12, 9:12] == pytest.approx(np.diag([0.3, 0.4, 0.5]))
    assert M[15:18, 15:18] == pytest.approx(np.array(full))
    assert np.diag(M)[:3] == pytest.approx(1.0)
