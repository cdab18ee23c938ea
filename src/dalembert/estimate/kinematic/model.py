"""A kinematics-based model, and its process for a filter (Palomba 2016, ch. 2).

The error is that of z and its derivatives; the state also contains the pose of the mechanism, which is closed again
wherever z moves, so x lives on a manifold: x ⊞ e adds e to z, ż, z̈ and closes the pose there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import Channels, State
from dalembert.estimate.kinematic.check import KinematicCheck, check_levels, most_singular, survey
from dalembert.estimate.kinematic.quantities import LEVEL, Relations
from dalembert.estimate.kinematic.step import KinematicStep
from dalembert.estimate.models.process import Names, Process, process
from dalembert.expressions import Array, Kernel
from dalembert.record import Record

SX, MX = ca.SX, ca.MX
GAP = "residual.position"


@dataclass(frozen=True)
class Relation:
    """Relation of the inputs at one state, u = S ż + bias or u = S z̈ + bias; distance from singularity."""

    names: tuple[str, ...]
    S: Array
    bias: Array
    distance: float


@dataclass(frozen=True, eq=False)
class KinematicModel:
    """A kinematics-based model of a machine; made by :func:`model_kinematics`, taken by every filter.

    The state is z, then ż, then z̈ as far as ``order`` and ``scheme`` go, then the pose of a mechanism (not part of the
    error), so that loops stay closed on their initial branch.
    """

    stepper: KinematicStep
    outputs: tuple[str, ...]
    start: Mapping[str, float] = field(default_factory=dict)
    workspace: Mapping[str, tuple[float, float]] | None = None

    @property
    def relations(self) -> Relations:
        return self.stepper.relations

    @property
    def name(self) -> str:
        return self.relations.name

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.stepper.inputs

    @property
    def independent(self) -> tuple[str, ...]:
        return self.relations.coordinates.names

    @property
    def states(self) -> Channels:
        """The estimated states: z, ż, z̈ by their names."""
        r = self.relations
        levels = (r.coordinates, r.rates, r.accelerations)[: self.stepper.blocks]
        return Channels([n for c in levels for n in c.names], [u for c in levels for u in c.units])

    @property
    def carried(self) -> Channels:
        """The whole state x: with the pose, and whether the last step was inside the singular set."""
        r, more = self.relations, ["inside"] * self.stepper.remembers
        return Channels(
            [*self.states.names, *r.pose.names, *more], [*self.states.units, *r.pose.units, *("" for _ in more)]
        )

    def __repr__(self) -> str:
        s = self.stepper
        what = LEVEL[s.order]
        scheme = "" if s.scheme is None else f", scheme {s.scheme!r}"
        switch = "" if s.switching is None else ", switching at singular poses"
        return (
            f"KinematicModel({self.name!r}: states {', '.join(self.states.names)}; {what} inputs "
            f"{', '.join(self.inputs)}; outputs {', '.join(self.outputs)}; {s.method}{scheme}{switch})"
        )

    # -- questions ---------------------------------------------------------------------------------------------------
    def state(self, values: Mapping[str, float] | State | None = None) -> Array:
        """The state x (with its pose) whose named coordinates, rates and accelerations are as given.

        Others have their initial values. A state of the machine (`da.assemble`) determines all but accelerations, and
        the way its loops are closed. Give it to a filter as ``start=``.
        """
        r = self.relations
        if isinstance(values, State):
            coordinates, begin = r.read(values), np.array(values.q)
        else:
            coordinates, begin = {**self.start, **self.read_values(values)}, None
        z, pose = r.start({n: x for n, x in coordinates.items() if n in r.coordinates.index}, begin)
        higher = [float(coordinates.get(n, 0.0)) for n in self.states.names[self.stepper.n :]]
        return np.concatenate((z, higher, pose, np.zeros(int(self.stepper.remembers))))

    def read_values(self, values: Mapping[str, float] | None) -> dict[str, float]:
        """Values of states under their full names, checked."""
        numbers = {}
        if values is not None and not isinstance(values, Mapping):
            raise ModelError(
                "wrong-type",
                f"the initial state has no values by name: {values!r}.",
                Advice("Give a mapping of names to numbers, or {}.", Call("da.assemble")),
            )
        for name, value in (values or {}).items():
            full = self.relations.names([name], "start")[0]
            if full not in self.states.index:
                raise ModelError(
                    "unknown-name",
                    f"start: {unknown_name('state', name, self.states.names, repr(self.name))}",
                    Advice("To choose how loops are closed give a state, {}.", Call("da.assemble", Argument("guess"))),
                )
            numbers[full] = real_number(f"start: {name!r}", value)
        return numbers

    def relation(
        self, values: Mapping[str, float] | None = None, *, x: Array | None = None, t: float = 0.0
    ) -> Relation:
        """S, bias and distance at a state (named values, or a column x of :meth:`state`)."""
        x = self.state(values) if x is None else np.asarray(x, dtype=float)
        S, bias, distance = self._relation_kernel(x, self.relations.parameter_values, t)
        return Relation(self.inputs, S.reshape(len(self.inputs), -1), bias, float(distance[0]))

    @cached_property
    def _relation_kernel(self) -> Kernel:
        s = self.stepper
        x = SX.sym("x", s.nx)
        p, t = SX.sym("p", len(s.relations.parameters)), SX.sym("t")
        blocks, pose, _ = s.split(x)
        zd = blocks[1] if len(blocks) > 1 else SX.zeros(s.n)
        S, c = s.affine(self.inputs, s.order, pose, blocks[0], zd, p, t)
        d = s.distance()(pose, blocks[0], zd, p, t)
        return Kernel(ca.Function("relation", [x, p, t], [S, ca.densify(c), d]))

    def check(
        self, motion: Record | None = None, *, workspace: Mapping[str, tuple[float, float]] | None = None,
        dt: float = 1e-3, poses: int = 400,
    ) -> KinematicCheck:  # fmt: skip
        """Whether inputs and outputs suffice; raises `ModelError` if they do not.

        motion : record of the independent coordinates and their rates to look along; None: all over the workspace.
        workspace : range of every independent coordinate; None: a turn about the start, as far as the joints let go.
        dt : sampling interval for the observability of the sampled model.  poses : number of poses that are checked.
        """
        return survey(self, motion, workspace if workspace is not None else self.workspace, dt, poses)

    def advise(self, x: Array) -> tuple[Advice, ...]:
        """Advice where one of the states x (k, nx) before a filter diverged is near a singular pose."""
        at = most_singular(self, np.atleast_2d(x))
        if at is None:
            return ()
        place = ", ".join(f"{n} = {v:.4g}" for n, v in zip(self.independent, at, strict=False))
        near = f"The pose is nearly singular ({place}): the inputs {', '.join(self.inputs)} do not determine"
        switching = Argument("switching", None if self.stepper.switching else Call("da.estimate.Switching"))
        wider = "a wider {}" if self.stepper.switching is not None else "{}"
        return (Advice(f"{near} {', '.join(self.independent)} there. Use {wider}, or measure more.", switching),)

    def noise(self, walk: float, *, outside: float = 0.0) -> Any:
        """Process noise for ``Q=``: variance of the highest derivative per step, inside the singular set and outside.

        Outside, most of the noise is that of the measured inputs: give it to the filter as ``input_noise=``.
        """
        return StateNoise(self, float(walk), float(outside))

    # -- the process ---------------------------------------------------------------------------------------------------
    @cached_property
    def _functions(self) -> dict[str, ca.Function]:
        s, r = self.stepper, self.relations
        x, e = MX.sym("x", s.nx), MX.sym("e", s.blocks * s.n)
        p, t = MX.sym("p", len(r.parameters)), MX.sym("t")
        functions = {"step": s.step()}
        if s.nx > s.blocks * s.n:
            ne = s.blocks * s.n
            blocks, pose, flag = s.split(x)
            pose = r.close(pose, blocks[0] + e[: s.n], p, t)
            moved = ca.vertcat(x[:ne] + e, pose, *([flag] if s.remembers else []))
            functions["retract"] = ca.Function("retract", [x, e, p, t], [ca.densify(moved)])
            x0 = MX.sym("x0", s.nx)
            functions["difference"] = ca.Function("difference", [x, x0, p, t], [x[:ne] - x0[:ne]])
        return functions

    def outputs_function(self, names: Sequence[str]) -> ca.Function:
        """(x, u, p, t) -> the named quantities, as far as the state determines them."""
        s = self.stepper
        x, u = SX.sym("x", s.nx), SX.sym("u", len(self.inputs))
        p, t = SX.sym("p", len(s.relations.parameters)), SX.sym("t")
        blocks, pose, _ = s.split(x)
        z, zd, zdd = [*blocks, SX.zeros(s.n), SX.zeros(s.n)][:3]
        y = s.relations.values(names, pose, z, zd, zdd, p, t)
        return ca.Function("outputs", [x, u, p, t], [ca.densify(y)], {"cse": True})

    @cached_property
    def _report(self) -> tuple[Channels, ca.Function]:
        """z, its derivatives (the one above the state from the inputs of now), every joint and sensor; the gap."""
        s, r = self.stepper, self.relations
        top = s.order
        all_names = [n for c in (r.coordinates, r.rates, r.accelerations)[: top + 1] for n in c.names]
        names = [*all_names, *(n for n in r.further if r.known[n].order <= top)]
        x, u = SX.sym("x", s.nx), SX.sym("u", len(self.inputs))
        p, t = SX.sym("p", len(r.parameters)), SX.sym("t")
        blocks, pose, flag = s.split(x)
        if s.scheme is None:
            z, zd = blocks[0], blocks[1] if top == 2 else SX.zeros(s.n)
            inside = SX(0)
            if s.switching is not None:
                inside = s.switching.inside(s.distance()(pose, z, zd, p, t), flag if s.remembers else SX(0))
            blocks = [*blocks, s.constraint()(pose, z, zd, u, inside, p, t)]
        z, zd, zdd = [*blocks, SX.zeros(s.n)][:3]
        y = r.values(names, pose, z, zd, zdd, p, t)
        units = [r.known[n].unit for n in names]
        if len(r.pose):
            y = ca.vertcat(y, r.gap(pose, z, p, t))
            names, units = [*names, GAP], [*units, "m"]
        function = ca.Function("report", [x, u, p, t], [ca.densify(y)], {"cse": True})
        return Channels(names, units), function


@dataclass(frozen=True, eq=False)
class StateNoise:
    """Variances per step of a kinematic model's state: that of its highest derivative depends on where it is."""

    model: KinematicModel
    walk: float
    outside: float

    def __call__(self, s: Mapping[str, Any]) -> Any:
        stepper, r = self.model.stepper, self.model.relations
        x = ca.vertcat(*[s[name] for name in self.model.carried.names])
        p = ca.vertcat(SX.zeros(0, 1), *[s[name] for name in r.parameters.names])
        blocks, pose, flag = stepper.split(x)
        zd = blocks[1] if len(blocks) > 1 else SX.zeros(stepper.n)
        inside: Any = SX(0)
        if stepper.switching is not None:
            z, t = blocks[0], s["t"]
            if stepper.use_current:  # where the step will be when it decides
                z, t = z + s["dt"] * zd, t + s["dt"]
                pose = r.close(pose, z, p, t)
            distance = stepper.distance()(pose, z, zd, p, t)
            inside = stepper.switching.inside(distance, flag if stepper.remembers else SX(0))
        value = ca.if_else(inside, self.walk, self.outside)
        return ca.vertcat(SX.zeros((stepper.blocks - 1) * stepper.n), *([value] * stepper.n))


@process.register
def _(model: KinematicModel, *, outputs: Names = None, inputs: Names = None, dt: float | None = None) -> Process:
    s, r = model.stepper, model.relations
    if inputs is not None:
        asked = tuple(r.names(inputs, "inputs"))
        if asked != model.inputs:
            problem = f"the kinematic model has the inputs {', '.join(model.inputs)}."
            raise ModelError("conflicting-arguments", problem, Advice("Make another model for other inputs."))
    read = model.outputs if outputs is None else tuple(r.names(outputs, "outputs"))
    if outputs is not None:
        check_levels(r, model.inputs, read, s.order, s.scheme)
    reported, report = model._report
    functions = {**model._functions, "outputs": model.outputs_function(read), "report": report}
    units = [r.known[name].unit for name in read]
    return Process(
        f"kinematics of {model.name}", model.states, model.carried,
        Channels(model.inputs, [r.known[name].unit for name in model.inputs]), Channels(read, units), functions,
        model.state(), parameters=r.parameters, parameter_values=r.parameter_values, reported=reported,
        wrapped=tuple(unit == "rad" for unit in units), dt=dt, source=model, placed=model.state,
        sensed=True, current=s.use_current, advise=model.advise,
    )  # fmt: skip
