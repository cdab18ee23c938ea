"""Reduced second-order systems and the way back.

    x = T x_red + R u          T (n, r);  R (n, nu) static motion by the inputs beyond T, mostly 0

Every matrix is projected, X_red = Tᵀ X T for X = M, C, G, K, H, K_loss (symmetric parts stay symmetric, skew ones
skew), B_red = Tᵀ B, Y_red = Y T, and D_red = D + Y_position R. Reduced systems are dense.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from dalembert.core.arrays import FloatArray, Matrix, assign, frozen
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.text import list_names
from dalembert.linear import storage
from dalembert.linear.channels import places
from dalembert.linear.modes import Modes
from dalembert.linear.second_order import SecondOrder
from dalembert.record import Record
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.reduction.master_coordinates import Indices, find, load_vector

if TYPE_CHECKING:
    from dalembert.structures.reduction.fidelity import Fidelity

SQUARE = ("M", "C", "G", "K", "H", "K_loss")
# Sums of terms of both signs smaller than this part of the sum of their sizes are zero.
ROUNDING = 10.0 * factors.EPS
READ = ("Y_position", "Y_velocity", "Y_acceleration")


@frozen
class Interior:
    """What a component-mode reduction found inside its masters, kept for ranking and for flexible bodies.

    Parameters
    ----------
    slaves : names of the s interior coordinates, rows of ``B`` and ``Phi``
    B : (s, m)
        Constraint modes -K22⁻¹ K21 (fixed interface), or residual attachment modes scaled to unit motion of
        one master each (free interface).
    Phi : (s, k)
        Modes found: all of them, also those that were not kept. Mass-normalised on the slaves with masters
        held (fixed interface), on all coordinates (free interface).
    omega : (k,) their frequencies [rad/s], √|ω²| where a prestress makes ω² negative
    kept : (k,) bool
    """

    slaves: tuple[str, ...]
    B: FloatArray
    Phi: FloatArray
    omega: FloatArray
    kept: np.ndarray[Any, np.dtype[np.bool_]]

    def __repr__(self) -> str:
        head = f"Interior: {len(self.slaves)} coordinates, {len(self.omega)} modes of which {int(self.kept.sum())} kept"
        shown = ", ".join(f"{value / (2 * np.pi):.5g}" for value in self.omega[:10])
        return f"{head}; frequencies {shown}{', ...' if len(self.omega) > 10 else ''} Hz"


@frozen(init=False)
class Reduction:
    """A reduced system with the way back to all coordinates.

    Parameters
    ----------
    system : SecondOrder
        Reduced, dense; coordinates are the masters by their own names, then ``mode1, mode2, ...``.
    T : (n, r)
        x_full = T x_reduced.
    method : str
    masters : names of the physical coordinates that were kept
    full : SecondOrder that was reduced
    residual : (n, nu), optional
        Static motion per input that T leaves out: x_full = T x + residual u.
    interior : Interior, optional
    """

    system: SecondOrder
    T: FloatArray
    method: str
    masters: tuple[str, ...]
    full: SecondOrder
    residual: FloatArray
    interior: Interior | None

    def __init__(
        self,
        system: SecondOrder,
        T: FloatArray,
        *,
        method: str,
        masters: Sequence[str],
        full: SecondOrder,
        residual: FloatArray | None = None,
        interior: Interior | None = None,
    ) -> None:
        # a view of one zero: a sparse system may have as many inputs as coordinates
        R = np.broadcast_to(np.zeros(()), (full.nq, system.nu)) if residual is None else residual
        assign(self, system=system, T=np.asarray(T), method=method, masters=tuple(masters), full=full,
                     residual=R, interior=interior)  # fmt: skip

    @property
    def modal(self) -> tuple[str, ...]:
        """Names of the reduced coordinates that are no masters."""
        chosen = set(self.masters)
        return tuple(name for name in self.system.coordinates if name not in chosen)

    @overload
    def expand(self, x: Modes, *, inputs: Any = None, coordinates: str | Iterable[str] | None = None) -> Modes: ...
    @overload
    def expand(self, x: Record, *, inputs: Any = None, coordinates: str | Iterable[str] | None = None) -> Record: ...
    @overload
    def expand(self, x: ArrayLike, *, inputs: Any = None, coordinates: str | Iterable[str] | None = None) -> Any: ...

    def expand(self, x: Any, *, inputs: Any = None, coordinates: str | Iterable[str] | None = None) -> Any:
        """Back to the coordinates of the full system.

        Parameters
        ----------
        x : (r,) or (r, k), `Modes` of the reduced system, or a `Record` with a channel per reduced coordinate
        inputs : (nu,), (nu, k) or mapping of input names to values, optional
            Adds the static motion by the inputs beyond T (:attr:`residual`). A record has its own input channels.
        coordinates : names, points or patterns to expand; all when left out

        Returns
        -------
        (n,) or (n, k), Modes, or Record; the same kind as ``x``
        """
        full = self.full.coordinates
        rows = np.arange(len(full)) if coordinates is None else find(full, coordinates, "the full system")
        names = [full[i] for i in rows]
        T = self.T[rows]
        if isinstance(x, Modes):
            shapes = T @ x.shapes[places("coordinate", self.system.coordinates, x.coordinates, "these modes")]
            products = (
                {} if coordinates is not None else {"momenta": self.full.M @ shapes, "restoring": self.full.K @ shapes}
            )
            return Modes(x.eigenvalues, shapes, names, provenance=x.provenance, **products)
        if isinstance(x, Record):
            return self._expand_record(x, T, rows, names)
        values = np.asarray(x)
        if values.ndim not in (1, 2) or len(values) != self.system.nq:
            raise DataError(
                "wrong-shape",
                f"x has shape {values.shape}; expected ({self.system.nq},) or ({self.system.nq}, k), one row per "
                f"reduced coordinate: {list_names(self.system.coordinates, {})}.",
            )
        result = T @ values
        return result if inputs is None else result + self.residual[rows] @ input_values(self.system, inputs)

    def _expand_record(self, record: Record, T: FloatArray, rows: Indices, names: list[str]) -> Record:
        data = record.data[:, places("coordinate", self.system.coordinates, record.names, "this record")] @ T.T
        if self.residual.any():
            sent = record.data[:, places("coordinate", self.system.inputs, record.names, "this record")]
            data = data + sent @ self.residual[rows].T
        units = {name: self.full.units.get(name, "") for name in names}
        return Record(record.time, data, names, units, name=record.name, status=record.status,
                      provenance=record.provenance)  # fmt: skip

    def reduce(self, load: ArrayLike | Mapping[str, float]) -> FloatArray:
        """A load on the full coordinates as (r,) generalised forces, Tᵀ f."""
        return self.T.T @ load_vector(self.full, load, "load")

    def static(self, inputs: Any) -> FloatArray:
        """Full static displacements (n,) under constant inputs, (nu,) or a mapping of input names to values."""
        u = input_values(self.system, inputs)
        K = self.system.K_full
        advice = Advice("Support the full system, or choose masters that support it, or request modes.")
        factor = factors.factor_regular(K, self.system.coordinates, "the reduced stiffness", advice)
        return np.asarray(self.expand(factor.solve(self.system.B @ u), inputs=u))

    def fidelity(self, count: int | None = None, *, modes: Modes | None = None) -> Fidelity:
        """Accuracy of the modes of the full system: frequency error, NCO and MAC.

        Parameters
        ----------
        count : number of the lowest full modes to compare; the size of the reduced system (at most 20) when left out
        modes : undamped modes of the full system, where they are known already
        """
        from dalembert.structures.reduction.fidelity import of_reduction

        return of_reduction(self, count, modes)

    def table(self) -> str:
        """Method, sizes and masters in a few lines."""
        sizes = f"{self.full.nq} -> {self.system.nq} coordinates ({len(self.masters)} masters, {len(self.modal)} modal)"
        lines = [f"{self.method}: {sizes}", f"  masters  {list_names(self.masters, self.full.units) or 'none'}"]
        if self.modal:
            lines.append(f"  modal    {list_names(self.modal, {})}")
        if self.interior is not None and len(self.interior.omega):
            kept = self.interior.omega[self.interior.kept]
            shown = ", ".join(f"{value / (2 * np.pi):.5g}" for value in kept[:8])
            lines.append(f"  modes kept [Hz]  {shown}{', ...' if len(kept) > 8 else ''}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Reduction by {self.table()}"


def project(
    full: SecondOrder,
    T: FloatArray,
    names: Sequence[str],
    *,
    left: FloatArray | None = None,
    residual: FloatArray | None = None,
    loads: Mapping[str, FloatArray] | None = None,
    rates: bool = True,
    method: str = "",
    **changes: Any,
) -> SecondOrder:
    """Reduced system Tᵀ X T (Wᵀ X T with ``left`` W); ``loads`` are further inputs; ``changes`` replace matrices.

    ``rates=False`` lets outputs of velocity and acceleration do without the residual.
    Outputs that are just the coordinates become the reduced coordinates; all others are carried over.
    """
    W = T if left is None else left
    square = {symbol: congruent(W, getattr(full, symbol), T, -1 if symbol in "GH" else 1) for symbol in SQUARE}
    if left is not None:
        # The two-sided product mixes K and H (and no other pair: the caller ensures this).
        both = square["K"] + square["H"]
        square["K"], square["H"] = 0.5 * (both + both.T), 0.5 * (both - both.T)
    B = np.hstack([np.asarray(full.B.T @ W).T, *(W.T @ f[:, None] for f in (loads or {}).values())])
    inputs = [*full.inputs, *(loads or {})]
    fields: dict[str, Any] = {**square, "B": B}
    units = {name: full.units[name] for name in {*names, *inputs} if name in full.units}
    if not reads_coordinates(full):
        fields.update({symbol: np.asarray(getattr(full, symbol) @ T) for symbol in READ})
        D = np.hstack([storage.dense(full.D), np.zeros((full.ny, len(loads or {})))])
        if residual is not None:
            D = D + full.Y_position @ residual
            if rates:
                _refuse_rates(full, residual)
        fields.update(D=D, outputs=full.outputs)
        units.update({name: full.units[name] for name in full.outputs if name in full.units})
    provenance = {**full.provenance, "reduction": method} if method else full.provenance
    fields.update(changes)
    return SecondOrder(fields.pop("M"), fields.pop("K"), **fields, coordinates=names, inputs=inputs, units=units,
                       about=full.about, provenance=provenance)  # fmt: skip


def reads_coordinates(system: SecondOrder) -> bool:
    """Whether the outputs are the coordinates themselves, as they are when none were given."""
    if system.outputs != system.coordinates or any(
        storage.nonzero(getattr(system, symbol)) for symbol in (*READ[1:], "D")
    ):
        return False
    Y = system.Y_position
    count = Y.count_nonzero() if scipy.sparse.issparse(Y) else np.count_nonzero(Y)
    return bool(count == system.nq and (Y.diagonal() == 1.0).all())


def input_values(system: SecondOrder, inputs: Any) -> FloatArray:
    """Values of all inputs, (nu,) or (nu, k), from an array or a mapping; inputs left out of a mapping are 0."""
    if isinstance(inputs, Mapping):
        places("input", [*inputs], system.inputs, "the reduced system")
        return np.array([float(inputs.get(name, 0.0)) for name in system.inputs])
    values = np.asarray(inputs, dtype=np.float64)
    if values.ndim == 0 and system.nu == 1:
        values = values.reshape(1)
    if values.ndim not in (1, 2) or len(values) != system.nu:
        raise DataError(
            "wrong-shape", f"inputs have shape {values.shape}; expected ({system.nu},): {', '.join(system.inputs)}."
        )
    return values


def modal_names(taken: Iterable[str], numbers: Iterable[int]) -> tuple[str, ...]:
    """``mode1, mode2, ...``, refused where the system has a coordinate of that name."""
    names = tuple(f"mode{i}" for i in numbers)
    clash = set(names) & set(taken)
    if clash:
        raise DataError(
            "taken-name",
            f"the master {sorted(clash)[0]!r} has the name of a modal coordinate.",
            Advice("Rename the coordinate."),
        )
    return names


def _refuse_rates(full: SecondOrder, residual: FloatArray) -> None:
    for symbol, what in (("Y_velocity", "velocity"), ("Y_acceleration", "acceleration")):
        odd = np.abs(getattr(full, symbol) @ residual).max(axis=1, initial=0.0)
        if odd.any():
            raise DataError(
                "needs-derivative",
                f"output {full.outputs[int(np.argmax(odd))]!r} reads the {what} of a coordinate that follows an input "
                "statically: it would need the derivative of that input.",
                Advice("Make the coordinate a master."),
                Advice(
                    "Or reduce without the static part of the inputs: {}.",
                    Call("da.structures.guyan"),
                    Argument("correction", False),
                ),
            )


def congruent(W: FloatArray, X: Matrix, T: FloatArray, sign: int) -> FloatArray:
    if not storage.nonzero(X):
        return np.zeros((W.shape[1], T.shape[1]))
    product = np.asarray(W.T @ (X @ T))
    # What cancels (the stiffness of a body that is free to move) is zero, not a rounding error of either sign.
    product[np.abs(product) <= ROUNDING * (np.abs(W).T @ (abs(X) @ np.abs(T)))] = 0.0
    return 0.5 * (product + sign * product.T) if W is T else product
