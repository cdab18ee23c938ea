"""Masses, inertias, friction and motor inertia of a six-joint arm from its motion and torques.

The drawing is the arm of the library. The arm that is measured differs from it: other masses, centres of mass and
inertias, friction in every joint and motors behind gears. Its drives follow a designed motion; encoders and torques
are noisy. The parameters found predict the torques of another motion.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.resources import as_file, files
from typing import Any

import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.progress import step
from dalembert.equations import EquationsOfMotion
from dalembert.identify import IdentifiedRobot
from dalembert.identify.robot.changed_mechanism import NewInertia, change_inertia
from dalembert.studies.runner import Outcome
from dalembert.view.plots.figures import BLUE, COLORS, GREY, INK, RED, STYLE, new_figure, tiles
from dalembert.view.reports.pages import Heading, Listing, Moving, Picture, Piece, Table, Text

STEPS = {"excitation": 6.0, "measurement": 20.0, "another motion": 10.0, "identification": 3.0}
SEED = 3
PERIOD, STEP = 10.0, 1e-3
JOINTS = tuple(f"q{k}" for k in range(1, 7))
INPUTS = tuple(f"u{k}" for k in range(1, 7))
LIMITS = {name: {"lower": -2.0, "upper": 2.0, "speed": 2.0, "acceleration": 8.0} for name in JOINTS} | {
    "q2": {"lower": -1.8, "upper": 0.6, "speed": 2.0, "acceleration": 8.0}
}
VISCOUS = (6.0, 4.0, 3.0, 1.0, 1.0, 0.5)  # N m s/rad
COULOMB = (5.0, 6.0, 4.0, 1.0, 0.8, 0.4)  # N m
SPEED = 0.05  # rad/s, of the friction law
ROTORS = (1.2, 1.0, 0.5, 0.1, 0.08, 0.04)  # kg m² at the joints
RATIO = 100.0
ENCODER = 2e-5  # rad, standard deviation
TORQUE = (0.8, 0.8, 0.5, 0.1, 0.1, 0.05)  # N m, standard deviation
STIFFNESS = (4000.0, 4000.0, 2000.0, 400.0, 300.0, 150.0)  # N m/rad of the drives
DAMPING = (150.0, 150.0, 80.0, 12.0, 10.0, 5.0)  # N m s/rad of the drives
ASSUMED = (
    "Masses off by up to 20 %, centres of mass by some 2 cm, second moments by some 20 %: random, and possible.",
    f"Coulomb friction of {', '.join(f'{x:g}' for x in COULOMB)} N m, which reverses smoothly within {SPEED:g} rad/s "
    f"(known), viscous friction of {', '.join(f'{x:g}' for x in VISCOUS)} N m s/rad; the drawing has viscous friction "
    "in two joints.",
    f"Motors of {', '.join(f'{x:g}' for x in ROTORS)} kg m² at the joints; the drawing has none.",
    f"Drives sampled every {1e3 * STEP:g} ms: torques of the drawing, plus stiffness and damping on the error. They "
    "report the mean torque around each sample.",
    f"Encoders with {ENCODER:g} rad of white noise, torques with {', '.join(f'{x:g}' for x in TORQUE)} N m; speeds are "
    "not measured.",
    "Limits of ±2 rad (second joint -1.8 to 0.6 rad), 2 rad/s and 8 rad/s².",
)


@dataclass(frozen=True)
class Measurement:
    """A run of the true arm, and the readings of its encoders and drives."""

    run: da.Record
    record: da.Record


def read_arm() -> da.Mechanism:
    """The arm of the library."""
    with as_file(files("dalembert") / "library" / "six-joint-arm.toml") as path:
        return da.read_model(path)


def true_arm(seed: int = SEED, *, motors: bool = True) -> da.Mechanism:
    """The arm that is measured: every body other than drawn, with friction and motors (or its bodies alone)."""
    m, rng = read_arm(), np.random.default_rng(seed)
    changes = {}
    for body in m.bodies:
        J = np.array([[float(x) for x in row] for row in body.inertia])
        J = J + 0.05 * J.max() * np.eye(3)  # no body is as thin as a drawn rod
        moments = 0.5 * np.trace(J) * np.eye(3) - J
        stretch = np.eye(3) + 0.1 * rng.normal(size=(3, 3))
        moments = stretch @ moments @ stretch.T
        heavier = float(rng.uniform(0.8, 1.2))
        changes[body.name] = NewInertia(
            heavier * float(body.mass), 0.02 * rng.normal(size=3), heavier * (np.trace(moments) * np.eye(3) - moments)
        )
    arm = change_inertia(m, changes)
    arm.forces = [force for force in arm.forces if force.kind != "friction"]
    for k, joint in enumerate(JOINTS if motors else ()):
        arm.add_friction(f"{joint}_friction", joint=joint, viscous=VISCOUS[k], effort=COULOMB[k], speed=SPEED)
        arm.add_rotor(f"{joint}_rotor", joint=joint, inertia=ROTORS[k] / RATIO**2, ratio=RATIO)
    return arm


def drive(eqs: EquationsOfMotion, plan: da.Record) -> tuple[Any, dict[str, da.Record]]:
    """The law of the drives, and its references: the plan, and the torques that the drawing takes for it."""
    torques = da.tree.inverse_dynamics(eqs, plan)
    names = [f"{joint}.{what}" for what in ("wanted", "wanted_rate", "feedforward") for joint in JOINTS]
    values = [plan[[f"{j}.angle" for j in JOINTS]], plan[[f"{j}.rate" for j in JOINTS]], torques]
    wanted = da.Record(plan.time, np.hstack(values), names)

    def law(s: Any) -> list[Any]:
        return [
            s.reference(f"{j}.feedforward")
            + STIFFNESS[k] * (s.reference(f"{j}.wanted") - s[f"{j}.angle"])
            + DAMPING[k] * (s.reference(f"{j}.wanted_rate") - s[f"{j}.rate"])
            for k, j in enumerate(JOINTS)
        ]

    return da.control.custom_law("drives", law, INPUTS, dt=STEP), dict.fromkeys(names, wanted)


def measure(eqs: EquationsOfMotion, arm: EquationsOfMotion, plan: da.Record, seed: int) -> Measurement:
    """The true arm on a plan, and the noisy record of it."""
    law, references = drive(eqs, plan)
    start = da.assemble(arm, {joint: float(plan[f"{joint}.angle"][0]) for joint in JOINTS})
    until = float(plan.time[-1])
    run = da.simulate(arm, until, start=start, controller=law, references=references, every=STEP)
    rng = np.random.default_rng(seed)
    angles, torques = (np.array(run[list(names)]) for names in ([f"{j}.angle" for j in JOINTS], INPUTS))
    torques[1:] = 0.5 * (torques[1:] + torques[:-1])  # a torque is held until the next sample
    values = np.hstack([
        angles + ENCODER * rng.normal(size=angles.shape), torques + np.array(TORQUE) * rng.normal(size=torques.shape)
    ])  # fmt: skip
    record = da.Record(
        run.time, values, [*(f"{j}.angle" for j in JOINTS), *INPUTS], ["rad"] * 6 + ["N m"] * 6, name="arm"
    )
    return Measurement(run, record)


def true_parameters(found: IdentifiedRobot, arm: da.Mechanism) -> FloatArray:
    """Dynamic parameters of the true arm, in the order of the result."""
    bodies = da.tree.dynamic_parameters(da.equations(arm, coordinates="joint")).values  # a tree has bodies only
    return np.concatenate([bodies, np.column_stack([VISCOUS, COULOMB, ROTORS]).ravel()])


def prediction_errors(found: IdentifiedRobot, record: da.Record) -> tuple[da.Record, FloatArray]:
    """Predicted torques of a record, and measured minus predicted ones in units of the noise."""
    predicted = found.predict(record)
    part = record.between(float(predicted.time[0]), float(predicted.time[-1]))
    return predicted, np.asarray((part[list(INPUTS)] - predicted[list(INPUTS)]) / np.array(TORQUE))


def study(period: float = PERIOD) -> Outcome:
    """Design, measure, identify, predict."""
    step("excitation")
    m, arm = read_arm(), true_arm()
    eqs, true = da.equations(m, coordinates="joint"), da.equations(arm, coordinates="joint")
    plan, random, other = (
        da.identify.excitation(eqs, period, limits=LIMITS, rotors=True, seed=seed, iterations=iterations)
        for seed, iterations in ((0, 200), (1, 0), (2, 0))
    )
    step("measurement")
    test = measure(eqs, true, plan, SEED)
    step("another motion")
    held_out = measure(eqs, true, other, SEED + 1)
    step("identification")
    found = da.identify.robot(eqs, test.record, rotors=True, speed=SPEED)
    predicted, errors = prediction_errors(found, held_out.record)
    truth = true_parameters(found, arm)
    z = (found.base_values - found.base.from_parameters(truth)) / found.base_deviations
    _, by_drawing = prediction_errors(without_changes(found), held_out.record)
    results: dict[str, Any] = {
        "base_parameter_count": found.base.count,
        "inertial_base_parameter_count": da.tree.base_parameters(eqs).count,
        "torque_rms_over_noise": float(np.sqrt(np.mean(errors**2))),
        "torque_rms_over_noise_by_joint": dict(zip(JOINTS, np.sqrt((errors**2).mean(axis=0)), strict=True)),
        "torque_rms_over_noise_of_drawing": float(np.sqrt(np.mean(by_drawing**2))),
        "largest_error_in_deviations": float(np.abs(z).max()),
        "rms_error_in_deviations": float(np.sqrt(np.mean(z**2))),
        "condition_number": {
            "designed": plan.statistics["condition number"], "random": random.statistics["condition number"]
        },
        "condition_number_of_record": found.condition,
        "physically_consistent": found.physically_consistent,
        "smallest_eigenvalues": found.smallest_eigenvalues,
        "noise_found_over_true": dict(zip(JOINTS, found.noise / np.array(TORQUE), strict=True)),
        "cutoff_hz": found.provenance["filtered_at_hz"][0],
        "deviations_by": found.provenance["deviations"],
        "fit_percent": dict(zip(JOINTS, found.fit.percent, strict=True)),
        "warnings": [one.text() for one in found.findings],
    }  # fmt: skip
    moving = Moving(
        "excitation", da.animate(test.run, speed=1.0),
        "One period of the designed motion, as the arm makes it. It begins and ends at rest.",
    )  # fmt: skip
    pieces = _pieces(results, found, truth, z, plan, random, held_out.record, predicted, m, arm)
    return Outcome(
        "Identification of a six-joint arm from motion and torque", results, pieces,
        {"seed": SEED, "data": "simulated: the arm of the library with other parameters"}, moving=[moving],
        model=(m, eqs),
    )  # fmt: skip


def without_changes(found: IdentifiedRobot) -> IdentifiedRobot:
    """The same result with nothing changed from the drawing."""
    kept = {field.name: getattr(found, field.name) for field in fields(found)}
    return IdentifiedRobot(**{**kept, "values": np.array(found.first)})


# -- report --------------------------------------------------------------------------------------------------------


def _pieces(
    results: dict[str, Any], found: IdentifiedRobot, truth: FloatArray, z: FloatArray, plan: da.Record,
    random: da.Record, record: da.Record, predicted: da.Record, m: da.Mechanism, arm: da.Mechanism,
) -> list[Piece]:  # fmt: skip
    number = results["condition_number"]
    possible = "Bodies that exist" if results["physically_consistent"] else "No possible bodies"
    first = Text(
        f"{results['base_parameter_count']} combinations of masses, inertias, friction and motor inertia of the arm "
        f"were found from {PERIOD:g} s of encoder angles and torques. On another motion they predict the torques to "
        f"{results['torque_rms_over_noise']:.3f} times the noise of the torques (the drawing alone: "
        f"{results['torque_rms_over_noise_of_drawing']:.0f} times). The errors of the estimates are at most "
        f"{results['largest_error_in_deviations']:.1f} of their standard deviations. The designed motion has a "
        f"condition number of {number['designed']:.1f}, a random one {number['random']:.1f}. {possible} have the "
        "parameters found."
    )
    with mpl.rc_context(STYLE):
        pictures = (
            Picture("motion", _plot_motion(plan, random), "One period of the designed and of a random motion."),
            Picture("torques", _plot_torques(record, predicted),
                    "Torques of the other motion: measured (grey) and predicted (blue); the error below (red)."),
            Picture("errors", _plot_errors(found, z),
                    "Errors of the base parameters in standard deviations. 95 % of them should lie in the band."),
        )  # fmt: skip
    return [
        first, Heading("The motion"), pictures[0], Heading("Torques of another motion"), pictures[1],
        Heading("Parameters"), pictures[2], _joint_table(found, truth), _body_table(found, m, arm),
        _base_table(found, truth, z), Heading("What was assumed"), Listing(ASSUMED),
    ]  # fmt: skip


def _joint_table(found: IdentifiedRobot, truth: FloatArray) -> Table:
    rows = []
    for joint in JOINTS:
        cells = [joint]
        for term in ("viscous", "coulomb", "rotor"):
            k = found.parameters.index(f"{joint}.{term}")
            cells += [f"{found.first[k]:.3g}", f"{found.values[k]:.3g}", f"{truth[k]:.3g}"]
        rows.append(tuple(cells))
    kinds = ("drawn", "found", "true")
    head = ("joint", *(f"{what} {kind}" for what in ("viscous", "Coulomb", "motor") for kind in kinds))
    words = (
        "Friction [N m s/rad, N m] and motor inertia [kg m²] of the joints. Torques show the motors of the first two "
        "joints only together with the inertia of bodies; possible bodies near to the drawing decide the shares."
    )
    return Table(head, tuple(rows), words)


def _body_table(found: IdentifiedRobot, m: da.Mechanism, arm: da.Mechanism) -> Table:
    new = found.mechanism(m)
    rows = []
    for drawn, body, true in zip(m.bodies, new.bodies, arm.bodies, strict=True):
        c, d = (np.array([float(x) for x in one.center]) * 1e3 for one in (body, true))
        rows.append((
            drawn.name, f"{float(drawn.mass):.3g}", f"{float(body.mass):.3g}", f"{float(true.mass):.3g}",
            ", ".join(f"{x:.0f}" for x in c), ", ".join(f"{x:.0f}" for x in d),
            f"{found.smallest_eigenvalues[body.name]:.2g}",
        ))  # fmt: skip
    head = ("body", "mass drawn [kg]", "found", "true", "centre found [mm]", "true", "smallest eigenvalue")
    words = (
        "Bodies that have the combinations found, near to the drawing in all that torques do not show; centres of mass "
        "are measured from the drawn ones. A body with a positive eigenvalue of its pseudo-inertia is possible."
    )
    return Table(head, tuple(rows), words)


def _base_table(found: IdentifiedRobot, truth: FloatArray, z: FloatArray) -> Table:
    true = found.base.from_parameters(truth)
    rows = tuple(
        (name, f"{found.base_first[k]:.4g}", f"{found.base_values[k]:.4g}", f"{found.base_deviations[k]:.1g}",
         f"{true[k]:.4g}", f"{z[k]:+.1f}")
        for k, name in enumerate(found.base.labels)
    )  # fmt: skip
    head = ("base parameter", "drawn", "found", "deviation", "true", "error [deviations]")
    return Table(head, rows, "SI units.", folded=f"All {len(rows)} base parameters")


def _plot_motion(plan: da.Record, random: da.Record) -> Any:
    figure = new_figure(8.5, 4.2)
    axes: Any = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, (run, name) in enumerate(((plan, "designed"), (random, "random"))):
        number = run.statistics["condition number"]
        axes[0, column].set_title(f"{name}, condition number {number:.1f}", fontsize=10)
        for joint, colour in zip(JOINTS, COLORS, strict=False):
            axes[0, column].plot(run.time, run[f"{joint}.angle"], color=colour, lw=1.0, label=joint)
            axes[1, column].plot(run.time, run[f"{joint}.rate"], color=colour, lw=1.0)
        axes[1, column].set_xlabel("time [s]")
    axes[0, 0].set_ylabel("angle [rad]")
    axes[1, 0].set_ylabel("speed [rad/s]")
    axes[0, 1].legend(fontsize=7, ncols=3, loc="upper right")
    return figure


def _plot_torques(record: da.Record, predicted: da.Record) -> Any:
    figure, axes = tiles(6, 2, 4.2, 1.8)
    part = record.between(float(predicted.time[0]), float(predicted.time[-1]))
    for ax, joint, channel in zip(axes, JOINTS, INPUTS, strict=False):
        ax.plot(part.time, part[channel], color=GREY, lw=0.6)
        ax.plot(predicted.time, predicted[channel], color=BLUE, lw=0.9)
        error = part[channel] - predicted[channel]
        low = min(float(part[channel].min()), float(predicted[channel].min()))
        ax.plot(part.time, error + low - 2.0 * float(np.abs(error).max()), color=RED, lw=0.5)
        ax.set_ylabel(f"{joint} [N m]")
        ax.set_xlabel("time [s]")
    return figure


def _plot_errors(found: IdentifiedRobot, z: FloatArray) -> Any:
    figure = new_figure(8.5, 3.2)
    ax: Any = figure.subplots()
    ax.axhspan(-1.96, 1.96, color=GREY, alpha=0.2, lw=0)
    ax.axhline(0.0, color=GREY, lw=0.8)
    inertial = np.array([not label.startswith(JOINTS) for label in found.base.labels])
    where = np.arange(len(z))
    ax.plot(where[inertial], z[inertial], "o", color=BLUE, ms=4, label="bodies")
    ax.plot(where[~inertial], z[~inertial], "s", color=INK, ms=4, label="friction and motors")
    ax.set_xlabel("base parameter")
    ax.set_ylabel("error [deviations]")
    ax.set_ylim(-1.1 * max(4.0, float(np.abs(z).max())), 1.1 * max(4.0, float(np.abs(z).max())))
    ax.legend(fontsize=8, loc="upper right")
    return figure
