"""The public namespace: complete, lazy, and the same for people and type checkers."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as da
from tests.helpers.findings import raises


def run_alone(code: str) -> str:
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def imported_by(code: str) -> set[str]:
    """Top-level modules that `code` loads in a new interpreter, beyond those it starts with."""
    program = f"import json, sys\nbefore = set(sys.modules)\n{code}\nprint(json.dumps(list(set(sys.modules) - before)))"
    return {name.split(".")[0] for name in json.loads(run_alone(program))}


def test_importing_the_package_loads_no_third_party_module():
    loaded = imported_by("import dalembert")
    assert loaded - set(sys.stdlib_module_names) == {"dalembert"}


def test_importing_the_command_line_loads_no_numerical_module():
    loaded = imported_by("import dalembert.cli")
    assert not loaded & {"casadi", "numpy", "scipy", "matplotlib", "pandas", "xarray"}


@pytest.mark.parametrize("name", da.__all__)
def test_every_public_name_resolves(name):
    assert getattr(da, name) is not None


def test_a_public_name_is_the_object_of_its_module():
    from dalembert.core.errors import ModelError

    assert da.errors.ModelError is ModelError


def test_dir_shows_every_public_name():
    assert set(dir(da)) == set(da.__all__)


def test_an_unknown_name_suggests_the_nearest_one():
    with raises(AttributeError, None, "'simulate'"):
        da.simulat


@pytest.mark.parametrize(
    ("former", "present"),
    [
        (lambda: da.sqrt, "da.math.sqrt"),
        (lambda: da.lqr, "da.control.lqr"),
        (lambda: da.linear.sweep, "da.linear.track_eigenvalues"),
        (lambda: da.structures.assemble, "da.structures.assemble_structure"),
        (lambda: da.structures.static, "da.structures.solve_static"),
        (lambda: da.identify.simulate, "da.simulate"),
    ],
)
def test_a_name_that_moved_or_was_renamed_leads_to_its_heir(former, present):
    with raises(AttributeError, None, f"Use {present}."):
        former()
    assert named(present)


def test_a_misspelt_or_renamed_method_of_a_mechanism_leads_to_its_heir():
    m = da.Mechanism("arm", planar=True)
    body = m.add_body("arm", mass=1.0, inertia=1.0)
    m.add_revolute("elbow", m.ground.at(0, 0), body.at(0, 0))
    for kind in ("torque", "force"):
        with raises(da.errors.ModelError, "unknown-argument", "m.add_actuator(joint='elbow')"):
            getattr(m, f"add_{kind}")("motor", joint="elbow", input="u")
    with raises(AttributeError, None, "'add_revolute'"):
        m.add_revolut("B")
    with raises(AttributeError, None, "m.validate()"):
        m.check()
    with raises(AttributeError, None, "f.validate()"):
        da.structures.Frame("portal").check()
    assert not hasattr(m, "_repr_png_")


@pytest.mark.parametrize(("planar", "form"), [(True, "gravity=(0, -9.81)"), (False, "gravity=(0, 0, -9.81)")])
def test_gravity_as_a_number_is_refused_with_the_form_it_has(planar, form):
    with raises(da.errors.ModelError, "wrong-shape", form):
        da.Mechanism("arm", planar=planar, gravity=9.81)


def named(path: str) -> bool:
    """Whether there is an object of the name ``da.x.y``."""
    place = da
    for part in path.split(".")[1:]:
        if part in getattr(place, "__dataclass_fields__", {}):
            return True
        if not hasattr(place, part):
            return False
        place = getattr(place, part)
    return True


def test_every_name_in_the_changelog_exists():
    """Also the short ones of a list, as in "`da.linear.track_eigenvalues`, `campbell`"."""
    text = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
    absent = []
    for first, others in re.findall(r"`(da\.[\w.]+)[^`]*`((?:(?:,| and|, and) `\w+`)*)", text):
        home = first.rpartition(".")[0]
        paths = [
            (first,),
            *((f"{home}.{name}", f"{first}.{name}") for name in re.findall(r"`(\w+)`", others)),
        ]
        absent += [path[0] for path in paths if not any(map(named, path))]
    m = da.Mechanism("arm")
    absent += [f"m.{name}" for name in re.findall(r"`m\.(\w+)", text) if not hasattr(m, name)]
    assert not absent


def test_equations_stays_the_function_after_its_namesake_module_is_imported():
    code = "import dalembert.equations\nimport dalembert as da\nprint(callable(da.equations))"
    assert run_alone(code).strip() == "True"


def test_a_room_loads_what_is_asked_for_and_not_its_neighbours():
    loaded = set(run_alone("import sys, dalembert as da\nda.estimate.Kalman\nprint(*sys.modules)").split())
    assert "dalembert.estimate.filters.kalman" in loaded
    others = {"dalembert.estimate.kinematic.model", "dalembert.identify.machine.fit", "dalembert.identify.auto.result"}
    assert not others & loaded
    loaded = set(run_alone("import sys, dalembert as da\nda.simulate\nprint(*sys.modules)").split())
    assert "dalembert.linear.state_space" not in loaded


CRANK_ROCKER = """
import sys
import dalembert as da
m = da.Mechanism("crank-rocker", planar=True)
crank, coupler, rocker = (m.add_body(name, mass=1.0, inertia=0.01) for name in ("crank", "coupler", "rocker"))
m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.05, 0))
m.add_revolute("B", crank.at(0.05, 0), coupler.at(-0.15, 0))
m.add_revolute("C", coupler.at(0.15, 0), rocker.at(0.125, 0))
m.add_revolute("D", m.ground.at(0.3, 0), rocker.at(-0.125, 0))
eqs = da.equations(m)
da.simulate(eqs, until=0.01, start=da.assemble(eqs, {"A.angle": 1.0}, velocity={"A.angle": 5.0}))
print(*sys.modules)
"""


def test_equations_and_a_run_of_a_machine_load_no_linear_system():
    loaded = set(run_alone(CRANK_ROCKER).split())
    assert "dalembert.solve.integrate.open_run" in loaded
    assert [name for name in loaded if name.startswith("dalembert.linear")] == []


@pytest.mark.parametrize("room", ["linear", "structures", "identify", "estimate", "control", "tree"])
def test_every_name_of_a_room_resolves(room):
    names = getattr(da, room).__all__
    assert len(names) > 20
    assert not [name for name in names if inspect.ismodule(getattr(getattr(da, room), name))]


REQUIRED = {
    "export_object", "read_flexible_body", "write_flexible_body", "deflection", "strain", "curvature", "linkages",
    "export_python", "read_mjcf", "read_modes", "read_urdf", "separate_scales", "symbolic", "tree", "write_modes",
    "write_urdf",
}  # fmt: skip


def test_the_front_door_has_at_most_seventy_names_and_those_that_requirements_name():
    assert set(da.__all__) >= REQUIRED
    assert len(set(da.__all__) - REQUIRED - {"__version__"}) <= 70
