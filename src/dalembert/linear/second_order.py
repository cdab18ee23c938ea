"""Second-order systems with names (spec 003, C-02, C-06).

    M x″ + (C + G) x′ + (K + H) x = B u
    y = Y_position x + Y_velocity x′ + D u

M, C, K symmetric (mass, damping, stiffness); G, H skew (gyroscopic, circulatory).
States of the first-order form are positions first, (x, x′); the source of the spec has velocities first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from dalembert.errors import DataError
from dalembert.linear import checks, massless, quadratic
from dalembert.linear.checks import FloatArray
from dalembert.linear.modes import Modes
from dalembert.linear.state_space import StateSpace

# Asymmetry, relative to the largest entry, up to which a matrix counts as symmetric (or skew) and is made exactly so:
# far above rounding of any assembly, far below a modelling mistake.
SYMMETRY_TOLERANCE = 1e-9
# Skew part that from_full takes for rounding: it would cost the exactness of the symmetric solvers and says nothing.
SPLIT_TOLERANCE = 1e-12


class SecondOrder(checks.Frozen):
    """``M x″ + (C + G) x′ + (K + H) x = B u``; frozen, arrays read-only.

    Parameters
    ----------
    M, K : (n, n), symmetric
        Mass and stiffness. A scalar is a system of one coordinate.
    C : (n, n), symmetric; G, H : (n, n), skew; optional
        Damping, gyroscopic and circulatory matrices; zero when left out.
        :meth:`from_full` splits matrices that mix them.
    B : (n, nu), optional
        Force on each coordinate per input; no inputs when left out.
    Y_position, Y_velocity : (ny, n), optional
    D : (ny, nu), optional
        When no output matrix is given the outputs are the coordinates, under their own names.
    coordinates, inputs, outputs : names, optional
        ``x1, x2, ...``, ``u1, ...`` and ``y1, ...`` when left out.
    units : mapping of a coordinate, input or output name to its unit, optional
    provenance : mapping of plain values, optional

    Examples
    --------
    >>> chain = SecondOrder(np.eye(2), [[2, -1], [-1, 2]], coordinates=["left", "right"])
    >>> chain.modes().frequencies.round(6).tolist()
    [1.0, 1.732051]
    >>> chain.state_space().states
    ('left', 'right', 'left.rate', 'right.rate')
    """

    M: FloatArray
    C: FloatArray
    G: FloatArray
    K: FloatArray
    H: FloatArray
    B: FloatArray
    Y_position: FloatArray
    Y_velocity: FloatArray
    D: FloatArray
    coordinates: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: Mapping[str, str]
    provenance: Mapping[str, Any]

    def __init__(
        self,
        M: ArrayLike,
        K: ArrayLike,
        *,
        C: ArrayLike | None = None,
        G: ArrayLike | None = None,
        H: ArrayLike | None = None,
        B: ArrayLike | None = None,
        Y_position: ArrayLike | None = None,
        Y_velocity: ArrayLike | None = None,
        D: ArrayLike | None = None,
        coordinates: str | Iterable[str] | None = None,
        inputs: str | Iterable[str] | None = None,
        outputs: str | Iterable[str] | None = None,
        units: Mapping[str, str] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        where = "this SecondOrder"
        n = len(checks.square("M", M))
        names = checks.unique_names("coordinate", coordinates, checks.numbered("x", n), where)
        B_ = (
            np.zeros((n, 0)) if B is None else checks.matrix("B", B, n, None, "one row per coordinate", vector="column")
        )
        nu = B_.shape[1]
        position, velocity, through = _outputs(Y_position, Y_velocity, D, n, nu)
        given = not (Y_position is None and Y_velocity is None and D is None)
        input_names = checks.unique_names("input", inputs, checks.numbered("u", nu), where)
        default = checks.numbered("y", len(position)) if given else names
        output_names = checks.unique_names("output", outputs, default, where)
        self._freeze(
            M=_part("M", M, names, +1), C=_part("C", C, names, +1), G=_part("G", G, names, -1),
            K=_part("K", K, names, +1), H=_part("H", H, names, -1),
            B=B_, Y_position=position, Y_velocity=velocity, D=through,
            coordinates=names, inputs=input_names, outputs=output_names,
            units=checks.known_units(units, names + input_names + output_names, where),
            provenance=provenance or {},
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
        M_ = checks.square("M", M)
        n = len(M_)
        full = {
            symbol: np.zeros((n, n)) if value is None else checks.matrix(symbol, value, n, n, "the size of M")
            for symbol, value in (("C_full", C_full), ("K_full", K_full))
        }
        B_ = None if B is None else checks.matrix("B", B, n, None, "one row per coordinate", vector="column")
        if np.abs(M_ - M_.T).max() > SYMMETRY_TOLERANCE * np.abs(M_).max():
            if massless.is_singular(M_):
                raise DataError("M is neither symmetric nor invertible; combine the equations so that M is symmetric.")
            factors = scipy.linalg.lu_factor(M_)
            full = {symbol: scipy.linalg.lu_solve(factors, matrix) for symbol, matrix in full.items()}
            B_ = None if B_ is None else scipy.linalg.lu_solve(factors, B_)
            M_ = np.eye(n)
        C, G = _split(full["C_full"])
        K, H = _split(full["K_full"])
        return cls(M_, K, C=C, G=G, H=H, B=B_, **rest)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.inputs)

    @property
    def ny(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    @property
    def C_full(self) -> FloatArray:
        """C + G."""
        return self.C + self.G

    @property
    def K_full(self) -> FloatArray:
        """K + H."""
        return self.K + self.H

    def modes(self) -> Modes:
        """Natural frequencies, damping ratios and shapes.

        Undamped and classically damped systems give real shapes; gyroscopic ones without damping give
        exactly imaginary eigenvalues. An eigenvalue is reported as exactly 0 for every direction in which
        K + H, scaled by the masses, is below 10 n ε of its largest value.
        """
        values, shapes = quadratic.solve(self.M, self.C, self.G, self.K, self.H, self.coordinates)
        return Modes(values, shapes, self.coordinates, provenance=self.provenance)

    def state_space(self) -> StateSpace:
        """First-order form on the states (x, x′), named ``x`` and ``x.rate``.

        A coordinate without mass has no rate among the states; one without mass and damping follows the
        others statically and is no state at all. Where M is singular in another way `DataError` says so.
        """
        rest = massless.condense(self.M, self.C_full, self.K_full, self.coordinates)
        kept = [self.coordinates[i] for i in rest.kept]
        first = massless.first_order(rest.M, rest.C, rest.K, kept)
        force, static = rest.W @ self.B, rest.S @ self.B
        if np.any(self.Y_velocity @ static):
            row = int(np.flatnonzero((self.Y_velocity @ static).any(axis=1))[0])
            raise DataError(
                f"output {self.outputs[row]!r} reads the velocity of a coordinate that follows an input statically "
                "(no mass, no damping): it would need the derivative of that input. Give the coordinate mass."
            )
        nx = len(first.A)
        X = rest.T @ np.eye(len(kept), nx)
        C = self.Y_position @ X + self.Y_velocity @ rest.T @ first.V
        D = self.D + self.Y_position @ static + self.Y_velocity @ rest.T @ first.V_f @ force
        rates = {f"{kept[i]}.rate": kept[i] for i in first.massive}
        used = {*kept, *self.inputs, *self.outputs}
        units = {name: unit for name, unit in self.units.items() if name in used}
        units.update({rate: f"{self.units[name]}/s" for rate, name in rates.items() if self.units.get(name)})
        return StateSpace(
            first.A, first.F @ force, C, D, states=[*kept, *rates],
            inputs=self.inputs, outputs=self.outputs, units=units, provenance=self.provenance,
        )  # fmt: skip

    def __repr__(self) -> str:
        damping = " + ".join(symbol for symbol, part in (("C", self.C), ("G", self.G)) if part.any())
        stiffness = "(K + H)" if self.H.any() else "K"
        damping_term = f" + {f'({damping})' if '+' in damping else damping} x′" if damping else ""
        sizes = [checks.counted(*size) for size in ((self.nq, "coordinate"), (self.nu, "input"), (self.ny, "output"))]
        lines = [f"SecondOrder: {', '.join(sizes)}; M x″{damping_term} + {stiffness} x = {'B u' if self.nu else '0'}"]
        for kind, names in (("coordinates", self.coordinates), ("inputs", self.inputs), ("outputs", self.outputs)):
            if names:
                lines.append(f"  {kind.ljust(11)}  {checks.listed(names, self.units)}")
        for symbol in ("M", "C", "G", "K", "H", "B", "Y_position", "Y_velocity", "D"):
            array = getattr(self, symbol)
            if array.size and (symbol in "MK" or array.any()):
                rows = self.outputs if symbol[0] in "YD" else self.coordinates
                lines += checks.labelled(symbol, array, rows)
        return "\n".join(lines)


def _part(symbol: str, value: ArrayLike | None, names: tuple[str, ...], sign: int) -> FloatArray:
    """Exactly symmetric (sign +1) or skew (-1) copy, or an error naming the worst pair of coordinates."""
    n = len(names)
    if value is None:
        return np.zeros((n, n))
    array = checks.matrix(symbol, value, n, n, "the size of M")
    odd = np.abs(array - sign * array.T)
    if odd.max() > SYMMETRY_TOLERANCE * np.abs(array).max():
        i, j = np.unravel_index(int(np.argmax(odd)), odd.shape)
        kind = "symmetric" if sign > 0 else "skew-symmetric"
        raise DataError(
            f"{symbol} is not {kind}: {symbol}[{names[i]}, {names[j]}] = {array[i, j]:.6g} but "
            f"{symbol}[{names[j]}, {names[i]}] = {array[j, i]:.6g}. SecondOrder.from_full takes full matrices apart."
        )
    return 0.5 * (array + sign * array.T)


def _split(full: FloatArray) -> tuple[FloatArray, FloatArray]:
    skew = 0.5 * (full - full.T)
    if np.abs(skew).max() <= SPLIT_TOLERANCE * np.abs(full).max():
        skew = np.zeros_like(full)
    return 0.5 * (full + full.T), skew


def _outputs(
    position: ArrayLike | None, velocity: ArrayLike | None, through: ArrayLike | None, n: int, nu: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Output matrices of one height; the first one given sets it."""
    if position is None and velocity is None and through is None:
        return np.eye(n), np.zeros((n, n)), np.zeros((n, nu))
    ny: int | None = None
    result = []
    columns = ((position, "Y_position", n, "coordinate"), (velocity, "Y_velocity", n, "coordinate"),
               (through, "D", nu, "input"))  # fmt: skip
    for value, symbol, width, per in columns:
        array = None
        if value is not None:
            vector = "column" if symbol == "D" and nu == 1 else "row"
            array = checks.matrix(symbol, value, ny, width, f"one row per output, one column per {per}", vector=vector)
            ny = len(array)
        result.append((array, width))
    p, v, d = (np.zeros((ny or 0, width)) if array is None else array for array, width in result)
    return p, v, d
