"""Changes of state.

similarity     x = T z:  T⁻¹ A T,  T⁻¹ B,  C T,  D
modal          T = Ψ: Λ, Ψ⁻¹ B, C Ψ; or real, each pair σ ± iω as the block [[σ, ω], [-ω, σ]]
symmetric      V z′ = S z + N u of a second-order system, z = (x, x′), V and S symmetric:
               form 1   V = [[C, M], [M, 0]],   S = [[-K, 0], [0, M]],    N = [B; 0]
               form 2   V = [[-K, 0], [0, M]],  S = [[0, -K], [-K, -C]],  N = [0; B]   (K nonsingular)
Kalman         states split into controllable or not, observable or not; the first part is the minimal system
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from dalembert.core.arguments import matrix as real_matrix
from dalembert.core.arguments import number_names, square
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import checked, count, refused_as
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.core.results import result
from dalembert.core.tables import align_columns
from dalembert.core.text import complex_text
from dalembert.linear.channels import SecondOrderSystem, StateSpaceSystem
from dalembert.linear.eigen.roots import EPS, Roots, eigenvalues, integrators_last, is_defective, rest_point, solve
from dalembert.linear.transforms.gramians import is_inside
from dalembert.numerics.balancing import balance_matrix, balance_system

if TYPE_CHECKING:
    from dalembert.linear.state_space import StateSpace


SymmetricForm = Annotated[int, refused_as("unknown-choice", count(1, 2)), "1, or 2 where K is not singular"]
Blocks = Annotated[int, count(1, 100_000), "powers of A, nx where left out: zero or infinite long before"]


@result
class ModalForm:
    """Diagonal form A = Ψ Λ Ψ⁻¹, complex.

    Attributes
    ----------
    eigenvalues : (nx,) complex
        Λ; λ [rad/s], or z of a sampled system.
    vectors : (nx, nx) complex
        Ψ, columns of length 1.
    B : (nx, nu) complex
        Ψ⁻¹ B, how inputs excite the modes.
    C : (ny, nx) complex
        C Ψ, mode shapes at the outputs.
    """

    eigenvalues: ComplexArray
    vectors: ComplexArray
    B: ComplexArray
    C: ComplexArray
    dt: float | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def table(self) -> str:
        """Eigenvalue, its strongest input and its strongest output."""
        rows = []
        for i, value in enumerate(self.eigenvalues):
            source = self.inputs[int(np.argmax(np.abs(self.B[i])))] if self.inputs else "-"
            sensor = self.outputs[int(np.argmax(np.abs(self.C[:, i])))] if self.outputs else "-"
            rows.append((complex_text(value), source, sensor))
        return align_columns(("eigenvalue", "strongest input", "strongest output"), rows)

    def __repr__(self) -> str:
        return f"ModalForm: {len(self.eigenvalues)} states\n{self.table()}"


@result
class KalmanForm:
    """Controllable and observable parts of a system.

    Attributes
    ----------
    system : StateSpace
        The system in the new states, in the order of ``sizes``.
    T : (nx, nx)
        x = T z.
    sizes : tuple of 4
        Controllable and observable; controllable only; observable only; neither.
    """

    system: StateSpace
    T: FloatArray
    sizes: tuple[int, int, int, int]

    @property
    def is_controllable(self) -> bool:
        """Whether the inputs reach every state."""
        return self.sizes[2:] == (0, 0)

    @property
    def is_observable(self) -> bool:
        """Whether the outputs show every state."""
        return self.sizes[1::2] == (0, 0)

    @property
    def minimal(self) -> StateSpace:
        """The controllable and observable part; it has the same response from rest."""
        n, full = self.sizes[0], self.system
        return full.replace(A=full.A[:n, :n], B=full.B[:n], C=full.C[:, :n], states=full.states[:n])

    def table(self) -> str:
        """States and poles of each part."""
        rows = []
        names = ("controllable, observable", "controllable only", "observable only", "neither")
        start = 0
        for name, size in zip(names, self.sizes, strict=True):
            block = slice(start, start + size)
            values = Roots(eigenvalues(self.system.A[block, block])).values
            poles = ", ".join(complex_text(s) for s in values[:4]) + (", ..." if size > 4 else "") or "-"
            rows.append((name, str(size), poles))
            start += size
        return align_columns(("part", "states", "poles"), rows, left=(-1,))

    def __repr__(self) -> str:
        return f"KalmanForm: {self.system.nx} states\n{self.table()}"


def similarity(system: StateSpace, T: ArrayLike, states: object, how: str = "similarity") -> StateSpace:
    """See :meth:`StateSpace.similarity`."""
    nx = system.nx
    T_ = real_matrix("T", T, nx, nx, "x = T z, one row and one column per state")
    # T = r E c: units of the old and the new states do not make it singular.
    r = _nonzero(np.abs(T_).max(axis=1, initial=0.0))
    c = _nonzero(np.abs(T_ / r[:, None]).max(axis=0, initial=0.0))
    E = T_ / r[:, None] / c
    if nx and not is_invertible(E):
        problem = f"T is singular (condition number {np.linalg.cond(E):.1e}); its columns must be independent."
        raise DataError("singular-matrix", problem)
    return system.replace(
        A=solve(E, system.A @ T_ / r[:, None]) / c[:, None], B=solve(E, system.B / r[:, None]) / c[:, None],
        C=system.C @ T_,
        states=number_names("z", nx) if states is None else states,
        provenance={**system.provenance, "states": how},
    )  # fmt: skip


def is_invertible(matrix: FloatArray, condition: float = 0.01 / EPS) -> bool:
    """Whether two digits of an inverse are left, of a matrix with rows and columns of size one."""
    return bool(np.linalg.cond(matrix) < condition)


def _nonzero(sizes: FloatArray) -> FloatArray:
    """Sizes to divide by."""
    return np.where(sizes > 0.0, sizes, 1.0)


def monic(A1: ArrayLike, A2: ArrayLike, F: ArrayLike | None) -> tuple[FloatArray, FloatArray | None]:
    """-A1⁻¹ A2 and A1⁻¹ F."""
    A1_ = square("A1", A1)
    n = len(A1_)
    A2_ = real_matrix("A2", A2, n, n, "the size of A1")
    rows = np.abs(A1_).max(axis=1)
    if not rows.all() or not is_invertible(A1_ / rows[:, None]):
        raise DataError(
            "singular-matrix",
            "A1 is singular: some equations are algebraic. Eliminate them (and as many states) first.",
        )
    B = None if F is None else solve(A1_, real_matrix("F", F, n, None, "one row per equation", vector="column"))
    return -solve(A1_, A2_), B


def diagonal(system: StateSpace) -> tuple[ComplexArray, ComplexArray]:
    """Λ (nx,), pairs adjacent with Im > 0 first, and Ψ (nx, nx); refuses a defective A."""
    if system.nx == 0:
        return np.zeros(0, complex), np.zeros((0, 0), complex)
    A, scale = balance_matrix(system.A)
    values, psi = np.linalg.eig(A)
    if is_defective(psi):
        raise DataError(
            "not-diagonalizable",
            f"A has no full set of independent eigenvectors (condition number {np.linalg.cond(psi):.1e}), as with a "
            "free mass or critical damping.",
            Advice("There is no modal form. {} always exists.", Call("StateSpace.schur_form")),
        )
    order = np.lexsort((-values.imag, np.abs(values.imag), values.real, np.round(np.abs(values), 12)))
    psi = scale[:, None] * psi[:, order]
    return values[order].astype(np.complex128), (psi / np.linalg.norm(psi, axis=0)).astype(np.complex128)


def modal_form(system: StateSpace) -> ModalForm:
    """See :meth:`StateSpace.modal_form`."""
    values, psi = diagonal(system)
    B = np.linalg.solve(psi, system.B.astype(complex)).astype(np.complex128)
    return ModalForm(values, psi, B, system.C @ psi, system.dt, system.inputs, system.outputs)


def real_modal(system: StateSpace) -> StateSpace:
    """See :meth:`StateSpace.modal`."""
    values, psi = diagonal(system)
    columns, states = [], []
    listed = np.flatnonzero(values.imag >= 0.0)
    for number, i in enumerate(listed, start=1):
        # x = Re(ψ) a + Im(ψ) b gives the block [[σ, ω], [-ω, σ]].
        pair = values[i].imag > 0.0
        columns += [psi[:, i].real, psi[:, i].imag] if pair else [psi[:, i].real]
        states += [f"mode{number}.re", f"mode{number}.im"] if pair else [f"mode{number}"]
    T = np.array(columns).reshape(system.nx, system.nx).T
    result = similarity(system, T, states, "modal")
    return result.replace(A=_blocks(values))


def _blocks(values: ComplexArray) -> FloatArray:
    """Block-diagonal matrix of the eigenvalues: T⁻¹ A T without its rounding."""
    blocks = [
        np.array([[s.real, s.imag], [-s.imag, s.real]]) if s.imag > 0.0 else np.array([[s.real]])
        for s in values
        if s.imag >= 0.0
    ]
    result: FloatArray = scipy.linalg.block_diag(*blocks) if blocks else np.zeros((0, 0))
    return result


def schur_form(system: StateSpace) -> StateSpace:
    """See :meth:`StateSpace.schur_form`."""
    if system.nx == 0:
        return system
    T, U = scipy.linalg.schur(system.A)
    return system.replace(
        A=T, B=U.T @ system.B, C=system.C @ U, states=number_names("z", system.nx),
        provenance={**system.provenance, "states": "real Schur"},
    )  # fmt: skip


def stable_split(system: StateSpace) -> tuple[StateSpace, StateSpace]:
    """See :meth:`StateSpace.stable_split`."""
    # Rounding moves a repeated pole at 0 (z = 1) to both sides of the boundary: that block is separated first.
    A, scale = balance_matrix(system.A)
    V, r = integrators_last(A, rest_point(system))
    largest = float(np.abs(eigenvalues(A)).max(initial=0.0))

    def inside(re: float, im: float) -> bool:
        return bool(is_inside(-re, largest) if system.dt is None else is_inside(1.0 - np.hypot(re, im)))

    T, W, k = scipy.linalg.schur(V[:, :r].T @ A @ V[:, :r], sort=inside) if r else (A[:0, :0], A[:0, :0], 0)
    U = np.hstack([V[:, :r] @ W, V[:, r:]])
    T = U.T @ A @ U
    # T = [[T1, X], [0, T2]]; with T1 Y - Y T2 = -X the states (x1 - Y x2, x2) do not act on each other.
    Y = scipy.linalg.solve_sylvester(T[:k, :k], -T[k:, k:], -T[:k, k:]) if 0 < k < system.nx else T[:k, k:]
    B, C = U.T @ (system.B / scale[:, None]), system.C * scale @ U
    provenance = system.provenance
    stable = system.replace(
        A=T[:k, :k], B=B[:k] - Y @ B[k:], C=C[:, :k], states=number_names("z", k),
        provenance={**provenance, "states": "stable part"},
    )  # fmt: skip
    remainder = system.replace(
        A=T[k:, k:], B=B[k:], C=C[:, k:] + C[:, :k] @ Y, D=np.zeros_like(system.D),
        states=number_names("w", system.nx - k), provenance={**provenance, "states": "rest"},
    )  # fmt: skip
    return stable, remainder


def reachable(A: FloatArray, B: FloatArray, tolerance: float) -> FloatArray:
    """Orthonormal basis (n, k) of the controllable subspace, one staircase step after the other."""
    n = len(A)
    size_A, size_B = float(np.linalg.norm(A)) or 1.0, float(np.linalg.norm(B)) or 1.0
    basis = np.zeros((n, 0))
    block = B / size_B
    while basis.shape[1] < n:
        for _ in range(2):  # twice is enough (Kahan): orthogonal to rounding
            block = block - basis @ (basis.T @ block)
        U, singular, _ = np.linalg.svd(block, full_matrices=False)
        new = U[:, singular > tolerance]
        if not new.shape[1]:
            break
        basis = np.hstack([basis, new])
        block = A @ new / size_A
    return basis


def kalman(system: StateSpace, tolerance: float) -> KalmanForm:
    """See :meth:`StateSpace.kalman`."""
    n = system.nx
    A, B, C, scale = balance_system(system.A, system.B, system.C)
    R = reachable(A, B, tolerance)
    observable = reachable(A.T, C.T, tolerance)
    N = scipy.linalg.null_space(observable.T) if observable.shape[1] else np.eye(n)
    both, R_only = _split(R, N)  # R∩N, and the rest of R
    _, N_only = _split(N, R)
    joined = np.hstack([R_only, both, N_only])
    O_only = scipy.linalg.null_space(joined.T) if joined.shape[1] else np.eye(n)
    T = np.hstack([R_only, both, O_only, N_only])
    sizes = (R_only.shape[1], both.shape[1], O_only.shape[1], N_only.shape[1])
    form = similarity(system, scale[:, None] * T, None, "Kalman decomposition")
    return KalmanForm(system=form, T=scale[:, None] * T, sizes=sizes)


def _split(R: FloatArray, N: FloatArray, parallel: float = 1e-8) -> tuple[FloatArray, FloatArray]:
    """Bases of R ∩ N and of its complement in R, from the principal angles between the two.

    ``parallel`` : sine of an angle that is zero; bases of a staircase are good to √ε at a repeated eigenvalue.
    """
    if not (R.shape[1] and N.shape[1]):
        return R[:, :0], R
    # sin of the angle between a direction of R and N, from its part normal to N: cos would not resolve small angles.
    _, sine, Vt = np.linalg.svd(R - N @ (N.T @ R))
    sine = np.append(sine, np.zeros(len(Vt) - len(sine)))
    inside = sine < parallel
    return R @ Vt[inside].T, R @ Vt[~inside].T


@checked
def controllability_matrix(system: StateSpaceSystem, blocks: Blocks | None = None) -> FloatArray:
    """[B, A B, ..., A^(blocks-1) B], (nx, blocks nu); ``blocks`` is nx when left out.

    For rank decisions use :func:`dalembert.control.controllability`, which does not raise A to powers.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> controllability_matrix(StateSpace([[1, 1], [0, 1]], [0, 1], dt=1.0), 3).tolist()
    [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]
    """
    return _powers(system.A, system.B, blocks)


@checked
def observability_matrix(system: StateSpaceSystem, blocks: Blocks | None = None) -> FloatArray:
    """[C; C A; ...; C A^(blocks-1)], (blocks ny, nx); ``blocks`` is nx when left out.

    For rank decisions use :func:`dalembert.control.observability`, which does not raise A to powers.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> observability_matrix(StateSpace([[1, 1], [0, 1]], C=[[1, 0]], dt=1.0), 3).tolist()
    [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
    """
    return _powers(system.A.T, system.C.T, blocks).T


def _powers(A: FloatArray, B: FloatArray, blocks: int | None) -> FloatArray:
    products = [B]
    for _ in range((len(A) if blocks is None else blocks) - 1):
        products.append(A @ products[-1])
    return np.hstack(products)


def markov(system: StateSpace, count: int) -> FloatArray:
    """See :meth:`StateSpace.markov`."""
    result = np.zeros((count, system.ny, system.nu))
    result[0] = system.D
    column = system.B
    for k in range(1, count):
        result[k] = system.C @ column
        column = system.A @ column
    return result


@checked
def symmetric_form(system: SecondOrderSystem, form: SymmetricForm = 1) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Symmetric first-order matrices ``V z′ = S z + N u`` of a second-order system, z = (x, x′).

    Parameters
    ----------
    system : SecondOrder
        Without gyroscopic and circulatory parts, which have no symmetric form.
    form : 1 or 2
        1: V = [[C, M], [M, 0]], S = [[-K, 0], [0, M]], N = [B; 0].
        2: V = [[-K, 0], [0, M]], S = [[0, -K], [-K, -C]], N = [0; B]; needs a nonsingular K.

    Returns
    -------
    V, S : (2n, 2n) symmetric
    N : (2n, nu)

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> V, S, N = symmetric_form(SecondOrder(2.0, 8.0, C=1.0, B=[1.0]))
    >>> np.linalg.solve(V, S).tolist()
    [[0.0, 1.0], [-4.0, -0.5]]
    """
    dense = system.dense() if system.is_sparse else system
    M, C, K, B = dense.M, dense.C, dense.K, dense.B
    odd = [symbol for symbol, matrix in (("G", dense.G), ("H", dense.H)) if np.any(matrix)]
    if odd:
        raise DataError(
            "not-symmetric", f"{' and '.join(odd)} is not symmetric: this system has no symmetric first-order form."
        )
    if np.any(dense.K_loss):
        raise DataError("not-supported", "hysteretic damping (K_loss) has no first-order form in time.")
    zero, none = np.zeros_like(M), np.zeros_like(B)
    _refuse_singular("M", M)
    if form == 1:
        return np.block([[C, M], [M, zero]]), np.block([[-K, zero], [zero, M]]), np.vstack([B, none])
    _refuse_singular("K", K)
    return np.block([[-K, zero], [zero, M]]), np.block([[zero, -K], [-K, -C]]), np.vstack([none, B])


def _refuse_singular(symbol: str, matrix: FloatArray) -> None:
    size = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), np.finfo(np.float64).tiny))
    if not np.all(np.diag(matrix)) or not is_invertible(size[:, None] * matrix * size):
        hint = " Use form 1." if symbol == "K" else ""
        raise DataError("singular-matrix", f"{symbol} is singular: V of this symmetric form would be too.{hint}")
