"""A kind of solid element that is written here and not in the package: a hexahedron of 20 points, under-integrated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import (
    SOLID_ELEMENTS,
    Material,
    Solid,
    assemble_structure,
    box_mesh,
    find_buckling,
    make_hexahedron,
    shape_report,
    solve_static,
)
from tests.helpers.installed_command import dalembert
from tests.helpers.packages import install


def serendipity():
    """The element of scikit-fem with 20 points; any object of its interface will do."""
    import skfem

    return skfem.ElementHexS2()


@pytest.fixture(autouse=True)
def hex20r() -> Iterator[None]:
    declared = make_hexahedron("hex20r", serendipity, 1, stiffness_degree=3, mass_degree=5, stress_degree=3)
    SOLID_ELEMENTS.register("hex20r", declared)
    yield
    SOLID_ELEMENTS.unregister("hex20r")


def cantilever(kind: str) -> Solid:
    """0.2 x 0.1 m, 2 m long, without Poisson's ratio: beam theory holds throughout."""
    solid = Solid("beam", box_mesh((2.0, 0.1, 0.2), (8, 1, 2), kind), Material("plain", 1e10, 1000.0, 0.0), gravity=0)
    solid.add_support("x=0", "xyz")
    solid.add_interface("tip", "x=2")
    solid.add_force("down", "tip", (0, 0, -1e3))
    return solid


def test_it_bends_as_timoshenko_says():
    """F l³/3EI + F l/(5/6 G A); the clamp and the rigid end face leave 0.1 %."""
    found = solve_static(assemble_structure(cantilever("hex20r")), "down").displacement["tip.z"]
    inertia, area = 0.1 * 0.2**3 / 12, 0.02
    assert found == pytest.approx(-1e3 * (8 / (3 * 1e10 * inertia) + 2 / (5 / 6 * 0.5e10 * area)), rel=1e-3)


def test_it_is_hex20_with_quadrature_3():
    wanted = Solid(
        "beam", box_mesh((2.0, 0.1, 0.2), (8, 1, 2), "hex20"), Material("plain", 1e10, 1000.0, 0.3), quadrature=3
    )
    found = Solid("beam", box_mesh((2.0, 0.1, 0.2), (8, 1, 2), "hex20r"), Material("plain", 1e10, 1000.0, 0.3))
    for one in (wanted, found):
        one.add_support("x=0", "xyz")
    a, b = (assemble_structure(one).modes(4).frequencies_hz for one in (wanted, found))
    np.testing.assert_allclose(b, a, rtol=1e-10)


def test_its_stresses_and_its_buckling_load_are_found():
    """Largest bending stress 6 F l/(b h²) at the clamp; Euler's load of the weak axis, π² E I/(4 l²)."""
    solid = cantilever("hex20r")
    solid.add_force("along", "tip", (-1.0, 0, 0))
    s = assemble_structure(solid)
    stresses = solve_static(s, "down").stresses()[0]
    assert np.abs(stresses.at("x=0.5", "xx")).max() == pytest.approx(1e3 * 1.5 * 0.1 / (0.1 * 0.2**3 / 12), rel=1e-2)
    euler = np.pi**2 * 1e10 * 0.2 * 0.1**3 / 12 / 16
    assert find_buckling(s, "along").critical == pytest.approx(euler, rel=1e-2)


def test_it_meets_the_requirements_on_shape_functions_and_is_drawn(tmp_path):
    assert shape_report("hex20r").kind == "hex20r"
    s = assemble_structure(cantilever("hex20r"))
    da.plot(solve_static(s, "down"), path=tmp_path / "beam.png")
    assert (tmp_path / "beam.png").stat().st_size > 1000


GUEST = """
from dalembert.structures import SOLID_ELEMENTS, make_hexahedron


def serendipity():
    import skfem

    return skfem.ElementHexS2()


SOLID_ELEMENTS.register(
    "hex20r", make_hexahedron("hex20r", serendipity, 1, stiffness_degree=3, mass_degree=5, stress_degree=3)
)
"""
BAR = """
from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.registry import command


@command("Structures")
def solid_bar(kind: str, as_json: Json = False) -> None:
    \"\"\"Stretch of a bar of 1 m under 1 kN, of elements of a kind [m].\"\"\"
    from dalembert.structures import Material, Solid, assemble_structure, box_mesh, solve_static

    bar = Solid("bar", box_mesh((1.0, 0.1, 0.1), (4, 2, 2), kind), Material("plain", 1e10, 1000.0, 0.0), gravity=0)
    bar.add_support("x=0", "xyz")
    bar.add_interface("end", "x=1")
    bar.add_force("pull", "end", (1e3, 0, 0))
    terminal.give({"stretch": float(solve_static(assemble_structure(bar), "pull").displacement["end.x"])})
"""


@pytest.mark.slow
def test_the_installed_command_knows_it_once_its_package_is_installed(tmp_path: Path):
    install(tmp_path, "guest_solid", GUEST, "dalembert.solid_elements")
    install(tmp_path, "guest_bar", BAR, "dalembert.commands")
    listed = json.loads(dalembert(tmp_path, "doctor", "--json").stdout)["kinds"]
    assert {("dalembert.solid_elements", "hex20r"), ("dalembert.commands", "solid-bar")} <= {
        (one["group"], one["name"]) for one in listed
    }
    found = dalembert(tmp_path, "solid-bar", "hex20r")
    assert found.returncode == 0, found.stderr
    # F l / E A: constant strain, exact up to the condition of a stiffness matrix of 1e10 N/m (1e6 times rounding)
    assert json.loads(found.stdout)["stretch"] == pytest.approx(1e3 / (1e10 * 0.01), rel=1e-9)
