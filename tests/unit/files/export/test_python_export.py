"""Equations as a module of NumPy: the same numbers, without this package."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import ARGUMENTS, Channels, EquationsOfMotion
from dalembert.files.export.python_export import FUNCTIONS, export_python
from tests.helpers.findings import raises

MACHINES = ("pendulum", "four-bar", "cart-pendulum", "quarter-car", "spherical-pendulum", "rolling-disc", "scara")


def arguments(eqs: EquationsOfMotion, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    q = np.array(eqs.placement.q) + random.uniform(-0.3, 0.3, eqs.nq)
    return {
        "q": q, "v": random.uniform(-1, 1, eqs.nv), "z": random.uniform(-1, 1, eqs.nz),
        "u": random.uniform(-1, 1, eqs.nu), "p": eqs.p, "t": 0.7, "lam": random.uniform(-1, 1, len(eqs.rows)),
        "a": random.uniform(-1, 1, eqs.nv),
    }  # fmt: skip


def load(model: object, folder: Path) -> dict[str, Any]:
    return runpy.run_path(str(export_python(model, folder / "written.py")))


@pytest.mark.parametrize("machine", MACHINES)
def test_every_function_gives_the_numbers_of_the_equations(machine: str, tmp_path: Path) -> None:
    eqs = da.equations(da.read_model(machine))
    module = load(eqs, tmp_path)
    given = arguments(eqs)
    for one in FUNCTIONS:
        if one.name not in module:
            assert eqs.functions[one.function].nnz_out() == 0
            continue
        names = ARGUMENTS[one.function].split()
        found = module[one.name](*(given[name] for name in names))
        for mine, theirs in zip(
            (found,) if len(one.results) == 1 else found, eqs.kernel(one.function)(*(given[name] for name in names))
        ):
            # the same operations in the same order; sines of NumPy may differ by an ulp, of numbers up to 100
            np.testing.assert_allclose(mine, np.reshape(theirs, np.shape(mine)), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("machine", ["cart-pendulum", "four-bar", "spherical-pendulum", "quarter-car"])
def test_accelerations_are_those_of_the_forward_dynamics(machine: str, tmp_path: Path) -> None:
    m = da.read_model(machine)
    eqs = da.equations(m)
    module = load(eqs, tmp_path)
    start = da.assemble(eqs, **m.start)
    u = 0.3 * np.ones(eqs.nu)
    a, _ = module["accelerations"](start.q, start.v, start.z, u, eqs.p, start.t)
    known = da.forward_dynamics(eqs, start, inputs=dict(zip(eqs.inputs.names, u)))
    # regularized rows of the forward dynamics agree to 1e-10 of the largest acceleration
    np.testing.assert_allclose(a, known.acceleration, rtol=0, atol=1e-9 * (1 + np.abs(a).max()))


def test_a_column_per_state_gives_a_column_per_result(tmp_path: Path) -> None:
    eqs = da.equations(da.read_model("four-bar"))
    module = load(eqs, tmp_path)
    states = [arguments(eqs, seed) for seed in range(3)]
    q, v, u = (np.column_stack([one[name] for one in states]) for name in "qvu")
    many, lam = module["accelerations"](q, v, (), u)
    assert many.shape == (eqs.nv, 3) and lam.shape == (len(eqs.rows), 3)
    for k, one in enumerate(states):
        np.testing.assert_allclose(many[:, k], module["accelerations"](one["q"], one["v"], (), one["u"])[0], rtol=1e-9)


def test_the_state_rate_integrates_to_the_run_of_the_package(tmp_path: Path) -> None:
    from scipy.integrate import solve_ivp

    m = da.read_model("cart-pendulum")
    eqs = da.equations(m)
    module = load(eqs, tmp_path)
    start = da.assemble(eqs, **m.start)
    x0 = np.concatenate([start.q, start.v])
    found = solve_ivp(module["state_rate"], (0.0, 0.5), x0, args=([0.2],), rtol=1e-10, atol=1e-12)
    run = da.simulate(eqs, 0.5, start=start, inputs={"push": 0.2}, method=da.DormandPrince(rtol=1e-10, atol=1e-12))
    assert found.y[0, -1] == pytest.approx(run["cart.x"][-1], abs=1e-8)  # ten times the tolerance of a run


def test_the_module_needs_numpy_and_nothing_of_this_package(tmp_path: Path) -> None:
    file = export_python(da.equations(da.read_model("four-bar")), tmp_path / "bar.py")
    script = "import sys, bar; assert not [n for n in sys.modules if n.startswith(('dalembert', 'casadi'))]; "
    script += "print(list(bar.COORDINATES)[0], bar.COORDINATES['crank.x'], bar.PARAMETERS['base'])"
    shown = subprocess.run(
        [sys.executable, "-c", script], cwd=file.parent, capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.split() == ["crank.x", "m", "0.7"]


def test_a_derivation_is_exported_with_the_names_of_its_system(tmp_path: Path) -> None:
    m = da.read_model("four-bar")
    derivation = da.symbolic.from_mechanism(m, "lagrange_multipliers")
    module = load(derivation, tmp_path)
    assert list(module["COORDINATES"]) == ["A.angle", "B.angle", "C.angle"] and list(module["INPUTS"]) == ["torque"]
    q, v = [0.3, 0.4, 0.5], [1.0, -2.0, 3.0]
    a, _ = module["accelerations"](q, v, (), [0.2])
    known = derivation.solve(
        dict(zip(module["COORDINATES"], q)), dict(zip(module["COORDINATES"], v)), inputs={"torque": 0.2}
    )
    # both solve the same well conditioned system of five unknowns
    np.testing.assert_allclose(a, known.acceleration, rtol=1e-10)


def test_names_that_python_has_for_other_things_are_changed(tmp_path: Path) -> None:
    import casadi as ca

    q, v, p, t = ca.SX.sym("q", 3), ca.SX.sym("v", 3), ca.SX.sym("p", 2), ca.SX.sym("t")
    z, u, lam = ca.SX(0, 1), ca.SX(0, 1), ca.SX(0, 1)
    f = ca.vertcat(p[0] * q[0], p[1] * q[1], q[2])
    eqs = EquationsOfMotion(
        name='a """ b', coordinates=Channels(["lambda", "x1", "q"]), speeds=Channels(["np", "a.b", "a_b"]),
        parameters=Channels(["2 k", "größe"]), parameter_values=(2.0, 3.0),
        functions={
            "inertia": ca.Function("inertia", [q, p, t], [ca.SX.eye(3)]),
            "forces": ca.Function("forces", [q, v, z, u, p, t, lam], [f + v]),
        },
    )  # fmt: skip
    module = load(eqs, tmp_path)
    found = module["forces"]([1.0, 2.0, 3.0], [0.1, 0.2, 0.3])
    np.testing.assert_allclose(found, [2.1, 6.2, 3.3], rtol=1e-15)


def test_a_file_that_is_no_module_is_refused(tmp_path: Path) -> None:
    with raises(da.errors.ModelError, "bad-name"):
        export_python(da.equations(da.read_model("pendulum")), tmp_path / "pendulum.txt")
    with raises(da.errors.ModelError, "wrong-type"):
        export_python(3.0, tmp_path / "three.py")


def test_an_operation_that_numpy_does_not_have_is_named(tmp_path: Path) -> None:
    import casadi as ca

    from dalembert.equations import equations_from_expressions

    q, v, t = ca.SX.sym("x"), ca.SX.sym("x.rate"), ca.SX.sym("t")
    eqs = equations_from_expressions("odd", q=[q], v=[v], t=t, M=1.0, f=ca.erf(q))
    with raises(da.errors.ModelError, "no-python-code", "erf"):
        export_python(eqs, tmp_path / "odd.py")
    assert not (tmp_path / "odd.py").exists()
