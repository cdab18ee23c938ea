"""Every machine of the library through every verb, in both coordinates: a result, or an error that says why not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.files import list_models
from tests.helpers.findings import raises

QUICK = ("four-bar",)  # the others take 4 to 40 s each
MACHINES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in list_models()]
LARGE = 40  # speeds: of a Stewart platform in absolute coordinates some verbs take minutes


class Outcomes(dict[str, str]):
    """What became of every verb: "done", or the code of an error of our own; any other error fails the test."""

    def attempt(self, name: str, verb: Callable[[], Any]) -> Any:
        try:
            found = verb()
        except da.errors.DalembertError as error:
            assert len(str(error)) > 30
            self[name] = error.code
            return None
        self[name] = "done"
        return found


def numbers(run: da.Record) -> None:
    assert all(np.isfinite(run[name]).all() for name in run.names)


def go_through(name: str, coordinates: str, folder: Path) -> Outcomes:
    found = Outcomes()
    m = da.read_model(name)
    eqs = da.equations(m, coordinates=coordinates)
    start = da.assemble(eqs, **m.start)
    inputs = {key: value for key, value in m.simulation.get("inputs", {}).items() if key in eqs.inputs.names}
    run = da.simulate(eqs, start.t + 0.02, start=start, inputs=inputs, every=0.001)
    numbers(run)
    for label, verb in {
        "kinematics": lambda: da.kinematics(eqs, start.t + 0.02, start=start, every=0.002),
        "kinematics of a motion": lambda: da.kinematics(eqs, motion=run, start=start),
        "inverse dynamics": lambda: da.inverse_dynamics(eqs, run, start=start),
        "inverse dynamics of drivers": lambda: da.inverse_dynamics(eqs, None, times=start.t + 0.02, start=start),
    }.items():
        record = found.attempt(label, verb)
        if record is not None:
            numbers(record)
    rest = found.attempt("equilibrium", lambda: da.equilibrium(eqs))
    assert rest is None or np.isfinite(rest.q).all()
    for label, options in {
        "linearize": {},
        "linearize at": {"at": start},
        "linearize anywhere": {"at": start, "anywhere": True},
        "linearize frozen": {"at": start, "frozen": True},
    }.items():
        linear = found.attempt(label, lambda options=options: da.linearize(eqs, **options))
        if linear is None:
            continue
        assert linear.modes().table().startswith("mode")
        law = (
            found.attempt(f"lqr, {label}", lambda linear=linear: da.control.lqr(linear, Q=1.0, R=1.0))
            if linear.nu
            else None
        )
        assert law is None or np.isfinite(law.K).all()
        if law is not None and not options and eqs.nv <= LARGE:
            loop = lambda law=law: da.simulate(eqs, start.t + 0.01, start=start, controller=law)  # noqa: E731
            closed = found.attempt("closed loop", loop)
            assert closed is None or len(closed) > 1
    assert da.plot(run).axes
    if eqs.nu and eqs.ny:
        fit = found.attempt("okid", lambda: da.identify.okid_era(run, eqs.inputs.names, eqs.outputs.names[:1], order=2))
        assert fit is None or np.isfinite(fit.system.A).all()
    page = folder / f"{coordinates}.html"
    da.animate(run, page)
    assert "<html" in page.read_text(encoding="utf-8")[:2000].lower()
    given = {"start": m.start.get("position"), "velocity": m.start.get("velocity"), "guess": m.start.get("guess")}
    axis = eqs.full_name(next(iter(m.start.get("position") or {}), ""))
    if axis and not start.t:
        trial = da.sweeps.Simulation(eqs, 0.005, {"end": axis}, inputs=inputs, every=0.001, **given)
        grid = da.sweeps.Grid({f"start {axis}": [start[axis]]})
        swept = found.attempt("sweep", lambda: da.sweep(trial, grid, workers=0))
        assert swept is None or np.isfinite(swept["end"]).all()
    if eqs.nv <= LARGE:
        if eqs.ny:
            sensors = list(eqs.outputs.names[:1])
            make = da.estimate.ExtendedKalman
            seen = found.attempt(
                "filter", lambda: make(eqs, outputs=sensors, Q=1e-4, R=1e-6, P0=1e-4, start=start).run(run)
            )
            if seen is not None:
                numbers(seen.record)
        assert all(file.exists() for file in da.export_c(eqs, folder / coordinates, name="machine").files)
        assert da.export_python(eqs, folder / f"{coordinates}.py").exists()
    assert da.check(m).ok
    return found


@pytest.mark.filterwarnings("ignore::UserWarning")  # advice about a few samples of a motion
@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_of_the_library_goes_through_every_verb_in_both_coordinates(name: str, tmp_path: Path) -> None:
    plain, joint = (go_through(name, kind, tmp_path) for kind in ("absolute", "joint"))
    shared = set(plain) & set(joint)
    assert {verb: joint[verb] for verb in shared} == {verb: plain[verb] for verb in shared}
    assert len(shared) > 8


def test_a_machine_that_its_drivers_decide_has_no_small_motions() -> None:
    m = da.read_model("whitworth")
    eqs = da.equations(m)
    start = da.assemble(eqs, **m.start)
    with raises(da.errors.ModelError, "no-freedom", "'whitworth'"):
        da.linearize(eqs, at=start, anywhere=True)
