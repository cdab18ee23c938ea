"""A command of another package: declared in its own module, found through an entry point."""

from __future__ import annotations

import json

import pytest

import dalembert as da
from tests.helpers.installed_command import dalembert
from tests.helpers.packages import install

SIZE = """
from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.loaded_machine import load
from dalembert.app.command_line.model_options import Model, Set
from dalembert.app.command_line.registry import command


@command("{group}")
def {name}(model: Model, changes: Set = None, as_json: Json = False) -> None:
    \"\"\"Count the coordinates and speeds of a machine.\"\"\"
    eqs = load(model, changes).eqs
    terminal.say("counted")
    terminal.give({{"coordinates": eqs.nq, "speeds": eqs.nv}})
"""


def test_a_command_of_another_package_runs_with_help_options_and_exit_codes(tmp_path):
    install(tmp_path, "guest_size", SIZE.format(group="Machines", name="machine_size"), "dalembert.commands")
    eqs = da.equations(da.read_model("four-bar"))
    result = dalembert(tmp_path, "machine-size", "four-bar")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {"coordinates": eqs.nq, "speeds": eqs.nv}
    assert result.stderr == "counted\n"
    wrong = dalembert(tmp_path, "machine-size", "no-such-model")
    assert wrong.returncode == 2 and wrong.stderr.startswith("FileFormatError: no-such-model: ")
    assert "--allow-outside" in dalembert(tmp_path, "machine-size", "--help").stdout
    shown = dalembert(tmp_path, "--help").stdout
    assert shown.index("sweep") < shown.index("machine-size") < shown.index("identify")  # the last of its group


def test_a_new_group_stands_after_the_known_ones(tmp_path):
    install(tmp_path, "guest_size", SIZE.format(group="Accounts", name="size"), "dalembert.commands")
    shown = dalembert(tmp_path, "--help").stdout
    assert shown.index("This installation") < shown.index("Accounts") < shown.index("Count the coordinates")


def test_a_command_that_does_not_load_is_named_and_the_others_work(tmp_path):
    install(tmp_path, "guest_broken", "import no_such_package_anywhere\n", "dalembert.commands")
    result = dalembert(tmp_path, "version")
    assert result.returncode == 0 and result.stdout.strip() == da.__version__
    assert result.stderr.startswith("warning: command 'guest' (guest_broken) does not load: No module named")


@pytest.mark.slow
def test_another_package_cannot_take_the_name_of_a_command(tmp_path):
    install(tmp_path, "guest_modes", SIZE.format(group="Machines", name="modes"), "dalembert.commands")
    result = dalembert(tmp_path, "modes", "pendulum", "--json")
    assert result.returncode == 0 and "frequency_hz" in json.loads(result.stdout)["modes"][0]
    assert "dalembert.app.commands.modes already declares a command 'modes'" in result.stderr
