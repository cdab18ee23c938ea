"""Linear models of small parts: inputs, drift of constraints, references that are none, models over the speed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.symbolic.modular import Leaf, linearize_parts, modular_model, speed_model
from dalembert.symbolic.modular.analysis.speed import SpeedModel, find_changes
from tests.helpers.findings import warns

LENGTH, MASS, GRAVITY = 0.5, 0.2, 9.81


def pendulum(*, driven: bool = False) -> Leaf:
    leaf = Leaf("pendulum")
    x, y = leaf.add_coordinate("x", "m"), leaf.add_coordinate("y", "m")
    support = 0.1 * leaf.time if driven else 0.0
    leaf.constrain((x - support) ** 2 + y**2 - LENGTH**2, "rod")
    leaf.add_kinetic_energy(MASS / 2 * (leaf.rate(x) ** 2 + leaf.rate(y) ** 2))
    leaf.add_potential(MASS * GRAVITY * y)
    leaf.add_input("F", "N", on="x.rate")
    leaf.choose("x.rate")
    return leaf


REST = {"x": 0.0, "y": -LENGTH}


@pytest.mark.spec("002-G7")
def test_a_pendulum_in_redundant_coordinates() -> None:
    lin = linearize_parts(pendulum(), REST, coordinates=["x"])
    assert lin.M.item() == pytest.approx(MASS)
    assert lin.K.item() == pytest.approx(MASS * GRAVITY / LENGTH)  # of the force in the rod
    assert lin.E.item() == 1.0
    assert lin.residual < 1e-15
    found = lin.state_space()
    assert found.states == ("x", "x.rate")
    assert np.linalg.eigvals(found.A).imag.max() == pytest.approx(np.sqrt(GRAVITY / LENGTH))
    assert np.abs(lin.drift_modes()).max() < 1e-7  # the length of the rod and its rate: twice zero
    assert lin.M.item() == pytest.approx(MASS)


@pytest.mark.spec("002-G7")
def test_linear_models_agree_with_those_of_the_derived_equations() -> None:
    reference = {"x": 0.3, "y": -0.4, "F": MASS * GRAVITY * 0.75}  # held aside by the force
    lin = linearize_parts(pendulum(), reference, coordinates=["x"])
    eqs = da.equations(pendulum())
    other = da.linearize(eqs, eqs.state([0.3, -0.4]), inputs={"F": MASS * GRAVITY * 0.75}, coordinates=["x"])
    frequency = other.modes().frequencies[0]  # rad/s, without damping
    expected = [-1j * frequency, 1j * frequency]
    np.testing.assert_allclose(np.sort_complex(lin.eigenvalues()), expected, rtol=0, atol=1e-9)


@pytest.mark.spec("002-G7")
def test_a_support_that_moves_evenly_changes_nothing() -> None:
    lin = linearize_parts(pendulum(driven=True), {**REST, "x.rate": 0.1}, coordinates=["x"])
    assert lin.K.item() / lin.M.item() == pytest.approx(GRAVITY / LENGTH)


@pytest.mark.spec("002-G7")
def test_a_reference_off_the_constraints_is_warned_of_and_unknown_names_are_refused() -> None:
    with warns(da.errors.ModelWarning, "joint-open", "rod"):
        linearize_parts(pendulum(), {"x": 0.0, "y": -LENGTH - 0.01}, coordinates=["x"])
    model = modular_model(pendulum())
    for call in (
        lambda: linearize_parts(model, REST, coordinates=["z"]),
        lambda: linearize_parts(model, REST, coordinates=["x"]).part(["z.rate"], ["x"]),
        lambda: linearize_parts(model, {**REST, "z": 1.0}),
    ):
        with pytest.raises(da.errors.DataError) as caught:
            call()
        assert caught.value.code == "unknown-name"


def test_equations_that_others_act_on_are_not_parted_in_silence() -> None:
    leaf = Leaf("two masses")
    x, y = leaf.add_coordinate("x"), leaf.add_coordinate("y")
    for symbol in (x, y):
        leaf.add_force(-leaf.rate(symbol, 2), leaf.rate(symbol))
    leaf.add_potential((x - y) ** 2 / 2)
    lin = linearize_parts(leaf, {"x": 0.0, "y": 0.0})
    with warns(da.errors.ModelWarning, "dependent-coordinates", "'y'", "x.rate"):
        lin.part(["x.rate"], ["x"])


@pytest.mark.spec("002-G8")
def test_speeds_at_which_stability_changes() -> None:
    found = SpeedModel(("lean",), np.eye(1), np.eye(1), -np.eye(1), np.eye(1))  # z̈ + v ż + (v² - 1) z = 0
    assert find_changes(lambda v: found.eigenvalues(v).real.max() < 0, np.linspace(0.1, 3, 10)) == pytest.approx([1.0])
    assert found.eigenvalues(0.0) == pytest.approx([-1.0, 1.0])


def test_models_that_are_no_polynomial_of_the_speed_are_refused() -> None:
    class Fake:
        coordinates = ("x",)

        def __init__(self, v: float) -> None:
            self.M = np.eye(1)
            self.D, self.K = np.array([[v]]), np.array([[v**4]])

    models: Any = {v: Fake(v) for v in (0.0, 1.0, 2.0, 3.0)}
    with pytest.raises(da.errors.DataError) as caught:
        speed_model(models)
    assert caught.value.code == "poor-fit"
    with pytest.raises(da.errors.DataError) as caught:
        speed_model({0.0: models[0.0]})
    assert caught.value.code == "too-few-samples"
