"""Orientations of bodies in space: prescribed in motions, drivers and assemblies, and read out."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert.files.models import read_model, write_model
from tests.helpers.findings import raises

TIMES = np.linspace(0, 2, 21)
INERTIA = (0.2, 0.3, 0.45)


def turn(t):
    """A rotation vector that passes through zero at t = 1 and reaches beyond π at the end."""
    return (3.5 * (t - 1), 0.4 * da.sin(t - 1), 0.2 * (t - 1) ** 2)


def plate(motion=None) -> da.Mechanism:
    m = da.Mechanism("plate", gravity=0)
    body = m.add_body("plate", mass=2.0, inertia=INERTIA, position=(0, 0, 0))
    m.add_sensor("turn", da.orientation(body))
    m.add_sensor("attitude", da.orientation(body, "tait-bryan"))
    if motion is not None:
        m.add_driver("pose", "plate.pose", motion)
    else:
        for axis in "xyz":
            direction = tuple(float(axis == other) for other in "xyz")
            m.add_force(f"F{axis}", body, direction, input=f"f{axis}")
            m.add_torque(f"T{axis}", body, direction, input=f"t{axis}", axes="body")
    return m


@cache
def equations() -> da.EquationsOfMotion:
    return da.equations(plate())


def exact(times: np.ndarray) -> np.ndarray:
    return da.rotation(vector=np.column_stack(np.broadcast_arrays(*turn(times)))).matrix


def matrices(run: da.Record) -> np.ndarray:
    return da.rotation(quaternion=run[[f"plate.e{k}" for k in range(4)]]).matrix


@cache
def prescribed() -> da.Record:
    return da.kinematics(equations(), TIMES, motion={"plate.pose": lambda t: (t, 0, t**2, *turn(t))})


def test_a_pose_is_prescribed_in_one_line_and_read_out():
    run = prescribed()
    assert np.abs(matrices(run) - exact(TIMES)).max() < 1e-12
    assert run["plate.z"] == pytest.approx(TIMES**2, abs=1e-12)
    vector = run[["turn.rx", "turn.ry", "turn.rz"]]
    assert da.rotation(vector=vector).matrix == pytest.approx(exact(TIMES), abs=1e-12)
    back = da.kinematics(equations(), motion=run)
    for name in ("plate.alphax", "plate.wy", "plate.e2", "plate.az"):
        assert back[name] == pytest.approx(run[name], abs=1e-11)


def test_rates_of_a_prescribed_orientation_are_exact():
    """ω̃ = Rᵀ Ṙ by central differences of the closed form, 1e-5 apart: 1e-9 of truncation and rounding."""
    run, h = prescribed(), 1e-5
    R = exact(TIMES)
    slope = (exact(TIMES + h) - exact(TIMES - h)) / (2 * h)
    spin = np.swapaxes(R, 1, 2) @ slope
    omega = np.stack((spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]), axis=1)
    assert run[["plate.wx", "plate.wy", "plate.wz"]] == pytest.approx(omega, abs=1e-8)
    fine = da.kinematics(
        equations(), np.array([0.3 - h, 0.3, 0.3 + h]), motion={"plate.pose": lambda t: (t, 0, 0, *turn(t))}
    )
    for axis in "xyz":
        slope = (fine[f"plate.w{axis}"][2] - fine[f"plate.w{axis}"][0]) / (2 * h)
        assert fine[f"plate.alpha{axis}"][1] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize(
    "motion",
    [
        {"plate.rotation": turn},
        {"plate.rotation": lambda t: da.rotation(vector=turn(t))},
        {"plate.rx": lambda t: turn(t)[0], "plate.ry": lambda t: turn(t)[1], "plate.rz": lambda t: turn(t)[2]},
        {"plate.rotation": lambda t: [2 * c for c in da.rotation(vector=turn(t)).quaternion]},
    ],
)
def test_a_rotation_vector_a_quaternion_and_three_components_are_the_same(motion):
    place = {f"plate.{axis}": 0.0 for axis in "xyz"}
    run = da.kinematics(equations(), TIMES[::5], motion={**motion, **place})
    assert np.abs(matrices(run) - exact(TIMES[::5])).max() < 1e-12


@pytest.mark.parametrize("form", ["quaternion", "rotation vector", "tait-bryan"])
def test_a_record_prescribes_an_orientation_whatever_its_sign(form):
    """Quaternions whose sign jumps, rotation vectors that jump from π to -π, angles that jump by a turn."""
    times = np.linspace(0, 2, 101)
    R = da.rotation(vector=np.column_stack(np.broadcast_arrays(*turn(times))))
    p = np.column_stack(np.broadcast_arrays(*R.quaternion))
    short = da.rotation(quaternion=p * np.where(p[:, :1] < 0, -1, 1))
    names = {"quaternion": [f"plate.e{k}" for k in range(4)], "rotation vector": ["plate.rx", "plate.ry", "plate.rz"],
             "tait-bryan": ["plate.roll", "plate.pitch", "plate.yaw"]}[form]  # fmt: skip
    values = {"quaternion": p * (-1.0) ** np.arange(101)[:, None], "rotation vector": short.vector,
              "tait-bryan": short.tait_bryan}[form]  # fmt: skip
    place = np.zeros((101, 3))
    record = da.Record(times, np.hstack((place, values)), ["plate.x", "plate.y", "plate.z", *names])
    run = da.kinematics(equations(), motion=record)
    assert np.abs(matrices(run) - exact(times)).max() < 1e-12
    reference = da.kinematics(equations(), times, motion={"plate.pose": lambda t: (0, 0, 0, *turn(t))})
    for axis in "xyz":  # splines of degree five over 20 ms, motion within 0.3 s: (0.02 / 0.3)⁴ of 10 rad/s², ends worse
        assert run[f"plate.alpha{axis}"] == pytest.approx(reference[f"plate.alpha{axis}"], abs=1e-2)
    between = da.kinematics(equations(), [0.0, 0.51, 1.27], motion=record)  # times of its own
    assert np.abs(matrices(between) - exact(between.time)).max() < 1e-7


def test_between_the_samples_of_a_record_rates_are_derivatives_and_errors_fall_with_the_sampling():
    """Quintics through values and two derivatives: errors of the orientation fall as h⁶, to 1/64 with half of it."""
    errors, e = [], 1e-4
    for h in (0.2, 0.1):
        times = np.arange(0, 2 + h / 2, h)
        record = da.kinematics(equations(), times, motion={"plate.pose": lambda t: (t, 0, 0, *turn(t))})
        middle = times[:-1] + 0.4 * h
        errors.append(np.abs(matrices(da.kinematics(equations(), middle, motion=record)) - exact(middle)).max())
        run = da.kinematics(equations(), np.add.outer(middle, (-e, 0, e)).ravel(), motion=record)
        for axis in "xyz":
            before, _, after = run[f"plate.w{axis}"].reshape(-1, 3).T
            # truncation: e² times the third derivative, some 1e2 rad/s⁴, over 6
            assert run[f"plate.alpha{axis}"][1::3] == pytest.approx((after - before) / (2 * e), abs=1e-6)
    assert errors[1] < errors[0] / 40


def test_inverse_dynamics_of_a_prescribed_pose_balances_its_power():
    """Euler's equations; what forces and torques put in is the gain in kinetic energy."""
    run = da.inverse_dynamics(equations(), {"plate.pose": lambda t: (t, 0, t**2, *turn(t))}, times=TIMES)
    omega, alpha = (run[[f"plate.{k}{axis}" for axis in "xyz"]] for k in ("w", "alpha"))
    torque = alpha * INERTIA + np.cross(omega, omega * np.array(INERTIA))
    assert run[["tx", "ty", "tz"]] == pytest.approx(torque, abs=1e-11)
    assert run["fz"] == pytest.approx(4.0, abs=1e-11)
    power = (torque * omega).sum(axis=1) + 4.0 * 2 * TIMES
    rate = (omega * alpha * INERTIA).sum(axis=1) + 2 * 2 * 2 * TIMES
    assert power == pytest.approx(rate, abs=1e-10)
    again = da.inverse_dynamics(equations(), run)  # the run carries poses, speeds and accelerations
    assert again["tx"] == pytest.approx(run["tx"], abs=1e-10)


def test_a_driver_prescribes_a_pose_in_a_simulation_and_in_a_file(tmp_path):
    m = plate(lambda t: (t, 0, t**2, da.rotation(vector=turn(t))))
    run = da.simulate(da.equations(m), 2.0, every=0.5)
    assert np.abs(matrices(run) - exact(run.time)).max() < 1e-9  # drift of the run, projected
    assert run["pose.effort.3"] == pytest.approx(
        run["plate.alphax"] * INERTIA[0] + (INERTIA[2] - INERTIA[1]) * run["plate.wy"] * run["plate.wz"], abs=1e-6
    )
    (tmp_path / "plate.toml").write_text(
        'name = "plate"\n[bodies.plate]\nmass = 1\ninertia = 0.1\nposition = [0, 0, 0]\n'
        '[drivers.pose]\ncoordinate = "plate.pose"\nmotion = ["t", 0, 0, 0, 0, "2*t"]\n'
        '[sensors.turn]\ntype = "orientation"\nbody = "plate"\nform = "tait-bryan"\n'
    )
    m = read_model(tmp_path / "plate.toml")
    write_model(m, tmp_path / "again.toml")
    run = da.kinematics(da.equations(read_model(tmp_path / "again.toml")), [0.0, 0.5])
    assert (run["turn.yaw"][1], run["plate.x"][1]) == pytest.approx((1.0, 0.5), abs=1e-12)


def test_three_drivers_prescribe_the_components_of_a_rotation_vector():
    """Beyond half a turn too, with the efforts of one driver of the orientation."""
    together, apart = plate(lambda t: (0, 0, 0, *turn(t))), plate()
    for k, axis in enumerate("xyz"):
        apart.add_driver(f"place {axis}", f"plate.{axis}", 0.0)
        apart.add_driver(f"turn {axis}", f"plate.r{axis}", lambda t, k=k: turn(t)[k])
    one, several = (da.simulate(da.equations(m), 2.0, every=0.5) for m in (together, apart))
    assert np.abs(matrices(several) - exact(several.time)).max() < 1e-9
    assert max(np.linalg.norm(turn(t)) for t in (1.0, 2.0)) > np.pi
    for k, axis in enumerate("xyz"):
        assert several[f"turn {axis}.effort"] == pytest.approx(one[f"pose.effort.{3 + k}"], abs=1e-8)


def test_mistakes_of_drivers_of_an_orientation_are_named():
    for names, code, shown in (
        (["plate.rx", "plate.ry"], "incomplete-orientation", "plate.rx, plate.ry"),
        (["plate.rx", "plate.ry", "plate.rz", "plate.pose"], "duplicate", "plate.pose and plate.rx"),
    ):
        m = plate()
        for k, name in enumerate(names):
            m.add_driver(f"D{k}", name, (0,) * 6 if name.endswith("pose") else 0.1)
        with raises(da.errors.ModelError, code, shown):
            da.equations(m)
    run = prescribed()
    for record, coordinate, *found in (
        (run, "other.pose", "unknown-name", "'other'"),
        (run, "plate.xx", "unknown-name", "'plate.xx'", "'plate.x'"),
        (da.Record(run.time[:4], run.data[:4], run.names), "plate.pose", "too-few-samples", "6", "1000", "4"),
    ):
        with raises(da.errors.ModelError, *found):
            plate().add_driver("D", coordinate, record)


@pytest.mark.slow
def test_a_record_drives_a_pose_as_the_function_it_was_sampled_from():
    """Splines of degree five through samples of 5 ms: errors of (h ω)⁴, some 1e-9 of the accelerations."""

    def pose(t):
        return (t, 0, t**2, *turn(t))

    times = np.linspace(0, 2, 401)
    record = da.inverse_dynamics(equations(), {"plate.pose": pose}, times=times)
    efforts = []
    for motion in (pose, record):
        m = plate()
        m.add_driver("D", "plate.pose", motion)
        eqs = da.equations(m)
        efforts.append(da.inverse_dynamics(eqs, {}, times=np.linspace(0.1, 1.9, 37)))
    for name in ("plate.x", "plate.z", *(f"plate.{c}" for c in ("e0", "e1", "wx", "wy", "wz", "alphax", "alphaz"))):
        assert efforts[1][name] == pytest.approx(efforts[0][name], abs=1e-8)
    for k in range(6):
        assert efforts[1][f"D.effort.{k}"] == pytest.approx(efforts[0][f"D.effort.{k}"], abs=1e-8)
    assert np.abs(efforts[0]["D.effort.3"]).max() > 0.01
    assert np.abs(efforts[0]["plate.wx"]).max() > 0.1
    after = da.kinematics(eqs, times=[2.0, 2.5, 3.0])
    assert after["plate.z"] == pytest.approx([4.0, 4.0, 4.0], abs=1e-9)  # held after its end


def test_inverse_dynamics_of_recorded_poses_takes_either_sign_of_a_quaternion():
    run = da.inverse_dynamics(
        equations(), {"plate.pose": lambda t: (t, 0, t**2, *turn(t))}, times=np.linspace(0, 2, 401)
    )
    names = [f"plate.{c}" for c in ("x", "y", "z", "e0", "e1", "e2", "e3")]
    poses = run[names] * np.where((run["plate.e0"] < 0)[:, None] & (np.arange(7) > 2), -1, 1)
    assert np.abs(np.diff(poses, axis=0)).max() > 0.1  # they do jump
    back = da.inverse_dynamics(equations(), da.Record(run.time, poses, names))
    for name in ("tx", "ty", "tz"):  # splines of degree five over 5 ms: (0.005 / 0.3)⁴ of 10 N m, ends worse
        assert back[name][5:-5] == pytest.approx(run[name][5:-5], abs=1e-6)


def test_an_assembly_takes_an_orientation():
    upright = da.rotation(tait_bryan=(0.2, -0.3, 2.9))
    state = da.assemble(equations(), {"plate.pose": (1, 2, 3, upright)})
    assert state["plate.y"] == 2.0
    found = da.rotation(quaternion=[state[f"plate.e{k}"] for k in range(4)])
    assert found.matrix == pytest.approx(upright.matrix, abs=1e-12)


@pytest.mark.parametrize(
    ("motion", "code", "shown"),
    [
        ({"plate.rx": 0.1}, "incomplete-orientation", "plate.rx"),
        ({"plate.rotation": (1, 2)}, "wrong-type", "(1, 2)"),
        ({"plate.pose": (0, 0, 0, 0, 0, 0), "plate.x": 0.0}, "duplicate", "'plate.x'"),
        ({"plate.pose": lambda t: t}, "wrong-type", "plate.pose"),
        ({"plate.x": lambda t: da.rotation(vector=(t, 0, 0))}, "wrong-type", "plate.x"),
    ],
)
def test_mistakes_are_named(motion, code, shown):
    with raises(da.errors.ModelError, code, shown):
        da.kinematics(equations(), [0.0, 0.1], motion=motion)


# --- the platform of the library --------------------------------------------------------------------------------------

PAIRS = ((-10, -50), (10, 50), (110, 70), (130, 170), (230, 190), (250, 290))


@cache
def stewart() -> da.EquationsOfMotion:
    return da.equations(read_model("stewart")).replace(stiffness=0.0, load=0.0)


def platform_pose(t):
    return (0.05 * da.sin(3 * t), 0.02 * t, 1 + 0.1 * t**2, 0.3 * da.sin(2 * t), 0.2 * t, -0.25 * da.sin(t))


def leg_lengths(t: np.ndarray) -> np.ndarray:
    x, y, z, *vector = np.broadcast_arrays(*platform_pose(t))
    R = da.rotation(vector=np.column_stack(vector)).matrix
    lengths = []
    for foot, head in np.radians(PAIRS):
        top = 0.6 * np.array([np.cos(head), np.sin(head), 0])
        lengths.append(np.linalg.norm(np.column_stack((x, y, z)) + R @ top - [np.cos(foot), np.sin(foot), 0], axis=1))
    return np.array(lengths)


@pytest.mark.slow
def test_the_legs_of_a_stewart_platform_have_the_lengths_of_the_closed_form():
    m = read_model("stewart")
    run = da.inverse_dynamics(stewart(), {"platform.pose": platform_pose}, times=np.linspace(0, 1, 11))
    strokes = np.array([run[f"leg{k}.stroke.displacement"] for k in range(1, 7)])
    foot, head = np.radians((10, 50))
    drawn = np.linalg.norm([0.6 * np.cos(head) - np.cos(foot), 0.6 * np.sin(head) - np.sin(foot), 1])
    assert np.abs(strokes - (leg_lengths(run.time) - drawn)).max() < 1e-10
    assert run.statistics["determination"] == "determined"
    power = sum(run[f"leg{k}.force"] * run[f"leg{k}.stroke.speed"] for k in range(1, 7))
    gain = np.zeros(len(run))
    for body in m.bodies:  # m v · (a - g) + ω · I α
        v, a, w, alpha = (run[[f"{body.name}.{k}{axis}" for axis in "xyz"]] for k in ("v", "a", "w", "alpha"))
        inertia = np.array([[float(c) for c in row] for row in body.inertia])
        gain += float(body.mass) * ((v * a).sum(axis=1) + 9.81 * v[:, 2]) + (w * (alpha @ inertia)).sum(axis=1)
    assert power == pytest.approx(gain, abs=1e-8)  # of 200 W
