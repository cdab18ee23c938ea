"""Derivatives of both dynamics against Pinocchio: random trees with joints of every kind, and real robots.

With v_p = T(q) v of the helper `Twin`, τ = Tᵀ τ_p(q_p, T v, T v̇ + Ṫ v) is differentiated by the chain rule; changes of
T and Ṫ along ξ are differences of their sines and cosines over steps of 0.02, exact to 0.02⁶/140 = 5e-13. Agreement
to 1e-9 of the largest entry of a result leaves room for them and for the conditions of the mass matrices (below 1e4).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.equations import EquationsOfMotion, State
from tests.helpers.joint_coordinates import random_state, random_tree
from tests.helpers.pinocchio_models import ROBOTS, Twin, agree, full, pin, read_robot, robot_file, twin_of, twin_of_file
from tests.helpers.tree_derivatives import differences, step_along

KINDS = ("revolute", "prismatic", "cylindrical", "screw", "planar", "universal", "spherical", "fixed", "free")
STEP = 0.02
joints = st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), min_size=1, max_size=7).filter(
    lambda chosen: any(kind != "fixed" for kind, _ in chosen)
)


class Change:
    """T and Ṫ v with their derivatives: by every ξ, and of Ṫ v by every speed."""

    def __init__(self, twin: Twin, state: State) -> None:
        eqs = state.eqs
        unit = np.eye(eqs.nv)

        def moved(k: int, h: float) -> State:
            return eqs.state(q=step_along(eqs, state.q, k, h), v=state.v)

        self.T, self.drift = twin.T(state), twin.drift(state)
        self.dT = [differences(lambda h, k=k: twin.T(moved(k, h)), STEP) for k in range(eqs.nv)]  # type: ignore[misc]
        self.drift_by_position = np.column_stack(
            [differences(lambda h, k=k: twin.drift(moved(k, h)), STEP) for k in range(eqs.nv)]  # type: ignore[misc]
        )
        sides = [[twin.drift(eqs.state(q=state.q, v=state.v + s * e)) for s in (1, -1)] for e in unit]
        self.drift_by_speed = np.column_stack([(a - b) / 2 for a, b in sides])  # quadratic in v: exact


def compare_derivatives(eqs: EquationsOfMotion, twin: Twin, state: State) -> None:
    rng = np.random.default_rng(5)
    a, effort = rng.normal(size=eqs.nv), rng.normal(size=eqs.nv)
    model, data, q, v = twin.model, twin.data, twin.q(state), twin.v(state)
    x = Change(twin, state)
    T, n = x.T, eqs.nv
    pin.computeRNEADerivatives(model, data, q, v, twin.a(state, a))
    by_q, by_v, M = (np.array(y).reshape(model.nv, model.nv) for y in (data.dtau_dq, data.dtau_dv, full(data.M)))
    tau = np.array(data.tau)
    found = da.tree.inverse_dynamics_derivatives(eqs, state, a)
    columns = [
        x.dT[k].T @ tau
        + T.T @ (by_q @ T[:, k] + by_v @ x.dT[k] @ state.v + M @ (x.dT[k] @ a + x.drift_by_position[:, k]))
        for k in range(n)
    ]
    agree(found.dtau_dq, np.column_stack(columns), "∂τ/∂ξ")
    agree(found.dtau_dv, T.T @ (by_v @ T + M @ x.drift_by_speed), "∂τ/∂v")
    agree(found.dtau_da, T.T @ M @ T, "∂τ/∂v̇")
    if eqs.rows or T.shape[0] != T.shape[1]:
        return
    inside = np.linalg.solve(T.T, effort)
    pin.computeABADerivatives(model, data, q, v, inside)
    by_q, by_v, inverse = (np.array(y).reshape(model.nv, model.nv) for y in (data.ddq_dq, data.ddq_dv, full(data.Minv)))
    own = np.linalg.solve(T, np.array(data.ddq) - x.drift)
    forward = da.tree.forward_dynamics_derivatives(eqs, state, effort)
    columns = [
        by_q @ T[:, k]
        + by_v @ x.dT[k] @ state.v
        - inverse @ np.linalg.solve(T.T, x.dT[k].T @ inside)
        - x.drift_by_position[:, k]
        - x.dT[k] @ own
        for k in range(n)
    ]
    agree(forward.da_dq, np.linalg.solve(T, np.column_stack(columns)), "∂v̇/∂ξ")
    agree(forward.da_dv, np.linalg.solve(T, by_v @ T - x.drift_by_speed), "∂v̇/∂v")
    agree(forward.da_dtau, np.linalg.solve(T, np.linalg.solve(T, inverse.T).T), "∂v̇/∂τ")


@pytest.mark.spec("002-B3")
@example([("free", False), ("free", True)], 0)
@given(joints, st.integers(0, 2**16))
@settings(max_examples=max(5, settings().max_examples // 4))
def test_random_trees_have_the_derivatives_that_pinocchio_computes(chosen: list[tuple[str, bool]], seed: int) -> None:
    m = random_tree([kind for kind, _ in chosen], [flip for _, flip in chosen], seed)
    eqs = da.equations(m, coordinates="joint")
    compare_derivatives(eqs, twin_of(m), random_state(eqs, seed))


@pytest.mark.spec("002-B3")
@pytest.mark.filterwarnings("ignore::dalembert.core.errors.ModelWarning")
@pytest.mark.parametrize(("file", "free"), ROBOTS)
def test_robots_have_the_derivatives_that_pinocchio_computes_from_the_same_file(file: str, free: bool) -> None:
    m = read_robot(file, free=free)
    eqs = da.equations(m, coordinates="joint")
    twin = twin_of_file(robot_file(file), m, eqs, free=free)
    for seed in range(2):
        compare_derivatives(eqs, twin, random_state(eqs, seed))
