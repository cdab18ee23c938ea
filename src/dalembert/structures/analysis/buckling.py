"""Loads at which a structure buckles, linear: (K + λ K_g) φ = 0, K_g of the internal forces at load factor 1.

K is positive definite, K_g is not: solved as -K_g φ = μ K φ for the largest μ = 1/λ, by Lanczos in the inner
product of K (each step one solve with the factors of K), dense for small structures. That all factors up to the last
one were found is counted by Sylvester's law: K + λ K_g has as many negative pivots as there are factors below λ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.findings import Advice, Argument
from dalembert.numerics import ties
from dalembert.numerics.sparse.sparse_factor import Factor as InertiaFactor
from dalembert.structures.analysis.prestress import solve, stiffness_under
from dalembert.structures.assembly import stiffness_factor as factors
from dalembert.structures.assembly.structure import Structure, needs_structure


@frozen
class Buckling:
    """Load factors and shapes of buckling; frozen.

    Attributes
    ----------
    factors : (k,), ascending: the structure buckles under ``factors[0]`` times the load.
    shapes : (n, k), on the free coordinates, largest displacement 1.
    coordinates : names of the n free coordinates.
    structure : the `Structure`.  load : its name, the cases in it, or "given".
    """

    factors: FloatArray
    shapes: FloatArray
    coordinates: tuple[str, ...]
    structure: Structure
    load: str

    @property
    def critical(self) -> float:
        """The smallest factor."""
        return float(self.factors[0])

    def shape(self, mode: int = 1) -> dict[str, float]:
        """Displacement of every coordinate in a mode, counted from 1, by name."""
        if not 1 <= mode <= len(self.factors):
            raise DataError("out-of-range", f"this Buckling has modes 1 to {len(self.factors)}, asked for {mode!r}.")
        full = self.structure.expand(self.shapes[:, mode - 1])
        return dict(zip(self.structure.coordinates, full.tolist(), strict=True))

    def table(self) -> str:
        """Factors, and the coordinate that moves most in each shape."""
        lines = [f"Buckling of {self.structure.name!r} under {self.load!r}", "  mode   load factor   largest at"]
        for k, factor in enumerate(self.factors):
            at = self.coordinates[int(ties.first_largest(self.shapes[:, k]))]
            lines.append(f"  {k + 1:4d}   {factor:11.6g}   {at}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.table()


def find_buckling(structure: Structure, load: Any, *, count: int = 5) -> Buckling:
    """The smallest factors by which ``load`` may be multiplied until the structure buckles.

    Parameters
    ----------
    structure : supported.
    load : as for :func:`solve_static`: name of a case, mapping of coordinates to forces, or a vector (N,).
    count : number of factors wanted; fewer come back where fewer exist.

    Examples
    --------
    >>> from dalembert.structures import Frame, Section, assemble_structure
    >>> f = Frame("column", planar=True)
    >>> f.add_points(["foot", "head"], [[0, 0], [0, 2]])
    >>> f.add_beam("column", "foot", "head", section=Section.square(0.02), material="steel", elements=8)
    >>> f.add_support("foot", "pinned"); f.add_support("head", "x")
    >>> f.add_force("weight", "head", (0, -1000))
    >>> round(find_buckling(assemble_structure(f), "weight", count=2).critical, 3)
    6.907
    """
    needs_structure("find_buckling", structure)
    count = whole_number("count", count, 1)
    state = solve(structure, load, hanging=False)
    K, K_g = (structure.reduce(matrix) for matrix in (structure.K, stiffness_under(structure, state)))
    name = (
        load if isinstance(load, str) else " + ".join(f"{x:g} {case}" for case, x in state.factors.items()) or "given"
    )
    if not K_g.nnz or not abs(K_g).max():
        raise DataError(
            "no-internal-forces",
            f"load {name!r} makes no internal forces in structure {structure.name!r}: nothing can buckle.",
        )
    try:
        inverse, shapes = _largest(K, K_g, count, state.factor)
        scale = max(float(np.abs(inverse).max()), _size(K, K_g, state.factor))
    except np.linalg.LinAlgError as error:
        raise DataError(
            "not-stable",
            f"stiffness of structure {structure.name!r} is not positive definite: it has buckled already "
            "under its prestress.",
        ) from error
    keep = _is_loaded(inverse, scale)
    if not keep.any():
        raise DataError(
            "no-buckling",
            f"structure {structure.name!r} does not buckle under load {name!r}: nothing in it is compressed enough.",
            Advice("Reverse the load, or check its sign."),
            where={"structure": structure.name, "load": name},
        )
    inverse, shapes = inverse[keep], shapes[:, keep]
    largest = shapes[ties.first_largest(shapes), range(shapes.shape[1])]
    return Buckling(
        factors=1.0 / inverse, shapes=shapes / largest, coordinates=structure.free, structure=structure, load=name
    )


def _is_loaded(inverse: FloatArray, scale: float, zero: float = 1e-10) -> Any:
    """Whether 1/λ is above zero, relative to the largest |1/λ|: an idle column beside a loaded one has 2e-19."""
    return inverse > zero * scale


def _largest(
    K: Any, K_g: Any, count: int, factor: factors.StiffnessFactor, equal: float = 1e-7
) -> tuple[FloatArray, FloatArray]:
    """μ descending, with shapes, of ``-K_g φ = μ K φ``.

    equal : relative difference of two μ that are one (Lanczos errs by 3e-10 for a column of 200 elements, 9e-10 for
    600). Factors are counted so far beyond the last one wanted, so that one exactly at the end is among them.
    """
    n = int(K.shape[0])
    if n <= factors.DENSE_EIGEN or 2 * count > n:
        mu, shapes = scipy.linalg.eigh(-K_g.toarray(), K.toarray())
        return mu[::-1][:count], shapes[:, ::-1][:, :count]
    extra = count
    for _ in range(4):
        mu, shapes = _lanczos(K, K_g, extra, factor)
        below = _count_below(K, K_g, (1 + equal) / mu[count - 1]) if mu[count - 1] > 0 else None
        if not below or (below <= extra and mu[below - 1] * (1 + 2 * equal) >= mu[count - 1]):
            return mu[:count], shapes[:, :count]
        extra = max(below, 2 * extra)
    raise ConvergenceError(
        "no-convergence",
        f"Lanczos missed some of the {count} smallest load factors.",
        Advice("Ask for more: {}.", Argument("count")),
    )


def _size(K: Any, K_g: Any, factor: factors.StiffnessFactor) -> float:
    """A lower bound of the largest |μ|, near it: the quotient after two steps of the power method."""
    x = np.random.default_rng(1).standard_normal(int(K.shape[0]))
    for _ in range(2):
        x = factor.solve(K_g @ x)
        if not x.any():
            return 0.0
        x = x / np.abs(x).max()
    energy = float(x @ (K @ x))
    return abs(float(x @ (K_g @ x))) / energy if energy > 0.0 else 0.0


def _lanczos(K: Any, K_g: Any, count: int, factor: factors.StiffnessFactor) -> tuple[FloatArray, FloatArray]:
    n = int(K.shape[0])
    solve = scipy.sparse.linalg.LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
    start = factor.solve(K_g @ np.random.default_rng(0).standard_normal(n))  # the same shapes every time
    try:
        mu, shapes = scipy.sparse.linalg.eigsh(
            -K_g, k=count, M=K, Minv=solve, which="LA", v0=start, ncv=min(n, max(2 * count + 1, count + 30))
        )
    except scipy.sparse.linalg.ArpackNoConvergence as error:
        raise ConvergenceError(
            "no-convergence",
            f"Lanczos found {len(error.eigenvalues)} of the {count} smallest load factors.",
            Advice("Ask for fewer: {}.", Argument("count")),
        ) from error
    if np.any(np.einsum("ij,ij->j", shapes, K @ shapes) <= 0.0):
        raise np.linalg.LinAlgError("K is not positive definite")
    order = np.argsort(mu)[::-1]
    return mu[order], shapes[:, order]


def _count_below(K: Any, K_g: Any, factor: float) -> int | None:
    """Number of load factors in (0, factor), from the signs of the pivots; None where they do not determine it."""
    try:
        return InertiaFactor(sp.csc_array(K + factor * K_g)).negative
    except ArithmeticError:
        return None
