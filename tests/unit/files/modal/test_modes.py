"""Modes as files: what is written reads back, in every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.files.modal.geometry import Geometry, read_geometry
from dalembert.identify import Identified
from dalembert.linear import Modes
from tests.helpers.findings import raises
from tests.helpers.storey_frame import FLOORS, sampled_frame

ZETA = np.array([0.037, 0.0081, 1.0])
HERTZ = np.array([2.00111, 5.80499, 8.85206])
SHAPES = np.array([[0.3, -0.9, 1.0], [0.7, -0.6, -0.8], [1.0, 1.0, 0.2]])


def measured(shapes: Any = SHAPES, names: Any = FLOORS, **more: Any) -> Modes:
    s = 2 * np.pi * HERTZ * (-ZETA + 1j * np.sqrt(1 - ZETA**2))
    own: dict[str, Any] = {"modal_masses": [1.5, 2.5, 0.5], "frequency_deviations_hz": [0.001, 0.002, 0.003],
                           "damping_deviations": [1e-4, 2e-4, 3e-4]}  # fmt: skip
    return Modes(s, shapes, names, **(own | more))


NAMES = {
    "plain": FLOORS,
    "awkward": ["x [mm]", "=1+1", 'a,b;"c" real'],
    "like headings": ["frequency_hz", "mode", "damping"],
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".json"])
@pytest.mark.parametrize("turned", [1.0, 0.8 - 0.6j])
@pytest.mark.parametrize("kind", ["plain", "awkward", "like headings"])
def test_tables_and_json_read_back_what_was_written(tmp_path: Path, suffix: str, turned: complex, kind: str) -> None:
    """Numbers are written in full; eigenvalues of tables pass through frequency and ratio: a few roundings, and ζ near
    1 loses half the digits of √(1 - ζ²)."""
    modes = measured(turned * SHAPES if turned != 1.0 else SHAPES, NAMES[kind])
    da.write_modes(modes, tmp_path / f"m{suffix}")
    found = da.read_modes(tmp_path / f"m{suffix}")
    assert found.coordinates == modes.coordinates
    assert (found.shapes == modes.shapes).all() and found.shapes.dtype == modes.shapes.dtype
    np.testing.assert_allclose(found.eigenvalues, modes.eigenvalues, rtol=0, atol=2e-7 if suffix != ".json" else 0)
    np.testing.assert_allclose(found.eigenvalues[:2], modes.eigenvalues[:2], rtol=1e-14)
    np.testing.assert_array_equal(found.modal_masses, modes.modal_masses)
    np.testing.assert_array_equal(found.frequency_deviations_hz, modes.frequency_deviations_hz)
    np.testing.assert_array_equal(found.damping_deviations, modes.damping_deviations)


@pytest.mark.parametrize("complex_", [False, True])
def test_universal_files_keep_six_digits(tmp_path: Path, complex_: bool) -> None:
    names = ["1+X", "1+Z", "7-Y"]
    modes = measured((0.8 - 0.6j) * SHAPES if complex_ else SHAPES, names)
    da.write_modes(modes, tmp_path / "m.uff")
    found = da.read_modes(tmp_path / "m.uff")
    assert found.coordinates == ("1+X", "1+Z", "7+Y")  # sets have positive directions only
    np.testing.assert_allclose(found.shapes, modes.shapes * [[1], [1], [-1]], rtol=0, atol=5e-6)
    np.testing.assert_allclose(found.frequencies_hz, HERTZ, rtol=5e-6)
    np.testing.assert_allclose(found.damping_ratios, ZETA, atol=1e-5)
    if not complex_:
        np.testing.assert_allclose(found.modal_masses, [1.5, 2.5, 0.5], rtol=5e-6)


def test_other_names_stand_in_the_text_of_universal_files(tmp_path: Path) -> None:
    da.write_modes(measured(), tmp_path / "m.unv")
    assert da.read_modes(tmp_path / "m.unv").coordinates == tuple(FLOORS)
    da.write_modes(measured(names=["a name", "b", "c"]), tmp_path / "m.unv")
    assert da.read_modes(tmp_path / "m.unv").coordinates == ("1", "2", "3")


def test_a_geometry_goes_into_universal_files_and_comes_back(tmp_path: Path) -> None:
    places = {"base": (0.0, 0.0, 0.0), "a1": (0.0, 0.0, 0.23, "x"), "a2": (0.0, 0.0, 0.51, "-x"),
              "a3": (0.0, 0.0, 0.51, "y")}  # fmt: skip
    geometry = Geometry(places, (("base", "a1"), ("a1", "a2")))
    da.write_modes(measured(), tmp_path / "m.uff", geometry=geometry)
    found = da.read_modes(tmp_path / "m.uff")
    assert found.coordinates == ("2+X", "3+X", "3+Y")
    np.testing.assert_allclose(found.shapes, SHAPES * [[1], [-1], [1]], atol=5e-6)
    back = read_geometry(tmp_path / "m.uff")
    assert dict(back) == {"1": (0.0, 0.0, 0.0), "2": (0.0, 0.0, 0.23), "3": (0.0, 0.0, 0.51)}
    assert back.lines == (("1", "2"), ("2", "3"))
    with raises(da.errors.FileFormatError, "ineffective-argument"):
        da.write_modes(measured(), tmp_path / "m.csv", geometry=geometry)
    less = Geometry({name: place for name, place in places.items() if name != "a3"})
    with raises(da.errors.FileFormatError, "unknown-name", "a3"):
        da.write_modes(measured(), tmp_path / "m.uff", geometry=less)


def test_an_identified_model_is_written_with_its_deviations(tmp_path: Path) -> None:
    fit = Identified(sampled_frame(), method="given", frequency_deviations_hz=[0.1, 0.2, 0.3])
    da.write_modes(fit, tmp_path / "m.json")
    found = da.read_modes(tmp_path / "m.json")
    np.testing.assert_array_equal(found.frequency_deviations_hz, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(found.eigenvalues, fit.underdamped_modes().eigenvalues)
    assert found.damping_deviations is None and not found.has_masses


def test_what_cannot_be_written_or_read_is_refused(tmp_path: Path) -> None:
    with raises(da.errors.DataError, "wrong-type"):
        da.write_modes(SHAPES, tmp_path / "m.csv")  # type: ignore[arg-type]
    with raises(da.errors.FileFormatError, "unknown-suffix", ".csv"):
        da.write_modes(measured(), tmp_path / "m.xyz")
    with raises(da.errors.DataError, "empty"):
        da.write_modes(measured().select([]), tmp_path / "m.csv")
    with raises(da.errors.FileFormatError, "no-such-file"):
        da.read_modes(tmp_path / "absent.csv")
    (tmp_path / "e.csv").write_text("")
    with raises(da.errors.FileFormatError, "empty"):
        da.read_modes(tmp_path / "e.csv")
    da.write_modes(measured(), tmp_path / "m.csv")
    with raises(da.errors.FileFormatError, "too-large"):
        da.read_modes(tmp_path / "m.csv", max_bytes=20)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.csv", "m.csv"]
