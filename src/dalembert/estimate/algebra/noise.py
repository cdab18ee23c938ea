"""Q and R: covariances of the noise of a model and of its sensors.

    x_k = f(x_{k-1}, u_{k-1}) + w , w ~ (0, Q + G R_u Gᵀ) , G = ∂f/∂u ;   y_k = g(x_k) + v , v ~ (0, R)

Q is the covariance one step adds, R that of one sample: variances, not standard deviations. Each is a number (the same
for all), a vector (the diagonal), a matrix, a mapping name -> variance, or a function of the state. The numbers are
inputs of the filter's native code: other numbers, the same code.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.errors import DataError, ModelError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.text import list_names
from dalembert.estimate.algebra import covariance_factors as kernels
from dalembert.estimate.algebra.matrices import pack_numbers, triangle, unpack, unpack_factor
from dalembert.estimate.models.process import Process, Variances
from dalembert.expressions import Array, Expr, call_user

SX = ca.SX


def covariance(symbol: str, given: object, names: tuple[str, ...], what: str) -> Array:
    """(n, n) covariance in any of the forms but a function, checked.

    Examples
    --------
    >>> covariance("R", {"angle": 0.04, "force": 9.0}, ("angle", "force"), "output").tolist()
    [[0.04, 0.0], [0.0, 9.0]]
    """
    n = len(names)
    if isinstance(given, Mapping):
        return np.diag(_by_name(symbol, given, names, what))
    try:
        array = np.array(given, dtype=float)
    except (TypeError, ValueError):
        kinds = "a number, a vector, a matrix, a mapping of names to variances, or a function"
        raise DataError("wrong-type", f"{symbol} must be {kinds}, got {given!r}.") from None
    if array.ndim == 0:
        array = np.full(n, real_number(symbol, array))  # checked also where nothing has a name
    if array.ndim == 1 and len(array) == n:
        array = np.diag(array)
    if array.shape != (n, n):
        raise DataError(
            "wrong-shape",
            f"{symbol} has shape {array.shape}; expected a number, {n} variances or {n} x {n}, one per {what}: "
            f"{list_names(names, {}, most=12)}.",
        )
    return check_covariance(symbol, array, names)


def state_covariance(symbol: str, given: Any, model: Process) -> Array:
    """(ne, ne) Q or P0; a number, vector or matrix is that of the states that do not hold earlier inputs."""
    names = model.errors.names
    if not model.held or isinstance(given, Mapping):
        return covariance(symbol, given, names, "state")
    dynamic = [k for k in range(len(names)) if k not in model.held]
    if np.ndim(given) and np.shape(given)[0] == len(names):
        return covariance(symbol, given, names, "state")
    P = np.zeros((len(names), len(names)))
    P[np.ix_(dynamic, dynamic)] = covariance(symbol, given, tuple(names[k] for k in dynamic), "state")
    return P


def _by_name(symbol: str, given: Mapping[str, Any], names: tuple[str, ...], what: str) -> Array:
    for name in given:
        require_name(what, name, names, "the model", error=ModelError, argument=symbol)
    missing = [name for name in names if name not in given]
    if missing and symbol == "R":
        problem = f"R has no variance of {', '.join(missing)}."
        raise DataError("missing-argument", problem, Advice(f"Give a variance for every {what}, not its square root."))
    values = [given.get(name, 0.0) for name in names]
    return check_covariance(symbol, np.diag(np.array(values, dtype=float)), names).diagonal().copy()


def check_covariance(
    symbol: str, array: Array, names: tuple[str, ...], asymmetry: float = 1e-9, indefinite: float = 1e-10
) -> Array:
    """The matrix itself, if it is symmetric and not indefinite, up to rounding of nine digits or more.

    asymmetry, indefinite : difference from the transpose and negative eigenvalue, of the largest.
    """
    if not np.isfinite(array).all():
        raise DataError("not-finite", f"{symbol} has a value that is not finite.")
    size = np.abs(array).max(initial=0.0)
    if np.abs(array - array.T).max(initial=0.0) > asymmetry * size:
        i, j = np.unravel_index(np.abs(array - array.T).argmax(), array.shape)
        problem = f"{symbol} must be symmetric; [{i}, {j}] is {array[i, j]:g} and [{j}, {i}] {array[j, i]:g}."
        raise DataError("not-symmetric", problem)
    diagonal = array.diagonal()
    if (diagonal < 0).any():
        k = int(diagonal.argmin())
        problem = f"{symbol} has a negative variance, {diagonal[k]:g} for {names[k]!r}."
        raise DataError("negative", problem, where={"name": names[k]})
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    lowest = np.linalg.eigvalsh(array / np.outer(scale, scale))[0] if len(array) else 0.0
    if lowest < -indefinite * len(array):
        problem = f"{symbol} is indefinite: scaled to variances of 1 it has the eigenvalue {lowest:.3g}."
        raise DataError("not-positive-definite", problem)
    return np.asarray((array + array.T) / 2, dtype=float)


def root(P: Array) -> Array:
    """Lower triangular L with L Lᵀ = P, also for a semidefinite P."""
    if not len(P):
        return P.copy()
    scale = np.sqrt(P.diagonal())
    safe = np.where(scale > 0, scale, 1.0)
    try:
        return np.asarray(np.linalg.cholesky(P), dtype=float)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(P / np.outer(safe, safe))
        factor = safe[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
        L = np.asarray(np.linalg.qr(factor.T, mode="r")).T
        return np.asarray(L * np.where(L.diagonal() < 0, -1.0, 1.0), dtype=float)


@dataclass(frozen=True, eq=False)
class Covariance:
    """One covariance of a filter, constant or a function of the state, as an expression.

    values : the numbers behind a constant one (its entries, then those of its factor), inputs of the native code.
    function : (x, u, p, t, Δt) -> matrix, for one that depends on the state.
    """

    symbol: str
    size: int
    diagonal: bool
    values: Array
    function: ca.Function | None = None

    def matrix(self, numbers: Expr, x: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        n = self.size
        if self.function is not None:
            return self.function(x, u, p, t, dt)
        return ca.diag(numbers[:n]) if self.diagonal else unpack(numbers[: triangle(n)], n)

    def factor(self, numbers: Expr, x: Expr, u: Expr, p: Expr, t: Expr, dt: Expr) -> Expr:
        n = self.size
        if self.function is not None:
            return ca.densify(kernels.factor(self.function(x, u, p, t, dt)))
        return ca.diag(numbers[n:]) if self.diagonal else unpack_factor(numbers[triangle(n) :], n)

    def constant(self) -> Array | None:
        """(n, n) numbers, or None where it depends on the state."""
        if self.function is not None:
            return None
        n = self.size
        if self.diagonal:
            return np.diag(self.values[:n])
        return np.asarray(ca.DM(unpack(ca.DM(self.values[: triangle(n)]), n)))


def constant_covariance(symbol: str, P: Array) -> Covariance:
    diagonal = not np.any(P - np.diag(P.diagonal()))
    if diagonal:
        values = np.concatenate([P.diagonal(), np.sqrt(P.diagonal())])
    else:
        values = np.concatenate([pack_numbers(P), pack_numbers(root(P))])
    return Covariance(symbol, len(P), diagonal, values)


class NoiseVariances:
    """Q, R and the noise of the inputs of one process, as expressions of (x, u, p, t, Δt).

    Here p is the whole column of numbers of a filter: the parameters of the process, then those of the noise.
    """

    def __init__(self, model: Process, Q: Variances, R: Variances, input_noise: Variances = None) -> None:
        self.process = model
        if R is None:
            raise DataError("missing-argument", "R is missing: the variance of the noise of every output.")
        if Q is None and input_noise is None:
            exact = Advice("For an exact model use {}.", Argument("Q", 0))
            raise DataError("missing-argument", "Q is missing: the variance a step adds to every state.", exact)
        errors, outputs = model.errors.names, model.outputs.names
        self.Q = self._read("Q", 0.0 if Q is None else Q, errors, "state")
        self.R = self._read("R", R, outputs, "output")
        self.inputs = (
            None if input_noise is None else self._read("input_noise", input_noise, model.inputs.names, "input")
        )

    def _read(self, symbol: str, given: object, names: tuple[str, ...], what: str) -> Covariance:
        if callable(given):
            return Covariance(symbol, len(names), False, np.empty(0), self._of_state(symbol, given, names, what))
        if symbol == "Q":
            return constant_covariance(symbol, state_covariance(symbol, given, self.process))
        return constant_covariance(symbol, covariance(symbol, given, names, what))

    def _of_state(self, symbol: str, given: Callable[..., Any], names: tuple[str, ...], what: str) -> ca.Function:
        """A user's function of a mapping name -> expression (states, inputs, parameters, "t", "dt")."""
        model = self.process
        x, u, p = SX.sym("x", model.nx), SX.sym("u", model.nu), SX.sym("p", len(model.parameters))
        t, dt = SX.sym("t"), SX.sym("dt")
        symbols_by_name = {"t": t, "dt": dt}
        for channels, symbols in ((model.parameters, p), (model.inputs, u), (model.carried, x)):
            symbols_by_name.update({name: symbols[k] for k, name in enumerate(channels.names)})
        value = call_user(given, f"the function of {symbol}", Known(symbols_by_name, symbol))
        value = _matrix_of(symbol, value, names, what)
        variances = ca.diag(value)
        # a negative variance becomes NaN: the run reports it at once, not when it has spoiled P
        value = ca.densify(value + ca.diag(ca.if_else(variances < 0, np.nan, 0)))
        return ca.Function(symbol, [x, u, p, t, dt], [value])

    def with_values(self, Q: Array, R: Array, inputs: Array | None = None) -> NoiseVariances:
        """The same structure with other numbers, in the order of `Covariance.values`."""
        changed = copy.copy(self)
        changed.__dict__.pop("values", None)
        changed.Q, changed.R = replace(self.Q, values=Q), replace(self.R, values=R)
        if self.inputs is not None and inputs is not None:
            changed.inputs = replace(self.inputs, values=inputs)
        return changed

    @cached_property
    def values(self) -> Array:
        """Numbers of all constant covariances, in the order Q, R, inputs."""
        parts = [self.Q.values, self.R.values] + ([] if self.inputs is None else [self.inputs.values])
        return np.concatenate(parts)

    def split(self, p: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """Parameters of the process, numbers of Q, of R, of the noise of the inputs."""
        a = len(self.process.parameters)
        b = a + len(self.Q.values)
        c = b + len(self.R.values)
        return p[:a], p[a:b], p[b:c], p[c:]


class Known(dict[str, Any]):
    """Names that a user's function may read; an unknown one is named in the error."""

    def __init__(self, known: Mapping[str, Any], symbol: str) -> None:
        super().__init__(known)
        self.symbol = symbol

    def __missing__(self, name: str) -> Any:
        raise ModelError("unknown-name", unknown_name("state, input or parameter", name, self, "the model"))


def _matrix_of(symbol: str, value: Any, names: tuple[str, ...], what: str) -> Any:
    n = len(names)
    if isinstance(value, Mapping):
        for name in value:
            require_name(what, name, names, "the model", error=ModelError, argument=symbol)
        value = [value.get(name, 0.0) for name in names]
    if isinstance(value, (list, tuple)):
        rows = [ca.horzcat(*row) if isinstance(row, (list, tuple)) else row for row in value]
        value = ca.vertcat(*[SX(row) for row in rows])
    value = SX(np.asarray(value) if isinstance(value, np.ndarray) else value)
    if value.shape == (1, 1) and n != 1:
        return value * SX.eye(n)
    if value.shape in ((n, 1), (1, n)) and n != 1:
        return ca.diag(ca.vec(value))
    if value.shape != (n, n):
        raise ModelError(
            "wrong-shape",
            f"the function of {symbol} returns {value.shape[0]} x {value.shape[1]}; expected a number, {n} variances "
            f"or {n} x {n}.",
        )
    return value
