"""Equations as C: compiled with all warnings as errors, and run against the numbers of the package."""

from __future__ import annotations

from pathlib import Path

import pytest

import dalembert as da
from tests.helpers.c_equations import check, needs_compiler
from tests.helpers.findings import raises


@needs_compiler
@pytest.mark.parametrize("machine", ["pendulum", "four-bar", "quarter-car", "spherical-pendulum", "excavator"])
def test_equations_of_a_machine_compile_and_agree(machine: str, tmp_path: Path) -> None:
    export = da.export_c(da.equations(da.read_model(machine)), tmp_path / "c", name="machine")
    assert {path.name for path in export.files} == {
        "machine.h", "machine.c", "machine_test.c", "Makefile", "README.md",
    }  # fmt: skip
    assert "largest relative difference" in check(export)


@needs_compiler
@pytest.mark.parametrize("formalism", ["lagrange", "kane", "hamilton"])
def test_a_derivation_compiles_and_agrees(formalism: str, tmp_path: Path) -> None:
    s = da.symbolic.System("pendulum on a cart", gravity=(0, -9.81))
    x, theta, push = s.coordinate("x", "m"), s.coordinate("theta", "rad"), s.input("push", "N")
    length = s.parameter("l", 0.7, "m")
    s.add_particle("cart", 2.0, (x, 0))
    s.add_particle("bob", 0.5, (x + length * da.sin(theta), -length * da.cos(theta)))
    s.add_force("push", (push, 0), "cart")
    export = da.export_c(getattr(da.symbolic, formalism)(s), tmp_path / "c")
    assert export.name == "pendulum_on_a_cart"
    check(export)


@needs_compiler
def test_the_test_program_notices_a_wrong_value(tmp_path: Path) -> None:
    export = da.export_c(da.equations(da.read_model("pendulum")), tmp_path, name="machine")
    source = tmp_path / "machine.c"
    assert "f[1] = " in source.read_text()
    source.write_text(source.read_text().replace("f[1] = ", "f[1] = 1e-6 + ", 1))
    with pytest.raises(AssertionError):
        check(export)


def test_names_units_and_values_stand_in_the_header(tmp_path: Path) -> None:
    da.export_c(da.equations(da.read_model("four-bar")), tmp_path)
    text = (tmp_path / "four_bar.h").read_text()
    assert "[0] crank.x [m]" in text and "crank = 0.2" in text and "#define FOUR_BAR_ROWS 8" in text
    assert "void four_bar_inertia(const double *q, const double *p, double t, double *M);" in text


def test_arguments_of_a_step_mean_nothing_to_equations(tmp_path: Path) -> None:
    eqs = da.equations(da.read_model("pendulum"))
    for given in ({"dt": 0.1}, {"real": "float"}):
        with raises(da.errors.DataError, "ineffective-argument"):
            da.export_c(eqs, tmp_path / "c", **given)
