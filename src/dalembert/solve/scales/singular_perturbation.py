"""Singular perturbations in standard form: roots, boundary layer, Tikhonov's approximation, integral manifolds.

    ẋ = f(x, z, u, ε, t) ,   ε ż = g(x, z, u, ε, t)

An isolated root z̄ = φ(x, u, t) of g(x, z, u, 0, t) = 0 gives the slow model ẋ = f(x, z̄, u, 0, t); near it the boundary
layer dẑ/dτ = g(x₀, z̄₀ + ẑ, u₀, 0, t₀) in fast time τ = (t - t₀)/ε. Where it decays from ẑ(0) = z₀ - z̄₀ (Tikhonov)

    x = x̄(t) + O(ε) ,   z = z̄(t) + ẑ(t/ε) + O(ε) .

The slow run carries its root along: g_z z̄' = -(g_x f + g_t + g/T), where g decays within T from any error of
integration. A manifold z = h(x, t) is invariant where ε (h_t + h_x f(x, h)) = g(x, h). Kokotović, Khalil and O'Reilly
1999, ch. 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.errors import ConvergenceError, DataError, ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.equations.from_expressions import equations_from_expressions
from dalembert.expressions import Array, call_user, one_value
from dalembert.linear import StateSpace
from dalembert.record import Record
from dalembert.solve.integrate.open_run import open_run

SX = ca.SX
Right = Callable[[Any, Any, Any, Any, Any], Any]
Values = Mapping[str, Any] | None
SETTLED = 1e-6  # share of the first deviation that a boundary layer must fall to
LAYER = 60.0  # times the slowest time constant of the boundary layer: e⁻⁶⁰ is below rounding
CLOSED = 1e-10  # largest |g| at a root, relative to 1 + its size at the guess
ISOLATED = 1e-9  # smallest singular value of g_z, of the largest, at an isolated root
RELAXATION = 1e-2  # T of the root of a slow run, of the span: short beside it, and not stiff


@dataclass(frozen=True, eq=False)
class SingularPerturbation:
    """ẋ = f, ε ż = g with names of slow and fast variables and inputs; made by `singular_perturbation`."""

    slow: tuple[str, ...]
    fast: tuple[str, ...]
    inputs: tuple[str, ...]
    epsilon: float
    symbols: tuple[Any, ...]  # x, z, u, ε, t
    f: Any
    g: Any

    def equations(self, inputs: Values = None) -> EquationsOfMotion:
        """The whole system, as equations with internal states."""
        x, z, u, eps, t = self.symbols
        right = ca.substitute(ca.vertcat(self.f, self.g / eps), ca.vertcat(u, eps), self._driven(inputs, self.epsilon))
        return equations_from_expressions("singular perturbation", z=ca.vertcat(x, z), t=t, g=right)

    def roots(
        self, x: Values = None, inputs: Values = None, *, t: float = 0.0, guesses: Iterable[Sequence[float]] = ()
    ) -> tuple[dict[str, float], ...]:
        """Isolated roots z of g(x, z, u, 0, t) = 0 that Newton's method finds from the guesses (and from others)."""
        m = len(self.fast)
        random = np.random.default_rng(0)
        tries = [np.asarray(guess, dtype=float) for guess in guesses]
        tries += [size * random.normal(size=m) for size in (0.1, 1.0, 10.0) for _ in range(8 * m)]
        solutions: list[Array] = []
        for z in tries:
            root = self._newton(self._slow_values(x), z, inputs, t)
            if root is not None and all(
                np.abs(root - solution).max() > 1e-6 * (1 + np.abs(root).max()) for solution in solutions
            ):
                solutions.append(root)
        solutions.sort(key=lambda root: np.round(root, 9).tolist())
        return tuple(dict(zip(self.fast, map(float, root), strict=True)) for root in solutions)

    def boundary_layer(
        self, x: Values, root: Mapping[str, float], inputs: Values = None, *, t: float = 0.0
    ) -> StateSpace:
        """Small deviations from a root in fast time t/ε; ``.stability()`` judges them."""
        A = self._parts(self._slow_values(x), np.array([root[name] for name in self.fast]), inputs, t)[1]
        return StateSpace(A, states=self.fast, provenance={"made by": "singular_perturbation", "time": "t/eps"})

    def estimate(
        self, until: float, x: Mapping[str, float], z: Mapping[str, float], inputs: Values = None, *,
        root: Mapping[str, float] | None = None, every: float | None = None,
    ) -> Record:  # fmt: skip
        """Tikhonov's approximation from initial values: x̄(t) and z̄(t) + ẑ(t/ε), with errors of the order of ε.

        root : the root to follow; the one that Newton's method finds from z when left out.
        """
        z0 = np.array([z[name] for name in self.fast], dtype=float)
        guess = z0 if root is None else np.array([root[name] for name in self.fast])
        bar = self._newton(self._slow_values(x), guess, inputs, 0.0)
        if bar is None:
            raise ConvergenceError("no-convergence", "no isolated root of g = 0 near the initial values.",
                                   Advice("Give a {} of `roots`.", Argument("root")))  # fmt: skip
        layer = self.boundary_layer(x, dict(zip(self.fast, bar, strict=True)), inputs)
        growth = float(np.linalg.eigvals(layer.A).real.max())
        if growth >= 0:
            raise ModelError(
                "unstable", f"the boundary layer of this root does not decay (real part {growth:.3g} in fast time): "
                "the fast variables leave it.", Advice("Take another {}.", Argument("root")),
                evidence={"growth": growth},
            )  # fmt: skip
        x_, z_, u_, eps_, t_ = self.symbols
        hat = ca.vertcat(*(SX.sym(name) for name in self.fast))
        values = [ca.DM(self._slow_values(x)), bar + hat, ca.substitute(self._driven(inputs, 0.0), t_, SX(0)), SX(0)]
        moved = ca.substitute(self.g, ca.vertcat(x_, z_, u_, eps_, t_), ca.vertcat(*values))
        fast = _system(hat, moved, dict(zip(self.fast, z0 - bar, strict=True)))
        end = min(LAYER / -growth, until / self.epsilon)
        deviation = open_run(fast, end, every=end / 2000, progress=False)
        hats = np.column_stack([deviation[name] for name in self.fast])
        if end < until / self.epsilon and np.abs(hats[-1]).max() > SETTLED * np.abs(hats[0]).max():
            raise ModelError("unstable", "the boundary layer does not settle on this root from the initial values.",
                             Advice("Choose another {}.", Argument("root")))  # fmt: skip
        run = open_run(self._slow_model(x, bar, inputs, until), until, every=every, progress=False)
        channels = {name: run[name] for name in self.slow}
        for k, name in enumerate(self.fast):
            channels[name] = run[name] + np.interp(run.time / self.epsilon, deviation.time, hats[:, k], right=0.0)
        return Record.from_channels(run.time, channels, name="Tikhonov's approximation")

    def residual(
        self, manifold: Callable[[Any, Any], Any], x: Values, inputs: Values = None, *, t: float = 0.0
    ) -> Array:
        """ε (h_t + h_x f(x, h)) - g(x, h) of a manifold z = h(x, t), at a slow state: zero where it is invariant."""
        x_, z_, u_, eps_, t_ = self.symbols
        h = _column(call_user(manifold, "manifold", x_, t_), len(self.fast), "manifold")
        f, g = ca.substitute([self.f, self.g], [z_], [h])
        value = eps_ * ca.jtimes(h, ca.vertcat(x_, t_), ca.vertcat(f, SX(1))) - g
        value = ca.substitute(value, ca.vertcat(u_, eps_), self._driven(inputs, self.epsilon))
        return np.array(ca.Function("residual", [x_, t_], [value])(self._slow_values(x), t)).ravel()

    # -- parts ---------------------------------------------------------------------------------------------------------
    def _driven(self, inputs: Values, eps: float) -> Any:
        """Inputs as expressions of time, and ε."""
        given = dict(inputs or {})
        for name in given:
            if name not in self.inputs:
                raise ModelError("unknown-name", unknown_name("input", name, self.inputs))
        sources = [given.get(name, 0.0) for name in self.inputs]
        values = [one_value(s, "an input", self.symbols[4]) if callable(s) else SX(float(s)) for s in sources]
        return ca.vertcat(*values, SX(eps))

    def _slow_values(self, x: Values) -> Array:
        missing = [name for name in self.slow if name not in (x or {})]
        if missing:
            raise DataError("missing-argument", f"the slow variable {missing[0]!r} has no value.")
        return np.array([float((x or {})[name]) for name in self.slow])

    def _parts(self, x: Array, z: Array, inputs: Values, t: float) -> tuple[Array, Array]:
        """g and g_z at ε = 0."""
        x_, z_, u_, eps_, t_ = self.symbols
        parts = ca.substitute([self.g, ca.jacobian(self.g, z_)], [ca.vertcat(u_, eps_)], [self._driven(inputs, 0.0)])
        g, J = ca.Function("g", [x_, z_, t_], [ca.densify(part) for part in parts])(x, z, t)
        return np.array(g).ravel(), np.array(J)

    def _newton(self, x: Array, z: Array, inputs: Values, t: float) -> Array | None:
        """The isolated root near a guess, by Newton's method with halved steps; None where there is none."""
        g, J = self._parts(x, z, inputs, t)
        scale = 1 + np.abs(g).max()
        for _ in range(60):
            if not (np.isfinite(J).all() and np.linalg.cond(J) < 1 / ISOLATED):
                return None
            if np.abs(g).max() <= CLOSED * scale and np.abs(np.linalg.solve(J, g)).max() <= CLOSED * (
                1 + np.abs(z).max()
            ):
                return z
            step, share = np.linalg.solve(J, g), 1.0
            while share > 1e-3:
                trial = self._parts(x, z - share * step, inputs, t)
                if np.linalg.norm(trial[0]) < np.linalg.norm(g) or np.abs(g).max() <= CLOSED * scale:
                    break
                share /= 2
            z, (g, J) = z - share * step, trial
        return None

    def _slow_model(self, x: Mapping[str, float], root: Array, inputs: Values, span: float) -> EquationsOfMotion:
        x_, z_, u_, eps_, t_ = self.symbols
        f, g = ca.substitute([self.f, self.g], [ca.vertcat(u_, eps_)], [self._driven(inputs, 0.0)])
        drift = ca.jtimes(g, ca.vertcat(x_, t_), ca.vertcat(f, SX(1))) + g / (RELAXATION * span)
        rate = -ca.solve(ca.jacobian(g, z_), drift)
        start = {**{name: x[name] for name in self.slow}, **dict(zip(self.fast, root, strict=True))}
        return _system(ca.vertcat(x_, z_), ca.vertcat(f, rate), start, t_)


def _system(states: Any, rates: Any, start: Mapping[str, float], t: Any = None) -> EquationsOfMotion:
    """A first-order system as equations with internal states."""
    drawn = {name: float(value) for name, value in start.items()}
    return equations_from_expressions("singular perturbation", z=states, t=t, g=rates, drawn=drawn)


def singular_perturbation(
    f: Right, g: Right, *, slow: str | Iterable[str], fast: str | Iterable[str], epsilon: float,
    inputs: str | Iterable[str] = (),
) -> SingularPerturbation:  # fmt: skip
    """A system ẋ = f, ε ż = g in standard form, for any first-order model; machines take `da.separate_scales`.

    Parameters
    ----------
    f, g : functions of (x, z, u, eps, t), called once with columns of symbols; they return one value per variable.
    slow, fast, inputs : names.
    epsilon : the small number.

    Examples
    --------
    >>> sp = singular_perturbation(lambda x, z, u, eps, t: z[0], lambda x, z, u, eps, t: -x[0] - z[0] + u[0],
    ...                            slow="x", fast="z", inputs="u", epsilon=0.05)
    >>> sp.roots({"x": 2.0}, {"u": 1.0})
    ({'z': -1.0},)
    """
    names = [take_names("variable", group) for group in (slow, fast, inputs)]
    if not epsilon > 0:
        raise DataError("not-positive", f"epsilon must be positive, got {epsilon!r}.")
    columns = [ca.vertcat(*(SX.sym(name) for name in group)) if group else SX(0, 1) for group in names]
    symbols = (*columns, SX.sym("eps"), SX.sym("t"))
    pair = [
        _column(call_user(right, what, *symbols), len(group), what)
        for right, what, group in ((f, "f", names[0]), (g, "g", names[1]))
    ]
    return SingularPerturbation(names[0], names[1], names[2], float(epsilon), symbols, pair[0], pair[1])


def _column(result: Any, size: int, what: str) -> Any:
    column = ca.vertcat(*result) if isinstance(result, (list, tuple)) else SX(result)
    if column.shape != (size, 1):
        raise ModelError("wrong-shape", f"{what} must return {size} values, got {column.shape[0]}.")
    return SX(column)
