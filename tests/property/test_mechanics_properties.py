"""What must hold for every machine: exact derivatives, energy, the observer's frame, mass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.solve.constrained import matrices
from dalembert.solve.motion.forward import system_at
from tests.helpers.checks import balance, kkt_condition, measure_error, row_error
from tests.helpers.random_mechanisms import WorldFrame, build, moving_state, plans, random_rotation

# central differences at 1e-5 of expressions whose third derivatives reach a hundred (rods of 0.2 m): 1e-10 * 100 / 6
DIFFERENCE = 1e-7


@given(plans(moving=False))
def test_the_drawing_of_a_machine_is_closed_as_it_stands(plan):
    eqs = da.equations(build(plan))
    assert np.abs(da.assemble(eqs).q - np.array(eqs.placement.q)).max() < 1e-9


@given(plans(moving=False))
def test_hinges_and_slides_read_zero_in_the_drawing(plan):
    eqs = da.equations(build(plan))
    state = da.assemble(eqs)
    for k in eqs.recorded_measures:
        assert abs(state[eqs.measures.names[k]]) < 1e-9, eqs.measures.names[k]


@pytest.mark.spec("000-10", "002-A7")
@given(plans())
def test_constraint_rows_are_the_derivatives_of_their_residuals(plan):
    eqs = da.equations(build(plan))
    assert row_error(eqs, moving_state(eqs, plan.seed)) < DIFFERENCE


@given(plans())
def test_named_coordinates_have_exact_derivatives(plan):
    eqs = da.equations(build(plan))
    assert measure_error(eqs, moving_state(eqs, plan.seed)) < DIFFERENCE


@given(plans())
def test_the_mass_matrix_is_symmetric_positive_and_gives_the_kinetic_energy(plan):
    eqs = da.equations(build(plan))
    state = moving_state(eqs, plan.seed)
    (M,) = eqs.kernel("inertia")(state.q, eqs.p, 0.0)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    kinetic, _ = eqs.kernel("energy")(state.q, state.v, state.z, eqs.p, 0.0)
    assert float(kinetic[0]) == pytest.approx(0.5 * state.v @ M @ state.v, rel=1e-12)


@given(plans(most=3))
def test_work_and_energy_balance_with_forces_on(plan):
    """rtol = 1e-9 per step and at most some thousand steps: a balance of 1e-6 of the energy that moves."""
    eqs = da.equations(build(plan))
    state = moving_state(eqs, plan.seed, speed=0.5)
    assume(smallest_singular(eqs, state) > 1e-2)
    run = da.simulate(eqs, 0.3, start=state, every=0.05)
    assert balance(run) < 1e-6
    assert run["residual.position"].max() < 1e-9


def smallest_singular(eqs, state):
    return da.mobility(eqs, state).distance


@st.composite
def frames(draw, planar):
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    if planar:
        angle = random.uniform(-3, 3)
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        return WorldFrame(R, random.uniform(-2, 2, size=2))
    return WorldFrame(random_rotation(random), random.uniform(-2, 2, size=3))


def seen(plan, frame, v):
    """Speeds as seen from another frame: velocities turn, angular velocities in body axes do not."""
    size, dim = (3, 2) if plan.planar else (6, 3)
    result = np.array(v)
    for k in range(len(plan.bodies)):
        result[size * k : size * k + dim] = frame.R @ result[size * k : size * k + dim]
    return result


@pytest.mark.parametrize("planar", [True, False])
@given(data=st.data())
def test_accelerations_and_reactions_do_not_depend_on_the_world_frame(planar, data):
    plan, frame = data.draw(plans(planar=planar)), data.draw(frames(planar))
    here, there = da.equations(build(plan)), da.equations(build(plan, frame))
    state = moving_state(here, plan.seed)
    system = system_at(here, state)
    kept, _ = matrices.independent_rows(system.A)
    assume(kkt_condition(system.M, system.A[kept]) < 1e6)
    other = there.state(v=seen(plan, frame, state.v))
    one, two = da.forward_dynamics(here, state), da.forward_dynamics(there, other)
    size = max(1.0, float(np.abs(one.acceleration).max()))
    # rounding of the drawing (1e-15 m) times the condition number
    assert np.abs(two.acceleration - seen(plan, frame, one.acceleration)).max() < 1e-9 * size
    load = max([1.0, *(float(np.abs(r.force).max()) for r in one.reactions.values())])
    for name, reaction in one.reactions.items():
        if reaction.unique:
            assert np.abs(two.reactions[name].force - frame.R @ reaction.force).max() < 1e-9 * load


@pytest.mark.parametrize("planar", [True, False])
@settings(max_examples=settings().max_examples // 4)  # two runs each
@given(data=st.data())
def test_relative_motion_does_not_depend_on_the_world_frame(planar, data):
    """Both runs at rtol 1e-9; 0.2 s of motion of order one lets errors grow little: 1e-6."""
    plan, frame = data.draw(plans(planar=planar, most=2)), data.draw(frames(planar))
    here, there = da.equations(build(plan)), da.equations(build(plan, frame))
    state = moving_state(here, plan.seed, speed=0.5)
    assume(smallest_singular(here, state) > 1e-2)
    one = da.simulate(here, 0.2, start=state, every=0.1)
    two = da.simulate(there, 0.2, start=there.state(v=seen(plan, frame, state.v)), every=0.1)
    for body in range(len(plan.bodies)):
        assert np.abs(one[f"B{body}"] @ frame.R.T + frame.d - two[f"B{body}"]).max() < 1e-6
    for k in here.recorded_measures:
        name = here.measures.names[k]
        if name.endswith((".x", ".y")):
            continue  # along axes that add_planar chooses by itself
        assert np.abs(one[name] - two[name]).max() < 1e-6, name
    assert np.abs(one["energy.kinetic"] - two["energy.kinetic"]).max() < 1e-6 * max(1.0, one["energy.kinetic"].max())
