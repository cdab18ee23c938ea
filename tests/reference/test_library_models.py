"""Every machine of the library is read, assembled and simulated, and does what theory says it does."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import State
from dalembert.files.models import library_path, list_models, read_model
from tests.helpers.checks import matched
from tests.helpers.findings import raises
from tests.helpers.repetitions import few

# building their step takes seconds
LONG = ("bicycle", "elastic-slider-crank", "stewart", "six-joint-arm", "seven-joint-arm", "scara", "two-link-plates")
NO_REST = {"scara": da.errors.ConvergenceError, "whitworth": da.errors.ModelError}  # a loose quill, a driver that moves
SEARCHED = ("bicycle", "rolling-disc", "seven-joint-arm")  # their search for rest takes seconds
# the rods of the arm have no geometric stiffness, as published: a hundredth of their buckling load is reported
PUBLISHED = {"tudor": pytest.mark.filterwarnings("ignore:.*buckling load")}
NAMES = [
    pytest.param(name, marks=pytest.mark.slow if name in LONG else PUBLISHED.get(name, ())) for name in list_models()
]


@cache
def machine(name: str) -> tuple[da.Mechanism, da.EquationsOfMotion, State]:
    m = read_model(name)
    eqs = da.equations(m)
    return m, eqs, da.assemble(eqs, **m.start)


@cache
def run_of(name: str) -> da.Record:
    m, eqs, start = machine(name)
    return da.simulate(eqs, start=start, **{"until": 1.0, **m.simulation})  # a robot file has no time


def test_the_library_has_the_machines_it_promises() -> None:
    promised = {"pendulum", "double-pendulum", "spherical-pendulum", "cart-pendulum", "four-bar", "slider-crank"}
    promised |= {"whitworth", "three-rrr", "five-bar", "stewart", "excavator", "top", "rolling-disc", "bicycle"}
    promised |= {"quarter-car", "scara", "six-joint-arm", "seven-joint-arm", "building-pendulum"}
    assert promised <= set(list_models())


@pytest.mark.parametrize("name", list_models())
def test_every_library_file_says_what_it_is(name: str) -> None:
    file = library_path(name)
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".toml":
        assert text.startswith("# ") and 'description = "' in text and "[simulate]" in text
    else:
        assert "<!-- " in text.splitlines()[1]
    assert read_model(name).name == name


@pytest.mark.parametrize("name", NAMES)
def test_every_library_machine_runs_with_its_energy_accounted_for_and_its_joints_closed(name: str) -> None:
    """The balance is energy minus work of the forces: local errors of 1e-8 or less over at most 10⁴ steps."""
    run = run_of(name)
    scale = max(1.0, float(np.abs(run["energy.kinetic"]).max()), float(np.abs(run["energy.potential"]).max()))
    assert np.abs(run["energy.balance"]).max() < 1e-8 * scale
    assert run["residual.position"].max() < 1e-10
    assert run.status == "complete"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SEARCHED else PUBLISHED.get(name, ()))
        for name in list_models()
    ],
)
def test_every_library_machine_rests_in_one_pose_in_both_coordinates_or_cannot(name: str) -> None:
    """Accelerations below 1e-9 of g, or of g over a lever of 1 m; a road that begins to move has that of its driver."""
    m, poses = read_model(name), []
    for kind in ("absolute", "joint"):
        eqs = da.equations(m, coordinates=kind)
        if name in NO_REST:
            with raises(NO_REST[name], "no-solution"):
                da.equilibrium(eqs)
            continue
        rest = da.equilibrium(eqs)
        left = da.forward_dynamics(eqs, rest)
        driven = ("road",) if name == "quarter-car" else ()
        assert all(abs(left[k]) < 1e-9 * 9.81 for k in eqs.speeds.names if k.split(".")[0].split("_")[0] not in driven)
        if not rest.free:  # else at rest anywhere along them
            poses.append([rest[f"{body.name}.{axis}"] for body in m.bodies for axis in ("xy" if m.planar else "xyz")])
    assert len(poses) != 1
    if poses:
        assert poses[0] == pytest.approx(poses[1], abs=1e-6)  # 1e-9 of the forces, where stiffness is a thousandth


@pytest.mark.parametrize("coordinates", few(["absolute", "joint"]))
@pytest.mark.parametrize("turned", few([0.03, -0.3]))
def test_the_five_bar_rests_where_its_braked_motion_ends(turned: float, coordinates: str) -> None:
    """Its motors brake it. Two rests are stable; a motion reaches the lower one only through the pose with all bars in
    a line, where the joints do not decide: from any other pose it goes round.
    """
    eqs = da.equations(read_model("five-bar"), coordinates=coordinates)
    start = da.assemble(eqs, {"left.shoulder": 2 * np.pi / 3 + turned, "right.shoulder": np.pi / 3})
    rest = da.equilibrium(eqs, start=start)
    run = da.simulate(eqs, 12.0, start=start, every=1.0)
    for name in ("left.shoulder.angle", "right.shoulder.angle"):
        assert rest[name] == pytest.approx(run[name][-1], abs=0.03)  # slowest mode: a factor of 4.6 in 5 s
    assert da.equilibrium(eqs)["payload.y"] == pytest.approx(rest["payload.y"], abs=1e-9)


def test_the_pendulum_swings_with_the_period_of_the_elliptic_integral() -> None:
    """From rest at the horizontal: ω² = 3g/2L, period 4 K(1/2)/ω with K(1/2) = 1.8540746773013719 (m = k² = 1/2)."""
    run = run_of("pendulum")
    quarter = 1.8540746773013719 / np.sqrt(1.5 * 9.81)
    angle = np.interp(quarter, run.time, run["hinge.angle"])
    assert angle == pytest.approx(-np.pi / 2, abs=1e-3)  # linear between samples 10 ms apart, near the fastest place
    eqs = machine("pendulum")[1]
    fine = da.simulate(eqs, 4 * quarter, start=machine("pendulum")[2])
    assert fine["hinge.angle"][-1] == pytest.approx(0.0, abs=1e-7)
    assert fine["hinge.rate"][-1] == pytest.approx(0.0, abs=1e-6)


def test_the_conical_pendulum_stays_level() -> None:
    run = run_of("spherical-pendulum")
    rate = np.sqrt(9.81 / np.cos(np.pi / 6))
    azimuth = np.unwrap(np.arctan2(run["bob.y"], run["bob.x"]))
    assert np.abs(run["bob.z"] + np.cos(np.pi / 6)).max() < 1e-7
    assert np.abs(azimuth - rate * run.time).max() < 1e-6


def test_the_pendulum_on_its_cart_has_the_frequency_of_the_closed_form() -> None:
    """Uniform rod of length L: ω² = m g L/2 / (m L²/3 - (m L/2)²/(M + m)), without drag."""
    m = read_model("cart-pendulum")
    eqs = da.equations(m).replace(drag=0.0)
    lin = da.linearize(eqs, da.assemble(eqs, {"hinge.angle": -np.pi / 2, "rail.displacement": 0.0}))
    mass, cart, length = 0.3, 2.0, 0.6
    expected = np.sqrt(mass * 9.81 * length / 2 / (mass * length**2 / 3 - (mass * length / 2) ** 2 / (cart + mass)))
    assert lin.modes().frequencies[-1] == pytest.approx(expected, rel=1e-9)


def test_the_four_bar_is_the_benchmark() -> None:
    """peers.md P9: angle after 10 s, from a quadrature; 1e-9 per step over 24 turns leaves a few 1e-8."""
    run = run_of("four-bar")
    assert run["A.angle"][-1] == pytest.approx(149.5885938333, abs=1e-7)
    assert run["A.rate"][-1] == pytest.approx(17.0683618091, abs=1e-6)


def test_the_slider_of_the_slider_crank_follows_the_law_of_cosines() -> None:
    run = run_of("slider-crank")
    angle = run["A.angle"]
    place = 0.05 * np.cos(angle) + np.sqrt(0.16**2 - (0.05 * np.sin(angle)) ** 2)
    assert np.abs(run["stroke"] - place).max() < 1e-12


def test_whitworth_has_the_published_speeds() -> None:
    """Spec 002-T17; samples every 2 ms miss an extreme of curvature 20 m/s³ by less than 1e-5."""
    run = run_of("whitworth")
    v, w, x = run["slider.vx"], run["rocker.rate"], run["slider.x"]
    assert (v.max(), v.min(), v[0]) == pytest.approx((0.87072, -0.31477, -0.25588), abs=2e-5)
    assert (w.max(), w.min(), w[0]) == pytest.approx((0.50325, -1.40085, 0.46200), abs=2e-5)
    assert (x.min(), x.max()) == pytest.approx((0.339085, 0.922180), abs=2e-6)


def test_the_three_rrr_robot_needs_the_published_torques() -> None:
    """Spec 002-T18, at the start of its motion."""
    eqs = machine("three-rrr")[1]
    motion: dict[str, Any] = {
        "platform.x": lambda t: -da.sin(np.pi * t / 2),
        "platform.y": lambda t: da.sin(np.pi * t / 4),
        "platform.angle": lambda t: np.pi / 6 * da.sin(np.pi * t / 4) ** 4,
    }
    run = da.inverse_dynamics(eqs, motion, times=np.linspace(0, 8, 401))
    torques = [run[f"leg{k}.torque"] for k in (1, 2, 3)]
    assert [u[0] for u in torques] == pytest.approx([1.25633, -0.70375, 1.22812], abs=1e-4)
    assert [u[50] for u in torques] == pytest.approx([-4.1092, 4.7966, -5.0250], abs=1e-4)


def test_the_five_bar_accelerates_as_published() -> None:
    """Spec 002-T6 (trap 16)."""
    m, eqs, start = machine("five-bar")
    found = da.forward_dynamics(eqs, start, inputs=m.simulation["inputs"])
    assert (found["left.upper.rate"], found["right.upper.rate"]) == pytest.approx((27.53525, -23.79436), abs=5e-6)


@pytest.mark.slow
def test_the_stewart_platform_heaves_without_tilting() -> None:
    """Six equal legs of threefold symmetry: what starts level stays level, and turns about the vertical only."""
    run = run_of("stewart")
    for name in ("platform.x", "platform.y", "platform.e1", "platform.e2"):
        assert np.abs(run[name]).max() < 1e-9
    assert np.ptp(run["platform.z"]) > 1e-6


@pytest.mark.slow
def test_six_legs_carry_the_weight_of_the_platform_equally() -> None:
    """Virtual work: Σ f δl = δV; with equal forces 6 f dl/dh = dV/dh, taken from two poses 2 mm apart."""
    m, eqs, _ = machine("stewart")
    eqs = eqs.replace(stiffness=0.0, load=0.0)
    run = da.inverse_dynamics(
        eqs, {f"leg{k}.stroke.displacement": lambda t: 0.0 for k in range(1, 7)}, times=[0.0, 0.1]
    )
    forces = [run[f"leg{k}.force"][0] for k in range(1, 7)]
    assert np.ptp(forces) < 1e-8
    step = 1e-3
    low, high = (da.assemble(eqs, {"platform.z": 1 + h, "platform.x": 0.0, "platform.y": 0.0}) for h in (-step, step))
    stretch = high["leg1.stroke.displacement"] - low["leg1.stroke.displacement"]
    weights = [(float(b.mass), b.name) for b in m.bodies]
    rise = sum(mass * 9.81 * (high[f"{name}.z"] - low[f"{name}.z"]) for mass, name in weights)
    assert forces[0] == pytest.approx(rise / (6 * stretch), rel=1e-5)  # central difference: 1e-6 of the curvature


def test_the_boom_cylinder_of_the_excavator_carries_the_arm() -> None:
    """Held still, the oil's work on a small lift of the boom alone is the gain in potential energy."""
    m, eqs, start = machine("excavator")
    hold = {f"{n}_cylinder.stroke.displacement": 0.0 for n in ("boom", "stick", "bucket")}
    motion = {name: (lambda t, x=start[name]: x + 0 * t) for name in hold}
    run = da.inverse_dynamics(eqs, motion, times=[0.0, 0.1])
    lengths = {name: start[name] for name in hold}
    step = 1e-4
    boom = "boom_cylinder.stroke.displacement"
    low, high = (da.assemble(eqs, {**lengths, boom: lengths[boom] + h}) for h in (-step, step))
    rise = sum(float(b.mass) * 9.81 * (high[f"{b.name}.y"] - low[f"{b.name}.y"]) for b in m.bodies)
    assert run["boom_cylinder.force"][0] == pytest.approx(rise / (2 * step), rel=1e-6)


def test_the_excavator_digs() -> None:
    """Its teeth reach out and down, are drawn in below the ground, and come back up to where they began."""
    run = run_of("excavator")
    x, y = run["teeth.x"], run["teeth.y"]
    deepest = int(np.argmin(y))
    assert y[deepest] < -1.5 and x[deepest] > x[0] + 2.0  # 2 m deep, beyond where they began
    drawn = x[deepest:]
    assert drawn.min() < x[0] - 1.0 and y[deepest + int(np.argmin(drawn))] > -0.5  # towards the machine, and up
    assert np.hypot(x[-1] - x[0], y[-1] - y[0]) < 0.3  # forces without feedback: about there


def test_the_top_is_where_the_published_solution_has_it() -> None:
    """peers.md P7; 150 rad of phase at 1e-9 per step."""
    run = run_of("top")
    place = [run[f"center.{k}"][-1] for k in "xyz"]
    assert place == pytest.approx([0.173343964098, 0.640088592070, -0.748490791134], abs=1e-8)


def test_the_disc_rolls_steadily_in_its_circle() -> None:
    run = run_of("rolling-disc")
    assert np.abs(np.hypot(run["disc.x"], run["disc.y"]) - 1).max() < 1e-7
    assert np.abs(run["disc.z"] - 0.25 * np.sin(1.3)).max() < 1e-8


def test_the_bicycle_has_the_published_eigenvalues() -> None:
    """Meijaard et al. 2007 at 5 m/s."""
    eqs = machine("bicycle")[1]
    steady = da.equilibrium(eqs, rates={"rear": 5.0 / 0.3})
    values = np.linalg.eigvals(da.linearize(eqs, steady, coordinates=["frame.rx", "steer"]).A)
    for published in (-14.0783896927982, -0.775341882195845 + 4.46486771378823j, -0.32286642900409):
        assert np.abs(values - published).min() < 1e-9


def test_the_quarter_car_rests_on_its_springs_and_vibrates_as_two_masses() -> None:
    _, eqs, start = machine("quarter-car")
    found = da.forward_dynamics(eqs, start)
    assert (found["body.vy"], found["wheel.vy"]) == pytest.approx((0, 0), abs=1e-10)
    lin = da.linearize(eqs, start)
    M = np.diag([350.0, 45.0])
    K = np.array([[22e3, -22e3], [-22e3, 22e3 + 190e3]])
    C = 1500.0 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    expected = np.linalg.eigvals(A)
    found = matched(np.linalg.eigvals(lin.state_space().A), expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # over the bump the body never rises as high as the bump lifts the tyre's foot
    run = run_of("quarter-car")
    assert 0.01 < np.ptp(run["body_height.displacement"]) < 2 * 0.08


@pytest.mark.slow
def test_the_scara_keeps_its_momentum_about_the_vertical() -> None:
    """No torque about the first axis, and the spindle's force only holds the weight."""
    m = machine("scara")[0]
    run = run_of("scara")
    total = np.zeros(len(run.time))
    for body in m.bodies:
        x, y, vx, vy, w = (run[f"{body.name}.{k}"] for k in ("x", "y", "vx", "vy", "wz"))
        total += float(body.mass) * (x * vy - y * vx) + float(body.inertia[2][2]) * w
    assert np.abs(total / total[0] - 1).max() < 1e-8
    assert np.abs(run["spindle.displacement"] + 0.05).max() < 1e-8


@pytest.mark.slow
def test_the_arm_needs_the_torque_of_its_weight_at_the_shoulder() -> None:
    """Held in the start pose: torque of joint 2 is minus the moment of all weights beyond it about its axis (y)."""
    m, eqs, start = machine("six-joint-arm")
    motion = {f"q{k}": (lambda t, x=start[f"q{k}.angle"]: x + 0 * t) for k in range(1, 7)}
    run = da.inverse_dynamics(eqs, motion, times=[0.0, 0.1])
    moment = sum(float(b.mass) * 9.81 * start[f"{b.name}.x"] for b in m.bodies[1:])  # turns it down: +y
    assert run["u2"][0] == pytest.approx(-moment, rel=1e-9)


def test_the_building_has_the_frequencies_of_its_matrices() -> None:
    """Floors as a chain of springs; the pendulum couples to the roof: M with bob m l, K with m g l."""
    m, eqs, _ = machine("building-pendulum")
    eqs = eqs.replace(storey_damping=0.0, hinge_damping=0.0)
    lin = da.linearize(eqs, da.assemble(eqs, **m.start))
    mass, k, bob, length = 80e3, 40e6, 8e3, 0.1
    M = np.diag([mass, mass, mass + bob, bob * length**2])
    M[2, 3] = M[3, 2] = bob * length
    K = np.zeros((4, 4))
    K[:3, :3] = k * np.array([[2, -1, 0], [-1, 2, -1], [0, -1, 1]])
    K[3, 3] = bob * 9.81 * length
    expected = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real))
    np.testing.assert_allclose(np.sort(lin.modes().frequencies), expected, rtol=1e-8)
