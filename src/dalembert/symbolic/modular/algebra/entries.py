"""Entries of labelled matrices: which are equal, and systems some of whose rows hold exactly (Orsino 2016, 5.1)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.expressions import Array
from dalembert.symbolic.modular.algebra.elimination import null_space_of
from dalembert.symbolic.modular.algebra.labelled import LabelledMatrix

POINTS = 3  # random values of the symbols: entries that agree at all of them are equal


def name_entries(
    A: LabelledMatrix, name: str, mirror: tuple[str, str] | None = None, equal: float = 1e-10
) -> LabelledMatrix:
    """The matrix with a symbol ``name[row, column]`` for every entry; entries equal up to sign share one.

    Numbers stay numbers. mirror : letters of two sides, ``("R", "L")``: symbols that differ in them only have equal
    values, so that mirrored rows share their symbols; those of the first side give the name.
    equal : relative difference of equal entries, a million roundings.
    """
    entries, rng = ca.SX(A.entries), np.random.default_rng(20)
    symbols = ca.symvar(entries)
    sides = [one.name().replace(mirror[1], mirror[0]) if mirror else one.name() for one in symbols]
    function = ca.Function("entries", [ca.vertcat(ca.SX(0, 1), *symbols)], [ca.densify(entries)])
    values = []
    for _ in range(POINTS):
        drawn = {side: rng.uniform(0.3, 1.2) for side in dict.fromkeys(sides)}
        values.append(np.array(function([drawn[side] for side in sides])).reshape(A.shape))
    at = np.moveaxis(np.array(values), 0, -1)
    first = [k for k, row in enumerate(A.rows) if not mirror or mirror[1] not in row]
    order = first + [k for k in range(len(A.rows)) if k not in first]
    named, result = list[tuple[Array, ca.SX]](), ca.SX(*A.shape)
    for i in order:
        for j in range(len(A.columns)):
            if np.ptp(at[i, j]) <= equal * np.abs(at[i, j]).max():
                result[i, j] = entries[i, j] if ca.SX(entries[i, j]).is_constant() else at[i, j, 0]
                continue
            for sample, symbol in named:
                sign = next((s for s in (1, -1) if np.allclose(at[i, j], s * sample, rtol=equal, atol=0.0)), None)
                if sign is not None:
                    result[i, j] = sign * symbol
                    break
            else:
                result[i, j] = ca.SX.sym(f"{name}[{A.rows[i]}, {A.columns[j]}]")
                named.append((at[i, j], result[i, j]))
    return LabelledMatrix(result, A.rows, A.columns)


def solve_short_rows(A: LabelledMatrix, b: LabelledMatrix, terms: int = 2, rank: float = 1e-9) -> LabelledMatrix:
    """x of A x = b in numbers: rows of at most so many terms hold exactly, the others in least squares.

    Short rows are definitions (x = y, x = 2 y); where longer rows contradict each other they must not give way.
    rank : singular value, relative to the largest, that counts as zero.
    """
    values, right = np.asarray(A.entries, dtype=float), b.part(A.rows, b.columns).entries
    short = np.count_nonzero(values, axis=1) <= terms
    x = np.linalg.lstsq(values[short], right[short], rcond=rank)[0]
    free = null_space_of(values[short])
    residual = right[~short] - values[~short] @ x
    x = x + free @ np.linalg.lstsq(values[~short] @ free, residual, rcond=rank)[0]
    return LabelledMatrix(x, A.columns, b.columns)
