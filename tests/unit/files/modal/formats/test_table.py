"""Modal tables as programs and people write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.identify.records.reporting import IdentificationWarning
from tests.helpers.findings import raises, warns
from tests.helpers.modal_tables import TABLES

HERTZ, ZETA = [2.0, 5.8], [0.037, 0.008]
SHAPES = [[0.34, -0.9], [0.73, -0.6], [1.0, 1.0]]


def write(folder: Path, text: str, name: str = "m.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_layout_give_the_same_modes(tmp_path: Path, kind: str) -> None:
    found = da.read_modes(write(tmp_path, TABLES[kind], encoding="cp1252" if kind == "windows" else "utf-8"))
    assert found.coordinates == ("a1", "a2", "a3")
    np.testing.assert_allclose(found.frequencies_hz, HERTZ, rtol=1e-14)
    np.testing.assert_allclose(found.damping_ratios, ZETA, rtol=1e-12)
    np.testing.assert_allclose(found.shapes, SHAPES, rtol=1e-14)
    assert np.isrealobj(found.shapes)


@pytest.mark.parametrize(
    "text",
    [
        "f,zeta,a1,a2\n2,0.03,0.3+0.4i,1\n5,0.01,-1,0.5-0.2i\n",
        "f,zeta,a1,a2\n2,0.03,0.3 + 0.4j,1\n5,0.01,-1,0.5 - 0.2j\n",
        "f,zeta,a1 real,a1 imag,a2 real,a2 imag\n2,0.03,0.3,0.4,1,0\n5,0.01,-1,0,0.5,-0.2\n",
        "f,zeta,Re(a1),Im(a1),Re(a2),Im(a2)\n2,0.03,0.3,0.4,1,0\n5,0.01,-1,0,0.5,-0.2\n",
        "f,zeta,a1.re,a1.im,a2.re,a2.im\n2,0.03,0.3,0.4,1,0\n5,0.01,-1,0,0.5,-0.2\n",
        "f,zeta,a1 amplitude,a1 phase [deg],a2 amplitude,a2 phase [deg]\n"
        "2,0.03,0.5,53.13010235415598,1,0\n5,0.01,1,180,0.5385164807134505,-21.80140948635181\n",
        "f,zeta,a1 abs,a1 phase [rad],a2 abs,a2 phase [rad]\n"
        "2,0.03,0.5,0.9272952180016122,1,0\n5,0.01,1,3.141592653589793,0.5385164807134505,-0.3805063771123649\n",
    ],
)
def test_complex_shapes_stand_in_cells_or_in_two_columns(tmp_path: Path, text: str) -> None:
    found = da.read_modes(write(tmp_path, text))
    assert found.coordinates == ("a1", "a2")
    np.testing.assert_allclose(found.shapes, [[0.3 + 0.4j, -1], [1, 0.5 - 0.2j]], rtol=0, atol=1e-14)


def test_an_angle_alone_is_the_name_of_a_coordinate(tmp_path: Path) -> None:
    found = da.read_modes(write(tmp_path, "f,zeta,hinge.angle,tip.x\n2,0.03,1,2\n"))
    assert found.coordinates == ("hinge.angle", "tip.x")


def test_masses_and_deviations_are_read_and_incomplete_ones_left_out(tmp_path: Path) -> None:
    head = "mode,f [Hz],std f [%],zeta [%],zeta std [%],modal mass [g],a1\n"
    found = da.read_modes(write(tmp_path, head + "1,2,0.5,3,0.1,1500,1\n2,5,0.2,1,0.2,2500,1\n"))
    np.testing.assert_allclose(found.frequency_deviations_hz, [0.01, 0.01])
    np.testing.assert_allclose(found.damping_deviations, [0.001, 0.002])
    np.testing.assert_allclose(found.modal_masses, [1.5, 2.5])
    found = da.read_modes(write(tmp_path, head + "1,2,,3,0,1500,1\n2,5,0.2,1,0.2,,1\n"))
    assert found.frequency_deviations_hz is None and found.damping_deviations is None and not found.has_masses
    assert len(found.provenance["notes"]) == 3


def test_damped_frequencies_become_undamped_ones(tmp_path: Path) -> None:
    found = da.read_modes(write(tmp_path, "damped frequency [Hz],zeta [-],a1\n3,0.6,1\n"))
    assert found.frequencies_hz[0] == pytest.approx(3.75)
    assert found.damped_frequencies[0] == pytest.approx(6 * np.pi)


def test_damping_that_may_be_percent_is_warned_of(tmp_path: Path) -> None:
    with warns(IdentificationWarning, "suspect-units"):
        da.read_modes(write(tmp_path, "f,damping,a1\n2,0.21,1\n5,0.22,1\n"))
    da.read_modes(write(tmp_path, "f,damping,a1\n2,0.19,1\n5,0.2,1\n"))
    da.read_modes(write(tmp_path, "f,damping [-],a1\n2,0.5,1\n5,0.6,1\n"))


def test_a_table_without_damping_says_so(tmp_path: Path) -> None:
    found = da.read_modes(write(tmp_path, "mode,f [Hz],a1\n1,2,1\n"))
    assert found.damping_ratios[0] == 0.0 and "damping" in found.provenance["notes"][0]


HEAD = "mode,f [Hz],zeta,a1,a2\n1,2,0.03,1,1\n"
BROKEN: dict[str, tuple[str, str, int | None]] = {
    "no frequencies": ("mode,zeta,a1\n1,0.03,1\n", "not-modes", 1),
    "a record": ("time,a1\n0,1\n0.1,2\n", "not-modes", 1),
    "a text as number": (HEAD + "2,5,0.01,up,1\n", "not-a-number", 3),
    "a missing cell": (HEAD + "2,5,0.01,1\n", "ragged-row", 3),
    "a cell too many": (HEAD + "2,5,0.01,1,2,3\n", "ragged-row", 3),
    "an empty cell": (HEAD + "2,5,0.01,,1\n", "not-finite", 3),
    "no frequency": (HEAD + "2,,0.01,1,1\n", "not-finite", 3),
    "no damping ratio": (HEAD + "2,5,,1,1\n", "not-finite", 3),
    "a negative frequency": (HEAD + "2,-5,0.01,1,1\n", "negative", 3),
    "percent without its unit": (HEAD + "2,5,1.2,1,1\n", "out-of-range", 3),
    "a frequency in metres": ("f [m],zeta,a1\n2,0.03,1\n", "unit-mismatch", 2),
    "damping in Hz": ("f [Hz],Damping (Hz),a1\n2,0.03,1\n", "unit-mismatch", 2),
    "no shapes": ("mode,f [Hz],zeta\n1,2,0.03\n", "empty", 1),
    "no modes": ("mode,f [Hz],zeta,a1\n", "empty", 1),
    "a name twice": ("f,zeta,a1,a1\n2,0.03,1,1\n", "taken-name", 1),
    "a column without name": ("f,zeta,,a1\n2,0.03,1,1\n", "bad-name", 1),
    "a complex frequency": ("f,zeta,a1\n2+1i,0.03,1\n", "not-a-number", 2),
    "a phase without unit": ("f,zeta,a1 amplitude,a1 phase\n2,0.03,1,90\n", "unit-mismatch", 1),
    "a negative mass": ("f,zeta,modal mass,a1\n2,0.03,-1,1\n", "negative", 2),
    "columns: a wrong cell": (",1,2\nf [Hz],2,5\nzeta,0.1,0.1\na1,1,up\n", "not-a-number", 4),
    "columns: too short": (",1,2\nf [Hz],2,5\nzeta,0.1\na1,1,1\n", "ragged-row", 3),
    "infinite": (HEAD + "2,inf,0.01,1,1\n", "not-finite", 3),
    "only damped frequencies": ("fd,a1\n2,1\n", "missing-argument", 1),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_tables_are_refused_with_code_and_line(tmp_path: Path, kind: str) -> None:
    text, code, line = BROKEN[kind]
    path = write(tmp_path, text)
    with raises(da.errors.FileFormatError, code, str(path)) as caught:
        da.read_modes(path)
    assert caught.value.line == line
