"""Synthesis by linear matrix inequalities: the same optimum as Riccati equations, regions, families, reasons."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.control import PoleRegion, h2, hinf, lmi_output_feedback, lmi_state_feedback
from dalembert.core.errors import ConvergenceError, DataError, MissingExtraError
from dalembert.linear import StateSpace
from tests.helpers.findings import raises
from tests.helpers.robust_plants import spring_chain

pytest.importorskip("clarabel")


REGIONS = [PoleRegion(damping=0.6), PoleRegion(decay=0.7), PoleRegion(radius=2.5, decay=0.2),
           PoleRegion(damping=0.5, decay=0.5, radius=6.0)]  # fmt: skip


def family(*stiffness: float) -> list[StateSpace]:
    """Two masses, a spring of each stiffness."""
    models = []
    for k in stiffness:
        K = k * np.array([[1.0, -1.0], [-1.0, 1.0]])
        A = np.block([[np.zeros((2, 2)), np.eye(2)], [-K, -0.01 * K]])
        models.append(StateSpace(A, [[0], [0], [1], [0]], inputs="push", states=["q1", "q2", "q1.rate", "q2.rate"]))
    return models


@pytest.mark.spec("001-C57")
def test_both_norms_have_the_optimum_of_the_riccati_equations():
    plant = spring_chain(2)
    names = {"outputs": "reading", "inputs": "push"}
    by_lmi = lmi_output_feedback(plant, minimum="H-infinity", **names)
    assert by_lmi.bounds[1] == pytest.approx(hinf(plant, **names).bounds[1], rel=1e-4)
    assert by_lmi.achieved <= 1.021 * by_lmi.bounds[1]
    quadratic = lmi_output_feedback(plant, minimum="H2", **names)
    assert quadratic.bounds[1] == pytest.approx(h2(plant, **names).achieved, rel=1e-4)


@pytest.mark.spec("001-C56")
@pytest.mark.parametrize("region", REGIONS, ids=lambda each: each.words())
def test_poles_of_every_model_are_in_the_region(region):
    models = family(0.8, 1.0, 1.3)
    design = lmi_state_feedback(models, inputs="push", region=region)
    for model in models:
        poles = np.linalg.eigvals(model.A + model.B @ design.controller.D)
        assert np.all(region.excess(poles) <= 1e-9)
    assert len({goal.model for goal in design.goals}) == 3 and all(goal.holds for goal in design.goals)


def test_a_norm_is_minimised_under_the_limit_of_another_and_a_region():
    plant = spring_chain(2)
    best = hinf(plant, outputs="reading", inputs="push").bounds[1]
    design = lmi_output_feedback(plant, outputs="reading", inputs="push", minimum="H2", hinf_limit=2.5 * best,
                                 region=PoleRegion(radius=30.0))  # fmt: skip
    assert design.peak.gain <= 2.5 * best and design.fastest <= 30.0
    assert h2(plant, outputs="reading", inputs="push").achieved <= design.achieved <= 1.021 * design.bounds[1]


@pytest.mark.spec("001-C56", "001-T9")
def test_a_cone_of_half_angle_60_degrees_is_a_damping_of_one_half():
    """a = 0.866 and b = 0.5 are damping 0.5, not 0.3."""
    on_edge = 3.0 * np.exp(1j * np.deg2rad(120.0))
    assert abs(PoleRegion(damping=0.5).excess(np.array([on_edge]))[0]) < 1e-12


def test_a_mode_that_no_input_moves_is_the_reason_and_has_its_name():
    """A mode out of the plane of the joints: outside the region, so that no gain brings it inside."""
    plane = family(1.0)[0]
    A = np.block([[plane.A, np.zeros((4, 2))], [np.zeros((2, 4)), np.array([[0.0, 1.0], [-4.0, -0.004]])]])
    both = StateSpace(A, np.vstack([plane.B, np.zeros((2, 1))]), inputs="push",
                      states=[*plane.states, "out", "out.rate"])  # fmt: skip
    with raises(DataError, "not-reachable", "out", "model 1") as caught:
        lmi_state_feedback(both, inputs="push", region=PoleRegion(damping=0.3))
    assert caught.value.finding.evidence["modes"]
    assert lmi_state_feedback(both, inputs="push").is_stable  # it decays: no region, no obstacle


def test_what_is_infeasible_has_its_reason():
    models = family(0.2, 5.0)
    opposite = [models[0], models[1].replace(B=-models[1].B)]
    with raises(ConvergenceError, "infeasible", "each of the 2 models alone"):
        lmi_state_feedback(opposite, inputs="push", region=PoleRegion(damping=0.5, decay=0.5))
    plant = spring_chain(2)
    with raises(ConvergenceError, "infeasible", "H-infinity norm below"):
        lmi_output_feedback(plant, outputs="reading", inputs="push", hinf_limit=0.1)
    with raises(DataError, "empty"):
        PoleRegion(decay=3.0, radius=2.0)
    with raises(DataError, "channel-mismatch"):
        lmi_state_feedback([models[0], models[1].replace(inputs="pull")], inputs="push")


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    import importlib

    original = importlib.import_module

    def absent(name, *rest):
        if name == "clarabel":
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(importlib, "import_module", absent)
    with raises(MissingExtraError, "missing-extra", "robust"):
        lmi_state_feedback(family(1.0), inputs="push", region=PoleRegion(decay=0.5))
