"""Matrices of the speeds of a tree whose entries are products of two vectors: one of the row, one of the column.

Entries couple a speed with those beyond its joint and with those on the way to the root; others are zero. With speeds
numbered depth first, both sets are contiguous: one number of a speed times a contiguous part of a vector over all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import casadi as ca
import numpy as np

from dalembert.expressions import Expr
from dalembert.mechanics.tree.derivatives.columns import align, zeros
from dalembert.mechanics.tree.derivatives.moving_links import MovingTree

Factors: TypeAlias = "tuple[Sequence[Expr], Sequence[Expr]]"  # components of the one speed, and of all others
Pairs: TypeAlias = "list[tuple[list[Expr], Expr]]"
NOTHING: Mapping[tuple[int, int], Expr] = MappingProxyType({})


def join_products(
    moving: MovingTree, beyond: Factors, before: Factors, add: Mapping[tuple[int, int], Expr] = NOTHING
) -> Expr:
    """The matrix, in the order of the tree.

    beyond : factors with speeds of the same link and of links beyond.  before : with those on the way to the root.
    add : further terms, by speed and entry.
    """
    count, like = len(moving.speeds), before[1][0]
    inwards, outwards = pair(*before), pair(*beyond)
    parts: list[Expr] = []
    for j, k in enumerate(moving.link_of):
        first, end = moving.first_speed[k], moving.end[k]
        at = 0
        for a, b, pairs in [*((*run, inwards) for run in moving.runs[k]), (first, end, outwards)]:
            parts += [zeros(like, a - at), multiply_run(like, pairs, j, a, b)]
            at = b
        if any((j, i) in add for i in range(first, end)):
            parts[-1] = parts[-1] + ca.vertcat(*(add.get((j, i), 0.0) for i in range(first, end)))
        parts.append(zeros(parts[-1], count - at))
    return ca.reshape(ca.vertcat(*(x for x in parts if x.shape[0])), count, count)


def pair(numbers: Sequence[Expr], vectors: Sequence[Expr]) -> Pairs:
    """Components that are not zero: the numbers of all speeds, each by itself, and the vector."""
    return [(ca.vertsplit(x), y) for x, y in zip(numbers, vectors, strict=True) if x.nnz() and y.nnz()]


def multiply_run(like: Expr, pairs: Pairs, j: int, first: int, stop: int) -> Expr:
    """Σ numbers[j] vectors[first:stop]."""
    a, b = align(like, first, stop)
    terms = [x[j] * y[a:b] for x, y in pairs]
    if not terms:
        return zeros(like, stop - first)
    total = sum(terms[1:], terms[0])
    return total if (a, b) == (first, stop) else total[first - a : stop - a]


def order_speeds(moving: MovingTree, size: int, matrix: Expr, others: Sequence[tuple[int, Expr]] = ()) -> Expr:
    """A matrix in the order of the machine's speeds, from that of the tree.

    others : speeds that no link has, with their entries of the diagonal.
    """
    count = len(moving.speeds)
    if moving.speeds == list(range(size)):
        return matrix
    index = np.full((size, size), count * count)  # of a zero
    index[np.ix_(moving.speeds, moving.speeds)] = np.arange(count * count).reshape(count, count).T
    for k, (column, _) in enumerate(others):
        index[column, column] = count * count + 1 + k
    values = ca.vertcat(ca.vec(matrix), 0.0, *(x for _, x in others))
    return ca.reshape(values[index.T.reshape(-1).tolist()], size, size)
