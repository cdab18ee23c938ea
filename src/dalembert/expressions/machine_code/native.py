"""Machine code of functions, made inside the process by LLVM: no compiler, no files.

`compile_native` turns a CasADi function into a `Native`, whose `loop` evaluates it many times in one call without the
interpreter lock. Compiling takes one lock; a process that forks waits for it, so that no child inherits a lock that is
never released. The code is freed with its `Native`.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.core.arrays import FloatArray as Array
from dalembert.core.arrays import Int64Array
from dalembert.expressions.machine_code.built_ins import ARRAY_FIELDS, direct_text, once_text
from dalembert.expressions.machine_code.llvm_code import LlvmCode
from dalembert.expressions.machine_code.program import Program, Routine, Untranslatable
from dalembert.expressions.machine_code.reader import read

if TYPE_CHECKING:
    from llvmlite import binding  # type: ignore[import-untyped]

_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)

_LOOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)  # releases the interpreter lock


# -- LLVM ------------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=1)
def llvm() -> Any:
    """The LLVM library, or None where it cannot be imported."""
    try:
        from llvmlite import binding
    except (ImportError, OSError):
        return None
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@lru_cache(maxsize=1)
def machines_at_once() -> int:
    """Lanes of a vector: the numbers in a register of AVX-512, or of AVX (two registers of NEON)."""
    return 8 if llvm() is not None and llvm().get_host_cpu_features().get("avx512f") else 4


def compile_native(function: ca.Function, *, lanes: int = 1, optimise: bool = False) -> Native:
    """Machine code of a function; raises `Untranslatable` where a part of it runs on the interpreter only.

    lanes : machines at once.  optimise : code that is 1.04 to 1.5 times faster and takes three times as long to make.
    """
    if llvm() is None:
        raise Untranslatable("the package llvmlite cannot be imported")
    with _lock:  # CasADi also has locks that a child must not inherit
        program = read(function)
        source = LlvmCode(program, lanes).source()
        if lanes == 1 and _makes_built_ins():
            source += once_text() + (direct_text(program.main) if _knows_arrays() else "")
        library, machine = llvm(), _target_machine(optimise)
        module = library.parse_assembly(source)
        data = machine.emit_object(module)
        module.close()
        engine = library.create_mcjit_compiler(library.parse_assembly(""), machine)
        engine.add_object_file(library.ObjectFileRef.from_data(data))
        engine.finalize_object()
        return Native(engine, program, lanes)


def _target_machine(optimise: bool) -> binding.TargetMachine:
    library = llvm()
    return library.Target.from_default_triple().create_target_machine(
        cpu=library.get_host_cpu_name(),
        features=library.get_host_cpu_features().flatten(),
        opt=1 if optimise else 0,
        jit=True,
    )


def _close(engine: binding.ExecutionEngine) -> None:
    with _lock:
        engine.close()


# -- code ------------------------------------------------------------------------------------------------------------
_ADDRESS = ctypes.c_size_t.from_address
_HEAD = object.__basicsize__


def _address_after_head(array: NDArray[Any]) -> int:
    """The first field after the head of an object of CPython is the address in NumPy's binary interface."""
    return _ADDRESS(id(array) + _HEAD).value


def _address_by_name(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _choose_address() -> Callable[[NDArray[Any]], int]:
    if sys.implementation.name != "cpython":
        return _address_by_name
    array = np.zeros(3)[1:]
    return _address_after_head if _address_after_head(array) == _address_by_name(array) else _address_by_name


address_of = _choose_address()  # 0.4 µs instead of 3.6


class Native:
    """Machine code of one function.

    main : its routine.  lanes : machines at once.  size : scalar instructions and statements.
    """

    def __init__(self, engine: binding.ExecutionEngine, program: Program, lanes: int) -> None:
        self.main: Routine = program.main
        self.lanes, self.size = lanes, program.size()
        self._call = _LOOP(engine.get_function_address("loop"))
        self._rows = _LOOP(engine.get_function_address("rows")) if lanes > 1 else self._call
        self._definition = self._direct = None
        if lanes == 1 and _makes_built_ins():
            self._definition = _Definition(b"evaluate", engine.get_function_address("once"), _NO_ARGUMENTS, None)
            if _knows_arrays():
                self._direct = _Definition(b"evaluate", engine.get_function_address("direct"), _FAST_CALL, None)
        weakref.finalize(self, _close, engine).atexit = False

    def work(self) -> Array:
        """A work array, for one call at a time; with room for a row in every lane."""
        own = sum(self.main.inputs) + sum(self.main.outputs) if self.lanes > 1 else 0
        return np.empty((max(self.main.work, 1) + own) * self.lanes)

    def table(self, arrays: Sequence[Array], work: Array, strides: Sequence[int]) -> Int64Array:
        """Table of calls with these arguments and results (see `llvm_code`); the arrays must outlive it."""
        return np.array([*map(address_of, arrays), address_of(work), *strides], dtype=np.int64)

    def loop(self, table: Int64Array, count: int) -> None:
        """Evaluate `count` times (at least once), moving along the arrays."""
        self._call(address_of(table), count)

    def rows(self, table: Int64Array, count: int) -> None:
        """Evaluate `count` rows (at least as many as lanes) of arrays that are not in lanes."""
        self._rows(address_of(table), count)

    def trigger(self, arrays: Sequence[Array], work: Array) -> Callable[[], Any]:
        """A function without arguments that evaluates once, with these arguments and results; it keeps them alive."""
        table = self.table(arrays, work, [0] * len(arrays))
        if self._definition is not None:  # a built-in function: 0.03 µs per call instead of 0.2
            owner = (self, arrays, work)  # in the place of its module
            return _new_built_in()(ctypes.byref(self._definition), table.tobytes(), owner)  # type: ignore[no-any-return]
        return lambda: self.loop(table, 1)

    def direct(self, results: list[Array], work: Array, otherwise: Callable[..., list[Array]]) -> Callable[..., Any]:
        """A function of arrays and floats that evaluates on the arrays without a copy and returns `results`.

        results : views of one array.  otherwise : is called for arguments that are not vectors of the right length, or
        that overlap the results.
        """
        if self._direct is None:
            return otherwise
        whole = results[0].base if results and results[0].base is not None else np.zeros(1)
        begin = address_of(whole)
        kinds = [id(np.ndarray), id(np.dtype(float)), id(float)]
        own = [id(results), id(otherwise), ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value]
        numbers = [*kinds, begin, begin + whole.nbytes, *own, *map(address_of, results), address_of(work)]
        table = np.array(numbers, dtype=np.int64)
        owner = (self, results, work, otherwise)
        return _new_built_in()(ctypes.byref(self._direct), table.tobytes(), owner)  # type: ignore[no-any-return]


# -- built-in functions of CPython -----------------------------------------------------------------------------------
_NO_ARGUMENTS, _FAST_CALL = 4, 128  # METH_NOARGS, METH_FASTCALL


class _Definition(ctypes.Structure):
    """PyMethodDef of CPython."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


def _makes_built_ins() -> bool:
    return sys.implementation.name == "cpython" and bytes.__basicsize__ == 33  # numbers of a bytes begin at byte 32


@lru_cache(maxsize=1)
def _knows_arrays() -> bool:
    """Whether the fields of an array are where NumPy's binary interface has them."""
    array = np.zeros((3, 7))[1:, 2:5]

    def field(offset: int, kind: Any = ctypes.c_size_t) -> int:
        return int(kind.from_address(id(array) + offset).value)

    def pair(address: int) -> tuple[int, ...]:
        return tuple(ctypes.c_ssize_t.from_address(address + 8 * k).value for k in range(2))

    at = ARRAY_FIELDS
    return (
        field(at["number"], ctypes.c_int) == 2
        and field(at["data"]) == _address_by_name(array)
        and pair(field(at["shape"])) == array.shape
        and pair(field(at["strides"])) == array.strides
        and field(at["type"]) == id(np.dtype(float))
        and float.__basicsize__ == 24
    )


@lru_cache(maxsize=1)
def _new_built_in() -> Any:
    function = ctypes.pythonapi.PyCFunction_NewEx
    function.restype = ctypes.py_object
    function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return function
