"""Deflections, strains and curvatures of flexible bodies as outputs."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import BeamGauge, Frame, Section, flexible_body


@pytest.fixture(scope="module")
def cantilever():
    """A steel strip of 0.5 m, clamped at its root, with gauges at its root and nodes along it."""
    frame = Frame("strip", planar=True)
    frame.add_points(["root", "middle", "tip"], [[0, 0], [0.25, 0], [0.5, 0]])
    section = Section.rectangle(0.004, 0.03).without_shear()
    for name, ends in (("inner", ("root", "middle")), ("outer", ("middle", "tip"))):
        frame.add_beam(name, *ends, section=section, material="steel", elements=8)
    gauges = {
        "strain": BeamGauge(0.0, y=0.002, beam="inner"),
        "bend": BeamGauge(0.0, beam="inner", quantity="curvature"),
    }
    return flexible_body(frame, basis="clamped", fixed="root", modes=3, static="tip.y", gauges=gauges)


def held_strip(data, load: float) -> da.EquationsOfMotion:
    """The strip welded to the ground, with a force at its tip."""
    m = da.Mechanism("strip", planar=True, gravity=0)
    body = m.add_flexible_body("strip", data, position=(0, 0))
    m.add_fixed("clamp", m.ground.at(0, 0), body.at("root"))
    m.add_force("load", body.at("tip"), (0, load))
    m.add_sensor("tip", da.deflection(body.at("tip")))
    m.add_sensor("chord", da.deflection(body.at("middle"), start=body.at("root"), end=body.at("tip")))
    m.add_sensor("strain", da.strain(body, "strain"))
    m.add_sensor("bend", da.curvature(body, "bend"))
    return da.equations(m)


def outputs_at_rest(eqs: da.EquationsOfMotion) -> dict[str, float]:
    state = da.equilibrium(eqs)
    zero = np.zeros(eqs.nv)
    values = eqs.functions["outputs"](state.q, zero, zero, state.lam, state.z, [], eqs.p, 0.0)
    return dict(zip(eqs.outputs.names, np.array(values).ravel(), strict=True))


def test_a_static_load_gives_the_deflections_and_strains_of_beam_theory(cantilever):
    """The static shape of the load is among the modes, so that only rounding and the stiffness matrix remain.

    F L³/3EI at the tip, 5/16 of it at the middle (3/16 from the chord), curvature F L/EI at the root.
    """
    load, length, height, width = -0.1, 0.5, 0.004, 0.03
    EI = da.structures.material("steel").E * width * height**3 / 12
    eqs = held_strip(cantilever, load)
    found = outputs_at_rest(eqs)
    tip = load * length**3 / (3 * EI)
    assert found["tip.y"] == pytest.approx(tip, rel=1e-6)
    assert found["chord.y"] == pytest.approx((5 / 16 - 1 / 2) * tip, rel=1e-6)
    assert abs(found["bend"]) == pytest.approx(abs(load) * length / EI, rel=1e-3)
    assert abs(found["strain"]) == pytest.approx(abs(found["bend"]) * height / 2, rel=1e-9)


def test_a_torque_at_a_node_bends_the_body(cantilever):
    """M L/EI at the tip; the static shape of a force does not hold that of a torque exactly, three modes to 1 %."""
    m = da.Mechanism("strip", planar=True, gravity=0)
    body = m.add_flexible_body("strip", cantilever, position=(0, 0))
    m.add_fixed("clamp", m.ground.at(0, 0), body.at("root"))
    m.add_torque("twist", body, 0.05, node="tip")
    m.add_sensor("tip", da.deflection(body.at("tip")))
    eqs = da.equations(m)
    EI = da.structures.material("steel").E * 0.03 * 0.004**3 / 12
    assert outputs_at_rest(eqs)["tip.y"] == pytest.approx(0.05 * 0.5**2 / (2 * EI), rel=1e-2)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda m, body: m.add_torque("T", body, 1.0), "missing-argument"),
        (lambda m, body: m.add_torque("T", body, 1.0, node="nowhere"), "unknown-name"),
        (lambda m, body: m.add_sensor("s", da.strain(body, "nowhere")), "unknown-name"),
        (lambda m, body: m.add_sensor("s", da.deflection(body)), "wrong-type"),
        (lambda m, body: m.add_sensor("s", da.deflection(body.at("tip"), start=body.at("root"))), "missing-argument"),
        (lambda m, body: body.at(0.1, 0.2), "no-node"),
        (lambda m, body: m.add_flexible_body("more", "data"), "wrong-type"),
        (lambda m, body: m.add_flexible_body("more", body.flexible, cutoff_hz=0.0), "not-positive"),
    ],
)
def test_what_does_not_fit_a_flexible_body_is_refused(cantilever, make, code):
    m = da.Mechanism("strip", planar=True)
    body = m.add_flexible_body("strip", cantilever)
    with pytest.raises(da.errors.ModelError) as caught:
        make(m, body)
    assert caught.value.code == code


def test_a_rigid_body_has_no_deflection():
    m = da.Mechanism("rod", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=1.0)
    with pytest.raises(da.errors.ModelError) as caught:
        m.add_sensor("s", da.deflection(rod.at(0, 0)))
    assert caught.value.code == "wrong-type"


def test_no_frequency_of_a_machine_is_above_the_cutoff(cantilever):
    m = da.Mechanism("free", planar=True, gravity=0)
    m.add_flexible_body("strip", cantilever, cutoff_hz=60.0)
    eqs = da.equations(m)
    free = da.linearize(eqs, at=da.assemble(eqs)).modes().frequencies
    assert np.max(free) == pytest.approx(2 * np.pi * 60.0, rel=1e-9)
    limited = da.equilibrium(held_strip(cantilever.limit_frequencies(20.0), -0.1))
    plain = da.equilibrium(held_strip(cantilever, -0.1))
    assert limited.q == pytest.approx(plain.q, abs=1e-12)  # compliance stays
