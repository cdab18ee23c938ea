"""Commands on machines: simulate, animate, view, equilibrium, modes, linearize."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request

import numpy as np
import pytest

import dalembert as da
from tests.helpers.commands import document, entry, error_text, installed, run

# a rod of 1 m hung at its end: ω² = 3 g / (2 L)
PENDULUM_HZ = np.sqrt(3 * 9.81 / 2) / (2 * np.pi)


@pytest.fixture(scope="module")
def swung():
    """Angle of the pendulum after half a second."""
    m = da.read_model("pendulum")
    eqs = da.equations(m)
    return da.simulate(eqs, 0.5, start=da.assemble(eqs, **m.start))["hinge.angle"][-1]


def resting(name):
    """Equations of a machine of the library, and where it comes to rest from where its file starts it."""
    m = da.read_model(name)
    eqs = da.equations(m)
    start = da.assemble(eqs, **m.start)
    return eqs, da.equilibrium(eqs, start=eqs.state(start.q, np.zeros(eqs.nv)))


def test_simulate_writes_a_record_that_reads_back(tmp_path):
    file = tmp_path / "run.csv"
    result = run("simulate", "pendulum", "--until", 0.5, "--every", 0.05, "--out", file)
    assert result.exit_code == 0, result.output
    record = da.read_record(file)
    assert len(record) == 11 and record.time[-1] == 0.5
    assert "hinge.angle" in result.stdout and f"wrote {file}" in result.stderr


@pytest.mark.parametrize("suffix", [".nc", ".parquet"])
def test_simulate_writes_every_kind_of_record(tmp_path, suffix):
    file = tmp_path / f"run{suffix}"
    assert run("simulate", "pendulum", "--until", 0.1, "--out", file).exit_code == 0
    assert da.read_record(file).scene is not None


def test_simulate_gives_what_the_library_of_functions_gives():
    found = document("simulate", "four-bar", "--until", 1, "--input", "torque=0.05*sin(t)", "--set", "crank=150 mm")
    m = da.read_model("four-bar")
    eqs = da.equations(m).replace(crank=0.15)
    start = da.assemble(eqs, **m.start)
    run_ = da.simulate(eqs, 1.0, start=start, inputs={"torque": lambda t: 0.05 * da.sin(t)}, every=0.01)
    assert found["channels"]["A.angle"]["last"] == pytest.approx(run_["A.angle"][-1], rel=1e-12)
    assert found["channels"]["A.rate"]["largest"] == pytest.approx(run_["A.rate"].max(), rel=1e-12)
    assert set(found) == {
        "model", "status", "start", "end", "samples", "channels", "statistics", "seconds", "files",
    }  # fmt: skip


def test_start_takes_positions_and_rates_with_units():
    found = document("simulate", "four-bar", "--until", 0.1, "--start", "A.angle=45 deg", "--start", "A.rate=30 rpm")
    assert found["channels"]["A.angle"]["first"] == pytest.approx(np.pi / 4, abs=1e-12)
    assert found["channels"]["A.rate"]["first"] == pytest.approx(np.pi, abs=1e-12)


def test_a_start_of_another_coordinate_replaces_that_of_the_file():
    found = document("simulate", "four-bar", "--until", 0.1, "--start", "D.angle=1.9", "--start", "A.rate=0")
    assert found["channels"]["D.angle"]["first"] == pytest.approx(1.9, abs=1e-10)


def test_an_input_may_come_from_a_record(tmp_path):
    time = np.linspace(0, 1, 101)
    da.write_record(da.Record.from_channels(time, {"push": 0.1 * time}), tmp_path / "push.csv")
    by_file = document("simulate", "four-bar", "--until", 1, "--input", f"torque={tmp_path / 'push.csv'}:push")
    by_law = document("simulate", "four-bar", "--until", 1, "--input", "torque=0.1*t")
    ends = [found["channels"]["A.angle"]["last"] for found in (by_file, by_law)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-7)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("rk4", ["--step", 1e-3]),
        ("generalized-alpha", ["--step", 1e-3]),
        ("rosenbrock", ["--rtol", 1e-8]),
        ("dormand-prince", ["--rtol", 1e-10]),
        ("sundials", []),
    ],
)
def test_every_method_is_to_be_had(method, options, swung):
    found = document("simulate", "pendulum", "--until", 0.5, "--method", method, *options)
    # generalized-α of order 2: (ω h)² ≈ 1.5e-5 per radian
    assert found["channels"]["hinge.angle"]["last"] == pytest.approx(swung, abs=5e-5)


def test_units_that_fit_are_taken_by_every_kind_of_value(tmp_path):
    values = [
        "--set",
        "crank=15 cm",
        "--start",
        "A.angle=90 deg",
        "--start",
        "A.rate=60 rpm",
        "--input",
        "torque=10 mNm",
    ]
    found = document("simulate", "four-bar", "--until", 0.1, *values)["channels"]
    assert found["A.rate"]["first"] == pytest.approx(2 * np.pi) and found["torque"]["first"] == pytest.approx(0.01)


@pytest.mark.parametrize("option", ["--out", "--report", "--figure"])
def test_a_file_that_cannot_be_written_is_refused_before_the_run(option, tmp_path, monkeypatch):
    from dalembert.loop import simulate as integrate

    def never(*given, **options):
        raise AssertionError("the run has begun")

    monkeypatch.setattr(integrate, "simulate", never)
    for name in ("run.xyz", "no/folder/run.csv", "no/folder/run.html", "no/folder/run.png"):
        result = run("simulate", "pendulum", option, tmp_path / name)
        assert result.exit_code == 2, result.output


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["four-br"], 2, "Did you mean 'four-bar'?"),
        (["no/such/file.toml"], 2, "no/such/file.toml"),
        (["four-bar", "--set", "crnk=0.1"], 1, "Did you mean 'crank'?"),
        (["four-bar", "--set", "crank"], 2, "expected name=value"),
        (["four-bar", "--set", "crank=0.1", "--set", "crank=0.2"], 2, "given twice"),
        (["four-bar", "--set", "crank=0.1 parsec"], 2, "parsec"),
        (["four-bar", "--set", "crank=1"], 3, "stays open"),
        (["four-bar", "--set", "crank=2 kg"], 2, "this is in kg; expected m."),
        (["four-bar", "--set", "crank=10**10**10"], 2, "no finite real value"),
        (["four-bar", "--start", "A.angle=10 mm"], 2, "this is in m; expected rad."),
        (["four-bar", "--start", "A.rate=90 deg"], 2, "expected rad/s."),
        (["four-bar", "--guess", "D.angle=1 s"], 2, "this is in s; expected rad."),
        (["four-bar", "--guess", "D.angel=1"], 1, "Did you mean 'D.angle'?"),
        (["four-bar", "--input", "torque=5 N"], 2, "this is in N; expected N m."),
        (["four-bar", "--input", "torque=1 m + 2 kg"], 2, "do not go together"),
        (
            ["four-bar", "--until", "1", "--rtol", "1e-30"],
            3,
            "--method rosenbrock, --method generalized-alpha --step or --rtol",
        ),
        (["four-bar", "--set", "line_mass=-1"], 1, "must not be negative"),
        (["four-bar", "--start", "A.angel=1"], 1, "A.angel"),
        (["four-bar", "--input", "torqe=1"], 1, "Did you mean 'torque'?"),
        (["four-bar", "--input", "torque=import os"], 2, "expected an operator"),
        (["four-bar", "--input", "torque=x+1"], 2, "'x' is not known"),
        (["four-bar", "--input", "torque=missing.csv"], 2, "no such file"),
        (["four-bar", "--until", "-1"], 1, "until must be"),
        (["four-bar", "--until", "soon"], 2, "number"),
        (["four-bar", "--method", "euler"], 2, "euler"),
        (["four-bar", "--method", "rk4"], 2, "needs a step"),
        (["four-bar", "--method", "rk4", "--step", "1e-3", "--rtol", "1e-3"], 2, "has no rtol"),
        (["four-bar", "--until", "0.1", "--out", "run.xyz"], 2, "run.xyz"),
        (["four-bar", "--until", "0.1", "--out", "no/folder/run.csv"], 2, "does not exist"),
        (["four-bar", "--until", "0.1", "--report", "page.txt"], 2, ".html"),
        (["four-bar", "--until", "0.1", "--figure", "f.png", "--plot", "nothing"], 1, "nothing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_simulate_refuses_what_makes_no_sense(monkeypatch, tmp_path, arguments, code, shown):
    monkeypatch.chdir(tmp_path)
    result = run("simulate", *arguments)
    assert result.exit_code == code, result.output
    words = error_text(result)
    assert shown in words and "Traceback" not in words
    assert result.stdout == "" and not list(tmp_path.iterdir())


BROKEN = {
    "empty.toml": "",
    "words.toml": "this is not a model",
    "unknown-key.toml": "planar = true\n[bodies.rod]\nmass = 1\nlenght = 2\n",
    "no-body.toml": 'planar = true\n[joints.A]\ntype = "revolute"\na = "ground"\nb = "rod"\n',
    "unit.toml": 'planar = true\n[bodies.rod]\nmass = "1 stone"\n',
    "half.json": '{"planar": true, "bodies": {',
    "list.json": "[1, 2, 3]",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_file_is_reported_with_its_name_and_ends_with_2(tmp_path, name):
    file = tmp_path / name
    file.write_text(BROKEN[name])
    result = run("simulate", file)
    assert result.exit_code == 2, result.output
    assert name in result.stderr and "Traceback" not in result.stderr and "defect" not in result.stderr


def test_a_binary_file_and_a_folder_are_no_models(tmp_path):
    (tmp_path / "noise.toml").write_bytes(bytes(range(256)))
    (tmp_path / "folder.toml").mkdir()
    for name in ("noise.toml", "folder.toml"):
        result = run("simulate", tmp_path / name)
        assert result.exit_code == 2 and "defect" not in result.stderr


def test_a_run_that_fails_leaves_what_it_had(monkeypatch, tmp_path):
    from dalembert.loop import simulate as integrate

    whole = integrate.simulate

    def stop(eqs, until, **options):
        error = da.errors.ConvergenceError("no-convergence", "step at t = 0.1 s did not close joint 'D'")
        error.record = whole(eqs, 0.1, **options)
        raise error

    monkeypatch.setattr(integrate, "simulate", stop)
    result = run("simulate", "pendulum", "--out", tmp_path / "part.csv")
    assert result.exit_code == 3
    assert "up to 0.1 s" in result.stderr
    assert da.read_record(tmp_path / "part.csv").time[-1] == pytest.approx(0.1)


def test_animate_writes_a_page_of_a_model_and_of_a_stored_run(tmp_path):
    run("simulate", "pendulum", "--until", 0.3, "--out", tmp_path / "run.nc")
    for source, file in (("pendulum", "model.html"), (tmp_path / "run.nc", "run.html")):
        options = ["--until", 0.3] if source == "pendulum" else []
        found = document("animate", source, *options, "--out", tmp_path / file)
        assert found["files"] == [str(tmp_path / file)]
        assert "</html>" in (tmp_path / file).read_text(encoding="utf-8")


def test_animate_says_why_a_measured_record_cannot_be_shown(tmp_path):
    run("simulate", "pendulum", "--until", 0.1, "--out", tmp_path / "run.csv")
    result = run("animate", tmp_path / "run.csv", "--out", tmp_path / "run.html")
    assert result.exit_code == 1
    assert (
        "no scene" in result.stderr and "--model MODEL" in error_text(result) and "structure" not in error_text(result)
    )
    found = document("animate", tmp_path / "run.csv", "--model", "pendulum", "--out", tmp_path / "run.html")
    assert found["samples"] == 11
    assert "</html>" in (tmp_path / "run.html").read_text(encoding="utf-8")
    other = run("animate", tmp_path / "run.csv", "--model", "four-bar", "--out", tmp_path / "other.html")
    assert other.exit_code == 1 and "lacks 'crank.x'" in error_text(other)
    result = run("animate", tmp_path / "run.csv", "--until", 2, "--out", tmp_path / "run.html")
    assert result.exit_code == 2


def test_equilibrium_finds_where_the_pendulum_hangs():
    found = document("equilibrium", "pendulum")
    assert found["coordinates"]["rod.y"] == {"value": pytest.approx(-0.5, abs=1e-12), "unit": "m"}
    assert (found["about"], found["stability"]) == ("equilibrium", "stable")
    upright = document("equilibrium", "pendulum", "--guess", "hinge.angle=80 deg")
    assert upright["coordinates"]["rod.y"]["value"] == pytest.approx(0.5, abs=1e-12)
    assert upright["stability"] == "unstable"


def test_equilibrium_names_a_coordinate_that_may_have_any_value():
    assert document("equilibrium", "pendulum")["free"] == []
    assert document("equilibrium", "cart-pendulum")["free"] == ["rail.displacement"]
    result = run("equilibrium", "cart-pendulum")
    assert result.stdout.count("may have any value") == 1
    assert "--hold rail.displacement=VALUE" in result.stderr


def test_equilibrium_through_the_entry_point_is_a_table():
    result = installed("equilibrium", "pendulum")
    assert result.returncode == 0
    assert "hinge.angle" in result.stdout and "stable" in result.stdout


def test_an_equilibrium_that_is_none_ends_with_an_error():
    result = run("equilibrium", "pendulum", "--hold", "hinge.angle=0")
    assert result.exit_code in (1, 3)
    assert result.stdout == "" and "Traceback" not in result.stderr


def test_modes_are_those_of_a_hanging_rod(tmp_path):
    found = document("modes", "pendulum", "--out", tmp_path / "shapes.png")
    assert found["modes"][0]["frequency_hz"] == pytest.approx(PENDULUM_HZ, rel=1e-12)
    assert set(found["modes"][0]) == {"frequency_hz", "damping_ratio", "eigenvalue", "shape"}
    assert (tmp_path / "shapes.png").read_bytes().startswith(b"\x89PNG")
    shorter = document("modes", "pendulum", "--set", "length=0.25")
    assert shorter["modes"][0]["frequency_hz"] == pytest.approx(2 * PENDULUM_HZ, rel=1e-12)


@pytest.mark.slow
def test_modes_through_the_entry_point_are_a_table():
    result = installed("modes", "pendulum")
    assert result.returncode == 0
    assert "0.61052" in result.stdout and "oscillation" in result.stdout


def test_linearize_gives_matrices_by_name():
    found = document("linearize", "pendulum")
    assert found["coordinates"] == ["hinge.angle"]
    assert found["matrices"]["M"] == [[pytest.approx(1 / 3, rel=1e-12)]]
    assert found["matrices"]["K"] == [[pytest.approx(9.81 / 2, rel=1e-12)]]
    states = document("linearize", "four-bar", "--state-space")
    assert np.shape(states["matrices"]["A"]) == (2, 2) and states["inputs"] == ["torque"]


def test_small_motions_are_those_of_the_machine_as_its_file_puts_it_together():
    """The four-bar closes in two ways; its file chooses the one with the rocker up, and so do all commands."""
    eqs, rest = resting("four-bar")
    found = document("modes", "four-bar")
    assert found["modes"][0]["frequency_hz"] == pytest.approx(da.linearize(eqs, rest).modes().frequencies_hz[0])
    place = document("equilibrium", "four-bar")["coordinates"]
    assert place["rocker.y"]["value"] == pytest.approx(rest["rocker.y"], abs=1e-9) and rest["rocker.y"] > 0
    down = document("equilibrium", "four-bar", "--start", "D.angle=-1.9")["coordinates"]
    assert down["rocker.y"]["value"] == pytest.approx(da.equilibrium(eqs)["rocker.y"], abs=1e-9)


def test_a_guess_chooses_the_way_the_loops_close():
    ends = [
        document("simulate", "four-bar", "--until", 0.1, "--start", "A.angle=90 deg", "--guess", f"D.angle={angle}")
        for angle in ("110 deg", "-110 deg")
    ]
    first = [found["channels"]["rocker.y"]["first"] for found in ends]
    assert first[0] > 0.2 and first[1] < 0
    assert all(found["channels"]["A.angle"]["first"] == pytest.approx(np.pi / 2, abs=1e-12) for found in ends)


@pytest.mark.parametrize("command", ["equilibrium", "modes", "linearize"])
def test_a_robot_that_its_file_drives_rests_without_its_torques(command):
    """Torques of a manoeuvre are no state of rest: without gravity every pose is one."""
    result = run(command, "three-rrr", "--json")
    assert result.exit_code == 0, result.output
    assert "leg1.torque, leg2.torque, leg3.torque; --input" in result.stderr
    if command == "modes":
        assert [mode["frequency_hz"] for mode in json.loads(result.stdout)["modes"]] == pytest.approx([0] * 3, abs=1e-6)


def test_constant_inputs_of_a_file_hold_at_rest():
    """The quill of the robot is carried by the force its file gives it; without it falls."""
    result = run("equilibrium", "scara", "--json")
    assert result.exit_code == 0 and result.stderr == ""
    held = json.loads(result.stdout)["inputs"]
    assert held == {
        "shoulder_torque": 0,
        "elbow_torque": 0,
        "spindle_force": pytest.approx(1.5 * 9.81),
        "wrist_torque": 0,
    }
    fallen = run("equilibrium", "scara", "--input", "spindle_force=0")
    assert fallen.exit_code == 3 and "--start NAME=VALUE or --guess NAME=VALUE." in fallen.stderr


def test_inputs_with_which_a_machine_does_not_rest_are_zero_and_that_is_reported(tmp_path):
    """A motor at the constant torque of its run turns for ever; without it the wheel rests anywhere."""
    (tmp_path / "rotor.toml").write_text(ROTOR + '[simulate]\ninputs = { torque = "0.1 N m" }\n')
    result = run("equilibrium", tmp_path / "rotor.toml", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["inputs"] == {"torque": 0.0}
    assert "inputs of the model's run are zero here: torque; --input NAME=VALUE" in result.stderr
    steady = run("equilibrium", tmp_path / "rotor.toml", "--rate", "axle=free", "--json")
    assert json.loads(steady.stdout)["rates"]["axle.rate"]["value"] == pytest.approx(5.0) and steady.stderr == ""


ROTOR = """
planar = true
gravity = 0
[bodies.rotor]
mass = 1
inertia = 0.1
[joints.axle]
type = "revolute"
a = "ground"
b = "rotor"
[forces.motor]
type = "actuator"
joint = "axle"
input = "torque"
[forces.oil]
type = "damper"
joint = "axle"
damping = 0.02
"""


def test_a_rate_may_be_left_free_for_the_steady_motion_to_find(tmp_path):
    (tmp_path / "rotor.toml").write_text(ROTOR)
    found = document("equilibrium", tmp_path / "rotor.toml", "--rate", "axle=free", "--input", "torque=0.1 N m")
    assert found["about"] == "steady motion"
    assert found["rates"]["axle.rate"]["value"] == pytest.approx(0.1 / 0.02, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["equilibrium", "whitworth"], 1, "nothing else in it is free to move"),
        (["simulate", "four-bar", "--set", "crank=1"], 3, "give a better --guess NAME=VALUE."),
        (["modes", "rolling-disc", "--guess", "disc.z=0"], 3, "not defined"),
        (["equilibrium", "pendulum", "--rate", "hinge=fast"], 2, "'fast' is not a number"),
        (["equilibrium", "pendulum", "--guess", "hinge.angel=1"], 1, "Did you mean 'hinge.angle'?"),
        (["equilibrium", "pendulum", "--hold", "hinge.angle=1"], 3, "would need an effort"),
        (["linearize", "pendulum", "--outputs", "speed"], 1, "speed"),
        (["linearize", "pendulum", "--independent", "speed"], 1, "speed"),
        (["modes", "pendulum", "--start", "hinge.angel=1"], 1, "Did you mean 'hinge.angle'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_small_motions_refuse_in_the_words_of_the_command_line(arguments, code, shown):
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert shown in error_text(result) and "Traceback" not in result.stderr
    assert not re.search(r"\b(rates|guess|start|hold)=", result.stderr)


@pytest.mark.parametrize("suffix", [".json", ".npz", ".mat"])
def test_linear_models_are_written_for_other_programs(tmp_path, suffix):
    file = tmp_path / f"model{suffix}"
    result = run("linearize", "four-bar", "--out", file)
    assert result.exit_code == 0, result.output
    if suffix == ".json":
        M = np.array(json.loads(file.read_text())["matrices"]["M"])
    elif suffix == ".npz":
        M = np.load(file, allow_pickle=False)["M"]
    else:
        from scipy.io import loadmat

        M = loadmat(file, spmatrix=False)["M"]
    assert pytest.approx(da.linearize(*resting("four-bar")).M) == M


def test_linearize_refuses_a_file_of_another_kind(tmp_path):
    result = run("linearize", "pendulum", "--out", tmp_path / "model.xls")
    assert result.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_view_hands_the_machine_to_the_server(monkeypatch):
    import sys
    import types

    seen = {}
    module = types.ModuleType("dalembert.app.live.serve")
    module.__spec__ = types.SimpleNamespace(name="dalembert.app.live.serve")  # type: ignore[assignment]
    module.serve = lambda *given, **options: seen.update(given=given, **options)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dalembert.app.live.serve", module)
    result = run("view", "pendulum", "--no-browser", "--port", 0)
    assert result.exit_code == 0, result.output
    assert seen["given"][0].name == "pendulum" and seen["browser"] is False


def test_view_refuses_a_port_that_is_none_and_a_model_that_is_none():
    assert run("view", "pendulum", "--port", 70000).exit_code == 2
    assert run("view", "pendulumm", "--no-browser").exit_code == 2


def heeds_control_c() -> None:
    """Processes started in the background by a shell ignore Ctrl-C, and so do their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_view_serves_the_machine_on_this_machine_only_until_it_is_stopped():
    command = [*entry(), "view", "pendulum", "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, preexec_fn=heeds_control_c) as process:
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/\S*", line)
        try:
            assert address is not None, line
            with urllib.request.urlopen(address.group(), timeout=30) as answer:
                page = answer.read()
            assert answer.status == 200 and len(page) > 1000
        finally:
            process.send_signal(signal.SIGINT)
            try:
                _, errors = process.communicate(timeout=60)
            finally:
                process.kill()
    assert process.returncode in (0, 130) and "Traceback" not in errors


def test_an_animation_does_not_take_the_name_of_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert document("animate", "pendulum", "--until", 0.1)["files"] == ["pendulum-animation.html"]


def test_mode_shapes_move_on_a_page(tmp_path):
    found = document("modes", "pendulum", "--out", tmp_path / "shapes.html")
    assert found["files"] == [str(tmp_path / "shapes.html")]
    assert "<canvas" in (tmp_path / "shapes.html").read_text(encoding="utf-8")


def test_times_are_given_with_their_unit():
    found = document(
        "simulate", "pendulum", "--until", "100 ms", "--every", "20 ms", "--method", "rk4", "--step", "5 ms"
    )
    assert found["end"] == pytest.approx(0.1, rel=1e-12) and found["samples"] == 6
    result = run("simulate", "pendulum", "--until", "2 m")
    assert result.exit_code == 2 and "'2 m': this is in m; expected s." in error_text(result)
