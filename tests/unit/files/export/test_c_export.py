"""Observers and controllers as C: compiled with all warnings as errors, without a heap, and run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.equations import Channels
from dalembert.files.export.c_export import _random, export_c, identifier
from dalembert.loop.interfaces import Law, ObserverStep
from tests.helpers.c_code import CC, built, needs_compiler, sound
from tests.helpers.findings import raises
from tests.helpers.loops import CART_GAINS, CART_READS, channels, gain_law, integral_law, luenberger, predictor_law

A = np.array([[1.0, 0.1], [-0.2, 0.9]])
B = np.array([[0.0], [0.1]])
C = np.array([[1.0, 0.0]])
D = np.array([[0.0]])
L = np.array([[0.5], [0.3]])
K = np.array([[1.2, 0.8]])


@needs_compiler
@pytest.mark.parametrize("real", ["double", "float"])
def test_a_law_with_memory_and_references_is_exported(tmp_path: Path, real: str) -> None:
    export = export_c(integral_law(0.05), tmp_path / "pi", name="speed_loop", real=real)
    assert {path.name for path in export.files} == {
        "speed_loop.h", "speed_loop.c", "speed_loop_kernel.c", "speed_loop_test.c", "Makefile", "README.md",
    }  # fmt: skip
    sound(export)
    text = (tmp_path / "pi" / "speed_loop.h").read_text()
    assert "[0] integral [m s]" in text and f"typedef {real} speed_loop_real;" in text
    assert "#define SPEED_LOOP_READS 1" in text


@needs_compiler
@pytest.mark.parametrize("real", ["double", "float"])
def test_an_observer_is_exported(tmp_path: Path, real: str) -> None:
    observer_step = luenberger(A, B, C, D, L, 0.1, (0.3, -0.2), (["u"], ["y"], ["x", "v"]))
    sound(export_c(observer_step, tmp_path, real=real))


@needs_compiler
def test_a_law_without_memory_is_exported(tmp_path: Path) -> None:
    sound(export_c(gain_law(CART_GAINS, CART_READS, ["force"], 0.02), tmp_path))


@needs_compiler
def test_a_predictor_can_drive_before_it_reads(tmp_path: Path) -> None:
    law = predictor_law(A, B, C, D, L, K, 0.1, (0.1, 0.2), (["u"], ["y"]))
    export = export_c(law, tmp_path)
    assert "void lqg_drive(const lqg_state *state" in (tmp_path / "lqg.h").read_text()
    sound(export)


@needs_compiler
def test_matrix_algebra_and_conditions_go_to_c(tmp_path: Path) -> None:
    """A Kalman filter in MX with a factorization inside."""
    m, u0, u1, y = ca.MX.sym("m", 6), ca.MX.sym("u0"), ca.MX.sym("u1"), ca.MX.sym("y")
    measured, p, t, step = ca.MX.sym("measured"), ca.MX.sym("p", 1), ca.MX.sym("t"), ca.MX.sym("dt")
    x, P = m[:2], ca.reshape(m[2:], 2, 2)
    x1 = ca.if_else(step > 0, A @ x + B @ u0, x)
    P1 = ca.if_else(step > 0, A @ P @ A.T + p * ca.MX.eye(2), P)
    S = C @ P1 @ C.T + 0.1
    gain = ca.solve(S, C @ P1, "qr").T
    x2 = x1 + gain @ (measured * (y - C @ x1))
    P2 = P1 - measured * gain @ C @ P1
    function = ca.Function("kf", [m, u0, u1, y, measured, p, t, step], [ca.vertcat(x2, ca.vec(P2)), x2])
    observer_step = ObserverStep(
        "Kalman (x*/y)", ("y",), ("u",), Channels(["x", "v"], ["m", "m/s"]), function, 0.1, channels(list("abcdef")),
        (0.0, 0.0, 1.0, 0.0, 0.0, 1.0), (0.01,),
    )  # fmt: skip
    export = export_c(observer_step, tmp_path)
    assert export.name == "kalman_x_y"
    sound(export)


@needs_compiler
def test_reference_steps_may_come_from_a_run(tmp_path: Path) -> None:
    plant = da.StateSpace(A, B, C, D, 0.1, states=["x", "v"], inputs=["u"], outputs=["y"], units={"y": "mm"})
    observer_step = luenberger(A, B, C, D, L, 0.1, (0.0, 0.0), (["u"], ["y"], ["x", "v"]))
    law = gain_law(K, ["x", "v"], ["u"], 0.1)
    run = da.simulate(plant, 2.0, start={"x": 1.0}, controller=law, observer=observer_step)
    export = export_c(observer_step, tmp_path, example=run)
    sound(export)
    numbers = (tmp_path / "luenberger_test.c").read_text()
    assert repr(float(run["estimate.v"][5])) in numbers  # the C code is compared with the loop itself
    assert "[0] y [mm]" in (tmp_path / "luenberger.h").read_text()


@needs_compiler
def test_a_wrong_step_fails_its_test(tmp_path: Path) -> None:
    export = export_c(integral_law(0.05), tmp_path, name="pi")
    kernel = tmp_path / "pi_kernel.c"
    text = kernel.read_text()
    assert text.count("5.0000000000000003e-02") == 1
    kernel.write_text(text.replace("5.0000000000000003e-02", "5.1e-02"))
    assert built(export)[0] == 1


@needs_compiler
@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
def test_the_makefile_builds_and_runs_the_test(tmp_path: Path) -> None:
    export_c(integral_law(0.05), tmp_path)
    assert CC is not None
    done = subprocess.run(["make", f"CC={CC}", "test"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "12 steps, largest relative difference" in done.stdout


def test_what_has_no_c_code_is_refused(tmp_path: Path) -> None:
    x, p = ca.MX.sym("x"), ca.MX.sym("p")
    root = ca.rootfinder("root", "newton", ca.Function("f", [x, p], [x**3 - p]))
    y, m, r, q, t = ca.MX.sym("y"), ca.MX.sym("m", 0), ca.MX.sym("r", 0), ca.MX.sym("q", 0), ca.MX.sym("t")
    law = Law("root", ("y",), ("u",), ca.Function("law", [y, m, r, q, t], [root(1.0, y), m]), 0.1)
    with raises(da.errors.ModelError, "no-c-code"):
        export_c(law, tmp_path)


def test_mistakes_are_reported(tmp_path: Path) -> None:
    law = integral_law(0.05)
    for wrong in ("1st", "a-b", "int", "", 3, "x" * 50):
        with raises(da.errors.DataError, "bad-name"):
            export_c(law, tmp_path, name=wrong)  # type: ignore[arg-type]
    with raises(da.errors.DataError, "unknown-choice", "'double'", "'float'"):
        export_c(law, tmp_path, real="half")
    with raises(da.errors.ModelError, "not-sampled"):
        export_c(gain_law([[1.0]], ["x"], ["u"]), tmp_path)
    with raises(da.errors.ModelError, "wrong-type"):
        export_c(3.0, tmp_path)
    with raises(da.errors.DataError, "unknown-name", "'y'"):
        export_c(law, tmp_path, example=da.Record([0.0, 1.0], [[1.0], [2.0]], ["z"]))
    (tmp_path / "file").write_text("")
    with raises(da.errors.DataError, "not-writable"):
        export_c(law, tmp_path / "file" / "folder")


def test_names_become_identifiers() -> None:
    assert identifier("output feedback") == "output_feedback"
    assert identifier("3 loops") == "step_3_loops"
    assert identifier("for") == "step_for" and identifier("§") == "step"


def test_eight_of_ten_sensors_have_a_value_in_the_test_program() -> None:
    # 12 samples of 1000 sensors: a standard deviation of √(0.16 / 12 000) = 0.004
    one = SimpleNamespace(inputs=[SimpleNamespace(name="measured", size=1000)], dt=0.1)
    assert np.mean(_random(one)) == pytest.approx(0.8, abs=0.02)
