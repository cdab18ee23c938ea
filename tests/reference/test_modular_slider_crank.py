"""Spatial slider-crank with Coulomb friction, inverse dynamics (Orsino 2016, example 4.5, with its corrections).

No printed number of the source is readable; values are those of an independent computation, to five decimals.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.symbolic.modular import Assembly, Leaf, count_freedoms, modular_model, rotation_matrix

L1, L2, SHARE, MU = 0.5, np.sqrt(2), np.sqrt(2) / 2, 0.5
I1, I2, M2, M3 = 0.2, 0.1, 0.5, 2.0
VALUES = {0.05: (27.44449, -5.80370, 17.38870), 0.10: (6.93901, -8.00520, 12.92572),
          0.20: (-24.31863, 24.93702, -12.14816), 0.30: (-32.43321, 63.34938, -28.37733),
          0.45: (25.09193, -3.44144, 12.68357)}  # fmt: skip


def slider_crank() -> Assembly:
    """Nine velocities with six relations between them; y and z are motions that the guide prevents, with its forces."""
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
    slider.add_input("push", "N", on="vx")
    slider.add_input("normal y", "N", on="vy")
    slider.add_input("normal z", "N", on="vz")
    slider.add_force(slider.add_parameter("friction", 0.0, "N"), "vx")
    root = Assembly("slider-crank", [crank, rod, slider])
    w, wy, wz = root["1.wx"], root["2.wy"], root["2.wz"]
    chi = root.add_coordinate("chi", "rad", rate=w)
    psi, phi, theta = (root.add_coordinate(name, "rad") for name in ("psi", "phi", "theta"))
    s, y, z = (root.add_coordinate(name, "m", rate=root[f"3.v{axis}"]) for name, axis in zip("syz", "xyz", strict=True))
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
    root.constrain(L2 * (1 - c(psi) * c(phi)) + s, "close x")
    root.constrain(L1 * (1 - c(chi)) + L2 * c(phi) * n(psi) - y, "close y")
    root.constrain(L1 * n(chi) + L2 * n(phi) + z, "close z")
    root.place({"chi": 0.9, "psi": -0.15, "phi": -0.28, "theta": 0.0, "s": -0.07, "y": 0.0, "z": 0.0})
    return root


def stroke(t: Any) -> Any:
    return -(1 - SHARE) * L2 / 10 * (5 - 4 * da.cos(4 * np.pi * t))  # 8 sin²(2πt) = 4 (1 - cos 4πt)


MOTION = {"s": stroke, "y": 0.0, "z": 0.0}
FORCES = ["1.torque", "3.normal y", "3.normal z"]


@pytest.fixture(scope="module")
def eqs() -> Any:
    return da.equations(slider_crank())


@pytest.mark.spec("002-T16", "002-A11")
def test_complement_with_the_input_and_the_normal_motions_as_independent_variables() -> None:
    root = slider_crank()
    root.own.constraints = [row for row in root.own.constraints if not row.name.startswith("close")]
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
        entries = S.part([name], ["1.wx", "3.vy", "3.vz"]).entries.ravel()
        np.testing.assert_allclose(entries, value, rtol=0, atol=1e-12)


@pytest.mark.spec("002-T16", "002-A17")
def test_motion_of_the_crank_and_counts(eqs: Any) -> None:
    assert count_freedoms(4, {1: 2, 3: 2}) == 2  # one of them is the idle spin of the rod
    model = modular_model(slider_crank())
    assert len(model.motion.labels(1)) == 9
    assert model.freedoms == da.mobility(eqs).dof == 3  # with the two that the guide prevents
    run = da.kinematics(eqs, np.linspace(0, 0.5, 101), motion=MOTION)
    assert (run["chi"].min(), run["chi"].max()) == pytest.approx((0.693338, 2.551489), abs=1e-6)
    peak = da.kinematics(eqs, np.arange(0.1, 0.12, 2e-4), motion=MOTION)["1.wx"]
    assert np.abs(peak).max() == pytest.approx(10.15158, abs=2e-4)  # peak of a grid of 0.2 ms


def forces_with_friction(eqs: Any, times: Any, signs: Any = None) -> np.ndarray:
    """Torque and normal forces (times, 3): they are affine in the friction F, and F = -μ sign(ṡ) |N₀ + N₁ F|."""
    idle, unit = (da.inverse_dynamics(eqs.replace(**{"3.friction": F}), MOTION, times=times, inputs=FORCES)
                  for F in (0.0, 1.0))  # fmt: skip
    start, slope = (np.stack([run[name] for name in FORCES], axis=1) for run in (idle, unit))
    slope -= start
    forces = []
    for a, b, sign in zip(start, slope, np.sign(idle["3.vx"]) if signs is None else signs, strict=True):
        N0, N1 = a[1:], b[1:]
        roots = np.roots([MU**2 * N1 @ N1 - 1.0, 2 * MU**2 * N0 @ N1, MU**2 * N0 @ N0])
        forces.append(a + roots[roots * sign <= 0][0] * b)
    return np.array(forces)


@pytest.mark.spec("002-T16", "002-G4", "002-G5")
def test_torque_and_normal_forces_with_friction(eqs: Any) -> None:
    assert forces_with_friction(eqs, [0.0, *VALUES])[1:] == pytest.approx(np.array([*VALUES.values()]), abs=1e-4)


@pytest.mark.spec("002-T16", "002-G5")
def test_torque_jumps_where_the_slider_reverses(eqs: Any) -> None:
    expected = np.array([(-49.285, 33.685, -15.482), (-58.418, 93.788, -33.749)])
    for k, sign in enumerate((-1.0, 1.0)):  # the limit from each side
        forces = forces_with_friction(eqs, [0.0, 0.25, 0.5], [-1.0, sign, -sign])
        assert forces[1] == pytest.approx(expected[k], abs=6e-4)
        assert forces[2, 0] == pytest.approx((56.693, 57.811)[k], abs=6e-4)


@pytest.mark.spec("002-G4", "002-G3")
def test_more_inputs_than_freedoms_have_a_smallest_solution(eqs: Any) -> None:
    alone = da.inverse_dynamics(eqs, MOTION, times=[0.0, 0.13], inputs=FORCES)
    both, heavy = (da.inverse_dynamics(eqs, MOTION, times=[0.0, 0.13], inputs=[*FORCES, "3.push"], weights=weights)
                   for weights in (dict.fromkeys(FORCES[1:], 1e-9), {"3.push": 1e8}))  # fmt: skip
    ratio = both["3.vx"][1] / both["1.wx"][1]  # power of both is that of the one
    assert (both["1.torque"] + ratio * both["3.push"])[1] == pytest.approx(alone["1.torque"][1], rel=1e-9)
    assert both["3.push"][1] == pytest.approx(ratio * both["1.torque"][1], rel=1e-6)  # smallest: normals weigh 1e-9
    assert heavy["1.torque"][1] == pytest.approx(alone["1.torque"][1], rel=1e-6)
