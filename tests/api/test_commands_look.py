"""``dalembert look``, and the options about files that every command on data takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.helpers.commands import document, run

T = np.arange(3000) / 100.0


def write(path: Path, header: str, *columns: np.ndarray, time: bool = True) -> Path:
    table = np.column_stack([T, *columns] if time else columns)
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.6g")
    return path


def test_look_shows_channels_faults_bands_and_drivers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    force = rng.normal(size=T.size)
    file = write(tmp_path / "log.csv", "Time (s),Force [N],a1 [g],dead", force, np.sin(2 * np.pi * 5 * T), 0 * T)
    found = document("look", file, "--figure", tmp_path / "look.png")
    (one,) = found["records"]
    assert one["inputs"] == ["Force"] and one["rate"] > 99.9
    force_channel, a1, dead = one["channels"]
    assert force_channel["unit"] == "N" and a1["unit"] == "m/s^2" and dead["dead"]
    assert abs(a1["peaks_hz"][0] - 5.0) < 0.1
    assert (tmp_path / "look.png").read_bytes().startswith(b"\x89PNG")
    shown = run("look", file)
    assert "dead" in shown.output and "by unit" in shown.output


def test_files_without_time_take_a_rate_units_and_names(tmp_path: Path) -> None:
    file = write(tmp_path / "v.csv", "V1,V2", np.sin(T), np.cos(T), time=False)
    found = document("look", file, "--rate", 610.35, "--unit", "V1=V", "--map", "drive=V1")
    (one,) = found["records"]
    assert abs(one["rate"] - 610.35) < 1e-6 and one["channels"][0]["name"] == "drive"
    assert one["channels"][0]["unit"] == "V" and one["inputs"] == ["drive"]
    refused = run("look", file)
    assert refused.exit_code == 2 and "--dt" in refused.output
    assert run("look", file, "--rate", 100, "--dt", 0.01).exit_code == 2


def test_files_of_several_sensors_are_one_record(tmp_path: Path) -> None:
    for name in ("ground", "roof"):
        write(tmp_path / f"{name}.csv", "time,acc", np.sin(3 * T))
    found = document("look", tmp_path / "ground.csv", tmp_path / "roof.csv", "--join")
    (one,) = found["records"]
    assert [c["name"] for c in one["channels"]] == ["ground.acc", "roof.acc"]
    assert one["inputs"] == ["ground.acc"]
