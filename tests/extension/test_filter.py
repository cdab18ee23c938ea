"""A filter of another package: written here, used over a record, in a closed loop, as C and by commands."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.estimate import FILTERS, FilterKind
from tests.helpers.installed_command import dalembert

DT = 0.01


class ConstantGain(da.estimate.Filter):
    """Observer with one gain: the steady gain of the model linearised at its initial state."""

    def __init__(self, model, *, dt=None, **keywords):
        super().__init__(model, dt=0.01 if dt is None else dt, **keywords)
        F, H, Q, R = self.linearize(self.start, np.zeros(self.process.nu), 0.0, self.dt)
        P = scipy.linalg.solve_discrete_are(F.T, H.T, Q, R)
        S = H @ P @ H.T + R
        K = np.linalg.solve(S, H @ P).T
        self.K, self.S, self.P, self.F = (ca.DM(v) for v in (K, S, P - K @ S @ K.T, F))
        self.state_size = self.process.nx

    def begin(self, x0, P0):
        return np.array(x0)

    def predict(self, m, u, p, t, dt):
        return self.model.step(m, u, p, t, dt)

    def correct(self, m, u, y, measured, p, t):
        e = self.model.innovation(y, self.model.outputs(m, u, p, t), measured)
        return self.model.retract(m, self.K @ e, p, t), e, ca.MX(self.S)

    def covariance(self, m):
        return ca.MX(self.P)

    def cross(self, m, u, p, t, dt):
        return ca.MX(self.P @ self.F.T)


@pytest.fixture
def registered():
    FILTERS.register("constant-gain", FilterKind(ConstantGain, "observer with one gain", machines=True))
    yield FILTERS["constant-gain"]
    FILTERS.unregister("constant-gain")


@pytest.fixture(scope="module")
def truth():
    return da.simulate(da.equations(da.read_model("four-bar")), until=2.0, every=DT)


@pytest.fixture
def observer(registered):
    eqs = da.equations(da.read_model("four-bar"))
    return registered.make(eqs, outputs="encoder", Q=1e-8, R=1e-6, P0=1e-4, dt=DT)


def test_it_estimates_over_a_record_and_is_smoothed(observer, truth):
    measured = da.estimate.measure(truth, {"encoder": 1e-3}, seed=1)
    found = observer.run(measured)
    assert found.compare(truth, settle=0.5, channels="A.rate")["A.rate"] < 0.02 * np.std(truth["A.rate"])
    assert da.estimate.smooth(found).smoothed


def test_it_observes_in_a_closed_loop(observer):
    run = da.simulate(observer.process.source, until=0.5, observer=observer, every=DT)
    assert run["estimate.A.rate"][-1] == pytest.approx(run["A.rate"][-1], rel=1e-2)


@pytest.mark.skipif(shutil.which("make") is None or shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.slow
def test_it_is_exported_to_c_which_computes_the_same(observer, tmp_path):
    da.export_c(observer, tmp_path, name="constant_gain", dt=DT)
    checked = subprocess.run(["make", "-C", str(tmp_path), "test"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def install(folder: Path) -> None:
    """What pip makes of a package with this filter and an entry point."""
    lines = inspect.getsource(ConstantGain).splitlines()
    source = ["import casadi as ca", "import numpy as np", "import scipy.linalg", "import dalembert as da", "", *lines]
    kind = 'da.estimate.FilterKind(ConstantGain, "observer with one gain", machines=True)'
    source.append(f'da.estimate.FILTERS.register("constant-gain", {kind})')
    (folder / "guest_filter.py").write_text("\n".join(source))
    about = folder / "guest_filter-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: guest_filter\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[dalembert.filters]\nconstant-gain = guest_filter\n")


@pytest.mark.slow
def test_commands_offer_it_once_its_package_is_installed(tmp_path, truth):
    install(tmp_path)
    da.write_record(da.estimate.measure(truth, {"encoder": 1e-3}, seed=1), tmp_path / "measured.csv")
    options = ("--filter", "constant-gain", "--outputs", "encoder", "--Q", "1e-8", "--R", "1e-6", "--P0", "1e-4")
    result = dalembert(tmp_path, "estimate", "four-bar", str(tmp_path / "measured.csv"), *options, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["filter"] == "constant-gain" and found["last"]["A.rate"]["deviation"] > 0
    assert "constant" in dalembert(tmp_path, "estimate", "--help").stdout  # a narrow screen may break the name
    written = dalembert(tmp_path, "export", "four-bar", *options, "--dt", str(DT), "--out", str(tmp_path / "c"))
    assert written.returncode == 0 and (tmp_path / "c").is_dir(), written.stderr


def test_another_package_cannot_take_the_name_of_a_filter(registered):
    with pytest.raises(da.errors.DataError) as caught:
        FILTERS.register("ekf", registered)
    assert caught.value.code == "taken-name"
