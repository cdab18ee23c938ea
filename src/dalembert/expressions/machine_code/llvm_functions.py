"""LLVM code of functions that neither LLVM nor the library of the system has: table look-up, inverse error function."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.expressions.machine_code.program import Interpolation, Routine

if TYPE_CHECKING:
    from dalembert.expressions.machine_code.llvm_code import LlvmCode


def literal(value: float) -> str:
    return "0x" + struct.pack(">d", value).hex()


def define_table(code: LlvmCode, routine: Routine, table: Interpolation) -> None:
    """Interpolation number by number: a look-up is different in every lane."""
    name = routine.name
    for i, grid in enumerate(table.grid):
        code.constant(f"{name}.g{i}", grid.tolist(), lanes=1)
    code.constant(f"{name}.v", table.values.tolist(), lanes=1)
    code.lines = []
    for lane in range(code.lanes):
        _look_up(code, routine, table, lane)
    code.define(name, routine, code.lines)


def _look_up(code: LlvmCode, routine: Routine, table: Interpolation, lane: int) -> None:
    name, dimensions = routine.name, len(table.grid)

    def entry(base: str, j: int) -> str:
        return code.put(f"getelementptr double, ptr {base}, i64 {j * code.lanes + lane}")

    indices, shares = [], []
    for i, grid in enumerate(table.grid):
        x = code.load(entry("%a0", i), 1)
        j = _search(code, f"@{name}.g{i}", len(grid), x, table.modes[i])
        low = code.load(code.put(f"getelementptr double, ptr @{name}.g{i}, i64 {j}"), 1)
        after = code.put(f"add i64 {j}, 1")
        high = code.load(code.put(f"getelementptr double, ptr @{name}.g{i}, i64 {after}"), 1)
        above = code.put(f"fsub double {x}, {low}")
        shares.append(code.put(f"fdiv double {above}, {code.put(f'fsub double {high}, {low}')}"))
        indices.append(j)
    rests = [code.put(f"fsub double {literal(1.0)}, {share}") for share in shares]
    totals = [literal(0.0)] * table.count
    for corner in range(2**dimensions):
        weight, at, size = literal(1.0), "0", table.count
        for i in range(dimensions):
            upper = corner >> i & 1
            weight = code.put(f"fmul double {weight}, {shares[i] if upper else rests[i]}")
            point = code.put(f"add i64 {indices[i]}, {upper}")
            at = code.put(f"add i64 {at}, {code.put(f'mul i64 {point}, {size}')}")
            size *= len(table.grid[i])
        for n in range(table.count):
            place = code.put(f"add i64 {at}, {n}")
            value = code.load(code.put(f"getelementptr double, ptr @{name}.v, i64 {place}"), 1)
            totals[n] = code.put(f"fadd double {totals[n]}, {code.put(f'fmul double {weight}, {value}')}")
    for n, total in enumerate(totals):
        code.store(total, entry("%r0", n), 1)


def _search(code: LlvmCode, grid: str, size: int, x: str, mode: int) -> str:
    """Index of the interval that contains x, by the rules of the interpreter (NaN: those of its comparisons)."""
    if mode == 1:
        first = code.load(grid, 1)
        last = code.load(code.put(f"getelementptr double, ptr {grid}, i64 {size - 1}"), 1)
        above = code.put(f"fsub double {x}, {first}")
        scaled = code.put(f"fmul double {above}, {literal(float(size - 1))}")
        span = code.put(f"fsub double {last}, {first}")
        quotient = code.put(f"fdiv double {scaled}, {span}")
        # a quotient beyond the integers converts to the smallest one, which is the first interval
        inside = code.put(f"fcmp olt double {quotient}, {literal(2.0**63)}")
        positive = code.put(f"fcmp ogt double {quotient}, {literal(0.0)}")
        usable = code.put(f"and i1 {inside}, {positive}")
        safe = code.put(f"select i1 {usable}, double {quotient}, double {literal(0.0)}")
        index = code.put(f"fptosi double {safe} to i64")
        beyond = code.put(f"icmp sgt i64 {index}, {size - 2}")
        return code.put(f"select i1 {beyond}, i64 {size - 2}, i64 {index}")
    # bisection; both other searches give the last point of the inner grid that is not above x
    code.count += 1
    n = code.count
    code.lines += [f"br label %enter{n}", f"enter{n}:", f"br label %seek{n}", f"seek{n}:"]
    code.lines += [
        f"%low{n} = phi i64 [0, %enter{n}], [%newlow{n}, %halve{n}]",
        f"%high{n} = phi i64 [{size - 1}, %enter{n}], [%newhigh{n}, %halve{n}]",
        f"%gap{n} = sub i64 %high{n}, %low{n}",
        f"%found{n} = icmp ule i64 %gap{n}, 1",
        f"br i1 %found{n}, label %got{n}, label %halve{n}",
        f"halve{n}:",
        f"%sum{n} = add i64 %low{n}, %high{n}",
        f"%middle{n} = lshr i64 %sum{n}, 1",
        f"%at{n} = getelementptr double, ptr {grid}, i64 %middle{n}",
        f"%value{n} = load double, ptr %at{n}, align 8",
        f"%below{n} = fcmp olt double {x}, %value{n}",
        f"%newlow{n} = select i1 %below{n}, i64 %low{n}, i64 %middle{n}",
        f"%newhigh{n} = select i1 %below{n}, i64 %middle{n}, i64 %high{n}",
        f"br label %seek{n}",
        f"got{n}:",
    ]
    return f"%low{n}"


def define_erfinv(code: LlvmCode) -> None:
    """Inverse of the error function as CasADi computes it: a rational guess and two Newton steps."""
    if "dalembert_erfinv" in code.declared:
        return
    code.declared["erf"] = "declare double @erf(double)"
    code.declared["dalembert_erfinv"] = ""
    kept, code.lines = code.lines, []

    def polynomial(z: str, coefficients: Sequence[float]) -> str:
        value = literal(coefficients[0])
        for c in coefficients[1:]:
            value = code.operation(ca.OP_ADD, code.operation(ca.OP_MUL, value, z, 1), literal(c), 1)
        return value

    def tail(sign: int) -> str:
        """Guess near the end of the range.  sign : +1 at 1, -1 at -1."""
        op = ca.OP_SUB if sign > 0 else ca.OP_ADD
        half = code.operation(ca.OP_DIV, code.operation(op, literal(1.0), "%x", 1), literal(2.0), 1)
        root = code.operation(ca.OP_NEG, code.operation(ca.OP_LOG, half, "", 1), "", 1)
        z = code.operation(ca.OP_SQRT, root, "", 1)
        top = polynomial(z, (1.641345311, 3.429567803, -1.624906493, -1.970840454))
        bottom = polynomial(z, (1.637067800, 3.543889200, 1.0))
        top = top if sign > 0 else code.operation(ca.OP_NEG, top, "", 1)
        return code.operation(ca.OP_DIV, top, bottom, 1)

    def choose(test: str, a: str, b: str, then: str, other: str) -> str:
        found = code.put(f"fcmp {test} double {a}, {b}")
        return code.put(f"select i1 {found}, double {then}, double {other}")

    square = code.operation(ca.OP_SQ, "%x", "", 1)
    middle = code.operation(
        ca.OP_MUL, "%x", polynomial(square, (-0.140543331, 0.914624893, -1.645349621, 0.886226899)), 1
    )
    below = polynomial(square, (-0.329097515, 0.012229801, 1.442710462, -2.118377725, 1.0))
    middle = code.operation(ca.OP_DIV, middle, below, 1)
    y = choose("olt", "%x", literal(0.7), middle, tail(1))
    for _ in range(2):
        error = code.operation(ca.OP_SUB, code.each("erf", [y], 1), "%x", 1)
        power = code.operation(
            ca.OP_EXP,
            code.operation(ca.OP_MUL, code.operation(ca.OP_NEG, y, "", 1), y, 1),
            "",
            1,
        )
        slope = code.operation(ca.OP_MUL, literal(2.0 / np.sqrt(np.pi)), power, 1)
        y = code.operation(ca.OP_SUB, y, code.operation(ca.OP_DIV, error, slope, 1), 1)
    y = choose("olt", "%x", literal(-0.7), tail(-1), y)
    nan, infinity = literal(float("nan")), literal(float("inf"))
    y = choose("ole", "%x", literal(-1.0), choose("oeq", "%x", literal(-1.0), literal(-np.inf), nan), y)
    y = choose("oge", "%x", literal(1.0), choose("oeq", "%x", literal(1.0), infinity, nan), y)
    code.text += ["define internal double @dalembert_erfinv(double %x) noinline nounwind {", *code.lines]
    code.text += [f"ret double {y}", "}"]
    code.lines = kept
