"""Matrix operations whose operands are parts of a split, in native code."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.expressions import Kernel


def test_products_of_parts_of_splits_are_native_and_have_the_bits_of_the_interpreter() -> None:
    m, A = ca.MX.sym("m", 12), ca.MX.sym("A", 2, 3)
    a, b = ca.vertsplit(m, [0, 6, 12])
    first, rest = ca.horzsplit(ca.reshape(a, 2, 3), [0, 1, 3])
    upper, lower = ca.vertsplit(rest, [0, 1, 2])  # a part of a part
    results = [
        A @ b[:3], ca.dot(a, b), rest @ ca.vertcat(1, 2), first.T @ rest, upper @ lower.T, a.T @ m[3:9], a @ b.T
    ]  # fmt: skip
    kernel = Kernel(ca.Function("products", [m, A], results))
    given = np.random.default_rng(0).normal(size=12), np.arange(6.0)
    interpreted = [value.copy() for value in kernel.raw(*given)]
    kernel.expect(10**6)
    assert kernel.code is not None
    for one, other in zip(interpreted, kernel.raw(*given), strict=True):
        assert np.array_equal(one, other)
