"""From elastic coordinates back to the stresses of the finite-element model."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import (
    Frame,
    Section,
    Solid,
    assemble_structure,
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
    exact = solve_static(assemble_structure(loaded), "push").stresses()[0]
    np.testing.assert_allclose(found.at_points, exact.at_points, rtol=0, atol=1e-5 * np.abs(exact.at_points).max())


@pytest.mark.slow
def test_a_run_gives_the_stresses_of_a_solid_at_any_time() -> None:
    """A bar with a weight at its tip, released from rest, swings between no stress and twice that of statics."""
    solid = bar()
    data = flexible_body(solid, fixed="root", modes=1, static="tip", keep_shapes=True)
    m = da.Mechanism("cantilever", gravity=(0, 0, -9.81))
    body = m.add_flexible_body("beam", data)
    load = m.add_body("load", mass=40.0, inertia=1e-3, position=(0.4, 0.0, 0.0))
    m.add_fixed("wall", m.ground.frame(0, 0, 0), body.frame("root"))
    m.add_fixed("clamp", body.frame("tip"), load.frame(0, 0, 0))
    eqs = da.equations(m)
    rest = da.equilibrium(eqs)
    still = recover_deformation(solid, data, [rest[f"beam.mode{k + 1}"] for k in range(data.modes)]).stresses()[0]
    run = da.simulate(eqs, 0.2, method=da.GeneralizedAlpha(step=1e-4), every=1e-3, progress=False)
    late = float(run.time[np.argmin(run["beam.mode1"] * np.sign(rest["beam.mode1"]) * -1.0)])
    found = recover_deformation(solid, data, run, body="beam", at=late).stresses()[0]
    assert recover_deformation(solid, data, run, body="beam", at=0.0).stresses()[0].von_mises.max() == 0.0
    # the second mode adds some percent; the weight of 40 kg is 100 times that of the bar
    assert found.von_mises.max() == pytest.approx(2 * still.von_mises.max(), rel=0.05)
    for given, code in (({"body": "beam"}, "missing-argument"), ({"at": 0.0}, "unknown-name")):
        with pytest.raises(da.errors.ModelError) as caught:
            recover_deformation(solid, data, run, **given)
        assert caught.value.code == code
    with pytest.raises(da.errors.ModelError) as caught:
        recover_deformation(solid, data, np.zeros(data.modes), at=0.0)
    assert caught.value.code == "ineffective-argument"


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
