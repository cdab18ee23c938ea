"""Native code beside the interpreter: the same bits on Linux x86-64, where both call the same mathematical library."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.expressions import Kernel
from dalembert.expressions.machine_code.native import Native, compile_native

Array = NDArray[np.float64]

EXACT = sys.platform.startswith("linux") and platform.machine() in ("x86_64", "AMD64")
ELSEWHERE = 1e-12  # relative; CasADi's wheel and LLVM may use different libraries there, or contract products and sums
CANARY = 0.123456789  # behind the work array: a routine that writes there asks for too little


def assert_same_bits(found: Any, expected: Any, what: str = "") -> None:
    """Equal numbers with equal signs of zero, any NaN equal to any NaN; within 1e-12 on other systems."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    assert found.shape == expected.shape, f"{what}: {found.shape}, not {expected.shape}"
    if not EXACT:
        np.testing.assert_allclose(found, expected, rtol=ELSEWHERE, atol=0.0, err_msg=what)
        return
    bits = np.ascontiguousarray(found).view(np.int64) == np.ascontiguousarray(expected).view(np.int64)
    wrong = ~(bits | (np.isnan(found) & np.isnan(expected)))
    if wrong.any():
        first = tuple(int(k) for k in np.argwhere(wrong)[0])
        numbers = f"{found[first]!r}, not {expected[first]!r}"
        raise AssertionError(f"{what}: {wrong.sum()} of {wrong.size} numbers differ, the first at {first}: {numbers}")


def interpret(function: ca.Function, arguments: Sequence[Array]) -> list[Array]:
    """Results of CasADi's interpreter.  arguments : (batch, nonzeros) each.  Returns (batch, nonzeros) each."""
    batch = len(arguments[0]) if arguments else 1
    buffer, run = function.buffer()
    inputs = [np.zeros(function.nnz_in(i)) for i in range(function.n_in())]
    outputs = [np.zeros(function.nnz_out(i)) for i in range(function.n_out())]
    for i, array in enumerate(inputs):
        buffer.set_arg(i, memoryview(array.data))
    for i, array in enumerate(outputs):
        buffer.set_res(i, memoryview(array.data))
    results = [np.empty((batch, array.size)) for array in outputs]
    for k in range(batch):
        for slot, rows in zip(inputs, arguments, strict=True):
            slot[:] = rows[k]
        run()
        for rows, values in zip(results, outputs, strict=True):
            rows[k] = values
    return results


def evaluate(native: Native, arguments: Sequence[Array]) -> list[Array]:
    """Results of native code, as `interpret` gives them; the last group of lanes is filled up."""
    lanes, batch = native.lanes, len(arguments[0]) if arguments else 1
    groups = -(-batch // lanes)
    order = np.minimum(np.arange(groups * lanes), batch - 1)
    given = [
        np.ascontiguousarray(rows[order].reshape(groups, lanes, size).transpose(0, 2, 1))
        for rows, size in zip(arguments, native.main.inputs, strict=True)
    ]
    results = [np.full((groups, size, lanes), np.nan) for size in native.main.outputs]
    work = np.full(native.work().size + 16, CANARY)
    table = native.table([*given, *results], work, [*native.main.inputs, *native.main.outputs])
    native.loop(table, groups)
    assert (work[-16:] == CANARY).all(), "the work array is too small"
    return [r.transpose(0, 2, 1).reshape(groups * lanes, -1)[:batch] for r in results]


def assert_native_equals_interpreter(
    function: ca.Function, arguments: Sequence[Array], *, lanes: Iterable[int] = (1, 4), optimise: bool = False
) -> None:
    expected = interpret(function, arguments)
    for several in lanes:
        found = evaluate(compile_native(function, lanes=several, optimise=optimise), arguments)
        for i, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            assert_same_bits(ours, theirs, f"{function.name()} in {several} lanes, result {i}")


def random_rows(function: ca.Function, batch: int, seed: int = 0) -> list[Array]:
    """Arguments of order one, negative ones among them, with zeros of both signs here and there."""
    random = np.random.default_rng(seed)
    rows = [random.normal(size=(batch, function.nnz_in(i))) for i in range(function.n_in())]
    for array in rows:
        array[random.random(array.shape) < 0.05] = 0.0
        array[random.random(array.shape) < 0.05] = -0.0
    return rows


def work(size: int, number: int = 0) -> ca.Function:
    """A function of about `size` operations."""
    x = ca.SX.sym("x", 3)
    values = [*ca.vertsplit(x), ca.SX(0.1 + number)]
    for k in range(size // 2):
        values.append(ca.sin(values[-1]) * values[k] if k % 5 == 0 else values[-1] * values[k // 2] + values[-3])
    return ca.Function("work", [x], [values[-1], values[len(values) // 2]])


def native_kernel(size: int, number: int = 0) -> Kernel:
    kernel = Kernel(work(size, number))
    kernel.expect(10**6)
    assert kernel.code is not None
    return kernel
