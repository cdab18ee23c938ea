"""Dynamic parameters of a robot from records of motion and torque.

`measured_motion` filters and differentiates, `torque_balance` makes the linear equations, `weighted_least_squares`
solves them for the base parameters, `physical_consistency` finds bodies that have these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dalembert.core.arguments import positive_number
from dalembert.core.arrays import BoolArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.progress import Progress, Setting
from dalembert.core.text import count_noun
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.identify.machine.records import Names
from dalembert.identify.model.quality import Fit
from dalembert.identify.records.checks import find_name, list_records, require_samples
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.robot.identified_robot import IdentifiedRobot, predict_efforts
from dalembert.identify.robot.measured_motion import MeasuredMotion, read_channels, read_motions
from dalembert.identify.robot.physical_consistency import ConsistentParameters, find_consistent, smallest_eigenvalue
from dalembert.identify.robot.torque_balance import TorqueBalance
from dalembert.identify.robot.weighted_least_squares import Triangles, WeightedEstimate, batch_covariance, estimate
from dalembert.mechanics.forces.friction import SMOOTH
from dalembert.record import Record
from dalembert.tree.base_parameters import BaseParameters, base_parameters
from dalembert.tree.evaluation import require_tree
from dalembert.tree.regressor import Names as Labels
from dalembert.tree.regressor import count_inertial, dynamic_parameters, read_joint_columns


@report_findings
def robot(
    eqs: EquationsOfMotion, record: Record | Sequence[Record], *, inputs: Names = None, motion: Names = None,
    friction: Labels = ("viscous", "coulomb"), rotors: bool = False, joints: Labels | None = None, speed: float = 0.0,
    weights: Mapping[str, float] | None = None, cutoff_hz: float | None = None, decimate: int | None = None,
    consistent: bool = True, progress: Setting = None,
) -> IdentifiedRobot:  # fmt: skip
    """Identify masses, centres of mass, inertias, friction and motor inertia of a robot.

    Torques are linear in these parameters. Weighted least squares estimates the combinations that motions determine
    (`da.tree.base_parameters`), with standard deviations and the noise of each joint. Then the function finds
    physically possible bodies with the estimated combinations that are near to the drawing in all others.

    Parameters
    ----------
    eqs : equations of the drawing in joint coordinates. Other forces (springs, stops) act as drawn.
    record : Record or a sequence of them, uniformly sampled, with the positions of the joints and their torques
        Speeds and accelerations are taken where the record has them, else positions are differentiated.
    inputs : channels of the torques, named like inputs of ``eqs``, or a mapping of inputs or joints to channels
        All inputs when left out. Joints that no input drives have zero torque.
    motion : coordinates (speeds, accelerations) to channels; by their own names when left out
    friction : terms of joint friction to identify: "viscous", "coulomb", "offset"
    rotors : identify the inertia of the motors too, as it acts at the joints
    joints : which joints have friction and rotors; all when left out
    speed : of the smooth friction law v / √(v² + speed²) [rad/s, m/s]
        0 takes the sign of v; samples at which a joint hardly moves are then left out, since it may stick.
    weights : mapping of a torque channel to 1 / (standard deviation of its noise), for all
        Estimated from the residuals where not given.
    cutoff_hz : of the zero-phase low-pass filter of the motion
        From the spectrum of the positions when left out; none where they have no noise.
    decimate : keep every n-th sample, after a filter against aliasing; noise that is not white becomes whiter
    consistent : find possible bodies; False keeps undetermined parameters as drawn, also where no body has them
    progress : None, True, False or a function of the fraction done

    Returns
    -------
    IdentifiedRobot
        ``result.table()``, ``result.predict(record)``, ``result.mechanism(m)``.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> arm = m.add_body("arm", mass=2.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("shoulder", m.ground.at(0, 0), arm.at(-0.5, 0))
    >>> motor = m.add_actuator("motor", "shoulder", input="torque")
    >>> eqs = da.equations(m, coordinates="joint")
    >>> run = da.simulate(eqs, 6.0, inputs={"torque": lambda t: 5 * da.sin(2 * t)}, every=0.01)
    >>> found = robot(eqs, run, friction=())
    >>> round(found["arm.J"], 6), round(found["arm.hx"], 6)
    (0.666667, 1.0)
    """
    require_tree(eqs)
    runs = list_records(record)
    columns = read_joint_columns(eqs, friction, rotors, joints, speed)
    channels = read_channels(eqs, runs, motion, inputs, efforts=True)
    balance = TorqueBalance(eqs, channels, columns)
    noise = _given_noise(balance, weights)
    with Progress(progress, "robot") as bar:
        base = base_parameters(eqs, friction=friction, rotors=rotors, joints=joints)
        drawn = dynamic_parameters(eqs, friction=friction, rotors=rotors, joints=joints)
        first = np.array(drawn.values)
        first[len(first) - len(columns.names) :] = balance.drawn_values()
        bar.update(0.1)
        motions, findings = read_motions(eqs, runs, channels, cutoff_hz=cutoff_hz, decimate=decimate)
        motions = _hold_resting_joints(balance, motions)
        bar.update(0.3)
        used = [_used_rows(balance, each, motions) for each in motions]
        data, spread, doubts = _compress(balance, base, first, motions, used)
        findings += doubts + _resting_joints(balance, motions)
        bar.update(0.6)
        result = estimate(data, spread, noise, max(each.error for each in motions))
        result, method = _judge_deviations(balance, base, motions, used, result)
        bar.update(0.8)
        change, distance, converged = _all_parameters(eqs, balance, base, result, first, consistent)
        bar.update(0.9)
    rows = [predict_efforts(balance, each, change, f"{eqs.name} predicted") for each in motions]
    agreement = _fit(balance, rows, spread)
    values = first + change
    possible, doubts = _judge_bodies(eqs, base, result, values, distance)
    findings += _judge_data(balance, base, data, result, agreement, noise) + doubts
    notes = [f"warning: {each.problem}" for each in findings]
    notes += _notes(base, result, method, motions, converged)
    return IdentifiedRobot(
        equations=eqs, columns=columns, base=base, base_values=base.from_parameters(first) + result.x,
        base_first=base.from_parameters(first), base_deviations=result.deviations, covariance=result.covariance,
        parameters=drawn.names, units=drawn.units, values=values, first=first, physically_consistent=possible,
        noise=result.noise, condition=result.condition, predicted=tuple(each for each, _, _ in rows),
        errors=tuple(missed for _, missed, _ in rows), fit=agreement, notes=tuple(notes), findings=tuple(findings),
        provenance={
            "made by": "da.identify.robot", "motion": dict(channels.motion), "named motion": motion is not None,
            "inputs": dict(channels.inputs), "efforts": dict(channels.efforts), "units": dict(channels.units),
            "cutoff_hz": cutoff_hz, "decimate": decimate, "deviations": method, "rounds": result.iterations,
            "distance": distance, "filtered_at_hz": [each.cutoff_hz for each in motions],
        },
    )  # fmt: skip


# -- data ----------------------------------------------------------------------------------------------------------


def _given_noise(balance: TorqueBalance, weights: Mapping[str, float] | None) -> Array | None:
    if weights is None:
        return None
    for name in weights:
        find_name("torque channel", name, balance.names, "weights")
    lacking = [name for name in balance.names if name not in weights]
    if lacking:
        raise DataError(
            "missing-argument", f"weights need one entry for every torque; {lacking[0]!r} is missing.",
            where={"argument": "weights", "channel": lacking[0]},
        )  # fmt: skip
    return np.array([1.0 / positive_number(f"the weight of {name!r}", weights[name]) for name in balance.names])


def _largest_speeds(balance: TorqueBalance, motions: Sequence[MeasuredMotion]) -> Array:
    driven = [row.speed for row in balance.rows]
    return np.asarray(np.max([np.abs(motion.v[:, driven]).max(axis=0) for motion in motions], axis=0))


def _hold_resting_joints(balance: TorqueBalance, motions: Sequence[MeasuredMotion]) -> list[MeasuredMotion]:
    """The motions without speeds and accelerations of joints at rest: noise there would pass for excitation."""
    still = [row.speed for row, top in zip(balance.rows, _largest_speeds(balance, motions)) if top <= SMOOTH]
    moving = ~np.isin(np.arange(balance.eqs.nv), still)
    return [replace(motion, v=motion.v * moving, a=motion.a * moving) for motion in motions]


def _used_rows(
    balance: TorqueBalance, motion: MeasuredMotion, motions: Sequence[MeasuredMotion], standstill: float = 0.01
) -> BoolArray:
    """(N, rows) whether a joint's row counts: one with Coulomb friction by the sign of its speed must move.

    standstill : speed of a joint over its largest, below which its Coulomb friction is not known: it may stick, or
    noise changes the sign of its speed.
    """
    driven = [row.speed for row in balance.rows]
    used = np.ones((len(motion.t), len(driven)), dtype=bool)
    if "coulomb" not in balance.columns.terms or balance.columns.speed > 0:
        return used
    least = np.maximum(standstill * _largest_speeds(balance, motions), SMOOTH)
    dry = np.isin(driven, balance.columns.speeds)
    return used & (~dry | (np.abs(motion.v[:, driven]) > least))


def _compress(
    balance: TorqueBalance, base: BaseParameters, first: Array, motions: Sequence[MeasuredMotion],
    used: Sequence[BoolArray], fewest_rows: float = 2.0, wrong_sign: float = -0.5,
) -> tuple[Triangles, Array, list[Finding]]:  # fmt: skip
    """Data of each joint, spread of its efforts, and joints whose efforts have the wrong sign.

    fewest_rows : rows over base parameters: fewer than 2 are too few to estimate the noise, and 10 give it within 25 %.
    wrong_sign : correlation of the measured efforts with those of the drawing: a drawing that is off by half its masses
    gives 0.8.
    """
    count = len(balance.rows)
    data, efforts, drawn, parts = Triangles.empty(count, base.count), [], [], []
    for motion, rows in zip(motions, used, strict=True):
        for span, block in balance.blocks(motion):
            data = data.add(block.Y[:, :, list(base.kept)], block.target, rows[span])
            efforts.append(block.effort)
            drawn.append(block.effort - block.target)
            parts.append(np.abs(block.Y * first).max(axis=2))
    require_samples(
        data.counts.sum(), fewest_rows * base.count,
        f"{int(data.counts.sum())} measured efforts of moving joints are too few for {base.count} base parameters.",
        Advice("Record longer, with all joints in motion."), noun="rows",
    )  # fmt: skip
    measured, expected = np.vstack(efforts), np.vstack(drawn)
    spread = measured.std(axis=0)
    passive = np.array([row.input < 0 and row.speed not in balance.channels.efforts for row in balance.rows])
    # where the effort is zero, its parts cancel
    spread = np.where(passive | (spread == 0.0), np.sqrt((np.vstack(parts) ** 2).mean(axis=0)) + 1e-12, spread)
    findings = []
    for k, row in enumerate(balance.rows):
        sizes = measured[:, k].std() * expected[:, k].std()
        if passive[k] or not sizes > 0.0:
            continue
        along = float(
            np.mean((measured[:, k] - measured[:, k].mean()) * (expected[:, k] - expected[:, k].mean())) / sizes
        )
        if along < wrong_sign:
            findings.append(Finding(
                "wrong-sign",
                f"the torque {row.channel!r} is opposed to that of the drawing (correlation {along:.2f}): its sign, or "
                f"that of joint {row.label!r}, seems wrong.",
                {"channel": row.channel, "joint": row.label}, {"correlation": along},
                (Advice("Change the sign of the channel, or of the axis of the joint."),),
            ))  # fmt: skip
    return data, spread, findings


def _resting_joints(balance: TorqueBalance, motions: Sequence[MeasuredMotion]) -> list[Finding]:
    still = [
        row.label for row, top in zip(balance.rows, _largest_speeds(balance, motions), strict=True) if top <= SMOOTH
    ]
    if not still:
        return []
    return [Finding(
        "no-motion", f"joints that do not move: {', '.join(still)}. Their friction stays as drawn; so do "
        "parameters of the bodies beyond that only their motion shows.",
        {"joints": tuple(still)}, {}, (Advice("Move all joints, such as by {}.", Call("da.identify.excitation")),),
    )]  # fmt: skip


# -- estimate ------------------------------------------------------------------------------------------------------


def _judge_deviations(
    balance: TorqueBalance, base: BaseParameters, motions: Sequence[MeasuredMotion], used: Sequence[BoolArray],
    found: WeightedEstimate, far_from_white: float = 1.6, batches: int = 40,
) -> tuple[WeightedEstimate, str]:  # fmt: skip
    """Deviations of white residuals, or by their scatter over the record where they are far from white.

    far_from_white : largest ratio of deviations to those of white noise: five times that scatter, no coincidence among
    100 parameters.
    batches : number of batches of the record: 40 give a deviation to 1/√(2 · 39) = 11 %.
    """
    total = sum(len(each.t) for each in motions)
    length = max(1, total // batches)
    gradients = []
    for motion, rows in zip(motions, used, strict=True):
        shares = np.zeros((-(-len(motion.t) // length), base.count))
        for span, block in balance.blocks(motion):
            W = block.Y[:, :, list(base.kept)]
            scores = np.where(rows[span], block.target - W @ found.x, 0.0) / found.noise**2
            np.add.at(shares, np.arange(span.start, span.stop) // length, np.einsum("bij,bi->bj", W, scores))
        gradients.append(shares)
    together = np.vstack(gradients)
    if len(together) < batches // 2:
        return found, "white residuals"
    robust = batch_covariance(together, found)
    determined = np.isfinite(found.deviations) & (found.deviations > 0)
    ratio = float(np.sqrt(np.max(np.diag(robust)[determined] / np.diag(found.covariance)[determined], initial=0.0)))
    if ratio < far_from_white:
        return found, "white residuals"
    wide = WeightedEstimate(
        found.x, robust, found.noise, found.information, found.directions, found.condition, found.iterations
    )  # fmt: skip
    return wide, f"scatter of the residuals, up to {ratio:.1f} times those of white ones"


def _all_parameters(
    eqs: EquationsOfMotion, balance: TorqueBalance, base: BaseParameters, found: WeightedEstimate, first: Array,
    consistent: bool,
) -> tuple[Array, float, bool]:  # fmt: skip
    """Change of all parameters, squared distance of possible bodies from the estimate, and whether it was found."""
    if not consistent:
        size = np.maximum(np.abs(first), 1e-3 * np.abs(first).max())
        change = size * (np.linalg.pinv(base.grouping * size) @ found.x)
        return np.asarray(change), 0.0, True
    bodies = require_tree(eqs).bodies
    signed = [name.endswith(".offset") for name in balance.columns.names]
    result: ConsistentParameters = find_consistent(
        first, count_inertial(eqs), len(bodies), signed, balance.usual_sizes(), base.grouping, found.information,
        base.from_parameters(first) + found.x,
    )  # fmt: skip
    return result.values - first, result.distance, result.converged


# -- judgement -----------------------------------------------------------------------------------------------------


def _judge_bodies(
    eqs: EquationsOfMotion, base: BaseParameters, found: WeightedEstimate, values: Array, distance: float,
    impossible_share: float = 1e-3,
) -> tuple[bool, list[Finding]]:  # fmt: skip
    # impossible_share: Probability that chance alone moves an estimate this far, in deviations, from bodies that are
    # possible.
    import scipy.stats

    bodies, width = require_tree(eqs).bodies, count_inertial(eqs)
    blocks = values[: width * len(bodies)].reshape(len(bodies), width)
    impossible = [body for body, block_of in zip(bodies, blocks, strict=True) if not smallest_eigenvalue(block_of) > 0]
    limit = float(scipy.stats.chi2.ppf(1.0 - impossible_share, base.count))
    if impossible:
        problem = f"no distribution of mass has the parameters of {', '.join(impossible)}."
        advice = (Advice("Use {}.", Argument("consistent", True)),)
        return False, [Finding("not-physical", problem, {"bodies": tuple(impossible)}, {}, advice)]
    if distance <= limit:
        return True, []
    return False, [Finding(
        "not-physical",
        f"the parameters that fit best belong to no possible bodies: the nearest ones are {np.sqrt(distance):.1f} "
        f"deviations away (up to {np.sqrt(limit):.1f} by chance).",
        {}, {"distance": float(np.sqrt(distance)), "limit": float(np.sqrt(limit))},
        (Advice("Check signs and units of the torques, and whether {} is missing.", Argument("friction"),
                Argument("rotors", True)),),
    )]  # fmt: skip


def _judge_data(
    balance: TorqueBalance, base: BaseParameters, data: Triangles, found: WeightedEstimate, agreement: Fit,
    noise: Array | None, few_rows: float = 10.0, fit: float = 50.0, noise_ratio: float = 2.0,
) -> list[Finding]:  # fmt: skip
    # few_rows: Rows over base parameters: fewer than 2 are too few to estimate the noise, and 10 give it within 25 %.
    # fit: Share of the effort [%] that the parameters explain.
    # noise_ratio: Mean weighted square of the residuals where the noise is given: 1 if it is right, within a few per
    # cent.
    findings = []
    loose = [name for name, x in zip(base.names, found.deviations, strict=True) if not np.isfinite(x)]
    if loose:
        shown = ", ".join(base.parameters[k] for k, x in zip(base.kept, found.deviations, strict=True)
                          if not np.isfinite(x))  # fmt: skip
        findings.append(Finding(
            "undetermined-parameters",
            f"the motion does not determine {len(loose)} of {base.count} base parameters (those of {shown}); "
            f"{count_noun(len(found.directions), 'combination')} of them left as drawn.",
            {"parameters": tuple(loose)}, {"combinations": len(found.directions)},
            (Advice("Move all joints at once, such as by {}.", Call("da.identify.excitation")),),
        ))  # fmt: skip
    rows = float(data.counts.sum())
    if rows < few_rows * base.count:
        findings.append(Finding(
            "few-samples", f"{int(rows)} measured efforts are few for {base.count} base parameters: their deviations "
            "are themselves uncertain.",
            {}, {"rows": int(rows), "parameters": base.count}, (Advice("Record longer."),),
        ))  # fmt: skip
    for row, percent in zip(balance.rows, agreement.percent, strict=True):
        if not percent > fit and (row.input >= 0 or row.speed in balance.channels.efforts):
            findings.append(Finding(
                "poor-fit",
                f"the parameters explain {max(percent, 0.0):.0f} % of the torque {row.channel!r}: noise, another "
                "friction law, a wrong sign or unit, or a joint other than drawn.",
                {"channel": row.channel, "joint": row.label}, {"fit": float(percent)},
                (Advice("Look at the residuals over the speed of the joint."),),
            ))  # fmt: skip
    if noise is not None:
        ratio = data.squares(found.x) / noise**2 / np.maximum(data.counts - base.count / len(noise), 1.0)
        for row, share in zip(balance.rows, ratio, strict=True):
            if not 1 / noise_ratio < share < noise_ratio:
                findings.append(Finding(
                    "wrong-noise",
                    f"residuals of {row.channel!r} are {np.sqrt(share):.2g} times the noise given by its weight: the "
                    "standard deviations are wrong by as much.",
                    {"channel": row.channel}, {"ratio": float(np.sqrt(share))},
                    (Advice("Leave out {}, and the noise is estimated.", Argument("weights")),),
                ))  # fmt: skip
    return findings


def _fit(balance: TorqueBalance, rows: Sequence[tuple[Record, Array, Array]], spread: Array) -> Fit:
    missed, measured = np.vstack([errors for _, errors, _ in rows]), np.vstack([errors for _, _, errors in rows])
    size = ((measured - measured.mean(axis=0)) ** 2).sum(axis=0)
    size = np.where(size > 0.0, size, len(measured) * spread**2)  # of joints without effort: the parts that cancel
    wrong = (missed**2).sum(axis=0)
    ratio = np.sqrt(np.divide(wrong, size, out=np.full(len(wrong), np.inf), where=size > 0.0))
    units = {row.channel: row.unit for row in balance.rows}
    return Fit(
        percent=100.0 * (1.0 - ratio), rms=np.sqrt(wrong / len(missed)), outputs=balance.names, kind="simulation",
        units=units,
    )  # fmt: skip


def _notes(
    base: BaseParameters, found: WeightedEstimate, method: str, motions: Sequence[MeasuredMotion], converged: bool
) -> list[str]:
    cuts = sorted({f"{motion.cutoff_hz:.3g} Hz" for motion in motions if motion.cutoff_hz is not None})
    finite = np.isfinite(found.deviations)
    notes = [
        f"motion filtered at {', '.join(cuts)}" if cuts else "motion not filtered",
        f"{int(finite.sum())} of {base.count} base parameters determined, condition number {found.condition:.3g}",
        f"standard deviations by {method}",
    ]
    if not converged:
        notes.append("the search for possible bodies ended before it converged")
    return notes
