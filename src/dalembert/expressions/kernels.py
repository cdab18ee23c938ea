"""Functions on arrays: the interpreter first, machine code once it saves time.

A `Kernel` starts on CasADi's interpreter and becomes native once the operations evaluated there have taken as much time
as making its code (`work`), or at once where a loop announces as many. Both give the same bits. Batches become code in
lanes, several machines in the parts of a vector, distributed over the cores.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any, TypeAlias, TypeVar

import casadi as ca
import numpy as np

from dalembert.core.arrays import FloatArray as Array
from dalembert.core.errors import DataError
from dalembert.expressions import work
from dalembert.expressions.machine_code.native import Native, compile_native, llvm, machines_at_once
from dalembert.expressions.machine_code.program import Untranslatable

Result = TypeVar("Result")
Expr: TypeAlias = "ca.SX | ca.MX | ca.DM"  # a scalar, column or matrix of symbols or numbers

FIRST_LOOK = 32  # evaluations before the operations of a kernel are counted: code does not save time earlier
BLOCK = 16  # evaluations of a batch that the interpreter makes in one call
FLAT_LIMIT = 25_000  # instructions; a larger flat expression takes seconds to build and to differentiate
THREAD_WORK = 2_000_000  # fewest operations for a second thread: about a millisecond
HEAD_START = 125_000  # operations of a lane while another thread wakes up, and this one after it: about 70 µs

interpreted: dict[str, str] = {}  # functions of this process that stay on the interpreter, and why


class Kernel:
    """A function of arrays.

    function : casadi.Function with dense vector inputs.
    matrices : outputs that are matrices also where they have one column; others with one column are vectors.
    """

    def __init__(self, function: ca.Function, matrices: Collection[int] = ()) -> None:
        self.function, self._matrices = function, tuple(matrices)
        self._inputs = [np.zeros(function.nnz_in(i)) for i in range(function.n_in())]
        sizes = [function.nnz_out(i) for i in range(function.n_out())]
        self._starts = [0, *accumulate(sizes)]  # of the results in a row of `run`
        results = np.zeros(self._starts[-1])
        self._outputs = [results[a:b] for a, b in pairwise(self._starts)]
        self._scatter = []
        for i in range(function.n_out()):
            sparsity = function.sparsity_out(i)
            positions = None if sparsity.is_dense() else np.asarray(sparsity.find(), dtype=np.intp)
            flat = sparsity.shape[1] == 1 and i not in self._matrices
            self._scatter.append((sparsity.shape, positions, flat))
        self._buffer, self._run = function.buffer()
        for i, array in enumerate(self._inputs):
            self._buffer.set_arg(i, memoryview(array.data))
        for i, array in enumerate(self._outputs):
            self._buffer.set_res(i, memoryview(array.data))
        self.evaluations = 0
        self.in_batches = 0
        self.code: Native | None = None
        self.pace = 0.0  # seconds of an evaluation in the last loop
        self.obstacle = ""  # why it stays on the interpreter
        self._lanes: Native | None = None
        self._mapped: Kernel | None = None  # blocks of a batch, on the interpreter
        self._buffers = threading.Lock()  # of loops and batches on the interpreter
        self._settled = False  # native, or known to stay interpreted
        self._optimised = False
        self._look: float = FIRST_LOOK  # evaluations at which the engine is chosen again
        self.width = self._starts[-1]
        # Nonzeros of every output, as views that the next call overwrites. Native code reads vectors without a copy.
        self.raw: Callable[..., list[Array]] = self._copy_and_run

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "matrices": self._matrices}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    # -- engines -----------------------------------------------------------------------------------------------------
    def expect(self, evaluations: int) -> None:
        """Announce future evaluations: code that saves time over this number is made now."""
        total = self.evaluations + evaluations
        if total < FIRST_LOOK:
            return
        due = self._due
        if total >= due.native and not self._settled:
            self._settle(optimise=total >= due.best)
        elif total >= due.best and self.code is not None and not self._optimised:
            self._settle(optimise=True)

    @cached_property
    def _due(self) -> work.Due:
        return work.pay_off(work.count_work(self.function), work.COSTS)

    def _settle(self, *, optimise: bool) -> None:
        native = self._compile(1, optimise=optimise)
        if native is not None:  # an interrupt between two of these lines leaves a kernel that works
            work = native.work()
            self._run = native.trigger([*self._inputs, *self._outputs], work)
            self.raw = native.direct(self._outputs, work, self._copy_and_run)
            self.code = native
        self._settled, self._optimised = True, optimise

    def _compile(self, lanes: int, *, optimise: bool) -> Native | None:
        try:
            return compile_native(self.function, lanes=lanes, optimise=optimise)
        except Untranslatable as reason:
            self.obstacle = str(reason)
            if llvm() is not None:  # without LLVM all are, which is one line of advice
                interpreted[self.function.name()] = self.obstacle
            self._settled = True
            return None

    # -- one evaluation ----------------------------------------------------------------------------------------------
    def _copy_and_run(self, *arguments: Any) -> list[Array]:
        """Evaluate with copied arguments: of any kind, also results of the previous call."""
        try:
            for slot, value in zip(self._inputs, arguments, strict=True):
                if slot.size:
                    slot[:] = value
        except (TypeError, ValueError) as error:
            raise DataError("wrong-shape", self._misfit(arguments)) from error
        self._run()
        self.evaluations += 1
        if self.evaluations >= self._look:
            self._look_again()
        return self._outputs

    def _look_again(self) -> None:
        """Make code if the calls so far took as long as making it; else find the number of calls for it."""
        if not self._settled and self.evaluations >= self._due.native:
            self._settle(optimise=self.evaluations >= self._due.best)
        self._look = math.inf if self._settled else self._due.native

    def _misfit(self, arguments: Sequence[Any]) -> str:
        f = self.function
        wanted = ", ".join(f"{f.name_in(i)}[{f.size1_in(i) * f.size2_in(i)}]" for i in range(f.n_in()))
        given = ", ".join(_size_text(a) for a in arguments)
        return f"function {f.name()!r} takes the numbers {wanted}; got arguments of size {given or 'none'}."

    def __call__(self, *arguments: Any) -> list[Array]:
        """Dense outputs: vectors as (n,), matrices as (rows, columns)."""
        results = []
        for values, (shape, positions, flat) in zip(self.raw(*arguments), self._scatter, strict=True):
            if positions is None:
                full = values.copy()
            else:
                full = np.zeros(shape[0] * shape[1])
                full[positions] = values
            results.append(full if flat else full.reshape(shape, order="F"))
        return results

    def sparse(self, index: int, *arguments: Any) -> Any:
        """One output as a scipy.sparse matrix."""
        from scipy.sparse import csc_matrix

        sparsity = self.function.sparsity_out(index)
        values = self.raw(*arguments)[index].copy()
        return csc_matrix((values, sparsity.row(), sparsity.colind()), shape=sparsity.shape)

    # -- loops -------------------------------------------------------------------------------------------------------
    def run(self, count: int, state: Any, *arguments: Any, rows: Array | None = None) -> Array:
        """Evaluate `count` times, each with the first result of the previous one as first argument.

        Every other argument is (n,) for all or (count, n), a row per evaluation. Returns (count, width): all results
        of an evaluation in a row, one after the other.

        rows : (count + 1, width) where the results go, after a row whose state is replaced; None for memory of its own.
        """
        try:
            arrays, strides = self._rows(count, arguments)
            if rows is None:
                rows = np.empty((count + 1, max(self.width, self._inputs[0].size)))
            rows[0, : self._inputs[0].size] = np.asarray(state, dtype=float).reshape(-1)
        except (TypeError, ValueError) as error:
            raise DataError("wrong-shape", self._misfit((state, *arguments))) from error
        self.expect(count)
        self.evaluations += count
        if count == 0:
            return rows[1:]
        began = time.perf_counter()
        if self.code is None:
            with self._buffers:
                self._repeat(rows, arrays, strides, count)
        else:
            self._loop(self.code, rows[0], arrays, strides, rows[1:], count)
        self.pace = (time.perf_counter() - began) / count
        return rows[1:]

    def _rows(self, count: int, arguments: Sequence[Any]) -> tuple[list[Array], list[int]]:
        """Arguments but the first, contiguous, and their strides from one evaluation to the next."""
        arrays, strides = [], []
        for slot, given in zip(self._inputs[1:], arguments, strict=True):
            array = np.ascontiguousarray(given, dtype=float)
            if array.ndim == 2 and count != 1:
                if array.shape != (count, slot.size):
                    raise ValueError
                strides.append(slot.size)
            else:
                if array.size != slot.size:
                    array = np.ascontiguousarray(np.broadcast_to(array, (slot.size,)))
                strides.append(0)
            arrays.append(array)
        return arrays, strides

    def _repeat(self, rows: Array, arrays: list[Array], strides: list[int], count: int) -> None:
        """The loop on the interpreter."""
        size = self._inputs[0].size
        moving = [(slot, a) for slot, a, s in zip(self._inputs[1:], arrays, strides, strict=True) if s]
        for slot, array, stride in zip(self._inputs[1:], arrays, strides, strict=True):
            if not stride:
                slot[:] = array.reshape(-1)
        parts = list(zip(self._starts[:-1], self._starts[1:], self._outputs, strict=True))
        run, first = self._run, self._inputs[0]
        for k in range(count):
            first[:] = rows[k, :size]
            for slot, array in moving:
                slot[:] = array[k]
            run()
            row = rows[k + 1]
            for a, b, values in parts:
                row[a:b] = values

    def _loop(
        self, native: Native, state: Array, arrays: list[Array], strides: list[int], rows: Array, count: int
    ) -> None:
        """The loop in native code: the state of an evaluation is the row before its results."""
        width, flat, work = rows.shape[1], rows.reshape(-1), native.work()
        results = [flat[start:] for start in self._starts[:-1]]
        table = native.table([state, *arrays, *results], work, [width, *strides, *[width] * len(results)])
        native.loop(table, count)

    def together_for(self, evaluations: int) -> Native | None:
        """Code for several machines at once where this number of evaluations saves time; None elsewhere."""
        self.in_batches += evaluations
        pays = self.in_batches >= FIRST_LOOK and self.in_batches >= self._due.lanes
        return self.together() if pays else self._lanes

    def together(self) -> Native | None:
        """Code for several machines at once, made at its first use; None where the kernel stays interpreted."""
        if self._lanes is None and not (self._settled and self.code is None):
            self._lanes = self._compile(machines_at_once(), optimise=True)  # the best code saves time
        return self._lanes

    # -- batches -----------------------------------------------------------------------------------------------------
    def many(self, *arguments: Any) -> list[Array]:
        """Evaluate a batch: every argument (batch, n) or (n,) for all alike; outputs (batch, rows[, columns])."""
        try:
            arrays = [np.asarray(a, dtype=float) for a in arguments]
            batch = self._batch(arrays)
        except (TypeError, ValueError) as error:
            raise DataError("wrong-shape", self._misfit(arguments)) from error
        found = [np.empty((batch, a.size)) for a in self._outputs]
        if batch:
            self._fill(found, arrays, batch)
        results = []
        for values, (shape, positions, flat) in zip(found, self._scatter, strict=True):
            full = values
            if positions is not None:
                full = np.zeros((batch, shape[0] * shape[1]))
                full[:, positions] = values
            results.append(full if flat else full.reshape(batch, shape[1], shape[0]).transpose(0, 2, 1))
        return results

    def _batch(self, arrays: Sequence[Array]) -> int:
        """Number of rows of a batch; every two-dimensional argument has it (or one row, for all alike)."""
        batch = max([a.shape[0] for a in arrays if a.ndim == 2 and a.shape[0] != 1], default=1)
        for slot, array in zip(self._inputs, arrays, strict=True):
            shape = array.shape
            fits = not shape or shape[-1] in (1, slot.size)
            if slot.size and not (fits and (len(shape) < 2 or (len(shape) == 2 and shape[0] in (1, batch)))):
                raise ValueError
        return batch

    def _fill(self, results: list[Array], arrays: list[Array], batch: int) -> None:
        """Results of a batch of arguments."""
        native = self.together_for(batch)
        if native is None or batch <= native.lanes // 2:  # a few are faster one by one
            self.expect(batch)
            self.evaluations += batch
            native = self.code or native
        if native is None:
            with self._buffers:
                self._interpret(results, arrays, batch)
            return
        if batch < native.lanes:
            more = [np.empty((native.lanes, result.shape[1])) for result in results]
            _take_rows(native, _fill_up(arrays, batch, native.lanes), more, 0, native.lanes)()
            for result, rows in zip(results, more, strict=True):
                result[:] = rows[:batch]
            return
        threads = min(batch * native.size // THREAD_WORK + 1, batch // native.lanes)
        threads = min(threads, cores()) if threads > 1 else 1
        edges = [0, *_shares(batch, threads, native)]
        first, *rest = [_take_rows(native, arrays, results, *ends) for ends in pairwise(edges)]
        others = [start_task(part) for part in rest]
        first()
        for part, other in zip(rest, others, strict=True):
            if other.cancel():  # no thread was free
                part()
            else:
                other.result()

    def _interpret(self, results: list[Array], arrays: list[Array], batch: int) -> None:
        moving = []
        for slot, array in zip(self._inputs, arrays, strict=True):
            if array.ndim == 2 and len(array) > 1:
                moving.append((slot, array))
            elif slot.size:
                slot[:] = array.reshape(-1)
        done = self._interpret_blocks(results, arrays, batch) if batch >= BLOCK else 0
        for k in range(done, batch):
            for slot, array in moving:
                slot[:] = array[k]
            self._run()
            for result, values in zip(results, self._outputs, strict=True):
                result[k] = values

    def _interpret_blocks(self, results: list[Array], arrays: list[Array], batch: int) -> int:
        """Whole blocks of a batch, each in one call; returns the number of evaluations made."""
        mapped = self._mapped
        if mapped is None:
            mapped = self._mapped = Kernel(self.function.map(BLOCK))
        for slot, array in zip(mapped._inputs, arrays, strict=True):
            if slot.size and not (array.ndim == 2 and len(array) > 1):
                slot.reshape(BLOCK, -1)[:] = array.reshape(-1)
        whole = batch - batch % BLOCK
        for first in range(0, whole, BLOCK):
            for slot, array in zip(mapped._inputs, arrays, strict=True):
                if array.ndim == 2 and len(array) > 1 and slot.size:
                    slot.reshape(BLOCK, -1)[:] = array[first : first + BLOCK]
            mapped._run()
            for result, values in zip(results, mapped._outputs, strict=True):
                result[first : first + BLOCK] = values.reshape(BLOCK, -1)
        return whole


# -- several machines ------------------------------------------------------------------------------------------------
class LaneLoop:
    """A loop of several machines at once, each evaluation with the first result of the one before as first argument.

    most : evaluations in one call.  states : (lanes, n).
    arguments : (n,) for all lanes, (lanes, n), or (lanes, most, n), a row per evaluation of one call.
    """

    def __init__(self, native: Native, most: int, states: Array, *arguments: Array) -> None:
        lanes, width = native.lanes, sum(native.main.outputs)
        self.native, self.last = native, 0
        self.rows = np.empty((most + 1, width, lanes))
        self.rows[0, : states.shape[1]] = states.T
        given, moves = [], []
        for a in (np.asarray(a, dtype=float) for a in arguments):
            moves.append(a.shape[2] if a.ndim == 3 else 0)
            given.append(np.repeat(a.reshape(-1), lanes) if a.ndim < 2 else np.ascontiguousarray(np.moveaxis(a, 0, -1)))
        flat = self.rows[1:].reshape(-1)
        results = [flat[start * lanes :] for start in np.cumsum([0, *native.main.outputs])[:-1].tolist()]
        self._arrays = [self.rows[0], *given, *results], native.work()
        self._table = native.table(*self._arrays, [width, *moves, *[width] * len(results)])

    def run(self, count: int) -> Array:
        """(count + 1, width, lanes) the initial row, then the results; the next call continues, and overwrites them."""
        if self.last:
            self.rows[0] = self.rows[self.last]
        if count:
            self.native.loop(self._table, count)
        self.last = count
        return self.rows[: count + 1]


def run_together(native: Native, count: int, states: Array, *arguments: Array) -> Array:
    """`count` evaluations of every lane, see `LaneLoop`. Returns (count, width, lanes)."""
    return LaneLoop(native, count, states, *arguments).run(count)[1:]


def start_task(task: Callable[[], Result]) -> Future[Result]:
    """task() in a thread of this process."""
    return _pool().submit(task)


def spread_over_cores(task: Callable[[int], Result], count: int) -> list[Result]:
    """task(0), ..., task(count - 1) on the cores of this machine, in threads; results in order."""
    if count == 1 or cores() == 1:
        return [task(k) for k in range(count)]
    return list(_pool().map(task, range(count)))


def _shares(batch: int, threads: int, native: Native) -> list[int]:
    """Ends of the rows of each thread; the calling thread gets more, since it begins at once."""
    lanes, others = native.lanes, threads - 1
    ahead = others * HEAD_START * lanes // native.size
    first = min((batch + ahead) // threads, batch - others * lanes)
    return [first + (batch - first) * k // max(others, 1) for k in range(threads)]


# -- parts of a batch ------------------------------------------------------------------------------------------------
def _take_rows(native: Native, arrays: list[Array], results: list[Array], first: int, last: int) -> Callable[[], None]:
    """A call that evaluates rows first to last of a batch (at least as many as lanes).

    Columns of a larger array are read without a copy.
    """
    given, strides = [], []
    for size, array in zip(native.main.inputs, arrays, strict=True):
        moves = array.ndim == 2 and len(array) > 1
        part = array[first:last] if moves else array.reshape(-1)
        step = part.strides[0] if moves else 0
        if part.shape[-1] != size or (size > 1 and part.strides[-1] != 8) or step % 8:
            part = np.ascontiguousarray(np.broadcast_to(part, (last - first, size) if moves else (size,)))
            step = 8 * size if moves else 0
        given.append(part)
        strides.append(step // 8)
    kept = [*given, *(result[first:last] for result in results)], native.work()
    table = native.table(*kept, [*strides, *native.main.outputs])

    def evaluate(_: Any = kept) -> None:  # the arrays must outlive the call
        native.rows(table, last - first)

    return evaluate


def _fill_up(arrays: list[Array], batch: int, lanes: int) -> list[Array]:
    """Arguments of fewer rows than lanes, with the last row repeated."""
    moving = [array.ndim == 2 and len(array) == batch for array in arrays]
    return [np.pad(x, ((0, lanes - batch), (0, 0)), "edge") if m else x for x, m in zip(arrays, moving, strict=True)]


def _size_text(argument: Any) -> str:
    try:
        return str(np.size(argument))
    except ValueError:
        return "unknown (rows of different lengths)"


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix="dalembert")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
