"""LLVM code of a program: one text for scalars, the same text with vectors for machines in lanes.

Every operation has the bits of CasADi's interpreter: no contraction, no reordering, the same functions of the system's
mathematical library. Straight code is cut into pieces, which pass values through the work array, so that the time to
compile grows with the size and the values of a piece stay in registers and in the first cache.

    loop(table, count)    table : pointers to arguments, results and work, then the stride of each argument and result
                          in numbers per lane; the routine is called `count` times, and each pointer moves by its stride

With lanes an array is (nonzeros, lanes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

from dalembert.expressions.machine_code.llvm_functions import define_erfinv, define_table, literal
from dalembert.expressions.machine_code.program import (
    BINARY,
    Address,
    Apply,
    CallRoutine,
    Choose,
    Copy,
    DenseProduct,
    Gather,
    Interpolation,
    Program,
    Repeat,
    Routine,
    Statement,
    Straight,
    StraightCall,
    operations,
)
from dalembert.expressions.machine_code.sharing import find_writers

PIECE = 250  # instructions; the values of a longer piece leave the registers and the first cache
UNROLLED = 8  # entries; longer element-wise operations are loops
VECTOR = 4  # numbers in a register of AVX: loops over entries take so many at once

ARITHMETIC = {ca.OP_ADD: "fadd", ca.OP_SUB: "fsub", ca.OP_MUL: "fmul", ca.OP_DIV: "fdiv"}
COMPARISON = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}
# functions with an intrinsic that is a call of the system's library, or one exact instruction
INTRINSIC = operations("SQRT SIN COS TAN ASIN ACOS ATAN SINH COSH TANH EXP LOG FABS FLOOR CEIL POW ATAN2 COPYSIGN") | {
    ca.OP_CONSTPOW: "pow"
}
LIBRARY = operations("ASINH ACOSH ATANH ERF LOG1P EXPM1 HYPOT FMOD REMAINDER")


class LlvmCode:
    """Text of a program.  lanes : machines at once.  loop : with the door `loop`, whose table has 64-bit addresses."""

    def __init__(self, program: Program, lanes: int = 1, *, loop: bool = True) -> None:
        self.program, self.lanes = program, lanes
        self.type = _vector(lanes)
        self.text: list[str] = []
        self.declared: dict[str, str] = {}
        self.count = 0
        self.lines: list[str] = []
        for k, values in enumerate(program.constants):
            self.constant(f"c{k}", values)
        for routine in program.routines:
            self._routine(routine)
        if loop:
            self._loop(program.main)

    def source(self) -> str:
        return "\n".join([*self.declared.values(), *self.text])

    # -- pieces of text ----------------------------------------------------------------------------------------------
    def constant(self, name: str, values: Sequence[float], *, lanes: int | None = None) -> None:
        width = self.lanes if lanes is None else lanes
        items = ", ".join(f"double {literal(v)}" for v in values for _ in range(width))
        self.text.append(f"@{name} = internal constant [{len(values) * width} x double] [{items}], align 64")

    def put(self, code: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name} = {code}")
        return name

    def splat(self, value: float, width: int) -> str:
        return literal(value) if width == 1 else f"splat (double {literal(value)})"

    def operation(self, op: int, x: str, y: str, width: int) -> str:
        """The value of a scalar operation on `width` numbers at once."""
        kind = _vector(width)
        if op in ARITHMETIC:
            return self.put(f"{ARITHMETIC[op]} {kind} {x}, {y}")
        simple = {ca.OP_SQ: "fmul {0} {1}, {1}", ca.OP_TWICE: "fadd {0} {1}, {1}", ca.OP_NEG: "fneg {0} {1}"}.get(op)
        if simple is not None:
            return self.put(simple.format(kind, x))
        zero, one = self.splat(0.0, width), self.splat(1.0, width)
        if op == ca.OP_INV:
            return self.put(f"fdiv {kind} {one}, {x}")
        if op in INTRINSIC:
            return self._intrinsic(INTRINSIC[op], [x, y] if op in BINARY else [x], width)
        if op in LIBRARY or op == ca.OP_ERFINV:
            name = LIBRARY.get(op, "dalembert_erfinv")
            return self.each(name, [x, y] if op in BINARY else [x], width)
        if op in (ca.OP_ASSIGN, ca.OP_LIFT):
            return x

        def where(test: str, a: str, b: str, then: str, other: str) -> str:
            mask = "i1" if width == 1 else f"<{width} x i1>"
            found = self.put(f"fcmp {test} {kind} {a}, {b}")
            return self.put(f"select {mask} {found}, {kind} {then}, {kind} {other}")

        if op in COMPARISON:
            return where(COMPARISON[op], x, y, one, zero)
        if op == ca.OP_NOT:
            return where("oeq", x, zero, one, zero)
        if op in (ca.OP_AND, ca.OP_OR):
            right = where("une", y, zero, one, zero)
            return where("une", x, zero, *((right, zero) if op == ca.OP_AND else (one, right)))
        if op == ca.OP_IF_ELSE_ZERO:
            return where("une", x, zero, y, zero)
        if op == ca.OP_SIGN:
            return where("olt", x, zero, self.splat(-1.0, width), where("ogt", x, zero, one, x))
        if op in (ca.OP_FMAX, ca.OP_FMIN):  # of two equal numbers the first; a number rather than a NaN
            larger = where("ogt" if op == ca.OP_FMAX else "olt", y, x, y, x)
            return where("uno", x, x, y, larger)
        raise NotImplementedError(op)

    def _intrinsic(self, name: str, operands: list[str], width: int) -> str:
        kind = _vector(width)
        full = f"llvm.{name}.{'' if width == 1 else f'v{width}'}f64"
        self.declared[full] = f"declare {kind} @{full}({', '.join([kind] * len(operands))})"
        return self.put(f"call {kind} @{full}({', '.join(f'{kind} {v}' for v in operands)})")

    def each(self, name: str, operands: list[str], width: int) -> str:
        """A function of the library, number by number."""
        if name == "dalembert_erfinv":
            define_erfinv(self)
        else:
            self.declared[name] = f"declare double @{name}({', '.join(['double'] * len(operands))})"
        if width == 1:
            return self.put(f"call double @{name}({', '.join(f'double {v}' for v in operands)})")
        kind, result = _vector(width), "undef"
        for j in range(width):
            parts = [self.put(f"extractelement {kind} {v}, i32 {j}") for v in operands]
            value = self.put(f"call double @{name}({', '.join(f'double {v}' for v in parts)})")
            result = self.put(f"insertelement {kind} {result}, double {value}, i32 {j}")
        return result

    def address(self, place: Address) -> str:
        base = f"@c{place.which}" if place.base == "c" else "%w" if place.base == "w" else f"%{place.base}{place.which}"
        return self.offset(base, place.offset)

    def offset(self, base: str, entries: int | str) -> str:
        """Address of an entry, each of all lanes."""
        if entries == 0:
            return base
        return self.put(f"getelementptr {self.type}, ptr {base}, i64 {entries}")

    def load(self, base: str, width: int) -> str:
        return self.put(f"load {_vector(width)}, ptr {base}, align 8")

    def store(self, value: str, base: str, width: int) -> None:
        self.lines.append(f"store {_vector(width)} {value}, ptr {base}, align 8")

    def copy(self, out: str, source: str, count: int) -> None:
        self._over([(source, 1)], count, lambda at, inputs, width: self.store(inputs[0], at(out), width))

    def define(self, name: str, routine: Routine, lines: Sequence[str]) -> None:
        parameters = ", ".join(f"ptr noalias {p}" for p in pointers_of(routine))
        self.text += [f"define internal void @{name}({parameters}) noinline nounwind {{", *lines, "ret void", "}"]

    # -- routines ----------------------------------------------------------------------------------------------------
    def _routine(self, routine: Routine) -> None:
        self.lines = []
        if isinstance(routine.body, Straight):
            self._straight(routine, routine.body)
        elif isinstance(routine.body, Interpolation):
            define_table(self, routine, routine.body)
        else:
            for statement in routine.body:
                self._statement(statement)
            self.define(routine.name, routine, self.lines)

    def _straight(self, routine: Routine, code: Straight) -> None:
        count = len(code.operation)
        crossing = _crossing(code, PIECE)
        operations, outs = code.operation.tolist(), code.out.tolist()
        firsts, seconds = code.first.tolist(), code.second.tolist()
        constants = code.constant.tolist()
        literals: dict[int, str] = {}  # registers that hold a constant: known in every piece
        inputs: dict[int, tuple[int, int]] = {}  # registers that hold an input: read again where a piece needs it
        width, kind = self.lanes, self.type
        names: list[str] = []
        for start in range(0, max(count, 1), PIECE):
            self.lines = []
            values: dict[int, str] = {}

            lines = self.lines

            def value(register: int, values: dict[int, str] = values) -> str:
                """A register that this piece reads for the first time."""
                found = literals.get(register)
                if found is None:
                    place = inputs.get(register)
                    base = ("%w", register) if place is None else (f"%a{place[0]}", place[1])
                    found = self.load(self.offset(*base), width)
                values[register] = found
                return found

            for k in range(start, min(start + PIECE, count)):
                op, out, first = operations[k], outs[k], firsts[k]
                if op == ca.OP_CONST:
                    inputs.pop(out, None)
                    literals[out] = values[out] = self.splat(constants[k], width)
                    continue
                if op == ca.OP_INPUT:
                    literals.pop(out, None)
                    inputs[out] = (first, seconds[k])
                    values.pop(out, None)
                    continue
                if op == ca.OP_CALL:
                    call = code.calls[k]
                    given = [values.get(r) or value(r) for r in call.inputs]
                    for register, result in self._inner_call(code, call, given):
                        literals.pop(register, None)
                        inputs.pop(register, None)
                        values[register] = result
                    continue
                x = values.get(first) or value(first)
                if op == ca.OP_OUTPUT:
                    self.store(x, self.offset(f"%r{out}", seconds[k]), width)
                    continue
                word = ARITHMETIC.get(op)
                if word is not None:  # most operations: written here, without a call
                    second = seconds[k]
                    y = values.get(second) or value(second)
                    self.count += 1
                    result = f"%v{self.count}"
                    lines.append(f"{result} = {word} {kind} {x}, {y}")
                else:
                    y = (values.get(seconds[k]) or value(seconds[k])) if op in BINARY else ""
                    result = self.operation(op, x, y, width)
                literals.pop(out, None)
                inputs.pop(out, None)
                values[out] = result
                if crossing[k]:
                    self.store(result, self.offset("%w", out), width)
            names.append(routine.name if count <= PIECE else f"{routine.name}.{len(names)}")
            self.define(names[-1], routine, self.lines)
        if count > PIECE:
            passed = ", ".join(f"ptr {p}" for p in pointers_of(routine))
            self.define(routine.name, routine, [f"call void @{name}({passed})" for name in names])

    def _inner_call(self, code: Straight, call: StraightCall, given: list[str]) -> list[tuple[int, str]]:
        """A call inside scalar code: its numbers are passed through the work array, above the registers."""
        starts = np.cumsum([code.registers, *call.routine.inputs, *call.routine.outputs]).tolist()
        for j, number in enumerate(given):
            self.store(number, self.offset("%w", code.registers + j), self.lanes)
        self._call(call.routine, [self.offset("%w", start) for start in starts])
        results = []
        for j, register in enumerate(call.outputs):
            if register >= 0:
                number = self.load(self.offset("%w", code.registers + len(given) + j), self.lanes)
                self.store(number, self.offset("%w", register), self.lanes)
                results.append((register, number))
        return results

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Apply):
            sources = [(self.address(place), step) for place, step in statement.inputs]
            targets = [(k, self.address(place)) for k, place in statement.outputs]

            def apply(at: Callable[[str], str], inputs: list[str], width: int) -> None:
                values = list(inputs)
                for op, operands in statement.steps:
                    x, y = values[operands[0]], values[operands[-1]]
                    values.append(self.operation(op, x, y, width))
                for k, base in targets:
                    self.store(values[k], at(base), width)

            self._over(sources, statement.count, apply)
        elif isinstance(statement, Copy):
            self.copy(self.address(statement.out), self.address(statement.source), statement.count)
        elif isinstance(statement, Gather):
            source, out = self.address(statement.source), self.address(statement.out)
            for j, entry in enumerate(statement.entries):
                self.store(self.load(self.offset(source, entry), self.lanes), self.offset(out, j), self.lanes)
        elif isinstance(statement, DenseProduct):
            self._product(statement)
        elif isinstance(statement, CallRoutine):
            places = [self.address(p) for p in (*statement.inputs, *statement.outputs)]
            self._call(statement.routine, [*places, self.offset("%w", statement.work)])
        elif isinstance(statement, Repeat):
            pairs = [(self.address(p), stride) for p, stride in (*statement.inputs, *statement.outputs)]
            work = self.offset("%w", statement.work)

            def again(k: str) -> None:
                moved = []
                for base, stride in pairs:
                    moved.append(base if stride == 0 else self.offset(base, self.put(f"mul i64 {k}, {stride}")))
                self._call(statement.routine, [*moved, work])

            self._count(statement.count, again)
        else:
            self._choose(statement)

    def _call(self, routine: Routine, addresses: Sequence[str]) -> None:
        self.lines.append(f"call void @{routine.name}({', '.join(f'ptr {a}' for a in addresses)})")

    # -- loops -------------------------------------------------------------------------------------------------------
    def _count(self, count: int | str, body: Callable[[str], None], step: int = 1) -> None:
        """body(k) for k = 0, step, ... below count (at least once)."""
        self.count += 1
        n = self.count
        self.lines += [f"br label %before{n}", f"before{n}:", f"br label %loop{n}", f"loop{n}:"]
        # the phi names the block that ends the body, which a loop inside the body changes
        self.lines.append(f"%k{n} = phi i64 [0, %before{n}], [%next{n}, %end{n}]")
        body(f"%k{n}")
        self.lines += [
            f"br label %end{n}",
            f"end{n}:",
            f"%next{n} = add i64 %k{n}, {step}",
            f"%more{n} = icmp ult i64 %next{n}, {count}",
            f"br i1 %more{n}, label %loop{n}, label %after{n}",
            f"after{n}:",
        ]

    def _over(
        self,
        sources: list[tuple[str, int]],
        count: int,
        body: Callable[[Callable[[str], str], list[str], int], None],
    ) -> None:
        """body(address of the entry in an array, numbers there, how many at once) over `count` entries.

        One by one, or several at once in a loop; a number that serves all entries is loaded once.
        """
        lanes = self.lanes
        several = VECTOR if lanes == 1 else 1
        fixed = [self.load(base, lanes) if step == 0 else "" for base, step in sources]
        done = 0
        if count > UNROLLED:
            done = count - count % several
            spread = [self._spread(value, several) if value else "" for value in fixed]

            def step_body(k: str) -> None:
                inputs = [
                    spread[i] or self.load(self.offset(base, k), several * lanes) for i, (base, _) in enumerate(sources)
                ]
                body(lambda base: self.offset(base, k), inputs, several * lanes)

            self._count(done, step_body, several)
        for j in range(done, count):
            inputs = [fixed[i] or self.load(self.offset(base, j), lanes) for i, (base, _) in enumerate(sources)]
            body(lambda base, j=j: self.offset(base, j), inputs, lanes)  # type: ignore[misc]

    def _spread(self, value: str, several: int) -> str:
        """One number in every part of a vector."""
        if several == 1:
            return value
        kind = _vector(several)
        first = self.put(f"insertelement {kind} undef, double {value}, i32 0")
        return self.put(f"shufflevector {kind} {first}, {kind} undef, <{several} x i32> zeroinitializer")

    def _product(self, s: DenseProduct) -> None:
        """out += x y; entries of a column of `out` in vectors, each summed in the order of the inner index."""
        out, x, y, lanes = self.address(s.out), self.address(s.x), self.address(s.y), self.lanes
        several = VECTOR if lanes == 1 else 1

        def block(column: str, row: int | str, width: int) -> None:
            at = self.put(f"mul i64 {column}, {s.rows}")
            place = self.offset(out, self.put(f"add i64 {at}, {row}"))
            total = self.put(f"alloca {_vector(width * lanes)}, align 64")
            self.store(self.load(place, width * lanes), total, width * lanes)
            above = self.put(f"mul i64 {column}, {s.inner}")

            def inner(r: str) -> None:
                left = self.put(f"mul i64 {r}, {s.rows}")
                a = self.load(self.offset(x, self.put(f"add i64 {left}, {row}")), width * lanes)
                b = self._spread(self.load(self.offset(y, self.put(f"add i64 {above}, {r}")), lanes), width)
                term = self.put(f"fmul {_vector(width * lanes)} {a}, {b}")
                old = self.load(total, width * lanes)
                self.store(self.put(f"fadd {_vector(width * lanes)} {old}, {term}"), total, width * lanes)

            self._count(s.inner, inner)
            self.store(self.load(total, width * lanes), place, width * lanes)

        def one_column(column: str) -> None:
            whole = s.rows - s.rows % several
            if whole:
                self._count(whole, lambda row: block(column, row, several), several)
            for row in range(whole, s.rows):
                block(column, row, 1)

        # memory of the sums is taken once, before the loops
        first = len(self.lines)
        self._count(s.columns, one_column)
        inside = [line for line in self.lines[first:] if " = alloca " in line]
        self.lines[first:] = [*inside, *(line for line in self.lines[first:] if " = alloca " not in line)]

    # -- choices -----------------------------------------------------------------------------------------------------
    def _choose(self, s: Choose) -> None:
        """One case is called; with lanes all that some lane takes, on all lanes, and every lane takes its results."""
        index = self.load(self.address(s.index), self.lanes)
        inputs, outputs = [self.address(p) for p in s.inputs], [self.address(p) for p in s.outputs]
        work = self.offset("%w", s.work)
        if self.lanes == 1:
            self._choose_one(s, index, [*inputs, *outputs, work])
            return
        sizes = s.cases[-1].outputs
        total = sum(sizes)
        kind, mask = self.type, f"<{self.lanes} x i1>"
        held = self.put(f"alloca [{max(total, 1)} x {kind}], align 64")
        starts = np.cumsum([0, *sizes]).tolist()
        own = [self.offset(held, start) for start in starts[:-1]]
        targets = [[self.offset(out, j) for j in range(size)] for out, size in zip(outputs, sizes, strict=True)]
        last = len(s.cases) - 1
        known, whole = self.splat(0.0, self.lanes), self._whole(index)
        self.count += 1
        n = self.count
        for k, case in enumerate(s.cases):
            if k < last:
                chosen = self.put(f"fcmp oeq {kind} {whole}, {self.splat(float(k), self.lanes)}")
                one = self.put(f"select {mask} {chosen}, {kind} {self.splat(1.0, self.lanes)}, {kind} {known}")
                known = one
            else:
                chosen = self.put(f"fcmp oeq {kind} {known}, {self.splat(0.0, self.lanes)}")
            bits = self.put(f"bitcast {mask} {chosen} to i{self.lanes}")
            some = self.put(f"icmp ne i{self.lanes} {bits}, 0")
            self.lines += [f"br i1 {some}, label %case{n}.{k}, label %other{n}.{k}", f"case{n}.{k}:"]
            self._call(case, [*inputs, *own, work])
            for source, places in zip(own, targets, strict=True):
                for j, place in enumerate(places):
                    new, old = self.load(self.offset(source, j), self.lanes), self.load(place, self.lanes)
                    self.store(self.put(f"select {mask} {chosen}, {kind} {new}, {kind} {old}"), place, self.lanes)
            self.lines += [f"br label %other{n}.{k}", f"other{n}.{k}:"]

    def _whole(self, index: str) -> str:
        """The index as a whole number towards zero, as the interpreter converts it."""
        full = f"llvm.trunc.{'' if self.lanes == 1 else f'v{self.lanes}'}f64"
        self.declared[full] = f"declare {self.type} @{full}({self.type})"
        return self.put(f"call {self.type} @{full}({self.type} {index})")

    def _choose_one(self, s: Choose, index: str, addresses: list[str]) -> None:
        self.count += 1
        n = self.count
        last = len(s.cases) - 1
        whole = self._whole(index)
        for k in range(last):
            test = self.put(f"fcmp oeq double {whole}, {literal(float(k))}")
            self.lines += [f"br i1 {test}, label %case{n}.{k}, label %other{n}.{k}", f"case{n}.{k}:"]
            self._call(s.cases[k], addresses)
            self.lines += [f"br label %chosen{n}", f"other{n}.{k}:"]
        self._call(s.cases[last], addresses)
        self.lines += [f"br label %chosen{n}", f"chosen{n}:"]

    # -- the door ----------------------------------------------------------------------------------------------------
    def _loop(self, main: Routine) -> None:
        pointers = len(main.inputs) + len(main.outputs)
        self.lines = []

        def field(k: int, kind: str) -> str:
            return self.put(f"load {kind}, ptr {self.put(f'getelementptr i64, ptr %table, i64 {k}')}, align 8")

        bases = [field(k, "ptr") for k in range(pointers + 1)]
        strides = [field(pointers + 1 + k, "i64") for k in range(pointers)]

        def once(k: str) -> None:
            moved = [
                self.offset(base, self.put(f"mul i64 {k}, {stride}"))
                for base, stride in zip(bases[:-1], strides, strict=True)
            ]
            self._call(main, [*moved, bases[-1]])

        self._count("%count", once)
        self.text += ["define void @loop(ptr %table, i64 %count) {", *self.lines, "ret void", "}"]


def _vector(width: int) -> str:
    return "double" if width == 1 else f"<{width} x double>"


def pointers_of(routine: Routine) -> list[str]:
    return [f"%a{i}" for i in range(len(routine.inputs))] + [f"%r{i}" for i in range(len(routine.outputs))] + ["%w"]


def _crossing(code: Straight, piece: int) -> list[bool]:
    """For every instruction, whether a later piece reads its result from the work array."""
    count = len(code.operation)
    crossing = np.zeros(count, dtype=bool)
    if count <= piece:
        return crossing.tolist()
    op, steps = code.operation, np.arange(count)
    one = steps[~np.isin(op, (ca.OP_CONST, ca.OP_INPUT, ca.OP_CALL))]
    two = steps[np.isin(op, tuple(BINARY))]
    passed = [(k, register) for k, call in code.calls.items() for register in call.inputs]
    at = np.concatenate([one, two, np.array([k for k, _ in passed], dtype=np.int64)])
    registers = [code.first[one], code.second[two], np.array([register for _, register in passed], dtype=np.int64)]
    source = find_writers(code, at, np.concatenate(registers))
    made = (source >= 0) & ~np.isin(op[source], (ca.OP_CONST, ca.OP_INPUT, ca.OP_CALL))  # results of calls are there
    crossing[source[made & (source // piece != at // piece)]] = True
    return crossing.tolist()
