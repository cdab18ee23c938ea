"""Every machine of the library through every verb: a result, or an error of our own that says why not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.files import list_models
from tests.helpers.findings import raises

QUICK = ("whitworth",)  # the others take 2 to 20 s each
MACHINES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in list_models()]


def attempt(verb: Callable[[], Any]) -> Any:
    """The result, or the words of an error of our own; any other error fails the test."""
    try:
        return verb()
    except da.errors.DalembertError as error:
        assert len(str(error)) > 30
        return None


def numbers(run: da.Record) -> None:
    assert all(np.isfinite(run[name]).all() for name in run.names)


@pytest.mark.filterwarnings("ignore::UserWarning")  # advice about a few samples of a motion
@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_of_the_library_goes_through_every_verb(name: str, tmp_path: Path) -> None:
    m = da.read_model(name)
    eqs = da.equations(m)
    start = da.assemble(eqs, **m.start)
    inputs = {key: value for key, value in m.simulation.get("inputs", {}).items() if key in eqs.inputs.names}
    run = da.simulate(eqs, start.t + 0.02, start=start, inputs=inputs, every=0.001)
    numbers(run)
    for verb in (
        lambda: da.kinematics(eqs, start.t + 0.02, start=start, every=0.002),
        lambda: da.kinematics(eqs, motion=run, start=start),
        lambda: da.inverse_dynamics(eqs, run, start=start),
        lambda: da.inverse_dynamics(eqs, None, times=start.t + 0.02, start=start),
    ):
        found = attempt(verb)
        if found is not None:
            numbers(found)
    rest = attempt(lambda: da.equilibrium(eqs))
    assert rest is None or np.isfinite(rest.q).all()
    for options in ({}, {"at": start}, {"at": start, "anywhere": True}, {"at": start, "frozen": True}):
        linear = attempt(lambda options=options: da.linearize(eqs, **options))
        if linear is not None:
            assert linear.modes().table().startswith("mode")
            law = attempt(lambda linear=linear: da.control.lqr(linear, Q=1.0, R=1.0)) if linear.nu else None
            assert law is None or np.isfinite(law.K).all()
            if law is not None and not options and eqs.nv <= 40:  # of a Stewart platform it takes minutes
                closed = attempt(lambda law=law: da.simulate(eqs, start.t + 0.01, start=start, controller=law))
                assert closed is None or len(closed) > 1
    assert da.plot(run).axes
    if eqs.nu and eqs.ny:
        fit = attempt(lambda: da.identify.okid_era(run, eqs.inputs.names, eqs.outputs.names[:1], order=2))
        assert fit is None or np.isfinite(fit.system.A).all()
    page = tmp_path / "machine.html"
    da.animate(run, page)
    assert "<html" in page.read_text(encoding="utf-8")[:2000].lower()
    if eqs.ny and eqs.nv <= 40:
        sensors = list(eqs.outputs.names[:1])
        seen = attempt(lambda: da.estimate.ExtendedKalman(eqs, outputs=sensors, Q=1e-4, R=1e-6, start=start).run(run))
        if seen is not None:
            numbers(seen.record)
    assert da.check(m).ok


def test_a_machine_that_its_drivers_decide_has_no_small_motions() -> None:
    m = da.read_model("whitworth")
    eqs = da.equations(m)
    start = da.assemble(eqs, **m.start)
    with raises(da.errors.ModelError, "no-freedom", "'whitworth'"):
        da.linearize(eqs, at=start, anywhere=True)
