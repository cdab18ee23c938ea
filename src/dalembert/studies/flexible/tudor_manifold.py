"""Slow and fast models of a two-link flexible arm: orders of the integral manifold, fast modes, strains by order.

The arm TUDOR in joint angles and modal coordinates (Malzahn and others 2011; Scaglioni 2016, ch. 4). Its stiffness is
scaled to smaller ε to see the order of the expansion: the residual of the manifold falls with ε² and ε⁴.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.progress import step
from dalembert.studies.flexible.tudor import JOINTS, STRAINS, TORQUES, arm, hertz, matrices
from dalembert.studies.runner import Outcome
from dalembert.view.plots.figures import BLUE, GREEN, GREY, RED, STYLE, log_ticks, new_figure
from dalembert.view.reports.pages import Moving, Picture, Piece, Table, Text

POSE, RATES, EFFORTS = (0.3, 0.7), (1.0, -0.5), (1.0, 0.3)
EPSILONS = (0.05, 0.025, 0.0125, 0.00625)
GENTLE, WIDE = 0.1, (0.1, 0.05, 0.025)
"""Share of the speeds without gravity, torques by its square; ε of this motion."""
MOTIONS = {"slow": (2.0, 2.0), "fast": (0.1, 2.0)}
"""Duration [s] and size [N m] of a torque on the hanging arm."""
STEPS = {"expansion": 8.0, "fast modes": 2.0, "strains": 8.0}


def residuals(eqs: da.EquationsOfMotion, epsilons: tuple[float, ...], order: int, share: float = 1.0) -> FloatArray:
    """Size of the residual of the manifold at stiffness scaled to each ε; share of speeds, its square of torques."""
    sizes = []
    own = da.separate_scales(eqs, order=order).epsilon
    for epsilon in epsilons:
        two = da.separate_scales(eqs.replace(stiffness=(own / epsilon) ** 2), order=order)
        state = da.assemble(two.slow, dict(zip(JOINTS, POSE, strict=True)))
        state = two.slow.state(state.q, share * np.array(RATES))
        torques = {name: share**2 * value for name, value in zip(TORQUES, EFFORTS, strict=True)}
        sizes.append(float(np.linalg.norm(two.residual(state, torques))))
    return np.array(sizes)


def free_and_locked(payload: float = 0.0, elbow: float = 0.0) -> dict[str, FloatArray]:
    """Frequencies [Hz] without gravity: free joints, stiff loops at the joints, locked joints, and the fast model."""
    eqs = da.equations(arm(gravity=False), coordinates="joint").replace(payload=payload)
    M, K = matrices(eqs, payload, elbow)
    held = K + np.diag([1e8, 1e8, *[0.0] * len(eqs.elastic)])
    fast = da.separate_scales(eqs, order=0).fast(da.assemble(eqs, {"shoulder.angle": 0.4, "elbow.angle": elbow}))
    return {
        "free": hertz(M, K)[2:], "looped": hertz(M, held)[:-2], "locked": hertz(M[2:, 2:], K[2:, 2:]),
        "fast": np.sort(np.abs(np.linalg.eigvals(fast.A)))[::2] / (2 * math.pi),
    }  # fmt: skip


def rigid_arm() -> da.EquationsOfMotion:
    """The arm with rigid links of the same masses, in joint angles."""
    m = da.Mechanism("rigid arm", planar=True)
    first, second, rods = 0.440, 0.378, 7800.0 * 0.004 * 0.015
    upper = m.add_body("upper", mass=rods * first, inertia=da.rod(first), position=(first / 2, 0.0))
    lower = m.add_body("lower", mass=rods * second, inertia=da.rod(second), position=(first + second / 2, 0.0))
    motor, load = (m.add_body(name, mass=mass) for name, mass in (("motor", 0.5885), ("load", 0.2)))
    m.add_revolute("shoulder", m.ground.at(0, 0), upper.at(-first / 2, 0))
    m.add_revolute("elbow", upper.at(first / 2, 0), lower.at(-second / 2, 0))
    m.add_fixed("motor_seat", upper.at(first / 2, 0), motor.at(0, 0))
    m.add_fixed("grip", lower.at(second / 2, 0), load.at(0, 0))
    for joint in ("shoulder", "elbow"):
        m.add_actuator(f"{joint}_motor", joint=joint, input=f"{joint}_torque")
    return da.equations(m, coordinates="joint")


def rigid_difference(slow: da.EquationsOfMotion) -> float:
    """Largest difference of accelerations of the slow model and of the rigid arm [rad/s²]."""
    found = []
    for eqs in (slow, rigid_arm()):
        state = da.assemble(eqs, dict(zip(JOINTS, POSE, strict=True)), velocity=dict(zip(JOINTS, RATES, strict=True)))
        solved = da.forward_dynamics(eqs, state, inputs=dict(zip(TORQUES, EFFORTS, strict=True)))
        found.append([solved["shoulder.rate"], solved["elbow.rate"]])
    return float(np.abs(np.subtract(found[0], found[1])).max())


def elastic_gear() -> float:
    """Largest error of the manifold of a motor with an elastic gear under a harmonic torque, by order and relative."""
    m = da.Mechanism("elastic gear", planar=True, gravity=(0, 0))
    rotor, load = m.add_body("rotor", inertia=1.0, mass=1.0), m.add_body("load", inertia=0.5, mass=1.0)
    m.add_revolute("shaft", m.ground.at(0, 0), rotor.at(0, 0))
    m.add_revolute("gear", rotor.at(0, 0), load.at(0, 0))
    m.add_spring("spring", joint="gear", stiffness=400.0)
    m.add_actuator("motor", joint="shaft", input="torque")
    two = da.separate_scales(da.equations(m, coordinates="joint"), "gear.angle")
    omega, torque, gain, mu = 3.0, 0.7, -1.0 / 3.0, 1.0 / 3.0
    at = two.manifold(None, {"torque": torque, "torque.rate": 0.4, "torque.rate.rate": -(omega**2) * torque})
    exact = gain * torque, mu * omega**2 / 400.0 * gain * torque
    return float(max(abs(at.h1[0][0] / exact[0] - 1), abs(at.h1[2][0] * two.epsilon**2 / exact[1] - 1)))


def push(duration: float, size: float, derivative: int = 0) -> Any:
    """A smooth torque of time that changes its sign once, or a derivative of it."""
    polynomial = np.polynomial.Polynomial([1.0])
    for root, power in ((0.0, 5), (1.0, 5), (0.5, 1)):
        polynomial = polynomial * np.polynomial.Polynomial([-root, 1.0]) ** power
    scale = size / np.abs(polynomial(np.linspace(0, 1, 1001))).max() / duration**derivative
    coefficients = scale * (polynomial.deriv(derivative) if derivative else polynomial).coef

    def torque(t: Any) -> Any:
        x, value = t / duration, 0.0
        for coefficient in coefficients[::-1]:
            value = value * x + float(coefficient)
        return da.where(t < duration, value, 0.0)

    return torque


def strains(eqs: da.EquationsOfMotion, joint: da.EquationsOfMotion, duration: float, size: float) -> dict[str, Any]:
    """The whole arm and its slow models under one torque from the hanging pose."""
    hanging = {"shoulder.angle": -math.pi / 2, "elbow.angle": 0.0}
    until, every = 2 * duration, duration / 200
    drives = {"shoulder_torque": 1.0, "elbow_torque": -0.2}
    torques = {name: push(duration, size * share) for name, share in drives.items()}
    method = da.GeneralizedAlpha(step=min(2e-4, duration / 2000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.errors.SimulationWarning)  # of geometric stiffness, which both leave out
        whole = da.simulate(eqs, until, start=da.assemble(eqs, hanging), inputs=torques, method=method, every=every,
                            progress=False)  # fmt: skip
    runs: dict[str, Any] = {"whole": whole}
    for order in (0, 2):
        two = da.separate_scales(joint, order=order)
        inputs = dict(torques)
        for k in range(1, order + 1):
            inputs |= {name + ".rate" * k: push(duration, size * share, k) for name, share in drives.items()}
        start = da.assemble(two.slow, hanging)
        runs[str(order)] = da.simulate(two.slow, until, start=start, inputs=inputs, every=every, progress=False)
    runs["findings"] = [finding.text() for finding in da.separate_scales(joint).validity(runs["2"])]
    return runs


def strain_errors(runs: dict[str, Any]) -> dict[str, float]:
    """Root mean square of the errors of all strains, in per cent of that of the strains, by order."""
    whole = np.column_stack([runs["whole"][name] for name in STRAINS])
    errors = {}
    for order in ("0", "2"):
        slow = np.column_stack([runs[order][name] for name in STRAINS])
        errors[order] = float(100 * np.linalg.norm(slow - whole) / np.linalg.norm(whole))
    return errors


def study() -> Outcome:
    """Orders of the manifold, fast modes and strains."""
    step("expansion")
    m = arm()
    joint = da.equations(m, coordinates="joint")
    two = da.separate_scales(joint)
    sizes = {order: residuals(joint, EPSILONS, order) for order in (0, 2)}
    level = da.equations(arm(gravity=False), coordinates="joint")
    gentle = {order: residuals(level, WIDE, order, GENTLE) for order in (0, 2)}
    start = da.assemble(two.slow, dict(zip(JOINTS, POSE, strict=True)), velocity=dict(zip(JOINTS, RATES, strict=True)))
    falling = da.simulate(two.slow, 0.05, start=start, inputs=dict(zip(TORQUES, EFFORTS, strict=True)), progress=False)
    judged = two.validity(falling)
    step("fast modes")
    modes = free_and_locked(elbow=0.7)
    straight = free_and_locked()
    turned = two.fast([da.assemble(two.slow, {"shoulder.angle": a, "elbow.angle": 0.7}) for a in (0.0, 1.1)])
    order0 = da.separate_scales(level, order=0)
    alike = order0.fast([da.assemble(order0.slow, {"shoulder.angle": a, "elbow.angle": 0.7}) for a in (0.0, 1.1)])
    step("strains")
    eqs = da.equations(m)
    runs = {name: strains(eqs, joint, *motion) for name, motion in MOTIONS.items()}
    results = {
        "epsilon": two.epsilon,
        "epsilons": EPSILONS,
        "orders": {str(order): size[:-1] / size[1:] for order, size in sizes.items()},
        "residuals": {str(order): size for order, size in sizes.items()},
        "gentle_motion": {"epsilons": WIDE, "speeds": GENTLE * np.array(RATES),
                          "torques": GENTLE**2 * np.array(EFFORTS),
                          "orders": {str(order): size[:-1] / size[1:] for order, size in gentle.items()}},
        "validity": [{"text": finding.text(), **finding.evidence} for finding in judged],
        "fast_against_free_joints": float(np.abs(modes["fast"] / modes["free"] - 1).max()),
        "stiff_loops_against_locked": float(np.abs(modes["looped"] / modes["locked"] - 1).max()),
        "free_hz": straight["free"],
        "locked_hz": straight["locked"],
        "base_angle_changes_order_0": _change(alike),
        "base_angle_changes_order_2": _change(turned),
        "slow_against_rigid_arm": rigid_difference(da.separate_scales(joint, order=0).slow),
        "elastic_gear_error": elastic_gear(),
        "strain_error_percent": {name: strain_errors(run) for name, run in runs.items()},
        "motions": {name: {"duration_s": time, "torque_N_m": size} for name, (time, size) in MOTIONS.items()},
    }  # fmt: skip
    words = "The hanging arm under the slow torque, five times slower than real, by the slow model of order 2."
    return Outcome(
        "Slow and fast models of a flexible arm", results, _pieces(results, runs), {"seeds": "none: nothing is random"},
        model=(m, joint), moving=[Moving("arm", da.animate(runs["slow"]["2"], speed=0.2, trail="tip"), words)],
    )  # fmt: skip


def _change(models: Any) -> float:
    """Largest change between two fast models, relative to the largest entry."""
    pairs = [(getattr(models[0], part), getattr(models[1], part)) for part in "AB"]
    return float(max(np.abs(a - b).max() / np.abs(a).max() for a, b in pairs))


def _pieces(results: dict[str, Any], runs: dict[str, Any]) -> list[Piece]:
    errors, orders = results["strain_error_percent"], results["orders"]
    first = Text(
        f"The lowest mode of the links gives ε = {results['epsilon']:.4f} s/rad. Where the arm is made stiffer, each "
        f"halving of ε divides the residual of the manifold by {orders['0'][-1]:.2f} at order 0 and by "
        f"{orders['2'][-1]:.1f} at order 2. Strains on the manifold are off by {errors['slow']['0']:.1f} % at "
        f"order 0 and by {errors['slow']['2']:.2f} % at order 2 in a slow motion, by {errors['fast']['0']:.0f} % and "
        f"{errors['fast']['2']:.0f} % in a fast one."
    )
    rows = []
    for k, epsilon in enumerate(EPSILONS):
        sizes = [f"{results['residuals'][order][k]:.3g}" for order in ("0", "2")]
        ratios = [f"{orders[order][k - 1]:.2f}" if k else "" for order in ("0", "2")]
        rows.append((f"{epsilon:g}", sizes[0], ratios[0], sizes[1], ratios[1]))
    columns = ("ε [s/rad]", "order 0", "divided by", "order 2", "divided by")
    modes = Text(
        f"The fast model has the modes of the arm with free joints, {results['free_hz'][0]:.1f} Hz and up; stiff loops "
        f"at the joints bring those of locked joints, {results['locked_hz'][0]:.2f} Hz and up, which no time scale "
        "separates from the motion of the joints."
    )
    with mpl.rc_context(STYLE):
        figure = new_figure(8.5, 4.6)
        for axes, (name, run) in zip(figure.subplots(2, 1), runs.items(), strict=True):
            axes.plot(run["whole"].time, 1e6 * run["whole"]["strain12"], color=GREY, lw=3, label="whole arm")
            axes.plot(run["0"].time, 1e6 * run["0"]["strain12"], color=RED, lw=1, label="slow, order 0")
            axes.plot(run["2"].time, 1e6 * run["2"]["strain12"], color=BLUE, lw=1, label="slow, order 2")
            axes.set_ylabel(f"strain, {name}\nmotion [1e-6]")
        axes.set_xlabel("time [s]")
        figure.axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        powers = new_figure(6.0, 4.0)
        axes = powers.subplots()
        for (order, sizes), color in zip(results["residuals"].items(), (RED, BLUE), strict=True):
            axes.loglog(EPSILONS, sizes, "o-", color=color, label=f"order {order}")
            axes.loglog(EPSILONS, sizes[-1] * (np.array(EPSILONS) / EPSILONS[-1]) ** (2 + int(order)), ":", color=GREEN)
        log_ticks(axes.xaxis, plain=True)
        log_ticks(axes.yaxis)
        axes.set_xlabel("ε [s/rad]")
        axes.set_ylabel("residual of the manifold [1/s²]")
        axes.legend()
    return [
        first, Table(columns, tuple(rows), "Residual of the manifold [1/s²]"),
        Picture("residuals", powers, "The residual falls with ε² and ε⁴ (dotted); the arm itself has ε = "
                f"{results['epsilon']:.4f} s/rad, where the expansion has hardly begun to converge in this fall."),
        modes,
        Picture("strains", figure, "Strain in the middle of the first link under a torque that is slow or fast beside "
                "the lowest fast mode."),
    ]  # fmt: skip
