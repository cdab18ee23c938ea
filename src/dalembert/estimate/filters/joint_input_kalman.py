"""State and unknown inputs of a linear model together, without a model of the inputs (Gillijns and De Moor, 2007).

    x⁺ = A x + B u + G d + w ,     y = C x + D u + H d + v ,     d unknown

The unbiased estimates of least variance. At a sample, with z ~ (x̂⁻, P) and S = C P Cᵀ + R,

    d̂ = (Hᵀ S⁻¹ H)⁻¹ Hᵀ S⁻¹ e ,   x̂ = x̂⁻ + P Cᵀ S⁻¹ (e - H d̂) ,    e = y - C x̂⁻ - D u ,

which is a Kalman filter whose inputs have an infinite variance at every sample. Where d does not act on the outputs at
once (H = 0) it is found a sample later through C G, with x = z + G d. Zeros of (A, G, C, H) on or outside the unit
circle are motions and inputs that no output shows: accelerations alone have them at z = 1, so slow forces drift.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.errors import DalembertError, DalembertWarning, DataError, ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import Channels
from dalembert.estimate.algebra.covariance_factors import factor, solve_positive
from dalembert.estimate.algebra.matrices import pack, pack_numbers, triangle, unpack
from dalembert.estimate.engine.filter import Filter
from dalembert.estimate.engine.filter_kinds import FILTERS, FilterKind
from dalembert.estimate.engine.recursion import keep_measured
from dalembert.estimate.models.process import InitialState, Names, Process, Variances, find_places, process
from dalembert.expressions import Array, Expr
from dalembert.linear import SecondOrder, StateSpace

SX = ca.SX
MISSING = {"Q": "the variance a step adds to every state", "P0": "the variance of the initial state"}


class JointInputKalman(Filter):
    """Kalman filter that finds unknown inputs along with the state, without a model of them.

    Parameters
    ----------
    model : `StateSpace` or `SecondOrder`; a continuous one needs ``dt``.
    unknown : inputs to be estimated.  inputs : known inputs; all others when left out.
    outputs, Q, R, start, P0 : as for every filter; Q and P0 are those of the states.

    Attributes
    ----------
    delayed : whether an unknown input is found one sample late (it does not act on the outputs at once).

    Examples
    --------
    >>> cart = StateSpace([[-1.0]], [1.0], [1.0], states="speed", inputs="push", outputs="seen")
    >>> found = JointInputKalman(cart, unknown="push", dt=0.1, Q=1e-8, R=1e-6, P0=1.0)
    >>> found.delayed
    True
    """

    def __init__(
        self, model: object, *, unknown: str | Iterable[str], inputs: Names = None, outputs: Names = None,
        dt: float | None = None, Q: Variances = None, P0: Variances = None, start: InitialState = None, **keywords: Any,
    ) -> None:  # fmt: skip
        augmented, G, H = _augment(model, unknown, inputs, outputs, dt)
        self.G, self.H = G, H
        self.nx, self.nd = G.shape
        self.explained = self.nd
        self.delayed = not H.any()
        self._check(augmented, C=augmented.source.C)
        states = augmented.carried.names[: self.nx]
        for name, variances in (("Q", Q), ("P0", P0)):
            if variances is None:
                raise DataError("missing-argument", f"{name} is missing: {MISSING[name]}.")
        Q, P0 = (_pad(name, variances, states, augmented.carried.names) for name, variances in (("Q", Q), ("P0", P0)))
        super().__init__(augmented, Q=Q, P0=P0, start=start, **keywords)
        self.state_size = self.nx + self.nd + triangle(self.nx + self.nd)

    def _check(self, made: Process, C: Array, rank: float = 1e-9) -> None:
        """rank : singular value of unit columns that counts as zero; rounding leaves 1e-15."""
        names = made.carried.names[self.nx :]
        acts = C @ self.G if self.delayed else self.H
        size = np.sqrt((acts**2).sum(axis=0))
        if np.linalg.matrix_rank(acts / np.where(size > 0, size, 1.0), tol=rank) < self.nd:
            silent = [name for name, s in zip(names, size, strict=True) if s <= rank * size.max(initial=0.0)]
            what = f"{', '.join(silent)} acts on none of them" if silent else "some of the inputs act alike"
            when = "a sample later" if self.delayed else "at the same sample"
            raise ModelError(
                "undetermined-force",
                f"the outputs {', '.join(made.outputs.names)} do not determine the unknown inputs {', '.join(names)} "
                f"({when}): {what}.",
                Advice("Add a sensor near each; an acceleration shows a force at the same sample."),
                Advice("Or estimate them as random walks: {} of a filter of the machine.", Argument("unknown")),
                where={"inputs": names},
            )
        hidden = _hidden_zeros(made.source)
        if hidden is not None:
            motion, advice = hidden
            problem = f"no output shows a motion with {', '.join(names)} that {motion}."
            warnings.warn(DalembertWarning("hidden-mode", problem, advice), stacklevel=3)

    # -- the recursion -----------------------------------------------------------------------------------------------
    def begin(self, x0: Array, P0: Array) -> Array:
        return np.concatenate([x0, pack_numbers(P0)])

    def covariance(self, m: Expr) -> Expr:
        return unpack(m[self.nx + self.nd :], self.nx + self.nd)

    def predict(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        x, d, P = m[: self.nx], m[self.nx : self.nx + self.nd], self.covariance(m)
        after, F, _ = self.model.transition(ca.vertcat(x, d), u, p, t, dt)
        on = F[: self.nx, :]
        if self.delayed:  # the input of this interval is not known yet
            after = after - ca.vertcat(ca.DM(self.G) @ d, ca.DM.zeros(self.nd))
            on = ca.horzcat(F[: self.nx, : self.nx], ca.DM.zeros(self.nx, self.nd))
        ahead = on @ P @ on.T + self.model.Q(ca.vertcat(x, d), u, p, t, dt)[: self.nx, : self.nx]
        joint = ca.diagcat(ahead, P[self.nx :, self.nx :])
        return ca.vertcat(after[: self.nx], d, pack(ca.densify(joint)))

    def correct(self, m: Expr, u: Expr, y: Expr, measured: Expr, p: Expr, t: Expr) -> tuple[Expr, Expr, Expr]:
        nx, nd = self.nx, self.nd
        z, P = m[:nx], self.covariance(m)[:nx, :nx]
        still = ca.vertcat(z, ca.DM.zeros(nd))
        expected, slope = self.model.linearize_outputs(still, u, p, t)
        C = ca.diag(measured) @ slope[:, :nx]
        acts = ca.diag(measured) @ (slope[:, :nx] @ ca.DM(self.G) if self.delayed else ca.DM(self.H))
        e = self.model.innovation(y, expected, measured)
        R = self.model.R(still, u, p, t)
        S = slope[:, :nx] @ P @ slope[:, :nx].T + R
        L = factor(keep_measured(S, measured))
        weighted = solve_positive(L, ca.horzcat(acts, e, C @ P))
        information = acts.T @ weighted[:, :nd]
        faint = ca.diag(ca.DM(self._faint()))
        Pd = solve_positive(factor(ca.densify(information + faint)), ca.DM.eye(nd))
        d = Pd @ (acts.T @ weighted[:, nd])
        back = weighted[:, nd + 1 :].T  # P Cᵀ S⁻¹
        x = z + back @ (e - acts @ d)
        Px = P - back @ (C @ P) + back @ acts @ Pd @ acts.T @ back.T
        Pxd = -back @ acts @ Pd
        if self.delayed:
            G = ca.DM(self.G)
            x = x + G @ d
            Px = Px + G @ Pxd.T + Pxd @ G.T + G @ Pd @ G.T
            Pxd = Pxd + G @ Pd
        joint = ca.vertcat(ca.horzcat(Px, Pxd), ca.horzcat(Pxd.T, Pd))
        residual = e - acts @ d
        return ca.vertcat(x, d, pack(ca.densify((joint + joint.T) / 2))), residual, S

    def _faint(self, share: float = 1e-10) -> Array:
        """Information of a prior of the inputs, over that of a sample, which may lack the sensors that show them."""
        R = self.noise.R.constant()
        acts = self.process.source.C @ self.G if self.delayed else self.H
        spread = np.ones(len(acts)) if R is None else np.diag(R)
        return np.asarray(share * np.einsum("ij,ij,i->j", acts, acts, 1.0 / np.where(spread > 0, spread, 1.0)))

    def cross(self, m: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        walk = Advice("Estimate them as random walks with {}.", Argument("unknown"))
        raise ModelError("not-supported", "inputs without a model have no smoother.", walk)


def _augment(model: Any, unknown: Any, inputs: Names, outputs: Names, dt: float | None) -> tuple[Process, Array, Array]:
    """A process with the unknown inputs beside the states, and G, H."""
    if isinstance(model, SecondOrder):
        model = model.state_space()
    if not isinstance(model, StateSpace):
        raise ModelError(
            "wrong-type",
            f"this filter needs a linear model, got {type(model).__name__}.",
            Advice("For a machine use {}.", Call("da.estimate.process", Argument("unknown"))),
        )
    places = find_places(unknown, model.inputs, "input")
    if not places:
        raise ModelError("empty", "no unknown input is named.", Advice("Use {}.", Call("da.estimate.Kalman")))
    names = [model.inputs[k] for k in places]
    others = take_names("input", [name for name in model.inputs if name not in names] if inputs is None else inputs)
    both = [name for name in others if name in names]
    if both:
        problem = f"{', '.join(both)}: an input is either known or unknown."
        name_once = Advice("Name it in one of {}.", Argument("inputs"), Argument("unknown"))
        raise ModelError("conflicting-arguments", problem, name_once)
    plain = process(model, outputs=outputs, inputs=[*others, *names], dt=dt)
    assert plain.matrices is not None
    A, B, C, D = plain.matrices
    nx, nd, nu = len(A), len(names), B.shape[1] - len(names)
    x, u, p, t, step = SX.sym("x", nx + nd), SX.sym("u", nu), SX.sym("p", 0), SX.sym("t"), SX.sym("dt")
    both = ca.vertcat(u, x[nx:])
    functions = {
        "step": ca.Function(
            "step", [x, u, p, t, step], [ca.vertcat(plain.functions["step"](x[:nx], both, p, t, step), x[nx:])]
        ),
        "outputs": ca.Function("outputs", [x, u, p, t], [plain.functions["outputs"](x[:nx], both, p, t)]),
    }
    units = [model.units.get(name, "") for name in names]
    states = Channels([*plain.carried.names, *names], [*plain.carried.units, *units])
    reported = Channels([*plain.reported.names, *names], states.units)
    shown = Channels(plain.inputs.names[:nu], plain.inputs.units[:nu])
    from_unknown = StateSpace(A, B[:, nu:], C, D[:, nu:], dt=plain.dt)
    augmented = Process(
        "linear model with unknown inputs", states, states, shown, plain.outputs, functions,
        np.concatenate([plain.start, np.zeros(nd)]), reported=reported, wrapped=plain.wrapped,
        dt=plain.dt, source=from_unknown,
    )  # fmt: skip
    return augmented, B[:, nu:], D[:, nu:]


def _pad(what: str, given: object, states: tuple[str, ...], names: tuple[str, ...]) -> Any:
    """A covariance of the states as one of states and inputs (which have none)."""
    from dalembert.estimate.algebra.noise import covariance

    P = np.zeros((len(names), len(names)))
    P[: len(states), : len(states)] = covariance(what, given, states, "state")
    return P


def _hidden_zeros(system: StateSpace, border: float = 1e-6, slow: float = 1e-3) -> tuple[str, Advice] | None:
    """The motion of zeros on or outside the unit circle, and what to measure; None where there are none.

    border : a zero with |z| above 1 - border does not decay; a double zero is computed to √ε.
    slow : distance of a zero from 1 whose motion is constant or grows steadily.
    """
    try:
        zeros = np.asarray(system.zeros().values)
    except (DalembertError, np.linalg.LinAlgError):  # a system whose zeros are not defined
        return None
    bad = [z for z in zeros if abs(z) > 1.0 - border]
    if not bad:
        return None
    if any(abs(z - 1.0) < slow for z in bad):
        more = Advice("Accelerations alone do not determine slow forces: add one displacement or strain.")
        return "is constant or grows steadily: estimates will drift", more
    z = max(bad, key=abs)
    if z.real < 0.0:
        return "alternates from sample to sample and does not decay", Advice("Add an acceleration or a speed.")
    return f"does not decay ({abs(z):.4g} per sample): estimates will drift", Advice("Add a sensor that shows it.")


FILTERS.register("joint-input", FilterKind(JointInputKalman, "Kalman filter of states and unknown inputs"))
