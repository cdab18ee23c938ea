"""Named functions of equations as C: compiled, and compared with the package at states of runs."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.arrays import FloatArray
from tests.helpers.c_equations import CC, check, needs_compiler
from tests.helpers.findings import raises
from tests.helpers.repetitions import few

ARM = Path(__file__).parents[3] / "data" / "robots" / "six-joint-arm.urdf"


class Compiled:
    """Functions of an export, called from Python."""

    def __init__(self, export: Any) -> None:
        assert CC is not None
        self.prefix = export.name
        library = export.folder / "functions.so"
        command = [CC, "-std=c99", "-O1", "-shared", "-fPIC", f"{export.name}.c", "-o", library.name, "-lm"]
        subprocess.run(command, cwd=export.folder, check=True)
        self.library = ctypes.CDLL(str(library))

    def call(self, name: str, *arguments: Any, sizes: tuple[int, ...]) -> list[FloatArray]:
        results = [np.full(size, np.nan) for size in sizes]
        function = getattr(self.library, f"{self.prefix}_{name}")
        given = [
            ctypes.c_double(x) if np.ndim(x) == 0 else np.ascontiguousarray(x).ctypes.data_as(ctypes.c_void_p)
            for x in (np.asarray(x, dtype=float) if np.ndim(x) else x for x in arguments)
        ]
        function(*given, *(one.ctypes.data_as(ctypes.c_void_p) for one in results))
        return results


@pytest.fixture(scope="module")
def arm() -> da.EquationsOfMotion:
    return da.equations(da.read_urdf(ARM), coordinates="joint")


@needs_compiler
def test_functions_of_an_arm_in_joint_coordinates(arm: da.EquationsOfMotion, tmp_path: Path) -> None:
    """Inverse dynamics undoes forward dynamics; both are those of the package."""
    export = da.export_c(arm, tmp_path, name="arm", functions=["inverse", "mass_matrix", "forward"])
    assert "largest relative difference" in check(export)
    header = (tmp_path / "arm.h").read_text()
    assert "void arm_inverse(const double *q, const double *v, const double *z, const double *a," in header
    assert "[0] q1.effort [N m]" in header and "[0] q1.rate [rad/s]" in header
    assert not [word for word in ("malloc", "calloc", "free(") if word in (tmp_path / "arm.c").read_text()]
    c, random = Compiled(export), np.random.default_rng(0)
    q, v, u = random.normal(size=(3, 6))
    state, nothing = arm.state(q, v), np.zeros(1)
    (a,) = c.call("forward", q, v, nothing, u, nothing, 0.0, sizes=(6,))
    inputs = dict(zip(arm.inputs.names, u, strict=True))
    np.testing.assert_allclose(a, da.forward_dynamics(arm, state, inputs=inputs).acceleration, rtol=1e-9)
    (again,) = c.call("inverse", q, v, nothing, a, nothing, 0.0, sizes=(6,))
    np.testing.assert_allclose(again, u, atol=1e-11 * np.abs(a).max())
    (M,) = c.call("mass_matrix", q, nothing, 0.0, sizes=(36,))
    np.testing.assert_allclose(M.reshape(6, 6).T, da.tree.mass_matrix(arm, state), atol=1e-13)


@needs_compiler
def test_functions_of_a_tree_are_written_by_name_and_place(arm: da.EquationsOfMotion, tmp_path: Path) -> None:
    wanted = ["inverse_dynamics", ("jacobian", "tool"), "gravity", "forward_dynamics"]
    export = da.export_c(arm, tmp_path, name="arm", functions=wanted)
    check(export)
    c, random = Compiled(export), np.random.default_rng(1)
    q, v, a = random.normal(size=(3, 6))
    (tau,) = c.call("inverse_dynamics", q, v, a, np.zeros(1), 0.0, sizes=(6,))
    np.testing.assert_allclose(tau, da.tree.inverse_dynamics(arm, (q, v), a), atol=1e-11)
    (J,) = c.call("jacobian_tool", q, np.zeros(1), 0.0, sizes=(36,))
    np.testing.assert_allclose(J.reshape(6, 6).T, da.tree.jacobian(arm, (q, v), "tool"), atol=1e-13)


@needs_compiler
@pytest.mark.parametrize("coordinates", few(["absolute", "joint"]))
def test_functions_of_a_closed_loop_in_either_coordinates(coordinates: str, tmp_path: Path) -> None:
    """A crank-rocker: the input of a motion, and the accelerations that it makes."""
    eqs = da.equations(da.read_model("four-bar"), coordinates=coordinates)
    export = da.export_c(eqs, tmp_path, name="bar", functions=["inverse", "mass_matrix", "forward"])
    check(export)
    state = da.assemble(eqs, {"A.angle": 1.0}, velocity={"A.angle": 3.0})
    c, u = Compiled(export), np.array([0.7])
    sizes = (eqs.nv, len(eqs.rows))
    a, lam = c.call("forward", state.q, state.v, np.zeros(1), u, eqs.p, 0.0, sizes=sizes)
    found = da.forward_dynamics(eqs, state, inputs={eqs.inputs.names[0]: 0.7}, method="graph")
    np.testing.assert_allclose(a, found.acceleration, atol=1e-9 * np.abs(a).max())
    np.testing.assert_allclose(lam, found.lam, atol=1e-7 * np.abs(lam).max())  # regularised rows
    (again,) = c.call("inverse", state.q, state.v, np.zeros(1), a, eqs.p, 0.0, sizes=(1,))
    np.testing.assert_allclose(again, u, atol=1e-8)


def test_names_that_mean_nothing_are_refused(arm: da.EquationsOfMotion, tmp_path: Path) -> None:
    plain = da.equations(da.read_urdf(ARM))
    with raises(da.errors.ModelError, "unknown-name", "inverse"):
        da.export_c(plain, tmp_path / "c", functions=["inverze"])
    with raises(da.errors.ModelError, "unknown-name"):  # absolute coordinates have no tree
        da.export_c(plain, tmp_path / "c", functions=[("jacobian", "tool")])
    with raises(da.errors.ModelError, "missing-argument"):
        da.export_c(arm, tmp_path / "c", functions=["jacobian"])
    with raises(da.errors.ModelError, "ineffective-argument"):
        da.export_c(arm, tmp_path / "c", functions=["inverse tool"])
    with raises(da.errors.ModelError, "duplicate"):
        da.export_c(arm, tmp_path / "c", functions=["forward", "forward"])
    with raises(da.errors.ModelError, "empty"):
        da.export_c(arm, tmp_path / "c", functions=[])
    assert not (tmp_path / "c").exists()


def test_a_motion_that_does_not_determine_the_inputs_has_no_inverse(tmp_path: Path) -> None:
    m = da.Mechanism("two motors", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.5, 0))
    with raises(da.errors.ModelError, "no-actuator"):
        da.export_c(da.equations(m), tmp_path, functions=["inverse"])
    for name in ("one", "two"):
        m.add_actuator(name, joint="A", input=name)
    with raises(da.errors.ModelError, "undetermined-force"):
        da.export_c(da.equations(m), tmp_path, functions=["inverse"])


def test_functions_mean_nothing_to_a_step(tmp_path: Path) -> None:
    system = da.linearize(da.equations(da.read_model("cart-pendulum")))
    law = da.control.lqr(system, Q=1.0, R=1.0, dt=0.01)
    with raises(da.errors.DataError, "ineffective-argument"):
        da.export_c(law, tmp_path, functions=["forward"])
