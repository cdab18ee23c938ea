"""Responses on a basis of modes, with the static response of the omitted modes.

x ≈ V η + R B u,   Vᵀ (M, C+G, K+H) V η = Vᵀ B u        V: real span of the kept shapes
R = K⁻¹ - V (Vᵀ K V)⁻¹ Vᵀ                                static correction (residual flexibility), K meaning K + H

R is the static flexibility that the kept modes omit, so the sum is exact at ω = 0; with all modes R = 0. Damping may
couple the modes: the projected matrices are full. Rigid-body modes N make K singular; R then belongs to loads that the
inertia of N balances, by a bordered solve:

[ K    M N ] [x]   [f]
[ NᵀM   0  ] [λ] = [0]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import ArrayLike

from dalembert.core.arguments import number_names
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import checked, count, instance, number
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.linear import storage
from dalembert.linear.channels import SecondOrderSystem
from dalembert.linear.modes import Modes
from dalembert.linear.responses.dynamic_stiffness import resonance, solve_second_order, sparse_solve
from dalembert.linear.responses.frequency_response import FrequencyResponse, check_frequencies
from dalembert.linear.responses.harmonic import Names, Ports, mirror

if TYPE_CHECKING:
    from dalembert.linear.second_order import SecondOrder

ModesOfSystem = Annotated[Modes, instance(Modes, advice=[Advice("Take {}.", Call("SecondOrder.modes"))]), "some or all"]
Frequency = Annotated[float, number, "[rad/s]"]
Points = Annotated[int, count(), "evenly spread ones"]
PointsPerMode = Annotated[int, count(), "points added on either side of each natural frequency in the band"]
SINGULAR_STIFFNESS = (
    "static correction needs a stiffness that is singular only in the rigid-body modes among the given ones. "
    "Give all rigid-body modes, or static_correction=False."
)


@dataclass(frozen=True)
class Basis:
    """Kept shapes as a real basis, and the system projected onto it."""

    V: FloatArray
    """(n, k)"""
    rigid: FloatArray
    """(n, r) rigid-body shapes, in the span of V"""
    reduced: SecondOrder
    """coordinates "mode1", ...; inputs and outputs of the full system"""

    @property
    def mass(self) -> Any:
        """Vᵀ M V."""
        return self.reduced.M


@checked
def modal_frequency_response(
    system: SecondOrderSystem,
    modes: ModesOfSystem,
    frequencies: ArrayLike,
    *,
    kind: str = "receptance",
    inputs: Names = None,
    outputs: Names = None,
    static_correction: bool = True,
) -> FrequencyResponse:
    """Frequency response by superposition of the given modes.

    Parameters
    ----------
    system : SecondOrder
    modes : Modes
        Of the system, some or all; all of them give the direct response.
    frequencies : (nf,) [rad/s]
    kind, inputs, outputs : as in :func:`frequency_response`
    static_correction : bool
        Add the static response of the modes left out: exact at frequency 0, and an error that falls with
        (ω / first frequency left out)² instead of a constant error.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> chain = SecondOrder(np.eye(3), [[2, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> low = Modes(chain.modes().eigenvalues[:1], chain.modes().shapes[:, :1])
    >>> modal_frequency_response(chain, low, [0.0], inputs="x1", outputs="x3").values.real.round(12).item()
    1.0
    """
    w = check_frequencies(frequencies)
    ports = Ports(system, kind, inputs, outputs)
    basis = modal_basis(system, modes)
    values = np.empty((len(w), len(ports.outputs), len(ports.inputs)), dtype=np.complex128)
    residual = static_residual(system, basis, ports.F) if static_correction else np.zeros_like(ports.F)
    for chunk, eta in solve_second_order(basis.reduced, np.abs(w), basis.V.T @ ports.F):
        values[chunk] = ports.read(np.abs(w[chunk]), basis.V @ eta + residual)
    how = {"method": "superposition of modes", "modes": len(modes), "static correction": static_correction}
    return ports.result(w, mirror(w, values), how)


def modal_basis(system: SecondOrder, modes: Modes) -> Basis:
    """Real, mass-scaled basis of the span of the shapes, and the system projected onto it."""
    if not isinstance(modes, Modes):
        raise DataError("wrong-type", f"modes must be Modes, such as system.modes(...); got {type(modes).__name__}.")
    if modes.coordinates != system.coordinates:
        raise DataError(
            "wrong-owner",
            "the modes have other coordinates than this SecondOrder.",
            Advice("Take {}.", Call("SecondOrder.modes")),
        )
    if not len(modes):
        raise DataError("empty", "a superposition needs at least one mode; these Modes are empty.")
    V = _span(modes.shapes)
    project = {}
    for symbol in ("M", "C", "G", "K", "H", "K_loss"):
        X = np.asarray(V.T @ (getattr(system, symbol) @ V))
        project[symbol] = 0.5 * (X - X.T) if symbol in "GH" else 0.5 * (X + X.T)
    read = {
        symbol: np.asarray(getattr(system, symbol) @ V) for symbol in ("Y_position", "Y_velocity", "Y_acceleration")
    }
    names = {*system.inputs, *system.outputs}
    reduced = type(system)(
        project.pop("M"), project.pop("K"), **project, B=np.asarray((system.B.T @ V).T), **read,
        D=storage.dense(system.D), coordinates=number_names("mode", V.shape[1]), inputs=system.inputs,
        outputs=system.outputs, units={name: unit for name, unit in system.units.items() if name in names},
        about=system.about, provenance=system.provenance,
    )  # fmt: skip
    rigid = modes.eigenvalues == 0.0
    return Basis(V, np.ascontiguousarray(modes.shapes.real[:, rigid]), reduced)


def _span(shapes: Any, dependent: float = 1e-8) -> FloatArray:
    """Independent real columns that span Re and Im of the shapes; a real shape is kept unchanged.

    ``dependent`` : √ε, the norm of a column after the others are projected out; a rest of that size has no digit left.
    """
    columns = shapes if not np.iscomplexobj(shapes) else np.hstack([shapes.real, shapes.imag])
    size = np.linalg.norm(columns, axis=0)
    columns, size = columns[:, size > dependent * size.max()], size[size > dependent * size.max()]
    _, R, order = scipy.linalg.qr(columns / size, mode="economic", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diag(R)) > dependent))
    return np.ascontiguousarray(columns[:, np.sort(order[:rank])])


def static_residual(system: SecondOrder, basis: Basis, F: FloatArray) -> Any:
    """(n, k): R F, the static response of the omitted modes to the forces F (n, k)."""
    V, N, reduced = basis.V, basis.rigid, basis.reduced
    K, Kr = system.K_full, reduced.K_full
    if storage.nonzero(system.K_loss):
        K, Kr = K + 1j * system.K_loss, Kr + 1j * reduced.K_loss
    eta = bordered_solve(Kr, np.asarray(V.T @ (system.M @ N)), V.T @ F)
    return bordered_solve(K, np.asarray(system.M @ N), F) - V @ eta


def bordered_solve(K: Any, border: FloatArray, F: FloatArray, condition: float = 1e15) -> Any:
    """x of K x + border λ = F, borderᵀ x = 0; the border (n, r) spans the null space of K.

    ``condition`` : number of a stiffness matrix without a digit left.
    """
    n, r = border.shape
    scale = float(abs(K).max()) / (float(np.abs(border).max(initial=0.0)) or 1.0)
    load = np.vstack([F, np.zeros((r, F.shape[1]))])
    if scipy.sparse.issparse(K):
        edge = scipy.sparse.csc_array(scale * border)
        bordered = scipy.sparse.block_array([[K, edge], [edge.T, None]]).tocsc() if r else K.tocsc()
        x = sparse_solve(bordered, load.astype(bordered.dtype))
        singular = x is None or not np.isfinite(x).all()
    else:
        dense = np.block([[K, scale * border], [scale * border.T, np.zeros((r, r))]])
        try:
            x = np.linalg.solve(dense, load)
            singular = np.linalg.cond(dense) > condition
        except np.linalg.LinAlgError:
            singular = True
    if singular:
        raise DataError("resonance", SINGULAR_STIFFNESS if r else f"{resonance(0.0)} {SINGULAR_STIFFNESS}")
    return x[:n]


@checked
def frequency_grid(
    system: SecondOrderSystem,
    low: Frequency,
    high: Frequency,
    points: Points = 400,
    *,
    per_mode: PointsPerMode = 24,
) -> FloatArray:
    """Frequencies for a smooth curve: evenly spread on a logarithmic axis, and closer around every resonance.

    Parameters
    ----------
    system : SecondOrder
    low, high : [rad/s], 0 < low < high
    points : evenly spread ones
    per_mode : points added on either side of each natural frequency in the band, at distances that grow
        from a tenth of its half-power width

    Returns
    -------
    (nf,) ascending [rad/s]; without the frequencies of undamped modes.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> grid = frequency_grid(SecondOrder(1.0, 4.0, C=0.02), 1.0, 10.0, points=50)
    >>> bool(np.abs(grid - 2.0).min() < 1e-3), len(grid) > 50
    (True, True)
    """
    if not 0.0 < low < high or points < 2:
        raise DataError(
            "out-of-range",
            f"a frequency grid needs 0 < low < high and at least 2 points, got {low!r}, {high!r} and {points!r}.",
        )
    even = np.geomspace(low, high, points)
    modes = system.modes(band=(low, high)) if system.is_sparse else system.modes()
    s = modes.eigenvalues[modes.eigenvalues.imag > 0.0]
    around = _points_around(s, per_mode)
    return _without_undamped(np.unique(np.concatenate([even, around[(around >= low) & (around <= high)]])), s)


def _points_around(
    s: ComplexArray,
    count: int,
    # distances in half-power half-widths: from the top of the peak, which falls by 0.5 % there, to 1/30 of it
    span: tuple[float, float] = (0.1, 30.0),
    damping: float = 1e-4,  # smallest ratio that the points resolve: a peak of 5000 times the static response
) -> FloatArray:
    """(k, 2 count + 1) frequencies around eigenvalues (k,)."""
    width = np.maximum(np.abs(s.real), damping * s.imag)
    reach = np.geomspace(*span, count)
    result: FloatArray = s.imag[:, None] + width[:, None] * np.concatenate([-reach[::-1], [0.0], reach])
    return result


def _without_undamped(grid: FloatArray, s: ComplexArray, undamped: float = 1e-9, away: float = 1e-6) -> FloatArray:
    """The grid without points at modes without damping, whose peaks have no height; distances are relative."""
    for w in s.imag[np.abs(s.real) <= undamped * s.imag]:
        grid = grid[np.abs(grid - w) > away * w]
    return grid
