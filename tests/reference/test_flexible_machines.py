"""Machines with flexible bodies go through every verb: rest, linear models, inverse dynamics, filters, code, sweeps."""

from __future__ import annotations

import pickle
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as da
from benchmarks.flexible import zigzag
from dalembert.structures import Frame, Section, flexible_body
from tests.helpers.flexible_parts import spatial_four_bar
from tests.helpers.repetitions import few

LENGTH, HEIGHT, WIDTH = 0.6, 0.003, 0.03


def strip(planar: bool = True, **options):
    """A steel strip with its frame at the root."""
    size = 2 if planar else 3
    frame = Frame("strip", planar=planar)
    frame.add_points(["root", "tip"], [[0.0] * size, [LENGTH] + [0.0] * (size - 1)])
    section = Section.rectangle(HEIGHT, WIDTH).without_shear()
    frame.add_beam("strip", "root", "tip", section=section, material="steel", elements=12)
    return flexible_body(frame, **{"basis": "clamped", "fixed": "root", "modes": 3, "damping": 0.01, **options})


def pendulum(planar: bool = True, *, cutoff_hz: float | None = None, **options) -> da.Mechanism:
    """A flexible pendulum with a motor, an encoder and a sensor at its tip."""
    m = da.Mechanism("flexible pendulum", planar=planar)
    stiffness = m.parameter("stiffness", 1.0)
    rod = m.add_flexible_body("rod", strip(planar, **options), stiffness=stiffness, cutoff_hz=cutoff_hz)
    if planar:
        m.add_revolute("A", m.ground.at(0, 0), rod.at("root"))
    else:
        m.add_revolute("A", m.ground.frame(0, 0, 0, axis=(0, 1, 0)), rod.frame("root", axis=(0, 1, 0)))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    m.add_sensor("accelerometer", da.accelerometer(rod.at("tip")))
    m.add_sensor("tip", da.deflection(rod.at("tip")))
    return m


@pytest.fixture(scope="module")
def eqs():
    return da.equations(pendulum())


@pytest.fixture(scope="module")
def run(eqs):
    inputs = {"torque": lambda t: 0.05 * da.sin(6 * t)}
    return da.simulate(eqs, 1.0, start=da.assemble(eqs), inputs=inputs, every=0.002, progress=False)


@pytest.mark.parametrize("planar", few([True, False]))
def test_a_hanging_flexible_pendulum_rests_straight_and_swings_at_the_frequencies_of_its_beam(planar):
    """Modes of a pinned-free beam: tan βL = tanh βL, βL = 3.9266; gravity adds less than 1 % to it here.

    Three clamped modes hold the first pinned one to about 0.5 %.
    """
    eqs = da.equations(pendulum(planar, modes=6))
    rest = da.equilibrium(eqs)
    assert abs(rest["rod.mode1"]) < 1e-9
    steel = da.structures.material("steel")
    wave = np.sqrt(steel.E * HEIGHT**2 / (12 * steel.density)) * (3.926602 / LENGTH) ** 2
    found = da.linearize(eqs, at=rest).modes().frequencies
    bending = found[np.argmin(np.abs(found - wave))]
    assert bending == pytest.approx(wave, rel=0.012)
    assert np.min(found) == pytest.approx(np.sqrt(1.5 * 9.81 / LENGTH), rel=0.01)  # a rigid rod, nearly


def test_inverse_dynamics_of_a_recorded_motion_gives_its_torque_back(eqs, run):
    found = da.inverse_dynamics(eqs, run)
    assert found["torque"] == pytest.approx(run["torque"], abs=1e-9)


def test_prescribed_joints_alone_do_not_decide_elastic_coordinates(eqs):
    with pytest.raises(da.errors.ModelError) as caught:
        da.inverse_dynamics(eqs, {"A.angle": lambda t: 0.1 * t}, times=np.linspace(0, 1, 5))
    assert caught.value.code == "free-to-move"
    assert any("simulate" in str(part) for part in caught.value.advice)


def kalman():
    """An encoder of 1e-4 rad and an accelerometer of 0.1 m/s² at the tip; modes that a sample of 2 ms cannot follow
    are quasi-static."""
    eqs = da.equations(pendulum(cutoff_hz=40.0))
    return da.estimate.ExtendedKalman(eqs, outputs=["encoder", "accelerometer.y"], Q=1e-3, R=[1e-8, 1e-2], dt=0.002)


def test_a_filter_follows_the_elastic_motion_from_encoder_and_accelerometer(run):
    """The run has all modes, the filter those below 40 Hz: a twentieth of the deflection is what the others move."""
    found = kalman().run(run, P0=1e-4)
    late = np.asarray(run.time) > 0.3
    error = found.record["rod.mode1"][late] - run["rod.mode1"][late]
    assert np.sqrt(np.mean(error**2)) < 0.05 * np.sqrt(np.mean(run["rod.mode1"][late] ** 2))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.slow
def test_the_filter_of_a_flexible_machine_becomes_c(run, tmp_path):
    da.export_c(kalman(), tmp_path, example=run)
    flags = "CFLAGS=-std=c99 -O1 -Wall -Wextra -Werror"  # newer compilers refuse what older ones warn of
    done = subprocess.run(["make", "-C", str(tmp_path), "test", flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_stiffness_factor_is_a_parameter_of_runs(eqs):
    soft = da.equations(pendulum())
    tips = [
        np.abs(da.simulate(one, 0.3, start=da.assemble(one), every=0.01, progress=False)["tip.y"]).max()
        for one in (soft, soft.replace(stiffness=4.0))
    ]
    assert tips[1] < 0.5 * tips[0]


def test_runs_and_equations_are_kept_in_files_and_pickles(eqs, run, tmp_path):
    da.write_record(run, tmp_path / "run.nc")
    again = da.read_record(tmp_path / "run.nc")
    assert np.array_equal(again["rod.mode1"], run["rod.mode1"])
    copy = pickle.loads(pickle.dumps(eqs))  # noqa: S301 (made here)
    start = da.assemble(copy)
    repeated = da.simulate(copy, 0.01, start=start, every=0.01, progress=False)
    assert np.isfinite(repeated["rod.mode1"]).all()


@pytest.mark.parametrize(
    "method",
    [da.GeneralizedAlpha(step=2e-4), da.Rosenbrock(), da.RK4(step=2e-5), da.Sundials()],
    ids=lambda m: type(m).__name__,
)
def test_methods_agree_on_a_flexible_machine(eqs, method):
    """Generalized-alpha is of second order: 1e-5 of an angle of order one at this step; the others are far closer."""
    exact = da.simulate(eqs, 0.2, start=da.assemble(eqs), every=0.1, progress=False)
    found = da.simulate(eqs, 0.2, start=da.assemble(eqs), method=method, every=0.1, progress=False)
    assert found["A.angle"] == pytest.approx(exact["A.angle"], abs=1e-5)
    assert found["tip.y"] == pytest.approx(exact["tip.y"], abs=1e-5)


@pytest.mark.spec("001-C12", "001-C14")
def test_bodies_of_one_data_pass_force_and_torque_through_their_nodes():
    """Two strips in a row, welded and clamped: the weld carries one weight, the clamp both, with their lever arms.

    Positions of the weights move by the deflection, 1e-3 of the length here: the torque is compared to 1 %.
    """
    data = strip(modes=6, static="tip.y", damping=None)
    m = da.Mechanism("row", planar=True)
    inner = m.add_flexible_body("inner", data, position=(0, 0))
    outer = m.add_flexible_body("outer", data, position=(LENGTH, 0), stiffness=100.0)
    m.add_fixed("clamp", m.ground.at(0, 0), inner.at("root"))
    m.add_fixed("weld", inner.at("tip"), outer.at("root"))
    m.add_sensor("at clamp", da.reaction("clamp"))
    m.add_sensor("at weld", da.reaction("weld"))
    eqs = da.equations(m)
    rest = da.equilibrium(eqs)
    zero, none = np.zeros(eqs.nv), np.zeros(0)
    found = np.array(eqs.functions["outputs"](rest.q, zero, zero, rest.lam, none, none, eqs.p, 0.0)).ravel()
    reactions = dict(zip(eqs.outputs.names, found, strict=True))
    weight = data.mass * 9.81
    assert reactions["at weld.force.y"] == pytest.approx(weight, rel=1e-9)
    assert reactions["at clamp.force.y"] == pytest.approx(2 * weight, rel=1e-9)
    assert reactions["at weld.torque.z"] == pytest.approx(weight * LENGTH / 2, rel=1e-2)
    assert reactions["at clamp.torque.z"] == pytest.approx(2 * weight * LENGTH, rel=1e-2)
    assert abs(rest["outer.mode1"]) < 0.02 * abs(rest["inner.mode1"])


@pytest.mark.filterwarnings("ignore::dalembert.core.errors.SimulationWarning")  # of the missing geometric stiffness
@pytest.mark.slow
def test_a_closed_loop_of_twenty_beams_whips_with_steps_of_a_millisecond():
    """Its speeds change by tens of 1/s within a step after 1.3 s: steps whose iteration fails are divided.

    Numerical damping takes energy, and nothing may add any. Joints are closed to rounding at every step.
    """
    eqs = da.equations(zigzag(20))
    method = da.GeneralizedAlpha(step=1e-3, rho=0.8)
    run = da.simulate(eqs, 1.6, start=da.assemble(eqs), method=method, every=0.02, progress=False)
    energy = run["energy.kinetic"] + run["energy.potential"]
    assert run.statistics["steps"] > 1600
    assert energy.max() < energy[0] * (1 + 1e-6)
    assert energy[-1] > 0.5 * energy[0]
    assert run["residual.position"].max() < 1e-9


@pytest.fixture(scope="module")
def loop():
    """Two turns of the crank of a four-bar in space with flexible coupler and rocker, and its equations."""
    eqs = da.equations(spatial_four_bar(3, motion=lambda t: 12.0 * t))
    start = da.assemble(eqs, elastic="static")
    method = da.GeneralizedAlpha(step=2e-4)
    return eqs, da.simulate(eqs, 1.0, start=start, method=method, every=1e-3, progress=False)


@pytest.mark.slow
def test_a_loop_in_space_turns_round_and_bends_by_its_inertia(loop):
    """Twice the modes change the bending by 1 %; energy balances to the second order of the steps."""
    _, run = loop
    assert run["A.angle"][-1] == pytest.approx(12.0, abs=1e-9)
    finer = da.equations(spatial_four_bar(6, motion=lambda t: 12.0 * t))
    start = da.assemble(finer, elastic="static")
    other = da.simulate(finer, 1.0, start=start, method=da.GeneralizedAlpha(step=2e-4), every=1e-3, progress=False)
    largest = np.abs(run["bending.z"]).max()
    assert 2e-4 < largest < 5e-3
    assert run["bending.z"] == pytest.approx(other["bending.z"], abs=0.01 * largest)
    assert np.abs(run["energy.balance"]).max() < 1e-4 * np.ptp(run["energy"])


def test_a_loop_in_space_has_the_same_modes_at_static_rest_by_both_ways():
    eqs = da.equations(spatial_four_bar(3, motion=0.3))
    one, other = da.assemble(eqs, elastic="static"), da.equilibrium(eqs)
    found = [da.linearize(eqs, at=state).modes().frequencies for state in (one, other)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0][0] > 10.0  # nothing swings: the crank is held


@pytest.mark.slow
def test_a_loop_in_space_goes_through_inverse_dynamics_files_pickles_and_pictures(loop, tmp_path):
    """Efforts from the accelerations of the run; the first samples have those of splines at their end."""
    eqs, run = loop
    found = da.inverse_dynamics(eqs, run)
    late = run.time > 0.01
    assert found["motor.effort"][late] == pytest.approx(
        run["motor.effort"][late], abs=0.01 * np.ptp(run["motor.effort"])
    )
    da.write_record(run, tmp_path / "run.nc")
    again = da.read_record(tmp_path / "run.nc")
    assert np.array_equal(again.data, run.data) and again.scene == run.scene
    copy = pickle.loads(pickle.dumps(eqs))  # noqa: S301 (made here)
    short = da.simulate(copy, 0.02, start=da.assemble(copy, elastic="static"), method=da.GeneralizedAlpha(step=2e-4),
                        every=1e-3, progress=False)  # fmt: skip
    assert short["strain"] == pytest.approx(run["strain"][:21], abs=1e-15)
    page = da.animate(again, tmp_path / "page.html", fps=1000, trail=["middle", "coupler.middle", "C"])
    trails = {trail["name"]: trail["points"] for trail in page._data["trails"]}
    assert trails["coupler.middle"] == pytest.approx(trails["middle"], abs=1e-6)


def test_inverse_dynamics_of_a_loop_names_the_bodies_that_follow_from_forces():
    eqs = da.equations(spatial_four_bar(2))
    with pytest.raises(da.errors.ModelError) as caught:
        da.inverse_dynamics(eqs, {"A.angle": lambda t: 12.0 * t}, times=np.linspace(0, 0.1, 5))
    assert caught.value.code == "free-to-move"
    assert "'coupler', 'rocker'" in str(caught.value) and "da.simulate" in str(caught.value)
