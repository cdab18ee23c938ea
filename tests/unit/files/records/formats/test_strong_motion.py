"""V2 files of strong-motion archives."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.core.errors import FileFormatError
from tests.helpers.findings import raises

HEAD = "Corrected accelerogram\nChan  5:  Tran    (Sta Chn:  7)     Location: Bent 3: South Column\n"
NUMBERS = "   .000000 -1.000000100.000000-99.999999\n  2.500000\n"


def test_a_block_of_fixed_width_is_read_in_si(tmp_path: Path) -> None:
    text = HEAD + "     5 points of accel data equally spaced at  .005 sec, in cm/sec2. (4f10.6)\n" + NUMBERS
    text += "     5 points of displ data equally spaced at  .005 sec, in cm.      (4f10.6)\n" + NUMBERS + "/& end\n"
    (tmp_path / "CHAN007.V2").write_text(text)
    got = da.read_record(tmp_path / "CHAN007.V2")
    assert got.units == {"chan7.acceleration": "m/s^2", "chan7.displacement": "m"}  # the station's channel
    np.testing.assert_allclose(got["chan7.acceleration"], [0, -0.01, 1.0, -0.99999999, 0.025], rtol=1e-14)
    assert got.sample_time == 0.005 and got.provenance["location"] == "Bent 3: South Column"


def test_cosmos_gives_the_sample_time_among_its_real_values(tmp_path: Path) -> None:
    text = HEAD + "   3.50000  10.00000 400.00000\n"
    text += "5 acceleration pts, approx  0 secs, units=cm/sec2 (04),Format=(4f10.6)\n" + NUMBERS
    (tmp_path / "a.v2").write_text(text.replace("approx  0", "approx  0.05"))
    assert da.read_record(tmp_path / "a.v2").sample_time == 0.0035  # the first that fits five samples in about 0.05 s


def test_damaged_files_are_refused_with_their_line(tmp_path: Path) -> None:
    head = "     5 points of accel data equally spaced at  .005 sec, in cm/sec2. (4f10.6)\n"
    path = tmp_path / "a.v2"
    for text, code, line in (
        (HEAD, "damaged", None),
        (HEAD + head + NUMBERS[:41], "damaged", 4),
        (HEAD + head + NUMBERS.replace("100.000000", "1oo.000000"), "not-a-number", 4),
        (HEAD + head.replace("4f10.6", "free"), "bad-syntax", 3),
        (HEAD + head.replace("4f10.6", "4f0.6") + NUMBERS, "bad-syntax", 3),
        (HEAD + head.replace(".005", ".1.2.3") + NUMBERS, "damaged", None),
        (HEAD + head.replace("  5 points", "9" * 5000 + " points") + NUMBERS, "damaged", None),
        (HEAD.replace("  5:", "5" * 5000) + head + NUMBERS[:41], "damaged", 4),
    ):
        path.write_text(text)
        with raises(FileFormatError, code) as caught:
            da.read_record(path)
        assert caught.value.line == line
    with raises(FileFormatError, "conflicting-arguments"):
        da.read_record(path, dt=0.1)
