"""Explicit steps that follow a fast vibration are reported, with the method to take."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.solve.integrate.judge.vibrations import find_fastest_vibration
from dalembert.structures import Frame, Section, flexible_body
from tests.helpers.findings import warns


def arm(modes: int, cutoff_hz: float | None = None) -> da.EquationsOfMotion:
    """A strip on a hinge with a bob; frame and modes in the plane."""
    frame = Frame("arm", planar=True)
    frame.add_points(["root", "tip"], [[0, 0], [0.5, 0]])
    frame.add_beam("arm", "root", "tip", section=Section.rectangle(0.005, 0.03), material="steel", elements=12)
    data = flexible_body(frame, basis="clamped", fixed="root", modes=modes, static="tip.x", damping=1e-3)
    m = da.Mechanism("arm", planar=True)
    given = {} if cutoff_hz is None else {"cutoff_hz": cutoff_hz}
    body = m.add_flexible_body("link", data, **given)
    bob = m.add_body("bob", mass=0.1, inertia=1e-5, position=(0.5, 0))
    m.add_revolute("hub", m.ground.at(0, 0), body.at("root"))
    m.add_fixed("clamp", body.at("tip"), bob.at(0, 0))
    return da.equations(m)


@pytest.mark.slow
def test_the_fastest_vibration_is_that_of_the_linear_model() -> None:
    """The pose hanging down at rest: its stiffness has weight too, far below that of the fastest mode."""
    eqs = arm(4)
    rest = da.equilibrium(eqs)
    found = find_fastest_vibration(eqs, rest.q, rest.v, rest.z, 0.0)
    exact = da.linearize(eqs, at=rest).modes().frequencies
    assert found is not None and found.body == "link"
    assert found.omega == pytest.approx(exact.max(), rel=1e-6)
    assert found.lowest == pytest.approx(np.sort(exact)[1], rel=0.02)  # after the swing, which no stiffness holds


def test_a_machine_without_elastic_coordinates_has_none() -> None:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    eqs = da.equations(m)
    state = da.assemble(eqs)
    assert find_fastest_vibration(eqs, state.q, state.v, state.z, 0.0) is None


def test_explicit_steps_that_follow_a_vibration_are_reported_with_a_method() -> None:
    eqs = arm(6)
    with warns(da.errors.SimulationWarning, "fast-vibration", "'link'", "da.GeneralizedAlpha", "cutoff_hz=") as warned:
        run = da.simulate(eqs, 2.0, start=da.assemble(eqs), every=0.1, progress=False)
    found = warned[0].message.finding.evidence
    assert found["frequency"] > 5 * found["lowest"]
    assert "GeneralizedAlpha" in run.statistics["advice"]


@pytest.mark.slow
def test_the_methods_that_are_advised_take_few_steps_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eqs = arm(6)
        run = da.simulate(eqs, 0.5, start=da.assemble(eqs), method=da.GeneralizedAlpha(step=1e-3), every=0.1,
                          progress=False)  # fmt: skip
        slow = arm(6, cutoff_hz=100.0)
        other = da.simulate(slow, 0.5, start=da.assemble(slow), every=0.1, progress=False)
    assert other.statistics["steps"] < 5000
    assert run["hub.angle"] == pytest.approx(other["hub.angle"], abs=2e-3)
