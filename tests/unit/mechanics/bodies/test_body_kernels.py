"""Functions that bodies of equal data share: the same equations, fewer operations to compile."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.equations.functions import ARGUMENTS
from dalembert.expressions.machine_code.reader import read
from dalembert.mechanics.absolute.producer import Absolute
from dalembert.mechanics.bodies import body_kernels
from dalembert.mechanics.bodies.body_kernels import content_of, find_kernels
from dalembert.model.flexible import Stiffening
from dalembert.solve.integrate.inputs import read_inputs
from tests.helpers.flexible_bodies import PointMasses
from tests.helpers.repetitions import few

MODES = 4


def body_data(planar: bool, seed: int = 0, stiff: bool = False) -> Any:
    rng = np.random.default_rng(seed)
    K = 0.02 * rng.normal(size=(12, MODES, MODES))
    K = K + K.transpose(0, 2, 1)
    stiffening = Stiffening(centrifugal=K[:6], acceleration=K[6:9], forces={"n1": K[9:]}) if stiff else None
    points = PointMasses.random(seed, modes=MODES, planar=planar)
    return points.data(stiffening=stiffening, damping=0.01 * points.stiffness)


def machine(planar: bool, count: int = 3) -> da.Mechanism:
    """Bodies of two data in a row with everything that asks a body: joints, springs, drivers, constraints, sensors."""
    m = da.Mechanism("row", planar=planar)
    soft = m.parameter("soft", 0.8)
    previous = m.ground.at(*([0.0] * (2 if planar else 3)))
    for k in range(count):
        # made again for every body: equal by content
        body = m.add_flexible_body(f"b{k}", body_data(planar, stiff=True), stiffness=soft)
        if planar or k % 2:
            m.add_revolute(f"j{k}", previous, body.at("n0"))
        else:
            m.add_spherical(f"j{k}", previous, body.at("n0"))
        previous = body.at("n1")
    other = m.add_flexible_body("other", body_data(planar, seed=1))
    plate = m.add_body("plate", mass=0.5, inertia=0.1 if planar else (0.1, 0.2, 0.25))
    m.add_fixed("weld", previous, plate.at(*([0.1] * (2 if planar else 3))))
    m.add_spring("spring", other.at("n2"), plate.at(*([0.0] * (2 if planar else 3))), stiffness=50.0, free_length=0.1)
    m.add_driver("drive", "other.x", lambda t: 0.1 * da.sin(t))
    m.add_constraint("tie", lambda s: s["b0.mode1"] - 0.1 * s["other.y"])
    m.add_sensor("speed", da.velocity(other.at("n3")))
    m.add_sensor("change", da.acceleration(previous))
    return m


@pytest.mark.parametrize("planar", few([True, False]))
def test_equations_with_shared_functions_are_the_flat_ones(planar: bool) -> None:
    """The same operations in another order of summation at most: 1e-12 relative to the largest entry."""
    m = machine(planar)
    flat, shared = (Absolute(m, kernels=kernels).build() for kernels in (False, True))
    rng = np.random.default_rng(3)
    sizes = {"q": flat.nq, "v": flat.nv, "a": flat.nv, "lam": len(flat.rows), "z": 0, "u": 0,
             "reactions": len(flat.reaction_channels)}  # fmt: skip
    values = {name: rng.normal(size=size) for name, size in sizes.items()} | {"p": flat.p, "t": np.array([0.3])}
    assert set(shared.functions) - set(flat.functions) == {"balance", "matrices"}
    compared = 0
    for name, function in flat.functions.items():
        given = [values[part] for part in ARGUMENTS[name].split()]
        symbols = [ca.SX.sym(part, len(values[part])) for part in ARGUMENTS[name].split()]
        written_out = ca.Function("out", symbols, shared.functions[name].call(symbols))
        for expected, *found in zip(function.call(given), shared.functions[name].call(given),
                                    written_out.call(given), strict=True):  # fmt: skip
            exact = np.array(expected)
            for one in found:
                np.testing.assert_allclose(
                    np.array(one), exact, rtol=0, atol=1e-12 * (1 + np.abs(exact).max(initial=0))
                )
            compared += exact.size
    assert compared > 500
    assert not shared.functions["forces"].is_a("SXFunction")


def test_balance_and_matrices_are_those_of_the_other_functions() -> None:
    eqs = Absolute(machine(False), kernels=True).build()
    rng = np.random.default_rng(5)
    q, v, a, lam = (rng.normal(size=n) for n in (eqs.nq, eqs.nv, eqs.nv, len(eqs.rows)))
    none, F = np.zeros(0), eqs.functions
    A, b = F["rows"](q, v, none, none, eqs.p, 0.0)
    M, f = F["inertia"](q, eqs.p, 0.0), F["forces"](q, v, none, none, eqs.p, 0.0, lam)
    found = F["balance"](q, v, a, lam, none, none, eqs.p, 0.0)
    expected = M @ a - f - A.T @ lam, F["position"](q, eqs.p, 0.0), F["rates"](q, v, eqs.p, 0.0), A @ a - b
    for one, other in zip(found, expected, strict=True):
        exact = np.array(other)
        np.testing.assert_allclose(np.array(one), exact, rtol=0, atol=1e-12 * (1 + np.abs(exact).max()))
    for one, other in zip(F["matrices"](q, v, none, none, eqs.p, 0.0), (M, A), strict=True):
        assert np.array_equal(np.array(one), np.array(other))


def test_bodies_share_functions_by_the_content_of_their_data() -> None:
    m = da.Mechanism("free")
    first, same, other = (m.add_flexible_body(f"b{k}", body_data(False, seed)) for k, seed in enumerate((0, 0, 1)))
    assert first.flexible is not same.flexible
    assert find_kernels(first, False) is find_kernels(same, False)
    assert find_kernels(first, False) is not find_kernels(other, False)
    assert content_of(body_data(False)) != content_of(body_data(False, stiff=True))


def chain(count: int) -> da.Mechanism:
    m, data = da.Mechanism("chain"), body_data(False)
    previous = m.ground.at(0, 0, 0)
    for k in range(count):
        body = m.add_flexible_body(f"b{k}", data)
        m.add_spherical(f"j{k}", previous, body.at("n0"))
        previous = body.at("n1")
    return m


def step_of(eqs: da.EquationsOfMotion) -> ca.Function:
    return da.GeneralizedAlpha(step=1e-3).stepper(eqs, read_inputs(eqs, None)).step()


def test_many_equal_bodies_are_shared_and_few_are_flat(monkeypatch: Any) -> None:
    """Operations to compile grow by what is between the bodies alone."""
    operations = find_kernels(chain(1).bodies[0], False).operations
    monkeypatch.setattr(body_kernels, "REPEATED_OPERATIONS", 5 * operations)
    assert "balance" not in da.equations(chain(5)).functions
    many = da.equations(chain(6))
    assert "balance" in many.functions
    flat = Absolute(chain(6), kernels=False).build()
    assert read(step_of(many)).size() < 0.8 * read(step_of(flat)).size()


@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.filterwarnings("ignore::dalembert.core.errors.SimulationWarning")
@pytest.mark.slow
def test_a_run_with_shared_functions_is_the_flat_one(index: int) -> None:
    """Steps converge to 1e-12 of the speeds each; a hundred of them leave 1e-9 in motions of order one."""
    flat, shared = (Absolute(chain(3), kernels=kernels).build() for kernels in (False, True))
    shared = pickle.loads(pickle.dumps(shared))  # noqa: S301 (made here)
    method = da.GeneralizedAlpha(step=1e-3, index=index)
    runs = [da.simulate(eqs, 0.1, start=da.assemble(eqs), method=method, every=0.05, progress=False)
            for eqs in (flat, shared)]  # fmt: skip
    for name in ("b2.x", "b2.z", "b0.mode1", "b2.mode3"):
        assert runs[1][name] == pytest.approx(runs[0][name], abs=1e-9)


@pytest.mark.slow
def test_bodies_without_joints_are_shared_too() -> None:
    m = da.Mechanism("free", gravity=0)
    for k in range(2):
        m.add_flexible_body(f"b{k}", body_data(False))
    flat, shared = (Absolute(m, kernels=kernels).build() for kernels in (False, True))
    rng = np.random.default_rng(0)
    q, v = np.array(flat.placement.q), 0.1 * rng.normal(size=flat.nv)
    method = da.GeneralizedAlpha(step=1e-3)
    runs = [da.simulate(eqs, 0.05, start=eqs.state(q, v), method=method, every=0.05, progress=False)
            for eqs in (flat, shared)]  # fmt: skip
    assert runs[1]["b1.mode2"] == pytest.approx(runs[0]["b1.mode2"], abs=1e-12)
