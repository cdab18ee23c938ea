"""Slow control of the flexible arm TUDOR: computed torque, its correction of order ε², and cascaded joint loops.

Poles of the whole arm under the slow law, and a motion of both joints (Scaglioni 2016, ch. 5). The law u₀ knows the arm
with rigid links: under gravity the links sag, and the joints stay off by that sag. u₂ restores it. Evaluated at the
measured state, u₂ feeds two more derivatives of the errors back: with a payload that loop is not stable, so that here
it is evaluated along the motion.
"""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.progress import step
from dalembert.studies.flexible.tudor import JOINTS, TORQUES, arm, hold
from dalembert.studies.runner import Outcome
from dalembert.tree.trajectories.polynomial import rest_to_rest
from dalembert.view.plots.figures import BLUE, GREEN, GREY, RED, STYLE, new_figure
from dalembert.view.reports.pages import Moving, Picture, Piece, Table, Text

PAYLOADS = (0.0, 0.4)
FREQUENCY = dict(zip(JOINTS, (12.0, 16.0), strict=True))
"""ω of the slow law [rad/s]; damping ratio 1."""
TARGETS, DURATION, AFTER = dict(zip(JOINTS, (1.0, -0.8), strict=True)), 2.0, 1.0
"""Motion of both joints from zero [rad], in 2 s, and the time of rest after it [s]."""
POSITION, VELOCITY, INTEGRAL = 3.0, (6.0, 1.2), (12.0, 2.4)
"""k_pp [1/s], k_vp [N m s/rad] and k_vi [N m/rad] of the cascaded loops."""
ELBOWS = np.linspace(-np.pi, np.pi, 24, endpoint=False)
STEPS = {"poles": 6.0, "motions": 14.0}


def motion(target: float, degree: int = 5) -> Any:
    """From zero to the target, then rest; a function of time."""
    return lambda t: target * rest_to_rest(da.where(t < DURATION, t / DURATION, 1.0), degree)


def laws(eqs: da.EquationsOfMotion, motions: dict[str, Any], workspace: dict[str, Any]) -> dict[str, Any]:
    """Slow laws: u₀, with u₂ along the motion, with u₂ at the measured state."""
    found = {}
    for name, order, where in (("u0", 0, "state"), ("u0 + u2", 2, "motion"), ("u2 of the state", 2, "state")):
        two = da.separate_scales(eqs, order=order)
        slow = da.control.computed_torque(two.rigid, motions, frequency=FREQUENCY)
        found[name] = da.control.composite(two, slow, workspace=workspace, correction=where)
    return found


def sorted_poles(poles: ComplexArray) -> ComplexArray:
    """By modulus, one of every conjugate pair."""
    upper = poles[poles.imag >= -1e-9 * np.abs(poles)]
    return np.asarray(upper[np.lexsort((upper.real, np.round(np.abs(upper), 6)))])


def slow_poles(payload: float) -> dict[str, Any]:
    """Slow poles with both angles zero and without gravity, and the least damping ratio over the elbow, by law."""
    eqs = da.equations(arm(gravity=False), coordinates="joint").replace(payload=payload)
    at = {**dict.fromkeys(JOINTS, 0.0), "elbow.angle": np.array([0.0, *ELBOWS])}
    results: dict[str, Any] = {}
    for name, law in laws(eqs, dict.fromkeys(JOINTS, 0.0), {"elbow.angle": at["elbow.angle"]}).items():
        poles = sorted_poles(law.workspace.poles[0])
        results[name] = {"poles": poles[:4], "least_damping": float(law.workspace.damping[1:].min()),
                         "workspace": law.workspace}  # fmt: skip
    return results


def joint_loops(eqs: da.EquationsOfMotion, motions: dict[str, Any]) -> Any:
    """Cascaded loops, the baseline."""
    gains = (dict(zip(JOINTS, part, strict=True)) for part in (VELOCITY, INTEGRAL))
    velocity, integral = gains
    return da.control.cascade(eqs, motions, drives=dict(zip(JOINTS, TORQUES, strict=True)), position=POSITION,
                              velocity=velocity, integral=integral)  # fmt: skip


def track(payload: float) -> tuple[dict[str, Any], dict[str, da.Record]]:
    """The motion under gravity by each law: largest joint errors, and the share of u₂ in the torques."""
    eqs = da.equations(arm(), coordinates="joint").replace(payload=payload)
    motions = {name: motion(target) for name, target in TARGETS.items()}
    start, _ = hold(eqs)
    found = laws(eqs, motions, {"elbow.angle": [0.0]})
    controllers = {"u0": found["u0"], "u0 + u2": found["u0 + u2"], "P/PI": joint_loops(eqs, motions)}
    runs = {
        name: da.simulate(eqs, DURATION + AFTER, start=start, controller=law, every=0.01, progress=False,
                          method=da.DormandPrince(rtol=1e-7))
        for name, law in controllers.items()
    }  # fmt: skip
    shape = rest_to_rest(np.minimum(runs["u0"].time / DURATION, 1.0))
    moving = (runs["u0"].time > 0.0) & (runs["u0"].time < DURATION - 1e-9)
    errors = {
        name: [float(np.abs(run[joint] - TARGETS[joint] * shape).max()) for joint in JOINTS]
        for name, run in runs.items()
    }
    reads = found["u0"].law().reads
    terms = [
        found["u0 + u2"].terms({name: runs["u0"][name][k] for name in reads}, float(runs["u0"].time[k]))
        for k in np.flatnonzero(moving)[::2]
    ]
    largest = [np.max([np.abs(term[part]) for term in terms], axis=0) for part in ("u0", "u2")]
    damping = least_damping(da.equations(arm(), coordinates="joint").replace(payload=payload))
    return {
        "joint_error_rad": errors["u0"], "joint_error_with_u2_rad": errors["u0 + u2"],
        "joint_error_cascade_rad": errors["P/PI"], "u2_share_percent": 100 * largest[1] / largest[0],
        "cascade_least_damping": damping,
    }, runs  # fmt: skip


def least_damping(eqs: da.EquationsOfMotion) -> float:
    """Of the modes of the arm with cascaded loops at the horizontal."""
    targets = dict.fromkeys(JOINTS, 0.0)
    state, torques = hold(eqs)
    resting = {name: torques[name] for name in TORQUES}
    plant = da.linearize(eqs, at=state, inputs=resting, coordinates=[*JOINTS, *eqs.elastic])
    loop = da.control.open_loop(joint_loops(eqs, targets), plant).feedback()
    values = np.asarray(loop.poles().values)
    return float((-values.real / np.abs(values)).min())


def study() -> Outcome:
    """Poles, motions and joint loops with and without payload."""
    with warnings.catch_warnings():
        # links without stiffening sag by 8 % of their length, as published; u₂ of the state is not stable; steps of
        # explicit methods follow all modes
        for message in ("buckling load", "nodes of the flexible body", "linear loop of the whole", "explicit steps"):
            warnings.filterwarnings("ignore", message=f".*{message}")
        step("poles")
        poles = {payload: slow_poles(payload) for payload in PAYLOADS}
        step("motions")
        tracked = {payload: track(payload) for payload in PAYLOADS}
    grams = {payload: f"{1000 * payload:.0f} g" for payload in PAYLOADS}
    results = {
        "frequency_rad_s": FREQUENCY,
        "poles": {grams[p]: [[float(z.real), float(z.imag)] for z in poles[p]["u0"]["poles"]] for p in PAYLOADS},
        "least_damping_over_elbow": {grams[p]: {law: each["least_damping"] for law, each in poles[p].items()}
                                     for p in PAYLOADS},
        **{key: {grams[p]: tracked[p][0][key] for p in PAYLOADS} for key in tracked[PAYLOADS[0]][0]},
    }  # fmt: skip
    m = arm()
    words = "The motion with 400 g by the slow law, at real speed."
    return Outcome(
        "Slow control of a flexible arm", results, _pieces(results, poles, tracked),
        {"seeds": "none: nothing is random"}, model=(m, da.equations(m)),
        moving=[Moving("motion", da.animate(tracked[0.4][1]["u0"], trail="tip"), words)],
    )  # fmt: skip


def _pieces(results: dict[str, Any], poles: dict[float, Any], tracked: dict[float, Any]) -> list[Piece]:
    error, share = results["joint_error_rad"], results["u2_share_percent"]
    first = Text(
        f"Under computed torque of the rigid arm the joints stay off by {1e3 * error['0 g'][0]:.1f} and "
        f"{1e3 * error['0 g'][1]:.1f} mrad, with 400 g by {1e3 * error['400 g'][0]:.1f} and "
        f"{1e3 * error['400 g'][1]:.1f} mrad: most of it is the sag of the links. The correction u₂ is "
        f"{share['0 g'][0]:.1f} and {share['0 g'][1]:.1f} % of the torques ({share['400 g'][0]:.1f} and "
        f"{share['400 g'][1]:.1f} %). Fed back from the state it makes the loop with 400 g unstable."
    )
    rows = []
    for payload in PAYLOADS:
        for law, each in poles[payload].items():
            shown = ", ".join(f"{z.real:.2f}" if abs(z.imag) < 1e-6 else f"{z.real:.2f} ± {z.imag:.2f}i"
                              for z in each["poles"])  # fmt: skip
            rows.append((f"{1000 * payload:.0f}", law, shown, f"{each['least_damping']:.3f}"))
    columns = ("payload [g]", "law", "slow poles, straight arm [rad/s]", "least damping over the elbow")
    with mpl.rc_context(STYLE):
        figure = new_figure(8.5, 6.0)
        grid = figure.subplots(2, 2, sharex=True)
        for axes_of_joint, joint in zip(grid, JOINTS, strict=True):
            for axes, payload in zip(axes_of_joint, PAYLOADS, strict=True):
                for (name, run), color in zip(tracked[payload][1].items(), (RED, BLUE, GREY), strict=True):
                    shape = rest_to_rest(np.minimum(run.time / DURATION, 1.0))
                    axes.plot(run.time, 1e3 * (run[joint] - TARGETS[joint] * shape), color=color, lw=1.2, label=name)
                axes.set_title(f"{joint.split('.')[0]}, {1000 * payload:.0f} g")
        for axes in grid[:, 0]:
            axes.set_ylabel("error [mrad]")
        for axes in grid[1]:
            axes.set_xlabel("time [s]")
        grid[0, 1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        plane = new_figure(6.5, 4.5)
        axes = plane.subplots()
        for payload, color in zip(PAYLOADS, (BLUE, GREEN), strict=True):
            values: FloatArray = poles[payload]["u0"]["workspace"].poles[1:].ravel()
            near = values[(np.abs(values) < 40.0) & (values.imag >= 0)]
            axes.plot(near.real, near.imag, ".", ms=4, color=color, label=f"{1000 * payload:.0f} g")
        axes.axvline(0.0, color=GREY, lw=0.8)
        axes.set_xlabel("real part [rad/s]")
        axes.set_ylabel("imaginary part [rad/s]")
        axes.legend()
    return [
        first, Table(columns, tuple(rows), "Poles of the whole arm without gravity"),
        Picture("errors", figure, "Joint errors during the motion (2 s) and after it."),
        Picture("poles", plane, "Slow poles of the whole arm under u₀ over all angles of the elbow."),
    ]  # fmt: skip
