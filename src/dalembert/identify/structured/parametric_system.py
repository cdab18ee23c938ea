"""Linear systems that depend on parameters: a function, a sum of parts, or a machine.

A model update needs M, K, C, the rows P of the measured coordinates, and the derivatives of these by the parameters.
Those of sums of parts are exact; of the others the matrices (not the modes) are differenced by a rule of five points,
exact for matrices up to the fourth power of a parameter, to about 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from dalembert.core.errors import DataError, ModelError, unknown_name
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.identify.records.checks import find_name
from dalembert.linear import SecondOrder
from dalembert.solve.position.assemble import assemble
from dalembert.solve.rest.equilibrium import equilibrium
from dalembert.solve.rest.linearize import linearize

RULE = ((1, 8.0 / 12.0), (2, -1.0 / 12.0))  # weights of f(x + k h) - f(x - k h)


@dataclass(frozen=True)
class Affine:
    """A system whose matrices are sums of parts: M = M₀ + Σ pᵢ Mᵢ, and K, C alike.

    Called with values it gives the system; every part has the size of the base.

    Examples
    --------
    >>> base = SecondOrder(np.eye(2), np.zeros((2, 2)), coordinates=["a", "b"])
    >>> frame = Affine(base, stiffness={"k": [[2.0, -1.0], [-1.0, 1.0]]})
    >>> frame(k=4.0).K.tolist()
    [[8.0, -4.0], [-4.0, 4.0]]
    """

    base: SecondOrder
    mass: Mapping[str, Any] | None = None
    stiffness: Mapping[str, Any] | None = None
    damping: Mapping[str, Any] | None = None

    def parts(self) -> dict[str, dict[str, Any]]:
        """By matrix and parameter."""
        convert = scipy.sparse.csc_array if self.base.is_sparse else np.asarray
        n = self.base.nq
        result: dict[str, dict[str, Any]] = {}
        for symbol, group in (("M", self.mass), ("K", self.stiffness), ("C", self.damping)):
            result[symbol] = {}
            for name, term in (group or {}).items():
                matrix = convert(term).astype(np.float64)
                if matrix.shape != (n, n):
                    raise DataError(
                        "wrong-shape",
                        f"the part of {name!r} in {symbol} has shape {matrix.shape}, expected ({n}, {n}).",
                        where={"parameter": name},
                    )
                result[symbol][name] = matrix
        return result

    def __call__(self, **values: float) -> SecondOrder:
        parts = self.parts()
        names = {name for group in parts.values() for name in group}
        for name in values:
            find_name("parameter", name, names, "this Affine system")
        changed = {}
        for symbol, group in parts.items():
            total = getattr(self.base, symbol)
            for name, matrix in group.items():
                total = total + float(values[name]) * matrix
            changed[symbol] = total
        return self.base.replace(**changed)


@dataclass(frozen=True)
class Matrices:
    """M, K, C (n, n) dense or sparse and P (k, n), of one system or as a derivative."""

    M: Any
    K: Any
    C: Any
    P: Any


class ParametricSystem:
    """One interface to all of them: ``system(values)``, ``matrices(system)``, ``derivatives(values)``."""

    def __init__(self, model: Model, names: Sequence[str], first: Array, measured: Mapping[str, str]) -> None:
        self.model, self.names = model, list(names)
        self.measured = measured
        self.coordinates: tuple[str, ...] | None = None
        self.scale = np.where(first != 0.0, np.abs(first), 1.0)
        self.outputs: list[str] = []
        if isinstance(model, EquationsOfMotion):
            self.rest = equilibrium(model)
            chart = linearize(model, at=self.rest)
            if not isinstance(chart, SecondOrder):
                raise ModelError(
                    "not-supported", f"{model.name!r} has internal states or rolls: it has no M and K to update."
                )
            self.coordinates = chart.coordinates
            bare = [name.removeprefix("-") for name in measured.values()]
            self.outputs = [name for name in bare if name not in chart.coordinates]
        elif not callable(model):
            raise ModelError(
                "wrong-type",
                "update takes a function of the parameters that returns a SecondOrder or a Structure, an Affine "
                f"system, or equations of motion; got {type(model).__name__}.",
            )

    def system(self, values: Array) -> SecondOrder:
        numbers = {name: float(value) for name, value in zip(self.names, values, strict=True)}
        if isinstance(self.model, EquationsOfMotion):
            machine = self.model.replace(**numbers)
            near = assemble(machine, start=self.rest)
            named = all(name in machine.measures.index for name in self.coordinates or ())
            # Newton's method from nearby, where the coordinates have names; else relaxation, which takes longer
            balance = equilibrium(
                machine, start=near, guess={n: near[n] for n in self.coordinates or ()} if named else None
            )
            linearized = linearize(machine, at=balance, coordinates=self.coordinates, outputs=self.outputs or None)
        else:
            linearized = self.model(**numbers)
            linearized = (
                linearized.system()
                if hasattr(linearized, "system") and not isinstance(linearized, SecondOrder)
                else linearized
            )
        if not isinstance(linearized, SecondOrder):
            raise ModelError(
                "wrong-type", f"the model returned {type(linearized).__name__}; expected a SecondOrder or a Structure."
            )
        skew = [name for name in ("G", "H") if _any(getattr(linearized, name))]
        if skew:
            raise ModelError(
                "not-symmetric",
                f"the system has {' and '.join(skew)} (gyroscopic or circulatory terms); updating by modes needs "
                "symmetric matrices.",
            )
        return linearized

    def matrices(self, system: SecondOrder) -> Matrices:
        return Matrices(system.M, system.K, system.C, self._rows(system))

    def _rows(self, system: SecondOrder) -> Any:
        rows = np.zeros((len(self.measured), system.nq))
        place = {name: k for k, name in enumerate(system.coordinates)}
        outputs = {name: k for k, name in enumerate(system.outputs)} if system.Y_position is not None else {}
        for i, channel in enumerate(self.measured.values()):
            turned = channel.startswith("-") and channel not in place and channel not in outputs
            name, sign = (channel[1:], -1.0) if turned else (channel, 1.0)
            if name in place:
                rows[i, place[name]] = sign
            elif name in outputs:
                row = system.Y_position[[outputs[name]], :]
                rows[i] = sign * (row.toarray() if scipy.sparse.issparse(row) else row).reshape(-1)
            else:
                names = (*system.coordinates, *outputs)
                raise DataError("unknown-name", unknown_name("coordinate or output", name, names, "the model"))
        return rows

    def derivatives(self, values: Array, relative_step: float = 1e-3) -> list[Matrices]:
        # relative_step: relative, of the differences
        if isinstance(self.model, Affine):
            parts = self.model.parts()
            none = 0.0 * self.model.base.K
            rows = np.zeros((len(self.measured), self.model.base.nq))
            M, K, C = (parts[symbol] for symbol in ("M", "K", "C"))
            return [Matrices(M.get(n, none), K.get(n, none), C.get(n, none), rows) for n in self.names]
        result = []
        for k in range(len(values)):
            step = relative_step * max(abs(values[k]), 1e-3 * self.scale[k])
            total: list[Any] = [0.0] * 4
            for shift, weight in RULE:
                ahead, behind = (self._shift(values, k, sign * shift * step) for sign in (1, -1))
                total = [
                    sum_ + (weight / step) * (getattr(ahead, symbol) - getattr(behind, symbol))
                    for sum_, symbol in zip(total, "MKCP", strict=True)
                ]
            result.append(Matrices(*total))
        return result

    def _shift(self, values: Array, k: int, change: float) -> Matrices:
        moved = values.copy()
        moved[k] += change
        return self.matrices(self.system(moved))


def _any(matrix: Any) -> bool:
    if matrix is None:
        return False
    data = matrix.data if scipy.sparse.issparse(matrix) else matrix
    return bool(np.any(data))


Model = EquationsOfMotion | Affine | Callable[..., Any]
