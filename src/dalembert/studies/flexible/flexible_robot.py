"""The seven-joint arm of the library with two links that bend: reach in spite of sag, compliance, shaped motions.

Upper arm and forearm become tubes of aluminium in housings: beam elements of the tube, and point masses of the housing
that bring mass, centre and inertia to those of the URDF file. Joints are geared so stiffly that they follow any motion.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.progress import step
from dalembert.equations import State
from dalembert.linear import Modes
from dalembert.model import Body
from dalembert.model.flexible import FlexibleBodyData
from dalembert.structures import Frame, Section, flexible_body
from dalembert.studies.runner import Outcome, rms
from dalembert.view.plots.figures import BLUE, GREY, RED, STYLE, new_figure
from dalembert.view.reports.pages import Moving, Picture, Piece, Table, Text

JOINTS = tuple(f"joint{k}" for k in range(1, 8))
LINKS = {"upper_arm": ("joint2", "joint3", 0.21), "forearm": ("joint4", "joint5", 0.19)}
"""Joints at both ends, and length [m]."""
TUBE = Section.tube(0.040, 0.034)
STATIONS, SHARES = np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.array([0.125, 0.25, 0.25, 0.25, 0.125])
"""Places of the point masses along a link, and their shares of the housing: a uniform one, by the trapezoidal rule."""
DAMPING = 0.01
TARGETS = ((0.65, 0.2, 0.45), (0.6, -0.08, 0.55))
"""Places of the tip at the ends of the motion [m]."""
DURATION, AFTERWARDS = 0.5, 0.5
"""Of the motion, within the speeds of the joints, and of the time behind it [s]."""
SHAPERS = ("zv", "zvd", "ei")
LOWEST = 2
"""Modes that are shaped: bending of the arm in its plane and across it."""
EVERY = 1e-3
PUSH = {"force": 10.0, "moment": 1.0}
"""Loads of the static solutions [N], [N m]: a thousandth and less of those that would change the shape of the arm."""
STEPS = {"arm": 3.0, "reach": 2.0, "compliance": 2.0, "vibration": 12.0}


def make_link(body: Body, length: float) -> FlexibleBodyData:
    """Data of a link along z with mass, centre and inertia of a rigid body."""
    frame = Frame(body.name)
    names = ["root", "station1", "station2", "station3", "tip"]
    frame.add_points(names, [[0.0, 0.0, length * z] for z in STATIONS])
    for a, b in pairwise(names):
        frame.add_beam(f"{a} to {b}", a, b, section=TUBE, material="aluminium", elements=1)
    how: dict[str, Any] = {"basis": "clamped", "fixed": "root", "modes": 2, "damping": DAMPING, "stiffening": False}
    tube = flexible_body(frame, **how)
    own = tube.inertia - tube.mass * (tube.center @ tube.center * np.eye(3) - np.outer(tube.center, tube.center))
    mass = float(body.mass) - tube.mass
    along = mass * length**2 * float(SHARES @ (STATIONS - 0.5) ** 2)
    turning = np.array(body.inertia, dtype=np.float64) - own - along * np.diag([1.0, 1.0, 0.0])
    for name, share in zip(names, SHARES, strict=True):
        frame.add_mass(f"housing at {name}", name, share * mass, inertia=share * turning)
    return flexible_body(frame, nodes=["root", "tip"], static="tip", **how)


def make_arm() -> da.Mechanism:
    """The arm with two flexible links."""
    m = da.read_model("seven-joint-arm")
    for name, (root, tip, length) in LINKS.items():
        m.make_flexible(name, make_link(m[name], length), nodes={root: "root", tip: "tip"})
    m.add_sensor("place", da.position(m["tip"]))
    return m


def load_tip(m: da.Mechanism) -> None:
    """Forces and moments at the tip as inputs."""
    for k, axis in enumerate("xyz"):
        along = np.eye(3)[k].tolist()
        m.add_force(f"push_{axis}", m["tip"].at(0, 0, 0), along, input=f"force_{axis}")
        m.add_torque(f"twist_{axis}", m["tip"], along, input=f"moment_{axis}")


def rest(eqs: da.EquationsOfMotion, near: State, inputs: dict[str, float] | None = None) -> FloatArray:
    """Pose (4, 4) of the tip with the joints of a state held by their motors, under loads."""
    joints = {joint: near[f"{joint}.angle"] for joint in JOINTS}
    still = da.equilibrium(eqs, start=near, hold=joints, efforts=list(joints), inputs=inputs)
    pose: FloatArray = da.tree.forward_kinematics(eqs, still, "tip")
    return pose


def compliance_errors(eqs: da.EquationsOfMotion, state: State, C: FloatArray) -> dict[str, float]:
    """Largest error of each column, of its displacements and of its turns, against half the difference of two rests."""
    errors = {"displacements": 0.0, "turns": 0.0}
    loads = [(f"{kind}_{axis}", size) for kind, size in PUSH.items() for axis in "xyz"]
    for k, (name, size) in enumerate(loads):
        poses = [rest(eqs, state, {name: sign * size}) for sign in (1.0, -1.0)]
        moved = (poses[0][:3, 3] - poses[1][:3, 3]) / (2 * size)
        turn = da.rotation(matrix=poses[0][:3, :3] @ poses[1][:3, :3].T)
        turned = np.array([float(x) for x in turn.vector]) / (2 * size)
        for part, found, rows in (("displacements", moved, slice(3)), ("turns", turned, slice(3, 6))):
            errors[part] = max(errors[part], float(np.linalg.norm(C[rows, k] - found) / np.linalg.norm(found)))
    return errors


def follow(eqs: da.EquationsOfMotion, start: State, motion: da.Record) -> da.Record:
    """A run in which the joints follow the accelerations of a motion, and stay at its end."""
    channels = {f"{joint}.motion": np.append(motion[f"{joint}.acceleration"], 0.0) for joint in JOINTS}
    until = float(motion.time[-1]) + AFTERWARDS
    time = np.append(motion.time, until + 1.0)
    inputs = da.Record.from_channels(time, channels, units=dict.fromkeys(channels, "rad/s^2"))
    method = da.GeneralizedAlpha(step=EVERY)
    return da.simulate(eqs, until, start=start, inputs=inputs, method=method, every=EVERY, progress=False)


def vibration(run: da.Record, end: float) -> FloatArray:
    """Displacement (n, 3) of the tip from its mean after the end of a motion [m]."""
    place = np.column_stack([run[f"place.{axis}"] for axis in "xyz"])[run.time >= end]
    moved: FloatArray = place - place.mean(axis=0)
    return moved


def locked_modes(pose: State) -> Modes:
    """Modes of the arm that hangs in a pose with its joints locked."""
    m = make_arm()
    for joint in JOINTS:
        m.add_driver(f"{joint}.lock", f"{joint}.angle", pose[f"{joint}.angle"])
    eqs = da.equations(m, coordinates="joint")
    return da.linearize(eqs, at=da.equilibrium(eqs)).modes()


def study() -> Outcome:
    """Reach, compliance and shaped motions of the flexible arm."""
    step("arm")
    m, held = make_arm(), make_arm()
    load_tip(m)
    eqs = da.equations(m, coordinates="joint")
    step("reach")
    begin = da.assemble(eqs, {"joint2": 0.6, "joint4": 1.2, "joint6": 0.6})
    stiff = da.tree.inverse_kinematics(eqs, {"tip": TARGETS[0]}, start=begin)
    poses = [da.tree.inverse_kinematics(eqs, {"tip": TARGETS[0]}, start=begin, elastic="static")]
    poses.append(da.tree.inverse_kinematics(eqs, {"tip": TARGETS[1]}, start=poses[0], elastic="static"))
    reached = [float(np.linalg.norm(rest(eqs, pose)[:3, 3] - goal)) for pose, goal in zip(poses, TARGETS, strict=True)]
    sag = rest(eqs, stiff)[:3, 3] - TARGETS[0]
    step("compliance")
    C = da.tree.compliance(eqs, poses[0], "tip")
    errors = compliance_errors(eqs, poses[0], C)
    step("vibration")
    modes = [locked_modes(pose) for pose in poses]
    points = {f"{joint}.angle": [pose[f"{joint}.angle"] for pose in poses] for joint in JOINTS}
    plain = da.tree.quintic(eqs, points, DURATION, every=EVERY)
    motions = {"unshaped": plain}
    motions |= {kind: da.tree.shape_input(plain, modes, kind, lowest=LOWEST) for kind in SHAPERS}
    for joint in JOINTS:
        held.add_driver(f"{joint}.drive", f"{joint}.angle", input=f"{joint}.motion")
    driven = da.equations(held, coordinates="joint")
    start = da.assemble(driven, {joint: poses[0][f"{joint}.angle"] for joint in JOINTS}, elastic="static")
    runs = {name: follow(driven, start, motion) for name, motion in motions.items()}
    left = {name: vibration(run, float(motions[name].time[-1])) for name, run in runs.items()}
    sizes = {name: rms(np.linalg.norm(moved, axis=1)) for name, moved in left.items()}
    results = {
        "links": {name: {"mass_kg": float(m[name].mass), "frequencies_hz": m[name].flexible.frequencies_hz}
                  for name in LINKS},
        "reach": {"targets_m": TARGETS, "tip_error_m": max(reached), "error_without_sag_m": float(np.linalg.norm(sag)),
                  "sag_m": sag, "joints_rad": {joint: poses[0][f"{joint}.angle"] for joint in JOINTS}},
        "compliance": {"matrix": C, "relative_error": errors},
        "vibration": {
            "modes_hz": [one.frequencies_hz[:4] for one in modes],
            "limits_exceeded": [finding.text() for finding in da.tree.check_limits(eqs, plain)],
            "duration_s": {name: float(motion.time[-1]) for name, motion in motions.items()},
            "rms_m": sizes,
            "percent": {kind: 100 * sizes[kind] / sizes["unshaped"] for kind in SHAPERS},
        },
    }  # fmt: skip
    words = "The unshaped motion, five times slower than real; the slider enlarges the deformation."
    return Outcome(
        "A robot with flexible links", results, _pieces(results, runs, motions, left),
        {"seeds": "none: nothing is random"}, model=(m, eqs),
        moving=[Moving("arm", da.animate(runs["unshaped"], speed=0.2, trail="tip"), words)],
    )  # fmt: skip


def _pieces(
    results: dict[str, Any], runs: dict[str, da.Record], motions: dict[str, da.Record], left: dict[str, FloatArray]
) -> list[Piece]:
    reach, shaken = results["reach"], results["vibration"]
    worst, whole = max(results["compliance"]["relative_error"].values()), shaken["rms_m"]["unshaped"]
    first = Text(
        f"The arm sags by {1e3 * reach['error_without_sag_m']:.2f} mm at its first target. Poses that reckon with the "
        f"sag bring the tip there to {reach['tip_error_m']:.0e} m. The compliance at the tip agrees with static "
        f"solutions under small loads to {worst:.0e}. After a motion of {DURATION:g} s the tip vibrates by "
        f"{1e3 * whole:.2f} mm (rms); shaped for its {LOWEST} lowest modes it keeps "
        + ", ".join(f"{value:.2g} % ({kind.upper()})" for kind, value in shaken["percent"].items())
        + " of this."
    )
    rows = [
        (name, f"{shaken['duration_s'][name]:.3f}", f"{1e3 * size:.4f}", f"{100 * size / whole:.2g}")
        for name, size in shaken["rms_m"].items()
    ]
    columns = ("motion", "takes [s]", "vibration of the tip, rms [mm]", "of the unshaped one [%]")
    with mpl.rc_context(STYLE):
        figure = new_figure(8.5, 4.6)
        over, under = figure.subplots(2, 1)
        for name, color in zip(runs, (GREY, RED, BLUE), strict=False):
            over.plot(motions[name].time, motions[name]["joint1.rate"], color=color, label=name)
            after = np.arange(len(left[name])) * EVERY
            under.plot(after, 1e3 * left[name][:, 2], color=color, label=name)
        over.set_ylabel("joint 1 [rad/s]")
        over.set_xlabel("time [s]")
        under.set_ylabel("tip, z [mm]")
        under.set_xlabel("time after the end of the motion [s]")
        over.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    frequencies = ["; ".join(f"{hz:.1f}" for hz in pose) for pose in shaken["modes_hz"]]
    return [
        first,
        Table(columns, tuple(rows), "Vibration after the motion"),
        Text(f"Modes with held joints at both ends of the motion: {frequencies[0]} Hz and {frequencies[1]} Hz."),
        Picture("vibration", figure, "Speed of the first joint, and height of the tip after the end of each motion."),
    ]
