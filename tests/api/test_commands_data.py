"""Commands on data: identify, estimate, export."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as da
from tests.helpers.commands import document, error_text, installed, run
from tests.helpers.repetitions import few


@pytest.fixture(scope="module")
def shaken(tmp_path_factory):
    """A two-storey building shaken at the ground: its record as a file, and its frequencies."""
    system = da.SecondOrder(
        [[1.0, 0.0], [0.0, 1.0]], [[80.0, -40.0], [-40.0, 40.0]], C=[[0.2, -0.1], [-0.1, 0.1]], B=[[1.0], [0.0]],
        inputs=["force"],
    )  # fmt: skip
    random = np.random.default_rng(3)
    time = 0.05 * np.arange(1000)
    force = random.standard_normal(len(time))
    run_ = system.state_space().to_discrete(0.05).response(da.Record.from_channels(time, {"force": force}))
    channels = {"force": force}
    for k, name in enumerate(run_.names[:2]):
        channels[f"a{k + 1}"] = run_[name] + 1e-3 * run_[name].std() * random.standard_normal(len(time))
    file = tmp_path_factory.mktemp("data") / "shaken.csv"
    da.write_record(da.Record.from_channels(time, channels), file)
    return file, system.modes().frequencies_hz


@pytest.fixture(scope="module")
def swung(tmp_path_factory):
    """The four-bar's encoder with noise, and the truth."""
    folder = tmp_path_factory.mktemp("swung")
    m = da.read_model("four-bar")
    eqs = da.equations(m)
    truth = da.simulate(eqs, 1.0, start=da.assemble(eqs, **m.start), every=0.01)
    noisy = truth["encoder"] + 1e-3 * np.random.default_rng(0).standard_normal(len(truth))
    measured = da.Record.from_channels(truth.time, {"encoder": noisy, "torque": truth["torque"]})
    da.write_record(measured, folder / "measured.csv")
    da.write_record(truth, folder / "truth.csv")
    return folder


def test_units_in_a_header_are_converted_and_said_by_identify(shaken, tmp_path):
    """Time in ms and an acceleration in g, as in most files of a lab, gave frequencies a thousandth of these."""
    file, frequencies = shaken
    record = da.read_record(file)
    rows = np.column_stack([1000 * record.time, record["force"], record["a1"] / 9.80665, record["a2"]])
    lines = ["Time (ms),Force [N],Acc 1 [g],a2 in m/s^2", *(",".join(map(repr, row)) for row in rows.tolist())]
    (tmp_path / "lab.csv").write_text("\n".join(lines))
    result = run(
        "identify", tmp_path / "lab.csv", "--time", "Time (ms)", "--inputs", "Force [N]", "--outputs", "Acc 1,a2",
        "--order", 4, "--method", "n4sid", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [mode["frequency_hz"] for mode in found["modes"]] == pytest.approx(frequencies, rel=5e-3)
    assert found["inputs"] == ["Force"] and found["outputs"] == ["Acc 1", "a2"]
    assert "lab.csv: 'Time (ms)': converted from ms to s" in error_text(result)
    assert "lab.csv: 'Acc 1 [g]': converted from g to m/s^2 (times 9.80665)" in error_text(result)


def test_identify_finds_the_frequencies_of_a_building(shaken, tmp_path):
    file, frequencies = shaken
    found = document(
        "identify", file, "--inputs", "force", "--outputs", "a1,a2", "--order", 4, "--report", tmp_path / "page.html"
    )
    assert [mode["frequency_hz"] for mode in found["modes"]] == pytest.approx(frequencies, rel=2e-3)
    assert found["fit_percent"]["held_out"] > 95
    assert np.shape(found["matrices"]["A"]) == (4, 4)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "SHA-256" in page and "numpy" in page and f"Identification of {file.name}" in page
    assert set(found) == {
        "method", "order", "sample_time", "inputs", "outputs", "modes", "fit_percent", "decisions", "findings",
        "matrices", "files", "time_scale", "period_s", "nonlinearity",
    }  # fmt: skip


@pytest.mark.parametrize("method", ["n4sid", "moesp", "cva", "okid-era"])
@pytest.mark.slow
def test_identify_by_every_method_with_inputs(shaken, tmp_path, method):
    file, frequencies = shaken
    options = ["--inputs", "force", "--method", method, "--order", 4]
    extra = ["--report", tmp_path / "page.html", "--out", tmp_path / "model.npz"] if method == "n4sid" else []
    found = document("identify", file, *options, *extra)
    assert [mode["frequency_hz"] for mode in found["modes"]] == pytest.approx(frequencies, rel=5e-3)
    if extra:
        assert np.load(tmp_path / "model.npz", allow_pickle=False)["A"].shape == (4, 4)
        assert "no data were held out" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["ssi-data", "ssi-cov"])
def test_identify_without_inputs(shaken, method):
    file, frequencies = shaken
    found = document("identify", file, "--outputs", "a1,a2", "--method", method, "--order", 4)
    # white force unknown, 50 s: a few hundredths of the half-power width
    assert [mode["frequency_hz"] for mode in found["modes"]] == pytest.approx(frequencies, rel=5e-2)


@pytest.mark.slow
def test_identify_plays_the_shapes_where_it_knows_where_channels_measure(shaken, tmp_path):
    file, _ = shaken
    places = ("ground=0,0", "a1=0,1,x", "a2=0, 2, -x")
    options = [part for place in places for part in ("--place", place)]
    result = run(
        "identify", file, "--inputs", "force", "--outputs", "a1,a2", "--order", 4, "--method", "n4sid",
        "--report", tmp_path / "page.html", *options,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<iframe") == 1
    assert f"file {file.name} (SHA-256)" in page and "model hash (SHA-256)" in page
    assert "modes that oscillate" in page


@pytest.mark.slow
def test_identify_through_the_entry_point_is_a_table(shaken):
    result = installed("identify", shaken[0], "--inputs", "force", "--method", "n4sid", "--order", "4")
    assert result.returncode == 0, result.stderr
    assert "frequency [Hz]" in result.stdout and "reproduces" in result.stdout


def test_an_uneven_record_is_reported_and_resampled_on_request(tmp_path):
    random = np.random.default_rng(0)
    time = np.cumsum(0.1 * (1 + 0.3 * random.uniform(size=600)))
    y = np.sin(3 * time) * np.exp(-0.01 * time)
    da.write_record(da.Record.from_channels(time, {"y": y}), tmp_path / "uneven.csv")
    refused = run("identify", tmp_path / "uneven.csv", "--order", 2)
    assert refused.exit_code == 1 and "resample" in refused.stderr
    found = document("identify", tmp_path / "uneven.csv", "--order", 2, "--resample", 0.1, "--method", "ssi-cov")
    assert found["modes"][0]["frequency_hz"] == pytest.approx(3 / (2 * np.pi), rel=1e-2)


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["--inputs", "forse"], 1, "Did you mean 'force'?"),
        (["--inputs", "force", "--outputs", "a7"], 1, "a7"),
        (["--order", "0"], 2, "Invalid value for '--order'"),
        (["--method", "magic"], 2, "magic"),
        (["--inputs", "force", "--method", "ssi-cov"], 2, "takes no inputs"),
        (["--inputs", "none", "--method", "n4sid"], 1, "input"),
        (["--inputs", "force", "--out", "model.xls"], 2, ".npz"),
        (["--inputs", "force", "--method", "n4sid", "--order", "4", "--report", "page.pdf"], 2, ".html"),
        (["--inputs", "force", "--place", "a1=0,x", "--report", "page.html"], 2, "NAME=X,Y,WAY"),
        (["--inputs", "force", "--place", "a1=0,0,x"], 2, "give --report too"),
        (
            ["--inputs", "force", "--method", "n4sid", "--order", "4", "--place", "a7=0,0,x", "--report", "page.html"],
            1,
            "no channel named 'a7'",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_identify_refuses_what_makes_no_sense(shaken, monkeypatch, tmp_path, arguments, code, shown):
    monkeypatch.chdir(tmp_path)
    result = run("identify", shaken[0], *arguments)
    assert result.exit_code == code, result.output
    assert shown in error_text(result) and "Traceback" not in result.stderr
    assert result.stdout == "" and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("absent.csv", None), ("empty.csv", b""), ("words.csv", b"once upon a time\n"), ("odd.xyz", b"1,2\n"),
        ("noise.nc", bytes(range(200))), ("noise.parquet", bytes(range(200))), ("noise.mat", bytes(range(200))),
        ("letters.csv", b"time,y\n0,a\n1,b\n"), ("backwards.csv", b"time,y\n1,0\n0,1\n"),
    ],
)  # fmt: skip
def test_identify_reports_a_broken_file(tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = run("identify", tmp_path / name)
    assert result.exit_code == 2, result.output
    assert name in result.stderr and "Traceback" not in result.stderr and "defect" not in result.stderr


@pytest.mark.parametrize("kind", few(["ekf", "ukf"]))
def test_estimate_follows_the_truth(swung, tmp_path, kind):
    found = document(
        "estimate", "four-bar", swung / "measured.csv", "--filter", kind, "--outputs", "encoder", "--Q", "1e-8", "--R",
        "1e-6", "--P0", "1e-4", "--truth", swung / "truth.csv", "--out", tmp_path / "estimate.csv", "--figure",
        tmp_path / "estimate.png", "--plot", "A.rate",
    )  # fmt: skip
    assert found["errors"]["A.angle"] < 1e-3  # better than the sensor
    assert da.read_record(tmp_path / "estimate.csv").names[0] in found["last"]
    assert (tmp_path / "estimate.png").exists()
    assert set(found["last"]["A.rate"]) == {"value", "deviation", "unit"}


@pytest.mark.slow
def test_estimate_takes_variances_by_name_smooths_and_reports(swung, tmp_path):
    result = run(
        "estimate", "four-bar", swung / "measured.csv", "--Q", "A.angle=1e-9,A.rate=1e-6", "--R", "encoder=1e-6",
        "--P0", 1e-4, "--smooth", "--report", tmp_path / "page.html",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "A.rate" in result.stdout and "NIS" in result.stdout
    assert "model hash (SHA-256)" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["four-bar", "measured.csv", "--R", "1e-6"], 2, "--Q"),
        (["four-bar", "measured.csv", "--Q", "1e-6"], 2, "--R"),
        (["four-bar", "measured.csv", "--Q", "1e-6", "--R", "-1"], 1, "negative"),
        (["four-bar", "measured.csv", "--Q", "1e-6", "--R", "1e-6", "--outputs", "encodr"], 1, "encoder"),
        (["four-bar", "measured.csv", "--Q", "1e-6", "--R", "1e-6", "--filter", "magic"], 2, "magic"),
        (["four-bar", "absent.csv", "--Q", "1e-6", "--R", "1e-6"], 2, "absent.csv"),
        (["four-br", "measured.csv", "--Q", "1e-6", "--R", "1e-6"], 2, "four-bar"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_estimate_refuses_what_makes_no_sense(swung, monkeypatch, arguments, code, shown):
    monkeypatch.chdir(swung)
    result = run("estimate", *arguments)
    assert result.exit_code == code, result.output
    assert shown in error_text(result) and "Traceback" not in result.stderr and result.stdout == ""


@pytest.mark.parametrize(
    ("model", "what"),
    [
        ("pendulum", ["--filter", "ekf", "--outputs", "encoder", "--Q", "1e-6", "--R", "1e-4", "--P0", "0.01"]),
        ("four-bar", ["--lqr", "--Q", "1", "--R", "0.1"]),
    ],
)
def test_exported_code_passes_its_own_test(tmp_path, model, what):
    found = document("export", model, *what, "--dt", 0.01, "--out", tmp_path / "c")
    names = {path.name for path in (tmp_path / "c").iterdir()}
    assert {"Makefile", "README.md", f"{found['name']}.c", f"{found['name']}.h"} <= names
    if shutil.which("make") and shutil.which("cc"):
        subprocess.run(["make", "-s", "-C", str(tmp_path / "c"), "test"], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        ([], 2, "--filter ekf, --lqr or --functions inverse"),
        (["--lqr", "--filter", "ekf"], 2, "--filter ekf, --lqr or --functions inverse"),
        (["--lqr"], 2, "--Q"),
        (["--lqr", "--Q", "1", "--name", "not a name"], 1, "identifier"),
        (["--lqr", "--Q", "1", "--real", "half"], 2, "half"),
        (["--filter", "ekf", "--Q", "1e-6"], 2, "--R"),
        (["--lqr", "--Q", "1", "--object", "z80"], 1, "cortex-m7"),
        (["--lqr", "--Q", "1", "--object", "native", "--real", "float"], 2, "--object"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_export_refuses_what_makes_no_sense(tmp_path, arguments, code, shown):
    result = run("export", "four-bar", "--dt", 0.01, "--out", tmp_path / "c", *arguments)
    assert result.exit_code == code, result.output
    assert shown in error_text(result) and not (tmp_path / "c").exists()


def test_a_record_that_drives_an_input_is_converted_from_its_unit(tmp_path):
    for unit, scale in (("N m", 1.0), ("kN m", 1e-3), ("[N*m]", 1.0)):
        file = tmp_path / "push.csv"
        file.write_text(f"time,force\ns,{unit}\n0,{0.2 * scale!r}\n1,{0.4 * scale!r}\n")
        found = document("simulate", "four-bar", "--until", 0.1, "--input", f"torque={file}:force")
        assert found["channels"]["torque"]["first"] == pytest.approx(0.2, rel=1e-12), unit


def test_a_record_of_another_quantity_does_not_drive_an_input(tmp_path):
    file = tmp_path / "push.csv"
    file.write_text("time,force\ns,kN\n0,0.2\n1,0.4\n")
    result = run("simulate", "four-bar", "--until", 0.1, "--input", f"torque={file}:force")
    assert result.exit_code == 1, result.output
    assert "input 'torque' is in N in the record and in N m in the model" in error_text(result)


def test_estimate_warns_where_its_deviations_are_not_to_be_trusted(tmp_path):
    swing = ("simulate", "pendulum", "--until", 2, "--every", 0.01, "--out", tmp_path / "run.csv")
    assert run(*swing).exit_code == 0
    result = run("estimate", "pendulum", tmp_path / "run.csv", "--Q", 1e-6, "--R", 1)
    assert result.exit_code == 0, result.output
    assert "warning: do not trust its deviations: innovations are" in error_text(result)
    found = document("estimate", "pendulum", tmp_path / "run.csv", "--Q", 1e-6, "--R", 1)
    assert found["warning"].startswith("do not trust its deviations")


def test_an_object_for_another_processor_is_exported(tmp_path):
    what = ("--filter", "ekf", "--Q", 1e-6, "--R", 1e-4, "--dt", "10 ms", "--object", "cortex-m7")
    found = document("export", "pendulum", *what, "--out", tmp_path)
    assert found["target"] == "cortex-m7" and set(found["needs"]) <= {"sin", "cos"}
    assert {path.name for path in tmp_path.iterdir()} == {"pendulum.o", "pendulum.h", "pendulum_test.c", "README.md"}


def test_exported_code_has_the_name_of_the_machine(tmp_path):
    found = document(
        "export", "pendulum", "--filter", "ekf", "--Q", 1e-6, "--R", 1e-4, "--dt", "10 ms", "--out", tmp_path
    )
    assert found["name"] == "pendulum" and (tmp_path / "pendulum.h").exists()
