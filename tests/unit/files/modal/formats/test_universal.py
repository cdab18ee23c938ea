"""Universal files with modes, as test systems and finite-element programs write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.files.modal.formats.universal import _without_conjugates
from dalembert.files.modal.geometry import read_geometry
from dalembert.files.modal.universal_sets import DataAtNodes
from tests.helpers.findings import raises
from tests.helpers.universal_files import ROTATIONS, TEXTS

# complex modes, numbers that touch, the conjugate beside it
COMPLEX = "".join(
    f"""\
    -1
    55
{TEXTS}         1         3         2        12         5         3
         2         6         1{number:10d}
{real:13.5E}{imag:13.5E}  0.00000E+00  0.00000E+00  0.00000E+00  0.00000E+00
         5
-1.00000E+000{sign}2.00000E-001-3.00000E+000 0.00000E+000 0.00000E+000 0.00000E+000
    -1
"""
    for number, real, imag, sign in ((1, -0.5, 20.0, " "), (2, -0.5, -20.0, "-"))
)
GEOMETRY = """\
    -1
   164
         9USER_DEFINED
  1.00000000000000000D+03  1.00000000000000000D+00  1.00000000000000000D+00
 -2.73149999999999960D+02
    -1
    -1
    15
         1         0         1         8 -2.40000e+03 -9.50000e+02  0.00000e+00
        12         0         2         8 -2.60000e+03  2.05000e+03  0.00000e+00
         3         0         3         8  2.60000e+03  2.05000e+03  0.00000e+00
    -1
    -1
    82
         1         6         8
Massif
         1        12         0        12         3         0         0         0
    -1
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "m.uff"
    path.write_text(text, "latin-1")
    return path


def test_real_modes_with_directions_that_were_not_measured(tmp_path: Path) -> None:
    found = da.read_modes(write(tmp_path, ROTATIONS))
    assert found.coordinates == ("1+X", "1+Y", "1+Z", "12+X", "12+Y")
    assert found.frequencies_hz[0] == pytest.approx(97.013) and found.damping_ratios[0] == pytest.approx(0.012)
    np.testing.assert_allclose(found.modal_masses, [2.5])
    np.testing.assert_allclose(found.shapes[:, 0], [0.053569, 0.020271, 0.0046623, -1.0, -0.028741])
    assert "7 directions" in found.provenance["notes"][0]


def test_complex_modes_come_once_with_a_positive_frequency(tmp_path: Path) -> None:
    found = da.read_modes(write(tmp_path, COMPLEX))
    np.testing.assert_allclose(found.eigenvalues, [-0.5 + 20j])
    assert found.coordinates == ("5+X", "5+Y")
    np.testing.assert_allclose(found.shapes[:, 0], [-1 + 0.2j, -3])
    only = COMPLEX[COMPLEX.index("    -1\n    55", 10) :]
    found = da.read_modes(write(tmp_path, only))
    np.testing.assert_allclose(found.eigenvalues, [-0.5 + 20j])
    np.testing.assert_allclose(found.shapes[:, 0], [-1 + 0.2j, -3])


def test_nodes_trace_lines_and_units_are_the_geometry(tmp_path: Path) -> None:
    found = read_geometry(write(tmp_path, GEOMETRY + ROTATIONS))
    assert found["12"] == pytest.approx((-2.6, 2.05, 0.0))
    assert found.lines == (("1", "12"), ("12", "3"))
    matched, findings = found.match(["1+X", "12-Y", "9+Z"])
    assert matched["1+X"] == (-2.4, -0.95, 0.0, "x") and matched["12-Y"][3] == "-y"
    assert [one.code for one in findings] == ["no-place"] and findings[0].where["channels"] == ["9+Z"]


FIRST, LAST = (line for line in ROTATIONS.splitlines(keepends=True) if line.count("e") == 6)
KIND = "         1         2         3"
STILL = 6 * "   0.0000e+00" + "\n"
BROKEN: dict[str, tuple[str, str, int | None]] = {
    "cut off": (ROTATIONS[:-60], "damaged", None),
    "too few numbers": (ROTATIONS.replace(FIRST, FIRST[:39] + "\n"), "wrong-shape", 14),
    "ends in a node": (ROTATIONS.replace(LAST, ""), "damaged", 14),
    "a text as number": (ROTATIONS.replace("9.7013e+01", "   sevenHz"), "not-a-number", 10),
    "a node twice": (ROTATIONS.replace("        12\n", "         1\n"), "duplicate", 13),
    "stresses": (ROTATIONS.replace(KIND, "         1         2         4"), "not-supported", 8),
    "a static analysis": (ROTATIONS.replace(KIND, "         1         1         3"), "not-modes", None),
    "no sets": ("hello\n", "not-modes", None),
    "a head without numbers": (ROTATIONS.replace(KIND, "model"), "bad-syntax", 8),
    "a million integers": (ROTATIONS.replace("         2         4", "   9999999         4"), "damaged", 9),
    "no motion": (ROTATIONS.replace(FIRST, STILL).replace(LAST, STILL), "no-motion", None),
    "other nodes": (ROTATIONS + ROTATIONS.replace("        12\n", "        13\n"), "channel-mismatch", None),
    "damping beyond 1": (ROTATIONS.replace("1.2000e-02", "1.2000e+02"), "out-of-range", 10),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_files_are_refused_with_code_and_line(tmp_path: Path, kind: str) -> None:
    text, code, line = BROKEN[kind]
    with raises(da.errors.FileFormatError, code, "m.uff") as caught:
        da.read_modes(write(tmp_path, text))
    if line is not None:
        assert caught.value.line == line


@pytest.mark.parametrize(("distance", "left"), [(3e-5, 1), (3e-4, 2)])
def test_an_eigenvalue_within_1e_4_of_the_conjugate_of_another_is_its_pair(distance, left):
    upper, lower = (-1.0, 10.0), (-1.0, -10.0 * (1.0 + distance))
    modes = [DataAtNodes(0, (), 3, reals, k, {1: (1j,)}, True) for k, reals in enumerate((upper, lower))]
    assert len(_without_conjugates(modes)) == left
