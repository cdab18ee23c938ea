"""Sound files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

import dalembert as da
from dalembert.core.errors import FileFormatError
from tests.helpers.findings import raises


@pytest.mark.parametrize(("kind", "full"), [("i2", 2**15), ("i4", 2**31), ("f4", 1), ("u1", 2**7)])
def test_numbers_are_shares_of_full_scale(tmp_path: Path, kind: str, full: int) -> None:
    half = np.array([0.0, 0.5, -0.5, -1.0])
    raw = (half * full + (128 if kind == "u1" else 0)).astype(kind)
    wavfile.write(tmp_path / "s.wav", 500, np.column_stack([raw, raw]))
    got = da.read_record(tmp_path / "s.wav")
    assert got.names == ("channel1", "channel2") and got.sample_time == 0.002
    np.testing.assert_allclose(got["channel2"], half, atol=1e-7, rtol=0)  # single precision


def test_what_is_no_sound_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.wav").write_bytes(b"RIFF nothing")
    with raises(FileFormatError, "damaged"):
        da.read_record(tmp_path / "s.wav")
