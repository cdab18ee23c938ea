"""The command `sweep`, and how values are said on the command line."""

from __future__ import annotations

import numpy as np
import pytest
import typer

import dalembert as da
from dalembert.app.command_line import option_values
from tests.helpers.commands import document, error_text, installed, run

PEAK = ["--output", "peak=hinge.rate:peak", "--until", 0.5, "--workers", 0]


def test_a_grid_gives_what_single_runs_give():
    found = document("sweep", "four-bar", "--over", "crank=0.15:0.2:2", "--output", "end=A.angle", "--until", 0.5,
                     "--input", "torque=0.1*t", "--workers", 0)  # fmt: skip
    singles = [
        document("simulate", "four-bar", "--set", f"crank={crank}", "--until", 0.5, "--input", "torque=0.1*t")
        for crank in (0.15, 0.2)
    ]
    assert found["results"]["end"] == pytest.approx([one["channels"]["A.angle"]["last"] for one in singles], rel=1e-12)
    assert found["status"] == ["done", "done"]


def test_starts_and_rates_are_axes_too():
    found = document("sweep", "pendulum", "--over", "start hinge.angle=-90 deg,0 deg", "--over",
                     "velocity hinge.angle=0,1", *PEAK)  # fmt: skip
    peaks = found["results"]["peak"]
    assert found["axes"] == ["start hinge.angle", "velocity hinge.angle"]
    assert peaks[0] == pytest.approx(0.0, abs=1e-9)  # hangs still
    assert peaks[1] == pytest.approx(1.0, abs=1e-9)  # fastest at the bottom, where it starts
    assert peaks[2] > 3.0


@pytest.mark.parametrize(("design", "axis"), [("lhs", "length=0.5:2"), ("sobol", "length=1~0.1")])
def test_random_designs_are_the_same_for_the_same_seed(design, axis):
    arguments = ["sweep", "pendulum", "--over", axis, "--samples", 4, "--design", design, *PEAK]
    first, again, other = (document(*arguments, "--seed", seed) for seed in (1, 1, 2))
    assert first["points"] == again["points"] != other["points"]
    assert first["results"] == again["results"]
    assert set(first["summary"]["peak"]) == {"smallest", "mean", "deviation", "largest"}


def test_a_store_is_gone_on_with_and_another_sweep_is_refused(tmp_path):
    arguments = ["sweep", "pendulum", "--over", "length=0.5,1", *PEAK, "--store", tmp_path / "store"]
    assert document(*arguments)["results"] == document(*arguments)["results"]
    other = run("sweep", "pendulum", "--over", "length=0.5,2", *PEAK, "--store", tmp_path / "store")
    assert other.exit_code == 1 and "another folder" in other.stderr
    driven = run(*arguments, "--start", "hinge.angle=0.1")
    assert driven.exit_code == 1 and "other start" in driven.stderr


@pytest.mark.parametrize("suffix", [".csv", ".nc"])
def test_a_sweep_is_written_as_a_table_or_a_dataset(tmp_path, suffix):
    file = tmp_path / f"sweep{suffix}"
    assert run("sweep", "pendulum", "--over", "length=0.5,1", *PEAK, "--out", file).exit_code == 0
    if suffix == ".csv":
        lines = file.read_text().splitlines()
        assert lines[0] == "length,peak,status" and len(lines) == 3
    else:
        import xarray

        with xarray.open_dataset(file, engine="h5netcdf") as found:
            assert found["peak"].shape == (2,)


@pytest.mark.slow
def test_a_sweep_through_the_entry_point_on_two_processes(tmp_path):
    result = installed("sweep", "pendulum", "--over", "length=0.5:1:2", "--output", "peak=hinge.rate:peak", "--until",
                       "0.2", "--workers", "2")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "pendulum: 2 points" in result.stdout and "peak" in result.stdout


@pytest.mark.slow
def test_points_that_fail_are_reported_and_the_others_kept():
    result = run(
        "sweep", "four-bar", "--over", "crank=0.2,2", "--output", "end=A.angle", "--until", 0.1, "--workers", 0
    )
    assert result.exit_code == 0
    assert "1 of 2 points failed" in result.stderr and "AssemblyError" in result.stderr


def test_a_sweep_of_which_nothing_is_left_ends_with_an_error():
    options = ["--until", 0.1, "--workers", 0]
    impossible = run("sweep", "four-bar", "--over", "crank=2", "--output", "end=A.angle", *options)
    assert impossible.exit_code == 3
    unknown = run("sweep", "pendulum", "--over", "length=1,2", "--output", "end=hinge.angel", *options)
    assert unknown.exit_code == 1 and "Did you mean 'hinge.angle'?" in unknown.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["--over", "lenght=1:2", "--output", "p=hinge.rate:peak"], 1, "Did you mean 'length'?"),
        (["--over", "length", "--output", "p=hinge.rate:peak"], 2, "expected name=value"),
        (["--over", "length=1:2:3:4", "--output", "p=hinge.rate:peak"], 2, "low:high"),
        (["--over", "length=1:2:many", "--output", "p=hinge.rate:peak"], 2, "low:high"),
        (["--over", "length=1 kg:2 kg", "--output", "p=hinge.rate:peak"], 2, "this is in kg; expected m."),
        (["--over", "start hinge.angle=1 m,2", "--output", "p=hinge.rate:peak"], 2, "this is in m; expected rad."),
        (["--over", "velocity hinge=1 m,2", "--output", "p=hinge.rate:peak"], 2, "this is in m; expected rad/s."),
        (["--over", "length=1:2:0", "--output", "p=hinge.rate:peak"], 2, "from 1 to"),
        (["--over", "length=1:2:1000000000000", "--output", "p=hinge.rate:peak"], 2, "from 1 to"),
        (["--over", "length=2:1", "--output", "p=hinge.rate:peak"], 1, "low must lie below high"),
        (["--over", "length=1:2", "--over", "length=1:3", "--output", "p=hinge.rate:peak"], 2, "twice"),
        (["--over", "length=1:2", "--output", "hinge.rate"], 2, "name=value"),
        (["--over", "length=1:2", "--output", "p=hinge.rate:highest"], 1, "highest"),
        (["--over", "length=1~0.1", "--design", "grid", "--output", "p=hinge.rate"], 2, "grid"),
        (["--over", "length=1,2", "--design", "lhs", "--output", "p=hinge.rate"], 2, "low:high"),
        (["--over", "length=1:2", "--output", "p=hinge.rate", "--samples", "0"], 2, "Invalid value for '--samples'"),
        (["--over", "length=1:2", "--output", "p=hinge.rate", "--out", "s.xls"], 2, ".csv"),
        (["--output", "p=hinge.rate"], 2, "--over"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_sweep_refuses_what_makes_no_sense(arguments, code, shown):
    result = run("sweep", "pendulum", *arguments, "--workers", 0)
    assert result.exit_code == code, result.output
    assert shown in error_text(result) and "Traceback" not in result.stderr


# ---- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.5", 0.5), ("20 mm", 0.02), ("90 deg", np.pi / 2), ("2*pi", 2 * np.pi), ("-1e3", -1000.0), ("sqrt(4) m", None)],
)
def test_a_quantity_is_a_number_a_unit_or_arithmetic(text, value):
    if value is None:
        with pytest.raises(typer.BadParameter):
            option_values.quantity(text, "--set")
    else:
        assert option_values.quantity(text, "--set") == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("text", ["", "1/0", "__import__('os')", "x", "1 m 2", "nan", "1e999", "(" * 5000])
def test_what_is_no_quantity_is_refused_and_never_executed(text):
    with pytest.raises(typer.BadParameter):
        option_values.quantity(text, "--set")


def test_a_weight_is_one_number_or_one_per_name():
    assert option_values.weight(["1e-3"], "--Q") == 1e-3
    assert option_values.weight(["A.angle=1, A.rate=2"], "--Q") == {"A.angle": 1.0, "A.rate": 2.0}
    assert option_values.weight(None, "--Q") is None


def test_a_drive_is_a_number_or_a_law_of_time():
    assert option_values.drive("u", "2*3", "--input") == 6.0
    law = option_values.drive("u", "where(t < 1, 2*t, 2)", "--input")
    eqs = da.equations(da.read_model("four-bar"))
    run_ = da.simulate(eqs, 2.0, inputs={"torque": law}, every=0.5)
    assert run_["torque"].tolist() == [0.0, 1.0, 2.0, 2.0, 2.0]


def test_an_unknown_channel_is_reported_before_the_first_run(tmp_path, monkeypatch):
    from dalembert import sweeps

    monkeypatch.setattr(sweeps, "sweep", lambda *_, **__: pytest.fail("a point was run"))
    result = run("sweep", "pendulum", "--over", "length=0.5:2", "--output", "peak=hinge.rat:peak", "--until", 0.5)
    assert result.exit_code == 1, result.output
    assert "no channel named 'hinge.rat' in output 'peak'. Did you mean 'hinge.rate'?" in error_text(result)


def test_a_sweep_that_goes_on_says_how_far_it_is(tmp_path):
    arguments = ["sweep", "pendulum", "--over", "length=0.5,1", *PEAK, "--store", tmp_path / "store"]
    assert "already done" not in error_text(run(*arguments))
    assert "2 of 2 points already done" in error_text(run(*arguments))
