"""Spatial slider-crank with Coulomb friction, inverse dynamics (Orsino 2016, example 4.5, with its corrections).

No printed number of the source is readable; values are those of an independent computation, to five decimals.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import scipy.integrate

import dalembert as da
from dalembert.symbolic.modular import Assembly, Leaf, count_freedoms, modular_model, rotation_matrix
from dalembert.symbolic.modular.analysis.kinematics import solve_motion, stabilized_rates
from dalembert.symbolic.modular.analysis.solving import (
    check_forward,
    check_inverse,
    constraint_forces,
    dry_friction,
    inverse_dynamics,
    inverse_law,
    measure_residuals,
)
from dalembert.symbolic.modular.parts import TIME

L1, L2, SHARE, MU = 0.5, np.sqrt(2), np.sqrt(2) / 2, 0.5
I1, I2, M2, M3 = 0.2, 0.1, 0.5, 2.0
VALUES = {0.05: (27.44449, -5.80370, 17.38870), 0.10: (6.93901, -8.00520, 12.92572),
          0.20: (-24.31863, 24.93702, -12.14816), 0.30: (-32.43321, 63.34938, -28.37733),
          0.45: (25.09193, -3.44144, 12.68357)}  # fmt: skip


def slider_crank(*, closed: bool) -> Assembly:
    """Nine velocities with six relations between them; then the guide, or the closed loop at position level."""
    crank, rod, slider = Leaf("1"), Leaf("2"), Leaf("3")
    crank.add_velocity("wx", "rad/s")
    crank.add_force(-I1 * crank.rate("wx"), "wx")
    crank.add_input("torque", "N m", on="wx")
    for name, inertia in (("vx", M2), ("vy", M2), ("vz", M2), ("wy", I2), ("wz", I2)):
        rod.add_velocity(name)
        rod.add_force(-inertia * rod.rate(name), name)
    for axis in "xyz":
        slider.add_velocity(f"v{axis}", "m/s")
        slider.add_force(-M3 * slider.rate(f"v{axis}"), f"v{axis}")
    slider.add_input("friction", "N", on="vx")
    root = Assembly("slider-crank", [crank, rod, slider])
    w, wy, wz = root["1.wx"], root["2.wy"], root["2.wz"]
    chi = root.add_coordinate("chi", "rad", rate=w)
    psi, phi, theta = (root.add_coordinate(name, "rad") for name in ("psi", "phi", "theta"))
    s = root.add_coordinate("s", "m", rate=root["3.vx"])
    c, n = ca.cos, ca.sin
    root.relate(c(phi) * n(theta) * root.rate("psi") + c(theta) * root.rate("phi") - wy, "wy")
    root.relate(c(phi) * c(theta) * root.rate("psi") - n(theta) * root.rate("phi") - wz, "wz")
    root.relate(root.rate("theta") - root.rate("psi") * n(phi), "no spin")
    E = rotation_matrix("zyx", [psi, phi, theta])
    pin = w * ca.vertcat(0, L1 * n(chi), -L1 * c(chi))
    turning = wz * E[:, 1] - wy * E[:, 2]
    for k, axis in enumerate("xyz"):
        root.constrain(root[f"2.v{axis}"] - pin[k] - SHARE * L2 * turning[k], f"rod {axis}")
        root.constrain(root[f"3.v{axis}"] - pin[k] - L2 * turning[k], f"end {axis}")
    if closed:
        root.constrain(L2 * (1 - c(psi) * c(phi)) + s, "close x")
        root.constrain(L1 * (1 - c(chi)) + L2 * c(phi) * n(psi), "close y")
        root.constrain(L1 * n(chi) + L2 * n(phi), "close z")
    else:
        root.constrain(root["3.vy"], "guide y")
        root.constrain(root["3.vz"], "guide z")
    root.place({"chi": 0.9, "psi": -0.15, "phi": -0.28, "theta": 0.0, "s": -0.07})
    return root


def stroke(t: float) -> tuple[float, float, float]:
    a, w = -(1 - SHARE) * L2 / 10, 4 * np.pi  # 8 sin²(2πt) = 4 (1 - cos 4πt)
    return a * (5 - 4 * np.cos(w * t)), a * 4 * w * np.sin(w * t), a * 4 * w**2 * np.cos(w * t)


@pytest.fixture(scope="module")
def closed() -> Any:
    return modular_model(slider_crank(closed=True))


@pytest.fixture(scope="module")
def guided() -> Any:
    return modular_model(slider_crank(closed=False))


def motion_at(closed: Any, t: float) -> dict[str, float]:
    s = stroke(t)[0]
    chi = 0.693338 + (2.551489 - 0.693338) * (s + 0.041421) / (0.041421 - 0.372792)
    phi = -np.arcsin(L1 * np.sin(chi) / L2)
    psi = -np.arcsin(L1 * (1 - np.cos(chi)) / (L2 * np.cos(phi)))
    return solve_motion(closed, {"s": stroke(t)}, {"chi": chi, "psi": psi, "phi": phi, "theta": 0.0})


@pytest.mark.spec("002-T16", "002-A11")
def test_complement_with_the_input_and_the_normal_motions_as_independent_variables() -> None:
    root = slider_crank(closed=True)
    root.own.constraints = [one for one in root.own.constraints if not one.name.startswith("close")]
    root.choose("1.wx", "3.vy", "3.vz")
    model = modular_model(root)
    values = {"chi": 0.9, "psi": -0.3, "phi": -0.25, "theta": 0.4, "s": -0.1}
    S = model.complement_at(values)
    E = np.array(ca.DM(rotation_matrix("zyx", [values["psi"], values["phi"], values["theta"]])))
    sx, cx = np.sin(0.9), np.cos(0.9)
    row = np.array([L1 * (sx * E[1, 0] - cx * E[2, 0]), -E[1, 0], -E[2, 0]]) / E[0, 0]
    expected = {
        "2.vx": SHARE * row, "2.vy": [L1 * sx * (1 - SHARE), SHARE, 0], "2.vz": [-L1 * cx * (1 - SHARE), 0, SHARE],
        "2.wy": np.array([-L1 * (cx * E[1, 1] + sx * E[2, 1]), E[2, 1], -E[1, 1]]) / (L2 * E[0, 0]),
        "2.wz": np.array([-L1 * (cx * E[1, 2] + sx * E[2, 2]), E[2, 2], -E[1, 2]]) / (L2 * E[0, 0]), "3.vx": row,
    }  # fmt: skip
    for name, value in expected.items():
        found = S.part([name], ["1.wx", "3.vy", "3.vz"]).entries.ravel()
        np.testing.assert_allclose(found, value, rtol=0, atol=1e-12)


@pytest.mark.spec("002-T16", "002-A17")
def test_motion_of_the_crank_and_counts(closed: Any, guided: Any) -> None:
    assert count_freedoms(4, {1: 2, 3: 2}) == 2  # one of them is the idle spin of the rod
    assert len(guided.motion.labels(1)) == 9
    assert guided.freedoms == 1
    assert motion_at(closed, 0.0)["chi"] == pytest.approx(0.693338, abs=1e-6)
    assert motion_at(closed, 0.25)["chi"] == pytest.approx(2.551489, abs=1e-6)
    speeds = [motion_at(closed, t)["1.wx"] for t in np.arange(0.1, 0.12, 2e-4)]
    assert np.abs(speeds).max() == pytest.approx(10.15158, abs=2e-4)  # peak of a grid of 0.2 ms


def friction_law(closed: Any, guided: Any, t: float, sign: float | None = None) -> dict[str, float]:
    motion = motion_at(closed, t)
    if sign is not None:  # at a reversal: the limit from one side
        motion["3.vx"] = sign * 1e-12
    return dry_friction(guided, "3.friction", ["guide y", "guide z"], "3.vx", MU, motion, inputs=["1.torque"])


@pytest.mark.spec("002-T16", "002-G4", "002-G5")
def test_torque_and_normal_forces_with_friction(closed: Any, guided: Any) -> None:
    """Forces on the slider are those that keep it in its guide."""
    for t, (u, y, z) in VALUES.items():
        found = friction_law(closed, guided, t)
        assert found["1.torque"] == pytest.approx(u, abs=1e-4)
        assert (found["guide y"], found["guide z"]) == pytest.approx((y, z), abs=1e-4)
        motion = motion_at(closed, t)
        limit = MU * np.hypot(found["guide y"], found["guide z"])
        assert found["3.friction"] == pytest.approx(-np.sign(motion["3.vx"]) * limit, rel=1e-9)
        gain = I1 * motion["1.wx"] * motion["1.wx.rate"] + M3 * motion["3.vx"] * motion["3.vx.rate"]
        gain += sum(M2 * motion[f"2.v{k}"] * motion[f"2.v{k}.rate"] for k in "xyz")
        gain += sum(I2 * motion[f"2.w{k}"] * motion[f"2.w{k}.rate"] for k in "yz")
        power = found["1.torque"] * motion["1.wx"] + found["3.friction"] * motion["3.vx"]
        assert power == pytest.approx(gain, abs=1e-8)


@pytest.mark.spec("002-T16", "002-G5")
def test_torque_jumps_where_the_slider_reverses(closed: Any, guided: Any) -> None:
    expected = {0.25: ((-49.285, 33.685, -15.482), (-58.418, 93.788, -33.749))}
    for t, (before, after) in expected.items():
        for sign, values in ((-1.0, before), (1.0, after)):
            found = friction_law(closed, guided, t, sign)
            assert (found["1.torque"], found["guide y"], found["guide z"]) == pytest.approx(values, abs=6e-4)
    torques = [friction_law(closed, guided, 0.5, sign)["1.torque"] for sign in (1.0, -1.0)]
    assert torques == pytest.approx([56.693, 57.811], abs=6e-4)


@pytest.mark.spec("002-G4")
def test_inverse_law_in_symbols_agrees_with_numbers(closed: Any) -> None:
    root = slider_crank(closed=True)
    root.choose("1.wx")
    model = modular_model(root)
    law = inverse_law(model, ["1.torque"])
    motion = motion_at(closed, 0.13)
    function = model.motion.function([law["1.torque"]], 2)
    found = float(function(*model.motion.point(motion, 2)))
    assert found == pytest.approx(inverse_dynamics(model, ["1.torque"], motion)["1.torque"], rel=1e-9)


@pytest.mark.spec("002-G4", "002-G3")
def test_more_inputs_than_freedoms_have_a_smallest_solution(closed: Any) -> None:
    motion = motion_at(closed, 0.13)
    assert not check_inverse(closed, ["1.torque", "3.friction"], motion).is_solvable
    assert check_inverse(closed, ["1.torque"], motion).is_solvable
    both = inverse_dynamics(closed, ["1.torque", "3.friction"], motion)
    alone = inverse_dynamics(closed, ["1.torque"], motion)["1.torque"]
    ratio = motion["3.vx"] / motion["1.wx"]  # power of both is that of the one
    assert both["1.torque"] + ratio * both["3.friction"] == pytest.approx(alone, rel=1e-9)
    assert both["3.friction"] == pytest.approx(ratio * both["1.torque"], rel=1e-9)  # smallest
    heavy = inverse_dynamics(closed, ["1.torque", "3.friction"], motion, weights={"3.friction": 1e4})
    assert heavy["1.torque"] == pytest.approx(alone, rel=1e-6)


@pytest.mark.spec("002-G5")
def test_constraint_forces_are_the_missing_part_of_newtons_law(closed: Any, guided: Any) -> None:
    motion = motion_at(closed, 0.1)
    torque = inverse_dynamics(guided, ["1.torque"], motion)
    found = constraint_forces(guided, ["guide y", "guide z", "end x"], {**motion, **torque})
    assert found["end x"] == pytest.approx(M3 * motion["3.vx.rate"], abs=1e-9)  # pushes the slider along its guide
    with pytest.raises(da.errors.ModelError) as caught:  # position rows hold what the ends of the rod hold
        constraint_forces(closed, ["end x"], {**motion, **torque})
    assert caught.value.code == "not-unique"


@pytest.mark.spec("002-G5")
def test_friction_that_jams_is_an_error(closed: Any, guided: Any) -> None:
    motion = motion_at(closed, 0.3)
    with pytest.raises(da.errors.ConvergenceError) as caught:
        dry_friction(guided, "3.friction", ["guide y", "guide z"], "3.vx", 30.0, motion, inputs=["1.torque"])
    assert caught.value.code == "friction-unsettled"


@pytest.mark.spec("002-G1", "002-G2")
def test_conditions_of_forward_dynamics(closed: Any) -> None:
    motion = motion_at(closed, 0.1)
    state = {key: value for key, value in motion.items() if key in closed.motion.labels(0) + closed.motion.labels(1)}
    assert check_forward(closed, state).is_solvable
    report = check_forward(closed, {**state, "s": state["s"] + 1e-3})
    assert [one.code for one in report.findings] == ["joint-open"]
    assert report.findings[0].where["row"] == "close x"
    residuals = measure_residuals(closed, [state], [0.0])
    assert max(residuals.constraints) < 1e-10
    assert residuals.combined < 1e-10


@pytest.mark.spec("002-G6", "002-T16")
def test_stabilized_kinematics_follow_the_stroke_and_forget_errors(closed: Any) -> None:
    """Half a period; an initial error of 1e-3 decays with exp(-b t): b = 20 leaves 1e-3 exp(-10)·(1 + 10) = 5e-7."""
    a, w = -(1 - SHARE) * L2 / 10, 4 * np.pi
    s = a * (5 - 4 * ca.cos(w * TIME))
    start = motion_at(closed, 0.0)
    labels = closed.motion.labels(0), closed.motion.labels(1)
    n = len(labels[0])
    ends = {}
    for gain in (20.0, 1e-9):
        rates = stabilized_rates(closed, {"s": s}, (1.0, gain, gain))

        def slope(t: float, x: Any, rates: Any = rates) -> Any:
            q, v = rates(t, x[:n], x[n:], [])
            return np.concatenate([np.array(q).ravel(), np.array(v).ravel()])

        x0 = np.array([start[name] for group in labels for name in group])
        x0[labels[0].index("chi")] += 1e-3
        found = scipy.integrate.solve_ivp(slope, (0, 0.5), x0, rtol=1e-10, atol=1e-12)
        ends[gain] = found.y[labels[0].index("chi"), -1] - start["chi"]
    assert abs(ends[20.0]) < 1e-6
    assert abs(ends[1e-9]) > 1e-4
