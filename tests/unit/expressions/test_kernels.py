"""Kernels give the same bits interpreted, native, in loops, in batches and in lanes."""

from __future__ import annotations

import itertools
import math
import os
import pickle
import subprocess
import sys
from typing import Any

import casadi as ca
import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.expressions import Kernel, kernels, work
from dalembert.expressions.machine_code.native import compile_native
from tests.helpers.engines import use_engine
from tests.helpers.findings import raises
from tests.helpers.native_code import assert_same_bits


def example() -> ca.Function:
    """(x[3], y[2], empty, s) -> dense vector, dense matrix, sparse matrix, sparse vector, scalar, nothing."""
    x, y, s = ca.SX.sym("x", 3), ca.SX.sym("y", 2), ca.SX.sym("s")
    sparse = ca.diagcat(x[0] * s, y @ y.T, ca.sin(x[2]))
    holes = ca.SX(5, 1)
    holes[1], holes[4] = x[0] + s, y[1]
    outputs = [x * s + 1, x @ y.T, sparse, holes, ca.dot(x, x), ca.SX.zeros(0, 1)]
    return ca.Function("example", [x, y, ca.SX.sym("none", 0), s], outputs)


def step() -> ca.Function:
    """(x[2], u, p) -> the next x, an output of two, an energy."""
    x, u, p = ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX.sym("p", 2)
    after = x + 0.01 * ca.vertcat(x[1], -p[0] * ca.sin(x[0]) + u)
    return ca.Function("step", [x, u, p], [after, ca.vertcat(x[0] * p[1], u), ca.dot(x, x) / 2])


def arguments(rng: np.random.Generator) -> list[Any]:
    return [rng.normal(size=3), rng.normal(size=2), np.zeros(0), rng.normal()]


def dense(function: ca.Function, args: list[Any]) -> list[np.ndarray]:
    results = [np.array(ca.DM(r)) for r in function(*args)]
    return [r[:, 0] if r.shape[1] == 1 else r for r in results]


MANY = 10**6  # evaluations that pay for the best code of the small functions here


def made_native(function: ca.Function, evaluations: int = MANY) -> Kernel:
    kernel = Kernel(function)
    kernel.expect(evaluations)
    assert kernel.code is not None
    return kernel


# -- one evaluation ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("evaluations", [0, MANY])
def test_a_kernel_gives_what_casadi_gives(evaluations: int) -> None:
    function = example()
    kernel = made_native(function, evaluations) if evaluations else Kernel(function)
    rng = np.random.default_rng(1)
    for _ in range(5):
        args = arguments(rng)
        for ours, theirs in zip(kernel(*args), dense(function, args), strict=True):
            assert_same_bits(ours, theirs)


def test_a_kernel_becomes_native_after_many_evaluations_with_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    due = kernels.FIRST_LOOK + 5
    monkeypatch.setattr(work, "pay_off", lambda counted, costs: work.Due(due, due, due))
    kernel, args = Kernel(example()), arguments(np.random.default_rng(2))
    results = []
    for k in range(due + 5):
        assert (kernel.code is None) == (k < due)
        results.append(kernel(*args))
    for result in results:
        for one, first in zip(result, results[0], strict=True):
            assert_same_bits(one, first)


def test_an_announcement_makes_code_only_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "SMALL", 0)  # with fast code first
    kernel = Kernel(example())
    due = work.pay_off(work.count_work(kernel.function), work.COSTS)
    kernel.expect(math.ceil(due.native) - 1)
    assert kernel.code is None
    kernel.expect(math.ceil(due.native))
    code = kernel.code
    assert code is not None
    kernel.expect(math.ceil(due.native))
    assert kernel.code is code
    before = kernel(*arguments(np.random.default_rng(7)))
    kernel.expect(math.ceil(due.best))
    better = kernel.code
    assert better is not None and better is not code
    kernel.expect(10**9)
    assert kernel.code is better
    for ours, theirs in zip(kernel(*arguments(np.random.default_rng(7))), before, strict=True):
        assert_same_bits(ours, theirs)


@pytest.mark.parametrize("native", [False, True])
def test_results_of_a_call_survive_the_next_call(native: bool) -> None:
    kernel = made_native(example()) if native else Kernel(example())
    rng = np.random.default_rng(2)
    first_args = arguments(rng)
    first = kernel(*first_args)
    kernel(*arguments(rng))
    for kept, again in zip(first, kernel(*first_args), strict=True):
        assert_same_bits(kept, again)


def test_one_output_comes_as_a_sparse_matrix() -> None:
    kernel = Kernel(example())
    args = arguments(np.random.default_rng(5))
    matrix = kernel.sparse(2, *args)
    assert matrix.shape == (4, 4)
    assert matrix.nnz == 6
    np.testing.assert_array_equal(matrix.toarray(), kernel(*args)[2])


@pytest.mark.parametrize("native", [False, True])
def test_a_kernel_survives_pickling(native: bool) -> None:
    kernel = made_native(example()) if native else Kernel(example())
    args = arguments(np.random.default_rng(6))
    copy = pickle.loads(pickle.dumps(kernel))  # noqa: S301 (our own bytes)
    assert copy.code is None
    for ours, theirs in zip(copy(*args), kernel(*args), strict=True):
        assert_same_bits(ours, theirs)


def test_the_call_of_native_code_outlives_its_kernel() -> None:
    kernel = made_native(step())
    outputs, run = kernel.raw([1.0, 2.0], 0.0, [1.0, 1.0]), kernel._run
    expected = [values.copy() for values in outputs]
    del kernel
    for values in outputs:
        values[:] = 0.0
    run()
    for ours, theirs in zip(outputs, expected, strict=True):
        assert_same_bits(ours, theirs)


# -- loops -------------------------------------------------------------------------------------------------------------
def looped(count: int, state: Any, u: Any, p: Any) -> np.ndarray:
    """The rows of `run`, by calls."""
    kernel, rows = Kernel(step()), []
    u, p = np.asarray(u, dtype=float), np.asarray(p, dtype=float)
    for k in range(count):
        results = kernel(state, u[k] if u.ndim == 2 else u, p[k] if p.ndim == 2 else p)
        state = results[0]
        rows.append(np.concatenate(results))
    return np.array(rows).reshape(count, 5)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
@pytest.mark.parametrize("moving", ["none", "inputs", "all"])
def test_a_run_equals_a_loop_of_calls(native: bool, count: int, moving: str) -> None:
    rng = np.random.default_rng(count)
    u = 0.3 if moving == "none" else rng.normal(size=(count, 1))
    p = rng.normal(size=(count, 2)) if moving == "all" else [9.81, 0.5]
    kernel = made_native(step()) if native else Kernel(step())
    found = kernel.run(count, [0.1, -0.2], u, p)
    assert (kernel.code is not None) == native
    assert_same_bits(found, looped(count, [0.1, -0.2], u, p))


@pytest.mark.parametrize("count", [0, 1, 30])
def test_a_run_of_several_machines_equals_their_runs(count: int) -> None:
    states, p = np.random.default_rng(1).normal(size=(4, 2)), np.random.default_rng(2).normal(size=(4, 2))
    native = compile_native(step(), lanes=4)
    found = kernels.run_together(native, count, states, np.array([0.3]), p)
    assert found.shape == (count, 5, 4)
    for k in range(4):
        assert_same_bits(found[:, :, k], looped(count, states[k], 0.3, p[k]))


def test_every_evaluation_of_several_machines_may_have_its_own_argument() -> None:
    rng = np.random.default_rng(5)
    states, u = rng.normal(size=(4, 2)), rng.normal(size=(4, 12, 1))
    found = kernels.run_together(compile_native(step(), lanes=4), 12, states, u, np.array([9.81, 0.5]))
    for k in range(4):
        assert_same_bits(found[:, :, k], looped(12, states[k], u[k], [9.81, 0.5]))


def test_a_long_run_is_native_from_its_first_step() -> None:
    kernel = Kernel(step())
    kernel.run(MANY, [0.1, -0.2], 0.0, [9.81, 0.5])
    assert kernel.code is not None


# -- batches -----------------------------------------------------------------------------------------------------------
def batch_kernel(kind: str, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    use_engine(monkeypatch, kind.removesuffix(" in threads"))
    if kind.endswith("threads"):
        monkeypatch.setattr(kernels, "THREAD_WORK", 1)
        monkeypatch.setattr(kernels, "cores", lambda: 3)
    return Kernel(example())


@pytest.mark.parametrize("kind", ["interpreter", "native", "lanes", "native in threads", "lanes in threads"])
@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 1000])
def test_a_batch_equals_a_loop(kind: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = batch_kernel(kind, monkeypatch)
    rng = np.random.default_rng(3)
    x, y, s = rng.normal(size=(size, 3)), rng.normal(size=(size, 2)), rng.normal(size=(size, 1))
    batch = kernel.many(x, y, np.zeros((size, 0)), s)
    if size:
        assert (kernel._lanes is not None) == kind.startswith("lanes")
        assert (kernel.code is not None) == kind.startswith("native")
    one = Kernel(example())
    shapes = [r.shape for r in one(np.zeros(3), np.zeros(2), [], 0.0)]
    assert [b.shape for b in batch] == [(size, *shape) for shape in shapes]
    for k in range(size):
        for ours, theirs in zip(batch, one(x[k], y[k], [], s[k]), strict=True):
            assert_same_bits(ours[k], theirs)


@pytest.mark.parametrize("kind", ["interpreter", "native", "lanes", "lanes in threads"])
def test_a_batch_takes_one_argument_for_all(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = batch_kernel(kind, monkeypatch)
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(7, 3)), rng.normal(size=2)
    whole = kernel.many(x, np.tile(y, (7, 1)), [], np.full((7, 1), 0.5))
    for given in ((x, y, [], 0.5), (x, y[None], np.zeros((1, 0)), [0.5]), (x, y, np.zeros((7, 0)), [[0.5]])):
        for ours, theirs in zip(kernel.many(*given), whole, strict=True):
            assert_same_bits(ours, theirs)


def test_arguments_need_not_be_contiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(3, 22)).T[::2], np.asfortranarray(rng.normal(size=(11, 2)))
    expected = Kernel(example()).many(x.copy(), y.copy(), [], 0.5)
    for kind in ("native", "lanes", "lanes in threads"):
        with monkeypatch.context() as patch:
            for ours, theirs in zip(batch_kernel(kind, patch).many(x, y, [], 0.5), expected, strict=True):
                assert_same_bits(ours, theirs)


def test_batches_inside_tasks_of_all_threads_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = batch_kernel("lanes in threads", monkeypatch)
    x = np.random.default_rng(5).normal(size=(1000, 3))
    tasks = kernels.spread_over_cores(lambda _: kernel.many(x, np.ones(2), [], 1.0)[0], 8)
    for found in tasks:
        np.testing.assert_array_equal(found, x + 1)


def test_a_batch_of_half_the_lanes_is_not_worth_them() -> None:
    kernel = Kernel(example())
    kernel.expect(10**7)
    lanes = kernel.together()
    assert lanes is not None and kernel.code is not None
    half = lanes.lanes // 2
    for size, alone in ((1, True), (half, True), (half + 1, False), (9, False)):
        before = kernel.evaluations
        kernel.many(np.ones((size, 3)), np.ones(2), [], 1.0)
        assert (kernel.evaluations > before) == alone


def test_batches_of_many_sizes_do_not_disturb_each_other() -> None:
    kernel = Kernel(example())
    for size in (*range(1, 12), 3, 1):
        x = np.random.default_rng(size).normal(size=(size, 3))
        np.testing.assert_allclose(kernel.many(x, np.ones(2), [], 1.0)[0], x + 1)


def test_a_function_that_stays_interpreted_does_not_keep_others_of_its_name_from_lanes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_engine(monkeypatch, "lanes")
    x = ca.MX.sym("x", 2)
    solve = Kernel(ca.Function("same", [x], [ca.solve(ca.DM([[2.0, 1.0], [0.0, 3.0]]) + ca.diag(x), x)]))
    other = Kernel(ca.Function("same", [x], [x * 2]))
    rows = np.ones((5, 2))
    solve.many(rows)
    assert solve._lanes is None and solve.code is None
    np.testing.assert_array_equal(other.many(rows)[0], 2 * rows)
    assert other._lanes is not None


# -- wrong shapes ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    "given", [(), ([1.0, 2.0],), ([1.0, 2.0, 3.0], 0.0, [1.0, 1.0]), ([1.0, 2.0], [1.0, 2.0], [1.0, 1.0]),
              ([1.0, 2.0], 0.0, "ab"), ([1.0, 2.0], 0.0, [1.0, 1.0], 0.0), ([1.0, 2.0], None, [1.0, [1.0]])]
)  # fmt: skip
def test_arguments_of_wrong_shape_are_refused(native: bool, given: tuple[Any, ...]) -> None:
    kernel = made_native(step()) if native else Kernel(step())
    for call in (kernel, kernel.raw, kernel.many, lambda *a: kernel.run(3, *(a or [[1.0]]))):
        with raises(DataError, "wrong-shape", "step"):
            call(*given)
    kernel([1.0, 2.0], 0.0, [1.0, 1.0])


# -- what a process needs ----------------------------------------------------------------------------------------------
SMALL = """
import sys
{before}
import casadi as ca, numpy as np
import dalembert as da
from dalembert.expressions import Kernel
x = ca.SX.sym("x", 2)
kernel = Kernel(ca.Function("small", [x], [ca.sin(x) * x[0]]))
"""


def python(text: str, *, before: str = "", **environment: str) -> list[str]:
    """Lines that a process of its own prints."""
    ended = subprocess.run(
        [sys.executable, "-c", SMALL.format(before=before) + text],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_llvm_is_imported_when_the_first_kernel_becomes_native() -> None:
    text = """
kernel([1.0, 2.0]); kernel.many(np.ones((5, 2))); kernel.run(3, [1.0, 2.0])
print("llvmlite" in sys.modules)
kernel.expect(10**6)
print("llvmlite" in sys.modules)
"""
    assert python(text) == ["False", "True"]


def test_without_llvm_everything_is_interpreted_and_the_doctor_gives_one_line_of_advice() -> None:
    text = """
before = kernel([1.0, 2.0])[0]
kernel.expect(10**6)
print(kernel.code, (kernel([1.0, 2.0])[0] == before).all())
print((kernel.many(np.ones((30000, 2)))[0] == kernel([1.0, 1.0])[0]).all(), kernel.run(4000, [1.0, 2.0]).shape)
print(*da.doctor().splitlines()[1:], sep="\\n")
"""
    first, second, *advice = python(text, before="sys.modules['llvmlite'] = None")
    assert first == "None True" and second == "True (4000, 2)"
    assert len(advice) == 1 and "install llvmlite" in advice[0], advice


def test_native_code_needs_no_compiler() -> None:
    text = """
import shutil
print([shutil.which(name) for name in ("cc", "gcc", "clang", "ld")])
kernel.expect(10**6)
print(kernel.code is not None, np.array_equal(kernel([1.0, 2.0])[0], np.array(kernel.function([1.0, 2.0])).ravel()))
"""
    assert python(text, PATH="") == ["[None, None, None, None]", "True True"]


# -- loops that go on ------------------------------------------------------------------------------------------------
def test_a_loop_of_several_machines_goes_on_where_it_stopped() -> None:
    states, p = np.random.default_rng(1).normal(size=(4, 2)), np.array([9.81, 0.5])
    loop = kernels.LaneLoop(compile_native(step(), lanes=4), 10, states, np.array([0.3]), p)
    blocks = [loop.run(count).copy() for count in (10, 3, 1, 10)]
    for before, after in itertools.pairwise(blocks):
        assert_same_bits(after[0], before[-1])
    found = np.concatenate([block[1:] for block in blocks])
    for k in range(4):
        assert_same_bits(found[:, :, k], looped(24, states[k], 0.3, p))


@pytest.mark.parametrize("native", [False, True])
def test_a_run_fills_the_rows_it_is_given(native: bool) -> None:
    kernel = made_native(step()) if native else Kernel(step())
    rows = np.full((31, 5), np.nan)
    for first in (0, 10, 20):
        state = [0.1, -0.2] if first == 0 else rows[first, :2]
        found = kernel.run(10, state, 0.3, [9.81, 0.5], rows=rows[first : first + 11])
        assert np.shares_memory(found, rows)
    assert_same_bits(rows[1:], looped(30, [0.1, -0.2], 0.3, [9.81, 0.5]))
