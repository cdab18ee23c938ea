"""Uncertain systems from models at values of their parameters.

The matrices of the models are stacked as N(p) with N ξ = 0 or y,

    second order    N = [[M, C + G, K + H, -B], [Y_a, Y_v, Y_p, D]] ,   ξ = (x″, x′, x, u)
    state space     N = [[A, B], [C, D]] ,                              ξ = (x, u)

and written as polynomials in δ ∈ [-1, 1], one per parameter, of the least degree that reproduces N at points between.
Masses, dampers and stiffnesses enter N as a polynomial of degree 1, a length of degree 2: these are exact. M stands on
the side of the accelerations (a descriptor form), so no inverse of it is approximated.

A polynomial is a sum N₀ + Σ δᵢ Nᵢ(δ₁ ... δᵢ); Nᵢ = L P R with bases L of its columns and R of its rows, and δᵢ repeats
as often as the smaller of them has members. States of a block that the others do not reach or do not see are removed
as those of a system with 1/s in place of δᵢ (D'Andrea and Khatri 1997), until none is left.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import anything, checked, count, function, mapping, not_negative
from dalembert.core.errors import DataError
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.linear.transforms.forms import reachable
from dalembert.linear.uncertain import Uncertain, UncertainBlock, channel_names

Model = SecondOrder | StateSpace
Family = Callable[[FloatArray], Sequence[Model]]  # models at values of the parameters, (points, parameters)
ModelFunction = Annotated[Callable[..., Any], function, "from {name: value} to a SecondOrder or StateSpace"]
Ranges = Annotated[Mapping[str, Any], mapping("parameter", anything), "limits by name"]
Accuracy = Annotated[float, not_negative, "relative error of the matrices at which the degree is not raised further"]
Degree = Annotated[int, count(1, 6), "highest total degree of the polynomials"]


@checked
def fit_uncertain(
    build: ModelFunction, parameters: Ranges, *, accuracy: Accuracy = 1e-9, degree: Degree = 4
) -> Uncertain:
    """An uncertain system from a function that gives the model for values of the parameters.

    Parameters
    ----------
    build : function of a mapping {name: value}, with the same channels and coordinates for all values.
    parameters : (low, high) by name, or (low, nominal, high); the middle is nominal where left out.
    accuracy : the default is the rounding of matrices that were subtracted from each other.
    degree : the number of models grows with its power, the channels of the blocks as well.

    Examples
    --------
    >>> arm = lambda p: SecondOrder(p["length"] ** 2, 9.81 * p["length"], B=[1.0])
    >>> u = fit_uncertain(arm, {"length": (0.8, 1.2)})
    >>> u.blocks[0].rows, u.error < 1e-12
    (2, True)
    """
    blocks = [real_block(name, limits) for name, limits in parameters.items()]
    names = [block.name for block in blocks]

    def models(points: FloatArray) -> list[Model]:
        return [build(dict(zip(names, map(float, point), strict=True))) for point in points]

    return fit_family(models, blocks, accuracy=accuracy, degree=degree)


def real_block(name: str, limits: Any, nominal: float | None = None, unit: str = "") -> UncertainBlock:
    """A block without repetitions, from (low, high), (low, nominal, high) or a share of the nominal value."""
    try:
        numbers = [float(number) for number in np.atleast_1d(limits)]
    except (TypeError, ValueError):
        numbers = [np.nan]
    where = {"parameter": name}
    if len(numbers) == 1 and nominal is not None:
        numbers = [nominal - numbers[0] * abs(nominal), nominal, nominal + numbers[0] * abs(nominal)]
    elif len(numbers) == 2:
        numbers.insert(1, 0.5 * sum(numbers) if nominal is None else nominal)
    problem = f"the range of {name!r} must be (low, high), got {limits!r}."
    DataError.when(len(numbers) != 3 or not np.isfinite(numbers).all(), "wrong-type", problem, where=where)
    low, value, high = numbers
    problem = f"the range of {name!r} is empty: {low:g} to {high:g}."
    DataError.when(not low < high, "empty", problem, where=where)
    problem = f"the nominal value {value:g} of {name!r} is outside its range {low:g} to {high:g}."
    DataError.when(not low <= value <= high, "out-of-range", problem, where=where)
    return UncertainBlock(name, "real", 0, 0, low, high, value, unit)


def fit_family(
    models: Family,
    blocks: Sequence[UncertainBlock],
    *,
    accuracy: float,
    degree: int,
    most_models: int = 4000,
    rounding: float = 1e-12,
    exact: float = 1e-10,
) -> Uncertain:
    """The uncertain system of a family of models.

    rounding : coefficients below this, of the largest, are zero.  exact : error of a fit that rounding explains.
    most_models : bound of the time that a fit of many parameters takes; higher degrees are left out.
    """
    DataError.when(not blocks, "empty", "no parameter is uncertain.", where={"argument": "parameters"})
    n = len(blocks)

    def at(deltas: FloatArray) -> list[Model]:
        values = np.array([[b.parameter(d) for b, d in zip(blocks, row, strict=True)] for row in deltas])
        return list(models(values.reshape(len(deltas), n)))

    random = np.random.default_rng(0)
    judges = np.vstack([np.sign(random.normal(size=(4 + 2 * n, n))), random.uniform(-1.0, 1.0, (4 + 2 * n, n))])
    first = at(np.zeros((1, n)))[0]
    form = _Form(first)
    judged = form.stack(at(judges))
    center = form.stack([first])
    size = form.sizes(np.concatenate([center, judged]))
    nodes, values = np.zeros((1, n)), center
    fits: list[tuple[float, list[tuple[int, ...]], Any]] = []
    for total in range(1, degree + 1):
        powers = _powers(n, total)
        if fits and 2 * len(powers) > most_models:
            break
        axes = np.vstack([s * np.eye(n) for s in (1.0, -1.0, 0.5, -0.5)[: 2 * min(total, 2)]])
        spread = np.cos(np.pi * random.uniform(size=(0 if total == 1 else 2 * len(powers), n)))
        more = np.vstack([axes, spread])
        nodes, values = np.vstack([nodes, more]), np.concatenate([values, form.stack(at(more))])
        terms = _monomials(nodes, powers)
        flat: Any = np.linalg.lstsq(terms, values.reshape(len(values), -1), rcond=None)[0]
        difference = _monomials(judges, powers) @ flat - judged.reshape(len(judged), -1)
        error = form.error(difference.reshape(judged.shape), size)
        fits.append((error, powers, flat.reshape(len(powers), *center.shape[1:])))
        if error <= accuracy:
            break
    error, powers, coefficients = min(fits, key=lambda each: each[0])
    system, repeats = form.realise(
        powers, coefficients, size, rounding if error <= exact else max(rounding, 0.1 * error)
    )
    sized = [replace(b, rows=r, columns=r) for b, r in zip(blocks, repeats, strict=True)]
    into = [name for b in sized for name in channel_names(b.name, "w", b.rows)]
    out = [name for b in sized for name in channel_names(b.name, "z", b.columns)]
    named = system.replace(
        inputs=[*into, *first.inputs], outputs=[*out, *first.outputs], units=form.units, provenance=first.provenance
    )
    return Uncertain(named, sized, error=0.0 if error <= exact else error)


def _powers(n: int, total: int) -> list[tuple[int, ...]]:
    """Exponents of n variables of at most this sum."""
    powers = [(0,) * n]
    for degree in range(1, total + 1):
        for chosen in itertools.combinations_with_replacement(range(n), degree):
            powers.append(tuple(chosen.count(k) for k in range(n)))
    return powers


def _monomials(deltas: FloatArray, powers: Sequence[tuple[int, ...]]) -> FloatArray:
    return np.stack([np.prod(deltas ** np.array(e), axis=1) for e in powers], axis=1)


class _Form:
    """How the models of a family are stacked: as of second order where all are and M is regular, else as states."""

    def __init__(self, model: Model, singular: float = 1e12) -> None:
        self.second = isinstance(model, SecondOrder)
        if isinstance(model, SecondOrder):
            model = model.dense()
            loads = np.abs(model.M).max(initial=0.0)
            self.second = (
                bool(len(model.M)) and np.linalg.cond(model.M / (loads or 1.0)) < singular and not model.K_loss.any()
            )
        self.model = model
        first = model if not isinstance(model, SecondOrder) else model.state_space()
        self.channels, self.units = (first.inputs, first.outputs), first.units
        self.states, self.dt = first.states, first.dt
        n = model.nq if self.second and isinstance(model, SecondOrder) else first.nx
        widths = [n, n, n, first.nu] if self.second else [n, first.nu]
        self.n, self.ny = n, first.ny
        self.edges = np.cumsum([0, *widths])

    def stack(self, models: Sequence[Model]) -> FloatArray:
        """N of every model, (models, rows, columns)."""
        stacked = []
        for model in models:
            if getattr(model, "form", None) not in ("second-order", "state-space"):
                problem = f"a model of the family must be a SecondOrder or a StateSpace, got {type(model).__name__}."
                raise DataError("wrong-type", problem)
            if self.second and isinstance(model, SecondOrder):
                m = model.dense()
                N = np.block([[m.M, m.C_full, m.K_full, -m.B], [m.Y_acceleration, m.Y_velocity, m.Y_position, m.D]])
            else:
                s = model.state_space() if isinstance(model, SecondOrder) else model
                N = np.block([[s.A, s.B], [s.C, s.D]])
            same = (model.inputs, model.outputs) == self.channels and N.shape[1] == self.edges[-1]
            problem = "the models of the family must have the same coordinates, inputs and outputs for all parameters."
            DataError.when(not same, "wrong-shape", problem)
            stacked.append(N)
        return np.array(stacked)

    def sizes(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scales of rows and columns that give the entries of N sizes near 1."""
        largest = np.abs(values).max(axis=0)
        if self.second:
            diagonal = np.sqrt(np.diag(largest[: self.n, : self.n]))
            diagonal[diagonal == 0.0] = 1.0
            ranges = [slice(a, b) for a, b in itertools.pairwise(self.edges[:4])]
            square = [np.linalg.norm(largest[: self.n, cut] / np.outer(diagonal, diagonal), 2) for cut in ranges]
            speed = np.sqrt(square[2]) or square[1] or 1.0
            columns = np.concatenate([diagonal, diagonal * speed, diagonal * speed**2])
            rows = diagonal
        else:
            A = largest[: self.n, : self.n]
            scale = scipy.linalg.matrix_balance(A, permute=False, separate=True)[1][0] if self.n else np.ones(0)
            speed = np.linalg.norm(A / scale[:, None] * scale, 2) if self.n else 1.0
            rows, columns = scale * (speed or 1.0), 1.0 / scale
        load = np.abs(largest[: self.n, self.edges[-2] :] / rows[:, None]).max(axis=0, initial=0.0)
        columns = np.concatenate([columns, np.where(load > 0.0, load, 1.0)])
        read = (largest[self.n :] / columns).max(axis=1, initial=0.0)
        return np.concatenate([rows, np.where(read > 0.0, read, 1.0)]), columns

    def error(self, difference: FloatArray, size: tuple[FloatArray, FloatArray]) -> float:
        """Largest entry of a difference, relative to the sizes of its row and column."""
        return float(np.abs(difference / size[0][:, None] / size[1]).max(initial=0.0))

    def realise(
        self,
        powers: Sequence[tuple[int, ...]],
        coefficients: FloatArray,
        size: tuple[FloatArray, FloatArray],
        zero: float,
    ) -> tuple[StateSpace, tuple[int, ...]]:
        """M of the uncertain system, and the repetitions of every parameter."""
        rows, columns = size
        scaled = coefficients / rows[:, None] / columns
        scaled[np.abs(scaled) < zero] = 0.0
        static = _reduced(_sorted(_realise(dict(zip(powers, scaled, strict=True)), zero), len(powers[0])), zero)
        r = sum(static.repeats)
        P = static.matrix
        P = np.block(
            [[P[:r, :r], P[:r, r:] * columns], [rows[:, None] * P[r:, :r], rows[:, None] * P[r:, r:] * columns]]
        )
        exact = coefficients[powers.index((0,) * len(powers[0]))]  # unscaled: a nominal system without rounding
        P[r:, r:] = exact
        return (self._second(P, r) if self.second else self._first(P, r)), static.repeats

    def _second(self, P: FloatArray, r: int) -> StateSpace:
        n, nu = self.n, self.edges[-1] - self.edges[-2]
        z, f, y = P[:r], P[r : r + n], P[r + n :]
        a, v, x, u = (slice(r + start, r + stop) for start, stop in itertools.pairwise(self.edges))
        # 0 = f_w w + M x″ + C x′ + K x - B u  gives  x″ by (x, x′, w, u)
        solved = -np.linalg.solve(f[:, a], np.hstack([f[:, x], f[:, v], f[:, :r], f[:, u]]))
        A = np.block([[np.zeros((n, n)), np.eye(n)], [solved[:, : 2 * n]]])
        B = np.vstack([np.zeros((n, r + nu)), solved[:, 2 * n :]])
        read = np.vstack([z, y])
        through = np.hstack([read[:, x], read[:, v], read[:, :r], read[:, u]]) + read[:, a] @ solved
        return StateSpace(A, B, through[:, : 2 * n], through[:, 2 * n :], self.dt, states=self.states)

    def _first(self, P: FloatArray, r: int) -> StateSpace:
        n = self.n
        z, rates, y = P[:r], P[r : r + n], P[r + n :]
        x = slice(r, r + n)
        read = np.vstack([z, y])
        inputs = np.r_[0:r, r + n : P.shape[1]]
        return StateSpace(rates[:, x], rates[:, inputs], read[:, x], read[:, inputs], self.dt, states=self.states)


@dataclass(frozen=True)
class _Static:
    """(z, out) = matrix (w, ξ), w = δ z; variables : of each channel.  repeats : channels of every variable, sorted."""

    matrix: FloatArray
    variables: tuple[int, ...]
    repeats: tuple[int, ...] = ()


def _realise(P: Mapping[tuple[int, ...], FloatArray], zero: float) -> _Static:
    """A polynomial matrix as a static system with channels of its variables."""
    n = len(next(iter(P)))
    constant = P.get((0,) * n)
    shape = next(iter(P.values())).shape
    total = _Static(np.zeros(shape) if constant is None else constant, ())
    for i in reversed(range(n)):  # terms whose last variable is i
        terms = {}
        for e, matrix in P.items():
            if e[i] and not any(e[i + 1 :]) and matrix.any():
                lowered = list(e)
                lowered[i] -= 1
                terms[tuple(lowered)] = matrix
        if terms:
            total = _sum(total, _multiple(terms, i, zero))
    return total


def _multiple(terms: Mapping[tuple[int, ...], FloatArray], i: int, zero: float) -> _Static:
    """δᵢ P(δ), with δᵢ on the side where the coefficients together have the smaller rank."""
    stacked = list(terms.values())
    L, R = _basis(np.hstack(stacked), zero), _basis(np.hstack([m.T for m in stacked]), zero)
    inner = _realise({e: L.T @ m @ R for e, m in terms.items()}, zero)
    r, k, p = len(inner.variables), L.shape[1], R.shape[1]
    X = inner.matrix
    if k <= p:  # w = δ (P R ξ), out = L w
        matrix = np.block([
            [X[:r, :r], np.zeros((r, k)), X[:r, r:] @ R.T],
            [X[r:, :r], np.zeros((k, k)), X[r:, r:] @ R.T],
            [np.zeros((len(L), r)), L, np.zeros((len(L), len(R)))],
        ])  # fmt: skip
        return _Static(matrix, (*inner.variables, *[i] * k))
    matrix = np.block([
        [X[:r, :r], X[:r, r:], np.zeros((r, len(R)))],
        [np.zeros((p, r)), np.zeros((p, p)), R.T],
        [L @ X[r:, :r], L @ X[r:, r:], np.zeros((len(L), len(R)))],
    ])  # fmt: skip
    return _Static(matrix, (*inner.variables, *[i] * p))


def _basis(matrix: FloatArray, zero: float, factor: float = 10.0) -> FloatArray:
    U, sigma, _ = np.linalg.svd(matrix, full_matrices=False)
    return U[:, sigma > factor * zero * max(1.0, sigma.max(initial=0.0))]


def _sum(first: _Static, second: _Static) -> _Static:
    a, b = len(first.variables), len(second.variables)
    F, S = first.matrix, second.matrix
    matrix = np.block([
        [F[:a, :a], np.zeros((a, b)), F[:a, a:]],
        [np.zeros((b, a)), S[:b, :b], S[:b, b:]],
        [F[a:, :a], S[b:, :b], F[a:, a:] + S[b:, b:]],
    ])  # fmt: skip
    return _Static(matrix, first.variables + second.variables)


def _sorted(static: _Static, n: int) -> _Static:
    """Channels of one variable beside each other."""
    r = len(static.variables)
    order = np.argsort(static.variables, kind="stable").astype(int) if r else np.zeros(0, int)
    rows = np.concatenate([order, np.arange(r, len(static.matrix))])
    columns = np.concatenate([order, np.arange(r, static.matrix.shape[1])])
    repeats = [static.variables.count(k) for k in range(n)]
    return _Static(static.matrix[np.ix_(rows, columns)], tuple(sorted(static.variables)), tuple(repeats))


def _reduced(static: _Static, zero: float, rounds: int = 4) -> _Static:
    """Without channels of a block that the others do not reach or do not see."""
    P, repeats = static.matrix, list(static.repeats)
    for _ in range(rounds):
        before = list(repeats)
        for k in range(len(repeats)):
            start = sum(repeats[:k])
            for transpose in (False, True):
                Q = P.T if transpose else P
                r = repeats[k]
                block = np.arange(start, start + r)
                others = np.setdiff1d(np.arange(Q.shape[1]), block)
                basis = (
                    reachable(Q[np.ix_(block, block)], Q[np.ix_(block, others)], 100.0 * zero)
                    if r
                    else np.zeros((0, 0))
                )
                if basis.shape[1] < r:
                    left = scipy.linalg.block_diag(np.eye(start), basis.T, np.eye(Q.shape[0] - start - r))
                    right = scipy.linalg.block_diag(np.eye(start), basis, np.eye(Q.shape[1] - start - r))
                    Q = left @ Q @ right
                    repeats[k] = basis.shape[1]
                P = Q.T if transpose else Q
        if repeats == before:
            break
    return _Static(P, (), tuple(repeats))
