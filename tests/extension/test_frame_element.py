"""A kind of frame element that is written here and not in the package: a tight cable between two points."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.structures import (
    FRAME_ELEMENTS,
    Frame,
    FrameElement,
    RigidSlices,
    Section,
    assemble_structure,
    find_buckling,
    prestress,
    solve_static,
    spin,
)
from tests.helpers.findings import raises
from tests.helpers.installed_command import dalembert
from tests.helpers.packages import install

EA, N, RHO = 2e5, 500.0, 0.4  # [N, N, kg/m]


@dataclass(frozen=True)
class Cable(FrameElement):
    """Stiffness EA/l along the line of its points and N/l across it, consistent mass."""

    kind: ClassVar[str] = "cable"
    rotates: ClassVar[bool] = False
    name: str
    points: tuple[str, str]
    axial: float
    tension: float = 0.0
    density: float = 0.0
    area: float = 1e-4

    def stiffness_matrix(self, places):
        length, x = self._axis(places)
        return pair((self.axial * x + self.tension * (np.eye(3) - x)) / length)

    def mass_matrix(self, places):
        length, _ = self._axis(places)
        M = np.zeros((2, 6, 2, 6))
        M[:, :3, :, :3] = self.density * length / 6 * np.array([[2, 1], [1, 2]])[:, None, :, None] * np.eye(3)[:, None]
        return M.reshape(12, 12)

    def internal_forces(self, places, u):
        length, _ = self._axis(places)
        along = (places[1] - places[0]) / length
        return {"N": self.axial / length * float(along @ (u[6:9] - u[:3]))}

    def geometric_stiffness(self, places, forces: Mapping[str, float]):
        length, x = self._axis(places)
        return pair(forces.get("N", 0.0) / length * (np.eye(3) - x))

    def stress(self, forces: Mapping[str, float]) -> float:
        return abs(forces["N"]) / self.area

    def slices(self, places):
        length, _ = self._axis(places)
        xi, weights = np.polynomial.legendre.leggauss(2)
        xi, weights = (1 + xi) / 2, weights / 2
        shapes = np.zeros((2, 6, 12))
        for k, s in enumerate(xi):
            shapes[k, :3, :3], shapes[k, :3, 6:9] = (1 - s) * np.eye(3), s * np.eye(3)
        where = places[0] + xi[:, None] * (places[1] - places[0])
        return RigidSlices(shapes, self.density * length * weights, np.zeros((2, 3, 3)), where)

    def _axis(self, places):
        line = places[1] - places[0]
        length = float(np.linalg.norm(line))
        return length, np.outer(line, line) / length**2


def pair(block):
    """(12, 12) of a (3, 3) stiffness between two points."""
    K = np.zeros((2, 6, 2, 6))
    K[:, :3, :, :3] = np.array([[1, -1], [-1, 1]])[:, None, :, None] * block[:, None]
    return K.reshape(12, 12)


@pytest.fixture(autouse=True)
def cable() -> Iterator[None]:
    FRAME_ELEMENTS.register("cable", Cable)
    yield
    FRAME_ELEMENTS.unregister("cable")


def washing_line(count: int, planar: bool = True, **values: float) -> Frame:
    """A cable of 1 m along x in `count` pieces, held at both ends."""
    f = Frame("line", planar=planar)
    places = np.zeros((count + 1, 2 if planar else 3))
    places[:, 0] = np.linspace(0, 1, count + 1)
    f.add_points("p", places)
    for k in range(count):
        f.add_element("cable", f"c{k + 1}", (f"p{k + 1}", f"p{k + 2}"), EA, **values)
    f.add_support(["p1", f"p{count + 1}"], "pinned")
    return f


def test_a_tight_cable_sags_as_its_closed_form():
    """Midspan force F: F l / 4 N across the line, exact with a point there."""
    f = washing_line(8, tension=N)
    f.add_force("peg", "p5", (0, -20.0))
    assert solve_static(assemble_structure(f), "peg").displacement["p5.y"] == pytest.approx(
        -20.0 * 1.0 / (4 * N), rel=1e-12
    )


@pytest.mark.parametrize("planar", [True, False])
def test_its_frequencies_are_those_of_a_string(planar: bool):
    """f_k = k/2 √(N/ρ); linear elements of length h are k²π²h²/24 too high."""
    count = 60
    found = assemble_structure(washing_line(count, planar, tension=N, density=RHO)).modes(6).frequencies_hz
    exact = 0.5 * np.sqrt(N / RHO) * np.arange(1, 4)
    first = found[:3] if planar else found[[0, 2, 4]]
    np.testing.assert_allclose(first, exact * (1 + (np.arange(1, 4) * np.pi / count) ** 2 / 24), rtol=1e-6)


def test_a_load_prestresses_it():
    """Pulled to N at one end, the slack cable vibrates as the string of that tension, f₁ = ½ √(N/ρ)."""
    f = Frame("pulled", planar=True)
    f.add_points("p", np.column_stack([np.linspace(0, 1, 41), np.zeros(41)]))
    for k in range(40):
        f.add_cable(f"c{k + 1}", (f"p{k + 1}", f"p{k + 2}"), EA, density=RHO)
    f.add_support("p1", "pinned")
    f.add_support("p41", "y")
    f.add_force("pull", "p41", (N, 0))
    tight = prestress(assemble_structure(f), "pull")
    first = 0.5 * np.sqrt(N / RHO) * (1 + (np.pi / 40) ** 2 / 24)
    assert tight.modes(1).frequencies_hz[0] == pytest.approx(first, rel=1e-6)
    more = solve_static(tight, "pull")
    assert more.forces("c7") == {"N": pytest.approx(N)}
    assert more.forces("c7", total=True) == {"N": pytest.approx(2 * N)}
    assert more.largest_stresses()["c7"] == pytest.approx(N / 1e-4)
    assert more.largest_stresses(total=True)["c7"] == pytest.approx(2 * N / 1e-4)


def test_given_tensions_prestress_it():
    s = assemble_structure(washing_line(4, tension=0.0))
    tight = prestress(s, tension={f"c{k}": N for k in range(1, 5)})
    wanted = assemble_structure(washing_line(4, tension=N)).K.toarray()
    np.testing.assert_allclose(tight.K.toarray(), wanted, rtol=0, atol=1e-9 * EA)


def test_it_holds_a_mast_of_beams_and_buckles_with_it():
    """A pinned mast between two cables: P l = 2 (EA/l_c) (h/l_c)² l², the spring at its top."""
    f = Frame("mast", planar=True)
    f.add_points(["foot", "top", "west", "east"], [[0, 0], [0, 4.0], [-3.0, 0], [3.0, 0]])
    f.add_beam("mast", "foot", "top", section=Section.rectangle(1.0, 1.0), material="steel", elements=2)
    f.add_element("cable", "guy1", ("west", "top"), EA)
    f.add_element("cable", "guy2", ("east", "top"), EA)
    f.add_support(["foot", "west", "east"], "pinned")
    f.add_force("weight", "top", (0, -1.0))
    s = assemble_structure(f)
    spring = 2 * EA / 5.0 * (3.0 / 5.0) ** 2
    # the mast takes all but 1e-6 of the weight, and guys of 40 kN/m bend it by nothing to 1e-5
    assert find_buckling(s, "weight").critical == pytest.approx(spring * 4.0, rel=1e-4)


def test_it_spins_as_a_string_under_its_own_pull():
    """Tension of a rotating string, N(r) = ½ ρ Ω² (l² − r²): its first flapping frequency is Ω exactly."""
    f = Frame("tether", gravity=0)
    count, speed = 40, 30.0
    f.add_points("p", np.column_stack([np.linspace(0, 1, count + 1), *np.zeros((2, count + 1))]))
    for k in range(count):
        f.add_element("cable", f"c{k + 1}", (f"p{k + 1}", f"p{k + 2}"), 1e9, tension=1e-6, density=RHO)
    f.add_support("p1", "pinned")
    flapping = spin(assemble_structure(f), "z", speed, coriolis=False).modes(2)
    found = flapping.frequencies_hz * 2 * np.pi
    # in the plane the softening takes Ω² away: ω = 0; across it ω = Ω; tensions of pieces are off by (h/l)²
    np.testing.assert_allclose(found[1], speed, rtol=1e-3)


def test_it_is_drawn_and_animated(tmp_path):
    f = washing_line(4, tension=N, density=RHO)
    s = assemble_structure(f)
    figure = da.plot(s)
    assert "other elements" in {line.get_label() for ax in figure.axes for line in ax.collections}
    f.add_force("peg", "p3", (0, -20.0))
    pegged = solve_static(assemble_structure(f), "peg")
    da.plot(pegged, path=tmp_path / "line.png")
    with raises(DataError, "unknown-name", "'von_mises'"):  # stresses along its curve are not known
        da.plot(pegged, view="von_mises")
    da.plot(s, s.modes(2), path=tmp_path / "modes.png")
    da.animate(s, tmp_path / "line.html")
    assert (tmp_path / "line.html").stat().st_size > 1000 and (tmp_path / "line.png").stat().st_size > 1000


def test_its_mistakes_are_found_with_those_of_the_frame():
    f = washing_line(4)
    f.add_element("cable", "c9", ("p1", "moon"), EA)
    with raises(ModelError, "unknown-name", "cable 'c9'", "'moon'"):
        assemble_structure(f)
    with raises(ModelError, "unknown-name", "'cabel'", "'cable'"):
        f.add_element("cabel", "c10", ("p1", "p2"), EA)
    with raises(ModelError, "unknown-argument", "'c11'"):
        f.add_element("cable", "c11", ("p1", "p2"), EA, sag=3.0)
    g = washing_line(4, tension=N)
    g.add_line_load("wind", "c1", (0, 1))
    with raises(ModelError, "unknown-name", "'c1'"):
        assemble_structure(g)
    h = washing_line(4, tension=N)
    h.add_moment("twist", "p3", 1.0)
    with raises(ModelError, "ineffective-load", "'p3'"):
        assemble_structure(h)
    with raises(DataError, "not-supported", "'c1'"):
        solve_static(assemble_structure(washing_line(2, tension=N)), {"p2.y": 1.0}).beam("c1")


# what two packages hold: the element, and a command that never names the module of the element
HEAD = """
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.structures import FRAME_ELEMENTS, FrameElement, RigidSlices

"""
LINE = """
from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.registry import command


@command("Structures")
def tight_line(tension: float, as_json: Json = False) -> None:
    \"\"\"First frequency of a tight line of 1 m [Hz].\"\"\"
    import numpy as np

    from dalembert.structures import Frame, assemble_structure

    frame = Frame("line", planar=True)
    frame.add_points("p", np.column_stack([np.linspace(0, 1, 61), np.zeros(61)]))
    for k in range(60):
        frame.add_cable(f"c{k + 1}", (f"p{k + 1}", f"p{k + 2}"), 2e5, tension=tension, density=0.4)
    frame.add_support(["p1", "p61"], "pinned")
    terminal.give({"frequency_hz": float(assemble_structure(frame).modes(1).frequencies_hz[0])})
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with both packages, as pip installs them."""
    last = 'FRAME_ELEMENTS.register("cable", Cable)'
    source = "\n\n".join([HEAD, inspect.getsource(Cable), inspect.getsource(pair), last])
    install(tmp_path, "guest_cable", source, "dalembert.frame_elements")
    install(tmp_path, "guest_line", LINE, "dalembert.commands")
    return tmp_path


def test_the_doctor_lists_it_with_its_package(packages: Path):
    found = dalembert(packages, "doctor", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["kinds"] == [
        {"group": "dalembert.frame_elements", "name": "cable", "package": "guest_cable", "version": "1.0"},
        {"group": "dalembert.commands", "name": "tight-line", "package": "guest_line", "version": "1.0"},
    ]


@pytest.mark.slow
def test_a_command_in_a_new_process_computes_with_it(packages: Path):
    found = dalembert(packages, "tight-line", str(N))
    assert found.returncode == 0, found.stderr
    first = 0.5 * np.sqrt(N / RHO) * (1 + (np.pi / 60) ** 2 / 24)  # that of a string, as above
    assert json.loads(found.stdout)["frequency_hz"] == pytest.approx(first, rel=1e-6)
