"""Every command through the entry point that `pip install` made: JSON, usage errors, broken files, completion."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dalembert as da
from tests.helpers.commands import COMMANDS, entry, error_text, installed, run

ON_MODELS = ("simulate", "animate", "view", "equilibrium", "modes", "linearize", "sweep", "estimate", "export")
FILTER = ("--Q", "1e-6", "--R", "1e-4")
# what a command needs beside its model or data
NEEDED = {
    "sweep": ("--over", "length=1,2", "--output", "end=hinge.angle", "--workers", 0, "--until", 0.1),
    "estimate": ("run.csv", *FILTER),
    "export": ("--filter", "ekf", *FILTER, "--dt", 0.01, "--out", "c"),
    "simulate": ("--until", 0.1),
    "animate": ("--until", 0.1),
}


def strictly(text: str) -> Any:
    """JSON without the NaN and Infinity that Python's reader would take."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a record of the pendulum."""
    made = tmp_path_factory.mktemp("installed")
    m = da.read_model("pendulum")
    eqs = da.equations(m)
    da.write_record(da.simulate(eqs, 0.2, start=da.assemble(eqs, **m.start), every=0.01), made / "run.csv")
    return made


@pytest.mark.slow
def test_every_command_prints_one_json_document_and_nothing_else(folder):
    """Those that no other test runs through the entry point; two at a time, for a start costs half a second."""
    asked: dict[str, tuple[Any, ...]] = {
        "animate": ("pendulum", *NEEDED["animate"]),
        "linearize": ("pendulum", "--out", "linear.json"),
        "estimate": ("pendulum", *NEEDED["estimate"]),
        "export": ("pendulum", *NEEDED["export"]),
        "library": ("pendulum",),
        "schema": ("--out", "model.schema.json"),
        "version": (),
    }
    with ThreadPoolExecutor(2) as pool:
        results = dict(
            zip(
                asked, pool.map(lambda name: installed(name, *asked[name], "--json", folder=folder), asked), strict=True
            )
        )
    for name, result in results.items():
        assert result.returncode == 0, (name, result.stderr)
        found = strictly(result.stdout)
        assert isinstance(found, dict), name
        for file in found.get("files", ()):
            assert (folder / file).is_file(), (name, file)
    assert strictly(results["animate"].stdout)["files"] == ["pendulum-animation.html"]
    assert strictly(results["library"].stdout)["text"].startswith("#")
    assert {"linearize", "animate", "schema"} <= {n for n, r in results.items() if "wrote" in r.stderr}


MISUSED = {
    "nothing at all": (), "no such command": ("frobnicate",), "no such shell": ("--show-completion", "x"),
    "no such option": ("simulate", "--no-such-option"),
}  # fmt: skip


def test_misuse_ends_with_2_and_says_so_on_standard_error():
    with ThreadPoolExecutor(2) as pool:
        results = dict(zip(MISUSED, pool.map(lambda words: installed(*words), MISUSED.values()), strict=True))
    for name, result in results.items():
        assert result.returncode == 2, (name, result.stderr)
        assert "Traceback" not in result.stderr, name
        assert result.stdout == "" or name == "nothing at all", name


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_used_wrongly_ends_with_2_and_says_so_on_standard_error(command):
    result = run(command, "--no-such-option")
    assert result.exit_code == 2 and "--no-such-option" in result.stderr and result.stdout == ""


BROKEN = "planar = true\n[bodies.rod]\nmass = 1\nlenght = 2\n"


def test_a_broken_model_is_reported_with_file_and_line(tmp_path):
    (tmp_path / "broken.toml").write_text(BROKEN)
    result = installed("simulate", "broken.toml", folder=tmp_path)
    assert result.returncode == 2
    assert "broken.toml:4: no key named 'lenght'" in result.stderr and result.stdout == ""


@pytest.mark.parametrize("command", ON_MODELS)
def test_a_broken_model_is_reported_with_file_and_line_by_every_command(command, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("broken.toml").write_text(BROKEN)
    Path("run.csv").write_bytes((folder / "run.csv").read_bytes())
    result = run(command, "broken.toml", *NEEDED.get(command, ()))
    assert result.exit_code == 2
    assert "broken.toml:4: no key named 'lenght'" in result.stderr and result.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.toml", "run.csv"]


@pytest.mark.parametrize("command", ON_MODELS)
def test_a_parameter_that_does_not_exist_is_reported_by_every_command(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = run(command, "pendulum", *NEEDED.get(command, ()), "--set", "lenght=1")
    assert result.exit_code == 1
    assert "Did you mean 'length'?" in result.stderr and result.stdout == ""


def test_files_outside_the_folder_are_read_when_that_is_allowed(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "mine").mkdir()
    leg = '[bodies.leg]\nmass = 1\ninertia = 1\n[joints.hip]\ntype = "revolute"\na = "ground"\nb = "leg(0, 1)"\n'
    (tmp_path / "parts" / "leg.toml").write_text("planar = true\n" + leg)
    (tmp_path / "mine" / "main.toml").write_text('planar = true\n[include.left]\nfile = "../parts/leg.toml"\n')
    refused = run("modes", tmp_path / "mine" / "main.toml")
    assert refused.exit_code == 2 and "Allow it by --allow-outside." in error_text(refused)
    for command in (
        ["modes"],
        ["sweep", "--over", "start left.hip.angle=0,1", "--output", "y=left.leg.y", "--workers", 0],
    ):
        allowed = run(command[0], tmp_path / "mine" / "main.toml", *command[1:], "--allow-outside")
        assert allowed.exit_code == 0, allowed.output
    assert run("modes", tmp_path / "mine" / "main.toml").exit_code == 2  # it was allowed for one command


def heeds_control_c() -> None:
    """Processes started in the background by a shell ignore Ctrl-C, and so do their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def until_it_runs(process: subprocess.Popen[str]) -> None:
    """Wait until a command has worked for 3 s: starting takes it one, however long that is on a busy machine."""
    usage = Path(f"/proc/{process.pid}/stat")
    ticks = os.sysconf("SC_CLK_TCK")
    for _ in range(600):
        assert process.poll() is None
        if not usage.exists():
            time.sleep(5.0)
            return
        if int(usage.read_text().rpartition(")")[2].split()[11]) > 3 * ticks:
            return
        time.sleep(0.1)
    raise AssertionError("it has not begun within a minute")


@pytest.mark.slow
def test_control_c_ends_with_130_and_keeps_what_the_run_had(tmp_path):
    process = subprocess.Popen(
        [*entry(), "simulate", "four-bar", "--until", "100000", "--out", "run.nc"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, cwd=tmp_path, preexec_fn=heeds_control_c,
    )  # fmt: skip
    try:
        until_it_runs(process)
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in errors and "nterrupted" in errors and printed == ""
    assert "wrote run.nc: results up to" in errors
    assert 0 < da.read_record(tmp_path / "run.nc").time[-1] < 100_000
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]


# -- shells -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o default"), ("zsh", "#compdef"), ("fish", "complete")]
)
def test_the_script_of_a_named_shell_is_shown_without_a_terminal(shell, mark):
    result = installed("--show-completion", shell)
    assert result.returncode == 0, result.stderr
    assert mark in result.stdout and f"complete_{shell}" in result.stdout


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/dalembert.sh"),
        ("zsh", ".zfunc/_dalembert"),
        ("fish", ".config/fish/completions/dalembert.fish"),
    ],
)
def test_completion_of_a_named_shell_is_installed_in_the_home_folder(shell, file, tmp_path):
    result = installed("--install-completion", shell, HOME=str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "_DALEMBERT_COMPLETE" in (tmp_path / file).read_text()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("dalembert stu", ["study"]),
        ("dalembert study shake", ["shake-table"]),
        ("dalembert new x --like four", ["four-bar"]),
        ("dalembert library four", ["four-bar"]),
        ("dalembert animate rol", ["rolling-disc"]),
        ("dalembert animate ru", ["run.nc"]),
        ("dalembert simulate four-bar --method r", ["rk4", "rosenbrock"]),
        ("dalembert simulate four-bar --gue", ["--guess"]),
    ],
)
def test_commands_models_records_studies_and_options_complete(words, offered, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from dalembert.cli import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.nc").touch()
    environment = {
        "_DALEMBERT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")),
    }  # fmt: skip
    result = CliRunner().invoke(app, [], env=environment, prog_name="dalembert")
    assert result.stdout.split() == offered


# -- this installation ------------------------------------------------------------------------------------------------
def test_doctor_on_a_bare_machine_gives_advice(tmp_path):
    """No browser, no node on the path."""
    result = installed("doctor", PATH=str(tmp_path), BROWSER="", DISPLAY="")
    assert result.returncode == 0, result.stderr
    assert "engine: native code by LLVM" in result.stdout  # nothing of the machine is needed for it
    assert "browser: none" in result.stdout and "--no-browser" in result.stdout


def test_doctor_says_how_to_get_the_page_of_animations(monkeypatch):
    from dalembert.view.animation import page_build

    monkeypatch.setattr(page_build, "is_current", lambda: False)
    assert "animations: an older page; run `make page`" in run("doctor").stdout
    monkeypatch.setattr(page_build, "PAGE", Path("nowhere.html"))
    assert "animations: none; run `make page`" in run("doctor").stdout


def test_the_version_is_an_option_too():
    result = installed("--version")
    assert result.returncode == 0 and result.stdout.strip() == da.__version__


def test_the_page_on_the_command_line_reports_the_codes_and_every_command():
    from dalembert.app.command_line import exit_codes

    page = (Path(__file__).parents[2] / "docs" / "how-to" / "command-line.md").read_text(encoding="utf-8")
    for code in (0, exit_codes.WRONG, exit_codes.MISUSED, exit_codes.NOT_CONVERGED, exit_codes.INTERRUPTED):
        assert f"| {code} |" in page
    assert all(f"`dalembert {command}" in page for command in COMMANDS)


@pytest.mark.slow
def test_the_commands_on_the_page_run(tmp_path, monkeypatch):
    """The lines of its shell blocks, as far as they end by themselves, in the folder of a reader."""
    import re
    import shlex

    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "command-line.md").read_text(encoding="utf-8")
    lines = [
        line for block in re.findall(r"```sh\n(.*?)```", page, re.S) for line in block.splitlines() if line.strip()
    ]
    assert len(lines) > 5
    for line in lines:
        words = shlex.split(line, comments=True)
        assert words[0] == "dalembert"
        result = run(*words[1:])
        assert result.exit_code == 0, (line, result.output)
    assert os.path.exists("crane-animation.html")
