"""From elastic coordinates back to the stresses of the finite-element model."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import (
    Frame,
    Section,
    Solid,
    assemble,
    box_mesh,
    flexible_body,
    recover_deformation,
    solve_static,
)


def bar() -> Solid:
    solid = Solid("bar", box_mesh((0.4, 0.03, 0.01), (12, 2, 2), kind="hex20"), "steel")
    solid.add_interface("root", "x=0")
    solid.add_interface("tip", "x=0.4")
    return solid


def test_static_shapes_recover_the_stresses_of_statics() -> None:
    data = flexible_body(bar(), fixed="root", modes=2, static="tip", keep_shapes=True)
    force = np.array([500.0, 20.0, -40.0])
    eta = np.linalg.solve(data.stiffness, data.node("tip").translation.T @ force)
    found = recover_deformation(bar(), data, eta).stresses()[0]
    loaded = bar()
    loaded.add_support("root", "fixed")
    loaded.add_force("push", "tip", force)
    exact = solve_static(assemble(loaded), "push").stresses()[0]
    np.testing.assert_allclose(found.at_points, exact.at_points, atol=1e-5 * np.abs(exact.at_points).max())


def test_frames_recover_their_internal_forces() -> None:
    frame = Frame("link")
    frame.add_points(["root", "tip"], [[0, 0, 0], [0.5, 0, 0]])
    frame.add_beam("link", "root", "tip", section=Section.rectangle(0.01, 0.02), material="steel", elements=4)
    data = flexible_body(frame, fixed="root", modes=1, static="tip", keep_shapes=True)
    eta = np.linalg.solve(data.stiffness, data.node("tip").translation[2] * 10.0)
    along = recover_deformation(frame, data, eta).beam("link", stations=[0.0, 0.25])
    assert np.abs(along.M_z) == pytest.approx([5.0, 2.5], rel=1e-6)


def test_what_cannot_be_recovered_is_named() -> None:
    plain = flexible_body(bar(), fixed="root", modes=2)
    kept = flexible_body(bar(), fixed="root", modes=2, keep_shapes=True)
    other = Solid("other", box_mesh((0.4, 0.03, 0.01), (4, 1, 1)), "steel")
    for source, data, eta, code in (
        (bar(), plain, [0.0, 0.0], "missing-argument"),
        (bar(), kept, [0.0], "wrong-shape"),
        (other, kept, [0.0, 0.0], "wrong-owner"),
    ):
        with pytest.raises(da.errors.ModelError) as caught:
            recover_deformation(source, data, eta)
        assert caught.value.code == code
