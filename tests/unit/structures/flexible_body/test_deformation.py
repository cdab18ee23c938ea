"""From elastic coordinates back to the stresses of the finite-element model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import (
    BeamGauge,
    Frame,
    Section,
    Solid,
    assemble_structure,
    box_mesh,
    flexible_body,
    recover_deformation,
    solve_static,
)
from tests.helpers.findings import warns


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
    first = recover_deformation(solid, data, run, body="beam", at=0.0).stresses()[0]
    assert first.von_mises.max() < 1e-2 * still.von_mises.max()  # of the weight of the bar, which the modes lack
    # the second mode adds some percent; the weight of 40 kg is 100 times that of the bar
    assert found.von_mises.max() == pytest.approx(2 * still.von_mises.max(), rel=0.05)
    for given, code in (({"body": "beam"}, "missing-argument"), ({"at": 0.0}, "unknown-name")):
        with pytest.raises(da.errors.ModelError) as caught:
            recover_deformation(solid, data, run, **given)
        assert caught.value.code == code
    with pytest.raises(da.errors.ModelError) as caught:
        recover_deformation(solid, data, np.zeros(data.modes), at=0.0)
    assert caught.value.code == "ineffective-argument"


CLAMPED, CRAIG_BAMPTON = {"fixed": "root", "modes": 8}, {"modes": 2}


@pytest.mark.parametrize(
    ("how", "turning"),
    [
        pytest.param(CLAMPED, True, id="clamped, turning"),
        pytest.param(CRAIG_BAMPTON, False, id="craig-bampton, heavy", marks=pytest.mark.slow),
        pytest.param(CLAMPED, False, id="clamped, heavy", marks=pytest.mark.slow),
        pytest.param(CRAIG_BAMPTON, True, id="craig-bampton, turning", marks=pytest.mark.slow),
    ],
)
def test_stresses_of_a_run_contain_the_tension_of_rotation_and_weight(how: Any, turning: bool) -> None:
    """Bar on a hub about z, along the axis of gravity: σ = ρ [ω² (L² - x²)/2 + g (L - x)], which bending modes lack.

    The mean over a section away from the clamp; 2 % by the stress of elements of 33 mm at their nodes.
    """
    solid, speed, weight = bar(), 40.0, 5000.0
    data = flexible_body(solid, keep_shapes=True, damping=0.5, **how)
    m = da.Mechanism("rotor", gravity=(weight, 0, 0))
    body = m.add_flexible_body("beam", data)
    m.add_fixed("wall", m.ground.frame(0, 0, 0), body.frame("root"))
    x = solid.mesh.points[:, 0]
    if turning:
        m = da.Mechanism("rotor", gravity=0)
        body = m.add_flexible_body("beam", data)
        m.add_revolute("hub", m.ground.frame(0, 0, 0, axis=(0, 0, 1)), body.frame("root", axis=(0, 0, 1)))
        m.add_driver("drive", "hub.angle", lambda t: 10 * speed * t)
    eqs = da.equations(m)
    start = da.assemble(eqs, velocity={"hub.angle": 10 * speed}) if turning else da.assemble(eqs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.errors.SimulationWarning)
        run = da.simulate(eqs, 0.01, start=start, method=da.GeneralizedAlpha(step=2e-4), every=0.01, progress=False)
    with warns(da.errors.ModelWarning, "missing-shapes", "bar"):
        found = recover_deformation(solid, data, run, body="beam", at=0.01).stresses()[0]
    for place in (0.1, 0.2):
        stress = found.at_points[np.abs(x - place) < 1e-9, 0].mean()
        load = (10 * speed) ** 2 * (0.4**2 - place**2) / 2 if turning else weight * (0.4 - place)
        assert stress == pytest.approx(da.structures.material("steel").density * load, rel=0.02)


def test_shapes_under_inertia_loads_give_strain_gauges_the_tension_of_rotation() -> None:
    """ε = ρ ω² (L² - x²)/(2E) from the centrifugal force of the modes; of bending modes alone, nothing."""
    frame = Frame("bar", planar=True)
    frame.add_points(["root", "tip"], [[0, 0], [0.4, 0]])
    frame.add_beam("bar", "root", "tip", section=Section.rectangle(0.01, 0.03), material="steel", elements=20)
    gauges = {"gauge": BeamGauge(beam="bar", x=0.11)}  # the middle of an element
    strains = []
    for how in ({"static": ["acceleration", "centrifugal"]}, {}):
        for tie in ({"fixed": "root"}, {"reference": "root"}):
            data = flexible_body(frame, modes=3, gauges=gauges, **how, **tie)
            eta = np.linalg.solve(data.stiffness, data.moments[0, 0] + data.moments[1, 1])
            strains.append(float(data.gauges[0].row @ eta))
    steel = da.structures.material("steel")
    exact = steel.density * (0.4**2 - 0.11**2) / (2 * steel.E)
    assert strains[:2] == pytest.approx([exact, exact], rel=1e-3)
    assert abs(strains[2]) < 1e-6 * exact


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
