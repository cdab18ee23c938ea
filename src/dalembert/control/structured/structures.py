"""Structures of controllers u = K y, each affine in its free numbers: K = K₀ + Σ θ_j E_j, K = [D_k  C_k; B_k  A_k].

static          D_k
PID             k_p + k_i / s + k_d s / (1 + T s), one loop for each input, T fixed
given order     all of D_k, C_k, B_k, and A_k tridiagonal: every controller of this order has such a form
decentralised   a controller of given order for each input, from outputs of its own
observer        A_k = A - B F - L C , B_k = L , C_k = -F of a nominal model: also affine, in F and L

Scheduled, every number is a series Σ_b θ_jb φ_b(ρ) with φ = 1, cos ρ, sin ρ, cos 2ρ, ...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.declare import count, instance, not_negative, positive
from dalembert.core.errors import DataError, require_name
from dalembert.core.results import result
from dalembert.linear import StateSpace

Names = str | tuple[str, ...] | list[str] | None


class LawStructure(ABC):
    """What is free in a controller; made by its class in `da.control`."""

    kind: ClassVar[str]
    drives: Any = None
    reads: Any = None

    @property
    @abstractmethod
    def states(self) -> int:
        """Order of the controller."""

    @abstractmethod
    def affine(self, drives: tuple[str, ...], reads: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
        """K₀ (m, n) and E (parameters, m, n), for inputs and outputs of these names."""

    def channels(self, model: StateSpace) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Driven inputs and read outputs of a model, all where none are named."""
        found = []
        for names, known, noun in ((self.drives, model.inputs, "input"), (self.reads, model.outputs, "output")):
            chosen = known if names is None else (names,) if isinstance(names, str) else tuple(names)
            for name in chosen:
                require_name(noun, name, known, "the models", argument="structure")
            DataError.when(not chosen, "empty", f"the structure needs at least one {noun}.")
            found.append(tuple(chosen))
        return found[0], found[1]


def _units(mask: FloatArray) -> FloatArray:
    """E with one free entry each."""
    places = np.argwhere(mask)
    E = np.zeros((len(places), *mask.shape))
    E[np.arange(len(places)), places[:, 0], places[:, 1]] = 1.0
    return E


def _order_mask(nu: int, ny: int, states: int, direct: bool) -> FloatArray:
    mask = np.zeros((nu + states, ny + states))
    mask[:nu, :ny] = direct
    mask[:nu, ny:] = mask[nu:, :ny] = 1.0
    for k in range(states):
        mask[nu + k, ny + max(k - 1, 0) : ny + min(k + 2, states)] = 1.0
    return mask


Order = Annotated[int, count(0), "number of states"]


@result
class StaticGain(LawStructure):
    """u = D y.  drives, reads : names of inputs and outputs, all where left out."""

    kind: ClassVar[str] = "static"
    drives: Names = None
    reads: Names = None

    @property
    def states(self) -> int:
        return 0

    def affine(self, drives: tuple[str, ...], reads: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
        mask = np.ones((len(drives), len(reads)))
        return np.zeros_like(mask), _units(mask)


@result
class FixedOrder(LawStructure):
    """A controller of given order, with or without a direct part.

    Examples
    --------
    >>> FixedOrder(2).affine(("u",), ("y",))[1].shape[0]  # direct part, 2 + 2 gains, 4 entries
    9
    """

    kind: ClassVar[str] = "given order"
    order: Order = 1
    direct: bool = True
    drives: Names = None
    reads: Names = None

    @property
    def states(self) -> int:
        return self.order

    def affine(self, drives: tuple[str, ...], reads: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
        mask = _order_mask(len(drives), len(reads), self.order, self.direct)
        return np.zeros_like(mask), _units(mask)


@result
class PIDLoops(LawStructure):
    """One PID loop for each pair input -> output, derivative filtered with a fixed time constant [s]."""

    kind: ClassVar[str] = "PID"
    pairs: Annotated[Any, instance(Mapping)] = None
    filter: Annotated[float, positive, "time constant of the derivative [s]"] = 1e-3
    integral: bool = True
    derivative: bool = True

    def __post_init__(self) -> None:
        DataError.when(not self.pairs, "empty", "a PID structure needs pairs of input and output.")

    @property
    def drives(self) -> tuple[str, ...]:
        return tuple(self.pairs)

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.pairs.values()))

    @property
    def states(self) -> int:
        return len(self.pairs) * (self.integral + self.derivative)

    def affine(self, drives: tuple[str, ...], reads: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
        nu, ny = len(drives), len(reads)
        K, E, state = np.zeros((nu + self.states, ny + self.states)), [], 0
        for i, drive in enumerate(drives):
            j = reads.index(self.pairs[drive])
            E.append(_one(K, (i, j, 1.0)))
            if self.integral:
                K[nu + state, j] = 1.0
                E.append(_one(K, (i, ny + state, 1.0)))
                state += 1
            if self.derivative:  # k_d s / (1 + T s) = k_d/T (1 - 1/(1 + T s))
                K[nu + state, ny + state], K[nu + state, j] = -1.0 / self.filter, 1.0 / self.filter
                E.append(_one(K, (i, j, 1.0 / self.filter), (i, ny + state, -1.0 / self.filter)))
                state += 1
        return K, np.array(E)


def _one(like: FloatArray, *entries: tuple[int, int, float]) -> FloatArray:
    matrix = np.zeros_like(like)
    for i, j, value in entries:
        matrix[i, j] = value
    return matrix


@result
class Decentralised(LawStructure):
    """A controller of its own for each input: {input: outputs that it reads}, each of the same order."""

    kind: ClassVar[str] = "decentralised"
    pairs: Annotated[Any, instance(Mapping)] = None
    order: Order = 0
    direct: bool = True

    def __post_init__(self) -> None:
        DataError.when(not self.pairs, "empty", "a decentralised structure needs the outputs of each input.")

    @property
    def drives(self) -> tuple[str, ...]:
        return tuple(self.pairs)

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in self.pairs.values() for name in _listed(names)))

    @property
    def states(self) -> int:
        return self.order * len(self.pairs)

    def affine(self, drives: tuple[str, ...], reads: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
        nu, ny, n = len(drives), len(reads), self.order
        mask = np.zeros((nu + self.states, ny + self.states))
        for i, drive in enumerate(drives):
            columns = [reads.index(name) for name in _listed(self.pairs[drive])]
            part = _order_mask(1, len(columns), n, self.direct)
            rows, states = [i, *range(nu + i * n, nu + (i + 1) * n)], range(ny + i * n, ny + (i + 1) * n)
            mask[np.ix_(rows, [*columns, *states])] = part
        return np.zeros_like(mask), _units(mask)


def _listed(names: Any) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


@result
class ObserverForm(LawStructure):
    """An observer of a nominal model and a feedback of its estimate, u = -F x̂; F and L are free."""

    kind: ClassVar[str] = "observer"
    model: Annotated[StateSpace, instance(StateSpace)] = None  # type: ignore[assignment]
    drives: Names = None
    reads: Names = None
    shift: Annotated[float, not_negative, "added to the decay of the nominal model [rad/s]"] = 0.0

    @property
    def states(self) -> int:
        return self.model.nx

    def affine(self, drives: tuple[str, ...], reads: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
        B = self.model.B[:, [self.model.inputs.index(name) for name in drives]]
        C = self.model.C[[self.model.outputs.index(name) for name in reads]]
        nu, ny, n = len(drives), len(reads), self.model.nx
        K, E = np.zeros((nu + n, ny + n)), []
        K[nu:, ny:] = self.model.A - self.shift * np.eye(n)
        for i in range(nu):
            for j in range(n):
                matrix = np.zeros_like(K)
                matrix[i, ny + j] = -1.0
                matrix[nu:, ny + j] = -B[:, i]
                E.append(matrix)
        for i in range(n):
            for j in range(ny):
                matrix = np.zeros_like(K)
                matrix[nu + i, j] = 1.0
                matrix[nu + i, ny:] = -C[j]
                E.append(matrix)
        return K, np.array(E)


def basis(values: FloatArray | None, harmonics: int, count_: int) -> FloatArray:
    """φ_b (models, functions): 1, cos ρ, sin ρ, cos 2ρ, ...; only 1 without a schedule."""
    columns = [np.ones(count_)]
    if values is not None:
        for k in range(1, harmonics + 1):
            columns += [np.cos(k * values), np.sin(k * values)]
    return np.column_stack(columns)
