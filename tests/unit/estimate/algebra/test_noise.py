"""Q and R in all their forms; noise of the inputs."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelError
from tests.helpers.driven_pendulum import pendulum
from tests.helpers.findings import raises
from tests.helpers.kalman_models import cart, kalman, pushed


@pytest.mark.spec("004-C9")
@pytest.mark.parametrize(
    "form", [0.25, [0.25, 0.25], [[0.25, 0.0], [0.0, 0.25]], {"position": 0.25, "speed": 0.25}, lambda s: 0.25]
)
def test_the_forms_of_q_say_the_same(form):
    record = pushed(50)
    reference = kalman(Q=np.diag([0.25, 0.25])).run(record)
    assert kalman(Q=form).run(record).states == pytest.approx(reference.states, rel=1e-12, abs=1e-12)


@pytest.mark.spec("004-C9")
def test_covariances_may_depend_on_the_state_by_name():
    record = pushed(100)
    grown = kalman(R=lambda s: 1e-4 + 1e-3 * s["speed"] ** 2).run(record)
    assert np.all(np.diff(grown.spreads[5:, 0]) > 0)
    full = kalman(Q=lambda s: [[1e-6, 0.0], [0.0, s["dt"] ** 2 * s["push"] ** 2]]).run(record)
    assert full.states == pytest.approx(kalman(Q=[1e-6, 1e-2]).run(record).states, rel=1e-10)
    named = kalman(Q=lambda s: {"speed": 1e-2 * s["push"]}).run(record)
    assert named.states == pytest.approx(kalman(Q={"speed": 1e-2}).run(record).states, rel=1e-10)


def test_a_function_of_the_state_is_judged_before_it_runs():
    with pytest.raises(ModelError) as caught:
        kalman(R=lambda s: s["sped"])
    assert "'speed'" in str(caught.value)
    with raises(ModelError, "wrong-shape"):
        kalman(Q=lambda s: [1.0, 2.0, 3.0])
    with pytest.raises(ModelError):
        kalman(R=lambda s: 1.0 if s["speed"] > 0 else 2.0)


@pytest.mark.spec("004-C9")
def test_noise_of_the_inputs_comes_through_the_exact_derivative():
    # Q = G R_u Gᵀ with G = ∂f/∂u, of the pendulum's own step
    dt, variance = 0.02, 0.3
    ekf = da.estimate.ExtendedKalman(pendulum(), R=1e-4, input_noise={"torque": variance}, dt=dt, P0=1e-3)
    x, u = np.array([0.7, -0.4]), np.array([0.2])
    step = ekf.process.functions["step"]
    high, low = (step(x, u + h, [], 0.0, dt).full().ravel() for h in (1e-6, -1e-6))
    G = (high - low) / 2e-6
    found = np.array(ca.DM(ekf.model.Q(ca.DM(x), ca.DM(u), ca.DM(ekf.model.numbers), 0.0, dt)))
    assert found == pytest.approx(variance * np.outer(G, G), rel=1e-6, abs=1e-15)


@pytest.mark.spec("004-C9")
def test_noise_of_the_inputs_of_a_linear_model_is_b_r_b_in_every_form():
    model = cart(0.1)
    record = pushed(60)
    direct = da.estimate.Kalman(model, Q=1e-8 * np.eye(2) + 0.04 * model.B @ model.B.T, R=1e-4, P0=1.0).run(record)
    for form in ("covariance", "square-root", "information"):
        mapped = da.estimate.Kalman(model, Q=1e-8, input_noise={"push": 0.04}, R=1e-4, P0=1.0, form=form).run(record)
        assert mapped.states == pytest.approx(direct.states, rel=1e-10, abs=1e-10)
    settled = da.estimate.Kalman(model, Q=1e-8, input_noise=0.04, R=1e-4, form="steady").steady
    assert pytest.approx(direct.filter.steady.P, rel=1e-9) == settled.P


def test_other_numbers_run_on_the_same_native_code():
    record = pushed(50)
    first = kalman()
    first.run(record)
    other = first.with_numbers(first.noise.Q.values * 0, np.array([1.0, 1.0]))
    assert other.native is first.native
    assert other.run(record).states == pytest.approx(kalman(Q=0.0, R=1.0).run(record).states, rel=1e-12)
