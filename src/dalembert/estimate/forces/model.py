"""Unknown forces from an estimated motion and measured forces: the second stage (Palomba 2016, ch. 3).

Along the motions W that the joints allow, v = W ż + …, reactions do no work, and M v̇ = f + Aᵀλ becomes

    Wᵀ (M v̇ - f) = h(z, ż, z̈) - B₁(z) F₁ - B₂(z) F₂ = 0 ,

n equations in independent coordinates z for measured inputs F₁ and unknown ones F₂ that act linearly.
State F = (F₁ measured inputs, F₂ unknown ones), inputs the motion ξ = (z, ż, z̈), outputs F₁.

    "known-from-unknown"   F₁⁺ = f₁₂(F₂, ξ) = B₁⁻¹ (h - B₂ F₂) + δ ,   F₂⁺ = law(F₂) + δ*
    "unknown-from-known"   F₁⁺ = F₁ + δ* ,                             F₂⁺ = f₂₁(F₁, ξ) = B₂⁺ (h - B₁ F₁) + δ

(Eq. 3.8 there prints f₁₂ in the second row of the second form, where f₂₁ belongs.) The first needs B₁ square, regular
and sees F₂ where -B₁⁻¹ B₂ has full rank; the second needs B₂ of full column rank, and F₂ does not act on the output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import one_of
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.errors import ModelError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import Channels, EquationsOfMotion, State, require_equations
from dalembert.estimate.forces.check import FORMS, ForceCheck
from dalembert.estimate.forces.laws import ForceLaw, GaussMarkov, Law, LowPassed, RandomWalk
from dalembert.estimate.kinematic.check import explore_rays
from dalembert.estimate.kinematic.quantities import name_list
from dalembert.estimate.kinematic.relations import MachineRelations
from dalembert.estimate.models.process import Names, Process, process
from dalembert.expressions import Array, Expr, Kernel
from dalembert.mechanics import equations
from dalembert.model import Mechanism
from dalembert.record import Record
from dalembert.solve.constrained.solve import depends_on_reactions

SX = ca.SX


def model_forces(
    model: Mechanism | EquationsOfMotion,
    *,
    independent: str | Iterable[str],
    known: str | Iterable[str],
    unknown: str | Iterable[str] | Mapping[str, Law],
    inputs: str | Iterable[str] = (),
    form: str = "known-from-unknown",
    start: State | None = None,
) -> ForceModel:
    """A model of the forces of a machine whose motion is known; any filter of ``da.estimate`` takes it.

    Parameters
    ----------
    independent : as many coordinates as the machine has degrees of freedom.
    known : inputs that are measured.
    unknown : inputs to be estimated; a mapping gives each its law (:class:`RandomWalk`, :class:`GaussMarkov`,
        :class:`LowPassed`, :class:`ForceLaw`), from which ``model.noise`` takes their process noise.
    inputs : other inputs, which are exactly known; those not named at all are zero.
    form : "known-from-unknown" or "unknown-from-known".
    start : a state of the machine (`da.assemble`) whose way of closing the loops is kept; None: that of the drawing.

    The filter reads z, ż, z̈ by the names of the machine (``"A.angle"``, ``"A.rate"``, ``"A.acceleration"``), as a
    kinematics-based observer reports them.
    """
    eqs = equations(model) if isinstance(model, Mechanism) else require_equations(model)
    return ForceModel(eqs, independent, known, unknown, inputs, form, start)


@frozen(init=False)
class ForceModel:
    """Forces of a machine as functions of its motion; made by :func:`model_forces`."""

    eqs: EquationsOfMotion
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    exact: tuple[str, ...]
    laws: tuple[Law | None, ...]
    form: str
    balance: Balance
    reference: tuple[Array, Array]

    def __init__(
        self, eqs: EquationsOfMotion, independent: Any, known: Any, unknown: Any, inputs: Names, form: str,
        start: State | None = None,
    ) -> None:  # fmt: skip
        one_of("form", form, FORMS)
        laws = dict(unknown) if isinstance(unknown, Mapping) else {}
        groups = [_names(eqs, group, what) for group, what in
                  ((known, "known"), (list(unknown) if laws else unknown, "unknown"), (inputs, "inputs"))]  # fmt: skip
        every = [name for group in groups for name in group]
        twice = {name for name in every if every.count(name) > 1}
        if twice:
            problem = f"{', '.join(sorted(twice))}: an input is measured, unknown or exact, not two of these."
            raise ModelError("conflicting-arguments", problem)
        for name, law in laws.items():
            if not isinstance(law, (RandomWalk, GaussMarkov, LowPassed, ForceLaw)):
                use = Advice("Use {}.", Call("da.estimate.RandomWalk", Argument("deviation")))
                raise ModelError("wrong-type", f"the law of {name!r} has the wrong type: {law!r}.", use)
        if start is not None and not isinstance(start, State):
            raise ModelError(
                "wrong-type",
                f"start must be a state of the machine, got {start!r}.",
                Advice("Make one with {}.", Call("da.assemble")),
            )
        balance = Balance(eqs, name_list(independent, "independent"), start)
        assign(
            self, eqs=eqs, known=groups[0], unknown=groups[1], exact=groups[2], form=form, balance=balance,
            laws=tuple(laws.get(name) for name in groups[1]),
        )  # fmt: skip
        self._check_counts()
        assign(self, reference=self._workspace())
        self._check_somewhere()

    # -- well-posedness -----------------------------------------------------------------------------------------------
    def _check_counts(self) -> None:
        n, k1, k2 = self.balance.n, len(self.known), len(self.unknown)
        freedom = f"{self.eqs.name!r} has {n} degree{'s' * (n != 1)} of freedom, that is {n} equation{'s' * (n != 1)}"
        if not k2:
            raise ModelError("empty", "no unknown force is named.")
        if k2 > n:
            raise ModelError(
                "undetermined-force",
                f"{freedom}, but {k2} forces are unknown ({', '.join(self.unknown)}): the motion determines only {n}.",
                Advice(f"Measure {k2 - n} of them, or estimate one combination of them."),
            )
        if self.form == FORMS[0] and k1 != n:
            more = f"Measure {n - k1} more." if k1 < n else f"Name {k1 - n} of them as exact, in {{}}."
            raise ModelError(
                "undetermined-force",
                f"{freedom}; the form {self.form!r} needs as many measured forces, but {k1} are named "
                f"({', '.join(self.known) or 'none'}).",
                Advice(more, *([] if k1 < n else [Argument("inputs")])),
                Advice("Or use {}.", Argument("form", FORMS[1])),
            )
        if self.form == FORMS[1] and not k1:
            raise ModelError("empty", "no measured force is named: the filter has nothing to read.")

    def _check_somewhere(self, singular: float = 1e-9) -> None:
        """Forces must act, and independently of one another, at some pose of the workspace.

        singular : effect of a force over the sum of its parts that counts as none; rounding leaves 1e-15.
        """
        B, summed = self.reference
        for names, columns, inverted in (
            (self.unknown, self._two, True),
            (self.known, self._one, self.form == FORMS[0]),
        ):
            size = np.abs(B[:, :, columns]).max(axis=(0, 1))
            idle = [name for name, s, of in zip(names, size, summed[columns], strict=True) if s <= singular * of]
            if idle and inverted:
                raise ModelError(
                    "undetermined-force",
                    f"the motion of {self.eqs.name!r} does not determine {', '.join(idle)}: it moves nothing at any "
                    "pose, its joints take all of it.",
                    Advice("Name other forces."),
                    where={"forces": tuple(idle)},
                )
            if inverted and self._conditions(B, columns).min() > 1 / singular:
                form = Advice("Name other forces, or use {}.", Argument("form", FORMS[1]))
                combined = Advice("Name other forces, or estimate a combination of them.")
                raise ModelError(
                    "undetermined-force",
                    f"the motion of {self.eqs.name!r} does not distinguish the forces {', '.join(names)}: at every "
                    "pose one has the same effect as others together.",
                    form if names is self.known else combined,
                    where={"forces": names},
                )

    def check(self, motion: Record) -> ForceCheck:
        """How well a motion (record with z, ż, z̈) determines the forces, and where it does not."""
        time, _, B = self._along(motion)
        inverted = self._one if self.form == FORMS[0] else self._two
        condition, unknown_condition = self._conditions(B, inverted), self._conditions(B, self._two)
        return ForceCheck(known=self.known, unknown=self.unknown, form=self.form, time=time, condition=condition,
                          seen=unknown_condition, map=B[:, :, self._two])  # fmt: skip

    def _conditions(self, B: Array, columns: list[int]) -> FloatArray:
        """(K,) condition of the map of some forces, in units of their effects over the workspace; inf: no effect."""
        usual = self.reference[0][:, :, columns]
        size = np.sqrt(np.einsum("kij,kij->j", usual, usual) / len(usual))
        if not (size > 0.0).all():
            return np.full(len(B), np.inf)
        rows = np.sqrt(np.einsum("kij,kij->i", usual / size, usual / size) / len(usual))
        unit = size * np.where(rows > 0.0, rows, 1.0)[:, None]
        here, there = (np.linalg.svd(slopes / unit, compute_uv=False) for slopes in (B[:, :, columns], usual))
        top = max(here.max(initial=0.0), there.max())
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(here[:, -1] > 0.0, top / here[:, -1], np.inf))

    def _workspace(self) -> tuple[Array, Array]:
        """B at poses all over the workspace, and per input the largest sum of what its entries are made of."""
        eqs, r = self.eqs, self.balance.relations
        q = explore_rays(r, self._leading[0](r.begin, eqs.p, 0.0)[1], r.begin, None, 100)[1]
        kernel = eqs.cache(("acting", r.targets), lambda: Kernel(self.balance.acting))
        B, summed = (x.reshape(len(q), -1, eqs.nu) for x in kernel.many(q, eqs.p, 0.0))
        return B, summed.max(axis=(0, 1))

    @property
    def _one(self) -> list[int]:
        return [self.eqs.inputs.index[name] for name in self.known]

    @property
    def _two(self) -> list[int]:
        return [self.eqs.inputs.index[name] for name in self.unknown]

    @property
    def _leading(self) -> tuple[Kernel, Kernel]:
        """Places of the coordinates in a pose, and the pose moved to given coordinates."""
        r = self.balance.relations
        return self.eqs.cache(("leading", r.coordinates.names), r.closing.numbers)  # type: ignore[no-any-return]

    # -- numbers -------------------------------------------------------------------------------------------------------
    @property
    def motion(self) -> Channels:
        """z, ż, z̈ by name: the first inputs of the filter."""
        r = self.balance.relations
        parts = (r.coordinates, r.rates, r.accelerations)
        return Channels([n for c in parts for n in c.names], [u for c in parts for u in c.units])

    def _terms(self, q: Array, zd: Array, zdd: Array, t: Array) -> tuple[Array, Array]:
        eqs, n = self.eqs, self.balance.n
        kernel = eqs.cache(("balance kernel", self.balance.relations.coordinates.names),
                            lambda: Kernel(self.balance.function))  # fmt: skip
        h, B = kernel.many(q, zd, zdd, eqs.p, t.reshape(-1, 1))
        return h.reshape(len(q), n), B.reshape(len(q), n, eqs.nu)

    def _along(self, motion: Record, gap: float = 1e-6) -> tuple[Array, Array, Array]:
        """time, h and B along a record of the motion; the pose follows from sample to sample."""
        if not isinstance(motion, Record):
            raise ModelError(
                "wrong-type", f"the motion must be a record of {', '.join(self.motion.names)}, got {motion!r}."
            )
        missing = [name for name in self.motion.names if name not in motion.names]
        if missing:
            raise ModelError(
                "unknown-name", unknown_name("channel", missing[0], motion.names, "the record of the motion")
            )
        r, n = self.balance.relations, self.balance.n
        x = np.asarray(motion[list(self.motion.names)], dtype=float).reshape(len(motion), 3 * n)
        q = self._begins(motion, dict(zip(r.coordinates.names, x[0, :n].tolist(), strict=True)))
        poses, gaps = r.follow(x[:, :n], motion.time, q)
        if not gaps.max() <= gap:
            k = int(np.argmax(~(gaps <= gap)))
            raise ModelError(
                "inconsistent-motion",
                f"the joints of {self.eqs.name!r} do not allow the motion at t = {motion.time[k]:.6g} s: residual "
                f"{gaps[k]:.2g} (m or rad).",
                Advice("Check the record, or how its loops are closed: {}.", Argument("start")),
                where={"time": float(motion.time[k])},
            )
        h, B = self._terms(poses, x[:, n : 2 * n], x[:, 2 * n :], motion.time)
        return motion.time, h, B

    def _begins(self, motion: Record, z: Mapping[str, float], elsewhere: float = 0.1) -> Array:
        """The pose of the first sample, checked against other coordinates of the record.

        elsewhere : a coordinate further off [rad or m] belongs to another way of closing the loops.
        """
        eqs, r = self.eqs, self.balance.relations
        if all(name in motion.names for name in eqs.coordinates.names):
            return np.array([motion[name][0] for name in eqs.coordinates.names])
        q = r.start(z)[1]
        s = eqs.kernel("measures")(q, np.zeros(eqs.nv), eqs.p, motion.time[0])[0].ravel()
        for k in eqs.recorded_measures:
            name = eqs.measures.names[k]
            if name not in motion.names:
                continue
            off = abs(float(motion[name][0]) - s[k])
            off = off if eqs.measures.units[k] != "rad" else abs((off + np.pi) % (2 * np.pi) - np.pi)
            if off > elsewhere:
                raise ModelError(
                    "inconsistent-motion",
                    f"the motion has {name} = {motion[name][0]:.4g} at first, but as {eqs.name!r} is drawn it would be "
                    f"{s[k]:.4g}: its loops are closed another way.",
                    Advice("Give a state that is, {}.", Argument("start", Call("da.assemble", Argument("guess")))),
                    where={"channel": name},
                )
        return q

    def algebraic(self, motion: Record, measured: Record) -> Record:
        """F₂ from the motion and the measured forces, sample by sample without a filter: a disturbance observer.

        NaN where they are not determined.
        """
        time, h, B = self._along(motion)
        names = [*self.known, *self.exact]
        F = np.column_stack([np.asarray(measured[name], dtype=float) for name in names])
        if len(F) != len(time):
            problem = f"the records of motion ({len(time)} samples) and of forces ({len(F)}) differ in length."
            raise ModelError("wrong-shape", problem)
        columns = [self.eqs.inputs.index[name] for name in names]
        right = h - np.einsum("kij,kj->ki", B[:, :, columns], F)
        forces = np.einsum("kji,ki->kj", np.linalg.pinv(B[:, :, self._two]), right)
        forces[self._undetermined(B)] = np.nan
        units = [self.eqs.inputs.units[k] for k in self._two]
        return Record(time, forces, self.unknown, units, name=f"forces of {self.eqs.name}")

    def _undetermined(self, B: Array, condition: float = 1e9) -> Array:
        """Which samples do not determine the unknown forces: rounding leaves 1e-15."""
        return np.asarray(self._conditions(B, self._two) > condition)

    def noise(self, dt: float, known: float | Mapping[str, float]) -> dict[str, float]:
        """Process noise for ``Q=``: variances per step, ``known`` those of the measured forces, laws those of F₂."""
        if isinstance(known, Mapping):
            for name in known:
                require_name("measured force", name, self.known, error=ModelError, argument="known")
            missing = [name for name in self.known if name not in known]
            if missing:
                raise ModelError("missing-argument", f"the variance of {', '.join(missing)} is missing.")
        variances = {name: float(known[name] if isinstance(known, Mapping) else known) for name in self.known}
        for name, law in zip(self.unknown, self.laws, strict=True):
            if law is None:
                give = Advice("Give {} as a mapping of names to laws.", Argument("unknown"))
                raise ModelError("missing-argument", f"the unknown force {name!r} has no law.", give)
            variances[name] = law.variance(dt)
        return variances

    def __repr__(self) -> str:
        return (
            f"ForceModel({self.eqs.name!r}: {', '.join(self.unknown)} from {', '.join(self.known)} and the motion of "
            f"{', '.join(self.balance.relations.coordinates.names)}, {self.form})"
        )


def _names(eqs: EquationsOfMotion, given: object, what: str) -> tuple[str, ...]:
    names = name_list(given, what)
    for name in names:
        require_name("input", name, eqs.inputs.names, f"equations {eqs.name!r}", error=ModelError, argument=what)
    return tuple(names)


# -- the process -------------------------------------------------------------------------------------------------------


class _MotionView:
    """The argument ``s`` of a force law: the motion by name, and the time."""

    def __init__(self, values: Mapping[str, Any], t: Expr) -> None:
        self._values, self.t = values, t

    def __getitem__(self, name: str) -> Any:
        require_name("quantity", name, self._values, "the motion", error=ModelError)
        return self._values[name]


@process.register
def _(model: ForceModel, *, outputs: Names = None, inputs: Names = None, dt: float | None = None) -> Process:
    if outputs is not None and tuple([outputs] if isinstance(outputs, str) else outputs) != model.known:
        problem = f"the outputs of a force model are its measured forces: {', '.join(model.known)}."
        raise ModelError("conflicting-arguments", problem)
    eqs, motion, n = model.eqs, model.motion, model.balance.n
    k1, k2, k3 = len(model.known), len(model.unknown), len(model.exact)
    units = {name: eqs.inputs.units[eqs.inputs.index[name]] for name in eqs.inputs.names}
    states = Channels([*model.known, *model.unknown], [units[name] for name in (*model.known, *model.unknown)])
    pose = model.balance.relations.pose
    x, u = SX.sym("x", k1 + k2 + eqs.nq), SX.sym("u", 3 * n + k3)
    p, t, step, e = SX.sym("p", len(eqs.parameters)), SX.sym("t"), SX.sym("dt"), SX.sym("e", k1 + k2)
    F1, F2, q = ca.vertsplit(x, [0, k1, k1 + k2, k1 + k2 + eqs.nq])
    z, zd, zdd, exact = ca.vertsplit(u, [0, n, 2 * n, 3 * n, 3 * n + k3])
    q = model.balance.relations.closing.close(q, z, p, t)
    h, B = model.balance.function(q, zd, zdd, p, t)
    if k3:
        h = h - B[:, [eqs.inputs.index[name] for name in model.exact]] @ exact
    B1, B2 = B[:, model._one], B[:, model._two]
    at_once = _least(B2, h - B1 @ F1)
    if model.form == FORMS[0]:
        view = _MotionView(_motion_values(model, q, z, zd, zdd, p, t), t)
        laws = [law or RandomWalk(1.0) for law in model.laws]
        F2 = ca.vertcat(*[law.predict(F2[k], at_once[k], step, view) for k, law in enumerate(laws)])
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
    drives = Channels([*motion.names, *model.exact], [*motion.units, *(units[name] for name in model.exact)])
    start = np.concatenate([np.zeros(k1 + k2), model.balance.relations.begin])
    return Process(
        f"forces of {eqs.name}", states, Channels([*states.names, *pose.names], [*states.units, *pose.units]), drives,
        Channels(model.known, [units[name] for name in model.known]), functions, start, eqs.parameters,
        eqs.parameter_values, reported=states, wrapped=(False,) * k1, dt=dt, source=model,
    )  # fmt: skip


def _motion_values(model: ForceModel, q: Expr, z: Expr, zd: Expr, zdd: Expr, p: Expr, t: Expr) -> dict[str, Any]:
    r = model.balance.relations
    names = [*r.coordinates.names, *r.rates.names, *r.accelerations.names, *r.further]
    values = r.values(names, q, z, zd, zdd, p, t)
    return {name: values[k] for k, name in enumerate(names)}


def _least(B: Expr, right: Expr) -> Expr:
    if B.shape[0] == B.shape[1]:
        return ca.solve(B, right)
    return ca.solve(B.T @ B, B.T @ right)


class Balance:
    """h and B of a machine as expressions of the pose and of z, ż, z̈.

    at : a state whose way of closing the loops is kept; None: that of the drawing.
    """

    def __init__(self, eqs: EquationsOfMotion, independent: Sequence[str], at: State | None = None) -> None:
        if eqs.nz:
            raise ModelError(
                "not-supported",
                f"forces are found from the motion of bodies alone; {eqs.name!r} has internal states "
                f"({', '.join(eqs.internal.names[:3])}).",
                Advice("Use an ideal actuator, or {} of a filter on the machine.", Argument("unknown")),
            )
        if depends_on_reactions(eqs):
            raise ModelError(
                "not-supported",
                f"friction that depends on reactions makes forces of {eqs.name!r} implicit.",
                Advice("Leave it out, or estimate it with {} of a filter on the machine.", Argument("unknown")),
            )
        self.eqs = eqs
        self.relations = MachineRelations(eqs, independent, at)
        self.function, self.acting = eqs.cache(("force balance", self.relations.targets), self._make)

    @property
    def n(self) -> int:
        return len(self.relations.coordinates)

    def _make(self) -> tuple[ca.Function, ca.Function]:
        """(pose, ż, z̈, p, t) -> h (n,), B (n, nu);  (pose, p, t) -> B, and sums of the sizes of its terms."""
        eqs, n = self.eqs, self.n
        q, zd, zdd = SX.sym("q", eqs.nq), SX.sym("zd", n), SX.sym("zdd", n)
        p, t, u = SX.sym("p", len(eqs.parameters)), SX.sym("t"), SX.sym("u", eqs.nu)
        v, a = self.relations.closing.motion(q, zd, zdd, p, t)
        W = ca.jacobian(v, zd)
        M = eqs.functions["inertia"](q, p, t)
        f = eqs.functions["forces"](q, v, SX.zeros(0), u, p, t, SX.zeros(len(eqs.rows)))
        residual = W.T @ (M @ a - f)
        B = -ca.jacobian(residual, u)
        if eqs.nu and ca.depends_on(B, u):
            problem = f"an input of {eqs.name!r} does not act linearly, so the motion does not determine it."
            raise ModelError("not-linear", problem)
        h = ca.substitute(residual, u, SX.zeros(eqs.nu))
        summed = ca.fabs(W).T @ ca.fabs(ca.jacobian(f, u))
        still = [ca.densify(ca.substitute(x, ca.vertcat(zd, zdd), SX.zeros(2 * n))) for x in (B, summed)]
        return (
            ca.Function("balance", [q, zd, zdd, p, t], [ca.densify(h), ca.densify(B)], {"cse": True}),
            ca.Function("acting", [q, p, t], still, {"cse": True}),
        )
