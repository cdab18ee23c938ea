"""A record format of another package: lines of JSON, read in place; and a binary one whose reader runs apart."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.files import read_record, write_record
from dalembert.files.records.format import RECORD_FORMATS, suffixes
from dalembert.record import Record
from tests.helpers.findings import raises
from tests.helpers.installed_command import dalembert

LINES = """
import json

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.files.tables.bounds import check_size
from dalembert.files.records.format import RECORD_FORMATS, RecordFormat
from dalembert.files.tables.bounds import check_size
from dalembert.files.records.format import RECORD_FORMATS, RecordFormat
from dalembert.record import Record


def write(record, path, suffix):
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"names": record.names, "units": list(record.units.values())}) + "\\n")
        for t, row in zip(record.time, record.data):
            file.write(json.dumps([t, *row]) + "\\n")


def read(path, how):
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    try:
        about = json.loads(head)
        check_size(len(rows), len(about["names"]), how.max_bytes)
        table = np.array([json.loads(row) for row in rows])
    except ValueError as error:
        raise FileFormatError("bad-syntax", f"a line is not JSON ({error}).", path=str(path)) from error
    return Record(table[:, 0], table[:, 1:], about["names"], about["units"])


RECORD_FORMATS.register("json lines", RecordFormat((".jsonl",), read, write))
"""
RAW = """
import os

import numpy as np

from dalembert.core.errors import FileFormatError
from dalembert.core.findings import Advice, Argument
from dalembert.files.records.format import RECORD_FORMATS, RecordFormat
from dalembert.files.records.sections import read_apart


def sections(path, time, max_bytes, dt):
    content = path.read_bytes()
    if content == b"die":
        os._exit(3)  # as a library that believes a damaged file does
    if content == b"bad":
        raise FileFormatError(
            "damaged", "no numbers.", Advice("Give {}.", Argument("dt", 0.1)), path=str(path), evidence={"bytes": 3}
        )
    numbers = np.frombuffer(content).reshape(2, -1)
    yield {"samples": numbers.shape[1], "dt": None, "names": ["x"], "units": ["m"], "name": f"read by {os.getpid()}"}
    yield from numbers


RECORD_FORMATS.register("raw", RecordFormat((".raw",), read_apart("guest_raw:sections")))
"""


@pytest.fixture
def formats(tmp_path: Path, monkeypatch):
    """Both formats, as an import of the other packages registers them."""
    modules = {"guest_lines": LINES, "guest_raw": RAW}
    monkeypatch.syspath_prepend(tmp_path)
    from dalembert.core.isolation import stop

    stop()  # the helper process takes the folders of modules along when it starts
    for name, source in modules.items():
        (tmp_path / f"{name}.py").write_text(source)
        importlib.import_module(name)
    yield tmp_path
    for name in ("json lines", "raw"):
        RECORD_FORMATS.unregister(name)
    for name in modules:
        del sys.modules[name]
    stop()


def swing() -> Record:
    t = np.linspace(0.0, 1.0, 11)
    return Record(t, np.column_stack((np.sin(t), np.cos(t))), ["angle", "torque"], ["rad", "N m"])


def test_a_record_in_a_new_format_reads_back_as_it_was(formats: Path):
    record = swing()
    write_record(record, formats / "run.jsonl")
    again = read_record(formats / "run.jsonl")
    assert np.array_equal(again.time, record.time) and np.array_equal(again.data, record.data)
    assert dict(again.units) == {"angle": "rad", "torque": "N m"}
    assert read_record(formats / "run.jsonl", units={"angle": "m"}).units["angle"] == "m"


def test_a_new_format_stands_in_the_lists_of_suffixes(formats: Path):
    assert {".jsonl", ".raw", ".csv", ".mat"} <= set(suffixes())
    assert ".jsonl" in suffixes(written=True) and ".raw" not in suffixes(written=True)
    with raises(da.errors.FileFormatError, "unknown-suffix", ".jsonl", ".raw"):
        read_record(formats / "run.jsn")


def test_a_format_without_a_writer_is_refused_before_anything_is_written(formats: Path):
    with raises(da.errors.FileFormatError, "not-supported", ".raw"):
        write_record(swing(), formats / "run.raw")
    assert not (formats / "run.raw").exists()


def test_limits_and_errors_of_a_new_format_are_those_of_its_reader(formats: Path):
    write_record(swing(), formats / "run.jsonl")
    with raises(da.errors.FileFormatError, "too-large", "max_bytes"):
        read_record(formats / "run.jsonl", max_bytes=10)
    (formats / "run.jsonl").write_text("{\n")
    with raises(da.errors.FileFormatError, "bad-syntax", "run.jsonl"):
        read_record(formats / "run.jsonl")


def test_a_reader_that_runs_apart_may_die_without_the_session(formats: Path):
    import os

    values = np.arange(10.0).reshape(2, 5)
    (formats / "run.raw").write_bytes(values.tobytes())
    record = read_record(formats / "run.raw")
    assert np.array_equal(record.time, values[0]) and np.array_equal(record["x"], values[1])
    assert record.name.startswith("read by") and record.name != f"read by {os.getpid()}"
    (formats / "bad.raw").write_bytes(b"die")
    with raises(da.errors.FileFormatError, "damaged", "bad.raw"):
        read_record(formats / "bad.raw")
    assert len(read_record(formats / "run.raw")) == 5  # by a new process


def test_a_finding_of_a_reader_that_runs_apart_arrives_whole(formats: Path):
    (formats / "run.raw").write_bytes(b"bad")
    with raises(da.errors.FileFormatError, "damaged", "dt=0.1") as caught:
        read_record(formats / "run.raw")
    assert caught.value.finding.evidence == {"bytes": 3}
    assert caught.value.path == str(formats / "run.raw")


@pytest.mark.slow
def test_the_installed_command_writes_and_reads_a_new_format(tmp_path: Path):
    (tmp_path / "guest_lines.py").write_text(LINES)  # and what pip makes of it
    about = tmp_path / "guest_lines-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: guest_lines\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[dalembert.record_formats]\nlines = guest_lines\n")
    out = tmp_path / "run.jsonl"
    made = dalembert(tmp_path, "simulate", "four-bar", "--until", "0.5", "--every", "0.1", "--out", out)
    assert made.returncode == 0, made.stderr
    assert len(out.read_text().splitlines()) == 7
    driven = dalembert(tmp_path, "simulate", "four-bar", "--until", "0.5", "--input", f"torque={out}:torque", "--json")
    assert driven.returncode == 0, driven.stderr
    assert json.loads(driven.stdout)["status"] == "complete"
    wrong = dalembert(tmp_path, "simulate", "four-bar", "--out", tmp_path / "run.doc")
    assert wrong.returncode == 2 and ".jsonl" in wrong.stderr
