"""All forward methods agree on random machines, redundant ones included.

Domain: the KKT condition number (after surplus rows are taken out) is below 1e8, and the smallest eigenvalue λ of the
scaled A M⁻¹ Aᵀ above 1e-5.  The solve of a run is regularised by ε = 1e-8 and refined twice or more, which leaves
(ε / λ)³ = 1e-9; nearer to a singular pose it is meant to differ, and the augmented Lagrangian gives up.  Agreement to
1e-9 of the largest acceleration: rounding alone would allow condition number times 1e-16.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given

import dalembert as da
from dalembert.equations import State
from dalembert.solve.constrained import matrices
from dalembert.solve.constrained.methods.augmented_lagrangian import augmented_lagrangian
from dalembert.solve.constrained.methods.kkt import kkt
from dalembert.solve.constrained.methods.null_space import null_space, project_accelerations
from dalembert.solve.constrained.methods.udwadia_kalaba import udwadia_kalaba, udwadia_phohomsiri
from dalembert.solve.motion.forward import METHODS, ConstrainedSystem, system_at
from tests.helpers.checks import kkt_condition
from tests.helpers.random_mechanisms import Plan, build, make_plan, moving_state, plans

AGREEMENT = 1e-9
LARGEST_CONDITION = 1e8
LEAST_EIGENVALUE = 1e-5
NUMPY = METHODS[:4]


def regular(system: ConstrainedSystem) -> bool:
    kept, _ = matrices.independent_rows(system.A)
    A = system.A[kept]
    if kkt_condition(system.M, A) >= LARGEST_CONDITION:
        return False
    coupled = A @ np.linalg.lstsq(system.M, A.T, rcond=None)[0]
    scale = np.sqrt(np.diag(coupled))
    return not len(A) or bool(np.linalg.eigvalsh(coupled / np.outer(scale, scale))[0] > LEAST_EIGENVALUE)


def case(plan: Plan) -> tuple[da.EquationsOfMotion, State, ConstrainedSystem]:
    eqs = da.equations(build(plan))
    state = moving_state(eqs, plan.seed)
    system = system_at(eqs, state)
    assume(regular(system))
    return eqs, state, system


# pinned: two rods and two slides near a stretched pose; doubled joints (redundant); a screw beside a ball joint
NEAR_STRETCHED = make_plan(True, 10, 4, ["revolute", "revolute", "prismatic", "prismatic"], ["rod"])
DOUBLED = make_plan(True, 52, 3, ["revolute", "prismatic", "revolute"], ["revolute"])
SCREW_AND_BALL = make_plan(False, 6, 3, ["universal", "cylindrical", "screw"], ["spherical"])


@pytest.mark.spec("000-12", "000-13", "002-C5", "002-C7", "002-D5", "002-G1", "003-C40")
@given(plans(moving=False))
@example(NEAR_STRETCHED)
@example(DOUBLED)
@example(SCREW_AND_BALL)
def test_all_methods_give_the_same_accelerations(plan):
    eqs, state, _ = case(plan)
    sols = {method: da.forward_dynamics(eqs, state, method=method) for method in METHODS}
    reference = sols["kkt"].acceleration
    size = max(1.0, float(np.abs(reference).max()))
    for method in METHODS:
        assert np.abs(sols[method].acceleration - reference).max() <= AGREEMENT * size, method


@pytest.mark.spec("000-12", "000-13")
@given(plans(moving=False))
@example(DOUBLED)
def test_all_methods_give_the_same_unique_reactions(plan):
    eqs, state, _ = case(plan)
    sols = [da.forward_dynamics(eqs, state, method=method) for method in NUMPY]
    size = max([1.0, *(float(np.abs(r.force).max()) for r in sols[0].reactions.values())])
    for sol in sols[1:]:
        for name, reaction in sol.reactions.items():
            if reaction.unique:
                other = sols[0].reactions[name]
                assert np.abs(reaction.force - other.force).max() <= AGREEMENT * size
                assert np.abs(reaction.torque - other.torque).max() <= AGREEMENT * size


@pytest.mark.spec("000-12")
@given(plans())
def test_accelerations_satisfy_motion_and_rows(plan):
    eqs, state, _ = case(plan)
    for method in NUMPY:
        sol = da.forward_dynamics(eqs, state, method=method)
        assert sol.residuals["motion"] < AGREEMENT and sol.residuals["rows"] < AGREEMENT


@pytest.mark.spec("000-12")
@given(plans())
def test_constraint_forces_do_no_virtual_work(plan):
    eqs, state, system = case(plan)
    sol = da.forward_dynamics(eqs, state)
    S = matrices.complement(system.A)
    assert np.abs(S.T @ sol.force).max(initial=0.0) <= AGREEMENT * max(1.0, float(np.abs(sol.force).max()))


@pytest.mark.spec("002-A11", "002-G1")
@given(plans())
def test_every_complement_gives_the_same_motion(plan):
    eqs, state, system = case(plan)
    f = eqs.kernel("forces")(state.q, state.v, state.z, system.u, eqs.p, state.t, np.zeros(len(eqs.rows)))[0]
    reference, _ = null_space(system.M, f, system.A, system.b)
    size = max(1.0, float(np.abs(reference).max()))
    for method in ("qr", "partition"):
        other, _ = null_space(system.M, f, system.A, system.b, method=method)
        assert np.abs(other - reference).max() <= AGREEMENT * size
    stacked = project_accelerations(system.M, f, system.A, system.b)
    assert np.abs(stacked - reference).max() <= AGREEMENT * size


@pytest.mark.spec("000-14", "002-D5")
@given(plans(most=3))
@pytest.mark.slow
def test_taking_the_mass_of_a_held_body_away_leaves_methods_in_agreement(plan):
    eqs, state, system = case(plan)
    f = eqs.kernel("forces")(state.q, state.v, state.z, system.u, eqs.p, state.t, np.zeros(len(eqs.rows)))[0]
    size = eqs.nv // len(plan.bodies)
    M = system.M.copy()
    M[-size:, -size:] = 0.0
    try:
        matrices.realizability(M, system.A, tolerance=1e-6)
    except da.errors.ModelError:
        assume(False)  # the joints leave the last body a motion of its own
    kept, _ = matrices.independent_rows(system.A)
    assume(kkt_condition(M, system.A[kept]) < 1e6)
    reference, _ = kkt(M, f, system.A, system.b)
    largest = max(1.0, float(np.abs(reference).max()))
    for other in (
        udwadia_kalaba(M, f, system.A, system.b).acceleration,
        udwadia_phohomsiri(M, f, system.A, system.b)[0],
        null_space(M, f, system.A, system.b)[0],
        augmented_lagrangian(M, f, system.A, system.b)[0],
    ):
        assert np.abs(other - reference).max() <= AGREEMENT * largest
