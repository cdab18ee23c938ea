"""Models of a user's own functions: steps of any tableau, names, mistakes."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.core.errors import ConvergenceError, DataError, ModelError
from dalembert.estimate import ExtendedKalman, SigmaPointKalman, Tableau, UserModel, process
from tests.helpers.findings import raises

A = np.array([[0.0, 1.0], [-4.0, -0.3]])
B = np.array([0.0, 1.0])
H = 0.05
GAUSS = Tableau(  # Gauss, two stages: order four, fully implicit
    (0.5 - 3**0.5 / 6, 0.5 + 3**0.5 / 6), ((0.25, 0.25 - 3**0.5 / 6), (0.25 + 3**0.5 / 6, 0.25)), (0.5, 0.5)
)


def linear(**keywords: Any) -> UserModel:
    return UserModel(
        lambda x, u: [x[1], -4.0 * x[0] - 0.3 * x[1] + u[0]], lambda x: [x[0]],
        states=["q", "v"], inputs=["force"], outputs=["y"], **keywords,
    )  # fmt: skip


def pendulum(**keywords: Any) -> UserModel:
    return UserModel(
        lambda x, u, t: [x[1], -9.81 * da.sin(x[0]) + u[0] * da.cos(t)], lambda x: [da.sin(x[0])],
        states=["angle", "speed"], inputs=["torque"], outputs=["height"], **keywords,
    )  # fmt: skip


def stepped(model: Any, x: Any, u: Any, t: float = 0.0, dt: float = H) -> Any:
    return np.array(process(model).functions["step"](x, u, process(model).p, t, dt)).ravel()


@pytest.mark.spec("004-C1")
def test_a_users_rate_and_outputs_are_the_model_that_every_filter_takes() -> None:
    """f and g as given, with their inputs, time and names; noise enters x and y as N(0, Q) and N(0, R), white and
    independent: the innovations of every filter then have the size it believes (NIS of 400 samples, 5 deviations)."""
    model = pendulum()
    made = process(model)
    x, u, t = np.array([0.7, -1.2]), 0.4, 0.3
    rate = [x[1], -9.81 * np.sin(x[0]) + u * np.cos(t)]
    assert np.array(made.functions["rate"](x, u, [], t)).ravel() == pytest.approx(rate, rel=1e-14)
    assert np.array(made.functions["outputs"](x, u, [], t)).ravel() == pytest.approx([np.sin(x[0])], rel=1e-14)
    assert (made.carried.names, made.inputs.names, made.outputs.names) == (("angle", "speed"), ("torque",), ("height",))
    rng, Q, R, count = np.random.default_rng(5), np.diag([1e-8, 4e-6]), 1e-4, 400
    times, torque = H / 5 * np.arange(count), np.sin(0.7 * np.arange(count))
    state, read, step = np.array([0.4, 0.0]), [], made.functions["step"]
    for k in range(count):
        if k:
            state = np.array(step(state, torque[k - 1], [], times[k - 1], H / 5)).ravel()
            state += np.sqrt(np.diag(Q)) * rng.normal(size=2)
        read.append(np.sin(state[0]) + np.sqrt(R) * rng.normal())
    record = da.Record(times, np.column_stack([torque, read]), ["torque", "height"])
    for kind in (ExtendedKalman, SigmaPointKalman):
        found = kind(pendulum(start=[0.4, 0.0]), Q=Q, R=R, P0=1e-6, dt=H / 5).run(record)
        assert found.nis[1:].mean() == pytest.approx(1.0, abs=5 * np.sqrt(2 / count))
        assert np.abs(found["angle"][-1] - state[0]) < 5 * found.deviations["angle"][-1]
        wrong = kind(pendulum(start=[0.4, 0.0]), Q=Q, R=2 * R, P0=1e-6, dt=H / 5).run(record)
        assert wrong.nis[1:].mean() < 0.75


@pytest.mark.spec("004-C3")
@pytest.mark.parametrize(
    ("method", "ratio"),
    [
        ("euler", lambda Z, E: E + Z),
        ("heun", lambda Z, E: E + Z + Z @ Z / 2),
        ("midpoint", lambda Z, E: E + Z + Z @ Z / 2),
        ("rk4", lambda Z, E: E + Z + Z @ Z / 2 + Z @ Z @ Z / 6 + Z @ Z @ Z @ Z / 24),
        ("implicit-euler", lambda Z, E: np.linalg.inv(E - Z)),
        ("implicit-midpoint", lambda Z, E: np.linalg.solve(E - Z / 2, E + Z / 2)),
        ("implicit-trapezoidal", lambda Z, E: np.linalg.solve(E - Z / 2, E + Z / 2)),
        (GAUSS, lambda Z, E: np.linalg.solve(E - Z / 2 + Z @ Z / 12, E + Z / 2 + Z @ Z / 12)),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_a_step_of_a_linear_model_is_the_rational_function_of_its_tableau(method: Any, ratio: Any) -> None:
    x, u = np.array([0.7, -1.2]), 0.4
    whole = np.zeros((3, 3))  # the held input as a third state
    whole[:2, :2], whole[:2, 2] = A, B
    wanted = ratio(H * whole, np.eye(3)) @ np.array([*x, u])
    assert np.abs(stepped(linear(method=method), x, u) - wanted[:2]).max() < 1e-14


@pytest.mark.spec("004-C3")
@pytest.mark.parametrize(
    ("method", "order"),
    [("euler", 1), ("heun", 2), ("midpoint", 2), ("rk4", 4), ("implicit-euler", 1), ("implicit-trapezoidal", 2),
     (GAUSS, 4)],
    ids=str,
)  # fmt: skip
def test_steps_converge_at_the_order_of_their_tableau(method: Any, order: int) -> None:
    """A pendulum with a force that depends on time: nodes count, too."""
    x0, u, end = np.array([1.0, 0.5]), 2.0, 0.8
    exact = solve_ivp(
        lambda t, x: [x[1], -9.81 * np.sin(x[0]) + u * np.cos(t)], (0.3, 0.3 + end), x0, rtol=1e-13, atol=1e-13
    ).y[:, -1]
    errors = [np.abs(stepped(pendulum(method=method, substeps=k), x0, u, 0.3, end) - exact).max() for k in (32, 64)]
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.15


@pytest.mark.spec("004-C3")
def test_jacobians_of_implicit_steps_are_exact() -> None:
    x = np.array([1.0, 0.5])
    model = process(pendulum(method="implicit-trapezoidal"))
    step = model.functions["step"]
    F = np.array(step.factory("F", step.name_in(), ["jac:o0:i0"])(x, 2.0, [], 0.1, H))
    differences = np.column_stack(
        [(stepped(pendulum(method="implicit-trapezoidal"), x + d, 2.0, 0.1)
          - stepped(pendulum(method="implicit-trapezoidal"), x - d, 2.0, 0.1)) / 2e-6 for d in 1e-6 * np.eye(2)]
    )  # fmt: skip
    assert np.abs(F - differences).max() < 1e-8


@pytest.mark.spec("004-C3")
@pytest.mark.parametrize("kind", [ExtendedKalman, SigmaPointKalman])
def test_stages_that_do_not_close_within_the_limit_stop_the_run_and_say_when(kind: Any) -> None:
    short = Tableau((1.0,), ((1.0,),), (1.0,), iterations=1)
    model = UserModel(
        lambda x, u: [-50.0 * x[0] ** 3], lambda x: [x[0]], states=["x"], outputs=["y"], method=short, start=[3.0]
    )
    record = da.Record(np.arange(5) * 0.5, np.full((5, 1), 3.0), ["y"])
    with raises(ConvergenceError, "diverged", "0.5"):
        kind(model, Q=1e-4, R=1e-2, P0=0.1).run(record)


@pytest.mark.spec("004-C3")
def test_with_enough_iterations_the_same_stiff_model_runs() -> None:
    model = UserModel(
        lambda x, u: [-50.0 * x[0] ** 3], lambda x: [x[0]], states=["x"], outputs=["y"], method="implicit-euler",
        start=[3.0],
    )  # fmt: skip
    x = stepped(model, [3.0], [], dt=0.5)[0]
    assert abs(x - 3.0 + 0.5 * 50.0 * x**3) < 1e-9


@pytest.mark.spec("004-C3")
def test_the_input_is_held_over_the_step() -> None:
    model = linear(method="rk4", substeps=50)
    exact = scipy.linalg.expm(H * np.block([[A, B[:, None]], [np.zeros((1, 3))]])) @ np.array([0.7, -1.2, 0.4])
    assert np.abs(stepped(model, [0.7, -1.2], 0.4) - exact[:2]).max() < 1e-12


def test_a_discrete_model_is_taken_as_it_is() -> None:
    model = UserModel(
        lambda x, u: [0.5 * x[0] + u[0]], lambda x, u: [x[0] + u[0]], states=["x"], inputs=["u"], outputs=["y"],
        continuous=False, dt=0.1,
    )  # fmt: skip
    assert process(model).dt == 0.1
    assert stepped(model, [2.0], 3.0) == 4.0


def test_parameters_are_inputs_of_the_native_code() -> None:
    model = UserModel(
        lambda x, u, t, p: [-p[0] * x[0]], lambda x, u, t, p: [p[1] * x[0]], states=["x"], outputs=["y"],
        parameters={"rate": 2.0, "gain": 3.0}, method="euler",
    )  # fmt: skip
    made = process(model)
    assert made.parameters.names == ("rate", "gain")
    assert stepped(model, [1.0], [], dt=0.1) == pytest.approx(0.8, abs=1e-15)
    assert float(made.functions["outputs"]([1.0], [], [0.0, 7.0], 0.0)) == 7.0


def test_columns_and_matrices_may_be_used_in_a_users_function() -> None:
    model = UserModel(
        lambda x, u: ca.mtimes(A, x) + B * u[0], lambda x: x[0], states={"q": "m", "v": "m/s"}, inputs={"force": "N"},
        outputs=["y"],
    )  # fmt: skip
    assert np.array_equal(stepped(model, [0.7, -1.2], 0.4), stepped(linear(), [0.7, -1.2], 0.4))
    assert process(model).carried.units == ("m", "m/s")


def test_inputs_a_filter_does_not_know_are_zero() -> None:
    model = process(linear(), inputs=[])
    assert model.nu == 0
    free = np.array(model.functions["step"]([0.7, -1.2], [], [], 0.0, H)).ravel()
    assert np.array_equal(free, stepped(linear(), [0.7, -1.2], 0.0))


def test_some_outputs_may_be_chosen() -> None:
    model = UserModel(
        lambda x, u: [x[1], 0.0], lambda x: [x[0], x[1]], states=["a", "b"], outputs=["p", "r"], angles=["r"]
    )
    made = process(model, outputs=["r"])
    assert made.outputs.names == ("r",)
    assert made.wrapped == (True,)


@pytest.mark.parametrize("f", [lambda x, u: [x[1], 1.0 if x[0] > 0 else 0.0], lambda x, u: [x[1], np.sin(x[0])]])
def test_a_function_that_needs_numbers_is_refused_by_its_name(f) -> None:
    with pytest.raises(ModelError) as caught:
        UserModel(f, lambda x: [x[0]], states=["a", "b"], outputs=["y"])
    assert "function f" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"f": lambda x, u: [x[1]]}, ("wrong-shape", "1 x 1", "2")),
        ({"f": lambda x: [x[1], x[0]]}, ("wrong-shape", "1")),
        ({"f": lambda x, u: [x[7], 0.0]}, ("out-of-range", "x has 2", "u has 0")),
        ({"f": 3.0}, ("wrong-type", "f")),
        ({"g": lambda x: "height"}, ("wrong-type", "g")),
        ({"states": []}, ("empty",)),
        ({"states": ["a", "a"]}, ("taken-name",)),
        ({"states": [1, 2]}, ("bad-name", "state")),
        ({"method": "rk45"}, ("unknown-choice", "rk4")),
        ({"substeps": 0}, ("not-a-count", "substeps")),
        ({"angles": ["z"]}, ("unknown-name", "'z'")),
        ({"start": [1.0]}, ("wrong-shape", "2")),
        ({"parameters": {"m": float("nan")}}, ("not-finite", "'m'")),
    ],
)
def test_mistakes_are_reported(change: dict[str, Any], message: tuple[str, ...]) -> None:
    given = {"f": lambda x, u: [x[1], -x[0]], "g": lambda x: [x[0]], "states": ["a", "b"], "outputs": ["y"], **change}
    f, g = given.pop("f"), given.pop("g")
    with raises((ModelError, DataError), *message):
        UserModel(f, g, **given)


@pytest.mark.parametrize(
    "parts",
    [
        ((0.0,), ((), (0.5,)), (0.5, 0.5)), ((0.0,), ((),), (0.5,)), ((0.0,), ((1.0, 2.0),), (1.0,)),
        ((0.0,), ((float("nan"),),), (1.0,)), ((), (), ()),
    ],
)  # fmt: skip
def test_tableaux_that_are_none_are_refused(parts: Any) -> None:
    with pytest.raises(DataError):
        Tableau(*parts)


def test_a_misspelt_option_of_a_filter_is_reported() -> None:
    with raises(ModelError, "unknown-name", "'iterations'", "iterations"):
        ExtendedKalman(linear(), Q=1e-6, R=1e-4, iteratons=3)
