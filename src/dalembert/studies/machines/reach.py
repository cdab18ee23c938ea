"""A redundant arm follows a path through a pose that is nearly singular, within the limits of its joints.

The tip of a seven-joint arm (of the library) passes along an arc whose middle is almost out of reach: there the elbow
is nearly straight, and speeds of the tip towards the shoulder need large speeds of the joints. Inverse kinematics
finds the motion of the joints, inverse dynamics its torques, computed torque control follows it in a simulation, and
time scaling finds the shortest time that the limits allow.
"""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.progress import step
from dalembert.expressions import Array
from dalembert.studies.runner import Outcome
from dalembert.view.plots.figures import COLORS, GREY, INK, RED, STYLE, line_of, new_figure, put_legend_beside
from dalembert.view.plots.plot import plot
from dalembert.view.reports.pages import Moving, Picture, Piece, Table, Text

DURATION, EVERY = 3.5, 0.0175
STEPS = {"inverse kinematics": 4.0, "time scaling": 1.0, "simulation": 6.0, "workspace": 1.0}
SHOULDER, LINKS, TOOL = 0.34, 0.4, 0.2  # height of the shoulder, each of two links, wrist to tip [m]
STRETCH = 0.998  # distance from shoulder to wrist in the middle of the path, of the length of both links
HOME = {"joint2.angle": 0.4, "joint4.angle": 1.2, "joint6.angle": 0.9}
PITCH = 2 * math.pi / 3  # the tool points forward and 30° down
FORWARD = da.rotation(tait_bryan=(0.0, PITCH, 0.0))
SIDES = ((0.35, -0.45, 0.6), (0.35, 0.45, 0.6))  # of the wrist at both ends [m]
HEIGHT = 0.11  # of the wrist above the shoulder in the middle [m]
PREFERENCES = {"near the start": None, "middle of the limits": "middle", "manipulability": "manipulability"}
FREQUENCY = 20.0  # of the errors under control [rad/s]


def tip_path(eqs: da.EquationsOfMotion) -> da.Record:
    """Poses of the tip: an arc from one side to the other, the wrist in its middle nearly at the end of its reach."""
    middle = (math.sqrt((STRETCH * 2 * LINKS) ** 2 - HEIGHT**2), 0.0, SHOULDER + HEIGHT)
    ahead = (TOOL * math.sin(PITCH), 0.0, TOOL * math.cos(PITCH))
    poses = [(*(w + a for w, a in zip(wrist, ahead, strict=True)), FORWARD) for wrist in (SIDES[0], middle, SIDES[1])]
    return da.tree.spline(eqs, {"tip": poses}, DURATION, every=EVERY)


def study() -> Outcome:
    """The motion of the joints along the path, its torques, the run under control, and the fastest timing."""
    m = da.read_model("seven-joint-arm")
    eqs = da.equations(m, coordinates="joint")
    home = da.assemble(eqs, HOME)
    path = tip_path(eqs)
    step("inverse kinematics")
    ways = {name: da.tree.follow_path(eqs, path, start=home, prefer=how) for name, how in PREFERENCES.items()}
    motion = ways["near the start"]
    step("time scaling")
    fastest = da.tree.scale_time(eqs, motion)
    step("simulation")
    torques = da.inverse_dynamics(eqs, motion)
    start = eqs.state([motion[name][0] for name in eqs.coordinates.names])
    law = da.control.computed_torque(eqs, motion, frequency=FREQUENCY)
    run = da.simulate(
        eqs, DURATION, start=start, controller=law, method=da.RK4(2e-3), every=EVERY, progress=False
    )  # fmt: skip
    step("workspace")
    cloud = da.tree.workspace(eqs, "tip", base=(0.0, 0.0, SHOULDER))
    results = _results(eqs, path, ways, fastest, torques, run)
    words = f"The arm along its path in {DURATION:g} s, under control; the trace is that of the tip."
    shown = da.animate(run, trail="tip", channels=["joint4.angle", "joint4.effort"])
    provenance = {"data": "made-up numbers of an arm of this size", "seeds": "0: initial poses, workspace"}
    return Outcome(
        "Reach: a redundant arm through a nearly singular pose", results,
        _pieces(eqs, results, path, ways, fastest, torques, cloud), provenance,
        moving=[Moving("reach", shown, words)], model=(m, eqs),
    )  # fmt: skip


def _places(eqs: da.EquationsOfMotion, motion: da.Record, place: str = "tip") -> Array:
    return da.tree.forward_kinematics(eqs, motion, place)


def _results(
    eqs: da.EquationsOfMotion, path: da.Record, ways: dict[str, da.Record], fastest: da.Record, torques: da.Record,
    run: da.Record,
) -> dict[str, Any]:  # fmt: skip
    wanted = path[["tip.x", "tip.y", "tip.z"]]
    moved = _places(eqs, run)
    turned = FORWARD.matrix.T @ moved[:, :3, :3]
    sine = np.linalg.norm(turned - np.swapaxes(turned, 1, 2), axis=(1, 2)) / math.sqrt(8)
    motion = ways["near the start"]
    found = da.tree.manipulability(eqs, motion, "tip", part="pose")
    peaks = {name: float(np.abs(torques[name]).max()) for name in eqs.inputs.names}
    exceeded = [*da.tree.check_limits(eqs, motion), *da.tree.check_limits(eqs, run)]
    k = int(np.argmin(found.measure))
    return {
        "position_error_m": float(np.linalg.norm(moved[:, :3, 3] - wanted, axis=1).max()),
        "rotation_error_rad": float(np.arcsin(sine).max()),
        "path_error_m": motion.statistics["largest gap"],
        "limits_respected": not exceeded,
        "limits_exceeded": [one.text() for one in exceeded],
        "smallest_manipulability": float(found.measure[k]),
        "smallest_singular_value": float(found.distance.min()),
        "largest_manipulability": float(found.measure.max()),
        "time_of_smallest_manipulability_s": float(motion.time[k]),
        "smallest_elbow_angle_rad": float(motion["joint4.angle"].min()),
        "torque_peak_Nm": max(peaks.values()),
        "torque_peak_joint": max(peaks, key=lambda name: peaks[name]),
        "torque_peaks_Nm": peaks,
        "speed_shares": _shares(eqs, motion, "rate"),
        "torque_shares": {name: value / eqs.limits[name].range[1] for name, value in peaks.items()},
        "duration_s": DURATION,
        "fastest_duration_s": fastest.statistics["duration"],
        "fastest_largest_share": fastest.statistics["largest share"],
        "smallest_manipulability_by_preference": {
            name: float(da.tree.manipulability(eqs, way, "tip", part="pose").measure.min())
            for name, way in ways.items()
        },
        "largest_speed_share_by_preference": {
            name: max(_shares(eqs, way, "rate").values()) for name, way in ways.items()
        },
    }  # fmt: skip


def _joints(eqs: da.EquationsOfMotion) -> list[str]:
    return [name.removesuffix(".angle") for name in eqs.coordinates.names]


def _shares(eqs: da.EquationsOfMotion, motion: da.Record, channel: str) -> dict[str, float]:
    """Largest speed of every joint over its limit."""
    return {
        joint: float(np.abs(motion[f"{joint}.{channel}"]).max() / (eqs.limits[f"{joint}.angle"].speed or math.inf))
        for joint in _joints(eqs)
    }  # fmt: skip


# --- the report -------------------------------------------------------------------------------------------------------


def _pieces(
    eqs: da.EquationsOfMotion, results: dict[str, Any], path: da.Record, ways: dict[str, da.Record],
    fastest: da.Record, torques: da.Record, cloud: Any,
) -> list[Piece]:  # fmt: skip
    motion = ways["near the start"]
    peak = results["torque_peak_joint"].removesuffix(".effort")
    first = Text(
        f"The tip of a seven-joint arm follows an arc in {DURATION:g} s. In its middle the wrist is at "
        f"{100 * STRETCH:.1f} % of its reach, the elbow {results['smallest_elbow_angle_rad']:.3f} rad from straight, "
        f"and the manipulability falls from {results['largest_manipulability']:.3f} to "
        f"{results['smallest_manipulability']:.4f}. All joints "
        f"{'keep' if results['limits_respected'] else 'do not keep'} to their limits of angle, speed and torque; the "
        f"largest torque is {results['torque_peak_Nm']:.1f} N m, of {peak}. Under computed torque control the tip "
        f"stays within {results['position_error_m']:.1e} m of the path. Within the same limits the path can be done "
        f"in {results['fastest_duration_s']:.2f} s."
    )
    rows = tuple(
        (name, f"{results['smallest_manipulability_by_preference'][name]:.4f}",
         f"{100 * results['largest_speed_share_by_preference'][name]:.0f} %",
         f"{float(np.abs(way[list(eqs.coordinates.names)]).max()):.2f}")
        for name, way in ways.items()
    )  # fmt: skip
    with mpl.rc_context(STYLE):
        shown = _draw_manipulability(eqs, ways)
        joints = _draw_joints(eqs, motion, torques)
        timing = _draw_timing(eqs, fastest)
        where = _draw_path(eqs, path, motion)
    return [
        first,
        Picture("path", where, "The path of the tip and of the wrist, from above; the wrist cannot leave the circle."),
        Picture("joints", joints, "Angles between their limits (-1 and 1), speeds and torques as shares of theirs."),
        Picture("manipulability", shown, "Manipulability of the pose of the tip, and the elbow, along the path."),
        Table(("further freedom", "smallest manipulability", "largest speed", "largest angle [rad]"), rows,
              "What the seventh joint is used for"),
        Picture("timing", timing, "The fastest timing: at every instant a joint is at a limit of speed or torque."),
        Picture("workspace", plot(cloud), "Where the tip can be, from above and from the side."),
        Text(
            "Six coordinates of the pose leave one freedom of seven joints. Near the start, the joints move as little "
            "as possible; the other choices follow the middle of the limits or the manipulability. The distance of the "
            "wrist alone determines the elbow, so that no choice avoids the loss of manipulability."
        ),
    ]  # fmt: skip


def _draw_path(eqs: da.EquationsOfMotion, path: da.Record, motion: da.Record) -> Any:
    figure = new_figure(6.4, 4.4)
    ax = figure.subplots()
    wrist = _places(eqs, motion, "hand.origin")[:, :3, 3]
    turn = np.linspace(-0.95, 0.95, 200)
    across = np.sqrt((2 * LINKS) ** 2 - (wrist[len(wrist) // 2, 2] - SHOULDER) ** 2)
    ax.plot(across * np.cos(turn), across * np.sin(turn), "--", color=GREY, lw=1.2, label="reach of the wrist")
    ax.plot(path["tip.x"], path["tip.y"], color=COLORS[0], label="tip")
    ax.plot(wrist[:, 0], wrist[:, 1], color=COLORS[1], label="wrist")
    ax.plot(0.0, 0.0, "+", ms=12, mew=1.8, color=INK)
    for k in range(0, len(wrist), 20):
        ax.plot([wrist[k, 0], path["tip.x"][k]], [wrist[k, 1], path["tip.y"][k]], color=GREY, lw=0.8)
    ax.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    put_legend_beside(ax, 3)
    return figure


def _draw_manipulability(eqs: da.EquationsOfMotion, ways: dict[str, da.Record]) -> Any:
    figure = new_figure(8.5, 4.6)
    above, below = figure.subplots(2, 1, sharex=True)
    for k, (name, way) in enumerate(ways.items()):
        above.plot(way.time, da.tree.manipulability(eqs, way, "tip", part="pose").measure, **line_of(k), label=name)
        below.plot(way.time, way["joint3.angle"], **line_of(k))
    above.set_ylabel("manipulability")
    below.set(xlabel="time [s]", ylabel="joint3 [rad]", xlim=(0.0, DURATION))
    put_legend_beside(above, len(ways))
    return figure


def _draw_joints(eqs: da.EquationsOfMotion, motion: da.Record, torques: da.Record) -> Any:
    figure = new_figure(8.5, 6.2)
    axes: Any = figure.subplots(3, 1, sharex=True)
    for k, joint in enumerate(_joints(eqs)):
        limits = eqs.limits[f"{joint}.angle"]
        low, high = limits.range
        values = (
            (2 * motion[f"{joint}.angle"] - low - high) / (high - low),
            motion[f"{joint}.rate"] / (limits.speed or math.inf),
            torques[f"{joint}.effort"] / (limits.effort or math.inf),
        )
        for ax, value in zip(axes, values, strict=True):
            ax.plot(motion.time, value, **line_of(k), label=joint)
    for ax, label in zip(axes, ("angle", "speed", "torque"), strict=True):
        ax.set_ylabel(f"{label} / limit")
        ax.set_ylim(-1.1, 1.1)
        for end in (-1.0, 1.0):
            ax.axhline(end, color=RED, lw=1.0, ls="--")
    axes[2].set(xlabel="time [s]", xlim=(0.0, DURATION))
    put_legend_beside(axes[0], 7)
    return figure


def _draw_timing(eqs: da.EquationsOfMotion, fastest: da.Record) -> Any:
    figure = new_figure(8.5, 3.2)
    ax = figure.subplots()
    for k, joint in enumerate(_joints(eqs)):
        ax.plot(fastest.time, fastest[f"{joint}.angle.share"], **line_of(k), label=joint)
    ax.axhline(1.0, color=RED, lw=1.0, ls="--")
    ax.set(xlabel="time [s]", ylabel="largest share of a limit", xlim=(0.0, float(fastest.time[-1])), ylim=(0.0, 1.1))
    put_legend_beside(ax, 7)
    return figure
