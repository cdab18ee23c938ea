"""``dalembert look``, and the options about files that every command on data takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.signal import lfilter

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


def write_inertial_units(folder: Path) -> list[Path]:
    """Raw files of three inertial units on a shaken building of two storeys: a preamble, clocks of their own, packets.

    Each has angles, accelerations with gravity and rates; the first sample is zeros, the last file is longer.
    """
    rng, step, samples = np.random.default_rng(3), 1 / 120, 1500
    shaking = rng.normal(size=samples)
    floors = []
    for share in (0.5, 1.0):  # of the first mode, at 3.7 and 11 Hz with 1 % damping
        modes = [np.exp(2 * np.pi * f * step * (-0.01 + 1j)) for f in (3.7, 11.0)]
        first, second = (lfilter([1.0, -1.0], [1.0, -2 * z.real, abs(z) ** 2], shaking) for z in modes)
        floors.append(share * first + (0.6 - share) * second)
    files = []
    for k, tag in enumerate(("ground", "first", "second")):
        extra = 5 * (k == 2)
        numbers = 0.01 * rng.normal(size=(samples + extra, 9))
        numbers[:, :3] = np.cumsum(numbers[:, :3], axis=0) + 50
        numbers[:samples, 3] += shaking if k == 0 else floors[k - 1]
        numbers[:, 5] += 9.81
        numbers[0] = 0.0
        clock = 848402848 * (k + 1) + (1e6 * step * np.arange(samples + extra)).astype(int)
        rows = [f"{i},{clock[i]}," + ",".join(f"{x:.14f}" for x in numbers[i]) for i in range(len(numbers))]
        head = ["sep=,", f"DeviceTag:,{tag}", "FirmwareVersion:,2.2.1", "StartTime: ,2025-04-11_11:49:50_000 PDT", ""]
        columns = [f"{q}_{axis}" for q in ("Euler", "Acc", "Gyr") for axis in "XYZ"]
        files.append(folder / f"unit_{k}.csv")
        files[-1].write_text("\n".join([*head, "PacketCounter,SampleTimeFine," + ",".join(columns), *rows]))
    return files


def test_accelerations_of_raw_inertial_units_are_taken_before_their_angles_and_rates(tmp_path: Path) -> None:
    files = write_inertial_units(tmp_path)
    found = document("identify", *files, "--join", "--order", 4)
    assert found["inputs"] == [f"ground.Acc_{axis}" for axis in "XYZ"]
    assert found["outputs"] == [f"{floor}.Acc_{axis}" for floor in ("first", "second") for axis in "XYZ"]
    np.testing.assert_allclose(sorted(mode["frequency_hz"] for mode in found["modes"]), [3.7, 11.0], rtol=5e-3)
    shown = run("look", *files, "--join").output
    assert "packet number" in shown and "by Euler" not in shown
    assert len([line for line in shown.splitlines() if "left out" in line]) == 1
