"""Native code and the process: memory, forks, processes, threads and interrupts."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.expressions import Kernel
from dalembert.expressions.machine_code import native
from dalembert.expressions.machine_code.native import compile_native
from tests.helpers.native_code import (
    assert_native_equals_interpreter,
    assert_same_bits,
    native_kernel,
    random_rows,
    work,
)

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
PAGE = 4096


def resident() -> int:
    """Memory of this process in bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


# -- memory ------------------------------------------------------------------------------------------------------------
@LINUX
@pytest.mark.slow
def test_live_code_takes_less_than_a_kilobyte_per_operation() -> None:
    function = work(20_000)
    compile_native(work(2000))  # what LLVM needs itself
    before = resident()
    code = compile_native(function)
    assert code.size > 15_000
    assert resident() - before < 1000 * code.size


def growth(make: Callable[[int], object], count: int) -> int:
    """Bytes by which the second half of `count` things, made and dropped, grows the process."""
    for k in range(count // 2):
        make(k)
    before = resident()
    for k in range(count // 2):
        make(count + k)
    return resident() - before


@LINUX
@pytest.mark.parametrize("count", [300, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_code_is_freed_with_its_kernel(count: int) -> None:
    """A kernel that stayed would keep at least a page of code, one of its constants and one of its frames."""
    assert growth(partial(native_kernel, 20), count) < 2 * PAGE * (count // 2)


@LINUX
@pytest.mark.slow
def test_machines_built_and_dropped_leave_nothing_behind() -> None:
    """A machine that stayed would keep about 100 kB of expressions: 500 of them 50 MB."""

    def pendulum(k: int) -> None:
        m = da.Mechanism("pendulum", planar=True)
        rod = m.add_body("rod", mass=1.0 + k, inertia=da.rod(1.0))
        m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
        eqs = da.equations(m)
        kernel = eqs.kernel("forces")
        kernel.expect(10**6)
        assert kernel.code is not None

    assert growth(pendulum, 1000) < 10_000_000


# -- processes ---------------------------------------------------------------------------------------------------------
FORK = """
import os, sys, threading, time
from tests.helpers.native_code import native_kernel, work
from dalembert.expressions.machine_code.native import compile_native

native_kernel(20)
stop = False
functions = [work(1500, k) for k in range(4)]  # building expressions is CasADi's business, and not safe under a fork
def compile_all_the_time():
    k = 0
    while not stop:
        compile_native(functions[k % 4]); k += 1
threads = [threading.Thread(target=compile_all_the_time) for _ in range(2)]
[t.start() for t in threads]
codes = []
for k in range(6):
    time.sleep(0.013 * k)
    child = os.fork()
    if child == 0:
        kernel = native_kernel(300, k)
        os._exit(0 if len(kernel.many([[1.0, 2.0, 3.0]] * 5)[0]) == 5 else 1)
    codes.append(os.waitpid(child, 0)[1])
stop = True
[t.join() for t in threads]
print(codes)
"""


def python(text: str, timeout: float = 120) -> str:
    """What a process of its own prints; a time limit ends it."""
    root = str(Path(__file__).parents[4])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=timeout, cwd=root,
        env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@FORKS
def test_a_child_forked_while_another_thread_compiles_compiles_too() -> None:
    assert python(FORK) == str([0] * 6)


def evaluate_here(kernel: Kernel) -> np.ndarray:
    kernel.expect(10**6)
    assert kernel.code is not None
    return kernel([1.0, 2.0, 3.0])[0]


def test_a_native_kernel_goes_to_a_process_of_its_own() -> None:
    kernel = native_kernel(100)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(evaluate_here, kernel).result(timeout=120)
    assert_same_bits(there, kernel([1.0, 2.0, 3.0])[0])


# -- threads -----------------------------------------------------------------------------------------------------------
def test_threads_compile_and_call_kernels_of_their_own_at_once() -> None:
    together = threading.Barrier(4)

    def one(number: int) -> None:
        together.wait(timeout=60)
        for k in range(5):
            function = work(60, 10 * number + k)
            kernel = Kernel(function)
            kernel.expect(10**6)
            rows = random_rows(function, 20, number)[0]
            expected = Kernel(function)
            for row in rows:
                for ours, theirs in zip(kernel(row), expected(row), strict=True):
                    assert_same_bits(ours, theirs)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(one, k) for k in range(4)]:
            done.result(timeout=120)


def test_one_code_runs_in_several_threads_at_once() -> None:
    """Every loop has a work array of its own, and needs no interpreter lock."""
    kernel = native_kernel(400)
    rows = np.random.default_rng(0).normal(size=(8, 500, 3))
    expected = [kernel.many(part) for part in rows]
    with ThreadPoolExecutor(4) as pool:
        for found, theirs in zip(pool.map(kernel.many, rows), expected, strict=True):
            for one, other in zip(found, theirs, strict=True):
                assert_same_bits(one, other)


# -- interrupts --------------------------------------------------------------------------------------------------------
INTERRUPT = """
import os, signal, threading, time
from tests.helpers.native_code import native_kernel, work
from dalembert.expressions import Kernel

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process inherits that it is ignored
native_kernel(20)
interrupted = 0
for k in range(5):
    kernel = Kernel(work(4000, k))
    before = [v.tobytes() for v in kernel([1.0, 2.0, 3.0])]
    timer = threading.Timer(0.012 * (k + 1), os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()  # the signal may come at once
        kernel.expect(10**6)
        timer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        interrupted += 1
    assert [v.tobytes() for v in kernel([1.0, 2.0, 3.0])] == before
    kernel.expect(10**6)
    assert kernel.code is not None
    assert [v.tobytes() for v in kernel([1.0, 2.0, 3.0])] == before
print(interrupted)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_an_interrupt_while_compiling_leaves_a_usable_kernel() -> None:
    assert python(INTERRUPT) == "5"


def test_large_code_has_the_bits_of_the_interpreter() -> None:
    function = work(5000)
    assert_native_equals_interpreter(function, random_rows(function, 8))


def test_addresses_are_those_that_arrays_report() -> None:
    whole = np.zeros((6, 4))
    fixed = whole.view()
    fixed.flags.writeable = False
    for array in (whole, whole[2:, 1:], whole.T, whole[:0], fixed, np.zeros(3, dtype=np.int64)):
        assert native.address_of(array) == array.__array_interface__["data"][0]
