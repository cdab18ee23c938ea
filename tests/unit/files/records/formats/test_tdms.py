"""Files of LabVIEW."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import FileFormatError
from tests.helpers.findings import raises

nptdms = pytest.importorskip("nptdms")


def write(path: Path, **channels: tuple[int, dict[str, object]]) -> Path:
    with nptdms.TdmsWriter(str(path)) as writer:
        writer.write_segment(
            [nptdms.ChannelObject("rig", name, np.arange(float(n)), properties=p) for name, (n, p) in channels.items()]
        )
    return path


def test_waveforms_have_their_time_and_unit(tmp_path: Path) -> None:
    wave = {"wf_increment": 0.01, "unit_string": "g"}
    got = da.read_record(write(tmp_path / "a.tdms", a1=(8, wave), a2=(8, wave), note=(3, {})))
    assert got.names == ("a1", "a2") and got.units["a1"] == "m/s^2"
    np.testing.assert_allclose(got["a2"], 9.80665 * np.arange(8), rtol=1e-15)
    assert got.provenance["left out"] == ["note"] and got.sample_time == pytest.approx(0.01, rel=1e-12)


def test_a_channel_of_time_and_a_given_step_serve_as_well(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tdms", Time=(8, {}), a=(8, {}))
    assert da.read_record(path).time.tolist() == list(range(8))
    path = write(tmp_path / "b.tdms", a=(8, {}))
    with raises(FileFormatError, "no-time"):
        da.read_record(path)
    assert da.read_record(path, dt=0.5).time[-1] == 3.5


def test_other_files_and_two_rates_are_refused(tmp_path: Path) -> None:
    with raises(FileFormatError, "uneven-sampling"):
        da.read_record(write(tmp_path / "a.tdms", a=(8, {"wf_increment": 0.1}), b=(8, {"wf_increment": 0.2})))
    (tmp_path / "a.tdms").write_bytes(b"TDSm nothing")
    with raises(FileFormatError, "empty"):
        da.read_record(tmp_path / "a.tdms")
