"""Singular perturbations in standard form against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.solve import singular_perturbation
from tests.helpers.findings import raises


def folded(epsilon: float) -> Any:
    """ε ż = z - z³/3 - x + u: three roots, the middle one repels."""
    return singular_perturbation(
        lambda x, z, u, eps, t: -x[0] + 0.3 * z[0] ** 2,
        lambda x, z, u, eps, t: z[0] - z[0] ** 3 / 3 - x[0] + u[0],
        slow="x", fast="z", inputs="u", epsilon=epsilon,
    )  # fmt: skip


@pytest.mark.spec("001-C34")
def test_roots_and_their_boundary_layers_are_found() -> None:
    system = folded(0.02)
    roots = [one["z"] for one in system.roots({"x": 0.2})]
    np.testing.assert_allclose(roots, np.sort(np.roots([-1 / 3, 0, 1, -0.2])), rtol=1e-9)
    for z in roots:
        A = system.boundary_layer({"x": 0.2}, {"z": z}).A
        assert A[0, 0] == pytest.approx(1 - z**2, rel=1e-12)
    assert system.roots({"x": 2.0 / 3.0})[0]["z"] == pytest.approx(-2.0, rel=1e-6)  # the double root is not isolated


@pytest.mark.spec("001-C34")
def test_tikhonovs_approximation_is_off_by_the_order_of_epsilon() -> None:
    errors = []
    for epsilon in (0.02, 0.01, 0.005):
        system = folded(epsilon)
        drive = {"u": lambda t: 0.1 * da.sin(3 * t)}
        estimate = system.estimate(0.5, {"x": 0.2}, {"z": 1.0}, drive, root={"z": 1.6}, every=2e-3)
        whole = system.equations(drive)
        run = da.simulate(whole, 0.5, start=whole.state(z=[0.2, 1.0]), every=2e-3)
        errors.append([np.abs(estimate[name] - run[name]).max() for name in ("x", "z")])
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.1)


@pytest.mark.spec("001-C34")
def test_an_unstable_boundary_layer_is_refused() -> None:
    with raises(da.errors.ModelError, "unstable"):
        folded(0.02).estimate(0.5, {"x": 0.2}, {"z": 0.3}, root={"z": 0.2})
    with raises(da.errors.ModelError, "unstable"):  # it goes to another root
        folded(0.002).estimate(0.5, {"x": 0.2}, {"z": -1.0}, root={"z": 1.6})


@pytest.mark.spec("001-C38")
def test_a_linear_manifold_is_invariant() -> None:
    """ẋ = z, ε ż = -x - z has the slow eigenvector z = p x with ε p² + p + 1 = 0."""
    system = singular_perturbation(
        lambda x, z, u, eps, t: z, lambda x, z, u, eps, t: -x - z, slow="x", fast="z", epsilon=0.1
    )
    p = (-1 + np.sqrt(1 - 0.4)) / 0.2
    np.testing.assert_allclose(system.residual(lambda x, t: p * x, {"x": 2.0}), 0.0, atol=1e-14)
    np.testing.assert_allclose(system.residual(lambda x, t: -x, {"x": 2.0}), 0.1 * 2.0, atol=1e-14)  # order 0: ε x


def test_wrong_arguments_are_refused() -> None:
    with raises(da.errors.DataError, "not-positive"):
        folded(0.0)
    with raises(da.errors.ModelError, "wrong-shape"):
        singular_perturbation(lambda *_: [1, 2], lambda *_: 0, slow="x", fast="z", epsilon=0.1)
    with raises(da.errors.DataError, "missing-argument"):
        folded(0.1).roots()
    with raises(da.errors.ModelError, "unknown-name"):
        folded(0.1).roots({"x": 0.0}, {"w": 1.0})
