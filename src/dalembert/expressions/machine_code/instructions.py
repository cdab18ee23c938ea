"""Instructions of scalar functions, and tables of interpolants, from CasADi.

Both are read from the serialised form where its layout is known: reading instructions one by one takes twenty times as
long. A few instructions read one by one confirm the result.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache

import casadi as ca
import numpy as np

from dalembert.core.arrays import FloatArray, Int64Array
from dalembert.expressions.machine_code.program import (
    BINARY,
    UNARY,
    Interpolation,
    Routine,
    Straight,
    StraightCall,
    Untranslatable,
)

SERIALISED = 64  # most instructions that are read one by one; for more, the serialised function is faster


@lru_cache(maxsize=1)
def operation_names() -> dict[int, str]:
    """CasADi's operations by their numbers."""
    return {getattr(ca, name): name[3:].lower() for name in dir(ca) if name.startswith("OP_")}


# -- scalar code -----------------------------------------------------------------------------------------------------
def read_straight(function: ca.Function, routine_of: Callable[[ca.Function], Routine]) -> Straight:
    """Instructions of an SX function, with the routines of the functions that it calls."""
    count = function.n_instructions()
    found = _read_serialised(function, count) if count > SERIALISED else None
    if found is None or (found[0][:, 0] == ca.OP_CALL).any():
        found = _read_one_by_one(function, count)
    rows, constant = found
    operation, is_call = rows[:, 0], rows[:, 0] == ca.OP_CALL
    unknown = set(np.unique(operation)) - UNARY - BINARY - {ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CALL}
    if unknown:
        raise Untranslatable(f"the scalar operation {operation_names().get(int(min(unknown)), min(unknown))}")
    calls = {}
    for k in np.flatnonzero(is_call).tolist():
        routine = routine_of(function.instructions_sx()[k].which_function())
        registers = (tuple(function.instruction_input(k)), tuple(function.instruction_output(k)))
        calls[k] = StraightCall(routine, *registers)
    written = rows[operation != ca.OP_OUTPUT, 1].max(initial=-1)
    most = max([int(written), *(r for call in calls.values() for r in call.outputs)]) + 1
    return Straight(operation, rows[:, 1], rows[:, 2], rows[:, 3], constant, calls, most)


def _read_one_by_one(function: ca.Function, count: int) -> tuple[Int64Array, FloatArray]:
    """Instructions one by one: (operation, out, first, second) and constants; a call only by its operation."""
    rows = np.zeros((count, 4), dtype=np.int64)
    constant = np.zeros(count)
    for k in range(count):
        rows[k] = _instruction(function, k)
        if rows[k, 0] == ca.OP_CONST:
            rows[k, 2:] = 0
            constant[k] = function.instruction_constant(k)
    return rows, constant


def _instruction(function: ca.Function, k: int) -> tuple[int, int, int, int]:
    """One instruction as the serialised form has it; of a constant the two halves of its value."""
    op, i, o = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
    if op == ca.OP_CALL:
        return op, 0, 0, 0
    if op == ca.OP_OUTPUT:
        return op, o[0], i[0], o[1]
    if op == ca.OP_CONST:
        return (op, o[0], *struct.unpack("<2i", struct.pack("<d", function.instruction_constant(k))))
    return op, o[0], i[0], i[-1]


def _bytes_of(function: ca.Function) -> bytes:
    """The serialised form: two letters per byte, the lower half first."""
    letters = np.frombuffer(function.serialize().encode("ascii"), dtype=np.uint8) - ord("a")
    return (letters[0::2] | (letters[1::2] << 4)).astype(np.uint8).tobytes()


def _read_serialised(function: ca.Function, count: int) -> tuple[Int64Array, FloatArray] | None:
    """Instructions as CasADi 3.8 writes them, four integers each; None where a sample of them disagrees."""
    data = _bytes_of(function)
    first = b"".join(struct.pack("<4i", *_instruction(function, k)) for k in range(4))
    place = data.rfind(first)
    if place < 0 or place + 16 * count > len(data):
        return None
    rows = np.frombuffer(data, dtype="<i4", count=4 * count, offset=place).reshape(count, 4)
    if any(tuple(rows[k]) != _instruction(function, k) for k in (count // 3, count // 2, count - 1)):
        return None
    constants = np.frombuffer(data, dtype="<f8", count=2 * count, offset=place).reshape(count, 2)[:, 1]
    is_constant = rows[:, 0] == ca.OP_CONST
    whole = rows.astype(np.int64)
    whole[is_constant, 2:] = 0
    if whole.min() < 0:
        return None
    return whole, np.where(is_constant, constants, 0.0)


# -- tables ----------------------------------------------------------------------------------------------------------
def read_table(function: ca.Function) -> Interpolation:
    """Grid and values of a linear interpolant, from the end of its serialised form."""
    data = _bytes_of(function)
    dimensions, values = function.nnz_in(0), function.nnz_out(0)
    for start in range(min(len(data), 4000)):
        table = _table_at(data, start, dimensions, values)
        if table is not None:
            return table
    raise Untranslatable("a table of an unknown form")


def _table_at(data: bytes, start: int, dimensions: int, count: int) -> Interpolation | None:
    """The table whose grid begins at this byte: the lengths must fit, and its end be the end of the data."""

    def length(at: int) -> int:
        return int(struct.unpack_from("<q", data, at)[0]) if at + 8 <= len(data) else -1

    n = length(start)
    at = start + 8 + 8 * n
    if not 2 * dimensions <= n <= len(data) // 8 or length(at) != dimensions + 1:
        return None
    offsets = struct.unpack_from(f"<{dimensions + 1}q", data, at + 8)
    sizes = np.diff(offsets)
    at += 8 + 8 * (dimensions + 1)
    if offsets[0] != 0 or offsets[-1] != n or sizes.min() < 2 or length(at) != count * int(np.prod(sizes)):
        return None
    total = count * int(np.prod(sizes))
    grid = np.frombuffer(data, dtype="<f8", count=n, offset=start + 8).astype(float)
    values = np.frombuffer(data, dtype="<f8", count=total, offset=at + 8).astype(float)
    modes = struct.unpack_from(f"<{dimensions}q", data, len(data) - 8 * dimensions)
    if length(len(data) - 8 * dimensions - 8) != dimensions or not all(0 <= mode <= 2 for mode in modes):
        return None
    return Interpolation(tuple(np.split(grid, offsets[1:-1])), values, modes, count)
