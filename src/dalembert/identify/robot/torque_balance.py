"""The balance of a robot's equations along a measured motion, linear in the changes of its dynamic parameters.

    M v̇ - f(q, v, u) - Aᵀ λ + Y δ = 0 ,     δ = π - π of the drawing, and changes of friction and motor inertia

M and f are those of the equations: springs, drawn friction, gears and motors act as drawn. With T the motions that the
rows A allow (1 where there are none), λ is eliminated:

    Tᵀ Y δ = Tᵀ (f - M v̇)        one row for every measured or free speed and sample
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.identify.robot.measured_motion import MeasuredChannels, MeasuredMotion
from dalembert.solve.constrained.matrices import complement
from dalembert.solve.position.assemble import assemble
from dalembert.tree.base_parameters import first_independent
from dalembert.tree.evaluation import evaluate
from dalembert.tree.regressor import JointColumns, joint_speeds


@dataclass(frozen=True)
class BalanceRow:
    """A row of the balance.

    speed : its number.  label : joint, or speed.  input : the one that acts on it, -1 for none.
    channel, unit : of the effort; that of a passive joint has no channel.
    """

    speed: int
    label: str
    input: int
    channel: str
    unit: str


@dataclass(frozen=True)
class BalanceBlock:
    """Some samples of the balance.

    Y : (B, rows, n).  target : (B, rows) of Y δ.  effort : measured, or zero.  gain : effort per unit of the channel.
    v : speeds of the rows.
    """

    Y: Array
    target: Array
    effort: Array
    gain: Array
    v: Array


class TorqueBalance:
    """Rows and columns of the balance of some equations."""

    def __init__(self, eqs: EquationsOfMotion, channels: MeasuredChannels, columns: JointColumns) -> None:
        self.eqs, self.channels, self.columns = eqs, channels, columns
        if eqs.functions["forces"].jac_sparsity(0, 2).nnz() or eqs.functions["forces"].jac_sparsity(0, 6).nnz():
            raise ModelError(
                "not-supported",
                f"forces of {eqs.name!r} depend on internal states or reactions, which no record of motion has.",
                Advice("Leave such motors and friction out, and give torques of joints by {}.", Argument("inputs")),
            )
        self.driven, self.unknown = _find_acting_inputs(eqs, channels.inputs)
        self.free, self.rows = self._rows()

    @property
    def names(self) -> tuple[str, ...]:
        """Channels of the efforts."""
        return tuple(row.channel for row in self.rows)

    def _rows(self) -> tuple[list[int], list[BalanceRow]]:
        """Independent speeds, and the rows of those whose effort is measured or zero."""
        eqs, channels = self.eqs, self.channels
        labels = {k: label for label, k in joint_speeds(eqs).items()}
        measured = self.driven
        twice = [k for k in channels.efforts if k in measured]
        if twice:
            raise DataError(
                "conflicting-arguments",
                f"the effort of {labels[twice[0]]!r} is given twice: by joint, and as input {measured[twice[0]]!r}.",
                where={"joint": labels[twice[0]]},
            )
        channels_known = [*measured, *channels.efforts]
        unknown = [k for k in self.unknown if k not in channels_known]
        assert eqs.tree is not None
        moving = set(eqs.tree.function("regressor").sparsity_out(0).row()) if eqs.rows else set(range(eqs.nv))
        passive = [k for k in range(eqs.nv) if k in moving and k not in (*channels_known, *unknown)]
        order = [*channels_known, *passive, *unknown, *(k for k in range(eqs.nv) if k not in moving)]
        free = order if not eqs.rows else self._independent(order, channels_known, labels)
        rows = []
        for k in sorted(k for k in (*channels_known, *passive) if k in free):
            name = measured.get(k, "")
            label = labels.get(k, eqs.speeds.names[k])
            channel = channels.inputs.get(name, channels.efforts.get(k, f"{label}.effort"))
            unit = channels.units.get(channel, "N m" if eqs.speeds.units[k].startswith("rad") else "N")
            rows.append(BalanceRow(k, label, eqs.inputs.index[name] if name else -1, channel, unit))
        return free, rows

    def _independent(self, order: list[int], known: list[int], labels: dict[int, str]) -> list[int]:
        """As many of the speeds as the rows leave free, in this order of preference."""
        eqs = self.eqs
        q = assemble(eqs).q
        A, _ = eqs.kernel("rows")(q, np.zeros(eqs.nv), np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, 0.0)
        Z = complement(A.reshape(-1, eqs.nv))
        length = np.linalg.norm(Z, axis=1)
        order = [k for k in order if length[k] > 0]
        free = [order[i] for i in first_independent((Z[order] / length[order][:, None]).T)]
        lost = [k for k in known if k not in free]
        if lost:
            raise ModelError(
                "not-supported",
                f"the effort of {labels.get(lost[0], eqs.speeds.names[lost[0]])!r} exceeds the number of degrees of "
                "freedom of a closed chain.",
                Advice("Give as many as there are degrees of freedom by {}.", Argument("inputs")),
            )
        return free

    # -- numbers ------------------------------------------------------------------------------------------------------
    def blocks(self, motion: MeasuredMotion, block: int = 2000) -> Iterator[tuple[slice, BalanceBlock]]:
        """The balance along a motion, some samples at a time.

        block : samples at a time: a regressor of 6 speeds and 80 columns then takes 8 MB
        """
        for first in range(0, len(motion.t), block):
            span = slice(first, min(first + block, len(motion.t)))
            yield span, self._block(motion, span)

    def _block(self, motion: MeasuredMotion, part: slice) -> BalanceBlock:
        eqs, columns = self.eqs, self.columns
        q, v, a, u, t = (x[part] for x in (motion.q, motion.v, motion.a, motion.u, motion.t))
        t, z, lam = t.reshape(-1, 1), eqs.state().z, np.zeros(len(eqs.rows))
        forces = eqs.kernel("forces")
        f, still, unit = (
            forces.many(q, v, z, x, eqs.p, t, lam)[0].reshape(len(q), eqs.nv) for x in (u, 0 * u, np.ones_like(u))
        )
        M = eqs.kernel("inertia").many(q, eqs.p, t)[0].reshape(len(q), eqs.nv, eqs.nv)
        Y = evaluate(eqs, (q, v), "regressor", columns.speeds, columns.terms, columns.speed, a=a)[0]
        target = f + motion.effort[part] - np.einsum("bij,bj->bi", M, a)
        driven = [row.speed for row in self.rows]
        effort = (f - still + motion.effort[part])[:, driven]
        gain = np.where([row.input >= 0 for row in self.rows], (unit - still)[:, driven], 1.0)
        if eqs.rows:
            T = self._transmission(q, v, t)
            Y, target = np.einsum("bij,bik->bjk", T, Y), np.einsum("bij,bi->bj", T, target)
        else:
            Y, target = Y[:, driven], target[:, driven]
        return BalanceBlock(Y, target, effort, gain, v[:, driven])

    def _transmission(self, q: Array, v: Array, t: Array) -> Array:
        """T (B, nv, rows): all speeds by unit speed of each row, the other free ones at rest."""
        eqs, free = self.eqs, self.free
        A = eqs.kernel("rows").many(q, v, np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, t)[0].reshape(len(q), -1, eqs.nv)
        driven = [row.speed for row in self.rows]
        dependent = [k for k in range(eqs.nv) if k not in free]
        T = np.zeros((len(q), eqs.nv, len(driven)))
        T[:, driven, range(len(driven))] = 1.0
        T[:, dependent] = -np.linalg.pinv(A[:, :, dependent]) @ A[:, :, driven]
        return T

    def drawn_values(self, speed: float = 100.0, rounding: float = 1e-9) -> Array:
        """Values of the columns of joints in the drawing: friction as its effort depends on speed, rotors.

        The part of the effort along a joint that is odd in its speed, at two speeds far above those at which drawn
        friction is regularised, is viscous v + coulomb; the even part has no column here.

        speed : rad/s or m/s, far above the speeds that regularise drawn friction
        rounding : relative rounding error of differences of larger values
        """
        eqs, columns = self.eqs, self.columns
        (q, z), t = (eqs.state().q, eqs.state().z), 0.0
        drawn = np.zeros((len(columns.speeds), len(columns.terms)))
        if not drawn.size:
            return drawn.ravel()
        forces, zero = eqs.kernel("forces"), np.zeros(eqs.nu)
        parameters = evaluate(eqs, (q, np.zeros(eqs.nv)), "inertial_parameters")[0]
        for i, k in enumerate(columns.speeds):
            odd = []
            for size in (speed, 2 * speed):
                sides = []
                for sign in (1.0, -1.0):
                    v = np.zeros(eqs.nv)
                    v[k] = sign * size
                    (f,) = forces(q, v, z, zero, eqs.p, t, np.zeros(len(eqs.rows)))
                    inertial = evaluate(eqs, (q, v), "regressor", a=np.zeros(eqs.nv))[0] @ parameters
                    sides.append(float(np.ravel(f)[k] + inertial[k]))
                odd.append(-0.5 * (sides[0] - sides[1]))
            viscous = (odd[1] - odd[0]) / speed
            values = {"viscous": viscous, "coulomb": odd[0] - viscous * speed, "offset": 0.0, "rotor": self._rotor(k)}
            drawn[i] = [values[term] for term in columns.terms]
        return np.where(np.abs(drawn) < rounding * np.abs(drawn).max(), 0.0, drawn).ravel()

    def usual_sizes(self) -> Array:
        """Of the columns of joints: inertia of the joint at the drawing's pose, and as much friction at speed 1."""
        eqs, columns = self.eqs, self.columns
        M = np.reshape(eqs.kernel("inertia")(eqs.state().q, eqs.p, 0.0)[0], (eqs.nv, eqs.nv))
        return np.repeat(np.maximum(np.diag(M)[list(columns.speeds)], 1e-6 * np.diag(M).max()), len(columns.terms))

    def _rotor(self, k: int, rounding: float = 1e-9) -> float:
        """Inertia along a speed that moves no body: the total one minus that of the bodies by the regressor."""
        eqs, places = self.eqs, [row.speed for row in self.rows]
        q, still = eqs.state().q, np.zeros(eqs.nv)
        if eqs.rows:
            if k not in places:
                return 0.0
            along = self._transmission(q[None], still[None], np.zeros((1, 1)))[0][:, places.index(k)]
        else:
            along = np.eye(eqs.nv)[k]
        M = np.reshape(eqs.kernel("inertia")(q, eqs.p, 0.0)[0], (eqs.nv, eqs.nv))
        moved, at_rest = (evaluate(eqs, (q, still), "regressor", a=a)[0] for a in (along, still))
        parameters = evaluate(eqs, (q, still), "inertial_parameters")[0]
        total, bodies = float(along @ M @ along), float(along @ (moved - at_rest) @ parameters)
        return total - bodies if total - bodies > rounding * total else 0.0


def _find_acting_inputs(eqs: EquationsOfMotion, used: Iterable[str]) -> tuple[dict[int, str], set[int]]:
    """Speed -> input of those used, each alone on one speed; and the speeds on which other inputs act."""
    pattern = eqs.functions["forces"].jac_sparsity(0, 3)
    speeds: dict[str, list[int]] = {name: [] for name in eqs.inputs.names}
    for speed, number in zip(pattern.row(), pattern.get_col(), strict=True):
        speeds[eqs.inputs.names[number]].append(speed)
    acting: dict[int, str] = {}
    for name in used:
        shared = [k for k in speeds[name] if k in acting]
        if len(speeds[name]) != 1 or shared:
            acts = "acts on no joint directly" if not speeds[name] else "does not act on one joint alone"
            raise ModelError(
                "not-supported", f"input {name!r} {acts}; identification of robots needs the effort of each joint.",
                Advice("Give efforts of joints by {}.", Argument("inputs")), where={"input": name},
            )  # fmt: skip
        acting[speeds[name][0]] = name
    return acting, {k for name, places in speeds.items() if name not in used for k in places} - set(acting)
