"""Conditions of forward and inverse dynamics, and inputs that do not fit."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ConvergenceError
from dalembert.symbolic.modular import Assembly, Leaf, modular_model
from dalembert.symbolic.modular.analysis import solving
from dalembert.symbolic.modular.analysis.kinematics import solve_motion, stabilized_rates
from dalembert.symbolic.modular.analysis.solving import (
    _friction_root,
    check_forward,
    check_inverse,
    constraint_forces,
    dry_friction,
    inverse_dynamics,
    inverse_law,
)
from tests.helpers.findings import raises


def carts() -> Assembly:
    """Two carts in a row, a force on each; the first may be without mass."""
    leaf = Leaf("a")
    m = leaf.add_parameter("m", 2.0, "kg")
    x = leaf.add_coordinate("x", "m")
    leaf.add_force(-m * leaf.rate(x, 2), "x.rate")
    leaf.add_input("F", "N", on="x.rate")
    return Assembly("carts", [leaf, leaf.copy("b")])


REST = {"a.x": 0.0, "b.x": 0.0}
MOVING = {**REST, "a.x.rate.rate": 1.5, "b.x.rate.rate": -0.5}


@pytest.mark.spec("002-G4", "002-G3")
def test_the_law_of_as_many_inputs_as_freedoms() -> None:
    model = modular_model(carts())
    assert check_inverse(model, ["a.F", "b.F"], MOVING).is_solvable
    assert inverse_dynamics(model, ["a.F", "b.F"], MOVING) == pytest.approx({"a.F": 3.0, "b.F": -1.0})
    law = inverse_law(model, ["a.F", "b.F"])
    value = model.motion.function([law["a.F"]], 2)(*model.motion.point(MOVING, 2))
    assert float(value) == pytest.approx(3.0)


@pytest.mark.spec("002-G4")
def test_too_few_inputs_and_wrong_names_are_refused() -> None:
    model = modular_model(carts())
    report = check_inverse(model, ["a.F"], MOVING)
    assert [one.code for one in report.findings] == ["too-few-inputs"]
    assert "fewer" in repr(report)
    for call in (lambda: inverse_dynamics(model, ["a.F"], MOVING), lambda: inverse_law(model, ["a.F"])):
        with pytest.raises(da.errors.ModelError) as caught:
            call()
        assert caught.value.code == "too-few-inputs"
    with pytest.raises(da.errors.ModelError) as caught:
        inverse_dynamics(model, ["a.G"], MOVING)
    assert caught.value.code == "unknown-name"
    with pytest.raises(da.errors.ModelError) as caught:
        constraint_forces(model, ["rail"], MOVING)
    assert caught.value.where["row"] == "rail"


@pytest.mark.spec("002-G4")
def test_inputs_on_the_same_motion_depend_on_each_other() -> None:
    both = carts()
    both.constrain(both["a.x"] == both["b.x"], "coupling")
    model = modular_model(both)
    report = check_inverse(model, ["a.F", "b.F"], REST)
    assert [one.code for one in report.findings] == ["not-unique"]
    moving = {**REST, "a.x.rate.rate": 1.0, "b.x.rate.rate": 1.0}
    found = inverse_dynamics(model, ["a.F", "b.F"], moving, weights={"a.F": 3.0, "b.F": 1.0})
    # smallest (3 F_a)² + F_b² with F_a + F_b = 4
    assert found == pytest.approx({"a.F": 0.4, "b.F": 3.6})
    with pytest.raises(da.errors.DataError) as caught:
        inverse_dynamics(model, ["a.F", "b.F"], moving, weights={"a.F": 0.0})
    assert caught.value.code == "not-positive"


@pytest.mark.spec("002-G1")
def test_a_freedom_without_mass_fails_the_condition_of_forward_dynamics() -> None:
    both = Assembly("carts", [carts().parts[0].copy("a"), carts().parts[0].copy("b", m=0.0)])
    report = check_forward(modular_model(both), REST)
    assert [one.code for one in report.findings] == ["not-positive-definite"]


@pytest.mark.spec("002-G6")
def test_freedoms_that_nothing_prescribes_are_counted() -> None:
    model = modular_model(carts())
    with pytest.raises(da.errors.ModelError) as caught:
        solve_motion(model, {"a.x": (0.0, 1.0, 0.0)}, REST)
    assert (caught.value.code, caught.value.finding.evidence["freedoms"]) == ("free-to-move", 1)
    with pytest.raises(da.errors.ModelError) as caught:
        stabilized_rates(model, {"a.x": 0.0})
    assert caught.value.code == "free-to-move"
    with pytest.raises(da.errors.ModelError) as caught:
        stabilized_rates(model, {"c.x": 0.0})
    assert caught.value.code == "unknown-name"


@pytest.mark.spec("002-G5")
def test_friction_needs_a_slip_and_a_force_of_its_own() -> None:
    model = modular_model(carts())
    with pytest.raises(da.errors.DataError) as caught:
        dry_friction(model, "a.F", [], "a.x.rate", 0.3, MOVING)
    assert caught.value.code == "missing-argument"
    with pytest.raises(da.errors.DataError) as caught:
        dry_friction(model, "a.F", [], "a.x.rate", 0.3, MOVING, inputs=["a.F"])
    assert caught.value.code == "conflicting-arguments"
    with pytest.raises(da.errors.DataError) as caught:
        dry_friction(model, "a.F", [], "a.x.rate", -0.3, MOVING)
    assert caught.value.code == "negative"


@pytest.mark.parametrize(("imaginary", "real"), [(3e-10, True), (3e-9, False)])
def test_a_root_with_an_imaginary_part_of_a_billionth_is_real(imaginary, real, monkeypatch):
    monkeypatch.setattr(np, "roots", lambda coefficients: np.array([1.0 + 1j * imaginary]))
    with nullcontext() if real else raises(ConvergenceError, "friction-unsettled"):
        assert _friction_root(np.ones(1), np.zeros(1), 0.5, 1.0) == 1.0


def codes(monkeypatch, residual: float = 0.0, inertia: float = 1.0) -> list[str]:
    """Findings on a state of two free coordinates with one invariant of this residual."""
    monkeypatch.setattr(solving, "_stack_at", lambda *parts: np.array([residual]))
    motion = SimpleNamespace(invariants=(SimpleNamespace(name="row", order=0),), point=lambda *parts: ())
    solver = (np.diag([1.0, inertia]), np.zeros(2), np.zeros((0, 2)), np.zeros(0))
    model = SimpleNamespace(motion=motion, acceleration_order=1, regular_rank=0, _solver=lambda *parts: solver)
    return [finding.code for finding in solving.check_forward(model, {}).findings]


@pytest.mark.parametrize(("residual", "found"), [(3e-9, []), (3e-8, ["joint-open"])])
def test_a_state_is_consistent_to_1e_8(residual, found, monkeypatch):
    assert codes(monkeypatch, residual=residual) == found


@pytest.mark.parametrize(("inertia", "found"), [(3e-13, ["not-positive-definite"]), (3e-12, [])])
def test_an_inertia_of_1e_12_of_the_largest_is_none(inertia, found, monkeypatch):
    assert codes(monkeypatch, inertia=inertia) == found
