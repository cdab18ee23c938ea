"""Results of automatic identification are accepted wherever an identified model is."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.storey_frame import DT, FLOORS, played, sampled_frame, storey_frame, white

ROOMS = ("linear", "structures", "identify", "estimate", "control", "tree", "sweeps")
BY_AUTO = {"choose", "merge_setups"}  # they take what auto alone has: its stabilization diagram, its sound modes
RECORD = played(sampled_frame(), white(1024, seed=3), noise=0.01, seed=3)


@pytest.fixture(scope="module")
def found() -> da.identify.AutoIdentified:
    return da.identify.auto(RECORD, ["force"], FLOORS, order=6)


def frame(k: float) -> da.SecondOrder:
    own = storey_frame()
    return own.replace(K=k * own.K, C=None)


def proportional(model: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a negative beta, which the frame has
        return [da.identify.proportional_damping(model).alpha]


def filtered(model: Any) -> Any:
    return da.estimate.Kalman(model, Q=1e-6, R=1e-4, P0=1.0).run(RECORD).states.data


def written(model: Any, folder: Path) -> Any:
    da.write_modes(model, folder / "m.json")
    return da.read_modes(folder / "m.json").eigenvalues


def reported(model: Any, folder: Path) -> Any:
    more = {} if isinstance(model, da.identify.AutoIdentified) else {"records": RECORD}
    da.report(model, folder / "r.html", **more)
    return [(folder / "r.html").stat().st_size > 1000]


# function -> what it makes of an identified model, as numbers
TAKES: dict[str, Callable[[Any, Path], Any]] = {
    "da.write_modes": written,
    "da.report": reported,
    "identify.cramer_rao": lambda m, _: da.identify.cramer_rao(m, RECORD, 1e-4).frequency_deviations_hz,
    "identify.deviations": lambda m, _: da.identify.deviations(m, RECORD).frequency_deviations_hz,
    "identify.intervals": lambda m, _: da.identify.intervals(m)[0],
    "identify.refine": lambda m, _: da.identify.refine(m, RECORD).frequencies_hz,
    "identify.physical": lambda m, _: da.identify.physical(m, kind="acceleration", colocated=("a1", "force")).M,
    "identify.proportional_damping": lambda m, _: proportional(m),
    "identify.update": lambda m, _: (
        da.identify.update(frame, m, {"k": 0.9}, coordinates=dict(zip(FLOORS, ["x1", "x2", "x3"], strict=True))).values
    ),
    "estimate.process": lambda m, _: da.estimate.process(m).matrices[0],
    "estimate.Kalman": lambda m, _: filtered(m),
}


def takers() -> set[str]:
    """Public functions with an argument that is annotated as an identified model."""
    names = set()
    for room in (None, *ROOMS):
        module = da if room is None else getattr(da, room)
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing) or isinstance(thing, type):
                continue
            given = str([one.annotation for one in inspect.signature(thing).parameters.values()])
            if name not in BY_AUTO and "Identified" in given.replace("IdentifiedRobot", ""):
                names.add(f"{room or 'da'}.{name}")
    return names


def test_every_function_that_takes_an_identified_model_is_in_the_table() -> None:
    assert takers() <= set(TAKES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == "da.report" else []) for name in TAKES]
)
def test_a_result_of_auto_gives_the_numbers_of_its_model(
    name: str, found: da.identify.AutoIdentified, tmp_path: Path
) -> None:
    make = TAKES[name]
    np.testing.assert_allclose(make(found, tmp_path), make(found.identified, tmp_path), rtol=1e-9)


def test_a_design_names_the_system_to_hand_over(found: da.identify.AutoIdentified) -> None:
    with pytest.raises(da.errors.DataError) as caught:
        da.control.lqr(found, Q=1.0, R=1.0)  # type: ignore[arg-type]
    assert caught.value.code == "wrong-type" and ".identified.system" in str(caught.value)
    assert found.identified.dt == pytest.approx(DT)
