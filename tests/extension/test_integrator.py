"""An integrator of another package: Heun's method with projection, declared in a module of its own."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.solve.integrate.method import INTEGRATORS
from tests.helpers.findings import raises
from tests.helpers.installed_command import dalembert
from tests.helpers.loops import CART_GAINS, CART_READS, cart_pendulum, gain_law

HEUN = '''
from dataclasses import dataclass, field

import numpy as np

from dalembert.core.arguments import positive_number
from dalembert.numerics.runge_kutta import TABLEAUX
from dalembert.solve.integrate.explicit_step import ExplicitStepper
from dalembert.solve.integrate.method import OneStep, integrator, option


@integrator
@dataclass(frozen=True)
class Heun(OneStep):
    """Heun's method of order 2 with a fixed step, then projection onto the joints."""

    step: float = field(metadata=option("fixed step", "s"))
    passes: int = field(default=1, metadata=option("steps in place of one"))

    def __post_init__(self):
        positive_number("step", self.step)

    def initial_step(self, span):
        return self.step / self.passes

    def structure(self):
        return None

    def numbers(self, *, controlled=True):
        return np.zeros(4)

    def stepper(self, eqs, inputs, events=None):
        return ExplicitStepper(eqs, TABLEAUX["heun"], inputs, events)
'''


@pytest.fixture
def heun(tmp_path: Path, monkeypatch):
    """The class, as an import of the other package registers it."""
    (tmp_path / "guest_heun.py").write_text(HEUN)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("guest_heun").Heun
    INTEGRATORS.unregister("Heun")
    del sys.modules["guest_heun"]


@pytest.fixture(scope="module")
def four_bar():
    eqs = da.equations(da.read_model("four-bar"))
    return eqs, da.assemble(eqs, {"A.angle": np.pi / 2}, velocity={"A.angle": 10.0})


def test_a_new_integrator_converges_with_its_order_and_closes_the_joints(heun, four_bar):
    eqs, start = four_bar
    best = da.simulate(eqs, 0.5, start=start, every=[0.5])["D.angle"][-1]
    runs = [da.simulate(eqs, 0.5, start=start, method=heun(step), every=[0.5]) for step in (2e-3, 1e-3)]
    coarse, fine = (abs(run["D.angle"][-1] - best) for run in runs)
    assert 3.5 < coarse / fine < 4.5  # order 2: four times the error at twice the step
    assert max(run["residual.position"].max() for run in runs) < 1e-9  # one Newton step from a local error of step³
    assert runs[0].statistics["steps"] == 250
    assert runs[0].provenance["method"] == "Heun(step=0.002, passes=1)"


def test_a_new_integrator_runs_in_a_sampled_loop(heun):
    cart = cart_pendulum()
    law = gain_law(CART_GAINS, CART_READS, ["force"], 0.01)
    start = da.assemble(cart, {"hinge.angle": 0.1, "rail": -0.2})
    run = da.simulate(cart, 0.2, start=start, controller=law, method=heun(1e-3), every=[0.2])
    best = da.simulate(cart, 0.2, start=start, controller=law, every=[0.2])
    for name in run.names:
        if name.endswith(("angle", "displacement")):
            assert run[name][-1] == pytest.approx(best[name][-1], rel=1e-4)  # of the order of the step squared


def test_a_model_file_keeps_a_new_integrator_and_its_options(heun, tmp_path: Path):
    m = da.read_model("pendulum")
    m.simulation = {"until": 1.0, "method": heun(1e-3, passes=2)}
    da.write_model(m, tmp_path / "pendulum.toml")
    text = (tmp_path / "pendulum.toml").read_text()
    assert 'type = "Heun"' in text and "passes = 2" in text
    assert da.read_model(tmp_path / "pendulum.toml").simulation["method"] == heun(1e-3, passes=2)


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ('{ type = "Heun", step = 1e-3, order = 2 }', "no option named 'order'"),
        ('{ type = "Heun" }', "needs the key 'step'"),
        ('{ type = "Heun", step = "3 kg" }', "kg"),
        ('{ type = "Heun", step = 1e-3, passes = "two" }', "passes"),
        ('{ type = "Hein", step = 1e-3 }', "Did you mean 'Heun'?"),
    ],
)
def test_mistakes_in_the_table_of_a_new_integrator_are_found(heun, tmp_path: Path, table: str, shown: str):
    (tmp_path / "m.toml").write_text(f"[simulate]\nmethod = {table}\n[bodies.b]\nmass = 1\ninertia = [1, 1, 1]\n")
    with pytest.raises(da.errors.DalembertError) as caught:
        da.read_model(tmp_path / "m.toml")
    assert shown in str(caught.value) and "m.toml:2" in str(caught.value)


def test_a_keyword_of_a_new_integrator_is_recognised(heun, four_bar):
    with raises(TypeError, None, "'passes'", "method="):
        da.simulate(four_bar[0], 0.1, passes=2)


def test_two_packages_cannot_have_an_integrator_of_one_name():
    with raises(da.errors.DataError, "taken-name", "RK4", "dalembert.solve.integrate.methods.rk4"):
        INTEGRATORS.register("RK4", INTEGRATORS["RK4"])


@pytest.mark.slow
def test_the_installed_command_finds_a_new_integrator(tmp_path: Path):
    (tmp_path / "guest_heun.py").write_text(HEUN)  # and what pip makes of it
    about = tmp_path / "guest_heun-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: guest_heun\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[dalembert.integrators]\nheun = guest_heun\n")
    result = dalembert(tmp_path, "simulate", "pendulum", "--method", "heun", "--step", "1 ms", "--until", "1", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["statistics"]["steps"] == 1000
    assert "heun" in dalembert(tmp_path, "simulate", "--help").stdout
    wrong = dalembert(tmp_path, "simulate", "pendulum", "--method", "heun", "--until", "1")
    assert wrong.returncode == 2 and "heun needs a step in s." in wrong.stderr
