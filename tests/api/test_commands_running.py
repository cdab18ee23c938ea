"""Every command: help at once, exit codes that mean something, errors as one message, JSON alone on its stream."""

from __future__ import annotations

import json
import os
import pkgutil
import shlex
import subprocess
import sys

import numpy as np
import pytest

import dalembert
from dalembert.app.command_line import exit_codes, terminal
from dalembert.app.commands.study import studies
from dalembert.core.errors import AssemblyError, ConvergenceError, DataError, FileFormatError, Interrupted, ModelError
from dalembert.studies.machines import crank_rocker
from tests.helpers.body_files import bent_link
from tests.helpers.commands import COMMANDS, entry, installed, run


def test_help_names_every_command():
    result = run("--help")
    assert result.exit_code == 0
    assert all(command in result.stdout for command in COMMANDS)
    assert "--install-completion" in result.stdout


def test_every_file_of_the_commands_is_one_command_of_its_name_in_the_order_of_the_help():
    from dalembert.app import commands
    from dalembert.cli import app

    own = [one for one in app.registered_commands if one.callback.__module__.startswith("dalembert.")]
    assert [one.name for one in own] == list(COMMANDS)
    assert [one.callback.__module__.rpartition(".")[2] for one in own] == list(COMMANDS)
    assert {module.name for module in pkgutil.iter_modules(commands.__path__)} == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_its_exit_codes(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "130 interrupted" in " ".join(result.stdout.replace("│", "").split())
    assert "--debug" in result.stdout and "--quiet" in result.stdout


def example(command: str) -> list[str]:
    """The example in the help of a command, as words."""
    from dalembert.cli import app

    functions = {one.callback.__name__: one.callback for one in app.registered_commands if one.callback is not None}
    (line,) = (part for part in (functions[command].__doc__ or "").split("\n\n") if part.startswith("Example: "))
    return shlex.split(line.removeprefix("Example: "))


EXAMPLES = [command for command in COMMANDS if command not in ("demo", "library", "doctor", "version")]


@pytest.mark.parametrize("command", EXAMPLES)
def test_help_has_an_example(command):
    assert example(command)[:2] == ["dalembert", command]


@pytest.mark.slow
@pytest.mark.parametrize("command", [one for one in EXAMPLES if one not in ("study", "view")])
def test_the_example_in_the_help_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if command == "estimate":
        run("simulate", "pendulum", "--until", 1, "--every", 0.01, "--out", "measured.csv")
    if command in ("identify", "look"):
        time = np.arange(0, 20, 0.02)
        force = np.random.default_rng(1).normal(size=len(time))
        system = dalembert.SecondOrder([[1.0]], [[400.0]], C=[[0.8]], B=[[1.0]], inputs=["force"])
        record = system.response({"force": dalembert.Record.from_channels(time, {"force": force})["force"]}, times=time)
        moved = {"force": force, "x": np.asarray(record[record.names[0]])}
        dalembert.write_record(dalembert.Record.from_channels(time, moved), "hammer.csv")
    if command == "body":
        dalembert.write_flexible_body(bent_link(), "link.SID_FEM")
    result = run(*example(command)[1:])
    assert result.exit_code == 0, result.output


def test_help_loads_nothing_numerical_and_costs_little():
    code = (
        "import sys, time\nbegan = time.process_time()\nfrom dalembert.cli import main\n"
        "sys.argv = ['dalembert', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(time.process_time() - began, *{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, *modules = result.stderr.split()
    assert not {"numpy", "scipy", "casadi", "matplotlib", "pydantic", "pandas", "xarray"} & set(modules)
    assert float(seconds) < 2.0  # some 0.3 s of a processor; a slow and busy machine takes longer


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_option_ends_with_2_and_no_traceback(command):
    result = run(command, "--no-such-option")
    assert result.exit_code == 2
    assert "No such option" in result.stderr and "Traceback" not in result.output
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["simulate", "animate", "view", "modes", "estimate", "sweep", "export", "study"])
def test_what_is_left_out_is_named_and_ends_with_2(command):
    result = run(command)
    assert result.exit_code == 2
    assert "Missing" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ModelError("unknown-name", "no joint named 'elbw'"), 1, "ModelError: no joint named 'elbw'"),
        (DataError("too-few-samples", "too short"), 1, "DataError: too short"),
        (FileFormatError("damaged", "broken", path="a.toml", line=3), 2, "FileFormatError: a.toml:3: broken"),
        (FileNotFoundError(2, "No such file or directory", "a.csv"), 2, "No such file or directory 'a.csv'"),
        (ConvergenceError("no-convergence", "step at t = 3 s"), 3, "ConvergenceError: step at t = 3 s"),
        (AssemblyError("open-joint", "joint 'D' stays open"), 3, "AssemblyError: joint 'D' stays open"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Interrupted("interrupted", "interrupted at t = 2 s"), 130, "interrupted at t = 2 s"),
        (ZeroDivisionError("division by zero"), 1, "unexpected ZeroDivisionError: division by zero"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_every_kind_of_error_has_its_exit_code_and_one_message(monkeypatch, tmp_path, error, code, message):
    def fail(out):
        raise error

    monkeypatch.setattr(crank_rocker, "demo", fail)
    result = run("demo", "--out", tmp_path)
    assert result.exit_code == code
    assert message in result.stderr and "Traceback" not in result.stderr
    assert result.stdout == ""


def test_debug_shows_the_traceback_and_keeps_the_code(monkeypatch, tmp_path):
    def fail(out):
        raise ModelError("unknown-name", "no joint named 'elbw'")

    monkeypatch.setattr(crank_rocker, "demo", fail)
    result = run("demo", "--out", tmp_path, "--debug")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr and result.stderr.endswith("ModelError: no joint named 'elbw'\n")


def test_quiet_says_nothing_but_the_result(tmp_path):
    result = run("simulate", "pendulum", "--until", 0.1, "--out", tmp_path / "a.csv", "--quiet")
    assert result.exit_code == 0
    assert result.stderr == "" and "hinge.angle" in result.stdout
    assert (tmp_path / "a.csv").exists()
    assert terminal.progress() is False


def test_a_quiet_command_does_not_silence_the_next(tmp_path):
    run("simulate", "pendulum", "--until", 0.1, "--quiet")
    assert run("simulate", "pendulum", "--until", 0.1, "--out", tmp_path / "a.csv").stderr.startswith("wrote")


def test_warnings_of_the_library_are_one_line_on_standard_error(monkeypatch, tmp_path):
    import warnings

    def warn(out):
        warnings.warn("the record is short", UserWarning, stacklevel=1)
        return crank_rocker.DemoResult(rows=(), files=(), record=None)

    monkeypatch.setattr(crank_rocker, "demo", warn)
    assert run("demo", "--out", tmp_path).stderr == "warning: the record is short\n"
    assert run("demo", "--out", tmp_path, "--quiet").stderr == ""


@pytest.mark.slow
def test_json_is_alone_on_standard_output_and_messages_on_standard_error(tmp_path):
    result = installed("simulate", "pendulum", "--until", "0.1", "--out", tmp_path / "a.csv", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["files"] == [str(tmp_path / "a.csv")]
    assert "wrote" in result.stderr


def test_no_escape_codes_where_nobody_looks_and_none_where_no_color_is_set():
    result = installed("library", NO_COLOR="1")
    assert result.returncode == 0
    assert "\x1b" not in result.stdout + result.stderr
    forced = installed("library", NO_COLOR="1", FORCE_COLOR="1", TERM="xterm-256color")
    assert "\x1b[3" not in forced.stdout  # no colours; bold is none


def test_python_m_runs_the_same_commands():
    result = subprocess.run([sys.executable, "-m", "dalembert", "version"], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == dalembert.__version__


def test_errors_through_the_entry_point_have_no_traceback(tmp_path):
    result = installed("simulate", "no-such-model", folder=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("FileFormatError: no-such-model: ")
    assert result.stdout == ""


def test_an_unknown_command_is_reported_with_the_nearest():
    result = installed("simulat")
    assert result.returncode == 2
    text = " ".join(result.stderr.split())
    assert "Did you mean" in text and "'simulate'" in text  # alone or among others, by the version of click


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands_and_models(shell):
    if shell == "bash":
        environment = {"COMP_WORDS": "dalembert simulate four", "COMP_CWORD": "2"}
    else:
        environment = {"_TYPER_COMPLETE_ARGS": "dalembert simulate four", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    environment["_DALEMBERT_COMPLETE"] = f"complete_{shell}"
    result = installed(**environment)
    assert "four-bar" in result.stdout


def test_names_of_studies_complete():
    assert studies("shake") == ["shake-table"]
    assert "list" in studies("l")


def test_numbers_that_are_not_finite_are_null_in_json(capsys):
    terminal.give({"x": float("inf"), "y": [float("nan"), 1.0]})
    assert json.loads(capsys.readouterr().out) == {"x": None, "y": [None, 1.0]}


def test_the_codes_are_as_documented():
    assert (exit_codes.WRONG, exit_codes.MISUSED, exit_codes.NOT_CONVERGED, exit_codes.INTERRUPTED) == (1, 2, 3, 130)


def test_a_reader_that_leaves_early_gets_no_traceback():
    shell = subprocess.run(
        f"{' '.join(entry())} schema | head -c 10", shell=True, capture_output=True, text=True, check=False,
        env=os.environ,
    )  # fmt: skip
    assert "Traceback" not in shell.stderr and "Error" not in shell.stderr


def test_a_command_that_looks_for_something_says_so_on_a_terminal_only():
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [*entry(), "equilibrium", "pendulum", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    ) as process:
        printed, _ = process.communicate(timeout=120)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert process.returncode == 0 and json.loads(printed)["about"] == "equilibrium"
    assert "reading pendulum" in shown and "looking for the equilibrium" in shown
    assert run("equilibrium", "pendulum", "--json").stderr == ""


def test_a_bar_on_a_terminal_reports_the_time_left():
    pty = pytest.importorskip("pty")
    code = (
        "import time\nfrom dalembert.core.progress import Progress\n"
        "with Progress(True, 'simulating') as bar:\n"
        "    for k in range(6):\n        bar.update(k / 10)\n        time.sleep(0.15)\n"
    )
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stderr=theirs, env={**os.environ, "TERM": "xterm"}) as process:
        process.wait(timeout=60)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "simulating" in shown and "50%" in shown and "left" in shown
