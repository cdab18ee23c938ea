"""The equation of Udwadia and Kalaba, in three forms (Udwadia and Kalaba 1992; Udwadia and Phohomsiri 2006).

    regular     v̇ = a + M^(-1/2) (A M^(-1/2))⁺ (b - A a) ,   a = M⁻¹ f
    singular    v̇ = [ (1 - A⁺ A) M ; A ]⁺ [ (1 - A⁺ A) f ; b ]
    augmented   the regular form with M + α² A⁺ A and f + α² A⁺ b ,   α² the largest mass

Rows may depend on each other. The first needs a regular mass matrix; the others need rank [M; A] = n. Forces of the
rows are M v̇ - f.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.core.arrays import AnyArray as Array
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.symbolic.derivation import Derivation, Step, Values, count_independent, least_squares, pseudo_inverse
from dalembert.symbolic.formalisms.lagrange import constraint_step, lagrange_forces
from dalembert.symbolic.motion import in_rates
from dalembert.symbolic.system import System

FORMULAS = {
    "regular": "\\ddot{q} = a + M^{-1/2} \\left( A M^{-1/2} \\right)^{+} (b - A a), \\qquad a = M^{-1} f",
    "singular": "\\ddot{q} = \\begin{bmatrix} (1 - A^{+} A) M \\\\ A \\end{bmatrix}^{+} "
    "\\begin{bmatrix} (1 - A^{+} A) f \\\\ b \\end{bmatrix}",
    "augmented": "M \\to M + \\alpha^{2} A^{+} A, \\qquad f \\to f + \\alpha^{2} A^{+} b",
}


def udwadia_kalaba(system: System, *, form: str = "regular") -> Derivation:
    """The explicit equation of constrained motion.

    form : ``"regular"``, ``"singular"`` (a mass matrix that may be singular) or ``"augmented"``.
    """
    if form not in _FORMS:
        raise ModelError("unknown-choice", f"form is one of {', '.join(_FORMS)}; got {form!r}.")
    motion = in_rates(system)
    M, f = lagrange_forces(motion, "the Udwadia-Kalaba equation")
    steps = [
        Step("Unconstrained system", "Mass matrix and forces as if there were no rows.", "M a = f",
             (("M", M), ("f", f))),
        *([constraint_step(motion)] if motion.constraints else []),
        Step("Udwadia-Kalaba equation", f"The {form} form; the plus sign is the pseudo-inverse.", FORMULAS[form]),
    ]  # fmt: skip
    return Derivation("the Udwadia-Kalaba equation", motion, M, f, tuple(steps), method=_FORMS[form])


def _regular(values: Values) -> tuple[Array, Array]:
    M, f, A, b = (values[name] for name in ("M", "f", "A", "b"))
    sizes, vectors = np.linalg.eigh(M)
    if count_independent(M) < len(M) or sizes[0] <= 0.0:
        raise ModelError(
            "singular-matrix", "the mass matrix is singular; the regular form needs its inverse.",
            Advice("Use {}.", Argument("form", "singular"), Argument("form", "augmented")),
        )  # fmt: skip
    root = vectors / np.sqrt(sizes) @ vectors.T
    a = root @ (root @ f)
    if not len(b):
        return a, np.zeros(0)
    a = a + root @ pseudo_inverse(A @ root) @ (b - A @ a)
    return a, _multipliers(A, M @ a - f)


def _singular(values: Values) -> tuple[Array, Array]:
    M, f, A, b = (values[name] for name in ("M", "f", "A", "b"))
    if not len(b):
        return np.linalg.solve(M, f), np.zeros(0)
    scale = np.abs(M).max() / max(np.abs(A).max(), 1e-300)
    allowed = np.eye(len(f)) - pseudo_inverse(A) @ A
    a = pseudo_inverse(np.vstack([allowed @ M, scale * A])) @ np.concatenate([allowed @ f, scale * b])
    return a, _multipliers(A, M @ a - f)


def _augment(values: Values) -> tuple[Array, Array]:
    M, f, A, b = (values[name] for name in ("M", "f", "A", "b"))
    if not len(b):
        return _regular(values)
    inverse, weight = pseudo_inverse(A), float(np.abs(M).max())
    heavier = {"M": M + weight * inverse @ A, "f": f + weight * inverse @ b, "A": A, "b": b}
    a, _ = _regular(heavier)
    return a, _multipliers(A, M @ a - f)


def _multipliers(A: Array, force: Array) -> Array:
    return np.asarray(least_squares(A.T, force))


_FORMS: dict[str, Any] = {"regular": _regular, "singular": _singular, "augmented": _augment}
