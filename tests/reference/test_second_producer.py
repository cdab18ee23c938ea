"""Equations written by hand, without a Mechanism, go through everything that equations are used for.

A pendulum in its one angle, an arm with one elastic coordinate (its mass matrix depends on the deflection and couples
both coordinates) and a bead held by a constraint. References: the same pendulum as a Mechanism in absolute coordinates,
closed forms of small motions, and SciPy's integration of equations solved by hand.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigvals

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.equations import Channels, EquationsOfMotion
from dalembert.files.export.c_export import export_c
from dalembert.view.animation.machine_modes import machine_mode_data
from dalembert.view.animation.machine_scene import machine_data
from tests.helpers.c_code import CC, sound
from tests.helpers.findings import raises
from tests.helpers.producers import ARM, BOB, GRAVITY, bead_on_a_ring, elastic_arm, pendulum
from tests.helpers.repetitions import few

DT = 0.01
TIGHT = da.DormandPrince(rtol=1e-11, atol=1e-12)
AGREE = 1e-8  # of two runs with relative tolerances of 1e-11 over a few periods


@pytest.fixture(scope="module")
def swing() -> EquationsOfMotion:
    return pendulum()


@pytest.fixture(scope="module")
def arm() -> EquationsOfMotion:
    return elastic_arm()


def mechanism() -> EquationsOfMotion:
    """The same pendulum as a body on a hinge, in absolute coordinates."""
    m = da.Mechanism("pendulum", planar=True)
    bob = m.add_body("bob", mass=BOB["mass"], inertia=0.0)
    m.add_revolute("pivot", m.ground.at(0, 0), bob.at(0, BOB["length"]))
    m.add_damper("friction", joint="pivot", damping=BOB["friction"])
    m.add_actuator("motor", joint="pivot", input="torque")
    return da.equations(m)


def elastic_rates(t: float, x: np.ndarray) -> list[float]:
    """The arm, solved by hand for both accelerations."""
    J, m, length, k, c = ARM.values()
    hub, w, hub_rate, w_rate = x
    M = np.array([[J + m * (length**2 + w**2), m * length], [m * length, m]])
    f = np.array([
        -2 * m * w * w_rate * hub_rate - m * GRAVITY * (length * np.cos(hub) - w * np.sin(hub)),
        m * w * hub_rate**2 - k * w - c * w_rate - m * GRAVITY * np.cos(hub),
    ])  # fmt: skip
    return [hub_rate, w_rate, *np.linalg.solve(M, f)]


def test_it_moves_as_the_same_pendulum_in_absolute_coordinates(swing: Any) -> None:
    push = {"torque": lambda t: 2.0 * da.sin(3.0 * t)}
    start = da.assemble(swing, {"angle": 0.6}, velocity={"angle": 1.0})
    assert start["angle"] == 0.6 and start["bob.x"] == pytest.approx(BOB["length"] * np.sin(0.6), abs=1e-14)
    run = da.simulate(swing, 3.0, start=start, inputs=push, method=TIGHT, every=0.05)
    other = mechanism()
    begin = da.assemble(other, {"pivot.angle": 0.6}, velocity={"pivot.angle": 1.0})
    twin = da.simulate(other, 3.0, start=begin, inputs=push, method=TIGHT, every=0.05)
    assert np.abs(run["angle"] - twin["pivot.angle"]).max() < AGREE
    assert np.abs(run["bob.x"] - twin["bob.x"]).max() < AGREE
    assert np.abs(run["energy.balance"]).max() < AGREE  # the power is derived


@pytest.mark.parametrize("method", [TIGHT, da.GeneralizedAlpha(step=1e-3), da.Rosenbrock(rtol=1e-9, atol=1e-11)])
def test_a_mass_matrix_that_depends_on_coordinates_is_integrated(arm: Any, method: Any) -> None:
    start = da.assemble(arm, {"hub": 0.4, "deflection": 0.08}, velocity={"hub": 3.0})
    run = da.simulate(arm, 2.0, start=start, method=method, every=0.1)
    exact = solve_ivp(elastic_rates, (0, 2), [0.4, 0.08, 3.0, 0.0], t_eval=run.time, rtol=1e-12, atol=1e-13)
    fine = AGREE if method is TIGHT else 2e-3 if isinstance(method, da.GeneralizedAlpha) else 1e-6
    assert np.abs(run[["hub", "deflection"]].T - exact.y[:2]).max() < fine


def test_forward_and_inverse_dynamics_are_each_others_inverse(arm: Any) -> None:
    free = da.simulate(arm, 0.5, inputs={"torque": 1.5}, every=0.01, method=TIGHT)
    found = da.inverse_dynamics(arm, free)
    assert found["torque"][5:-5] == pytest.approx(np.full(len(found.time) - 10, 1.5), abs=1e-5)


def test_small_motions_have_the_frequencies_of_closed_form(swing: Any) -> None:
    modes = da.linearize(swing).modes()
    frequency = np.sqrt(GRAVITY / BOB["length"])
    assert np.abs(modes.eigenvalues[0]) == pytest.approx(frequency, rel=1e-12)
    arm = elastic_arm(gravity=0.0)
    linear = da.linearize(arm, at=da.assemble(arm, {"hub": 0.3}))
    assert linear.coordinates == ("hub", "deflection")
    J, m, length, k, c = ARM.values()
    M, K, C = np.array([[J + m * length**2, m * length], [m * length, m]]), np.diag([0, k]), np.diag([0, c])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    ours = np.sort_complex(eigvals(linear.state_space().A))
    assert ours == pytest.approx(np.sort_complex(eigvals(A)), abs=1e-6)  # the free rotation is a double zero


def test_the_bent_arm_has_an_equilibrium_under_its_weight(arm: Any) -> None:
    held = da.equilibrium(arm, start=da.assemble(arm, {"hub": -1.2}))
    assert held["hub"] == pytest.approx(-np.pi / 2, abs=1e-9) and held["deflection"] == pytest.approx(0.0, abs=1e-9)


def test_a_constraint_may_be_given_by_its_position_alone() -> None:
    bead = bead_on_a_ring()
    start = da.assemble(bead, guess={"x": 0.4, "y": -0.5})
    run = da.simulate(bead, 2.0, start=start, method=TIGHT, every=0.05)
    angle = float(np.arctan2(start["x"], -start["y"]))
    swing = pendulum().replace(friction=0.0)
    twin = da.simulate(swing, 2.0, start=da.assemble(swing, {"angle": angle}), method=TIGHT, every=0.05)
    assert np.abs(run["x"] - twin["bob.x"]).max() < AGREE and np.abs(run["residual.position"]).max() < 1e-10
    assert da.mobility(bead).dof == 1


def noisy(eqs: EquationsOfMotion, start: Any, inputs: Any, until: float = 3.0) -> Any:
    noise = da.Noise(sensors=dict.fromkeys(eqs.outputs.names, 2e-3), every=DT, seed=4)
    return da.simulate(eqs, until, start=start, inputs=inputs, noise=noise)


@pytest.mark.parametrize("make", [pendulum, elastic_arm], ids=["pendulum", "arm"])
def test_a_filter_finds_the_states_from_noisy_sensors(make: Any) -> None:
    eqs = make()
    names = eqs.coordinates.names
    run = noisy(eqs, da.assemble(eqs, {names[0]: 0.5}), {"torque": 0.2})
    measured = da.Record.from_channels(run.time, {
        **{name: run[f"measured.{name}"] for name in eqs.outputs.names}, "torque": run["torque"],
    })  # fmt: skip
    ekf = da.estimate.ExtendedKalman(eqs, outputs=list(eqs.outputs.names), dt=DT, Q=1e-6, R=4e-6)
    found = ekf.run(measured, start={names[0]: 0.4})
    late = run.time > 1.0
    for name in (*names, *eqs.speeds.names):
        error = (found.record[name] - run[name])[late]
        assert np.sqrt(np.mean(error**2)) < (2e-3 if name in names else 0.05), name


@pytest.mark.parametrize("make", few([pendulum, elastic_arm]), ids=["pendulum", "arm"])
def test_a_regulator_behind_a_filter_brings_it_to_rest(make: Any) -> None:
    eqs = make()
    target = da.equilibrium(eqs, start=da.assemble(eqs, {eqs.coordinates.names[0]: 0.0 if make is pendulum else -1.5}))
    linear = da.linearize(eqs, at=target)
    law = da.control.lqr(linear.state_space().to_discrete(DT), Q=1.0, R=0.1)
    ekf = da.estimate.ExtendedKalman(eqs, outputs=list(eqs.outputs.names), dt=DT, Q=1e-8, R=4e-6)
    start = da.assemble(eqs, {eqs.coordinates.names[0]: float(target.q[0]) + 0.3})
    noise = da.Noise(sensors=dict.fromkeys(eqs.outputs.names, 1e-3), seed=2)
    run = da.simulate(eqs, 6.0, start=start, controller=law, observer=ekf, noise=noise)
    free = da.simulate(eqs, 6.0, start=start, every=DT)
    name = eqs.coordinates.names[0]
    off, alone = (np.abs(one[name][-100:] - target.q[0]).max() for one in (run, free))
    assert off < 0.02 and alone > 0.05  # 20 times the noise of the sensor


@pytest.mark.skipif(CC is None, reason="no C compiler (cc, gcc or clang) on this machine")
@pytest.mark.parametrize("make", few([pendulum, elastic_arm]), ids=["pendulum", "arm"])
def test_its_filter_is_exported_to_c_and_agrees_with_a_run(make: Any, tmp_path: Path) -> None:
    eqs = make()
    ekf = da.estimate.ExtendedKalman(eqs, outputs=list(eqs.outputs.names), dt=DT, Q=1e-8, R=4e-6)
    start = da.assemble(eqs, {eqs.coordinates.names[0]: 0.4})
    run = da.simulate(eqs, 0.5, start=start, observer=ekf, noise=da.Noise(seed=1, every=DT))
    sound(export_c(ekf.observer_step(DT), tmp_path, example=run))


def test_it_is_drawn_from_its_own_pose_channels(swing: Any, arm: Any, tmp_path: Path) -> None:
    run = da.simulate(swing, 1.0, start=da.assemble(swing, {"angle": 0.5}))
    da.animate(run, tmp_path / "swing.html")
    assert "pendulum" in (tmp_path / "swing.html").read_text(encoding="utf-8")
    data = machine_data(run, 30, 1.0, ["pivot"])
    x, y, angle = data["bodies"][0]["pose"]
    assert np.hypot(x, y) == pytest.approx(np.full(x.shape, BOB["length"]), abs=1e-4)
    assert x == pytest.approx(BOB["length"] * np.sin(angle), abs=1e-4)
    assert np.abs(data["trails"][0]["points"]).max() < 1e-4  # the pivot stays
    bent = machine_data(da.simulate(arm, 1.0), 30, 1.0, ["tip"])
    assert [body["name"] for body in bent["bodies"]] == ["arm", "tip"]
    assert np.ptp(bent["trails"][0]["points"][:, 1]) > 0.1


def test_its_modes_are_drawn(swing: Any) -> None:
    data = machine_mode_data(swing, None, 1.0)
    (shape,) = data["shapes"]  # one mode, one body: dx, dy, dangle; the bob hangs below its pivot
    assert shape[0, 0] == pytest.approx(BOB["length"] * shape[0, 2], rel=1e-9) and abs(shape[0, 1]) < 1e-12


def test_equations_of_nothing_but_inertia_and_forces_serve_every_solver(tmp_path: Path) -> None:
    q, v, t = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("t")
    lam, u, z, p = (ca.SX.sym(name, 0) for name in ("lam", "u", "z", "p"))
    functions = {
        "inertia": ca.Function("inertia", [q, p, t], [2 + q**2]),
        "forces": ca.Function("forces", [q, v, z, u, p, t, lam], [-8 * q - q * v**2]),
    }
    bare = EquationsOfMotion(name="bare", coordinates=Channels(["x"]), speeds=Channels(["x.rate"]), functions=functions)
    assert bare.measures.names == ("x",) and bare.measure_rates.names == ("x.rate",)
    start = da.assemble(bare, {"x": 0.5}, velocity={"x": 1.0})
    run = da.simulate(bare, 2.0, start=start, method=TIGHT, every=DT)
    energy = 0.5 * (2 + run["x"] ** 2) * run["x.rate"] ** 2 + 4 * run["x"] ** 2
    assert np.ptp(energy) < AGREE and np.abs(run["energy.balance"]).max() < AGREE
    assert np.abs(da.linearize(bare).modes().eigenvalues) == pytest.approx([2.0], rel=1e-12)
    assert da.kinematics(bare, [0.0, 1.0], motion={"x": lambda t: t})["x.rate"] == pytest.approx([1.0, 1.0])
    assert da.mobility(bare).dof == 1
    assert da.equilibrium(bare)["x"] == pytest.approx(0.0, abs=1e-12)
    ekf = da.estimate.ExtendedKalman(bare, outputs=["x"], dt=DT, Q=1e-8, R=1e-6)
    assert np.isfinite(ekf.run(da.Record.from_channels(run.time, {"x": run["x"]})).record["x.rate"]).all()
    again = pickle.loads(pickle.dumps(bare))  # noqa: S301
    assert again.content_hash == bare.content_hash
    with raises(DataError, "no-scene"):
        da.animate(run, tmp_path / "a.html")
    with raises(DataError, "no-scene", "bare"):
        machine_mode_data(bare, None, 1.0)


@pytest.mark.parametrize(
    ("change", "code", "shown"),
    [
        ({"speeds": Channels(["v", "w"]), "functions": {}}, "missing-argument", "kinematics"),
        ({"functions": {}}, "missing-argument", "inertia"),
        ({"outputs": Channels(["y"])}, "missing-argument", "outputs"),
        ({"coordinates": Channels(["a", "b"]), "speeds": Channels(["c", "d"])}, "wrong-shape", "inertia"),
        ({"parameters": Channels(["m"])}, "wrong-shape", "takes"),
        ({"parameter_values": (1.0, 2.0)}, "wrong-shape", "parameters"),
    ],
)
def test_a_producer_is_refused_with_what_is_missing(swing: Any, change: dict, code: str, shown: str) -> None:
    given: dict[str, Any] = {"name": "own", "coordinates": swing.coordinates, "speeds": swing.speeds,
                             "inputs": swing.inputs, "parameters": swing.parameters,
                             "parameter_values": swing.parameter_values}  # fmt: skip
    given["functions"] = {name: swing.functions[name] for name in ("inertia", "forces")}
    given |= change
    with raises(ModelError, code, shown):
        EquationsOfMotion(**given)
