"""Result of identifying a robot: base parameters with deviations, possible bodies, predictions, a mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Finding
from dalembert.core.tables import align_columns
from dalembert.equations import EquationsOfMotion
from dalembert.identify.machine.records import Names
from dalembert.identify.model.quality import Fit, Residuals, examine
from dalembert.identify.records.checks import find_name, list_records
from dalembert.identify.robot.changed_mechanism import NewInertia, change_inertia, change_joint
from dalembert.identify.robot.measured_motion import read_channels, read_motions
from dalembert.identify.robot.physical_consistency import smallest_eigenvalue
from dalembert.identify.robot.torque_balance import TorqueBalance
from dalembert.model import Mechanism
from dalembert.record import Record
from dalembert.tree.base_parameters import BaseParameters
from dalembert.tree.evaluation import require_tree
from dalembert.tree.regressor import JointColumns


@frozen
class IdentifiedRobot:
    """Dynamic parameters of a robot found from records of motion and torque; frozen.

    Attributes
    ----------
    equations : EquationsOfMotion
        Of the drawing, in joint coordinates.
    base : BaseParameters
        The combinations that motions determine.
    base_values, base_first, base_deviations : (n,);  covariance : (n, n)
        Weighted least-squares estimate, values of the drawing, standard deviations (inf where the data determine none).
    parameters : names;  values, first : (m,)
        All dynamic parameters: those of possible bodies nearest to the estimate, and those of the drawing. Parameters
        that the data do not determine are as in the drawing.
    physically_consistent : bool
        Whether some distribution of mass has these values and they agree with the estimate.
    smallest_eigenvalues : mapping of bodies to that of their pseudo-inertia, in units of their mass and size
    noise : (joints,) standard deviation of each effort
    condition : of the weighted base regressor, columns of length 1
    predicted : tuple of Record
        Efforts by the parameters found, at the samples of each record (without its ends).
    errors : tuple of (N_k, joints), measured minus predicted efforts
    fit : Fit, per cent and rms per effort
    notes : texts;  findings : reasons for doubt;  provenance : mapping
    """

    equations: EquationsOfMotion
    columns: JointColumns
    base: BaseParameters
    base_values: FloatArray
    base_first: FloatArray
    base_deviations: FloatArray
    covariance: FloatArray
    parameters: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    first: FloatArray
    physically_consistent: bool
    noise: FloatArray
    condition: float
    predicted: tuple[Record, ...]
    errors: tuple[FloatArray, ...]
    fit: Fit
    notes: tuple[str, ...]
    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]

    def __getitem__(self, parameter: str) -> float:
        """Value of a dynamic parameter, or the estimate of a base parameter, by its name."""
        if parameter in self.parameters:
            return float(self.values[self.parameters.index(parameter)])
        return float(self.base_values[self._place(parameter)])

    def deviation(self, parameter: str) -> float:
        """Standard deviation of a base parameter, by its name or by that of its first part."""
        return float(self.base_deviations[self._place(parameter)])

    def _place(self, name: str) -> int:
        if name in self.base.names:
            return self.base.names.index(name)
        base_parameters = [self.base.parameters[k] for k in self.base.kept]
        return find_name("base parameter", name, base_parameters, "this result")

    @property
    def smallest_eigenvalues(self) -> dict[str, float]:
        bodies = require_tree(self.equations).bodies
        width = (len(self.parameters) - len(self.columns.names)) // len(bodies)
        blocks = self.values[: width * len(bodies)].reshape(len(bodies), width)
        return {body: smallest_eigenvalue(block) for body, block in zip(bodies, blocks, strict=True)}

    # -- use ----------------------------------------------------------------------------------------------------------
    def predict(self, record: Record | Sequence[Record], *, motion: Names = None) -> Record:
        """Efforts that a recorded motion needs, by the parameters found, in the channels of the efforts.

        The record needs positions, as in the identification; it is filtered and differentiated in the same way.
        Its ends are left out. Where it has the efforts too, compare them at the times of the result.
        """
        (run,) = list_records(record) if isinstance(record, Record) else _require_one(record)
        how = self.provenance
        chosen = motion if motion is not None else how["motion"] if how["named motion"] else None
        channels = read_channels(self.equations, (run,), chosen, None, efforts=False)
        channels = replace(channels, inputs=how["inputs"], efforts=how["efforts"], units=how["units"])
        balance = TorqueBalance(self.equations, channels, self.columns)
        moving = replace(channels, inputs={}, efforts={})
        motions, _ = read_motions(
            self.equations, run, moving, cutoff_hz=how["cutoff_hz"], decimate=how["decimate"]
        )  # fmt: skip
        return predict_efforts(balance, motions[0], self.values - self.first, f"{self.equations.name} predicted")[0]

    def mechanism(self, m: Mechanism) -> Mechanism:
        """The mechanism of the drawing with the values found: bodies, friction and motor inertia of its joints."""
        eqs = self.equations
        bodies = require_tree(eqs).bodies
        missing = [name for name in bodies if name not in {body.name for body in m.bodies}]
        if missing:
            raise ModelError(
                "unknown-name", f"mechanism {m.name!r} has no body {missing[0]!r}: it is not the identified mechanism.",
                where={"body": missing[0]},
            )  # fmt: skip
        changed = change_inertia(m, self._inertias(bodies))
        by_joint: dict[str, dict[str, float]] = {}
        for name, new, old in zip(self.parameters, self.values, self.first, strict=True):
            label, _, term = name.rpartition(".")
            if name in self.columns.names and term != "offset":
                by_joint.setdefault(label, {})[term] = float(new) - float(old)
        for label, change in by_joint.items():
            change_joint(changed, label, change, self.columns.speed)
        changed.validate()
        return changed

    def _inertias(self, bodies: Sequence[str]) -> dict[str, NewInertia]:
        eqs = self.equations
        frames = np.array(require_tree(eqs).function("link_frames")(eqs.p, 0.0))
        dim = frames.shape[1] - 1
        width = 4 if dim == 2 else 10
        inertias = {}
        for i, body in enumerate(bodies):
            far, place = frames[dim * i : dim * (i + 1), :dim], frames[dim * i : dim * (i + 1), dim]
            block = self.values[width * i : width * (i + 1)]
            mass, h = float(block[0]), block[1 : 1 + dim]
            c = h / mass
            if dim == 2:
                inertias[body] = NewInertia(mass, place + far @ c, float(block[3] - mass * (c @ c)))
                continue
            J = np.array(
                [[block[4], block[5], block[7]], [block[5], block[6], block[8]], [block[7], block[8], block[9]]]
            )
            J = J - mass * (float(c @ c) * np.eye(3) - np.outer(c, c))
            about = far @ J @ far.T
            inertias[body] = NewInertia(mass, place + far @ c, 0.5 * (about + about.T))
        return inertias

    # -- judgement ----------------------------------------------------------------------------------------------------
    def residuals(self, lags: int | None = None) -> Residuals:
        """Tests of the residuals of the efforts: whether they are white."""
        none = [np.zeros((len(e), 0)) for e in self.errors]
        return examine(self.errors, none, self.fit.outputs, (), "simulation", lags)

    def table(self) -> str:
        """One line per base parameter, by its first part; ``result.base.table()`` has the whole combinations."""
        rows = []
        for k, name in enumerate(self.base.labels):
            value, deviation = float(self.base_values[k]), float(self.base_deviations[k])
            share = f"{100 * deviation / abs(value):.2g}" if value and np.isfinite(deviation) else "-"
            shown = f"{deviation:.2g}" if np.isfinite(deviation) else "unknown"
            rows.append((name, f"{value:.5g}", shown, share, f"{self.base_first[k]:.5g}", self.base.units[k]))
        return align_columns(("base parameter", "value", "deviation", "[%]", "drawing", "unit"), rows)

    def __repr__(self) -> str:
        head = (
            f"IdentifiedRobot {self.equations.name!r}: {self.base.count} base parameters, "
            f"{self.fit.mean:.2f} % fit on average, {'' if self.physically_consistent else 'not '}physically consistent"
        )
        return "\n".join([head, self.table(), self.fit.table(), *(f"  {note}" for note in self.notes)])


def predict_efforts(
    balance: TorqueBalance, motion: Any, change: FloatArray, name: str
) -> tuple[Record, FloatArray, FloatArray]:
    """Efforts of a motion with changed parameters, as a record; measured minus predicted, in units of the channels."""
    count, rows = len(motion.t), balance.rows
    predicted, missed, measured = (np.empty((count, len(rows))) for _ in range(3))
    for span, block in balance.blocks(motion):
        missed[span] = (block.target - block.Y @ change) / block.gain
        measured[span] = block.effort / block.gain
        predicted[span] = measured[span] - missed[span]
    columns = {row.channel: predicted[:, k] for k, row in enumerate(rows)}
    units = {row.channel: row.unit for row in rows}
    return Record.from_channels(motion.t, columns, units, name=name), missed, measured


def _require_one(record: object) -> tuple[Record]:
    raise DataError("wrong-type", f"a prediction needs one Record, got {type(record).__name__}.")
