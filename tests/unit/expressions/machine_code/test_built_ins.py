"""A kernel with native code evaluates on the memory of vectors, and takes anything else as before."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from typing import Any

import casadi as ca
import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.expressions import Kernel
from dalembert.expressions.machine_code import native

N = 5
DIRECT = pytest.mark.skipif(sys.implementation.name != "cpython", reason="built-in functions of CPython")


def kernel(*, ready: bool = True) -> Kernel:
    x, y, none, t = ca.SX.sym("x", N), ca.SX.sym("y", N), ca.SX.sym("p", 0), ca.SX.sym("t")
    made = Kernel(ca.Function("f", [x, y, none, t], [x * y + t, ca.dot(x, y), ca.SX(0, 1)]))
    if ready:
        made.expect(10**9)
        assert made.code is not None
    return made


def arguments(seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=N), rng.normal(size=N), np.zeros(0), 0.5]


def expected(x: Any, y: Any, p: Any, t: Any) -> list[Any]:
    x, y = np.asarray(x, dtype=float).ravel(), np.asarray(y, dtype=float).ravel()
    return [x * y + float(np.asarray(t).ravel()[0]), [x @ y], []]


def check(found: list[Any], wanted: list[Any]) -> None:
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-15)  # a dot product in another order


@DIRECT
def test_a_native_kernel_is_called_as_a_built_in_function() -> None:
    made, cold = kernel(), kernel(ready=False)
    assert type(made.raw).__name__ == "builtin_function_or_method"
    assert type(cold.raw).__name__ == "method"
    for seed in range(3):
        check(made.raw(*arguments(seed)), expected(*arguments(seed)))
        check(cold.raw(*arguments(seed)), expected(*arguments(seed)))


OTHERS: dict[str, Any] = {
    "list": lambda x: list(x),
    "whole numbers": lambda x: np.round(3 * x).astype(int),
    "single precision": lambda x: x.astype(np.float32),
    "other byte order": lambda x: x.astype(">f8"),
    "every second entry": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1],
    "subclass": lambda x: x.view(type("Own", (np.ndarray,), {})),
    "read only": lambda x: np.frombuffer(x.tobytes()),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_arguments_of_other_kinds_are_copied(kind: str) -> None:
    x, y, p, t = arguments()
    other = OTHERS[kind](x)
    check(kernel().raw(other, y, p, t), expected(other, y, p, t))


@pytest.mark.parametrize("t", [0.5, 2, np.float64(0.5), np.array(0.5), np.array([0.5]), [0.5]])
def test_a_number_is_a_float_or_anything_with_one_entry(t: Any) -> None:
    x, y, p, _ = arguments()
    check(kernel().raw(x, y, p, t), expected(x, y, p, t))


def test_results_of_the_call_before_may_be_arguments() -> None:
    made = kernel()
    x, y, p, t = arguments()
    for _ in range(3):
        wanted = expected(x, y, p, t)[0].copy()
        x = made.raw(x, y, p, t)[0]
        np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("given", [[], arguments()[:3], [*arguments(), 1.0], [np.zeros(N - 1), *arguments()[1:]],
                                   [np.zeros((1, N)).T, *arguments()[1:]], ["text", *arguments()[1:]]])  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(given: list[Any]) -> None:
    with pytest.raises(DataError) as caught:
        kernel().raw(*given)
    assert caught.value.finding.code == "wrong-shape"


@DIRECT
def test_calls_leave_no_references_behind() -> None:
    made, given = kernel(), arguments()
    before = [sys.getrefcount(x) for x in (made._outputs, *given)]
    for _ in range(1000):
        made.raw(*given)
    assert [sys.getrefcount(x) for x in (made._outputs, *given)] == before
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None


def test_a_kernel_that_was_stored_is_called_directly_again() -> None:
    made = pickle.loads(pickle.dumps(kernel()))  # noqa: S301
    check(made.raw(*arguments()), expected(*arguments()))
    made.expect(10**9)
    check(made.raw(*arguments()), expected(*arguments()))


def test_without_knowledge_of_arrays_arguments_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_knows_arrays", lambda: False)
    made = kernel()
    assert type(made.raw).__name__ == "method"
    check(made.raw(*arguments()), expected(*arguments()))
