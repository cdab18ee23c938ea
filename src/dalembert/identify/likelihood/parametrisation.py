"""Modal parameters of a sampled system, and the way back.

A = V Λ V⁻¹: one complex state z per pair, z[t+1] = λ z[t] + b u[t], ŷ = Re(c z) + ..., c twice the column of C V;
real: block [[Re λ, Im λ], [-Im λ, Re λ]], states (Re z, -Im z), columns (Re c, Im c) of C.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.core.arrays import BoolArray, ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.identify.likelihood.modal_likelihood import ModalModel
from dalembert.linear.eigen.roots import is_defective
from dalembert.numerics import ties
from dalembert.numerics.balancing import balance_matrix


def modal_model(
    A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, direct: BoolArray, segments: int,
    least_decay: float = 1e-9, most_decay: float = 3.0,
) -> tuple[ModalModel, tuple[str, ...]]:  # fmt: skip
    """Modal parameters, initial states z₀ zero, and notes on changes that were necessary for them to exist.

    least_decay : a slower pole has lost nothing after a record of 1e8 samples; BORDER of `refine` reports poles near it
    most_decay : a faster pole has less than 5 % left after one sample: e^-3
    """
    values, V, spread = _decompose(A)
    keep = values.imag >= 0.0
    values, b, c = values[keep], np.linalg.solve(V, B.astype(complex))[keep], (C @ V)[:, keep]
    real = values.imag == 0.0
    b[real], c[:, real] = b[real].real, c[:, real].real
    c = np.where(real, c, 2.0 * c)
    poles = np.log(np.where(values == 0.0, np.exp(-most_decay), values).astype(complex))
    outside = poles.real > -least_decay
    moved = int(np.count_nonzero(poles.real > least_decay))
    changes: tuple[str, ...] = (f"{moved} poles of the initial model moved inside the unit circle",) if moved else ()
    changes += ("coinciding poles of the initial model separated",) if spread else ()
    poles.real = np.clip(np.where(outside, -np.abs(poles.real), poles.real), -most_decay, -least_decay)
    weights = np.hstack([b, np.zeros((len(b), segments))])
    return normalise(ModalModel(poles, real, weights, c, D.copy(), direct)), changes


def _decompose(A: FloatArray, separation: float = 1e-6) -> tuple[ComplexArray, ComplexArray, bool]:
    """Eigenvalues, exactly real or in exactly conjugate pairs, independent vectors, and whether A had to be changed.

    separation : perturbation that separates coinciding poles, relative to the largest entry of A: a double pole moves
    by its root, 1e-3, and the condition of its vectors becomes the inverse of that, 1e3, far below 1e7; the data decide
    the rest
    """
    if not len(A):
        return np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex), False
    balanced, scaling = balance_matrix(A)
    size = max(float(np.abs(balanced).max()), 1e-3)
    spread = np.diag(np.linspace(-1.0, 1.0, len(A))) + np.diag(np.linspace(0.3, 1.0, len(A) - 1), -1)
    for step in (0.0, 1.0, 10.0, 100.0, 1000.0):
        trial = balanced + step * separation * size * spread
        values, V = np.linalg.eig(trial)
        if not is_defective(V):
            return values.astype(complex), (scaling[:, None] * V).astype(complex), step > 0.0
    raise DataError(
        "rank-deficient",
        "this model cannot be refined: its poles coincide without independent shapes. Choose another order, or another "
        "method for the initial model.",
    )


def normalise(model: ModalModel) -> ModalModel:
    """The same model with b and c of one size, and the largest c real and positive."""
    size_c = np.linalg.norm(model.C, axis=0)
    size_b = np.linalg.norm(model.weights, axis=1)
    top = model.C[ties.first_largest(model.C), np.arange(len(size_c))] if len(model.C) else size_c + 0j
    fine = (size_c > 0.0) & (size_b > 0.0)
    size = np.sqrt(np.divide(size_b, size_c, out=np.ones_like(size_b), where=fine))
    phase = np.divide(np.conj(top), np.abs(top), out=np.ones(len(top), dtype=complex), where=fine)
    factor = np.where(fine, size * phase, 1.0)
    return replace(model, C=model.C * factor, weights=model.weights / factor[:, None])


def sort_modes(model: ModalModel) -> ModalModel:
    """Modes in ascending order of |ln λ|."""
    order = np.argsort(np.abs(model.poles), kind="stable")
    return replace(
        model, poles=model.poles[order], real=model.real[order], weights=model.weights[order], C=model.C[:, order]
    )


def state_space(model: ModalModel) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Real A, B, C, D of the modal parameters."""
    mask = model.linear_mask()
    lam = model.multipliers()
    J = len(lam)
    A = np.zeros((J, 2, J, 2))
    at = np.arange(J)
    A[at, 0, at, 0] = A[at, 1, at, 1] = lam.real
    A[at, 0, at, 1], A[at, 1, at, 0] = lam.imag, -lam.imag
    b = model.weights[:, : model.nu]
    B = np.stack([b.real, -b.imag], axis=1).reshape(2 * J, -1)
    C = np.stack([model.C.real, model.C.imag], axis=2).reshape(len(model.C), 2 * J)
    return A.reshape(2 * J, 2 * J)[np.ix_(mask, mask)], B[mask], C[:, mask], model.D


def state_names(model: ModalModel) -> list[str]:
    """``mode1.re, mode1.im, mode2, ...``."""
    names = []
    for number, real in enumerate(model.real, start=1):
        names += [f"mode{number}"] if real else [f"mode{number}.re", f"mode{number}.im"]
    return names
