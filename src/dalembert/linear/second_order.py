"""Second-order systems with names (Genta 2012, app. A).

    M x″ + (C + G) x′ + (K + H) x = B u
    y = Y_position x + Y_velocity x′ + Y_acceleration x″ + D u

M, C, K symmetric (mass, damping, stiffness); G, H skew (gyroscopic, circulatory).
K_loss, symmetric, is the imaginary part of the stiffness, K + i K_loss (hysteretic damping):
defined for harmonic motion only.

States of the first-order form are positions first, (x, x′); Genta has velocities first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import ArrayLike

from dalembert.core.arguments import known_units, name_or_number, number_names, unique_names
from dalembert.core.arrays import ComplexArray, FloatArray, Matrix, assign, frozen
from dalembert.core.declare import checked, count, excludes, interval, not_negative
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.core.tables import display_latex, matrix_latex, matrix_lines
from dalembert.core.text import count_noun, list_names
from dalembert.linear import storage
from dalembert.linear.eigen import arnoldi, massless, quadratic, stability
from dalembert.linear.eigen.classify import Classification
from dalembert.linear.eigen.stability import Stability
from dalembert.linear.eigen.undamped_modes import widen
from dalembert.linear.modes import Modes
from dalembert.linear.responding import Responding
from dalembert.linear.state_space import StateSpace
from dalembert.numerics import ties

ModeCount = Annotated[int, count(1), "how many"]
Near = Annotated[float, not_negative, "the modes nearest to this frequency [rad/s]"]
FrequencyBand = Annotated[tuple[float, float], interval("rad/s"), "modes between these frequencies"]
MATRICES = ("M", "C", "G", "K", "H", "K_loss", "B", "Y_position", "Y_velocity", "Y_acceleration", "D")


class OperatingPoint(StrEnum):
    """What a linear model of small motions is about."""

    EQUILIBRIUM = "equilibrium"
    STEADY_MOTION = "steady motion"
    STATE = "a state"  # with accelerations of its own


@frozen(init=False)
class SecondOrder(Responding):
    """``M x″ + (C + G) x′ + (K + H) x = B u``; frozen, arrays read-only.

    Parameters
    ----------
    M, K : (n, n), symmetric
        Mass and stiffness. A scalar is a system of one coordinate. Where one of them is a SciPy sparse
        matrix the system is sparse: all its matrices are kept as ``scipy.sparse.csc_array``.
    C : (n, n), symmetric; G, H : (n, n), skew; optional
        Damping, gyroscopic and circulatory matrices; zero when left out.
        :meth:`from_full` splits matrices that mix them.
    K_loss : (n, n), symmetric, optional
        Imaginary part of the stiffness (hysteretic damping): for frequency responses and modes.
    B : (n, nu), optional
        Force on each coordinate per input; no inputs when left out.
    Y_position, Y_velocity, Y_acceleration : (ny, n), optional
    D : (ny, nu), optional
        When no output matrix is given the outputs are the coordinates, under their own names.
    coordinates, inputs, outputs : names, optional
        ``x1, x2, ...``, ``u1, ...`` and ``y1, ...`` when left out.
    units : mapping of a coordinate, input or output name to its unit, optional
    about : what the small motions are about, of a model that `da.linearize` made, optional
    provenance : mapping of plain values, optional

    Examples
    --------
    >>> chain = SecondOrder(np.eye(2), [[2, -1], [-1, 2]], coordinates=["left", "right"])
    >>> chain.modes().frequencies.round(6).tolist()
    [1.0, 1.732051]
    >>> chain.state_space().states
    ('left', 'right', 'left.rate', 'right.rate')
    """

    form: ClassVar[str] = "second-order"
    M: Matrix
    C: Matrix
    G: Matrix
    K: Matrix
    H: Matrix
    K_loss: Matrix
    B: Matrix
    Y_position: Matrix
    Y_velocity: Matrix
    Y_acceleration: Matrix
    D: Matrix
    coordinates: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: Mapping[str, str]
    about: OperatingPoint | None
    provenance: Mapping[str, Any]

    def __init__(
        self,
        M: ArrayLike,
        K: ArrayLike,
        *,
        C: ArrayLike | None = None,
        G: ArrayLike | None = None,
        H: ArrayLike | None = None,
        K_loss: ArrayLike | None = None,
        B: ArrayLike | None = None,
        Y_position: ArrayLike | None = None,
        Y_velocity: ArrayLike | None = None,
        Y_acceleration: ArrayLike | None = None,
        D: ArrayLike | None = None,
        coordinates: str | Iterable[str] | None = None,
        inputs: str | Iterable[str] | None = None,
        outputs: str | Iterable[str] | None = None,
        units: Mapping[str, str] | None = None,
        about: OperatingPoint | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        where = "this SecondOrder"
        sparse = storage.is_sparse(M, K)
        n = storage.square("M", M)
        names = name_or_number("coordinate", coordinates, "x", n, where)
        B_ = (
            storage.zeros(n, 0, sparse=sparse)
            if B is None
            else storage.store("B", B, n, None, "one row per coordinate", sparse=sparse, vector="column")
        )
        nu = B_.shape[1]
        read = {"Y_position": Y_position, "Y_velocity": Y_velocity, "Y_acceleration": Y_acceleration, "D": D}
        has_outputs = any(value is not None for value in read.values())
        outs = _outputs(read if has_outputs else {"Y_position": storage.identity(n, sparse=sparse)}, n, nu, sparse)
        input_names = name_or_number("input", inputs, "u", nu, where)
        default = number_names("y", outs["D"].shape[0]) if has_outputs else names
        output_names = unique_names("output", outputs, default, where)
        parts = (("M", M, +1), ("C", C, +1), ("G", G, -1), ("K", K, +1), ("H", H, -1), ("K_loss", K_loss, +1))
        assign(
            self, **{symbol: storage.signed_part(symbol, X, names, sign, sparse=sparse) for symbol, X, sign in parts},
            B=B_, **outs, coordinates=names, inputs=input_names, outputs=output_names,
            units=known_units(units, names + input_names + output_names, where) if units else {},
            about=about, provenance=provenance or {},
        )  # fmt: skip

    @classmethod
    def from_full(
        cls,
        M: ArrayLike,
        C_full: ArrayLike | None,
        K_full: ArrayLike,
        *,
        B: ArrayLike | None = None,
        **rest: Any,
    ) -> SecondOrder:
        """Split full matrices into symmetric and skew parts, C + G and K + H.

        A skew part below 1e-12 of the largest entry is rounding and dropped. A mass matrix that is not
        symmetric is brought to the identity first, by multiplying every equation with its inverse.

        Parameters
        ----------
        M, C_full, K_full : (n, n)
            ``C_full=None`` is zero.
        B : (n, nu), optional
        **rest
            Output matrices, names, units, provenance as for :class:`SecondOrder`.
        """
        sparse = storage.is_sparse(M, C_full, K_full)
        n = storage.square("M", M)
        M_ = storage.store("M", M, n, n, "it must be square", sparse=sparse)
        full = {
            symbol: storage.zeros(n, n, sparse=sparse)
            if value is None
            else storage.store(symbol, value, n, n, "the size of M", sparse=sparse)
            for symbol, value in (("C_full", C_full), ("K_full", K_full))
        }
        B_ = None if B is None else storage.store("B", B, n, None, "one row per coordinate", sparse=sparse,
                                                   vector="column")  # fmt: skip
        if not storage.is_symmetric(M_, M_.T):
            if sparse:
                raise DataError(
                    "not-symmetric", "M is not symmetric, and a sparse system cannot be multiplied by its inverse."
                )
            if massless.is_singular(M_):
                raise DataError(
                    "not-symmetric",
                    "M is neither symmetric nor invertible; combine the equations so that M is symmetric.",
                )
            factors = scipy.linalg.lu_factor(M_)
            full = {symbol: scipy.linalg.lu_solve(factors, matrix) for symbol, matrix in full.items()}
            B_ = None if B_ is None else scipy.linalg.lu_solve(factors, B_)
            M_ = np.eye(n)
        C, G = storage.split(full["C_full"])
        K, H = storage.split(full["K_full"])
        return cls(M_, K, C=C, G=G, H=H, B=B_, **rest)

    def replace(self, **changes: Any) -> SecondOrder:
        """Copy with some arguments of :class:`SecondOrder` changed.

        New output matrices of another height need new ``outputs`` as well; ``outputs=None`` numbers them.
        """
        names = ("coordinates", "inputs", "outputs", "units", "about", "provenance")
        fields = {name: getattr(self, name) for name in (*MATRICES, *names)} | changes
        return SecondOrder(fields.pop("M"), fields.pop("K"), **fields)

    @property
    def is_sparse(self) -> bool:
        """Whether the matrices are ``scipy.sparse.csc_array`` (all of them) or NumPy arrays."""
        return storage.is_sparse(self.M)

    def dense(self) -> SecondOrder:
        """The same system in NumPy arrays; refuses above 5000 coordinates."""
        if not self.is_sparse:
            return self
        if storage.is_large(self.nq):
            raise DataError(
                "too-large",
                f"this SecondOrder has {self.nq} coordinates: a dense copy takes {8e-9 * self.nq**2:.2g} GB "
                "per matrix.",
                Advice("Reduce it first ({}).", Call("SecondOrder.modal")),
            )
        return self.replace(**{symbol: getattr(self, symbol).toarray() for symbol in MATRICES})

    def sparse(self) -> SecondOrder:
        """The same system in ``scipy.sparse.csc_array``."""
        if self.is_sparse:
            return self
        return self.replace(M=scipy.sparse.csc_array(self.M))

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def C_full(self) -> Matrix:
        """C + G."""
        return self.C + self.G

    @property
    def K_full(self) -> Matrix:
        """K + H."""
        return self.K + self.H

    @checked(excludes("band", "near", why="a band has its own place"))
    def modes(self, count: ModeCount | None = None, *, near: Near = 0.0, band: FrequencyBand | None = None) -> Modes:
        """Natural frequencies, damping ratios and shapes, ascending in frequency.

        Undamped and classically damped systems give real shapes; gyroscopic ones without damping give
        exactly imaginary eigenvalues. Directions in which K + H vanishes up to its rounding are rigid-body modes,
        with an eigenvalue of exactly 0. With ``K_loss`` the eigenvalues are those of harmonic motion,
        s = i√(μ + iκ), Im s > 0.

        Parameters
        ----------
        count : int, optional
            How many; all of a dense system and 20 of a sparse one when left out.
        near : float
            The modes nearest to this frequency [rad/s]; a sparse system is searched around it (nearest in ω²).
        band : (low, high), optional
            All modes with frequencies between these [rad/s], ends included; counted by inertia when sparse.
        """
        solved = self.dense() if self.is_sparse and _is_small(self.nq, count) else self
        if solved.is_sparse:
            values, shapes = arnoldi.solve(solved, count or 20, near, band)
            count = count or (None if band else 20)
        else:
            values, shapes = quadratic.solve(
                solved.M, solved.C, solved.G, solved.K, solved.H, solved.K_loss, solved.coordinates
            )
        chosen = _choose(values, count, near, band)
        shapes = quadratic.normalise(shapes[:, chosen], self.M)
        return Modes(
            values[chosen], shapes, self.coordinates, momenta=self.M @ shapes, restoring=self.K @ shapes,
            provenance=self.provenance,
        )  # fmt: skip

    def state_space(self) -> StateSpace:
        """First-order form on the states (x, x′), named ``x`` and ``x.rate``.

        A coordinate without mass has no rate among the states; one without mass and damping follows the
        others statically and is no state at all. Where a massless direction is no coordinate on its own, a state
        ``x.part`` is the part of its coordinate outside that direction. `DataError` where a motion is not
        determined, or an output would need the derivative of an input.
        """
        if self.is_sparse:
            return self.dense().state_space()
        if storage.nonzero(self.K_loss):
            raise DataError(
                "not-supported",
                "hysteretic damping (K_loss) has no first-order form in time: it is defined for harmonic motion only.",
                Advice(
                    "Use frequency_response, or put an equivalent viscous C in its place ({}).",
                    Call("da.linear.equivalent_viscous"),
                ),
            )
        parts = massless.separate(self.M, self.C_full, self.K_full, self.coordinates)
        first = massless.first_order(parts)
        # x = X z + X_f f and its derivatives, with z′ = A z + F f
        A, F, X = first.A, first.F @ self.B, first.X
        follow, Y_p, Y_v, Y_a = first.X_f @ self.B, self.Y_position, self.Y_velocity, self.Y_acceleration
        self._refuse_derivatives(Y_v @ follow + Y_a @ X @ F, Y_a @ follow)
        XA = X @ A
        C = Y_p @ X + Y_v @ XA + Y_a @ XA @ A
        D = self.D + Y_p @ follow + Y_v @ X @ F + Y_a @ XA @ F
        base = dict(zip(parts.names, self.coordinates, strict=True))
        units = {name: unit for name, unit in self.units.items() if name in {*self.inputs, *self.outputs}}
        units |= {name: self.units[base[name]] for name in first.positions if self.units.get(base[name])}
        units |= {f"{name}.rate": f"{self.units[base[name]]}/s" for name in first.rated if self.units.get(base[name])}
        return StateSpace(
            A, F, C, D, states=[*first.positions, *(f"{name}.rate" for name in first.rated)],
            inputs=self.inputs, outputs=self.outputs, units=units, provenance=self.provenance,
        )  # fmt: skip

    def classify(self) -> Classification:
        """Natural, gyroscopic, circulatory or conservative; definiteness of M, C, K; how the modes are damped."""
        return Classification(self)

    def stability(self) -> Stability:
        """Whether free motions decay, stay bounded or grow; also for defective eigenvalues."""
        return stability.judge_second_order(self)

    def modal(
        self,
        count: int | None = None,
        modes: Modes | None = None,
        *,
        static_correction: bool = False,
        diagonal: bool = False,
    ) -> SecondOrder:
        """The system in modal coordinates, all or the lowest; see :func:`dalembert.linear.responses.modal.modal`."""
        from dalembert.linear.responses import modal

        return modal.modal(self, count, modes, static_correction=static_correction, diagonal=diagonal)

    def _refuse_derivatives(self, *coefficients: FloatArray) -> None:
        """Refuse an output that contains the derivative of an input; (ny, nu) coefficients of u′, u″."""
        rows = [int(row) for matrix in coefficients for row in np.flatnonzero(matrix.any(axis=1))]
        if rows:
            raise DataError(
                "not-proper",
                f"output {self.outputs[rows[0]]!r} reads a velocity or acceleration that follows an input directly, "
                "without mass (or damping) between them: it would need the derivative of that input. "
                "Give the coordinate mass, or read its position.",
            )

    def _repr_latex_(self) -> str:
        parts = [(symbol, getattr(self, symbol)) for symbol in ("M", "C", "G", "K", "H", "B")]
        parts = [(symbol, array) for symbol, array in parts if symbol in "MK" or storage.nonzero(array)]
        terms = {"M": "\\ddot{x}", "C": "\\dot{x}", "G": "\\dot{x}", "K": "x", "H": "x"}
        terms_shown = " + ".join(f"{symbol} {terms[symbol]}" for symbol, _ in parts if symbol in terms)
        load = "B u" if any(symbol == "B" for symbol, _ in parts) else "0"
        return display_latex([f"{terms_shown} = {load}", *(matrix_latex(symbol, array) for symbol, array in parts)])

    def __repr__(self) -> str:
        damping = " + ".join(symbol for symbol, X in (("C", self.C), ("G", self.G)) if storage.nonzero(X))
        terms = [symbol for symbol, X in (("H", self.H), ("i K_loss", self.K_loss)) if storage.nonzero(X)]
        stiffness = f"({' + '.join(['K', *terms])})" if terms else "K"
        damping_term = f" + {f'({damping})' if '+' in damping else damping} x′" if damping else ""
        sizes = [count_noun(*size) for size in ((self.nq, "coordinate"), (self.nu, "input"), (self.ny, "output"))]
        kind = "sparse SecondOrder" if self.is_sparse else "SecondOrder"
        lines = [f"{kind}: {', '.join(sizes)}; M x″{damping_term} + {stiffness} x = {'B u' if self.nu else '0'}"]
        for kind, names in (("coordinates", self.coordinates), ("inputs", self.inputs), ("outputs", self.outputs)):
            if names:
                lines.append(f"  {kind.ljust(11)}  {list_names(names, self.units)}")
        for symbol in MATRICES:
            array = getattr(self, symbol)
            if 0 not in array.shape and (symbol in "MK" or storage.nonzero(array)):
                rows = self.outputs if symbol[0] in "YD" else self.coordinates
                lines += matrix_lines(symbol, array, rows)
        return "\n".join(lines)


def _is_small(n: int, count: int | None, small: int = 300) -> bool:
    """Whether a sparse system is quicker and safer when dense: up to this size, or for more than half of its modes."""
    return n <= small or (count is not None and count > n // 2)


def _outputs(arrays: Mapping[str, Any], n: int, nu: int, sparse: bool) -> dict[str, Matrix]:
    """Output matrices of one height; the first one given sets it."""
    widths = {"Y_position": n, "Y_velocity": n, "Y_acceleration": n, "D": nu}
    ny: int | None = None
    result = {}
    for symbol, width in widths.items():
        if arrays.get(symbol) is not None:
            vector = "column" if symbol == "D" and nu == 1 else "row"
            why = f"one row per output, one column per {'input' if symbol == 'D' else 'coordinate'}"
            result[symbol] = storage.store(symbol, arrays[symbol], ny, width, why, sparse=sparse, vector=vector)
            ny = result[symbol].shape[0]
    return {
        symbol: result[symbol] if symbol in result else storage.zeros(ny or 0, width, sparse=sparse)
        for symbol, width in widths.items()
    }


def _choose(values: ComplexArray, count: int | None, near: float, band: tuple[float, float] | None) -> Any:
    """Indices of the wanted eigenvalues, ascending in modulus; of equal ones growth before decay."""
    size = np.abs(values)
    order = ties.by_modulus(values)
    if band is not None:
        low, high = widen(*band)
        inside = (size >= low) & (size <= high)
        order = order[inside[order]]
        near = band[0]
    if count is not None and count < len(order):
        nearest = np.argsort(ties.ranks(np.abs(size[order] - near), float(size.max())), kind="stable")[:count]
        order = order[np.sort(nearest)]
    return order
