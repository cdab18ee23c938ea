"""Unknown forces from an estimated motion and measured forces: the second stage (spec 004, C23 to C28).

State F = (F₁ measured inputs, F₂ unknown ones), told the motion ξ = (z, ż, z̈); what is measured is F₁.

    "known-from-unknown"   F₁⁺ = f₁₂(F₂, ξ) = B₁⁻¹ (h - B₂ F₂) + δ ,   F₂⁺ = law(F₂) + δ*
    "unknown-from-known"   F₁⁺ = F₁ + δ* ,                             F₂⁺ = f₂₁(F₁, ξ) = B₂⁺ (h - B₁ F₁) + δ

(eq. 3.8 of the source prints f₁₂ in the second row of the second form: trap 15.) The first needs B₁ square and regular
and sees F₂ where -B₁⁻¹ B₂ has full rank; the second needs B₂ of full column rank, and F₂ does not act on the output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import Channels, EquationsOfMotion, equations, require_equations
from dalembert.errors import ModelError, unknown_name
from dalembert.estimate.force_balance import Balance
from dalembert.estimate.force_laws import ForceLaw, GaussMarkov, Law, LowPassed, RandomWalk
from dalembert.estimate.process import Process, process
from dalembert.expressions import Array, Kernel
from dalembert.linear.checks import FloatArray, Frozen
from dalembert.model import Mechanism
from dalembert.record import Record

SX = ca.SX
FORMS = ("known-from-unknown", "unknown-from-known")
POOR = 100.0  # errors of measured forces and motion grow by more than this: a force cannot be told
SINGULAR = 1e-9
PASSES = 2  # calls of Newton's method from pose to pose of a record, whose steps may be long


def forces(
    model: Mechanism | EquationsOfMotion,
    *,
    independent: str | Iterable[str],
    known: str | Iterable[str],
    unknown: str | Iterable[str] | Mapping[str, Law],
    inputs: str | Iterable[str] = (),
    form: str = "known-from-unknown",
) -> ForceModel:
    """A model of the forces of a machine whose motion is known; any filter of ``da.estimate`` takes it.

    Parameters
    ----------
    independent : as many coordinates as the machine has degrees of freedom.
    known : inputs that are measured.
    unknown : inputs to be found; a mapping gives each its law (:class:`RandomWalk`, :class:`GaussMarkov`,
        :class:`LowPassed`, :class:`ForceLaw`), so that ``model.noise`` knows their process noise.
    inputs : other inputs, which the filter is told exactly; those not named at all are zero.
    form : "known-from-unknown" or "unknown-from-known".

    The filter reads z, ż, z̈ by the names of the machine (``"A.angle"``, ``"A.rate"``, ``"A.acceleration"``), as a
    kinematics-based observer reports them.
    """
    eqs = equations(model) if isinstance(model, Mechanism) else require_equations(model)
    return ForceModel(eqs, independent, known, unknown, inputs, form)


class ForceModel(Frozen):
    """Forces of a machine as functions of its motion; made by :func:`forces`."""

    eqs: EquationsOfMotion
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    told: tuple[str, ...]
    laws: tuple[Law | None, ...]
    form: str
    balance: Balance

    def __init__(
        self, eqs: EquationsOfMotion, independent: Any, known: Any, unknown: Any, inputs: Any, form: str
    ) -> None:
        if form not in FORMS:
            raise ModelError(f"form must be {FORMS[0]!r} or {FORMS[1]!r}, got {form!r}.")
        laws = dict(unknown) if isinstance(unknown, Mapping) else {}
        groups = [_names(eqs, group, what) for group, what in
                  ((known, "known"), (list(unknown) if laws else unknown, "unknown"), (inputs, "inputs"))]  # fmt: skip
        every = [name for group in groups for name in group]
        twice = {name for name in every if every.count(name) > 1}
        if twice:
            raise ModelError(f"{', '.join(sorted(twice))}: an input is either known, unknown or told, not two of them.")
        for name, law in laws.items():
            if not isinstance(law, (RandomWalk, GaussMarkov, LowPassed, ForceLaw)):
                raise ModelError(f"unknown[{name!r}] must be a law such as RandomWalk(2.0), got {law!r}.")
        names = [independent] if isinstance(independent, str) else list(independent)
        balance = eqs.cached(("force balance", tuple(names)), lambda: Balance(eqs, names))
        self._freeze(
            eqs=eqs, known=groups[0], unknown=groups[1], told=groups[2], form=form, balance=balance,
            laws=tuple(laws.get(name) for name in groups[1]),
        )  # fmt: skip
        self._check_counts()
        self._check_somewhere()

    # -- well-posedness (C26) ----------------------------------------------------------------------------------------
    def _check_counts(self) -> None:
        n, k1, k2 = self.balance.n, len(self.known), len(self.unknown)
        freedom = f"{self.eqs.name!r} has {n} degree{'s' * (n != 1)} of freedom, that is {n} equation{'s' * (n != 1)}"
        if not k2:
            raise ModelError("unknown= names no input: there is nothing to find.")
        if k2 > n:
            raise ModelError(
                f"{freedom}, but {k2} forces are unknown ({', '.join(self.unknown)}): at most {n} can be told from the "
                f"motion. Measure {k2 - n} of them, or find one combination of them."
            )
        if self.form == FORMS[0] and k1 != n:
            more = f"Measure {n - k1} more" if k1 < n else f"Tell {k1 - n} of them as inputs="
            raise ModelError(
                f"{freedom}; the form {self.form!r} needs as many measured forces, but {k1} are named "
                f"({', '.join(self.known) or 'none'}). {more}, or use form={FORMS[1]!r}."
            )
        if self.form == FORMS[1] and not k1:
            raise ModelError("known= names no input: the filter needs a measured force to read.")

    def _check_somewhere(self) -> None:
        """What is inverted must be regular at some pose near the drawing."""
        random = np.random.default_rng(0)
        eqs = self.eqs
        stack, lead = self._leading
        worst = np.inf
        for spread in (0.0, 0.1, 0.3, 0.6):
            q = np.array(eqs.guess[0]) + spread * random.normal(size=eqs.nq)
            at = stack(q, eqs.p, 0.0)[1]
            for _ in range(4):
                q = lead(q, at, eqs.p, 0.0)[0]
            _, B = self._terms(q[None], np.zeros((1, self.balance.n)), np.zeros((1, self.balance.n)), np.zeros(1))
            worst = min(worst, float(self._condition(B)[0]))
        if worst > 1 / SINGULAR:
            which = self.known if self.form == FORMS[0] else self.unknown
            raise ModelError(
                f"the forces {', '.join(which)} cannot be told from the motion of {self.eqs.name!r} at any pose tried: "
                "two of them do the same, or one does nothing. Use another form, or other forces."
            )

    def check(self, motion: Record) -> ForceCheck:
        """Along a motion (record with z, ż, z̈): how well forces can be told, and where they cannot."""
        time, _, B = self._along(motion)
        seen = self._seen(B)
        return ForceCheck(self.known, self.unknown, self.form, time, self._condition(B), seen, B[:, :, self._two])

    def _condition(self, B: Array) -> FloatArray:
        """Of the matrix that the form inverts, columns of like size over all poses."""
        part = B[:, :, self._one if self.form == FORMS[0] else self._two]
        return _conditions(part)

    def _seen(self, B: Array) -> FloatArray:
        """Condition of the map from unknown to known forces: inf where some of F₂ does not show in F₁."""
        return _conditions(B[:, :, self._two])

    @property
    def _one(self) -> list[int]:
        return [self.eqs.inputs.index[name] for name in self.known]

    @property
    def _two(self) -> list[int]:
        return [self.eqs.inputs.index[name] for name in self.unknown]

    @property
    def _leading(self) -> tuple[Kernel, Kernel]:
        """Where the coordinates of a pose stand, and the pose led to given coordinates."""
        r = self.balance.relations
        return self.eqs.cached(("leading", r.coordinates.names), r.closing.numbers)  # type: ignore[no-any-return]

    # -- numbers -------------------------------------------------------------------------------------------------------
    @property
    def motion(self) -> Channels:
        """z, ż, z̈ by name: what the filter is told first."""
        r = self.balance.relations
        parts = (r.coordinates, r.rates, r.accelerations)
        return Channels([n for c in parts for n in c.names], [u for c in parts for u in c.units])

    def _terms(self, q: Array, zd: Array, zdd: Array, t: Array) -> tuple[Array, Array]:
        eqs, n = self.eqs, self.balance.n
        kernel = eqs.cached(("balance kernel", self.balance.relations.coordinates.names),
                            lambda: Kernel(self.balance.function, native=self.balance.function))  # fmt: skip
        h, B = kernel.many(q, zd, zdd, eqs.p, t.reshape(-1, 1))
        return h.reshape(len(q), n), B.reshape(len(q), n, eqs.nu)

    def _along(self, motion: Record) -> tuple[Array, Array, Array]:
        """time, h and B along a record of the motion; the pose follows from sample to sample."""
        missing = [name for name in self.motion.names if name not in motion.names]
        if missing:
            raise ModelError(unknown_name("channel", missing[0], motion.names, "the record of the motion"))
        r, n = self.balance.relations, self.balance.n
        x = np.asarray(motion[list(self.motion.names)], dtype=float).reshape(len(motion), 3 * n)
        q = r.start(dict(zip(r.coordinates.names, x[0, :n], strict=True)))[1]
        poses, (_, lead) = np.empty((len(x), self.eqs.nq)), self._leading
        for k, row in enumerate(x):
            for _ in range(PASSES):
                q = lead(q, row[:n], self.eqs.p, motion.time[k])[0]
            poses[k] = q
        h, B = self._terms(poses, x[:, n : 2 * n], x[:, 2 * n :], motion.time)
        return motion.time, h, B

    def algebraic(self, motion: Record, measured: Record) -> Record:
        """F₂ at once from the motion and the measured forces, without a filter: a disturbance observer (C30)."""
        time, h, B = self._along(motion)
        given = [*self.known, *self.told]
        F = np.column_stack([np.asarray(measured[name], dtype=float) for name in given])
        if len(F) != len(time):
            raise ModelError(f"the records of motion ({len(time)} samples) and of forces ({len(F)}) differ in length.")
        columns = [self.eqs.inputs.index[name] for name in given]
        right = h - np.einsum("kij,kj->ki", B[:, :, columns], F)
        found = np.stack([np.linalg.lstsq(B[k][:, self._two], right[k], rcond=None)[0] for k in range(len(time))])
        units = [self.eqs.inputs.units[k] for k in self._two]
        return Record(time, found, self.unknown, units, name=f"forces of {self.eqs.name}")

    def noise(self, dt: float, known: float | Mapping[str, float]) -> dict[str, float]:
        """Process noise for ``Q=``: variances per step, ``known`` those of the measured forces, laws those of F₂."""
        found = {name: float(known[name] if isinstance(known, Mapping) else known) for name in self.known}
        for name, law in zip(self.unknown, self.laws, strict=True):
            if law is None:
                raise ModelError(f"the unknown force {name!r} has no law: unknown={{{name!r}: RandomWalk(...)}}.")
            found[name] = law.variance(dt)
        return found

    def __repr__(self) -> str:
        return (
            f"ForceModel({self.eqs.name!r}: {', '.join(self.unknown)} from {', '.join(self.known)} and the motion of "
            f"{', '.join(self.balance.relations.coordinates.names)}, {self.form})"
        )


class ForceCheck(Frozen):
    """How well forces can be told along a motion (C26): condition numbers, and the verdict in words."""

    known: tuple[str, ...]
    unknown: tuple[str, ...]
    form: str
    time: FloatArray
    condition: FloatArray
    seen: FloatArray
    map: FloatArray

    def __init__(self, known: Any, unknown: Any, form: str, time: Any, condition: Any, seen: Any, map: Any) -> None:
        self._freeze(known=known, unknown=unknown, form=form, time=time, condition=condition, seen=seen, map=map)

    @property
    def well_posed(self) -> bool:
        return bool(max(self.condition.max(), self.seen.max()) < POOR)

    @property
    def verdict(self) -> str:
        """Whether the unknown forces can be told, and where not."""
        names = ", ".join(self.unknown)
        if self.well_posed:
            return f"{names} can be told from {', '.join(self.known)} everywhere on this motion."
        worst = self.condition if self.condition.max() >= self.seen.max() else self.seen
        at = float(self.time[int(np.argmax(worst))])
        share = 100.0 * float(np.mean(np.maximum(self.condition, self.seen) >= POOR))
        inverted = self.known if self.form == FORMS[0] and worst is self.condition else self.unknown
        pose = (
            f"{inverted[0]} moves nothing"
            if len(inverted) == 1
            else f"{', '.join(inverted)} do not act independently of one another"
        )
        return (
            f"near t = {at:.4g} s the machine stands in a pose where {pose} ({share:.0f} % of the motion): {names} "
            "cannot be told there, and nearby only with large errors. Keep away from that pose, measure "
            f"{names if len(self.unknown) == 1 else 'one of them'}, or use a law with little noise to bridge it."
        )

    def __repr__(self) -> str:
        worst = max(self.condition.max(), self.seen.max())
        return f"ForceCheck: {self.verdict} Largest condition number {worst:.3g}."


def _conditions(B: Array) -> FloatArray:
    """(K,) condition numbers of matrices whose columns are first brought to the same size over all of them."""
    size = np.sqrt(np.einsum("kij,kij->j", B, B) / len(B))
    if not size.all():
        return np.full(len(B), np.inf)
    rows = np.sqrt(np.einsum("kij,kij->i", B / size, B / size) / len(B))
    s = np.linalg.svd(B / size / np.where(rows > 0.0, rows, 1.0)[:, None], compute_uv=False)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(s[:, -1] > 0.0, s[:, 0].max() / s[:, -1], np.inf))


def _names(eqs: EquationsOfMotion, given: Any, what: str) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in eqs.inputs.index:
            raise ModelError(f"{what}: {unknown_name('input', name, eqs.inputs.names, f'equations {eqs.name!r}')}")
    return tuple(names)


# -- the process -------------------------------------------------------------------------------------------------------


class _Motion:
    """The argument ``s`` of a force law: the motion by name, and the time."""

    def __init__(self, values: Mapping[str, Any], t: Any) -> None:
        self._values, self.t = values, t

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise ModelError(unknown_name("quantity", name, self._values, "the motion"))
        return self._values[name]


@process.register
def _(model: ForceModel, *, outputs: Any = None, inputs: Any = None, dt: float | None = None) -> Process:
    if outputs is not None and tuple([outputs] if isinstance(outputs, str) else outputs) != model.known:
        raise ModelError(f"the outputs of a force model are its measured forces: {', '.join(model.known)}.")
    eqs, motion, n = model.eqs, model.motion, model.balance.n
    k1, k2, k3 = len(model.known), len(model.unknown), len(model.told)
    units = {name: eqs.inputs.units[eqs.inputs.index[name]] for name in eqs.inputs.names}
    states = Channels([*model.known, *model.unknown], [units[name] for name in (*model.known, *model.unknown)])
    pose = model.balance.relations.pose
    x, u = SX.sym("x", k1 + k2 + eqs.nq), SX.sym("u", 3 * n + k3)
    p, t, step, e = SX.sym("p", len(eqs.parameters)), SX.sym("t"), SX.sym("dt"), SX.sym("e", k1 + k2)
    F1, F2, q = ca.vertsplit(x, [0, k1, k1 + k2, k1 + k2 + eqs.nq])
    z, zd, zdd, told = ca.vertsplit(u, [0, n, 2 * n, 3 * n, 3 * n + k3])
    q = model.balance.relations.closing.close(q, z, p, t)
    h, B = model.balance.function(q, zd, zdd, p, t)
    if k3:
        h = h - B[:, [eqs.inputs.index[name] for name in model.told]] @ told
    B1, B2 = B[:, model._one], B[:, model._two]
    at_once = _least(B2, h - B1 @ F1)
    if model.form == FORMS[0]:
        view = _Motion(_motion_values(model, q, z, zd, zdd, p, t), t)
        laws = [law or RandomWalk(1.0) for law in model.laws]
        F2 = ca.vertcat(*[law.goes_on(F2[k], at_once[k], step, view) for k, law in enumerate(laws)])
        F1 = ca.solve(B1, h - B2 @ x[k1 : k1 + k2])
    else:
        F2 = at_once
    x0 = SX.sym("x0", x.shape[0])
    functions = {
        "step": ca.Function("step", [x, u, p, t, step], [ca.densify(ca.vertcat(F1, F2, q))], {"cse": True}),
        "outputs": ca.Function("outputs", [x, u, p, t], [x[:k1]]),
        "retract": ca.Function("retract", [x, e, p, t], [ca.vertcat(x[: k1 + k2] + e, x[k1 + k2 :])]),
        "difference": ca.Function("difference", [x, x0, p, t], [x[: k1 + k2] - x0[: k1 + k2]]),
        "report": ca.Function("report", [x, u, p, t], [x[: k1 + k2]]),
    }
    drives = Channels([*motion.names, *model.told], [*motion.units, *(units[name] for name in model.told)])
    start = np.concatenate([np.zeros(k1 + k2), np.array(eqs.guess[0])])
    return Process(
        f"forces of {eqs.name}", states, Channels([*states.names, *pose.names], [*states.units, *pose.units]), drives,
        Channels(model.known, [units[name] for name in model.known]), functions, start, eqs.parameters,
        eqs.parameter_values, reported=states, wrapped=(False,) * k1, dt=dt, use_c=eqs.use_c, source=model,
    )  # fmt: skip


def _motion_values(model: ForceModel, q: Any, z: Any, zd: Any, zdd: Any, p: Any, t: Any) -> dict[str, Any]:
    r = model.balance.relations
    names = [*r.coordinates.names, *r.rates.names, *r.accelerations.names, *r.told]
    values = r.values(names, q, z, zd, zdd, p, t)
    return {name: values[k] for k, name in enumerate(names)}


def _least(B: Any, right: Any) -> Any:
    if B.shape[0] == B.shape[1]:
        return ca.solve(B, right)
    return ca.solve(B.T @ B, B.T @ right)
