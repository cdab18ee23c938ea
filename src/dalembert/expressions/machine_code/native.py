"""Machine code of functions, made inside the process by LLVM: no compiler, no files.

`compile_native` turns a CasADi function into a `Native`, whose `loop` evaluates it many times in one call without the
interpreter lock. Compiling holds one lock; a process that forks waits for it, so that no child inherits a lock that
nobody will release. The code is freed with its `Native`.
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

from dalembert.expressions.machine_code.llvm_code import LlvmCode
from dalembert.expressions.machine_code.program import Program, Routine, Untranslatable
from dalembert.expressions.machine_code.reader import read

if TYPE_CHECKING:
    from llvmlite import binding  # type: ignore[import-untyped]

Array = NDArray[np.float64]

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

    lanes : machines at once.  optimise : code that is 1.1 to 1.4 times faster and takes three times as long to make.
    """
    if llvm() is None:
        raise Untranslatable("the package llvmlite cannot be imported")
    with _lock:  # CasADi has locks of its own, which no child may inherit either
        program = read(function)
        source = LlvmCode(program, lanes).source()
        if lanes == 1 and _makes_built_ins():
            source += _once_text()
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
        self._definition = None
        if lanes == 1 and _makes_built_ins():
            address = engine.get_function_address("once")
            self._definition = _Definition(b"evaluate", address, _NO_ARGUMENTS, None)
        weakref.finalize(self, _close, engine).atexit = False

    def work(self) -> Array:
        """A work array, for one call at a time."""
        return np.empty(max(self.main.work, 1) * self.lanes)

    def table(self, arrays: Sequence[Array], work: Array, strides: Sequence[int]) -> NDArray[np.int64]:
        """Table of calls with these arguments and results (see `llvm_code`); the arrays must outlive it."""
        return np.array([*map(address_of, arrays), address_of(work), *strides], dtype=np.int64)

    def loop(self, table: NDArray[np.int64], count: int) -> None:
        """Evaluate `count` times (at least once), moving along the arrays."""
        self._call(address_of(table), count)

    def trigger(self, arrays: Sequence[Array], work: Array) -> Callable[[], Any]:
        """A function without arguments that evaluates once, with these arguments and results; it keeps all it needs."""
        table = self.table(arrays, work, [0] * len(arrays))
        if self._definition is not None:  # a built-in function: 0.03 µs per call instead of 0.2
            owner = (self, arrays, work)  # in the place of its module
            return _new_built_in()(ctypes.byref(self._definition), table.tobytes(), owner)  # type: ignore[no-any-return]
        return lambda: self.loop(table, 1)


# -- built-in functions of CPython -----------------------------------------------------------------------------------
_NO_ARGUMENTS = 4  # METH_NOARGS


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
def _new_built_in() -> Any:
    function = ctypes.pythonapi.PyCFunction_NewEx
    function.restype = ctypes.py_object
    function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return function


def _once_text() -> str:
    """once(table as bytes, nothing) -> None, as CPython calls a built-in function without arguments."""
    none = f"inttoptr (i64 {id(None)} to ptr)"
    count = ""
    if sys.version_info < (3, 12):  # later versions do not count references to None
        count = f"%n = load i64, ptr {none}, align 8\n%m = add i64 %n, 1\nstore i64 %m, ptr {none}, align 8\n"
    return f"""
define ptr @once(ptr %self, ptr %nothing) {{
%table = getelementptr i8, ptr %self, i64 32
call void @loop(ptr %table, i64 1)
{count}ret ptr {none}
}}
"""
