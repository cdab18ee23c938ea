"""Orthogonal complements: S with A S = 0 and as many independent columns as there are freedoms (Orsino 2016, 2.4, 4.5).

    partition:      S[ind] = 1 ,  S[dep] = -A_dep⁻¹ A_ind
    least squares:  S[dep] = -A_dep⁺ A_ind ,  the same where the rows are compatible, a compromise where they are not
    derivative of the latter, with X = S[dep], B = A_dep, G = A_ind:
        Ẋ = -(BᵀB)⁻¹ (Bᵀ(Ġ + Ḃ X) + Ḃᵀ(G + B X))

The last line is exact; a difference quotient of step γ (which needs 2γ below the fraction; eq. 4.21 prints γ) leaves an
error of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg

from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice
from dalembert.expressions import Array
from dalembert.symbolic.modular.algebra.elimination import eliminate, null_space_of, random_values, rank_of, scale_rows
from dalembert.symbolic.modular.algebra.labelled import LabelledMatrix, require_label


@dataclass(frozen=True)
class Complement:
    """S of a matrix in symbols, with the rows that follow from others."""

    matrix: LabelledMatrix
    redundant: tuple[str, ...]


def orthogonal_complement(
    A: LabelledMatrix,
    numbers: Array | None = None,
    independent: Sequence[str] | None = None,
    prefer: Sequence[str] = (),
    label: str | None = None,
) -> Complement:
    """S in symbols, by elimination of dependent columns.

    Parameters
    ----------
    A : matrix of expressions
    numbers : (points, m, n) its values; ranks are decided with them, or at random values of the symbols
    independent : columns to keep; chosen when left out, those of ``prefer`` first
    label : of the columns of S, numbered: ``"free 1"``; when left out they have the names of the independent ones
    """
    if label is not None:
        S, redundant = (
            (complement := orthogonal_complement(A, numbers, independent, prefer)).matrix,
            complement.redundant,
        )
        return Complement(LabelledMatrix(S.entries, S.rows, _number(label, len(S.columns))), redundant)
    columns = A.columns
    if numbers is None:
        numbers = random_values(ca.SX(A.entries))
    if not A.rows:
        if independent is not None:
            _check_count(A, independent, len(columns))
        order = columns if independent is None else tuple(independent)
        return Complement(_unit(columns, order), ())
    if independent is None:
        independent = choose_independent(numbers[0], columns, prefer)
        for k in range(1, len(numbers)):
            if rank_of(numbers[k]) > rank_of(numbers[0]):
                independent = choose_independent(numbers[k], columns, prefer)
    else:
        for label in independent:
            require_label(label, columns, "column", "the variables of this part")
    rank = max(rank_of(matrix) for matrix in numbers)
    _check_count(A, independent, len(columns) - rank)
    free = [columns.index(label) for label in independent]
    done = eliminate(A.entries, numbers, [j for j in range(len(columns)) if j not in free])
    if len(done.columns) < rank:
        missing = [columns[j] for j in range(len(columns)) if j not in free and j not in done.columns]
        raise ModelError(
            "dependent-coordinates", f"the variables {', '.join(independent)} do not determine {', '.join(missing)}.",
            Advice("Choose among {}.".replace("{}", ", ".join(choose_independent(numbers[-1], columns, prefer)))),
            where={"variables": missing},
        )  # fmt: skip
    S = ca.SX(len(columns), len(free))
    for k, j in enumerate(free):
        S[j, k] = 1
    for j, row in zip(done.columns, done.table, strict=True):
        for k, column in enumerate(free):
            if column in row:
                S[j, k] = -row[column]
    return Complement(LabelledMatrix(S, columns, independent), tuple(A.rows[i] for i in done.dropped))


def choose_independent(
    A: Array, columns: Sequence[str], prefer: Sequence[str] = (), weight: float = 1e-6
) -> tuple[str, ...]:
    """Independent columns of one matrix of numbers: dependent ones are the pivots of a QR factorization.

    Columns of ``prefer`` become pivots last, so that they stay independent where they can: with a small ``weight`` a
    column is a pivot only where nothing else is left.
    """
    n = len(columns)
    rank = rank_of(A)
    if not rank:
        return tuple(columns)
    scaled = scale_rows(A)
    scaled = scaled * np.where([label in prefer for label in columns], weight, 1.0)
    _, _, order = scipy.linalg.qr(scaled, mode="economic", pivoting=True)
    dependent = {int(j) for j in order[:rank]}
    return tuple(columns[j] for j in range(n) if j not in dependent)


def null_space(A: LabelledMatrix, label: str = "free") -> LabelledMatrix:
    """Orthonormal S of a matrix of numbers, by singular values; its columns have a label and a number, no meaning.

    They are not continuous along a motion: use it at one instant, not to be differentiated.
    """
    S = null_space_of(np.asarray(A.entries, dtype=float))
    return LabelledMatrix(S, A.columns, _number(label, S.shape[1]))


def _number(label: str, count: int) -> list[str]:
    return [f"{label} {k + 1}" for k in range(count)]


def least_squares_complement(
    A: LabelledMatrix, independent: Sequence[str], weights: Array | None = None
) -> LabelledMatrix:
    """S of a matrix of numbers with unit rows at the independent columns and least squares at the others."""
    C, _ = linear_complement(A.entries, np.zeros((*A.shape, 0)), A.columns, independent, weights)
    return LabelledMatrix(C, A.columns, independent)


def linear_complement(
    B0: Array, B1: Array, columns: Sequence[str], independent: Sequence[str], weights: Array | None = None
) -> tuple[Array, Array]:
    """The least-squares complement C0 of B0, and its exact derivatives C1 for B0 + Σ B1[:, :, j] x_j.

    B0 : (m, n).  B1 : (m, n, nx).  weights : (m,) of the rows.  Returns (n, ν) and (n, ν, nx).
    """
    for label in independent:
        require_label(label, columns, "column", "the variables of this part")
    n, free = len(columns), [list(columns).index(label) for label in independent]
    dependent = [j for j in range(n) if j not in free]
    if weights is not None:
        B0, B1 = weights[:, None] * B0, weights[:, None, None] * B1
    B, G = B0[:, dependent], B0[:, free]
    C0 = np.zeros((n, len(free)))
    C1 = np.zeros((n, len(free), B1.shape[2]))
    C0[free, range(len(free))] = 1.0
    if dependent:
        if rank_of(B) < len(dependent):
            raise ModelError(
                "rank-deficient", f"{len(free)} independent variables ({', '.join(independent)}) are too few or badly "
                f"chosen: the constraints determine {rank_of(B)} of the {len(dependent)} others.",
                where={"independent": tuple(independent)},
                evidence={"rank": rank_of(B), "needed": len(dependent)},
            )  # fmt: skip
        Q, R = np.linalg.qr(B)
        X = -scipy.linalg.solve_triangular(R, Q.T @ G)
        C0[dependent] = X
        gap = G + B @ X
        for j in range(B1.shape[2]):
            if not B1[:, :, j].any():
                continue
            dB, dG = B1[:, dependent, j], B1[:, free, j]
            inner = scipy.linalg.solve_triangular(R, Q.T @ (dG + dB @ X))
            outer = scipy.linalg.solve_triangular(R, scipy.linalg.solve_triangular(R, dB.T @ gap, trans="T"))
            C1[dependent, :, j] = -(inner + outer)
    return C0, C1


def _check_count(A: LabelledMatrix, independent: Sequence[str], needed: int) -> None:
    if len(independent) != needed:
        word = "few" if len(independent) < needed else "many"
        raise ModelError(
            "dependent-coordinates", f"{len(independent)} independent variables are too {word}: {len(A.columns)} "
            f"variables with {len(A.columns) - needed} independent constraints have {needed} freedoms.",
            where={"independent": tuple(independent)}, evidence={"given": len(independent), "needed": needed},
        )  # fmt: skip


def _unit(rows: Sequence[str], columns: Sequence[str]) -> LabelledMatrix:
    S: Any = ca.SX(len(rows), len(columns))
    for k, label in enumerate(columns):
        S[list(rows).index(label), k] = 1
    return LabelledMatrix(S, rows, columns)
