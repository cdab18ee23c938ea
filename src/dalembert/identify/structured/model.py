"""Second-order models with unknown numbers in their matrices, and their sampled form with exact derivatives.

M(θ) x″ + C(θ) x′ + K(θ) x = B(θ) u,    each matrix affine:  X(θ) = X₀ + Σ_i θ_i X_i
acceleration rows  a = M⁻¹ [-K, -C | B],     ∂a = M⁻¹ ([-∂K, -∂C | ∂B] - ∂M a)
sampled            exp([[A, B, 0], [0, 0, I], [0, 0, 0]] dt) and its Fréchet derivative (Al-Mohy and Higham 2009):
                   x[t+1] = Φ x + Γ u[t] + Δ (u[t+1] - u[t]);  Δ = 0 for inputs held over the step
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from dalembert.core.arguments import matrix, real_number, unique_names
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.declare import instance
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.identify.records.checks import find_name, require_finite
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.record.checks import numbers

MATRICES = ("M", "C", "K", "B")


@dataclass(frozen=True)
class Continuous:
    """A, B, C, D of a continuous system and their derivatives by the parameters (k, ...)."""

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    dA: FloatArray
    dB: FloatArray
    dC: FloatArray
    dD: FloatArray


@dataclass(frozen=True)
class Unknown:
    """One unknown number θ: it adds θ times these matrices to M, C, K, B. ``value`` : the first value of the search."""

    name: str
    value: float
    M: ArrayLike | None = None
    C: ArrayLike | None = None
    K: ArrayLike | None = None
    B: ArrayLike | None = None


@frozen(init=False)
class StructuredModel:
    """A second-order system whose matrices are affine in unknown numbers.

    Parameters
    ----------
    known : SecondOrder, dense
        The known part of M, C, K, B, and the outputs. M may be zero where unknowns add to it.
    unknown : sequence of :class:`Unknown`

    Examples
    --------
    >>> known = SecondOrder(np.eye(2), np.zeros((2, 2)), B=[1.0, 0.0])
    >>> wall, between = [[1, 0], [0, 0]], [[1, -1], [-1, 1]]
    >>> model = StructuredModel(known, [Unknown("k1", 100.0, K=wall), Unknown("k2", 50.0, K=between)])
    >>> model.system({"k1": 120.0}).K.tolist()
    [[170.0, -50.0], [-50.0, 50.0]]
    """

    known: SecondOrder
    names: tuple[str, ...]
    values: FloatArray
    parts: Mapping[str, FloatArray]

    def __init__(self, known: SecondOrder, unknown: Iterable[Unknown]) -> None:
        listed = tuple(instance(Unknown)("unknown", each) for each in instance(Iterable)("unknown", unknown))
        if instance(SecondOrder)("known", known).is_sparse:
            raise DataError(
                "not-supported",
                "a StructuredModel needs dense matrices.",
                Advice("Use {}, or reduce the structure first.", Call("system.dense")),
            )
        if not listed:
            raise DataError("empty", "a StructuredModel needs at least one Unknown.", where={"argument": "unknown"})
        names = unique_names("unknown", [u.name for u in listed], ("",) * len(listed), "this StructuredModel")
        parts = {}
        for symbol in MATRICES:
            rows, columns = getattr(known, symbol).shape
            stack = np.zeros((len(listed), rows, columns))
            for i, each in enumerate(listed):
                value = getattr(each, symbol)
                if value is not None:
                    stack[i] = matrix(f"{symbol} of unknown {each.name!r}", value, rows, columns, "as the known")
            parts[symbol] = stack
        for i, each in enumerate(listed):
            if not any(np.any(stack[i]) for stack in parts.values()):
                raise DataError(
                    "no-effect",
                    f"unknown {each.name!r} changes no matrix.",
                    Advice("Give it {}.", *map(Argument, MATRICES)),
                    where={"parameter": each.name},
                )
        values = np.array([float(u.value) for u in listed])
        require_finite(values, "the first values of unknowns must be finite.")
        assign(self, known=known, names=names, values=values, parts=parts)

    @classmethod
    def entries(
        cls, system: SecondOrder, unknown: Sequence[str] = ("C", "K"), *, masks: Mapping[str, ArrayLike] | None = None
    ) -> StructuredModel:
        """Every entry of some matrices unknown, symmetric; the values of ``system`` are the first values.

        Parameters
        ----------
        unknown : some of "M", "C", "K"
        masks : boolean (n, n) by matrix, optional
            Which entries are free, the others stay as in ``system``. When left out: those that are not zero in it.
        """
        blank: dict[str, Any] = {}
        listed = []
        for symbol in unknown:
            find_name("matrix", symbol, ("M", "C", "K"), "unknown")
            full = np.array(getattr(system.dense(), symbol))
            mask_of = (masks or {}).get(symbol)
            mask = full != 0.0 if mask_of is None else np.asarray(mask_of, dtype=bool)
            if mask.shape != full.shape or not np.array_equal(mask, mask.T):
                raise DataError("not-symmetric", f"the mask of {symbol} must be symmetric, of shape {full.shape}.")
            blank[symbol] = np.where(mask, 0.0, full)
            for i, j in zip(*np.nonzero(np.triu(mask)), strict=True):
                entry = np.zeros_like(full)
                entry[i, j] = entry[j, i] = 1.0
                label = f"{symbol}[{system.coordinates[i]}, {system.coordinates[j]}]"
                listed.append(Unknown(label, float(full[i, j]), **{symbol: entry}))
        return cls(system.dense().replace(**blank), listed)

    def vector(self, values: Mapping[str, float] | ArrayLike | None = None) -> FloatArray:
        """θ (k,) of values by name (others as at first), or of an array."""
        if values is None:
            return self.values.copy()
        if isinstance(values, Mapping):
            theta = self.values.copy()
            for name, value in values.items():
                theta[find_name("unknown", name, self.names, "this StructuredModel")] = real_number(f"{name!r}", value)
            return theta
        theta = numbers(values, "values").reshape(-1).copy()
        if theta.shape != self.values.shape:
            raise DataError("wrong-shape", f"{theta.size} values were given for {len(self.names)} unknowns.")
        return theta

    def system(self, values: Mapping[str, float] | ArrayLike | None = None) -> SecondOrder:
        """The system at some values; at the first ones when left out."""
        theta = self.vector(values)
        return self.known.replace(**{symbol: self._matrix(symbol, theta) for symbol in MATRICES})

    def _matrix(self, symbol: str, theta: FloatArray) -> FloatArray:
        return np.asarray(getattr(self.known, symbol) + np.tensordot(theta, self.parts[symbol], 1))

    def continuous(self, theta: FloatArray) -> Continuous:
        """First-order form (x, x′) and its derivatives."""
        singular = 1e14  # condition number of a mass matrix: less than two digits are left
        M, C, K, B = (self._matrix(symbol, theta) for symbol in MATRICES)
        dM, dC, dK, dB = (self.parts[symbol] for symbol in MATRICES)
        n, k, nu = len(M), len(theta), B.shape[1]
        if not np.isfinite(M).all() or np.linalg.cond(M) > singular:
            raise DataError(
                "singular-matrix", "the mass matrix is singular; massless coordinates must be eliminated first."
            )
        solve = np.linalg.inv(M)
        a = solve @ np.hstack([-(K + self.known.H), -(C + self.known.G), B])
        da = solve @ (np.concatenate([-dK, -dC, dB], axis=2) - dM @ a)
        Ya = self.known.Y_acceleration
        upper, none = np.hstack([np.zeros((n, n)), np.eye(n)]), np.zeros((k, n, 2 * n))
        return Continuous(
            A=np.vstack([upper, a[:, : 2 * n]]), B=np.vstack([np.zeros((n, nu)), a[:, 2 * n :]]),
            C=np.hstack([self.known.Y_position, self.known.Y_velocity]) + Ya @ a[:, : 2 * n],
            D=self.known.D + Ya @ a[:, 2 * n :],
            dA=np.concatenate([none, da[:, :, : 2 * n]], axis=1),
            dB=np.concatenate([np.zeros((k, n, nu)), da[:, :, 2 * n :]], axis=1),
            dC=Ya @ da[:, :, : 2 * n], dD=Ya @ da[:, :, 2 * n :],
        )  # fmt: skip

    def __repr__(self) -> str:
        words = [f"{name} = {value:.6g}" for name, value in zip(self.names, self.values, strict=False)]
        return f"StructuredModel: {len(words)} unknowns: {', '.join([*words[:12], *['...'][: len(words[12:])]])}"


class BuiltModel:
    """Any function from numbers to a system; derivatives of its matrices by central differences."""

    def __init__(
        self, build: Callable[[FloatArray], SecondOrder | StateSpace], values: FloatArray, names: Sequence[str]
    ) -> None:
        self.build, self.values, self.names = build, values, tuple(names)

    def system(self, theta: FloatArray) -> SecondOrder | StateSpace:
        return self.build(theta)

    def matrices(self, theta: FloatArray) -> tuple[FloatArray, ...]:
        """A, B, C, D of the continuous system at θ."""
        system = self.build(theta)
        inner = system.state_space() if isinstance(system, SecondOrder) else system
        if inner.dt is not None:
            raise DataError(
                "wrong-type", "the function must return a continuous system: a SecondOrder, or a StateSpace without dt."
            )
        return inner.A, inner.B, inner.C, inner.D

    def continuous(self, theta: FloatArray) -> Continuous:
        """First-order form and its derivatives."""
        size = np.maximum(np.abs(theta), 1e-3 * np.abs(self.values))
        steps = np.cbrt(np.finfo(np.float64).eps) * np.where(size > 0.0, size, 1.0)
        slopes: list[list[FloatArray]] = [[], [], [], []]
        for i, step in enumerate(steps):
            ahead, behind = theta.copy(), theta.copy()
            ahead[i] += step
            behind[i] -= step
            pair = zip(self.matrices(ahead), self.matrices(behind), strict=True)
            for slope, (plus, minus) in zip(slopes, pair, strict=True):
                slope.append((plus - minus) / (ahead[i] - behind[i]))
        return Continuous(*self.matrices(theta), *(np.array(slope) for slope in slopes))


@dataclass(frozen=True)
class SampledModel:
    """x[t+1] = Φ x + Γ u[t] + Δ (u[t+1] - u[t]), y = C x + D u, and derivatives by the parameters."""

    phi: FloatArray
    gamma: FloatArray
    delta: FloatArray
    C: FloatArray
    D: FloatArray
    dphi: FloatArray
    dgamma: FloatArray
    ddelta: FloatArray
    dC: FloatArray
    dD: FloatArray


def discretize(system: Continuous, dt: float, hold: str) -> SampledModel:
    """Exact step and its exact derivatives; inputs held (``"zero"``) or linear (``"first"``) in between."""
    n, nu = system.B.shape
    size = n + 2 * nu
    N = np.zeros((size, size))
    N[:n, :n], N[:n, n : n + nu], N[n : n + nu, n + nu :] = system.A * dt, system.B * dt, np.eye(nu)
    slopes = np.zeros((len(system.dA), size, size))
    slopes[:, :n, :n], slopes[:, :n, n : n + nu] = system.dA * dt, system.dB * dt
    if len(slopes):
        # expm([[N, E], [0, N]]) in all directions E at once would be larger: one Fréchet derivative each
        pairs = [scipy.linalg.expm_frechet(N, E, check_finite=False) for E in slopes]
        exponential, turned = pairs[0][0], np.array([pair[1] for pair in pairs])
    else:
        exponential, turned = scipy.linalg.expm(N), slopes
    linear = 1.0 if hold == "first" else 0.0
    return SampledModel(
        phi=exponential[:n, :n], gamma=exponential[:n, n : n + nu], delta=linear * exponential[:n, n + nu :],
        C=system.C, D=system.D,
        dphi=turned[:, :n, :n], dgamma=turned[:, :n, n : n + nu], ddelta=linear * turned[:, :n, n + nu :],
        dC=system.dC, dD=system.dD,
    )  # fmt: skip
