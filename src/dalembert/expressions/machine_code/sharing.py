"""Functions of the mathematical library that scalar code evaluates twice for the same number are evaluated once.

CasADi finds common parts in a time that grows faster than the code; large functions are left unchanged. Most of their
time is for sines and cosines: one takes as long as ten products. The same function of the same argument or register is
found here in a few sorts of arrays, and gives the same bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

if TYPE_CHECKING:
    from dalembert.core.arrays import Int64Array
    from dalembert.expressions.machine_code.program import Straight

COSTLY = tuple(
    getattr(ca, f"OP_{name}")
    for name in [
        "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "SINH", "COSH", "TANH", "ASINH", "ACOSH", "ATANH", "EXP", "LOG",
        "ERF", "LOG1P", "EXPM1",
    ]
)  # fmt: skip


def find_writers(code: Straight, readers: Int64Array, registers: Int64Array) -> Int64Array:
    """The instruction that wrote the value that each instruction reads from a register; -1 where none did."""
    count = len(code.operation)
    steps = np.arange(count)
    plain = steps[(code.operation != ca.OP_OUTPUT) & (code.operation != ca.OP_CALL)]
    made = [(k, register) for k, call in code.calls.items() for register in call.outputs if register >= 0]
    writers = np.concatenate([plain, np.array([k for k, _ in made], dtype=np.int64)])
    written = np.concatenate([code.out[plain], np.array([register for _, register in made], dtype=np.int64)])
    keys = written * count + writers
    order = np.argsort(keys, kind="stable")
    keys, writers = keys[order], writers[order]
    place = np.searchsorted(keys, registers * count + readers) - 1
    known = (place >= 0) & (keys[place] // count == registers)
    return np.where(known, writers[place], -1)


def share_functions(code: Straight) -> Straight:
    """The code with every costly function of one number evaluated once, into a register of its own."""
    at = np.flatnonzero(np.isin(code.operation, COSTLY))
    if len(at) < 2:
        return code
    source = find_writers(code, at, code.first[at])
    from_input = (code.operation[source] == ca.OP_INPUT) & (source >= 0)
    # an input is known by its place; any other value by its register, since a call makes several, and its instruction
    known = np.stack([code.first[source], code.second[source]], axis=1)
    known[~from_input] = np.stack([-1 - code.first[at], source], axis=1)[~from_input]
    values = np.column_stack([code.operation[at], known])
    _, first, group, members = np.unique(values, axis=0, return_index=True, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    shared = np.flatnonzero(members > 1)
    if not len(shared):
        return code
    register = np.full(len(members), -1, dtype=np.int64)
    register[shared] = code.registers + np.arange(len(shared))
    operation, operand = code.operation.copy(), code.first.copy()
    again = (register[group] >= 0) & (at != at[first][group])
    operation[at[again]], operand[at[again]] = ca.OP_ASSIGN, register[group[again]]
    # after its first evaluation the value is kept
    after = at[first[shared]] + 1
    kept: dict[str, Any] = {"out": register[shared], "first": code.out[after - 1], "second": 0, "constant": 0.0}
    arrays: dict[str, Any] = {"out": code.out, "first": operand, "second": code.second, "constant": code.constant}
    moved: dict[str, Any] = {name: np.insert(array, after, kept[name]) for name, array in arrays.items()}
    moved["operation"] = np.insert(operation, after, ca.OP_ASSIGN)
    calls = {int(k + np.searchsorted(np.sort(after), k, side="right")): call for k, call in code.calls.items()}
    return replace(code, **moved, calls=calls, registers=code.registers + len(shared))
