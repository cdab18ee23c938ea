"""The extended Kalman filter with a Jacobian that is frozen over an interval."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from tests.helpers.findings import raises
from tests.helpers.repetitions import few


def pendulum() -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=True)
    rods = [m.add_body(name, mass=1.0, inertia=da.rod(1.0)) for name in ("upper", "lower")]
    m.add_revolute("A", m.ground.at(0, 0), rods[0].at(-0.5, 0))
    m.add_revolute("B", rods[0].at(0.5, 0), rods[1].at(-0.5, 0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    return da.equations(m)


def slopes(model: object, dt: float, **options: object) -> list[np.ndarray]:
    """F and G of one prediction, at a moving state."""
    ekf = da.estimate.ExtendedKalman(model, Q=1e-6, R=1e-6, P0=1.0, dt=dt, input_noise=1.0, **options)
    m = ekf.process
    x, u, p, t, h = (ca.MX.sym(*s) for s in (("x", m.nx), ("u", m.nu), ("p", len(ekf.model.numbers)), ("t",), ("h",)))
    kernel = ca.Function("slopes", [x, u, p, t, h], ekf.transition(x, u, p, t, h)[1:])
    start = (
        m.start + 0.3 * np.cos(np.arange(m.nx)) if m.flat else m.placed({"A.angle": 0.4, "B.angle": 0.9, "A.rate": 2})
    )
    return [np.array(value) for value in kernel(start, np.full(m.nu, 0.5), ekf.model.numbers, 0.0, dt)]


@pytest.mark.parametrize("coordinates", few(["joint", "absolute"]))
def test_it_differs_from_the_exact_one_by_the_square_of_the_interval(coordinates: str) -> None:
    eqs = pendulum()
    if coordinates == "absolute":
        options: dict[str, object] = {"coordinates": ["A.angle", "B.angle"]}
    else:
        options = {}
    errors = []
    for dt in (0.01, 0.005):
        exact, frozen = (slopes(eqs, dt, jacobian=word, **options) for word in ("exact", "frozen"))
        errors.append([np.abs(a - b).max() for a, b in zip(exact, frozen, strict=True)])
    ratios = np.array(errors[0]) / errors[1]
    assert ratios == pytest.approx(4.0, rel=0.1)


def test_on_a_linear_model_it_is_the_exponential_to_the_fourth_power() -> None:
    A, dt = np.array([[0.0, 1.0], [-40.0, -0.5]]), 0.02
    model = da.estimate.UserModel(
        lambda x, u: [x[1], -40.0 * x[0] - 0.5 * x[1] + 3.0 * u[0]], lambda x: [x[0]], states=["a", "b"],
        outputs=["y"], inputs=["f"],
    )  # fmt: skip
    F, G = slopes(model, dt, jacobian="frozen")
    size = np.abs(np.linalg.matrix_power(A * dt, 5)).max()
    assert np.abs(F - scipy.linalg.expm(A * dt)).max() <= size / 100
    held = StateSpace(A, [[0.0], [3.0]], np.eye(2)).to_discrete(dt)
    assert np.abs(G - held.B).max() <= size / 10


def test_estimates_are_as_good_and_steps_without_a_rate_are_refused() -> None:
    eqs = pendulum()
    start = da.assemble(eqs, {"A.angle": 0.4, "B.angle": 0.9})
    truth = da.simulate(eqs, until=1.0, start=start, every=0.005, inputs={"torque": lambda t: da.sin(9 * t)})
    estimates = [
        da.estimate.ExtendedKalman(
            eqs, Q=1e-8, R=1e-8, P0=1e-2, start={"A.angle": 0.45, "B.angle": 0.8}, jacobian=word
        ).run(truth) for word in ("exact", "frozen")
    ]  # fmt: skip
    late = truth.time > 0.5
    errors = [np.sqrt(np.mean((e["B.angle"] - truth["B.angle"])[late] ** 2)) for e in estimates]
    assert errors[1] < 1.2 * errors[0] + 1e-5 and errors[0] < 1e-3
    sampled = StateSpace([[0.9]], [[1.0]], [[1.0]], dt=0.1)
    with raises(DataError, "not-supported"):
        da.estimate.ExtendedKalman(sampled, Q=1.0, R=1.0, jacobian="frozen")
    with raises(DataError, "unknown-choice"):
        da.estimate.ExtendedKalman(eqs, Q=1.0, R=1.0, jacobian="old")
