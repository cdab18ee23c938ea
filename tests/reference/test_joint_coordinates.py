"""Machines of the library in joint coordinates move as they do in absolute coordinates."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import dalembert as da

LIBRARY = Path(da.__file__).parent / "library"
TREES = {"pendulum": 1, "double-pendulum": 2, "cart-pendulum": 2, "scara": 4, "six-joint-arm": 6, "top": 3}
LOOPS = ("four-bar", "slider-crank", "five-bar", "whitworth", "excavator", "quarter-car", "building-pendulum")
QUATERNION = (".e0", ".e1", ".e2", ".e3")  # p and -p are one orientation
ESTIMATES = ("energy.balance", "residual.position", "residual.velocity")  # of the error of the run itself


def pair(name: str) -> tuple[da.EquationsOfMotion, da.EquationsOfMotion]:
    m = da.read_model(LIBRARY / f"{name}.toml")
    return da.equations(m), da.equations(m, coordinates="joint")


def starts(plain: da.EquationsOfMotion, joint: da.EquationsOfMotion) -> tuple[object, object]:
    start = da.assemble(plain)
    known = [name for name in joint.coordinates.names if name in plain.measures.index]
    return start, da.assemble(joint, {name: start[name] for name in known})


@pytest.mark.parametrize("name", TREES)
def test_a_tree_has_as_many_coordinates_as_freedoms_and_no_rows(name: str) -> None:
    _, joint = pair(name)
    assert (joint.nv, len(joint.rows)) == (TREES[name], 0)


@pytest.mark.spec("002-B3")
@pytest.mark.parametrize("name", [*TREES, *LOOPS, "bicycle", "spherical-pendulum"])
def test_a_machine_of_the_library_moves_alike(name: str) -> None:
    plain, joint = pair(name)
    first, second = starts(plain, joint)
    runs = [da.simulate(eqs, 0.5, start=s) for eqs, s in ((plain, first), (joint, second))]
    for channel in runs[0].names:
        if channel in runs[1].names and not channel.endswith(QUATERNION) and channel not in ESTIMATES:
            # both runs have a relative tolerance of 1e-9 per step and some hundred steps
            scale = 1.0 + float(np.abs(runs[0][channel]).max())
            assert float(np.abs(runs[0][channel] - runs[1][channel]).max()) < 1e-7 * scale, channel


def test_bodies_stay_visible_in_joint_coordinates(tmp_path: Path) -> None:
    _, joint = pair("six-joint-arm")
    run = da.simulate(joint, 0.1)
    assert {"turret.x", "turret.e0", "q1.angle", "q1.rate", "turret.vx"} <= set(run.names)
    p = np.stack([run[f"turret.e{k}"] for k in range(4)])
    np.testing.assert_allclose((p**2).sum(axis=0), 1.0, rtol=0, atol=1e-12)
    page = tmp_path / "arm.html"
    da.animate(run, page)
    assert page.stat().st_size > 100_000


def test_modes_are_the_same_in_both_coordinates() -> None:
    plain, joint = pair("building-pendulum")
    first, second = (da.linearize(eqs, at=da.equilibrium(eqs)).modes() for eqs in (plain, joint))
    np.testing.assert_allclose(first.frequencies, second.frequencies, rtol=1e-9)


def test_torques_of_a_motion_are_the_same_in_both_coordinates() -> None:
    plain, joint = pair("six-joint-arm")
    first, second = starts(plain, joint)
    runs = [da.simulate(eqs, 0.3, start=s) for eqs, s in ((plain, first), (joint, second))]
    efforts = [da.inverse_dynamics(eqs, run) for eqs, run in zip((plain, joint), runs, strict=True)]
    for name in plain.inputs.names:
        # the run has no torque; both find the rounding of the accelerations times the inertia
        np.testing.assert_allclose(efforts[0][name], efforts[1][name], atol=1e-6)


def test_equations_in_joint_coordinates_pickle() -> None:
    _, joint = pair("four-bar")
    same = pickle.loads(pickle.dumps(joint))  # noqa: S301 - our own bytes
    state = da.assemble(joint)
    again = da.assemble(same)
    np.testing.assert_array_equal(state.q, again.q)
