"""Which unknown forces a motion determines, and where not (spec 004, C26), on machines with closed loops."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelError
from dalembert.equations import State
from dalembert.estimate import model_forces
from tests.helpers.findings import raises

BOTH = ("known-from-unknown", "unknown-from-known")


@cache
def slider_crank(inclined: float) -> da.EquationsOfMotion:
    """Crank 0.3, rod 0.6, guide through the axis at an angle; forces along and across the guide, and one at the pin."""
    m = da.Mechanism("slider-crank", planar=True)
    c, s = np.cos(inclined), np.sin(inclined)
    crank = m.add_body("crank", mass=1.0, inertia=da.rod(0.3), position=(0.15 * c, 0.15 * s), angle=inclined)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(0.6), position=(0.6 * c, 0.6 * s), angle=inclined)
    slider = m.add_body("slider", mass=1.0, inertia=0.01, position=(0.9 * c, 0.9 * s))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.15, 0))
    m.add_revolute("B", crank.at(0.15, 0), rod.at(-0.3, 0))
    m.add_revolute("C", rod.at(0.3, 0), slider.at(0, 0))
    m.add_prismatic("guide", m.ground.at(0, 0), slider.at(0, 0), axis=(c, s))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_force("push", slider.at(0, 0), (c, s), input="along")
    m.add_force("side", slider.at(0, 0), (-s, c), input="across")
    return da.equations(m)


def standing(model: da.estimate.ForceModel, angle: float) -> da.Record:
    t = np.linspace(0.0, 1.0, 11)
    return da.Record(t, np.column_stack([np.full(11, angle), 0 * t, 0 * t]), model.motion.names)


@pytest.mark.spec("004-C26")
@pytest.mark.parametrize("form", BOTH)
@pytest.mark.parametrize("inclined", [0.0, 0.3])
def test_a_force_that_the_joints_take_is_refused_whatever_its_direction(form: str, inclined: float) -> None:
    """Across an inclined guide what is left of it is rounding, 1e-17, and no force that could be determined."""
    with raises(ModelError, "undetermined-force"):
        model_forces(slider_crank(inclined), independent="A.angle", known="torque", unknown="across", form=form)


@pytest.mark.spec("004-C24", "004-C26")
def test_a_measured_force_that_moves_nothing_does_not_serve_the_first_form() -> None:
    """B₁ must have an inverse; the second form divides by B₂ only and may read it."""
    options = {"independent": "A.angle", "known": "across", "unknown": "along"}
    with raises(ModelError, "undetermined-force"):
        model_forces(slider_crank(0.3), **options)
    assert model_forces(slider_crank(0.3), form=BOTH[1], **options).known == ("across",)


@pytest.mark.spec("004-C26")
@pytest.mark.parametrize("form", BOTH)
def test_two_forces_that_do_the_same_are_not_distinguished(form: str) -> None:
    """Two pushes in one line on the first link: two freedoms, two unknowns, one effect."""
    m = da.Mechanism("arm", planar=True, gravity=(0, 0))
    upper = m.add_body("upper", mass=1.0, inertia=da.rod(0.4), position=(0.2, 0))
    lower = m.add_body("lower", mass=1.0, inertia=da.rod(0.4), position=(0.6, 0))
    m.add_revolute("A", m.ground.at(0, 0), upper.at(-0.2, 0))
    m.add_revolute("B", upper.at(0.2, 0), lower.at(-0.2, 0))
    m.add_actuator("shoulder", joint="A", input="t1")
    m.add_actuator("elbow", joint="B", input="t2")
    for k, place in enumerate((0.0, 0.1)):
        m.add_force(f"push{k}", upper.at(place, 0), (0, 1), axes="body", input=f"push{k}")
    with raises(ModelError, "undetermined-force"):
        model_forces(m, independent=["A.angle", "B.angle"], known=["t1", "t2"], unknown=["push0", "push1"], form=form)


@pytest.mark.spec("004-C26")
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, np.pi - 1e-4])
def test_a_machine_that_stands_at_a_dead_centre_is_reported(angle: float) -> None:
    """However little of the force is left there, and although it never gets any better on this motion."""
    model = model_forces(slider_crank(0.0), independent="A.angle", known="torque", unknown="along")
    report = model.check(standing(model, angle))
    assert not report.well_posed
    assert "along moves nothing (100 % of the motion)" in report.verdict
    assert model.check(standing(model, 1.0)).well_posed


@pytest.mark.spec("004-C25", "004-C26")
def test_where_the_measured_force_moves_nothing_the_other_form_is_advised() -> None:
    """The torque is sought and the push measured: f₁₂ divides by S, f₂₁ by one. Choose the form that exists."""
    options = {"independent": "A.angle", "known": "along", "unknown": "torque"}
    first, second = (model_forces(slider_crank(0.0), form=form, **options) for form in BOTH)
    t = np.linspace(0.0, 1.0, 2001)
    through = da.Record(t, np.column_stack([-1.0 + 2 * t, 2 + 0 * t, 0 * t]), first.motion.names)
    report = first.check(through)
    assert not report.well_posed
    assert "t = 0.5 s" in report.verdict and "along moves nothing (less than 1 % of the motion)" in report.verdict
    assert "use form='unknown-from-known'" in report.verdict
    assert second.check(through).well_posed


@pytest.mark.spec("004-C30")
def test_the_open_loop_estimate_says_nothing_where_nothing_can_be_determined() -> None:
    """At S = 0 no force is a solution, and zero would be a lie; elsewhere F = -T/S at rest without weight."""
    model = model_forces(slider_crank(0.0), independent="A.angle", known="torque", unknown="along")
    torque = da.Record(np.linspace(0.0, 1.0, 11), np.ones((11, 1)), ["torque"])
    assert np.isnan(model.algebraic(standing(model, 0.0), torque)["along"]).all()
    assert np.isfinite(model.algebraic(standing(model, 0.01), torque)["along"]).all()


# --- closed loops ----------------------------------------------------------------------------------------------------


@cache
def four_bar() -> tuple[da.EquationsOfMotion, State, da.Record]:
    """The crank-rocker of the library, closed the open way, with a force on the rocker; its motion and forces."""
    m = da.read_model("four-bar")
    rocker = next(body for body in m.bodies if body.name == "rocker")
    m.add_force("load", rocker.at(0, 0), (1, 0), input="load")
    eqs = da.equations(m)
    at = da.assemble(eqs, **m.start)
    times = np.arange(101) * 2e-3
    run = da.inverse_dynamics(
        eqs, {"A.angle": lambda t: at["A.angle"] + 4.0 * t}, times=times, inputs=["torque"], start=at
    )
    return eqs, at, run


def of_four_bar(start: State | None) -> da.estimate.ForceModel:
    return model_forces(four_bar()[0], independent="A.angle", known="torque", unknown="load", start=start)


def told_by_a_filter(run: da.Record, *more: str) -> da.Record:
    names = ["A.angle", "A.rate", "A.acceleration", *more]
    return da.Record(run.time, np.column_stack([run[name] for name in names]), names)


@pytest.mark.spec("004-C12", "004-C30")
def test_forces_are_found_on_the_branch_that_the_machine_is_on() -> None:
    """No load acts: zero to rounding on the branch of the state, newtons off on the one that is drawn."""
    _, at, run = four_bar()
    motion = told_by_a_filter(run)
    assert np.abs(of_four_bar(at).algebraic(motion, run)["load"]).max() < 1e-9
    assert np.abs(of_four_bar(None).algebraic(motion, run)["load"]).max() > 1.0


@pytest.mark.spec("004-C12")
def test_a_motion_that_closes_its_loops_another_way_is_refused() -> None:
    """Where the record has a joint that the drawn branch would have elsewhere; a whole pose is simply taken."""
    _, at, run = four_bar()
    with raises(ModelError, "inconsistent-motion", "C.angle", "da.assemble", "start"):
        of_four_bar(None).check(told_by_a_filter(run, "C.angle"))
    of_four_bar(at).check(told_by_a_filter(run, "C.angle"))
    assert np.abs(of_four_bar(None).algebraic(run, run)["load"]).max() < 1e-9


def test_a_motion_that_cannot_be_is_refused() -> None:
    """The rocker of a crank-rocker cannot go round."""
    eqs, at, _ = four_bar()
    model = model_forces(eqs, independent="D.angle", known="torque", unknown="load", start=at)
    t = np.linspace(0.0, 1.0, 201)
    motion = da.Record(t, np.column_stack([at["D.angle"] + 3.0 * t, 3.0 + 0 * t, 0 * t]), model.motion.names)
    with raises(ModelError, "inconsistent-motion", "'four-bar'"):
        model.check(motion)


@pytest.mark.parametrize(
    ("given", "why"), [("run", ("wrong-type",)), (da.Record([0.0], [[1.0]], ["A.angle"]), ("unknown-name",))]
)
def test_what_is_no_motion_is_refused(given: object, why: str) -> None:
    with raises(ModelError, *why):
        of_four_bar(None).check(given)


def test_noise_and_starts_are_asked_for_by_name() -> None:
    model = of_four_bar(None)
    with raises(ModelError, "unknown-name", "'torque'"):
        model.noise(1e-3, {"torqe": 1.0})
    with raises(ModelError, "missing-argument"):
        model.noise(1e-3, {})
    with raises(ModelError, "missing-argument", "'load'"):
        model.noise(1e-3, 1.0)
    with raises(ModelError, "wrong-type", "start"):
        model_forces(four_bar()[0], independent="A.angle", known="torque", unknown="load", start={"A.angle": 1.0})
